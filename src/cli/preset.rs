//! `preset`: the settings of a real client, as the engine takes them (F-13).

use super::{CommandExit, output};
use crate::prelude::*;
use crate::scenario::parse::nearest::nearest;
use crate::scenario::presets;

/// Arguments of `preset`.
#[derive(Debug, clap::Args)]
pub(super) struct PresetArguments {
    /// The preset whose file is printed. Without it: the names of all presets
    name: Option<String>,
}

/// Prints the file of a preset, or the names of all.
pub(super) fn run(arguments: &PresetArguments) -> CommandExit {
    let Some(name) = &arguments.name else {
        presets::names().for_each(output::print_line);
        return CommandExit::Fine;
    };
    match presets::text(name) {
        Some(text) => {
            output::print_line(text.trim_end());
            CommandExit::Fine
        }
        None => {
            let near = nearest(name, presets::names()).map(|near| format!("; did you mean {near}?")).unwrap_or_default();
            output::complain(&format!("there is no preset {name}{near}; `reenact preset` lists all"));
            CommandExit::WrongInput
        }
    }
}
