//! The output limit: ask again with a raised cap, then ask the model to continue, then say that it did not work out. A pure function.

use super::recoveries::RecoveryChain;
use crate::settings::Settings;

/// The recovery from an output limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum OutputLimitRecovery {
    /// The same again with this cap.
    Raise(u64),
    /// Keep the partial answer and ask for the rest.
    GoOn,
    /// Nothing is left.
    GiveUp,
}

/// The cap is raised once in a chain, and only from the default; the settings can name the
/// raised cap, and then it holds whatever the first one is.
pub(super) fn decide(chain: RecoveryChain, max_tokens: u64, settings: &Settings) -> OutputLimitRecovery {
    let raised = settings.session.raised_max_tokens;
    let raised = raised.or((max_tokens == Settings::DEFAULT_MAX_TOKENS).then_some(Settings::RAISED_MAX_TOKENS));
    match raised {
        Some(raised) if chain.raised_cap.is_none() && chain.continuations == 0 && raised > max_tokens => OutputLimitRecovery::Raise(raised),
        _ if chain.continuations < settings.session.max_output_recoveries => OutputLimitRecovery::GoOn,
        _ => OutputLimitRecovery::GiveUp,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q_15_the_cap_is_raised_once_then_the_model_is_asked_three_times() {
        let settings = Settings::default();
        let of = |raised_cap, continuations| {
            decide(RecoveryChain { raised_cap, continuations, ..RecoveryChain::default() }, settings.max_tokens, &settings)
        };
        assert_eq!(of(None, 0), OutputLimitRecovery::Raise(64_000));
        assert_eq!(of(Some(64_000), 0), OutputLimitRecovery::GoOn);
        assert_eq!(of(Some(64_000), 2), OutputLimitRecovery::GoOn);
        assert_eq!(of(Some(64_000), 3), OutputLimitRecovery::GiveUp);
    }

    #[test]
    fn q_15_a_client_that_asks_for_nothing_more_ends_at_once() {
        let mut settings = Settings { max_tokens: 500, ..Settings::default() };
        settings.session.max_output_recoveries = 0;
        assert_eq!(decide(RecoveryChain::default(), settings.max_tokens, &settings), OutputLimitRecovery::GiveUp);
    }

    #[test]
    fn q_15_a_chosen_cap_is_raised_only_to_a_chosen_one() {
        let mut settings = Settings { max_tokens: 500, ..Settings::default() };
        assert_eq!(decide(RecoveryChain::default(), settings.max_tokens, &settings), OutputLimitRecovery::GoOn);
        settings.session.raised_max_tokens = Some(600);
        assert_eq!(decide(RecoveryChain::default(), settings.max_tokens, &settings), OutputLimitRecovery::Raise(600));
        settings.session.raised_max_tokens = Some(500);
        assert_eq!(decide(RecoveryChain::default(), settings.max_tokens, &settings), OutputLimitRecovery::GoOn, "that would be no raise");
    }
}
