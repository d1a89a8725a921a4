//! `preset = "claude-code-2.1.329"` in `[engine]`: the settings of a preset lie under those of the scenario (F-13).
//!
//! The trees are laid over each other like those of `extends`, for each run of a matrix by itself: a preset can be varied, and set from outside.

use super::extends::{SourceText, lay_over, read_one};
use super::report::DiagnosticReport;
use super::tree::{TreeTable, TreeValueKind};
use crate::presets::files;
use reenact_wire::prelude::*;

/// The tables of a preset's file that are laid under a scenario.
const SETTINGS: [&str; 2] = ["engine", "texts"];

/// The presets that a file has asked for: each is read once.
#[derive(Default)]
pub(super) struct PresetTrees(Vec<(String, TreeTable)>);

impl PresetTrees {
    /// Lays the preset that a tree names under it. A name that is not known is reported where the key is read.
    pub(super) fn apply(&mut self, root: &mut TreeTable, report: &mut DiagnosticReport) {
        let Some(name) = preset_name(root) else { return };
        let Some(mut below) = self.tree(&name, report) else { return };
        lay_over(&mut below, core::mem::take(root));
        *root = below;
    }

    fn tree(&mut self, name: &str, report: &mut DiagnosticReport) -> Option<TreeTable> {
        if let Some((_, tree)) = self.0.iter().find(|(known, _)| known == name) {
            return Some(tree.clone());
        }
        let text = files::text(name)?;
        let mut tree = read_one(&SourceText { name: format!("preset {name}"), text: text.into() }, report);
        tree.members.retain(|member| SETTINGS.contains(&member.key.as_str()));
        self.0.push((name.into(), tree.clone()));
        Some(tree)
    }
}

fn preset_name(root: &TreeTable) -> Option<String> {
    match &root.get("engine")?.value.member("preset")?.value.kind {
        TreeValueKind::Text(name) => Some(name.clone()),
        _ => None,
    }
}
