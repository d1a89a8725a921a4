//! The limits of a run (M-9): how each is called where it is reached, how high it is, and which key raises it.

use reenact_scenario::types::RunLimits;
use reenact_transcript::event::RunEnd;
use reenact_transcript::text;
use reenact_wire::prelude::*;
use reenact_world::setup::RunSetup;

/// On the virtual time.
#[doc(hidden)]
pub const TIME: &str = "virtual time";
/// On the inputs of the engine.
pub(super) const EVENTS: &str = "events";
/// On requests, attempts counted.
pub const REQUESTS: &str = "requests";

/// On the timers that ring at one instant of virtual time: what rings so often gets nowhere (O-19). No key raises it.
pub(super) const LIVELOCK: &str = "timers in a row at one instant";

/// The end of a run, in a few words; of a limit its height too, and the key that raises it.
#[doc(hidden)]
pub fn end_text(setup: &RunSetup, end: &RunEnd) -> String {
    let short = text::end_text(end);
    if let RunEnd::TapeExhausted { agent, id } = end
        && setup.scenario.tape.is_none()
    {
        return format!("no [[prompt.turn]] is left for request {}", agent.key(*id));
    }
    let RunEnd::LimitReached { limit } = end else { return short };
    let RunLimits { time, events, requests } = setup.scenario.limits;
    let (key, height) = match &**limit {
        TIME => ("time", time.to_string()),
        EVENTS => ("events", events.to_string()),
        REQUESTS => ("requests", requests.to_string()),
        _ => return short,
    };
    format!("{short}; it is {height}, and `{key}` in [limits] (--set limits.{key}=…) raises it")
}
