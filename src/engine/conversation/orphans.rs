//! Tool uses of an earlier session that nothing answers (S-3): a request with one of them is refused (O-1, O-10).

use super::{Conversation, ConversationItem, ItemKind};
use crate::contract::ToolOutcome;
use crate::texts::{ModelTexts, TextName};
use reenact_wire::block::{Block, BlockKind, Message, ToolUse};
use reenact_wire::prelude::*;

/// A tool use that nothing answers.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(crate) struct OrphanedToolUse {
    /// The name of the item that holds it.
    pub(crate) item: Arc<str>,
    /// The block's position in it, from 0.
    pub(crate) block: usize,
    /// The tool use.
    pub(crate) tool_use: ToolUse,
}

impl Conversation {
    /// The tool uses of earlier sessions that nothing answers, in order.
    pub(crate) fn orphans(&self) -> Vec<OrphanedToolUse> {
        let mut orphans = Vec::new();
        for (index, item) in self.items.iter().enumerate().filter(|(_, item)| item.kind == ItemKind::Earlier && item.is_answer()) {
            // Results may be messages of their own.
            let next = self.items[index + 1..].iter().take_while(|next| !next.is_answer());
            let after: Vec<&Block> = next.flat_map(|next| &next.message.content).collect();
            for (block, content) in item.message.content.iter().enumerate() {
                let Some(tool_use) = content.as_tool_use().filter(|tool_use| !after.iter().any(|block| answers(block, &tool_use.id)))
                else {
                    continue;
                };
                orphans.push(OrphanedToolUse { item: item.name.clone(), block, tool_use: tool_use.clone() });
            }
        }
        orphans
    }

    /// Answers every orphan, with its result where there is one, else with what `texts` say of one that nothing is known of; `attached` comes behind
    /// the results of the last. A `reply` is put between results of which nothing is known and the prompt, which would be in one turn with them.
    pub(crate) fn answer_orphans(&mut self, results: &[Block], mut attached: Vec<Block>, reply: Option<&str>, texts: &ModelTexts) {
        let orphans = self.orphans();
        if let Some(reply) = reply.filter(|_| self.ends_in_the_unknown(&orphans, results)) {
            self.push_reply(reply);
        }
        let mut names: Vec<Arc<str>> = orphans.iter().map(|orphan| orphan.item.clone()).collect();
        names.dedup();
        for name in names.into_iter().rev() {
            let of_item = orphans.iter().filter(|orphan| orphan.item == name);
            let result = |orphan: &OrphanedToolUse| results.iter().find(|block| answers(block, &orphan.tool_use.id)).cloned();
            let mut content: Vec<Block> =
                of_item.map(|orphan| result(orphan).unwrap_or_else(|| forgotten(&orphan.tool_use.id, texts))).collect();
            let Some(index) = self.position(&name) else { continue };
            content.append(&mut attached);
            if self.join_results(index, &mut content) {
                continue;
            }
            // Between the two: in a request it is one message with what the user says next, and its results come first there (N-7).
            self.items.insert(index + 1, Arc::new(ConversationItem::user(format!("{name}.results"), ItemKind::Results, content)));
        }
    }

    /// Where other tool uses of the answer at `index` have their results, those of the orphans join them, in the order of the tool uses (T-8). Whether it is so.
    fn join_results(&mut self, index: usize, made: &mut Vec<Block>) -> bool {
        let Some(next) = self.items.get(index + 1) else { return false };
        let uses: Vec<Arc<str>> =
            self.items[index].message.content.iter().filter_map(Block::as_tool_use).map(|asked| asked.id.clone()).collect();
        let (mut known, others): (Vec<Block>, Vec<Block>) =
            next.message.content.iter().cloned().partition(|block| uses.iter().any(|id| answers(block, id)));
        if known.is_empty() {
            return false;
        }
        known.append(made);
        let place = |block: &Block| uses.iter().position(|id| answers(block, id)).unwrap_or(usize::MAX);
        known.sort_by_key(place);
        let message = Message { role: next.message.role, content: known.into_iter().chain(others).collect() };
        self.replace_message(index + 1, message);
        true
    }

    /// Whether the last answer of earlier sessions has tool uses that nothing answers, and nothing is known of any of them.
    fn ends_in_the_unknown(&self, orphans: &[OrphanedToolUse], results: &[Block]) -> bool {
        let last = self.items.iter().rfind(|item| item.is_answer()).map(|item| &item.name);
        let is_known = |orphan: &OrphanedToolUse| results.iter().any(|block| answers(block, &orphan.tool_use.id));
        let mut of_last = orphans.iter().filter(|orphan| Some(&orphan.item) == last).peekable();
        of_last.peek().is_some() && !of_last.any(is_known)
    }

    /// Puts it behind all that is from earlier sessions.
    fn push_reply(&mut self, reply: &str) {
        let at = self.items.iter().rposition(|item| item.kind == ItemKind::Earlier).map_or(0, |last| last + 1);
        let message = Arc::new(Message::assistant(vec![Block::text(reply)]));
        let item = ConversationItem { name: "h.reply".into(), kind: ItemKind::Hidden, message, usage: None, lacks_thinking: false };
        self.items.insert(at, Arc::new(item));
    }
}

fn answers(block: &Block, id: &str) -> bool {
    matches!(block.kind(), BlockKind::ToolResult { tool_use_id, .. } if **tool_use_id == *id)
}

fn forgotten(id: &Arc<str>, texts: &ModelTexts) -> Block {
    Block::tool_result(id, &ToolOutcome::error(texts.template(TextName::ResultUnknown)).content, true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::NeighbourMerging;
    use reenact_wire::json::Json;

    fn tool_use(id: &str) -> Block {
        Block::from(Json::trusted(format!(r#"{{"type":"tool_use","id":"{id}","name":"Read","input":{{}}}}"#)))
    }

    fn result(id: &str, text: &str) -> Block {
        Block::tool_result(id, &ToolOutcome::text(text).content, false)
    }

    fn conversation(messages: Vec<Message>) -> Conversation {
        let mut conversation = Conversation::default();
        conversation.begin(&messages.into_iter().map(Arc::new).collect::<Vec<_>>(), NeighbourMerging::Joined);
        conversation.push_hidden("p1", "go on");
        conversation
    }

    #[test]
    fn s_3_orphans_are_answered_before_what_the_user_says_next() {
        let mut conversation = conversation(vec![
            Message::user(vec![Block::text("hi")]),
            Message::assistant(vec![tool_use("a"), tool_use("b"), tool_use("c")]),
            Message::user(vec![result("b", "kept"), Block::text("and?")]),
            Message::assistant(vec![tool_use("d")]),
        ]);
        let ids = |conversation: &Conversation| conversation.orphans().iter().map(|of| of.tool_use.id.to_string()).collect::<Vec<_>>();
        assert_eq!(ids(&conversation), ["a", "c", "d"]);
        conversation.answer_orphans(&[result("d", "ran")], vec![Block::text("context")], Some("so"), &ModelTexts::default());
        let messages = conversation.messages(NeighbourMerging::Joined);
        let middle: Vec<_> = messages[2].content.iter().map(|block| block.json().to_string()).collect();
        assert!(middle[0].contains(r#""a""#) && middle[0].contains("ended before"), "{middle:?}");
        assert!(middle[1].contains("kept") && middle[2].contains(r#""c""#) && middle[3].contains("and?"), "{middle:?}");
        assert_eq!(messages[4].content, [result("d", "ran"), Block::text("context"), Block::text("go on")]);
    }

    #[test]
    fn s_3_a_conversation_without_orphans_stays_as_it_is() {
        let before = conversation(vec![Message::assistant(vec![tool_use("a")]), Message::user(vec![result("a", "x")])]);
        let mut after = before.clone();
        after.answer_orphans(&[], Vec::new(), Some("so"), &ModelTexts::default());
        assert_eq!(after, before);
    }
}
