//! `start`: the shipped program beside an empty one.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use super::outcome::{BarLimit, MILLISECONDS, ReportLine, time};
use super::rounds;

/// One start of each, in turns: a process meets more noise than a loop does.
const PAIRS: usize = 101;

pub(crate) fn against_empty() -> Vec<ReportLine> {
    let ours = build_ours();
    let empty = build_empty(ours.parent().expect("a program is in a folder"));
    let rounds = rounds::in_turns_of(PAIRS, Duration::ZERO, [&mut || start(&ours), &mut || start(&empty)]);
    vec![ReportLine::Bar {
        name: "start",
        ours: time(rounds.median(0)),
        theirs: format!("empty program {}", time(rounds.median(1))),
        figure: rounds.difference(0, 1) / 1e6,
        unit: MILLISECONDS,
        limit: BarLimit::AtMost(2.0),
    }]
}

fn start(program: &Path) {
    let status = Command::new(program).arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).status();
    assert!(status.as_ref().is_ok_and(std::process::ExitStatus::success), "{}: {status:?}", program.display());
}

/// The program to measure, if one is named.
static NAMED: OnceLock<PathBuf> = OnceLock::new();

/// Measures this program, and builds none.
pub(crate) fn measure_this(program: &str) {
    // With two names the first counts.
    let _ = NAMED.set(PathBuf::from(program));
}

/// Builds the program; it stands beside this one.
pub(crate) fn build_ours() -> PathBuf {
    if let Some(named) = NAMED.get() {
        return named.clone();
    }
    run(Command::new("cargo").args(["build", "--quiet", "--profile", "dist", "--package", "reenact", "--bin", "reenact"]));
    let this = std::env::current_exe().expect("this program has a path");
    this.with_file_name(format!("reenact{}", std::env::consts::EXE_SUFFIX))
}

fn build_empty(folder: &Path) -> PathBuf {
    let source = folder.join("bench-empty.rs");
    std::fs::write(&source, "fn main() {}\n").expect("the target folder can be written to");
    let program = folder.join(format!("bench-empty{}", std::env::consts::EXE_SUFFIX));
    run(Command::new("rustc").arg("-O").arg(&source).arg("-o").arg(&program));
    program
}

fn run(command: &mut Command) {
    let status = command.current_dir(crate::root()).status();
    assert!(status.as_ref().is_ok_and(std::process::ExitStatus::success), "{command:?}: {status:?}");
}
