//! The end of all faults (O-18): how many came before, and how many did not come since.

use core::hash::{Hash, Hasher};

use super::World;

/// The faults of a run, and its answers that fail.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FaultGate {
    came: u32,
    /// How many did not come since the gate was closed; `None` as long as it is open.
    withheld: Option<u32>,
}

/// How many faults came is only reported; whether the next one comes is part of a key (E-3).
impl Hash for FaultGate {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.withheld.is_some().hash(state);
    }
}

impl FaultGate {
    /// Whether the next fault comes.
    pub(crate) fn admits(&mut self) -> bool {
        match &mut self.withheld {
            Some(withheld) => *withheld += 1,
            None => self.came += 1,
        }
        self.withheld.is_none()
    }

    fn close(&mut self) {
        self.withheld.get_or_insert_default();
    }
}

impl World {
    /// From here on, no fault of the scenario comes and no answer fails: a request gets the next answer that is whole, or the default answer.
    pub fn heal(&mut self) {
        self.user.on_injected();
        self.model.faults.close();
    }

    /// How many faults came.
    pub fn faults(&self) -> u32 {
        self.model.faults.came
    }

    /// The same with those that did not come because the world was healed.
    pub fn faults_with_withheld(&self) -> u32 {
        self.model.faults.came + self.model.faults.withheld.unwrap_or_default()
    }
}
