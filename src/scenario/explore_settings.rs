//! `[explore]`: the decisions that explorations of a scenario try (E-3).

use crate::language::keys::keys;
use crate::language::tables::Section;
use crate::single_fault::SingleFaultKind;
use reenact_engine::time::Micros;
use reenact_wire::prelude::*;

keys! {
    /// The decisions that `explore` and `fuzz` try (E-3). A run as it is does not know them.
    #[derive(Eq)]
    pub struct ExploreSettings {
        /// The faults of requests.
        faults: Vec<SingleFaultKind> = SingleFaultKind::ALL.to_vec(), example("[\"overloaded\", \"cut\"]");
        /// How much earlier or later than usual an arrival may come.
        jitter: ArrivalJitter as Section<ArrivalJitter> = ArrivalJitter::default();
    }
}

impl ExploreSettings {
    /// The faults that are not tried.
    pub fn untried_faults(&self) -> Vec<SingleFaultKind> {
        SingleFaultKind::ALL.into_iter().filter(|kind| !self.faults.contains(kind)).collect()
    }
}

keys! {
    /// How much earlier or later than usual an arrival may come when it comes out of order. By default it comes after half to twice its usual span, or within a
    /// millisecond where that is nothing.
    #[derive(Copy, Eq)]
    pub struct ArrivalJitter {
        /// Progress and ends of tools.
        tools: Option<Micros> = None, example("\"500ms\"");
        /// Heads, events and ends of answers.
        answers: Option<Micros> = None, example("\"50ms\"");
        /// Ends of hooks.
        hooks: Option<Micros> = None, example("\"1s\"");
        /// Answers of people to questions.
        permissions: Option<Micros> = None, example("\"10s\"");
        /// Prompts, messages and cancels of the scenario.
        user: Option<Micros> = None, example("\"2s\"");
        /// New credentials.
        auth: Option<Micros> = None, example("\"1s\"");
    }
}
