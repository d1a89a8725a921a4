//! How full the context is, and what follows from it: the figures of C-3, C-4 and Q-5.
//!
//! ```text
//!   0 ───────────── warning ──────── threshold ────── hard ── effective ───────── window
//!                       └─ 20,000 below ─┘└──── 13,000 ────────┘└─ room for the answer ─┘
//! ```

use crate::conversation::{Conversation, ConversationItem};
use crate::session::prompt::RequestFrame;
use crate::settings::{CompactionSettings, ContextWindow, Environment};

/// The levels of the context that mean something, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ContextThresholds {
    /// The window less the room for an answer.
    pub(super) effective: u64,
    /// From here on staged summaries are committed (C-3).
    pub(super) commit: u64,
    /// From here on all is summarised (C-4).
    pub(super) threshold: u64,
    /// From here on the user is warned.
    pub(super) warning: u64,
    /// From here on no request is made (Q-5).
    pub(super) hard: u64,
}

impl ContextThresholds {
    /// The figures for a request to this model; `None` where its window is not known, or plays no part.
    pub(super) fn for_model(env: &Environment, model: &str) -> Option<Self> {
        let settings = &env.settings.compaction;
        if settings.context_window == ContextWindow::None { None } else { Some(Self::from_window(settings, window(env, model)?)) }
    }

    fn from_window(settings: &CompactionSettings, window: u64) -> Self {
        let effective = window.saturating_sub(answer_room(settings));
        let threshold = effective.saturating_sub(settings.margin);
        Self {
            effective,
            commit: share(effective, settings.collapse_percent),
            threshold,
            warning: threshold.saturating_sub(settings.warning_margin),
            hard: effective.saturating_sub(settings.hard_margin),
        }
    }
}

/// How many tokens a request to this model may have; `None` where that is not known. It is known where compaction does without it, too.
pub(super) fn window(env: &Environment, model: &str) -> Option<u64> {
    match env.settings.compaction.context_window {
        ContextWindow::Tokens(tokens) => Some(tokens),
        ContextWindow::Auto | ContextWindow::None => env.windows.tokens(model),
    }
}

/// The room that is kept for the longest answer.
pub(super) fn answer_room(settings: &CompactionSettings) -> u64 {
    settings.output_cap.unwrap_or(u64::MAX).min(settings.output_reserve)
}

/// About how many tokens a request for the conversation has: what the API counted last, and for newer content what the tokenizer says, if there
/// is one, or else the estimate. What comes with the messages, `frame`, is estimated until the API has counted it.
pub(super) fn context_tokens(env: &Environment, frame: &RequestFrame, conversation: &Conversation) -> u64 {
    conversation.tokens_by(|| frame.tokens(), |item| item_tokens(env, item))
}

/// About how many tokens an item has: what the tokenizer says, if there is one, or else the estimate.
pub(super) fn item_tokens(env: &Environment, item: &ConversationItem) -> u64 {
    env.tokenizer.blocks(&item.message.content)
}

/// How many tokens of a context go when all but what `stays` is replaced (C-8a): what C-4 counted, less what stays. `whole` and `stays` are
/// estimates. Where the API counted less than the estimate for the whole, every part of it shrinks alike.
pub(super) fn replaced_tokens(context: u64, whole: u64, stays: u64) -> u64 {
    if context >= whole {
        return context.saturating_sub(stays);
    }
    let share = u128::from(context) * u128::from(whole.saturating_sub(stays)) / u128::from(whole);
    u64::try_from(share).unwrap_or(context)
}

/// So many percent of a figure, rounded down; split so that no window is too large for it.
fn share(figure: u64, percent: u32) -> u64 {
    let percent = u64::from(percent);
    (figure / 100).saturating_mul(percent).saturating_add(figure % 100 * percent / 100)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::RequestId;
    use crate::conversation::ItemKind;
    use crate::tokenizer::{CountTokens, Tokenizer};
    use reenact_wire::block::Block;
    use reenact_wire::prelude::*;
    use reenact_wire::usage::Usage;

    #[test]
    fn c_4_the_figures_follow_from_window_and_output_cap() {
        let of = |window, output_cap| {
            let settings = CompactionSettings { output_cap, ..CompactionSettings::default() };
            ContextThresholds::from_window(&settings, window)
        };
        let usual = ContextThresholds { effective: 180_000, commit: 162_000, threshold: 167_000, warning: 147_000, hard: 177_000 };
        assert_eq!(of(200_000, None), usual);
        assert_eq!(of(200_000, Some(64_000)), usual, "no more than 20,000 are kept free");
        let small = ContextThresholds { effective: 192_000, commit: 172_800, threshold: 179_000, warning: 159_000, hard: 189_000 };
        assert_eq!(of(200_000, Some(8_000)), small);
        assert_eq!(of(10_000, None), ContextThresholds { effective: 0, commit: 0, threshold: 0, warning: 0, hard: 0 });
    }

    #[test]
    fn c_4_the_window_is_that_of_the_model_a_number_or_none() {
        let hard = |context_window, model| {
            let mut env = Environment::default();
            env.settings.compaction.context_window = context_window;
            ContextThresholds::for_model(&env, model).map(|figures| figures.hard)
        };
        assert_eq!(hard(ContextWindow::Auto, "claude-sonnet-4-5"), Some(177_000));
        assert_eq!(hard(ContextWindow::Auto, "claude-opus-5-5"), Some(977_000), "another model has another window");
        assert_eq!(hard(ContextWindow::Auto, "another"), None, "an unknown window has no figures");
        assert_eq!(hard(ContextWindow::Tokens(100_000), "claude-opus-5-5"), Some(77_000));
        assert_eq!(hard(ContextWindow::None, "claude-sonnet-4-5"), None);
    }

    /// Every block has ten tokens.
    #[derive(Debug)]
    struct TenTokenCounter;

    impl CountTokens for TenTokenCounter {
        fn tokens(&self, _block: &Block) -> u64 {
            10
        }
    }

    #[test]
    fn c_4_a_tokenizer_counts_what_the_api_has_not() {
        let mut conversation = Conversation::default();
        conversation.push_user("p1", ItemKind::Prompt, vec![Block::text("a"), Block::text("b")]);
        let mut env = Environment::default();
        let frame = RequestFrame::from_environment(&env);
        assert_eq!(context_tokens(&env, &frame, &conversation), frame.tokens() + 4, "without one, by characters");
        env.tokenizer = Tokenizer::new(TenTokenCounter);
        assert_eq!(context_tokens(&env, &frame, &conversation), frame.tokens() + 20);
        let usage = Usage { input_tokens: Some(500), output_tokens: Some(1), ..Usage::default() };
        conversation.push_answer(RequestId::first(1), vec![Block::text("c")], Some(usage));
        conversation.push_user("p2", ItemKind::Prompt, vec![Block::text("d")]);
        assert_eq!(context_tokens(&env, &frame, &conversation), 501 + 10, "what the API has counted holds");
    }

    #[test]
    fn c_8a_what_is_replaced_is_the_count_less_what_stays() {
        let table = [
            (1_000, 1_000, 300, 700, "the estimate is all there is"),
            (175_000, 100, 60, 174_940, "the API counted more"),
            (500, 1_000, 400, 300, "the API counted half of the estimate"),
            (0, 1_000, 400, 0, "the API counted nothing"),
            (0, 0, 0, 0, "there is nothing"),
            (u64::MAX - 1, u64::MAX, 0, u64::MAX - 1, "no figure is too large"),
        ];
        for (context, whole, stays, replaced, reason) in table {
            assert_eq!(replaced_tokens(context, whole, stays), replaced, "{reason}");
        }
    }

    #[test]
    fn c_3_spans_are_committed_before_all_is_summarised() {
        let figures = ContextThresholds::from_window(&CompactionSettings::default(), 200_000);
        assert!(figures.commit < figures.threshold);
        assert_eq!(share(u64::MAX, 100), u64::MAX);
        assert_eq!(share(199, 90), 179);
    }
}
