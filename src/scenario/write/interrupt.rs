//! `[[interrupt]]`, `[[dead]]` and `[[collapse]]` as TOML.

use super::text::{duration, string};
use super::{Out, content, turn_entry};
use crate::engine::contract::Staged;
use crate::engine::time::Micros;
use crate::prelude::*;
use crate::scenario::interrupt::{Anchor, Interrupt, InterruptKind, Moment, ReachedState, Side};

/// One of the three, by its kind.
pub(super) fn interrupt_entry(out: &mut Out, interrupt: &Interrupt) {
    let Interrupt { kind, moment, turns, may } = interrupt;
    out.table(&format!("[[{}]]", kind.section()));
    match kind {
        InterruptKind::Cancel => out.text("kind", "cancel"),
        InterruptKind::Interrupt(said) => {
            out.text("kind", "interrupt");
            content(out, said);
        }
        InterruptKind::Dead(names) => out.texts("names", names),
        InterruptKind::Collapse(staged) => {
            let Staged { from, to, summary } = &**staged;
            for (key, value) in [("from", from), ("to", to), ("summary", summary)] {
                out.text(key, value);
            }
        }
    }
    match moment {
        Moment::At(at) => out.raw("at", duration(*at)),
        Moment::When { anchor, agent, side, offset } => {
            let whose = agent.tool_use_id().map(|id| format!(", agent = {}", string(id))).unwrap_or_default();
            out.raw("when", format!("{{ {}{whose} }}", anchor_keys(anchor)));
            match side {
                Side::Before => out.text("side", "before"),
                Side::After => (),
            }
            out.span("offset", *offset, Micros::ZERO);
        }
    }
    out.flag("may", *may, false);
    turns.iter().for_each(|turn| turn_entry(out, "interrupt", turn));
}

fn anchor_keys(anchor: &Anchor) -> String {
    let more = |nth: u32| if nth == 1 { String::new() } else { format!(", nth = {nth}") };
    match anchor {
        Anchor::Tool { name, state, nth } => {
            let word = ReachedState::ALL.iter().find(|(_, known)| known == state).map_or("", |(word, _)| word);
            format!("tool = {}, state = \"{word}\"{}", string(name), more(*nth))
        }
        Anchor::Event { name, nth } => format!("event = {}{}", string(name), more(*nth)),
        Anchor::Request { prompt, request, attempt } => {
            let of = prompt.map(|prompt| format!("prompt = {prompt}, ")).unwrap_or_default();
            let again = if *attempt == 1 { String::new() } else { format!(", attempt = {attempt}") };
            format!("{of}request = {request}{again}")
        }
        Anchor::Retry { nth } => format!("retry = {nth}"),
        Anchor::Result { nth } => format!("result = {nth}"),
        Anchor::Terminal { nth } => format!("terminal = {nth}"),
    }
}
