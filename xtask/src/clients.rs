//! `cargo xtask clients`: real clients, in pinned versions, driven through scenarios; each must do what such clients were seen to do (K-6, K-7).
//!
//! Their behaviour is the yardstick, and the replay server is measured against it: a fault that a real client does not meet as that fault is a bug of
//! ours. So the table of what is expected (`cases`) is written from observation of these very versions, and every difference fails.

mod agents;
mod cases;
mod install;
mod judge;
mod round_trip;
mod run;

use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use cases::{CASES, ClientCase, SdkClient};
use install::InstallProblem;
use judge::JudgeRow;
use run::CaseStage;

/// The exit code that says: this machine lacks what the clients need. It is neither a success nor a failure.
pub(crate) const LACKING: u8 = 3;

/// How many clients run at once. They mostly wait.
const AT_ONCE: usize = 4;

pub(crate) fn main(options: &[&str]) -> ExitCode {
    let result = match options {
        [] => sdks(""),
        ["--only", part] => sdks(part),
        ["--with", name] => match agents::named(name) {
            Some(agent) => with(agent),
            None => return crate::usage(&format!("`clients` does not know the client `{name}`, but {}", agents::names())),
        },
        ["--list"] => {
            CASES.iter().for_each(|case| println!("{}\n    {}", case.name, case.asked()));
            return ExitCode::SUCCESS;
        }
        _ => return crate::usage(&format!("`clients` does not know `{}`", options.join(" "))),
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

/// Both SDKs through all cases whose name contains `part`: whether all did as expected.
fn sdks(part: &str) -> Result<bool, InstallProblem> {
    let clients = install::sdks()?;
    let stage = CaseStage::new(build()?)?;
    let cases = CASES.iter().map(Some).chain([None]).filter(|case| case.map_or(round_trip::NAME, |case| case.name).contains(part));
    let all: Vec<(Option<&ClientCase>, &SdkClient)> = cases.flat_map(|case| clients.iter().map(move |client| (case, client))).collect();
    let rows = in_parallel(&all, |(case, client)| {
        let name = case.map_or(round_trip::NAME, |case| case.name);
        let row = match case {
            Some(case) => stage.drive(case, client).map(|seen| judge::row(case, client, seen)),
            None => round_trip::row(&stage, client),
        };
        row.unwrap_or_else(|problem| judge::row_of_a_problem(name, client.sdk.name(), problem))
    });
    Ok(show(&rows, install::PINS))
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

/// Builds the program; it stands beside this one.
fn build() -> Result<std::path::PathBuf, InstallProblem> {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--quiet", "--package", "reenact", "--bin", "reenact"]).current_dir(crate::root());
    match cargo.status() {
        Ok(status) if status.success() => (),
        other => return Err(InstallProblem::Wrong(format!("the program could not be built: {other:?}"))),
    }
    let this = std::env::current_exe().map_err(|error| InstallProblem::Wrong(format!("this program has no path: {error}")))?;
    Ok(this.with_file_name(format!("reenact{}", std::env::consts::EXE_SUFFIX)))
}
