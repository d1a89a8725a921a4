//! `extends = "_base.toml"`: a scenario on top of another (F-9).
//!
//! The trees are laid over each other before anything is read: tables are merged key by key, everything else (values, and arrays such as
//! `[[prompt]]` as a whole) is taken from the scenario that extends. What is wrong is thus reported where it was written. The title and the
//! rules are what one file says of itself and are not handed on.

use super::recovery;
use super::report::DiagnosticReport;
use super::tree::{self, TreeMember, TreeTable, TreeValueKind};
use reenact_wire::prelude::*;

/// The text of a scenario, and what messages call it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceText {
    /// The file, as it was named.
    pub name: String,
    /// The content of the file.
    pub text: String,
}

/// Finds the file that one extends: it is given the value of `extends` and the name of the file that says it. An error says what is wrong
/// without the place. Files are not opened here; a scenario that comes from elsewhere may have its bases from there.
pub type FindBase<'f> = dyn FnMut(&str, &str) -> Result<SourceText, String> + 'f;

/// More than this is taken for a circle that `FindBase` did not see.
const DEPTH_MAX: usize = 32;

/// The keys that concern only the file in which they stand.
const NOT_HANDED_ON: [&str; 3] = ["extends", "title", "rules"];

/// The tree of a file on top of all that it extends.
pub(super) fn read(file: &SourceText, find_base: &mut FindBase<'_>, report: &mut DiagnosticReport) -> TreeTable {
    let mut root = read_one(file, report);
    let mut name = file.name.clone();
    let mut next = root.get("extends").cloned();
    for depth in 0.. {
        let Some(member) = next.take() else { break };
        let TreeValueKind::Text(path) = &member.value.kind else {
            if !matches!(member.value.kind, TreeValueKind::StandIn) {
                report.mismatch(&member.value, "text with the path of a scenario");
            }
            break;
        };
        let found = if depth < DEPTH_MAX { find_base(path, &name) } else { Err(format!("more than {DEPTH_MAX} scenarios in a row")) };
        match found {
            Err(message) => report.lost_base(member.value.place, message),
            Ok(base) => {
                let mut below = read_one(&base, report);
                next = below.take("extends");
                NOT_HANDED_ON.iter().for_each(|key| drop(below.take(key)));
                lay_over(&mut below, root);
                root = below;
                name = base.name;
            }
        }
    }
    root
}

/// The tree of one file.
pub(super) fn read_one(file: &SourceText, report: &mut DiagnosticReport) -> TreeTable {
    let text = file.text.strip_prefix('\u{feff}').unwrap_or(&file.text);
    let recovered = recovery::recover(text);
    let source = report.add_file(&file.name, text, &recovered);
    tree::from_file(&recovered, text, source)
}

/// Puts the members of `upper` into `base`; tables on both sides are merged in the same way.
pub(super) fn lay_over(base: &mut TreeTable, upper: TreeTable) {
    for TreeMember { key, place, value } in upper.members {
        let Some(member) = base.get_mut(&key) else {
            base.members.push(TreeMember { key, place, value });
            continue;
        };
        member.place = place;
        match (&mut member.value.kind, value.kind) {
            (TreeValueKind::Table(below), TreeValueKind::Table(above)) => {
                lay_over(below, above);
                member.value.place = value.place;
            }
            (below, above) => {
                *below = above;
                member.value.place = value.place;
            }
        }
    }
}
