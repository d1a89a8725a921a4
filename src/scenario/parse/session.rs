//! What a session is given beside model and tools (S-11): flat keys of `[engine]`.

use core::fmt;

use super::reader::Reader;
use super::values::Object;
use crate::engine::budget::{Date, NanoUsd};
use crate::engine::settings::{Command, CommandDeed, SessionSettings};
use crate::prelude::*;

/// Reads them; what is not said keeps its default.
pub(super) fn session(reader: &mut Reader<'_, '_>) -> SessionSettings {
    let mut session = SessionSettings::default();
    reader.set_some("fallback_model", &mut session.fallback_model);
    session.max_turns = reader.get_above_zero("max_turns", "a prompt has at least 1 turn");
    reader.set_some("raised_max_tokens", &mut session.raised_max_tokens);
    session.token_budget = reader.get_above_zero("token_budget", "a budget of nothing cannot be used up").map(u64::from);
    session.max_budget = max_budget(reader);
    session.task_budget = reader.get_above_zero("task_budget", "a budget of nothing cannot be used up").map(u64::from);
    read_with(reader, "date", Date::read, &mut session.date);
    session.json_schema = reader.get("json_schema").map(|Object(json)| json);
    if let Some(most) = reader.get_above_zero("max_structured_output_retries", "it is asked for at least once") {
        session.max_structured_output_retries = most;
    }
    reader.set("replay_user_messages", &mut session.replay_user_messages);
    reader.set("file_history", &mut session.file_history);
    session
}

/// One `[[command]]`: a slash command (S-3).
pub(super) fn command(reader: &mut Reader<'_, '_>) -> Option<Command> {
    let name: Option<Arc<str>> = reader.required("name");
    if reader.one_of(&["answers", "asks", "model"]).is_none() {
        reader.lacks(&["answers", "asks", "model"], "[[command]] needs one of `answers`, `asks`, `model`".into(), None);
    }
    let answers = reader.get("answers").map(CommandDeed::Answer);
    let asks = reader.get("asks").map(CommandDeed::Ask);
    let does = answers.or(asks).or(reader.get("model").map(CommandDeed::Switch));
    Some(Command { name: name?, does: does? })
}

fn max_budget(reader: &mut Reader<'_, '_>) -> Option<NanoUsd> {
    let mut sum = None;
    read_with(reader, "max_budget_usd", |text| NanoUsd::read(text).map(Some), &mut sum);
    if sum == Some(NanoUsd::default())
        && let Some(member) = reader.member("max_budget_usd")
    {
        reader.report.value(member.value.place, "a budget of nothing cannot be used up".into(), None);
    }
    sum
}

/// A text that means something; otherwise the default stays.
fn read_with<T, E: fmt::Display>(reader: &mut Reader<'_, '_>, key: &'static str, read: fn(&str) -> Result<T, E>, target: &mut T) {
    let Some(place) = reader.member(key).map(|member| member.value.place) else { return };
    let Some(text) = reader.get::<String>(key) else { return };
    match read(&text) {
        Ok(value) => *target = value,
        Err(problem) => reader.report.value(place, problem.to_string(), None),
    }
}
