//! Sessions of Continue: `~/.continue/sessions/<id>.json`. Messages are in the form of Chat Completions, results stand beside their answer.

use super::content;
use super::conversation::{HistoryPlace, StoreRemarks, StoredBlock, StoredConversation, StoredMessage};
use super::document::StoreDocument;
use super::json_lines::shared;
use super::{StoreError, StoreFile};
use reenact_wire::block::{Block, Role};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;
use reenact_wire::raw_json::{RawObject, elements};

pub(super) fn read(file: &StoreFile<'_>) -> Result<Vec<StoredConversation>, StoreError> {
    let document = StoreDocument::read(file)?;
    let mut remarks = StoreRemarks::default();
    let Some(history) = document.objects("history", &mut remarks) else {
        return Err(StoreError::new(file, "it has no array `history`: is it the file of a session of Continue?"));
    };
    let mut messages = Vec::new();
    let (mut context_from, mut is_begun) = (0, false);
    for (place, item) in history {
        let Some(message) = item.object("message") else {
            remarks.add_damage(place, "has no message");
            continue;
        };
        let mut said = StoredMessage::new(Role::User, place, content::parts(message.get("content"), block));
        match message.string("role").as_deref() {
            Some("assistant") => said.role = Role::Assistant,
            Some("user") => (),
            Some("tool") => said.blocks = placed(&said.place, tool_message(&message)),
            // What the model thought stands before its answer, and is not sent as a message.
            Some("thinking") => continue,
            // The prompt before the conversation is no part of it; what comes later is told to the model.
            Some("system") if !is_begun => continue,
            Some("system") => (),
            _ => {
                remarks.add_damage(said.place, "has no role that is known");
                continue;
            }
        }
        is_begun = true;
        if item.present("conversationSummary").is_some() {
            context_from = messages.len();
        }
        let place = said.place.clone();
        said.blocks.extend(placed(&place, calls(&message)));
        messages.push(said);
        let results = results(&item);
        if !results.is_empty() {
            messages.push(StoredMessage::new(Role::User, place, results));
        }
    }
    let session = shared(&document.object, "sessionId");
    Ok(vec![StoredConversation::of_file(file.name, session, (messages, context_from), remarks)])
}

fn placed(place: &HistoryPlace, blocks: Vec<Block>) -> Vec<StoredBlock> {
    blocks.into_iter().map(|block| StoredBlock { place: place.clone(), block }).collect()
}

fn calls(message: &RawObject<'_>) -> Vec<Block> {
    objects(message.get("toolCalls")).iter().filter_map(call).collect()
}

fn call(call: &RawObject<'_>) -> Option<Block> {
    let function = call.object("function")?;
    let input = function.string("arguments").unwrap_or_default();
    Some(content::tool_use(&call.string("id")?, &function.string("name").unwrap_or_default(), &input))
}

/// The results beside an answer: a call that did not end yet has no output.
fn results(item: &RawObject<'_>) -> Vec<Block> {
    let of_state = |state: &RawObject<'_>| {
        let status = state.string("status");
        let is_canceled = status.as_deref() == Some("canceled");
        // Continue tells the model of a call that was cancelled, also where it stored nothing more of it.
        let output = state.present("output").or(is_canceled.then_some("[]"))?;
        let texts: Vec<String> = objects(Some(output)).iter().map(|part| content::joined_text(part.get("content"))).collect();
        let is_error = is_canceled || status.as_deref() == Some("errored");
        Some(content::tool_result(&state.string("toolCallId")?, &texts.join("\n"), is_error))
    };
    objects(item.get("toolCallStates")).iter().filter_map(of_state).collect()
}

fn tool_message(message: &RawObject<'_>) -> Vec<Block> {
    let id = message.string("toolCallId").or_else(|| message.string("tool_call_id")).unwrap_or_default();
    vec![content::tool_result(&id, &content::joined_text(message.get("content")), false)]
}

fn objects(array: Option<&str>) -> Vec<RawObject<'_>> {
    let elements = array.and_then(|array| elements(array).ok()).unwrap_or_default();
    elements.into_iter().filter_map(|element| RawObject::parse(element).ok()).collect()
}

fn block(part: &str) -> Option<Block> {
    Some(Block::from(Json::trusted(part)))
}
