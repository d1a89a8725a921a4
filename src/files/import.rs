//! Recordings that people already have become tapes (K-5).
//!
//! The format is found from the content. What a source does not hold is said in the tape's header (`lost`) and never made up: an answer without
//! recorded packets is one chunk without a time. Bodies are decompressed, and secrets replaced or left out as the recorder does it (`redactions`, K-2).

mod anthropic_sdk;
mod chunks;
mod claude_trace;
mod collect;
mod detect;
mod go_vcr;
mod har;
mod httpmock;
mod node;
mod opencode;
mod parts;
mod rehearsal;
mod ruby_vcr;
mod sse;
mod vcrpy;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::collect::Collector;
pub use self::detect::Format;
use self::detect::{Detected, detect};
use self::node::{Node, SyntaxError};
use self::parts::ShapeError;
use super::atomic;
use super::redact::Rules;
use crate::scenario::derive;
use crate::scenario::tape::line::encode;
use crate::scenario::tape::{Provenance, Tape};
use crate::scenario::write::toml;

/// The formats that can be imported, for messages that say what else would do.
const IMPORTED: &str = "a vcrpy, go-vcr or Ruby VCR cassette, a claude-trace log, a HAR file, httpmock recordings, an opencode http recording, \
     inline snapshots of the Anthropic SDK, an event stream, or one JSON event a line";

/// How to import.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// Where the recording comes from: a file does not say whether it was made by hand (F-12).
    pub provenance: Provenance,
    /// What counts as a secret (K-2).
    pub rules: Arc<Rules>,
    /// Whether bodies are kept as they are, with the secrets in them.
    pub keep_bodies: bool,
}

impl ImportOptions {
    /// For real traffic, without the secrets that these rules know.
    pub fn with(rules: &Arc<Rules>) -> Self {
        Self { provenance: Provenance::default(), rules: Arc::clone(rules), keep_bodies: false }
    }
}

/// A recording that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// What it was.
    pub format: Format,
    /// The exchanges.
    pub tape: Tape,
    /// How often each rule replaced or left out something.
    pub redacted: BTreeMap<String, u64>,
}

/// The files that an import wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The tape.
    pub tape: PathBuf,
    /// A scenario for each thread of conversation, `main` first.
    pub scenarios: Vec<PathBuf>,
    /// What a replay will not do, a sentence each, with the number of the scenario that it is about.
    pub problems: Vec<(usize, String)>,
}

/// Why an import could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteImportError {
    /// Something is there that a person may have edited.
    #[error("{}: is there already: remove it, or choose another name with `--out`", .0.display())]
    Exists(PathBuf),
    /// The file system refuses.
    #[error("{}: cannot be written ({source}): check the folder's permissions and the free space", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// What it says.
        source: io::Error,
    },
}

/// Why a recording could not be imported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The file cannot be read.
    #[error("{}: cannot be read ({source}): check the path and its permissions", path.display())]
    Read {
        /// The path.
        path: PathBuf,
        /// What the file system says.
        source: io::Error,
    },
    /// There is nothing in it.
    #[error("{}: it is empty: name the file that the recorder wrote", path.display())]
    Empty {
        /// The path.
        path: PathBuf,
    },
    /// It is a tape.
    #[error("{}: this is a tape already: name it in a scenario, `tape = \"{}\"`", path.display(), path.display())]
    Tape {
        /// The path.
        path: PathBuf,
    },
    /// It is a recording that cannot be read yet.
    #[error("{}: recognised as {format}, which this version does not import: import {IMPORTED}", path.display())]
    NotYet {
        /// The path.
        path: PathBuf,
        /// The format.
        format: &'static str,
    },
    /// It is no recording that is known.
    #[error("{}: not a recording that is known: import {IMPORTED}", path.display())]
    Unknown {
        /// The path.
        path: PathBuf,
    },
    /// It breaks its format's syntax.
    #[error("{}:{line}:{column}: not valid {syntax}: {problem}: repair the file or record again", path.display())]
    Syntax {
        /// The path.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// `YAML`, `JSON` …
        syntax: &'static str,
        /// What is wrong.
        problem: String,
    },
    /// It lacks something that its format has.
    #[error("{}: as {format}: at {place}: {problem}: repair that entry or remove it", path.display())]
    Shape {
        /// The path.
        path: PathBuf,
        /// The format.
        format: &'static str,
        /// Where, e.g. `interactions[3]`.
        place: String,
        /// What is wrong.
        problem: String,
    },
}

/// Reads a recording.
///
/// # Errors
/// When the file cannot be read, or is not a recording that this version imports; with the place where it goes wrong.
pub fn import_file(path: &Path, options: &ImportOptions) -> Result<Imported, ImportError> {
    let bytes = std::fs::read(path).map_err(|source| ImportError::Read { path: path.to_path_buf(), source })?;
    import_bytes(path, &bytes, options)
}

/// The same for contents at hand; `path` stands in the messages.
///
/// # Errors
/// As [`import_file`].
pub fn import_bytes(path: &Path, bytes: &[u8], options: &ImportOptions) -> Result<Imported, ImportError> {
    let path_buf = || path.to_path_buf();
    if bytes.trim_ascii().is_empty() {
        return Err(ImportError::Empty { path: path_buf() });
    }
    // Only a raw stream may hold bytes that are not text, and it is read as bytes.
    let text = String::from_utf8_lossy(bytes);
    let syntax = |syntax: &'static str, error: SyntaxError| {
        let SyntaxError { line, column, problem } = error;
        ImportError::Syntax { path: path_buf(), line, column, syntax, problem }
    };
    let shape = |format: Format, error: ShapeError| {
        let ShapeError { place, problem } = error;
        ImportError::Shape { path: path_buf(), format: format.name(), place, problem }
    };
    let (format, tree) = match detect(&text) {
        Detected::Tree(format, tree) => (format, tree),
        Detected::Text(format) => (format, Node::Null),
        Detected::Tape => return Err(ImportError::Tape { path: path_buf() }),
        Detected::Known(format) => return Err(ImportError::NotYet { path: path_buf(), format }),
        Detected::Broken(kind, error) => return Err(syntax(kind, error)),
        Detected::Unknown => return Err(ImportError::Unknown { path: path_buf() }),
    };
    if let (true, Err(error)) = (format != Format::Sse, std::str::from_utf8(bytes)) {
        let before = &bytes[..error.valid_up_to()];
        let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let (line, column) = (before.iter().filter(|byte| **byte == b'\n').count() + 1, before.len() - line_start + 1);
        return Err(syntax("UTF-8", SyntaxError { line, column, problem: String::from("a byte that is not text") }));
    }
    let mut collector = Collector::new(format, options);
    let tree = match (format, tree) {
        (Format::ClaudeTrace, Node::Null) => claude_trace::lines(&text, &mut collector).map_err(|error| syntax("JSON", error))?,
        (_, tree) => tree,
    };
    let read_tree = match format {
        Format::Chunks => {
            chunks::read(&text, &mut collector).map_err(|error| syntax("JSON", error))?;
            return Ok(collector.finish(format));
        }
        Format::Sse => {
            sse::read(bytes, &mut collector).map_err(|problem| shape(format, ShapeError::at("the body", &problem)))?;
            return Ok(collector.finish(format));
        }
        Format::ClaudeTrace => claude_trace::read,
        Format::Vcrpy => vcrpy::read,
        Format::GoVcr => go_vcr::read,
        Format::RubyVcr => ruby_vcr::read,
        Format::Har => har::read,
        Format::Httpmock => httpmock::read,
        Format::Opencode => opencode::read,
        Format::AnthropicSdk => anthropic_sdk::read,
    };
    read_tree(&tree, &mut collector).map_err(|error| shape(format, error))?;
    Ok(collector.finish(format))
}

/// Writes `STEM.tape.jsonl` and a scenario for each thread of conversation: `STEM.toml`, `STEM.thread-2.toml`, …
///
/// # Errors
/// When one of these files is there already, before anything is written; or those of the file system.
pub fn write(imported: &Imported, stem: &Path) -> Result<Written, WriteImportError> {
    let name = stem.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let beside = |ending: &str| stem.with_file_name(format!("{name}{ending}"));
    let tape_file = format!("{name}.tape.jsonl");
    let mut files = vec![(beside(".tape.jsonl"), encode(&imported.tape))];
    let mut problems = Vec::new();
    for (number, mut derived) in derive::scenarios(&imported.tape, &tape_file).into_iter().enumerate() {
        if let Some(problem) = rehearsal::problem(&mut derived, &imported.tape) {
            derived.notes.push(problem.clone());
            problems.push((number, problem));
        }
        files.push((beside(&format!("{}.toml", derived.suffix())), toml(&derived.scenario, &derived.notes)));
    }
    if let Some((path, _)) = files.iter().find(|(path, _)| path.exists()) {
        return Err(WriteImportError::Exists(path.clone()));
    }
    for (path, contents) in &files {
        atomic::write(path, contents.as_bytes()).map_err(|source| WriteImportError::Io { path: path.clone(), source })?;
    }
    let mut paths = files.into_iter().map(|(path, _)| path);
    let tape = paths.next().unwrap_or_default();
    Ok(Written { tape, scenarios: paths.collect(), problems })
}

/// What people call the format of this recording, whether it can be imported or not; `None` when it is none that is known.
pub fn format_name(bytes: &[u8]) -> Option<&'static str> {
    match detect(&String::from_utf8_lossy(bytes)) {
        Detected::Tree(format, _) | Detected::Text(format) => Some(format.name()),
        Detected::Known(name) => Some(name),
        Detected::Tape | Detected::Broken(..) | Detected::Unknown => None,
    }
}
