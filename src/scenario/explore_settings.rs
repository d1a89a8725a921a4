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
    /// How the scenario makes its explorations narrower or wider, in sentences: nothing is claimed of what is left out.
    pub fn in_words(&self) -> Vec<String> {
        let mut found = Vec::new();
        let untried = SingleFaultKind::ALL.into_iter().filter(|kind| !self.faults.contains(kind)).map(SingleFaultKind::as_str);
        let untried: Vec<&str> = untried.collect();
        if !untried.is_empty() {
            found.push(format!("[explore] leaves out these faults, so nothing is claimed of them: {}", untried.join(", ")));
        }
        let limits = self.jitter.in_words();
        if !limits.is_empty() {
            let limits = limits.join(", ");
            found.push(format!("[explore.jitter] says how far an arrival may be, so nothing is claimed of other times: {limits}"));
        }
        found
    }
}

keys! {
    /// How much earlier or later than usual an arrival may come when it comes out of order. By default it keeps to the range of its latency. Where
    /// the scenario has none, it comes after half to twice its usual span, or within a millisecond where that is nothing.
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

impl ArrivalJitter {
    /// Each limit in words.
    pub fn in_words(&self) -> Vec<String> {
        let Self { tools, answers, hooks, permissions, user, auth } = *self;
        let named =
            [("tools", tools), ("answers", answers), ("hooks", hooks), ("permissions", permissions), ("user", user), ("auth", auth)];
        named.iter().filter_map(|(name, limit)| Some(format!("{name} at most {} from their time", (*limit)?))).collect()
    }
}
