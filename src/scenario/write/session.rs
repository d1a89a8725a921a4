//! What a session is given beside model and tools, as flat keys of `[engine]` (S-11).

use super::TomlLines;
use super::replies::permission_keys;
use super::text::latency;
use crate::engine::settings::{CommandAction, OrphanedPermission, SessionSettings, SlashCommand, ThinkingSetting};
use crate::prelude::*;
use crate::scenario::replies::{AT_ONCE, ScriptedLookups};

/// What is not as usual.
pub(super) fn session(out: &mut TomlLines, session: &SessionSettings) {
    let SessionSettings {
        fallback_model,
        max_turns,
        raised_max_tokens,
        max_output_recoveries,
        token_budget,
        max_budget,
        task_budget,
        date,
        json_schema,
        max_structured_output_retries,
        slash_commands,
        // These are written by the functions below.
        commands: _,
        replay_user_messages: _,
        file_history: _,
        cwd: _,
        mcp_servers: _,
        agents: _,
        look_up_skills: _,
        look_up_plugins: _,
        thinking: _,
        orphaned_permission: _,
        orphan_reply: _,
        elicitation_handler: _,
        status_reports: _,
        tool_details: _,
        snip_replay: _,
        verbose: _,
        tool_use_summaries: _,
        keep_container: _,
        changes: _, // this and the next are tables of their own
        host_messages: _,
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
    if *max_output_recoveries != default.max_output_recoveries {
        out.raw("max_output_recoveries", max_output_recoveries);
    }
    out.flag("slash_commands", *slash_commands, default.slash_commands);
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
    told(out, session, &default);
    surroundings(out, session, &default);
}

/// What consumers are told, what is said in the place of others, and who else is there.
fn told(out: &mut TomlLines, session: &SessionSettings, default: &SessionSettings) {
    out.flag("keep_container", session.keep_container, default.keep_container);
    out.flag("replay_user_messages", session.replay_user_messages, default.replay_user_messages);
    out.flag("file_history", session.file_history, default.file_history);
    out.flag("elicitation_handler", session.elicitation_handler, default.elicitation_handler);
    out.flag("status_reports", session.status_reports, default.status_reports);
    out.flag("tool_details", session.tool_details, default.tool_details);
    out.flag("snip_replay", session.snip_replay, default.snip_replay);
    out.flag("verbose", session.verbose, default.verbose);
    if let Some(text) = &session.orphan_reply {
        out.text("orphan_reply", text);
    }
    if let Some(model) = &session.tool_use_summaries {
        out.text("tool_use_summaries", model);
    }
}

/// What the session works with.
fn surroundings(out: &mut TomlLines, session: &SessionSettings, default: &SessionSettings) {
    if session.cwd != default.cwd {
        out.text("cwd", &session.cwd);
    }
    out.texts("mcp_servers", &session.mcp_servers);
    out.texts("agents", &session.agents);
    out.flag("look_up_skills", session.look_up_skills, default.look_up_skills);
    out.flag("look_up_plugins", session.look_up_plugins, default.look_up_plugins);
    match session.thinking {
        None => (),
        Some(ThinkingSetting::Off) => out.text("thinking", "off"),
        Some(ThinkingSetting::Adaptive) => out.text("thinking", "adaptive"),
        Some(ThinkingSetting::Budget(tokens)) => out.raw("thinking_budget", tokens),
    }
}

/// `[engine.orphaned_permission]`.
pub(super) fn orphan_section(out: &mut TomlLines, session: &SessionSettings) {
    if let Some(OrphanedPermission { tool_use_id, answer }) = &session.orphaned_permission {
        out.table("[engine.orphaned_permission]");
        out.text("tool_use_id", tool_use_id);
        permission_keys(out, answer);
    }
}

/// `[session]`.
pub(super) fn lookups_section(out: &mut TomlLines, lookups: &ScriptedLookups) {
    let ScriptedLookups { skills, plugins, skills_latency, plugins_latency, never_answers, may } = lookups;
    if *lookups == ScriptedLookups::default() {
        return;
    }
    out.table("[session]");
    out.texts("skills", skills);
    out.texts("plugins", plugins);
    for (key, span) in [("skills_latency", skills_latency), ("plugins_latency", plugins_latency)] {
        if *span != AT_ONCE {
            out.raw(key, latency(span));
        }
    }
    out.flag("never_answers", *never_answers, false);
    out.flag("may", *may, false);
}

/// One `[[command]]`.
pub(super) fn command_entry(out: &mut TomlLines, command: &SlashCommand) {
    let SlashCommand { name, does, allows } = command;
    out.table("[[command]]");
    out.text("name", name);
    match does {
        CommandAction::Answer(text) => out.text("answers", text),
        CommandAction::Ask(text) => out.text("asks", text),
        CommandAction::Switch(model) => out.text("model", model),
    }
    out.texts("allows", allows);
}
