//! The decision after an answer: a pure function of its blocks, its stop reason, and what was tried before.
//!
//! Blocks decide, not the stop reason: an answer with a complete tool use has a follow-up under any reason.

use super::answer_recovery::{AnswerDisposal, AnswerRecovery};
use super::output_limit::{self, OutputLimitRecovery};
use super::recoveries::Recoveries;
use crate::retry::AttemptFailure;
use crate::settings::{PausePolicy, Settings};
use AnswerDecision::{Completed, Fail, FollowUp, Recover, StopRefusedTools};
use reenact_wire::prelude::*;

/// The facts about an answer that the decision needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct AnswerFacts<'a> {
    /// The stop reason; `None` when the API gave none.
    pub(super) stop_reason: Option<&'a str>,
    /// Whether it holds a complete tool use.
    pub(super) has_tool_use: bool,
    /// Whether it holds anything at all.
    pub(super) is_empty: bool,
    /// Whether its stream broke, and what came of it stands.
    pub(super) is_part: bool,
    /// The cap on output tokens that the prompt began with.
    pub(super) max_tokens: u64,
}

/// The decision about an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum AnswerDecision {
    /// Wait for the tools, then ask again.
    FollowUp,
    /// Answer its tool uses with an error, then ask again.
    StopRefusedTools,
    /// The turn ended well; `defect` names what is odd about the answer.
    Completed {
        /// A short name, if something is odd.
        defect: Option<&'static str>,
    },
    /// Ask once more.
    Recover(AnswerRecovery),
    /// The prompt ends as an error.
    Fail(AnswerFailure),
}

/// The fault of an answer that ends the prompt as an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum AnswerFailure {
    /// The output limit was reached and nothing more can be done about it.
    OutputLimit,
    /// The pause limit is reached.
    PausedTooOften,
    /// It announced a tool use once too often without one.
    NoToolUse,
    /// The model refused: the partial answer is not kept.
    Refused,
}

impl AnswerFailure {
    /// The part of it that later prompts see.
    pub(super) fn disposal(self) -> AnswerDisposal {
        match self {
            Self::OutputLimit | Self::PausedTooOften => AnswerDisposal::Kept,
            Self::NoToolUse | Self::Refused => AnswerDisposal::Dropped,
        }
    }

    /// The error in the place of an answer; a refusal may have a category.
    pub(super) fn error(self, category: Option<&str>) -> AttemptFailure {
        match self {
            Self::OutputLimit => AttemptFailure::new("max_output_tokens", "the answer reached the output limit before it was complete"),
            Self::PausedTooOften => {
                AttemptFailure::new("paused_too_often", "the model paused its answer again after the last allowed resumption")
            }
            Self::NoToolUse => {
                AttemptFailure::new("malformed_tool_use_exhausted", "the model announced a tool use again and again, and made none")
            }
            Self::Refused => {
                let category = category.unwrap_or("none given");
                AttemptFailure::new("refusal", &format!("the model refused to answer (category: {category})"))
            }
        }
    }
}

/// Decides what follows an answer. A recovery counts at once, so none is carried out that does not count.
pub(super) fn decide(answer: AnswerFacts<'_>, tried: &mut Recoveries, settings: &Settings) -> AnswerDecision {
    let decision = look_up(answer, *tried, settings);
    match decision {
        Recover(recovery) => tried.count(recovery),
        StopRefusedTools => tried.refusal_retried = true,
        FollowUp | Completed { .. } | Fail(_) => (),
    }
    decision
}

/// Q-23's table.
fn look_up(answer: AnswerFacts<'_>, tried: Recoveries, settings: &Settings) -> AnswerDecision {
    if answer.has_tool_use {
        let is_stopped = settings.refusal_notes && answer.stop_reason == Some("refusal");
        return if is_stopped { StopRefusedTools } else { FollowUp };
    }
    if answer.is_part {
        return Recover(AnswerRecovery::CutOff);
    }
    let (chain, missing) = (tried.chain, settings.missing_tool_use_nudges);
    match answer.stop_reason {
        Some("end_turn" | "stop_sequence") if answer.is_empty && chain.nudges < settings.empty_answer_nudges => {
            Recover(AnswerRecovery::NoOutput)
        }
        Some("tool_use") if chain.nudges < missing => Recover(AnswerRecovery::NoToolUse),
        Some("tool_use") if missing > 0 => Fail(AnswerFailure::NoToolUse),
        Some("pause_turn" | "compaction") if settings.on_pause == PausePolicy::End => Completed { defect: None },
        Some("end_turn" | "stop_sequence") => Completed { defect: answer.is_empty.then_some("empty-answer") },
        Some("max_tokens" | "model_context_window_exceeded") => match output_limit::decide(chain, answer.max_tokens, settings) {
            OutputLimitRecovery::Raise(cap) => Recover(AnswerRecovery::RaisedCap(cap)),
            OutputLimitRecovery::GoOn => Recover(AnswerRecovery::Continuation),
            OutputLimitRecovery::GiveUp => Fail(AnswerFailure::OutputLimit),
        },
        Some("pause_turn" | "compaction") if chain.pauses < settings.max_pause_resumes => Recover(AnswerRecovery::Resumption),
        Some("pause_turn" | "compaction") => Fail(AnswerFailure::PausedTooOften),
        Some("refusal") if settings.retry_refusal && !tried.refusal_retried => match settings.refusal_notes {
            true => Recover(AnswerRecovery::RefusalNote),
            false => Recover(AnswerRecovery::RefusalRetry),
        },
        Some("refusal") => Fail(AnswerFailure::Refused),
        Some("tool_use") => Completed { defect: Some("stop-reason-without-tool-use") },
        None => Completed { defect: Some("no-stop-reason") },
        Some(_) => Completed { defect: Some("unknown-stop-reason") },
    }
}

#[cfg(test)]
mod tests {
    use super::super::recoveries::RecoveryChain;
    use super::*;

    const PLAIN: AnswerFacts<'_> =
        AnswerFacts { stop_reason: None, has_tool_use: false, is_empty: false, is_part: false, max_tokens: Settings::DEFAULT_MAX_TOKENS };

    fn tried(pauses: u32, nudges: u32) -> Recoveries {
        Recoveries { chain: RecoveryChain { pauses, nudges, ..RecoveryChain::default() }, refusal_retried: false }
    }

    #[test]
    fn q_23_the_table() {
        let settings = Settings { retry_refusal: true, ..Settings::default() };
        let odd = |name| Completed { defect: Some(name) };
        let well = Completed { defect: None };
        let table = [
            (Some("end_turn"), well),
            (Some("stop_sequence"), well),
            (Some("max_tokens"), Recover(AnswerRecovery::RaisedCap(64_000))),
            (Some("model_context_window_exceeded"), Recover(AnswerRecovery::RaisedCap(64_000))),
            (Some("pause_turn"), Recover(AnswerRecovery::Resumption)),
            (Some("compaction"), Recover(AnswerRecovery::Resumption)),
            (Some("refusal"), Recover(AnswerRecovery::RefusalRetry)),
            (Some("tool_use"), odd("stop-reason-without-tool-use")),
            (None, odd("no-stop-reason")),
            (Some("something_new"), odd("unknown-stop-reason")),
        ];
        for (stop_reason, expected) in table {
            assert_eq!(look_up(AnswerFacts { stop_reason, ..PLAIN }, tried(0, 0), &settings), expected, "{stop_reason:?}");
            let with_tool = AnswerFacts { stop_reason, has_tool_use: true, ..PLAIN };
            assert_eq!(look_up(with_tool, tried(0, 0), &settings), FollowUp, "{stop_reason:?}: blocks decide");
        }
    }

    #[test]
    fn q_23_limits_and_settings() {
        let (settings, none) = (Settings::default(), tried(0, 0));
        let of = |stop_reason, tried| look_up(AnswerFacts { stop_reason: Some(stop_reason), ..PLAIN }, tried, &settings);
        assert_eq!(of("refusal", none), Fail(AnswerFailure::Refused), "off by default");
        assert_eq!(of("pause_turn", tried(9, 0)), Recover(AnswerRecovery::Resumption));
        assert_eq!(of("pause_turn", tried(10, 0)), Fail(AnswerFailure::PausedTooOften));
        let empty = AnswerFacts { stop_reason: Some("end_turn"), is_empty: true, ..PLAIN };
        assert_eq!(look_up(empty, none, &settings), Completed { defect: Some("empty-answer") });
        let nudging = Settings { empty_answer_nudges: 1, missing_tool_use_nudges: 2, ..Settings::default() };
        assert_eq!(look_up(empty, none, &nudging), Recover(AnswerRecovery::NoOutput));
        assert_eq!(look_up(empty, tried(0, 1), &nudging), Completed { defect: Some("empty-answer") });
        let announced = AnswerFacts { stop_reason: Some("tool_use"), ..PLAIN };
        assert_eq!(look_up(announced, tried(0, 1), &nudging), Recover(AnswerRecovery::NoToolUse));
        assert_eq!(look_up(announced, tried(0, 2), &nudging), Fail(AnswerFailure::NoToolUse));
        let ending = Settings { on_pause: PausePolicy::End, ..Settings::default() };
        let paused = AnswerFacts { stop_reason: Some("pause_turn"), ..PLAIN };
        assert_eq!(look_up(paused, none, &ending), Completed { defect: None });
        let telling = Settings { retry_refusal: true, refusal_notes: true, ..Settings::default() };
        let refused = AnswerFacts { stop_reason: Some("refusal"), ..PLAIN };
        assert_eq!(look_up(refused, none, &telling), Recover(AnswerRecovery::RefusalNote));
        assert_eq!(look_up(AnswerFacts { has_tool_use: true, ..refused }, none, &telling), StopRefusedTools);
        let part = AnswerFacts { is_part: true, ..PLAIN };
        assert_eq!(look_up(part, none, &settings), Recover(AnswerRecovery::CutOff), "R-11");
        assert_eq!(look_up(AnswerFacts { has_tool_use: true, ..part }, none, &settings), FollowUp);
        let again = Settings { retry_refusal: true, ..Settings::default() };
        let refused_before = Recoveries { refusal_retried: true, ..none };
        assert_eq!(look_up(refused, refused_before, &again), Fail(AnswerFailure::Refused));
    }
}
