//! `cp` and `mv` over files in memory.

use reenact_wire::prelude::*;

use super::program_end::{ProgramEnd, located, system_text};
use super::{VirtualEntry, VirtualWorkspace, name, parent};
use crate::workspace::{FileProblem, Workspace, lies_below};

/// Where something with this name comes to lie: in a folder under its name.
fn target(workspace: &VirtualWorkspace, from: &str, to: &str) -> Result<(String, String), FileProblem> {
    let path = located(workspace, to)?;
    if workspace.is_folder(&path) {
        let name = name(from.trim_end_matches('/'));
        return Ok((format!("{}/{name}", path.trim_end_matches('/')), format!("{}/{name}", to.trim_end_matches('/'))));
    }
    Ok((path, to.to_owned()))
}

/// A file or folder on its way to another name.
struct Transfer {
    source: String,
    entry: VirtualEntry,
    target: String,
    /// The target as it is written.
    shown: String,
}

impl Transfer {
    /// Looks at both names. What stands in the way is told.
    fn new(workspace: &VirtualWorkspace, program: &str, from: &str, to: &str, may_be_folder: bool, end: &mut ProgramEnd) -> Option<Self> {
        let mut fail = |text: String| {
            end.fail(1, &format!("{program}: {text}"));
            None
        };
        let (source, entry) = match located(workspace, from).and_then(|path| Ok((path.clone(), workspace.entry(&path).cloned()?))) {
            Ok(found) => found,
            Err(problem) => return fail(format!("cannot stat '{from}': {}", system_text(&problem))),
        };
        let is_folder = matches!(entry, VirtualEntry::Folder);
        if is_folder && !may_be_folder {
            return fail(format!("-r not specified; omitting directory '{from}'"));
        }
        let (target, shown) = match target(workspace, from, to) {
            Ok(target) => target,
            Err(problem) => return fail(format!("cannot stat '{to}': {}", system_text(&problem))),
        };
        match workspace.entry(&target) {
            Err(problem @ FileProblem::NotFolder) => return fail(format!("cannot stat '{shown}': {}", system_text(&problem))),
            _ if target == source => return fail(format!("'{from}' and '{shown}' are the same file")),
            Ok(VirtualEntry::File(_)) if is_folder => {
                return fail(format!("cannot overwrite non-directory '{shown}' with directory '{from}'"));
            }
            Ok(VirtualEntry::Folder) if !is_folder => {
                return fail(format!("cannot overwrite directory '{shown}' with non-directory"));
            }
            _ => (),
        }
        Some(Self { source, entry, target, shown })
    }

    fn is_into_itself(&self) -> bool {
        lies_below(&self.target, &self.source)
    }

    fn has_place(&self, workspace: &VirtualWorkspace) -> Result<(), FileProblem> {
        if workspace.is_folder(parent(&self.target)) { Ok(()) } else { Err(FileProblem::Missing) }
    }
}

pub(super) fn copy(workspace: &mut VirtualWorkspace, from: &str, to: &str, is_recursive: bool, end: &mut ProgramEnd) {
    let Some(transfer) = Transfer::new(workspace, "cp", from, to, is_recursive, end) else { return };
    let Transfer { source, target, shown, .. } = &transfer;
    if transfer.is_into_itself() && transfer.has_place(workspace).is_ok() {
        return end.fail(1, &format!("cp: cannot copy a directory, '{from}', into itself, '{shown}'"));
    }
    if workspace.check_readable(source).is_err() {
        return end.fail(1, &format!("cp: cannot open '{from}' for reading: {}", system_text(&FileProblem::Denied)));
    }
    let (what, result) = match &transfer.entry {
        VirtualEntry::File(file) => ("regular file", transfer.has_place(workspace).and_then(|()| workspace.write(target, &file.content))),
        VirtualEntry::Folder => {
            let writable = transfer.has_place(workspace).and_then(|()| workspace.check_writable(target));
            ("directory", writable.map(|()| workspace.make_folders(target)))
        }
    };
    match result {
        Err(problem) => end.fail(1, &format!("cp: cannot create {what} '{shown}': {}", system_text(&problem))),
        Ok(()) => {
            let names: Vec<String> = workspace.children(source).map(|(path, _)| name(path).to_owned()).collect();
            for name in names.iter().filter(|_| what == "directory") {
                copy(workspace, &format!("{from}/{name}"), shown, is_recursive, end);
            }
        }
    }
}

pub(super) fn rename(workspace: &mut VirtualWorkspace, from: &str, to: &str, end: &mut ProgramEnd) {
    let Some(transfer) = Transfer::new(workspace, "mv", from, to, true, end) else { return };
    let Transfer { source, target, shown, .. } = &transfer;
    if transfer.is_into_itself() && transfer.has_place(workspace).is_ok() {
        return end.fail(1, &format!("mv: cannot move '{from}' to a subdirectory of itself, '{shown}'"));
    }
    let is_filled = workspace.children(target).next().is_some();
    let result = match transfer.has_place(workspace) {
        Ok(()) if is_filled => Err(String::from("Directory not empty")),
        place => place
            .and_then(|()| workspace.check_writable(target))
            .and_then(|()| workspace.check_readable(source))
            .map_err(|problem| system_text(&problem)),
    };
    if let Err(problem) = result {
        return end.fail(1, &format!("mv: cannot move '{from}' to '{shown}': {problem}"));
    }
    let moved: Vec<(Arc<str>, VirtualEntry)> = workspace
        .entries
        .iter()
        .filter(|(known, _)| ***known == **source || lies_below(known, source))
        .map(|(known, entry)| (Arc::from(format!("{target}{}", &known[source.len()..])), entry.clone()))
        .collect();
    workspace.displace(source);
    Arc::make_mut(&mut workspace.entries).extend(moved);
}
