//! What a scenario and a tape mean: types, parsing from text, checking. Reading files is another room's work.

pub mod latency;
mod members;
pub mod tape;
pub mod types;
