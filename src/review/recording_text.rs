//! A recording as lines that are compared like those of a transcript (V-2).
//!
//! ```text
//!    0.000s  client    request 1      m, frame 8fe6ce9b
//!   +0.000s  client    user text      What is the weather?
//!   +1.204s  model     tool 1A        get_weather {"city":"Paris"}
//!   +1.310s  model     stop           tool_use, 400 in, 31 out
//!    2.514s  client    request 2      m, frame 8fe6ce9b, the answer
//!   +0.000s  client    result 1A      Sunny.
//! ```
//!
//! Requests have the time of the recording, all else the time since its thread's last request. Ids differ from one recording to the next, so tool
//! uses have their labels. An answer that comes back as it was given is told in two words.

use core::fmt::Write as _;
use std::collections::BTreeMap;

use reenact_engine::time::Micros;
use reenact_timeline::{BlockInterval, ContentPart, RecordedAttempt, RecordedCall, RecordedEnd, SessionTimeline, usage_text};
use reenact_transcript::text::one_line;
use reenact_wire::json::Json;
use reenact_wire::prelude::*;

/// The text of a timeline that was read with its contents.
pub fn text(timeline: &SessionTimeline) -> String {
    let mut lines = RecordingLines { timeline, lines: Vec::new() };
    lines.marks();
    for call in &timeline.requests {
        for index in 0..call.attempts.len() {
            lines.attempt(call, index);
        }
    }
    lines.write()
}

struct RecordingLines<'a> {
    timeline: &'a SessionTimeline,
    lines: Vec<RecordingLine>,
}

struct RecordingLine {
    at: Option<Micros>,
    thread: usize,
    is_request: bool,
    actor: &'static str,
    name: String,
    text: String,
}

impl RecordingLines<'_> {
    fn add(&mut self, at: Option<Micros>, thread: usize, actor: &'static str, name: String, text: &str) {
        let text = one_line(text).into_owned();
        self.lines.push(RecordingLine { at, thread, is_request: false, actor, name, text });
    }

    fn marks(&mut self) {
        for mark in &self.timeline.marks {
            self.add(Some(mark.at), mark.thread, "user", mark.kind.into(), &mark.text);
        }
    }

    fn attempt(&mut self, call: &RecordedCall, index: usize) {
        let attempt = &call.attempts[index];
        let label = call.attempt_label(index);
        let contents = attempt.contents.clone().unwrap_or_default();
        let answer =
            self.timeline.requests[..call.number - 1].iter().rfind(|earlier| earlier.thread == call.thread).map(RecordedCall::last);
        let echoed = answer.map_or(0, |answer| self.echoed(answer, &contents.parts));
        let rewritten = if contents.is_rewritten { ", its history is rewritten" } else { "" };
        let echo = if echoed > 0 { ", the answer" } else { "" };
        let text = format!("{}, frame {:08x}{rewritten}{echo}", attempt.model, contents.frame);
        self.add(attempt.at, call.thread, "client", format!("request {label}"), &text);
        if let Some(line) = self.lines.last_mut() {
            line.is_request = true;
        }
        for part in &contents.parts[echoed..] {
            let label = part.tool_use.as_deref().map(|id| self.label(id, call));
            let name = match (&*part.kind, label) {
                ("tool_result", Some(label)) => format!("result {label}"),
                ("tool_use", Some(label)) => format!("{} tool {label}", part.role),
                (kind, _) => format!("{} {kind}", part.role),
            };
            self.add(attempt.at, call.thread, "client", name, &part.text);
        }
        self.answer(call, attempt);
    }

    /// The label of the tool use that a request of this call names: the last of its id in its own thread, or else in any.
    fn label<'b>(&'b self, id: &'b str, call: &RecordedCall) -> &'b str {
        let earlier = || self.timeline.tools.iter().rev().filter(|tool| *tool.id == *id && tool.request < call.number);
        let tool = earlier().find(|tool| tool.thread == call.thread).or_else(|| earlier().next());
        tool.map_or(id, |tool| &tool.label)
    }

    /// How many parts the answer is that a request begins with, as it was given; none where any of it is changed.
    fn echoed(&self, answer: &RecordedAttempt, parts: &[ContentPart]) -> usize {
        let count = parts.iter().take_while(|part| part.role == "assistant").count();
        let is_same = |(block, part): (&BlockInterval, &ContentPart)| {
            let text = match block.tool {
                Some(tool) => format!("{} {}", self.timeline.tools[tool].name, canonical(&block.beginning)),
                None => block.beginning.clone(),
            };
            let part_text = match part.text.split_once(' ').filter(|_| part.kind == "tool_use") {
                Some((name, input)) => format!("{name} {}", canonical(input)),
                None => part.text.clone(),
            };
            *block.kind == *part.kind && text == part_text
        };
        if count == answer.blocks.len() && answer.blocks.iter().zip(parts).all(is_same) { count } else { 0 }
    }

    fn answer(&mut self, call: &RecordedCall, attempt: &RecordedAttempt) {
        for block in &attempt.blocks {
            let at = block.end_at.or(attempt.end_at).or(block.at);
            let cut = if block.is_complete { "" } else { " (cut)" };
            let (name, text) = match block.tool.map(|tool| &self.timeline.tools[tool]) {
                Some(tool) => (format!("tool {}", tool.label), format!("{} {}{cut}", tool.name, canonical(&block.beginning))),
                None => (block.kind.to_string(), format!("{}{cut}", block.beginning)),
            };
            self.add(at, call.thread, "model", name, &text);
        }
        let stop = attempt.stop_reason.as_deref().unwrap_or("no stop reason");
        let problem = attempt.problem.as_deref().unwrap_or_default();
        let (name, text) = match attempt.end {
            RecordedEnd::Answered => ("stop", format!("{stop}, {}", usage_text(&attempt.usage))),
            RecordedEnd::Refused => ("refused", format!("{} {problem}", attempt.status.unwrap_or_default())),
            end => (end.as_str(), problem.into()),
        };
        self.add(attempt.end_at, call.thread, "model", name.into(), &text);
    }

    fn write(mut self) -> String {
        if self.timeline.has_times {
            // What has no time stays where it is: behind its request.
            let mut before = Micros::ZERO;
            for line in &mut self.lines {
                before = *line.at.get_or_insert(before);
            }
            self.lines.sort_by_key(|line| line.at);
        }
        let mut out = String::from("What was recorded\n\n");
        let mut requests = BTreeMap::new();
        for line in &self.lines {
            let thread = &self.timeline.threads[line.thread].name;
            let agent = if line.thread == 0 { String::new() } else { format!("[{thread}] ") };
            let time = line.at.filter(|_| self.timeline.has_times).map_or_else(String::new, |at| time_column(line, at, &mut requests));
            // Writing to a String cannot fail.
            let _ = writeln!(out, "{time}{:<9} {:<14} {agent}{}", line.actor, line.name, line.text);
        }
        out
    }
}

fn time_column(line: &RecordingLine, at: Micros, requests: &mut BTreeMap<usize, Micros>) -> String {
    let (sign, shown) = match requests.get(&line.thread) {
        _ if line.is_request => {
            requests.insert(line.thread, at);
            ("", at)
        }
        Some(request) => ("+", at - *request),
        None => ("", at),
    };
    format!("{:>8}s  ", format!("{sign}{}.{:03}", shown.0 / 1_000_000, shown.0 / 1_000 % 1_000))
}

/// An input as it reads whatever blanks it came with.
fn canonical(input: &str) -> String {
    Json::parse(input).map_or_else(|_| input.into(), |json| json.to_value().to_string())
}

#[cfg(test)]
mod tests;
