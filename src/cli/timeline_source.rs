//! A recording of any kind as a timeline: a tape, what `import` reads, or a boundary log.
//!
//! A tape is read as it is, secrets included. A recording of another program is read as `import` reads it, secrets replaced. Nothing is written.

use core::fmt;
use std::path::Path;

use super::record::{RedactionArguments, rules};
use super::replay::LOG_BYTES_MAX;
use crate::engine::log;
use crate::files::{open, tape, text};
use crate::import::{ImportError, ImportOptions, import_file};
use crate::prelude::*;
use crate::timeline::{ReadingOptions, SessionTimeline, TapeReader, read_log};
use crate::transcript::json;

/// How a tape begins.
const TAPE_MARK: &str = "{\"reenact_tape\"";

/// Why there is no timeline.
pub(super) enum TimelineProblem {
    /// The file is none of the kinds that are read.
    NoRecording(String),
    /// It is one, and cannot be read.
    Unreadable(String),
}

impl fmt::Display for TimelineProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRecording(problem) | Self::Unreadable(problem) => f.write_str(problem),
        }
    }
}

pub(super) fn is_tape(path: &Path) -> bool {
    path.to_string_lossy().ends_with(".tape.jsonl") || open::begins_with(path, TAPE_MARK)
}

pub(super) fn read_timeline(
    path: &Path,
    options: ReadingOptions,
    redaction: &RedactionArguments,
) -> Result<SessionTimeline, TimelineProblem> {
    let unreadable = |problem: String| TimelineProblem::Unreadable(problem);
    if open::begins_with(path, log::MARK) {
        let text = text::read_up_to(path, LOG_BYTES_MAX).map_err(|problem| unreadable(format!("{}: {problem}", path.display())))?;
        return read_log(&text, options.stall_limit).map_err(|error| unreadable(format!("{}: {error}", path.display())));
    }
    if is_tape(path) {
        return read_tape(path, options);
    }
    if open::begins_with(path, json::MARK) {
        let problem =
            format!("{}: this is the transcript of a run, and no recording: `reenact diff` compares it with another", path.display());
        return Err(TimelineProblem::NoRecording(problem));
    }
    if path.is_dir() {
        return Err(unreadable(format!("{}: this is a directory: name one file in it", path.display())));
    }
    let rules = rules(redaction).map_err(unreadable)?;
    let imported = match import_file(path, &ImportOptions::with(&rules)) {
        Ok(imported) => imported,
        // Its members are in another order.
        Err(ImportError::Tape { .. }) => return read_tape(path, options),
        Err(ImportError::Unknown { .. }) => {
            return Err(TimelineProblem::NoRecording(format!(
                "{}: neither a tape, nor a boundary log, nor a recording that `reenact import` reads; `reenact run SCENARIO --log FILE` writes the log of \
                 a scenario",
                path.display()
            )));
        }
        Err(error) => return Err(unreadable(error.to_string())),
    };
    let mut reader = TapeReader::from_header(imported.format.name(), &imported.header, options);
    imported.exchanges.iter().for_each(|exchange| reader.exchange(&exchange.exchange()));
    Ok(reader.finish())
}

fn read_tape(path: &Path, options: ReadingOptions) -> Result<SessionTimeline, TimelineProblem> {
    let mut reader = TapeReader::new(options);
    match tape::read_lines(path, |line| reader.feed(line)) {
        Ok(()) => Ok(reader.finish()),
        Err(error) => Err(TimelineProblem::Unreadable(error.to_string())),
    }
}
