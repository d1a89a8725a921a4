//! Files put together to stores: what must be read together to see one session.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use reenact_files::session_files::{SessionFileEntry, files_in};
use reenact_stores::StoreFormat;
use reenact_stores::recognition::beside;
use reenact_wire::prelude::*;

use super::{Examination, UnjudgedFile};

/// Files that are read together. There is at least one.
#[derive(Clone, Debug)]
pub(super) struct SessionStore {
    pub(super) files: Vec<SessionFileEntry>,
    /// Where the paths tell it.
    pub(super) format: Option<StoreFormat>,
}

/// The stores of these files. What belongs to none is counted or told in `examination`.
pub(super) fn stores(files: Vec<SessionFileEntry>, examination: &mut Examination) -> Vec<SessionStore> {
    let mut stores = Vec::new();
    let mut sessions: BTreeMap<PathBuf, Vec<SessionFileEntry>> = BTreeMap::new();
    let mut parts = BTreeSet::new();
    for file in files {
        match (OpencodeFolder::from_path(&file.path), file.path.parent()) {
            (Some(OpencodeFolder::Message), Some(folder)) => sessions.entry(folder.to_path_buf()).or_default().push(file),
            (Some(OpencodeFolder::Part), Some(folder)) => _ = parts.insert(folder.to_path_buf()),
            _ if beside(&file.path.to_string_lossy()).is_some() => examination.beside += 1,
            _ => {
                let log = SessionFileEntry::at(Path::new(&format!("{}-wal", file.path.display())));
                stores.push(SessionStore { files: [Some(file), log].into_iter().flatten().collect(), format: None });
            }
        }
    }
    for (folder, messages) in sessions {
        let files = with_parts(&folder, messages, &mut parts);
        match files {
            Some(files) => stores.push(SessionStore { files, format: Some(StoreFormat::Opencode) }),
            None => {
                let problem = "no part of its messages is there, so nothing of them can be judged: name the folder `storage`";
                examination.unjudged.push(UnjudgedFile { path: folder, problem: problem.into() });
            }
        }
    }
    let problem = "its message is not among the files: name the folder `storage`";
    examination.unjudged.extend(parts.into_iter().map(|path| UnjudgedFile { path, problem: problem.into() }));
    stores
}

/// The kinds of folders of older opencode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OpencodeFolder {
    /// `storage/message/<session>/<message>.json`.
    Message,
    /// `storage/part/<message>/<part>.json`.
    Part,
}

impl OpencodeFolder {
    fn from_path(path: &Path) -> Option<Self> {
        let mut above = path.ancestors().skip(2).filter_map(|folder| folder.file_name());
        let (kind, storage) = (above.next()?, above.next()?);
        match kind.to_str()? {
            "message" if storage == "storage" => Some(Self::Message),
            "part" if storage == "storage" => Some(Self::Part),
            _ => None,
        }
    }
}

/// The messages of a session of older opencode with their parts, which lie in folders of their own. `None` where no message has a part. The folders are taken
/// out of `left`.
fn with_parts(folder: &Path, messages: Vec<SessionFileEntry>, left: &mut BTreeSet<PathBuf>) -> Option<Vec<SessionFileEntry>> {
    let storage = folder.ancestors().nth(2)?;
    let count = messages.len();
    let mut files = Vec::new();
    for message in messages {
        let parts = storage.join("part").join(message.path.file_stem().unwrap_or_default());
        files.push(message);
        files.extend(files_in(&parts));
        left.remove(&parts);
    }
    (files.len() > count).then_some(files)
}
