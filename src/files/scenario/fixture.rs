//! The folder of a `[workspace]`: its files are read once, and a session has them in memory.

use std::fs;
use std::path::{Path, PathBuf};

use super::references::ReferenceBounds;
use reenact_scenario::types::Scenario;
use reenact_wire::prelude::*;
use reenact_world::CopiedFile;

/// So many files a folder may have.
const FILES_MAX: usize = 20_000;

/// So many bytes they may have together.
const BYTES_MAX: u64 = 256 << 20;

/// The files of a folder, in the order of their paths. `.git` is left out.
pub(super) fn read(folder: &Path, bounds: &ReferenceBounds) -> Result<Vec<CopiedFile>, String> {
    bounds.check("dir", folder)?;
    if !folder.is_dir() {
        return Err(format!("there is no folder {}; the path is relative to the file that names it", folder.display()));
    }
    let mut files = Vec::new();
    let mut bytes = 0;
    let mut folders = vec![PathBuf::new()];
    while let Some(inner) = folders.pop() {
        let problem = |error: std::io::Error| format!("{} cannot be read: {error}", folder.join(&inner).display());
        for entry in fs::read_dir(folder.join(&inner)).map_err(problem)? {
            let entry = entry.map_err(problem)?;
            let (kind, path) = (entry.file_type().map_err(problem)?, inner.join(entry.file_name()));
            if kind.is_dir() {
                folders.extend((entry.file_name() != ".git").then_some(path));
                continue;
            }
            if !kind.is_file() {
                return Err(format!("{} is neither a file nor a folder: files in memory have no links", entry.path().display()));
            }
            bytes += entry.metadata().map_err(problem)?.len();
            if files.len() == FILES_MAX || bytes > BYTES_MAX {
                let folder = folder.display();
                return Err(format!("{folder} has more than {FILES_MAX} files or {} MiB, which is the limit", BYTES_MAX >> 20));
            }
            let path = path.to_str().ok_or_else(|| format!("{} is not UTF-8", path.display()))?.to_owned();
            let content = fs::read(entry.path()).map_err(|error| format!("{} cannot be read: {error}", entry.path().display()))?;
            files.push((path, Arc::from(content)));
        }
    }
    files.sort();
    Ok(files)
}

/// The mistake in a path of `mtime`: neither the folder nor the scenario has it.
pub(super) fn unknown_path(scenario: &Scenario, copied: &[CopiedFile]) -> Option<String> {
    let workspace = scenario.workspace.as_ref()?;
    let written = workspace.change.iter().filter(|change| change.text.is_some()).map(|change| &*change.path);
    let paths = copied.iter().map(|(path, _)| path.as_str()).chain(workspace.files.iter().map(|(path, _)| path.as_str()));
    let known: Vec<&str> = paths.chain(written).collect();
    let unknown = workspace.mtime.keys().find(|path| !known.contains(&&***path));
    unknown.map(|path| format!("`mtime` names `{path}`, which is neither in this folder nor among the files: correct the spelling"))
}
