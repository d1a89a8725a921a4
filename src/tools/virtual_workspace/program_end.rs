//! The end of a program, and the words of GNU's programs for a problem.

use reenact_wire::prelude::*;

use super::VirtualWorkspace;
use crate::workspace::{FileProblem, Workspace};

/// The end of a program.
#[derive(Debug, Default)]
pub(super) struct ProgramEnd {
    pub(super) output: String,
    pub(super) errors: String,
    pub(super) code: i32,
}

impl ProgramEnd {
    pub(super) fn fail(&mut self, code: i32, text: &str) {
        self.code = self.code.max(code);
        self.errors.push_str(text);
        self.errors.push('\n');
    }
}

/// The system's words for a problem.
pub(super) fn system_text(problem: &FileProblem) -> String {
    match problem {
        FileProblem::Missing => String::from("No such file or directory"),
        FileProblem::IsFolder => String::from("Is a directory"),
        FileProblem::NotFolder => String::from("Not a directory"),
        FileProblem::Denied => String::from("Permission denied"),
        FileProblem::Full => String::from("No space left on device"),
        FileProblem::Moved | FileProblem::Other(_) => problem.to_string(),
    }
}

/// The path that is meant from the working directory.
///
/// # Errors
/// It is empty, or goes on behind a file: with a slash, for instance.
pub(super) fn located(workspace: &VirtualWorkspace, path: &str) -> Result<String, FileProblem> {
    if path.is_empty() { Err(FileProblem::Missing) } else { workspace.resolve(path) }
}
