//! The result of a tool call, as a client sent it.

use reenact_wire::prelude::*;

/// The result of a tool call, as a client sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallResult {
    /// The id of the call.
    pub id: Arc<str>,
    /// Its text, with single blanks.
    pub text: String,
}
