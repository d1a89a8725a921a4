//! This program in messages: the command that a user types next.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

pub(super) use crate::files::shell_word::{quoted, quoted_path};
use crate::prelude::*;
use crate::scenario::plan::Plan;
use crate::scenario::types::Scenario;

/// Arguments that a program of somebody's own takes before the commands.
static FIRST_ARGUMENTS: OnceLock<Vec<String>> = OnceLock::new();

/// Commands that are shown begin with the program and these arguments. For a program of your own that takes some before the commands; the first call counts.
pub fn set_first_arguments(arguments: Vec<String>) {
    let _ = FIRST_ARGUMENTS.set(arguments);
}

/// The arguments that this program takes before the commands.
pub(super) fn first_arguments() -> Vec<String> {
    FIRST_ARGUMENTS.get().cloned().unwrap_or_default()
}

/// This program as a shell finds it: by its name where the search path leads to it, else by the path by which it was called.
pub(super) fn program_name() -> String {
    let first = FIRST_ARGUMENTS.get().into_iter().flatten().map(|argument| format!(" {}", quoted(argument)));
    file_name() + &first.collect::<String>()
}

fn file_name() -> String {
    let Some(called) = env::args_os().next().map(PathBuf::from) else { return String::from("reenact") };
    match called.file_name() {
        Some(name) if called.components().count() == 1 || is_found(Path::new(name), &called) => quoted(&name.to_string_lossy()),
        _ => quoted_path(&called),
    }
}

/// Whether the search path leads from a name to this file.
#[expect(clippy::disallowed_methods, reason = "the shell looks there when it reads a command that is shown")]
fn is_found(name: &Path, file: &Path) -> bool {
    let Some(folders) = env::var_os("PATH") else { return false };
    let first = env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file());
    first.is_some_and(|first| first.canonicalize().ok() == file.canonicalize().ok())
}

/// A message that names commands of `reenact`, as they are called in this program. The rooms before this one know no program but `reenact`.
pub(super) fn in_this_program(message: &str) -> String {
    message.replace("`reenact ", &format!("`{} ", program_name()))
}

/// The start of a command that runs a scenario.
pub(super) fn run_command(path: &Path) -> String {
    format!("{} run {}", program_name(), quoted_path(path))
}

/// The command that runs a scenario with another plan. `options` change the scenario.
pub(super) fn plan_command(path: &Path, options: &str, scenario: &Scenario, plan: &Plan) -> String {
    let mut command = run_command(path) + options;
    for (key, value) in plan.injections_as_toml(&scenario.plan) {
        command += &format!(" --set {}", quoted(&format!("plan.{key}={value}")));
    }
    // What the scenario expects is said of the run as it is.
    let breaks: Vec<String> = scenario.expect.breaks.iter().map(|rule| format!("\"{rule}\"")).collect();
    let expect = if breaks.is_empty() { String::from("{}") } else { format!("{{breaks=[{}]}}", breaks.join(",")) };
    command + " --set " + &quoted(&format!("expect={expect}"))
}

/// The command that makes a run small, from the one that shows it.
pub(super) fn shrink_command(command: &str) -> String {
    let program = program_name();
    let arguments = command.strip_prefix(&format!("{program} run ")).unwrap_or(command);
    format!("make it small: {program} shrink {arguments}")
}
