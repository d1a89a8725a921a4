//! The inputs of the built-in tools, read.

use reenact_engine::time::Micros;
use reenact_wire::json::Json;
use reenact_wire::prelude::*;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::builtin::BuiltinTool;
use crate::change::FileChange;
use crate::files::edit::{EditInput, MultiEditInput};
use crate::files::read::ReadInput;
use crate::files::write::WriteInput;
use crate::search::{GlobInput, GrepInput};
use crate::site::ToolSite;
use crate::todo::TodoInput;
use crate::workspace::{Workspace, resolved_path};

/// How long a command may take if the model says nothing (B-5).
const TIMEOUT_USUAL: Micros = Micros::from_secs(30);

/// The longest time that a command can have.
const TIMEOUT_MAX: Micros = Micros::from_secs(600);

/// The input of a tool, read.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(crate) enum ToolInputs {
    Read(ReadInput),
    Change(FileChange),
    Grep(GrepInput),
    Glob(GlobInput),
    Todo(TodoInput),
    Bash(BashInput),
    /// Of a tool that is carried out elsewhere.
    Elsewhere,
}

/// The input of Bash.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Hash)]
#[serde(default)]
pub struct BashInput {
    /// The commands.
    pub command: String,
    /// How long they may take, in milliseconds.
    pub timeout: Option<u64>,
    /// Whether they run in a sandbox; `None` leaves that to the commands (P-3).
    pub sandbox: Option<bool>,
    /// The absolute path of another shell.
    pub shell_executable: Option<String>,
    /// Whether they go on while other tools run.
    pub run_in_background: bool,
}

/// The input of BashOutput.
#[derive(Clone, Debug, Deserialize, PartialEq, Hash)]
pub struct BashOutputInput {
    /// The id that Bash gave.
    pub bash_id: String,
    /// Whether the command is ended.
    #[serde(default)]
    pub kill: bool,
}

/// The input of WebFetch.
#[derive(Clone, Debug, Deserialize, PartialEq, Hash)]
pub struct WebFetchInput {
    /// The address of the page.
    pub url: String,
    /// The question about it.
    pub prompt: String,
}

impl BashInput {
    /// How long the commands may take.
    pub fn time_limit(&self) -> Micros {
        self.timeout.map_or(TIMEOUT_USUAL, Micros::from_millis).min(TIMEOUT_MAX)
    }
}

impl ToolInputs {
    pub(crate) fn parse(tool: BuiltinTool, input: &Json) -> Result<Self, String> {
        match tool {
            BuiltinTool::Read => read_input(input).map(Self::Read),
            BuiltinTool::Edit => read_input::<EditInput>(input).map(|input| Self::Change(input.into())),
            BuiltinTool::MultiEdit => read_input::<MultiEditInput>(input).map(|input| Self::Change(input.into())),
            BuiltinTool::Write => read_input::<WriteInput>(input).map(|input| Self::Change(input.into())),
            BuiltinTool::Grep => read_input(input).map(Self::Grep),
            BuiltinTool::Glob => read_input(input).map(Self::Glob),
            BuiltinTool::TodoWrite => read_input(input).map(Self::Todo),
            BuiltinTool::Bash => read_input(input).map(Self::Bash),
            BuiltinTool::BashOutput => read_input::<BashOutputInput>(input).map(|_| Self::Elsewhere),
            BuiltinTool::WebFetch => read_input::<WebFetchInput>(input).map(|_| Self::Elsewhere),
            BuiltinTool::Agent => Ok(Self::Elsewhere),
        }
    }

    /// The path that the input names.
    pub(crate) fn path(&self) -> Option<&str> {
        match self {
            Self::Read(input) => Some(&input.file_path),
            Self::Change(change) => Some(change.path()),
            Self::Grep(GrepInput { path, .. }) | Self::Glob(GlobInput { path, .. }) => Some(path.as_deref().unwrap_or_default()),
            Self::Todo(_) | Self::Bash(_) | Self::Elsewhere => None,
        }
    }

    /// The commands that the input has.
    pub(crate) fn command(&self) -> Option<&str> {
        if let Self::Bash(input) = self { Some(&input.command) } else { None }
    }

    /// The mistake in the values, as far as it shows before the call (T-22).
    pub(crate) fn problem<W: Workspace>(&self, site: &ToolSite<'_, W>) -> Option<String> {
        match self {
            Self::Change(change) => {
                let path = resolved_path(site.workspace, change.path());
                path.and_then(|path| change.checked(site.workspace, site.read, &path).map(drop)).err()
            }
            Self::Todo(input) => input.problem(),
            _ => None,
        }
    }
}

/// Reads the input of a tool.
///
/// # Errors
/// It does not fit.
pub fn read_input<T: DeserializeOwned>(input: &Json) -> Result<T, String> {
    serde_json::from_str(input.as_str()).map_err(|error| format!("the input does not fit: {error}"))
}
