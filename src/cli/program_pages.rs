//! `reenact completions SHELL` and `reenact man FOLDER`: all commands and options, for shells and for `man`.

use std::fs;
use std::path::PathBuf;

use clap_complete::Shell;

use super::CommandExit;
use super::output::{print_line, wrong_input};

#[derive(Debug, clap::Args)]
pub(super) struct CompletionArguments {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(Debug, clap::Args)]
pub(super) struct ManArguments {
    /// The folder; it is made where it is missing
    folder: PathBuf,
}

pub(super) fn complete(arguments: &CompletionArguments, mut program: clap::Command) -> CommandExit {
    let name = program.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut program, name, &mut script);
    print_line(&String::from_utf8_lossy(&script));
    CommandExit::Fine
}

/// A page for the program and one for each command.
pub(super) fn write_manual(arguments: &ManArguments, program: clap::Command) -> CommandExit {
    let folder = &arguments.folder;
    match fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(program, folder)) {
        Ok(()) => {
            print_line(&format!("wrote the pages; read one with: man -l {}", folder.join("reenact.1").display()));
            CommandExit::Fine
        }
        Err(error) => wrong_input(&format!("cannot write pages into {}: {error}; name a folder that can be written", folder.display())),
    }
}
