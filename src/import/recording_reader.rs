//! One file being read: each value goes to the reader of its kind, and what comes out to the collector (K-5).

use std::ops::ControlFlow;

use super::collect::{CollectionSummary, FoundExchange, TapeCollector};
use super::{ImportOptions, answers, claude_trace, har, httprr, pair};
use reenact_files::compression::read_bounded;
use reenact_files::recording::RecordingFormat;
use reenact_files::recording::entries::{EntrySink, FileEntry};
use reenact_files::recording::format::{ValueKind, kind};
use reenact_files::recording::node::{DataNode, SyntaxError};
use reenact_files::recording::source::{FileSyntax, ForeignFile, RecordingSource};
use reenact_files::recording::{json, yaml};

/// A stream of events is held in memory as a whole (K-12).
const STREAM_BYTES_MAX: u64 = 64 << 20;

/// Why the rest of a file is not read.
#[derive(Debug)]
pub(super) enum ReadStop {
    Io(std::io::Error),
    /// The syntax that is broken, and where.
    Syntax(&'static str, SyntaxError),
    /// A recording that is not what its sizes say.
    Shape(String),
}

/// The kind of a file, once it is read.
#[derive(Debug)]
pub(super) enum ReadOutcome {
    Recording(RecordingFormat, Box<CollectionSummary>),
    Tape,
    Foreign(ForeignFile),
    NotYet(&'static str),
    Unknown,
}

/// A file being read.
pub(super) struct RecordingReader {
    collector: TapeCollector,
    /// The kind of the first known value.
    first: Option<ValueKind>,
    /// The format of a list in which nothing was.
    list: Option<RecordingFormat>,
    /// The events of an answer that is written a line each.
    stream: String,
    stream_place: String,
    /// The number of unknown values, for a file without known ones.
    unknown: u64,
}

impl RecordingReader {
    pub(super) fn new(options: &ImportOptions) -> Self {
        Self {
            collector: TapeCollector::new(options),
            first: None,
            list: None,
            stream: String::new(),
            stream_place: String::new(),
            unknown: 0,
        }
    }

    /// Reads the file to its end.
    pub(super) fn read(&mut self, source: RecordingSource<'_>) -> Result<(), ReadStop> {
        match source.syntax {
            FileSyntax::Json => json::read(source, self).map_err(|error| ReadStop::Syntax("JSON", error)),
            FileSyntax::Yaml => yaml::read(source, self).map_err(|(syntax, error)| ReadStop::Syntax(syntax, error)),
            FileSyntax::Sse => {
                self.first = Some(ValueKind::Recording(RecordingFormat::Sse));
                let bytes = read_bounded(source.reader, STREAM_BYTES_MAX).map_err(ReadStop::Io)?;
                let bytes = bytes.ok_or_else(|| ReadStop::Shape(format!("the stream is larger than {} MiB", STREAM_BYTES_MAX >> 20)))?;
                for (number, answer) in (1..).zip(answers::each_stream(&bytes)) {
                    let found = answers::stream(answer.to_vec(), &mut self.collector);
                    self.collector.push(&format!("answer {number}"), found);
                }
                Ok(())
            }
            FileSyntax::Httprr => {
                self.first = Some(ValueKind::Recording(RecordingFormat::Httprr));
                let mut sink = |place: String, found: Result<FoundExchange, String>| {
                    self.collect(&place, found);
                    ControlFlow::Continue(())
                };
                httprr::read(source.reader, &mut sink).map_err(ReadStop::Shape)
            }
        }
    }

    /// The kind of the file, once it is read.
    pub(super) fn finish(mut self) -> ReadOutcome {
        self.end_stream();
        let format = match self.first {
            Some(ValueKind::Recording(format)) => Some(format),
            // Answers of another API have the form of those that we know.
            Some(ValueKind::OtherApi(_)) => Some(RecordingFormat::Chunks),
            Some(ValueKind::Tape) => return ReadOutcome::Tape,
            Some(ValueKind::Foreign(foreign)) => return ReadOutcome::Foreign(foreign),
            Some(ValueKind::NotYet(name)) => return ReadOutcome::NotYet(name),
            Some(ValueKind::Unknown) | None => self.list.filter(|_| self.unknown == 0),
        };
        match format {
            Some(format) => ReadOutcome::Recording(format, Box::new(self.collector.finish(format.name()))),
            None => ReadOutcome::Unknown,
        }
    }

    /// Whether anything in the file was known.
    pub(super) fn is_known(&self) -> bool {
        self.first.is_some() || self.list.is_some()
    }

    fn recording(&mut self, format: RecordingFormat, entry: &FileEntry<'_>) {
        let FileEntry { place, node, text, .. } = entry;
        let found = match format {
            RecordingFormat::Chunks => return self.event(place, node, *text),
            RecordingFormat::Har => har::exchange(node),
            RecordingFormat::ClaudeTrace => claude_trace::exchange(node, &mut self.collector),
            RecordingFormat::Answers => answers::answer(node, &mut self.collector),
            RecordingFormat::Message => {
                let mut json = String::new();
                let body = text.map_or_else(
                    || {
                        node.push_json(&mut json);
                        json.as_str()
                    },
                    |text| text,
                );
                Ok(answers::alone(body.as_bytes().to_vec(), &mut self.collector))
            }
            format => pair::exchange(node, format, &mut self.collector),
        };
        self.collect(place, found);
    }

    fn collect(&mut self, place: &str, found: Result<FoundExchange, String>) {
        match found {
            Ok(found) => self.collector.push(place, found),
            Err(problem) => self.collector.skip(place, problem),
        }
    }

    /// The next event of an answer; a `message_start` begins the next answer.
    fn event(&mut self, place: &str, event: &DataNode, text: Option<&str>) {
        if event.get("type").and_then(DataNode::text) == Some("message_start") {
            self.end_stream();
        }
        if self.stream.is_empty() {
            self.stream_place = place.to_owned();
        }
        answers::push_event(&mut self.stream, event, text);
    }

    fn end_stream(&mut self) {
        if !self.stream.is_empty() {
            self.collector.lose("event lines");
            self.collector.lose("padding");
            let found = answers::alone(std::mem::take(&mut self.stream).into_bytes(), &mut self.collector);
            self.collector.push(&self.stream_place, found);
        }
    }
}

impl EntrySink for RecordingReader {
    fn list(&mut self, name: &str) {
        if !name.is_empty() {
            self.list = Some(RecordingFormat::from_list(name));
        }
    }

    fn entry(&mut self, entry: FileEntry<'_>) -> ControlFlow<()> {
        if entry.node.get("transport").and_then(DataNode::text) == Some("websocket") {
            self.list = Some(RecordingFormat::Opencode);
            self.collector.other("web sockets");
            return ControlFlow::Continue(());
        }
        let kind = kind(entry.list, &entry.node);
        match kind {
            ValueKind::Recording(format) => {
                self.first.get_or_insert(kind);
                self.recording(format, &entry);
            }
            ValueKind::OtherApi(name) => {
                // A stream of another API has an event a line, and is one exchange.
                let is_event = matches!(self.first, Some(ValueKind::OtherApi(known)) if known == name) && entry.list.is_empty();
                self.first.get_or_insert(kind);
                if !is_event {
                    self.collector.other_api(name);
                }
            }
            // A stream may hold errors, and events that are new.
            ValueKind::Unknown if self.first == Some(ValueKind::Recording(RecordingFormat::Chunks)) && entry.node.get("type").is_some() => {
                self.recording(RecordingFormat::Chunks, &entry);
            }
            ValueKind::Tape | ValueKind::Foreign(_) | ValueKind::NotYet(_) if self.first.is_none() => {
                self.first = Some(kind);
                return ControlFlow::Break(());
            }
            ValueKind::Tape | ValueKind::Foreign(_) | ValueKind::NotYet(_) | ValueKind::Unknown => {
                self.unknown += 1;
                self.collector.skip(&entry.place, String::from("it is not an exchange of a known form"));
            }
        }
        ControlFlow::Continue(())
    }

    fn member(&mut self, name: &str, value: DataNode) {
        if let ("metadata", Some(when)) = (name, value.get("recordedAt").and_then(DataNode::text)) {
            self.collector.recorded_at(when);
        }
    }

    fn broken(&mut self, place: String, problem: String) -> ControlFlow<()> {
        // Without one of its events an answer is another one; and a file of which nothing is known yet is not what it seems.
        if !matches!(self.first, Some(ValueKind::Recording(format)) if format != RecordingFormat::Chunks) {
            return ControlFlow::Break(());
        }
        self.collector.skip(&place, format!("not valid JSON: {problem}"));
        ControlFlow::Continue(())
    }

    fn cut(&mut self) {
        self.collector.lose("the last line, which is cut");
    }
}
