//! Rules that must hold in every run of every scenario: one small machine each, fed with what happens (O-1 to O-14, O-16, O-17, O-20 to O-30).
//!
//! ```text
//!   run ── input, effect, note ──> Oracles ──> for each agent: pairs, results, terminal, valid, retry, abort, compaction, order
//!                                     │    └─> for all of them: overlap
//!                                     └ running: the tools that execute now, given to all
//! ```
//!
//! Oracles look at what crosses the engine's boundary and at nothing inside it, so they hold for any engine. They are copied with
//! their run: what they remember is small.
//!
//! Each oracle's rule is in `docs/rules/explore.md`, under its id.

#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod abort;
mod abort_scope;
mod budgets;
mod compaction;
mod discarded_attempts;
mod interruption;
mod leftovers;
mod nothing_lost;
mod order;
mod overlap;
mod oversize;
mod pairs;
mod progress_set;
mod repeated_effects;
mod results;
mod retry;
mod running_tools;
mod said_blocks;
mod signatures;
mod speech;
mod stable_prefix;
mod terminal;
mod tool_starts;
mod truthful_results;
mod validity;
mod withheld_errors;

pub mod repeated_requests;

use core::fmt;

use abort::AbortOracle;
use abort_scope::AbortScope;
use budgets::BudgetOracle;
use compaction::CompactionOracle;
use discarded_attempts::DiscardOracle;
use interruption::Interruption;
use leftovers::LeftoverOracle;
use nothing_lost::LossOracle;
use order::OrderOracle;
use oversize::OversizeOracle;
use pairs::PairOracle;
use progress_set::ProgressSetOracle;
use repeated_effects::RepeatedEffectOracle;
use results::ResultOracle;
use retry::RetryOracle;
use running_tools::{RunningTools, ToolFacts};
use said_blocks::SaidBlockOracle;
use signatures::SignatureOracle;
use speech::ModelSpeech;
use stable_prefix::PrefixOracle;
use terminal::TerminalOracle;
use tool_starts::ToolStartOracle;
use truthful_results::TruthOracle;
use validity::ValidityOracle;
use withheld_errors::WithheldOracle;

use reenact_engine::budget::{NanoUsd, PriceTable};
use reenact_engine::contract::{Agent, ByAgent, Effect, Environment, Input, Request, RequestId};
use reenact_engine::settings::{EmissionOrder, QueuedBlockPolicy, ResultOrder, SessionSettings};
use reenact_engine::time::{Micros, Time};
use reenact_engine::tokenizer::Tokenizer;
use reenact_transcript::event::{EventKind, RunEnd, Transcript};
use reenact_transcript::watch::TranscriptWatch;
use reenact_wire::block::{Block, BlockKind, Message};
use reenact_wire::prelude::*;
use reenact_wire::validate::is_defect;

/// The oracle of an engine's orders that its driver cannot carry out.
const CONTRACT: &str = "contract";

/// A rule that did not hold.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// When it was seen.
    pub at: Time,
    /// Which: `O-2`.
    pub oracle: &'static str,
    /// The observation, in a sentence.
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
    (pairs::ORACLE, "in every request each tool use has exactly one result, first in the next turn, in the order of the tool uses"),
    (results::ORACLE, "every emitted tool use has exactly one emitted result by the end of its prompt"),
    (overlap::ORACLE, "no exclusive tool overlaps any other, and no more tools run at once than allowed"),
    (tool_starts::ORDER, "around exclusive tools, tools start in the order in which the model asked for them"),
    (discarded_attempts::ORACLE, "nothing of a discarded attempt comes out after the discard, and what was emitted of it is taken back"),
    (signatures::ORACLE, "no request holds thinking that another model signed"),
    (withheld_errors::ORACLE, "an error with a recovery is never emitted, any other error exactly once"),
    (terminal::ORACLE, "every prompt has exactly one terminal, and nothing of it comes after"),
    (retry::ORACLE, "attempts are numbered in order, and waits are announced, kept, and never shorter than the server asks"),
    (validity::ORACLE, "the API accepts every request"),
    (abort::ORACLE, "after an abort the prompt ends within the grace of its tools, with no new request and no new tool"),
    (
        compaction::ORACLE,
        "a compaction makes the context smaller, and a request that was too long is not repeated, neither unchanged nor in circles",
    ),
    (budgets::ORACLE, "no request after a budget is passed, and the task budget never grows"),
    (order::ORACLE, "progress precedes its result, and results respect the order of emission"),
    (repeated_requests::ORACLE, "the same inputs give the same transcript, in a copied run as in one from the start"),
    (repeated_effects::ORACLE, "no exclusive tool that had finished in a discarded attempt is silently run again"),
    (truthful_results::ORACLE, "the model is not told of a tool that was started that it was never run"),
    (stable_prefix::ORACLE, "each request begins with the one before, unless an edit was announced"),
    (tool_starts::CONSENT, "a tool that a person was asked about starts only after the word for that tool use"),
    (abort_scope::ORACLE, "an abort ends what it was pressed in, and nothing that began later"),
    (nothing_lost::ORACLE, "what the user said, what a person answered and what a tool returned is in a later request or result"),
    (tool_starts::INPUT, "a tool is started with the input of one whole block of one answer, read strictly"),
    (tool_starts::HOOKS, "hooks decide together: no start after a denial, and the last hook that is defined wins with its input"),
    (leftovers::ORACLE, "at a terminal nothing is left open, and no timer is set when all is over"),
    (said_blocks::ORACLE, "a request gives back as the model's words what the model said, byte for byte"),
    (progress_set::ORACLE, "the set of tool uses in progress is true at each change"),
    (interruption::ORACLE, "the interruption message appears where a cancel ended a prompt, and nowhere else"),
];

/// All oracles over one run.
#[derive(Clone, Debug)]
pub struct Oracles {
    rules: Arc<OracleRules>,
    running: RunningTools,
    /// The memory of each agent: shared by copies of a run until one of them continues.
    agents: Arc<ByAgent<AgentOracles>>,
    violations: Vec<Violation>,
}

/// The oracles of one agent.
#[derive(Clone, Debug, Default)]
struct AgentOracles {
    pairs: PairOracle,
    valid: ValidityOracle,
    results: ResultOracle,
    terminals: TerminalOracle,
    retry: RetryOracle,
    abort: AbortOracle,
    compaction: CompactionOracle,
    oversize: OversizeOracle,
    order: OrderOracle,
    discarded: DiscardOracle,
    signatures: SignatureOracle,
    withheld: WithheldOracle,
    budgets: BudgetOracle,
    repeated: RepeatedEffectOracle,
    leftovers: LeftoverOracle,
    interruption: Interruption,
    speech: ModelSpeech,
    said_blocks: SaidBlockOracle,
    starts: ToolStartOracle,
    truth: TruthOracle,
    abort_scope: AbortScope,
    prefix: PrefixOracle,
    losses: LossOracle,
    progress_set: ProgressSetOracle,
    /// The last request, if it is known already to be one that the API does not take.
    blamed: Option<RequestId>,
}

/// The settings of an environment that the oracles need.
#[derive(Debug)]
struct OracleRules {
    tools: ToolFacts,
    result_order: ResultOrder,
    emission_order: EmissionOrder,
    /// How many tools may run at once.
    at_once_max: Option<u32>,
    tool_grace: Micros,
    queued_block: QueuedBlockPolicy,
    /// Whether some waits have no notice.
    waits_silently: bool,
    /// How much later than asked for a timer may go off.
    lateness: Micros,
    /// Whether a tool may start with an input that is no JSON.
    runs_unread_input: bool,
    /// How many different requests may follow each other before anything comes out.
    silent_requests_max: u32,
    tokenizer: Tokenizer,
    /// The tokens that an earlier session left to the root.
    history_tokens: u64,
    /// The messages of an earlier session, and those of the host in the model's place.
    given_messages: Vec<Arc<Message>>,
    session: SessionSettings,
    prices: Arc<PriceTable>,
    /// Whether the scenario is about requests that the API does not take.
    expects_refusals: bool,
}

impl OracleRules {
    /// Whether a block of the model in a request was given to the engine, and said by no model in this run.
    fn is_given(&self, block: &Block) -> bool {
        let is_reply = matches!((block.kind(), &self.session.orphan_reply), (BlockKind::Text(text), Some(reply)) if text == reply);
        is_reply || self.given_messages.iter().any(|message| message.content.contains(block))
    }
}

/// Where an oracle puts what it finds.
struct OracleFindings<'a> {
    at: Time,
    violations: &'a mut Vec<Violation>,
}

impl OracleFindings<'_> {
    fn add(&mut self, oracle: &'static str, text: String) {
        self.violations.push(Violation { at: self.at, oracle, text });
    }
}

impl Oracles {
    /// Oracles of a run that has not begun.
    pub fn new(environment: &Environment) -> Self {
        let settings = &environment.settings;
        let batch = (!settings.streaming_execution).then_some(settings.max_batch_tools);
        let rules = OracleRules {
            tools: ToolFacts::from_environment(environment),
            result_order: settings.result_order,
            emission_order: settings.emission_order,
            at_once_max: [settings.max_concurrent_tools, batch].into_iter().flatten().min().map(|cap| cap.max(1)),
            tool_grace: settings.tool_grace,
            queued_block: settings.queued_block,
            waits_silently: settings.retry.silent_retries > 0,
            lateness: Micros::ZERO,
            runs_unread_input: !settings.pipeline.check_inputs,
            silent_requests_max: compaction::silent_max(&settings.compaction),
            tokenizer: environment.tokenizer.clone(),
            history_tokens: environment.history.iter().map(|message| environment.tokenizer.blocks(&message.content)).sum(),
            given_messages: environment
                .history
                .iter()
                .chain(settings.session.host_messages.iter().map(|host| &host.message))
                .cloned()
                .collect(),
            session: settings.session.clone(),
            prices: environment.prices.clone(),
            expects_refusals: false,
        };
        Self { rules: Arc::new(rules), running: RunningTools::default(), agents: Arc::default(), violations: Vec::new() }
    }

    /// The same for a run that is about requests which the API does not take: they are what is looked for.
    #[must_use]
    pub fn with_refusals(mut self, expected: bool) -> Self {
        if let Some(rules) = Arc::get_mut(&mut self.rules) {
            rules.expects_refusals = expected;
        }
        self
    }

    /// The same for clocks that go by themselves: a timer may go off so much later than it was asked for.
    #[must_use]
    pub fn with_lateness(mut self, late: Micros) -> Self {
        if let Some(rules) = Arc::get_mut(&mut self.rules) {
            rules.lateness = late;
        }
        self
    }

    /// The violations so far, in the order in which they were seen.
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
        let found = &mut OracleFindings { at, violations: &mut self.violations };
        for watched in Arc::make_mut(&mut self.agents).all_mut() {
            watched.results.on_end(found);
            watched.terminals.on_end(found);
        }
    }

    /// Watches a run again that is over, from its transcript.
    pub fn watch(&mut self, transcript: &Transcript) {
        let mut sent: ByAgent<Option<Request>> = ByAgent::default();
        for event in transcript.events.iter() {
            match &event.what {
                EventKind::Input(input) => self.input(event.at, &event.agent, input),
                EventKind::Effect(effect) => self.effect(event.at, &event.agent, effect),
                EventKind::Request { id, request } => {
                    let last = sent.entry(&event.agent);
                    let request = last.insert(request.after(last.as_ref()));
                    self.on_request(event.at, &event.agent, *id, request);
                }
                note => self.note(event.at, &event.agent, note),
            }
        }
    }

    fn on_request(&mut self, at: Time, agent: &Agent, id: RequestId, request: &Request) {
        let found = &mut OracleFindings { at, violations: &mut self.violations };
        let spent = self.agents.all().fold(NanoUsd::default(), |sum, watched| sum + watched.budgets.spent());
        let watched = Arc::make_mut(&mut self.agents).entry(agent);
        if !self.rules.expects_refusals {
            let known = found.violations.len();
            watched.pairs.on_request(&self.rules, id, &request.messages, found);
            watched.valid.on_request(id, request, found);
            watched.blamed = (found.violations.len() > known).then_some(id);
        }
        watched.terminals.on_request(agent, id, found);
        watched.retry.on_request(at, id, &request.model, found);
        watched.abort.on_request(id, found);
        let history = if agent.is_root() { self.rules.history_tokens } else { 0 };
        watched.compaction.on_request(&self.rules, id, request, history, found);
        watched.oversize.on_request(id, request, found);
        watched.discarded.on_request(found);
        watched.signatures.on_request(id, &request.model, &request.messages, found);
        watched.withheld.on_request(id, found);
        watched.budgets.on_request(&self.rules, (id, request.extra.as_str()), spent, found);
        watched.repeated.on_request(id);
        watched.leftovers.on_request(id);
        watched.prefix.on_request(&self.rules, id, request, found);
        watched.losses.on_request(&request.messages);
        if agent.is_root() {
            watched.abort_scope.on_request(&self.rules, id);
        }
        let mut said_blocks = core::mem::take(&mut watched.said_blocks);
        let is_known = |block: &Block| self.agents.all().any(|watched| watched.speech.has(block)) || self.rules.is_given(block);
        said_blocks.on_request(id, &request.messages, is_known, found);
        Arc::make_mut(&mut self.agents).entry(agent).said_blocks = said_blocks;
    }
}

impl TranscriptWatch for Oracles {
    fn input(&mut self, at: Time, agent: &Agent, input: &Input) {
        let found = &mut OracleFindings { at, violations: &mut self.violations };
        self.running.on_input(at, agent, input);
        // Who aborts the root aborts the whole tree; a word to a child concerns that child.
        let is_abort = matches!(input, Input::Cancel | Input::Interrupt { .. });
        if agent.is_root() && is_abort {
            let agents = Arc::make_mut(&mut self.agents);
            agents.entry(agent).abort.on_input(&self.rules, &self.running, at, input, found);
            // Nobody needs any more what the children of an aborted prompt do.
            let to_children = if self.running.blocks_interrupt() { input } else { &Input::Cancel };
            agents.children_mut().for_each(|watched| watched.abort.on_input(&self.rules, &self.running, at, to_children, found));
        } else {
            Arc::make_mut(&mut self.agents).entry(agent).abort.on_input(&self.rules, &self.running, at, input, found);
        }
        if interruption::is_cancel(input) {
            Arc::make_mut(&mut self.agents).all_mut().for_each(|watched| watched.interruption.on_cancel());
        }
        let watched = Arc::make_mut(&mut self.agents).entry(agent);
        watched.interruption.on_input(input);
        watched.terminals.on_input(input);
        watched.retry.on_input(&self.rules, at, input);
        watched.compaction.on_input(&self.rules, input);
        watched.oversize.on_input(input);
        watched.repeated.on_input(input);
        watched.leftovers.on_input(at, input);
        watched.speech.on_input(input);
        watched.starts.on_input(input);
        watched.truth.on_input(input);
        watched.prefix.on_input(input);
        watched.losses.on_input(&self.rules, input);
        watched.progress_set.on_input(input, found);
        Arc::make_mut(&mut self.agents).entry(&Agent::ROOT).abort_scope.on_input(&self.rules, input);
    }

    fn effect(&mut self, at: Time, agent: &Agent, effect: &Effect) {
        let mut class = None;
        if let Effect::StartTool { run, tool_use } = effect {
            let found = &mut OracleFindings { at, violations: &mut self.violations };
            let of_start = self.running.class(&self.rules.tools, agent, *run, tool_use);
            overlap::on_start(&self.rules, &self.running, agent, *run, of_start, found);
            class = Some(of_start);
        }
        self.running.on_effect(&self.rules.tools, self.rules.tool_grace, at, agent, effect);
        if let Effect::Request { id, request } = effect {
            return self.on_request(at, agent, *id, request);
        }
        let found = &mut OracleFindings { at, violations: &mut self.violations };
        let watched = Arc::make_mut(&mut self.agents).entry(agent);
        watched.pairs.on_effect(&self.rules, effect);
        watched.results.on_effect(effect, found);
        watched.order.on_effect(&self.rules, &self.running, agent, effect, found);
        watched.retry.on_effect(at, effect, found);
        watched.abort.on_effect(&self.rules, effect, found);
        watched.compaction.on_effect(&self.rules, effect, found);
        watched.oversize.on_effect(effect);
        watched.terminals.on_effect(agent, effect, found);
        watched.discarded.on_effect(effect, found);
        watched.signatures.on_effect(effect);
        watched.withheld.on_effect(effect, found);
        watched.budgets.on_effect(&self.rules, effect);
        watched.repeated.on_effect(class, effect, found);
        watched.leftovers.on_effect(&self.rules, effect, found);
        if let Effect::StartTool { run, tool_use } | Effect::StartAgent { run, tool_use } = effect {
            let class = self.running.class(&self.rules.tools, agent, *run, tool_use);
            watched.starts.on_start(&self.rules, (*run, tool_use, class), &watched.speech, found);
        }
        watched.starts.on_effect(effect);
        watched.truth.on_effect(effect, found);
        watched.prefix.on_effect(effect);
        watched.losses.on_effect(effect, found);
        watched.progress_set.on_effect(effect);
        if agent.is_root() {
            watched.abort_scope.on_effect(&self.rules, effect, found);
            watched.interruption.on_root_finished(effect, found);
        }
        watched.interruption.on_effect(&self.rules, effect, found);
        if let Effect::Finished { .. } = effect
            && self.agents.get(&Agent::ROOT).is_some_and(|root| !root.terminals.is_any_open())
        {
            Arc::make_mut(&mut self.agents).all_mut().for_each(|watched| watched.leftovers.expect_no_timer(found));
        }
    }

    fn note(&mut self, at: Time, agent: &Agent, what: &EventKind) {
        let found = &mut OracleFindings { at, violations: &mut self.violations };
        match what {
            EventKind::Ended { end: RunEnd::Idle | RunEnd::Stalled } => {
                Arc::make_mut(&mut self.agents).all_mut().for_each(|watched| watched.abort.on_end(found));
            }
            // The API of a scenario may know more than the rules of validity: what it has answered before, for one.
            EventKind::Refused { id, rule, text, overruled: false }
                if !self.rules.expects_refusals && is_defect(rule) && Arc::make_mut(&mut self.agents).entry(agent).blamed != Some(*id) =>
            {
                found.add(validity::ORACLE, format!("the API refuses request {id}: {text}"));
            }
            // What an oracle has blamed in this instant needs no second word.
            EventKind::Misuse { text } if found.violations.last().is_none_or(|last| last.at != at) => {
                found.add(CONTRACT, format!("the engine broke the contract: {text}"));
            }
            _ => (),
        }
    }
}

#[cfg(test)]
mod tests;
