//! Rules that must hold in every run of every scenario: one small machine each, fed with what happens (O-1 to O-35).
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
mod aborted_words;
mod accounts;
mod agent_frame;
mod agent_tree;
mod answer_pieces;
mod asked_hooks;
mod budgets;
mod command_prompts;
mod compaction;
mod discarded_attempts;
mod findings;
mod frame_tokens;
mod hook_times;
mod hook_words;
mod interruption;
mod kept_history;
mod leftovers;
mod live_streams;
mod lookups;
mod nothing_lost;
mod oracle_list;
mod oracle_rules;
mod order;
mod overlap;
mod pairs;
mod permission_rules;
mod permission_verdict;
mod progress_set;
mod prompt_results;
mod question_counts;
mod recoveries;
mod refused_requests;
mod repeated_effects;
mod request_frame;
mod request_kind;
mod requests;
mod result_limits;
mod result_texts;
mod results;
mod retry;
mod retry_decisions;
mod running_tools;
mod said_blocks;
mod said_order;
mod signatures;
mod speech;
mod stable_prefix;
mod summaries;
mod terminal;
mod terminal_causes;
mod told_texts;
mod tool_starts;
mod truthful_results;
mod unrun_tools;
mod validity;
mod violation;
mod withheld_errors;

#[doc(hidden)]
pub mod livelock;
pub mod rechunked_runs;
pub mod repeated_requests;
#[doc(hidden)]
pub mod run_end;

pub use oracle_list::{ORACLES, OracleNeeds, needs};
pub use violation::Violation;

use abort::AbortOracle;
use abort_scope::AbortScope;
use accounts::{AccountOracle, spent};
use agent_frame::AgentFrameOracle;
use agent_tree::{expect_no_timer_at_rest, on_effect_of_tree};
use budgets::BudgetOracle;
use compaction::CompactionOracle;
use discarded_attempts::DiscardOracle;
use findings::OracleFindings;
use hook_words::HookWordOracle;
use interruption::Interruption;
use kept_history::HistoryOracle;
use leftovers::LeftoverOracle;
use live_streams::LiveStreamOracle;
use livelock::TimersInARow;
use lookups::LookupOracle;
use nothing_lost::LossOracle;
use oracle_rules::OracleRules;
use order::OrderOracle;
use pairs::PairOracle;
use permission_rules::PermissionRuleOracle;
use progress_set::ProgressSetOracle;
pub use question_counts::QuestionCounts;
use recoveries::RecoveryOracle;
use refused_requests::RefusedRequestOracle;
use repeated_effects::RepeatedEffectOracle;
use request_frame::RequestFrameOracle;
use request_kind::RequestKindReader;
use result_limits::ResultLimitOracle;
use result_texts::{returned_text, told_text};
use results::ResultOracle;
use retry::RetryOracle;
use retry_decisions::RetryDecisionOracle;
use running_tools::RunningTools;
use said_blocks::SaidBlockOracle;
use signatures::SignatureOracle;
use speech::ModelSpeech;
use stable_prefix::PrefixOracle;
use summaries::SummaryOracle;
use terminal::TerminalOracle;
use terminal_causes::TerminalCauseOracle;
use told_texts::ToldTextOracle;
use tool_starts::ToolStartOracle;
use truthful_results::TruthOracle;
use unrun_tools::UnrunToolOracle;
use validity::ValidityOracle;
use withheld_errors::WithheldOracle;

use reenact_engine::contract::{Agent, ByAgent, Effect, Emission, Environment, Input, Request, RequestId};
use reenact_engine::time::{Micros, Time};
use reenact_transcript::event::{EventKind, RunEnd, Transcript};
use reenact_transcript::watch::TranscriptWatch;
use reenact_wire::block::Message;
use reenact_wire::prelude::*;
use reenact_wire::validate::is_defect;

/// The oracle of an engine's orders that its driver cannot carry out.
const CONTRACT: &str = "contract";

/// All oracles over one run.
#[derive(Clone, Debug, Hash)]
pub struct Oracles {
    rules: Arc<OracleRules>,
    running: RunningTools,
    kinds: RequestKindReader,
    permissions: PermissionRuleOracle,
    timers: TimersInARow,
    /// The memory of each agent: shared by copies of a run until one of them continues.
    agents: Arc<ByAgent<AgentOracles>>,
    /// The words of the model to each agent.
    speech: Arc<ByAgent<ModelSpeech>>,
    violations: Vec<Violation>,
    questions: QuestionCounts,
}

/// The oracles of one agent.
#[derive(Clone, Debug, Default, Hash)]
struct AgentOracles {
    pairs: PairOracle,
    valid: ValidityOracle,
    results: ResultOracle,
    terminals: TerminalOracle,
    causes: TerminalCauseOracle,
    frame: RequestFrameOracle,
    lookups: LookupOracle,
    retry: RetryOracle,
    decisions: RetryDecisionOracle,
    abort: AbortOracle,
    compaction: CompactionOracle,
    refused: RefusedRequestOracle,
    order: OrderOracle,
    discarded: DiscardOracle,
    signatures: SignatureOracle,
    withheld: WithheldOracle,
    budgets: BudgetOracle,
    repeated: RepeatedEffectOracle,
    leftovers: LeftoverOracle,
    interruption: Interruption,
    said_blocks: SaidBlockOracle,
    starts: ToolStartOracle,
    hook_words: HookWordOracle,
    told_texts: ToldTextOracle,
    live_streams: LiveStreamOracle,
    result_limits: ResultLimitOracle,
    truth: TruthOracle,
    abort_scope: AbortScope,
    prefix: PrefixOracle,
    losses: LossOracle,
    history: HistoryOracle,
    progress_set: ProgressSetOracle,
    agent_frame: AgentFrameOracle,
    unrun: UnrunToolOracle,
    accounts: AccountOracle,
    recoveries: RecoveryOracle,
    summaries: SummaryOracle,
    /// The last request, if it is known already to be one that the API does not take.
    blamed: Option<RequestId>,
}

impl AgentOracles {
    /// Somebody ends the prompt, in whatever agent of the tree.
    fn on_cancel(&mut self) {
        self.interruption.on_cancel();
        self.told_texts.on_cancel();
        self.said_blocks.on_cancel();
        self.unrun.on_cancel();
        self.decisions.on_abort();
        self.hook_words.on_abort();
    }
}

/// How many messages both conversations begin with, as far as they share them.
fn same_messages(before: &[Arc<Message>], after: &[Arc<Message>]) -> usize {
    before.iter().zip(after).take_while(|(before, after)| Arc::ptr_eq(before, after)).count()
}

impl Oracles {
    /// Oracles of a run that has not begun.
    pub fn new(environment: &Environment) -> Self {
        Self {
            rules: Arc::new(OracleRules::from_environment(environment)),
            running: RunningTools::default(),
            kinds: RequestKindReader::new(&environment.settings.texts),
            permissions: PermissionRuleOracle::default(),
            timers: TimersInARow::default(),
            agents: Arc::default(),
            speech: Arc::default(),
            violations: Vec::new(),
            questions: QuestionCounts::default(),
        }
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

    /// How often each oracle was asked in this run, in the order of [`ORACLES`]. O-15 and O-16 are asked of two runs, and never here.
    pub fn asked(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.questions.by_oracle()
    }

    /// The counts as they are now.
    pub fn question_counts(&self) -> QuestionCounts {
        self.questions.clone()
    }

    /// How often each oracle was asked since then; without counts since the run began.
    pub fn asked_since<'a>(&'a self, before: Option<&'a QuestionCounts>) -> impl Iterator<Item = (&'static str, u64)> + 'a {
        self.asked().map(move |(oracle, count)| (oracle, count - before.map_or(0, |before| before.count(oracle))))
    }

    /// The violations, taking them.
    pub fn into_violations(self) -> Vec<Violation> {
        self.violations
    }

    /// The run is over and owes nothing: each prompt must have its terminal, each tool use its result. Not for a run that was stopped
    /// from outside, or that is meant to get stuck: it had no chance.
    pub fn expect_nothing_open(&mut self, at: Time) {
        let found = &mut OracleFindings { at, violations: &mut self.violations, questions: &mut self.questions };
        for watched in Arc::make_mut(&mut self.agents).all_mut() {
            watched.results.on_end(found);
            watched.terminals.on_end(found);
        }
    }

    /// The words of the model, and those of the user between them.
    fn on_words(&mut self, agent: &Agent, input: &Input) {
        match input {
            Input::Stream { .. } | Input::Body { .. } | Input::End { .. } => {
                Arc::make_mut(&mut self.speech).entry(agent).on_input(input);
            }
            Input::Prompt { .. } | Input::Interrupt { .. } => {
                let watched = Arc::make_mut(&mut self.agents).entry(agent);
                watched.said_blocks.on_input(input, self.speech.get(agent));
            }
            _ => (),
        }
    }

    /// Watches a run again that is over, from its transcript.
    pub fn watch(&mut self, transcript: &Transcript) {
        let mut sent: ByAgent<Option<Arc<Request>>> = ByAgent::default();
        for event in transcript.events.iter() {
            match &event.what {
                EventKind::Input(input) => self.input(event.at, &event.agent, input),
                EventKind::Effect(effect) => self.effect(event.at, &event.agent, effect),
                EventKind::Request { id, request } => {
                    let last = sent.entry(&event.agent);
                    let request = last.insert(Arc::new(request.after(last.as_deref())));
                    self.on_request(event.at, &event.agent, *id, request);
                }
                note => self.note(event.at, &event.agent, note),
            }
        }
    }
}

impl TranscriptWatch for Oracles {
    fn input(&mut self, at: Time, agent: &Agent, input: &Input) {
        self.on_words(agent, input);
        let is_aborted_within = abort::is_from_within(&self.rules, &self.running, agent, input);
        let asked = self.running.asked_and_blocking(agent);
        self.running.on_input(at, agent, input);
        let is_of_no_concern = self.is_of_no_concern(agent, input);
        let found = &mut OracleFindings { at, violations: &mut self.violations, questions: &mut self.questions };
        self.timers.on_input(at, input, found);
        if is_of_no_concern {
            return Arc::make_mut(&mut self.agents).entry(agent).live_streams.on_input(&self.rules, input, found);
        }
        self.kinds.on_input(input, &self.rules.settings);
        self.permissions.on_input(&self.rules, agent, input);
        let agents = Arc::make_mut(&mut self.agents);
        // Who aborts the root aborts the whole tree; a word to a child concerns that child.
        let is_abort = matches!(input, Input::Cancel | Input::Interrupt { .. });
        if is_aborted_within {
            // What is aborted already is aborted by that (T-14).
            let open = agents.all_mut().filter(|watched| !watched.abort.is_aborted());
            open.for_each(|watched| watched.abort.on_input(&self.rules, &self.running, at, &Input::Cancel, found));
        } else if agent.is_root() && is_abort {
            agents.entry(agent).abort.on_input(&self.rules, &self.running, at, input, found);
            // Nobody needs any more what the children of an aborted prompt do.
            let to_children = if self.running.blocks_interrupt() { input } else { &Input::Cancel };
            agents.children_mut().for_each(|watched| watched.abort.on_input(&self.rules, &self.running, at, to_children, found));
        } else {
            agents.entry(agent).abort.on_input(&self.rules, &self.running, at, input, found);
        }
        if interruption::is_cancel(input) {
            agents.all_mut().for_each(AgentOracles::on_cancel);
        }
        let (watched, returned) = (agents.entry(agent), returned_text(input));
        watched.interruption.on_input(input);
        watched.terminals.on_input(input);
        watched.causes.on_input(input);
        watched.retry.on_input(&self.rules, at, input);
        watched.decisions.on_input(&self.rules, at, input);
        watched.compaction.on_input(&self.rules, input);
        watched.refused.on_input(input);
        watched.recoveries.on_input(input);
        watched.summaries.on_input(input);
        watched.repeated.on_input(input);
        watched.discarded.on_input(input);
        watched.leftovers.on_input(at, input);
        watched.starts.on_input(input);
        watched.lookups.on_input(input);
        watched.hook_words.on_input(&self.rules, input, found);
        watched.order.on_input(input);
        watched.told_texts.on_input(&self.rules, input);
        watched.live_streams.on_input(&self.rules, input, found);
        watched.result_limits.on_input(input, returned.as_ref());
        watched.accounts.on_input(&self.rules, at, input);
        watched.truth.on_input(input, returned.as_ref());
        watched.prefix.on_input(input);
        watched.losses.on_input(&self.rules, input);
        watched.progress_set.on_input(asked, input, found);
        if agent.is_root() {
            watched.history.on_input(input);
            watched.unrun.on_input(&self.rules, input, returned.as_deref(), found);
        }
        let root = agents.entry(&Agent::ROOT);
        if !agent.is_root() {
            root.live_streams.on_input_of_child();
        }
        root.abort_scope.on_input(&self.rules, self.running.blocks_interrupt(), input);
    }

    fn effect(&mut self, at: Time, agent: &Agent, effect: &Effect) {
        let class = match effect {
            Effect::StartTool { run, tool_use } | Effect::StartAgent { run, tool_use } => {
                Some(self.running.class(&self.rules.tools, agent, *run, tool_use))
            }
            _ => None,
        };
        if let (Effect::StartTool { run, .. }, Some(class)) = (effect, class) {
            let found = &mut OracleFindings { at, violations: &mut self.violations, questions: &mut self.questions };
            overlap::on_start(&self.rules, &self.running, agent, *run, class, found);
        }
        self.running.on_effect(&self.rules.tools, self.rules.settings.tool_grace, at, agent, effect);
        match effect {
            Effect::Request { id, request } => return self.on_request(at, agent, *id, request),
            Effect::Emit(Emission::StreamEvent { .. }) => return self.on_stream_event(at, agent, effect),
            Effect::SetTimer { .. } | Effect::CancelTimer { .. } => return self.on_timer(at, agent, effect),
            Effect::CloseRequest { id } => Arc::make_mut(&mut self.speech).entry(agent).on_over(*id),
            Effect::Emit(Emission::Aborted(message)) => Arc::make_mut(&mut self.speech).entry(agent).on_aborted(message.id),
            _ => (),
        }
        let told = told_text(effect);
        let found = &mut OracleFindings { at, violations: &mut self.violations, questions: &mut self.questions };
        let asked = self.running.latest_asked(effect);
        self.permissions.on_effect(&self.rules, (agent, asked, class), effect, found);
        let spent = spent(&self.agents);
        on_effect_of_tree(&self.rules, &mut self.agents, agent, effect, found);
        let watched = Arc::make_mut(&mut self.agents).entry(agent);
        watched.accounts.on_effect(&self.rules, effect, spent, found);
        watched.pairs.on_effect(&self.rules, effect);
        watched.results.on_effect(effect, found);
        watched.order.on_effect(&self.rules, &self.running, agent, effect, found);
        watched.retry.on_effect(at, effect, found);
        watched.decisions.on_effect(&self.rules, effect, found);
        watched.abort.on_effect(&self.rules, effect, found);
        watched.compaction.on_effect(&self.rules, effect, found);
        watched.refused.on_effect(effect);
        let has_token_budget = agent.is_root() && self.rules.settings.session.token_budget.is_some();
        let output = has_token_budget.then(|| watched.accounts.output_tokens());
        watched.recoveries.on_effect(&self.rules, output, effect, found);
        watched.summaries.on_effect(&self.rules, (effect, &told), found);
        watched.terminals.on_effect(agent, effect, found);
        watched.causes.on_effect(effect, found);
        watched.discarded.on_effect(effect, found);
        watched.signatures.on_effect(effect);
        watched.withheld.on_effect(effect, found);
        watched.budgets.on_effect(&self.rules, effect, found);
        watched.repeated.on_effect(class, effect, found);
        watched.leftovers.on_effect(&self.rules, effect, found);
        watched.starts.on_effect(&self.rules, (class, self.speech.get(agent)), effect, found);
        watched.hook_words.on_effect(&self.rules, effect, found);
        watched.told_texts.on_effect(&self.rules, effect);
        watched.truth.on_effect((effect, &told), found);
        watched.lookups.on_effect(effect, found);
        watched.prefix.on_effect(effect);
        watched.losses.on_effect(&self.rules, (effect, &told), found);
        watched.result_limits.on_effect(&self.rules, (effect, &told), found);
        watched.said_blocks.on_effect(&self.rules, effect, self.speech.get(agent), found);
        watched.progress_set.on_effect(&self.rules.tools, effect, found);
        if agent.is_root() {
            watched.abort_scope.on_effect(&self.rules, effect, found);
            watched.interruption.on_root_finished(effect, found);
            watched.history.on_effect(effect);
            watched.unrun.on_effect(&self.rules, (effect, &told), found);
            watched.live_streams.on_effect(&self.rules, effect, found);
        }
        watched.interruption.on_effect(&self.rules, effect, found);
        if let Effect::Finished { .. } = effect {
            expect_no_timer_at_rest(&mut self.agents, found);
        }
    }

    fn note(&mut self, at: Time, agent: &Agent, what: &EventKind) {
        let found = &mut OracleFindings { at, violations: &mut self.violations, questions: &mut self.questions };
        if let EventKind::Ended { end } = what {
            run_end::on_end(end, found);
        }
        match what {
            EventKind::Ended { end: RunEnd::Idle | RunEnd::Stalled } => {
                Arc::make_mut(&mut self.agents).all_mut().for_each(|watched| watched.abort.on_end(found));
            }
            // The API of a scenario may know more than the rules of validity: what it has answered before, for one.
            EventKind::Refused { id, rule, text, overruled: false }
                if !self.rules.expects_refusals
                    && is_defect(rule)
                    && !self.rules.is_of_host(rule)
                    && Arc::make_mut(&mut self.agents).entry(agent).blamed != Some(*id) =>
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
