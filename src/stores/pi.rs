//! Sessions of pi, version 3: `~/.pi/agent/sessions/<folder>/<time>_<id>.jsonl`.
//!
//! Entries name their parents; the newest entry is the leaf. pi asks with what its file says, but for answers that failed or were aborted, and for
//! entries that a later `context_edit` takes out.

use alloc::collections::BTreeMap;

use super::content;
use super::conversation::{HistoryPlace, StoreRemarks, StoredConversation, StoredMessage};
use super::json_lines::{each_object, shared};
use super::tree::{EntryLinks, EntryTree};
use super::{StoreError, StoreFile};
use reenact_wire::block::{Block, Role};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;
use reenact_wire::raw_json::RawObject;

/// The versions whose entries name their parents.
const VERSIONS: [u64; 2] = [2, 3];

/// An entry.
#[derive(Debug)]
enum PiEntry {
    /// A message of the context.
    Said { role: Role, blocks: Vec<Block> },
    /// An answer that failed or was aborted: pi does not send it.
    Failed,
    /// Another entry's message is replaced, or taken out.
    Edit { target: Arc<str>, content: Option<Vec<Block>> },
    /// A summary in place of all that came before `kept_from`.
    Compaction { kept_from: Option<Arc<str>>, summary: String },
    /// Settings, labels, the system prompt.
    Other,
}

pub(super) fn read(file: &StoreFile<'_>) -> Result<Vec<StoredConversation>, StoreError> {
    let (mut links, mut entries) = (Vec::new(), Vec::new());
    let (mut remarks, mut header) = (StoreRemarks::default(), None);
    each_object(file, &mut remarks, |line, object| {
        if object.string("type").as_deref() == Some("session") {
            header.get_or_insert_with(|| (shared(object, "id"), object.count("version").unwrap_or(1)));
            return;
        }
        let (id, parent) = (shared(object, "id"), shared(object, "parentId"));
        links.push(EntryLinks { place: HistoryPlace::Line(line), id, parent, is_side: false, is_boundary: false });
        entries.push(entry(object));
    })?;
    let session = match header {
        Some((session, version)) if VERSIONS.contains(&version) => session,
        Some((_, version)) => {
            let text = format!("it is a session of version {version}, and 2 and 3 are known: open it once with pi, which writes it anew");
            return Err(StoreError::new(file, text));
        }
        None if entries.is_empty() => return Ok(Vec::new()),
        None => return Err(StoreError::new(file, "no line is the header of a session of pi: name another format")),
    };
    let Some(leaf) = entries.len().checked_sub(1) else {
        return Ok(StoredConversation::of_damages(file.name, session.as_ref(), remarks).into_iter().collect());
    };
    let tree = EntryTree::new(&links, &mut remarks);
    let path = tree.path(leaf, &links, &mut remarks);
    let (messages, context_from) = messages(&path, &links, &entries, &mut remarks);
    let others = entries.iter().filter(|entry| matches!(entry, PiEntry::Said { .. })).count();
    let on_path = path.iter().filter(|at| matches!(entries[**at], PiEntry::Said { .. })).count();
    if others > on_path {
        remarks.add(format!("{} on other branches", plural((others - on_path) as u64, "message")));
    }
    Ok(vec![StoredConversation::of_file(file.name, session, (messages, context_from), remarks)])
}

fn messages(path: &[usize], links: &[EntryLinks], entries: &[PiEntry], remarks: &mut StoreRemarks) -> (Vec<StoredMessage>, usize) {
    // Of several edits of one entry the last one counts.
    let mut edits: BTreeMap<&str, (usize, Option<&Vec<Block>>)> = BTreeMap::new();
    let mut compaction = None;
    for &at in path {
        match &entries[at] {
            PiEntry::Edit { target, content } => _ = edits.insert(target, (at, content.as_ref())),
            PiEntry::Compaction { kept_from, summary } => compaction = Some((at, kept_from.as_deref(), summary)),
            _ => (),
        }
    }
    // The summary stands before the first entry that is kept; where none is, in its own place.
    let is_first_kept = |at: usize| match compaction {
        Some((_, Some(kept), _)) => links[at].id.as_deref() == Some(kept),
        _ => false,
    };
    let has_kept = path.iter().any(|at| is_first_kept(*at));
    let (mut messages, mut context_from) = (Vec::new(), 0);
    for &at in path {
        let place = links[at].place.clone();
        if let Some((own, _, summary)) = compaction.filter(|(own, ..)| if has_kept { is_first_kept(at) } else { *own == at }) {
            context_from = messages.len();
            messages.push(StoredMessage::new(Role::User, links[own].place.clone(), vec![Block::text(summary)]));
        }
        match (&entries[at], links[at].id.as_deref().and_then(|id| edits.get(id))) {
            (PiEntry::Failed, _) => remarks.add(format!("{place} is an answer that failed or was aborted, and is not sent")),
            (PiEntry::Said { .. }, Some((edit, None))) => {
                remarks.add(format!("{place} was taken out of the context by {}", links[*edit].place));
            }
            (PiEntry::Said { role, .. }, Some((_, Some(blocks)))) => messages.push(StoredMessage::new(*role, place, blocks.to_vec())),
            (PiEntry::Said { role, blocks }, None) => messages.push(StoredMessage::new(*role, place, blocks.clone())),
            _ => (),
        }
    }
    (messages, context_from)
}

fn entry(object: &RawObject<'_>) -> PiEntry {
    let said = |role, content: Option<&str>| PiEntry::Said { role, blocks: content::parts(content, block) };
    match object.string("type").as_deref() {
        Some("message") => object.object("message").map_or(PiEntry::Other, |message| of_message(&message)),
        Some("custom_message") => said(Role::User, object.get("content")),
        Some("branch_summary") => said(Role::User, object.get("summary")),
        Some("context_edit") => {
            let replacement = object.object("replacement");
            let content = replacement.map(|replacement| content::parts(replacement.get("content"), block));
            shared(object, "targetId").map_or(PiEntry::Other, |target| PiEntry::Edit { target, content })
        }
        Some("compaction") => PiEntry::Compaction {
            kept_from: shared(object, "firstKeptEntryId"),
            summary: object.string("summary").unwrap_or_default().into_owned(),
        },
        _ => PiEntry::Other,
    }
}

fn of_message(message: &RawObject<'_>) -> PiEntry {
    let blocks = |role| PiEntry::Said { role, blocks: content::parts(message.get("content"), block) };
    match message.string("role").as_deref() {
        Some("assistant") => match message.string("stopReason").as_deref() {
            Some("error" | "aborted") => PiEntry::Failed,
            _ => blocks(Role::Assistant),
        },
        Some("toolResult") => {
            let id = message.string("toolCallId").unwrap_or_default();
            let result = content::tool_result(&id, &content::joined_text(message.get("content")), message.get("isError") == Some("true"));
            PiEntry::Said { role: Role::User, blocks: vec![result] }
        }
        // The user ran a command with two exclamation marks: the model is not shown it.
        Some("bashExecution") if message.get("excludeFromContext") == Some("true") => PiEntry::Other,
        // The user ran a command; the model is shown it as a text.
        Some("bashExecution") => {
            let text = format!("{}\n{}", message.string("command").unwrap_or_default(), message.string("output").unwrap_or_default());
            PiEntry::Said { role: Role::User, blocks: vec![Block::text(&text)] }
        }
        Some("user" | "custom" | "hookMessage") => blocks(Role::User),
        _ => PiEntry::Other,
    }
}

fn block(part: &str) -> Option<Block> {
    let object = RawObject::parse(part).ok()?;
    let text = |name| object.string(name).unwrap_or_default();
    Some(match &*object.string("type")? {
        "toolCall" => content::tool_use(&text("id"), &text("name"), object.get("arguments").unwrap_or("{}")),
        "thinking" => content::thinking(&text("thinking"), &text("thinkingSignature")),
        _ => Block::from(Json::trusted(part)),
    })
}
