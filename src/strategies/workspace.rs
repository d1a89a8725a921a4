//! Files that tools work on, other processes that change them, and faults of the disk.

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::interrupts::moment;
use super::values::some_time;
use reenact_scenario::workspace::{ScriptedFileChange, ScriptedFileFault, WorkspaceScript};
use reenact_tools::virtual_workspace::WorkspaceFaultKind;
use reenact_wire::prelude::*;

/// Paths of files that tool uses name, too.
const PATHS: [&str; 3] = ["a.rs", "src/b.rs", "notes.md"];

/// Files, changes and faults.
pub fn workspace() -> BoxedStrategy<WorkspaceScript> {
    let content = || select(vec!["", "a\n", "x = a\r\nb\r\n", "a a\nTODO\n", "no end"]);
    let files = vec(content(), PATHS.len());
    let files = files.prop_map(|contents| {
        let files = PATHS.into_iter().zip(contents);
        files.map(|(path, content)| (String::from(path), String::from(content))).collect::<Vec<_>>()
    });
    let change = (moment(), select(PATHS.to_vec()), option::weighted(0.8, content()));
    let change =
        change.prop_map(|(moment, path, text)| ScriptedFileChange { moment, path: path.into(), text: text.map(Into::into), may: true });
    let fault = (select(PATHS.to_vec()), select(WorkspaceFaultKind::ALL.to_vec()));
    let fault = fault.prop_map(|(path, kind)| ScriptedFileFault { path: path.into(), kind });
    let mtime = btree_map(select(PATHS.to_vec()).prop_map(Arc::from), some_time(), 0..2);
    (files, mtime, vec(change, 0..3), vec(fault, 0..2))
        .prop_map(|(files, mtime, change, fault)| WorkspaceScript { dir: None, files, mtime, change, fault })
        .boxed()
}
