//! `[[interrupt]]`, `[[dead]]` and `[[collapse]]` as TOML.

use super::text::{duration, string};
use super::{TomlLines, content, turn_entry};
use crate::engine::contract::StagedSummary;
use crate::engine::time::Micros;
use crate::prelude::*;
use crate::scenario::interrupt::{InterruptKind, InterruptMoment, InterruptTrigger, ReachedState, ScriptedInterrupt, TriggerSide};

/// One of the three, by its kind.
pub(super) fn interrupt_entry(out: &mut TomlLines, interrupt: &ScriptedInterrupt) {
    let ScriptedInterrupt { kind, moment, turns, may } = interrupt;
    out.table(&format!("[[{}]]", kind.section()));
    match kind {
        InterruptKind::Cancel => out.text("kind", "cancel"),
        InterruptKind::Interrupt(said) => {
            out.text("kind", "interrupt");
            content(out, said);
        }
        InterruptKind::Dead(names) => out.texts("names", names),
        InterruptKind::Collapse(staged) => {
            let StagedSummary { from, to, summary } = &**staged;
            for (key, value) in [("from", from), ("to", to), ("summary", summary)] {
                out.text(key, value);
            }
        }
    }
    match moment {
        InterruptMoment::At(at) => out.raw("at", duration(*at)),
        InterruptMoment::When { anchor, agent, side, offset } => {
            let whose = agent.tool_use_id().map(|id| format!(", agent = {}", string(id))).unwrap_or_default();
            out.raw("when", format!("{{ {}{whose} }}", anchor_keys(anchor)));
            match side {
                TriggerSide::Before => out.text("side", "before"),
                TriggerSide::After => (),
            }
            out.span("offset", *offset, Micros::ZERO);
        }
    }
    out.flag("may", *may, false);
    turns.iter().for_each(|turn| turn_entry(out, "interrupt", turn));
}

fn anchor_keys(anchor: &InterruptTrigger) -> String {
    let more = |nth: u32| if nth == 1 { String::new() } else { format!(", nth = {nth}") };
    match anchor {
        InterruptTrigger::Tool { name, state, nth } => {
            let word = ReachedState::ALL.iter().find(|(_, known)| known == state).map_or("", |(word, _)| word);
            format!("tool = {}, state = \"{word}\"{}", string(name), more(*nth))
        }
        InterruptTrigger::Event { name, nth } => format!("event = {}{}", string(name), more(*nth)),
        InterruptTrigger::Request { prompt, request, attempt } => {
            let of = prompt.map(|prompt| format!("prompt = {prompt}, ")).unwrap_or_default();
            let again = if *attempt == 1 { String::new() } else { format!(", attempt = {attempt}") };
            format!("{of}request = {request}{again}")
        }
        InterruptTrigger::Retry { nth } => format!("retry = {nth}"),
        InterruptTrigger::Result { nth } => format!("result = {nth}"),
        InterruptTrigger::Terminal { nth } => format!("terminal = {nth}"),
    }
}
