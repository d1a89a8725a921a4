//! `[[prompt]]` with its scripted turns, and `[[history]]`.

use core::ops::RangeInclusive;

use super::outcome;
use super::reader::TableReader;
use super::report::DiagnosticReport;
use super::tree::{TreeMember, TreeValueKind};
use super::values::{BlocksText, FromValue};
use crate::engine::time::Micros;
use crate::prelude::*;
use crate::scenario::tape::Provenance;
use crate::scenario::types::{AgentScript, ScriptedOutcome, ScriptedPrompt, ScriptedTurn, ToolUseSlip, TurnBlock};
use crate::wire::block::{Block, Message, Role};
use crate::wire::http;

/// The times of prompts, of which each comes when the one before it is over.
pub(super) fn check_order(reader: &mut TableReader<'_, '_>, prompts: &[ScriptedPrompt]) {
    let times: Vec<Micros> = prompts.iter().filter_map(|prompt| prompt.at).collect();
    let Some(wrong) = times.windows(2).find(|times| times[1] < times[0]) else { return };
    let place = reader.member("prompt").map_or(reader.place, |member| member.place);
    let message = format!("a [[prompt]] with at = \"{}\" stands behind one with at = \"{}\": sort them by time", wrong[1], wrong[0]);
    reader.report.value(place, message, None);
}

/// `[[prompt]]`; with a tape, turns would never be used.
pub(super) fn prompt(reader: &mut TableReader<'_, '_>, tape: Option<&TreeMember>) -> ScriptedPrompt {
    let content = content(reader);
    let at = reader.get("at");
    if let (Some(_), Some(turns)) = (tape, reader.member("turn")) {
        let message = "turns are not used when answers come from a `tape`; remove one of the two".into();
        reader.report.value(turns.place, message, None);
    }
    let turns = reader.entries("turn", "[[prompt.turn]]", |reader| Some(turn(reader)));
    ScriptedPrompt { content, at, turns }
}

/// Who may speak.
pub(super) const ROLES: [(&str, Role); 3] = [("user", Role::User), ("assistant", Role::Assistant), ("system", Role::System)];

/// `[[history]]`: a message that was said before the first prompt.
pub(super) fn message(reader: &mut TableReader<'_, '_>) -> Option<Arc<Message>> {
    if reader.member("role").is_none() {
        reader.lacks(&["role"], "[[history]] needs `role`: \"user\", \"assistant\" or \"system\"".into(), None);
    }
    let role = reader.choice("role", &ROLES);
    let content = content(reader);
    Some(Arc::new(Message { role: role?, content }))
}

/// `text`, or `content_json` with blocks.
pub(super) fn content(reader: &mut TableReader<'_, '_>) -> Vec<Block> {
    if reader.one_of(&["text", "content_json"]).is_none() {
        let message = format!("{} needs `text` or `content_json`", reader.title());
        reader.lacks(&["text", "content_json"], message, None);
    }
    let text: Option<Arc<str>> = reader.get("text");
    let blocks = reader.get("content_json").map(|BlocksText(blocks)| blocks);
    text.map(|text| vec![Block::text(&text)]).or(blocks).unwrap_or_default()
}

/// `[[prompt.turn]]`, `[[interrupt.turn]]`: one scripted answer.
pub(super) fn turn(reader: &mut TableReader<'_, '_>) -> ScriptedTurn {
    let mut turn = ScriptedTurn { content: turn_content(reader), ..ScriptedTurn::default() };
    reader.set_some("stop_reason", &mut turn.stop_reason);
    if let Some(status) = reader.get::<u32>("status") {
        turn.status = http_status(reader, status).unwrap_or(turn.status);
    }
    reader.set_some("body", &mut turn.body);
    turn.headers = headers(reader);
    turn.input_tokens = tokens(reader, "input_tokens");
    turn.output_tokens = tokens(reader, "output_tokens");
    turn.cleared_tokens = tokens(reader, "cleared_tokens");
    let origins = [("recorded", Provenance::Recorded), ("derived", Provenance::Derived), ("written", Provenance::Written)];
    turn.provenance = reader.choice("provenance", &origins).unwrap_or(Provenance::Written);
    reader.set("may", &mut turn.may);
    turn
}

/// A count of tokens. What more of them cost could not be added up.
fn tokens(reader: &mut TableReader<'_, '_>, key: &'static str) -> Option<u64> {
    let place = reader.member(key)?.value.place;
    let tokens: u64 = reader.get(key)?;
    if tokens > TOKENS_MAX {
        reader.report.value(place, format!("no answer has so many tokens; write {TOKENS_MAX} at most"), None);
    }
    Some(tokens)
}

/// More than any model has read or written at once.
const TOKENS_MAX: u64 = 1_000_000_000_000;

/// The statuses that an answer can have. One from 100 to 199 is no answer: another one follows it.
pub(super) const ANSWER_STATUSES: RangeInclusive<u16> = 200..=599;

/// A literal body or a failure has no content beside it: only one of the two can be sent.
fn http_status(reader: &mut TableReader<'_, '_>, status: u32) -> Option<u16> {
    let place = reader.member("status")?.value.place;
    let known = u16::try_from(status).ok().filter(|status| ANSWER_STATUSES.contains(status));
    if known.is_none() {
        reader.report.value(place, format!("expected an HTTP status from 200 to 599, found {status}"), None);
    } else if status != 200 && has_content(reader).is_some() {
        let message = format!("an answer with status {status} has no content; give its `body` or nothing");
        reader.report.value(place, message, None);
    }
    known
}

const CONTENT_KEYS: [&str; 4] = ["content", "thinking", "text", "tool"];

fn has_content(reader: &mut TableReader<'_, '_>) -> Option<()> {
    CONTENT_KEYS.iter().find_map(|key| reader.member(key)).map(|_| ())
}

/// What a turn is made of: `content` in any order, or the short form, thinking before text before tools.
fn turn_content(reader: &mut TableReader<'_, '_>) -> Vec<TurnBlock> {
    if has_content(reader).is_some()
        && let Some(body) = reader.member("body")
    {
        let message = "`body` is the literal answer and cannot stand beside content; keep one of them".into();
        reader.report.value(body.place, message, None);
    }
    for key in ["thinking", "text", "tool"] {
        reader.one_of(&["content", key]);
    }
    let mut blocks = reader.entries("content", "an entry of `content`", turn_block);
    blocks.extend(reader.get("thinking").map(TurnBlock::Thinking));
    blocks.extend(reader.get("text").map(TurnBlock::Text));
    blocks.extend(reader.entries("tool", "a tool use", |reader| tool_use(reader)));
    blocks
}

/// An entry of `content`: exactly one of `text`, `thinking` and `tool`.
fn turn_block(reader: &mut TableReader<'_, '_>) -> Option<TurnBlock> {
    if reader.one_of(&["text", "thinking", "tool"]).is_none() {
        reader.lacks(&["text", "thinking", "tool"], "an entry of `content` needs `text`, `thinking` or `tool`".into(), None);
    }
    let thinking = reader.get("thinking").map(TurnBlock::Thinking);
    let text = reader.get("text").map(TurnBlock::Text);
    thinking.or(text).or_else(|| reader.section("tool", "a tool use", tool_use).flatten())
}

/// A scripted tool use with what comes of it.
fn tool_use(reader: &mut TableReader<'_, '_>) -> Option<TurnBlock> {
    let name = reader.required("name");
    let input: Option<Arc<str>> = match reader.member("input") {
        None => Some("{}".into()),
        Some(member) => match &member.value.kind {
            // As written: what the model sends need not be JSON.
            TreeValueKind::Text(text) => Some(text.as_str().into()),
            TreeValueKind::Table(_) => member.value.to_json(reader.report).map(|json| json.as_str().into()),
            TreeValueKind::StandIn => None,
            _ => {
                reader.report.mismatch(&member.value, "a table, or text with what the model writes");
                None
            }
        },
    };
    let id = reader.get("id");
    let outcome = with_agents(outcome::outcome_with_latency(reader), agents(reader));
    let slip = slip(reader);
    Some(TurnBlock::Tool { name: name?, input: input?, id, outcome: outcome.map(Box::new), slip })
}

/// `unknown = true` or `invalid = true`: what the model gets wrong here on purpose. Who names no tool is asked for no input.
fn slip(reader: &mut TableReader<'_, '_>) -> Option<ToolUseSlip> {
    reader.one_of(&["unknown", "invalid"]);
    let (unknown, invalid) = (reader.mark("unknown"), reader.mark("invalid"));
    unknown.then_some(ToolUseSlip::UnknownTool).or(invalid.then_some(ToolUseSlip::InvalidInput))
}

/// `agent = [{ turn = […] }, …]` and `synthesis`: what the agents are answered that the tool use makes (B-8).
fn agents(reader: &mut TableReader<'_, '_>) -> AgentScript {
    let tasks = reader
        .entries("agent", "an entry of `agent`", |reader| Some(reader.entries("turn", "an agent's turn", |reader| Some(turn(reader)))));
    // The agents' answers make the result.
    for key in ["result", "result_json", "structured", "hangs", "panics", "latency"] {
        reader.one_of(&["agent", key]);
    }
    let synthesis = reader.section("synthesis", "`synthesis`", turn);
    if let (Some(member), true) = (reader.member("agent"), tasks.iter().flatten().chain(&synthesis).any(makes_agents)) {
        let message = "an agent makes no agents, so a tool use of its own has no `agent`: remove that".into();
        reader.report.value(member.place, message, None);
    }
    if let (Some(member), true) = (reader.member("synthesis"), tasks.len() < 2) {
        reader.report.value(
            member.place,
            "`synthesis` puts several results together: it needs two entries of `agent` or more".into(),
            None,
        );
    }
    AgentScript { tasks, synthesis }
}

fn makes_agents(turn: &ScriptedTurn) -> bool {
    let has_agents =
        |block: &TurnBlock| matches!(block, TurnBlock::Tool { outcome: Some(outcome), .. } if outcome.agents != AgentScript::default());
    turn.content.iter().any(has_agents)
}

fn with_agents(outcome: Option<ScriptedOutcome>, agents: AgentScript) -> Option<ScriptedOutcome> {
    if agents == AgentScript::default() {
        return outcome;
    }
    Some(ScriptedOutcome { agents, ..outcome.unwrap_or_default() })
}

/// `headers`: names with their text, in the order in which they were written.
pub(super) fn headers(reader: &mut TableReader<'_, '_>) -> Vec<(String, String)> {
    let Some(member) = reader.member("headers") else { return Vec::new() };
    match &member.value.kind {
        TreeValueKind::Table(table) => table.members.iter().filter_map(|member| header(reader.report, member)).collect(),
        TreeValueKind::StandIn => Vec::new(),
        _ => {
            reader.report.mismatch(&member.value, "a table of names with text");
            Vec::new()
        }
    }
}

/// A header that a server can send. Those of the connection are written by whoever writes to it, so they cannot be chosen.
fn header(report: &mut DiagnosticReport, member: &TreeMember) -> Option<(String, String)> {
    let text = String::from_value(&member.value, report)?;
    let is_name =
        !member.key.is_empty() && member.key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte));
    let problem = if !is_name {
        "this is no name of a header: letters, digits and `-` are"
    } else if text.chars().any(char::is_control) {
        "a header's text has no line breaks and no other control characters"
    } else if http::is_of_connection(&member.key) {
        "this header belongs to the connection, and the server writes it; leave it out"
    } else {
        return Some((member.key.clone(), text));
    };
    report.value(member.place, problem.into(), None);
    None
}
