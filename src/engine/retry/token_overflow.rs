//! Input and output together are more than the context window: room for the output is what is left beside the input.

use super::{AttemptFailure, FailedAttempt, RetryDecision};
use reenact_wire::error::ContextFigures;

/// The reaction to an overflow; `None` for other failures.
pub(super) fn decide(case: &FailedAttempt<'_>) -> Option<RetryDecision> {
    let FailedAttempt { failure, call, history, settings, .. } = case;
    let room = room(failure)?;
    let floor = settings.overflow_floor.max(call.thinking_budget.map_or(0, |budget| budget.saturating_add(1)));
    let lowered = room.saturating_sub(settings.overflow_margin).min(call.max_tokens);
    // The figures need not be about this request, where something on the way changes it. A cap that takes nothing away asks the same again.
    let is_hopeless = history.lowered || lowered < floor || lowered >= call.max_tokens;
    Some(if is_hopeless { RetryDecision::PromptTooLong } else { RetryDecision::LowerMaxTokens(lowered) })
}

/// How many tokens the input leaves; zero when the API does not say.
fn room(failure: &AttemptFailure) -> Option<u64> {
    match failure.figures {
        _ if failure.status != Some(400) => None,
        Some(ContextFigures::InputAndMaxTokens { input_tokens, limit, .. }) => Some(limit.saturating_sub(input_tokens)),
        _ => failure.message.contains("exceed context limit").then_some(0),
    }
}
