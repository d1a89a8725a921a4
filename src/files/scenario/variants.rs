//! Variants of one scenario: the same tape, tables and schemas, and another text (E-5).

use super::super::{schema, tape};
use super::{LoadError, LoadedScenario};
use reenact_scenario::tape::Tape;
use reenact_scenario::types::Scenario;
use reenact_wire::prelude::*;
use reenact_world::setup::RunSetup;

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
