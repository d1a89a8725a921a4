//! What a session is given beside model and tools (S-11): flat keys of `[engine]`.

use super::reader::Reader;
use crate::engine::settings::SessionSettings;

/// Reads them; what is not said keeps its default.
pub(super) fn session(reader: &mut Reader<'_, '_>) -> SessionSettings {
    let mut session = SessionSettings::default();
    reader.set_some("fallback_model", &mut session.fallback_model);
    session.max_turns = reader.get_above_zero("max_turns", "a prompt has at least 1 turn");
    reader.set_some("raised_max_tokens", &mut session.raised_max_tokens);
    session.token_budget = reader.get_above_zero("token_budget", "a budget of nothing cannot be used up").map(u64::from);
    session
}
