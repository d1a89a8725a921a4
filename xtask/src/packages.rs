//! `cargo xtask packages`: the Python and TypeScript packages with the program that is built, and with pinned frameworks (G-3, G-7).
//!
//! Each set of pins gets a folder of its own in `target/packages`, once. Where a language or its packages cannot be had, the command says so and exits with 3.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use crate::ci::{LACKING, built_with_tests};

/// A set of frameworks for the Python package.
struct PythonPins {
    name: &'static str,
    pins: &'static [&'static str],
    /// Its tests; all of them for the newest.
    tests: &'static [&'static str],
}

/// The tools that check the package itself.
const PYTHON_TOOLS: &[&str] = &["pytest==9.2.0", "pytest-xdist==3.8.0", "ruff==0.17.6", "mypy==2.4.1"];

/// The newest frameworks first, and one set that is older.
const PYTHON_SETS: &[PythonPins] = &[
    PythonPins {
        name: "python",
        pins: &["anthropic==2.14.0", "pydantic-ai-slim[anthropic]==2.68.0", "langgraph==1.2.24", "langchain-anthropic==1.7.10"],
        tests: &["tests"],
    },
    PythonPins {
        name: "python-older",
        pins: &["anthropic==0.125.0", "pydantic-ai-slim[anthropic]==2.29.0", "langgraph==1.1.10", "langchain-anthropic==1.3.5"],
        tests: &["tests/test_clients.py", "tests/test_program.py", "tests/test_frameworks.py"],
    },
];

/// Why a package was not tried.
enum PackageProblem {
    /// The machine lacks a language, or a way to its packages.
    Lacking(String),
    Failed(String),
}

/// Tries the packages of these languages; of both where none is named.
pub(crate) fn main(languages: &[&str]) -> ExitCode {
    let known = ["python", "typescript"];
    if let Some(wrong) = languages.iter().find(|language| !known.contains(language)) {
        return crate::usage(&format!("`packages` does not know `{wrong}`: write `python` or `typescript`"));
    }
    let program = match built_with_tests("reenact") {
        Ok(program) => program,
        Err(problem) => return ended(&PackageProblem::Failed(problem)),
    };
    for language in known.iter().filter(|language| languages.is_empty() || languages.contains(*language)) {
        let result = if *language == "python" { python(&program) } else { typescript(&program) };
        if let Err(problem) = result {
            return ended(&problem);
        }
    }
    ExitCode::SUCCESS
}

fn ended(problem: &PackageProblem) -> ExitCode {
    match problem {
        PackageProblem::Lacking(what) => {
            println!("xtask packages: SKIPPED, nothing was tried: {what}");
            ExitCode::from(LACKING)
        }
        PackageProblem::Failed(what) => {
            println!("xtask packages: FAILED: {what}");
            ExitCode::FAILURE
        }
    }
}

fn python(program: &Path) -> Result<(), PackageProblem> {
    is_there("python3", &["-c", "import ensurepip, venv"], "Python 3 with its modules venv and ensurepip (Debian: python3 python3-venv)")?;
    let folder = crate::root().join("python");
    for set in PYTHON_SETS {
        let home = crate::root().join("target/packages").join(set.name);
        let pins = [PYTHON_TOOLS, set.pins].concat();
        let python = home.join("bin/python");
        once(&home, &pins, || {
            must(Command::new("python3").args(["-m", "venv"]).arg(&home))?;
            let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "2"];
            had(Command::new(&python).args(pip).args(&pins))
        })?;
        if set.tests == ["tests"] {
            must(Command::new(home.join("bin/ruff")).arg("check").current_dir(&folder))?;
            must(Command::new(home.join("bin/mypy")).current_dir(&folder))?;
        }
        let tests = ["-m", "pytest", "-q", "-n", "2", "-p", "reenact.pytest_plugin"];
        must(Command::new(&python).args(tests).args(set.tests).env("REENACT_REAL_PROGRAM", program).current_dir(&folder))?;
    }
    Ok(())
}

fn typescript(program: &Path) -> Result<(), PackageProblem> {
    is_there("node", &["--version"], "Node (Debian: nodejs)")?;
    is_there("npm", &["--version"], "npm (Debian: npm)")?;
    let folder = crate::root().join("typescript");
    let lock = fs::read_to_string(folder.join("package-lock.json")).map_err(|error| PackageProblem::Failed(error.to_string()))?;
    once(&folder.join("node_modules"), &[&lock], || {
        // `npm ci` refuses a lock file without an optional package that no registry has.
        let options =
            ["install", "--no-save", "--no-audit", "--no-fund", "--loglevel", "error", "--prefer-offline", "--fetch-retries", "1"];
        had(Command::new("npm").args(options).current_dir(&folder))
    })?;
    must(Command::new("npm").args(["run", "--silent", "check"]).current_dir(&folder))?;
    must(Command::new("npm").args(["test", "--silent"]).env("REENACT_REAL_PROGRAM", program).current_dir(&folder))
}

fn is_there(program: &str, arguments: &[&str], what: &str) -> Result<(), PackageProblem> {
    let is_there = Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success());
    if is_there { Ok(()) } else { Err(PackageProblem::Lacking(format!("this machine has no {what}"))) }
}

/// Does the work unless it was done to its end before, for the same pins.
fn once(home: &Path, pins: &[&str], work: impl FnOnce() -> Result<(), PackageProblem>) -> Result<(), PackageProblem> {
    let (mark, pins) = (home.join("installed"), pins.join("\n"));
    if fs::read_to_string(&mark).is_ok_and(|installed| installed == pins) {
        return Ok(());
    }
    println!("xtask packages: installing into {}, once", home.display());
    let failed = |error: std::io::Error| PackageProblem::Failed(format!("{}: {error}", home.display()));
    if home.exists() {
        fs::remove_dir_all(home).map_err(failed)?;
    }
    fs::create_dir_all(home).map_err(failed)?;
    work()?;
    fs::write(&mark, &pins).map_err(failed)
}

/// A command that must succeed.
fn must(command: &mut Command) -> Result<(), PackageProblem> {
    run(command).map_err(PackageProblem::Failed)
}

/// A command that fetches packages: where it fails, they cannot be had.
fn had(command: &mut Command) -> Result<(), PackageProblem> {
    run(command).map_err(PackageProblem::Lacking)
}

fn run(command: &mut Command) -> Result<(), String> {
    let shown = format!(
        "{} {}",
        command.get_program().to_string_lossy(),
        command.get_args().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    );
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{shown}`: {status}")),
        Err(error) => Err(format!("`{shown}` could not be started: {error}")),
    }
}
