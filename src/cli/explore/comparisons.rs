//! O-15 and O-16, the rules that compare two runs, once for each scenario that is explored (E-3).

use std::sync::Arc;

use super::super::program::run_command;
use super::super::report::ExploreFindingEntry;
use crate::engine::contract::Engine;
use crate::explore::PanicGuard as _;
use crate::explore::audit::{asked, audit};
use crate::explore::budget::ExploreBudget;
use crate::explore::fingerprint::Fingerprint;
use crate::explore::interrupt::InjectionKind;
use crate::explore::sweep::SweepFinding;
use crate::files::scenario::LoadedScenario;
use crate::runner::PanicCatcher;
use crate::sim::Run;

/// The comparisons of a scenario's runs.
pub(super) struct RunComparisons {
    /// How often each of the two rules was asked.
    pub(super) asked: [(&'static str, u64); 2],
    pub(super) findings: Vec<ExploreFindingEntry>,
}

/// Compares the run as it is, and some interrupted ones, with the same runs made again, and the run as it is with one in other chunks.
/// `options` are those of a command that makes a run again.
pub(super) fn compare<E: Engine>(scenario: &LoadedScenario, engine: &E, options: &str) -> RunComparisons {
    let setup = &scenario.setup;
    let count_events = || {
        let mut run = Run::new(Arc::clone(setup), engine.clone()).without_oracles();
        while run.advance().is_none() {}
        run.events()
    };
    // A run that panics is a finding of the exploration.
    let events = PanicCatcher.run(count_events).unwrap_or(0);
    let kinds = [InjectionKind::Cancel, InjectionKind::Interrupt];
    let (runs, found) = audit(setup, engine, &kinds, usize::try_from(events).unwrap_or(0) * 2, &PanicCatcher);
    let findings = found.iter().map(|finding| entry(scenario, finding, options)).collect();
    RunComparisons { asked: asked(runs), findings }
}

fn entry(scenario: &LoadedScenario, finding: &SweepFinding, options: &str) -> ExploreFindingEntry {
    let fingerprint = finding.violations.first().map(Fingerprint::from);
    let Fingerprint { oracle, observation } = fingerprint.unwrap_or_else(|| unreachable!("a difference is a violation"));
    let (budget, decision, place) = match &finding.interrupt {
        Some((place, kind)) => (
            ExploreBudget::new(0, 0, 1),
            Some(format!("{kind} {} event {} at {}", place.boundary.side.as_str(), place.boundary.event, place.at)),
            format!(" --interrupt-at {} --interrupt-kind {kind}", place.boundary),
        ),
        None => (ExploreBudget::NONE, None, String::new()),
    };
    ExploreFindingEntry {
        oracle,
        observation,
        budget: budget.to_string(),
        without: Vec::new(),
        count: finding.runs,
        decisions: decision.into_iter().collect(),
        violations: finding.violations.iter().map(ToString::to_string).collect(),
        command: run_command(&scenario.path) + &place + options,
        distance: None,
        reasons: Vec::new(),
        shrunk: None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::engine::agent_loop::AgentLoop;
    use crate::explore::canary::{CANARIES, Saboteur};
    use crate::files::scenario::{LoadOptions, load_with};

    fn compared<E: Engine>(engine: &E) -> RunComparisons {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/query/read-one-file.toml");
        compare(&load_with(&path, &LoadOptions::default()).unwrap(), engine, " --seed 0")
    }

    #[test]
    fn e_3_an_exploration_compares_runs_and_says_how_often() {
        let RunComparisons { asked, findings } = compared(&AgentLoop::default());
        assert!(findings.is_empty() && asked.iter().all(|(_, count)| *count > 0), "{asked:?}");
        for (name, oracle) in [("tell-fresh-events", "O-15"), ("count-across-copies", "O-16")] {
            let canary = *CANARIES.iter().find(|canary| canary.name == name).unwrap();
            let found = compared(&Saboteur::new(AgentLoop::default(), canary)).findings;
            let finding = found.iter().find(|finding| finding.oracle == oracle).unwrap_or_else(|| panic!("{name} is not found"));
            assert!(finding.command.contains(" run ") && finding.command.ends_with(" --seed 0"), "{}", finding.command);
        }
    }
}
