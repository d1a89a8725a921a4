//! What a session is given beside model and tools, as flat keys of `[engine]` (S-11).

use super::Out;
use crate::engine::settings::SessionSettings;

/// What is not as usual.
pub(super) fn session(out: &mut Out, session: &SessionSettings) {
    let SessionSettings { fallback_model, max_turns, raised_max_tokens, token_budget, max_budget, task_budget, date } = session;
    if let Some(model) = fallback_model {
        out.text("fallback_model", model);
    }
    if let Some(turns) = max_turns {
        out.raw("max_turns", turns);
    }
    if let Some(tokens) = raised_max_tokens {
        out.raw("raised_max_tokens", tokens);
    }
    if let Some(tokens) = token_budget {
        out.raw("token_budget", tokens);
    }
    if let Some(sum) = max_budget {
        out.text("max_budget_usd", &sum.exact());
    }
    if let Some(tokens) = task_budget {
        out.raw("task_budget", tokens);
    }
    if *date != SessionSettings::default().date {
        out.text("date", &date.to_string());
    }
}
