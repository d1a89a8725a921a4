//! The API's token count of a conversation, less the parts that were removed since (C-1, C-4).

use super::ConversationItem;
use core::ops::Range;
use reenact_wire::prelude::*;

/// The tokens of the first items, and how many items that are; system prompt and tools are counted in.
#[derive(Clone, Copy, Debug, PartialEq, Hash)]
pub(super) struct CountedPrefix {
    items: usize,
    tokens: u64,
}

impl CountedPrefix {
    /// The count in the usage of the answer at `index`: of itself and all before it.
    pub(super) fn by(items: &[Arc<ConversationItem>], index: usize) -> Option<Self> {
        let tokens = items[index].usage?.context_tokens()?;
        Some(Self { items: index + 1, tokens })
    }

    /// The newest count.
    pub(super) fn by_the_last_of(items: &[Arc<ConversationItem>]) -> Option<Self> {
        (0..items.len()).rev().find_map(|index| Self::by(items, index))
    }

    pub(super) fn items(&self) -> usize {
        self.items
    }

    pub(super) fn tokens(&self) -> u64 {
        self.tokens
    }

    /// An item is gone.
    pub(super) fn on_removed(&mut self, index: usize, tokens: u64) {
        if index < self.items {
            self.items -= 1;
            self.tokens = self.tokens.saturating_sub(tokens);
        }
    }

    /// Corrects the count after a replacement: a span of `before` tokens now has `after` tokens.
    pub(super) fn on_replaced(&mut self, span: Range<usize>, before: u64, after: u64) {
        if span.start < self.items {
            self.tokens = self.tokens.saturating_sub(before).saturating_add(after);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::*;

    fn text(characters: usize) -> Vec<Block> {
        vec![Block::text(&"x".repeat(characters))]
    }

    fn counted(tokens: u64) -> Option<Usage> {
        Some(Usage { input_tokens: Some(tokens - 100), output_tokens: Some(100), ..Usage::default() })
    }

    /// p1 (40 tokens), p1.r1.a1 (20 tokens; the API counted 1,000), p2 (40 tokens).
    fn conversation() -> Conversation {
        let mut conversation = Conversation::default();
        conversation.push_user("p1", ItemKind::Prompt, text(120));
        conversation.push_answer(RequestId::first(1), text(60), counted(1_000));
        conversation.push_user("p2", ItemKind::Prompt, text(120));
        conversation
    }

    #[test]
    fn c_4_the_estimate_is_the_last_usage_and_what_is_newer() {
        assert_eq!(conversation().tokens(|| 7), 1_040);
        let mut fresh = Conversation::default();
        fresh.push_user("p1", ItemKind::Prompt, text(120));
        assert_eq!(fresh.tokens(|| 7), 47, "nothing is counted yet: system prompt and tools come on top");
        let same = Conversation::from_items(conversation().items().to_vec());
        assert_eq!(same.tokens(|| 7), 1_040);
    }

    #[test]
    fn c_1_what_is_removed_goes_from_the_count_until_the_api_counts_again() {
        let mut conversation = conversation();
        conversation.remove(&[0]);
        assert_eq!(conversation.tokens(|| 7), 1_000);
        conversation.remove(&[1]);
        assert_eq!(conversation.tokens(|| 7), 960, "p2 was never counted");
        conversation.push_answer(RequestId::first(2), text(60), counted(900));
        assert_eq!(conversation.tokens(|| 7), 900, "the API has counted without it");
        conversation.remove(&[1]);
        assert_eq!(conversation.tokens(|| 7), 880, "also without the answer that had the count");
    }

    #[test]
    fn c_1_what_is_hidden_stays_in_the_store_and_goes_from_requests_and_from_the_count() {
        let mut conversation = conversation();
        conversation.hide(&[0, 2]);
        assert_eq!(conversation.tokens(|| 7), 960, "p1 was counted, p2 is newer");
        assert_eq!(
            (conversation.items().len(), conversation.messages(NeighbourMerging::Joined).len(), conversation.count_hidden()),
            (3, 1, 2)
        );
        conversation.replace_message(0, Message::user(text(12)));
        assert_eq!(conversation.tokens(|| 7), 960, "nobody sees what changes there");
        conversation.remove(&[0]);
        assert_eq!(conversation.tokens(|| 7), 960, "it is not taken from the count twice");
    }

    #[test]
    fn c_2_what_is_replaced_goes_from_the_count_where_it_was_in_it() {
        let mut conversation = conversation();
        conversation.replace_message(0, Message::user(text(12)));
        assert_eq!(conversation.tokens(|| 7), 1_004);
        conversation.replace_message(2, Message::user(text(12)));
        assert_eq!(conversation.tokens(|| 7), 968);
    }

    #[test]
    fn c_3_a_collapse_is_a_projection_and_goes_from_the_count() {
        let staged = |from: &str, to: &str| Arc::new(StagedSummary { from: from.into(), to: to.into(), summary: "x".repeat(12).into() });
        let mut counted = conversation();
        counted.collapse(staged("p1", "p1.r1.a1"));
        assert_eq!(counted.tokens(|| 7), 1_000 - 60 + 4 + 40);
        assert_eq!(counted.items().len(), 3, "the store keeps the originals");
        assert_eq!(counted.messages(NeighbourMerging::Joined).len(), 1, "requests see a summary and the prompt");
        let mut straddling = conversation();
        straddling.collapse(staged("p1.r1.a1", "p2"));
        assert_eq!(straddling.tokens(|| 7), 1_000 - 20 + 4, "what is newer and collapsed counts as little");
    }

    #[test]
    fn c_3_collapses_stand_in_their_order() {
        let mut conversation = conversation();
        conversation.push_answer(RequestId::first(2), text(60), None);
        let staged = |name: &str| Arc::new(StagedSummary { from: name.into(), to: name.into(), summary: name.into() });
        conversation.collapse(staged("p2"));
        conversation.collapse(staged("p1"));
        let names: Vec<_> = conversation.view().into_iter().map(|seen| seen.item.name.clone()).collect();
        assert_eq!(names.iter().map(|name| &**name).collect::<Vec<_>>(), ["p1..p1", "p1.r1.a1", "p2..p2", "p2.r1.a1"]);
    }
}
