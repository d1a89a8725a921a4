//! Variants of one scenario: the same tape, tables and schemas, and another text (E-5).

use super::super::{open, schema, tape};
use super::{LoadError, LoadedScenario};
use reenact_scenario::language::scenario_text;
use reenact_scenario::parse;
use reenact_scenario::tape::Tape;
use reenact_scenario::types::Scenario;
use reenact_wire::prelude::*;
use reenact_world::setup::RunSetup;

/// A scenario that stands alone, from its text.
///
/// # Errors
/// Everything that is wrong; a text that names files or is a matrix.
pub fn from_text(name: &str, text: &str, overrides: &[(String, String)]) -> Result<Arc<RunSetup>, LoadError> {
    let parsed = parse::scenario(name, text, overrides).map_err(LoadError::Diagnostics)?;
    let mut setup = RunSetup::new(parsed.scenario, None).map_err(|error| LoadError::Tape(error.to_string()))?;
    schema::attach(&mut setup.environment);
    Ok(setup.into())
}

/// Makes variants of a scenario ready.
#[derive(Clone, Debug)]
pub struct ScenarioVariants {
    original: Arc<RunSetup>,
    tape: Option<Tape>,
}

impl ScenarioVariants {
    /// Reads the tape again, if there is one: a scenario that is only run does not keep it.
    ///
    /// # Errors
    /// When the tape cannot be read.
    pub fn new(loaded: &LoadedScenario) -> Result<Self, LoadError> {
        let read = |file: &std::path::PathBuf| tape::read(file).map_err(|error| LoadError::Tape(error.to_string()));
        Ok(Self { original: loaded.setup.clone(), tape: loaded.tape_file.as_ref().map(read).transpose()? })
    }

    /// A variant that can be run; `None` when it is no whole scenario.
    pub fn ready(&self, scenario: Scenario) -> Option<Arc<RunSetup>> {
        let mut setup = RunSetup::new(scenario, self.tape.as_ref()).ok()?;
        setup.check_results().ok()?;
        setup.copy_files(self.original.copied_files().clone());
        setup.environment.prices = self.original.environment.prices.clone();
        setup.environment.windows = self.original.environment.windows.clone();
        if setup.environment.tools == self.original.environment.tools {
            // They are compiled at their first use, which takes longer than a small run.
            setup.environment.validators = self.original.environment.validators.clone();
        } else {
            schema::attach(&mut setup.environment);
        }
        Some(setup.into())
    }
}

/// The digest of a scenario: of all that it says, with what it extends, and of the files that it names.
///
/// # Errors
/// When one of them cannot be read.
pub fn digest(loaded: &LoadedScenario) -> std::io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    let text = scenario_text(&loaded.setup.scenario, &[]);
    hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
    for file in [&loaded.tape_file, &loaded.prices_file, &loaded.windows_file] {
        let bytes = file.as_ref().map(|file| open::read(file, u64::MAX)).transpose()?.unwrap_or_default();
        hasher.update(&(bytes.len() as u64).to_le_bytes()).update(&bytes);
    }
    for (path, content) in loaded.setup.copied_files().iter() {
        for part in [path.as_bytes(), content] {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
    }
    Ok(hasher.finalize().to_hex().as_str().into())
}

/// The digest of any bytes.
pub fn bytes_digest(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().as_str().into()
}
