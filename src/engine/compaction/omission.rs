//! The omissions of a summarising call: the oldest rounds where it is too long itself (C-4, C-7), thinking that the API would refuse there (Q-19).
//!
//! ```text
//!   tools [A B]  user  assistant(thinking, use A)  user(result A)            the request in which the model went on from its thinking
//!   tools none   user  assistant(use A)            user(result A, prompt)    the summarising one: what is before the thinking is another
//!   tools [A B]  user  assistant(thinking, use A)  user(result A, prompt)    with its tools it begins as the cache knows it: thinking stays
//! ```

use super::estimate::item_tokens;
use super::machine::Compaction;
use super::{reactive, rounds, summary};
use crate::conversation::{ConversationItem, VisiblePiece};
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
        let is_shorter = self.drops < env.settings.compaction.summary_drops && self.leave_out(excess, &env.settings.texts);
        self.drops += u32::from(is_shorter);
        is_shorter
    }

    /// Leaves the oldest whole rounds out of what the model is asked about (C-7); `false` when there is only one.
    pub(super) fn leave_out(&mut self, excess: Option<u64>, texts: &ModelTexts) -> bool {
        let rounds = rounds::rounds(&self.asked_about);
        let sizes: Vec<u64> = rounds.iter().map(|round| self.asked_about[round.clone()].iter().map(|item| item.tokens()).sum()).collect();
        let Some(dropped) = reactive::rounds_to_drop(&sizes, excess) else { return false };
        self.asked_about.drain(..rounds[dropped].start);
        self.forget_thinking_from(0, texts);
        true
    }

    /// Leaves out all thinking behind what this request does not send as the requests of the conversation did: tools that are not its own, media.
    /// Returns about how many tokens that is.
    pub(super) fn forget_bound_thinking(&mut self, env: &Environment, lacks_tools: bool, view: &[VisiblePiece]) -> u64 {
        let is_changed = |(seen, item): (&VisiblePiece, &Arc<ConversationItem>)| !Arc::ptr_eq(&seen.item.message, &item.message);
        let changed = if lacks_tools { Some(0) } else { view.iter().zip(&self.asked_about).position(is_changed) };
        let tokens = |items: &[Arc<ConversationItem>]| items.iter().map(|item| item_tokens(env, item)).sum::<u64>();
        let before = tokens(&self.asked_about);
        if let Some(changed) = changed {
            self.forget_thinking_from(changed, &env.settings.texts);
        }
        before.saturating_sub(tokens(&self.asked_about))
    }

    /// Leaves out the thinking of this item and all later ones: another model, or something else before it, is not what it is bound to.
    pub(super) fn forget_thinking_from(&mut self, index: usize, texts: &ModelTexts) {
        summary::forget_thinking(&mut self.asked_about[index..], texts);
    }
}
