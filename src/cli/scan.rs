//! `reenact scan TAPE…`.

use std::io;
use std::path::{Path, PathBuf};

use super::CommandExit;
use super::output::{complain, print_line};
use super::record::{RedactionArguments, rules};
use crate::files::redact::scan::{DEPTH_MAX, SecretFinding, TAPE_BEGINNING, scan};
use crate::files::{compression, open};
use crate::prelude::*;
use crate::scenario::tape::line::{LineKind, TapeDecoder, TapeError, TapeLine};

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
        match read(path) {
            Ok((contents, compression)) => {
                if let Some(problem) = cannot_be_searched(&contents) {
                    complain(&format!("{}: {problem}", path.display()));
                    exit = CommandExit::WrongInput;
                    continue;
                }
                bytes += contents.len();
                let name = path.display();
                if let Some(compression) = compression {
                    complain(&format!("note: {name} was unpacked ({compression}); lines and columns are those of its contents"));
                }
                if !is_tape(&contents) {
                    complain(&format!("note: {name} is not a tape; it was searched as text"));
                }
                let scanned = scan(&contents, &rules);
                secrets += scanned.findings.len();
                if !scanned.is_complete {
                    complain(&format!(
                        "{name}: not all of it was searched: text lies in text more than {DEPTH_MAX} levels deep; unpack that and search it"
                    ));
                    exit = CommandExit::WrongInput;
                }
                for SecretFinding { line, column, rule } in scanned.findings {
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

/// A file that is no tape is searched up to this size (K-12).
const FILE_BYTES_MAX: u64 = 256 << 20;

/// A tape is searched line by line, so it may be larger.
const TAPE_BYTES_MAX: u64 = 2 << 30;

/// The contents of a file, and how it was compressed.
fn read(path: &Path) -> io::Result<(Vec<u8>, Option<&'static str>)> {
    let is_large = open::beginning(path, TAPE_BEGINNING.len() as u64)? == TAPE_BEGINNING;
    let contents = open::read(path, if is_large { TAPE_BYTES_MAX } else { FILE_BYTES_MAX })?;
    let name = compression::name(&contents);
    Ok((compression::unpacked(contents, FILE_BYTES_MAX)?, name))
}

/// How much of a file is looked at to see whether it is text.
const TEXT_BYTES: usize = 64 << 10;

/// Why a file cannot be searched.
fn cannot_be_searched(contents: &[u8]) -> Option<String> {
    let problem = match contents {
        [] => Some("it is empty, so nothing was searched: name the file that the recorder wrote"),
        [b'P', b'K', 3, 4, ..] | [b'B', b'Z', b'h', ..] | [0xfd, b'7', b'z', b'X', b'Z', ..] | [b'7', b'z', 0xbc, 0xaf, ..] => {
            Some("it is compressed and was not searched: unpack it first")
        }
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some("it is UTF-16 and was not searched: convert it to UTF-8 first"),
        _ if contents.iter().take(TEXT_BYTES).any(|byte| *byte == 0) => Some("it is not text and was not searched"),
        _ => None,
    };
    problem.map(String::from).or_else(|| grows_without_end(contents).map(|error| format!("it was not searched: {error}")))
}

/// Why the bodies of a tape are too large to be put together (K-12).
fn grows_without_end(contents: &[u8]) -> Option<TapeError> {
    if !is_tape(contents) {
        return None;
    }
    let mut decoder = TapeDecoder::new();
    let problem = contents.split(|byte| *byte == b'\n').find_map(|line| decoder.feed(line).err());
    problem.filter(|error| matches!(error, TapeError::TooLarge { .. }))
}

/// Whether a file begins as a tape does.
fn is_tape(contents: &[u8]) -> bool {
    let first = contents.split(|byte| *byte == b'\n').next().unwrap_or_default();
    matches!(TapeLine::read(first.trim_ascii_end()).map(|line| line.kind), Ok(LineKind::Header { .. }))
}
