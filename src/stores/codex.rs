//! Rollouts of codex: JSON lines of Responses items under `~/.codex/sessions/`. Calls and outputs belong together by `call_id`.

use super::content;
use super::conversation::{HistoryPlace, StoreRemarks, StoredConversation, StoredMessage};
use super::json_lines::{each_object, shared};
use super::{StoreError, StoreFile};
use reenact_wire::block::{Block, Role};
use reenact_wire::prelude::*;
use reenact_wire::raw_json::{self, RawObject};

pub(super) fn read(file: &StoreFile<'_>) -> Result<Vec<StoredConversation>, StoreError> {
    let (mut messages, mut remarks) = (Vec::new(), StoreRemarks::default());
    let (mut session, mut context_from, mut is_known, mut lines) = (None, 0, false, 0);
    each_object(file, &mut remarks, |line, object| {
        lines += 1;
        let place = HistoryPlace::Line(line);
        let payload = object.object("payload");
        match object.string("type").as_deref() {
            Some("session_meta") => session = session.take().or_else(|| payload.as_ref().and_then(|meta| shared(meta, "id"))),
            Some("compacted") => {
                context_from = messages.len();
                let kept = payload.as_ref().and_then(|payload| payload.get("replacement_history"));
                match kept.and_then(|kept| raw_json::elements(kept).ok()) {
                    Some(items) => {
                        let items = items.into_iter().filter_map(|item| RawObject::parse(item).ok());
                        messages.extend(items.filter_map(|item| said(place.clone(), &item)));
                    }
                    None => {
                        let summary = payload.as_ref().and_then(|payload| payload.string("message")).unwrap_or_default();
                        messages.push(StoredMessage::new(Role::User, place, vec![Block::text(&summary)]));
                    }
                }
            }
            Some("event_msg") => {
                let event = payload.as_ref().filter(|event| event.string("type").as_deref() == Some("thread_rolled_back"));
                let turns = event.and_then(|event| event.get("num_turns")?.parse().ok());
                take_back(&mut messages, turns.unwrap_or(0));
            }
            Some("turn_context") => (),
            Some("response_item") => messages.extend(payload.as_ref().and_then(|item| said(place, item))),
            // Older rollouts have the items themselves.
            _ => match said(place, object) {
                Some(item) => messages.push(item),
                None => return,
            },
        }
        is_known = true;
    })?;
    if !is_known && lines > 0 {
        return Err(StoreError::new(file, "no line has a type of codex's rollouts: name another format"));
    }
    Ok(vec![StoredConversation::of_file(file.name, session, (messages, context_from), remarks)])
}

/// Takes the last turns back, each from the user's message on.
fn take_back(messages: &mut Vec<StoredMessage>, turns: usize) {
    for _ in 0..turns {
        let is_prompt = |message: &StoredMessage| message.role == Role::User && message.texts().next().is_some();
        let Some(from) = messages.iter().rposition(is_prompt) else { return };
        messages.truncate(from);
    }
}

fn said(place: HistoryPlace, item: &RawObject<'_>) -> Option<StoredMessage> {
    let text = |name| item.string(name).unwrap_or_default();
    let id = || item.string("call_id").unwrap_or_default();
    let (role, block) = match &*item.string("type")? {
        "message" => {
            let role = if item.string("role").as_deref() == Some("assistant") { Role::Assistant } else { Role::User };
            (role, Block::text(&content::joined_text(item.get("content"))))
        }
        "function_call" => (Role::Assistant, content::tool_use(&id(), &text("name"), &text("arguments"))),
        "custom_tool_call" => {
            let input = serde_json::json!({ "input": text("input") }).to_string();
            (Role::Assistant, content::tool_use(&id(), &text("name"), &input))
        }
        "local_shell_call" => (Role::Assistant, content::tool_use(&id(), "local_shell", item.get("action").unwrap_or("{}"))),
        "function_call_output" | "custom_tool_call_output" => (Role::User, content::tool_result(&id(), &output(item), false)),
        _ => return None,
    };
    Some(StoredMessage::new(role, place, vec![block]))
}

/// A text, an array of parts, or an object with one of them as its `content`.
fn output(item: &RawObject<'_>) -> String {
    match item.object("output") {
        Some(object) => content::joined_text(object.get("content")),
        None => content::joined_text(item.get("output")),
    }
}
