//! The keys of a session read back (S-11).

use super::*;
use crate::replies::ScriptedLookups;
use reenact_engine::budget::{Date, NanoUsd};
use reenact_engine::permission::PermissionAnswer;
use reenact_engine::settings::{
    CommandAction, HostMessage, MessagePlace, OrphanedPermission, RequestChange, RequestPlace, SlashCommand, ThinkingSetting,
};

/// No field has its default.
pub(super) fn odd_session() -> SessionSettings {
    SessionSettings {
        fallback_model: Some("other".into()),
        max_turns: Some(3),
        raised_max_tokens: Some(10),
        max_output_recoveries: 1,
        token_budget: Some(500_000),
        max_budget: Some(NanoUsd(50_000_001)),
        task_budget: Some(7),
        date: Date::read("2026-10-06").unwrap(),
        json_schema: Some(Json::trusted(r#"{"type":"object"}"#)),
        max_structured_output_retries: 2,
        commands: vec![
            SlashCommand { name: "hello".into(), does: CommandAction::Answer("Hello\nyourself.".into()), allows: Vec::new() },
            SlashCommand { name: "review".into(), does: CommandAction::Ask("Review $ARGUMENTS.".into()), allows: vec!["Read".into()] },
            SlashCommand { name: "fast".into(), does: CommandAction::Switch("m".into()), allows: Vec::new() },
        ],
        slash_commands: false,
        replay_user_messages: true,
        file_history: true,
        cwd: "/home".into(),
        mcp_servers: vec!["files".into()],
        agents: vec!["explorer".into(), "planner".into()],
        look_up_skills: true,
        look_up_plugins: true,
        thinking: Some(ThinkingSetting::Budget(2_000)),
        orphaned_permission: None, // only with a history that it is about
        orphan_reply: Some("Nothing to say.".into()),
        elicitation_handler: true,
        status_reports: true,
        tool_details: true,
        snip_replay: false,
        verbose: true,
        tool_use_summaries: Some("claude-haiku-4-5".into()),
        keep_container: true,
        changes: vec![RequestChange {
            from: RequestPlace { prompt: 1, request: 2 },
            set: Json::trusted(r#"{"max_tokens":5,"tool_choice":{"type":"any"}}"#),
            unset: vec!["thinking".into()],
            tools: Some(Vec::new()),
        }],
        host_messages: [MessagePlace::Before, MessagePlace::Beside, MessagePlace::After, MessagePlace::Instead]
            .map(|place| {
                let message = Arc::new(Message { role: Role::System, content: vec![Block::text("in Spanish")] });
                HostMessage { at: RequestPlace { prompt: 2, request: 1 }, place, message }
            })
            .into(),
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
        SessionSettings { thinking: Some(ThinkingSetting::Off), ..usual() },
        SessionSettings { thinking: Some(ThinkingSetting::Adaptive), ..usual() },
        SessionSettings { look_up_plugins: true, ..usual() },
    ];
    for session in alone {
        let settings = Settings { session, ..Settings::default() };
        reads_back(&Scenario { settings, prompts: vec![prompt("hi")], ..Scenario::default() });
    }
}

#[test]
fn s_3_an_orphaned_permission_reads_back() {
    let tool_use = Block::from(Json::trusted(r#"{"type":"tool_use","id":"toolu_1","name":"Read","input":{}}"#));
    let answers = [
        PermissionAnswer::Allow { updated_input: Some(Json::trusted("{}")), rules: vec!["Read".into()] },
        PermissionAnswer::Refuse { reason: "no".into() },
        PermissionAnswer::RefuseAndAbort { reason: "".into() },
    ];
    for answer in answers {
        let orphaned_permission = Some(OrphanedPermission { tool_use_id: "toolu_1".into(), answer });
        let settings = Settings { session: SessionSettings { orphaned_permission, ..SessionSettings::default() }, ..Settings::default() };
        let history = vec![Arc::new(Message::assistant(vec![tool_use.clone()]))];
        reads_back(&Scenario { settings, history, tools: super::tools(), prompts: vec![prompt("hi")], ..Scenario::default() });
    }
}

#[test]
fn s_4_what_is_looked_up_reads_back() {
    let lookups = ScriptedLookups {
        skills: vec!["pdf".into(), "a \"b\"".into()],
        plugins: vec!["linter".into()],
        skills_latency: Latency::Fixed(Micros(5)),
        plugins_latency: Latency::Fixed(Micros(6)),
        never_answers: false,
        may: true,
    };
    for lookups in [lookups, ScriptedLookups { never_answers: true, ..ScriptedLookups::default() }] {
        reads_back(&Scenario { lookups, prompts: vec![prompt("hi")], ..Scenario::default() });
    }
}

#[test]
fn s_11_what_cannot_be_meant_is_said() {
    let table = [
        ("cwd = \"w\"", "must be an absolute path"),
        ("thinking = \"on\"", "off"),
        ("tool_use_summaries = \" \"", "names the model that is asked"),
        ("verbose = \"yes\"", "true or false"),
        ("thinking_budget = 5", "below 1024 tokens"),
        ("thinking = \"off\"\nthinking_budget = 2000", "cannot both be given"),
        ("thinking = \"off\"\nrequest_extra = '{\"thinking\":{\"type\":\"adaptive\"}}'", "`request_extra` cannot both be given"),
        ("orphaned_permission = { tool_use_id = \"toolu_9\" }", "`toolu_9`, which is not in [[history]]"),
        ("orphaned_permission = { answer = \"allow\" }", "needs `tool_use_id`"),
        ("orphaned_permission = { tool_use_id = \"a\", rules = [\"Bash(\"] }", "is not a rule"),
    ];
    for (keys, expected) in table {
        let text = format!("[engine]\n{keys}\n[[prompt]]\ntext = \"hi\"\n");
        let faults = parse::scenario("x.toml", &text, &[]).unwrap_err().to_string();
        assert!(faults.contains(expected), "{keys}: {faults}");
    }
}
