//! Slash commands (S-3, S-5, C-9): what a prompt that begins with a slash means. A pure function.
//!
//! Commands of the settings come first, so that a built-in command can be replaced. An unknown command is answered locally: sent to
//! the model it would be a riddle. Text with a second slash in its first word is a path, and goes to the model.

use crate::settings::{CommandAction, Settings};
use reenact_wire::block::{Block, BlockKind};
use reenact_wire::prelude::*;

/// The demand of a prompt.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(crate) enum PromptDemand {
    /// The model, with this.
    Model(Arc<[Block]>),
    /// An answer without the model.
    Answer(Arc<str>),
    /// From now on another model.
    Switch(Arc<str>),
    /// That all is forgotten.
    Clear,
    /// That all is summarised, minding this (C-9).
    Compact(Option<Arc<str>>),
}

/// Reads a prompt: what it asks for, and rules for what may run from then on.
pub(crate) fn read<'s>(content: &Arc<[Block]>, settings: &'s Settings) -> (PromptDemand, &'s [Arc<str>]) {
    let (name, rest) = match name_and_rest(content).filter(|_| settings.session.slash_commands) {
        Some(command) => command,
        None => return (PromptDemand::Model(content.clone()), &[]),
    };
    if let Some(command) = settings.session.commands.iter().find(|command| &*command.name == name) {
        let asked = match &command.does {
            CommandAction::Answer(text) => PromptDemand::Answer(text.clone()),
            CommandAction::Ask(text) => PromptDemand::Model([Block::text(&text.replace("$ARGUMENTS", rest))].into()),
            CommandAction::Switch(model) => PromptDemand::Switch(model.clone()),
        };
        return (asked, &command.allows);
    }
    (built_in(name, rest, settings), &[])
}

/// The command of a prompt and its argument; `None` when the prompt is not a command.
fn name_and_rest(content: &[Block]) -> Option<(&str, &str)> {
    let text = match content.first().map(Block::kind) {
        Some(BlockKind::Text(text)) if content.len() == 1 => text.trim(),
        _ => return None,
    };
    let line = text.strip_prefix('/')?;
    let (name, rest) = line.split_once(char::is_whitespace).map_or((line, ""), |(name, rest)| (name, rest.trim()));
    (!name.is_empty() && !name.contains('/')).then_some((name, rest))
}

fn built_in(name: &str, rest: &str, settings: &Settings) -> PromptDemand {
    match (name, rest) {
        ("compact", rest) => PromptDemand::Compact((!rest.is_empty()).then(|| rest.into())),
        ("clear", _) => PromptDemand::Clear,
        ("model", "") => PromptDemand::Answer(format!("The model is {}. /model NAME changes it.", settings.model).into()),
        ("model", model) => PromptDemand::Switch(model.into()),
        (name, _) => PromptDemand::Answer(unknown(name, settings).into()),
    }
}

fn unknown(name: &str, settings: &Settings) -> String {
    let own = settings.session.commands.iter().map(|command| &*command.name);
    let known: Vec<String> = own.chain(["clear", "compact", "model"]).map(|name| format!("/{name}")).collect();
    format!("There is no command /{name}. The commands are {}.", known.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::SlashCommand;

    #[test]
    fn s_3_a_slash_makes_a_command() {
        let mut settings = Settings::default();
        settings.session.commands = vec![
            SlashCommand { name: "cost".into(), does: CommandAction::Answer("Nothing.".into()), allows: Vec::new() },
            SlashCommand { name: "review".into(), does: CommandAction::Ask("Review $ARGUMENTS.".into()), allows: vec!["Read".into()] },
            SlashCommand { name: "clear".into(), does: CommandAction::Answer("No.".into()), allows: Vec::new() },
        ];
        let of = |text: &str| read(&[Block::text(text)].into(), &settings).0;
        let asks = |text: &str| PromptDemand::Model([Block::text(text)].into());
        assert_eq!(of("hello /clear"), asks("hello /clear"));
        assert_eq!(of("/etc/hosts is odd"), asks("/etc/hosts is odd"), "a path is no command");
        assert_eq!(of("/"), asks("/"));
        assert_eq!(of("/cost"), PromptDemand::Answer("Nothing.".into()));
        assert_eq!(of("/review src/a.rs"), asks("Review src/a.rs."));
        assert_eq!(of("/clear"), PromptDemand::Answer("No.".into()), "the settings' own comes first");
        assert_eq!(of("/compact"), PromptDemand::Compact(None));
        assert_eq!(of("/compact  the plan "), PromptDemand::Compact(Some("the plan".into())));
        assert_eq!(of("/model opus"), PromptDemand::Switch("opus".into()));
        assert!(matches!(of("/modle opus"), PromptDemand::Answer(text) if text.contains("/modle") && text.contains("/model")));
        let two: Arc<[Block]> = [Block::text("/clear"), Block::text("and")].into();
        assert_eq!(read(&two, &settings).0, PromptDemand::Model(two));
        let allowed = |text: &str| read(&[Block::text(text)].into(), &settings).1.to_vec();
        assert_eq!((allowed("/review it"), allowed("/cost"), allowed("review")), (vec!["Read".into()], Vec::new(), Vec::new()));
    }
}
