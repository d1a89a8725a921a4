//! Notes of the world about an answer, for the transcript.

use reenact_engine::contract::Agent;
use reenact_transcript::event::{EventKind, RunEnd};
use reenact_wire::prelude::*;
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

/// A changed file, for the transcript, with the agent that changed it.
pub(crate) fn file_event(FileChangeNote { difference, tool }: &FileChangeNote) -> (Agent, EventKind) {
    let agent = tool.as_ref().map_or(Agent::ROOT, |(agent, _)| agent.clone());
    let tool = tool.as_ref().map(|(_, run)| run.to_string().into());
    let (path, lines) = (difference.path.clone(), difference.changed_lines().into());
    (agent, EventKind::File { path, change: difference.word().into(), tool, lines })
}
