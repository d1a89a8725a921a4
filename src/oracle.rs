//! Rules that must hold in every run, whatever its scenario says: one small machine each, fed with what happens (O-1 to O-16).
//!
//! ```text
//!   run ── input, effect, note ──> Oracles ──> pairs, results, overlap, terminal, retry, abort, compaction, order
//!                                     └ running: which tools execute now, told to all
//! ```
//!
//! Oracles look at what crosses the engine's boundary and at nothing inside it, so they hold for any engine. They are copied with
//! their run: what they remember is small. They watch the root agent; only overlaps are looked for in the whole tree of agents.

mod abort;
mod budgets;
mod compaction;
mod discarded;
mod order;
mod overlap;
mod pairs;
mod repeated;
mod results;
mod retry;
mod running;
mod signatures;
mod terminal;
mod withheld;

pub mod repeat;

use core::fmt;

use abort::Abort;
use budgets::Budgets;
use compaction::Compaction;
use discarded::Discarded;
use order::Order;
use pairs::Pairs;
use repeated::Repeated;
use results::Results;
use retry::Retry;
use running::{Running, Tools};
use signatures::Signatures;
use terminal::Terminals;
use withheld::Withheld;

use crate::engine::contract::{Agent, Effect, Environment, Input, Message, RequestId};
use crate::engine::settings::{EmissionOrder, ResultOrder, SessionSettings};
use crate::engine::time::{Micros, Time};
use crate::prelude::*;
use crate::transcript::event::{RunEnd, Transcript, What};
use crate::transcript::watch::Watch;
use crate::wire::json::Json;

/// A rule that did not hold.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// When it was seen.
    pub at: Time,
    /// Which: `O-2`.
    pub oracle: &'static str,
    /// What was seen, in a sentence.
    pub text: String,
}

/// `O-2 at 2.514s: …`.
impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}: {}", self.oracle, self.at, self.text)
    }
}

/// The oracles that there are, each with what it holds.
pub const ORACLES: &[(&str, &str)] = &[
    (pairs::ORACLE, "in every request each tool use has exactly one result, in the next user message, in the order asked for"),
    (results::ORACLE, "every emitted tool use has exactly one emitted result by the end of its prompt"),
    (overlap::ORACLE, "no exclusive tool overlaps any other, and no more run at once than may"),
    (discarded::ORACLE, "nothing of a discarded attempt comes out after the discard, and what was emitted of it is taken back"),
    (signatures::ORACLE, "no request holds thinking that another model signed"),
    (withheld::ORACLE, "an error that was recovered from is never emitted, one that was not exactly once"),
    (terminal::ORACLE, "every prompt has exactly one terminal, and nothing of it comes after"),
    (retry::ORACLE, "attempts are numbered on, no wait that the server asked for is undercut, and waits are announced and kept"),
    (abort::ORACLE, "after an abort the prompt ends within the grace of its tools, with no new request and no new tool"),
    (compaction::ORACLE, "a compaction makes the context smaller, and requests do not go round in circles"),
    (budgets::ORACLE, "no request after a budget is passed, and the task budget never grows"),
    (order::ORACLE, "progress precedes its result, and results respect the order of emission"),
    (repeat::ORACLE, "the same inputs give the same transcript, in a copied run as in one from the start"),
    (repeated::ORACLE, "no exclusive tool that had finished in a discarded attempt is silently run again"),
];

/// All oracles over one run.
#[derive(Clone, Debug)]
pub struct Oracles {
    rules: Arc<Rules>,
    running: Running,
    pairs: Pairs,
    results: Results,
    terminals: Terminals,
    retry: Retry,
    abort: Abort,
    compaction: Compaction,
    order: Order,
    discarded: Discarded,
    signatures: Signatures,
    withheld: Withheld,
    budgets: Budgets,
    repeated: Repeated,
    violations: Vec<Violation>,
}

/// What the oracles need of an environment.
#[derive(Debug)]
struct Rules {
    tools: Tools,
    result_order: ResultOrder,
    emission_order: EmissionOrder,
    /// How many tools may run at once.
    at_once_max: Option<u32>,
    tool_grace: Micros,
    /// How many different requests may follow each other before anything comes out.
    silent_requests_max: u32,
    session: SessionSettings,
}

/// A request as oracles see it.
#[derive(Clone, Copy)]
struct Sent<'a> {
    id: RequestId,
    model: &'a Arc<str>,
    messages: &'a [Arc<Message>],
    extra: &'a str,
}

/// Where an oracle puts what it finds.
struct Findings<'a> {
    at: Time,
    violations: &'a mut Vec<Violation>,
}

impl Findings<'_> {
    fn add(&mut self, oracle: &'static str, text: String) {
        self.violations.push(Violation { at: self.at, oracle, text });
    }
}

impl Oracles {
    /// Oracles of a run that has not begun.
    pub fn new(environment: &Environment) -> Self {
        let settings = &environment.settings;
        let batch = (!settings.streaming_execution).then_some(settings.max_batch_tools);
        let rules = Rules {
            tools: Tools::of(environment),
            result_order: settings.result_order,
            emission_order: settings.emission_order,
            at_once_max: [settings.max_concurrent_tools, batch].into_iter().flatten().min().map(|cap| cap.max(1)),
            tool_grace: settings.tool_grace,
            silent_requests_max: compaction::silent_max(&settings.compaction),
            session: settings.session.clone(),
        };
        Self {
            rules: Arc::new(rules),
            running: Running::default(),
            pairs: Pairs::default(),
            results: Results::default(),
            terminals: Terminals::default(),
            retry: Retry::default(),
            abort: Abort::default(),
            compaction: Compaction::default(),
            order: Order::default(),
            discarded: Discarded::default(),
            signatures: Signatures::default(),
            withheld: Withheld::default(),
            budgets: Budgets::default(),
            repeated: Repeated::default(),
            violations: Vec::new(),
        }
    }

    /// What did not hold so far, in the order in which it was seen.
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    /// The same, taking it.
    pub fn into_violations(self) -> Vec<Violation> {
        self.violations
    }

    /// The run is over and owes nothing: each prompt must have its terminal, each tool use its result. Not for a run that was stopped
    /// from outside, or that is meant to get stuck: it had no chance.
    pub fn expect_nothing_open(&mut self, at: Time) {
        let found = &mut Findings { at, violations: &mut self.violations };
        self.results.on_end(found);
        self.terminals.on_end(found);
    }

    /// Watches a run again that is over, from its transcript.
    pub fn watch(&mut self, transcript: &Transcript) {
        let (mut messages, mut extra) = (Vec::new(), Json::trusted("{}"));
        for event in transcript.events.iter() {
            match &event.what {
                What::Input(input) => self.input(event.at, &event.agent, input),
                What::Effect(effect) => self.effect(event.at, &event.agent, effect),
                What::Request { id, request } => {
                    messages.truncate(request.kept);
                    messages.extend(request.added.iter().cloned());
                    if let Some(frame) = &request.frame {
                        extra.clone_from(&frame.extra);
                    }
                    if event.agent.is_root() {
                        let sent = Sent { id: *id, model: &request.model, messages: &messages, extra: extra.as_str() };
                        self.on_request(event.at, &sent);
                    }
                }
                note => self.note(event.at, &event.agent, note),
            }
        }
    }

    fn on_request(&mut self, at: Time, sent: &Sent<'_>) {
        let Sent { id, model, messages, extra } = *sent;
        let found = &mut Findings { at, violations: &mut self.violations };
        self.pairs.on_request(&self.rules, id, messages, found);
        self.terminals.on_request(id, found);
        self.retry.on_request(at, id, model, found);
        self.abort.on_request(id, found);
        self.compaction.on_request(&self.rules, id, messages, found);
        self.discarded.on_request(found);
        self.signatures.on_request(id, model, messages, found);
        self.withheld.on_request(id, found);
        self.budgets.on_request(&self.rules, id, extra, found);
        self.repeated.on_request(id);
    }
}

impl Watch for Oracles {
    fn input(&mut self, at: Time, agent: &Agent, input: &Input) {
        let found = &mut Findings { at, violations: &mut self.violations };
        self.running.on_input(at, agent, input);
        if agent.is_root() {
            self.abort.on_input(&self.rules, &self.running, at, input, found);
            self.terminals.on_input(input);
            self.retry.on_input(at, input);
            self.compaction.on_input(input);
            self.repeated.on_input(input);
        }
    }

    fn effect(&mut self, at: Time, agent: &Agent, effect: &Effect) {
        if let Effect::StartTool { run, tool_use } = effect {
            let found = &mut Findings { at, violations: &mut self.violations };
            let class = self.rules.tools.class(tool_use);
            overlap::on_start(&self.rules, &self.running, *run, class, found);
        }
        self.running.on_effect(&self.rules.tools, self.rules.tool_grace, at, agent, effect);
        if !agent.is_root() {
            return;
        }
        if let Effect::Request { id, request } = effect {
            let sent = Sent { id: *id, model: &request.model, messages: &request.messages, extra: request.extra.as_str() };
            return self.on_request(at, &sent);
        }
        let found = &mut Findings { at, violations: &mut self.violations };
        self.pairs.on_effect(&self.rules, effect);
        self.results.on_effect(effect, found);
        self.order.on_effect(&self.rules, &self.running, effect, found);
        self.retry.on_effect(at, effect, found);
        self.abort.on_effect(effect, found);
        self.compaction.on_effect(effect);
        self.terminals.on_effect(effect, found);
        self.discarded.on_effect(effect, found);
        self.signatures.on_effect(effect);
        self.withheld.on_effect(effect, found);
        self.budgets.on_effect(&self.rules, effect);
        self.repeated.on_effect(&self.rules.tools, effect, found);
    }

    fn note(&mut self, at: Time, _agent: &Agent, what: &What) {
        if let What::Ended { end: RunEnd::Idle | RunEnd::Stalled } = what {
            self.abort.on_end(&mut Findings { at, violations: &mut self.violations });
        }
    }
}

#[cfg(test)]
mod tests;
