//! The orders in which the world could have delivered otherwise: one arrival before others that usually come first (E-3).
//!
//! ```text
//!   usual    a ────●                 window of b    [───●────]
//!            b ──────────●
//!   changed  b ───●                  b as early as its window permits; where that is behind a,
//!            a ────●                 a waits until right after b, if its own window permits
//! ```

use super::decision::{ChangedOrder, ChangedTimes, ClientDecision, PlacedDecision};
use crate::run_trace::{ArrivalPart, RunTrace, TimeLever, TracedArrival, TracedSource};
use reenact_engine::time::{Micros, Time};
use reenact_scenario::plan::AnswerTimes;
use reenact_wire::prelude::*;

/// The smallest step of time.
const STEP: Micros = Micros(1);

/// The other orders of a run, from `from` on.
pub(super) fn orders_of(trace: &RunTrace, from: Time) -> Vec<PlacedDecision> {
    let mut came: Vec<(u32, usize, &TracedArrival)> = Vec::new();
    for (number, source) in trace.sources.iter().enumerate() {
        came.extend(source.arrivals.iter().filter_map(|arrival| Some((arrival.came?, number, arrival))));
    }
    came.sort_by_key(|(place, ..)| *place);
    let mut found = Vec::new();
    let mut previous = from;
    for (place, next, arrival) in came {
        if arrival.at >= from {
            let point = ChoicePoint { trace, place, previous, next, arrival };
            found.extend((0..trace.sources.len()).filter_map(|other| point.order_with(other)));
        }
        previous = previous.max(arrival.at);
    }
    found
}

/// A point of a run at which an arrival comes next.
struct ChoicePoint<'a> {
    trace: &'a RunTrace,
    /// How many came before.
    place: u32,
    /// When the last of these came.
    previous: Time,
    /// The source of the next arrival.
    next: usize,
    arrival: &'a TracedArrival,
}

impl ChoicePoint<'_> {
    /// The order in which the first pending arrival of another source comes here.
    fn order_with(&self, other: usize) -> Option<PlacedDecision> {
        let first = self.pending(other).filter(|_| other != self.next)?;
        let source = &self.trace.sources[other];
        let pending = &source.arrivals[first];
        let earliest = if self.place == 0 && self.previous == Time::ZERO { self.previous } else { self.previous + STEP };
        let at = earliest.max(pending.earliest);
        if at > pending.latest.max(pending.at) {
            return None;
        }
        let mut times = alloc::vec![changed(source, first, at)?];
        let mut behind = at;
        for (number, source) in self.trace.sources.iter().enumerate().filter(|(number, _)| *number != other) {
            let Some(waiting) = self.pending(number) else { continue };
            let arrival = &source.arrivals[waiting];
            if arrival.at > at {
                continue;
            }
            behind = behind + STEP;
            if behind > arrival.latest {
                return None;
            }
            times.push(changed(source, waiting, behind)?);
        }
        let latest = if times.len() == 1 { Time(self.arrival.at.0.saturating_sub(STEP.0)) } else { at };
        let order = ChangedOrder { arrival: pending.name.clone(), at, latest, before: self.arrival.name.clone(), times };
        Some(PlacedDecision { decision: ClientDecision::Order(order), at: at.min(self.arrival.at) })
    }

    /// The first arrival of a source that is still to come.
    fn pending(&self, number: usize) -> Option<usize> {
        let source = &self.trace.sources[number];
        let is_there = source.came_before <= self.place && source.left_at.is_none_or(|left| left >= self.arrival.at);
        let is_pending = |arrival: &TracedArrival| arrival.came.is_none_or(|came| came >= self.place);
        source.arrivals.iter().position(is_pending).filter(|_| is_there)
    }
}

/// The times of a source whose arrival comes at `at`, and all behind it as long after as usual.
fn changed(source: &TracedSource, place: usize, at: Time) -> Option<ChangedTimes> {
    let own = source.gap(place, at);
    match source.lever.as_ref()? {
        TimeLever::Tool(id) => Some(ChangedTimes::Tool { id: id.clone(), takes: own }),
        TimeLever::Answer(request) => {
            let mut times = AnswerTimes::default();
            for (number, arrival) in source.arrivals.iter().enumerate() {
                let gap = if number == place { own } else { source.gap(number, arrival.at) };
                match arrival.part {
                    ArrivalPart::Head => times.head = Some(gap),
                    ArrivalPart::Pieces(pieces) => {
                        times.gaps.push(gap);
                        times.gaps.extend((1..pieces).map(|_| Micros::ZERO));
                    }
                    ArrivalPart::End => times.end = Some(gap),
                }
            }
            Some(ChangedTimes::Answer { request: request.clone(), times })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(id: &str, from: u64, at: u64, came: Option<u32>) -> TracedSource {
        let window = reenact_sim::agenda::ArrivalWindow::new(Time(from), Time(at), None);
        let (earliest, latest) = (window.earliest, window.latest);
        let end = TracedArrival { name: id.into(), part: ArrivalPart::End, at: Time(at), earliest, latest, came };
        TracedSource { lever: Some(TimeLever::Tool(id.into())), from: Time(from), came_before: 0, left_at: None, arrivals: vec![end] }
    }

    fn words(trace: &[TracedSource], from: u64) -> Vec<String> {
        let trace = RunTrace { sources: trace.to_vec(), ..RunTrace::default() };
        orders_of(&trace, Time(from)).iter().map(|placed| placed.decision.to_string()).collect()
    }

    #[test]
    fn e_3_an_arrival_comes_as_early_as_its_window_permits() {
        let two = [tool("a", 0, 60, Some(0)), tool("b", 0, 100, Some(1))];
        assert_eq!(words(&two, 0), ["b at 0.000050s, before a"]);
        let orders = orders_of(&RunTrace { sources: two.into(), ..RunTrace::default() }, Time::ZERO);
        let ClientDecision::Order(order) = &orders[0].decision else { panic!("{orders:?}") };
        assert_eq!(order.times, [ChangedTimes::Tool { id: "b".into(), takes: Micros(50) }]);
        assert_eq!((order.latest, orders[0].at), (Time(59), Time(50)));
    }

    #[test]
    fn e_3_what_was_first_waits_as_long_as_its_window_permits() {
        let two = [tool("a", 0, 40, Some(0)), tool("b", 0, 100, Some(1))];
        let orders = orders_of(&RunTrace { sources: two.into(), ..RunTrace::default() }, Time::ZERO);
        let ClientDecision::Order(order) = &orders[0].decision else { panic!("{orders:?}") };
        let takes = |id: &str, takes| ChangedTimes::Tool { id: id.into(), takes: Micros(takes) };
        assert_eq!((order.at, &*order.times, orders[0].at), (Time(50), &[takes("b", 50), takes("a", 51)][..], Time(40)));
        assert_eq!(words(&[tool("a", 0, 20, Some(0)), tool("b", 0, 100, Some(1))], 0), [""; 0], "twice 20 is less than half of 100");
    }

    #[test]
    fn e_3_nothing_comes_outside_of_its_window() {
        let at_its_time = |name: &str, came| {
            let mut source = tool(name, 0, 60, Some(came));
            (source.arrivals[0].earliest, source.arrivals[0].latest) = (Time(60), Time(60));
            source
        };
        // The third could only come before the second, and behind the first, if it came later than it can.
        let [mut first, second, third] = [at_its_time("a", 0), at_its_time("b", 1), at_its_time("c", 2)];
        assert_eq!(
            words(&[first.clone(), tool("b", 0, 60, Some(1)), third.clone()], 1),
            ["b at 0.000030s, before a"],
            "however long the second can wait"
        );
        assert_eq!(words(&[first.clone(), second.clone(), third.clone()], 0), [""; 0]);
        first.arrivals[0].at = Time(50);
        assert_eq!(words(&[first, second, third], 0), [""; 0], "nor can the second wait for the third");
    }

    #[test]
    fn e_3_nothing_changes_before_the_last_decision() {
        let three = [tool("a", 0, 60, Some(0)), tool("b", 0, 70, Some(1)), tool("c", 0, 80, Some(2))];
        assert_eq!(words(&three, 0), ["b at 0.000035s, before a", "c at 0.000040s, before a", "c at 0.000061s, before b"]);
        assert_eq!(words(&three, 65), ["c at 0.000066s, before b"]);
        assert_eq!(words(&three, 75), [""; 0]);
    }

    #[test]
    fn e_3_what_begins_later_or_was_taken_back_cannot_come() {
        let mut two = [tool("a", 0, 60, Some(0)), tool("b", 0, 100, None)];
        two[1].left_at = Some(Time(30));
        assert_eq!(words(&two, 0), [""; 0]);
        two[1].left_at = Some(Time(80));
        assert_eq!(words(&two, 0), ["b at 0.000050s, before a"]);
        two[1].came_before = 1;
        assert_eq!(words(&two, 0), [""; 0]);
    }

    #[test]
    fn e_3_the_pieces_of_an_answer_keep_their_order_and_gaps() {
        let part = |name: &str, part, from, at, came| {
            let window = reenact_sim::agenda::ArrivalWindow::new(Time(from), Time(at), None);
            TracedArrival { name: name.into(), part, at: Time(at), earliest: window.earliest, latest: window.latest, came: Some(came) }
        };
        let arrivals = vec![
            part("head", ArrivalPart::Head, 0, 10, 0),
            part("piece", ArrivalPart::Pieces(2), 10, 50, 2),
            part("end", ArrivalPart::End, 50, 60, 3),
        ];
        let answer = TracedSource { lever: Some(TimeLever::Answer("1".into())), from: Time(0), came_before: 0, left_at: None, arrivals };
        let trace = RunTrace { sources: vec![answer, tool("a", 0, 40, Some(1))], ..RunTrace::default() };
        let orders = orders_of(&trace, Time::ZERO);
        let shown: Vec<String> = orders.iter().map(|placed| placed.decision.to_string()).collect();
        assert_eq!(shown, ["piece at 0.000030s, before a"], "the head cannot wait until a comes");
        let ClientDecision::Order(order) = &orders[0].decision else { panic!() };
        let times = AnswerTimes { head: Some(Micros(10)), gaps: vec![Micros(20), Micros::ZERO], end: Some(Micros(10)) };
        assert_eq!(order.times, [ChangedTimes::Answer { request: "1".into(), times }]);
    }
}
