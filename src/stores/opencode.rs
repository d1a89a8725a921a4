//! Sessions of opencode before its database: `storage/session/…/<session>.json`, `storage/message/<session>/<message>.json` and
//! `storage/part/<message>/<part>.json`. Ids sort by their time. The result of a call stands in the call's own part.

use alloc::collections::BTreeMap;

use super::content;
use super::conversation::{HistoryPlace, StoreRemarks, StoredBlock, StoredBranch, StoredConversation, StoredMessage};
use super::document::StoreDocument;
use super::json_lines::shared;
use super::{StoreError, StoreFile};
use crate::prelude::*;
use crate::wire::block::{Block, Role};
use crate::wire::raw_json::RawObject;

/// The contents of a part: in the message itself, and as the result behind it.
type SaidByPart = (Option<Block>, Option<Block>);

#[derive(Debug, Default)]
struct MessageFiles {
    /// Its file and its role, once its own file came.
    head: Option<(Arc<str>, Role)>,
    parts: BTreeMap<Arc<str>, (Arc<str>, SaidByPart)>,
}

pub(super) fn read(files: &[StoreFile<'_>]) -> Result<Vec<StoredConversation>, StoreError> {
    let mut sessions: BTreeMap<Arc<str>, BTreeMap<Arc<str>, MessageFiles>> = BTreeMap::new();
    let mut remarks = StoreRemarks::default();
    for file in files {
        let document = match StoreDocument::read(file) {
            Ok(document) => document,
            // A file that its writer did not finish.
            Err(error) => {
                remarks.add(error.to_string());
                continue;
            }
        };
        let object = &document.object;
        let (Some(session), Some(id)) = (shared(object, "sessionID"), shared(object, "id")) else { continue };
        let messages = sessions.entry(session).or_default();
        let name: Arc<str> = file.name.into();
        match shared(object, "messageID") {
            Some(message) => _ = messages.entry(message).or_default().parts.insert(id, (name, said(object))),
            None => {
                let role = object.string("role").and_then(|role| Role::from_word(&role));
                messages.entry(id).or_default().head = role.map(|role| (name, role));
            }
        }
    }
    if sessions.is_empty()
        && let Some(file) = files.first()
    {
        return Err(StoreError::new(file, "no file has a message of opencode: newer versions keep their sessions in a database"));
    }
    let mut conversations: Vec<StoredConversation> = sessions.into_iter().map(|(id, messages)| conversation(&id, messages)).collect();
    if let Some(first) = conversations.first_mut() {
        first.remarks = remarks;
    }
    Ok(conversations)
}

fn conversation(session: &Arc<str>, files: BTreeMap<Arc<str>, MessageFiles>) -> StoredConversation {
    let mut messages = Vec::new();
    for (place, role, parts) in files.into_values().filter_map(|files| files.head.map(|(place, role)| (place, role, files.parts))) {
        let place = HistoryPlace::File(place);
        let mut message = StoredMessage::new(role, place.clone(), Vec::new());
        let mut results = StoredMessage::new(Role::User, place, Vec::new());
        for (place, (own, result)) in parts.into_values() {
            let placed = |block| StoredBlock { place: HistoryPlace::File(place.clone()), block };
            message.blocks.extend(own.map(placed));
            results.blocks.extend(result.map(placed));
        }
        messages.push(message);
        messages.extend(Some(results).filter(|results| !results.blocks.is_empty()));
    }
    let remarks = StoreRemarks::default();
    StoredConversation {
        file: session.clone(),
        session: Some(session.clone()),
        branch: StoredBranch::Main,
        messages,
        context_from: 0,
        remarks,
    }
}

fn said(part: &RawObject<'_>) -> SaidByPart {
    let text = |name| part.string(name).unwrap_or_default();
    match part.string("type").as_deref() {
        Some("text") => (Some(Block::text(&text("text"))), None),
        Some("reasoning") => (Some(content::thinking(&text("text"), "")), None),
        Some("tool") => {
            let (id, state) = (text("callID"), part.object("state"));
            let of_state = |name| state.as_ref().and_then(|state| state.get(name));
            let result = match state.as_ref().and_then(|state| state.string("status")).as_deref() {
                Some("completed") => Some(content::tool_result(&id, &content::joined_text(of_state("output")), false)),
                Some("error") => Some(content::tool_result(&id, &content::joined_text(of_state("error")), true)),
                _ => None,
            };
            (Some(content::tool_use(&id, &text("tool"), of_state("input").unwrap_or("{}"))), result)
        }
        _ => (None, None),
    }
}
