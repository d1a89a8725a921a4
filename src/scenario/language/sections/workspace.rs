//! The paths of `[workspace]`, and of what is expected of its files: each is one that occurs.

use crate::parse::reader::TableReader;
use crate::statement::tool_uses;
use crate::types::{Scenario, TurnBlock};
use crate::workspace::{ScriptedFileChange, ScriptedFileFault, WorkspaceScript, path_problem};
use reenact_tools::workspace::lies_below;
use reenact_wire::prelude::*;

/// Paths of `[workspace]`, and of what is expected of its files.
pub(crate) fn check(reader: &mut TableReader<'_, '_>, scenario: &Scenario) {
    let (workspace, expect) = (scenario.workspace.as_ref(), &scenario.expect);
    if let Some(problem) = workspace.and_then(|workspace| path_problem_in(workspace, scenario)) {
        reader.key_problem("workspace", problem);
    }
    if workspace.is_none() && !(expect.files.is_empty() && expect.absent.is_empty()) {
        reader.key_problem(
            "expect",
            "`files` and `absent` in [expect] are about the files of a [workspace]: add it, or take them out".into(),
        );
    } else if let Some(problem) = expected_path_problem(scenario) {
        reader.key_problem("expect", problem);
    }
}

/// The mistake in one of its paths: a file that is a folder as well, or a path that nothing in the scenario has.
fn path_problem_in(workspace: &WorkspaceScript, scenario: &Scenario) -> Option<String> {
    let file_above = |path: &str| {
        let above = workspace.files.iter().find(|(other, _)| lies_below(path, other));
        above.map(|(other, _)| format!("`{other}` is a file, and the folder of `{path}`"))
    };
    if workspace.dir.as_deref() == Some("") {
        return Some(String::from("`dir` is empty: name a folder, or leave it out"));
    }
    let files = workspace.files.iter().find_map(|(path, _)| path_problem(path).or_else(|| file_above(path)));
    let of_change = |change: &ScriptedFileChange| {
        let is_unknown = change.text.is_none() && !is_known(scenario, &change.path);
        file_above(&change.path).or_else(|| is_unknown.then(|| unknown_path("[[workspace.change]]", &change.path)))
    };
    let of_fault = |fault: &ScriptedFileFault| (!is_known(scenario, &fault.path)).then(|| unknown_path("[[workspace.fault]]", &fault.path));
    let of_time = |path: &Arc<str>| (!is_known(scenario, path)).then(|| unknown_path("`mtime`", path));
    files
        .or_else(|| workspace.mtime.keys().find_map(of_time))
        .or_else(|| workspace.change.iter().find_map(of_change))
        .or_else(|| workspace.fault.iter().find_map(of_fault))
}

/// The mistake in a path of `files` or `absent` in `[expect]`.
fn expected_path_problem(scenario: &Scenario) -> Option<String> {
    let expect = &scenario.expect;
    let mut paths = expect.files.iter().map(|(path, _)| path).chain(&expect.absent);
    let unknown = || expect.absent.iter().find(|path| !expect.may && !is_known(scenario, path));
    paths.find_map(|path| path_problem(path)).or_else(|| unknown().map(|path| unknown_path("`absent`", path)))
}

fn unknown_path(what: &str, path: &str) -> String {
    format!("{what} names `{path}`, which is neither among the files nor in an input of a tool: correct the spelling")
}

/// Whether a path in the folder occurs: among the files, in a change, or in an input of a tool.
fn is_known(scenario: &Scenario, path: &str) -> bool {
    let Some(workspace) = &scenario.workspace else { return false };
    let written = workspace.change.iter().filter(|change| change.text.is_some()).map(|change| &*change.path);
    let mut files = workspace.files.iter().map(|(file, _)| file.as_str()).chain(written);
    let is_in_input = || {
        tool_uses(scenario).iter().any(|tool_use| match tool_use.block {
            TurnBlock::Tool { input, .. } => holds_path(input, path),
            _ => false,
        })
    };
    // The inputs of a tape are not known here, and neither are the files of a folder.
    scenario.tape.is_some() || workspace.dir.is_some() || files.any(|file| file == path || lies_below(file, path)) || is_in_input()
}

/// Whether the text has the path, with nothing on its sides that belongs to a longer name.
fn holds_path(text: &str, path: &str) -> bool {
    let is_of_name = |character: char| character.is_alphanumeric() || "._-".contains(character);
    text.match_indices(path).any(|(at, _)| !text[..at].ends_with(is_of_name) && !text[at + path.len()..].starts_with(is_of_name))
}
