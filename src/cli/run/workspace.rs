//! `--workspace`: the tools of a recorded session run today in a copy of a folder, and their results are held against the recorded ones.

use std::path::{Path, PathBuf};

use super::super::CommandExit;
use super::super::output::{complain, is_quiet, print_line};
use super::super::serve::runtime;
use super::super::watcher;
use super::RunArguments;
use super::level::new_run;
use crate::children::{FolderGuard, SandboxSupport};
use crate::directory::{CopiedTree, copy_tree};
use crate::engine::contract::Engine;
use crate::files::scenario::LoadedScenario;
use crate::live::workspace_run::{ComparedTool, ToolComparison, WorkspaceRun, run_in_workspace};
use crate::prelude::plural;
use crate::runner::RunOutcome;
use crate::tool_host::{CommandPlacement, ToolHost, ToolHostOptions};

/// The name of the copy's folder.
const FOLDER_NAME: &str = "reenact-workspace";

/// So many lines of a result are shown.
const SHOWN_LINES: usize = 6;

#[derive(Debug, clap::Args)]
pub(super) struct WorkspaceArguments {
    /// Run the tools of a recorded session today, in a copy of this folder, and compare their results with the recorded ones; tools that write are answered from the recording
    #[arg(long, value_name = "DIR", conflicts_with_all = ["check", "snapshots", "accept", "log", "write_plan", "interrupt_at", "canary", "level", "seeds"])]
    workspace: Option<PathBuf>,
    /// The folder that the recorded session worked in; when not given, it is looked for in the recording
    #[arg(long, value_name = "PATH", requires = "workspace")]
    recorded_folder: Option<String>,
    /// Run tools that write as well, in a sandbox around the copy
    #[arg(long, requires = "workspace")]
    run_writes: bool,
}

impl WorkspaceArguments {
    /// The folder, where one is given.
    pub(super) fn folder(&self) -> Option<&Path> {
        self.workspace.as_deref()
    }
}

/// Runs the scenario with the tools of today.
pub(super) fn run<E: Engine>(
    arguments: &RunArguments,
    folder: &Path,
    scenario: &LoadedScenario,
    engine: E,
) -> Result<(RunOutcome<E>, Vec<ComparedTool>), String> {
    let WorkspaceArguments { recorded_folder, run_writes, .. } = &arguments.workspace;
    if *run_writes && SandboxSupport::of_system() != SandboxSupport::Full {
        return Err(String::from("--run-writes needs a sandbox for files and connections (Landlock, Linux 6.7), and this system has none"));
    }
    let recorded_folder = recorded_folder.clone().or_else(|| scenario.setup.recorded_work_folder()).ok_or_else(|| {
        format!(
            "{}: the recording does not say in which folder the session worked; name it with --recorded-folder PATH",
            scenario.path.display()
        )
    })?;
    let recorded_folder = recorded_folder.trim_end_matches('/').to_owned();
    if !recorded_folder.starts_with('/') {
        return Err(String::from(
            "--recorded-folder: give the absolute path of the folder that the recorded session worked in, and not the root",
        ));
    }
    let problem = |error: &dyn core::fmt::Display| format!("--workspace {}: {error}", folder.display());
    if !folder.is_dir() {
        return Err(problem(&"this is not a folder"));
    }
    let watcher = watcher()?;
    let copy = FolderGuard::new(FOLDER_NAME, &watcher).map_err(|error| problem(&error))?;
    // It has the name of the recorded one, beside nothing else: `ls ..` shows no more.
    let name = Path::new(&recorded_folder).file_name().unwrap_or_default();
    let inner = copy.path().join(name);
    let copied = copy_tree(folder, &inner).map_err(|error| problem(&format!("cannot copy it: {error}")))?;
    let CopiedTree { files: _, left_out, links_outside } = copied;
    for (paths, what) in [
        (left_out, "cannot be copied and was left out"),
        (links_outside, "is a link that leads out of the folder, and leads nowhere in the copy"),
    ] {
        if let Some(first) = paths.first() {
            let more = if paths.len() > 1 { format!(", and so for {} more", paths.len() - 1) } else { String::new() };
            complain(&format!("note: {} {what}{more}", first.display()));
        }
    }
    let run = new_run(arguments, scenario, engine);
    let finished = runtime().map_err(|_| String::from("without a runtime no tool can work"))?.block_on(async {
        let options =
            ToolHostOptions { directory: inner.clone(), directories: Vec::new(), watcher, placement: CommandPlacement::AlwaysSandbox };
        let host = ToolHost::open(options).map_err(|error| problem(&error))?;
        Ok::<_, String>(run_in_workspace(run, WorkspaceRun { host, recorded_folder, runs_writes: *run_writes }).await)
    })?;
    let (report, compared) = finished;
    Ok((Ok(report), compared))
}

/// Shows the comparison; a difference is a failure.
pub(super) fn show(folder: &Path, compared: &[ComparedTool]) -> CommandExit {
    let count = |is: fn(&ToolComparison) -> bool| compared.iter().filter(|tool| is(&tool.result)).count();
    let different = count(|result| matches!(result, ToolComparison::Different { .. }));
    if !is_quiet() || different > 0 {
        print_line(&format!("\ntools of today, in a copy of {}", folder.display()));
        compared.iter().for_each(show_one);
    }
    let recorded = count(|result| matches!(result, ToolComparison::Writes | ToolComparison::Elsewhere));
    let unrecorded = count(|result| *result == ToolComparison::Unrecorded);
    let same = count(|result| *result == ToolComparison::Same);
    let ran = same + different + unrecorded;
    let unrecorded = if unrecorded > 0 { format!(", {unrecorded} not recorded") } else { String::new() };
    print_line(&format!(
        "{} ran today: {same} as recorded, {different} different{unrecorded}; {recorded} answered from the recording",
        plural(ran as u64, "tool")
    ));
    if ran == 0 {
        complain("no tool ran, so nothing was compared");
    }
    if different > 0 || ran == 0 { CommandExit::Failed } else { CommandExit::Fine }
}

fn show_one(ComparedTool { name, about, result }: &ComparedTool) {
    let word = match result {
        ToolComparison::Same => "same",
        ToolComparison::Different { .. } => "different",
        ToolComparison::Unrecorded => "not recorded",
        ToolComparison::Writes => "recorded, it writes",
        ToolComparison::Elsewhere => "recorded",
    };
    print_line(&format!("  {name:<6} {word:<20} {about}"));
    if let ToolComparison::Different { recorded, today } = result {
        print_line(&shortened("recorded", recorded));
        print_line(&shortened("today", today));
    }
}

/// The first lines of a text, indented.
fn shortened(what: &str, text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut shown: Vec<String> = lines.iter().take(SHOWN_LINES).map(|line| line.chars().take(120).collect()).collect();
    if lines.len() > SHOWN_LINES {
        shown.push(format!("… {} more", plural((lines.len() - SHOWN_LINES) as u64, "line")));
    }
    if shown.is_empty() {
        shown.push(String::from("(nothing)"));
    }
    let indent = format!("\n{:18}", "");
    format!("         {what:<8} {}", shown.join(&indent))
}
