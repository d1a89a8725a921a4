//! O-13: no request after the budget of money or of turns is passed, and no end for the turns before they are made; the task budget in requests
//! never grows (S-10), and a compaction takes the size of the context before it (C-6).
//!
//! Money is that of the whole tree of agents, side calls included. It is reckoned from the answers ([`super::accounts`]): a lower bound of what the engine
//! must have reckoned.

use super::{OracleFindings, OracleRules};
use reenact_engine::budget::NanoUsd;
use reenact_engine::contract::{Effect, Emission, Note, RequestId, Terminal};
use reenact_engine::settings::SessionSettings;
use reenact_wire::prelude::*;
use reenact_wire::raw_json::RawObject;

pub(super) const ORACLE: &str = "O-13";

/// The turns of the prompt, and the rest of the task budget.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct BudgetOracle {
    /// The answers of the prompt that had results.
    with_results: Vec<RequestId>,
    /// How many of them were complete.
    turns: u32,
    /// The rest of the task budget in the last request.
    task_tokens: Option<u64>,
    /// The size of the context before each compaction since then, in all.
    compacted: u64,
}

impl BudgetOracle {
    pub(super) fn on_effect(&mut self, rules: &OracleRules, effect: &Effect, found: &mut OracleFindings<'_>) {
        match effect {
            // Turn 0 is what an earlier session left open: no answer of this one.
            Effect::Emit(Emission::User(message)) if message.run.request.turn > 0 && !self.with_results.contains(&message.run.request) => {
                self.with_results.push(message.run.request);
            }
            Effect::Emit(Emission::CompactBoundary { tokens_before, .. }) => {
                self.compacted = self.compacted.saturating_add(*tokens_before);
            }
            // What did not count is no turn.
            Effect::Note(Note::Discarded { id, .. } | Note::LeftRunning { id, .. }) => {
                self.with_results.retain(|with_results| with_results != id)
            }
            Effect::Finished { prompt, terminal } => {
                if *terminal == Terminal::MaxTurns {
                    self.check_turns_made(rules, *prompt, found);
                }
                self.with_results.clear();
                self.turns = 0;
            }
            _ => (),
        }
    }

    /// The turns that the settings allow were made.
    fn check_turns_made(&self, rules: &OracleRules, prompt: u32, found: &mut OracleFindings<'_>) {
        found.ask(ORACLE);
        let made = u32::try_from(self.with_results.len()).unwrap_or(u32::MAX);
        match rules.settings.session.max_turns {
            Some(max) if made < max => found.add(ORACLE, format!("prompt {prompt} ended for its turns after {made} of {max}")),
            Some(_) => (),
            None => found.add(ORACLE, format!("prompt {prompt} ended for its turns, and no setting limits them")),
        }
    }

    /// A request goes out: what came before it is complete. `spent` is what the whole tree has spent.
    pub(super) fn on_request(
        &mut self,
        rules: &OracleRules,
        (id, extra): (RequestId, &str),
        spent: NanoUsd,
        found: &mut OracleFindings<'_>,
    ) {
        let SessionSettings { max_budget, max_turns, task_budget, .. } = &rules.settings.session;
        if max_budget.is_some() || max_turns.is_some() || task_budget.is_some() {
            found.ask(ORACLE);
        }
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
            Some(left) => {
                let before = self.task_tokens.replace(left).unwrap_or(total);
                let taken = core::mem::take(&mut self.compacted);
                let due = before.saturating_sub(taken);
                // An engine that does not count its contexts says 0.
                if taken > 0 && left != due {
                    let text = format!(
                        "request {id} has {left} tokens of the task budget, and {due} are left: {before} less {taken} of compactions"
                    );
                    found.add(ORACLE, text);
                }
            }
        }
    }
}
