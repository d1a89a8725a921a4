//! `cargo xtask hostile`: files that are made to hurt, and every reader of the optimised program (K-12).
//!
//! Each reader runs in a process with bounded memory. It must end in time, with exit code 2 and an error that names the file; where the file may be
//! in order, with 0 or 1 as well. The table says how long each took, and the most memory that it had.

#[path = "../../tests/hostile/files.rs"]
mod files;

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use self::files::{alias_bomb, brotli_of_letters, doubling_tape, gzip_of_letters, har};

/// All the memory that a reader may take, in KiB.
const MEMORY_KIB: u32 = 1_000_000;

/// How long a reader may take.
const TIME_MAX: Duration = Duration::from_secs(2);

/// When a reader is ended that does not end.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often the memory of a reader is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// The contents of a file.
enum HostileContents {
    Bytes(Vec<u8>),
    /// So many bytes of nothing, which take no room on the disk.
    Hollow(u64),
    Pipe,
    /// It is there already.
    Device,
}

/// Which exit codes are right.
#[derive(Clone, Copy, PartialEq)]
enum RightExit {
    Refused,
    Any,
}

/// A file, and the readers that get it.
struct HostileFile {
    kind: String,
    name: &'static str,
    contents: HostileContents,
    commands: &'static [&'static str],
    right: RightExit,
}

/// The end of a reader.
struct ReaderOutcome {
    exit: Option<i32>,
    took: Duration,
    peak_kib: u64,
    said: String,
}

pub(crate) fn main(options: &[&str]) -> ExitCode {
    let program = match options {
        [] => crate::root().join("target/dist/reenact"),
        ["--program", path] => PathBuf::from(path),
        _ => return crate::usage("`hostile` takes `--program PATH` alone"),
    };
    let Ok(program) = program.canonicalize() else {
        eprintln!("xtask hostile: {} is not there: run `cargo build --profile dist` first", program.display());
        return ExitCode::FAILURE;
    };
    let folder = crate::root().join("target/hostile");
    match run(&program, &folder) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(wrong) => {
            println!("{wrong} readers did not end as they must");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("xtask hostile: {error}");
            ExitCode::FAILURE
        }
    }
}

/// How many readers did something wrong.
fn run(program: &Path, folder: &Path) -> std::io::Result<usize> {
    let _ = fs::remove_dir_all(folder); // of a run that was interrupted
    let mut wrong = 0;
    println!("{:<34} {:<8} {:>5} {:>8} {:>9}", "file", "reader", "exit", "time", "memory");
    for file in hostile_files() {
        fs::create_dir_all(folder)?;
        write(&file, folder)?;
        for command in file.commands {
            let outcome = read(program, folder, command, file.name)?;
            let problem = problem(&outcome, &file);
            wrong += usize::from(problem.is_some());
            let exit = outcome.exit.map_or(String::from("-"), |exit| exit.to_string());
            let (time, memory) = (format!("{:.2} s", outcome.took.as_secs_f64()), format!("{} MiB", outcome.peak_kib >> 10));
            let problem = problem.map_or(String::new(), |problem| format!("  WRONG: {problem}"));
            println!("{:<34} {command:<8} {exit:>5} {time:>8} {memory:>9}{problem}", file.kind);
        }
        fs::remove_dir_all(folder)?;
    }
    Ok(wrong)
}

fn write(file: &HostileFile, folder: &Path) -> std::io::Result<()> {
    let path = folder.join(file.name);
    match &file.contents {
        HostileContents::Bytes(bytes) => fs::write(path, bytes),
        HostileContents::Hollow(length) => fs::File::create(path)?.set_len(*length),
        HostileContents::Pipe => Command::new("mkfifo").arg(path).status().map(drop),
        HostileContents::Device => Ok(()),
    }
}

fn problem(outcome: &ReaderOutcome, file: &HostileFile) -> Option<String> {
    let start: String = outcome.said.chars().take(120).collect();
    match outcome.exit {
        None => Some(format!("it was ended or aborted: {start}")),
        Some(2) if !outcome.said.contains(file.name) => Some(format!("the error does not name the file: {start}")),
        Some(2) => (outcome.took > TIME_MAX).then(|| format!("it took more than {TIME_MAX:?}")),
        Some(0 | 1) if file.right == RightExit::Any => (outcome.took > TIME_MAX).then(|| format!("it took more than {TIME_MAX:?}")),
        Some(_) => Some(format!("the exit code must be 2: {start}")),
    }
}

#[expect(clippy::disallowed_methods, reason = "readers of files are timed")]
fn read(program: &Path, folder: &Path, command: &str, name: &str) -> std::io::Result<ReaderOutcome> {
    let mut reader = Command::new("sh");
    reader.args(["-c", &format!("ulimit -v {MEMORY_KIB}; ulimit -c 0; exec \"$@\""), "sh"]).arg(program).args([command, name]);
    if command == "import" {
        reader.args(["--out", "o"]);
    }
    let errors = fs::File::create(folder.join("stderr"))?;
    let begun = Instant::now();
    let mut child = reader.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors).spawn()?;
    let mut peak_kib = 0;
    let exit = loop {
        if let Some(status) = child.try_wait()? {
            break status.code();
        }
        if begun.elapsed() > PATIENCE {
            child.kill()?;
        }
        peak_kib = peak_kib.max(peak(child.id()).unwrap_or(0));
        std::thread::sleep(LOOK_EVERY);
    };
    let took = begun.elapsed();
    let mut said = Vec::new();
    fs::File::open(folder.join("stderr"))?.take(4_000).read_to_end(&mut said)?;
    Ok(ReaderOutcome { exit, took, peak_kib, said: String::from_utf8_lossy(&said).into_owned() })
}

/// The most memory that a process has had so far, in KiB, where the system tells.
fn peak(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.trim().strip_suffix(" kB")?.parse().ok()
}

/// One of each kind.
fn hostile_files() -> Vec<HostileFile> {
    use HostileContents::{Bytes, Device, Hollow, Pipe};
    use RightExit::{Any, Refused};
    let file = |kind: &str, name, contents, commands, right| HostileFile { kind: kind.to_owned(), name, contents, commands, right };
    let tape =
        |name: &str| -> &'static [&'static str] { if name.ends_with(".toml") { &["run", "serve"] } else { &["run", "serve", "scan"] } };
    let mut all = vec![
        file("a device", "/dev/zero", Device, &["import", "run", "scan"], Refused),
        file("a pipe", "x.har", Pipe, &["import", "scan"], Refused),
        file("a pipe", "x.tape.jsonl", Pipe, tape("x.tape.jsonl"), Refused),
        file("a pipe", "x.log", Pipe, &["replay"], Refused),
        file("3 GiB of nothing", "x.toml", Hollow(3 << 30), tape("x.toml"), Refused),
        file("3 GiB of nothing", "x.tape.jsonl", Hollow(3 << 30), &["run", "serve", "scan"], Refused),
        file("3 GiB of nothing", "x.har", Hollow(3 << 30), &["import"], Refused),
        file("3 GiB of nothing", "x.yaml", Hollow(3 << 30), &["import"], Refused),
        file("3 GiB of nothing", "x.jsonl", Hollow(3 << 30), &["replay"], Refused),
        file("nothing at all", "x.tape.jsonl", Bytes(Vec::new()), &["run", "serve"], Refused),
        file("nothing at all", "x.har", Bytes(Vec::new()), &["import"], Refused),
        file("3,000,000 values", "x.toml", Bytes(format!("x = [{}]\n", "1,".repeat(3_000_000)).into()), tape("x.toml"), Refused),
        file("a body of 4 GiB in brotli", "x.har", Bytes(har("br", &brotli_of_letters(256)).into()), &["import"], Refused),
        file("a body of 500 MB in gzip", "x.har", Bytes(har("gzip", &gzip_of_letters(b"", 2 << 20)).into()), &["import"], Refused),
        file("a stream of 500 MB in gzip", "x.gz", Bytes(gzip_of_letters(b"event: ping\ndata: ", 2 << 20)), &["import", "scan"], Refused),
        file("YAML of 500 MB in gzip", "x.gz", Bytes(gzip_of_letters(b"interactions: ", 2 << 20)), &["import", "scan"], Refused),
        file("a tape that doubles", "x.tape.jsonl", Bytes(doubling_tape("abc", 59).into()), tape("x.tape.jsonl"), Refused),
        file(
            "a tape that doubles much",
            "x.tape.jsonl",
            Bytes(doubling_tape(&"abc".repeat(600), 28).into()),
            tape("x.tape.jsonl"),
            Refused,
        ),
        file("aliases that repeat", "x.yaml", Bytes(alias_bomb("abc", 29).into()), &["import"], Refused),
        file("aliases that repeat much", "x.yaml", Bytes(alias_bomb(&"abc".repeat(600), 8).into()), &["import"], Refused),
    ];
    for unit in ["? ", "- ", "[", "{a: ", "{\"a\":", "&a ", "? - "] {
        for (name, commands) in [("x.yaml", &["import"][..]), ("x.toml", &["run"]), ("x.tape.jsonl", &["run"]), ("x.log", &["replay"])] {
            let text = format!("interactions:\n- {}", unit.repeat(100_000));
            all.push(file(&format!("{unit:?}, 100,000 times"), name, Bytes(text.into()), commands, Refused));
        }
    }
    for unit in ["token=", "password: \"", "a = \n", "[[prompt]]\n", "- a\n", "&a *a ", "data: x\n\n", "{},", "\\\"", "%41+", "sk-ant-"] {
        for (name, command) in [("x.yaml", &["import"][..]), ("x.sse", &["import"]), ("x.toml", &["run"]), ("x.txt", &["scan"])] {
            all.push(file(&format!("1 MB of {unit:?}"), name, Bytes(unit.repeat(1_000_000 / unit.len()).into()), command, Any));
        }
    }
    all
}
