//! The inputs of the built-in tools, read.

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
#[derive(Clone, Debug, Deserialize, PartialEq, Hash)]
pub(crate) struct BashInput {
    pub(crate) command: String,
    /// In milliseconds.
    pub(crate) timeout: Option<u64>,
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
            BuiltinTool::Agent | BuiltinTool::WebFetch => Ok(Self::Elsewhere),
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

fn read_input<T: DeserializeOwned>(input: &Json) -> Result<T, String> {
    serde_json::from_str(input.as_str()).map_err(|error| format!("the input does not fit: {error}"))
}
