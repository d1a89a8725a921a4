//! How a query ends, and what it leaves behind.

use super::QueryScope;
use crate::agent_effects::AgentEffects;
use crate::budget::{AnswerCharge, NanoUsd};
use crate::call::{ApiCall, CompletedAnswer};
use crate::contract::{Effect, RequestId, Terminal};
use crate::emission::{AssistantMessage, Emission, PermissionDenial};
use crate::executor::abort_reason::AbortKind;
use crate::key::KeylessValue;
use crate::retry::{AttemptFailure, RetryDecision};
use crate::settings::{Environment, TooLargeRequestPolicy};
use crate::texts::{ModelTexts, TextName};
use crate::time::{Micros, Time};
use reenact_wire::block::{Block, BlockKind};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;
use reenact_wire::usage::Usage;

/// How a query ended.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(crate) struct QueryOutcome {
    /// The reason of the end.
    pub(crate) terminal: Terminal,
    /// The errors of the prompt; the result is an error if there are any.
    pub(crate) errors: Vec<Arc<str>>,
    /// Submitted messages that found no place in it: they are the next prompts.
    pub(crate) queued: Vec<(u32, Arc<[Block]>)>,
    /// For the result message.
    pub(crate) totals: ResultTotals,
}

impl QueryOutcome {
    /// A prompt that was answered without the model (S-5).
    pub(crate) fn local(text: Arc<str>) -> Self {
        let totals = ResultTotals { text, ..ResultTotals::default() };
        Self { terminal: Terminal::Completed, errors: Vec::new(), queued: Vec::new(), totals }
    }

    /// A prompt that was aborted before the model was asked (S-4).
    pub(crate) fn aborted(scope: &mut QueryScope<'_>, prompt: u32, kind: AbortKind) -> Self {
        let ending = QueryEnding::aborted(Terminal::AbortedStreaming, kind);
        let errors = ending.tell(scope, prompt).into_iter().collect();
        Self { terminal: ending.terminal, errors, queued: Vec::new(), totals: ResultTotals::default() }
    }
}

/// The totals of the result message.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub(crate) struct ResultTotals {
    /// Answers that had tool results (S-7b).
    pub(crate) turns: u32,
    /// Time with a request under way.
    pub(crate) api_time: KeylessValue<Micros>,
    /// Tokens and money by model, in the order of first use.
    pub(crate) by_model: Vec<ModelTotals>,
    /// The same of the agents that worked for the prompt (S-10).
    pub(crate) agents_by_model: Vec<ModelTotals>,
    /// The last answer's stop reason.
    pub(crate) stop_reason: Option<Arc<str>>,
    /// The text of the last answer.
    pub(crate) text: Arc<str>,
    /// The last message (S-8).
    pub(crate) last: LastMessage,
    /// The input of the structured-output tool (S-9).
    pub(crate) structured_output: Option<Json>,
    /// Tool uses that were not permitted (S-1).
    pub(crate) denials: Vec<PermissionDenial>,
}

/// The last message of a prompt, without the prompt itself (S-8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum LastMessage {
    /// Nothing: the model was not asked, or did not answer.
    #[default]
    Absent,
    /// An answer of the model, by its last block.
    Answer(AnswerTail),
    /// Results of tools.
    Results,
}

/// The last part of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum AnswerTail {
    /// It has no block, which is allowed.
    Empty,
    /// Text or thinking.
    Words,
    /// Anything else: a tool use, what a tool of the server's gave.
    Other,
}

impl AnswerTail {
    fn from_blocks(blocks: &[Arc<AssistantMessage>]) -> Self {
        match blocks.last().map(|message| message.block.kind()) {
            None => Self::Empty,
            Some(BlockKind::Text(_) | BlockKind::Thinking { .. } | BlockKind::RedactedThinking) => Self::Words,
            Some(_) => Self::Other,
        }
    }
}

/// The usage of one model.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(crate) struct ModelTotals {
    pub(crate) model: Arc<str>,
    pub(crate) usage: Usage,
    pub(crate) cost: NanoUsd,
}

impl ResultTotals {
    /// Counts an answer, and what it costs.
    pub(super) fn count(&mut self, env: &Environment, blocks: &[Arc<AssistantMessage>], ended: &CompletedAnswer, is_fast: bool) {
        self.api_time += ended.took;
        self.stop_reason.clone_from(&ended.stop_reason);
        self.last = LastMessage::Answer(AnswerTail::from_blocks(blocks));
        let text = |message: &Arc<AssistantMessage>| match message.block.kind() {
            BlockKind::Text(text) => Some(text.clone()),
            _ => None,
        };
        self.text = blocks.last().and_then(text).unwrap_or_default();
        let answered = blocks.last().map(|message| &message.model).filter(|model| !model.is_empty());
        let model = answered.unwrap_or(&ended.model);
        let is_refused_at_once = blocks.is_empty() && ended.stop_reason.as_deref() == Some("refusal");
        let charge = AnswerCharge { model, date: env.settings.session.date, is_fast, is_refused_at_once };
        self.add(model, &ended.usage, env.prices.cost(&ended.usage, charge));
    }

    /// The total cost.
    pub(crate) fn cost(&self) -> NanoUsd {
        self.by_model.iter().chain(&self.agents_by_model).fold(NanoUsd::default(), |sum, of| sum + of.cost)
    }

    /// Tokens and money by model, those of agents included.
    pub(crate) fn all_by_model(&self) -> Vec<ModelTotals> {
        let mut all = self.by_model.clone();
        self.agents_by_model.iter().for_each(|of| add(&mut all, &of.model, &of.usage, of.cost));
        all
    }

    /// Agents have cost this much.
    pub(super) fn charge(&mut self, model: &Arc<str>, usage: &Usage, cost: NanoUsd) {
        add(&mut self.agents_by_model, model, usage, cost);
    }

    /// Counts a call that gave up or was aborted: it took time, and the token counts of the API hold.
    pub(super) fn count_lost(&mut self, env: &Environment, now: Time, call: &ApiCall) {
        self.api_time += now.since(call.since());
        self.count_attempt(env, &AttemptCost::from_call(call));
    }

    /// Counts an attempt that was given up in the middle of its answer: the token counts that the API had sent still hold.
    pub(super) fn count_attempt(&mut self, env: &Environment, attempt: &AttemptCost) {
        if attempt.usage != Usage::default() {
            self.add(&attempt.model, &attempt.usage, attempt.cost(env));
        }
    }

    /// The output tokens of the prompt's own model.
    pub(super) fn output_tokens(&self) -> u64 {
        self.by_model.iter().filter_map(|of| of.usage.output_tokens).fold(0, u64::saturating_add)
    }

    pub(super) fn add(&mut self, model: &Arc<str>, usage: &Usage, cost: NanoUsd) {
        add(&mut self.by_model, model, usage, cost);
    }
}

fn add(all: &mut Vec<ModelTotals>, model: &Arc<str>, usage: &Usage, cost: NanoUsd) {
    match all.iter_mut().find(|of| of.model == *model) {
        Some(of) => {
            of.usage.add(usage);
            of.cost = of.cost + cost;
        }
        None => all.push(ModelTotals { model: model.clone(), usage: *usage, cost }),
    }
}

/// The cost of an attempt so far.
#[derive(Clone, Debug, Hash)]
pub(super) struct AttemptCost {
    pub(super) model: Arc<str>,
    pub(super) usage: Usage,
    pub(super) is_fast: bool,
}

impl AttemptCost {
    pub(super) fn from_call(call: &ApiCall) -> Self {
        Self { model: call.model().clone(), usage: *call.usage(), is_fast: call.is_fast() }
    }

    pub(super) fn cost(&self, env: &Environment) -> NanoUsd {
        let date = env.settings.session.date;
        env.prices.cost(&self.usage, AnswerCharge { model: &self.model, date, is_fast: self.is_fast, is_refused_at_once: false })
    }
}

/// How a query will end, once nothing is open any more.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(super) struct QueryEnding {
    pub(super) terminal: Terminal,
    why: EndCause,
}

#[derive(Clone, Debug, PartialEq, Hash)]
enum EndCause {
    /// The turn ended as it should.
    Success,
    /// This is shown in an answer's place.
    Failed { id: RequestId, failure: AttemptFailure },
    /// The user aborted, or the owner of the agent did.
    Aborted(AbortKind),
    /// A limit is reached: only the result reports it.
    Limit(Arc<str>),
}

impl QueryEnding {
    pub(super) fn well(terminal: Terminal) -> Self {
        Self { terminal, why: EndCause::Success }
    }

    pub(super) fn failed(terminal: Terminal, id: RequestId, failure: AttemptFailure) -> Self {
        Self { terminal, why: EndCause::Failed { id, failure } }
    }

    /// Ends at a limit of the settings.
    pub(super) fn limit(terminal: Terminal, text: &str) -> Self {
        Self { terminal, why: EndCause::Limit(text.into()) }
    }

    /// Ends a prompt whose money is spent; `spent` is this session's part of it (S-10).
    pub(super) fn over_budget(scope: &QueryScope<'_>, spent: NanoUsd) -> Self {
        let max = scope.env.settings.session.max_budget.unwrap_or_default();
        Self::limit(Terminal::MaxBudget, &format!("the budget is used up: {} of {max}", spent + scope.effects.elsewhere().spent))
    }

    /// The request that it is about, where there is one.
    pub(super) fn id(&self, prompt: u32) -> RequestId {
        match &self.why {
            EndCause::Failed { id, .. } => *id,
            _ => RequestId::first(prompt),
        }
    }

    /// Too long and too large have terminals of their own, all other lost calls share one.
    pub(super) fn call_lost(env: &Environment, id: RequestId, failure: AttemptFailure) -> Self {
        let is_as_media = env.settings.compaction.too_large_request == TooLargeRequestPolicy::Media;
        let terminal = match failure.too_much() {
            None => Terminal::ModelError,
            Some(RetryDecision::Media) => Terminal::ImageError,
            Some(_) if is_as_media && failure.status == Some(413) => Terminal::ImageError,
            Some(_) => Terminal::PromptTooLong,
        };
        Self::failed(terminal, id, failure)
    }

    pub(super) fn aborted(terminal: Terminal, kind: AbortKind) -> Self {
        Self { terminal, why: EndCause::Aborted(kind) }
    }

    /// Tells the user and, for later prompts, the model. Returns what goes into the result's errors.
    pub(super) fn tell(&self, scope: &mut QueryScope<'_>, prompt: u32) -> Option<Arc<str>> {
        let texts = &scope.env.settings.texts;
        let error = self.emit(prompt, texts, scope.effects);
        if let Some(text) = self.kept_text(texts) {
            scope.memory.conversation.push_hidden(format!("p{prompt}.interrupted"), text);
        }
        error
    }

    /// Emits what the user should see of it; returns what goes into the result's errors.
    fn emit(&self, prompt: u32, texts: &ModelTexts, effects: &mut AgentEffects) -> Option<Arc<str>> {
        match &self.why {
            EndCause::Success => None,
            EndCause::Limit(text) => Some(text.clone()),
            EndCause::Failed { id, failure } => {
                let text: Arc<str> = failure.summary().into();
                effects.push(Effect::Emit(Emission::Assistant(Arc::new(error_message(*id, &failure.kind, &text)))));
                Some(text)
            }
            EndCause::Aborted(AbortKind::Unneeded) => Some("stopped: the result is no longer needed".into()),
            EndCause::Aborted(_) => {
                if let Some(text) = self.kept_text(texts) {
                    effects.push(Effect::Emit(Emission::Interrupted { prompt, text: text.into() }));
                }
                Some("aborted by the user".into())
            }
        }
    }

    /// The interruption message: the model sees it before the next prompt. A submitted message needs none, because it follows itself
    ///
    fn kept_text<'t>(&self, texts: &'t ModelTexts) -> Option<&'t str> {
        match (&self.why, &self.terminal) {
            (EndCause::Aborted(AbortKind::Cancel), Terminal::AbortedTools) => Some(texts.template(TextName::InterruptedTools)),
            (EndCause::Aborted(AbortKind::Cancel), _) => Some(texts.template(TextName::Interrupted)),
            _ => None,
        }
    }
}

/// An error takes the place of an answer, as one assistant message.
fn error_message(id: RequestId, kind: &Arc<str>, text: &str) -> AssistantMessage {
    AssistantMessage {
        uuid: format!("p{}.r{}.a{}.error", id.prompt, id.turn, id.attempt).into(),
        id,
        api_id: "".into(),
        model: "".into(),
        block: Block::text(text),
        error: Some(kind.clone()),
    }
}
