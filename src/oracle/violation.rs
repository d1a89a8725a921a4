//! The complaint of an oracle.

use core::fmt;

use reenact_engine::time::Time;
use reenact_wire::prelude::*;

/// A rule that did not hold.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Violation {
    /// When it was seen.
    pub at: Time,
    /// Which: `O-2`.
    pub oracle: &'static str,
    /// The observation, in a sentence.
    pub text: String,
}

/// `O-2 at 2.514s: …`.
impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}: {}", self.oracle, self.at, self.text)
    }
}
