//! A stored session as a conversation: messages in the model's order, each block with the place where it stands.

use core::fmt;

use reenact_wire::block::{Block, BlockKind, Message, Role};
use reenact_wire::prelude::*;

/// The most remarks that are kept of one conversation.
const REMARKS_MAX: usize = 50;

/// One conversation of a store.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredConversation {
    /// The file that holds it.
    pub file: Arc<str>,
    /// The session's id, where the store tells it.
    pub session: Option<Arc<str>>,
    /// Which of the file's conversations it is.
    pub branch: StoredBranch,
    /// The messages, oldest first, across compactions.
    pub messages: Vec<StoredMessage>,
    /// The first of the messages that the model is shown: those before were compacted.
    pub context_from: usize,
    /// Notes on the file that break no rule.
    pub remarks: StoreRemarks,
    /// A sentence where the agent is known to send empty texts of its answers back: how it is known.
    pub empty_texts_sent: Option<Arc<str>>,
    /// When its newest message was made, in milliseconds since 1970, where the store keeps several sessions in one file.
    pub newest_at_ms: Option<u64>,
}

/// Which of a file's conversations it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoredBranch {
    /// The session's own, up to its newest message.
    Main,
    /// One beside it, such as a sub-agent's, by the place of its first message.
    SideChain(HistoryPlace),
}

/// A message.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredMessage {
    /// The role of its author. Tool results are the user's.
    pub role: Role,
    /// Where it begins.
    pub place: HistoryPlace,
    /// Its contents.
    pub blocks: Vec<StoredBlock>,
}

/// A block of a message.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredBlock {
    /// Where it stands.
    pub place: HistoryPlace,
    /// The block, in the form of the Messages API.
    pub block: Block,
}

/// Where a message stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HistoryPlace {
    /// In this line, from 1, of another file, which the conversation goes on from.
    LineElsewhere(Arc<str>, usize),
    /// In this line of its file, from 1.
    Line(usize),
    /// The element with this index, from 0, in the array of a document of one line.
    Message(usize),
    /// In a file of its own.
    File(Arc<str>),
    /// In the row with this id of a table.
    Row(&'static str, i64),
    /// In the rows of this page of a database.
    Page(u32),
    /// In a request: its name, and the message's index from 0, as the API counts.
    Request(Arc<str>, usize),
}

/// The API whose history a conversation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryDialect {
    /// The Messages API, or what a client turns into it message by message: results come directly after their calls.
    Messages,
    /// The Responses API: an output may come anywhere behind its call.
    Responses,
}

/// Remarks, a sentence each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreRemarks {
    damages: Vec<StoreDamage>,
    texts: Vec<String>,
    left_out: usize,
}

/// A part of a store that cannot be read, although others stand behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreDamage {
    /// Where it stands.
    pub place: HistoryPlace,
    /// The problem, to stand behind the place: `cannot be read: …`.
    pub problem: String,
    /// The id of the entry that it goes on from, where this is not in the file.
    pub missing_parent: Option<Arc<str>>,
}

impl StoredConversation {
    /// The one conversation of a file: its messages, and the first of them that the model is shown.
    pub(super) fn of_file(
        file: &str,
        session: Option<Arc<str>>,
        (messages, context_from): (Vec<StoredMessage>, usize),
        remarks: StoreRemarks,
    ) -> Self {
        Self {
            file: file.into(),
            session,
            branch: StoredBranch::Main,
            messages,
            context_from,
            remarks,
            empty_texts_sent: None,
            newest_at_ms: None,
        }
    }

    /// Where parts of a file cannot be read and it has no message otherwise: a conversation to tell them.
    pub(super) fn of_damages(file: &str, session: Option<&Arc<str>>, remarks: StoreRemarks) -> Option<Self> {
        let has_damages = !remarks.damages.is_empty();
        has_damages.then(|| Self::of_file(file, session.cloned(), (Vec::new(), 0), remarks))
    }

    /// The messages that the model is shown.
    pub fn context(&self) -> &[StoredMessage] {
        self.messages.get(self.context_from..).unwrap_or_default()
    }
}

impl StoredMessage {
    /// Blocks that stand at one place.
    pub(super) fn new(role: Role, place: HistoryPlace, blocks: Vec<Block>) -> Self {
        let blocks = blocks.into_iter().map(|block| StoredBlock { place: place.clone(), block }).collect();
        Self { role, place, blocks }
    }

    /// The messages of a request, for the same rules.
    pub fn of_request(name: &str, messages: &[Arc<Message>]) -> Vec<Self> {
        let name: Arc<str> = name.into();
        let placed = |(index, message): (usize, &Arc<Message>)| {
            Self::new(message.role, HistoryPlace::Request(name.clone(), index), message.content.clone())
        };
        messages.iter().enumerate().map(placed).collect()
    }

    /// The message as the API takes it.
    pub fn to_message(&self) -> Message {
        Message { role: self.role, content: self.blocks.iter().map(|block| block.block.clone()).collect() }
    }

    /// Whether it has more than blank texts and thinking.
    pub(super) fn says_something(&self) -> bool {
        self.blocks.iter().any(|stored| match stored.block.kind() {
            BlockKind::Text(text) => !text.trim().is_empty(),
            _ => !stored.block.is_thinking(),
        })
    }

    /// Its texts.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.blocks.iter().filter_map(|block| match block.block.kind() {
            BlockKind::Text(text) => Some(&**text),
            _ => None,
        })
    }
}

impl StoreRemarks {
    pub(super) fn add(&mut self, text: impl Into<String>) {
        if self.texts.len() < REMARKS_MAX {
            self.texts.push(text.into());
        } else {
            self.left_out += 1;
        }
    }

    /// Puts others before them.
    pub(super) fn put_first(&mut self, others: Self) {
        let own = core::mem::replace(self, others);
        self.left_out += own.left_out;
        own.damages.into_iter().for_each(|damage| self.push_damage(damage));
        own.texts.into_iter().for_each(|text| self.add(text));
    }

    /// Adds a remark on a part that cannot be read, although others stand behind it.
    pub(super) fn add_damage(&mut self, place: HistoryPlace, problem: impl Into<String>) {
        self.push_damage(StoreDamage { place, problem: problem.into(), missing_parent: None });
    }

    /// Adds a remark on an entry that goes on from one that is not in the file.
    pub(super) fn add_missing_parent(&mut self, place: HistoryPlace, parent: Arc<str>) {
        let problem = "goes on from a line that is not in the file: what was before it is lost".into();
        self.push_damage(StoreDamage { place, problem, missing_parent: Some(parent) });
    }

    fn push_damage(&mut self, damage: StoreDamage) {
        if self.damages.len() < REMARKS_MAX {
            self.damages.push(damage);
        } else {
            self.left_out += 1;
        }
    }

    /// The remarks on parts that cannot be read, although others stand behind them.
    pub fn damages(&self) -> &[StoreDamage] {
        &self.damages
    }

    /// The remarks; the last one says how many more there were.
    pub fn iter(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let more = (self.left_out > 0).then(|| Cow::Owned(format!("and {}", plural(self.left_out as u64, "further remark"))));
        let damages = self.damages.iter().map(|damage| Cow::Owned(damage.to_string()));
        damages.chain(self.texts.iter().map(|text| Cow::Borrowed(&**text))).chain(more)
    }
}

/// `line 7 cannot be read: …`
impl fmt::Display for StoreDamage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.place, self.problem)
    }
}

/// `line 7`, `line 7 of other.jsonl`, `row 4 of part`, `message 3 of request 2`.
impl fmt::Display for HistoryPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LineElsewhere(file, number) => write!(f, "line {number} of {}", file.rsplit('/').next().unwrap_or(file)),
            Self::Line(number) => write!(f, "line {number}"),
            Self::Message(index) => write!(f, "message {index}"),
            Self::File(name) => f.write_str(name),
            Self::Row(table, id) => write!(f, "row {id} of {table}"),
            Self::Page(number) => write!(f, "page {number} of the database"),
            Self::Request(name, index) => write!(f, "message {index} of {name}"),
        }
    }
}

/// How much of a block is shown.
const SHOWN_MAX: usize = 200;

/// A line for each block, for people.
impl fmt::Display for StoredConversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some(session) = self.session.as_ref().filter(|session| !self.file.contains(&***session)) {
            write!(f, ", session {session}")?;
        }
        match &self.branch {
            StoredBranch::Main => (),
            StoredBranch::SideChain(place) => write!(f, ", side chain of {place}")?,
        }
        for (index, message) in self.messages.iter().enumerate() {
            let compacted = if index < self.context_from { ", compacted" } else { "" };
            for block in &message.blocks {
                let json = block.block.json().as_str();
                let shown = json.char_indices().nth(SHOWN_MAX).map_or(json, |(end, _)| &json[..end]);
                let cut = if shown.len() < json.len() { "…" } else { "" };
                write!(f, "\n  {:<9} {}{compacted}: {shown}{cut}", message.role.as_str(), block.place)?;
            }
        }
        self.remarks.iter().try_for_each(|remark| write!(f, "\n  note: {remark}"))
    }
}
