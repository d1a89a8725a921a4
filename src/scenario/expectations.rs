//! `[expect]`: what must hold at the end (F-10).
//!
//! Words are checked against all that an engine of any kind may give. A misspelt expectation would otherwise fail only after the run, and look
//! like a defect of the engine.

use crate::language::forms::{FigureRange, TextListOf, TextTable, WordList, WordOf};
use crate::language::keys::{KeyTable as _, keys};
use crate::parse::reader::TableReader;
use crate::parse::tree::{TextPlace, TreeValueKind};
use reenact_engine::contract::Terminal;
use reenact_engine::emission::Transition;
use reenact_engine::time::Micros;
use reenact_wire::prelude::*;

keys! {
    /// The expectations for the end (F-10). Only the given keys are checked; the snapshot catches the rest.
    #[derive(Eq)]
    pub struct Expectations check check_expectations {
        /// The last prompt's terminal, or the run's own end (`tape_exhausted`, `limit_reached`).
        terminal: Option<String> as Option<WordOf<TerminalWords>> = None;
        /// The terminals of all prompts that had one, in the order in which they ended.
        terminals: Option<Vec<String>> as Option<Vec<WordOf<TerminalWords>>> = None;
        /// All transitions, in order.
        transitions: Option<Vec<String>> as Option<Vec<WordOf<TransitionWords>>> = None;
        /// How many requests, attempts counted.
        requests: Option<u64> = None, unit("requests");
        /// The wait before each further attempt at a request, from the end of the attempt before: at least and at
        /// most, in the order of the run.
        delays: Option<Vec<(Micros, Micros)>> as Option<Vec<FigureRange>> = None;
        /// How many requests the API refuses because they are not valid (M-2). By default none may be.
        refusals: Option<u64> = None, unit("requests");
        /// The rules (`O-3`) that the run breaks, because the scenario shows a hazard: these and no others.
        breaks: Vec<String> as Vec<WordOf<BreakableRules>> = Vec::new();
        /// The models asked, in order of first use.
        models: Option<Vec<String>> = None, example("[\"claude-sonnet-4-5\", \"claude-haiku-4-5\"]");
        /// The tools that start, by name, in the order in which they start.
        tools: Option<Vec<String>> = None, example("[\"Read\", \"Bash\"]");
        /// The last result's subtype.
        result: Option<String> as Option<WordOf<ResultSubtypes>> = None;
        /// Text that some message to consumers holds: what the model said, also where it was cut off, results and progress of tools, what the user, hooks,
        /// commands and the engine itself said, and warnings. Stream events, notices and the result message are not looked at.
        text_present: Vec<String> as TextListOf<String> = Vec::new();
        /// Text that no such message holds.
        text_absent: Vec<String> as TextListOf<String> = Vec::new();
        /// Text that some request holds, in its new messages or in its system prompt, tools and further members.
        sent: Vec<String> as TextListOf<String> = Vec::new();
        /// Text that no request holds.
        not_sent: Vec<String> as TextListOf<String> = Vec::new();
        /// The content of files of the workspace at the end, by their paths in its folder.
        files: Vec<(String, String)> as TextTable = Vec::new(), example("{ \"a.txt\" = \"one\\n\" }");
        /// Files and folders that the workspace does not have at the end.
        absent: Vec<String> as TextListOf<String> = Vec::new(), example("[\"a.txt\"]");
        /// Lines of the transcript, each by a part of its text, in this order.
        order: Vec<String> = Vec::new();
        /// The run ends at or after this.
        ends_after: Option<Micros> = None;
        /// The run ends at or before this.
        ends_before: Option<Micros> = None;
        /// Whether a text of `text_absent` or `not_sent` may be one that no run could bring.
        may: bool = false;
    }
}

impl Expectations {
    /// The names of all keys.
    #[doc(hidden)]
    pub fn keys() -> Vec<&'static str> {
        Self::names()
    }
}

/// The run's own ends (M-3, M-9), which may stand where a terminal does.
const RUN_ENDS: [&str; 3] = ["tape_exhausted", "stalled", "limit_reached"];

/// Rules that one run can break by itself: those of the oracles (`oracle::ORACLES`), but for those that compare two runs (O-15, O-16) and the one about
/// runs without further faults (O-18).
#[doc(hidden)]
pub const BREAKABLE: [&str; 32] = [
    "O-1", "O-2", "O-3", "O-4", "O-5", "O-6", "O-7", "O-8", "O-9", "O-10", "O-11", "O-12", "O-13", "O-14", "O-17", "O-19", "O-20", "O-21",
    "O-22", "O-23", "O-24", "O-25", "O-26", "O-27", "O-28", "O-29", "O-30", "O-31", "O-32", "O-33", "O-34", "O-35",
];

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
fn check_expectations(expect: &Expectations, reader: &mut TableReader<'_, '_>) {
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
