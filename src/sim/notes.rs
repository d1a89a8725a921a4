//! Notes of the world about an answer, for the transcript.

use reenact_engine::contract::Agent;
use reenact_engine::time::Time;
use reenact_transcript::event::{EventKind, RunEnd};
use reenact_transcript::watch::TranscriptWatch;
use reenact_world::WorldNote;

/// Passes a note to a watcher; returns the end of the run when there is not an answer.
#[doc(hidden)]
pub fn note_world(watcher: &mut impl TranscriptWatch, now: Time, agent: &Agent, note: WorldNote) -> Option<RunEnd> {
    match note {
        WorldNote::Served { id, answer, provenance, fault, differences } => {
            if let Some(text) = fault {
                watcher.note(now, agent, &EventKind::Fault { id, text });
            }
            watcher.note(now, agent, &EventKind::Served { id, answer, provenance: provenance.into() });
            for difference in differences {
                watcher.note(now, agent, &EventKind::Difference { id, difference: (&difference).into() });
            }
            None
        }
        WorldNote::Answered => None,
        WorldNote::Fault { id, text } => {
            watcher.note(now, agent, &EventKind::Fault { id, text });
            None
        }
        WorldNote::Exhausted { id } => Some(RunEnd::TapeExhausted { agent: agent.clone(), id }),
    }
}
