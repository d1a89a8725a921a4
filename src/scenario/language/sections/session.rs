//! `[session]`, `[[command]]`, `[engine.orphaned_permission]`: what the session finds, and what the user can call (S-3, S-4).

use crate::language::forms::ModelName;
use crate::language::keys::{ConvertedTable, keys};
use crate::language::sections::permission::RuleText;
use crate::language::tables::Flat;
use crate::parse::reader::TableReader;
use crate::types::Scenario;
use reenact_engine::permission::PermissionAnswer;
use reenact_engine::settings::{CommandAction, OrphanedPermission, SlashCommand};
use reenact_wire::block::{Block, BlockKind};
use reenact_wire::prelude::*;

keys! {
    /// `[engine.orphaned_permission]`: an answer that came when the session that had asked was over (S-3).
    pub(crate) struct OrphanedPermissionKeys {
        /// The tool use of `[[history]]`.
        tool_use_id: Option<Arc<str>> = None, required, example("\"toolu_1\"");
        /// The answer.
        answer: PermissionAnswer as Flat<PermissionAnswer> = PermissionAnswer::Allow { updated_input: None, rules: Vec::new() };
    }
}

impl ConvertedTable for OrphanedPermission {
    type Keys = OrphanedPermissionKeys;

    fn from_keys(OrphanedPermissionKeys { tool_use_id, answer }: OrphanedPermissionKeys, _: &mut TableReader<'_, '_>) -> Option<Self> {
        Some(Self { tool_use_id: tool_use_id?, answer })
    }

    fn to_keys(&self) -> OrphanedPermissionKeys {
        let Self { tool_use_id, answer } = self.clone();
        OrphanedPermissionKeys { tool_use_id: Some(tool_use_id), answer }
    }
}

/// An answer about a tool use that is not there, or has its result, would never count.
pub(crate) fn check_orphan(reader: &mut TableReader<'_, '_>, scenario: &Scenario) {
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
    reader.key_problem("engine", format!("`orphaned_permission` is about tool use `{}`, which {problem}", orphaned.tool_use_id));
}

keys! {
    /// `[[command]]`: a slash command (S-3). It needs exactly one of `answers`, `asks` and `model`.
    pub(crate) struct CommandKeys {
        /// Its name, without the slash.
        name: Option<Arc<str>> = None, required, not_blank("a command needs a name");
        /// It answers with this, without the model.
        answers: Option<Arc<str>> = None;
        /// It asks the model this; `$ARGUMENTS` is the text behind the command.
        asks: Option<Arc<str>> = None, example("\"Review $ARGUMENTS\"");
        /// It changes the model.
        model: Option<Arc<str>> as Option<ModelName> = None;
        /// Rules for tool uses that may run from then on without a question.
        allows: Vec<Arc<str>> as Vec<RuleText> = Vec::new();
    }
}

impl ConvertedTable for SlashCommand {
    type Keys = CommandKeys;

    fn from_keys(keys: CommandKeys, reader: &mut TableReader<'_, '_>) -> Option<Self> {
        const ACTIONS: [&str; 3] = ["answers", "asks", "model"];
        if reader.one_of(&ACTIONS).is_none() {
            reader.lacks(&ACTIONS, format!("{} needs one of `answers`, `asks`, `model`", reader.title()), None);
        }
        let CommandKeys { name, answers, asks, model, allows } = keys;
        let does = answers.map(CommandAction::Answer).or(asks.map(CommandAction::Ask)).or(model.map(CommandAction::Switch));
        Some(Self { name: name?, does: does?, allows })
    }

    fn to_keys(&self) -> CommandKeys {
        let Self { name, does, allows } = self.clone();
        let keys = CommandKeys { name: Some(name), allows, ..CommandKeys::default() };
        match does {
            CommandAction::Answer(text) => CommandKeys { answers: Some(text), ..keys },
            CommandAction::Ask(text) => CommandKeys { asks: Some(text), ..keys },
            CommandAction::Switch(model) => CommandKeys { model: Some(model), ..keys },
        }
    }
}

/// Of two commands with one name the second is never called.
pub(crate) fn check_commands(reader: &mut TableReader<'_, '_>, commands: &[SlashCommand]) {
    for (nth, command) in commands.iter().enumerate() {
        if commands[..nth].iter().any(|other| other.name == command.name) {
            let place = reader.entry_place("command", nth);
            let message = format!("there is a [[command]] `{}` already; keep one of them", command.name);
            reader.report.value(place, message, None);
        }
    }
}
