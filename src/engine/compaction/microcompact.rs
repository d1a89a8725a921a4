//! C-2: old results of tools that read can be had again, so they need not be sent for ever.
//!
//! *Local*: their content is replaced in the messages. *Cached*: the messages stay as they are, so that the API's prompt cache stays good, and
//! the request carries an edit by which the API leaves them out (`cache_edit`).

use alloc::collections::BTreeMap;

use super::cache_edit::{CLEARABLE, OldResult};
use crate::conversation::Conversation;
use crate::texts::{ModelTexts, TextName};
use reenact_wire::block::{Block, BlockKind, Message};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;
use reenact_wire::raw_json::RawObject;
use reenact_wire::tokens;

/// The results that are old: all but the newest `keep` of tools that read, unless clearing them saves nothing. Those that requests no longer
/// see are not looked at (C-3: the store keeps the originals).
pub(super) fn old_results(conversation: &Conversation, keep: u32, texts: &ModelTexts) -> Vec<OldResult> {
    let mut tools: BTreeMap<&str, &str> = BTreeMap::new();
    let mut results = Vec::new();
    for (index, item) in conversation.items().iter().enumerate() {
        for (place, block) in item.message.content.iter().enumerate() {
            match block.kind() {
                BlockKind::ToolUse(tool_use) => drop(tools.insert(&tool_use.id, &tool_use.name)),
                BlockKind::ToolResult { tool_use_id, .. } => {
                    let is_clearable = tools.get(&**tool_use_id).is_some_and(|name| CLEARABLE.contains(name));
                    let is_seen = !conversation.is_collapsed(index) && !conversation.is_hidden(index);
                    if is_clearable && is_seen && !conversation.is_message_in_result(tool_use_id) {
                        results.push((index, place, tool_use_id, block));
                    }
                }
                _ => (),
            }
        }
    }
    results.truncate(results.len().saturating_sub(keep as usize));
    let placeholder = tokens::tokens_of_text(texts.template(TextName::ClearedResult));
    let old = results.into_iter().map(|(item, block, tool_use_id, result)| {
        let saves = tokens::block(result).saturating_sub(placeholder);
        OldResult { tool_use_id: tool_use_id.clone(), item, block, saves }
    });
    old.filter(|old| old.saves > 0).collect()
}

/// Puts the placeholder into each of these results. What else a result says (that it is an error) stays.
pub(super) fn clear(conversation: &mut Conversation, old: &[OldResult], texts: &ModelTexts) {
    for old in old {
        let mut message = Message::clone(&conversation.items()[old.item].message);
        message.content[old.block] = cleared(&message.content[old.block], texts);
        conversation.replace_message(old.item, message);
    }
}

fn cleared(result: &Block, texts: &ModelTexts) -> Block {
    let content = Json::from_value(texts.template(TextName::ClearedResult)).to_string();
    match RawObject::parse(result.json().as_str()) {
        Ok(members) => Block::from(Json::trusted(members.with(&[("content", content)]))),
        Err(_) => result.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compaction::cache_edit::CacheEdit;
    use crate::compaction::rounds::tests::{conversations, is_paired, items};
    use crate::conversation::ConversationItem;
    use crate::settings::{NeighbourMerging, ToolDefinition};
    use proptest::prelude::*;
    use reenact_wire::request::Request;

    fn ids(old: &[OldResult]) -> Vec<&str> {
        old.iter().map(|old| &*old.tool_use_id).collect()
    }

    /// The same conversation with longer results, so that clearing them saves something.
    fn long(items: Vec<Arc<ConversationItem>>) -> Conversation {
        let mut conversation = Conversation::from_items(items);
        for index in 0..conversation.items().len() {
            let mut message = Message::clone(&conversation.items()[index].message);
            for block in &mut message.content {
                if let BlockKind::ToolResult { tool_use_id, .. } = block.kind() {
                    *block = Block::tool_result(tool_use_id, &Json::from_value(&"x".repeat(400)), true);
                }
            }
            conversation.replace_message(index, message);
        }
        conversation
    }

    #[test]
    fn c_2_all_but_the_newest_results_of_tools_that_read_are_old() {
        let conversation = long(items("p a+2 r a+1 r"));
        assert_eq!(ids(&old_results(&conversation, 5, &ModelTexts::default())), [] as [&str; 0]);
        assert_eq!(ids(&old_results(&conversation, 1, &ModelTexts::default())), ["toolu_1_0", "toolu_1_1"]);
        assert_eq!(ids(&old_results(&conversation, 0, &ModelTexts::default())).len(), 3);
        let short = Conversation::from_items(items("p a+2 r a+1 r"));
        assert_eq!(old_results(&short, 0, &ModelTexts::default()), [], "a placeholder that is as long saves nothing");
    }

    #[test]
    fn c_2_what_requests_leave_out_is_neither_cleared_nor_counted() {
        let mut conversation = long(items("p a+1 r a+1 r a+1 r"));
        conversation.hide(&[5, 6]);
        assert_eq!(ids(&old_results(&conversation, 1, &ModelTexts::default())), ["toolu_1_0"], "the newest that is seen stays");
    }

    #[test]
    fn c_2_a_result_of_another_tool_is_neither_cleared_nor_counted() {
        let mut conversation = long(items("p a+2 r"));
        let mut message = Message::clone(&conversation.items()[1].message);
        let other = r#"{"type":"tool_use","id":"toolu_1_1","name":"Ask","input":{}}"#;
        message.content[2] = Block::from(Json::trusted(other));
        conversation.replace_message(1, message);
        assert_eq!(old_results(&conversation, 1, &ModelTexts::default()), [], "the only result of a tool that reads is the newest");
        assert_eq!(ids(&old_results(&conversation, 0, &ModelTexts::default())), ["toolu_1_0"]);
    }

    #[test]
    fn c_2_a_result_that_holds_a_message_of_the_user_is_not_cleared() {
        let mut conversation = long(items("p a+2 r"));
        conversation.note_message_in_result("toolu_1_1".into());
        assert_eq!(ids(&old_results(&conversation, 0, &ModelTexts::default())), ["toolu_1_0"]);
    }

    #[test]
    fn c_2_locally_the_content_is_replaced_and_the_rest_stays() {
        let mut conversation = long(items("p a+1 r"));
        let old = old_results(&conversation, 0, &ModelTexts::default());
        clear(&mut conversation, &old, &ModelTexts::default());
        let block = &conversation.items()[2].message.content[0];
        let placeholder = TextName::ClearedResult.ours();
        let expected = format!(r#"{{"type":"tool_result","tool_use_id":"toolu_1_0","content":"{placeholder}","is_error":true}}"#);
        assert_eq!(block.json().as_str(), expected);
        assert_eq!(old_results(&conversation, 0, &ModelTexts::default()), [], "it is cleared once");
    }

    #[test]
    fn c_2_an_edit_stays_byte_for_byte_and_the_api_s_figure_is_a_running_total() {
        let mut conversation = long(items("p a+1 r a+1 r"));
        let tools = [ToolDefinition::new("Read", Some(true), Json::default()), ToolDefinition::new("Ask", None, Json::default())];
        let mut edit = CacheEdit::new(1, &tools);
        let text = edit.added_to(Request::new("m", 1)).extra;
        assert_eq!(
            text.as_str(),
            r#"{"context_management":{"edits":[{"type":"clear_tool_uses_20250919","trigger":{"type":"tool_uses","value":1},"keep":{"type":"tool_uses","value":1},"exclude_tools":["Ask"]}]}}"#
        );
        let saves = tokens::tokens_of_characters(400) - tokens::tokens_of_text(TextName::ClearedResult.ours());
        assert_eq!(ids(&edit.covers(old_results(&conversation, 1, &ModelTexts::default()))), ["toolu_1_0"]);
        assert_eq!(edit.tokens_not_seen(true), saves, "the API has not counted without it yet");
        let mut counted = edit.clone();
        counted.on_counted();
        assert_eq!(counted.tokens_not_seen(true), 0, "the API has counted a request with it, and said nothing of it");
        assert_eq!(edit.on_applied(500), Some((vec!["toolu_1_0".into()], 500)));
        assert_eq!((edit.tokens_not_seen(true), edit.tokens_not_seen(false)), (0, saves));
        assert_eq!(edit.on_applied(500), None, "nothing new");
        let mut more = items("p a+1 r a+1 r a+1 r");
        conversation.push(ConversationItem::clone(&more.remove(5)));
        conversation.push(ConversationItem::clone(&more.remove(5)));
        assert_eq!(ids(&edit.covers(old_results(&conversation, 1, &ModelTexts::default()))), ["toolu_3_0"]);
        assert_eq!(edit.on_applied(800), Some((vec!["toolu_3_0".into()], 300)));
        assert_eq!(edit.added_to(Request::new("m", 1)).extra, text);
    }

    proptest! {
        #[test]
        fn c_7_clearing_leaves_every_result_with_its_use(items in conversations(), keep in 0..4_u32) {
            let mut conversation = long(items);
            let old = old_results(&conversation, keep, &ModelTexts::default());
            let before = conversation.tokens(|| 0);
            clear(&mut conversation, &old, &ModelTexts::default());
            prop_assert!(is_paired(&conversation.messages(NeighbourMerging::Joined)));
            prop_assert_eq!(before - conversation.tokens(|| 0), old.iter().map(|old| old.saves).sum::<u64>());
        }
    }
}
