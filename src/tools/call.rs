//! A use of a tool as a machine: it gives progress and one result (B-1 to B-10).
//!
//! ```text
//!   begin ── Work ──> end ── Done
//!     │                └── commands: Sleep, Progress, … Done
//!     └── a change is prepared here, and written at the end
//! ```

use reenact_engine::contract::ToolOutcome;
use reenact_engine::permission::path::PathAccessDecision;
use reenact_shell::{Lexeme, ShellToken, lexemes};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;

use crate::builtin::BuiltinTool;
use crate::change::PreparedChange;
use crate::files::read::read;
use crate::inputs::ToolInputs;
use crate::search::{glob, grep};
use crate::shell_run::{CallStep, ShellRun};
use crate::site::ToolSite;
use crate::workspace::{Workspace, resolved_path};

/// A use of a tool.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct BuiltinCall {
    inputs: Result<ToolInputs, String>,
    /// A path outside of the working directories to which somebody has agreed.
    agreed_path: Option<String>,
    phase: BuiltinCallPhase,
}

#[derive(Clone, Debug, PartialEq, Hash)]
enum BuiltinCallPhase {
    Begin,
    Work(Option<PreparedChange>),
    Commands(ShellRun),
}

impl BuiltinTool {
    /// A use of it as a machine; `None` of a tool that is carried out elsewhere: agents stand on the engine, a page
    /// comes from the network, and commands in the background are processes.
    pub fn call(self, input: &Json) -> Option<BuiltinCall> {
        (!matches!(self, Self::Agent | Self::BashOutput | Self::WebFetch)).then(|| BuiltinCall::new(ToolInputs::parse(self, input)))
    }
}

impl BuiltinCall {
    fn new(inputs: Result<ToolInputs, String>) -> Self {
        Self { inputs, agreed_path: None, phase: BuiltinCallPhase::Begin }
    }

    /// The call may use this path, though it lies outside: it is what the check asked about (P-4).
    pub fn with_agreed_path(self, path: &str) -> Self {
        Self { agreed_path: Some(path.to_owned()), ..self }
    }

    /// The path that the input names, behind all links.
    pub fn path(&self, workspace: &impl Workspace) -> Option<String> {
        resolved_path(workspace, self.inputs.as_ref().ok()?.path()?).ok()
    }

    /// The paths that the call may use, as far as its input names them: of commands each word.
    pub fn paths(&self, workspace: &impl Workspace) -> Vec<String> {
        match self.inputs.as_ref().map(ToolInputs::command) {
            Ok(Some(command)) => words_of(command).iter().filter_map(|word| resolved_path(workspace, word).ok()).collect(),
            _ => self.path(workspace).into_iter().collect(),
        }
    }

    /// Goes on. After [`CallStep::Done`] there is nothing more to be done.
    pub fn step<W: Workspace>(&mut self, site: &mut ToolSite<'_, W>) -> CallStep {
        if let BuiltinCallPhase::Commands(run) = &mut self.phase {
            return site.workspace.run_shell(run);
        }
        match self.advance(site) {
            Ok(step) => step,
            Err(problem) => CallStep::Done(ToolOutcome::error(&problem)),
        }
    }

    fn advance<W: Workspace>(&mut self, site: &mut ToolSite<'_, W>) -> Result<CallStep, String> {
        let inputs = self.inputs.as_ref().map_err(Clone::clone)?;
        let prepared = match &mut self.phase {
            BuiltinCallPhase::Begin => {
                if let ToolInputs::Bash(input) = inputs {
                    if input.run_in_background {
                        return Err(String::from("nothing runs in the background here"));
                    }
                    self.phase = BuiltinCallPhase::Commands(ShellRun::new(&input.command, input.time_limit()));
                    return Ok(CallStep::Work);
                }
                let prepared = match inputs {
                    ToolInputs::Change(change) => {
                        let path = self.allowed_path(site, change.path())?;
                        Some(change.prepare(site.workspace, site.read, &path)?)
                    }
                    _ => None,
                };
                self.phase = BuiltinCallPhase::Work(prepared);
                return Ok(CallStep::Work);
            }
            BuiltinCallPhase::Work(prepared) => prepared.take(),
            BuiltinCallPhase::Commands(_) => None,
        };
        let path = inputs.path().map(|path| self.allowed_path(site, path)).transpose()?.unwrap_or_default();
        let outcome = match inputs {
            ToolInputs::Read(input) => read(site.workspace, site.read, &path, input),
            ToolInputs::Grep(input) => grep(site.workspace, &path, input),
            ToolInputs::Glob(input) => glob(site.workspace, &path, input),
            ToolInputs::Todo(input) => input.write(site.todos),
            ToolInputs::Change(_) => match prepared {
                Some(prepared) => prepared.write(site.workspace, site.read),
                None => Err(String::from("the call is over")),
            },
            ToolInputs::Bash(_) | ToolInputs::Elsewhere => Err(String::from("this tool is carried out elsewhere")),
        };
        outcome.map(CallStep::Done)
    }

    /// The path behind all links, if it may be used now: it may lead elsewhere than it did when it was checked (P-4).
    fn allowed_path<W: Workspace>(&self, site: &ToolSite<'_, W>, path: &str) -> Result<String, String> {
        let resolved = resolved_path(site.workspace, path)?;
        match site.access.decision(&resolved) {
            PathAccessDecision::Inside => Ok(resolved),
            PathAccessDecision::Outside if self.agreed_path.as_ref() == Some(&resolved) => Ok(resolved),
            PathAccessDecision::Outside => {
                Err(format!("{resolved}: it lies outside of the working directories, and nobody has agreed to it"))
            }
            PathAccessDecision::Denied => Err(format!("{resolved}: it is never to be read or written")),
        }
    }
}

/// The words of a command, as far as they can be known.
fn words_of(command: &str) -> Vec<String> {
    let lexemes = lexemes(command).unwrap_or_default();
    let word = |lexeme: &Lexeme| if let ShellToken::Word(word) = &lexeme.token { word.literal() } else { None };
    lexemes.iter().filter_map(word).collect()
}
