//! The conversation as a session keeps it: items with names, of which requests are a projection (N-7).
//!
//! An item is what no compaction may take apart: one whole answer of the model (all its blocks), all results of a turn, one message of the
//! user. So half of an answer cannot be kept (C-7), and dropped, cleared or summarised items are reported by name.
//!
//! ```text
//!   p1   p1.r1.a1   p1.r1.a1.results   p1.r2.a1        items: the store
//!   p1   └────────── a summary ────────┘ p1.r2.a1      the view, where a span is collapsed (C-3)
//!   user                               assistant       messages of the next request
//! ```
//!
//! The store also remembers what the API counted, and subtracts everything that is taken out later: an estimate that starts from the last
//! answer's usage could not see it otherwise (C-1, C-4).

mod count;
pub(crate) mod host;
mod orphans;
mod thinking;

pub(crate) use orphans::OrphanedToolUse;
pub(crate) use thinking::lacks_thinking;

use serde::{Deserialize, Serialize};

use super::call::without_thinking_budget;
use super::compaction::cache_edit::CacheEdit;
use super::contract::{RequestId, StagedSummary};
use super::session::prompt::RequestFrame;
use super::settings::NeighbourMerging;
use core::ops::Range;
use count::CountedPrefix;
use reenact_wire::block::{Block, Message, Role};
use reenact_wire::prelude::*;
use reenact_wire::request::Request;
use reenact_wire::tokens;
use reenact_wire::usage::Usage;

/// The conversation of an agent: its items, in order.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub(crate) struct Conversation {
    items: Vec<Arc<ConversationItem>>,
    /// The last count of the API.
    counted: Option<CountedPrefix>,
    /// Summaries that may take the place of spans (C-3).
    staged: Vec<Arc<StagedSummary>>,
    /// Spans that a summary stands for in requests, in order; none overlaps another.
    collapses: Vec<Arc<CollapsedSpan>>,
    /// Dead items that the store keeps and requests leave out, by name (C-1, without replay).
    hidden: Vec<Arc<str>>,
    /// The results that the API should clear (C-2, cached).
    edit: Option<Arc<CacheEdit>>,
    /// The tool uses whose results hold a message of the user (Q-18).
    with_messages: Vec<Arc<str>>,
    /// Whether the user had all forgotten (S-3).
    is_cleared: bool,
}

/// One item of the conversation.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(crate) struct ConversationItem {
    /// Its name: made of lineage, never used twice.
    pub(crate) name: Arc<str>,
    /// Its kind.
    pub(crate) kind: ItemKind,
    /// As it is sent.
    pub(crate) message: Arc<Message>,
    /// On an answer: the tokens that the API counted for it and all before it.
    pub(crate) usage: Option<Usage>,
    /// On an answer: whether its thinking was taken out, or was not asked for because of that (Q-19).
    pub(crate) lacks_thinking: bool,
}

/// The kind of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ItemKind {
    /// From before this session.
    Earlier,
    /// The user's message.
    Prompt,
    /// A message of the engine in the user's name.
    Hidden,
    /// One whole answer.
    Answer,
    /// The results of an answer's tool uses, with what was attached to them.
    Results,
    /// A summary of what was there before (C-4).
    Summary,
}

/// A span of the store that requests see a summary of.
#[derive(Clone, Debug, PartialEq, Hash)]
struct CollapsedSpan {
    staged: Arc<StagedSummary>,
    item: Arc<ConversationItem>,
}

/// One piece of what requests see, and the items of the store that it stands for.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(crate) struct VisiblePiece {
    /// The positions of the items.
    pub(crate) span: Range<usize>,
    /// The item that requests contain.
    pub(crate) item: Arc<ConversationItem>,
}

impl ConversationItem {
    /// A message in the user's name.
    pub(crate) fn user(name: impl Into<Arc<str>>, kind: ItemKind, content: Vec<Block>) -> Self {
        Self { name: name.into(), kind, message: Arc::new(Message::user(content)), usage: None, lacks_thinking: false }
    }

    /// About how many tokens it has.
    pub(crate) fn tokens(&self) -> u64 {
        tokens::blocks(&self.message.content)
    }

    /// Whether it comes from the model.
    pub(crate) fn is_answer(&self) -> bool {
        self.message.role == Role::Assistant
    }
}

impl Conversation {
    /// Continues an earlier session, if the conversation is empty. Collapses that were staged before the first prompt stay staged.
    pub(crate) fn begin(&mut self, history: &[Arc<Message>], neighbours: NeighbourMerging) {
        if self.items.is_empty() && !self.is_cleared {
            self.items = Self::earlier(history, neighbours).items;
        }
    }

    /// Forgets all, also the messages of an earlier session.
    pub(crate) fn clear(&mut self) {
        *self = Self { is_cleared: true, ..Self::default() };
    }

    /// A conversation from an earlier session.
    fn earlier(history: &[Arc<Message>], neighbours: NeighbourMerging) -> Self {
        let mut messages = Vec::new();
        history.iter().for_each(|message| neighbours.push(&mut messages, message.clone()));
        let item = |(number, message): (usize, Arc<Message>)| {
            Arc::new(ConversationItem {
                name: format!("h{}", number + 1).into(),
                kind: ItemKind::Earlier,
                message,
                usage: None,
                lacks_thinking: false,
            })
        };
        Self { items: messages.into_iter().enumerate().map(item).collect(), ..Self::default() }
    }

    /// A conversation of these items.
    pub(crate) fn from_items(items: Vec<Arc<ConversationItem>>) -> Self {
        Self { counted: CountedPrefix::by_the_last_of(&items), items, ..Self::default() }
    }

    /// Adds a user's message; nothing when it has no content, because the API refuses that.
    pub(crate) fn push_user(&mut self, name: impl Into<Arc<str>>, kind: ItemKind, content: Vec<Block>) {
        if !content.is_empty() {
            self.push(ConversationItem::user(name, kind, content));
            self.put_before_unanswered();
        }
    }

    /// The result of this tool use holds a message of the user.
    pub(crate) fn note_message_in_result(&mut self, tool_use_id: Arc<str>) {
        self.with_messages.push(tool_use_id);
    }

    /// Whether the user's words stand in the result of a tool use: they are in no other place, and nobody can read them again.
    pub(crate) fn is_message_in_result(&self, tool_use_id: &Arc<str>) -> bool {
        self.with_messages.contains(tool_use_id)
    }

    /// Adds what the engine says in the user's name.
    pub(crate) fn push_hidden(&mut self, name: impl Into<Arc<str>>, text: &str) {
        self.push_user(name, ItemKind::Hidden, vec![Block::text(text)]);
    }

    /// Adds an answer; nothing when it has no content.
    pub(crate) fn push_answer(&mut self, id: RequestId, content: Vec<Block>, usage: Option<Usage>) {
        if !content.is_empty() {
            let lacks_thinking = self.lacks_thinking() && !content.first().is_some_and(Block::is_thinking);
            let message = Arc::new(Message::assistant(content));
            self.push(ConversationItem { name: answer_name(id), kind: ItemKind::Answer, message, usage, lacks_thinking });
        }
    }

    /// Adds an item.
    pub(crate) fn push(&mut self, item: ConversationItem) {
        // To look through all names costs more with each turn: debug builds do.
        debug_assert!(
            cfg!(reenact_foreign) || self.items.iter().all(|known| known.name != item.name),
            "each item of a conversation has a name of its own"
        );
        debug_assert!(cfg!(reenact_foreign) || is_made_of_words(&item.name), "NAME_WORDS lacks the last word of {}", item.name);
        self.items.push(Arc::new(item));
        let counted = CountedPrefix::by(&self.items, self.items.len() - 1);
        if let (Some(_), Some(edit)) = (&counted, &mut self.edit) {
            Arc::make_mut(edit).on_counted();
        }
        self.counted = counted.or(self.counted.take());
    }

    /// The items.
    pub(crate) fn items(&self) -> &[Arc<ConversationItem>] {
        &self.items
    }

    /// The messages of a request, neighbours of the same role as the settings have them (N-7).
    pub(crate) fn messages(&self, neighbours: NeighbourMerging) -> Vec<Arc<Message>> {
        let mut messages = Vec::with_capacity(self.items.len());
        if self.is_seen_whole() {
            self.items.iter().for_each(|item| neighbours.push(&mut messages, item.message.clone()));
        } else {
            self.view().into_iter().for_each(|seen| neighbours.push(&mut messages, seen.item.message.clone()));
        }
        messages
    }

    /// The request for it, with the results that the API should clear (C-2). A request that is made from [`Self::messages`] lacks it.
    pub(crate) fn request(&self, frame: &RequestFrame, raised_cap: Option<u64>) -> Request {
        let request = self.with_edit(frame.request(self.messages(frame.neighbours()), raised_cap));
        if self.lacks_thinking() { without_thinking_budget(request) } else { request }
    }

    /// The same request with the results that the API should clear.
    pub(crate) fn with_edit(&self, request: Request) -> Request {
        match &self.edit {
            Some(edit) => edit.added_to(request),
            None => request,
        }
    }

    /// The items as requests contain them: without the dead ones, with a summary in the place of each collapsed span.
    pub(crate) fn view(&self) -> Vec<VisiblePiece> {
        let mut view = Vec::with_capacity(self.items.len());
        let mut at = 0;
        for collapse in &self.collapses {
            let Some(span) = self.span(&collapse.staged) else { continue };
            view.extend((at..span.start).filter_map(|index| self.visible_piece(index)));
            at = span.end;
            view.push(VisiblePiece { span, item: collapse.item.clone() });
        }
        view.extend((at..self.items.len()).filter_map(|index| self.visible_piece(index)));
        view
    }

    /// Where an item is.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.items.iter().position(|item| *item.name == *name)
    }

    /// Whether requests see a summary of this item.
    pub(crate) fn is_collapsed(&self, index: usize) -> bool {
        self.collapses.iter().filter_map(|collapse| self.span(&collapse.staged)).any(|span| span.contains(&index))
    }

    /// Removes items (C-1); what the API counted of them counts no more.
    pub(crate) fn remove(&mut self, indices: &[usize]) {
        for index in indices.iter().rev() {
            let tokens = self.tokens_of(*index);
            self.items.remove(*index);
            if let Some(counted) = &mut self.counted {
                counted.on_removed(*index, tokens);
            }
        }
    }

    /// Requests leave these items out from now on, and the store keeps them (C-1, without replay).
    pub(crate) fn hide(&mut self, indices: &[usize]) {
        for index in indices {
            let tokens = self.tokens_of(*index);
            if let Some(counted) = &mut self.counted {
                counted.on_replaced(*index..*index + 1, tokens, 0);
            }
            self.hidden.push(self.items[*index].name.clone());
        }
    }

    /// Whether the store keeps this item, and requests leave it out.
    pub(crate) fn is_hidden(&self, index: usize) -> bool {
        !self.hidden.is_empty() && self.hidden.contains(&self.items[index].name)
    }

    /// How many items that are.
    pub(crate) fn count_hidden(&self) -> usize {
        (0..self.items.len()).filter(|index| self.is_hidden(*index)).count()
    }

    /// About how many tokens requests have of an item.
    pub(crate) fn tokens_of(&self, index: usize) -> u64 {
        if self.is_hidden(index) { 0 } else { self.items[index].tokens() }
    }

    /// Puts another message into an item (C-2).
    pub(crate) fn replace_message(&mut self, index: usize, message: Message) {
        let before = self.tokens_of(index);
        let item = &mut self.items[index];
        let replaced = ConversationItem { message: Arc::new(message), ..ConversationItem::clone(item) };
        *item = Arc::new(replaced);
        let after = self.tokens_of(index);
        if let Some(counted) = &mut self.counted {
            counted.on_replaced(index..index + 1, before, after);
        }
    }

    /// A summary may take the place of a span from now on (C-3).
    pub(crate) fn stage(&mut self, staged: Arc<StagedSummary>) {
        self.staged.push(staged);
    }

    /// The summaries that may take the place of a span, in the order in which they were staged.
    pub(crate) fn staged(&self) -> &[Arc<StagedSummary>] {
        &self.staged
    }

    /// The staged summary at this place is no longer one.
    pub(crate) fn unstage(&mut self, index: usize) -> Arc<StagedSummary> {
        self.staged.remove(index)
    }

    /// Requests see a summary of a span from now on (C-3); the store keeps the originals. The caller has looked whether it may be.
    pub(crate) fn collapse(&mut self, staged: Arc<StagedSummary>) {
        let Some(span) = self.span(&staged) else { return };
        let name = format!("{}..{}", staged.from, staged.to);
        let item = Arc::new(ConversationItem::user(name, ItemKind::Summary, vec![Block::text(&staged.summary)]));
        let counted = self.counted.as_ref().map_or(0, |counted| counted.items().saturating_sub(span.start));
        let before = span.clone().take(counted).map(|index| self.tokens_of(index)).sum();
        if let Some(counted) = &mut self.counted {
            counted.on_replaced(span.clone(), before, item.tokens());
        }
        let place = self.collapses.iter().filter_map(|known| self.span(&known.staged)).filter(|known| known.start < span.start).count();
        self.collapses.insert(place, Arc::new(CollapsedSpan { staged, item }));
    }

    /// The items from the first to the last of a span; `None` when they are not there, or the wrong way round.
    pub(crate) fn span(&self, staged: &StagedSummary) -> Option<Range<usize>> {
        let (from, to) = (self.position(&staged.from)?, self.position(&staged.to)?);
        (from <= to).then_some(from..to + 1)
    }

    /// The results that the API should clear (C-2, cached).
    pub(crate) fn edit_mut(&mut self) -> &mut Option<Arc<CacheEdit>> {
        &mut self.edit
    }

    /// Whether the API has counted anything of it.
    pub(crate) fn is_counted(&self) -> bool {
        self.counted.is_some()
    }

    /// About how many tokens a request for it has: what the API counted last, less what was taken out of it since, and the estimate for what
    /// is newer. Where nothing was counted yet, `frame` is what comes with the messages (system prompt, tools).
    #[cfg(test)]
    pub(crate) fn tokens(&self, frame: impl FnOnce() -> u64) -> u64 {
        self.tokens_by(frame, ConversationItem::tokens)
    }

    /// The same, where something else than the estimate says how many tokens a newer item has.
    pub(crate) fn tokens_by(&self, frame: impl FnOnce() -> u64, count: impl Fn(&ConversationItem) -> u64) -> u64 {
        let (base, from) = match &self.counted {
            Some(counted) => (counted.tokens(), counted.items()),
            None => (frame(), 0),
        };
        let newer: u64 = if self.is_seen_whole() {
            self.items[from..].iter().map(|item| count(item)).sum()
        } else {
            self.view().iter().filter(|seen| seen.span.start >= from).map(|seen| count(&seen.item)).sum()
        };
        let cleared = self.edit.as_ref().map_or(0, |edit| edit.tokens_not_seen(self.is_counted()));
        base.saturating_add(newer).saturating_sub(cleared)
    }

    /// An item as requests see it; `None` for one that they leave out.
    fn visible_piece(&self, index: usize) -> Option<VisiblePiece> {
        (!self.is_hidden(index)).then(|| VisiblePiece { span: index..index + 1, item: self.items[index].clone() })
    }

    /// Whether requests see each item as it is.
    fn is_seen_whole(&self) -> bool {
        self.collapses.is_empty() && self.hidden.is_empty()
    }
}

/// The name of the item that holds the answer to a request.
#[doc(hidden)]
pub fn answer_name(id: RequestId) -> Arc<str> {
    format!("p{}.r{}.a{}", id.prompt, id.turn, id.attempt).into()
}

/// The last words in names of items that are made of other names, without their numbers.
#[doc(hidden)]
pub const NAME_WORDS: [&str; 10] =
    ["attachments", "go-on", "hooks", "interrupted", "nudge", "results", "stop-hook", "stop-hook-context", "structure", "summary"];

/// Whether a name ends as names do: with a place in the session, or with a word behind one.
fn is_made_of_words(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or_default().trim_end_matches(|letter: char| letter.is_ascii_digit());
    !name.contains('.') || last == "a" || NAME_WORDS.contains(&last)
}

/// The name of the item that holds a message of the user.
pub(crate) fn prompt_name(prompt: u32) -> Arc<str> {
    format!("p{prompt}").into()
}

/// The name of the item that holds the results of that answer's tool uses.
#[doc(hidden)]
pub fn results_name(id: RequestId) -> Arc<str> {
    format!("{}.results", answer_name(id)).into()
}
