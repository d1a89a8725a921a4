//! O-1 and O-2: each tool call has exactly one result, directly behind it, before anything else that the user says.
//!
//! The API joins neighbours of one role: results that are spread over several user messages in a row are right.

use alloc::collections::BTreeMap;

use super::super::conversation::{HistoryDialect, HistoryPlace, StoredBlock, StoredMessage};
use super::{HistoryViolation, ViolationKind};
use reenact_wire::block::{BlockKind, Role};
use reenact_wire::prelude::*;

/// Whether a history goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryEnd {
    /// Its agent may still answer the last calls: when it is resumed, for example.
    Open,
    /// It is as the model gets it.
    Closed,
}

/// A call and its results.
#[derive(Debug)]
struct Call<'a> {
    id: &'a str,
    place: &'a HistoryPlace,
    turn: usize,
    /// Whether the same answer has a later call with its id, which takes its results.
    is_doubled: bool,
    /// Those in the turn behind it, each with what stands before it there and is no result.
    direct: Vec<(&'a HistoryPlace, Option<&'a HistoryPlace>)>,
    /// Those that come later.
    late: Vec<&'a HistoryPlace>,
}

/// Neighbours of one role, which the API joins to one message.
#[derive(Debug)]
struct Turn<'a> {
    is_answer: bool,
    place: &'a HistoryPlace,
    blocks: Vec<&'a StoredBlock>,
}

/// The violations of calls and results.
pub fn results(messages: &[StoredMessage], dialect: HistoryDialect, end: HistoryEnd) -> Vec<HistoryViolation> {
    let mut pairing = Pairing { turns: turns(messages), ..Pairing::default() };
    pairing.collect(dialect);
    let mut found = pairing.found;
    for call in pairing.calls.iter().filter(|call| !call.is_doubled) {
        found.extend(call.doubled());
        match dialect {
            HistoryDialect::Messages => found.extend(call.unpaired(&pairing.turns, end)),
            HistoryDialect::Responses => found.extend(call.unanswered(&pairing.turns, end)),
        }
    }
    found
}

fn turns(messages: &[StoredMessage]) -> Vec<Turn<'_>> {
    let mut turns: Vec<Turn<'_>> = Vec::new();
    // A message that says nothing is not sent.
    for message in messages.iter().filter(|message| !message.blocks.is_empty()) {
        let is_answer = message.role == Role::Assistant;
        match turns.last_mut().filter(|turn| turn.is_answer == is_answer) {
            Some(turn) => turn.blocks.extend(&message.blocks),
            None => turns.push(Turn { is_answer, place: &message.place, blocks: message.blocks.iter().collect() }),
        }
    }
    turns
}

#[derive(Debug, Default)]
struct Pairing<'a> {
    turns: Vec<Turn<'a>>,
    calls: Vec<Call<'a>>,
    found: Vec<HistoryViolation>,
}

impl Pairing<'_> {
    fn collect(&mut self, dialect: HistoryDialect) {
        // The newest call of each id: a later answer may use one again.
        let mut newest: BTreeMap<&str, usize> = BTreeMap::new();
        for (number, turn) in self.turns.iter().enumerate() {
            let mut before = None;
            for block in &turn.blocks {
                match block.block.kind() {
                    BlockKind::ToolUse(call) if turn.is_answer => {
                        let next = self.calls.len();
                        let first = newest.insert(&call.id, next).map(|at| &mut self.calls[at]);
                        if let Some(first) = first.filter(|first| first.turn == number) {
                            first.is_doubled = true;
                            self.found.push(second_call(&call.id, first.place, &block.place));
                        }
                        let (direct, late) = (Vec::new(), Vec::new());
                        self.calls.push(Call { id: &call.id, place: &block.place, turn: number, is_doubled: false, direct, late });
                    }
                    BlockKind::ToolResult { tool_use_id, .. } => match newest.get(&**tool_use_id) {
                        Some(at) if self.calls[*at].turn + 1 == number || dialect == HistoryDialect::Responses => {
                            self.calls[*at].direct.push((&block.place, before));
                        }
                        Some(at) => self.calls[*at].late.push(&block.place),
                        None => {
                            let text = format!("{} has a result of {tool_use_id}, and no answer before it has this tool call", block.place);
                            let kind = ViolationKind::ResultWithoutCall;
                            self.found.push(HistoryViolation::new("O-1", kind, Some(tool_use_id), vec![block.place.clone()], text));
                        }
                    },
                    _ => before = before.or(Some(&block.place)),
                }
            }
        }
    }
}

fn second_call(id: &str, first: &HistoryPlace, second: &HistoryPlace) -> HistoryViolation {
    let text = format!("one answer has two tool calls with the id {id}: {first} and {second}");
    HistoryViolation::new("O-2", ViolationKind::DoubledCall, Some(id), vec![first.clone(), second.clone()], text)
}

impl Call<'_> {
    fn doubled(&self) -> Option<HistoryViolation> {
        let results = self.direct.iter().map(|(place, _)| *place).chain(self.late.iter().copied());
        let shown: Vec<String> = results.clone().map(ToString::to_string).collect();
        (shown.len() > 1).then(|| {
            let text = format!("tool call {} of {} has {} results: {}", self.id, self.place, shown.len(), shown.join(" and "));
            let places = core::iter::once(self.place).chain(results).cloned().collect();
            HistoryViolation::new("O-2", ViolationKind::DoubledResult, Some(self.id), places, text)
        })
    }

    fn unpaired(&self, turns: &[Turn<'_>], end: HistoryEnd) -> Option<HistoryViolation> {
        let of_call = format!("tool call {} of {}", self.id, self.place);
        let next = turns.get(self.turn + 1);
        let (kind, other, text) = match (self.direct.first(), self.late.first(), next) {
            (Some((place, Some(before))), ..) => {
                let text = format!(
                    "the result of {of_call} stands at {place}, behind what is said at {before}; the API wants it first, and refuses the history"
                );
                (ViolationKind::TextBeforeResult, Some(*place), text)
            }
            (Some((_, None)), ..) => return None,
            (None, Some(late), Some(next)) => {
                let text =
                    format!("{of_call} has no result directly behind it: the next message stands at {}, the result at {late}", next.place);
                (ViolationKind::LateResult, Some(*late), text)
            }
            (None, None, Some(_)) if end == HistoryEnd::Open && self.is_last(turns) => return None,
            (None, None, Some(next)) => {
                let said = next.blocks.iter().find(|block| !is_result(block)).map(|block| &block.place);
                let text = match said {
                    Some(said) => format!("{of_call} has no result; the next user message stands at {said}"),
                    None => format!("{of_call} has no result, and {} has the result of another call", next.place),
                };
                (ViolationKind::DanglingCall, Some(said.unwrap_or(next.place)), text)
            }
            (None, _, None) if end == HistoryEnd::Open => return None,
            (None, _, None) => (ViolationKind::DanglingCall, None, format!("{of_call} has no result; the history ends there")),
        };
        let places = core::iter::once(self.place).chain(other).cloned().collect();
        Some(HistoryViolation::new("O-1", kind, Some(self.id), places, text))
    }

    fn unanswered(&self, turns: &[Turn<'_>], end: HistoryEnd) -> Option<HistoryViolation> {
        let is_open = end == HistoryEnd::Open && self.is_last(turns);
        (self.direct.is_empty() && !is_open).then(|| {
            let text = format!("tool call {} of {} has no output", self.id, self.place);
            HistoryViolation::new("O-1", ViolationKind::DanglingCall, Some(self.id), vec![self.place.clone()], text)
        })
    }

    /// Whether nothing came behind it but results of its neighbours.
    fn is_last(&self, turns: &[Turn<'_>]) -> bool {
        turns.len() <= self.turn + 2 && turns.get(self.turn + 1).is_none_or(|next| next.blocks.iter().all(|block| is_result(block)))
    }
}

fn is_result(block: &StoredBlock) -> bool {
    matches!(block.block.kind(), BlockKind::ToolResult { .. })
}
