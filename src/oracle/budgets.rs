//! O-13: no request after the budget of money or of turns is passed; the task budget that requests tell never grows (S-10).
//!
//! The figures are reckoned here from what each attempt reports, at usual speed: a lower bound of what the engine must have reckoned.

use super::{Findings, Rules};
use crate::engine::budget::{Charge, NanoUsd};
use crate::engine::contract::{Effect, Emission, Note, RequestId};
use crate::engine::settings::SessionSettings;
use crate::prelude::*;
use crate::wire::raw::Object;

pub(super) const ORACLE: &str = "O-13";

/// What was spent.
#[derive(Clone, Debug, Default)]
pub(super) struct Budgets {
    spent: NanoUsd,
    /// The latest attempt, and what it cost.
    last: Option<(RequestId, NanoUsd)>,
    /// The latest answer that was a refusal: it may be free.
    refused: Option<RequestId>,
    /// The answers of the prompt that had results.
    with_results: Vec<RequestId>,
    /// How many of them were complete.
    turns: u32,
    /// What the last request said is left of the task budget.
    task_tokens: Option<u64>,
}

impl Budgets {
    pub(super) fn on_effect(&mut self, rules: &Rules, effect: &Effect) {
        match effect {
            Effect::Note(Note::Attempt(report)) if rules.session.max_budget.is_some() => {
                let charge = Charge { model: &report.model, date: rules.session.date, is_fast: false, is_refused_at_once: false };
                if self.refused != Some(report.id) {
                    let cost = rules.prices.cost(&report.usage, charge);
                    self.last = Some((report.id, cost));
                    self.spent = self.spent + cost;
                }
            }
            Effect::Emit(Emission::User(message)) if !self.with_results.contains(&message.run.request) => {
                self.with_results.push(message.run.request);
            }
            Effect::Emit(Emission::Answered { id, stop_reason, .. }) if stop_reason.as_deref() == Some("refusal") => {
                self.refused = Some(*id);
                if let Some((_, cost)) = self.last.take_if(|(last, _)| last == id) {
                    self.spent = NanoUsd(self.spent.0.saturating_sub(cost.0));
                }
            }
            // What did not count is no turn.
            Effect::Note(Note::Discarded { id, .. }) => self.with_results.retain(|with_results| with_results != id),
            Effect::Finished { .. } => {
                self.with_results.clear();
                self.turns = 0;
            }
            _ => (),
        }
    }

    /// A request goes out: what came before it is complete.
    pub(super) fn on_request(&mut self, rules: &Rules, id: RequestId, extra: &str, found: &mut Findings<'_>) {
        let SessionSettings { max_budget, max_turns, task_budget, .. } = &rules.session;
        if id.attempt == 1 {
            self.turns = u32::try_from(self.with_results.len()).unwrap_or(u32::MAX);
        }
        if let Some(max) = max_budget.filter(|max| self.spent >= *max) {
            found.add(ORACLE, format!("request {id} was made after {} of {max} were spent", self.spent));
        }
        if let Some(max) = max_turns.filter(|max| self.turns >= *max) {
            found.add(ORACLE, format!("request {id} was made after {} of {max} turns", self.turns));
        }
        if let Some(total) = task_budget {
            self.check_task_budget(id, *total, extra, found);
        }
    }

    fn check_task_budget(&mut self, id: RequestId, total: u64, extra: &str, found: &mut Findings<'_>) {
        let told = Object::parse(extra).ok().and_then(|extra| extra.object("output_config")?.object("task_budget")?.count("remaining"));
        match told {
            None => (), // a request that summarises may keep silent about it
            Some(left) if left > self.task_tokens.unwrap_or(total) => {
                found.add(ORACLE, format!("the task budget grew: request {id} tells {left} tokens"));
            }
            Some(left) => self.task_tokens = Some(left),
        }
    }
}
