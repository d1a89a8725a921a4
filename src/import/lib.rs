//! Recordings that people already have become tapes (K-5).
//!
//! The format is found from the content. Parts that a source does not hold are listed in the tape's header (`lost`) and never invented: an answer
//! without recorded packets is one chunk without a time. Bodies are decompressed, and secrets replaced or left out as the recorder does it
//! (`redactions`, K-2).
//!
//! `files` knows what a recording is and reads its values one by one ([`recording`](reenact_files::recording)). Here an exchange is made of each of them,
//! and of the exchanges a tape with its scenarios. A scenario is run once before it is written.
//!
//! Its rules: `docs/rules/record.md` (K-4, K-5).

extern crate alloc;

mod answers;
mod claude_trace;
mod cloud;
mod coding;
mod collect;
mod earlier_scenarios;
mod eventstream;
mod folding;
mod har;
mod httprr;
mod packed_bytes;
mod packing;
mod pair;
mod parts;
mod recording_reader;
mod rehearsal;
mod service;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::collect::CollectionSummary;
pub use self::packing::PackedExchange;
use self::recording_reader::{ReadOutcome, ReadStop, RecordingReader};
use reenact_files::atomic::{ExistingFile, FileAccess, UnnamedFile};
use reenact_files::file_set::{self, FileSetError};
use reenact_files::recording::RecordingFormat;
use reenact_files::recording::node::SyntaxError;
use reenact_files::recording::source::{ForeignFile, RecordingSource, SourceError};
use reenact_files::{open, tape};
use reenact_redact::{RedactionRules, ReplacedSecret};
use reenact_scenario::conversation::OTHER;
use reenact_scenario::derive;
use reenact_scenario::language::scenario_text;
use reenact_scenario::recording::Recording;
use reenact_scenario::tape::{Exchange, Provenance, Tape, TapeHeader};
use reenact_wire::prelude::plural;

/// The formats that can be imported, for messages that say what else would do.
const IMPORTED: &str = "a cassette (vcrpy, go-vcr, Ruby VCR, httpmock, opencode, Anthropic SDK), a claude-trace log, a HAR file, an httprr trace, \
     requests with their responses as JSON, an event stream, one JSON event a line, or the message of an answer";

/// The exchanges that the program replays, for users whose recording holds others.
const REPLAYED: &str = "only exchanges with Anthropic's Messages API can be replayed, also on Vertex AI, on Bedrock or behind a gateway: \
     record such a session with `reenact record --upstream URL --out NAME.tape.jsonl -- COMMAND…`";

/// The options of an import.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// Where the recording comes from: a file does not say whether it was made by hand (F-12).
    pub provenance: Provenance,
    /// The patterns of secrets (K-2).
    pub rules: Arc<RedactionRules>,
    /// Whether bodies are kept as they are, with the secrets in them.
    pub keep_bodies: bool,
}

impl ImportOptions {
    /// For real traffic, without the secrets that these rules know.
    pub fn with(rules: &Arc<RedactionRules>) -> Self {
        Self { provenance: Provenance::default(), rules: Arc::clone(rules), keep_bodies: false }
    }
}

/// A recording that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedRecording {
    /// The format of the recording.
    pub format: RecordingFormat,
    /// Where it comes from, as the tape will say it.
    pub header: TapeHeader,
    /// The exchanges, in the order of their requests.
    pub exchanges: Vec<PackedExchange>,
    /// How often each rule replaced or left out something.
    pub redacted: BTreeMap<String, u64>,
    /// The replaced secrets, with the reason.
    pub explained: BTreeMap<ReplacedSecret, u64>,
    /// The parts of the file that the tape does not hold, a line each: exchanges with other APIs, and those that cannot be read.
    pub left_out: Vec<String>,
    /// The texts that were not searched for secrets, a sentence each (K-2).
    pub unsearched: Vec<String>,
}

impl ImportedRecording {
    /// The tape, all of it in memory.
    pub fn tape(&self) -> Tape {
        let exchanges = self.exchanges.iter().map(PackedExchange::exchange).collect();
        Tape { header: self.header.clone(), exchanges, ..Tape::default() }
    }
}

impl ImportedRecording {
    /// How many exchanges are with other endpoints, or are no questions.
    pub fn others(&self) -> usize {
        self.exchanges.iter().filter(|exchange| !exchange.outline().asks_for_message()).count()
    }

    /// Questions that cannot be read, so that no scenario holds them: a sentence each.
    pub fn unreadable(&self) -> Vec<String> {
        let is_unreadable = |exchange: &&PackedExchange| exchange.outline().asks_for_message() && &*exchange.outline().thread == OTHER;
        let sentence = |exchange: &PackedExchange| {
            let (Exchange { id, answer, .. }, body) = (exchange.outline(), exchange.whole_body());
            let problem = match serde_json::from_slice::<serde::de::IgnoredAny>(&body) {
                Ok(_) => String::from("has no list of messages"),
                Err(error) => format!("is not JSON ({error})"),
            };
            format!("exchange {id} (status {}) is in no scenario: its request {problem}", answer.status)
        };
        self.exchanges.iter().filter(is_unreadable).map(sentence).collect()
    }
}

impl Recording for ImportedRecording {
    fn header(&self) -> &TapeHeader {
        &self.header
    }

    fn count(&self) -> usize {
        self.exchanges.len()
    }

    fn outline(&self, index: usize) -> &Exchange {
        self.exchanges[index].outline()
    }

    fn exchange(&self, index: usize) -> Cow<'_, Exchange> {
        Cow::Owned(self.exchanges[index].exchange())
    }

    fn whole_body(&self, index: usize) -> Cow<'_, [u8]> {
        self.exchanges[index].whole_body()
    }
}

/// The files that an import wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedFiles {
    /// The tape.
    pub tape: PathBuf,
    /// A scenario for each thread of conversation, `main` first.
    pub scenarios: Vec<PathBuf>,
    /// Scenarios of an earlier import of this name that had more threads.
    pub removed: Vec<PathBuf>,
    /// The departures of a replay, a sentence each, with the number of their scenario.
    pub problems: Vec<(usize, String)>,
}

/// Why an import could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteImportError {
    /// Something is there that a person may have edited.
    #[error("{}: this file exists: replace it with `--force`, or choose another name with `--out`", .0.display())]
    Exists(PathBuf),
    /// No conversation in it can be made a scenario.
    #[error(
        "nothing in the {count} exchanges can be replayed, so nothing was written: no body is a request to the Messages API; \
         record with `reenact record --upstream URL --out NAME.tape.jsonl -- COMMAND…`"
    )]
    NoScenario {
        /// How many exchanges there are.
        count: usize,
    },
    /// The file system refuses.
    #[error("{}: cannot be written ({source}): check the folder's permissions and the free space", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// Its content.
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
        /// The error of the file system.
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
    /// It is something else that people have: the transcript of an agent, an archive, a database.
    #[error("{}: this is {what}: {next}", path.display())]
    Foreign {
        /// The path.
        path: PathBuf,
        /// Its kind.
        what: &'static str,
        /// The next step for the user.
        next: &'static str,
    },
    /// It holds no exchange with the Messages API.
    #[error("{}: {format}, and nothing in it can be replayed:{found}\n{REPLAYED}", path.display())]
    NothingReplayable {
        /// The path.
        path: PathBuf,
        /// The format.
        format: &'static str,
        /// The parts that were found, a line each, with the line end before it.
        found: String,
    },
    /// It is no recording that is known.
    #[error("{}: not a known kind of recording: import {IMPORTED}", path.display())]
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
        /// The problem.
        problem: String,
    },
    /// It is not what it says of itself.
    #[error("{}: {problem}: repair the file or record again", path.display())]
    Shape {
        /// The path.
        path: PathBuf,
        /// The problem.
        problem: String,
    },
}

/// Reads a recording. The file itself is never in memory as a whole, only the exchanges that will be on the tape.
///
/// # Errors
/// When the file cannot be read, or holds nothing that this version imports; with the place where it goes wrong.
pub fn import_file(path: &Path, options: &ImportOptions) -> Result<ImportedRecording, ImportError> {
    let read = |source| ImportError::Read { path: path.to_path_buf(), source };
    import_reader(path, open::open(path).map_err(read)?, options)
}

/// The same for contents at hand; `path` stands in the messages.
///
/// # Errors
/// As [`import_file`].
pub fn import_bytes(path: &Path, bytes: &[u8], options: &ImportOptions) -> Result<ImportedRecording, ImportError> {
    import_reader(path, bytes, options)
}

fn import_reader(path: &Path, reader: impl io::Read, options: &ImportOptions) -> Result<ImportedRecording, ImportError> {
    let path_buf = || path.to_path_buf();
    let source = RecordingSource::open(reader).map_err(|error| match error {
        SourceError::Io(source) => ImportError::Read { path: path_buf(), source },
        SourceError::Empty => ImportError::Empty { path: path_buf() },
        SourceError::Foreign(ForeignFile { what, next }) => ImportError::Foreign { path: path_buf(), what, next },
    })?;
    let looks_like_one = looks_like_a_recording(&source.head);
    let mut reading = RecordingReader::new(options);
    match reading.read(source) {
        Ok(()) => (),
        // Any text is YAML until it is not.
        Err(ReadStop::Syntax("YAML" | "UTF-8", _)) if !looks_like_one && !reading.is_known() => {
            return Err(ImportError::Unknown { path: path_buf() });
        }
        Err(ReadStop::Syntax(syntax, SyntaxError { line, column, problem })) => {
            return Err(ImportError::Syntax { path: path_buf(), line, column, syntax, problem });
        }
        Err(ReadStop::Shape(problem)) => return Err(ImportError::Shape { path: path_buf(), problem }),
        Err(ReadStop::Io(source)) => return Err(ImportError::Read { path: path_buf(), source }),
    }
    match reading.finish() {
        ReadOutcome::Recording(format, collected) => imported(path, format, *collected),
        ReadOutcome::Tape => Err(ImportError::Tape { path: path_buf() }),
        ReadOutcome::Foreign(ForeignFile { what, next }) => Err(ImportError::Foreign { path: path_buf(), what, next }),
        ReadOutcome::NotYet(format) => Err(ImportError::NotYet { path: path_buf(), format }),
        ReadOutcome::Unknown => Err(ImportError::Unknown { path: path_buf() }),
    }
}

/// Whether YAML that breaks off was meant to be a recording.
fn looks_like_a_recording(head: &[u8]) -> bool {
    head.starts_with(b"when:") || [&b"interactions:"[..], b"\nwhen:"].iter().any(|word| memchr::memmem::find(head, word).is_some())
}

/// A recording that has something to replay.
fn imported(path: &Path, format: RecordingFormat, collected: CollectionSummary) -> Result<ImportedRecording, ImportError> {
    let CollectionSummary { header, exchanges, redacted, explained, left_out, unsearched } = collected;
    if exchanges.iter().any(|exchange| exchange.outline().asks_for_message()) {
        return Ok(ImportedRecording { format, header, exchanges, redacted, explained, left_out, unsearched });
    }
    let mut found: Vec<String> = left_out;
    match exchanges.len() as u64 {
        0 if found.is_empty() => found.push(String::from("no exchange at all")),
        0 => (),
        count => found.push(format!("{} with other endpoints of the API", plural(count, "exchange"))),
    }
    let found = found.iter().map(|line| format!("\n  {line}")).collect();
    Err(ImportError::NothingReplayable { path: path.to_path_buf(), format: format.name(), found })
}

/// Writes `STEM.tape.jsonl` and a scenario for each thread of conversation: `STEM.toml`, `STEM.thread-2.toml`, …
///
/// None of them has its name before all of them are whole: an import that fails changes nothing, and one that is killed can be repeated. Where files
/// are replaced, scenarios of an earlier import that had more threads are removed.
///
/// # Errors
/// When one of these files is there already and is not to be replaced, or there would be no scenario; or those of the file system.
pub fn write(imported: &ImportedRecording, stem: &Path, existing: ExistingFile) -> Result<ImportedFiles, WriteImportError> {
    let name = stem.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let beside = |ending: &str| stem.with_file_name(format!("{name}{ending}"));
    let tape_file = format!("{name}.tape.jsonl");
    let tape = beside(".tape.jsonl");
    let threads = derive::threads(imported);
    if threads.is_empty() {
        return Err(WriteImportError::NoScenario { count: imported.exchanges.len() });
    }
    let scenarios: Vec<PathBuf> = threads.iter().map(|thread| beside(&format!("{}.toml", derive::suffix(&thread.name)))).collect();
    let is_taken = |path: &&PathBuf| existing == ExistingFile::IsAnError && path.symlink_metadata().is_ok();
    if let Some(path) = scenarios.iter().chain([&tape]).find(is_taken) {
        return Err(WriteImportError::Exists(path.clone()));
    }
    let exchanges = imported.exchanges.iter().map(PackedExchange::exchange);
    let wrong = |path: &Path| {
        let path = path.to_path_buf();
        move |source| WriteImportError::Io { path, source }
    };
    let mut files = vec![tape::fill(&tape, &imported.header, exchanges).map_err(wrong(&tape))?];
    let mut problems = Vec::new();
    // One after another, and none is kept: together they say all that the recording says.
    for (number, (thread, path)) in threads.iter().zip(&scenarios).enumerate() {
        let mut derived = derive::scenario(imported, thread, &tape_file);
        if let Some(problem) = rehearsal::problem(&mut derived, imported) {
            derived.notes.push(problem.clone());
            problems.push((number, problem));
        }
        let contents = scenario_text(&derived.scenario, &derived.notes);
        let mut file = UnnamedFile::create(path, FileAccess::Everyone).map_err(wrong(path))?;
        file.write_all(contents.as_bytes()).and_then(|()| file.flush()).map_err(wrong(path))?;
        files.push(file);
    }
    let removed = match existing {
        ExistingFile::IsAnError => Vec::new(),
        ExistingFile::IsReplaced => earlier_scenarios::beyond(&scenarios, stem, &tape_file),
    };
    let mut replaced = removed.clone();
    if existing == ExistingFile::IsReplaced {
        replaced.extend(scenarios.iter().chain([&tape]).cloned());
    }
    let is_of_set = |file: &str| file == tape_file || earlier_scenarios::is_scenario_of(&name, file);
    file_set::publish(files, &replaced, &is_of_set).map_err(|FileSetError { path, source }| WriteImportError::Io { path, source })?;
    Ok(ImportedFiles { tape, scenarios, removed, problems })
}
