//! The files of a simulated session, and the calls of the built-in tools on them.

use crate::World;
use reenact_engine::contract::{Agent, ToolCheck, ToolOutcome, ToolRun, ToolUse};
use reenact_engine::permission::path::PathAccess;
use reenact_engine::time::Time;
use reenact_scenario::types::{Scenario, ScriptedOutcome, ToolEnding};
use reenact_scenario::workspace::WorkspaceScript;
use reenact_tools::call::BuiltinCall;
use reenact_tools::read_state::ReadState;
use reenact_tools::shell_run::CallStep;
use reenact_tools::todo::TodoList;
use reenact_tools::virtual_workspace::{FileDifference, VirtualWorkspace, WorkspaceFault};
use reenact_tools::workspace::normal_path;
use reenact_tools::{BuiltinTool, ToolSite};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;

/// One file is so many microseconds older than the one before it.
const AGE_STEP: i64 = 1_000_000;

/// A file of a scenario's folder: its path in it, and its content.
pub type CopiedFile = (String, Arc<[u8]>);

/// Files with the session's knowledge of them.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(crate) struct SimulatedFiles {
    workspace: VirtualWorkspace,
    /// Shared by all agents (B-8).
    read: ReadState,
    todos: TodoList,
    access: PathAccess,
    /// The changes that nobody has been told of.
    changes: Vec<FileChangeNote>,
}

/// A change of a file.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct FileChangeNote {
    /// The file before and after.
    pub difference: FileDifference,
    /// The agent and its tool run that made it; `None` for another process.
    pub tool: Option<(Agent, ToolRun)>,
}

impl SimulatedFiles {
    /// The files of the scenario, if it has any; `copied` are those of its folder.
    pub(crate) fn from_scenario(scenario: &Scenario, copied: &[CopiedFile]) -> Option<Self> {
        let WorkspaceScript { dir: _, files, mtime, change: _, fault } = scenario.workspace.as_ref()?;
        let root = &*scenario.settings.session.cwd;
        let faults: Vec<WorkspaceFault> =
            fault.iter().map(|fault| WorkspaceFault { path: normal_path(root, &fault.path).into(), kind: fault.kind }).collect();
        let mut workspace = VirtualWorkspace::new(root).with_faults(faults);
        let copied = copied.iter().filter(|(path, _)| files.iter().all(|(written, _)| written != path));
        let all = files.iter().map(|(path, content)| (path, content.as_bytes())).chain(copied.map(|(path, content)| (path, &**content)));
        for (age, (path, content)) in (1..).zip(all) {
            let age = mtime.get(path.as_str()).map_or(AGE_STEP * age, |age| i64::try_from(age.0).unwrap_or(i64::MAX));
            workspace.place(path, content, -age);
        }
        let added = scenario.settings.permissions.iter().flat_map(|permissions| permissions.directories.iter().cloned());
        let directories = core::iter::once(root.into()).chain(added).collect();
        let access = PathAccess { directories, denied: Vec::new() };
        Some(Self { workspace, read: ReadState::default(), todos: TodoList::default(), access, changes: Vec::new() })
    }

    /// The files.
    pub(crate) fn workspace(&self) -> &VirtualWorkspace {
        &self.workspace
    }

    /// Begins a call of a built-in tool: the rest of it, or the outcome of one that failed at once. `None` where the scenario says what comes of it, or the
    /// tool is another one.
    pub(crate) fn begin(
        &mut self,
        now: Time,
        tool_use: &ToolUse,
        said: Option<&ScriptedOutcome>,
    ) -> Option<Result<BuiltinCall, ToolOutcome>> {
        let input = Json::trusted(tool_use.input.as_str());
        let mut call = BuiltinTool::from_name(&tool_use.name).filter(|_| !is_scripted(said))?.call(&input)?;
        // The engine has asked by now where that is needed.
        if let Some(path) = call.path(&self.workspace) {
            call = call.with_agreed_path(&path);
        }
        Some(match self.with_site(now, |site| call.step(site)) {
            CallStep::Done(outcome) => Err(outcome),
            _ => Ok(call),
        })
    }

    /// Whether the tool takes much longer, because its file is slow.
    pub(crate) fn is_slow(&self, call: &BuiltinCall) -> bool {
        call.paths(&self.workspace).iter().any(|path| self.workspace.is_slow(path))
    }

    /// Goes on with a call of this tool run.
    pub(crate) fn step(&mut self, now: Time, tool: (&Agent, ToolRun), call: &mut BuiltinCall) -> CallStep {
        let before = self.workspace.clone();
        let step = self.with_site(now, |site| call.step(site));
        self.note_changes(&before, Some(tool));
        step
    }

    /// Another process does something of the scenario.
    pub(crate) fn change(&mut self, now: Time, script: &WorkspaceScript, index: usize) {
        let Some(change) = script.change.get(index) else { return };
        let before = self.workspace.clone();
        self.workspace.set_clock(clock(now));
        match &change.text {
            Some(text) => self.workspace.overwrite(&change.path, text.as_bytes()),
            None => self.workspace.displace(&change.path),
        }
        self.note_changes(&before, None);
    }

    /// The look of a built-in tool at its input. A use whose outcome the scenario gives touches no file.
    pub(crate) fn check(&mut self, now: Time, tool_use: &ToolUse, said: Option<&ScriptedOutcome>) -> Option<ToolCheck> {
        let tool = BuiltinTool::from_name(&tool_use.name).filter(|_| !is_scripted(said))?;
        let input = Json::trusted(tool_use.input.as_str());
        Some(self.with_site(now, |site| tool.check(&input, site)))
    }

    /// The changes since this was asked last.
    pub(crate) fn take_changes(&mut self) -> Vec<FileChangeNote> {
        core::mem::take(&mut self.changes)
    }

    fn note_changes(&mut self, before: &VirtualWorkspace, tool: Option<(&Agent, ToolRun)>) {
        let tool = tool.map(|(agent, run)| (agent.clone(), run));
        let differences = self.workspace.differences_from(before);
        self.changes.extend(differences.into_iter().map(|difference| FileChangeNote { difference, tool: tool.clone() }));
    }

    fn with_site<R>(&mut self, now: Time, body: impl FnOnce(&mut ToolSite<'_, VirtualWorkspace>) -> R) -> R {
        self.workspace.set_clock(clock(now));
        body(&mut ToolSite { workspace: &mut self.workspace, read: &mut self.read, todos: &mut self.todos, access: &self.access })
    }
}

/// Whether the scenario says what comes of a run.
pub(crate) fn is_scripted(said: Option<&ScriptedOutcome>) -> bool {
    said.is_some_and(|said| {
        let ScriptedOutcome { content, is_error, cause, structured, context_change, aborts, ending, .. } = said;
        let has_more = cause.is_some() || structured.is_some() || context_change.is_some() || aborts.is_some();
        content.is_some() || *is_error || has_more || *ending != ToolEnding::default()
    })
}

impl World {
    /// The changes of files since this was asked last.
    pub fn take_file_changes(&mut self) -> Vec<FileChangeNote> {
        self.files.as_mut().map(SimulatedFiles::take_changes).unwrap_or_default()
    }

    /// The files of the session, if the scenario has any.
    pub fn workspace(&self) -> Option<&VirtualWorkspace> {
        self.files.as_ref().map(SimulatedFiles::workspace)
    }
}

/// The time of the run on the clock of the files.
fn clock(now: Time) -> i64 {
    i64::try_from(now.0).unwrap_or(i64::MAX)
}
