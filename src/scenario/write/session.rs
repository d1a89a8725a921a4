//! What a session is given beside model and tools, as flat keys of `[engine]` (S-11).

use super::Out;
use crate::engine::settings::{Command, CommandDeed, SessionSettings};
use crate::prelude::*;

/// What is not as usual.
pub(super) fn session(out: &mut Out, session: &SessionSettings) {
    let SessionSettings {
        fallback_model,
        max_turns,
        raised_max_tokens,
        token_budget,
        max_budget,
        task_budget,
        date,
        json_schema,
        max_structured_output_retries,
        commands: _,
        replay_user_messages,
        file_history,
    } = session;
    let default = SessionSettings::default();
    if let Some(model) = fallback_model {
        out.text("fallback_model", model);
    }
    if let Some(turns) = max_turns {
        out.raw("max_turns", turns);
    }
    if let Some(tokens) = raised_max_tokens {
        out.raw("raised_max_tokens", tokens);
    }
    if let Some(tokens) = token_budget {
        out.raw("token_budget", tokens);
    }
    if let Some(sum) = max_budget {
        out.text("max_budget_usd", &sum.exact());
    }
    if let Some(tokens) = task_budget {
        out.raw("task_budget", tokens);
    }
    if *date != default.date {
        out.text("date", &date.to_string());
    }
    if let Some(schema) = json_schema {
        out.text("json_schema", schema.as_str());
    }
    if *max_structured_output_retries != default.max_structured_output_retries {
        out.raw("max_structured_output_retries", max_structured_output_retries);
    }
    out.flag("replay_user_messages", *replay_user_messages, default.replay_user_messages);
    out.flag("file_history", *file_history, default.file_history);
}

/// One `[[command]]`.
pub(super) fn command_entry(out: &mut Out, command: &Command) {
    let Command { name, does } = command;
    out.table("[[command]]");
    out.text("name", name);
    match does {
        CommandDeed::Answer(text) => out.text("answers", text),
        CommandDeed::Ask(text) => out.text("asks", text),
        CommandDeed::Switch(model) => out.text("model", model),
    }
}
