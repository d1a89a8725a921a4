//! Looking for secrets in tapes that are finished (K-2): what the recorder would have replaced, wherever it stands in the file.
//!
//! A body is put together as the tape's lines have it, and a hit is reported with the place in the file where it begins. An open answer is held
//! in memory while it is read.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::answer::{is_long, is_stream};
use super::placeholder::is_placeholder;
use super::region::HeldRegion;
use super::text_map::{Flattener, MappedText};
use super::{AnswerRedactor, HeldChunk, RedactionRules, Redactor, is_secret_header, parameter_is_secret};
use reenact_engine::time::Micros;
use reenact_scenario::tape::line::{BodyPiece, LineKind, SpanId, TapeLine, WINDOW};
use reenact_wire::raw_json::{RawObject, elements};

/// Stands for the place of a hit that was reported before.
const ELSEWHERE: u64 = u64::MAX / 2;

/// A secret in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SecretFinding {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in bytes.
    pub column: usize,
    /// The rule that found it.
    pub rule: String,
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScannedContents {
    /// The secrets, in order.
    pub findings: Vec<SecretFinding>,
    /// Nothing was left out. Otherwise there is text inside of other text deeper than is looked.
    pub is_complete: bool,
}

/// The beginning of every tape.
pub const TAPE_BEGINNING: &[u8] = b"{\"reenact_tape\"";

pub use super::explore::DEPTH_MAX;

/// Looks through the contents of a tape, or of any other file as they stand.
pub fn scan(contents: &[u8], rules: &Arc<RedactionRules>) -> ScannedContents {
    let mut scanner = SecretScanner::new(rules);
    if !contents.starts_with(TAPE_BEGINNING) {
        scanner.plain(contents);
    } else {
        let mut start = 0;
        for line in contents.split_inclusive(|byte| *byte == b'\n') {
            scanner.line(start, line.trim_ascii_end());
            start += line.len() as u64;
        }
        scanner.finish();
    }
    let is_complete = !scanner.redactor.is_too_deep;
    ScannedContents { findings: scanner.findings(contents), is_complete }
}

struct SecretScanner {
    redactor: Redactor,
    found: Vec<(String, u64)>,
    spans: BTreeMap<SpanId, Arc<[u8]>>,
    recent: VecDeque<(u32, Vec<Arc<[u8]>>)>,
    answers: BTreeMap<u32, ScannedAnswer>,
}

/// An answer that has not ended.
struct ScannedAnswer {
    redactor: AnswerRedactor,
    /// Its bytes with their places in the file.
    source: MappedText,
}

impl SecretScanner {
    fn new(rules: &Arc<RedactionRules>) -> Self {
        let redactor = Redactor::new(rules);
        Self { redactor, found: Vec::new(), spans: BTreeMap::new(), recent: VecDeque::new(), answers: BTreeMap::new() }
    }

    /// One line of a tape that begins at `start` in the file.
    fn line(&mut self, start: u64, line: &[u8]) {
        let parsed =
            std::str::from_utf8(line).ok().and_then(|text| Some((text, RawObject::parse(text).ok()?, TapeLine::read(line).ok()?.kind)));
        let Some((text, object, kind)) = parsed else {
            let mut region = HeldRegion::default();
            region.feed_source(start, line);
            return self.decide(region);
        };
        let at = |part: &str| start + (part.as_ptr() as u64 - text.as_ptr() as u64);
        match kind {
            LineKind::Request(request) => {
                self.headers(&object, at);
                if let Some(path) = object.get("path") {
                    self.path(at(path), path);
                }
                let pieces = object.get("body").and_then(|body| elements(body).ok()).unwrap_or_default();
                let places = pieces.iter().map(|piece| (at(piece), *piece)).collect();
                self.body(request.id, &request.body, places);
            }
            LineKind::Head { id, headers, .. } => {
                self.headers(&object, at);
                let redactor = AnswerRedactor::from_headers(&headers);
                self.answers.insert(id, ScannedAnswer { redactor, source: MappedText::default() });
            }
            LineKind::Chunk { id, bytes, .. } => {
                let answer = self.answers.entry(id);
                let answer = answer.or_insert_with(|| ScannedAnswer { redactor: AnswerRedactor::body(), source: MappedText::default() });
                match (object.get("text"), object.get("base64")) {
                    (Some(value), _) => Flattener::string().feed(at(value) + 1, inner(value).as_bytes(), &mut answer.source),
                    (None, Some(value)) => answer.source.push_escape(at(value), value.len() as u64, &bytes),
                    (None, None) => (),
                }
                answer.redactor.feed(&mut self.redactor, HeldChunk { at: Micros(0), bytes }, &mut |_| ());
                self.report_answer(id);
            }
            LineKind::End { id, .. } => self.end(id),
            LineKind::Header { .. } => {
                // The names of rules are no secrets, and look like the beginnings of some.
                for (_, value) in object.members().filter(|(name, _)| *name != "redactions") {
                    let mut region = HeldRegion::default();
                    region.feed_source(at(value), value.as_bytes());
                    self.decide(region);
                }
            }
            LineKind::Unknown(_) => {
                let mut region = HeldRegion::default();
                region.feed_source(start, line);
                self.decide(region);
            }
        }
    }

    fn headers(&mut self, object: &RawObject<'_>, at: impl Fn(&str) -> u64) {
        let headers = object.get("headers").and_then(|headers| elements(headers).ok()).unwrap_or_default();
        for header in headers {
            let Some([name, value]) = elements(header).ok().and_then(|pair| <[&str; 2]>::try_from(pair).ok()) else { continue };
            match is_secret_header(inner(name)) {
                Some(secret) => self.found.push((format!("header {secret}"), at(name) + 1)),
                None => self.string(at(value), value),
            }
        }
    }

    fn path(&mut self, at: u64, path: &str) {
        self.string(at, path);
        let path = inner(path);
        let Some((before, query)) = path.split_once('?') else { return };
        let mut place = at + 1 + before.len() as u64 + 1;
        for parameter in query.split('&') {
            if let Some((name, value)) = parameter.split_once('=')
                && parameter_is_secret(name)
                && !value.is_empty()
                && !is_placeholder(value.as_bytes())
            {
                self.found.push((String::from("url-parameter"), place + name.len() as u64 + 1));
            }
            place += parameter.len() as u64 + 1;
        }
    }

    /// One string of JSON, quotes included.
    fn string(&mut self, at: u64, text: &str) {
        let mut region = HeldRegion::default();
        let inner = inner(text);
        region.feed_fragment(std::iter::once((at + 1, inner.len() as u64, inner.as_bytes())));
        self.decide(region);
    }

    /// A request's body: put together from what is new in this line, with its places, and what was there before.
    fn body(&mut self, id: u32, pieces: &[BodyPiece], places: Vec<(u64, &str)>) {
        let (mut source, mut list) = (MappedText::default(), Vec::new());
        for (piece, (at, text)) in pieces.iter().zip(places) {
            match piece {
                BodyPiece::Literal(literal) => {
                    Flattener::string().feed(at + 1, inner(text).as_bytes(), &mut source);
                    list.push(Arc::from(literal.as_bytes()));
                }
                BodyPiece::Span(span, content) => {
                    let value = RawObject::parse(text).ok().and_then(|object| object.get("text")).unwrap_or_default();
                    let value_at = at + (value.as_ptr() as u64).saturating_sub(text.as_ptr() as u64);
                    Flattener::string().feed(value_at + 1, inner(value).as_bytes(), &mut source);
                    let content: Arc<[u8]> = content.as_bytes().into();
                    self.spans.insert(*span, Arc::clone(&content));
                    list.push(content);
                }
                BodyPiece::Bytes(bytes) => {
                    source.push_escape(at, text.len() as u64, bytes);
                    list.push(Arc::clone(bytes));
                }
                BodyPiece::Ref(span) => {
                    let content = self.spans.get(span).cloned().unwrap_or_default();
                    source.push_escape(ELSEWHERE, 0, &content);
                    list.push(content);
                }
                BodyPiece::Run { of, first, count } => {
                    let known = self.recent.iter().rev().find(|(id, _)| id == of);
                    let run = known.and_then(|(_, list)| list.get(*first..first.checked_add(*count)?)).unwrap_or_default();
                    run.iter().for_each(|content| source.push_escape(ELSEWHERE, 0, content));
                    list.extend_from_slice(run);
                }
            }
        }
        if self.recent.len() == WINDOW {
            self.recent.pop_front();
        }
        self.recent.push_back((id, list));
        let hits = if is_long(source.text()) {
            AnswerRedactor::read_whole(&mut self.redactor, source.text(), &mut |_| ()).take_found()
        } else {
            let mut region = HeldRegion::default();
            region.feed_source(0, source.text());
            region.decide_all(&mut self.redactor).iter().map(|hit| (hit.rule, hit.span().start)).collect()
        };
        self.report_hits(&hits, &source);
    }

    fn end(&mut self, id: u32) {
        if let Some(answer) = self.answers.get_mut(&id) {
            answer.redactor.finish(&mut self.redactor, &mut |_| ());
        }
        self.report_answer(id);
        self.answers.remove(&id);
    }

    fn finish(&mut self) {
        let open: Vec<u32> = self.answers.keys().copied().collect();
        open.into_iter().for_each(|id| self.end(id));
    }

    /// Takes over what was found in an answer.
    fn report_answer(&mut self, id: u32) {
        if let Some(mut answer) = self.answers.remove(&id) {
            let hits = answer.redactor.take_found();
            self.report_hits(&hits, &answer.source);
            self.answers.insert(id, answer);
        }
    }

    fn report_hits(&mut self, hits: &[(usize, u64)], source: &MappedText) {
        for (rule, offset) in hits {
            let local = source.local(*offset);
            let place = source.origins(local..local + 1).first().map(|place| place.start);
            if let Some(place) = place.filter(|place| *place < ELSEWHERE) {
                self.found.push((self.redactor.rule_name(*rule).to_owned(), place));
            }
        }
    }

    /// A text that is no tape, as the body is read that it would be. A long one is read in pieces: memory does not grow with it more than the file does.
    fn plain(&mut self, contents: &[u8]) {
        if !is_long(contents) && !is_stream(contents) {
            let mut region = HeldRegion::default();
            region.feed_source(0, contents);
            return self.decide(region);
        }
        let mut text = AnswerRedactor::read_whole(&mut self.redactor, contents, &mut |_| ());
        for (rule, place) in text.take_found() {
            self.found.push((self.redactor.rule_name(rule).to_owned(), place));
        }
    }

    /// Takes what is in a region whose source is the file.
    fn decide(&mut self, mut region: HeldRegion) {
        for hit in region.decide_all(&mut self.redactor) {
            self.found.push((self.redactor.rule_name(hit.rule).to_owned(), hit.span().start));
        }
    }

    fn findings(self, contents: &[u8]) -> Vec<SecretFinding> {
        let ends: Vec<u64> = memchr::memchr_iter(b'\n', contents).map(|end| end as u64).collect();
        let place = |(rule, offset): (String, u64)| {
            let line = ends.partition_point(|end| *end < offset);
            let start = if line == 0 { 0 } else { ends[line - 1] + 1 };
            SecretFinding { line: line + 1, column: (offset - start) as usize + 1, rule }
        };
        let mut findings: Vec<SecretFinding> = self.found.into_iter().map(place).collect();
        findings.sort();
        findings.dedup();
        findings
    }
}

/// The text between the quotes.
fn inner(text: &str) -> &str {
    text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text)
}
