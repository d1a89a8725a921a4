//! The decisions of an exploration: what happens next at a state (E-3).

use super::super::interrupt::{BoundarySide, InjectionKind, inject};
use reenact_engine::contract::{Block, Engine};
use reenact_scenario::single_fault::SingleFault;
use reenact_sim::Run;
use reenact_sim::agenda::Deviation;
use reenact_transcript::event::RunEnd;
use reenact_transcript::watch::TranscriptWatch;
use reenact_wire::prelude::*;

/// A step, and the fault of a request that is made because of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ExploreChoice {
    /// The arrival or the input.
    pub step: ExploreStep,
    /// The fault.
    pub fault: Option<Arc<SingleFault>>,
}

/// A step of a run: an arrival, or an input of the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExploreStep {
    /// The next arrival comes.
    Next,
    /// Another arrival comes first.
    Deviation(Deviation),
    /// The user does something: before the next arrival, at its instant; or after the last one, at the present instant.
    Input(InjectionKind, BoundarySide),
    /// A tool that was told to stop comes to its own end instead: which of those that are stopping.
    LateCompletion(usize),
}

/// The outcome of a step.
pub(crate) enum StepOutcome {
    /// There is no such step here: nothing arrives any more.
    Impossible,
    /// The run goes on.
    Running,
    /// It is over.
    Over(RunEnd),
}

impl ExploreStep {
    /// All inputs, on both sides.
    pub(crate) const INPUTS: [Self; 4] = [
        Self::Input(InjectionKind::Cancel, BoundarySide::After),
        Self::Input(InjectionKind::Cancel, BoundarySide::Before),
        Self::Input(InjectionKind::Interrupt, BoundarySide::After),
        Self::Input(InjectionKind::Interrupt, BoundarySide::Before),
    ];
}

impl ExploreChoice {
    /// Makes the decision in a run in which no input is due.
    pub(crate) fn make<E: Engine, W: TranscriptWatch>(&self, run: &mut Run<E, W>, words: &Arc<[Block]>) -> StepOutcome {
        if let Some(fault) = &self.fault {
            run.add_fault(fault.clone());
        }
        match self.step {
            ExploreStep::Next => (),
            ExploreStep::Deviation(deviation) => run.deviate(deviation),
            // An input comes after an arrival, and the first one is still to come.
            ExploreStep::Input(_, BoundarySide::After) if run.events() == 0 => return StepOutcome::Impossible,
            ExploreStep::Input(kind, BoundarySide::After) => inject(run, kind, words),
            ExploreStep::LateCompletion(index) => {
                let is_made = run.stopping_tools().get(index).is_some_and(|tool| run.complete_late(tool));
                if !is_made {
                    return StepOutcome::Impossible;
                }
            }
            ExploreStep::Input(kind, BoundarySide::Before) => {
                if run.reach().is_some() {
                    return StepOutcome::Impossible;
                }
                inject(run, kind, words);
            }
        }
        match run.advance_arrival() {
            Some(end) => StepOutcome::Over(end),
            None => StepOutcome::Running,
        }
    }
}
