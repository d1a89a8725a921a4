//! Sessions of opencode: since 1.1 rows of a database, `~/.local/share/opencode/opencode.db` with its `-wal`; before that files,
//! `storage/message/<session>/<message>.json` and `storage/part/<message>/<part>.json`. Rows and files hold the same objects.
//!
//! Messages come in the order of their times, parts in that of their ids. The result of a call stands in the call's own part. opencode asks with what
//! its store says, but for answers that failed. Of a compacted session it sends the summary, the messages that were kept, and what came later.

use alloc::collections::BTreeMap;

use super::content;
use super::conversation::{HistoryPlace, StoreRemarks, StoredBlock, StoredBranch, StoredConversation, StoredMessage};
use super::document::StoreDocument;
use super::json_lines::shared;
use super::sqlite::{self, SqliteDatabase};
use super::{StoreError, StoreFile};
use reenact_wire::block::{Block, Role};
use reenact_wire::prelude::*;
use reenact_wire::raw_json::RawObject;

/// The error of an answer that the user ended: opencode sends what had come of it.
const ABORTED: &str = "MessageAbortedError";

/// The text that opencode sends for a result that it cleared.
const CLEARED: &str = "[Old tool result content cleared]";

#[derive(Debug, Default)]
struct OpencodeSession {
    /// Whether another session started it.
    is_child: bool,
    /// By their ids.
    messages: BTreeMap<Arc<str>, OpencodeMessage>,
}

#[derive(Debug, Default)]
struct OpencodeMessage {
    /// `None` until it came.
    head: Option<MessageHead>,
    /// By their ids.
    parts: BTreeMap<Arc<str>, MessagePart>,
}

/// A message but for its contents.
#[derive(Debug)]
struct MessageHead {
    place: HistoryPlace,
    role: Role,
    /// In milliseconds.
    created_at: u64,
    /// When it was ended, or else made, in milliseconds.
    newest_at: u64,
    /// The message that it answers.
    parent: Option<Arc<str>>,
    end: MessageEnd,
    /// Whether it sums up what came before its parent.
    is_summary: bool,
}

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MessageEnd {
    /// Well, or not yet.
    Open,
    /// The user ended it.
    Aborted,
    /// It failed, and is not sent.
    Failed,
}

/// A part of a message.
#[derive(Debug)]
struct MessagePart {
    place: HistoryPlace,
    /// In the message itself.
    own: Option<Block>,
    /// The result of a call, behind the message.
    result: Option<Block>,
    /// The message asks for a summary; all from this other message on is kept.
    kept_from: Option<Arc<str>>,
    is_compaction: bool,
    /// Whether an aborted answer with this part is sent.
    is_content: bool,
}

type Sessions = BTreeMap<Arc<str>, OpencodeSession>;

pub(super) fn read(files: &[StoreFile<'_>]) -> Result<Vec<StoredConversation>, StoreError> {
    let (databases, others): (Vec<StoreFile<'_>>, Vec<StoreFile<'_>>) = files.iter().partition(|file| sqlite::is_database(file.bytes));
    let mut conversations = Vec::new();
    for database in &databases {
        let log = format!("{}-wal", database.name);
        conversations.extend(of_database(*database, others.iter().find(|file| file.name == log))?);
    }
    // What stands beside a database is part of it.
    let is_beside = |file: &StoreFile<'_>| databases.iter().any(|database| file.name.starts_with(database.name));
    let documents: Vec<StoreFile<'_>> = others.into_iter().filter(|file| !is_beside(file)).collect();
    if !documents.is_empty() {
        conversations.extend(of_documents(&documents)?);
    }
    Ok(conversations)
}

fn of_database(file: StoreFile<'_>, log: Option<&StoreFile<'_>>) -> Result<Vec<StoredConversation>, StoreError> {
    let (mut sessions, mut remarks) = (Sessions::new(), StoreRemarks::default());
    let database = SqliteDatabase::open(file, log, &mut remarks)?;
    database.rows("session", ["id", "parent_id"], &mut remarks, |_, [id, parent]| {
        if let Some(id) = id {
            sessions.entry(id.into()).or_default().is_child = parent.is_some();
        }
    })?;
    let mut damaged = Vec::new();
    database.rows("message", ["session_id", "id", "data"], &mut remarks, |row, values| {
        let place = HistoryPlace::Row("message", row);
        let ([Some(session), Some(id), _], Some(data)) = (values, values[2].and_then(|data| RawObject::parse(data).ok())) else {
            return damaged.push(place);
        };
        sessions.entry(session.into()).or_default().messages.entry(id.into()).or_default().head = MessageHead::read(place, &data);
    })?;
    database.rows("part", ["session_id", "message_id", "id", "data"], &mut remarks, |row, values| {
        let place = HistoryPlace::Row("part", row);
        let ([Some(session), Some(message), Some(id), _], Some(data)) = (values, values[3].and_then(|data| RawObject::parse(data).ok()))
        else {
            return damaged.push(place);
        };
        let message = sessions.entry(session.into()).or_default().messages.entry(message.into()).or_default();
        message.parts.insert(id.into(), MessagePart::read(place, &data));
    })?;
    damaged.into_iter().for_each(|place| remarks.add_damage(place, "cannot be read"));
    let file: Arc<str> = file.name.into();
    Ok(conversations(sessions, |_| file.clone(), remarks))
}

fn of_documents(files: &[StoreFile<'_>]) -> Result<Vec<StoredConversation>, StoreError> {
    let (mut sessions, mut remarks) = (Sessions::new(), StoreRemarks::default());
    for file in files {
        let document = match StoreDocument::read(file) {
            Ok(document) => document,
            // A file that its writer did not finish.
            Err(error) => {
                remarks.add_damage(HistoryPlace::File(error.file), format!("cannot be read: {}", error.problem));
                continue;
            }
        };
        let object = &document.object;
        let (Some(session), Some(id)) = (shared(object, "sessionID"), shared(object, "id")) else { continue };
        let messages = &mut sessions.entry(session).or_default().messages;
        let place = HistoryPlace::File(file.name.into());
        match shared(object, "messageID") {
            Some(message) => _ = messages.entry(message).or_default().parts.insert(id, MessagePart::read(place, object)),
            None => messages.entry(id).or_default().head = MessageHead::read(place, object),
        }
    }
    if let Some(file) = files.first().filter(|_| sessions.is_empty()) {
        return Err(StoreError::new(file, "neither a message of opencode nor its database is there: name the files of a session"));
    }
    Ok(conversations(sessions, Arc::clone, remarks))
}

fn conversations(sessions: Sessions, file: impl Fn(&Arc<str>) -> Arc<str>, remarks: StoreRemarks) -> Vec<StoredConversation> {
    let mut conversations: Vec<StoredConversation> =
        sessions.into_iter().map(|(id, session)| conversation(file(&id), id, session)).collect();
    if let Some(first) = conversations.first_mut() {
        first.remarks.put_first(remarks);
    }
    conversations
}

/// A message of a session: its id, its head, and its parts by their ids.
type SaidMessage = (Arc<str>, MessageHead, BTreeMap<Arc<str>, MessagePart>);

fn conversation(file: Arc<str>, id: Arc<str>, session: OpencodeSession) -> StoredConversation {
    let mut remarks = StoreRemarks::default();
    let mut said: Vec<SaidMessage> =
        session.messages.into_iter().filter_map(|(id, message)| Some((id, message.head?, message.parts))).collect();
    said.sort_by_key(|(_, head, _)| head.created_at);
    let compaction = compaction(&said);
    let (mut messages, mut context_from) = (Vec::new(), 0);
    for at in order(&said, compaction) {
        if compaction.is_some_and(|compaction| compaction.request == at) {
            context_from = messages.len();
        }
        let (_, head, parts) = &said[at];
        let is_sent = match head.end {
            MessageEnd::Open => true,
            MessageEnd::Aborted => parts.values().any(|part| part.is_content),
            MessageEnd::Failed => false,
        };
        if !is_sent {
            remarks.add(format!("{} is an answer that failed or was aborted, and is not sent", head.place));
            continue;
        }
        let mut message = StoredMessage::new(head.role, head.place.clone(), Vec::new());
        let mut results = StoredMessage::new(Role::User, head.place.clone(), Vec::new());
        for part in parts.values() {
            let placed = |block: &Block| StoredBlock { place: part.place.clone(), block: block.clone() };
            message.blocks.extend(part.own.as_ref().map(placed));
            results.blocks.extend(part.result.as_ref().map(placed));
        }
        messages.push(message);
        if let Some(first) = results.blocks.first() {
            results.place = first.place.clone();
            messages.push(results);
        }
    }
    let branch = match messages.first().filter(|_| session.is_child) {
        Some(first) => StoredBranch::SideChain(first.place.clone()),
        None => StoredBranch::Main,
    };
    let newest_at_ms = said.last().map(|(_, head, _)| head.newest_at);
    StoredConversation { file, session: Some(id), branch, messages, context_from, remarks, empty_texts_sent: None, newest_at_ms }
}

/// A finished compaction, by the indexes of its messages.
#[derive(Clone, Copy, Debug)]
struct SessionCompaction {
    /// The message that asked for the summary.
    request: usize,
    /// The summary.
    summary: usize,
    /// The first message that was kept.
    kept_from: usize,
}

/// The newest compaction.
fn compaction(said: &[SaidMessage]) -> Option<SessionCompaction> {
    let summaries: BTreeMap<&str, usize> = said
        .iter()
        .enumerate()
        .filter(|(_, (_, head, _))| head.is_summary)
        .filter_map(|(at, (_, head, _))| Some((&**head.parent.as_ref()?, at)))
        .collect();
    said.iter().enumerate().rev().find_map(|(request, (id, _, parts))| {
        let part = parts.values().find(|part| part.is_compaction)?;
        let summary = *summaries.get(&**id).filter(|summary| **summary > request)?;
        let kept = part.kept_from.as_ref().and_then(|kept| said[..request].iter().position(|(id, ..)| id == kept));
        Some(SessionCompaction { request, summary, kept_from: kept.unwrap_or(request) })
    })
}

/// The messages as the model is shown them: those that were kept stand behind the summary.
fn order(said: &[SaidMessage], compaction: Option<SessionCompaction>) -> Vec<usize> {
    match compaction {
        None => (0..said.len()).collect(),
        Some(SessionCompaction { request, summary, kept_from }) => {
            (0..kept_from).chain(request..=summary).chain(kept_from..request).chain(summary + 1..said.len()).collect()
        }
    }
}

impl MessageHead {
    fn read(place: HistoryPlace, message: &RawObject<'_>) -> Option<Self> {
        let role = Role::from_word(&message.string("role")?)?;
        let end = match message.object("error").map(|error| error.string("name").is_some_and(|name| name == ABORTED)) {
            None => MessageEnd::Open,
            Some(true) => MessageEnd::Aborted,
            Some(false) => MessageEnd::Failed,
        };
        let time = message.object("time");
        let at = |name| time.as_ref().and_then(|time| time.count(name));
        let created_at = at("created").unwrap_or_default();
        Some(Self {
            place,
            role,
            created_at,
            newest_at: at("completed").unwrap_or(created_at),
            parent: shared(message, "parentID"),
            end,
            is_summary: message.get("summary") == Some("true") && message.present("finish").is_some() && end == MessageEnd::Open,
        })
    }
}

impl MessagePart {
    fn read(place: HistoryPlace, part: &RawObject<'_>) -> Self {
        let kind = part.string("type").unwrap_or_default();
        let text = |name| part.string(name).unwrap_or_default();
        let said = |text: &str| (!text.is_empty()).then(|| Block::text(text));
        let own = match &*kind {
            "text" if part.get("ignored") != Some("true") => said(&text("text")),
            "reasoning" if !text("text").is_empty() => Some(content::thinking(&text("text"), "")),
            "tool" => {
                let state = part.object("state");
                let input = state.as_ref().and_then(|state| state.get("input"));
                Some(content::tool_use(&text("callID"), &text("tool"), input.unwrap_or("{}")))
            }
            "compaction" => said("What did we do so far?"),
            "subtask" => said("The following tool was executed by the user"),
            _ => None,
        };
        let result = part.object("state").filter(|_| kind == "tool").and_then(|state| result(&text("callID"), &state));
        let is_content = !matches!(&*kind, "step-start" | "reasoning");
        Self { place, own, result, kept_from: shared(part, "tail_start_id"), is_compaction: kind == "compaction", is_content }
    }
}

/// The result of a call in this state. One that was never finished has none here: opencode makes one up whenever it asks.
fn result(id: &str, state: &RawObject<'_>) -> Option<Block> {
    let is_cleared = state.object("time").is_some_and(|time| time.present("compacted").is_some());
    let metadata = state.object("metadata").filter(|metadata| metadata.get("interrupted") == Some("true"));
    let interrupted = metadata.as_ref().and_then(|metadata| metadata.string("output"));
    match (&*state.string("status")?, interrupted) {
        ("completed", _) if is_cleared => Some(content::tool_result(id, CLEARED, false)),
        ("completed", _) => Some(content::tool_result(id, &content::joined_text(state.get("output")), false)),
        ("error", Some(output)) => Some(content::tool_result(id, &output, false)),
        ("error", None) => Some(content::tool_result(id, &content::joined_text(state.get("error")), true)),
        _ => None,
    }
}
