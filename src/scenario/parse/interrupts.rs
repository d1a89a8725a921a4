//! `[[interrupt]]`: what the user does while work goes on, and when (M-8). `[[dead]]` and `[[collapse]]` happen at such moments, too.

use super::prompts;
use super::reader::{TableReader, known_word};
use super::tree::TreeValueKind;
use super::values::TextList;
use crate::engine::contract::{Agent, StagedSummary};
use crate::engine::time::Micros;
use crate::prelude::*;
use crate::scenario::interrupt::{InterruptKind, InterruptMoment, InterruptTrigger, ReachedState, ScriptedInterrupt, TriggerSide};

/// The events of a stream that the user can wait for.
const EVENTS: [&str; 8] =
    ["message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop", "ping", "error"];

/// What a `when` can be about.
const ANCHORS: [&str; 6] = ["tool", "event", "request", "retry", "result", "terminal"];

/// Reads one interrupt.
pub(super) fn interrupt(reader: &mut TableReader<'_, '_>) -> Option<ScriptedInterrupt> {
    if reader.member("kind").is_none() {
        reader.lacks(&["kind"], "[[interrupt]] needs `kind`: \"cancel\" or \"interrupt\"".into(), None);
    }
    let cancels = reader.choice("kind", &[("cancel", true), ("interrupt", false)]);
    let moment = moment(reader);
    let kind = match cancels {
        Some(true) => {
            says_nothing(reader);
            Some(InterruptKind::Cancel)
        }
        Some(false) => Some(InterruptKind::Interrupt(prompts::content(reader))),
        None => {
            reader.one_of(&["text", "content_json"]);
            None
        }
    };
    let turns = reader.entries("turn", "[[interrupt.turn]]", |reader| Some(prompts::turn(reader)));
    let may = reader.get("may").unwrap_or_default();
    Some(ScriptedInterrupt { kind: kind?, moment: moment?, turns, may })
}

/// `[[dead]]`: messages are marked as dead (C-1).
pub(super) fn dead(reader: &mut TableReader<'_, '_>) -> Option<ScriptedInterrupt> {
    let place = reader.member("names").map(|member| member.value.place);
    let names = reader.required("names").map(|TextList(names)| names);
    if let (Some(names), Some(place)) = (&names, place)
        && names.is_empty()
    {
        let help = "name messages as transcripts do: \"p1\", \"p1.r2.a1\", \"p1.r2.a1.results\"";
        reader.report.value(place, "`names` names no message".into(), Some(help.into()));
    }
    let moment = moment(reader);
    let may = reader.get("may").unwrap_or_default();
    let kind = InterruptKind::Dead(names?.into_iter().map(Arc::from).collect());
    Some(ScriptedInterrupt { kind, moment: moment?, turns: Vec::new(), may })
}

/// `[[collapse]]`: a span was summarised in the background (C-3).
pub(super) fn collapse(reader: &mut TableReader<'_, '_>) -> Option<ScriptedInterrupt> {
    let (from, to, summary) = (reader.required("from"), reader.required("to"), reader.required("summary"));
    let moment = moment(reader);
    let may = reader.get("may").unwrap_or_default();
    let kind = InterruptKind::Collapse(Arc::new(StagedSummary { from: from?, to: to?, summary: summary? }));
    Some(ScriptedInterrupt { kind, moment: moment?, turns: Vec::new(), may })
}

/// Who cancels says nothing and gets no answer.
fn says_nothing(reader: &mut TableReader<'_, '_>) {
    for key in ["text", "content_json", "turn"] {
        if let Some(member) = reader.member(key) {
            let message = format!("who cancels says nothing: remove `{key}`, or make it kind = \"interrupt\"");
            reader.report.value(member.place, message, None);
        }
    }
}

/// `at`, or `when` with `side` and `offset`.
fn moment(reader: &mut TableReader<'_, '_>) -> Option<InterruptMoment> {
    let which = reader.one_of(&["at", "when"]);
    if which.is_none() {
        let help = "write at = \"5s\", or when = { tool = \"Read\", state = \"executing\" }";
        reader.lacks(&["at", "when"], format!("{} needs `at` or `when`", reader.title()), Some(help.into()));
    }
    let at: Option<Micros> = reader.get("at");
    let anchor = reader.section("when", "`when`", |reader| Some((anchor(reader)?, whose(reader)))).flatten();
    let offset: Option<Micros> = reader.get("offset");
    let side = reader.choice("side", &[("before", TriggerSide::Before), ("after", TriggerSide::After)]).unwrap_or_default();
    if which.is_some_and(|member| member.key == "at") {
        for key in ["offset", "side"] {
            if let Some(member) = reader.member(key) {
                reader.report.value(member.place, format!("`{key}` belongs to `when`; with `at` the time is said"), None);
            }
        }
        return at.map(InterruptMoment::At);
    }
    let (anchor, agent) = anchor?;
    if side == TriggerSide::Before {
        check_before(reader, &anchor);
    }
    Some(InterruptMoment::When { anchor, agent, side, offset: offset.unwrap_or_default() })
}

/// `agent = "toolu_1"`: the sub-agent that this tool use made; the root agent otherwise.
fn whose(reader: &mut TableReader<'_, '_>) -> Agent {
    reader.get::<Arc<str>>("agent").map_or(Agent::ROOT, |tool_use| Agent::child(&tool_use))
}

/// Before the engine has seen something there is nothing that it does about it, and no time to wait.
fn check_before(reader: &mut TableReader<'_, '_>, anchor: &InterruptTrigger) {
    if let Some(member) = reader.member("offset") {
        let message = "what comes before its anchor comes in the same instant: remove `offset`".into();
        reader.report.value(member.place, message, None);
    }
    if !anchor.is_an_input()
        && let Some(member) = reader.member("side")
    {
        let help = "\"before\" goes with `event`, and with `tool` whose state is \"completed\"";
        let message = "nothing can come before what the engine itself does".into();
        reader.report.value(member.value.place, message, Some(help.into()));
    }
}

/// `when = { … }`: exactly one anchor.
fn anchor(reader: &mut TableReader<'_, '_>) -> Option<InterruptTrigger> {
    let Some(which) = reader.one_of(&ANCHORS) else {
        let list = ANCHORS.map(|key| format!("`{key}`")).join(", ");
        reader.lacks(&ANCHORS, format!("`when` needs one of {list}"), None);
        return None;
    };
    match which.key.as_str() {
        "tool" => {
            let (name, nth): (Option<Arc<str>>, u32) = (reader.get("tool"), nth(reader));
            if reader.member("state").is_none() {
                reader.lacks(&["state"], "`when` with `tool` needs `state`, e.g. \"executing\"".into(), None);
            }
            let state = reader.choice("state", &ReachedState::ALL);
            Some(InterruptTrigger::Tool { name: name?, state: state?, nth })
        }
        "event" => {
            let nth = nth(reader);
            let name = known_word(&which.value, reader.report, "event", &EVENTS)?;
            Some(InterruptTrigger::Event { name: name.into(), nth })
        }
        "request" => {
            let prompt = reader.get_above_zero("prompt", "prompts are counted from 1");
            let attempt = reader.get_above_zero("attempt", "attempts are counted from 1").unwrap_or(1);
            let request = reader.get_above_zero("request", "requests are counted from 1")?;
            Some(InterruptTrigger::Request { prompt, request, attempt })
        }
        "retry" => Some(InterruptTrigger::Retry { nth: reader.get_above_zero("retry", "retries are counted from 1")? }),
        "result" => Some(InterruptTrigger::Result { nth: reader.get_above_zero("result", "results are counted from 1")? }),
        _ if matches!(which.value.kind, TreeValueKind::Boolean(_)) => {
            reader.mark("terminal").then_some(InterruptTrigger::Terminal { nth: 1 })
        }
        _ => Some(InterruptTrigger::Terminal { nth: reader.get_above_zero("terminal", "terminals are counted from 1")? }),
    }
}

fn nth(reader: &mut TableReader<'_, '_>) -> u32 {
    reader.get_above_zero("nth", "`nth` counts from 1").unwrap_or(1)
}
