//! The rules that must hold in every run, asked of one that is over, and what its scenario says of them (`[expect] breaks`).
//!
//! They are asked wherever a run ends in a [`RunReport`](super::report::RunReport): simulated, on the simulated network, over real HTTP. A report whose
//! `violations` are `None` is of a run without oracles.

use alloc::collections::BTreeMap;

use reenact_engine::contract::Environment;
use reenact_engine::time::{Micros, Time};
use reenact_oracle::{Oracles, Violation};
use reenact_scenario::types::Expectations;
use reenact_transcript::event::{Event, EventKind, RunEnd, Transcript};
use reenact_wire::prelude::*;
use reenact_world::setup::RunSetup;

/// The rules by which a run is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JudgedBy {
    /// By its scenario's expectations and by all oracles.
    ScenarioAndOracles,
    /// By its scenario's expectations.
    Scenario,
}

/// How many violations of one rule are shown; the others are counted.
const TOLD_MAX: usize = 3;

/// The rules that see requests which the API refuses.
const OF_REQUESTS: [&str; 2] = ["O-1", "O-10"];

/// The oracles of a run that has not begun. A scenario about refused requests is not asked whether they are valid, unless it says
/// itself that this rule is broken.
pub fn oracles(setup: &RunSetup) -> Oracles {
    oracles_in(&setup.environment, &setup.scenario.expect)
}

/// The same for a scenario in another environment.
pub fn oracles_in(environment: &Environment, expect: &Expectations) -> Oracles {
    let is_about_refusals = expect.refusals.is_some() && !shows_refusals(expect);
    Oracles::new(environment).with_refusals(is_about_refusals)
}

/// Whether the scenario shows requests that the API refuses, by the rules that they break.
pub(super) fn shows_refusals(expect: &Expectations) -> bool {
    OF_REQUESTS.iter().any(|rule| shows(expect, rule))
}

/// Whether the scenario shows how a rule is broken.
pub fn shows(expect: &Expectations, oracle: &str) -> bool {
    expect.breaks.iter().any(|rule| rule == oracle)
}

/// The rules of which a run's log cannot be asked: those that its scenario breaks on purpose.
pub(super) fn shown_by(expect: &Expectations) -> Vec<Arc<str>> {
    let refused = OF_REQUESTS.iter().filter(|_| expect.refusals.is_some()).map(|rule| Arc::from(*rule));
    expect.breaks.iter().map(|rule| Arc::from(rule.as_str())).chain(refused).collect()
}

/// The violations of a run that ended so. `accepted` is an end that is wanted beside a terminal for every prompt.
pub fn violations(mut oracles: Oracles, end: (&RunEnd, Time), accepted: Option<&str>) -> Vec<Violation> {
    tell_end(&mut oracles, end, accepted);
    oracles.into_violations()
}

/// Tells the oracles that the run has ended so.
pub fn tell_end(oracles: &mut Oracles, (end, at): (&RunEnd, Time), accepted: Option<&str>) {
    // A run that is meant to get stuck, or was stopped from outside, had no chance to give what it owes.
    if *end == RunEnd::Idle || (*end == RunEnd::Stalled && accepted != Some(end.as_str())) {
        oracles.expect_nothing_open(at);
    }
}

/// The same from a transcript. `late` is how much later than asked for a timer may go off.
pub fn violations_in(setup: &RunSetup, transcript: &Transcript, accepted: Option<&str>, late: Micros) -> Vec<Violation> {
    let mut oracles = oracles(setup).with_lateness(late);
    oracles.watch(transcript);
    match transcript.events.last().map(|event| (event.at, &event.what)) {
        Some((at, EventKind::Ended { end })) => violations(oracles, (end, at), accepted),
        _ => oracles.into_violations(),
    }
}

/// How often each oracle was asked in a run that is over.
pub fn asked_in(setup: &RunSetup, transcript: &Transcript) -> Vec<(&'static str, u64)> {
    let mut oracles = oracles(setup);
    oracles.watch(transcript);
    oracles.asked().collect()
}

/// A run in which the engine got no input has shown nothing, and is not green.
pub(super) fn nothing_happened(transcript: &Transcript) -> Option<String> {
    let is_told = transcript.events.iter().any(|event| matches!(event.what, EventKind::Input(_)));
    if is_told {
        return None;
    }
    let is_limited = |event: &Event| matches!(event.what, EventKind::Ended { end: RunEnd::LimitReached { .. } });
    let advice = match transcript.events.iter().any(is_limited) {
        true => "The run ended at its limit before the first [[prompt]]: give it an earlier `at`",
        false => "Add a [[prompt]]",
    };
    Some(format!("nothing happened: the engine got no input. {advice}"))
}

/// The broken rules of which the scenario does not speak, and those of which it does and that held.
pub(super) fn failures(violations: &[Violation], expect: &Expectations) -> Vec<String> {
    let mut told: BTreeMap<&str, usize> = BTreeMap::new();
    let mut failures = Vec::new();
    for violation in violations {
        let count = told.entry(violation.oracle).or_default();
        *count += 1;
        if *count <= TOLD_MAX && !shows(expect, violation.oracle) {
            failures.push(violation.to_string());
        }
    }
    let more = told.iter().filter(|(rule, count)| **count > TOLD_MAX && !shows(expect, rule));
    failures.extend(more.map(|(rule, count)| format!("{rule} is broken {} more", plural((count - TOLD_MAX) as u64, "time"))));
    let held = expect.breaks.iter().filter(|rule| !told.contains_key(rule.as_str()));
    failures.extend(held.map(|rule| format!("expected {rule} to be broken (`breaks`), and it holds: take it out of `breaks`")));
    failures
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_engine::contract::{Agent, Effect, Environment, Input, RequestId};
    use reenact_oracle::ORACLES;
    use reenact_scenario::expectations::BREAKABLE;
    use reenact_scenario::types::Scenario;
    use reenact_transcript::watch::TranscriptWatch;
    use reenact_wire::request::Request;

    fn violation(oracle: &'static str) -> Violation {
        Violation { at: Time::ZERO, oracle, text: "two tools".into() }
    }

    fn breaking(rules: &[&str]) -> Expectations {
        Expectations { breaks: rules.iter().map(|rule| (*rule).into()).collect(), ..Expectations::default() }
    }

    #[test]
    fn f_10_a_scenario_may_name_each_rule_that_one_run_can_break() {
        let asked: Vec<&str> =
            ORACLES.iter().map(|(oracle, _)| *oracle).filter(|oracle| !["O-15", "O-16", "O-18"].contains(oracle)).collect();
        assert_eq!(BREAKABLE.as_slice(), asked, "the list in scenario/expectations.rs is that of the oracles");
    }

    #[test]
    fn f_10_exactly_the_named_rules_are_broken() {
        assert_eq!(failures(&[violation("O-3")], &breaking(&["O-3"])), [""; 0]);
        assert_eq!(failures(&[violation("O-3"), violation("O-8")], &breaking(&["O-3"])), ["O-8 at 0.000s: two tools"]);
        let held = failures(&[violation("O-3")], &breaking(&["O-3", "O-5"]));
        assert_eq!(held, ["expected O-5 to be broken (`breaks`), and it holds: take it out of `breaks`"]);
    }

    fn prompted(mut oracles: Oracles) -> Oracles {
        oracles.input(Time::ZERO, &Agent::ROOT, &Input::Prompt { prompt: 1, content: [].into() });
        oracles
    }

    #[test]
    fn o_8_a_run_that_ends_by_itself_owes_its_terminals() {
        let rules = |end: RunEnd, accepted| {
            let oracles = prompted(Oracles::new(&Environment::default()));
            violations(oracles, (&end, Time::ZERO), accepted).into_iter().map(|violation| violation.oracle).collect::<Vec<_>>()
        };
        assert_eq!(rules(RunEnd::Idle, None), ["O-8"]);
        assert_eq!(rules(RunEnd::Stalled, None), ["O-8"]);
        assert_eq!(rules(RunEnd::Stalled, Some("stalled")), [""; 0], "it is meant to get stuck");
    }

    #[test]
    fn o_10_refused_requests_are_looked_for_unless_the_scenario_is_about_them() {
        let finds = |expect: Expectations| {
            let setup = RunSetup::new(Scenario { expect, ..Scenario::default() }, None).unwrap();
            let mut oracles = prompted(oracles(&setup));
            let empty = Arc::new(Request::new("m", 1));
            oracles.effect(Time::ZERO, &Agent::ROOT, &Effect::Request { id: RequestId::first(1), request: empty });
            oracles.violations().iter().any(|violation| violation.oracle == "O-10")
        };
        assert!(finds(Expectations::default()));
        assert!(!finds(Expectations { refusals: Some(1), ..Expectations::default() }));
        assert!(finds(Expectations { refusals: Some(1), ..breaking(&["O-10"]) }), "it shows that rule");
    }

    #[test]
    fn a_rule_that_is_broken_often_is_told_a_few_times() {
        let told = failures(&["O-3"; 7].map(violation), &Expectations::default());
        assert_eq!((told.len(), told[3].as_str()), (4, "O-3 is broken 4 times more"));
    }
}
