//! The report of a run: its transcript, its end, and the failed expectations of its scenario (F-10).

use alloc::collections::BTreeMap;

use super::delays::DelayTolerance;
use super::limits;
use super::requests;
use super::rules;
use crate::engine::contract::{Effect, Input, Terminal};
use crate::engine::emission::{Emission, Note};
use crate::engine::log::BoundaryLog;
use crate::engine::time::Micros;
use crate::oracle::Violation;
use crate::prelude::*;
use crate::scenario::statement::PassedStatements;
use crate::scenario::types::Expectations;
use crate::transcript::event::{EventKind, RunEnd, Transcript};
use crate::transcript::text::{self, DetailLevel};
use crate::world::World;
use crate::world::setup::RunSetup;

/// One finished run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunReport<E> {
    /// The record of the run.
    pub transcript: Transcript,
    /// The reason of the end.
    pub end: RunEnd,
    /// The terminal of each prompt that ended, in order.
    pub terminals: Vec<Terminal>,
    /// The failed expectations, one sentence each; empty when all is well.
    pub failures: Vec<String>,
    /// The violations of the rules that hold in every run; `None` where they were not asked. Those that the scenario does not announce
    /// itself are failures too.
    pub violations: Option<Vec<Violation>>,
    /// The statements of the scenario that came to pass (F-10). One run alone does not show whether the others fail: see [`super::statements`].
    pub passed: PassedStatements,
    /// The log at the boundary, if one was wanted.
    pub log: Option<BoundaryLog>,
    /// The engine in its last state.
    pub engine: E,
}

impl<E> RunReport<E> {
    pub(super) fn new(
        setup: &RunSetup,
        engine: E,
        transcript: Transcript,
        end: RunEnd,
        world: &World,
        unused: &[Arc<str>],
        tolerance: DelayTolerance,
    ) -> Self {
        let (terminals, passed) = (world.terminals().to_vec(), world.passed(setup));
        let mut report = Self { transcript, end, terminals, failures: Vec::new(), violations: None, passed, log: None, engine };
        report.failures = report.check(setup, world, unused, tolerance);
        report
    }

    /// Asks all oracles about the run.
    pub(super) fn with_oracles(mut self, setup: &RunSetup, late: Micros) -> Self {
        let expect = &setup.scenario.expect;
        let violations = rules::violations_in(setup, &self.transcript, expect.terminal.as_deref(), late);
        // What the scenario's own judgement says needs no second word.
        let new: Vec<Violation> = violations.iter().filter(|violation| !self.failures.contains(&violation.text)).cloned().collect();
        self.failures.extend(rules::failures(&new, expect));
        self.violations = Some(violations);
        self
    }

    /// Panics when something is not as expected, with all that is wrong and the transcript: the last line of a test.
    ///
    /// # Panics
    /// When there is a failure.
    #[track_caller]
    pub fn assert(&self) {
        let transcript = || self.text(DetailLevel::Normal);
        assert!(self.failures.is_empty(), "this run is not as expected:\n  {}\n\n{}", self.failures.join("\n  "), transcript());
    }

    pub(super) fn with_log(self, log: Option<BoundaryLog>) -> Self {
        Self { log, ..self }
    }

    /// The word for how it ended: the last prompt's terminal, or the run's own end.
    pub fn terminal(&self) -> &str {
        match (&self.end, self.terminals.last()) {
            (RunEnd::Idle, Some(terminal)) => terminal.as_str(),
            (end, _) => end.as_str(),
        }
    }

    /// The transcript as text.
    pub fn text(&self, detail: DetailLevel) -> String {
        text::render(&self.transcript, detail)
    }

    /// How many answers of each provenance were given (F-12).
    pub fn provenance(&self) -> BTreeMap<Arc<str>, usize> {
        let mut counts = BTreeMap::new();
        for what in self.whats() {
            if let EventKind::Served { provenance, .. } = what {
                *counts.entry(provenance.clone()).or_default() += 1;
            }
        }
        counts
    }

    fn check(&self, setup: &RunSetup, world: &World, unused: &[Arc<str>], tolerance: DelayTolerance) -> Vec<String> {
        let mut failures = Vec::new();
        let expect = &setup.scenario.expect;
        if self.end != RunEnd::Idle && expect.terminal.as_deref() != Some(self.end.as_str()) {
            failures.push(format!("the run ended with {}: {}", self.end.as_str(), limits::end_text(setup, &self.end)));
        }
        failures.extend(rules::nothing_happened(&self.transcript));
        failures.extend(requests::refusal_failures(&self.transcript, expect));
        failures.extend(self.whats().filter_map(|what| match what {
            EventKind::Misuse { text } => Some(format!("the engine broke the contract: {text}")),
            _ => None,
        }));
        if setup.scenario.matching.strict {
            failures.extend(self.strict_failures(setup, world, unused));
        }
        self.check_expectations(expect, tolerance, &mut failures);
        failures
    }

    /// M-3: under `strict` a difference and an unused answer are failures.
    fn strict_failures(&self, setup: &RunSetup, world: &World, unused: &[Arc<str>]) -> Vec<String> {
        let mut failures = requests::differences(&self.transcript);
        failures.extend(unused.iter().map(|answer| format!("{answer} was never asked for")));
        failures.extend(world.missed_interrupts(setup).iter().map(|interrupt| format!("the moment of {interrupt} never came")));
        failures
    }

    fn check_expectations(&self, expect: &Expectations, tolerance: DelayTolerance, failures: &mut Vec<String>) {
        let mut equal = |what: &str, wanted: Option<String>, got: String| {
            if let Some(wanted) = wanted.filter(|wanted| *wanted != got) {
                failures.push(format!("expected {what} {wanted}, got {got}"));
            }
        };
        equal("terminal", expect.terminal.clone(), self.terminal().to_string());
        let terminals: Vec<String> = self.terminals.iter().map(|terminal| terminal.as_str().to_string()).collect();
        equal("terminals", expect.terminals.as_ref().map(|names| requests::list(names)), requests::list(&terminals));
        equal("transitions", expect.transitions.as_ref().map(|names| requests::list(names)), requests::list(&self.transitions()));
        equal("tools", expect.tools.as_ref().map(|names| requests::list(names)), requests::list(&self.started_tools()));
        equal("result", expect.result.clone(), self.result_subtype().unwrap_or_else(|| String::from("none")));
        let wants_text = !expect.text_present.is_empty() || !expect.text_absent.is_empty();
        let emitted = if wants_text { self.emitted_text() } else { Vec::new() };
        for text in expect.text_present.iter().filter(|text| !emitted.iter().any(|emitted| emitted.contains(*text))) {
            failures.push(format!("expected some message to hold {text:?}, none does"));
        }
        for text in expect.text_absent.iter().filter(|text| emitted.iter().any(|emitted| emitted.contains(*text))) {
            failures.push(format!("expected no message to hold {text:?}, one does"));
        }
        requests::check_asked(&self.transcript, expect, tolerance, failures);
        failures.extend(self.order_failure(expect, tolerance));
        self.check_times(expect, tolerance, failures);
    }

    /// The first line that is wanted and is not there. Where times are not exact they are left out of what is wanted, and of the lines (M-11).
    pub(crate) fn order_failure(&self, expect: &Expectations, tolerance: DelayTolerance) -> Option<String> {
        if expect.order.is_empty() {
            return None; // rendering costs more than the run
        }
        let is_exact = tolerance == DelayTolerance::NONE;
        let render = if is_exact { text::render } else { text::render_untimed };
        let as_shown = |wanted: &str| if is_exact { wanted.to_string() } else { text::untimed(wanted) };
        let rendered = render(&self.transcript, DetailLevel::Debug);
        let mut lines = rendered.lines();
        let mut is_there = |wanted: &&String| lines.any(|line| squeezed(line).contains(&squeezed(&as_shown(wanted))));
        let missing = expect.order.iter().find(|wanted| !is_there(wanted))?;
        Some(format!("`order` expects a transcript line with {missing:?} here; no line after those before it has this text"))
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

    fn whats(&self) -> impl Iterator<Item = &EventKind> {
        self.transcript.events.iter().map(|event| &event.what)
    }

    fn transitions(&self) -> Vec<String> {
        let name = |what: &EventKind| match what {
            EventKind::Effect(Effect::Note(Note::Transition(transition))) => Some(transition.as_str().to_string()),
            _ => None,
        };
        self.whats().filter_map(name).collect()
    }

    /// The tools that start, by name, in the order in which they start.
    fn started_tools(&self) -> Vec<String> {
        let name = |what: &EventKind| match what {
            EventKind::Effect(Effect::StartTool { tool_use, .. }) => Some(tool_use.name.to_string()),
            _ => None,
        };
        self.whats().filter_map(name).collect()
    }

    fn result_subtype(&self) -> Option<String> {
        let subtype = |what: &EventKind| match what {
            EventKind::Effect(Effect::Emit(Emission::Result(result))) => Some(result.subtype.as_str().to_string()),
            _ => None,
        };
        self.whats().filter_map(subtype).last()
    }

    fn emitted_text(&self) -> Vec<String> {
        let text = |what: &EventKind| match what {
            EventKind::Effect(Effect::Emit(Emission::Assistant(message))) => Some(plain(message.block.json().as_str())),
            EventKind::Effect(Effect::Emit(Emission::User(message))) => Some(plain(message.block.json().as_str())),
            EventKind::Effect(Effect::Emit(Emission::Interrupted { text, .. })) => Some(text.to_string()),
            _ => None,
        };
        self.whats().filter_map(text).collect()
    }
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

/// Runs of spaces as one, so that an expectation need not know the columns.
fn squeezed(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}
