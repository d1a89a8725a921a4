//! The files of a session, with its knowledge of them: one thread owns them, and calls take turns.

use std::io;
use std::path::Path;
use std::sync::Arc;

use reenact_directory::DirectoryWorkspace;
use reenact_engine::contract::{ToolCheck, ToolOutcome};
use reenact_engine::permission::path::PathAccess;
use reenact_tools::read_state::ReadState;
use reenact_tools::shell_run::CallStep;
use reenact_tools::todo::TodoList;
use reenact_tools::workspace::Workspace as _;
use reenact_tools::{BuiltinTool, ToolSite};
use reenact_wire::json::Json;
use tokio::sync::{mpsc, oneshot};

/// Something to do with files.
#[derive(Debug)]
pub(crate) enum FileJob {
    /// The look of a tool at its input.
    Check { tool: BuiltinTool, input: Json, reply: oneshot::Sender<ToolCheck> },
    /// A whole call.
    Run { tool: BuiltinTool, input: Json, is_agreed: bool, reply: oneshot::Sender<ToolOutcome> },
}

/// The files with the session's knowledge of them.
#[derive(Debug)]
pub(crate) struct HostFiles {
    workspace: DirectoryWorkspace,
    read: ReadState,
    todos: TodoList,
    access: PathAccess,
}

impl HostFiles {
    pub(crate) fn open(directory: &Path, directories: Vec<Arc<str>>) -> io::Result<Self> {
        let workspace = DirectoryWorkspace::open(directory)?;
        let directories = core::iter::once(workspace.working_directory().into()).chain(directories).collect();
        let access = PathAccess { directories, denied: Vec::new() };
        Ok(Self { workspace, read: ReadState::default(), todos: TodoList::default(), access })
    }

    pub(crate) fn directory(&self) -> &str {
        self.workspace.working_directory()
    }

    /// Does what comes, until nobody can ask any more.
    pub(crate) fn work(mut self, mut jobs: mpsc::UnboundedReceiver<FileJob>) {
        while let Some(job) = jobs.blocking_recv() {
            // Who does not wait any more misses nothing.
            match job {
                FileJob::Check { tool, input, reply } => drop(reply.send(self.with_site(|site| tool.check(&input, site)))),
                FileJob::Run { tool, input, is_agreed, reply } => drop(reply.send(self.run(tool, &input, is_agreed))),
            }
        }
    }

    fn run(&mut self, tool: BuiltinTool, input: &Json, is_agreed: bool) -> ToolOutcome {
        let Some(mut call) = tool.call(input) else { return ToolOutcome::error("this tool is carried out elsewhere") };
        if let Some(path) = call.path(&self.workspace).filter(|_| is_agreed) {
            call = call.with_agreed_path(&path);
        }
        loop {
            if let CallStep::Done(outcome) = self.with_site(|site| call.step(site)) {
                return outcome;
            }
        }
    }

    fn with_site<R>(&mut self, body: impl FnOnce(&mut ToolSite<'_, DirectoryWorkspace>) -> R) -> R {
        body(&mut ToolSite { workspace: &mut self.workspace, read: &mut self.read, todos: &mut self.todos, access: &self.access })
    }
}
