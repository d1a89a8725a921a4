//! The decision after an answer: a pure function of its blocks and its stop reason.
//!
//! Blocks decide, not the stop reason: an answer with a complete tool use has a follow-up under any reason.

use super::correction::CorrectionCause;
use crate::settings::{PausePolicy, Settings};

/// The facts about an answer that the decision needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct AnswerFacts<'a> {
    /// The stop reason; `None` when the API gave none.
    pub(crate) stop_reason: Option<&'a str>,
    /// Whether it holds a complete tool use.
    pub(crate) has_tool_use: bool,
    /// Whether it holds anything at all.
    pub(crate) is_empty: bool,
    /// Whether its stream broke, and what came of it stands.
    pub(crate) is_part: bool,
    /// How often the model was asked for what its answer lacks.
    pub(crate) nudges: u32,
    /// How many paused answers came right before it.
    pub(crate) pauses: u32,
    /// Whether a refusal was tried again in this prompt.
    pub(crate) refusal_retried: bool,
}

/// The decision about an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum AnswerDecision {
    /// Wait for the tools, then ask again.
    FollowUp,
    /// The turn ended well; `defect` names what is odd about the answer.
    Completed {
        /// A short name, if something is odd.
        defect: Option<&'static str>,
    },
    /// The output limit was reached and nothing more can be done about it.
    OutputLimit,
    /// Send the same messages with the answer as it is.
    ResumePause,
    /// The pause limit is reached: ends as an error.
    PausedTooOften,
    /// Drop the answer and ask once more.
    RetryRefusal,
    /// Answer its tool uses with an error, then ask again.
    StopRefusedTools,
    /// Say what is wrong with it, then ask again.
    AskForCorrection(CorrectionCause),
    /// It announced a tool use once too often without one.
    NoToolUse,
    /// The model refused: the partial answer is not kept, the result is an error.
    Refused,
}

/// Q-23's table.
pub(crate) fn decide(answer: AnswerFacts<'_>, settings: &Settings) -> AnswerDecision {
    if answer.has_tool_use {
        let is_stopped = settings.refusal_notes && answer.stop_reason == Some("refusal");
        return if is_stopped { AnswerDecision::StopRefusedTools } else { AnswerDecision::FollowUp };
    }
    if answer.is_part {
        return AnswerDecision::AskForCorrection(CorrectionCause::CutOff);
    }
    let missing = settings.missing_tool_use_nudges;
    match answer.stop_reason {
        Some("end_turn" | "stop_sequence") if answer.is_empty && answer.nudges < settings.empty_answer_nudges => {
            AnswerDecision::AskForCorrection(CorrectionCause::NoOutput)
        }
        Some("tool_use") if answer.nudges < missing => AnswerDecision::AskForCorrection(CorrectionCause::NoToolUse),
        Some("tool_use") if missing > 0 => AnswerDecision::NoToolUse,
        Some("pause_turn" | "compaction") if settings.on_pause == PausePolicy::End => AnswerDecision::Completed { defect: None },
        Some("end_turn" | "stop_sequence") => AnswerDecision::Completed { defect: answer.is_empty.then_some("empty-answer") },
        Some("max_tokens" | "model_context_window_exceeded") => AnswerDecision::OutputLimit,
        Some("pause_turn" | "compaction") if answer.pauses < settings.max_pause_resumes => AnswerDecision::ResumePause,
        Some("pause_turn" | "compaction") => AnswerDecision::PausedTooOften,
        Some("refusal") if settings.retry_refusal && !answer.refusal_retried => match settings.refusal_notes {
            true => AnswerDecision::AskForCorrection(CorrectionCause::Refusal),
            false => AnswerDecision::RetryRefusal,
        },
        Some("refusal") => AnswerDecision::Refused,
        Some("tool_use") => AnswerDecision::Completed { defect: Some("stop-reason-without-tool-use") },
        None => AnswerDecision::Completed { defect: Some("no-stop-reason") },
        Some(_) => AnswerDecision::Completed { defect: Some("unknown-stop-reason") },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: AnswerFacts<'_> = AnswerFacts {
        stop_reason: None,
        has_tool_use: false,
        is_empty: false,
        is_part: false,
        nudges: 0,
        pauses: 0,
        refusal_retried: false,
    };

    #[test]
    fn q_23_the_table() {
        let settings = Settings { retry_refusal: true, ..Settings::default() };
        let odd = |name| AnswerDecision::Completed { defect: Some(name) };
        let well = AnswerDecision::Completed { defect: None };
        let table = [
            (Some("end_turn"), well),
            (Some("stop_sequence"), well),
            (Some("max_tokens"), AnswerDecision::OutputLimit),
            (Some("model_context_window_exceeded"), AnswerDecision::OutputLimit),
            (Some("pause_turn"), AnswerDecision::ResumePause),
            (Some("compaction"), AnswerDecision::ResumePause),
            (Some("refusal"), AnswerDecision::RetryRefusal),
            (Some("tool_use"), odd("stop-reason-without-tool-use")),
            (None, odd("no-stop-reason")),
            (Some("something_new"), odd("unknown-stop-reason")),
        ];
        for (stop_reason, expected) in table {
            assert_eq!(decide(AnswerFacts { stop_reason, ..PLAIN }, &settings), expected, "{stop_reason:?}");
            let with_tool = AnswerFacts { stop_reason, has_tool_use: true, ..PLAIN };
            assert_eq!(decide(with_tool, &settings), AnswerDecision::FollowUp, "{stop_reason:?}: blocks decide");
        }
    }

    #[test]
    fn q_23_limits_and_settings() {
        let settings = Settings::default();
        let of = |stop_reason, change: fn(&mut AnswerFacts<'_>)| {
            let mut answer = AnswerFacts { stop_reason: Some(stop_reason), ..PLAIN };
            change(&mut answer);
            decide(answer, &settings)
        };
        assert_eq!(of("refusal", |_| ()), AnswerDecision::Refused, "off by default");
        assert_eq!(of("pause_turn", |answer| answer.pauses = 9), AnswerDecision::ResumePause);
        assert_eq!(of("pause_turn", |answer| answer.pauses = 10), AnswerDecision::PausedTooOften);
        assert_eq!(of("end_turn", |answer| answer.is_empty = true), AnswerDecision::Completed { defect: Some("empty-answer") });
        let again = Settings { retry_refusal: true, ..Settings::default() };
        let asks = AnswerDecision::AskForCorrection;
        let nudging = Settings { empty_answer_nudges: 1, missing_tool_use_nudges: 2, ..Settings::default() };
        let empty = AnswerFacts { stop_reason: Some("end_turn"), is_empty: true, ..PLAIN };
        assert_eq!(decide(empty, &nudging), asks(CorrectionCause::NoOutput));
        assert_eq!(decide(AnswerFacts { nudges: 1, ..empty }, &nudging), AnswerDecision::Completed { defect: Some("empty-answer") });
        let announced = AnswerFacts { stop_reason: Some("tool_use"), nudges: 1, ..PLAIN };
        assert_eq!(decide(announced, &nudging), asks(CorrectionCause::NoToolUse));
        assert_eq!(decide(AnswerFacts { nudges: 2, ..announced }, &nudging), AnswerDecision::NoToolUse);
        let ending = Settings { on_pause: PausePolicy::End, ..Settings::default() };
        let paused = AnswerFacts { stop_reason: Some("pause_turn"), ..PLAIN };
        assert_eq!(decide(paused, &ending), AnswerDecision::Completed { defect: None });
        let telling = Settings { retry_refusal: true, refusal_notes: true, ..Settings::default() };
        let refused = AnswerFacts { stop_reason: Some("refusal"), ..PLAIN };
        assert_eq!(decide(refused, &telling), asks(CorrectionCause::Refusal));
        assert_eq!(decide(AnswerFacts { has_tool_use: true, ..refused }, &telling), AnswerDecision::StopRefusedTools);
        let part = AnswerFacts { is_part: true, ..PLAIN };
        assert_eq!(decide(part, &settings), asks(CorrectionCause::CutOff), "R-11");
        assert_eq!(decide(AnswerFacts { has_tool_use: true, ..part }, &settings), AnswerDecision::FollowUp);
        let refused_twice = AnswerFacts { stop_reason: Some("refusal"), refusal_retried: true, ..PLAIN };
        assert_eq!(decide(refused_twice, &again), AnswerDecision::Refused);
    }
}
