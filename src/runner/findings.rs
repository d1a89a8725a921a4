//! Findings of sweeps and verdicts for engines that break in one way each (E-1, O-16, O-18, O-19): without these tests a blind check would be green.

use core::num::NonZeroUsize;
use core::sync::atomic::{AtomicU32, Ordering};
use std::collections::BTreeSet;

use super::sweep::sweep_all;
use super::{PanicCatcher, run_all, run_file};
use reenact_engine::agent_loop::AgentLoop;
use reenact_engine::contract::{Effect, Effects, Emission, Engine, Environment, Input, Terminal, Time};
use reenact_explore::PanicGuard;
use reenact_explore::audit::audit;
use reenact_explore::interrupt::{BoundarySide, InjectionKind, RunBoundary};
use reenact_explore::sweep::{InterruptSweepReport, SweepFinding};
use reenact_explore::verdict::{look, violations_of};
use reenact_files::scenario::{LoadedScenario, load};
use reenact_sim::Run;
use reenact_wire::prelude::*;
use reenact_wire::request::Request;

fn hello(overrides: &[(&str, &str)]) -> LoadedScenario {
    let overrides: Vec<_> = overrides.iter().map(|(key, value)| (String::from(*key), String::from(*value))).collect();
    let path = crate::shipped_scenarios::checkout().join("scenarios/query/read-one-file.toml");
    load(&path, &overrides).unwrap_or_else(|error| panic!("{error}"))
}

fn swept<E: Engine>(kinds: &[InjectionKind], new_engine: impl Fn() -> E + Sync) -> InterruptSweepReport {
    sweep_all(&[hello(&[])], NonZeroUsize::MIN, kinds, new_engine).remove(0)
}

fn rules(findings: &[SweepFinding]) -> BTreeSet<&'static str> {
    findings.iter().flat_map(|finding| &finding.violations).map(|violation| violation.oracle).collect()
}

/// It panics at each interrupt.
#[derive(Clone, Debug, Default, PartialEq)]
struct Nervous(AgentLoop);

impl Engine for Nervous {
    fn step(&mut self, env: &Environment, now: Time, input: &Input, effects: &mut Effects) {
        assert!(!matches!(input, Input::Cancel | Input::Interrupt { .. }), "an interrupt");
        self.0.step(env, now, input, effects);
    }
}

#[test]
fn e_1_each_kind_is_tried_on_both_sides_of_events_and_a_panic_is_a_finding() {
    let report = swept(&InjectionKind::OF_USER, Nervous::default);
    assert_eq!(rules(&report.findings), BTreeSet::from(["O-19"]));
    let places: Vec<_> = report.findings.iter().filter_map(|finding| finding.interrupt.as_ref()).collect();
    for kind in InjectionKind::OF_USER {
        for side in [BoundarySide::Before, BoundarySide::After] {
            let is_there = places.iter().any(|(place, of)| *of == kind && place.boundary.side == side);
            assert!(is_there, "nothing was found for {kind} on the side {side:?}");
        }
    }
    let boundary = RunBoundary { event: 2, side: BoundarySide::After };
    let looked = look(&hello(&[]).setup, &Nervous::default(), boundary, InjectionKind::Cancel, &PanicCatcher).unwrap();
    assert_eq!(looked.violations.iter().map(|violation| violation.oracle).collect::<Vec<_>>(), ["O-19"]);
}

/// It panics when the answer has come.
#[derive(Clone, Debug, Default, PartialEq)]
struct Fragile(AgentLoop);

impl Engine for Fragile {
    fn step(&mut self, env: &Environment, now: Time, input: &Input, effects: &mut Effects) {
        assert!(!matches!(input, Input::End { .. }), "the answer");
        self.0.step(env, now, input, effects);
    }
}

#[test]
fn o_19_a_run_that_panics_without_an_interrupt_is_told_with_its_event() {
    let report = swept(&InjectionKind::ALL, Fragile::default);
    let place = report.usual_panic.unwrap();
    assert!(place.at > Time::ZERO && place.boundary.event > 5 && place.event == "end of answer 1", "{place:?}");
    assert_eq!(report.findings[0].violations[0].at, place.at, "the time is that of the panic");
    assert_eq!((report.usual_end, report.boundaries), (None, 0));
}

#[test]
fn o_19_a_run_that_panics_is_kept_up_to_there() {
    let panic = run_all(&[hello(&[])], NonZeroUsize::MIN, Fragile::default).remove(0).unwrap_err();
    let run = panic.run.as_ref().unwrap();
    assert!(run.at > Time::ZERO && run.transcript.events.iter().all(|event| event.at <= run.at), "{panic}");
    assert_eq!(panic.to_string(), format!("O-19 at {}: the engine panicked: the answer", run.at));
    let words = PanicCatcher.run(|| run_file(hello(&[]).path, Fragile::default()).unwrap().assert()).unwrap_err();
    assert!(words.starts_with(&panic.to_string()) && words.contains("  tool 1A   starts"), "{words}");
}

#[test]
fn f_10_the_cause_of_a_failure_comes_first() {
    let report = Run::new(hello(&[("expect.terminal", "\"max_turns\"")]).setup, Forgotten::default()).to_end();
    let rules: Vec<&str> = report.failures.iter().map(|failure| failure.split(' ').next().unwrap()).collect();
    assert_eq!(rules[..2], ["O-1", "expected"], "{:#?}", report.failures);
    assert!(!report.failures.iter().any(|failure| failure.starts_with("the API refuses")), "{:#?}", report.failures);
    let missing = format!("{:?}", run_file("scenarios/hello.tml", AgentLoop::default()).unwrap_err());
    assert!(missing.starts_with("scenarios/hello.tml: no such file or folder"), "{missing}");
}

#[test]
fn e_5_a_sweep_in_a_test_says_each_defect_once() {
    swept(&InjectionKind::ALL, AgentLoop::default).assert();
    let report = swept(&InjectionKind::ALL, Forgotten::default);
    let words = PanicCatcher.run(|| report.assert()).unwrap_err();
    assert!(words.contains("this sweep found 2 defects in ") && words.contains("runs, the smallest: the run as it is\n    O-"), "{words}");
    assert_eq!(words.lines().count(), 7, "{words}");
    let unseen = InterruptSweepReport { boundaries: 0, findings: Vec::new(), ..report };
    assert!(PanicCatcher.run(|| unseen.assert()).unwrap_err().contains("nothing was interrupted"));
}

/// It sends no result.
#[derive(Clone, Debug, Default, PartialEq)]
struct Forgotten(AgentLoop);

impl Engine for Forgotten {
    fn step(&mut self, env: &Environment, now: Time, input: &Input, effects: &mut Effects) {
        let mut all = Effects::default();
        self.0.step(env, now, input, &mut all);
        for (_, effect) in all.drain() {
            effects.push(match effect {
                Effect::Request { id, request } => {
                    let mut request = Request::clone(&request);
                    request.messages.truncate(2);
                    Effect::Request { id, request: request.into() }
                }
                other => other,
            });
        }
    }
}

/// It ends each prompt at once.
#[derive(Clone, Debug, Default, PartialEq)]
struct Idle;

impl Engine for Idle {
    fn step(&mut self, _: &Environment, _: Time, input: &Input, effects: &mut Effects) {
        if let Input::Prompt { prompt, .. } | Input::Interrupt { prompt, .. } = input {
            effects.push(Effect::Finished { prompt: *prompt, terminal: Terminal::Completed });
        }
    }
}

#[test]
fn e_1_a_cancel_that_finds_nothing_at_work_is_not_ignored() {
    let report = swept(&InjectionKind::ALL, || Idle);
    assert_eq!(report.ignored, []);
    assert!(!rules(&report.findings).contains("O-11"), "{:?}", report.findings);
}

#[test]
fn e_5_an_interrupted_run_tells_what_was_broken_before_its_interrupt() {
    let report = swept(&[InjectionKind::Cancel], DoubledTerminal::default);
    let later: Vec<_> = report.findings.iter().filter(|finding| finding.interrupt.is_some() && finding.before.is_some()).collect();
    assert!(!later.is_empty(), "{:?}", report.findings);
    assert!(later.iter().all(|finding| finding.first().unwrap().oracle == "O-8"), "{later:?}");
}

/// It tells each terminal twice, and panics at a cancel after that.
#[derive(Clone, Debug, Default, PartialEq)]
struct DoubledTerminal {
    engine: AgentLoop,
    is_over: bool,
}

impl Engine for DoubledTerminal {
    fn step(&mut self, env: &Environment, now: Time, input: &Input, effects: &mut Effects) {
        assert!(!(self.is_over && *input == Input::Cancel), "a cancel after the end");
        self.engine.step(env, now, input, effects);
        let over = effects.iter().find_map(|(_, effect)| matches!(effect, Effect::Finished { .. }).then(|| effect.clone()));
        if let Some(over) = over {
            self.is_over = true;
            effects.push(over);
        }
    }
}

/// It hears of cancels from the first block of an answer on.
#[derive(Clone, Debug, Default, PartialEq)]
struct HardOfHearing {
    engine: AgentLoop,
    hears: bool,
}

impl Engine for HardOfHearing {
    fn step(&mut self, env: &Environment, now: Time, input: &Input, effects: &mut Effects) {
        if self.hears || *input != Input::Cancel {
            self.engine.step(env, now, input, effects);
        }
        self.hears |= effects.iter().any(|(_, effect)| matches!(effect, Effect::Emit(Emission::Assistant(_))));
    }
}

#[test]
fn e_1_an_engine_that_ignores_some_interrupts_does_not_ignore_all() {
    let report = swept(&[InjectionKind::Cancel], HardOfHearing::default);
    assert_eq!(report.ignored, []);
    assert!(report.findings.len() > 1, "each place is told: {:?}", report.findings);
}

/// It says something else in each run, or in each that is interrupted.
#[derive(Clone, Debug, Default)]
struct Forgetful {
    engine: AgentLoop,
    runs: Arc<AtomicU32>,
    only_when_interrupted: bool,
}

impl PartialEq for Forgetful {
    fn eq(&self, other: &Self) -> bool {
        self.engine == other.engine
    }
}

impl Engine for Forgetful {
    fn step(&mut self, env: &Environment, now: Time, input: &Input, effects: &mut Effects) {
        self.engine.step(env, now, input, effects);
        let speaks = if self.only_when_interrupted { *input == Input::Cancel } else { matches!(input, Input::Prompt { .. }) };
        if speaks {
            let text = format!("run {}", self.runs.fetch_add(1, Ordering::Relaxed)).into();
            effects.push(Effect::Emit(Emission::Warning { text }));
        }
    }
}

#[test]
fn o_16_the_audit_repeats_the_run_as_it_is_and_interrupted_ones() {
    let setup = hello(&[]).setup;
    let found = |only_when_interrupted, kinds: &[InjectionKind]| {
        let engine = Forgetful { only_when_interrupted, ..Forgetful::default() };
        audit(&setup, &engine, kinds, 8, &PanicCatcher).1.into_iter().map(|finding| finding.interrupt.is_some()).collect::<BTreeSet<_>>()
    };
    assert_eq!(found(false, &[]), BTreeSet::from([false]), "without an interrupt there is the run as it is");
    assert_eq!(found(true, &[InjectionKind::Cancel]), BTreeSet::from([true]), "the run as it is says nothing else");
    assert_eq!(rules(&swept(&[], Forgetful::default).findings), BTreeSet::from(["O-16"]), "a sweep tells what its audit finds");
    let engine = Forgetful { only_when_interrupted: true, ..Forgetful::default() };
    let boundary = RunBoundary { event: 1, side: BoundarySide::After };
    let looked = look(&setup, &engine, boundary, InjectionKind::Cancel, &PanicCatcher).unwrap();
    assert!(looked.violations.iter().any(|violation| violation.oracle == "O-16"), "{:?}", looked.violations);
}

#[test]
fn o_18_an_end_that_nobody_accepts_is_a_finding() {
    let loaded = hello(&[("limits.requests", "1")]);
    let report = Run::new(loaded.setup.clone(), AgentLoop::default()).to_end();
    let found = |accepted| violations_of(&loaded.setup, &report.transcript, accepted).into_iter().map(|violation| violation.oracle);
    assert_eq!(found(None).collect::<Vec<_>>(), ["O-18"]);
    assert_eq!(found(Some(report.end.as_str())).collect::<Vec<_>>(), [""; 0]);
}

/// Inputs that come at one instant make a difference here: the next one must not be taken before the interrupt that the plan has between them.
#[test]
fn o_16_a_planned_interrupt_comes_at_its_boundary_however_a_run_is_looked_at() {
    for timing in ["{}", r#"{ head = "10ms", first_event = "10ms", between_events = "0ms" }"#] {
        for event in 1..20 {
            let plan = format!(r#"[{{ event = {event}, side = "after", kind = "cancel" }}]"#);
            let scenario = hello(&[("timing", timing), ("plan.interrupt", &plan)]);
            let report = sweep_all(&[scenario], NonZeroUsize::MIN, &[InjectionKind::Cancel], AgentLoop::default).remove(0);
            assert!(!rules(&report.findings).contains("O-16"), "event {event}, {timing}: {:?}", report.findings);
        }
    }
}
