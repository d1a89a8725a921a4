//! `[expect]` held against what happened, for runs of all drivers (F-10).
//!
//! ```text
//!   requests, delays, texts that were sent      of every run: simulated, on a network, of a client
//!   terminals, transitions, tools, messages     of an engine's run, whose effects are seen
//! ```

#[doc(hidden)]
pub mod delays;
#[doc(hidden)]
pub mod requests;

use delays::DelayTolerance;

use reenact_engine::contract::{Effect, Input, Terminal};
use reenact_engine::emission::{Emission, Note};
use reenact_engine::time::Micros;
use reenact_scenario::types::Expectations;
use reenact_tools::Workspace as _;
use reenact_tools::virtual_workspace::VirtualWorkspace;
use reenact_tools::workspace::{normal_path, whole_content};
use reenact_transcript::event::{EventKind, RunEnd, Transcript};
use reenact_transcript::text::{self, DetailLevel};
use reenact_wire::prelude::*;

/// A run of an engine, as expectations see it.
pub(super) struct EngineRun<'a> {
    pub(super) transcript: &'a Transcript,
    /// The word for its end.
    pub(super) terminal: &'a str,
    /// The terminal of each prompt that ended, in order.
    pub(super) terminals: &'a [Terminal],
    /// How the run itself ended.
    pub(super) end: &'a RunEnd,
    /// The files at the end.
    pub(super) files: Option<&'a VirtualWorkspace>,
}

impl EngineRun<'_> {
    /// Everything that is not as expected, a sentence each.
    pub(super) fn failures(&self, expect: &Expectations, tolerance: DelayTolerance) -> Vec<String> {
        let mut failures = Vec::new();
        let mut equal = |what: &str, wanted: Option<String>, got: String| failures.extend(difference(what, wanted, &got));
        let terminal = match self.end {
            RunEnd::Idle => self.terminal.to_string(),
            end => format!("none: the run ended with {}", end.as_str()),
        };
        let is_own_end = *self.end != RunEnd::Idle && expect.terminal.as_deref() == Some(self.end.as_str());
        equal("terminal", expect.terminal.clone().filter(|_| !is_own_end), terminal);
        let terminals: Vec<String> = self.terminals.iter().map(|terminal| terminal.as_str().to_string()).collect();
        equal("terminals", expect.terminals.as_ref().map(|names| requests::list(names)), requests::list(&terminals));
        equal("transitions", expect.transitions.as_ref().map(|names| requests::list(names)), requests::list(&self.transitions()));
        equal("tools", expect.tools.as_ref().map(|names| requests::list(names)), requests::list(&self.started_tools()));
        equal("result", expect.result.clone(), self.result_subtype().unwrap_or_else(|| String::from("none")));
        failures.extend(text_failures("message", (&expect.text_present, &expect.text_absent), || self.emitted_text()));
        failures.extend(requests::asked_failures(self.transcript, expect, Some(tolerance)));
        failures.extend(order_failure(self.transcript, expect, tolerance));
        self.check_times(expect, tolerance, &mut failures);
        self.check_files(expect, &mut failures);
        failures
    }

    fn check_files(&self, expect: &Expectations, failures: &mut Vec<String>) {
        if expect.files.is_empty() && expect.absent.is_empty() {
            return;
        }
        let Some(files) = self.files else { return failures.push(String::from("expected files at the end, the run has no [workspace]")) };
        let whole_path = |path: &str| normal_path(files.working_directory(), path);
        let content = |path: &str| whole_content(files, &whole_path(path), usize::MAX).ok();
        for (path, wanted) in &expect.files {
            match content(path) {
                None => failures.push(format!("expected the file `{path}` at the end, there is no such file")),
                Some(content) if content == wanted.as_bytes() => (),
                Some(content) => failures
                    .push(format!("expected the file `{path}` to be {wanted:?} at the end, it is {:?}", String::from_utf8_lossy(&content))),
            }
        }
        let found = expect.absent.iter().filter(|path| files.facts(&whole_path(path)).is_ok());
        failures.extend(found.map(|path| format!("expected no file or folder `{path}` at the end, it is there")));
    }

    fn check_times(&self, expect: &Expectations, tolerance: DelayTolerance, failures: &mut Vec<String>) {
        // What the user does when all is over belongs to no run.
        let is_late = |what: &EventKind| match what {
            EventKind::Input(Input::Cancel | Input::MarkedDead { .. } | Input::CollapseStaged(_)) | EventKind::Unused { .. } => true,
            EventKind::Ended { end } => *end == RunEnd::Idle,
            _ => false,
        };
        let end = self.transcript.events.iter().rfind(|event| !is_late(&event.what)).map(|event| event.at.0).unwrap_or_default();
        let passes = |bound: Micros| tolerance.around((bound, bound));
        if let Some(bound) = expect.ends_after.filter(|bound| end < passes(*bound).0.0) {
            failures.push(format!("expected the run to end at or after {bound}, it ended at {}", Micros(end)));
        }
        if let Some(bound) = expect.ends_before.filter(|bound| end > passes(*bound).1.0) {
            failures.push(format!("expected the run to end at or before {bound}, it ended at {}", Micros(end)));
        }
    }

    fn transitions(&self) -> Vec<String> {
        let name = |what: &EventKind| match what {
            EventKind::Effect(Effect::Note(Note::Transition(transition))) => Some(transition.as_str().to_string()),
            _ => None,
        };
        self.transcript.kinds().filter_map(name).collect()
    }

    /// The tools that start, by name, in the order in which they start.
    fn started_tools(&self) -> Vec<String> {
        let name = |what: &EventKind| match what {
            EventKind::Effect(Effect::StartTool { tool_use, .. }) => Some(tool_use.name.to_string()),
            _ => None,
        };
        self.transcript.kinds().filter_map(name).collect()
    }

    fn result_subtype(&self) -> Option<String> {
        let subtype = |what: &EventKind| match what {
            EventKind::Effect(Effect::Emit(Emission::Result(result))) => Some(result.subtype.as_str().to_string()),
            _ => None,
        };
        self.transcript.kinds().filter_map(subtype).last()
    }

    fn emitted_text(&self) -> Vec<String> {
        let text = |what: &EventKind| match what {
            EventKind::Effect(Effect::Emit(emission)) => words(emission),
            _ => None,
        };
        self.transcript.kinds().filter_map(text).collect()
    }
}

/// The words of a message for consumers: those of the model, of tools, of the user, of hooks, of commands and of the engine itself. Stream events are the
/// same once more, in pieces, and notices (of retries, limits, boundaries and the end) have keys of their own.
fn words(emission: &Emission) -> Option<String> {
    Some(match emission {
        Emission::Assistant(message) | Emission::Aborted(message) => plain(message.block.json().as_str()),
        Emission::User(message) => plain(message.block.json().as_str()),
        Emission::UserPrompt { content, .. } | Emission::QueuedCommand { content, .. } => {
            content.iter().map(|block| plain(block.json().as_str())).collect()
        }
        Emission::Progress { text, .. }
        | Emission::Interrupted { text, .. }
        | Emission::Hidden { text, .. }
        | Emission::HookContext { text, .. }
        | Emission::LocalOutput { text, .. }
        | Emission::ToolUseSummary { text, .. }
        | Emission::Warning { text } => text.to_string(),
        _ => return None,
    })
}

/// The sentence about something that is not as it is wanted.
fn difference(what: &str, wanted: Option<String>, got: &str) -> Option<String> {
    wanted.filter(|wanted| wanted != got).map(|wanted| format!("expected {what} {wanted}, got {got}"))
}

/// The texts that are in none of `what` and should be, and those that are and should not. They are put together only if some are asked for.
fn text_failures(what: &str, (present, absent): (&[String], &[String]), texts: impl FnOnce() -> Vec<String>) -> Vec<String> {
    if present.is_empty() && absent.is_empty() {
        return Vec::new();
    }
    let texts = texts();
    let is_there = |wanted: &&String| texts.iter().any(|text| text.contains(*wanted));
    let missing = present.iter().filter(|wanted| !is_there(wanted));
    let missing = missing.map(|wanted| format!("expected some {what} to hold {wanted:?}, none does"));
    let found = absent.iter().filter(is_there).map(|wanted| format!("expected no {what} to hold {wanted:?}, one does"));
    missing.chain(found).collect()
}

/// The first line that is wanted and is not there. Where times are not exact they are left out of what is wanted, and of the lines (M-11).
#[doc(hidden)]
pub fn order_failure(transcript: &Transcript, expect: &Expectations, tolerance: DelayTolerance) -> Option<String> {
    if expect.order.is_empty() {
        return None; // rendering costs more than the run
    }
    let is_exact = tolerance == DelayTolerance::NONE;
    let render = if is_exact { text::render } else { text::render_untimed };
    let as_shown = |wanted: &str| if is_exact { wanted.to_string() } else { text::untimed(wanted) };
    let rendered = render(transcript, DetailLevel::Debug);
    let mut lines = rendered.lines();
    let mut is_there = |wanted: &&String| lines.any(|line| joined_words(line).contains(&joined_words(&as_shown(wanted))));
    let missing = expect.order.iter().find(|wanted| !is_there(wanted))?;
    Some(format!("`order` expects a transcript line with {missing:?} here; no line after those before it has this text"))
}

/// The strings of a block, unescaped, one after another: what a person would search in.
fn plain(json: &str) -> String {
    fn collect(value: &serde_json::Value, out: &mut String) {
        match value {
            serde_json::Value::String(text) => {
                out.push_str(text);
                out.push('\n');
            }
            serde_json::Value::Array(items) => items.iter().for_each(|item| collect(item, out)),
            serde_json::Value::Object(members) => {
                members.iter().filter(|(name, _)| *name != "type").for_each(|(_, member)| collect(member, out));
            }
            _ => (),
        }
    }
    let mut out = String::new();
    collect(&serde_json::from_str(json).unwrap_or_default(), &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_engine::contract::{RequestId, ToolRun};
    use reenact_engine::emission::AssistantMessage;
    use reenact_wire::block::Block;

    #[test]
    fn f_10_expected_texts_are_looked_for_in_all_that_is_said_to_consumers() {
        let text = || Arc::<str>::from("made");
        let run = ToolRun { request: RequestId::first(1), index: 0 };
        let id = RequestId::first(1);
        let message =
            AssistantMessage { uuid: "u".into(), id, api_id: "a".into(), model: "m".into(), block: Block::text("made"), error: None };
        let content: Arc<[Block]> = [Block::text("made")].into();
        let said = [
            Emission::Progress { run, tool_use_id: "t".into(), text: text(), kind: None, details: None },
            Emission::Aborted(Arc::new(message)),
            Emission::UserPrompt { prompt: 1, content: content.clone() },
            Emission::QueuedCommand { prompt: 1, content },
            Emission::Interrupted { prompt: 1, text: text() },
            Emission::Hidden { uuid: "u".into(), why: "w".into(), text: text() },
            Emission::LocalOutput { prompt: 1, text: text() },
            Emission::ToolUseSummary { text: text(), tool_use_ids: Vec::new() },
            Emission::Warning { text: text() },
        ];
        for emission in said {
            assert_eq!(words(&emission).as_deref().map(str::trim_end), Some("made"), "{emission:?}");
        }
        assert_eq!(words(&Emission::Status { status: text() }), None, "a notice has a key of its own");
    }
}
