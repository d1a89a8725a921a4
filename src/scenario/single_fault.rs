//! A fault of one request: what an exploration injects, and what a plan keeps of it (E-3, E-8).
//!
//! ```text
//!   request 2 ── 529, 500, 429, 400, reset ─────────────> in the answer's place
//!             └─ cut, error_event, stall, close after k ─> the answer up to its event k
//! ```

use crate::fault::known_errors::KnownError;
use crate::fault::{AnswerChange, AnswerSubstitute, ConnectFault, CutAfter, CutManner, FaultAnswer, FaultKind};
use reenact_engine::time::Micros;
use reenact_wire::prelude::*;

/// The time in a `retry-after` header.
const RETRY_AFTER: Micros = Micros::from_secs(5);

const ERROR_EVENT: &str = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;

/// A fault of one request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SingleFault {
    /// The request as transcripts name it: `2`, `2.3` for its third attempt, `p2/1` for the second prompt.
    pub request: Arc<str>,
    /// The fault.
    pub kind: SingleFaultKind,
    /// After which event of the answer, from 0 for its head. Only of kinds within an answer.
    pub after_event: u32,
    /// Which further attempts of the same request it hits.
    pub reach: FaultReach,
}

words! {
    /// The faults of single requests.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum SingleFaultKind {
        /// 529, overloaded.
        Overloaded = "overloaded",
        /// 500, an internal error.
        Internal = "internal",
        /// 429, to be tried again after five seconds.
        RateLimit = "rate_limit",
        /// 400, the prompt is too long.
        TooLong = "too_long",
        /// The connection breaks before the head of the answer.
        Reset = "reset",
        /// The connection breaks after an event.
        Cut = "cut",
        /// An `error` event comes after an event, and ends the answer.
        ErrorEvent = "error_event",
        /// Nothing more comes after an event, and the connection stays open.
        Stall = "stall",
        /// The answer ends after an event as if it were complete.
        Close = "close",
    }
}

words! {
    /// The attempts of one request that a fault hits.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum FaultReach default Once {
        /// The named attempt alone.
        Once = "once",
        /// That one and all after it that ask the same model: another model gets its answer.
        Model = "model",
        /// That one and all after it.
        Forever = "forever",
    }
}

impl SingleFaultKind {
    /// Whether it hits an answer that is on its way, after an event.
    pub fn is_within_answer(self) -> bool {
        matches!(self, Self::Cut | Self::ErrorEvent | Self::Stall | Self::Close)
    }
}

impl SingleFault {
    /// The same as a rule's kind (M-4).
    pub fn fault_kind(&self) -> FaultKind {
        let after_events = self.after_event;
        let answer = |status, error, retry_after| {
            FaultKind::Instead(AnswerSubstitute::Answer(FaultAnswer { status, error, retry_after, ..FaultAnswer::default() }))
        };
        let cut = |how| FaultKind::Change(AnswerChange::Cut { after: CutAfter::Events(after_events), how });
        match self.kind {
            SingleFaultKind::Overloaded => answer(529, None, None),
            SingleFaultKind::Internal => answer(500, None, None),
            SingleFaultKind::RateLimit => answer(429, None, Some(RETRY_AFTER)),
            SingleFaultKind::TooLong => answer(400, KnownError::named("prompt_too_long"), None),
            SingleFaultKind::Reset => FaultKind::Instead(AnswerSubstitute::Connection(ConnectFault::Reset)),
            SingleFaultKind::Cut => cut(CutManner::Reset),
            SingleFaultKind::Close => cut(CutManner::Close),
            SingleFaultKind::Stall => FaultKind::Change(AnswerChange::Stall { after_events, time: None }),
            SingleFaultKind::ErrorEvent => {
                FaultKind::Change(AnswerChange::Insert { after_events, name: "error".into(), data: ERROR_EVENT.into() })
            }
        }
    }
}

/// `overloaded at request 2, once`, `cut after event 3 of answer 2.1`.
impl core::fmt::Display for SingleFault {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { request, kind, after_event, reach } = self;
        match kind.is_within_answer() {
            true => write!(f, "{} after event {after_event} of answer {request}", kind.as_str())?,
            false => write!(f, "{} instead of answer {request}", kind.as_str())?,
        }
        match reach {
            FaultReach::Once => Ok(()),
            FaultReach::Model => f.write_str(" and of each further attempt with the same model"),
            FaultReach::Forever => f.write_str(" and of each further attempt"),
        }
    }
}
