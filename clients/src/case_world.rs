//! The world of a case, and the times between the requests of a client in it.

/// The world that answers a client.
#[derive(Debug)]
pub(super) enum CaseWorld {
    /// A prompt and an answer, to which this is done: keys of a `[[fault]]`.
    Faults(&'static str),
    /// A scenario of this checkout.
    Shipped(&'static str),
    /// A scenario of its own.
    Text(&'static str),
}

/// The time between two requests.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestGap {
    pub(super) at_least_ms: u64,
    pub(super) at_most_ms: u64,
}

impl RequestGap {
    pub(super) const fn between(at_least_ms: u64, at_most_ms: u64) -> Self {
        Self { at_least_ms, at_most_ms }
    }
}

impl CaseWorld {
    /// The scenario or its faults, for people.
    pub(super) fn shown(&self) -> String {
        let (Self::Shipped(text) | Self::Faults(text) | Self::Text(text)) = self;
        text.replace('\n', ", ")
    }
}
