//! From what a recording tells, in its order, to a timeline.
//!
//! A builder can be cloned and finished at any time: any beginning of a recording has a timeline, and what has not ended is open (F-2).

use alloc::collections::BTreeMap;

use reenact_engine::time::Micros;
use reenact_wire::event::StreamEvent;
use reenact_wire::http::HttpHeader;
use reenact_wire::prelude::*;

pub use super::attempt_progress::ConnectionEnd;
use super::attempt_progress::{AttemptProgress, NamedTool};
use super::attempts;
use super::remarks;
use super::request_contents::ContentReader;
use super::{
    OtherExchanges, ReadingOptions, RecordedEnd, SessionTimeline, ThreadSummary, TimelineMark, TimelineSource, ToolInterval,
    ToolRunInterval, gaps, time_shares, token_totals,
};

/// Puts a timeline together. All times are from the start of the recording.
#[derive(Clone, Debug)]
pub struct TimelineBuilder {
    pub(crate) source: TimelineSource,
    options: ReadingOptions,
    contents: ContentReader,
    until: Micros,
    has_times: bool,
    pub(crate) threads: Vec<Arc<str>>,
    pub(crate) attempts: Vec<AttemptProgress>,
    marks: Vec<TimelineMark>,
    others: BTreeMap<String, usize>,
    pub(crate) runs: Vec<NamedTool<ToolRunInterval>>,
    pub(crate) unread: Vec<String>,
    /// Whether the recording ends inside of a line.
    pub(crate) is_cut: bool,
}

/// A request as a recording names it.
#[derive(Clone, Copy, Debug)]
pub struct NewAttempt<'a> {
    /// Its name in the recording.
    pub exchange: &'a str,
    /// The name of its thread.
    pub thread: &'a str,
    /// The handle of the attempt whose conversation it extends, as far as that is known.
    pub parent: Option<AttemptHandle>,
    /// When it was made.
    pub at: Option<Micros>,
    /// Its body.
    pub body: &'a [u8],
}

/// An attempt of this builder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AttemptHandle(pub(crate) usize);

impl TimelineBuilder {
    /// Of a recording of which nothing was read yet.
    pub fn new(source: TimelineSource, options: ReadingOptions) -> Self {
        Self {
            source,
            options,
            contents: ContentReader::default(),
            until: Micros::ZERO,
            has_times: false,
            threads: Vec::new(),
            attempts: Vec::new(),
            marks: Vec::new(),
            others: BTreeMap::new(),
            runs: Vec::new(),
            unread: Vec::new(),
            is_cut: false,
        }
    }

    /// A request for a message was made.
    pub fn on_request(&mut self, request: &NewAttempt<'_>) -> AttemptHandle {
        self.see(request.at);
        let thread = self.thread(request.thread);
        let parent = request.parent.map(|AttemptHandle(parent)| self.attempts[parent].exchange.clone());
        let mut attempt = AttemptProgress::new(request.exchange, (thread, parent), request.at, request.body);
        attempt.contents = self.options.keeps_contents.then(|| self.contents.read(thread, request.body));
        self.attempts.push(attempt);
        AttemptHandle(self.attempts.len() - 1)
    }

    /// The head of its response came.
    pub fn on_head(&mut self, AttemptHandle(index): AttemptHandle, at: Option<Micros>, status: u16, headers: &[HttpHeader]) {
        self.see(at);
        self.attempts[index].on_head(at, status, headers);
    }

    /// A piece of its body came.
    pub fn on_bytes(&mut self, AttemptHandle(index): AttemptHandle, at: Option<Micros>, bytes: &[u8]) {
        self.see(at);
        self.attempts[index].on_bytes(at, bytes, self.options);
    }

    /// An event of its stream came.
    pub fn on_event(&mut self, AttemptHandle(index): AttemptHandle, at: Option<Micros>, event: &StreamEvent) {
        self.see(at);
        self.attempts[index].on_event(at, event, self.options);
    }

    /// Its response ended. A second end says nothing.
    pub fn on_end(&mut self, AttemptHandle(index): AttemptHandle, at: Option<Micros>, how: ConnectionEnd) {
        self.see(at);
        if self.attempts[index].end == RecordedEnd::Open {
            self.attempts[index].on_end(at, how, self.options);
        }
    }

    /// An exchange that asks for no message.
    pub fn on_other(&mut self, method: &str, path: &str) {
        let path = path.split(['?', '#']).next().unwrap_or_default();
        *self.others.entry(format!("{method} {path}").trim().into()).or_default() += 1;
    }

    /// A tool run began.
    pub fn on_tool_start(&mut self, tool_use_id: &str, at: Micros) {
        self.see(Some(at));
        self.runs.push(NamedTool { id: tool_use_id.into(), value: ToolRunInterval { at, end_at: None } });
    }

    /// The last run of a tool use that has not ended did.
    pub fn on_tool_end(&mut self, tool_use_id: &str, at: Micros) {
        self.see(Some(at));
        if let Some(run) = self.runs.iter_mut().rfind(|run| *run.id == *tool_use_id && run.value.end_at.is_none()) {
            run.value.end_at = Some(at);
        }
    }

    /// The user did something.
    pub fn on_mark(&mut self, at: Micros, thread: &str, kind: &'static str, text: String) {
        self.see(Some(at));
        let thread = self.thread(thread);
        self.marks.push(TimelineMark { at, thread, kind, text });
    }

    /// A part of the recording cannot be read: a sentence.
    pub fn on_unread(&mut self, problem: String) {
        self.unread.push(problem);
    }

    /// Whether anything could not be read.
    pub fn has_unread(&self) -> bool {
        !self.unread.is_empty()
    }

    /// The timeline of all that was told.
    pub fn finish(mut self) -> SessionTimeline {
        for attempt in &mut self.attempts {
            attempt.note_open(self.until, self.options);
        }
        let (requests, tools) = attempts::group(&self.attempts, &self.runs);
        let requests_of = |thread: usize| requests.iter().filter(|call| call.thread == thread).count();
        let summary = |(place, name): (usize, &Arc<str>)| ThreadSummary { name: thread_name(name, &tools), requests: requests_of(place) };
        let threads = self.threads.iter().enumerate().map(summary).collect();
        let others = core::mem::take(&mut self.others).into_iter().map(|(path, count)| OtherExchanges { path, count }).collect();
        let mut timeline = SessionTimeline {
            source: self.source,
            unread: self.unread.len(),
            has_times: self.has_times,
            until: self.until,
            stall_limit: self.options.stall_limit,
            threads,
            requests,
            tools,
            marks: self.marks,
            gaps: Vec::new(),
            tokens: Vec::new(),
            time: None,
            others,
            remarks: Vec::new(),
        };
        timeline.gaps = gaps::gaps(&timeline);
        timeline.tokens = token_totals::tokens(&timeline);
        timeline.time = timeline.has_times.then(|| time_shares::shares(&timeline));
        timeline.remarks = remarks::remarks(&timeline, &self.unread, self.is_cut);
        timeline
    }

    fn see(&mut self, at: Option<Micros>) {
        self.has_times |= at.is_some();
        self.until = self.until.max(at.unwrap_or_default());
    }

    fn thread(&mut self, name: &str) -> usize {
        let known = self.threads.iter().position(|thread| **thread == *name);
        known.unwrap_or_else(|| {
            self.threads.push(name.into());
            self.threads.len() - 1
        })
    }
}

/// `agent 1A`, or `agent 1A.2` where a tool use made several; any other name as it is.
fn thread_name(name: &Arc<str>, tools: &[ToolInterval]) -> Arc<str> {
    let label = |tool: &ToolInterval| {
        let rest = name.strip_prefix(&*tool.id).filter(|rest| rest.is_empty() || rest.starts_with('.'))?;
        (!tool.id.is_empty()).then(|| format!("agent {}{rest}", tool.label).into())
    };
    tools.iter().find_map(label).unwrap_or_else(|| name.clone())
}
