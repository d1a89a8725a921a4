//! What a session is given beside model and tools (S-11): flat keys of `[engine]`.

use core::fmt;

use super::reader::Reader;
use super::tree::Kind;
use crate::engine::budget::{Date, NanoUsd};
use crate::engine::settings::SessionSettings;
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
    session
}

fn max_budget(reader: &mut Reader<'_, '_>) -> Option<NanoUsd> {
    let mut sum = NanoUsd::default();
    read_with(reader, "max_budget_usd", NanoUsd::read, &mut sum);
    if let Some(member) = reader.member("max_budget_usd").filter(|member| matches!(&member.value.kind, Kind::Text(text) if text == "0")) {
        reader.report.value(member.value.place, "a budget of nothing cannot be used up".into(), None);
    }
    (sum > NanoUsd::default()).then_some(sum)
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
