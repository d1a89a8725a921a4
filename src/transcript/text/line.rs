//! One event as one line: who, what, and the words; and from which level of detail on it is shown.

use super::super::event::{Event, FrameRecord, RequestRecord, What, cut};
use super::{Detail, View, end_text, one_line};
use crate::engine::contract::{Effect, Input, RequestId};
use crate::engine::emission::{AssistantMessage, AttemptReport, Emission, Note, ResultMessage, ToolState, UserMessage};
use crate::prelude::*;
use crate::wire::block::{Block, BlockKind, Message};
use crate::wire::request::read_content;
use crate::wire::usage::Usage;

/// How many characters of content a line shows.
const CONTENT_CHARACTERS_MAX: usize = 100;

/// How many characters of an error.
const ERROR_CHARACTERS_MAX: usize = 400;

/// One line before its time is put in front.
pub(super) struct Line {
    pub(super) detail: Detail,
    pub(super) clock: Clock,
    pub(super) actor: String,
    pub(super) what: String,
    pub(super) text: String,
}

/// What a line's time counts from.
pub(super) enum Clock {
    /// The beginning of the run.
    Run,
    /// A request.
    Request(RequestId),
    /// The latest request.
    Latest,
}

fn line(detail: Detail, clock: Clock, actor: &str, what: &str, text: String) -> Line {
    Line { detail, clock, actor: actor.into(), what: what.into(), text }
}

/// The line of an event; `None` for what no level shows.
pub(super) fn of(event: &Event, view: &View) -> Option<Line> {
    use Detail::{Debug, Normal};
    Some(match &event.what {
        What::Input(input) => of_input(event, input)?,
        What::Request { id, request } => line(Normal, Clock::Run, "engine", &format!("request {id}"), request_text(request, view)),
        What::Effect(effect) => of_effect(event, effect, view)?,
        What::Served { id, answer, provenance } => {
            line(Debug, Clock::Request(*id), "model", "answers with", format!("{answer} ({provenance})"))
        }
        What::Fault { id, text } => {
            let (first, rest) = text.split_once(' ').unwrap_or((text, ""));
            line(Normal, Clock::Request(*id), "fault", first, short(rest))
        }
        What::Difference { id, difference } => {
            let value = |value: &Option<String>| value.clone().unwrap_or_else(|| String::from("nothing"));
            let text = format!("{}: recorded {}, sent {}", difference.path, value(&difference.recorded), value(&difference.sent));
            line(Normal, Clock::Request(*id), "replay", "differs", text)
        }
        What::Unused { answer } => line(Normal, Clock::Run, "replay", "unused", answer.to_string()),
        What::Misuse { text } => line(Normal, Clock::Latest, "engine", "misuse", text.clone()),
        What::Ended { end } => line(Normal, Clock::Run, "run", end.as_str(), end_text(end)),
    })
}

fn of_input(_event: &Event, input: &Input) -> Option<Line> {
    use Detail::{Brief, Debug};
    Some(match input {
        Input::Prompt { prompt, content } => line(Brief, Clock::Run, "user", &format!("prompt {prompt}"), content_text(content)),
        Input::Head { id, status, headers } => {
            let detail = if *status == 200 { Debug } else { Detail::Normal };
            line(detail, Clock::Request(*id), "model", "head", format!("{status}, {} headers", headers.len()))
        }
        Input::Stream { id, event } => {
            line(Debug, Clock::Request(*id), "model", "event", format!("{} {}", event.name(), short(event.data())))
        }
        Input::Body { id, body } => line(Debug, Clock::Request(*id), "model", "body", short(body)),
        Input::End { id, how } => line(Debug, Clock::Request(*id), "model", "end", format!("{how:?}").to_lowercase()),
        Input::ToolProgress { run, text } => line(Debug, Clock::Request(run.request), &format!("tool {run}"), "says", short(text)),
        Input::ToolEnded { run, outcome } => {
            let text = format!("{}{}", if outcome.is_error { "error " } else { "" }, short(outcome.content.as_str()));
            line(Debug, Clock::Request(run.request), &format!("tool {run}"), "returns", text)
        }
        Input::Cancel => line(Brief, Clock::Latest, "user", "cancels", String::new()),
        Input::Interrupt { content, .. } => line(Brief, Clock::Latest, "user", "interrupts", content_text(content)),
        Input::AuthRefreshed { id, ok } => {
            let text = if *ok { "new credentials" } else { "no new credentials" };
            line(Detail::Normal, Clock::Request(*id), "auth", "answers", text.into())
        }
        Input::Timer(timer) => line(Debug, Clock::Latest, "timer", &format!("{}", timer.id), format!("generation {}", timer.generation)),
    })
}

fn of_effect(event: &Event, effect: &Effect, view: &View) -> Option<Line> {
    use Detail::Debug;
    Some(match effect {
        Effect::Emit(emission) => of_emission(emission, view),
        Effect::Note(note) => of_note(event, note, view),
        Effect::CloseRequest { id } => line(Debug, Clock::Request(*id), "engine", "closes", format!("request {id}")),
        Effect::StopTool { run } => line(Debug, Clock::Request(run.request), "engine", "stops", format!("tool {run}")),
        Effect::RefreshAuth { id, forced } => {
            let text = if *forced { "forced" } else { "" };
            line(Detail::Normal, Clock::Request(*id), "engine", "refreshes auth", text.into())
        }
        Effect::SetTimer { timer, at } => {
            line(Debug, Clock::Latest, "engine", "sets timer", format!("{} generation {} for {at}", timer.id, timer.generation))
        }
        Effect::Finished { terminal, .. } => line(Detail::Brief, Clock::Latest, "engine", terminal.as_str(), String::new()),
        // The request has its own event; the start of a tool is told by its state.
        Effect::Request { .. } | Effect::StartTool { .. } => return None,
    })
}

fn of_emission(emission: &Emission, view: &View) -> Line {
    use Detail::{Brief, Debug, Normal};
    match emission {
        Emission::Init { prompt, model, tools } => {
            let tools = if tools.is_empty() { String::from("none") } else { tools.join(", ") };
            line(Normal, Clock::Run, "engine", &format!("init {prompt}"), format!("{model}, tools: {tools}"))
        }
        Emission::StreamEvent { id, event, time_to_first_token } => {
            let first = time_to_first_token.map(|time| format!(" (first after {time})")).unwrap_or_default();
            line(Debug, Clock::Request(*id), "engine", "passes on", format!("{}{first}", event.name()))
        }
        Emission::Assistant(message) => of_assistant(message, view),
        Emission::Answered { id, stop_reason, usage, .. } => {
            let reason = stop_reason.as_deref().unwrap_or("no stop reason");
            line(Normal, Clock::Request(*id), "model", "stop", format!("{reason}{}", usage_text(usage)))
        }
        Emission::User(message) => of_user(message),
        Emission::Progress { run, text, .. } => {
            line(Normal, Clock::Request(run.request), "engine", &format!("progress {run}"), short(text))
        }
        Emission::InProgress { tool_use_ids } => {
            let text = if tool_use_ids.is_empty() { String::from("none") } else { tool_use_ids.join(", ") };
            line(Debug, Clock::Latest, "engine", "in progress", text)
        }
        Emission::Interruptible(may) => {
            let text = if *may { "may interrupt" } else { "may not interrupt" };
            line(Debug, Clock::Latest, "engine", "says", text.into())
        }
        Emission::Interrupted { text, .. } => line(Brief, Clock::Latest, "engine", "interrupted", short(text)),
        Emission::QueuedCommand { content, .. } => line(Brief, Clock::Latest, "engine", "takes in", content_text(content)),
        Emission::ApiRetry { id, retry, of, delay, status, kind, text } => {
            let status = status.map(|status| format!("{status} ")).unwrap_or_default();
            let said = if text.is_empty() { String::new() } else { format!(": {}", short(text)) };
            let text = format!("of {of} in {delay}, after {status}{kind}{said}");
            line(Normal, Clock::Request(*id), "engine", &format!("retry {retry}"), text)
        }
        Emission::Result(result) => line(Brief, Clock::Latest, "engine", "result", result_text(result)),
    }
}

fn of_assistant(message: &AssistantMessage, view: &View) -> Line {
    let clock = Clock::Request(message.id);
    if let Some(kind) = &message.error {
        let text = error_text(&message.block);
        let text = if text.contains(&**kind) { text } else { format!("{kind}: {text}") };
        return line(Detail::Brief, clock, "engine", "error", text);
    }
    match message.block.kind() {
        BlockKind::ToolUse(tool_use) => {
            let text = format!("{} {}", tool_use.name, short(tool_use.input.as_str()));
            line(Detail::Brief, clock, "model", &format!("tool {}", view.latest_tool_use(message.id)), text)
        }
        BlockKind::Text(_) => line(Detail::Brief, clock, "model", "text", block_text(&message.block)),
        BlockKind::Thinking { .. } | BlockKind::RedactedThinking => {
            line(Detail::Brief, clock, "model", "thinking", block_text(&message.block))
        }
        BlockKind::ToolResult { .. } => line(Detail::Brief, clock, "model", "tool_result", block_text(&message.block)),
        BlockKind::Other(kind) => line(Detail::Brief, clock, "model", kind, short(message.block.json().as_str())),
    }
}

fn of_user(message: &UserMessage) -> Line {
    let run = message.run;
    line(Detail::Brief, Clock::Request(run.request), "engine", &format!("result {run}"), result_block_text(&message.block))
}

fn of_note(event: &Event, note: &Note, view: &View) -> Line {
    use Detail::{Brief, Debug, Normal};
    match note {
        Note::Phase(phase) => line(Debug, Clock::Run, "engine", "phase", format!("{phase:?}")),
        Note::Transition(transition) => line(Brief, Clock::Latest, "engine", transition.as_str(), String::new()),
        Note::Attempt(report) => attempt(report),
        Note::Tool { run, state } => {
            let (detail, what, text) = match state {
                ToolState::QueuedSafe => (Debug, "queued", String::from("safe")),
                ToolState::QueuedExclusive => (Debug, "queued", String::from("exclusive")),
                ToolState::Executing => (Normal, "starts", String::new()),
                ToolState::Completed => {
                    let took = view.tool_started(*run).map(|from| format!("after {}", event.at.since(from)));
                    (Normal, "ends", took.unwrap_or_else(|| String::from("without having run")))
                }
                ToolState::Yielded => (Debug, "yielded", String::new()),
                ToolState::Stopping => (Normal, "is stopped", String::new()),
            };
            line(detail, Clock::Request(run.request), &format!("tool {run}"), what, text)
        }
        Note::ContextChanged { run, change } => {
            line(Normal, Clock::Request(run.request), &format!("tool {run}"), "changes", format!("context: {}", short(change)))
        }
        Note::Defect { id, name, text } => {
            let colon = if text.is_empty() { "" } else { ": " };
            line(Normal, Clock::Request(*id), "engine", "defect", format!("{name}{colon}{text}"))
        }
    }
}

fn attempt(report: &AttemptReport) -> Line {
    let ok = &*report.outcome == "ok";
    let detail = if ok { Detail::Debug } else { Detail::Normal };
    let took = report.ended.since(report.started);
    let text = format!("{} after {took}, client {}", short(&report.outcome), report.client);
    line(detail, Clock::Request(report.id), "engine", if ok { "attempt" } else { "fails" }, text)
}

fn request_text(request: &RequestRecord, view: &View) -> String {
    let mut text = format!("{}, max {}", request.model, request.max_tokens);
    if !request.stream {
        text.push_str(", not streamed");
    }
    if request.kept > 0 {
        text.push_str(&format!(", {} as before", plural(request.kept, "message")));
    }
    for message in &request.added {
        text.push_str(&format!(", + {}", message_text(message, view)));
    }
    if let Some(frame) = &request.frame {
        text.push_str(&format!(", {}", frame_text(frame)));
    }
    if request.cache_last_message {
        text.push_str(", cached");
    }
    text
}

/// What stays the same over a session, as a digest: it shows when any of it changes.
fn frame_text(frame: &FrameRecord) -> String {
    let system = frame.system.as_ref().map_or("", |json| json.as_str());
    let tools = frame.tools.as_ref().map_or("", |json| json.as_str());
    let whole = format!("{system}\n{tools}\n{}", frame.extra);
    format!("frame {}", &blake3::hash(whole.as_bytes()).to_hex().as_str()[..8])
}

fn message_text(message: &Message, view: &View) -> String {
    let named = |word: &str, id: &str| view.run_of(id).map_or_else(|| word.to_string(), |run| format!("{word} {run}"));
    let parts: Vec<String> = message
        .content
        .iter()
        .map(|block| match block.kind() {
            BlockKind::Text(_) => String::from("text"),
            BlockKind::Thinking { .. } | BlockKind::RedactedThinking => String::from("thinking"),
            BlockKind::ToolUse(tool_use) => named("tool", &tool_use.id),
            BlockKind::ToolResult { tool_use_id, .. } => named("result", tool_use_id),
            BlockKind::Other(kind) => kind.to_string(),
        })
        .collect();
    format!("{}({})", message.role.as_str(), parts.join(", "))
}

fn result_text(result: &ResultMessage) -> String {
    let mut text = format!("{}, {}{}", result.subtype.as_str(), plural(result.turns as usize, "turn"), usage_text(&result.usage));
    text.push_str(&format!(", {} in all, {} of it waiting for the model", result.duration, result.api_duration));
    text
}

fn usage_text(usage: &Usage) -> String {
    let mut text = String::new();
    let figures = [
        ("in", usage.input_tokens),
        ("cache write", usage.cache_creation_input_tokens.filter(|tokens| *tokens > 0)),
        ("cache read", usage.cache_read_input_tokens.filter(|tokens| *tokens > 0)),
        ("out", usage.output_tokens),
    ];
    for (name, tokens) in figures {
        if let Some(tokens) = tokens {
            text.push_str(&format!(", {name} {tokens}"));
        }
    }
    text
}

fn result_block_text(block: &Block) -> String {
    let value = block.json().to_value();
    let word = if value["is_error"] == true { "error" } else { "ok" };
    let content = read_content(&value["content"].to_string()).unwrap_or_default();
    format!("{word} {}", content_text(&content))
}

fn content_text(content: &[Block]) -> String {
    content.iter().map(block_text).collect::<Vec<_>>().join(" / ")
}

fn block_text(block: &Block) -> String {
    match block.kind() {
        BlockKind::Text(text) => short(text),
        BlockKind::Thinking { thinking, signature } => {
            let signed = if signature.is_empty() { "" } else { " (signed)" };
            format!("{}{signed}", short(thinking))
        }
        BlockKind::RedactedThinking => String::from("(redacted)"),
        _ => short(block.json().as_str()),
    }
}

/// Content on one line: line ends as `\n`, cut at a set length with a digest of the whole.
fn short(text: &str) -> String {
    cut(&one_line(text), CONTENT_CHARACTERS_MAX)
}

/// An error in full, as far as a line can hold it.
fn error_text(block: &Block) -> String {
    match block.kind() {
        BlockKind::Text(text) => cut(&one_line(text), ERROR_CHARACTERS_MAX),
        _ => block_text(block),
    }
}

fn plural(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
