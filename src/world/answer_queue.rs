//! The answers of a thread in order: which one a request gets (M-3), and where it differs from the recorded request.
//!
//! Answers are given in the order recorded. A request that differs still gets the next one, and the transcript says where it
//! differs; `strict` makes that a failure of the run. An answer that a fault changed is not used up: the next attempt gets it again.

use alloc::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::model_request::ModelRequest;
use super::recorded_requests::RequestDigest;
use super::reissue::{FreshId, with_original_ids};
use super::setup::{PreparedAnswer, RunSetup};
use reenact_engine::contract::{Agent, RequestId};
use reenact_scenario::script::AnswerOrigin;
use reenact_scenario::statement::Statement;
use reenact_scenario::tape::placeholder::is_same_but_for_secrets;
use reenact_wire::block::Message;
use reenact_wire::compare::{BodyDifference, differences};
use reenact_wire::prelude::*;

/// The receivers of the given answers.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub(crate) struct AnswerQueue {
    /// How often each answer was given.
    given: Vec<u32>,
    /// Which answers each agent got that a tool use made. Each plays its script from the beginning: one of the same script before it was discarded.
    of_agents: Vec<(Agent, usize)>,
    /// The changed answers that have not been used up.
    lent: Vec<RetryableAnswer>,
    /// The ids of answers that were given more than once.
    ids: Vec<FreshId>,
    /// The rules that replaced something where requests were held against the recorded ones.
    normalising: BTreeSet<&'static str>,
}

/// An answer that a fault changed on its way: a repeated request gets it again.
#[derive(Clone, Debug, PartialEq, Hash)]
struct RetryableAnswer {
    agent: Agent,
    id: RequestId,
    messages: Vec<Arc<Message>>,
    answer: usize,
}

/// Whether the tape lacks only a secret that the client still sends.
fn is_secret(difference: &BodyDifference) -> bool {
    match (&difference.recorded, &difference.sent) {
        (Some(Value::String(recorded)), Some(Value::String(sent))) => is_same_but_for_secrets(recorded, sent),
        _ => false,
    }
}

/// Whether the answer is for an agent that a scripted tool use makes.
fn is_of_agent(answer: &PreparedAnswer) -> bool {
    matches!(answer.origin, Some(AnswerOrigin::Agent(_)))
}

/// The owner of answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub enum AnswerOwner {
    /// The scenario's, and those of a thread of the tape that has begun.
    Own,
    /// Those of threads that have not.
    Others,
}

/// The next answer of a queue.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct QueuedAnswer {
    /// Which of [`RunSetup::answers`].
    pub(crate) answer: usize,
    /// The how many-th time it is given.
    pub(crate) nth: u32,
    /// Where the request differs from the recorded one.
    pub(crate) differences: Vec<BodyDifference>,
}

impl AnswerQueue {
    /// The answer that was lent to the same request before, else the next one; `None` when the queue is empty. One that is lent is still there when
    /// the same is asked again.
    pub(crate) fn serve(&mut self, setup: &RunSetup, asking: &ModelRequest<'_>, is_lent: bool) -> Option<QueuedAnswer> {
        let ModelRequest { agent, id, request, origins, .. } = *asking;
        let answer = self.take_lent(asking).map(|lent| lent.answer).or_else(|| self.next(setup, agent, origins))?;
        self.given[answer] += 1;
        let nth = self.given[answer];
        if is_lent {
            self.lent.push(RetryableAnswer { agent: agent.clone(), id, messages: request.messages.clone(), answer });
        }
        if is_of_agent(&setup.answers[answer]) {
            self.of_agents.push((agent.clone(), answer));
        }
        let differences = setup.answers[answer].request.as_ref().map_or_else(Vec::new, |recorded| {
            let text = with_original_ids(request.to_json(), &self.ids);
            if setup.answers[answer].request_digest == Some(RequestDigest::new(text.as_bytes())) && setup.varying.is_none() {
                return Vec::new();
            }
            let sent = serde_json::from_str(&text).unwrap_or_default();
            let sent = setup.scenario.matching.volatile.normalised(sent);
            let mut found = match &setup.varying {
                None => differences(&recorded.value(), &sent),
                // Each from the start: what varies is numbered as it comes.
                Some(varying) => {
                    let (mut of_recorded, mut of_client) = (varying.clone(), varying.for_request(&sent));
                    let found = differences(&of_recorded.json(recorded.value()), &of_client.json(sent));
                    self.normalising.extend(of_recorded.acted().chain(of_client.acted()));
                    found
                }
            };
            found.retain(|difference| !is_secret(difference));
            found
        });
        Some(QueuedAnswer { answer, nth, differences })
    }

    /// The rules that replaced something where requests were held against the recorded ones (K-10).
    #[doc(hidden)]
    pub(crate) fn normalising_rules(&self) -> &BTreeSet<&'static str> {
        &self.normalising
    }

    /// Takes note of fresh ids, so that what comes back under them is known.
    pub(crate) fn remember(&mut self, ids: Vec<FreshId>) {
        self.ids.extend(ids);
    }

    /// The id that the scenario has for a tool use.
    pub(crate) fn original_id<'a>(&'a self, id: &'a str) -> &'a str {
        self.ids.iter().find(|known| &*known.fresh == id).map_or(id, |known| &known.original)
    }

    /// The same is asked again under the next attempt's number, or with the very same messages; anything else has used the answer up.
    fn take_lent(&mut self, asking: &ModelRequest<'_>) -> Option<RetryableAnswer> {
        let position = self.lent.iter().position(|lent| lent.agent == *asking.agent)?;
        let lent = self.lent.remove(position);
        let is_next_attempt = (lent.id.prompt, lent.id.turn) == (asking.id.prompt, asking.id.turn);
        (is_next_attempt || lent.messages == asking.request.messages).then_some(lent)
    }

    /// The next answer for a request of these origins.
    fn next(&mut self, setup: &RunSetup, agent: &Agent, origins: &[AnswerOrigin]) -> Option<usize> {
        self.given.resize(setup.answers.len(), 0);
        // What was recorded is for those who spoke when it was recorded.
        let belongs = |answer: &PreparedAnswer, origin: AnswerOrigin| {
            answer.origin.map_or(matches!(origin, AnswerOrigin::Prompt(_)), |of| of == origin)
        };
        let had = |index: usize| self.of_agents.iter().any(|(had_by, answer)| *answer == index && had_by == agent);
        let is_new = |index: usize, answer: &PreparedAnswer| if is_of_agent(answer) { !had(index) } else { self.given[index] == 0 };
        let next =
            |origin: AnswerOrigin| (0..).zip(&setup.answers).find(|(index, answer)| belongs(answer, origin) && is_new(*index, answer));
        origins.iter().find_map(|origin| next(*origin)).map(|(index, _)| index)
    }

    /// How often an answer was given.
    fn times(&self, answer: usize) -> u32 {
        self.given.get(answer).copied().unwrap_or_default()
    }

    /// The answers that were given, as statements of the scenario. Those of other threads of a tape are not the scenario's (M-3).
    pub(crate) fn given_answers(&self, setup: &RunSetup) -> Vec<Statement> {
        let mut turns: BTreeMap<AnswerOrigin, u32> = BTreeMap::new();
        let mut given = Vec::new();
        for (index, answer) in setup.answers.iter().enumerate() {
            let statement = answer.statement(index, &mut turns);
            given.extend(statement.filter(|_| self.times(index) > 0));
        }
        given
    }

    /// The names of the unused answers: those of the scenario and of threads that have begun, or those of the tape's other threads,
    /// which may be left out.
    pub(crate) fn unused(&self, setup: &RunSetup, whose: AnswerOwner) -> Vec<Arc<str>> {
        let unused = |index: &usize| self.times(*index) == 0;
        let has_begun = |origin: AnswerOrigin| {
            let mut given = setup.answers.iter().zip(&self.given);
            given.any(|(answer, times)| *times > 0 && answer.origin == Some(origin))
        };
        let of = |answer: &PreparedAnswer| match answer.origin {
            Some(thread @ AnswerOrigin::Thread(_)) if !has_begun(thread) => AnswerOwner::Others,
            _ => AnswerOwner::Own,
        };
        let answers = (0..setup.answers.len()).filter(unused).map(|index| &setup.answers[index]);
        answers.filter(|answer| of(answer) == whose).map(|answer| answer.name.clone()).collect()
    }
}
