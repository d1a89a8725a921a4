//! Every choice that the world makes (F-11): as the plan says, else drawn under a key of its own (D3); and noted for a plan.
//!
//! One door, so that what is drawn can be named: a draw that does not go through here is in no plan.

use alloc::collections::BTreeMap;

use super::arrival_slack::ArrivalSlack;
use super::cuts;
use super::pacing::{self, AnswerTimesTable, KnownTimes};
use super::plan::{ResponseHead, ResponsePlan, TimedPiece};
use super::setup::PreparedAnswer;
use reenact_engine::contract::{Agent, RequestId};
use reenact_engine::random::Seed;
use reenact_engine::time::Micros;
use reenact_scenario::latency::Latency;
use reenact_scenario::plan::{AnswerTimes, NamedChoices, Plan, WaitKind};
use reenact_scenario::types::{AnswerTiming, Chunking, Scenario};
use reenact_wire::error::ApiError;
use reenact_wire::prelude::*;

/// The choices that were made so far.
#[derive(Clone, Debug, Default, PartialEq)]
#[doc(hidden)]
pub struct NotedChoices {
    /// The choices.
    pub(crate) plan: Plan,
    /// How long the answers to requests say to wait: the engine has no choice there.
    told: BTreeMap<String, Micros>,
}

impl NotedChoices {
    /// The choices as a plan.
    #[doc(hidden)]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }
}

/// Choices that were made change nothing later: no part of a state's key (E-3).
impl core::hash::Hash for NotedChoices {
    fn hash<H: core::hash::Hasher>(&self, _: &mut H) {}
}

/// How long something takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[doc(hidden)]
pub struct DrawnLatency {
    /// This time.
    pub(crate) takes: Micros,
    /// How far from it another time may be; `None` where the scenario has no range for it.
    pub(crate) slack: Option<ArrivalSlack>,
}

impl DrawnLatency {
    /// No time at all.
    pub(crate) const NOTHING: Self = Self { takes: Micros::ZERO, slack: None };
}

/// Makes choices.
#[derive(Debug)]
#[doc(hidden)]
pub struct ChoiceMaker<'a> {
    seed: Seed,
    plan: &'a Plan,
    noted: Option<&'a mut Arc<NotedChoices>>,
}

impl<'a> ChoiceMaker<'a> {
    /// The choices of a scenario's run.
    #[doc(hidden)]
    pub fn new(scenario: &'a Scenario, noted: Option<&'a mut Arc<NotedChoices>>) -> Self {
        Self { seed: scenario.seed, plan: &scenario.plan, noted }
    }

    /// Choices without a plan.
    #[cfg(test)]
    pub(crate) fn drawn(seed: Seed) -> Self {
        static NOTHING: Plan = Plan::EMPTY;
        Self { seed, plan: &NOTHING, noted: None }
    }

    /// How long something takes, and how far from that it may be. `nth` counts from 0 and serves tables.
    pub(crate) fn latency(&mut self, of: WaitKind, name: &str, latency: &Latency, nth: usize) -> DrawnLatency {
        let given = self.plan.latency(of, name);
        let draw = || latency.draw(&mut self.seed.draws(of.purpose(), name), None, nth).unwrap_or_default();
        let takes = given.unwrap_or_else(draw);
        if given.is_some() || latency.is_drawn() {
            self.note(|plan| put(plan.latencies.entry(of).or_default(), name, takes));
        }
        DrawnLatency { takes, slack: ArrivalSlack::within(latency.range(), takes) }
    }

    /// Whether a probable fault hits.
    pub(crate) fn fault(&mut self, name: &str, identity: &str, probability: f64) -> bool {
        let draw = || self.seed.draws("fault", identity).unit() < probability;
        let hits = self.plan.faults.get(name).copied().unwrap_or_else(draw);
        self.note(|plan| put(&mut plan.faults, name, hits));
        hits
    }

    /// The id that an error carries: made up, and the same for the same request of the same run.
    pub(crate) fn request_id(&mut self, agent: &Agent, id: RequestId) -> Arc<str> {
        let name = agent.key(id);
        let make_up = || {
            let key = format!("{}/{}/{}", self.seed.0, agent.tool_use_id().unwrap_or_default(), id);
            format!("req_011{}", &blake3::hash(key.as_bytes()).to_hex().as_str()[..21]).into()
        };
        let id = self.plan.request_ids.get(&*name).cloned().unwrap_or_else(make_up);
        self.note(|plan| put(&mut plan.request_ids, &name, id.clone()));
        id
    }

    /// When the answer to a request arrives.
    pub(crate) fn times(&mut self, name: &str, timing: &AnswerTiming, known: &KnownTimes) -> AnswerTimesTable {
        let drawn = pacing::times(timing, known, &mut self.seed.draws("answer-pace", name));
        let given = self.plan.answers.get(name);
        let times = match given {
            Some(given) => as_planned(given, &drawn),
            None => drawn,
        };
        if given.is_some() || pacing::is_drawn(timing, known) {
            self.note(|plan| put(&mut plan.answers, name, planned(&times, known)));
        }
        times
    }

    /// A piece of the answer to a request in network chunks, at least one; pieces are numbered from 1.
    pub(crate) fn cut<'p>(&mut self, request: (&Agent, RequestId), number: u32, piece: &'p [u8], chunking: &Chunking) -> Vec<&'p [u8]> {
        // Most bodies are taken as they came; opening a keyed stream for each of their pieces would cost more than framing them.
        if *chunking == Chunking::AsRecorded || piece.is_empty() {
            return vec![piece];
        }
        let request = request.0.key(request.1);
        let name = format!("{request} piece {number}");
        let mut draws = self.seed.draws("chunk-cuts", &format!("{request}/{number}"));
        let given = self.plan.chunks.get(&*name);
        let sizes = given.map_or(&[][..], |given| &**given);
        let chunks = cuts::chunks(piece, chunking, sizes, &mut draws);
        if given.is_some() || *chunking == Chunking::Random {
            let size = |chunk: &&[u8]| u32::try_from(chunk.len()).unwrap_or(u32::MAX);
            self.note(|plan| put(&mut plan.chunks, &name, chunks.iter().map(size).collect()));
        }
        chunks
    }

    /// The whole answer to a request in network chunks: each piece with its number and its chunks. A body that is no stream is not cut.
    #[doc(hidden)]
    pub fn cut_body<'p>(
        &mut self,
        request: (&Agent, RequestId),
        plan: &'p ResponsePlan,
        chunking: &Chunking,
    ) -> Vec<(u32, &'p TimedPiece, Vec<&'p [u8]>)> {
        let mut cut = |number, bytes: &'p [u8]| if plan.is_stream { self.cut(request, number, bytes, chunking) } else { vec![bytes] };
        (1..).zip(&plan.pieces).map(|(number, piece)| (number, piece, cut(number, &piece.bytes))).collect()
    }

    /// An answer is given that was made ready earlier, choices and all.
    pub(crate) fn on_served(&mut self, prepared: &PreparedAnswer) {
        if let Some((id, shape)) = &prepared.shape {
            self.note(|plan| put(&mut plan.streams, id, shape.clone()));
        }
    }

    /// The head of an answer is known. Its headers may give the engine a wait.
    pub(crate) fn on_head(&mut self, agent: &Agent, id: RequestId, head: &ResponseHead) {
        if let Some(noted) = &mut self.noted
            && let Some(told) = ApiError::read(head.status, &head.headers, &[]).delay_us()
        {
            Arc::make_mut(noted).told.insert(agent.key(id), Micros(told));
        }
    }

    /// The engine announces its wait after a failed attempt. It may have given the attempt up before the server's wait was known.
    pub(crate) fn on_wait(&mut self, agent: &Agent, id: RequestId, delay: Micros) {
        if let Some(noted) = &mut self.noted
            && noted.told.get(&agent.key(id)) != Some(&delay)
        {
            put(&mut Arc::make_mut(noted).plan.backoff, &agent.key(id), delay);
        }
    }

    fn note(&mut self, write: impl FnOnce(&mut Plan)) {
        if let Some(noted) = &mut self.noted {
            write(&mut Arc::make_mut(noted).plan);
        }
    }
}

fn put<T>(named: &mut NamedChoices<T>, name: &str, value: T) {
    named.insert(name.into(), value);
}

/// Times that the plan does not name stay as drawn: gaps, not instants, so that a longer head moves all that follows it.
fn as_planned(given: &AnswerTimes, drawn: &AnswerTimesTable) -> AnswerTimesTable {
    let head = given.head.unwrap_or(drawn.head);
    let (mut at, mut drawn_before) = (head, drawn.head);
    let mut pieces = Vec::with_capacity(drawn.pieces.len());
    for (index, drawn_at) in drawn.pieces.iter().enumerate() {
        at = at + given.gaps.get(index).copied().unwrap_or(*drawn_at - drawn_before);
        drawn_before = *drawn_at;
        pieces.push(at);
    }
    AnswerTimesTable { head, pieces, end: at + given.end.unwrap_or(drawn.end - drawn_before) }
}

/// The times as a plan has them. The end of an answer is left out where it comes with the last piece anyway.
fn planned(times: &AnswerTimesTable, known: &KnownTimes) -> AnswerTimes {
    let mut before = times.head;
    let gap = |at: &Micros| {
        let gap = *at - before;
        before = *at;
        gap
    };
    let gaps: Vec<Micros> = times.pieces.iter().map(gap).collect();
    let end = times.end - before;
    AnswerTimes { head: Some(times.head), gaps, end: (known.end.is_some() || end > Micros::ZERO).then_some(end) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn() -> AnswerTimesTable {
        AnswerTimesTable { head: Micros(10), pieces: vec![Micros(15), Micros(35)], end: Micros(40) }
    }

    #[test]
    fn f_11_times_that_a_plan_does_not_name_stay_as_drawn() {
        let given = |head, gaps: &[u64], end| AnswerTimes { head, gaps: gaps.iter().copied().map(Micros).collect(), end };
        assert_eq!(as_planned(&given(None, &[], None), &drawn()), drawn());
        let later = AnswerTimesTable { head: Micros(110), pieces: vec![Micros(115), Micros(135)], end: Micros(140) };
        assert_eq!(as_planned(&given(Some(Micros(110)), &[], None), &drawn()), later, "what follows moves with its head");
        let first = AnswerTimesTable { head: Micros(10), pieces: vec![Micros(11), Micros(31)], end: Micros(31) };
        assert_eq!(as_planned(&given(None, &[1], Some(Micros(0))), &drawn()), first);
    }

    #[test]
    fn f_11_times_survive_the_way_into_a_plan_and_back() {
        let other = AnswerTimesTable { head: Micros(1), pieces: vec![Micros(1), Micros(1)], end: Micros(1) };
        let known = KnownTimes { end: Some(Micros(40)), ..KnownTimes::default() };
        assert_eq!(as_planned(&planned(&drawn(), &known), &other), drawn());
    }
}
