//! The files of a simulated session (B-1 to B-7): what there is at the beginning, what other processes do to it, and what is wrong with the disk.

use super::language::forms::{TextTable, TrueMark, Word};
use super::language::keys::{ConvertedTable, keys};
use super::language::sections::plan::{AnyNames, Choices};
use super::language::tables::{Flat, Sections};
use super::plan::NamedChoices;
use crate::interrupt::InterruptMoment;
use crate::language::forms::word_forms;
use crate::parse::reader::TableReader;
use reenact_engine::time::Micros;
use reenact_tools::virtual_workspace::WorkspaceFaultKind;
use reenact_wire::prelude::*;

word_forms!(WorkspaceFaultKind);

keys! {
    /// `[workspace]`: files in memory. The built-in tools (Read, Edit, MultiEdit, Write, Grep, Glob, TodoWrite, Bash) work on them where the scenario gives
    /// no result. The folder is the engine's `cwd`.
    pub struct WorkspaceScript {
        /// A folder beside this file, whose files are there, by their paths in it. It is copied; nothing is written to it.
        dir: Option<String> = None, example("\"fixture\"");
        /// The files, by their paths in the folder. They are newer than those of `dir`, and the first one is the newest.
        files: Vec<(String, String)> as TextTable = Vec::new(), example("{ \"a.txt\" = \"one\\ntwo\\n\" }");
        /// How long before the session files were changed, by their paths; by default each is a second older than the one before it.
        mtime: NamedChoices<Micros> as Choices<Micros, AnyNames> = NamedChoices::new(), example("{ \"a.txt\" = \"2h\" }");
        /// Another process changes a file.
        change: Vec<ScriptedFileChange> as Sections<ScriptedFileChange> = Vec::new(), example("[{ at = \"2s\", path = \"a.txt\", text = \"three\" }]");
        /// Something is wrong with a file or a folder.
        fault: Vec<ScriptedFileFault> as Sections<ScriptedFileFault> = Vec::new(), example("[{ path = \"a.txt\", kind = \"full\" }]");
    }
}

/// Something that another process does to a file.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptedFileChange {
    /// The moment of it.
    pub moment: InterruptMoment,
    /// The path in the folder.
    pub path: Arc<str>,
    /// The new content; `None` where the file is removed.
    pub text: Option<Arc<str>>,
    /// Whether it need not come to pass (F-10).
    pub may: bool,
}

/// A fault of a file or folder.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptedFileFault {
    /// The path in the folder.
    pub path: Arc<str>,
    /// Its kind.
    pub kind: WorkspaceFaultKind,
}

keys! {
    /// `[[workspace.change]]`: another process writes or removes a file.
    pub(crate) struct FileChangeKeys {
        /// The moment of it.
        moment: Option<InterruptMoment> as Flat<Option<InterruptMoment>> = None;
        /// The path in the folder.
        path: Option<Arc<str>> = None, required, example("\"a.txt\""), checked(path_problem);
        /// The new content.
        text: Option<Arc<str>> = None;
        /// The file is removed.
        removed: bool as TrueMark = false;
        /// This need not come to pass (F-10).
        may: bool = false;
    }
}

keys! {
    /// `[[workspace.fault]]`: a fault of a file, or of a folder with all that lies in it.
    pub(crate) struct FileFaultKeys {
        /// The path in the folder.
        path: Option<Arc<str>> = None, required, example("\"a.txt\""), checked(path_problem);
        /// The kind of the fault.
        kind: Option<WorkspaceFaultKind> as Option<Word<WorkspaceFaultKind>> = None, required;
    }
}

impl ConvertedTable for ScriptedFileChange {
    type Keys = FileChangeKeys;

    fn from_keys(FileChangeKeys { moment, path, text, removed, may }: FileChangeKeys, reader: &mut TableReader<'_, '_>) -> Option<Self> {
        if reader.one_of(&["text", "removed"]).is_none() {
            let message = format!("{} needs a change", reader.title());
            reader.lacks(&["text", "removed"], message, Some("give `text`, or `removed = true`".into()));
        }
        Some(Self { moment: moment?, path: path?, text: text.filter(|_| !removed), may })
    }

    fn to_keys(&self) -> FileChangeKeys {
        let Self { moment, path, text, may } = self.clone();
        FileChangeKeys { moment: Some(moment), path: Some(path), removed: text.is_none(), text, may }
    }
}

impl ConvertedTable for ScriptedFileFault {
    type Keys = FileFaultKeys;

    fn from_keys(FileFaultKeys { path, kind }: FileFaultKeys, _: &mut TableReader<'_, '_>) -> Option<Self> {
        Some(Self { path: path?, kind: kind? })
    }

    fn to_keys(&self) -> FileFaultKeys {
        FileFaultKeys { path: Some(self.path.clone()), kind: Some(self.kind) }
    }
}

/// The mistake in a path in the folder.
pub(crate) fn path_problem(path: &str) -> Option<String> {
    let is_plain = |part: &str| !part.is_empty() && part != "." && part != "..";
    let message = || format!("`{path}` is no path in the folder: write it like `src/a.txt`, without a slash at its ends, `.` and `..`");
    (!path.split('/').all(is_plain)).then(message)
}
