//! The settings of a session beside model and tools: budgets, limits, commands, structured output.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::values::{model, rule, vary, words};
use reenact_engine::budget::{Date, NanoUsd};
use reenact_engine::settings::{CommandAction, SessionSettings, SlashCommand, ThinkingSetting};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;

/// How often a field is not as usual.
const SHARE: f64 = 0.3;

/// Settings that decide nothing about the loop: reports, surroundings, side calls.
pub fn surroundings() -> BoxedStrategy<SessionSettings> {
    vary!(SessionSettings::default(), SHARE;
        replay_user_messages: Just(true),
        file_history: Just(true),
        cwd: Just(Arc::from("/srv/w")),
        mcp_servers: Just(vec![Arc::from("desk")]),
        agents: Just(vec![Arc::from("reviewer")]),
        status_reports: Just(true),
        tool_details: Just(true),
        snip_replay: Just(false),
        verbose: Just(true),
        tool_use_summaries: model().prop_map(Some),
        raised_max_tokens: (9_000_u64..30_000).prop_map(Some),
        max_output_recoveries: 0_u32..3,
        keep_container: Just(true),
        orphan_reply: words().prop_map(Some),
        slash_commands: Just(false),
    )
}

/// The thinking that requests ask for.
pub fn thinking() -> impl Strategy<Value = ThinkingSetting> {
    prop_oneof![Just(ThinkingSetting::Off), Just(ThinkingSetting::Adaptive), (1_024_u32..4_000).prop_map(ThinkingSetting::Budget)]
}

/// A sum that a few answers spend, and the day whose prices hold.
pub fn budget() -> impl Strategy<Value = (NanoUsd, Date)> {
    let day = select(vec!["2026-11-21", "2026-01-01", "2025-03-01"]);
    (prop_oneof![3 => 1_u64..4_000, 1 => 4_000_u64..60_000], day)
        .prop_map(|(micros, day)| (NanoUsd(micros * 1_000), Date::read(day).unwrap_or_default()))
}

/// Limits on turns and tokens.
pub fn limits() -> BoxedStrategy<SessionSettings> {
    vary!(SessionSettings::default(), 0.5;
        max_turns: (1_u32..5).prop_map(Some),
        token_budget: (1_u64..9_000).prop_map(Some),
        task_budget: (20_000_u64..90_000).prop_map(Some),
    )
}

/// A schema, and how often it is asked for.
pub fn structured() -> BoxedStrategy<(Json, u32)> {
    let schema =
        select(vec![r#"{"type":"object"}"#, r#"{"type":"object","properties":{"answer":{"type":"integer"}},"required":["answer"]}"#]);
    (schema.prop_map(Json::trusted), 1_u32..4).boxed()
}

/// Commands beside the built-in ones.
pub fn commands() -> BoxedStrategy<Vec<SlashCommand>> {
    let does = prop_oneof![
        words().prop_map(CommandAction::Answer),
        words().prop_map(|words| CommandAction::Ask(format!("{words} $ARGUMENTS").into())),
        model().prop_map(CommandAction::Switch),
    ];
    let one = (select(vec!["cost", "review", "clear"]), does, vec(rule(), 0..2));
    vec(one.prop_map(|(name, does, allows)| SlashCommand { name: name.into(), does, allows }), 0..3).prop_map(distinct).boxed()
}

/// Of two commands with one name the first.
fn distinct(commands: Vec<SlashCommand>) -> Vec<SlashCommand> {
    let is_first = |nth: usize| commands[..nth].iter().all(|other| other.name != commands[nth].name);
    (0..commands.len()).filter(|nth| is_first(*nth)).map(|nth| commands[nth].clone()).collect()
}

/// A prompt with a command.
pub fn command_line() -> impl Strategy<Value = Arc<str>> {
    select(vec![
        "/cost",
        "/review it all",
        "/clear",
        "/compact",
        "/compact the plan",
        "/model claude-haiku-4-5",
        "/model",
        "/nonsense",
        "/",
    ])
    .prop_map(Arc::from)
}
