//! Runs of changed scenarios, for the search for a smaller one (E-5).

use super::super::PanicGuard;
use super::super::fingerprint::Fingerprint;
use super::super::interrupt::describe;
use super::super::verdict::{panicked, violations_of};
use reenact_engine::contract::{Engine, Input};
use reenact_engine::time::Time;
use reenact_oracle::Violation;
use reenact_scenario::language::scenario_text;
use reenact_scenario::parse;
use reenact_scenario::plan::{Plan, PlannedDeviation};
use reenact_scenario::types::Scenario;
use reenact_sim::Run;
use reenact_sim::report::RunReport;
use reenact_sim::statements::{self, PlayedRun, RunView};
use reenact_transcript::event::{EventKind, Transcript};
use reenact_wire::prelude::*;
use reenact_world::setup::RunSetup;

/// Runs scenarios around one engine, and counts them.
pub trait ScenarioProbe {
    /// A run of a scenario; `None` when it cannot be made ready. `accepted` is an end that counts as good beside a terminal for every prompt.
    fn run(&mut self, scenario: &Scenario, accepted: Option<&str>) -> Option<ProbedRun>;

    /// The decisions that are possible just before an event.
    fn choices_before(&mut self, scenario: &Scenario, event: u64) -> EventChoices;

    /// How many runs there were.
    fn runs(&self) -> u32;
}

/// A run that is over.
#[derive(Clone, Debug)]
pub struct ProbedRun {
    /// The events.
    pub transcript: Transcript,
    /// The violations.
    pub violations: Vec<Violation>,
    /// The failures of the run beside the rules, and the statements of its scenario that do not come to pass. Where there is a plan, these are not asked.
    pub failures: Vec<String>,
    /// How it ended; a panic has no name.
    pub end: Option<Arc<str>>,
    /// Whether all injections of its plan came.
    pub is_as_planned: bool,
}

/// The decisions that are possible just before an event.
#[derive(Clone, Debug, Default)]
pub struct EventChoices {
    /// The arrivals that may come first instead.
    pub deviations: Vec<PossibleDeviation>,
    /// The tool runs that were told to stop and have not ended.
    pub stopping_tools: Vec<Arc<str>>,
}

/// An arrival that may come first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PossibleDeviation {
    /// The deviation, at the first instant that is possible.
    pub planned: PlannedDeviation,
    /// The last instant that is possible.
    pub latest: Time,
    /// When it comes otherwise.
    pub usual: Time,
    /// The arrival that comes first otherwise.
    pub next: String,
    /// When that comes.
    pub next_at: Time,
}

/// The runs of an engine. `new_setup` makes a scenario ready.
pub struct EngineProbe<'a, E, G> {
    engine: &'a E,
    guard: &'a G,
    new_setup: &'a dyn Fn(Scenario) -> Option<Arc<RunSetup>>,
    runs: u32,
}

impl<'a, E: Engine, G: PanicGuard> EngineProbe<'a, E, G> {
    /// A probe that has not run anything.
    pub fn new(engine: &'a E, guard: &'a G, new_setup: &'a dyn Fn(Scenario) -> Option<Arc<RunSetup>>) -> Self {
        Self { engine, guard, new_setup, runs: 0 }
    }

    fn new_run(&mut self, scenario: &Scenario) -> Option<(Arc<RunSetup>, Run<E>)> {
        let setup = (self.new_setup)(scenario.clone())?;
        self.runs += 1;
        Some((setup.clone(), Run::new(setup, self.engine.clone()).without_oracles()))
    }
}

impl<E: Engine, G: PanicGuard> ScenarioProbe for EngineProbe<'_, E, G> {
    fn run(&mut self, scenario: &Scenario, accepted: Option<&str>) -> Option<ProbedRun> {
        let (setup, mut run) = self.new_run(scenario)?;
        let end = loop {
            match self.guard.run(|| run.advance()) {
                Ok(None) => (),
                Ok(Some(end)) => break Ok(end),
                Err(panic) => break Err(panic),
            }
        };
        let is_as_planned = run.has_come_as_planned();
        let seed = setup.scenario.shown_seed();
        Some(match end {
            Ok(end) => {
                let report = run.into_report(end);
                let violations = violations_of(&setup, &report.transcript, accepted);
                let failures = [&report.failures[..], &unmet_statements(&setup, &report)].concat();
                ProbedRun { transcript: report.transcript, violations, failures, end: Some(report.end.as_str().into()), is_as_planned }
            }
            Err(panic) => {
                let at = run.now();
                let transcript = run.watcher().clone().into_transcript(&None, seed);
                let mut violations = violations_of(&setup, &transcript, accepted);
                violations.push(panicked(at, &panic));
                ProbedRun { transcript, violations, failures: Vec::new(), end: None, is_as_planned }
            }
        })
    }

    fn choices_before(&mut self, scenario: &Scenario, event: u64) -> EventChoices {
        let Some((_, mut run)) = self.new_run(scenario) else { return EventChoices::default() };
        while run.events() + 1 < event {
            if !matches!(self.guard.run(|| run.advance()), Ok(None)) {
                return EventChoices::default();
            }
        }
        if run.next_input().is_some() {
            return EventChoices::default();
        }
        let (next, next_at) = (run.next_arrival_name(), run.next_arrival_time().unwrap_or(run.now()));
        let possible = |deviation| {
            let (usual, window) = run.arrival_times(deviation)?;
            let planned = run.planned_deviation(deviation);
            Some(PossibleDeviation { planned, latest: window.latest.max(usual), usual, next: next.clone(), next_at })
        };
        EventChoices { deviations: run.deviations().into_iter().filter_map(possible).collect(), stopping_tools: run.stopping_tools() }
    }

    fn runs(&self) -> u32 {
        self.runs
    }
}

/// The statements of a scenario without a plan that do not come to pass in its run (F-10).
fn unmet_statements<E>(setup: &RunSetup, report: &RunReport<E>) -> Vec<String> {
    if setup.scenario.plan != Plan::EMPTY {
        return Vec::new();
    }
    let Ok(parsed) = parse::scenario("", &scenario_text(&setup.scenario, &[]), &[]) else { return Vec::new() };
    let RunReport { passed, transcript, end, .. } = report;
    let run = PlayedRun { setup, places: &parsed.places, passed, transcript, end };
    statements::failures(&[run], RunView::Simulated).into_iter().map(|failure| failure.text).collect()
}

impl ProbedRun {
    /// Whether it breaks this rule in this way.
    pub fn breaks(&self, fingerprint: &Fingerprint) -> bool {
        self.violations.iter().any(|violation| violation.oracle == fingerprint.oracle && Fingerprint::from(violation) == *fingerprint)
    }

    /// The inputs of the engine, in order: what a plan counts as events.
    pub fn inputs(&self) -> impl Iterator<Item = (Time, &Input)> {
        self.transcript.events.iter().filter_map(|event| match &event.what {
            EventKind::Input(input) => Some((event.at, input)),
            _ => None,
        })
    }

    /// The inputs in a few words each.
    pub fn descriptions(&self) -> Vec<String> {
        self.inputs().map(|(_, input)| describe(input)).collect()
    }

    /// The requests, by their names in transcripts.
    pub fn requests(&self) -> Vec<String> {
        let name = |event: &reenact_transcript::event::Event| match &event.what {
            EventKind::Request { id, .. } => Some(event.agent.key(*id)),
            _ => None,
        };
        self.transcript.events.iter().filter_map(name).collect()
    }
}
