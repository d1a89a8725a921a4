//! `cargo xtask ci`: everything that must hold before a change is merged, one named step after the other.
//!
//! Each step is a command that can be run by hand, and is printed as such when it fails. What the commands print is passed through, so
//! that a log shows the tests one by one.

use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

/// The exit code of a command that says: this machine lacks what it needs. It is neither a success nor a failure.
pub(crate) const LACKING: u8 = 3;

/// One step: its name (as in `[ci: no-std]`), what it holds, and how.
struct CiStep {
    name: &'static str,
    holds: &'static str,
    work: StepWork,
}

enum StepWork {
    /// The command must succeed. Words before the program's name that contain `=` are set in its environment.
    Run(&'static str),
    /// The same, but exit code 3 says that the machine lacks a tool of the command: then the step is skipped. With `--need` it fails instead. CI uses
    /// `--need`. The test command of the README has to pass where there is nothing but Rust.
    IfAble(&'static str),
    /// The command must succeed and its output must name none of these packages.
    Without(&'static str, &'static [&'static str]),
}

/// The build of the step `test`. Steps that build the same rooms with other features compile them once more, so they take this as well.
pub(crate) const TEST_BUILD: [&str; 3] = ["--workspace", "--features", "reenact/images,reenact/proptest"];

/// How many tests run at once for each core, where `RUST_TEST_THREADS` does not say it. The longest of them wait for clients in real time.
const TESTS_PER_CORE: usize = 3;

/// Packages that a pure room must not pull in: runtimes, sockets, the operating system's randomness.
const OUTSIDE_PACKAGES: &[&str] = &["getrandom", "mio", "rustix", "socket2", "tokio"];

/// Cheap steps first, so that a small slip is told in seconds.
const STEPS: &[CiStep] = &[
    CiStep { name: "format", holds: "rustfmt has nothing to change", work: StepWork::Run("cargo fmt --all --check") },
    CiStep { name: "tidy", holds: "the text checks find nothing", work: StepWork::Run("cargo xtask tidy") },
    CiStep {
        name: "no-std",
        holds: "the pure rooms build without the standard library, and have no warning",
        work: StepWork::Run("cargo clippy --package reenact --no-default-features --lib -- --deny warnings"),
    },
    CiStep {
        name: "dependencies",
        holds: "the pure rooms pull in no runtime, socket or system randomness",
        work: StepWork::Without("cargo tree --package reenact --no-default-features --edges normal --prefix none", OUTSIDE_PACKAGES),
    },
    CiStep {
        name: "deny",
        holds: "the dependencies have the licences and sources that deny.toml allows",
        work: StepWork::IfAble("cargo xtask deny"),
    },
    CiStep {
        name: "advisories",
        holds: "nothing is known against the dependencies",
        work: StepWork::IfAble("cargo xtask deny --advisories"),
    },
    CiStep {
        name: "clippy",
        holds: "nothing in the workspace has a warning, tests included",
        work: StepWork::Run("cargo clippy --workspace --all-targets -- --deny warnings"),
    },
    CiStep {
        name: "clippy-fuzz",
        holds: "the strategies, and what fuzzes with them, have no warning when they are built alone",
        work: StepWork::Run("cargo clippy --package reenact-fuzz -- --deny warnings"),
    },
    CiStep {
        name: "clippy-bench",
        holds: "the benchmark still builds alone",
        work: StepWork::Run("cargo clippy --package reenact-bench -- --deny warnings"),
    },
    CiStep {
        name: "files-alone",
        holds: "the library builds without the command line",
        work: StepWork::Run("cargo clippy --package reenact --no-default-features --features files --lib -- --deny warnings"),
    },
    CiStep {
        name: "live-alone",
        holds: "real connections build without the simulated network",
        work: StepWork::Run("cargo clippy --package reenact --no-default-features --features live --lib -- --deny warnings"),
    },
    CiStep {
        name: "strategies-alone",
        holds: "the library gives strategies without reading files",
        work: StepWork::Run("cargo clippy --package reenact --no-default-features --features proptest --lib -- --deny warnings"),
    },
    CiStep {
        name: "test",
        holds: "every test passes",
        work: StepWork::Run("cargo test --workspace --features reenact/images,reenact/proptest"),
    },
    CiStep {
        name: "fuzz-scenarios",
        holds: "no rule is broken by two thousand generated scenarios",
        work: StepWork::Run("cargo run --package reenact-fuzz -- fuzz-scenarios --cases 2000"),
    },
    CiStep {
        name: "fuzz",
        holds: "no reader of bytes panics, takes long or needs much memory on changed samples",
        work: StepWork::Run("cargo run --package reenact-fuzz -- fuzz --seconds 5"),
    },
    CiStep {
        name: "docs",
        holds: "the documentation builds and its links lead somewhere",
        work: StepWork::Run("RUSTDOCFLAGS=-Dwarnings cargo doc --workspace --exclude reenact-fuzz --no-deps"),
    },
    CiStep { name: "insta", holds: "the cargo-insta program understands our snapshots", work: StepWork::Run("cargo xtask insta") },
    CiStep {
        name: "clients",
        holds: "pinned real clients behave with the replay server as with the API",
        work: StepWork::IfAble("cargo run --package reenact-clients -- --built"),
    },
    CiStep {
        name: "python",
        holds: "the Python package runs and sweeps agents of pinned frameworks in virtual time",
        work: StepWork::IfAble("cargo run --package reenact-clients -- --built --packages python"),
    },
    CiStep {
        name: "typescript",
        holds: "the TypeScript package does so, too",
        work: StepWork::IfAble("cargo run --package reenact-clients -- --built --packages typescript"),
    },
    CiStep { name: "rules", holds: "something holds each rule of the engine", work: StepWork::Run("cargo xtask rules --missing") },
];

/// The next step after a failed one.
#[derive(Clone, Copy, Debug, PartialEq)]
enum OnFailure {
    Stop,
    KeepGoing,
}

/// Why a step is not done.
#[derive(Debug, PartialEq)]
enum SkipReason {
    Failed(String),
    /// The machine lacks what it needs.
    Unable,
}

pub(crate) fn main(mut options: &[&str]) -> ExitCode {
    let (mut on_failure, mut needed) = (OnFailure::Stop, Vec::new());
    loop {
        options = match options {
            [] => return run(on_failure, &needed),
            ["--keep-going", rest @ ..] => {
                on_failure = OnFailure::KeepGoing;
                rest
            }
            ["--need", name, rest @ ..] if is_step(name) => {
                needed.push(*name);
                rest
            }
            ["--list", ..] => {
                STEPS.iter().for_each(|step| println!("{:<13} {}\n{:<13} {}", step.name, step.holds, "", step.work.command()));
                return ExitCode::SUCCESS;
            }
            _ => return crate::usage(&format!("`ci` does not know `{}`", options.join(" "))),
        };
    }
}

/// Whether there is a step of this name.
pub(crate) fn is_step(name: &str) -> bool {
    STEPS.iter().any(|step| step.name == name)
}

fn run(on_failure: OnFailure, needed: &[&str]) -> ExitCode {
    let (mut failed, mut skipped): (Vec<&CiStep>, Vec<&CiStep>) = (Vec::new(), Vec::new());
    for (index, step) in STEPS.iter().enumerate() {
        println!("=== {} ({}/{}): {}", step.name, index + 1, STEPS.len(), step.work.command());
        let (result, duration) = timed(|| step.work.run());
        let seconds = duration.as_secs_f64();
        match or_skipped(result, needed.contains(&step.name)) {
            Ok(()) => println!("=== {}: ok, {seconds:.1} s", step.name),
            Err(SkipReason::Unable) => {
                println!("=== {}: SKIPPED, {seconds:.1} s: this machine lacks the programs that it needs, see above", step.name);
                skipped.push(step);
            }
            Err(SkipReason::Failed(problem)) => {
                println!("=== {}: FAILED, {seconds:.1} s: {problem}", step.name);
                failed.push(step);
                if on_failure == OnFailure::Stop {
                    break;
                }
            }
        }
    }
    for step in &failed {
        println!("xtask ci: step `{}` failed; run it by hand: {}", step.name, step.work.command());
    }
    for step in &skipped {
        println!(
            "xtask ci: step `{}` was SKIPPED, so it is not known whether {}; to try it: {}",
            step.name,
            step.holds,
            step.work.command()
        );
    }
    if failed.is_empty() {
        println!("xtask ci: {} of {} steps passed, and no step failed", STEPS.len() - skipped.len(), STEPS.len());
        return ExitCode::SUCCESS;
    }
    ExitCode::FAILURE
}

/// A step that is needed may not be skipped.
fn or_skipped(result: Result<(), SkipReason>, is_needed: bool) -> Result<(), SkipReason> {
    match result {
        Err(SkipReason::Unable) if is_needed => {
            Err(SkipReason::Failed("this machine lacks the programs that it needs, and `--need` requires it to run".to_string()))
        }
        other => other,
    }
}

#[expect(clippy::disallowed_methods, reason = "how long a step took is for the person who waits; nothing is decided by it")]
fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed())
}

impl StepWork {
    /// The command as a person would type it.
    fn command(&self) -> &'static str {
        match self {
            StepWork::Run(command) | StepWork::IfAble(command) | StepWork::Without(command, _) => command,
        }
    }

    fn run(&self) -> Result<(), SkipReason> {
        let mut command = prepared(self.command()).map_err(SkipReason::Failed)?;
        let unstarted = |error| SkipReason::Failed(format!("could not be started: {error}"));
        match self {
            StepWork::Run(_) | StepWork::IfAble(_) => {
                let status = command.status().map_err(unstarted)?;
                match (self, status.code()) {
                    (_, Some(0)) => Ok(()),
                    (StepWork::IfAble(_), Some(code)) if code == i32::from(LACKING) => Err(SkipReason::Unable),
                    _ => Err(SkipReason::Failed(status.to_string())),
                }
            }
            StepWork::Without(_, packages) => {
                let output = command.output().map_err(unstarted)?;
                if !output.status.success() {
                    return Err(SkipReason::Failed(format!("{}\n{}", output.status, String::from_utf8_lossy(&output.stderr))));
                }
                absent(&String::from_utf8_lossy(&output.stdout), packages).map_err(SkipReason::Failed)
            }
        }
    }
}

/// The command with its environment, to be run in the checkout's root.
///
/// A program of the workspace is taken out of the build of the tests: for itself alone it has fewer features, so that most rooms would be compiled again,
/// which takes longer than its work.
fn prepared(line: &str) -> Result<Command, String> {
    let words: Vec<&str> = line.split(' ').collect();
    if let ["cargo", "run", "--package", package, "--", options @ ..] = words.as_slice() {
        let mut command = Command::new(built_with_tests(package)?);
        command.args(options).current_dir(crate::root());
        return Ok(command);
    }
    let program = words.iter().position(|word| !word.contains('=')).expect("a command names a program");
    let mut command = Command::new(words[program]);
    command.args(&words[program + 1..]).current_dir(crate::root());
    command.envs(words[..program].iter().filter_map(|word| word.split_once('=')));
    command.envs(test_threads().map(|threads| ("RUST_TEST_THREADS", threads.to_string())));
    Ok(command)
}

/// How many tests run at once; `None` where the environment says it.
#[expect(clippy::disallowed_methods, reason = "how many tests run at once changes no result, and CONTRIBUTING.md names the variable")]
fn test_threads() -> Option<usize> {
    std::env::var_os("RUST_TEST_THREADS").is_none().then_some(TESTS_PER_CORE * crate::cores())
}

/// The program of this package, which has the package's name: where it is after it was built as the tests were.
fn built_with_tests(package: &str) -> Result<PathBuf, String> {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--quiet", "--all-targets"]).args(TEST_BUILD).current_dir(crate::root());
    match cargo.status() {
        Ok(status) if status.success() => (),
        Ok(status) => return Err(format!("{package} could not be built: {status}")),
        Err(error) => return Err(format!("cargo could not be started: {error}")),
    }
    // This program is a member as well, and stands beside it.
    let this = std::env::current_exe().map_err(|error| format!("this program has no path: {error}"))?;
    Ok(this.with_file_name(format!("{package}{}", std::env::consts::EXE_SUFFIX)))
}

/// `tree` is one package a line, its name first.
fn absent(tree: &str, packages: &[&str]) -> Result<(), String> {
    let names = tree.lines().filter_map(|line| line.split(' ').next());
    let mut found: Vec<&str> = names.filter(|name| packages.contains(name)).collect();
    found.sort_unstable();
    found.dedup();
    if found.is_empty() { Ok(()) } else { Err(format!("the pure rooms pull in {}", found.join(", "))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outside_package_is_found() {
        let tree = "reenact v0.1.0 (/w)\ntokio v1.2.3\nserde v1.0.0\ntokio v1.2.3 (*)\n";
        assert_eq!(absent(tree, OUTSIDE_PACKAGES), Err("the pure rooms pull in tokio".to_string()));
        assert_eq!(absent("reenact v0.1.0\ntokio-like v1.0.0\n", OUTSIDE_PACKAGES), Ok(()));
    }

    /// The line of a step is one text, so that it can be typed.
    #[test]
    fn the_tests_are_built_as_other_steps_build() {
        let step = STEPS.iter().find(|step| step.name == "test").unwrap();
        assert_eq!(step.work.command(), format!("cargo test {}", TEST_BUILD.join(" ")));
    }

    #[test]
    fn a_failing_command_is_a_failed_step() {
        assert!(StepWork::Run("false").run().is_err());
        assert!(StepWork::Without("cargo no-such-command", &[]).run().is_err());
        let Err(SkipReason::Failed(problem)) = StepWork::Run("no-such-program-at-all").run() else { panic!("it ran") };
        assert!(problem.contains("could not be started"));
    }

    #[test]
    fn a_step_that_a_machine_cannot_do_is_skipped_unless_it_is_needed() {
        let unable = || StepWork::IfAble("sh -c exit${IFS}3").run();
        assert_eq!(unable(), Err(SkipReason::Unable));
        assert_eq!(or_skipped(unable(), false), Err(SkipReason::Unable));
        assert!(matches!(or_skipped(unable(), true), Err(SkipReason::Failed(problem)) if problem.contains("--need")));
        assert!(matches!(StepWork::IfAble("false").run(), Err(SkipReason::Failed(_))), "what failed is no skip");
        assert_eq!(or_skipped(StepWork::IfAble("true").run(), true), Ok(()));
        assert_eq!(main(&["--need", "no-such-step"]), ExitCode::from(2));
    }

    #[test]
    fn words_with_an_equals_sign_before_the_program_are_its_environment() {
        let command = prepared("A=b cargo doc --x=y").unwrap();
        assert_eq!(command.get_program(), "cargo");
        assert_eq!(command.get_args().collect::<Vec<_>>(), ["doc", "--x=y"]);
        assert!(command.get_envs().any(|variable| variable == ("A".as_ref(), Some("b".as_ref()))));
        assert!(command.get_envs().all(|(name, _)| ["A", "RUST_TEST_THREADS"].contains(&name.to_str().unwrap())));
    }
}
