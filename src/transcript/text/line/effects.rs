//! Lines of what comes out of an agent: emissions and notes.

use super::{
    LineClock, TextLine, assistant_line, attempt_line, block_text, content_text, line, plural, progress_text, result_text, short,
    usage_text, user_line,
};
use crate::event::Event;
use crate::text::{DetailLevel, LineContext};
use reenact_engine::contract::{Micros, RequestId, ToolRun};
use reenact_engine::emission::{Emission, Note, SessionSurroundings, ToolState};
use reenact_engine::permission::PermissionMode;
use reenact_wire::prelude::*;

pub(super) fn emission_line(emission: &Emission, view: &LineContext) -> TextLine {
    use DetailLevel::{Brief, Debug, Normal};
    match emission {
        Emission::Init { prompt, model, tools, surroundings } => {
            let text = format!("{model}, tools: {}{}", or_none(tools), surroundings_text(surroundings));
            line(Normal, LineClock::Run, "engine", &format!("init {prompt}"), text)
        }
        Emission::StreamEvent { id, event, time_to_first_token } => {
            let first = time_to_first_token.map(|time| format!(" (first after {time})")).unwrap_or_default();
            line(Debug, LineClock::Request(*id), "engine", "passes on", format!("{}{first}", event.name()))
        }
        Emission::Assistant(message) => assistant_line(message, view),
        Emission::Aborted(message) => line(Brief, LineClock::Request(message.id), "model", "aborted", block_text(&message.block)),
        Emission::Answered { id, stop_reason, usage, .. } => {
            let reason = stop_reason.as_deref().unwrap_or("no stop reason");
            line(Normal, LineClock::Request(*id), "model", "stop", format!("{reason}{}", usage_text(usage)))
        }
        Emission::User(message) => user_line(message),
        Emission::Progress { run, text, kind, details, .. } => {
            let after = details.as_ref().map(|details| format!(" (after {})", details.after)).unwrap_or_default();
            let text = format!("{}{after}", progress_text(*kind, text));
            line(Normal, LineClock::Request(run.request), "engine", &format!("progress {run}"), text)
        }
        Emission::InProgress { tool_use_ids } => line(Debug, LineClock::Latest, "engine", "in progress", or_none(tool_use_ids)),
        Emission::Interruptible(may) => {
            let text = if *may { "yes" } else { "no" };
            line(Debug, LineClock::Latest, "engine", "interruptible", text.into())
        }
        Emission::Interrupted { text, .. } => line(Brief, LineClock::Latest, "engine", "interrupted", short(text)),
        Emission::QueuedCommand { content, .. } => line(Brief, LineClock::Latest, "engine", "adds message", content_text(content)),
        Emission::ApiRetry { id, retry, of, delay, status, kind, text } => retry_line(*id, (*retry, *of), *delay, *status, (kind, text)),
        Emission::Hidden { why, text, .. } => line(Normal, LineClock::Latest, "engine", "hidden", format!("{why}: {}", short(text))),
        Emission::ModelFallback { from, to, reason, .. } => {
            line(Brief, LineClock::Latest, "engine", "fallback", format!("{from} -> {to} ({})", short(reason)))
        }
        Emission::Tombstone { uuid } => line(Brief, LineClock::Latest, "engine", "tombstone", uuid.to_string()),
        Emission::SnipBoundary { names, tokens_freed } => freed_line("snip", names, tokens_freed),
        Emission::MicrocompactBoundary { tool_use_ids, tokens_freed } => freed_line("microcompact", tool_use_ids, tokens_freed),
        Emission::CompactBoundary { trigger, tokens_before, tokens_after, kept } => {
            compaction_line(trigger.as_str(), (*tokens_before, *tokens_after), kept)
        }
        Emission::MaxTurnsReached { turns } => {
            line(Brief, LineClock::Latest, "engine", "max turns", format!("after {}", plural((*turns).into(), "turn")))
        }
        Emission::StructuredOutput { json } => line(Brief, LineClock::Latest, "engine", "structured", short(json.as_str())),
        Emission::HookContext { hook, text } => line(Normal, LineClock::Latest, "engine", &format!("hook {}", hook.hook + 1), short(text)),
        Emission::LocalOutput { text, .. } => line(Brief, LineClock::Latest, "engine", "answers", short(text)),
        Emission::UserPrompt { prompt, content } => {
            line(Normal, LineClock::Latest, "engine", &format!("replays {prompt}"), content_text(content))
        }
        Emission::Heartbeat { id, waited, remaining } => {
            line(Normal, LineClock::Request(*id), "engine", "heartbeat", format!("waited {waited}, {remaining} left"))
        }
        Emission::Speed { fast, until, reason } => {
            let until = until.map(|until| format!(" until {until}")).unwrap_or_default();
            line(Normal, LineClock::Latest, "engine", if *fast { "fast" } else { "not fast" }, format!("{}{until}", short(reason)))
        }
        Emission::Status { status } => line(Normal, LineClock::Latest, "engine", "status", status.to_string()),
        Emission::Warning { text } => line(Normal, LineClock::Latest, "engine", "warns", short(text)),
        Emission::FileSnapshot { uuid } => line(Debug, LineClock::Latest, "engine", "keeps files", uuid.to_string()),
        Emission::Result(result) => line(Brief, LineClock::Latest, "engine", "result", result_text(result)),
        Emission::ToolUseSummary { text, tool_use_ids } => {
            let run = |id: &Arc<str>| view.run_of(id).map_or_else(|| id.to_string(), |run| run.to_string());
            let runs: Vec<String> = tool_use_ids.iter().map(run).collect();
            line(Brief, LineClock::Latest, "engine", "sums up", format!("{}: {}", runs.join(", "), short(text)))
        }
        Emission::HookStarted { .. } | Emission::HookEnded { .. } | Emission::CompactionReport { .. } => verbose_line(emission),
    }
}

/// The emissions of a verbose session (S-11).
fn verbose_line(emission: &Emission) -> TextLine {
    let text = match emission {
        Emission::HookStarted { hook, name } => format!("hook {} starts: {name}", hook.hook + 1),
        Emission::HookEnded { hook, name, answered } => {
            format!("hook {} {}: {name}", hook.hook + 1, if *answered { "answered" } else { "was stopped" })
        }
        Emission::CompactionReport { level, ran, why, before, after } => {
            format!("{} {}: {why}, {before} -> {after} tokens", level.as_str(), if *ran { "ran" } else { "did nothing" })
        }
        _ => String::new(),
    };
    line(DetailLevel::Normal, LineClock::Latest, "engine", "reports", text)
}

fn compaction_line(trigger: &str, (before, after): (u64, u64), kept: &[Arc<str>]) -> TextLine {
    let keeps = if kept.is_empty() { String::new() } else { format!(", keeps {}", kept.join(", ")) };
    line(DetailLevel::Brief, LineClock::Latest, "engine", "compacted", format!("{trigger}, {before} -> {after} tokens{keeps}"))
}

fn or_none(names: &[Arc<str>]) -> String {
    if names.is_empty() { String::from("none") } else { names.join(", ") }
}

/// The messages that left the context, and the room that this makes.
fn freed_line(what: &str, names: &[Arc<str>], tokens: impl core::fmt::Display) -> TextLine {
    line(DetailLevel::Brief, LineClock::Latest, "engine", what, format!("{}, {tokens} tokens", names.join(", ")))
}

/// The content of the init message beside model and tools, without empty parts. The usual permission mode is not worth a word.
fn surroundings_text(surroundings: &SessionSurroundings) -> String {
    let SessionSurroundings { mcp_servers, permission_mode, skills, plugins, agents } = surroundings;
    let mut text = String::new();
    for (what, names) in [("servers", mcp_servers), ("skills", skills), ("plugins", plugins), ("agents", agents)] {
        if !names.is_empty() {
            text.push_str(&format!(", {what}: {}", names.join(", ")));
        }
    }
    if let Some(mode) = permission_mode.filter(|mode| *mode != PermissionMode::Default) {
        text.push_str(&format!(", mode: {}", mode.as_str()));
    }
    text
}

/// of how many, how long the wait is, and what it is for.
fn retry_line(id: RequestId, (retry, of): (u32, u32), delay: Micros, status: Option<u16>, (kind, text): (&str, &str)) -> TextLine {
    let status = status.map(|status| format!("{status} ")).unwrap_or_default();
    let said = if text.is_empty() { String::new() } else { format!(": {}", short(text)) };
    let of = if of == 0 { String::new() } else { format!("of {of} ") };
    let text = format!("{of}in {delay}, after {status}{kind}{said}");
    line(DetailLevel::Normal, LineClock::Request(id), "engine", &format!("retry {retry}"), text)
}

/// A line about a tool use.
pub(super) fn tool_line(run: ToolRun, what: &str, text: String) -> TextLine {
    line(DetailLevel::Normal, LineClock::Request(run.request), &format!("tool {run}"), what, text)
}

/// The end of a tool use, and how long it took.
pub(super) fn tool_end_line(event: &Event, run: ToolRun, view: &LineContext) -> TextLine {
    let took = view.tool_started(run).map(|from| format!("after {}", event.at.since(from)));
    tool_line(run, "ends", took.unwrap_or_else(|| String::from("without having run")))
}

pub(super) fn note_line(event: &Event, note: &Note, view: &LineContext) -> TextLine {
    use DetailLevel::{Brief, Debug, Normal};
    match note {
        Note::Phase(phase) => line(Debug, LineClock::Run, "engine", "phase", format!("{phase:?}")),
        Note::Transition(transition) => line(Brief, LineClock::Latest, "engine", transition.as_str(), String::new()),
        Note::Attempt(report) => attempt_line(report),
        Note::Tool { run, state } => {
            let (detail, what, text) = match state {
                ToolState::QueuedSafe => (Debug, "queued", String::from("safe")),
                ToolState::QueuedExclusive => (Debug, "queued", String::from("exclusive")),
                ToolState::Executing => (Normal, "starts", String::new()),
                ToolState::Completed => return tool_end_line(event, *run, view),
                ToolState::Yielded => (Debug, "yielded", String::new()),
                ToolState::Stopping => (Normal, "is stopping", String::new()),
            };
            line(detail, LineClock::Request(run.request), &format!("tool {run}"), what, text)
        }
        Note::ContextChanged { run, change } => {
            line(Normal, LineClock::Request(run.request), &format!("tool {run}"), "changes", format!("context: {}", short(change)))
        }
        Note::Pipeline { run, step } => line(Debug, LineClock::Request(run.request), &format!("tool {run}"), "step", step.as_str().into()),
        Note::Slow { run, step, took } => {
            line(Normal, LineClock::Request(run.request), &format!("tool {run}"), "is slow", format!("{} took {took}", step.as_str()))
        }
        Note::Compaction { level, ran, why, before, after } => {
            let figures = if *ran { format!(", {before} -> {after} tokens") } else { String::new() };
            line(if *ran { Normal } else { Debug }, LineClock::Latest, "engine", level.as_str(), format!("{why}{figures}"))
        }
        Note::Discarded { id, running } => {
            let still: Vec<String> = running.iter().map(ToString::to_string).collect();
            let still = if still.is_empty() { String::from("none is running") } else { format!("stopping {}", still.join(", ")) };
            line(Normal, LineClock::Request(*id), "engine", "discards", format!("the tools of request {id}: {still}"))
        }
        Note::LeftRunning { id, runs } => {
            let runs: Vec<String> = runs.iter().map(ToString::to_string).collect();
            let text = format!("the tools of request {id}: {} left running", runs.join(", "));
            line(Normal, LineClock::Request(*id), "engine", "discards", text)
        }
        Note::Repeated { run, earlier } => {
            line(Normal, LineClock::Request(run.request), &format!("tool {run}"), "repeats", format!("the work of tool {earlier}"))
        }
        Note::SilentWait { id, delay } => line(Normal, LineClock::Request(*id), "engine", "waits", format!("{delay}, without a notice")),
        Note::ToolFailed { run, cause } => {
            line(Debug, LineClock::Request(run.request), &format!("tool {run}"), "fails", cause.as_str().into())
        }
        Note::Defect { id, name, text } => {
            let colon = if text.is_empty() { "" } else { ": " };
            line(Normal, LineClock::Request(*id), "engine", "defect", format!("{name}{colon}{text}"))
        }
    }
}
