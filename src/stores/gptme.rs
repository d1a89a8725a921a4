//! Sessions of gptme: `conversation.jsonl`, a message a line.
//!
//! A tool call is a text in an answer: `@shell(toolu_1): {"command": "ls"}` at the beginning of a line. A system message with `call_id` is its result; one
//! without is told to the model as a text of the user's.

use super::content;
use super::conversation::{HistoryPlace, StoreRemarks, StoredConversation, StoredMessage};
use super::json_lines::each_object;
use super::{StoreError, StoreFile};
use reenact_wire::block::{Block, Role};
use reenact_wire::prelude::*;
use reenact_wire::raw_json::RawObject;

pub(super) fn read(file: &StoreFile<'_>) -> Result<Vec<StoredConversation>, StoreError> {
    let (mut messages, mut remarks, mut is_known) = (Vec::new(), StoreRemarks::default(), false);
    let mut is_begun = false;
    each_object(file, &mut remarks, |line, object| {
        let (Some(role), Some(text)) = (object.string("role"), object.string("content")) else { return };
        is_known = true;
        // What only people see is not sent; the prompts before the conversation are no part of it.
        let is_unsent = object.get("ui_only") == Some("true") || (!is_begun && &*role == "system");
        if is_unsent || !matches!(&*role, "user" | "assistant" | "system") {
            return;
        }
        is_begun = true;
        let (role, blocks) = match (&*role, object.string("call_id")) {
            ("assistant", _) => (Role::Assistant, answer(&text)),
            (_, Some(id)) => (Role::User, vec![content::tool_result(&id, &text, false)]),
            _ => (Role::User, vec![Block::text(&text)]),
        };
        messages.push(StoredMessage::new(role, HistoryPlace::Line(line), blocks));
    })?;
    if !is_known && !file.bytes.trim_ascii().is_empty() {
        return Err(StoreError::new(file, "no line has `role` and `content`: is it the `conversation.jsonl` of gptme?"));
    }
    Ok(vec![StoredConversation::of_file(file.name, None, (messages, 0), remarks)])
}

/// The texts of an answer, and behind them its calls, as gptme sends them.
fn answer(text: &str) -> Vec<Block> {
    let (mut said, mut calls) = (String::new(), Vec::new());
    let (mut rest, mut is_code) = (text, false);
    while !rest.is_empty() {
        let (line, after) = rest.split_once('\n').map_or((rest, ""), |(line, after)| (line, after));
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        match call(rest).filter(|_| !is_code && line.starts_with('@')) {
            Some((call, behind)) => {
                calls.push(call);
                rest = behind;
            }
            None => {
                said.push_str(line);
                said.push('\n');
                rest = after;
            }
        }
    }
    let said = said.trim();
    let text = (!said.is_empty()).then(|| Block::text(said));
    text.into_iter().chain(calls).collect()
}

/// The call at the beginning of a text, and what stands behind it.
fn call(text: &str) -> Option<(Block, &str)> {
    let (line, _) = text.strip_prefix('@')?.split_once('\n').unwrap_or((&text[1..], ""));
    let open = line.find('(')?;
    let close = open + line[open..].find("):")?;
    let (name, id) = (&line[..open], &line[open + 1..close]);
    let is_of_id = |character: char| character.is_alphanumeric() || matches!(character, '_' | '-' | ':' | '.');
    if name.is_empty() || id.is_empty() || !id.chars().all(is_of_id) {
        return None;
    }
    let behind = text[1 + close + 2..].trim_start();
    // The parser says where the object ends; what is no object is no call.
    let mut objects = serde_json::Deserializer::from_str(behind).into_iter::<&serde_json::value::RawValue>();
    let input = objects.next()?.ok()?.get();
    RawObject::parse(input).ok()?;
    Some((content::tool_use(id, name, input), &behind[input.len()..]))
}
