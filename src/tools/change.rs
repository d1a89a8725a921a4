//! A change of one file, in two halves: it is prepared when the call begins and written when it ends (B-2 to B-4).
//!
//! In between another process may change the file. So it is looked at once more, and nothing is written over what nobody has read.

use reenact_engine::contract::ToolOutcome;
use reenact_wire::prelude::*;

use crate::files::edit::{EditInput, EditResult, MultiEditInput, TextEdit, apply_all};
use crate::files::edited_text::{EditedText, shown_change};
use crate::files::read::stamp;
use crate::files::write::WriteInput;
use crate::read_state::{FileStamp, ReadState};
use crate::workspace::{FileProblem, Workspace, whole_content};

/// Larger texts are not edited.
const EDIT_BYTES_MAX: usize = 64 << 20;

/// The wanted change.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(crate) enum FileChange {
    Edits { path: String, edits: Vec<TextEdit> },
    Whole { path: String, content: String },
}

/// A change that can be written.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(crate) struct PreparedChange {
    path: Arc<str>,
    /// How the file was when this was prepared; `None` of a file that was not there.
    before: Option<FileStamp>,
    content: Arc<[u8]>,
    /// The text for the model.
    result: Arc<str>,
}

/// A change that is allowed.
pub(crate) struct CheckedChange<'a> {
    before: Option<FileStamp>,
    text: ChangedText<'a>,
}

/// The text of a file after a change.
enum ChangedText<'a> {
    Whole(&'a str),
    Edited(EditedText, EditResult),
}

impl From<EditInput> for FileChange {
    fn from(input: EditInput) -> Self {
        Self::Edits { path: input.file_path, edits: vec![input.edit] }
    }
}

impl From<MultiEditInput> for FileChange {
    fn from(input: MultiEditInput) -> Self {
        Self::Edits { path: input.file_path, edits: input.edits }
    }
}

impl From<WriteInput> for FileChange {
    fn from(input: WriteInput) -> Self {
        Self::Whole { path: input.file_path, content: input.content }
    }
}

impl FileChange {
    /// The path that the model named.
    pub(crate) fn path(&self) -> &str {
        match self {
            Self::Edits { path, .. } | Self::Whole { path, .. } => path,
        }
    }

    /// Makes the change in memory, for the file at this path.
    ///
    /// # Errors
    /// Why it is refused.
    pub(crate) fn prepare(&self, workspace: &impl Workspace, state: &ReadState, path: &str) -> Result<PreparedChange, String> {
        let CheckedChange { before, text } = self.checked(workspace, state, path)?;
        let (content, result) = match text {
            ChangedText::Whole(content) => {
                let lines = plural(content.lines().count() as u64, "line");
                let what = if before.is_some() { "written anew" } else { "made" };
                (content.as_bytes().to_vec(), format!("{path}: {what}, {lines}"))
            }
            ChangedText::Edited(form, edited) => {
                let notes: String = edited.notes.iter().map(|note| format!("\nnote: {note}")).collect();
                let count = plural(edited.replacements as u64, "replacement");
                let result = format!("{path}: {count}{notes}\n\n{}", shown_change(path, &form.text, &edited.text));
                (form.bytes_with(&edited.text), result)
            }
        };
        Ok(PreparedChange { path: path.into(), before, content: content.into(), result: result.into() })
    }

    /// The same without the words about it, which take longer than the change.
    ///
    /// # Errors
    /// Why it is refused.
    pub(crate) fn checked(&self, workspace: &impl Workspace, state: &ReadState, path: &str) -> Result<CheckedChange<'_>, String> {
        let with_path = |problem: FileProblem| format!("{path}: {problem}");
        let before = match workspace.facts(path) {
            Ok(facts) if facts.is_folder => return Err(with_path(FileProblem::IsFolder)),
            Ok(_) => Some(stamp(workspace, path).map_err(with_path)?),
            Err(FileProblem::Missing) => None,
            Err(problem) => return Err(with_path(problem)),
        };
        let text = match self {
            Self::Whole { content, .. } => {
                if let Some(before) = before {
                    check_read(state, path, before)?;
                }
                ChangedText::Whole(content)
            }
            Self::Edits { edits, .. } => {
                // What is wrong without any file is told first.
                if let Some(problem) = edits.first().filter(|_| edits.len() == 1).and_then(TextEdit::problem) {
                    return Err(problem.to_owned());
                }
                if edits.is_empty() {
                    return Err(String::from("there is no edit in `edits`"));
                }
                let Some(before) = before else { return Err(with_path(FileProblem::Missing)) };
                check_read(state, path, before)?;
                let content = whole_content(workspace, path, EDIT_BYTES_MAX).map_err(with_path)?;
                let form = EditedText::from_bytes(&content).map_err(|problem| format!("{path}: {problem}"))?;
                let edited = apply_all(&form, edits).map_err(|problem| format!("{path}: {problem}"))?;
                ChangedText::Edited(form, edited)
            }
        };
        Ok(CheckedChange { before, text })
    }
}

impl PreparedChange {
    /// Writes the change, unless somebody else has changed the file since it was prepared.
    ///
    /// # Errors
    /// Why nothing was written.
    pub(crate) fn write(&self, workspace: &mut impl Workspace, state: &mut ReadState) -> Result<ToolOutcome, String> {
        let path = &*self.path;
        let with_path = |problem: FileProblem| format!("{path}: {problem}");
        let now = match stamp(workspace, path) {
            Ok(now) => Some(now),
            Err(FileProblem::Missing) => None,
            Err(problem) => return Err(with_path(problem)),
        };
        match (self.before, now) {
            (Some(before), Some(now)) if before.has_changed(&now) => return Err(changed(path)),
            (None, Some(_)) => return Err(format!("{path}: somebody else has made this file in the meantime; read it first")),
            (Some(_), None) => return Err(format!("{path}: the file has gone since it was read")),
            _ => (),
        }
        workspace.write(path, &self.content).map_err(with_path)?;
        // Or the next edit would be refused.
        if let Ok(written) = stamp(workspace, path) {
            state.note(path, written);
        }
        Ok(ToolOutcome::text(&self.result))
    }
}

/// A file must have been read, and must be as it was then (B-2).
fn check_read(state: &ReadState, path: &str, now: FileStamp) -> Result<(), String> {
    match state.stamp(path) {
        None => Err(format!("{path}: the file was not read; read it first")),
        Some(before) if before.has_changed(&now) => Err(changed(path)),
        Some(_) => Ok(()),
    }
}

fn changed(path: &str) -> String {
    format!("{path}: the file has changed since it was read; read it again")
}
