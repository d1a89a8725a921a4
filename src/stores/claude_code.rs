//! Sessions of Claude Code: `~/.claude/projects/<folder>/<session>.jsonl`, and `<session>/subagents/agent-*.jsonl` beside it.
//!
//! Lines name their parents. Those with one `message.id` are one answer, a block a line, and each result hangs on the line of its call: so results of
//! parallel calls are branches of their own, and belong to the conversation all the same.

use alloc::collections::{BTreeMap, BTreeSet};

use super::content;
use super::conversation::{HistoryPlace, StoreRemarks, StoredBlock, StoredBranch, StoredConversation, StoredMessage};
use super::json_lines::{each_object, shared};
use super::tree::{EntryLinks, EntryTree};
use super::{StoreError, StoreFile};
use reenact_wire::block::{Block, BlockKind, Role};
use reenact_wire::prelude::*;
use reenact_wire::raw_json::RawObject;

/// The types of lines that are known.
pub(super) const TYPES: [&str; 12] = [
    "user",
    "assistant",
    "progress",
    "system",
    "file-history-snapshot",
    "summary",
    "queue-operation",
    "attachment",
    "last-prompt",
    "mode",
    "custom-title",
    "ai-title",
];

/// A line.
#[derive(Debug)]
struct ClaudeEntry {
    /// Whether the context before it was compacted.
    is_boundary: bool,
    said: Option<MessageLine>,
}

/// A line with a message, or a part of one.
#[derive(Debug)]
struct MessageLine {
    role: Role,
    /// The answer that it is a part of.
    answer: Option<Arc<str>>,
    blocks: Vec<Block>,
    /// The line whose call it answers.
    source: Option<Arc<str>>,
}

pub(super) fn read(file: &StoreFile<'_>) -> Result<Vec<StoredConversation>, StoreError> {
    let mut session = SessionFile::default();
    let (mut remarks, mut is_known, mut name) = (StoreRemarks::default(), false, None);
    let (mut shown, mut without_message) = (Vec::new(), Vec::new());
    each_object(file, &mut remarks, |line, object| {
        is_known |= object.string("type").is_some_and(|kind| TYPES.contains(&&*kind));
        name = name.take().or_else(|| shared(object, "sessionId"));
        if object.get("isApiErrorMessage") == Some("true") {
            shown.push(line);
        }
        if matches!(object.string("type").as_deref(), Some("user" | "assistant")) && object.object("message").is_none() {
            without_message.push(line);
        }
        session.add(line, object);
    })?;
    if !is_known && !session.links.is_empty() {
        return Err(StoreError::new(file, "no line has a type of Claude Code's sessions: name another format"));
    }
    without_message.iter().for_each(|line| remarks.add_damage(HistoryPlace::Line(*line), "has no message"));
    shown.iter().for_each(|line| remarks.add(format!("line {line} is an error that was shown, and no part of the conversation")));
    Ok(session.conversations(file.name, name.as_ref(), remarks))
}

#[derive(Debug, Default)]
struct SessionFile {
    links: Vec<EntryLinks>,
    entries: Vec<ClaudeEntry>,
}

impl SessionFile {
    fn add(&mut self, line: usize, object: &RawObject<'_>) {
        let named = shared(object, "parentUuid").filter(|parent| !parent.is_empty());
        let parent = named.or_else(|| shared(object, "logicalParentUuid"));
        let is_side = object.get("isSidechain") == Some("true");
        let is_boundary = object.string("subtype").as_deref() == Some("compact_boundary");
        self.links.push(EntryLinks { line, id: shared(object, "uuid"), parent, is_side, is_boundary });
        self.entries.push(ClaudeEntry { is_boundary, said: said(object) });
    }

    fn conversations(&self, file: &str, session: Option<&Arc<str>>, mut remarks: StoreRemarks) -> Vec<StoredConversation> {
        let tree = EntryTree::new(&self.links, &mut remarks);
        let mut assembly = Assembly::new(self, &tree);
        // The newest message of the session, and of each side chain.
        let mut main = None;
        let mut sides: BTreeMap<usize, usize> = BTreeMap::new();
        for at in (0..self.entries.len()).filter(|at| self.entries[*at].said.is_some() && !tree.is_copy(*at, &self.links)) {
            if self.links[at].is_side {
                sides.insert(assembly.roots[at], at);
            } else {
                main = Some(at);
            }
        }
        let mut found = Vec::new();
        for (leaf, is_main) in main.map(|leaf| (leaf, true)).into_iter().chain(sides.into_values().map(|leaf| (leaf, false))) {
            let path = tree.path(leaf, &self.links, &mut remarks);
            let (messages, context_from) = assembly.messages(&path);
            let branch = match messages.first().filter(|_| !is_main) {
                Some(first) => StoredBranch::SideChain(first.place.clone()),
                None => StoredBranch::Main,
            };
            let remarks = StoreRemarks::default();
            found.push(StoredConversation {
                file: file.into(),
                session: session.cloned(),
                branch,
                messages,
                context_from,
                remarks,
                newest_at_ms: None,
            });
        }
        let is_elsewhere = |at: &usize| self.entries[*at].said.is_some() && !self.links[*at].is_side && !assembly.is_done[*at];
        let others = (0..self.entries.len()).filter(is_elsewhere).count();
        if others > 0 {
            remarks.add(format!("{} of messages on other branches", plural(others as u64, "line")));
        }
        match found.first_mut() {
            Some(first) => first.remarks = remarks,
            None => found.extend(StoredConversation::of_damages(file, session, remarks)),
        }
        found
    }
}

/// The message of a line; `None` where it is no message of the conversation.
fn said(object: &RawObject<'_>) -> Option<MessageLine> {
    let role = match &*object.string("type")? {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        _ => return None,
    };
    if object.get("isApiErrorMessage") == Some("true") {
        return None;
    }
    let message = object.object("message")?;
    let answer = shared(&message, "id").filter(|_| role == Role::Assistant);
    Some(MessageLine { role, answer, blocks: content::blocks(message.get("content")), source: shared(object, "sourceToolAssistantUUID") })
}

/// Paths turned into messages. No line is used twice.
#[derive(Debug)]
struct Assembly<'a> {
    file: &'a SessionFile,
    roots: Vec<usize>,
    /// The lines of each answer, by the root of their tree.
    answers: BTreeMap<(usize, &'a str), Vec<usize>>,
    /// The lines with results of each line with a call.
    results: BTreeMap<usize, Vec<usize>>,
    is_done: Vec<bool>,
}

impl<'a> Assembly<'a> {
    fn new(file: &'a SessionFile, tree: &EntryTree) -> Self {
        let roots = tree.roots();
        let (mut answers, mut results): (BTreeMap<_, Vec<usize>>, BTreeMap<_, Vec<usize>>) = (BTreeMap::new(), BTreeMap::new());
        for (at, entry) in file.entries.iter().enumerate() {
            // Claude Code knows a line by its id: the same one again says nothing more.
            let Some(said) = entry.said.as_ref().filter(|_| !tree.is_copy(at, &file.links)) else { continue };
            if let Some(answer) = &said.answer {
                answers.entry((roots[at], &**answer)).or_default().push(at);
            }
            let is_result = said.role == Role::User && said.blocks.iter().any(is_result) && said.blocks.iter().all(is_result);
            let source = said.source.as_ref().or(file.links[at].parent.as_ref()).and_then(|source| tree.find(source));
            if let Some(source) = source.filter(|_| is_result) {
                results.entry(source).or_default().push(at);
            }
        }
        Self { file, roots, answers, results, is_done: vec![false; file.entries.len()] }
    }

    /// The messages on a path, and the first of them behind the last compaction.
    fn messages(&mut self, path: &[usize]) -> (Vec<StoredMessage>, usize) {
        let on_path: BTreeSet<usize> = path.iter().copied().collect();
        let (mut messages, mut context_from) = (Vec::new(), 0);
        for &at in path {
            let entry = &self.file.entries[at];
            if entry.is_boundary {
                context_from = messages.len();
            }
            let Some(said) = entry.said.as_ref().filter(|_| !self.is_done[at]) else { continue };
            let of_answer = said.answer.as_ref().and_then(|answer| self.answers.get(&(self.roots[at], &**answer)));
            let lines = of_answer.cloned().unwrap_or_else(|| vec![at]);
            messages.push(self.message(said.role, &lines));
            // What hangs on another line of the answer is on no path.
            let beside = |line: &usize| self.results.get(line).into_iter().flatten().copied();
            let mut others: Vec<usize> = lines.iter().flat_map(beside).filter(|at| !on_path.contains(at) && !self.is_done[*at]).collect();
            others.sort_unstable();
            others.iter().for_each(|at| messages.push(self.message(Role::User, &[*at])));
        }
        (messages, context_from)
    }

    /// The lines of one message; there is at least one.
    fn message(&mut self, role: Role, lines: &[usize]) -> StoredMessage {
        let place = |at: usize| HistoryPlace::Line(self.file.links[at].line);
        let mut message = StoredMessage::new(role, place(lines[0]), Vec::new());
        for &at in lines {
            let blocks = self.file.entries[at].said.iter().flat_map(|said| &said.blocks);
            message.blocks.extend(blocks.map(|block| StoredBlock { place: place(at), block: block.clone() }));
        }
        lines.iter().for_each(|at| self.is_done[*at] = true);
        message
    }
}

fn is_result(block: &Block) -> bool {
    matches!(block.kind(), BlockKind::ToolResult { .. })
}
