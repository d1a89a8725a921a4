//! Where a conversation may be cut (C-7).
//!
//! ```text
//!   p1 │ a1 r1 │ a2 r2 │ a3 │ p2        │ may be cut; `a1 r1` belong together: a tool use and its result
//!   └─ round ─┘└round┘└round┘└round …
//! ```
//!
//! A *unit* is what cuts leave whole: an answer with the results of its tool uses, or a message of the user. Answers that follow each other are
//! one unit, because they are one message of the next request (a paused answer and what it continued with). So is a message of the system with what stands
//! before and behind it: the API takes it behind one of the user alone, and before an answer or as the last one. A *round* is a unit with an answer and what
//! the user said before it.

use alloc::collections::BTreeMap;

use crate::conversation::ConversationItem;
use core::ops::Range;
use reenact_wire::block::{BlockKind, Role};
use reenact_wire::prelude::*;

/// Whether a cut may be made before each item; one more at the end, where it always may.
pub(crate) fn cuts(items: &[Arc<ConversationItem>]) -> Vec<bool> {
    let mut cuts = vec![true; items.len() + 1];
    let mut asked: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, item) in items.iter().enumerate() {
        for block in &item.message.content {
            match block.kind() {
                BlockKind::ToolUse(tool_use) => drop(asked.insert(&tool_use.id, index)),
                BlockKind::ToolResult { tool_use_id, .. } => {
                    if let Some(asked) = asked.get(&**tool_use_id) {
                        cuts[asked + 1..=index].fill(false);
                    }
                }
                _ => (),
            }
        }
        if index > 0 && belong_together(&items[index - 1], item) {
            cuts[index] = false;
        }
    }
    cuts
}

fn belong_together(before: &ConversationItem, after: &ConversationItem) -> bool {
    let is_system = |item: &ConversationItem| item.message.role == Role::System;
    before.is_answer() && after.is_answer() || is_system(before) || is_system(after)
}

/// The units of a conversation, in order.
pub(crate) fn units(items: &[Arc<ConversationItem>]) -> Vec<Range<usize>> {
    let cuts = cuts(items);
    let mut start = 0;
    let ends = (1..=items.len()).filter(|end| cuts[*end]);
    ends.map(|end| core::mem::replace(&mut start, end)..end).collect()
}

/// The rounds of a conversation, in order. The user's last message without an answer is a round, too.
pub(crate) fn rounds(items: &[Arc<ConversationItem>]) -> Vec<Range<usize>> {
    let mut rounds: Vec<Range<usize>> = Vec::new();
    let mut is_open = false;
    for unit in units(items) {
        let is_answered = items[unit.clone()].iter().any(|item| item.is_answer());
        match rounds.last_mut().filter(|_| is_open) {
            Some(round) => round.end = unit.end,
            None => rounds.push(unit),
        }
        is_open = !is_answered;
    }
    rounds
}

/// Whether these items are a span that may be taken out as a whole.
pub(crate) fn is_whole(items: &[Arc<ConversationItem>], span: &Range<usize>) -> bool {
    let cuts = cuts(items);
    !span.is_empty() && cuts.get(span.start) == Some(&true) && cuts.get(span.end) == Some(&true)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::conversation::ItemKind;
    use proptest::prelude::*;
    use reenact_wire::block::{Block, Message, Role, ToolInput, ToolUse};
    use reenact_wire::json::Json;

    /// A short language for conversations: `p` a prompt, `a` an answer, `a+2` one with two tool uses, `r` the results of all that are open, `s` a message of the
    /// system.
    pub(crate) fn items(said: &str) -> Vec<Arc<ConversationItem>> {
        let mut open: Vec<String> = Vec::new();
        let words = said.split_whitespace().enumerate();
        words.map(|(index, word)| Arc::new(item(&format!("{word}{index}"), word, index, &mut open))).collect()
    }

    fn item(name: &str, word: &str, index: usize, open: &mut Vec<String>) -> ConversationItem {
        let (kind, role, content) = match word.split_once('+').unwrap_or((word, "0")) {
            ("p", _) => (ItemKind::Prompt, Role::User, vec![Block::text("please")]),
            ("s", _) => (ItemKind::Hidden, Role::System, vec![Block::text("be brief")]),
            ("r", _) => {
                let answered = open.drain(..).map(|id| Block::tool_result(&id, &Json::from_value(&"x".repeat(40)), false));
                (ItemKind::Results, Role::User, answered.collect())
            }
            (_, uses) => {
                let uses = 0..uses.parse().unwrap();
                let ids: Vec<String> = uses.map(|nth: u32| format!("toolu_{index}_{nth}")).collect();
                let blocks = core::iter::once(Block::text("well")).chain(ids.iter().map(|id| read(id, "/w/a")));
                let content = blocks.collect();
                open.extend(ids);
                (ItemKind::Answer, Role::Assistant, content)
            }
        };
        ConversationItem { name: name.into(), kind, message: Arc::new(Message { role, content }), usage: None, lacks_thinking: false }
    }

    /// A use of the tool Read.
    pub(crate) fn read(id: &str, path: &str) -> Block {
        let input = Json::trusted(format!(r#"{{"file_path":"{path}"}}"#));
        let json = format!(r#"{{"type":"tool_use","id":"{id}","name":"Read","input":{input}}}"#);
        let tool_use = ToolUse { id: id.into(), name: "Read".into(), input: ToolInput::Valid(input) };
        Block::assembled(BlockKind::ToolUse(tool_use), Json::trusted(json))
    }

    /// Conversations as a loop makes them: prompts, answers with and without tools, paused answers, messages of the system, a last prompt or results.
    pub(crate) fn conversations() -> impl Strategy<Value = Vec<Arc<ConversationItem>>> {
        let of_system = prop_oneof![Just("p s a"), Just("p s a+1 r"), Just("a+1 r s a")];
        let turn = prop_oneof![Just("a"), Just("a+1 r"), Just("a+3 r"), Just("a a+1 r"), Just("p"), Just("a+2 r p"), of_system];
        proptest::collection::vec(turn, 0..12).prop_map(|turns| items(&format!("p {} p", turns.join(" "))))
    }

    /// Each tool use has its result after it and each result its use before it.
    pub(crate) fn is_paired<'a>(messages: impl IntoIterator<Item = &'a Arc<Message>>) -> bool {
        let mut open: Vec<Arc<str>> = Vec::new();
        for message in messages {
            for block in &message.content {
                match block.kind() {
                    BlockKind::ToolUse(tool_use) => open.push(tool_use.id.clone()),
                    BlockKind::ToolResult { tool_use_id, .. } => match open.iter().position(|id| id == tool_use_id) {
                        Some(known) => drop(open.remove(known)),
                        None => return false,
                    },
                    _ => (),
                }
            }
        }
        open.is_empty()
    }

    #[test]
    fn c_7_a_tool_use_and_its_result_are_one_unit() {
        let shown =
            |spans: Vec<Range<usize>>| spans.iter().map(|span| format!("{}-{}", span.start, span.end)).collect::<Vec<_>>().join(" ");
        let table = [
            ("p a p", "0-1 1-2 2-3", "0-2 2-3"),
            ("p a+1 r a+2 r a", "0-1 1-3 3-5 5-6", "0-3 3-5 5-6"),
            ("p p a", "0-1 1-2 2-3", "0-3"),
            ("p a a+1 r", "0-1 1-4", "0-4"),
            ("p s a p", "0-3 3-4", "0-3 3-4"),
            ("p a+1 r s a p s", "0-1 1-5 5-7", "0-5 5-7"),
            ("", "", ""),
        ];
        for (said, units, rounds) in table {
            assert_eq!(shown(super::units(&items(said))), units, "units of {said}");
            assert_eq!(shown(super::rounds(&items(said))), rounds, "rounds of {said}");
        }
    }

    #[test]
    fn c_7_only_whole_units_may_be_taken_out() {
        let items = items("p a+1 r a");
        for (span, whole) in
            [(0..1, true), (1..2, false), (2..3, false), (1..3, true), (0..3, true), (0..2, false), (3..4, true), (1..1, false)]
        {
            assert_eq!(is_whole(&items, &span), whole, "{span:?}");
        }
    }

    proptest! {
        #[test]
        fn c_7_whatever_is_cut_between_units_stays_paired(items in conversations(), from in 0..30_usize, to in 0..30_usize) {
            let span = from.min(items.len())..to.min(items.len());
            if is_whole(&items, &span) {
                let rest = items[..span.start].iter().chain(&items[span.end..]);
                prop_assert!(is_paired(rest.map(|item| &item.message)));
                prop_assert!(is_paired(items[span].iter().map(|item| &item.message)));
            }
        }
    }
}
