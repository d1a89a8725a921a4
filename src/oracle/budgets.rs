//! O-13: no request after the budget of money or of turns is passed; the task budget in requests never grows (S-10).
//!
//! Money is that of the whole tree of agents, side calls included. The figures are reckoned here from what each attempt reports, at usual speed and
//! at the price of the model that was asked or of the one that answered, whichever is lower: a lower bound of what the engine must have reckoned.

use super::{OracleFindings, OracleRules};
use reenact_engine::budget::{AnswerCharge, NanoUsd};
use reenact_engine::contract::{Effect, Emission, Note, RequestId};
use reenact_engine::settings::SessionSettings;
use reenact_wire::prelude::*;
use reenact_wire::raw_json::RawObject;
use reenact_wire::usage::Usage;

pub(super) const ORACLE: &str = "O-13";

/// The spending.
#[derive(Clone, Debug, Default)]
pub(super) struct BudgetOracle {
    spent: NanoUsd,
    /// The latest attempt that was reported.
    last: Option<Attempt>,
    /// The model that answered the latest request, by its own word.
    answered: Option<(RequestId, Arc<str>)>,
    /// The latest answer that was a refusal: it may be free.
    refused: Option<RequestId>,
    /// The answers of the prompt that had results.
    with_results: Vec<RequestId>,
    /// How many of them were complete.
    turns: u32,
    /// The rest of the task budget in the last request.
    task_tokens: Option<u64>,
}

/// An attempt that is paid for.
#[derive(Clone, Copy, Debug)]
struct Attempt {
    id: RequestId,
    usage: Usage,
    cost: NanoUsd,
}

impl BudgetOracle {
    pub(super) fn on_effect(&mut self, rules: &OracleRules, effect: &Effect) {
        match effect {
            Effect::Note(Note::Attempt(report)) if rules.session.max_budget.is_some() && self.refused != Some(report.id) => {
                let cost = cost(rules, &report.model, &report.usage);
                self.last = Some(Attempt { id: report.id, usage: report.usage, cost });
                self.spent = self.spent + cost;
                self.charge_who_answered(rules);
            }
            // A streamed answer says so before its attempt is reported, one that comes whole says so after it.
            Effect::Emit(Emission::Assistant(message)) if !message.model.is_empty() => {
                self.answered = Some((message.id, message.model.clone()));
                self.charge_who_answered(rules);
            }
            // Turn 0 is what an earlier session left open: no answer of this one.
            Effect::Emit(Emission::User(message)) if message.run.request.turn > 0 && !self.with_results.contains(&message.run.request) => {
                self.with_results.push(message.run.request);
            }
            Effect::Emit(Emission::Answered { id, stop_reason, .. }) if stop_reason.as_deref() == Some("refusal") => {
                self.refused = Some(*id);
                if let Some(Attempt { cost, .. }) = self.last.take_if(|last| last.id == *id) {
                    self.spent = NanoUsd(self.spent.0.saturating_sub(cost.0));
                }
            }
            // What did not count is no turn.
            Effect::Note(Note::Discarded { id, .. } | Note::LeftRunning { id, .. }) => {
                self.with_results.retain(|with_results| with_results != id)
            }
            Effect::Finished { .. } => {
                self.with_results.clear();
                self.turns = 0;
            }
            _ => (),
        }
    }

    /// Where another model answered than was asked, the lower price of the two holds.
    fn charge_who_answered(&mut self, rules: &OracleRules) {
        let (Some(last), Some((id, model))) = (&mut self.last, &self.answered) else { return };
        if last.id == *id && rules.session.max_budget.is_some() {
            let cost = last.cost.min(cost(rules, model, &last.usage));
            self.spent = NanoUsd(self.spent.0.saturating_sub(last.cost.0 - cost.0));
            last.cost = cost;
        }
    }

    /// The spending of this agent.
    pub(super) fn spent(&self) -> NanoUsd {
        self.spent
    }

    /// A request goes out: what came before it is complete. `spent` is what the whole tree has spent.
    pub(super) fn on_request(
        &mut self,
        rules: &OracleRules,
        (id, extra): (RequestId, &str),
        spent: NanoUsd,
        found: &mut OracleFindings<'_>,
    ) {
        let SessionSettings { max_budget, max_turns, task_budget, .. } = &rules.session;
        if id.attempt == 1 {
            self.turns = u32::try_from(self.with_results.len()).unwrap_or(u32::MAX);
        }
        if let Some(max) = max_budget.filter(|max| spent >= *max) {
            found.add(ORACLE, format!("request {id} was made after {spent} of {max} were spent"));
        }
        if let Some(max) = max_turns.filter(|max| self.turns >= *max) {
            found.add(ORACLE, format!("request {id} was made after {} of {max} turns", self.turns));
        }
        if let Some(total) = task_budget {
            self.check_task_budget(id, *total, extra, found);
        }
    }

    fn check_task_budget(&mut self, id: RequestId, total: u64, extra: &str, found: &mut OracleFindings<'_>) {
        let told = RawObject::parse(extra).ok().and_then(|extra| extra.object("output_config")?.object("task_budget")?.count("remaining"));
        match told {
            None => (), // a request that summarises may keep silent about it
            Some(left) if left > self.task_tokens.unwrap_or(total) => {
                found.add(ORACLE, format!("the task budget grew: request {id} has {left} tokens"));
            }
            Some(left) => self.task_tokens = Some(left),
        }
    }
}

fn cost(rules: &OracleRules, model: &str, usage: &Usage) -> NanoUsd {
    rules.prices.cost(usage, AnswerCharge { model, date: rules.session.date, is_fast: false, is_refused_at_once: false })
}
