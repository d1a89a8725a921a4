//! Slash commands (S-3, S-5, C-9): what a prompt that begins with a slash means. A pure function.
//!
//! What the settings define comes first, so that a built-in command can be replaced. A command that nobody knows is answered locally: sent to
//! the model it would be a riddle. Text with a second slash in its first word is a path, and goes to the model.

use crate::engine::settings::{CommandDeed, Settings};
use crate::prelude::*;
use crate::wire::block::{Block, BlockKind};

/// What a prompt asks for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Asked {
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

/// Reads a prompt.
pub(crate) fn read(content: &Arc<[Block]>, settings: &Settings) -> Asked {
    let text = match content.first().map(Block::kind) {
        Some(BlockKind::Text(text)) if content.len() == 1 => text.trim(),
        _ => return Asked::Model(content.clone()),
    };
    let Some(line) = text.strip_prefix('/') else { return Asked::Model(content.clone()) };
    let (name, rest) = line.split_once(char::is_whitespace).map_or((line, ""), |(name, rest)| (name, rest.trim()));
    if name.is_empty() || name.contains('/') {
        return Asked::Model(content.clone());
    }
    if let Some(command) = settings.session.commands.iter().find(|command| &*command.name == name) {
        return match &command.does {
            CommandDeed::Answer(text) => Asked::Answer(text.clone()),
            CommandDeed::Ask(text) => Asked::Model([Block::text(&text.replace("$ARGUMENTS", rest))].into()),
            CommandDeed::Switch(model) => Asked::Switch(model.clone()),
        };
    }
    match (name, rest) {
        ("compact", rest) => Asked::Compact((!rest.is_empty()).then(|| rest.into())),
        ("clear", _) => Asked::Clear,
        ("model", "") => Asked::Answer(format!("The model is {}. /model NAME changes it.", settings.model).into()),
        ("model", model) => Asked::Switch(model.into()),
        (name, _) => Asked::Answer(unknown(name, settings).into()),
    }
}

fn unknown(name: &str, settings: &Settings) -> String {
    let own = settings.session.commands.iter().map(|command| &*command.name);
    let known: Vec<String> = own.chain(["clear", "compact", "model"]).map(|name| format!("/{name}")).collect();
    format!("There is no command /{name}; there are {}.", known.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::settings::Command;

    #[test]
    fn s_3_a_slash_makes_a_command() {
        let mut settings = Settings::default();
        settings.session.commands = vec![
            Command { name: "cost".into(), does: CommandDeed::Answer("Nothing.".into()) },
            Command { name: "review".into(), does: CommandDeed::Ask("Review $ARGUMENTS.".into()) },
            Command { name: "clear".into(), does: CommandDeed::Answer("No.".into()) },
        ];
        let of = |text: &str| read(&[Block::text(text)].into(), &settings);
        let asks = |text: &str| Asked::Model([Block::text(text)].into());
        assert_eq!(of("hello /clear"), asks("hello /clear"));
        assert_eq!(of("/etc/hosts is odd"), asks("/etc/hosts is odd"), "a path is no command");
        assert_eq!(of("/"), asks("/"));
        assert_eq!(of("/cost"), Asked::Answer("Nothing.".into()));
        assert_eq!(of("/review src/a.rs"), asks("Review src/a.rs."));
        assert_eq!(of("/clear"), Asked::Answer("No.".into()), "the settings' own comes first");
        assert_eq!(of("/compact"), Asked::Compact(None));
        assert_eq!(of("/compact  the plan "), Asked::Compact(Some("the plan".into())));
        assert_eq!(of("/model opus"), Asked::Switch("opus".into()));
        assert!(matches!(of("/modle opus"), Asked::Answer(text) if text.contains("/modle") && text.contains("/model")));
        let two: Arc<[Block]> = [Block::text("/clear"), Block::text("and")].into();
        assert_eq!(read(&two, &settings), Asked::Model(two));
    }
}
