//! The conversation as a session keeps it: items with names, of which requests are a projection (N-7).
//!
//! An item is what no compaction may take apart: one whole answer of the model (all its blocks), all results of a turn, one message of the
//! user. So half of an answer cannot be kept (C-7), and what is dropped, cleared or summarised is said by name.
//!
//! ```text
//!   p1   p1.r1.a1   p1.r1.a1.results   p1.r2.a1        items
//!   user assistant  user               assistant        messages of the next request
//! ```

use serde::{Deserialize, Serialize};

use super::contract::RequestId;
use crate::prelude::*;
use crate::wire::block::{Block, BlockKind, Message, Role};
use crate::wire::request::push_merged;
use crate::wire::usage::Usage;

/// What was said so far, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Conversation {
    items: Vec<Arc<Item>>,
}

/// One thing that was said.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Item {
    /// Its name: made of lineage, never used twice.
    pub(crate) name: Arc<str>,
    /// What it is.
    pub(crate) kind: ItemKind,
    /// As it is sent.
    pub(crate) message: Arc<Message>,
    /// On an answer: the tokens that the API counted for it and all before it.
    pub(crate) usage: Option<Usage>,
}

/// What an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ItemKind {
    /// From before this session.
    Earlier,
    /// What the user said.
    Prompt,
    /// What the engine says in the user's name.
    Hidden,
    /// One whole answer.
    Answer,
    /// The results of an answer's tool uses, with what was attached to them.
    Results,
    /// A summary of what was there before (C-4).
    Summary,
}

impl Conversation {
    /// A conversation from an earlier session.
    pub(crate) fn earlier(history: &[Arc<Message>]) -> Self {
        let mut messages = Vec::new();
        history.iter().for_each(|message| push_merged(&mut messages, message.clone()));
        let item = |(number, message): (usize, Arc<Message>)| {
            Arc::new(Item { name: format!("h{}", number + 1).into(), kind: ItemKind::Earlier, message, usage: None })
        };
        Self { items: messages.into_iter().enumerate().map(item).collect() }
    }

    /// A conversation of these items.
    pub(crate) fn of(items: Vec<Arc<Item>>) -> Self {
        Self { items }
    }

    /// Adds a user's message; nothing when it has no content, because the API refuses that.
    pub(crate) fn push_user(&mut self, name: impl Into<Arc<str>>, kind: ItemKind, content: Vec<Block>) {
        if !content.is_empty() {
            self.push(Item { name: name.into(), kind, message: Arc::new(Message::user(content)), usage: None });
        }
    }

    /// Adds what the engine says in the user's name.
    pub(crate) fn push_hidden(&mut self, name: impl Into<Arc<str>>, text: &str) {
        self.push_user(name, ItemKind::Hidden, vec![Block::text(text)]);
    }

    /// Takes thinking out of all answers (Q-19): a signature is bound to its model, another model refuses it, and thinking without its
    /// signature is refused by every model. An answer that was nothing else is gone.
    pub(crate) fn strip_signatures(&mut self) {
        let is_thinking = |block: &Block| matches!(block.kind(), BlockKind::Thinking { .. } | BlockKind::RedactedThinking);
        for item in self.items.iter_mut().filter(|item| item.message.content.iter().any(is_thinking)) {
            let content = item.message.content.iter().filter(|block| !is_thinking(block)).cloned().collect();
            *item = Arc::new(Item { message: Arc::new(Message { role: item.message.role, content }), ..Item::clone(item) });
        }
        self.items.retain(|item| !item.message.content.is_empty());
    }

    /// Adds an answer; nothing when it has no content.
    pub(crate) fn push_answer(&mut self, id: RequestId, content: Vec<Block>, usage: Option<Usage>) {
        if !content.is_empty() {
            self.push(Item { name: answer_name(id), kind: ItemKind::Answer, message: Arc::new(Message::assistant(content)), usage });
        }
    }

    /// Adds an item.
    pub(crate) fn push(&mut self, item: Item) {
        assert!(self.items.iter().all(|known| known.name != item.name), "each item of a conversation has a name of its own");
        self.items.push(Arc::new(item));
    }

    /// The items.
    pub(crate) fn items(&self) -> &[Arc<Item>] {
        &self.items
    }

    /// Whether nothing was said.
    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The messages of a request: neighbours of the same role are one (N-7).
    pub(crate) fn messages(&self) -> Vec<Arc<Message>> {
        let mut messages = Vec::with_capacity(self.items.len());
        self.items.iter().for_each(|item| push_merged(&mut messages, item.message.clone()));
        messages
    }

    /// Whether the model has the last word.
    pub(crate) fn ends_with_answer(&self) -> bool {
        self.items.last().is_some_and(|item| item.message.role == Role::Assistant)
    }
}

/// The name of the item that holds the answer to a request.
pub(crate) fn answer_name(id: RequestId) -> Arc<str> {
    format!("p{}.r{}.a{}", id.prompt, id.turn, id.attempt).into()
}

/// The name of the item that holds the results of that answer's tool uses.
pub(crate) fn results_name(id: RequestId) -> Arc<str> {
    format!("{}.results", answer_name(id)).into()
}
