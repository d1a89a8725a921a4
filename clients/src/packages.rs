//! `cargo xtask packages`: the Python and TypeScript packages with the program that is built, and with pinned frameworks (G-3, G-7).
//!
//! Each set of pins for Python gets a folder of its own in `target/packages`, once.

use std::path::Path;
use std::process::Command;

use crate::install::{InstallProblem, NODE, NPM, PYTHON, are_there, fetch, virtual_environment};

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

/// The languages that have a package.
const LANGUAGES: [&str; 2] = ["python", "typescript"];

/// The first of these languages that has no package.
pub(super) fn unknown<'a>(languages: &[&'a str]) -> Option<&'a str> {
    languages.iter().find(|language| !LANGUAGES.contains(language)).copied()
}

/// Tries the packages of these languages; of both where none is named. `program` is `reenact`.
pub(super) fn try_all(languages: &[&str], program: &Path) -> Result<bool, InstallProblem> {
    for language in LANGUAGES.iter().filter(|language| languages.is_empty() || languages.contains(*language)) {
        if *language == "python" { python(program)? } else { typescript(program)? }
    }
    Ok(true)
}

fn python(program: &Path) -> Result<(), InstallProblem> {
    are_there(&[PYTHON])?;
    let folder = crate::root().join("python");
    for set in PYTHON_SETS {
        let home = crate::root().join("target/packages").join(set.name);
        let python = virtual_environment(&home, &[PYTHON_TOOLS, set.pins].concat())?;
        if set.tests == ["tests"] {
            must(Command::new(home.join("bin/ruff")).arg("check").current_dir(&folder))?;
            must(Command::new(home.join("bin/mypy")).current_dir(&folder))?;
        }
        let tests = ["-m", "pytest", "-q", "-n", "2", "-p", "reenact.pytest_plugin"];
        must(Command::new(&python).args(tests).args(set.tests).env("REENACT_REAL_PROGRAM", program).current_dir(&folder))?;
    }
    Ok(())
}

fn typescript(program: &Path) -> Result<(), InstallProblem> {
    are_there(&[NODE, NPM])?;
    let folder = crate::root().join("typescript");
    // `npm ci` refuses a lock file without an optional package that no registry has. What is there already is not fetched again.
    let options = ["install", "--no-save", "--no-audit", "--no-fund", "--loglevel", "error", "--prefer-offline", "--fetch-retries", "1"];
    fetch(Command::new("npm").args(options).current_dir(&folder))?;
    must(Command::new("npm").args(["run", "--silent", "check"]).current_dir(&folder))?;
    must(Command::new("npm").args(["test", "--silent"]).env("REENACT_REAL_PROGRAM", program).current_dir(&folder))
}

/// A command of the package itself, which must succeed. Its output is passed through.
fn must(command: &mut Command) -> Result<(), InstallProblem> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(InstallProblem::Wrong(format!("{command:?} failed: {status}"))),
        Err(error) => Err(InstallProblem::Wrong(format!("{command:?} could not be started: {error}"))),
    }
}
