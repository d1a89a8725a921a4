//! A recorded session, run on the virtual clock with the tools of today: those that only read work in a copy of a directory, and their results are held
//! against the recorded ones.
//!
//! ```text
//!   sim::Run ── a tool begins ──> reads? or writes are wanted? ──> tool host, in the copy ──> today's result ──┐
//!      ^                                 └── no: what is recorded                                              │
//!      └────────── comes when the recorded one would come ─────────────────────────────────────────────────────┘
//! ```

use reenact_engine::contract::{Engine, ToolOutcome};
use reenact_engine::permission::rule::argument;
use reenact_sim::Run;
use reenact_sim::outside_tools::ToolStart;
use reenact_sim::report::RunReport;
use reenact_tool_host::ToolHost;
use reenact_tools::BuiltinTool;
use reenact_tools::outcome::text_of;
use reenact_wire::json::Json;
use reenact_wire::prelude::*;
use serde_json::Value;

use crate::client_form::ClientForm;

/// Where the tools of today work.
#[derive(Debug)]
pub struct WorkspaceRun {
    /// The host that carries them out, in a copy.
    pub host: ToolHost,
    /// The folder of the recorded session, which the copy stands for.
    pub recorded_folder: String,
    /// Whether tools that write are run, too.
    pub runs_writes: bool,
}

/// A tool of the run, with its result of today.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedTool {
    /// The name of the tool run in the transcript.
    pub name: String,
    /// The tool use, in a few words: `Read /w/a.rs`.
    pub about: String,
    /// The comparison.
    pub result: ToolComparison,
}

/// A result of today beside the recorded one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolComparison {
    /// They say the same.
    Same,
    /// They do not.
    Different {
        /// The recorded text.
        recorded: String,
        /// The text of today.
        today: String,
    },
    /// Nothing is recorded for it: the one of today is used.
    Unrecorded,
    /// The recorded one is used, because the tool writes.
    Writes,
    /// The recorded one is used, because the tool is carried out elsewhere.
    Elsewhere,
}

/// Runs a session with the tools of today, to its end. It is to be called in a runtime of tokio.
pub async fn run_in_workspace<E: Engine>(run: Run<E>, mut workspace: WorkspaceRun) -> (RunReport<E>, Vec<ComparedTool>) {
    let mut run = run.with_tool_start_notices();
    let mut compared = Vec::new();
    loop {
        let end = run.advance();
        for start in run.take_tool_starts() {
            let (result, outcome) = workspace.carry_out(&start).await;
            if let Some(outcome) = outcome {
                run.set_tool_outcome(&start, outcome);
            }
            compared.push(ComparedTool { name: shown_name(&start), about: about(&start), result });
        }
        if let Some(end) = end {
            return (run.into_report(end), compared);
        }
    }
}

impl WorkspaceRun {
    /// Runs a tool, if it is one to run: the comparison, and the result that takes the place of the recorded one.
    async fn carry_out(&mut self, start: &ToolStart) -> (ToolComparison, Option<ToolOutcome>) {
        let input = Json::trusted(start.tool_use.input.as_str());
        if matches!(start.tool, BuiltinTool::Agent | BuiltinTool::WebFetch | BuiltinTool::BashOutput | BuiltinTool::TodoWrite) {
            return (ToolComparison::Elsewhere, None);
        }
        if !self.runs_writes && !start.tool.is_read_only(&input) {
            return (ToolComparison::Writes, None);
        }
        let copy = self.host.directory().to_owned();
        let input = with_folder(&input, &self.recorded_folder, &copy);
        let outcome = self.host.call((start.tool, &input), false, core::future::pending(), |_, _: &str| ()).await;
        let content = with_folder(&outcome.content, &copy, &self.recorded_folder);
        // How long a tool takes today is no part of a run on the virtual clock.
        let outcome = ToolOutcome { content, structured: None, ..outcome };
        let Some(recorded) = &start.scripted else { return (ToolComparison::Unrecorded, Some(outcome)) };
        let form = ClientForm { tool: start.tool, folder: &self.recorded_folder };
        let is_same = recorded.is_error == outcome.is_error
            && match (whole_text(&recorded.content), whole_text(&outcome.content)) {
                (Some(recorded), Some(today)) => form.is_same(&recorded, &today),
                // Images and documents have no other form.
                _ => recorded.content.to_value() == outcome.content.to_value(),
            };
        let result = match is_same {
            true => ToolComparison::Same,
            false => ToolComparison::Different { recorded: shown_outcome(recorded), today: shown_outcome(&outcome) },
        };
        (result, Some(outcome))
    }
}

/// The text of a result, if it has nothing but text.
fn whole_text(content: &Json) -> Option<String> {
    match content.to_value() {
        Value::String(text) => Some(text),
        Value::Array(blocks) => {
            let texts: Option<Vec<&str>> = blocks.iter().map(|block| block["text"].as_str().filter(|_| block["type"] == "text")).collect();
            texts.map(|texts| texts.join("\n"))
        }
        _ => None,
    }
}

fn shown_outcome(outcome: &ToolOutcome) -> String {
    format!("{}{}", if outcome.is_error { "error: " } else { "" }, text_of(outcome))
}

/// `1A`, and of an agent with its tool use: `toolu_1/1A`.
fn shown_name(start: &ToolStart) -> String {
    start.agent.tool_use_id().map_or_else(|| start.run.to_string(), |agent| format!("{agent}/{}", start.run))
}

/// The tool and the first text of its input.
fn about(start: &ToolStart) -> String {
    let input = Json::trusted(start.tool_use.input.as_str());
    let pattern = input.to_value()["pattern"].as_str().map(str::to_owned);
    let argument = pattern.or_else(|| argument(&input)).unwrap_or_default();
    let line = argument.lines().next().unwrap_or_default();
    let short: String = line.chars().take(ABOUT_CHARACTERS).collect();
    format!("{} {short}", start.tool_use.name)
}

/// So much of an input is shown.
const ABOUT_CHARACTERS: usize = 80;

/// The same with another folder in place of this one, in each text.
fn with_folder(json: &Json, from: &str, to: &str) -> Json {
    let mut value = json.to_value();
    replace_folder(&mut value, from, to);
    Json::from_value(&value)
}

fn replace_folder(value: &mut Value, from: &str, to: &str) {
    match value {
        Value::String(text) => *text = text_with_folder(text, from, to),
        Value::Array(items) => items.iter_mut().for_each(|item| replace_folder(item, from, to)),
        Value::Object(members) => members.values_mut().for_each(|member| replace_folder(member, from, to)),
        _ => (),
    }
}

/// A folder is a whole path: behind it stands a slash, or something that no name has.
fn text_with_folder(text: &str, from: &str, to: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(from) {
        let (before, found) = rest.split_at(at);
        let behind = &found[from.len()..];
        let goes_on = behind.starts_with(|c: char| c.is_alphanumeric() || "._-".contains(c));
        let begins_before = before.ends_with(|c: char| c.is_alphanumeric() || "._-/".contains(c));
        out.push_str(before);
        out.push_str(if goes_on || begins_before { from } else { to });
        rest = behind;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b_1_only_a_result_of_texts_is_compared_as_a_text() {
        let of = |content: &str| whole_text(&Json::trusted(content));
        assert_eq!(of(r#""a""#).as_deref(), Some("a"));
        assert_eq!(of(r#"[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#).as_deref(), Some("a\nb"));
        assert_eq!(of(r#"[{"type":"text","text":"a"},{"type":"image","source":{"data":"x"}}]"#), None);
        assert_eq!(of(r#"[{"type":"image","source":{"data":"x"}}]"#), None);
    }

    #[test]
    fn b_1_a_folder_is_replaced_as_a_whole_path() {
        let of = |text: &str| text_with_folder(text, "/w/a", "/copy");
        assert_eq!(of("/w/a/b.txt and /w/a, \"/w/a\" /w/ab /w/a.txt /x/w/a/b"), "/copy/b.txt and /copy, \"/copy\" /w/ab /w/a.txt /x/w/a/b");
        let json = Json::trusted(r#"{"a":["/w/a/x",{"b":"/w/a"}],"n":1}"#);
        assert_eq!(with_folder(&json, "/w/a", "/c").as_str(), r#"{"a":["/c/x",{"b":"/c"}],"n":1}"#);
    }
}
