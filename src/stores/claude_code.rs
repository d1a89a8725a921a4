//! Sessions of Claude Code: `~/.claude/projects/<folder>/<session>.jsonl`, and `<session>/subagents/agent-*.jsonl` beside it.
//!
//! Lines name their parents. Those with one `message.id` are one answer, a block a line, and each result hangs on the line of its call: so results of
//! parallel calls are branches of their own, and belong to the conversation all the same. A call without a result on such a branch does not: where the
//! conversation goes on beside it, its agent has left it.
//!
//! Version 1.0 may go on with a session in a second file, whose first line has its parent in the first one.

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

/// The first version that is known to leave empty texts out of answers that say more.
const EMPTY_TEXTS_LEFT_OUT: [u64; 3] = [2, 1, 329];

/// A part of the API's words about an empty text.
const EMPTY_TEXT_REFUSED: &str = "text content blocks must be non-empty";

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

/// Reads a file. `beginnings` are other files, which its lines may go on from, the oldest first.
pub(super) fn read(file: &StoreFile<'_>, beginnings: &[StoreFile<'_>]) -> Result<Vec<StoredConversation>, StoreError> {
    let mut session = SessionFile::default();
    for beginning in beginnings {
        let name: Arc<str> = beginning.name.into();
        // What is wrong there is a matter of that file.
        each_object(beginning, &mut StoreRemarks::default(), |line, object| {
            session.add(HistoryPlace::LineElsewhere(name.clone(), line), object);
        })?;
    }
    session.own_from = session.links.len();
    let (mut remarks, mut is_known, mut name) = (StoreRemarks::default(), false, None);
    let (mut shown, mut without_message) = (Vec::new(), Vec::new());
    each_object(file, &mut remarks, |line, object| {
        is_known |= object.string("type").is_some_and(|kind| TYPES.contains(&&*kind));
        name = name.take().or_else(|| shared(object, "sessionId"));
        session.add_version(line, object);
        if object.get("isApiErrorMessage") == Some("true") {
            shown.push(line);
        }
        if matches!(object.string("type").as_deref(), Some("user" | "assistant")) && object.object("message").is_none() {
            without_message.push(line);
        }
        session.add(HistoryPlace::Line(line), object);
    })?;
    if !is_known && session.links.len() > session.own_from {
        return Err(StoreError::new(file, "no line has a type of Claude Code's sessions: name another format"));
    }
    without_message.iter().for_each(|line| remarks.add_damage(HistoryPlace::Line(*line), "has no message"));
    shown.iter().for_each(|line| remarks.add(format!("line {line} is an error that was shown, and no part of the conversation")));
    Ok(session.conversations(file.name, name.as_ref(), remarks))
}

/// The ids of a file's lines, each with that of its parent.
pub(super) fn line_links(bytes: &[u8]) -> impl Iterator<Item = (String, Option<String>)> {
    let lines = bytes.split(|byte| *byte == b'\n').filter_map(|line| core::str::from_utf8(line).ok());
    let links = |object: RawObject<'_>| Some((object.string("uuid")?.into_owned(), object.string("parentUuid").map(Cow::into_owned)));
    lines.filter_map(move |line| RawObject::parse(line).ok().and_then(links))
}

#[derive(Debug, Default)]
struct SessionFile {
    links: Vec<EntryLinks>,
    entries: Vec<ClaudeEntry>,
    /// The first entry of the file itself. Those before are of files that it goes on from.
    own_from: usize,
    /// The version that wrote the newest line.
    version: Option<Arc<str>>,
    /// The last error about an empty text, where the model has said nothing since: its line, and the version that wrote it.
    refusal: Option<(usize, Option<Arc<str>>)>,
}

impl SessionFile {
    fn add(&mut self, place: HistoryPlace, object: &RawObject<'_>) {
        let named = shared(object, "parentUuid").filter(|parent| !parent.is_empty());
        let parent = named.or_else(|| shared(object, "logicalParentUuid"));
        let is_side = object.get("isSidechain") == Some("true");
        let is_boundary = object.string("subtype").as_deref() == Some("compact_boundary");
        self.links.push(EntryLinks { place, id: shared(object, "uuid"), parent, is_side, is_boundary });
        self.entries.push(ClaudeEntry { is_boundary, said: said(object) });
    }

    fn add_version(&mut self, line: usize, object: &RawObject<'_>) {
        let version = shared(object, "version");
        if object.get("isApiErrorMessage") == Some("true") {
            let text = object.object("message").map(|message| content::joined_text(message.get("content")));
            if text.is_some_and(|text| text.contains(EMPTY_TEXT_REFUSED)) {
                self.refusal = Some((line, version.clone()));
            }
        } else if object.object("message").is_some_and(|message| is_of_model(&message)) {
            self.refusal = None;
        }
        self.version = version.or_else(|| self.version.take());
    }

    /// How it is known that the newest version sends empty texts back. What an older version did says nothing.
    fn empty_texts_sent(&self) -> Option<Arc<str>> {
        if let Some((line, _)) = self.refusal.as_ref().filter(|(_, version)| *version == self.version) {
            return Some(format!("the error of line {line} says that it was sent").into());
        }
        let version = self.version.as_ref()?;
        let numbers: Vec<u64> = version.split('.').map_while(|number| number.parse().ok()).collect();
        let is_older = numbers.len() == EMPTY_TEXTS_LEFT_OUT.len() && numbers[..] < EMPTY_TEXTS_LEFT_OUT[..];
        is_older.then(|| format!("Claude Code {version} is known to send it back").into())
    }

    fn conversations(&self, file: &str, session: Option<&Arc<str>>, mut remarks: StoreRemarks) -> Vec<StoredConversation> {
        let tree = EntryTree::new(&self.links, &mut remarks);
        let mut assembly = Assembly::new(self, &tree);
        // The newest message of the session, and of each side chain.
        let mut main = None;
        let mut sides: BTreeMap<usize, usize> = BTreeMap::new();
        let own = self.own_from..self.entries.len();
        for at in own.clone().filter(|at| self.entries[*at].said.is_some() && !tree.is_copy(*at, &self.links)) {
            if self.links[at].is_side {
                sides.insert(assembly.roots[at], at);
            } else {
                main = Some(at);
            }
        }
        let mut found = Vec::new();
        for (leaf, is_main) in main.map(|leaf| (leaf, true)).into_iter().chain(sides.into_values().map(|leaf| (leaf, false))) {
            let path = tree.path(leaf, &self.links, &mut remarks);
            self.add_beginnings(&path, &mut remarks);
            let (messages, context_from) = assembly.messages(&path, &mut remarks);
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
                empty_texts_sent: self.empty_texts_sent(),
                newest_at_ms: None,
            });
        }
        let is_elsewhere = |at: &usize| self.entries[*at].said.is_some() && !self.links[*at].is_side && !assembly.is_done[*at];
        let others = own.filter(is_elsewhere).count();
        if others > 0 {
            remarks.add(format!("{} of messages on other branches", plural(others as u64, "line")));
        }
        match found.first_mut() {
            Some(first) => first.remarks = remarks,
            None => found.extend(StoredConversation::of_damages(file, session, remarks)),
        }
        found
    }

    /// Remarks where a path goes on from another file.
    fn add_beginnings(&self, path: &[usize], remarks: &mut StoreRemarks) {
        for pair in path.windows(2) {
            let [from, to] = [pair[0], pair[1]].map(|at| &self.links[at].place);
            if file_of(from) != file_of(to) {
                remarks.add(format!(
                    "{to} goes on from {from}, which was read, too: Claude Code 1.0 reads both files, and 2.1 reads this one alone"
                ));
            }
        }
    }
}

/// Whether an answer came from a model. Claude Code stores answers of its own, too.
fn is_of_model(message: &RawObject<'_>) -> bool {
    message.string("role").as_deref() == Some("assistant") && message.string("model").as_deref() != Some("<synthetic>")
}

/// The file of a line; `None` for the session's own.
fn file_of(place: &HistoryPlace) -> Option<&str> {
    match place {
        HistoryPlace::LineElsewhere(file, _) => Some(file),
        _ => None,
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
    /// The calls that have a result anywhere.
    answered: BTreeSet<&'a str>,
    is_done: Vec<bool>,
    /// Lines whose calls without results were left.
    is_left: Vec<bool>,
}

impl<'a> Assembly<'a> {
    fn new(file: &'a SessionFile, tree: &EntryTree) -> Self {
        let roots = tree.roots();
        let (mut answers, mut results): (BTreeMap<_, Vec<usize>>, BTreeMap<_, Vec<usize>>) = (BTreeMap::new(), BTreeMap::new());
        let mut answered = BTreeSet::new();
        for (at, entry) in file.entries.iter().enumerate() {
            // Claude Code knows a line by its id: the same one again says nothing more.
            let Some(said) = entry.said.as_ref().filter(|_| !tree.is_copy(at, &file.links)) else { continue };
            if let Some(answer) = &said.answer {
                answers.entry((roots[at], &**answer)).or_default().push(at);
            }
            answered.extend(said.blocks.iter().filter_map(answered_call));
            let is_result = said.is_result();
            let source = said.source.as_ref().or(file.links[at].parent.as_ref()).and_then(|source| tree.find(source));
            if let Some(source) = source.filter(|_| is_result) {
                results.entry(source).or_default().push(at);
            }
        }
        let count = file.entries.len();
        Self { file, roots, answers, results, answered, is_done: vec![false; count], is_left: vec![false; count] }
    }

    /// The messages on a path, and the first of them behind the last compaction.
    fn messages(&mut self, path: &[usize], remarks: &mut StoreRemarks) -> (Vec<StoredMessage>, usize) {
        let on_path: BTreeSet<usize> = path.iter().copied().collect();
        let (mut messages, mut context_from) = (Vec::new(), 0);
        for (step, &at) in path.iter().enumerate() {
            let entry = &self.file.entries[at];
            if entry.is_boundary {
                context_from = messages.len();
            }
            let Some(said) = entry.said.as_ref().filter(|_| !self.is_done[at]) else { continue };
            let of_answer = said.answer.as_ref().and_then(|answer| self.answers.get(&(self.roots[at], &**answer)));
            let lines = of_answer.cloned().unwrap_or_else(|| vec![at]);
            self.leave(&lines, &path[step..], &on_path, remarks);
            messages.push(self.message(said.role, &lines));
            // What hangs on another line of the answer is on no path.
            let beside = |line: &usize| self.results.get(line).into_iter().flatten().copied();
            let mut others: Vec<usize> = lines.iter().flat_map(beside).filter(|at| !on_path.contains(at) && !self.is_done[*at]).collect();
            others.sort_unstable();
            others.iter().for_each(|at| messages.push(self.message(Role::User, &[*at])));
        }
        (messages, context_from)
    }

    /// Marks the lines of an answer whose calls its agent has left: they are off the path and have no result, and the conversation goes on behind others.
    fn leave(&mut self, lines: &[usize], behind: &[usize], on_path: &BTreeSet<usize>, remarks: &mut StoreRemarks) {
        let off_path: Vec<usize> = lines.iter().copied().filter(|at| !on_path.contains(at)).collect();
        let answer = self.file.entries[lines[0]].said.as_ref().and_then(|said| said.answer.as_ref());
        let said = |at: &usize| self.file.entries[*at].said.as_ref();
        let is_further = |at: &&usize| said(at).is_some_and(|said| said.answer.as_ref() != answer && !said.is_result());
        let Some(next) = behind.iter().find(is_further).filter(|_| !off_path.is_empty()) else { return };
        for at in off_path {
            for block in said(&at).into_iter().flat_map(|said| &said.blocks).filter(|block| self.is_unanswered(block)) {
                let id = block.as_tool_use().map(|call| &*call.id).unwrap_or_default();
                let [call, next] = [at, *next].map(|at| &self.file.links[at].place);
                remarks.add(format!(
                    "tool call {id} of {call} has no result and is not sent: {next} goes on behind another part of the same answer"
                ));
            }
            self.is_left[at] = true;
        }
    }

    fn is_unanswered(&self, block: &Block) -> bool {
        block.as_tool_use().is_some_and(|call| !self.answered.contains(&*call.id))
    }

    /// The lines of one message; there is at least one.
    fn message(&mut self, role: Role, lines: &[usize]) -> StoredMessage {
        let place = |at: usize| self.file.links[at].place.clone();
        let mut message = StoredMessage::new(role, place(lines[0]), Vec::new());
        for &at in lines {
            let is_sent = |block: &&Block| !self.is_left[at] || !self.is_unanswered(block);
            let blocks = self.file.entries[at].said.iter().flat_map(|said| &said.blocks).filter(is_sent);
            message.blocks.extend(blocks.map(|block| StoredBlock { place: place(at), block: block.clone() }));
        }
        lines.iter().for_each(|at| self.is_done[*at] = true);
        message
    }
}

impl MessageLine {
    /// Whether it has results and nothing else.
    fn is_result(&self) -> bool {
        let is_result = |block: &Block| answered_call(block).is_some();
        self.role == Role::User && !self.blocks.is_empty() && self.blocks.iter().all(is_result)
    }
}

/// The call whose result a block is.
fn answered_call(block: &Block) -> Option<&str> {
    match block.kind() {
        BlockKind::ToolResult { tool_use_id, .. } => Some(tool_use_id),
        _ => None,
    }
}
