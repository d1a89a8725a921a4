//! A boundary log: what crossed the boundary of an engine, as it was logged. No engine runs.
//!
//! Requests, answers and tool runs have their times there. What the engine thought of them is left out (V-8).

use alloc::collections::BTreeMap;

use reenact_engine::contract::{Agent, AnswerEnd, Effect, Input, RequestId, ToolRun};
use reenact_engine::emission::Emission;
use reenact_engine::log::{LoggedStep, ReplayError, steps};
use reenact_engine::time::{Micros, Time};
use reenact_scenario::conversation::MAIN;
use reenact_wire::block::{Block, BlockKind};
use reenact_wire::prelude::*;

use super::builder::{AttemptHandle, ConnectionEnd, NewAttempt, TimelineBuilder};
use super::{ReadingOptions, SessionTimeline, TimelineSource};

/// Reads a whole log. A last line that is cut is one that is being written, and left out.
///
/// # Errors
/// When the text is not a log that this version reads, or a line of it cannot be read.
pub fn read_log(text: &str, stall_limit: Micros) -> Result<SessionTimeline, ReplayError> {
    let source = TimelineSource { kind: String::from("a boundary log"), ..TimelineSource::default() };
    let mut reader = LogReader::new(TimelineBuilder::new(source, ReadingOptions { stall_limit, ..ReadingOptions::default() }));
    let (whole, cut) = match text.rfind('\n') {
        Some(end) => text.split_at(end + 1),
        None => (text, ""),
    };
    for step in steps(whole)? {
        reader.step(&step?);
    }
    // The last line may be whole without its line end.
    match steps(&(String::from(whole.lines().next().unwrap_or_default()) + "\n" + cut))?.next() {
        Some(Ok(step)) => reader.step(&step),
        Some(Err(_)) => reader.builder.is_cut = true,
        None => (),
    }
    Ok(reader.builder.finish())
}

struct LogReader {
    builder: TimelineBuilder,
    attempts: BTreeMap<(Agent, RequestId), AttemptHandle>,
    /// Of each agent the last request.
    last: BTreeMap<Agent, AttemptHandle>,
    tool_uses: BTreeMap<(Agent, ToolRun), Arc<str>>,
    /// Those that agents carry out and that have not ended.
    agent_tools: BTreeMap<(Agent, ToolRun), Arc<str>>,
}

impl LogReader {
    fn new(builder: TimelineBuilder) -> Self {
        Self { builder, attempts: BTreeMap::new(), last: BTreeMap::new(), tool_uses: BTreeMap::new(), agent_tools: BTreeMap::new() }
    }

    fn step(&mut self, step: &LoggedStep) {
        let at = Micros(step.at.since(Time::ZERO).0);
        self.input(at, &step.agent, &step.input);
        step.effects.iter().for_each(|(agent, effect)| self.effect(at, agent, effect));
    }

    fn input(&mut self, at: Micros, agent: &Agent, input: &Input) {
        let attempt = |id: &RequestId| self.attempts.get(&(agent.clone(), *id)).copied();
        match input {
            Input::Prompt { prompt, content } => {
                self.builder.on_mark(at, thread(agent), "prompt", format!("{prompt}: {}", words(content)));
            }
            Input::Interrupt { prompt, content } => {
                self.builder.on_mark(at, thread(agent), "interrupt", format!("{prompt}: {}", words(content)));
            }
            Input::Cancel => self.builder.on_mark(at, thread(agent), "cancel", String::new()),
            Input::Head { id, status, headers } => {
                if let Some(attempt) = attempt(id) {
                    self.builder.on_head(attempt, Some(at), *status, headers);
                }
            }
            Input::Stream { id, event } => {
                if let Some(attempt) = attempt(id) {
                    self.builder.on_event(attempt, Some(at), event);
                }
            }
            Input::Body { id, body } => {
                if let Some(attempt) = attempt(id) {
                    self.builder.on_bytes(attempt, Some(at), body.as_bytes());
                }
            }
            Input::End { id, how } => {
                if let Some(attempt) = attempt(id) {
                    self.builder.on_end(attempt, Some(at), connection_end(how));
                }
            }
            Input::ToolEnded { run, .. } => {
                if let Some(id) = self.tool_uses.get(&(agent.clone(), *run)) {
                    self.builder.on_tool_end(id, at);
                }
            }
            _ => (),
        }
    }

    fn effect(&mut self, at: Micros, agent: &Agent, effect: &Effect) {
        match effect {
            Effect::Request { id, request } => {
                let body = request.to_json();
                let (name, parent) = (id.to_string(), self.last.get(agent).copied());
                let new = NewAttempt { exchange: &name, thread: thread(agent), parent, at: Some(at), body: body.as_bytes() };
                let handle = self.builder.on_request(&new);
                self.attempts.insert((agent.clone(), *id), handle);
                self.last.insert(agent.clone(), handle);
            }
            Effect::CloseRequest { id } => {
                if let Some(attempt) = self.attempts.get(&(agent.clone(), *id)) {
                    self.builder.on_end(*attempt, Some(at), ConnectionEnd::ClientGone);
                }
            }
            // The driver says when a tool ends. Agents of a tool are the engine's: their tool has ended when its result is out.
            Effect::Emit(Emission::User(message)) => {
                if let Some(id) = self.agent_tools.remove(&(agent.clone(), message.run)) {
                    self.builder.on_tool_end(&id, at);
                }
            }
            Effect::StartTool { run, tool_use } | Effect::StartAgent { run, tool_use } => {
                if matches!(effect, Effect::StartAgent { .. }) {
                    self.agent_tools.insert((agent.clone(), *run), tool_use.id.clone());
                }
                self.tool_uses.insert((agent.clone(), *run), tool_use.id.clone());
                self.builder.on_tool_start(&tool_use.id, at);
            }
            Effect::Finished { prompt, terminal } => {
                self.builder.on_mark(at, thread(agent), "finished", format!("{prompt}: {}", terminal.as_str()));
            }
            _ => (),
        }
    }
}

fn thread(agent: &Agent) -> &str {
    agent.tool_use_id().unwrap_or(MAIN)
}

fn words(content: &[Block]) -> String {
    let text = |block: &Block| match block.kind() {
        BlockKind::Text(text) => Some(text.chars().take(160).collect::<String>()),
        _ => None,
    };
    content.iter().filter_map(text).collect::<Vec<_>>().join(" ")
}

fn connection_end(how: &AnswerEnd) -> ConnectionEnd {
    ConnectionEnd::Broken(match how {
        AnswerEnd::Complete => return ConnectionEnd::Complete,
        AnswerEnd::Reset | AnswerEnd::Truncated => "the connection was cut",
        AnswerEnd::BrokenPipe => "the connection was cut while the request was sent",
        AnswerEnd::ConnectRefused => "the connection was refused",
        AnswerEnd::Dns => "the name of the host is not known",
        AnswerEnd::Tls => "no secure connection could be made",
        AnswerEnd::ConnectTimeout => "no connection could be made in time",
        AnswerEnd::Timeout => "nothing came any more",
        AnswerEnd::Framing(_) => "an event of the stream is too large",
    })
}
