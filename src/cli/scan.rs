//! `reenact scan TAPE…`.

use std::path::PathBuf;

use super::CommandExit;
use super::output::{complain, print_line};
use super::record::{RedactionArguments, rules};
use crate::files::open;
use crate::files::redact::scan::{SecretFinding, scan};
use crate::prelude::*;
use crate::scenario::tape::line::{LineKind, TapeLine};

#[derive(Debug, clap::Args)]
pub(super) struct ScanArguments {
    /// Tapes; other files are searched as text
    #[arg(required = true, value_name = "TAPE")]
    tapes: Vec<PathBuf>,
    #[command(flatten)]
    redaction: RedactionArguments,
}

pub(super) fn run(arguments: &ScanArguments) -> CommandExit {
    let rules = match rules(&arguments.redaction) {
        Ok(rules) => rules,
        Err(problem) => {
            complain(&problem);
            return CommandExit::WrongInput;
        }
    };
    let (mut exit, mut secrets, mut bytes) = (CommandExit::Fine, 0, 0);
    for path in &arguments.tapes {
        match open::read(path, u64::MAX) {
            Ok(contents) if cannot_be_searched(&contents).is_some() => {
                complain(&format!("{}: {}", path.display(), cannot_be_searched(&contents).unwrap_or_default()));
                exit = CommandExit::WrongInput;
            }
            Ok(contents) => {
                bytes += contents.len();
                if !is_tape(&contents) {
                    complain(&format!("note: {} is not a tape; it was searched as text", path.display()));
                }
                let findings = scan(&contents, &rules);
                secrets += findings.len();
                for SecretFinding { line, column, rule } in findings {
                    print_line(&format!("{}:{line}:{column}: {rule}", path.display()));
                    exit = exit.max(CommandExit::Failed);
                }
            }
            Err(error) => {
                let advice = if path.is_dir() { ": name the tapes in it" } else { "" };
                complain(&format!("{}: cannot be read ({error}){advice}", path.display()));
                exit = CommandExit::WrongInput;
            }
        }
    }
    if secrets > 0 {
        complain(&format!("secrets found: {secrets}; record or import again, or replace them by hand with strings of the same length"));
    } else if exit == CommandExit::Fine {
        let files = plural(arguments.tapes.len() as u64, "file");
        print_line(&format!("no secrets found in {files}, {}", plural(bytes as u64, "byte")));
    }
    exit
}

/// How much of a file is looked at to see whether it is text.
const TEXT_BYTES: usize = 64 << 10;

/// Why a file cannot be searched.
fn cannot_be_searched(contents: &[u8]) -> Option<&'static str> {
    match contents {
        [] => Some("it is empty, so nothing was searched: name the file that the recorder wrote"),
        [0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..] | [b'P', b'K', 3, 4, ..] => {
            Some("it is compressed and was not searched: unpack it first")
        }
        [b'B', b'Z', b'h', ..] | [0xfd, b'7', b'z', b'X', b'Z', ..] | [b'7', b'z', 0xbc, 0xaf, ..] => {
            Some("it is compressed and was not searched: unpack it first")
        }
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some("it is UTF-16 and was not searched: convert it to UTF-8 first"),
        _ if contents.iter().take(TEXT_BYTES).any(|byte| *byte == 0) => Some("it is not text and was not searched"),
        _ => None,
    }
}

/// Whether a file begins as a tape does.
fn is_tape(contents: &[u8]) -> bool {
    let first = contents.split(|byte| *byte == b'\n').next().unwrap_or_default();
    matches!(TapeLine::read(first.trim_ascii_end()).map(|line| line.kind), Ok(LineKind::Header { .. }))
}
