//! The work of a person with transcripts, recordings and sessions: differences in words (V-2), tests of scenarios (V-1), the review of pending snapshots
//! (V-3), timelines as text (V-8), recordings as lines that are compared (V-2), and a doctor of stored sessions (V-9).
//!
//! Its rules are in `docs/rules/review.md`.

pub mod diff_text;
pub mod doctor;
#[cfg(feature = "harness")]
pub mod harness;
pub mod pending;
pub mod recording_text;
pub mod review_session;
pub mod scenario_tests;
pub mod show_text;
