//! `[plan]` as TOML: a table for each kind of choice (F-11).

use super::text::{duration, name};
use super::{TomlLines, content, seed_number};
use crate::engine::time::Micros;
use crate::prelude::*;
use crate::scenario::interrupt::{InterruptKind, TriggerSide};
use crate::scenario::plan::{AnswerTimes, NamedChoices, Plan, PlannedInterrupt, StreamShape, WaitKind};

/// How many items of a list stand in a line.
const ITEMS_MAX: usize = 12;

/// All of it; nothing for a plan that names nothing.
pub(super) fn plan_section(out: &mut TomlLines, plan: &Plan) {
    let Plan { drawn_from, interrupts, faults, answers, streams, chunks, request_ids, latencies, backoff } = plan;
    if let Some(seed) = drawn_from {
        out.table("[plan]");
        out.raw("drawn_from", seed_number(*seed));
    }
    interrupts.iter().for_each(|interrupt| interrupt_entry(out, interrupt));
    choices(out, "faults", faults, ToString::to_string);
    for (request, times) in answers {
        let AnswerTimes { head, gaps, end } = times;
        out.table(&format!("[plan.answers.{}]", name(request)));
        if let Some(head) = head {
            out.raw("head", duration(*head));
        }
        if !gaps.is_empty() {
            out.raw("gaps", list(gaps, |gap| duration(*gap)));
        }
        if let Some(end) = end {
            out.raw("end", duration(*end));
        }
    }
    for (message, shape) in streams {
        let StreamShape { pieces, padding } = shape;
        out.table(&format!("[plan.streams.{}]", name(message)));
        for (key, numbers) in [("pieces", pieces), ("padding", padding)] {
            if !numbers.is_empty() {
                out.raw(key, list(numbers, ToString::to_string));
            }
        }
    }
    choices(out, "chunks", chunks, |sizes| list(sizes, ToString::to_string));
    choices(out, "request_ids", request_ids, |id| super::string(id));
    for (key, of, _) in WaitKind::ALL {
        if let Some(latencies) = latencies.get(&of) {
            choices(out, key, latencies, |takes: &Micros| duration(*takes));
        }
    }
    choices(out, "backoff", backoff, |delay| duration(*delay));
}

fn interrupt_entry(out: &mut TomlLines, interrupt: &PlannedInterrupt) {
    let PlannedInterrupt { event, side, kind } = interrupt;
    out.table("[[plan.interrupt]]");
    out.raw("event", event);
    match side {
        TriggerSide::Before => out.text("side", "before"),
        TriggerSide::After => out.text("side", "after"),
    }
    match kind {
        InterruptKind::Interrupt(said) => {
            out.text("kind", "interrupt");
            content(out, said);
        }
        _ => out.text("kind", "cancel"),
    }
}

fn choices<T>(out: &mut TomlLines, key: &str, choices: &NamedChoices<T>, value: impl Fn(&T) -> String) {
    if choices.is_empty() {
        return;
    }
    out.table(&format!("[plan.{key}]"));
    for (of, choice) in choices {
        out.raw(&name(of), value(choice));
    }
}

/// A list in one line, or in several when it is long.
fn list<T>(items: &[T], item: impl Fn(&T) -> String) -> String {
    let line = |items: &[T]| items.iter().map(&item).collect::<Vec<_>>().join(", ");
    if items.len() <= ITEMS_MAX {
        return format!("[{}]", line(items));
    }
    let lines: String = items.chunks(ITEMS_MAX).map(|items| format!("  {},\n", line(items))).collect();
    format!("[\n{lines}]")
}
