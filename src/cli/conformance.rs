//! The scenarios that any agent loop should pass, as the program carries them (V-1, K-7).
//!
//! They are the files of `scenarios/conformance`. Around an engine `run`, `test` and `sweep` take them from a folder; `new conformance` writes it. `drive
//! --conformance` runs a client through those that a client can be asked.

use std::path::{Path, PathBuf};

use crate::files::atomic;

/// A scenario of the set.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConformanceScenario {
    /// The name of its file, without the extension.
    pub(super) name: &'static str,
    /// The file.
    pub(super) text: &'static str,
}

macro_rules! scenarios {
    ($($name:literal),+ $(,)?) => {
        /// All of them.
        pub(super) const CONFORMANCE: &[ConformanceScenario] = &[
            $(ConformanceScenario { name: $name, text: include_str!(concat!("../../scenarios/conformance/", $name, ".toml")) }),+
        ];
    };
}

scenarios![
    "answer",
    "cancelled-answer",
    "cancelled-tool",
    "cut-answer",
    "failing-tool",
    "internal-error",
    "overloaded",
    "rate-limited",
    "second-prompt",
    "thinking",
    "tool-call",
    "two-tool-calls",
    "unknown-events",
    "unknown-tool",
];

impl ConformanceScenario {
    /// Whether a client that is started once can be asked: it has one prompt, nobody interrupts, and no tool of the client has to fail.
    pub(super) fn is_for_clients(&self) -> bool {
        self.text.matches("[[prompt]]").count() == 1 && !["[[interrupt]]", "is_error"].iter().any(|part| self.text.contains(part))
    }

    /// Its file in a folder.
    pub(super) fn path_in(&self, folder: &Path) -> PathBuf {
        folder.join(self.name).with_extension("toml")
    }

    /// Writes its file into a folder.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn write(&self, folder: &Path) -> Result<PathBuf, String> {
        let path = self.path_in(folder);
        atomic::write(&path, self.text.as_bytes()).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v_1_the_program_carries_all_files_of_the_folder() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/conformance");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .expect("the folder is there")
            .map(|entry| entry.expect("it can be read").path().file_stem().expect("a file").to_string_lossy().into_owned())
            .collect();
        files.sort_unstable();
        assert_eq!(files, CONFORMANCE.iter().map(|scenario| scenario.name).collect::<Vec<_>>());
        assert!(CONFORMANCE.iter().filter(|scenario| scenario.is_for_clients()).count() > 7);
    }
}
