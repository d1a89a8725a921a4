//! `reenact scan FILE…`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::CommandExit;
use super::output::{complain, print_line, wrong_input};
use super::record::{RedactionArguments, rules};
use crate::files::compression::{CompressionFormat, unpacked};
use crate::files::open;
use crate::prelude::*;
use crate::redact::RedactionRules;
use crate::redact::scan::{DEPTH_MAX, SecretFinding, TAPE_BEGINNING, scan};
use crate::scenario::tape::line::{LineKind, TapeDecoder, TapeError, TapeLine};

#[derive(Debug, clap::Args)]
pub(super) struct ScanArguments {
    /// Tapes, any other files, and folders of them; what is not a tape is searched as text
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    redaction: RedactionArguments,
}

/// The outcome of searching files.
struct ScanTotals {
    exit: CommandExit,
    secrets: usize,
    bytes: usize,
    files: usize,
    /// How many files were not searched, or not to their end.
    left_out: usize,
}

pub(super) fn run(arguments: &ScanArguments) -> CommandExit {
    let rules = match rules(&arguments.redaction) {
        Ok(rules) => rules,
        Err(problem) => return wrong_input(&problem),
    };
    let mut totals = ScanTotals { exit: CommandExit::Fine, secrets: 0, bytes: 0, files: 0, left_out: 0 };
    for path in &arguments.files {
        totals.search(path, &rules);
    }
    totals.conclude()
}

impl ScanTotals {
    /// Searches a file, or all files of a folder in the order of their names.
    fn search(&mut self, path: &Path, rules: &Arc<RedactionRules>) {
        if !path.is_dir() {
            return self.search_file(path, rules, true);
        }
        let (mut folders, files) = (vec![path.to_path_buf()], self.files + self.left_out);
        while let Some(folder) = folders.pop() {
            let entries = fs::read_dir(&folder)
                .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>());
            let mut entries = match entries {
                Ok(entries) => entries,
                Err(error) => {
                    self.leave_out(&folder, &format!("cannot be read ({error})"));
                    continue;
                }
            };
            entries.sort();
            for entry in &entries {
                match () {
                    () if entry.is_symlink() => self.leave_out(entry, "it is a link and was not followed: name its target"),
                    () if entry.is_dir() => (),
                    () if entry.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() == 0) => (),
                    () => self.search_file(entry, rules, false),
                }
            }
            folders.extend(entries.into_iter().rev().filter(|entry| entry.is_dir() && !entry.is_symlink()));
        }
        if self.files + self.left_out == files {
            self.leave_out(path, "no file in it holds anything, so nothing was searched");
        }
    }

    /// Searches one file; `is_named` when it is not a file of a folder.
    fn search_file(&mut self, path: &Path, rules: &Arc<RedactionRules>, is_named: bool) {
        let name = path.display();
        let (contents, compression) = match read(path) {
            Ok(read) => read,
            Err(error) => return self.leave_out(path, &format!("cannot be read ({error})")),
        };
        if let Some(problem) = cannot_be_searched(&contents) {
            return self.leave_out(path, &problem);
        }
        self.files += 1;
        self.bytes += contents.len();
        if let Some(compression) = compression {
            complain(&format!("note: {name} was unpacked ({compression}); lines and columns are those of its contents"));
        }
        // Beside tapes in a folder all kinds of files lie.
        if !is_tape(&contents) && (is_named || path.to_string_lossy().ends_with(".tape.jsonl")) {
            complain(&format!("note: {name} is not a tape; it was searched as text"));
        }
        let scanned = scan(&contents, rules);
        self.secrets += scanned.findings.len();
        for SecretFinding { line, column, rule } in scanned.findings {
            print_line(&format!("{name}:{line}:{column}: {rule}"));
            self.exit = self.exit.max(CommandExit::Failed);
        }
        if !scanned.is_complete {
            let problem =
                format!("not all of it was searched: text lies in text more than {DEPTH_MAX} levels deep; unpack that and search it");
            self.leave_out(path, &problem);
        }
    }

    /// Says why a file was not searched. Then the verdict is not "none" (K-2).
    fn leave_out(&mut self, path: &Path, problem: &str) {
        complain(&format!("{}: {problem}", path.display()));
        self.left_out += 1;
        self.exit = CommandExit::WrongInput;
    }

    fn conclude(self) -> CommandExit {
        let searched = format!("{}, {}", plural(self.files as u64, "file"), plural(self.bytes as u64, "byte"));
        if self.secrets > 0 {
            complain(&format!(
                "secrets found: {}; record or import again, or replace them by hand with strings of the same length",
                self.secrets
            ));
        } else if self.left_out == 0 {
            print_line(&format!("no secrets found in {searched}"));
        } else if self.files > 0 {
            complain(&format!("searched {searched}, without a finding; {} not searched, see above", plural(self.left_out as u64, "file")));
        }
        self.exit
    }
}

/// A file that is no tape is searched up to this size (K-12).
const FILE_BYTES_MAX: u64 = 256 << 20;

/// A tape is searched line by line, so it may be larger.
const TAPE_BYTES_MAX: u64 = 2 << 30;

/// The contents of a file, and how it was compressed.
fn read(path: &Path) -> io::Result<(Vec<u8>, Option<&'static str>)> {
    let is_large = open::beginning(path, TAPE_BEGINNING.len() as u64)? == TAPE_BEGINNING;
    let contents = open::read(path, if is_large { TAPE_BYTES_MAX } else { FILE_BYTES_MAX })?;
    let format = CompressionFormat::from_start(&contents);
    Ok((unpacked(contents, FILE_BYTES_MAX)?, format.map(CompressionFormat::name)))
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
