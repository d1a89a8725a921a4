//! The rules that compare two runs: O-15 and O-16 once for each scenario that is explored, and the engine's key by some pairs of equal states (E-3).

use std::sync::Arc;

use super::super::program::run_command;
use super::super::report::ExploreFindingEntry;
use crate::engine::contract::Engine;
use crate::explore::PanicGuard as _;
use crate::explore::audit::{asked, audit};
use crate::explore::budget::ExploreBudget;
use crate::explore::explorer::{EqualStates, PathDecision, key_violation};
use crate::explore::fingerprint::Fingerprint;
use crate::explore::interrupt::InjectionKind;
use crate::explore::sweep::SweepFinding;
use crate::files::scenario::LoadedScenario;
use crate::runner::PanicCatcher;
use crate::scenario::plan::Plan;
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

/// Runs on from pairs of states with one key. The first pair that does not go on alike is a finding: what would have followed one of the two was never
/// looked at. `command` makes the run of a plan.
pub(super) fn key_finding<E: Engine>(
    (scenario, engine): (&LoadedScenario, &E),
    budget: ExploreBudget,
    pairs: &[EqualStates],
    command: impl Fn(&Plan) -> String,
) -> Option<ExploreFindingEntry> {
    let setup = &scenario.setup;
    let (pair, difference) = pairs.iter().find_map(|pair| Some((pair, pair.compare(setup, engine, &PanicCatcher).err()?)))?;
    let (plan, decisions) = pair.merged.plan(setup, engine, &PanicCatcher);
    let kept = pair.kept.plan(setup, engine, &PanicCatcher).0;
    let violation = key_violation();
    let Fingerprint { oracle, observation } = Fingerprint::from(&violation);
    Some(ExploreFindingEntry {
        oracle,
        observation,
        budget: budget.to_string(),
        without: Vec::new(),
        count: 1,
        decisions: decisions.iter().map(PathDecision::to_string).collect(),
        violations: vec![format!("{}: {}", violation.oracle, violation.text)],
        command: command(&plan),
        distance: None,
        reasons: vec![difference.replace('\n', "\n  "), format!("kept is: {}", command(&kept))],
        shrunk: None,
    })
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
    use std::num::NonZeroUsize;
    use std::path::Path;

    use super::*;
    use crate::engine::agent_loop::AgentLoop;
    use crate::engine::contract::{Effect, Effects, Environment, Input, KeySink, Note, Time};
    use crate::engine::emission::SessionPhase;
    use crate::explore::canary::{CANARIES, Saboteur};
    use crate::explore::explorer::{ExploreOptions, ExplorePace, explore_with};
    use crate::files::scenario::{LoadOptions, load_with};
    use crate::runner::explore::Threads;

    /// The time of the first answer decides what it tells of the third one, and no part of its state counts.
    #[derive(Clone, Debug, Default, PartialEq)]
    struct EmptyKey {
        engine: AgentLoop,
        ends: Vec<Time>,
    }

    impl Engine for EmptyKey {
        fn step(&mut self, environment: &Environment, now: Time, input: &Input, effects: &mut Effects) {
            if matches!(input, Input::End { .. }) {
                self.ends.push(now);
                if self.ends.len() == 3 && now.since(self.ends[0]).0.is_multiple_of(2) {
                    effects.push(Effect::Note(Note::Phase(SessionPhase::EarlyExit)));
                }
            }
            self.engine.step(environment, now, input, effects);
        }

        fn key(&self, _: Time, _: &mut KeySink) -> bool {
            true
        }
    }

    #[test]
    fn e_3_a_pair_of_states_with_one_key_that_do_not_go_on_alike_is_a_finding() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/agents/all-failed.toml");
        let scenario = load_with(&path, &LoadOptions::default()).unwrap();
        let budget = ExploreBudget::new(2, 0, 1);
        let audited = |engine: &EmptyKey| {
            let options = ExploreOptions { audited: 4, ..ExploreOptions::default() };
            let threads = Threads(NonZeroUsize::MIN);
            explore_with(&scenario.setup, engine, budget, &PanicCatcher, &threads, (options, &mut |_| ExplorePace::Usual)).equal_states
        };
        let pairs = audited(&EmptyKey::default());
        let command = |_: &Plan| String::from("reenact run all-failed.toml");
        let found = key_finding((&scenario, &EmptyKey::default()), budget, &pairs, command).unwrap();
        assert_eq!(found.oracle, "O-16");
        assert!(found.violations[0].contains("the engine's key leaves out something") && found.reasons.len() == 2, "{found:?}");
        assert!(key_finding((&scenario, &AgentLoop::default()), budget, &pairs[..0], command).is_none());
    }

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
