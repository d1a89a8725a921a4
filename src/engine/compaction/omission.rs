//! The omissions of a summarising call: the oldest rounds where it is too long itself (C-4, C-7), thinking that another model cannot read.

use super::machine::Compaction;
use super::{reactive, rounds, summary};
use crate::conversation::ConversationItem;
use crate::retry::AttemptFailure;
use crate::settings::Environment;
use crate::texts::{ModelTexts, TextName};
use reenact_wire::prelude::*;
use reenact_wire::tokens;

impl Compaction {
    /// Leaves out as many of the oldest rounds as this failure asks for; `false` when that cannot be, or was done as often as it may be.
    pub(super) fn shorten(&mut self, env: &Environment, failure: &AttemptFailure) -> bool {
        let asked = || self.asked_about.iter().map(|item| item.tokens()).sum::<u64>() + tokens::request(&self.base);
        let excess = reactive::excess(failure)
            .map(|excess| excess.in_estimate(asked() + tokens::tokens_of_text(env.settings.texts.template(TextName::SummaryPrompt))));
        let is_shorter = self.drops < env.settings.compaction.summary_drops && self.leave_out(excess);
        self.drops += u32::from(is_shorter);
        is_shorter
    }

    /// Leaves the oldest whole rounds out of what the model is asked about (C-7); `false` when there is only one.
    pub(super) fn leave_out(&mut self, excess: Option<u64>) -> bool {
        let rounds = rounds::rounds(&self.asked_about);
        let sizes: Vec<u64> = rounds.iter().map(|round| self.asked_about[round.clone()].iter().map(|item| item.tokens()).sum()).collect();
        let Some(dropped) = reactive::rounds_to_drop(&sizes, excess) else { return false };
        self.asked_about.drain(..rounds[dropped].start);
        true
    }

    /// Another model cannot read what this one thought.
    pub(super) fn forget_thinking(&mut self, texts: &ModelTexts) {
        for item in &mut self.asked_about {
            let stripped = summary::without_thinking(&item.message, texts);
            if let Some(message) = stripped {
                *item = Arc::new(ConversationItem { message: Arc::new(message), lacks_thinking: true, ..ConversationItem::clone(item) });
            }
        }
    }
}
