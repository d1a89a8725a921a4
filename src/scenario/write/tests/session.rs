//! What a session is given reads back (S-11).

use super::*;
use crate::engine::budget::{Date, NanoUsd};
use crate::engine::settings::{Command, CommandDeed};

/// No field has its default.
pub(super) fn odd_session() -> SessionSettings {
    SessionSettings {
        fallback_model: Some("other".into()),
        max_turns: Some(3),
        raised_max_tokens: Some(10),
        token_budget: Some(500_000),
        max_budget: Some(NanoUsd(50_000_001)),
        task_budget: Some(7),
        date: Date::read("2026-10-06").unwrap(),
        json_schema: Some(Json::trusted(r#"{"type":"object"}"#)),
        max_structured_output_retries: 2,
        commands: vec![
            Command { name: "hello".into(), does: CommandDeed::Answer("Hello\nyourself.".into()) },
            Command { name: "review".into(), does: CommandDeed::Ask("Review $ARGUMENTS.".into()) },
            Command { name: "fast".into(), does: CommandDeed::Switch("m".into()) },
        ],
        replay_user_messages: true,
        file_history: true,
    }
}

#[test]
fn s_11_each_setting_of_a_session_reads_back_alone() {
    let odd = odd_session();
    let usual = SessionSettings::default;
    let alone = [
        SessionSettings { max_budget: odd.max_budget, ..usual() },
        SessionSettings { date: odd.date, ..usual() },
        SessionSettings { commands: odd.commands, ..usual() },
        SessionSettings { json_schema: odd.json_schema, ..usual() },
    ];
    for session in alone {
        let settings = Settings { session, ..Settings::default() };
        reads_back(&Scenario { settings, prompts: vec![prompt("hi")], ..Scenario::default() });
    }
}
