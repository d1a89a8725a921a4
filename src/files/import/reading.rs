//! One file being read: each value goes to the reader of its kind, and what comes out to the collector (K-5).

use std::io::Read as _;
use std::ops::ControlFlow;

use super::collect::{Collected, Collector, Found};
use super::detect::{Format, Kind, kind};
use super::entries::{Entries, Entry};
use super::node::{Node, SyntaxError};
use super::source::{Foreign, Source, Syntax};
use super::{ImportOptions, answers, claude_trace, har, httprr, json, pair, yaml};

/// Why the rest of a file is not read.
#[derive(Debug)]
pub(super) enum Stop {
    Io(std::io::Error),
    /// The syntax that is broken, and where.
    Syntax(&'static str, SyntaxError),
    /// A recording that is not what its sizes say.
    Shape(String),
}

/// What a file turned out to be.
#[derive(Debug)]
pub(super) enum Outcome {
    Recording(Format, Box<Collected>),
    Tape,
    Foreign(Foreign),
    NotYet(&'static str),
    Unknown,
}

/// A file being read.
pub(super) struct Reading {
    collector: Collector,
    /// What the first value was that is known.
    first: Option<Kind>,
    /// The format of a list in which nothing was.
    list: Option<Format>,
    /// The events of an answer that is written a line each.
    stream: String,
    stream_place: String,
    /// What is left to say when nothing is known.
    unknown: u64,
}

impl Reading {
    pub(super) fn new(options: &ImportOptions) -> Self {
        Self { collector: Collector::new(options), first: None, list: None, stream: String::new(), stream_place: String::new(), unknown: 0 }
    }

    /// Reads the file to its end.
    pub(super) fn read(&mut self, mut source: Source<'_>) -> Result<(), Stop> {
        match source.syntax {
            Syntax::Json => json::read(source, self).map_err(|error| Stop::Syntax("JSON", error)),
            Syntax::Yaml => yaml::read(source, self).map_err(|(syntax, error)| Stop::Syntax(syntax, error)),
            Syntax::Sse => {
                self.first = Some(Kind::Recording(Format::Sse));
                let mut bytes = Vec::new();
                source.reader.read_to_end(&mut bytes).map_err(Stop::Io)?;
                for (number, answer) in (1..).zip(answers::each_stream(&bytes)) {
                    let found = answers::stream(answer.to_vec(), &mut self.collector);
                    self.collector.push(&format!("answer {number}"), found);
                }
                Ok(())
            }
            Syntax::Httprr => {
                self.first = Some(Kind::Recording(Format::Httprr));
                let mut sink = |place: String, found: Result<Found, String>| {
                    self.found(&place, found);
                    ControlFlow::Continue(())
                };
                httprr::read(source.reader, &mut sink).map_err(Stop::Shape)
            }
        }
    }

    /// What it was, once it is read.
    pub(super) fn finish(mut self) -> Outcome {
        self.end_stream();
        let format = match self.first {
            Some(Kind::Recording(format)) => Some(format),
            // Answers of another API have the form of those that we know.
            Some(Kind::OtherApi(_)) => Some(Format::Chunks),
            Some(Kind::Tape) => return Outcome::Tape,
            Some(Kind::Foreign(foreign)) => return Outcome::Foreign(foreign),
            Some(Kind::NotYet(name)) => return Outcome::NotYet(name),
            Some(Kind::Unknown) | None => self.list.filter(|_| self.unknown == 0),
        };
        match format {
            Some(format) => Outcome::Recording(format, Box::new(self.collector.finish(format.name()))),
            None => Outcome::Unknown,
        }
    }

    /// Whether anything in the file was known.
    pub(super) fn is_known(&self) -> bool {
        self.first.is_some() || self.list.is_some()
    }

    fn recording(&mut self, format: Format, entry: &Entry<'_>) {
        let Entry { place, node, text, .. } = entry;
        let found = match format {
            Format::Chunks => return self.event(place, node, *text),
            Format::Har => har::exchange(node),
            Format::ClaudeTrace => claude_trace::exchange(node, &mut self.collector),
            Format::Answers => answers::answer(node, &mut self.collector),
            Format::Message => {
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
        self.found(place, found);
    }

    fn found(&mut self, place: &str, found: Result<Found, String>) {
        match found {
            Ok(found) => self.collector.push(place, found),
            Err(problem) => self.collector.skip(place, problem),
        }
    }

    /// The next event of an answer; a `message_start` begins the next answer.
    fn event(&mut self, place: &str, event: &Node, text: Option<&str>) {
        if event.get("type").and_then(Node::text) == Some("message_start") {
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

impl Entries for Reading {
    fn list(&mut self, name: &str) {
        if !name.is_empty() {
            self.list = Some(Format::of_list(name));
        }
    }

    fn entry(&mut self, entry: Entry<'_>) -> ControlFlow<()> {
        if entry.node.get("transport").and_then(Node::text) == Some("websocket") {
            self.list = Some(Format::Opencode);
            self.collector.other("web sockets");
            return ControlFlow::Continue(());
        }
        let kind = kind(entry.list, &entry.node);
        match kind {
            Kind::Recording(format) => {
                self.first.get_or_insert(kind);
                self.recording(format, &entry);
            }
            Kind::OtherApi(name) => {
                // A stream of another API has an event a line, and is one exchange.
                let is_event = matches!(self.first, Some(Kind::OtherApi(known)) if known == name) && entry.list.is_empty();
                self.first.get_or_insert(kind);
                if !is_event {
                    self.collector.other_api(name);
                }
            }
            // A stream may hold errors, and events that are new.
            Kind::Unknown if self.first == Some(Kind::Recording(Format::Chunks)) && entry.node.get("type").is_some() => {
                self.recording(Format::Chunks, &entry);
            }
            Kind::Tape | Kind::Foreign(_) | Kind::NotYet(_) if self.first.is_none() => {
                self.first = Some(kind);
                return ControlFlow::Break(());
            }
            Kind::Tape | Kind::Foreign(_) | Kind::NotYet(_) | Kind::Unknown => {
                self.unknown += 1;
                self.collector.skip(&entry.place, String::from("it is no exchange of a form that is known"));
            }
        }
        ControlFlow::Continue(())
    }

    fn member(&mut self, name: &str, value: Node) {
        if let ("metadata", Some(when)) = (name, value.get("recordedAt").and_then(Node::text)) {
            self.collector.recorded_at(when);
        }
    }

    fn broken(&mut self, place: String, problem: String) -> ControlFlow<()> {
        // Without one of its events an answer is another one; and a file of which nothing is known yet is not what it seems.
        if !matches!(self.first, Some(Kind::Recording(format)) if format != Format::Chunks) {
            return ControlFlow::Break(());
        }
        self.collector.skip(&place, format!("not valid JSON: {problem}"));
        ControlFlow::Continue(())
    }

    fn cut(&mut self) {
        self.collector.lose("the last line, which is cut");
    }
}

/// Finds out what a file is, and reads no further.
#[derive(Default)]
pub(super) struct Probe(Option<&'static str>);

impl Probe {
    /// What people call the recording, or the other thing, that a file is.
    pub(super) fn name(source: Source<'_>) -> Option<&'static str> {
        let mut probe = Self::default();
        match source.syntax {
            Syntax::Sse => return Some(Format::Sse.name()),
            Syntax::Httprr => return Some(Format::Httprr.name()),
            // A file that breaks off later is what its beginning is.
            Syntax::Json => drop(json::read(source, &mut probe)),
            Syntax::Yaml => drop(yaml::read(source, &mut probe)),
        }
        probe.0
    }
}

impl Entries for Probe {
    fn list(&mut self, name: &str) {
        if !name.is_empty() {
            self.0 = Some(Format::of_list(name).name());
        }
    }

    fn entry(&mut self, entry: Entry<'_>) -> ControlFlow<()> {
        self.0 = match kind(entry.list, &entry.node) {
            Kind::Recording(format) => Some(format.name()),
            Kind::NotYet(name) | Kind::OtherApi(name) => Some(name),
            Kind::Foreign(foreign) => Some(foreign.what),
            Kind::Tape | Kind::Unknown => self.0,
        };
        ControlFlow::Break(())
    }

    fn member(&mut self, _: &str, _: Node) {}

    fn broken(&mut self, _: String, _: String) -> ControlFlow<()> {
        ControlFlow::Break(())
    }

    fn cut(&mut self) {}
}
