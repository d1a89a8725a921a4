//! The states that a call goes through.

use super::CallState;
use crate::diagram::Diagram;
use CallCause::*;
use CallPhase::*;

/// The states without their data.
#[derive(Clone, Copy, Debug, PartialEq, Hash)]
pub(crate) enum CallPhase {
    Due,
    AwaitingHead,
    AwaitingBody,
    Streaming,
    Waiting,
    Refreshing,
    Abandoned,
    Ended,
}

/// The causes of a change of state.
#[derive(Clone, Copy, Debug, PartialEq, Hash)]
pub(crate) enum CallCause {
    Start,
    /// An attempt is made.
    Request,
    Head,
    FirstEvent,
    WholeAnswer,
    /// An answer that broke off counts as far as it came.
    KeptPart,
    /// An answer failed of which blocks were handed on.
    LateFailure,
    CredentialRefresh,
    Wait,
    NextAttempt,
    Fallback,
    /// No attempt is left.
    GiveUp,
    Abort,
}

/// How one answer is come by, with all attempts at it.
pub(crate) const DIAGRAM: Diagram<CallPhase, CallCause> = Diagram {
    machine: "call",
    edges: &[
        (None, Start, Due),
        (Some(Abandoned), NextAttempt, Due),
        (Some(Abandoned), Wait, Waiting),
        (Some(AwaitingBody), Abort, Ended),
        (Some(AwaitingBody), WholeAnswer, Ended),
        (Some(AwaitingBody), CredentialRefresh, Refreshing),
        (Some(AwaitingBody), Fallback, Ended),
        (Some(AwaitingBody), FirstEvent, Streaming),
        (Some(AwaitingBody), GiveUp, Ended),
        (Some(AwaitingBody), NextAttempt, Due),
        (Some(AwaitingBody), Wait, Waiting),
        (Some(AwaitingHead), Abort, Ended),
        (Some(AwaitingHead), GiveUp, Ended),
        (Some(AwaitingHead), Head, AwaitingBody),
        (Some(AwaitingHead), Wait, Waiting),
        (Some(Due), Abort, Ended),
        (Some(Due), Request, AwaitingHead),
        (Some(Refreshing), Abort, Ended),
        (Some(Refreshing), GiveUp, Ended),
        (Some(Refreshing), NextAttempt, Due),
        (Some(Refreshing), Wait, Waiting),
        (Some(Streaming), Abort, Ended),
        (Some(Streaming), WholeAnswer, Ended),
        (Some(Streaming), LateFailure, Abandoned),
        (Some(Streaming), Fallback, Ended),
        (Some(Streaming), GiveUp, Ended),
        (Some(Streaming), NextAttempt, Due),
        (Some(Streaming), KeptPart, Ended),
        (Some(Streaming), Wait, Waiting),
        (Some(Waiting), Abort, Ended),
        (Some(Waiting), NextAttempt, Due),
        (Some(Waiting), Wait, Waiting),
    ],
};

impl CallState {
    pub(super) fn phase(&self) -> CallPhase {
        match self {
            Self::Due(_) => Due,
            Self::AwaitingHead => AwaitingHead,
            Self::Streaming { .. } => Streaming,
            Self::AwaitingBody { .. } => AwaitingBody,
            Self::Waiting { .. } => Waiting,
            Self::Refreshing(_) => Refreshing,
            Self::Abandoned(..) => Abandoned,
            Self::Ended => Ended,
        }
    }
}
