//! The waits before further attempts, compared with `[expect] delays` (R-1, R-2, K-6).

use alloc::collections::BTreeMap;

use reenact_engine::contract::{Agent, Effect, Input, RequestId};
use reenact_engine::time::{Micros, Time};
use reenact_transcript::event::{EventKind, Transcript};
use reenact_wire::event::EventPayload;
use reenact_wire::prelude::*;

/// How far a wait may be from what is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub struct DelayTolerance {
    early: Micros,
    late: Micros,
    late_percent: u64,
}

impl DelayTolerance {
    /// For virtual times, which are exact.
    pub(crate) const NONE: Self = Self { early: Micros::ZERO, late: Micros::ZERO, late_percent: 0 };

    /// How much sooner than asked a client may come back: clocks differ, and times are those of the network.
    #[doc(hidden)]
    pub const EARLY: Micros = Micros::from_millis(50);

    /// For clocks that go by themselves, in steps of `tick` where they are that coarse. Late is more than early: a busy machine makes a client late,
    /// and none comes too soon for it.
    #[doc(hidden)]
    pub fn from_clock(tick: Micros) -> Self {
        Self { early: Self::EARLY + tick, late: Micros::from_millis(250) + tick, late_percent: 10 }
    }

    /// How much later than asked for a timer may go off.
    pub(crate) fn lateness(self) -> Micros {
        self.late
    }

    /// The span that counts as equal to one between the two.
    pub(super) fn around(self, (least, most): (Micros, Micros)) -> (Micros, Micros) {
        (Micros(least.0.saturating_sub(self.early.0)), most + most.scaled(self.late_percent, 100) + self.late)
    }
}

/// An attempt that is not the first at its request.
#[derive(Clone, Debug, PartialEq)]
struct RepeatedAttempt {
    /// Its name among those of all agents.
    name: String,
    /// The attempt before.
    before: String,
    /// The time since that was over; `None` when it was not.
    waited: Option<Micros>,
}

/// The waits that are wrong: `wanted` has a span for each further attempt of the run, in order.
pub(crate) fn failures(transcript: &Transcript, wanted: &[(Micros, Micros)], tolerance: DelayTolerance) -> Vec<String> {
    let made = further_attempts(transcript);
    let mut failures: Vec<String> = made.iter().zip(wanted).filter_map(|(attempt, wanted)| failure(attempt, *wanted, tolerance)).collect();
    failures.extend(made.iter().skip(wanted.len()).map(|attempt| format!("{attempt}; `delays` expects no attempt there")));
    failures.extend(wanted.iter().skip(made.len()).map(|span| format!("expected a further attempt after {}, and none came", shown(*span))));
    failures
}

fn failure(attempt: &RepeatedAttempt, wanted: (Micros, Micros), tolerance: DelayTolerance) -> Option<String> {
    let (least, most) = tolerance.around(wanted);
    // Who does not wait for the end has waited for nothing.
    if (least..=most).contains(&attempt.waited.unwrap_or_default()) {
        return None;
    }
    let passes = if (least, most) == wanted { String::new() } else { format!(", and {} passes", shown((least, most))) };
    Some(format!("{attempt}; expected {}{passes}", shown(wanted)))
}

/// In order. An answer is over when it ended, when an error came in its stream, or when its client closed it, whichever is first.
fn further_attempts(transcript: &Transcript) -> Vec<RepeatedAttempt> {
    let mut over: BTreeMap<(&Agent, RequestId), Time> = BTreeMap::new();
    let mut made = Vec::new();
    for event in transcript.events.iter() {
        match &event.what {
            EventKind::Request { id, .. } if id.attempt > 1 => {
                let before = RequestId { attempt: id.attempt - 1, ..*id };
                let waited = over.get(&(&event.agent, before)).map(|over| event.at.since(*over));
                made.push(RepeatedAttempt { name: event.agent.key(*id), before: event.agent.key(before), waited });
            }
            EventKind::Input(Input::End { id, .. }) | EventKind::Effect(Effect::CloseRequest { id }) => {
                over.entry((&event.agent, *id)).or_insert(event.at);
            }
            EventKind::Input(Input::Stream { id, event: part }) if matches!(part.payload(), EventPayload::Error { .. }) => {
                over.entry((&event.agent, *id)).or_insert(event.at);
            }
            _ => (),
        }
    }
    made
}

impl core::fmt::Display for RepeatedAttempt {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { name, before, waited } = self;
        match waited {
            Some(waited) => write!(f, "request {name} came {waited} after the answer to {before} was over"),
            None => write!(f, "request {name} came before the answer to {before} was over"),
        }
    }
}

fn shown((least, most): (Micros, Micros)) -> String {
    if least == most { least.to_string() } else { format!("{least}..{most}") }
}
