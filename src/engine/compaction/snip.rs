//! C-1: messages that a marker names are removed from the conversation.
//!
//! Only whole units go (C-7). A message whose partner is not marked stays, and stays marked, so that it goes as soon as its partner is named,
//! too; taking the partner along would remove an unmarked message. The last unit stays, because it is what the next request asks
//! about. So does the prompt before an answer that would otherwise be the first message, or would otherwise have its thinking behind what another
//! answer said while its tools are open: the API refuses both.

use super::rounds;
use crate::conversation::{Conversation, ConversationItem};
use reenact_wire::block::Block;
use reenact_wire::prelude::*;

/// The plan for the marked messages.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub(super) struct SnipPlan {
    /// The places of the items that go, in order.
    pub(super) removed: Vec<usize>,
    /// The marked messages that stay for now.
    pub(super) kept: Vec<Arc<str>>,
}

/// Decides which of the marked messages go. Names that are not in the conversation, or are in a span that requests no longer see, mean
/// nothing and are forgotten.
pub(super) fn plan(conversation: &Conversation, marked: &[Arc<str>]) -> SnipPlan {
    let items = conversation.items();
    let is_marked =
        |index: &usize| marked.contains(&items[*index].name) && !conversation.is_collapsed(*index) && !conversation.is_hidden(*index);
    let units = rounds::units(items);
    let last = units.len().saturating_sub(1);
    let is_removed = |nth: usize| nth < last && units[nth].clone().all(|index| is_marked(&index));
    let is_gone = |nth: usize| conversation.is_hidden(units[nth].start);
    let mut removed: Vec<bool> = (0..units.len()).map(is_removed).collect();
    let is_answer = |nth: usize| items[units[nth].start].is_answer();
    if let Some(first) = (0..units.len()).find(|nth| !removed[*nth] && !is_gone(*nth)).filter(|first| is_answer(*first))
        && let Some(prompt) = (0..first).rev().find(|nth| !is_answer(*nth) && !is_gone(*nth))
    {
        removed[prompt] = false;
    }
    let ends_in_answer = |nth: &usize| items[units[*nth].end - 1].is_answer();
    // What the user says after the results joins them, so that the loop is still open for the API.
    if let Some(thinks) = (0..units.len()).rev().find(|nth| !removed[*nth] && !is_gone(*nth) && is_answer(*nth))
        && begins_with_thinking(&items[units[thinks].start])
        && let Some(before) = (0..thinks).rev().find(|nth| !removed[*nth] && !is_gone(*nth)).filter(ends_in_answer)
        && let Some(prompt) = (before + 1..thinks).rev().find(|nth| removed[*nth] && !is_answer(*nth))
    {
        removed[prompt] = false;
    }
    let mut plan = SnipPlan::default();
    for (unit, removed) in units.into_iter().zip(removed) {
        if removed {
            plan.removed.extend(unit);
        } else {
            plan.kept.extend(unit.filter(is_marked).map(|index| items[index].name.clone()));
        }
    }
    plan
}

/// Whether it is an answer whose thinking has to stay first.
fn begins_with_thinking(item: &ConversationItem) -> bool {
    item.message.content.first().is_some_and(Block::is_thinking)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compaction::rounds::tests::{conversations, is_paired, items};
    use crate::contract::StagedSummary;
    use crate::settings::NeighbourMerging;
    use proptest::prelude::*;
    use reenact_wire::block::Role;
    use reenact_wire::json::Json;

    fn plan_for(said: &str, marked: &[&str]) -> (Vec<usize>, Vec<Arc<str>>) {
        let marked: Vec<Arc<str>> = marked.iter().map(|name| Arc::from(*name)).collect();
        let plan = plan(&Conversation::from_items(items(said)), &marked);
        (plan.removed, plan.kept)
    }

    #[test]
    fn c_1_no_answer_comes_to_stand_before_the_thinking_of_an_open_tool_loop() {
        let thinking = Block::from(Json::trusted(r#"{"type":"thinking","thinking":"hm","signature":"s"}"#));
        let plan = |said: &str, thinks: usize, marked: &str| {
            let mut items = items(said);
            let item = Arc::make_mut(&mut items[thinks]);
            Arc::make_mut(&mut item.message).content.insert(0, thinking.clone());
            plan(&Conversation::from_items(items), &[marked.into()]).removed
        };
        assert_eq!(plan("p a p a+1 r", 3, "p2"), [0; 0], "the two answers would be one message");
        assert_eq!(plan("p a p a+1 r", 1, "p2"), [2], "the open loop has no thinking");
        assert_eq!(plan("p a+1 r p a+1 r", 4, "p3"), [3], "results stand between them");
        assert_eq!(plan("p a p a+1 r p", 3, "p2"), [0; 0], "what the user says joins the results");
        assert_eq!(plan("p a p a+1 r a p", 3, "p2"), [2], "the loop is over");
    }

    #[test]
    fn c_1_marked_messages_go_in_whole_units_and_others_wait() {
        let kept = |names: &[&str]| names.iter().map(|name| Arc::from(*name)).collect::<Vec<Arc<str>>>();
        let said = "p a+1 r p a p";
        assert_eq!(plan_for(said, &["p3", "a4"]), (vec![3, 4], vec![]), "a prompt and its answer");
        assert_eq!(plan_for(said, &["a+11"]), (vec![], kept(&["a+11"])), "a tool use without its result stays");
        assert_eq!(plan_for(said, &["r2"]), (vec![], kept(&["r2"])), "and so does the result alone");
        assert_eq!(plan_for(said, &["a+11", "r2"]), (vec![1, 2], vec![]), "both go");
        assert_eq!(plan_for(said, &["p5"]), (vec![], kept(&["p5"])), "what is asked about stays");
        assert_eq!(plan_for(said, &["p0"]), (vec![], kept(&["p0"])), "an answer cannot be the first message");
        assert_eq!(plan_for(said, &["p0", "a+11", "r2"]), (vec![0, 1, 2], vec![]), "the whole first round goes");
        assert_eq!(plan_for("p a a p", &["p0", "a1"]), (vec![], kept(&["p0", "a1"])), "one answer in two parts");
        assert_eq!(plan_for(said, &["nobody"]), (vec![], vec![]), "an unknown name means nothing");
    }

    #[test]
    fn c_1_a_message_of_the_system_goes_with_what_is_beside_it() {
        assert_eq!(plan_for("p a p s a p", &["p2"]).0, [0; 0]);
        assert_eq!(plan_for("p a p s a p", &["p2", "s3"]).0, [0; 0], "the answer stays");
        assert_eq!(plan_for("p a p s a p", &["p2", "s3", "a4"]).0, [2, 3, 4], "all three go");
        assert_eq!(plan_for("p s a p", &["p0", "s1"]).0, [0; 0], "nothing would be before the answer");
        assert_eq!(plan_for("p s a p", &["a2"]).0, [0; 0], "the user would be behind it");
        assert_eq!(plan_for("p s a p a p", &["p3", "a4"]).0, [3, 4], "what is behind its answer goes alone");
        assert_eq!(plan_for("p a+1 r s a p", &["p0", "a+11", "r2"]).0, [0; 0], "results are before it");
    }

    #[test]
    fn c_1_what_the_store_keeps_is_no_prompt_before_an_answer() {
        let mut conversation = Conversation::from_items(items("p p a p"));
        conversation.hide(&[1]);
        let plan = plan(&conversation, &["p0".into(), "p1".into()]);
        assert_eq!(plan, SnipPlan { removed: vec![], kept: vec!["p0".into()] }, "the hidden one is no first message, and goes but once");
    }

    #[test]
    fn c_3_what_is_collapsed_is_not_snipped() {
        let mut conversation = Conversation::from_items(items("p a p a p"));
        conversation.collapse(Arc::new(StagedSummary { from: "p0".into(), to: "a1".into(), summary: "s".into() }));
        assert_eq!(plan(&conversation, &["p0".into(), "a1".into()]), SnipPlan::default());
        assert_eq!(plan(&conversation, &["p2".into(), "a3".into()]).removed, [2, 3]);
    }

    proptest! {
        #[test]
        fn c_7_snip_leaves_pairs_and_a_first_prompt(items in conversations(), marks in proptest::collection::vec(any::<bool>(), 40)) {
            let marked: Vec<_> = items.iter().zip(marks).filter(|(_, dead)| *dead).map(|(item, _)| item.name.clone()).collect();
            let mut conversation = Conversation::from_items(items);
            let plan = plan(&conversation, &marked);
            let mut keeping = conversation.clone();
            keeping.hide(&plan.removed);
            conversation.remove(&plan.removed);
            prop_assert_eq!((keeping.messages(NeighbourMerging::Joined), keeping.tokens(|| 7)), (conversation.messages(NeighbourMerging::Joined), conversation.tokens(|| 7)));
            prop_assert_eq!(super::plan(&keeping, &marked).removed, Vec::<usize>::new(), "nothing goes twice");
            let messages = conversation.messages(NeighbourMerging::Joined);
            prop_assert!(is_paired(&messages));
            for (nth, _) in messages.iter().enumerate().filter(|(_, message)| message.role == Role::System) {
                let (before, after) = (nth.checked_sub(1).map(|before| messages[before].role), messages.get(nth + 1).map(|after| after.role));
                prop_assert_eq!((before, after.unwrap_or(Role::Assistant)), (Some(Role::User), Role::Assistant));
            }
            let (first, last) = (conversation.items().first(), conversation.items().last());
            prop_assert!(first.is_some_and(|item| !item.is_answer()) && last.is_some_and(|item| !item.is_answer()));
        }
    }
}
