//! `cargo xtask clients`: real clients, in pinned versions, driven through scenarios; each must do what such clients were seen to do (K-6, K-7).
//!
//! Their behaviour is the yardstick, and the replay server is measured against it: a fault that a real client does not meet as that fault is a bug of
//! ours. So the table of what is expected (`cases`) is written from observation of these very versions, and every difference fails.

mod agents;
mod case_world;
mod cases;
mod client_kind;
mod install;
mod interrupts;
mod judge;
mod libraries;
mod packages;
mod page;
mod round_trip;
mod run;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use cases::CASES;
use client_kind::SdkClient;
use install::InstallProblem;
use judge::JudgeRow;
use libraries::{LIBRARIES, LIBRARY_CASES};
use run::{CaseRun, CaseStage};

/// The exit code that says: this machine lacks what the clients need. It is neither a success nor a failure, and `xtask ci` knows it.
const LACKING: u8 = 3;

/// How many clients run at once. They mostly wait.
const AT_ONCE: usize = 4;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let options: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match options.as_slice() {
        [] => build().and_then(|program| in_table("", program)),
        ["--only", part] => build().and_then(|program| in_table(part, program)),
        ["--built"] => program().and_then(|program| in_table("", program)),
        ["--packages", languages @ ..] | ["--built", "--packages", languages @ ..] if packages::unknown(languages).is_some() => {
            let wrong = packages::unknown(languages).unwrap_or_default();
            return usage(&format!("`packages` does not know `{wrong}`: write `python` or `typescript`"));
        }
        ["--packages", languages @ ..] => build().and_then(|program| packages::try_all(languages, &program)),
        ["--built", "--packages", languages @ ..] => program().and_then(|program| packages::try_all(languages, &program)),
        ["--page"] => return page::write(),
        ["--agents", names @ ..] => return interrupts::main(names),
        ["--with", name] => match agents::named(name) {
            Some(agent) => with(agent),
            None => return usage(&format!("`clients` does not know the client `{name}`, but {}", agents::names())),
        },
        ["--list"] => {
            let of_libraries = LIBRARY_CASES.iter().map(|case| (case.name, &case.world));
            let all = CASES.iter().map(|case| (case.name, &case.world)).chain(of_libraries);
            all.for_each(|(name, world)| println!("{name}\n    {}", world.shown()));
            return ExitCode::SUCCESS;
        }
        _ => return usage(&format!("`clients` does not know `{}`", options.join(" "))),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(InstallProblem::Lacking(what)) => {
            eprintln!("xtask clients: NOTHING WAS CHECKED: {what}");
            ExitCode::from(LACKING)
        }
        Err(InstallProblem::Wrong(what)) => {
            eprintln!("xtask clients: {what}");
            ExitCode::FAILURE
        }
    }
}

/// The SDKs and the libraries through all cases whose name, or whose client, contains `part`: whether all did as expected.
fn in_table(part: &str, program: PathBuf) -> Result<bool, InstallProblem> {
    let clients = install::sdks()?;
    let stage = CaseStage::new(program)?;
    let mut runs: Vec<CaseRun> = CASES.iter().flat_map(|case| clients.iter().map(move |client| case.run(client))).collect();
    runs.retain(|run| run.is_named(part));
    let mut of_libraries: Vec<CaseRun> = LIBRARY_CASES.iter().flat_map(|case| case.rows.iter().map(move |row| case.run(row))).collect();
    of_libraries.retain(|run| run.is_named(part));
    for library in LIBRARIES {
        let mut runs = of_libraries.iter_mut().filter(|run| run.client == library.name).peekable();
        if runs.peek().is_some() {
            let command = install::library(library)?;
            runs.for_each(|run| run.command.splice(..0, command.iter().cloned()).for_each(drop));
        }
    }
    runs.extend(of_libraries);
    let mut rows = in_parallel(&runs, |run| {
        let row = stage.drive(run).map(|seen| judge::row(run, seen));
        row.unwrap_or_else(|problem| judge::row_of_a_problem(run.case, run.client, problem))
    });
    if round_trip::NAME.contains(part) {
        rows.extend(in_parallel(&clients, |client: &SdkClient| {
            let row = round_trip::row(&stage, client);
            row.unwrap_or_else(|problem| judge::row_of_a_problem(round_trip::NAME, client.language.name(), problem))
        }));
    }
    Ok(show(&rows, &page::pins()))
}

/// An agent through all that there is for it: whether it did as expected.
fn with(agent: &agents::AgentClient) -> Result<bool, InstallProblem> {
    install::npm_is_there()?;
    let rows = agent.drive(&CaseStage::new(build()?)?)?;
    Ok(show(&rows, agent.pin))
}

/// Prints the rows: whether there are some, and all as expected.
fn show(rows: &[JudgeRow], clients: &str) -> bool {
    rows.iter().for_each(|row| println!("{row}"));
    let wrong = rows.iter().filter(|row| !row.is_as_expected()).count();
    println!("xtask clients: {} runs of {clients}, {wrong} not as expected", rows.len());
    wrong == 0 && !rows.is_empty()
}

/// Does the work for each of the items, some at once; the results in the items' order.
fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let (next, work) = (AtomicUsize::new(0), &work);
    let (tell, told) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            let (tell, next) = (tell.clone(), &next);
            scope.spawn(move || {
                while let Some((at, item)) = Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, items.get(at)?))) {
                    // The receiver outlives the threads.
                    let _ = tell.send((at, work(item)));
                }
            });
        }
    });
    drop(tell);
    let mut results: Vec<_> = told.into_iter().collect();
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Builds the program.
fn build() -> Result<PathBuf, InstallProblem> {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--quiet", "--package", "reenact", "--bin", "reenact"]).current_dir(root());
    match cargo.status() {
        Ok(status) if status.success() => (),
        other => return Err(InstallProblem::Wrong(format!("the program could not be built: {other:?}"))),
    }
    program()
}

/// The program that stands beside this one.
fn program() -> Result<PathBuf, InstallProblem> {
    let this = std::env::current_exe().map_err(|error| InstallProblem::Wrong(format!("this program has no path: {error}")))?;
    let program = this.with_file_name(format!("reenact{}", std::env::consts::EXE_SUFFIX));
    if !program.exists() {
        return Err(InstallProblem::Wrong(format!("{} is not there: leave out --built, and it is built", program.display())));
    }
    Ok(program)
}

/// Says what was not understood. The exit code 2 has `xtask` say what would be.
fn usage(problem: &str) -> ExitCode {
    eprintln!("xtask: {problem}");
    ExitCode::from(2)
}

/// The checkout's root.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("clients is a folder of the checkout").to_path_buf()
}
