//! `reenact scan TAPE…`.

use std::path::PathBuf;

use super::Exit;
use super::output::{complain, say};
use super::record::rules;
use crate::files::redact::scan::{Finding, scan};
use crate::prelude::*;
use crate::scenario::tape::line::{Line, LineKind};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Tapes; other files are looked through as they stand
    #[arg(required = true, value_name = "TAPE")]
    tapes: Vec<PathBuf>,
    /// Further rules for secrets: TOML with [[rule]], name and pattern
    #[arg(long, value_name = "FILE")]
    redact: Vec<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Exit {
    let rules = match rules(&arguments.redact) {
        Ok(rules) => rules,
        Err(problem) => {
            complain(&problem);
            return Exit::WrongInput;
        }
    };
    let (mut exit, mut secrets) = (Exit::Fine, 0);
    for path in &arguments.tapes {
        match std::fs::read(path) {
            Ok(contents) => {
                if !is_tape(&contents) {
                    complain(&format!("note: {} is no tape, and was searched as text", path.display()));
                }
                let findings = scan(&contents, &rules);
                secrets += findings.len();
                for Finding { line, column, rule } in findings {
                    say(&format!("{}:{line}:{column}: {rule}", path.display()));
                    exit = exit.max(Exit::Failed);
                }
            }
            Err(error) => {
                complain(&format!("{}: cannot be read ({error})", path.display()));
                exit = Exit::WrongInput;
            }
        }
    }
    if secrets > 0 {
        complain(&format!(
            "secrets found: {secrets}; record or import again, or take them out by hand, keeping each string as long as it is"
        ));
    } else if exit == Exit::Fine {
        say("no secrets found");
    }
    exit
}

/// Whether a file begins as a tape does.
fn is_tape(contents: &[u8]) -> bool {
    let first = contents.split(|byte| *byte == b'\n').next().unwrap_or_default();
    matches!(Line::read(first.trim_ascii_end()).map(|line| line.kind), Ok(LineKind::Header { .. }))
}
