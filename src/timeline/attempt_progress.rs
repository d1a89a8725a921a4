//! One attempt as it comes.

use reenact_engine::time::Micros;
use reenact_wire::error::ApiError;
use reenact_wire::event::StreamEvent;
use reenact_wire::http::{HttpHeader, is_event_stream};
use reenact_wire::prelude::*;

use super::answer_progress::TimedAnswer;
use super::request_contents::RequestContents;
use super::request_facts::RequestFacts;
use super::{ReadingOptions, RecordedEnd};

/// How a response ended, as its connection showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionEnd {
    /// Whole.
    Complete,
    /// In another way, in a word or two.
    Broken(&'static str),
    /// The client went away.
    ClientGone,
}

/// An attempt on its way.
#[derive(Clone, Debug)]
pub(crate) struct AttemptProgress {
    pub(crate) exchange: String,
    pub(crate) thread: usize,
    /// The name of the exchange whose conversation it extends.
    pub(crate) parent: Option<String>,
    pub(crate) facts: RequestFacts,
    /// `None` where contents are not kept.
    pub(crate) contents: Option<RequestContents>,
    pub(crate) at: Option<Micros>,
    pub(crate) head_at: Option<Micros>,
    pub(crate) first_at: Option<Micros>,
    pub(crate) end_at: Option<Micros>,
    pub(crate) status: Option<u16>,
    headers: Vec<HttpHeader>,
    pub(crate) answer: TimedAnswer,
    pub(crate) end: RecordedEnd,
    pub(crate) problem: Option<String>,
    pub(crate) retry_after: Option<Micros>,
}

/// Something about a tool use that is known by its id.
#[derive(Clone, Debug)]
pub(crate) struct NamedTool<T> {
    pub(crate) id: Arc<str>,
    pub(crate) value: T,
}

impl AttemptProgress {
    pub(crate) fn new(exchange: &str, (thread, parent): (usize, Option<String>), at: Option<Micros>, body: &[u8]) -> Self {
        Self {
            exchange: exchange.into(),
            thread,
            parent,
            facts: RequestFacts::from_body(body),
            contents: None,
            at,
            head_at: None,
            first_at: None,
            end_at: None,
            status: None,
            headers: Vec::new(),
            answer: TimedAnswer::default(),
            end: RecordedEnd::Open,
            problem: None,
            retry_after: None,
        }
    }

    pub(crate) fn on_head(&mut self, at: Option<Micros>, status: u16, headers: &[HttpHeader]) {
        (self.head_at, self.status) = (at, Some(status));
        self.headers = headers.to_vec();
        if (200..300).contains(&status) {
            self.answer.on_head(at);
        }
    }

    pub(crate) fn on_bytes(&mut self, at: Option<Micros>, bytes: &[u8], options: ReadingOptions) {
        self.first_at = self.first_at.or(at);
        let is_stream = || is_event_stream(&self.headers).unwrap_or_else(|| begins_as_stream(bytes));
        self.answer.on_bytes(at, bytes, options, is_stream);
    }

    pub(crate) fn on_event(&mut self, at: Option<Micros>, event: &StreamEvent, options: ReadingOptions) {
        self.first_at = self.first_at.or(at);
        self.answer.on_event(at, event, options);
    }

    /// The response ended, and all of it that is known is there.
    pub(crate) fn on_end(&mut self, at: Option<Micros>, how: ConnectionEnd, options: ReadingOptions) {
        self.end_at = at;
        self.answer.on_end(self.end_at, options.stall_limit);
        let body = self.answer.take_body();
        let is_error = self.status.is_some_and(|status| !(200..300).contains(&status));
        (self.end, self.problem) = match how {
            _ if is_error => {
                let status = self.status.unwrap_or_default();
                let error = ApiError::read(status, &self.headers, &body);
                self.retry_after = error.delay_us().map(Micros);
                (RecordedEnd::Refused, Some(format!("{}: {}", error.kind.as_str(), error.message)))
            }
            _ if self.answer.is_whole() || self.answer.on_whole_body(self.end_at, &body, options) => (RecordedEnd::Answered, None),
            ConnectionEnd::ClientGone => (RecordedEnd::Abandoned, Some(String::from("the client went away"))),
            _ if self.answer.failure.is_some() => (RecordedEnd::Failed, self.answer.failure.clone()),
            ConnectionEnd::Broken(word) => (RecordedEnd::Cut, Some(word.into())),
            ConnectionEnd::Complete => (RecordedEnd::Cut, Some(String::from("the response ends, and its message is not whole"))),
        };
    }

    /// The silence of a stream that is open when the recording ends.
    pub(crate) fn note_open(&mut self, until: Micros, options: ReadingOptions) {
        if self.end == RecordedEnd::Open && self.status.is_some() {
            self.answer.on_end(Some(until), options.stall_limit);
        }
    }
}

/// Where the source kept no headers.
fn begins_as_stream(bytes: &[u8]) -> bool {
    [&b"event:"[..], b"data:", b":"].iter().any(|start| bytes.starts_with(start))
}
