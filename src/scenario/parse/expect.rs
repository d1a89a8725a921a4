//! `[expect]`: what must hold at the end (F-10).
//!
//! Words are checked here against all that an engine of any kind may say, because a misspelt expectation would otherwise only fail when
//! the run has ended, and look like a fault of the engine.

use super::reader::{TableReader, known_word};
use super::tree::TreeValueKind;
use super::values::{FigureRange, TextList};
use crate::engine::contract::Terminal;
use crate::engine::emission::Transition;
use crate::engine::time::Micros;
use crate::prelude::*;
use crate::scenario::types::{Expectations, Scenario};

/// The run's own ends (M-3, M-9), which may stand where a terminal does.
const RUN_ENDS: [&str; 3] = ["tape_exhausted", "stalled", "limit_reached"];

/// Subtypes of the result message (S-8 to S-10).
const RESULTS: [&str; 5] =
    ["success", "error_during_execution", "error_max_turns", "error_max_budget_usd", "error_max_structured_output_retries"];

/// Rules that one run can break by itself: those of the oracles (`oracle::ORACLES`), but for the one that compares two runs.
pub(crate) const BREAKABLE: [&str; 16] =
    ["O-1", "O-2", "O-3", "O-5", "O-6", "O-7", "O-8", "O-9", "O-10", "O-11", "O-12", "O-13", "O-14", "O-17", "O-27", "O-30"];

/// Reads what is expected.
pub(super) fn expect(reader: &mut TableReader<'_, '_>) -> Expectations {
    let terminals = [&Terminal::WORDS[..], &RUN_ENDS].concat();
    let expect = Expectations {
        terminal: word(reader, "terminal", &terminals),
        terminals: words(reader, "terminals", "terminal", &terminals),
        transitions: words(reader, "transitions", "transition", &Transition::ALL.map(Transition::as_str)),
        requests: reader.get("requests"),
        delays: reader
            .get("delays")
            .map(|delays: Vec<FigureRange>| delays.into_iter().map(|FigureRange(least, most)| (least, most)).collect()),
        refusals: reader.get("refusals"),
        breaks: words(reader, "breaks", "rule", &BREAKABLE).unwrap_or_default(),
        models: reader.get("models"),
        result: word(reader, "result", &RESULTS),
        text_present: texts(reader, "text_present"),
        text_absent: texts(reader, "text_absent"),
        sent: texts(reader, "sent"),
        not_sent: texts(reader, "not_sent"),
        order: reader.get("order").unwrap_or_default(),
        ends_after: reader.get("ends_after"),
        ends_before: reader.get("ends_before"),
        may: reader.get("may").unwrap_or_default(),
    };
    if let (Some(after), Some(before), Some(member)) = (expect.ends_after, expect.ends_before, reader.member("ends_before"))
        && after > before
    {
        reader.report.value(member.value.place, "no run can end before `ends_before` and after `ends_after`".into(), None);
    }
    if let (Some(Micros::ZERO), Some(member)) = (expect.ends_after, reader.member("ends_after")) {
        reader.report.value(member.value.place, "every run ends at or after 0s, so that nothing is asked here".into(), None);
    }
    for key in ["text_present", "text_absent", "sent", "not_sent", "order"] {
        let Some(value) = reader.member(key).map(|member| &member.value) else { continue };
        let items = if let TreeValueKind::List(items) = &value.kind { &items[..] } else { core::slice::from_ref(value) };
        for item in items.iter().filter(|item| matches!(&item.kind, TreeValueKind::Text(text) if text.trim().is_empty())) {
            reader.report.value(item.place, format!("an empty text is in everything: name what `{key}` is about"), None);
        }
    }
    expect
}

/// A run is stopped at its limit, so that no later bound can be broken.
pub(super) fn check_bound(reader: &mut TableReader<'_, '_>, scenario: &Scenario) {
    let limit = scenario.limits.time;
    if let (Some(bound), Some(member)) = (scenario.expect.ends_before.filter(|bound| *bound >= limit), reader.member("expect")) {
        let message = format!("`ends_before` is {bound}, and a run is stopped at {limit} (`time` in [limits]), so that nothing is asked");
        reader.report.value(member.place, message, None);
    }
}

fn word(reader: &mut TableReader<'_, '_>, key: &'static str, words: &[&str]) -> Option<String> {
    let member = reader.member(key)?;
    known_word(&member.value, reader.report, key, words).map(Into::into)
}

/// An array of known words.
fn words(reader: &mut TableReader<'_, '_>, key: &'static str, what: &str, words: &[&str]) -> Option<Vec<String>> {
    let member = reader.member(key)?;
    match &member.value.kind {
        TreeValueKind::List(items) => {
            let known = items.iter().filter_map(|item| known_word(item, reader.report, what, words));
            Some(known.map(Into::into).collect())
        }
        // Read as what it should be, which says what is wrong with it.
        _ => reader.get(key),
    }
}

fn texts(reader: &mut TableReader<'_, '_>, key: &'static str) -> Vec<String> {
    reader.get(key).map(|TextList(texts)| texts).unwrap_or_default()
}
