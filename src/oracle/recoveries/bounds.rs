//! The reference model of O-34: which recovery an answer calls for, and how often each may be made.
//!
//! It is written from the rules and the settings, apart from the engine's own decisions.

use reenact_engine::emission::Transition;
use reenact_engine::settings::{BrokenStreamPolicy, PausePolicy, Settings};

/// How often each transition was made.
#[derive(Clone, Copy, Debug, Default, Hash)]
pub(super) struct TransitionCounts([u32; Transition::ALL.len()]);

impl TransitionCounts {
    /// One more.
    pub(super) fn add(&mut self, transition: Transition) {
        if let Some(count) = place(transition).and_then(|place| self.0.get_mut(place)) {
            *count = count.saturating_add(1);
        }
    }

    pub(super) fn get(&self, transition: Transition) -> u32 {
        place(transition).and_then(|place| self.0.get(place)).copied().unwrap_or_default()
    }
}

fn place(transition: Transition) -> Option<usize> {
    Transition::ALL.iter().position(|known| *known == transition)
}

/// The span in which the transitions of one kind are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum CountSpan {
    /// One after the other, with no other transition between them.
    InARow,
    /// From one `next_turn` to the next.
    Chain,
    /// A prompt.
    Prompt,
}

/// How often a transition may be made, and in what; `None` for any number.
pub(super) fn bound(transition: Transition, settings: &Settings) -> Option<(u32, CountSpan)> {
    let is_by_block = settings.retry.broken_streams == BrokenStreamPolicy::ByBlock;
    let has_budget = settings.session.token_budget.is_some();
    Some(match transition {
        Transition::CollapseDrainRetry => (u32::from(settings.compaction.collapse), CountSpan::Chain),
        Transition::ReactiveCompactRetry => (u32::from(settings.compaction.reactive), CountSpan::Chain),
        Transition::MaxOutputTokensEscalate => (1, CountSpan::Chain),
        Transition::MaxOutputTokensRecovery => (settings.session.max_output_recoveries, CountSpan::Chain),
        Transition::PauseTurnResume if settings.on_pause == PausePolicy::Resume => (settings.max_pause_resumes, CountSpan::InARow),
        Transition::PauseTurnResume => (0, CountSpan::Chain),
        Transition::RefusalRetry => (u32::from(settings.retry_refusal), CountSpan::Prompt),
        Transition::AnswerNudge => (settings.empty_answer_nudges.max(settings.missing_tool_use_nudges), CountSpan::InARow),
        Transition::CutOffRecovery if is_by_block => (0, CountSpan::Chain),
        Transition::TokenBudgetContinuation if !has_budget => (0, CountSpan::Prompt),
        _ => return None,
    })
}

/// The facts about a whole answer that decide what follows.
#[derive(Clone, Copy, Debug, Hash)]
pub(super) struct ObservedAnswer<'a> {
    /// Why the model stopped.
    pub(super) stop_reason: Option<&'a str>,
    /// Whether it asks for a tool.
    pub(super) has_tool_use: bool,
    /// Whether nothing came of it.
    pub(super) is_empty: bool,
    /// The cap on output tokens of its request.
    pub(super) max_tokens: u64,
}

/// The recovery that an answer calls for, given those of its chain and its prompt; `None` when none is left, or none is needed.
pub(super) fn due(
    answer: ObservedAnswer<'_>,
    chain: &TransitionCounts,
    prompt: &TransitionCounts,
    settings: &Settings,
) -> Option<Transition> {
    if answer.has_tool_use {
        return None;
    }
    let nudges = |most: u32| (chain.get(Transition::AnswerNudge) < most).then_some(Transition::AnswerNudge);
    match answer.stop_reason? {
        "max_tokens" | "model_context_window_exceeded" => output_limit(answer.max_tokens, chain, settings),
        "pause_turn" | "compaction" => {
            let may_go_on = chain.get(Transition::PauseTurnResume) < settings.max_pause_resumes;
            (settings.on_pause == PausePolicy::Resume && may_go_on).then_some(Transition::PauseTurnResume)
        }
        // A note about a refusal takes the place of the retry, and leaves no transition of its own.
        "refusal" => (settings.retry_refusal && !settings.refusal_notes && prompt.get(Transition::RefusalRetry) == 0)
            .then_some(Transition::RefusalRetry),
        "end_turn" | "stop_sequence" if answer.is_empty => nudges(settings.empty_answer_nudges),
        "tool_use" => nudges(settings.missing_tool_use_nudges),
        _ => None,
    }
}

///
fn output_limit(max_tokens: u64, chain: &TransitionCounts, settings: &Settings) -> Option<Transition> {
    let [raised, recovered] =
        [Transition::MaxOutputTokensEscalate, Transition::MaxOutputTokensRecovery].map(|transition| chain.get(transition));
    let by_default = (max_tokens == Settings::DEFAULT_MAX_TOKENS).then_some(Settings::RAISED_MAX_TOKENS);
    let can_raise = settings.session.raised_max_tokens.or(by_default).is_some_and(|cap| cap > max_tokens);
    match () {
        () if raised == 0 && recovered == 0 && can_raise => Some(Transition::MaxOutputTokensEscalate),
        () if recovered < settings.session.max_output_recoveries => Some(Transition::MaxOutputTokensRecovery),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(made: &[Transition]) -> TransitionCounts {
        let mut counts = TransitionCounts::default();
        made.iter().for_each(|transition| counts.add(*transition));
        counts
    }

    #[test]
    fn o_34_the_output_limit_calls_for_the_raised_cap_once_and_then_for_three_continuations() {
        use Transition::{MaxOutputTokensEscalate as Raise, MaxOutputTokensRecovery as Recover};
        let cut = ObservedAnswer { stop_reason: Some("max_tokens"), has_tool_use: false, is_empty: false, max_tokens: 8_000 };
        let table: [(&[Transition], u64, Option<Transition>); 6] = [
            (&[], 8_000, Some(Raise)),
            (&[], 500, Some(Recover)),
            (&[Raise], 64_000, Some(Recover)),
            (&[Recover], 8_000, Some(Recover)),
            (&[Raise, Recover, Recover], 64_000, Some(Recover)),
            (&[Raise, Recover, Recover, Recover], 64_000, None),
        ];
        for (made, max_tokens, expected) in table {
            let found = due(ObservedAnswer { max_tokens, ..cut }, &counts(made), &counts(made), &Settings::default());
            assert_eq!(found, expected, "{made:?}, {max_tokens}");
        }
        let with_tool = ObservedAnswer { has_tool_use: true, ..cut };
        assert_eq!(due(with_tool, &counts(&[]), &counts(&[]), &Settings::default()), None);
    }

    #[test]
    fn o_34_other_stop_reasons_call_for_what_the_settings_have_on() {
        let settings = Settings { retry_refusal: true, empty_answer_nudges: 1, missing_tool_use_nudges: 1, ..Settings::default() };
        let of = |stop_reason, made: &[Transition], settings: &Settings| {
            let answer = ObservedAnswer { stop_reason: Some(stop_reason), has_tool_use: false, is_empty: true, max_tokens: 1 };
            due(answer, &counts(made), &counts(made), settings)
        };
        for (stop_reason, expected) in [
            ("pause_turn", Transition::PauseTurnResume),
            ("refusal", Transition::RefusalRetry),
            ("end_turn", Transition::AnswerNudge),
            ("tool_use", Transition::AnswerNudge),
        ] {
            assert_eq!(of(stop_reason, &[], &settings), Some(expected), "{stop_reason}");
            assert_eq!(of(stop_reason, &[expected; 10], &settings), None, "{stop_reason}, used up");
            let is_on = expected == Transition::PauseTurnResume;
            assert_eq!(of(stop_reason, &[], &Settings::default()).is_some(), is_on, "{stop_reason}, by default");
        }
    }

    #[test]
    fn o_34_what_is_off_may_not_be_tried() {
        let settings = Settings { on_pause: PausePolicy::End, ..Settings::default() };
        for transition in [Transition::PauseTurnResume, Transition::RefusalRetry, Transition::AnswerNudge, Transition::CutOffRecovery] {
            assert_eq!(bound(transition, &settings).map(|(most, _)| most), Some(0), "{transition:?}");
        }
        assert_eq!(bound(Transition::NextTurn, &settings), None);
        assert_eq!(bound(Transition::StopHookBlocking, &settings), None);
    }
}
