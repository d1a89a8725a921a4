//! What a session is given beside model and tools (S-11): flat keys of `[engine]`.

use core::fmt;

use super::reader::TableReader;
use super::replies::{check_rule, permission_answer};
use super::values::JsonObjectText;
use crate::engine::budget::{Date, NanoUsd};
use crate::engine::settings::{CommandAction, OrphanedPermission, SessionSettings, SlashCommand, ThinkingSetting};
use crate::prelude::*;
use crate::scenario::replies::ScriptedLookups;
use crate::scenario::types::Scenario;
use crate::wire::block::{Block, BlockKind};

/// Reads them; what is not said keeps its default.
pub(super) fn session(reader: &mut TableReader<'_, '_>) -> SessionSettings {
    let mut session = SessionSettings { fallback_model: reader.model("fallback_model"), ..SessionSettings::default() };
    session.max_turns = reader.get_above_zero("max_turns", "a prompt has at least 1 turn");
    reader.set_some("raised_max_tokens", &mut session.raised_max_tokens);
    reader.set("max_output_recoveries", &mut session.max_output_recoveries);
    reader.set("keep_container", &mut session.keep_container);
    session.orphan_reply = orphan_reply(reader);
    session.token_budget = reader.get_above_zero("token_budget", "a budget of nothing cannot be used up").map(u64::from);
    session.max_budget = max_budget(reader);
    session.task_budget = reader.get_above_zero("task_budget", "a budget of nothing cannot be used up").map(u64::from);
    read_with(reader, "date", Date::read, &mut session.date);
    session.json_schema = reader.get("json_schema").map(|JsonObjectText(json)| json);
    if let Some(most) = reader.get_above_zero("max_structured_output_retries", "it is asked for at least once") {
        session.max_structured_output_retries = most;
    }
    reader.set("slash_commands", &mut session.slash_commands);
    reader.set("replay_user_messages", &mut session.replay_user_messages);
    reader.set("file_history", &mut session.file_history);
    reader.set("elicitation_handler", &mut session.elicitation_handler);
    reader.set("status_reports", &mut session.status_reports);
    reader.set("tool_details", &mut session.tool_details);
    reader.set("snip_replay", &mut session.snip_replay);
    reader.set("verbose", &mut session.verbose);
    tool_use_summaries(reader, &mut session);
    surroundings(reader, &mut session);
    session.thinking = thinking(reader);
    let title = "[engine.orphaned_permission]";
    session.orphaned_permission = reader.section("orphaned_permission", title, orphaned_permission).flatten();
    session
}

/// `tool_use_summaries`: a model, which has a name.
fn tool_use_summaries(reader: &mut TableReader<'_, '_>, session: &mut SessionSettings) {
    reader.set_some("tool_use_summaries", &mut session.tool_use_summaries);
    if session.tool_use_summaries.as_ref().is_some_and(|model| model.trim().is_empty())
        && let Some(member) = reader.member("tool_use_summaries")
    {
        let message = "`tool_use_summaries` names the model that is asked; leave it out if none is".into();
        reader.report.value(member.value.place, message, None);
    }
}

/// What the session works with.
fn surroundings(reader: &mut TableReader<'_, '_>, session: &mut SessionSettings) {
    reader.set("cwd", &mut session.cwd);
    if let (false, Some(member)) = (session.cwd.starts_with('/'), reader.member("cwd")) {
        let message = format!("the working directory is an absolute path, and `{}` is none", session.cwd);
        reader.report.value(member.value.place, message, None);
    }
    session.mcp_servers = reader.get("mcp_servers").unwrap_or_default();
    session.agents = reader.get("agents").unwrap_or_default();
    reader.set("look_up_skills", &mut session.look_up_skills);
    reader.set("look_up_plugins", &mut session.look_up_plugins);
}

/// `thinking` as a word, or `thinking_budget` in tokens. Other members of a request cannot say it a second time.
fn thinking(reader: &mut TableReader<'_, '_>) -> Option<ThinkingSetting> {
    let member = reader.one_of(&["thinking", "thinking_budget"])?;
    let extra: Option<JsonObjectText> = reader.get("request_extra");
    if extra.is_some_and(|JsonObjectText(json)| json.to_value().get("thinking").is_some()) {
        let message = format!("`{}` and `thinking` in `request_extra` cannot both be given; keep one of them", member.key);
        reader.report.value(member.place, message, None);
    }
    let word = reader.choice("thinking", &[("off", ThinkingSetting::Off), ("adaptive", ThinkingSetting::Adaptive)]);
    let budget: Option<u32> = reader.get("thinking_budget");
    if let Some(tokens) = budget.filter(|tokens| *tokens < ThinkingSetting::LEAST_BUDGET) {
        let message = format!("the API takes no budget for thinking below {} tokens, and this is {tokens}", ThinkingSetting::LEAST_BUDGET);
        reader.report.value(member.value.place, message, None);
    }
    word.or(budget.map(ThinkingSetting::Budget))
}

/// `[engine.orphaned_permission]`: which tool use, and the answer (S-3).
fn orphaned_permission(reader: &mut TableReader<'_, '_>) -> Option<OrphanedPermission> {
    let tool_use_id: Option<Arc<str>> = reader.required("tool_use_id");
    let answer = permission_answer(reader);
    Some(OrphanedPermission { tool_use_id: tool_use_id?, answer })
}

/// An answer about a tool use that is not there, or has its result, would never count.
pub(super) fn check_orphan(reader: &mut TableReader<'_, '_>, scenario: &Scenario) {
    let Some(orphaned) = &scenario.settings.session.orphaned_permission else { return };
    let blocks = || scenario.history.iter().flat_map(|message| &message.content);
    let is_it = |block: &&Block| block.as_tool_use().is_some_and(|tool_use| tool_use.id == orphaned.tool_use_id);
    let answers = |block: &Block| matches!(block.kind(), BlockKind::ToolResult { tool_use_id, .. } if *tool_use_id == orphaned.tool_use_id);
    let tool = blocks().filter(is_it).find_map(|block| block.as_tool_use().map(|tool_use| tool_use.name.clone()));
    let is_here = |name: &Arc<str>| scenario.tools.iter().any(|tool| tool.definition.name == *name);
    let problem = match (&tool, blocks().any(answers)) {
        (None, _) => String::from("is not in [[history]]"),
        (Some(_), true) => String::from("has its result in [[history]] already"),
        (Some(name), false) if !is_here(name) => format!("is one of `{name}`, and there is no such tool: add it to `tools`"),
        (Some(_), false) => return,
    };
    let place = reader.member("engine").map_or(reader.place, |member| member.place);
    let message = format!("`orphaned_permission` is about tool use `{}`, which {problem}", orphaned.tool_use_id);
    reader.report.value(place, message, None);
}

/// Of two commands with one name the second is never called.
pub(super) fn check_commands(reader: &mut TableReader<'_, '_>, commands: &[SlashCommand]) {
    for (nth, command) in commands.iter().enumerate() {
        if commands[..nth].iter().any(|other| other.name == command.name) {
            let place = reader.entry_place("command", nth);
            let message = format!("there is a [[command]] `{}` already; keep one of them", command.name);
            reader.report.value(place, message, None);
        }
    }
}

/// `[session]`: what is found when the engine looks it up (S-4).
pub(super) fn lookups(reader: &mut TableReader<'_, '_>) -> ScriptedLookups {
    let mut lookups = ScriptedLookups {
        skills: reader.get("skills").unwrap_or_default(),
        plugins: reader.get("plugins").unwrap_or_default(),
        ..ScriptedLookups::default()
    };
    reader.set("skills_latency", &mut lookups.skills_latency);
    reader.set("plugins_latency", &mut lookups.plugins_latency);
    lookups.never_answers = reader.mark("never_answers");
    lookups.may = reader.get("may").unwrap_or_default();
    lookups
}

/// One `[[command]]`: a slash command (S-3).
pub(super) fn command(reader: &mut TableReader<'_, '_>) -> Option<SlashCommand> {
    let name: Option<Arc<str>> = reader.required("name");
    if reader.one_of(&["answers", "asks", "model"]).is_none() {
        reader.lacks(&["answers", "asks", "model"], "[[command]] needs one of `answers`, `asks`, `model`".into(), None);
    }
    let answers = reader.get("answers").map(CommandAction::Answer);
    let asks = reader.get("asks").map(CommandAction::Ask);
    let does = answers.or(asks).or(reader.model("model").map(CommandAction::Switch));
    let rules = reader.member("allows");
    let allows: Vec<Arc<str>> = reader.get("allows").unwrap_or_default();
    allows.iter().for_each(|about| check_rule(reader, rules, about));
    Some(SlashCommand { name: name?, does: does?, allows })
}

fn max_budget(reader: &mut TableReader<'_, '_>) -> Option<NanoUsd> {
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
fn read_with<T, E: fmt::Display>(reader: &mut TableReader<'_, '_>, key: &'static str, read: fn(&str) -> Result<T, E>, target: &mut T) {
    let Some(place) = reader.member(key).map(|member| member.value.place) else { return };
    let Some(text) = reader.get::<String>(key) else { return };
    match read(&text) {
        Ok(value) => *target = value,
        Err(problem) => reader.report.value(place, problem.to_string(), None),
    }
}

/// The API refuses blank text.
fn orphan_reply(reader: &mut TableReader<'_, '_>) -> Option<Arc<str>> {
    let text: Arc<str> = reader.get("orphan_reply")?;
    if text.trim().is_empty() {
        let place = reader.member("orphan_reply")?.value.place;
        reader.report.value(place, "a blank answer cannot be sent; leave it out".into(), None);
        return None;
    }
    Some(text)
}
