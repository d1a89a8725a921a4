//! Whether an engine takes no notice of an interrupt, wherever in the run it comes.
//!
//! Such an engine breaks a rule at every boundary, and each of these findings is the same. They are reported as one.

use super::PanicGuard;
use super::finding::SweepFinding;
use super::interrupt::{InjectionKind, content, inject};
use reenact_engine::contract::{Agent, Effect, Engine, Input};
use reenact_engine::time::Time;
use reenact_oracle::Violation;
use reenact_sim::Run;
use reenact_transcript::event::{Event, EventKind, Transcript};
use reenact_transcript::watch::TranscriptWatch;
use reenact_wire::prelude::*;
use reenact_world::setup::RunSetup;

/// So many findings of a kind of interrupt are told by themselves.
const FEW: usize = 1;

/// The kinds of which the engine takes no notice, and the findings with one in place of all that follow from it.
pub(super) fn fold<E: Engine>(
    setup: &Arc<RunSetup>,
    engine: &E,
    kinds: &[InjectionKind],
    findings: Vec<SweepFinding>,
    guard: &impl PanicGuard,
) -> (Vec<InjectionKind>, Vec<SweepFinding>) {
    let of = |findings: &[SweepFinding], kind: InjectionKind| findings.iter().filter(|finding| is_of(finding, kind)).count();
    let is_seen = |kind: &InjectionKind| *kind != InjectionKind::Heal && of(&findings, *kind) > FEW;
    let suspected = kinds.iter().copied().filter(is_seen);
    let ignored: Vec<InjectionKind> = suspected.filter(|kind| is_ignored(setup, engine, *kind, guard)).collect();
    if ignored.is_empty() {
        return (ignored, findings);
    }
    let (follow, mut others): (Vec<_>, Vec<_>) = findings.into_iter().partition(|finding| ignored.iter().any(|kind| is_of(finding, *kind)));
    let at = follow.first().and_then(|first| first.violations.first()).map(|violation| violation.at).unwrap_or_default();
    let runs = follow.len();
    let violations = ignored.iter().map(|kind| violation(*kind, at, of(&follow, *kind))).collect();
    let interrupt = follow.into_iter().next().and_then(|first| first.interrupt);
    others.push(SweepFinding { interrupt, before: None, violations, runs });
    (ignored, others)
}

fn is_of(finding: &SweepFinding, kind: InjectionKind) -> bool {
    finding.interrupt.as_ref().is_some_and(|(_, of)| *of == kind)
}

fn violation(kind: InjectionKind, at: Time, places: usize) -> Violation {
    let (oracle, text) = match kind {
        InjectionKind::Cancel => (
            "O-11",
            "the engine ignores a cancel: at every boundary the run continues as it does without one. Handle `Input::Cancel`: close the \
             request, stop the tools, finish the prompt",
        ),
        InjectionKind::Interrupt | InjectionKind::Heal => (
            "O-8",
            "the engine ignores a message that is submitted while it works: the message is lost, and its prompt gets no terminal. Handle \
             `Input::Interrupt`: keep the message, and start its prompt when the open one is over",
        ),
    };
    Violation { at, oracle, text: format!("{text} (a rule is broken in {})", plural(places as u64, "run")) }
}

/// Whether each run with such an interrupt does what the run without one does. Most engines show at the first prompt that it is not so. A cancel that
/// finds no prompt at work anywhere has nothing to do, so it is not ignored.
fn is_ignored<E: Engine>(setup: &Arc<RunSetup>, engine: &E, kind: InjectionKind, guard: &impl PanicGuard) -> bool {
    let mut run = Run::new(setup.clone(), engine.clone()).without_oracles();
    let mut work = Run::watched(setup.clone(), engine.clone(), OpenPrompts::default());
    let mut found_work = kind != InjectionKind::Cancel;
    run.expect_injections();
    let end = |run: Run<E>| guard.run(|| run.to_end().transcript).ok();
    let Some(usual) = end(run.clone()) else { return false };
    let interrupted = |run: &Run<E>| {
        let mut copy = run.clone();
        inject(&mut copy, kind, &content());
        end(copy)
    };
    loop {
        match interrupted(&run) {
            Some(transcript) if engine_events(&transcript).eq(engine_events(&usual)) => (),
            _ => return false,
        }
        found_work |= work.watcher().0 > 0;
        if work.advance().and(run.advance()).is_some() {
            return found_work;
        }
    }
}

/// How many prompts of the root are at work.
#[derive(Clone, Copy, Debug, Default)]
struct OpenPrompts(usize);

impl TranscriptWatch for OpenPrompts {
    fn input(&mut self, _: Time, agent: &Agent, input: &Input) {
        self.0 += usize::from(agent.is_root() && matches!(input, Input::Prompt { .. } | Input::Interrupt { .. }));
    }

    fn effect(&mut self, _: Time, agent: &Agent, effect: &Effect) {
        let ends = agent.is_root() && matches!(effect, Effect::Finished { .. });
        self.0 = self.0.saturating_sub(usize::from(ends));
    }

    fn note(&mut self, _: Time, _: &Agent, _: &EventKind) {}
}

/// The effects of the engine, with their times.
fn engine_events(transcript: &Transcript) -> impl Iterator<Item = &Event> {
    transcript.events.iter().filter(|event| matches!(event.what, EventKind::Effect(_) | EventKind::Request { .. }))
}
