//! The steps of an exploration (E-3): arrivals one by one, another one first, a fault of the next request.

use core::hash::Hash;

use super::Run;
use super::agenda::{ArrivalWindow, Deviation};
use reenact_engine::contract::{Agent, Engine, KeySink, RequestId};
use reenact_engine::time::Time;
use reenact_scenario::plan::{LateCompletion, PlannedDeviation};
use reenact_scenario::single_fault::SingleFault;
use reenact_transcript::event::RunEnd;
use reenact_transcript::watch::TranscriptWatch;
use reenact_wire::prelude::*;
use reenact_world::Arrival;

impl<E: Engine, W: TranscriptWatch> Run<E, W> {
    /// Lets the next arrival happen, and gives the engine all inputs that are due because of it; `Some` when the run is over.
    pub fn advance_arrival(&mut self) -> Option<RunEnd> {
        loop {
            let end = self.advance();
            if end.is_some() || self.due.is_empty() {
                return end;
            }
        }
    }

    /// The arrivals that may come first instead of the next one. Only where no input is due.
    pub fn deviations(&self) -> Vec<Deviation> {
        self.agenda.deviations(self.now, |at, arrival| self.world.awaits(at, arrival))
    }

    /// The arrivals that are still to happen, in the order in which they come: place in the agenda, time, window.
    pub fn pending(&self) -> impl Iterator<Item = (usize, Time, ArrivalWindow, &Arrival)> {
        let entries = (0..).zip(self.agenda.in_order()).map(|(index, (at, window, arrival))| (index, at, window, arrival));
        entries.filter(|(_, at, _, arrival)| self.world.awaits(*at, arrival))
    }

    /// Lets an arrival of [`Self::deviations`] come first.
    pub fn deviate(&mut self, deviation: Deviation) {
        for (before, arrival) in self.agenda.bring_forward(deviation) {
            self.world.move_arrival(&arrival, before, deviation.at);
        }
    }

    /// A deviation as a plan names it.
    pub fn planned_deviation(&self, deviation: Deviation) -> PlannedDeviation {
        let arrival = self.agenda.in_order().nth(deviation.index).map(|(_, _, arrival)| self.world.arrival_name(arrival));
        PlannedDeviation {
            event: u32::try_from(self.events + 1).unwrap_or(u32::MAX),
            arrival: arrival.unwrap_or_default().into(),
            at: deviation.at.since(Time::ZERO),
        }
    }

    /// When an arrival of [`Self::deviations`] comes otherwise, and when it may come.
    pub fn arrival_times(&self, deviation: Deviation) -> Option<(Time, ArrivalWindow)> {
        self.agenda.in_order().nth(deviation.index).map(|(at, window, _)| (at, window))
    }

    /// The name of the arrival that comes next.
    pub fn next_arrival_name(&self) -> String {
        self.pending().next().map_or_else(String::new, |(.., arrival)| self.world.arrival_name(arrival))
    }

    /// When the next arrival comes.
    pub fn next_arrival_time(&self) -> Option<Time> {
        self.pending().next().map(|(_, at, ..)| at)
    }

    /// The tool runs that were told to stop and have not ended, by their names in plans.
    pub fn stopping_tools(&self) -> Vec<Arc<str>> {
        self.world.stopping_tools()
    }

    /// Lets a tool run of [`Self::stopping_tools`] come to its own end here and now. Returns whether there is such a run.
    pub fn complete_late(&mut self, tool: &str) -> bool {
        let input = self.world.complete_late(self.now, tool);
        self.note_files();
        self.due.extend(input);
        !self.due.is_empty()
    }

    /// A fault of a request that is not made yet.
    pub fn add_fault(&mut self, fault: Arc<SingleFault>) {
        self.world.add_fault(fault);
    }

    /// How many events the answer to an open request has; `None` for one that is no stream.
    pub fn count_answer_events(&self, agent: &Agent, id: RequestId) -> Option<u32> {
        self.world.count_answer_events(agent, id)
    }

    /// Takes in the times at which arrivals may come: where one may still come first, they decide what follows.
    pub fn hash_windows(&self, out: &mut KeySink) {
        for (_, at, window, _) in self.pending() {
            (at, window).hash(out);
        }
    }

    /// Makes the plan's late completions that belong before the next input (F-11).
    pub(crate) fn complete_as_planned(&mut self) {
        let setup = self.setup.clone();
        while let Some(LateCompletion { event, tool }) = setup.scenario.plan.late_completions.get(self.planned_completions)
            && u64::from(*event) == self.events + 1
            && self.due.is_empty()
            && self.complete_late(tool)
        {
            self.planned_completions += 1;
        }
    }

    /// Makes the plan's next deviation, if it is one for the next input (F-11). One that cannot be made is told at the end.
    pub(crate) fn deviate_as_planned(&mut self) {
        let setup = self.setup.clone();
        let Some(PlannedDeviation { event, arrival: name, at }) = setup.scenario.plan.deviations.get(self.planned_deviations) else {
            return;
        };
        if u64::from(*event) != self.events + 1 {
            return;
        }
        let is_named = |(at, _, arrival): &(Time, _, &_)| self.world.awaits(*at, arrival) && self.world.arrival_name(arrival) == **name;
        let index = self.agenda.in_order().position(|entry| is_named(&entry));
        if let Some(index) = index {
            self.planned_deviations += 1;
            self.deviate(Deviation { index, at: self.now.max(Time::ZERO + *at) });
        }
    }
}
