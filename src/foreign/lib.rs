//! Clients other than our engine: the session of one, and its verdict (K-6, G-1, G-2).
//!
//! `live` has their connections; here is what is the same without them. No clock and no I/O: the owner of the client says when something happens.

#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod client_deeds;
mod client_rules;
mod exploration;
pub mod exploration_lines;
#[doc(hidden)]
pub mod judge;
mod line_answer;
pub mod line_host;
mod line_run;
pub mod lines;
pub mod open_line;
pub mod questions;
pub mod run_trace;
mod scripted_acts;
pub mod session;
pub mod verdict;
#[doc(hidden)]
pub mod verdict_json;
mod world_events;

#[cfg(test)]
mod tests;

use reenact_world::model_request::AnswerTerms;
use reenact_world::setup::RunSetup;

/// The header of an answer that is none of the scenario's: `tape_exhausted` (M-3).
pub const END_HEADER: &str = "x-reenact-end";

/// The assumptions of a session about its client and of the way to it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SessionTerms {
    /// Where answers are not as the scenario is written.
    pub answers: AnswerTerms,
    /// The client whose requests come.
    pub client: ServedClient,
    /// Whether a driver does to the client what the scenario's interrupts say.
    pub is_driven: bool,
    /// Whether each event of a stream is a part of its own, whatever its packets are.
    pub by_event: bool,
    /// The contents of the verdict's transcript.
    pub keeps: TranscriptExtent,
    /// Whether the choices that are drawn are kept for a plan (F-11).
    pub notes_choices: bool,
}

/// The client of a session, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ServedClient {
    /// A client's of which nothing else is seen: what cannot be asked of it fails the verdict, unless it may be left out (F-10).
    #[default]
    Foreign,
    /// Those of the scenario's engine, which is asked for the rest elsewhere.
    OwnEngine,
}

/// The contents of the verdict's transcript.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TranscriptExtent {
    /// Requests and all that was sent.
    #[default]
    Everything,
    /// Requests, and of what was sent the heads and ends alone: what many long streams can afford (K-8).
    Outlines,
}

/// Answers for clients that compute with token counts, and that enable thinking on their own: scripted answers tell how many tokens their requests had,
/// and the API does not insist on thinking that none of them has. Recorded answers stay as they are.
pub fn answer_terms(setup: &RunSetup) -> AnswerTerms {
    let thinks = |piece: &reenact_wire::prelude::Arc<[u8]>| memchr::memmem::find(piece, b"\"thinking\"").is_some();
    let tells_tokens = setup.scenario.tape.is_none();
    let lacks_thinking = tells_tokens && !setup.answers.iter().flat_map(|answer| &*answer.pieces).any(thinks);
    AnswerTerms { tells_tokens, lacks_thinking, ..AnswerTerms::default() }
}
