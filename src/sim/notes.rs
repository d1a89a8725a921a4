//! Notes of the world about an answer, for the transcript.

use reenact_engine::contract::Agent;
use reenact_transcript::event::{EventKind, RunEnd};
use reenact_world::{FileChangeNote, WorldNote};

/// Tells a note; returns the end of the run when there is not an answer.
#[doc(hidden)]
pub fn note_world(agent: &Agent, note: WorldNote, mut tell: impl FnMut(EventKind)) -> Option<RunEnd> {
    match note {
        WorldNote::Served { id, answer, provenance, fault, differences } => {
            if let Some(text) = fault {
                tell(EventKind::Fault { id, text });
            }
            tell(EventKind::Served { id, answer, provenance: provenance.into() });
            for difference in differences {
                tell(EventKind::Difference { id, difference: (&difference).into() });
            }
            None
        }
        WorldNote::Answered => None,
        WorldNote::Fault { id, text } => {
            tell(EventKind::Fault { id, text });
            None
        }
        WorldNote::Exhausted { id } => Some(RunEnd::TapeExhausted { agent: agent.clone(), id }),
    }
}

/// A changed file, for the transcript.
pub(crate) fn file_event(FileChangeNote { difference, tool }: &FileChangeNote) -> EventKind {
    EventKind::File {
        path: difference.path.clone(),
        change: difference.word().into(),
        tool: tool.clone(),
        lines: difference.changed_lines().into(),
    }
}
