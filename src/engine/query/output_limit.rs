//! The output limit: ask again with a raised cap, then ask the model to continue, then say that it did not work out.

use super::outcome::QueryEnding;
use super::{Query, QueryScope, QueryVerdict, RecoveryChain};
use crate::contract::{Effect, RequestId, Terminal};
use crate::conversation::answer_name;
use crate::emission::{Emission, Transition};
use crate::retry::AttemptFailure;
use crate::settings::Settings;
use crate::texts::TextName;
use reenact_wire::prelude::*;

/// The recovery from an output limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum OutputLimitRecovery {
    /// The same again with this cap.
    Raise(u64),
    /// Keep the partial answer and ask for the rest.
    GoOn,
    /// Nothing is left.
    GiveUp,
}

/// The cap is raised once in a chain, and only from the default; the settings can name the
/// raised cap, and then it holds whatever the first one is.
fn decide(chain: RecoveryChain, max_tokens: u64, settings: &Settings) -> OutputLimitRecovery {
    let raised = settings.session.raised_max_tokens;
    let raised = raised.or((max_tokens == Settings::DEFAULT_MAX_TOKENS).then_some(Settings::RAISED_MAX_TOKENS));
    match raised {
        Some(raised) if chain.raised_cap.is_none() && chain.recoveries == 0 && raised > max_tokens => OutputLimitRecovery::Raise(raised),
        _ if chain.recoveries < settings.session.max_output_recoveries => OutputLimitRecovery::GoOn,
        _ => OutputLimitRecovery::GiveUp,
    }
}

impl Query {
    /// The error is withheld until nothing is left that could help.
    pub(super) fn on_output_limit(&mut self, scope: &mut QueryScope<'_>, id: RequestId) -> QueryVerdict {
        match decide(self.chain, self.frame.max_tokens(), &scope.env.settings) {
            OutputLimitRecovery::Raise(cap) => {
                for message in &self.turn.blocks {
                    scope.effects.push(Effect::Emit(Emission::Tombstone { uuid: message.uuid.clone() }));
                }
                self.chain.raised_cap = Some(cap);
                self.ask_again(scope, id, Transition::MaxOutputTokensEscalate)
            }
            OutputLimitRecovery::GoOn => {
                scope.memory.keep_answer(&self.turn.blocks, self.turn.usage);
                let text = scope.env.settings.texts.template(TextName::OutputLimit);
                scope.say_hidden(&format!("{}.go-on", answer_name(id)), Transition::MaxOutputTokensRecovery.as_str(), text);
                self.chain.recoveries += 1;
                self.ask_again(scope, id, Transition::MaxOutputTokensRecovery)
            }
            OutputLimitRecovery::GiveUp => {
                scope.memory.keep_answer(&self.turn.blocks, self.turn.usage);
                let failure = AttemptFailure::new("max_output_tokens", "the answer reached the output limit before it was complete");
                self.end(scope, QueryEnding::failed(Terminal::Completed, id, failure))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q_15_the_cap_is_raised_once_then_the_model_is_asked_three_times() {
        let settings = Settings::default();
        let of = |raised_cap, recoveries| {
            decide(RecoveryChain { raised_cap, recoveries, ..RecoveryChain::default() }, settings.max_tokens, &settings)
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
