//! Thinking that is taken out of answers when another model takes over or what is before it changes, and what follows from that for requests (Q-19).
//!
//! ```text
//!   user   assistant(thinking, use A)   user(result A)     the model that thought continues from here
//!   user   assistant(use A)             user(result A)     another model: with a thinking budget the API refuses it
//! ```
//!
//! The API wants the answer whose tools are answered last to begin with thinking where thinking has a budget. So a request that continues from an
//! answer without its thinking asks for none, until those tools are done with: the answers in between have none either.

use super::{Conversation, ConversationItem};
use reenact_wire::block::{Block, BlockKind, Message};
use reenact_wire::models::ModelFacts;
use reenact_wire::prelude::*;

impl Conversation {
    /// Takes thinking out of all answers (Q-19): a signature is bound to its model, another model refuses it, and thinking without its
    /// signature is refused by every model. An answer that was nothing else is gone.
    pub(crate) fn strip_signatures(&mut self) {
        self.strip_signatures_from(0);
    }

    /// From this item on something else is before what is there now. Models that bind thinking to all before it cannot read it any more, and the API
    /// may refuse it (Q-19). Of other models it stays, because they can go on from it.
    pub(crate) fn unbind_from(&mut self, index: usize, model: &str) {
        if ModelFacts::binds_thinking(model) {
            self.strip_signatures_from(index);
        }
    }

    /// The newest answer was broken off in its thinking, and is kept without it.
    pub(crate) fn note_lost_thinking(&mut self) {
        if let Some(last) =
            self.items.last_mut().filter(|last| last.is_answer() && !last.message.content.first().is_some_and(Block::is_thinking))
        {
            Arc::make_mut(last).lacks_thinking = true;
        }
    }

    fn strip_signatures_from(&mut self, from: usize) {
        for index in (from..self.items.len()).rev() {
            let message = &self.items[index].message;
            if message.content.iter().any(Block::is_thinking) {
                let content: Vec<Block> = message.content.iter().filter(|block| !block.is_thinking()).cloned().collect();
                if content.is_empty() {
                    self.remove(&[index]);
                } else {
                    self.replace_message(index, Message { role: message.role, content });
                    Arc::make_mut(&mut self.items[index]).lacks_thinking = true;
                }
            }
        }
    }

    /// Whether a request for it may not ask for thinking with a budget.
    pub(super) fn lacks_thinking(&self) -> bool {
        if self.is_seen_whole() {
            return lacks_thinking(self.items.iter().map(|item| &**item)); // only the newest are looked at
        }
        lacks_thinking(self.view().iter().map(|seen| &*seen.item))
    }
}

/// Whether the answer whose tools are answered last is without the thinking that it had. Answers in a row are one.
pub(crate) fn lacks_thinking<'a>(items: impl DoubleEndedIterator<Item = &'a ConversationItem>) -> bool {
    let is_result = |block: &Block| matches!(block.kind(), BlockKind::ToolResult { .. });
    let mut newest = items.rev().peekable();
    let mut goes_on_from_results = false;
    while let Some(item) = newest.next_if(|item| !item.is_answer()) {
        goes_on_from_results |= item.message.content.iter().any(is_result);
    }
    goes_on_from_results && newest.take_while(|item| item.is_answer()).any(|item| item.lacks_thinking)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{RequestId, ToolOutcome};
    use crate::conversation::ItemKind;
    use reenact_wire::json::Json;

    /// A word an item: `think`, `use` and `say` are answers, `result` and `text` are the user's.
    fn lacks(words: &str) -> bool {
        let mut conversation = Conversation::default();
        for (turn, word) in (1..).zip(words.split_whitespace()) {
            let id = RequestId { prompt: 1, turn, attempt: 1 };
            let tool_use = Block::from(Json::trusted(r#"{"type":"tool_use","id":"a","name":"Read","input":{}}"#));
            let thinking = Block::from(Json::trusted(r#"{"type":"thinking","thinking":"hm","signature":"s"}"#));
            match word {
                "think" => conversation.push_answer(id, vec![thinking, tool_use], None),
                "say" => conversation.push_answer(id, vec![Block::text(word)], None),
                "use" => conversation.push_answer(id, vec![tool_use], None),
                "result" => {
                    let result = Block::tool_result("a", &ToolOutcome::text("x").content, false);
                    conversation.push_user(format!("r{turn}"), ItemKind::Results, vec![result]);
                }
                "strip" => conversation.strip_signatures(),
                text => conversation.push_hidden(format!("t{turn}"), text),
            }
        }
        conversation.lacks_thinking()
    }

    #[test]
    fn q_19_thinking_behind_a_change_stays_where_the_model_does_not_bind_it() {
        let thoughts = |from: usize, model: &str| {
            let mut conversation = Conversation::default();
            let thinking = Block::from(Json::trusted(r#"{"type":"thinking","thinking":"hm","signature":"s"}"#));
            for prompt in 1..=2 {
                conversation.push_hidden(format!("t{prompt}"), "hi");
                conversation.push_answer(RequestId::first(prompt), vec![thinking.clone(), Block::text("well")], None);
            }
            conversation.unbind_from(from, model);
            conversation.items().iter().filter(|item| item.message.content.iter().any(Block::is_thinking)).count()
        };
        let table = [(0, "claude-sonnet-5-5", 0), (2, "claude-sonnet-5-5", 1), (4, "claude-sonnet-5-5", 2), (0, "claude-sonnet-4-5", 2)];
        for (from, model, expected) in table {
            assert_eq!(thoughts(from, model), expected, "from {from} of {model}");
        }
        assert_eq!(thoughts(0, "my-own-model"), 2, "nothing is known of it");
    }

    #[test]
    fn q_19_an_open_tool_loop_may_have_lost_its_thinking() {
        let table = [
            ("hi think result", false),
            ("hi think result strip", true),
            ("hi think use result strip", true),
            ("hi think result strip then", true),
            ("hi think result strip think result", false),
            ("hi think result strip use result", true), // it was not asked for
            ("hi think result use result", false),      // the model did not think: that stays as it is
            ("hi think result strip use result bye", true),
            ("hi think result strip say bye use result", false),
            ("hi use result strip", false),
            ("hi think strip hi", false),
        ];
        for (words, expected) in table {
            assert_eq!(lacks(words), expected, "{words}");
        }
    }
}
