//! The current activity of a session, for consumers (S-11: status reports).
//!
//! ```text
//!   idle ──> requesting ──> compacting ──> requesting ──> … ──> idle, right before the result
//! ```
//!
//! A status holds until the next one. Attempts at the same request and the tools of its answer are no status of their own: consumers see both
//! in other messages.

use super::agent_effects::AgentEffects;
use super::contract::Effect;
use super::emission::Emission;
use super::settings::Environment;

/// The model is asked.
pub(crate) const REQUESTING: &str = "requesting";
/// The conversation is being summarised: nothing of that call is emitted.
pub(crate) const COMPACTING: &str = "compacting";
/// The prompt is answered, and no other waits.
pub(crate) const IDLE: &str = "idle";

/// Emits it, if the settings ask for it.
pub(crate) fn report(env: &Environment, status: &str, effects: &mut AgentEffects) {
    if env.settings.session.status_reports {
        effects.push(Effect::Emit(Emission::Status { status: status.into() }));
    }
}
