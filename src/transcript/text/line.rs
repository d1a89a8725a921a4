//! One event as one line: actor, action and text; and the level of detail from which on it is shown.

use super::super::event::{Event, EventKind, FrameRecord, RequestRecord, cut};
use super::{DetailLevel, LineContext, end_text, one_line};
mod effects;

use effects::{emission_line, note_line};
use reenact_engine::budget::NanoUsd;
use reenact_engine::contract::{Effect, HookOutcome, Input, PermissionAnswer, ProgressKind, RequestId};
use reenact_engine::emission::{AssistantMessage, AttemptReport, ResultMessage, UserMessage};
use reenact_wire::block::{Block, BlockKind, Message};
use reenact_wire::prelude::*;
use reenact_wire::request::read_content;
use reenact_wire::usage::Usage;

/// How many characters of content a line shows.
const CONTENT_CHARACTERS_MAX: usize = 100;

/// How many characters of an error.
const ERROR_CHARACTERS_MAX: usize = 400;

/// One line before its time is put in front.
pub(super) struct TextLine {
    pub(super) detail: DetailLevel,
    pub(super) clock: LineClock,
    pub(super) actor: String,
    pub(super) what: String,
    pub(super) text: String,
}

/// The beginning from which a line's time counts.
pub(super) enum LineClock {
    /// The beginning of the run.
    Run,
    /// A request.
    Request(RequestId),
    /// The latest request.
    Latest,
}

fn line(detail: DetailLevel, clock: LineClock, actor: &str, what: &str, text: String) -> TextLine {
    TextLine { detail, clock, actor: actor.into(), what: what.into(), text }
}

/// The line of an event; `None` for what no level shows.
pub(super) fn from_event(event: &Event, view: &LineContext) -> Option<TextLine> {
    use DetailLevel::{Debug, Normal};
    Some(match &event.what {
        EventKind::Input(input) => input_line(event, input, view)?,
        EventKind::Request { id, request } => line(Normal, LineClock::Run, "engine", &format!("request {id}"), request_text(request, view)),
        EventKind::Effect(effect) => effect_line(event, effect, view)?,
        EventKind::Served { id, answer, provenance } => {
            line(Debug, LineClock::Request(*id), "model", "answers with", format!("{answer} ({provenance})"))
        }
        EventKind::Fault { id, text } => {
            let (first, rest) = text.split_once(' ').unwrap_or((text, ""));
            line(Normal, LineClock::Request(*id), "fault", first, short(rest))
        }
        EventKind::Difference { id, difference } => line(Normal, LineClock::Request(*id), "replay", "differs", difference.to_string()),
        EventKind::Unused { answer } => line(Normal, LineClock::Run, "replay", "unused", answer.to_string()),
        EventKind::File { path, change, tool, lines } => {
            let by = tool.as_ref().map_or_else(|| String::from("another process"), |tool| format!("tool {tool}"));
            line(Normal, LineClock::Latest, "files", change, format!("{path} by {by}: {}", short(lines)))
        }
        EventKind::Healed => line(Normal, LineClock::Run, "world", "heals", String::from("no fault comes from here on")),
        EventKind::Misuse { text } => line(Normal, LineClock::Latest, "engine", "misuse", text.clone()),
        EventKind::Refused { id, text, overruled, .. } => {
            let what = if *overruled { "would refuse" } else { "refuses" };
            line(DetailLevel::Brief, LineClock::Request(*id), "api", what, cut(&one_line(text), ERROR_CHARACTERS_MAX))
        }
        EventKind::Client { did, text } => line(DetailLevel::Brief, LineClock::Latest, "client", did, short(text)),
        EventKind::Ended { end } => line(Normal, LineClock::Run, "run", end.as_str(), end_text(end)),
    })
}

fn input_line(event: &Event, input: &Input, view: &LineContext) -> Option<TextLine> {
    use DetailLevel::{Brief, Debug};
    Some(match input {
        Input::Prompt { prompt, content } => line(Brief, LineClock::Run, "user", &format!("prompt {prompt}"), content_text(content)),
        Input::Head { id, status, headers } => {
            let detail = if *status == 200 { Debug } else { DetailLevel::Normal };
            line(detail, LineClock::Request(*id), "model", "head", format!("{status}, {} headers", headers.len()))
        }
        Input::Stream { id, event } => {
            line(Debug, LineClock::Request(*id), "model", "event", format!("{} {}", event.name(), short(event.data())))
        }
        Input::Body { id, body } => line(Debug, LineClock::Request(*id), "model", "body", short(body)),
        Input::End { id, how } => line(Debug, LineClock::Request(*id), "model", "end", format!("{how:?}").to_lowercase()),
        Input::ToolProgress { run, text, kind } => {
            line(Debug, LineClock::Request(run.request), &format!("tool {run}"), "reports", progress_text(*kind, text))
        }
        Input::ToolEnded { run, .. } if view.shows_driven_tools() && !view.is_debug() => effects::tool_end_line(event, *run, view),
        Input::ToolEnded { run, outcome } => {
            let text = format!("{}{}", if outcome.is_error { "error " } else { "" }, short(outcome.content.as_str()));
            line(Debug, LineClock::Request(run.request), &format!("tool {run}"), "returns", text)
        }
        Input::Cancel => line(Brief, LineClock::Latest, "user", "cancels", String::new()),
        Input::Interrupt { content, .. } => line(Brief, LineClock::Latest, "user", "interrupts", content_text(content)),
        Input::AuthRefreshed { id, ok } => {
            let text = if *ok { "new credentials" } else { "no new credentials" };
            line(DetailLevel::Normal, LineClock::Request(*id), "auth", "answers", text.into())
        }
        Input::ToolChecked { run, check } => {
            let permission = check.permission.map_or("no decision", |word| word.as_str());
            let text = check.problem.as_deref().map_or_else(|| format!("valid, permission: {permission}"), short);
            line(Debug, LineClock::Request(run.request), &format!("tool {run}"), "checked", text)
        }
        Input::HookEnded { hook, outcome } => {
            line(Debug, LineClock::Latest, &format!("hook {}", hook.hook + 1), "returns", hook_text(outcome))
        }
        Input::PermissionAnswered { run, answer } => {
            line(DetailLevel::Normal, LineClock::Request(run.request), "user", &format!("answers {run}"), permission_text(answer))
        }
        Input::ResultStored { run, path } => line(
            Debug,
            LineClock::Request(run.request),
            "files",
            "stored",
            path.as_deref().unwrap_or("nothing: no place to store it").into(),
        ),
        Input::LookedUp { what, names, .. } => {
            let names = if names.is_empty() { String::from("none") } else { names.join(", ") };
            line(Debug, LineClock::Run, "files", "has", format!("{}: {names}", what.as_str()))
        }
        Input::CollapseStaged(staged) => {
            line(Debug, LineClock::Latest, "summary", "staged", format!("{} to {}: {}", staged.from, staged.to, short(&staged.summary)))
        }
        Input::MarkedDead { names } => line(Debug, LineClock::Latest, "marker", "names", names.join(", ")),
        Input::ElicitationAsked { run, message } => {
            line(DetailLevel::Normal, LineClock::Request(run.request), &format!("tool {run}"), "asks", short(message))
        }
        Input::ElicitationAnswered { run, answer } => {
            let text = answer.as_ref().map_or_else(|| String::from("declines"), |answer| short(answer));
            line(DetailLevel::Normal, LineClock::Request(run.request), "user", &format!("answers {run}"), text)
        }
        Input::Timer(timer) => {
            line(Debug, LineClock::Latest, "timer", &format!("{}", timer.id), format!("generation {}", timer.generation))
        }
    })
}

fn effect_line(event: &Event, effect: &Effect, view: &LineContext) -> Option<TextLine> {
    use DetailLevel::{Debug, Normal};
    Some(match effect {
        Effect::Emit(emission) => emission_line(emission, view),
        Effect::Note(note) => note_line(event, note, view),
        Effect::CloseRequest { id } => line(Debug, LineClock::Request(*id), "engine", "closes", format!("request {id}")),
        Effect::StopTool { run } if view.shows_driven_tools() => effects::tool_line(*run, "is stopping", String::new()),
        Effect::StopTool { run } => line(Debug, LineClock::Request(run.request), "engine", "stops", format!("tool {run}")),
        Effect::RefreshAuth { id, forced, provider } => {
            let provider = provider.as_ref().map(|provider| format!("for {provider}")).unwrap_or_default();
            let text = if *forced { format!("forced{}{provider}", if provider.is_empty() { "" } else { ", " }) } else { provider };
            line(Normal, LineClock::Request(*id), "engine", "refreshes auth", text)
        }
        Effect::SetTimer { timer, at } => {
            line(Debug, LineClock::Latest, "engine", "sets timer", format!("{} generation {} for {at}", timer.id, timer.generation))
        }
        Effect::CancelTimer { timer } => {
            line(Debug, LineClock::Latest, "engine", "cancels timer", format!("{} generation {}", timer.id, timer.generation))
        }
        Effect::Finished { terminal, .. } => line(DetailLevel::Brief, LineClock::Latest, "engine", terminal.as_str(), String::new()),
        Effect::CheckTool { run, .. } => line(Debug, LineClock::Request(run.request), &format!("tool {run}"), "checks", "its input".into()),
        Effect::RunHook { hook, input } => {
            let tool = input.tool.as_ref().map(|tool| format!(" for {tool}")).unwrap_or_default();
            line(Debug, LineClock::Latest, "engine", "runs hook", format!("{} {}{tool}", hook.hook + 1, input.event.as_str()))
        }
        Effect::StopHook { hook } => line(Debug, LineClock::Latest, "engine", "stops hook", format!("{}", hook.hook + 1)),
        Effect::AskPermission { run, tool_use, reason, suggestions } => {
            let rules = if suggestions.is_empty() { String::new() } else { format!(" (rules that allow it: {})", suggestions.join(", ")) };
            let text = format!("{} {}: {reason}{rules}", tool_use.name, short(tool_use.input.as_str()));
            line(Normal, LineClock::Request(run.request), "engine", &format!("asks {run}"), text)
        }
        Effect::WithdrawPermission { run } => {
            line(Normal, LineClock::Request(run.request), "engine", "withdraws", format!("the question about tool {run}"))
        }
        Effect::StoreResult { run, content } => {
            line(Debug, LineClock::Request(run.request), "engine", "stores", format!("result {run}, {} bytes", content.as_str().len()))
        }
        Effect::LookUp { what, .. } => line(Debug, LineClock::Run, "engine", "looks up", what.as_str().into()),
        Effect::Elicit { run, message } => {
            line(Normal, LineClock::Request(run.request), "engine", &format!("asks for {run}"), short(message))
        }
        Effect::AnswerElicitation { run, answer } => {
            // The line of the user's answer has its text.
            let detail = if answer.is_some() { Debug } else { Normal };
            let text = answer.as_ref().map_or_else(|| String::from("declined"), |answer| short(answer));
            line(detail, LineClock::Request(run.request), "engine", &format!("replies to {run}"), text)
        }
        Effect::WithdrawElicitation { run } => {
            line(Normal, LineClock::Request(run.request), "engine", "withdraws", format!("the question of tool {run}"))
        }
        Effect::StartTool { run, .. } | Effect::StartAgent { run, .. } if view.shows_driven_tools() => {
            effects::tool_line(*run, "starts", String::new())
        }
        // The request has its own event; the start of a tool is shown by its state.
        Effect::Request { .. } | Effect::StartTool { .. } | Effect::StartAgent { .. } => return None,
    })
}

fn assistant_line(message: &AssistantMessage, view: &LineContext) -> TextLine {
    let clock = LineClock::Request(message.id);
    if let Some(kind) = &message.error {
        let text = error_text(&message.block);
        let text = if text.contains(&**kind) { text } else { format!("{kind}: {text}") };
        return line(DetailLevel::Brief, clock, "engine", "error", text);
    }
    match message.block.kind() {
        BlockKind::ToolUse(tool_use) => {
            let text = format!("{} {}", tool_use.name, short(tool_use.input.as_str()));
            line(DetailLevel::Brief, clock, "model", &format!("tool {}", view.latest_tool_use(message.id)), text)
        }
        BlockKind::Text(_) => line(DetailLevel::Brief, clock, "model", "text", block_text(&message.block)),
        BlockKind::Thinking { .. } | BlockKind::RedactedThinking => {
            line(DetailLevel::Brief, clock, "model", "thinking", block_text(&message.block))
        }
        BlockKind::ToolResult { .. } => line(DetailLevel::Brief, clock, "model", "tool_result", block_text(&message.block)),
        BlockKind::Other(kind) => line(DetailLevel::Brief, clock, "model", kind, short(message.block.json().as_str())),
    }
}

/// The text of a tool's progress, with its kind.
fn progress_text(kind: Option<ProgressKind>, text: &str) -> String {
    format!("{}{}", kind.map(|kind| format!("{}: ", kind.as_str())).unwrap_or_default(), short(text))
}

fn user_line(message: &UserMessage) -> TextLine {
    let run = message.run;
    let structured = message.structured.as_ref().map(|json| format!(" (structured {})", short(json.as_str()))).unwrap_or_default();
    let took = message.took.map(|took| format!(" (took {took})")).unwrap_or_default();
    let text = format!("{}{structured}{took}", result_block_text(&message.block));
    line(DetailLevel::Brief, LineClock::Request(run.request), "engine", &format!("result {run}"), text)
}

/// A person's answer to a permission question.
fn permission_text(answer: &PermissionAnswer) -> String {
    match answer {
        PermissionAnswer::Allow { updated_input, rules } => {
            let changed = if updated_input.is_some() { ", with a changed input" } else { "" };
            let new_rules = if rules.is_empty() { String::new() } else { format!(", new rules: {}", rules.join(", ")) };
            format!("allowed{changed}{new_rules}")
        }
        PermissionAnswer::Refuse { reason } => format!("refused: {}", short(reason)),
        PermissionAnswer::RefuseAndAbort { reason } => format!("refused, and the turn is aborted: {}", short(reason)),
    }
}

/// A hook's outcome, in the order in which its parts count.
fn hook_text(outcome: &HookOutcome) -> String {
    let HookOutcome { decision, reason, updated_input, context, stop, failure } = outcome;
    let decision = decision.map(|decision| String::from(decision.as_str()));
    let said = |word: &str, text: &Option<Arc<str>>| text.as_deref().map(|text| format!("{word}{}", short(text)));
    let parts = [
        decision,
        said("", reason),
        updated_input.as_ref().map(|input| format!("input {}", short(input.as_str()))),
        said("context ", context),
        said("stop ", stop),
        said("fails: ", failure),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { String::from("nothing") } else { parts.join(", ") }
}

pub(super) fn attempt_line(report: &AttemptReport) -> TextLine {
    let ok = &*report.outcome == "ok";
    let detail = if ok { DetailLevel::Debug } else { DetailLevel::Normal };
    let took = report.ended.since(report.started);
    let text = format!("{} after {took}, client {}", short(&report.outcome), report.client);
    line(detail, LineClock::Request(report.id), "engine", if ok { "attempt" } else { "fails" }, text)
}

fn request_text(request: &RequestRecord, view: &LineContext) -> String {
    let mut text = format!("{}, max {}", request.model, request.max_tokens);
    if !request.stream {
        text.push_str(", not streamed");
    }
    if request.kept > 0 {
        text.push_str(&format!(", {} as before", plural(request.kept as u64, "message")));
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

/// A digest of the part that stays the same over a session: it shows when any of it changes.
fn frame_text(frame: &FrameRecord) -> String {
    let system = frame.system.as_ref().map_or("", |json| json.as_str());
    let tools = frame.tools.as_ref().map_or("", |json| json.as_str());
    let whole = format!("{system}\n{tools}\n{}", frame.extra);
    format!("frame {}", &blake3::hash(whole.as_bytes()).to_hex().as_str()[..8])
}

fn message_text(message: &Message, view: &LineContext) -> String {
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
    let mut text = format!("{}, {}{}", result.subtype.as_str(), plural(result.turns.into(), "turn"), usage_text(&result.usage));
    if result.cost > NanoUsd::default() {
        text.push_str(&format!(", {}", result.cost));
    }
    if !result.permission_denials.is_empty() {
        text.push_str(&format!(", {} denied", plural(result.permission_denials.len() as u64, "tool use")));
    }
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
