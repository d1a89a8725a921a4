//! The world's part of a transcript: how a request was answered.

use reenact_engine::contract::RequestId;
use reenact_wire::compare::BodyDifference;
use reenact_wire::prelude::*;

/// A fact of the world's part for the transcript.
#[derive(Clone, Debug, PartialEq)]
pub enum WorldNote {
    /// A request got an answer.
    Served {
        /// The request.
        id: RequestId,
        /// The answer's name.
        answer: Arc<str>,
        /// Where the answer comes from: a word of [`Provenance`](reenact_scenario::tape::Provenance), or `synthetic` for the default answer.
        provenance: &'static str,
        /// How a fault changed the answer.
        fault: Option<Arc<str>>,
        /// Where the request differs from the recorded one.
        differences: Vec<BodyDifference>,
    },
    /// Something else came in the answer's place (M-4).
    Fault {
        /// The request.
        id: RequestId,
        /// The text of the note.
        text: Arc<str>,
    },
    /// The API refused a request: the error replaces the answer.
    Answered,
    /// No answer was left for a request: the run ends (M-3).
    Exhausted {
        /// The request.
        id: RequestId,
    },
}
