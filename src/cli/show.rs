//! `reenact show FILE`: what a recording or a boundary log holds, as it happened (V-8).
//!
//! No engine runs. A recording of another program is read as `import` reads it, secrets replaced, and nothing is written.

use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::CommandExit;
use super::output::{complain, print_styled, wrong_input};
use super::program::quoted;
use super::record::{RedactionArguments, rules};
use super::replay::LOG_BYTES_MAX;
use super::report::{ShowReportDocument, print_document};
use super::terminal::columns;
use crate::engine::log;
use crate::engine::time::Micros;
use crate::files::{open, tape, text};
use crate::import::{ImportError, ImportOptions, import_file};
use crate::prelude::*;
use crate::redact::scan::scan;
use crate::review::show_text::{self, ShowLayout};
use crate::scenario::parse::duration;
use crate::timeline::{RemarkKind, STALL_LIMIT, SessionTimeline, TapeReader, read_log};

#[derive(Debug, clap::Args)]
pub(super) struct ShowArguments {
    /// A tape, also one that is still being written; any recording that `import` reads; or a boundary log
    file: PathBuf,
    /// A stream that is silent for longer stalls, and a thread that is silent for longer has a gap
    #[arg(long, value_name = "DURATION", value_parser = span)]
    stall: Option<Micros>,
    /// Show only what goes on after this time from the start
    #[arg(long, value_name = "TIME", value_parser = span)]
    from: Option<Micros>,
    /// Show only what goes on before this time
    #[arg(long, value_name = "TIME", value_parser = span)]
    to: Option<Micros>,
    #[command(flatten)]
    redaction: RedactionArguments,
    /// In which form; `json` is one document of the whole recording
    #[arg(long, value_enum, default_value = "text", conflicts_with_all = ["from", "to"])]
    format: ShowFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ShowFormat {
    Text,
    Json,
}

/// How a tape begins.
const TAPE_MARK: &str = "{\"reenact_tape\"";

/// So narrow a terminal is not served.
const COLUMNS_MIN: usize = 60;

pub(super) fn run(arguments: &ShowArguments) -> CommandExit {
    if arguments.from.zip(arguments.to).is_some_and(|(from, to)| from >= to) {
        return wrong_input("--from must be before --to");
    }
    let timeline = match read(arguments) {
        Ok(timeline) => timeline,
        Err(problem) => return wrong_input(&problem),
    };
    let unread = timeline.remarks.iter().filter(|remark| remark.kind == RemarkKind::Unread).count();
    let exit = if unread > 0 { CommandExit::Failed } else { CommandExit::Fine };
    match arguments.format {
        ShowFormat::Json => print_document(&ShowReportDocument::new(&arguments.file, &timeline, exit as u8)),
        ShowFormat::Text => {
            let window = (arguments.from.unwrap_or_default(), arguments.to);
            let layout = ShowLayout { columns: columns().max(COLUMNS_MIN), window };
            let name = arguments.file.file_name().unwrap_or_default().to_string_lossy();
            let shown = show_text::text(&name, &timeline, layout);
            print_styled(&shown);
            tell_secrets(arguments, &shown);
        }
    }
    if unread > 0 {
        complain(&format!("{}: {} cannot be read, and what is shown is not all", arguments.file.display(), plural(unread as u64, "part")));
    }
    exit
}

/// A tape is shown as it is, secrets included. What is shown is searched, so that nobody passes it on unaware.
fn tell_secrets(arguments: &ShowArguments, shown: &str) {
    let Ok(rules) = rules(&arguments.redaction) else { return };
    let count = scan(shown.as_bytes(), &rules).findings.len();
    if count > 0 {
        let path = quoted(&arguments.file.to_string_lossy());
        complain(&format!("note: {} in what is shown; `reenact scan {path}` tells where in the file", plural(count as u64, "secret")));
    }
}

fn read(arguments: &ShowArguments) -> Result<SessionTimeline, String> {
    let path = &*arguments.file;
    let limit = arguments.stall.unwrap_or(STALL_LIMIT);
    if open::begins_with(path, log::MARK) {
        let text = text::read_up_to(path, LOG_BYTES_MAX).map_err(|problem| format!("{}: {problem}", path.display()))?;
        return read_log(&text, limit).map_err(|error| format!("{}: {error}", path.display()));
    }
    if path.to_string_lossy().ends_with(".tape.jsonl") || open::begins_with(path, TAPE_MARK) {
        return read_tape(path, limit);
    }
    if path.is_dir() {
        return Err(format!("{}: this is a directory: name one file in it", path.display()));
    }
    let rules = rules(&arguments.redaction)?;
    let imported = match import_file(path, &ImportOptions::with(&rules)) {
        Ok(imported) => imported,
        // Its members are in another order.
        Err(ImportError::Tape { .. }) => return read_tape(path, limit),
        Err(ImportError::Unknown { .. }) => {
            return Err(format!(
                "{}: neither a tape, nor a boundary log, nor a recording that `reenact import` reads; `reenact run SCENARIO --log FILE` writes the log of \
                 a scenario",
                path.display()
            ));
        }
        Err(error) => return Err(error.to_string()),
    };
    let mut reader = TapeReader::from_header(imported.format.name(), &imported.header, limit);
    imported.exchanges.iter().for_each(|exchange| reader.exchange(&exchange.exchange()));
    Ok(reader.finish())
}

fn read_tape(path: &Path, limit: Micros) -> Result<SessionTimeline, String> {
    let mut reader = TapeReader::new(limit);
    match tape::read_lines(path, |line| reader.feed(line)) {
        Ok(()) => Ok(reader.finish()),
        Err(error) => Err(error.to_string()),
    }
}

/// `3s`, `1m30s`.
fn span(text: &str) -> Result<Micros, String> {
    duration(text).map_err(|problem| format!("{problem}, as in 3s or 1m30s"))
}
