//! C-3: spans that were summarised in the background are committed when the context comes near the window: requests see the summary, the store
//! keeps the originals.
//!
//! They are committed oldest first, and no more of them than it takes to come under the threshold, so that what is finer survives as long as
//! it can. A staged summary that cannot stand for its span is discarded, and the transcript says why.

use super::rounds;
use crate::contract::StagedSummary;
use crate::conversation::Conversation;
use reenact_wire::prelude::*;
use reenact_wire::tokens;

/// Whether a staged summary may stand for its span; otherwise why not.
pub(super) fn check(conversation: &Conversation, staged: &StagedSummary) -> Result<(), &'static str> {
    let items = conversation.items();
    let span = conversation.span(staged).ok_or("its span is not in the conversation")?;
    if span.end == items.len() {
        return Err("it would hide what the next request asks about");
    }
    if !rounds::is_whole(items, &span) {
        return Err("its span would part messages that belong together");
    }
    if span.clone().any(|index| conversation.is_collapsed(index)) {
        return Err("part of its span is collapsed already");
    }
    let originals: u64 = span.map(|index| conversation.tokens_of(index)).sum();
    if tokens::tokens_of_text(&staged.summary) >= originals {
        return Err("it is not smaller than the span that it replaces"); // C-8a
    }
    Ok(())
}

/// The place of the oldest staged summary: the one whose span begins first.
pub(super) fn oldest(conversation: &Conversation) -> Option<usize> {
    let begins = |staged: &Arc<StagedSummary>| conversation.position(&staged.from).unwrap_or(0);
    (0..conversation.staged().len()).min_by_key(|index| begins(&conversation.staged()[*index]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compaction::rounds::tests::{conversations, is_paired, items};
    use crate::settings::NeighbourMerging;
    use proptest::prelude::*;

    fn staged(from: &str, to: &str, characters: usize) -> Arc<StagedSummary> {
        Arc::new(StagedSummary { from: from.into(), to: to.into(), summary: "s".repeat(characters).into() })
    }

    #[test]
    fn c_3_a_summary_stands_for_a_whole_and_older_and_longer_span() {
        let mut conversation = Conversation::from_items(items("p a+1 r a p a+1 r"));
        let table = [
            (staged("p0", "r2", 4), Ok(())),
            (staged("a+11", "r2", 4), Ok(())),
            (staged("p0", "a+11", 4), Err("its span would part messages that belong together")),
            (staged("r2", "a3", 4), Err("its span would part messages that belong together")),
            (staged("a+15", "r6", 4), Err("it would hide what the next request asks about")),
            (staged("r2", "p0", 4), Err("its span is not in the conversation")),
            (staged("p0", "gone", 4), Err("its span is not in the conversation")),
            (staged("p0", "r2", 400), Err("it is not smaller than the span that it replaces")),
        ];
        for (staged, expected) in table {
            assert_eq!(check(&conversation, &staged), expected, "{} to {}", staged.from, staged.to);
        }
        conversation.collapse(staged("a+11", "r2", 4));
        assert_eq!(check(&conversation, &staged("p0", "a3", 4)), Err("part of its span is collapsed already"));
    }

    #[test]
    fn c_3_a_summary_is_smaller_than_what_requests_see_of_its_span() {
        let mut conversation = Conversation::from_items(items("p a+1 r a p"));
        let staged = staged("p0", "r2", 40);
        assert_eq!(check(&conversation, &staged), Ok(()));
        conversation.hide(&[1, 2]);
        assert_eq!(check(&conversation, &staged), Err("it is not smaller than the span that it replaces"));
    }

    #[test]
    fn c_3_the_oldest_span_goes_first() {
        let mut conversation = Conversation::from_items(items("p a p a p"));
        assert_eq!(oldest(&conversation), None);
        conversation.stage(staged("p2", "a3", 1));
        conversation.stage(staged("p0", "a1", 1));
        assert_eq!(oldest(&conversation), Some(1));
    }

    proptest! {
        #[test]
        fn c_7_collapsing_leaves_pairs(items in conversations(), spans in proptest::collection::vec((0..30_usize, 0..30_usize), 1..6)) {
            let names: Vec<Arc<str>> = items.iter().map(|item| item.name.clone()).collect();
            let mut conversation = Conversation::from_items(items);
            let originals = conversation.items().to_vec();
            for (from, to) in spans {
                let (from, to) = (&names[from % names.len()], &names[to % names.len()]);
                let staged = staged(from, to, 1);
                let before = conversation.tokens(|| 0);
                if check(&conversation, &staged).is_ok() {
                    conversation.collapse(staged);
                    prop_assert!(conversation.tokens(|| 0) < before);
                }
                prop_assert!(is_paired(&conversation.messages(NeighbourMerging::Joined)));
            }
            prop_assert_eq!(conversation.items(), &originals[..]);
        }
    }
}
