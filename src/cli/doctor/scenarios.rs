//! The scenarios of findings, as files: one for each shape.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::files::atomic;
use crate::prelude::*;
use crate::review::doctor::Examination;
use crate::review::doctor::scenario::scenario;
use crate::stores::judgement::SessionFinding;

/// The file of each scenario that was written, by its text.
#[derive(Debug, Default)]
pub(in crate::cli) struct FindingScenarios {
    files: BTreeMap<String, PathBuf>,
}

impl FindingScenarios {
    /// Writes the scenarios of all findings. Findings of one shape have one scenario. A file that is there and says something else stays, and the next number is
    /// taken.
    ///
    /// # Errors
    /// Where the folder cannot be written.
    pub(super) fn write(&mut self, folder: &Path, examination: &Examination) -> Result<(), String> {
        for finding in examination.broken().flat_map(|conversation| &conversation.judgement.findings) {
            let Some(text) = scenario(finding).filter(|text| !self.files.contains_key(text)) else { continue };
            let kind = finding.violation.kind.as_str();
            let mut paths = (1_u32..).map(|number| folder.join(format!("{kind}-{number}.toml")));
            let is_free = |path: &PathBuf| {
                !self.files.values().any(|known| known == path) && fs::read_to_string(path).map_or(!path.exists(), |there| there == text)
            };
            let Some(path) = paths.find(is_free) else { continue };
            atomic::write(&path, text.as_bytes())
                .map_err(|error| format!("{}: cannot be written ({error}): name another folder with --out", path.display()))?;
            self.files.insert(text, path);
        }
        Ok(())
    }

    /// The scenario that shows a finding, where one was written.
    pub(in crate::cli) fn file(&self, finding: &SessionFinding) -> Option<&Path> {
        self.files.get(&scenario(finding)?).map(PathBuf::as_path)
    }

    /// How many were written.
    pub(super) fn count(&self) -> usize {
        self.files.len()
    }
}
