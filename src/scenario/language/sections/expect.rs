//! `[expect]`: what must hold at the end (F-10).
//!
//! Words are checked against all that an engine of any kind may give. A misspelt expectation would otherwise fail only after the run, and look
//! like a defect of the engine.

use crate::engine::contract::Terminal;
use crate::engine::emission::Transition;
use crate::engine::time::Micros;
use crate::prelude::*;
use crate::scenario::language::forms::WordList;
use crate::scenario::parse::reader::TableReader;
use crate::scenario::parse::tree::{TextPlace, TreeValueKind};
use crate::scenario::types::{Expectations, Scenario};

/// The run's own ends (M-3, M-9), which may stand where a terminal does.
const RUN_ENDS: [&str; 3] = ["tape_exhausted", "stalled", "limit_reached"];

/// Rules that one run can break by itself: those of the oracles (`oracle::ORACLES`), but for the one that compares two runs.
pub(crate) const BREAKABLE: [&str; 16] =
    ["O-1", "O-2", "O-3", "O-5", "O-6", "O-7", "O-8", "O-9", "O-10", "O-11", "O-12", "O-13", "O-14", "O-17", "O-27", "O-30"];

/// The possible ends of a prompt, or of the run.
pub(crate) struct TerminalWords;

impl WordList for TerminalWords {
    const NOUN: &'static str = "terminal";

    fn words() -> Vec<&'static str> {
        [&Terminal::WORDS[..], &RUN_ENDS].concat()
    }
}

/// The engine's transitions.
pub(crate) struct TransitionWords;

impl WordList for TransitionWords {
    const NOUN: &'static str = "transition";

    fn words() -> Vec<&'static str> {
        Transition::ALL.map(Transition::as_str).into()
    }
}

/// Rules that a run can break.
pub(crate) struct BreakableRules;

impl WordList for BreakableRules {
    const NOUN: &'static str = "rule";

    fn words() -> Vec<&'static str> {
        BREAKABLE.into()
    }
}

/// Subtypes of the result message (S-8 to S-10).
pub(crate) struct ResultSubtypes;

impl WordList for ResultSubtypes {
    const NOUN: &'static str = "result";

    fn words() -> Vec<&'static str> {
        vec!["success", "error_during_execution", "error_max_turns", "error_max_budget_usd", "error_max_structured_output_retries"]
    }
}

/// Expectations that nothing could break, and texts that are in everything.
pub(crate) fn check(expect: &Expectations, reader: &mut TableReader<'_, '_>) {
    if let (Some(after), Some(before)) = (expect.ends_after, expect.ends_before)
        && after > before
    {
        reader.value_problem("ends_before", "no run can end before `ends_before` and after `ends_after`".into());
    }
    if expect.ends_after == Some(Micros::ZERO) {
        reader.value_problem("ends_after", "every run ends at or after 0s, so this key checks nothing".into());
    }
    for key in ["text_present", "text_absent", "sent", "not_sent", "order"] {
        for place in blank_texts(reader, key) {
            reader.report.value(place, format!("an empty text occurs everywhere: write the text that `{key}` checks"), None);
        }
    }
}

fn blank_texts(reader: &mut TableReader<'_, '_>, key: &'static str) -> Vec<TextPlace> {
    let Some(value) = reader.member(key).map(|member| &member.value) else { return Vec::new() };
    let items = if let TreeValueKind::List(items) = &value.kind { &items[..] } else { core::slice::from_ref(value) };
    let is_blank = |kind: &TreeValueKind| matches!(kind, TreeValueKind::Text(text) if text.trim().is_empty());
    items.iter().filter(|item| is_blank(&item.kind)).map(|item| item.place).collect()
}

/// A run is stopped at its limit, so that no later bound can be broken.
pub(crate) fn check_bound(reader: &mut TableReader<'_, '_>, scenario: &Scenario) {
    let limit = scenario.limits.time;
    if let Some(bound) = scenario.expect.ends_before.filter(|bound| *bound >= limit) {
        let message = format!("`ends_before` is {bound}, and a run is stopped at {limit} (`time` in [limits]), so this key checks nothing");
        reader.key_problem("expect", message);
    }
}
