//! The text form, one event a line, made for eyes and for diffs (X-2, X-3).
//!
//! ```text
//!     0.000s  user      prompt 1       What does package.json say?
//!     0.000s  engine    request 1      claude-sonnet-4-5, 1 message, 1 tool, max 8000
//!    +0.392s  model     tool 1A        Read {"file_path":"/w/package.json"}
//! ```
//!
//! Prompts and requests show the time since the run began, everything else the time since its request: a change early on does
//! not move every line below. Names come from lineage, never from a counter over all events.

mod line;

use alloc::collections::BTreeMap;
use core::fmt::Write as _;

use line::{LineClock, TextLine};

use super::event::{Event, EventKind, RunEnd, Transcript};
use reenact_engine::contract::{Agent, ByAgent, Effect, RequestId, ToolRun};
use reenact_engine::emission::{Emission, Note};
use reenact_engine::time::Time;
use reenact_wire::prelude::*;

/// How much a text shows (X-3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DetailLevel {
    /// Messages, transitions, the end.
    Brief,
    /// Also requests, failed attempts, tool states, differences from the recording.
    #[default]
    Normal,
    /// Also every stream event, timer, phase and successful attempt.
    Debug,
}

/// Renders a transcript. A pure function of its events.
pub fn render(transcript: &Transcript, detail: DetailLevel) -> String {
    with_times(transcript, detail, TimeDisplay::Shown)
}

/// The same without times, neither before lines nor inside them: what must be equal however long everything took (M-11).
pub fn render_untimed(transcript: &Transcript, detail: DetailLevel) -> String {
    with_times(transcript, detail, TimeDisplay::LeftOut)
}

/// A part of a line, as it reads where times are left out.
#[doc(hidden)]
pub fn untimed(part: &str) -> String {
    let part = without_spans(part);
    part.trim_start().trim_start_matches(['+', '…']).trim_start_matches("s ").trim_start().into()
}

/// Whether times are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum TimeDisplay {
    Shown,
    LeftOut,
}

fn with_times(transcript: &Transcript, detail: DetailLevel, times: TimeDisplay) -> String {
    let mut out = String::new();
    let title = transcript.header.title.as_deref().unwrap_or("(untitled)");
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{}\nseed {}\n", one_line(title), transcript.header.seed.0);
    let mut view = LineContext { detail, notes_tools: transcript.events.iter().any(is_tool_note), ..LineContext::default() };
    for event in transcript.events.iter() {
        view.note(event);
        if let Some(line) = line::from_event(event, &view).filter(|line| line.detail <= detail) {
            view.write(&mut out, event, &line, times);
        }
    }
    out
}

/// The facts about earlier events that a line needs.
#[derive(Default)]
pub(super) struct LineContext {
    agents: ByAgent<AgentNames>,
    /// The agent of the event.
    agent: Agent,
    /// The level of the text.
    detail: DetailLevel,
    /// Whether the engine notes the states of its tools. Of another engine the driver knows the starts, stops and ends.
    notes_tools: bool,
}

fn is_tool_note(event: &Event) -> bool {
    matches!(event.what, EventKind::Effect(Effect::Note(Note::Tool { .. })))
}

/// The meaning of one agent's names.
#[derive(Default)]
struct AgentNames {
    requested: BTreeMap<RequestId, Time>,
    latest: Option<RequestId>,
    started: BTreeMap<ToolRun, Time>,
    /// How many tool uses each answer had so far.
    tool_uses: BTreeMap<RequestId, u32>,
    /// Which run a tool use's id stands for; the latest, should an id come twice.
    runs: BTreeMap<Arc<str>, ToolRun>,
}

impl LineContext {
    fn note(&mut self, event: &Event) {
        self.agent.clone_from(&event.agent);
        self.agents.entry(&event.agent).note(event);
    }

    fn names(&self) -> Option<&AgentNames> {
        self.agents.get(&self.agent)
    }

    /// Whether the driver's knowledge of tools stands in for the engine's notes.
    pub(super) fn shows_driven_tools(&self) -> bool {
        !self.notes_tools
    }

    /// Whether everything is shown.
    pub(super) fn is_debug(&self) -> bool {
        self.detail == DetailLevel::Debug
    }

    /// When a tool run began.
    pub(super) fn tool_started(&self, run: ToolRun) -> Option<Time> {
        self.names()?.started.get(&run).copied()
    }

    /// The run that the latest tool use of an answer is for.
    pub(super) fn latest_tool_use(&self, request: RequestId) -> ToolRun {
        self.names().map_or(ToolRun { request, index: 0 }, |names| names.latest_tool_use(request))
    }

    /// The run that a tool use's id stands for.
    pub(super) fn run_of(&self, tool_use_id: &str) -> Option<ToolRun> {
        self.names()?.runs.get(tool_use_id).copied()
    }

    fn write(&self, out: &mut String, event: &Event, line: &TextLine, times: TimeDisplay) {
        let since = match line.clock {
            LineClock::Run => None,
            LineClock::Request(id) => self.names().and_then(|names| names.requested.get(&id).copied()),
            LineClock::Latest => self.names().and_then(|names| names.requested.get(&names.latest?).copied()),
        };
        let time = match since {
            None => milliseconds("", event.at),
            Some(from) => milliseconds("+", Time(event.at.since(from).0)),
        };
        let gap = if line.what.chars().count() < 15 { "" } else { " " };
        let agent = event.agent.tool_use_id().map(|id| format!("{gap}[{id}] ")).unwrap_or_default();
        let text = match times {
            TimeDisplay::Shown => format!("{time:>9}  {:<9} {:<15}{agent}{}", line.actor, line.what, line.text),
            TimeDisplay::LeftOut => format!("{:<9} {:<15}{agent}{}", line.actor, line.what, without_spans(&line.text)),
        };
        out.push_str(one_line(&text).trim_end());
        out.push('\n');
    }
}

impl AgentNames {
    fn note(&mut self, event: &Event) {
        match &event.what {
            EventKind::Request { id, .. } => {
                self.requested.insert(*id, event.at);
                self.latest = Some(*id);
            }
            EventKind::Effect(Effect::StartTool { run, .. } | Effect::StartAgent { run, .. }) => {
                self.started.insert(*run, event.at);
            }
            EventKind::Effect(Effect::Emit(Emission::Assistant(message))) => {
                if let Some(tool_use) = message.block.as_tool_use() {
                    *self.tool_uses.entry(message.id).or_default() += 1;
                    self.runs.insert(tool_use.id.clone(), self.latest_tool_use(message.id));
                }
            }
            _ => (),
        }
    }

    fn latest_tool_use(&self, request: RequestId) -> ToolRun {
        ToolRun { request, index: self.tool_uses.get(&request).map_or(0, |count| count.saturating_sub(1)) }
    }
}

/// The text with a sign for everything that would break a line, move the cursor or turn the reading direction, so that no content can
/// forge a line: `⏎` for a line end, `⇥` for a tab, the control pictures for other controls.
#[doc(hidden)]
pub fn one_line(text: &str) -> Cow<'_, str> {
    let dangerous = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if !text.contains(dangerous) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' => out.push('⏎'),
            '\t' => out.push('⇥'),
            '\0'..='\u{1f}' => out.extend(char::from_u32(0x2400 + u32::from(c))),
            c if dangerous(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// The text with `…s` in place of each span as [`Micros`](reenact_engine::time::Micros) are written: `1.500s`, `0.529585s`.
fn without_spans(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, from) = rest.split_at(start);
        out.push_str(before);
        let end = from.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(from.len());
        let (number, after) = from.split_at(end);
        let is_span = number.split_once('.').is_some_and(|(_, fraction)| matches!(fraction.len(), 3 | 6) && !fraction.contains('.'));
        out.push_str(if is_span && after.starts_with('s') { "…" } else { number });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// `+0.412s`. Rounded down to milliseconds: the JSON form has the microseconds.
fn milliseconds(sign: &str, time: Time) -> String {
    format!("{sign}{}.{:03}s", time.0 / 1_000_000, time.0 / 1_000 % 1_000)
}

/// The end of a run, in a few words.
pub fn end_text(end: &RunEnd) -> String {
    match end {
        RunEnd::Idle => String::from("every prompt was answered"),
        RunEnd::Stalled => String::from("nothing more can happen, but a prompt was not answered"),
        RunEnd::TapeExhausted { agent, id } => format!("no answer is left for request {}", agent.key(*id)),
        RunEnd::LimitReached { limit } => format!("the limit on {limit} was reached"),
        RunEnd::Stopped => String::from("the run was stopped before its end"),
    }
}

#[cfg(test)]
mod tests;
