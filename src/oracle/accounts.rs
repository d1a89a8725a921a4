//! O-32: accounts. Usage and cost of a result message are what the answers told, reckoned here from the streams, with the figures of the price table. After
//! a message at which the money is spent no tool starts, nobody is asked and no hook runs. No prompt ends for its money before it is spent.
//!
//! Costs are not asked where answers may be charged in another way than by their tokens: fast answers, and refusals, which may be free.

use super::request_kind::{RequestKind, SentRequest};
use super::{AgentOracles, OracleFindings, OracleRules};
use reenact_engine::budget::{NanoUsd, PriceRow};
use reenact_engine::contract::{ByAgent, Effect, Emission, EventPayload, Input, RequestId, Terminal};
use reenact_engine::emission::ResultMessage;
use reenact_engine::key::KeylessValue;
use reenact_engine::time::{Micros, Time};
use reenact_wire::prelude::*;
use reenact_wire::usage::Usage;
use reenact_wire::whole_message::whole_message;

pub(super) const ORACLE: &str = "O-32";

/// The accounts of one agent: the figures of its answers, and those of its sub-agents.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct AccountOracle {
    /// Of the prompts that are not over.
    answers: Vec<AnswerAccount>,
    /// The results of the sub-agents that ended since the last result.
    charged: Vec<ChargedResult>,
    /// At least so much was spent, where the settings limit it: of two prices the lower one, and a refusal may be free.
    spent: NanoUsd,
    /// At most so much was spent, where the settings limit it.
    spent_most: NanoUsd,
    /// The money was spent when a message came out.
    is_broke: bool,
}

/// The figures of a sub-agent's result.
#[derive(Clone, Debug, Hash)]
struct ChargedResult {
    usage: Usage,
    cost: NanoUsd,
    by_model: Vec<(Arc<str>, Usage)>,
}

/// The account of one answer.
#[derive(Clone, Debug, Hash)]
struct AnswerAccount {
    id: RequestId,
    /// The model that was asked.
    asked: Arc<str>,
    /// The model that answers, by its own word.
    answered: Arc<str>,
    usage: Usage,
    is_refused: bool,
    /// An answer that comes whole counts when it has ended.
    body: Option<Arc<str>>,
    /// Whether the first event of a stream has come.
    has_begun: bool,
    /// The stream has said that the message is over. A stop reason behind that is none.
    is_over: bool,
    /// Nobody listens any more.
    is_closed: bool,
    kind: RequestKind,
    stop_reason: Option<Arc<str>>,
    /// When it was asked for, and when it was over.
    span: KeylessValue<(Time, Time)>,
}

impl AccountOracle {
    pub(super) fn on_request(&mut self, at: Time, sent: SentRequest<'_>) {
        let asked = sent.request.model.clone();
        let (answered, usage) = (asked.clone(), Usage::default());
        let (kind, stop_reason, span) = (sent.kind, None, KeylessValue((at, at)));
        self.answers.push(AnswerAccount {
            id: sent.id,
            asked,
            answered,
            usage,
            is_refused: false,
            body: None,
            has_begun: false,
            is_over: false,
            is_closed: false,
            kind,
            stop_reason,
            span,
        });
    }

    pub(super) fn on_input(&mut self, rules: &OracleRules, at: Time, input: &Input) {
        match input {
            Input::Stream { id, event } => match event.payload() {
                EventPayload::MessageStart(start) => {
                    if let Some(answer) = self.open(*id) {
                        answer.has_begun = true;
                    }
                    self.told(rules, *id, Some(&start.model), (&start.usage, start.stop_reason.as_deref()));
                }
                // A stream that begins with its end is refused, and what it says is not counted.
                EventPayload::MessageDelta(delta) => {
                    let Some(answer) = self.open(*id).filter(|answer| answer.has_begun) else { return };
                    let stop_reason = delta.stop_reason.as_deref().filter(|_| !answer.is_over);
                    self.told(rules, *id, None, (&delta.usage, stop_reason));
                }
                EventPayload::MessageStop => self.open(*id).into_iter().for_each(|answer| answer.is_over = true),
                _ => (),
            },
            Input::Body { id, body } => {
                if let Some(answer) = self.open(*id) {
                    answer.body = Some(body.clone());
                }
            }
            Input::End { id, .. } => {
                let Some(answer) = self.open(*id) else { return };
                answer.span.0.1 = at;
                let Some(body) = answer.body.take() else { return };
                let Ok(message) = whole_message(&body) else { return };
                self.told(rules, *id, Some(&message.model), (&message.usage, message.stop_reason.as_deref()));
            }
            _ => (),
        }
    }

    fn told(&mut self, rules: &OracleRules, id: RequestId, model: Option<&str>, (usage, stop_reason): (&Usage, Option<&str>)) {
        let Some(answer) = self.answers.iter_mut().rev().find(|answer| answer.id == id && !answer.is_closed) else { return };
        let is_limited = rules.settings.session.max_budget.is_some();
        let bounds = |answer: &AnswerAccount| if is_limited { answer.cost_bounds(rules) } else { Default::default() };
        let before = bounds(answer);
        answer.usage.overwrite_with(usage);
        if let Some(model) = model.filter(|model| !model.is_empty()) {
            answer.answered = model.into();
        }
        answer.is_refused |= stop_reason == Some("refusal");
        answer.stop_reason = stop_reason.map(Into::into).or(answer.stop_reason.take());
        let now = bounds(answer);
        self.spent = NanoUsd((self.spent + now.0).0.saturating_sub(before.0.0));
        self.spent_most = NanoUsd((self.spent_most + now.1).0.saturating_sub(before.1.0));
    }

    fn open(&mut self, id: RequestId) -> Option<&mut AnswerAccount> {
        self.answers.iter_mut().rev().find(|answer| answer.id == id && !answer.is_closed)
    }

    /// A sub-agent of this one has ended.
    pub(super) fn on_child_result(&mut self, result: &ResultMessage) {
        let ResultMessage { usage, cost, usage_by_model, .. } = result;
        self.charged.push(ChargedResult { usage: *usage, cost: *cost, by_model: usage_by_model.clone() });
    }

    /// The output of the prompt that is open, in tokens. An engine may count that of its agents as well, or not.
    pub(super) fn output_tokens(&self) -> u64 {
        self.answers.iter().map(|answer| answer.usage.output_tokens.unwrap_or_default()).sum()
    }

    /// The spending of this agent.
    pub(super) fn spent(&self) -> NanoUsd {
        self.spent
    }

    /// The prompt ends because the money is spent. `most` is what the whole tree may have spent.
    pub(super) fn check_broke(rules: &OracleRules, prompt: u32, most: NanoUsd, found: &mut OracleFindings<'_>) {
        // A fast answer has prices of its own.
        let Some(max) = rules.settings.session.max_budget else {
            return found.add(ORACLE, format!("prompt {prompt} ended for its money, and no setting limits it"));
        };
        if rules.settings.retry.fast_mode {
            return;
        }
        found.ask(ORACLE);
        if most < max {
            found.add(ORACLE, format!("prompt {prompt} ended for its money, and {most} of {max} were spent at most"));
        }
    }

    /// `spent` is what the whole tree has spent.
    pub(super) fn on_effect(&mut self, rules: &OracleRules, effect: &Effect, spent: NanoUsd, found: &mut OracleFindings<'_>) {
        match effect {
            Effect::Emit(Emission::Result(result)) => self.on_result(rules, result, found),
            Effect::CloseRequest { id } => {
                if let Some(answer) = self.open(*id) {
                    answer.span.0.1 = found.at;
                    answer.is_closed = true;
                }
            }
            Effect::Emit(Emission::Init { .. }) | Effect::Finished { .. } => self.is_broke = false,
            Effect::Emit(Emission::Assistant(_) | Emission::User(_)) => {
                self.is_broke |= rules.settings.session.max_budget.is_some_and(|max| spent >= max);
            }
            Effect::StartTool { run, .. } | Effect::StartAgent { run, .. } | Effect::AskPermission { run, .. } if self.is_broke => {
                found.ask(ORACLE);
                found.add(ORACLE, format!("tool {run} went on after {spent} were spent, which is the limit"));
            }
            _ => (),
        }
    }

    fn on_result(&mut self, rules: &OracleRules, result: &ResultMessage, found: &mut OracleFindings<'_>) {
        let charged = core::mem::take(&mut self.charged);
        let of_prompt: Vec<AnswerAccount> = self.answers.extract_if(.., |answer| answer.id.prompt == result.prompt).collect();
        let mut usage = Usage::default();
        of_prompt.iter().map(|answer| &answer.usage).chain(charged.iter().map(|charged| &charged.usage)).for_each(|of| usage.add(of));
        check_waiting(&of_prompt, result, found);
        found.ask(ORACLE);
        if figures(&usage) != figures(&result.usage) {
            let (told, own) = (in_words(&usage), in_words(&result.usage));
            found.add(ORACLE, format!("the result of prompt {} counts {own}, and the answers told {told}", result.prompt));
        }
        check_models(&of_prompt, &charged, result, found);
        let costs = of_prompt.iter().map(|answer| answer.cost(rules, &answer.asked)).chain(charged.iter().map(|charged| charged.cost));
        let cost = costs.fold(NanoUsd::default(), |sum, cost| sum + cost);
        let is_plain =
            !rules.settings.retry.fast_mode && of_prompt.iter().all(|answer| !answer.is_refused && answer.asked == answer.answered);
        if is_plain && cost != result.cost {
            found.add(ORACLE, format!("the result of prompt {} has a cost of {}, and its answers cost {cost}", result.prompt, result.cost));
        }
    }
}

/// S-1: each model has its own tokens, once. Nothing is asked where a model answered for another.
fn check_models(answers: &[AnswerAccount], charged: &[ChargedResult], result: &ResultMessage, found: &mut OracleFindings<'_>) {
    if answers.iter().any(|answer| answer.asked != answer.answered) {
        return;
    }
    let own = || answers.iter().map(|answer| (&answer.asked, &answer.usage));
    let of_agents = || charged.iter().flat_map(|charged| &charged.by_model).map(|(model, usage)| (model, usage));
    // A model that nobody asked is O-31's to see.
    let is_known = |model: &Arc<str>| own().chain(of_agents()).any(|(of, _)| of == model);
    for (model, said) in result.usage_by_model.iter().filter(|(model, _)| is_known(model)) {
        let mut told = Usage::default();
        own().chain(of_agents()).filter(|(of, _)| *of == model).for_each(|(_, usage)| told.add(usage));
        if figures(&told) != figures(said) {
            let (prompt, told, said) = (result.prompt, in_words(&told), in_words(said));
            found.add(ORACLE, format!("the result of prompt {prompt} counts {said} for {model}, and its answers told {told}"));
        }
    }
}

/// S-1: the time that a prompt waited for the model is that of its answers, and a good result has the stop reason of the last one.
fn check_waiting(answers: &[AnswerAccount], result: &ResultMessage, found: &mut OracleFindings<'_>) {
    let of_conversation = || answers.iter().filter(|answer| answer.kind != RequestKind::ToolSummary);
    let waited = of_conversation().map(|answer| answer.span.1.since(answer.span.0.0)).fold(Micros::ZERO, |sum, span| sum + span);
    let (prompt, said) = (result.prompt, result.api_duration);
    if said < waited {
        found.add(ORACLE, format!("the result of prompt {prompt} says that {said} went by with requests, and it was {waited} at least"));
    }
    let last = of_conversation().next_back().filter(|answer| !answer.is_closed && result.terminal == Terminal::Completed);
    // A refusal that is hidden is another rule's to see.
    let last = last.filter(|last| last.kind == RequestKind::Ordinary && !last.is_refused && last.stop_reason != result.stop_reason);
    if let Some(last) = last {
        let [told, own] = [&last.stop_reason, &result.stop_reason].map(|reason| reason.as_deref().unwrap_or("none"));
        found.add(ORACLE, format!("the result of prompt {prompt} has the stop reason {own}, and the last answer told {told}"));
    }
}

impl AnswerAccount {
    /// The least and the most that the answer costs at usual speed: one of two models is charged, and a refusal may be free.
    fn cost_bounds(&self, rules: &OracleRules) -> (NanoUsd, NanoUsd) {
        let (asked, answered) = (self.cost(rules, &self.asked), self.cost(rules, &self.answered));
        let least = if self.is_refused { NanoUsd::default() } else { asked.min(answered) };
        (least, asked.max(answered))
    }

    /// The cost of the answer at the prices of a model, at usual speed.
    fn cost(&self, rules: &OracleRules, model: &str) -> NanoUsd {
        let count = |tokens: Option<u64>| tokens.unwrap_or(0);
        let (input, read) = (count(self.usage.input_tokens), count(self.usage.cache_read_input_tokens));
        let written = count(self.usage.cache_creation_input_tokens);
        let for_an_hour = count(self.usage.cache_creation_1h_input_tokens).min(written);
        let is_valid = |row: &&PriceRow| {
            !row.fast
                && row.is_for(model)
                && row.from.is_none_or(|from| from <= rules.settings.session.date)
                && row.over_tokens.is_none_or(|over| over < input + read + written)
        };
        // The price for long prompts goes before the usual one, a later price before an earlier one.
        let row = rules.prices.rows.iter().filter(is_valid).max_by_key(|row| (row.over_tokens, row.from));
        let prices = row.map_or(&rules.prices.unknown_model, |row| &row.prices);
        let searches = self.usage.web_search_requests.map_or(0, u64::from);
        let nano_dollars = input * prices.input.0
            + count(self.usage.output_tokens) * prices.output.0
            + (written - for_an_hour) * prices.write_5m.0
            + for_an_hour * prices.write_1h.0
            + read * prices.read.0
            + searches * rules.prices.web_search.0;
        NanoUsd(nano_dollars)
    }
}

/// The spending of the whole tree, where it is limited.
pub(super) fn spent(agents: &ByAgent<AgentOracles>) -> NanoUsd {
    agents.all().fold(NanoUsd::default(), |sum, watched| sum + watched.accounts.spent())
}

/// The most that the whole tree may have spent, where it is limited.
pub(super) fn spent_most(agents: &ByAgent<AgentOracles>) -> NanoUsd {
    agents.all().fold(NanoUsd::default(), |sum, watched| sum + watched.accounts.spent_most)
}

/// A count that is not told is none.
fn figures(usage: &Usage) -> [u64; 6] {
    let Usage { input_tokens, output_tokens, cache_creation_input_tokens, cache_read_input_tokens, .. } = usage;
    let searches = usage.web_search_requests.map(u64::from);
    [input_tokens, output_tokens, cache_creation_input_tokens, cache_read_input_tokens, &usage.cache_creation_1h_input_tokens, &searches]
        .map(|count| count.unwrap_or(0))
}

fn in_words(usage: &Usage) -> String {
    let count = |tokens: Option<u64>| tokens.unwrap_or(0);
    let cached = count(usage.cache_creation_input_tokens) + count(usage.cache_read_input_tokens);
    format!("{} tokens of input, {cached} of cache and {} of output", count(usage.input_tokens), count(usage.output_tokens))
}
