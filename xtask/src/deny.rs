//! `cargo xtask deny`: what the dependencies may be (`deny.toml`), and whether anything is known against them. Both need the program cargo-deny.
//!
//! A machine may lack the program, or the way to the database of advisories. Then nothing was checked, and the exit code says so.

use std::process::{Command, ExitCode};

use crate::ci::LACKING;

/// The questions to cargo-deny, in order. The first also fetches the index that the second needs.
#[derive(Clone, Copy, Debug, PartialEq)]
enum DenyCheck {
    /// Licences, unwanted crates and sources. Needs nothing but the program.
    Policy,
    /// Known vulnerabilities. Needs the database of advisories.
    Advisories,
}

/// Why a check gave no answer.
#[derive(Debug, PartialEq)]
enum DenyProblem {
    /// It found something.
    Failed(String),
    /// The machine lacks what it needs.
    Lacking(String),
}

pub(crate) fn main(options: &[&str]) -> ExitCode {
    let check = match options {
        [] => DenyCheck::Policy,
        ["--advisories"] => DenyCheck::Advisories,
        _ => return crate::usage(&format!("`deny` does not know `{}`", options.join(" "))),
    };
    match run("cargo", check) {
        Ok(()) => ExitCode::SUCCESS,
        Err(DenyProblem::Failed(problem)) => {
            eprintln!("xtask deny: {problem}");
            ExitCode::FAILURE
        }
        Err(DenyProblem::Lacking(what)) => {
            eprintln!("xtask deny: NOT CHECKED: {what}");
            ExitCode::from(LACKING)
        }
    }
}

fn run(cargo: &str, check: DenyCheck) -> Result<(), DenyProblem> {
    let is_there = deny(cargo, &["--version"]).output().is_ok_and(|output| output.status.success());
    if !is_there {
        let install = "the program cargo-deny is not installed: `cargo install --locked cargo-deny` installs it";
        return Err(DenyProblem::Lacking(format!("{} ({install})", check.subject())));
    }
    if check == DenyCheck::Advisories && !succeeds(cargo, &["fetch", "db"])? {
        let way = "the database of advisories cannot be fetched: it needs the way to https://github.com/rustsec/advisory-db";
        return Err(DenyProblem::Lacking(format!("{} ({way})", check.subject())));
    }
    match succeeds(cargo, check.words())? {
        true => Ok(()),
        false => Err(DenyProblem::Failed(format!(
            "cargo deny {} found something, see above; deny.toml says what is allowed",
            check.words().join(" ")
        ))),
    }
}

impl DenyCheck {
    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Policy => &["check", "licenses", "bans", "sources"],
            Self::Advisories => &["check", "--disable-fetch", "advisories"],
        }
    }

    fn subject(self) -> &'static str {
        match self {
            Self::Policy => "licences, unwanted crates and sources of the dependencies",
            Self::Advisories => "known vulnerabilities of the dependencies",
        }
    }
}

fn succeeds(cargo: &str, words: &[&str]) -> Result<bool, DenyProblem> {
    let status = deny(cargo, words).status();
    status.map(|status| status.success()).map_err(|error| DenyProblem::Failed(format!("cargo could not be started: {error}")))
}

fn deny(cargo: &str, words: &[&str]) -> Command {
    let mut command = Command::new(cargo);
    command.arg("deny").args(words).current_dir(crate::root());
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_the_program_has_checked_nothing() {
        for check in [DenyCheck::Policy, DenyCheck::Advisories] {
            // `false` is a cargo that has no `deny`.
            let Err(DenyProblem::Lacking(what)) = run("false", check) else { panic!("it was there") };
            assert!(what.contains(check.subject()) && what.contains("cargo install --locked cargo-deny"), "{what}");
            assert_eq!(run("true", check), Ok(()));
        }
        assert_eq!(main(&["--everything"]), ExitCode::from(2));
    }

    #[test]
    fn the_policy_is_checked_as_a_step_of_its_own() {
        assert_eq!(DenyCheck::Policy.words(), ["check", "licenses", "bans", "sources"]);
        assert!(crate::ci::is_step("deny") && crate::ci::is_step("advisories"));
    }
}
