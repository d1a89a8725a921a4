//! The verdict on a finished run: the violations that the oracles saw, and its end.

use super::PanicGuard;
use super::interrupt::{InjectionKind, RunBoundary, interrupt_at};
use reenact_engine::contract::Engine;
use reenact_engine::time::{Micros, Time};
use reenact_oracle::{Oracles, QuestionCounts, Violation, repeated_requests, run_end};
use reenact_scenario::types::Scenario;
use reenact_sim::{Run, limits, rules};
use reenact_transcript::event::{EventKind, RunEnd, Transcript};
use reenact_transcript::record::TranscriptRecorder;
use reenact_wire::prelude::*;
use reenact_world::setup::RunSetup;

/// The oracle of a run whose engine panics.
const NO_PANIC: &str = "O-19";

/// A run that was made again to be looked at.
#[derive(Clone, Debug)]
pub struct InspectedRun {
    /// The events, up to a panic if there was one.
    pub transcript: Transcript,
    /// The failures.
    pub violations: Vec<Violation>,
}

/// Makes an interrupted run again, from the start.
///
/// # Errors
/// When the run is over before the boundary; says how many events it has.
pub fn look<E: Engine>(
    setup: &Arc<RunSetup>,
    engine: &E,
    boundary: RunBoundary,
    kind: InjectionKind,
    guard: &impl PanicGuard,
) -> Result<InspectedRun, String> {
    let new_run = || Run::new(setup.clone(), engine.clone());
    let mut run = new_run();
    interrupt_at(&mut run, boundary, kind).map_err(|(end, events)| {
        format!("event {boundary} is not reached: the run has {events} events ({}): name one of them", limits::end_text(setup, &end))
    })?;
    let usual_end = guard.run(|| new_run().finish().end).ok();
    let copy = guard.run(|| run.clone().finish());
    let transcript_of = |recorder: TranscriptRecorder| recorder.into_transcript(&setup.scenario.title, setup.scenario.shown_seed());
    let accepted = usual_end.as_ref().map(RunEnd::as_str);
    match (copy, guard.run(|| run.clone().finish())) {
        (Ok(copy), Ok(again)) => {
            let accepted = accepted.filter(|_| may_end_as_usual(Some(kind), &copy.end, copy.faults));
            let transcript = transcript_of(copy.watcher);
            let mut violations = violations_of(setup, &transcript, accepted);
            violations.extend(repeated_requests::compare(&transcript, &transcript_of(again.watcher)));
            Ok(InspectedRun { transcript, violations })
        }
        (Err(panic), _) | (_, Err(panic)) => {
            let transcript = transcript_of(until_panic(run, guard));
            let at = transcript.events.last().map(|event| event.at).unwrap_or_default();
            let mut violations = violations_of(setup, &transcript, accepted);
            violations.push(panicked(at, &panic));
            Ok(InspectedRun { transcript, violations })
        }
    }
}

/// The violations in the run of a transcript. `accepted` is an end that counts as good beside a terminal for every prompt.
pub fn violations_of(setup: &RunSetup, transcript: &Transcript, accepted: Option<&str>) -> Vec<Violation> {
    let violations = rules::violations_in(setup, transcript, accepted, Micros::ZERO);
    match transcript.events.last().map(|event| (event.at, &event.what)) {
        Some((at, EventKind::Ended { end })) => with_end(setup, violations, (end, at), accepted),
        _ => violations,
    }
}

/// Whether a run may end as the run without an interrupt does. That one may reach a limit because the API fails for ever; once no fault comes any
/// more, each run comes to its terminals (O-18).
pub(super) fn may_end_as_usual(kind: Option<InjectionKind>, end: &RunEnd, faults: u32) -> bool {
    kind != Some(InjectionKind::Heal) || faults == 0 || !matches!(end, RunEnd::LimitReached { .. })
}

/// The end of the run as it is, where it counts as good in other runs as well: each prompt was answered, or the scenario says that it ends so. Otherwise the
/// run as it is fails, and others that end like it fail with it.
pub(super) fn announced_end(setup: &RunSetup, end: RunEnd) -> Option<RunEnd> {
    is_announced(&setup.scenario, end.as_str()).then_some(end)
}

/// Whether a scenario says that its run ends so.
pub fn is_announced(scenario: &Scenario, end: &str) -> bool {
    end == RunEnd::Idle.as_str() || scenario.expect.terminal.as_deref() == Some(end)
}

/// The end that counts as good in an exploration: the usual one; and a limit that is reached because a fault that was injected goes on for ever (O-18).
pub(super) fn accepted_end<'a>(usual: Option<&'a RunEnd>, end: &'a RunEnd, has_endless_fault: bool) -> Option<&'a str> {
    let is_patience = matches!(end, RunEnd::LimitReached { limit } if [limits::TIME, limits::REQUESTS].contains(&&**limit));
    if has_endless_fault && is_patience { Some(end.as_str()) } else { usual.map(RunEnd::as_str) }
}

/// The violations of a finished run, beside the `known` ones that it began with.
pub(super) fn judge(setup: &RunSetup, oracles: Oracles, known: usize, end: (&RunEnd, Time), accepted: Option<&str>) -> Vec<Violation> {
    judge_counting(setup, oracles, known, end, accepted).0
}

/// The same, with how often each oracle was asked in the whole run.
pub(super) fn judge_counting(
    setup: &RunSetup,
    mut oracles: Oracles,
    known: usize,
    end: (&RunEnd, Time),
    accepted: Option<&str>,
) -> (Vec<Violation>, QuestionCounts) {
    rules::tell_end(&mut oracles, end, accepted);
    let counts = oracles.question_counts();
    let mut violations = oracles.into_violations();
    violations.drain(..known);
    (with_end(setup, violations, end, accepted), counts)
}

/// One that ends badly because of what an oracle saw needs no second word.
fn with_end(setup: &RunSetup, mut violations: Vec<Violation>, (end, at): (&RunEnd, Time), accepted: Option<&str>) -> Vec<Violation> {
    let is_good = *end == RunEnd::Idle || accepted == Some(end.as_str());
    if violations.is_empty() && !is_good {
        let text = format!("the run ended with {}: {}", end.as_str(), limits::end_text(setup, end));
        violations.push(Violation { at, oracle: run_end::ORACLE, text });
    }
    violations
}

/// The violation of a run whose engine panicked with these words.
#[doc(hidden)]
pub fn panicked(at: Time, words: &str) -> Violation {
    Violation { at, oracle: NO_PANIC, text: format!("the run panicked: {words}") }
}

/// Goes on until the panic that is known to come, for what was recorded up to it.
fn until_panic<E: Engine>(mut run: Run<E>, guard: &impl PanicGuard) -> TranscriptRecorder {
    while let Ok(None) = guard.run(|| run.advance()) {}
    run.watcher().clone()
}
