//! The decision about a stream that broke, by how it broke (R-11, `broken_streams = "by_cause"`).
//!
//! ```text
//!   cut, error event ──> a complete tool use ──> kept, its tool runs
//!                   └──> a complete text ──────> kept, the model is asked to go on
//!   cut before that ──> streamed again after a wait
//!   error event before that ──> a first delta ──> asked for whole at once
//!                          └──> none ───────────> streamed again some times, without a notice
//!   silence, disorder, an empty body ──> asked for whole at once
//! ```

use super::{FailedAttempt, RetryDecision, backoff, by_word_or_table};
use crate::settings::BrokenStreamPolicy;

/// How a stream broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum StreamBreak {
    /// The connection ended, or the stream did without its last event.
    Cut,
    /// The API said that something went wrong.
    ErrorEvent,
    /// Nothing came for too long.
    Silence,
    /// Events came that the order of a stream does not allow.
    Disorder,
    /// The body is empty.
    Empty,
}

/// How far a stream came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct StreamProgress {
    /// Whether a block has begun to come.
    pub(crate) has_delta: bool,
    /// Whether a block other than a tool use is complete.
    pub(crate) has_words: bool,
    /// Whether a tool use is complete.
    pub(crate) has_tool_use: bool,
}

/// The decision; `None` where the settings decide by blocks, or where no stream broke.
pub(super) fn decide(case: &FailedAttempt<'_>) -> Option<RetryDecision> {
    let FailedAttempt { failure, call, history, settings, .. } = case;
    let broke = failure.broke.filter(|_| call.streamed && call.answered && failure.status.is_none())?;
    if settings.broken_streams == BrokenStreamPolicy::ByBlock {
        return None;
    }
    let StreamProgress { has_delta, has_words, has_tool_use } = call.progress;
    Some(match broke {
        StreamBreak::Cut | StreamBreak::ErrorEvent if has_words || has_tool_use => RetryDecision::KeepPart,
        StreamBreak::Cut => return None,
        StreamBreak::ErrorEvent if !has_delta && settings.silent_retries == 0 => return None,
        StreamBreak::ErrorEvent if !has_delta && history.silent < settings.silent_retries => {
            RetryDecision::Silent(backoff::computed(case, history.silent, settings.max_delay))
        }
        _ if !settings.nonstreaming_fallback => RetryDecision::GiveUp(None),
        // What is asked for in place of a broken stream is no retry of it.
        _ => {
            let fresh = FailedAttempt { history: super::CallHistory { retries: 0, unannounced: 0, ..*history }, ..*case };
            match by_word_or_table(&fresh) {
                RetryDecision::After { .. } => RetryDecision::WithoutStreaming,
                other => other,
            }
        }
    })
}

/// Whether what was handed up of a stream that broke makes no difference to what follows.
pub(super) fn goes_by_cause(case: &FailedAttempt<'_>) -> bool {
    case.settings.broken_streams == BrokenStreamPolicy::ByCause && case.failure.broke.is_some()
}

#[cfg(test)]
mod tests {
    use super::super::{AttemptFailure, CallHistory, CallKind, decide as decide_all};
    use super::*;
    use crate::contract::RequestId;
    use crate::random::Seed;
    use crate::settings::RetrySettings;
    use crate::time::Time;

    fn decided(broke: StreamBreak, progress: StreamProgress, settings: &RetrySettings) -> RetryDecision {
        let kind = if broke == StreamBreak::ErrorEvent { "overloaded_error" } else { "incomplete_stream" };
        let failure = AttemptFailure::new(kind, "").broken_by(broke);
        let handed_up = progress.has_words || progress.has_tool_use;
        let call = CallKind { streamed: true, answered: true, handed_up, progress, ..CallKind::default() };
        let (id, now, history) = (RequestId::first(1), Time::ZERO, CallHistory::default());
        decide_all(&FailedAttempt { failure: &failure, id, now, call, history, settings, seed: Seed(1), given: None })
    }

    #[test]
    fn r_11_by_setting_how_a_stream_broke_decides() {
        use StreamBreak::{Cut, Disorder, Empty, ErrorEvent, Silence};
        let settings = RetrySettings { broken_streams: BrokenStreamPolicy::ByCause, ..RetrySettings::default() };
        let nothing = StreamProgress::default();
        let delta = StreamProgress { has_delta: true, ..nothing };
        let words = StreamProgress { has_words: true, ..delta };
        let tool_use = StreamProgress { has_tool_use: true, ..delta };
        for progress in [nothing, delta] {
            assert!(matches!(decided(Cut, progress, &settings), RetryDecision::After { .. }), "{progress:?}");
        }
        assert!(matches!(decided(ErrorEvent, nothing, &settings), RetryDecision::After { .. }));
        for (broke, progress) in [(Cut, words), (ErrorEvent, words), (Cut, tool_use), (ErrorEvent, tool_use)] {
            assert_eq!(decided(broke, progress, &settings), RetryDecision::KeepPart, "{broke:?} {progress:?}");
        }
        assert_eq!(decided(ErrorEvent, delta, &settings), RetryDecision::WithoutStreaming);
        let silent = RetrySettings { silent_retries: 1, ..settings.clone() };
        assert!(matches!(decided(ErrorEvent, nothing, &silent), RetryDecision::Silent(_)));
        let streaming = RetrySettings { nonstreaming_fallback: false, ..settings.clone() };
        for broke in [Silence, Disorder, Empty] {
            assert_eq!(decided(broke, delta, &settings), RetryDecision::WithoutStreaming, "{broke:?}");
            assert_eq!(decided(broke, delta, &streaming), RetryDecision::GiveUp(None), "{broke:?}, and no other way to ask");
        }
        let usual = RetrySettings::default();
        assert_eq!(decided(Cut, words, &usual), RetryDecision::WithoutStreaming, "by default blocks decide");
        assert!(matches!(decided(Silence, delta, &usual), RetryDecision::After { .. }));
    }
}
