//! The report of a run: its transcript, its end, and the failed expectations of its scenario (F-10).

use alloc::collections::BTreeMap;

use super::expect::delays::DelayTolerance;
use super::expect::{EngineRun, requests};
use super::limits;
use super::rules;
use reenact_engine::contract::Terminal;
use reenact_engine::log::BoundaryLog;
use reenact_engine::time::Micros;
use reenact_oracle::Violation;
use reenact_scenario::statement::PassedStatements;
use reenact_transcript::event::{EventKind, RunEnd, Transcript};
use reenact_transcript::text::{self, DetailLevel};
use reenact_wire::prelude::*;
use reenact_world::World;
use reenact_world::setup::RunSetup;

/// One finished run.
///
/// A report that nobody looks at says nothing, so the compiler asks for a look:
///
/// ```compile_fail
/// # #![deny(unused_must_use)]
/// fn a_test(report: reenact_sim::report::RunReport<()>) {
///     Ok::<_, ()>(report).unwrap();
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use = "a failed run fails no test by itself: call `.assert()` on its report"]
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
        let mut violations = rules::violations_in(setup, &self.transcript, expect.terminal.as_deref(), late);
        // The cause comes first: rules by time, and then what the scenario expects of the whole run. What a rule says needs no second word.
        violations.sort_by_key(|violation| violation.at);
        let is_told =
            |failure: &String| violations.iter().any(|violation| violation.text == *failure && !rules::shows(expect, violation.oracle));
        self.failures.retain(|failure| !is_told(failure));
        let new: Vec<Violation> = violations.iter().filter(|violation| !self.failures.contains(&violation.text)).cloned().collect();
        self.failures.splice(..0, rules::failures(&new, expect));
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
        for what in self.transcript.kinds() {
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
        failures.extend(self.transcript.kinds().filter_map(|what| match what {
            EventKind::Misuse { text } => Some(format!("the engine broke the contract: {text}")),
            _ => None,
        }));
        if setup.scenario.matching.strict {
            failures.extend(self.strict_failures(setup, world, unused));
        }
        let files = world.workspace();
        let run = EngineRun { transcript: &self.transcript, terminal: self.terminal(), terminals: &self.terminals, end: &self.end, files };
        failures.extend(run.failures(expect, tolerance));
        failures
    }

    /// M-3: under `strict` a difference and an unused answer are failures.
    fn strict_failures(&self, setup: &RunSetup, world: &World, unused: &[Arc<str>]) -> Vec<String> {
        let mut failures = requests::differences(&self.transcript);
        failures.extend(unused.iter().map(|answer| format!("{answer} was never asked for")));
        failures.extend(world.missed_interrupts(setup).iter().map(|interrupt| format!("the moment of {interrupt} never came")));
        failures
    }
}
