//! Why a tool use is aborted, and the text for the model (T-12 to T-16): pure functions.
//!
//! Three scopes lie in each other, query > sibling > tool: aborting an outer one aborts what is inside it.

use crate::contract::{FailureCause, ToolOutcome};
use crate::settings::{InterruptBehaviour, QueuedBlockPolicy, Settings, SiblingAbort};
use crate::texts::{ModelTexts, TextName};
use reenact_wire::block::{ToolInput, ToolUse};
use reenact_wire::prelude::*;

/// How the query scope was aborted (Q-22).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum AbortKind {
    /// Everything ends.
    Cancel,
    /// A message was submitted: tools end that say so.
    Interrupt,
    /// The money is spent (S-10): everything ends.
    Budget,
    /// The result of this agent is no longer needed (B-8): everything ends, without an action of the user.
    Unneeded,
    /// The answer that asked for the tools was refused (Q-23): they end.
    Refusal,
}

/// The aborted scopes around the entries of one executor.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub(crate) struct AbortScopes {
    /// The answer was lost: nothing of it counts any more.
    pub(crate) discarded: bool,
    /// A shell tool failed: the description of its call (T-13).
    pub(crate) sibling: Option<Arc<str>>,
    /// The query scope.
    pub(crate) query: Option<AbortKind>,
}

impl AbortScopes {
    /// Whether an error of a shell tool still aborts others (T-13): nothing is aborted, or a message was submitted after which tools start.
    pub(crate) fn leave_siblings(&self, settings: &Settings) -> bool {
        let is_interrupted = self.query == Some(AbortKind::Interrupt) && settings.queued_block == QueuedBlockPolicy::Run;
        !self.discarded && self.sibling.is_none() && (self.query.is_none() || is_interrupted)
    }
}

/// Why one entry is aborted (T-15).
#[derive(Clone, Debug, PartialEq, Hash)]
pub(crate) enum AbortReason {
    /// The attempt that asked for it was discarded.
    StreamingFallback,
    /// A sibling failed: which call.
    SiblingError(Arc<str>),
    /// The user interrupted.
    UserInterrupted,
    /// The money is spent.
    BudgetSpent,
    /// The result of this agent is no longer needed.
    AgentUnneeded,
    /// The answer was refused.
    AnswerRefused,
}

/// T-15, first match. `is_under_way` says whether a submitted message leaves it alone if it is a *block* tool; `behaviour` is the tool's word on
/// that.
pub(crate) fn why(aborts: &AbortScopes, is_under_way: bool, behaviour: InterruptBehaviour) -> Option<AbortReason> {
    match (aborts.discarded, &aborts.sibling, aborts.query) {
        (true, ..) => Some(AbortReason::StreamingFallback),
        (_, Some(failed), _) => Some(AbortReason::SiblingError(failed.clone())),
        (_, _, Some(AbortKind::Interrupt)) if is_under_way && behaviour == InterruptBehaviour::Block => None,
        (_, _, Some(AbortKind::Budget)) => Some(AbortReason::BudgetSpent),
        (_, _, Some(AbortKind::Refusal)) => Some(AbortReason::AnswerRefused),
        (_, _, Some(AbortKind::Unneeded)) => Some(AbortReason::AgentUnneeded),
        (_, _, Some(_)) => Some(AbortReason::UserInterrupted),
        (_, _, None) => None,
    }
}

/// Whether an error result of a shell tool aborts its siblings (T-13, T-28). A tool that says nothing of its failure ended with an exit code. What
/// ends the whole query leaves nothing to its siblings.
pub(crate) fn fails_siblings(outcome: &ToolOutcome, settings: &Settings) -> bool {
    let which = if settings.streaming_execution { settings.sibling_abort } else { settings.batch_sibling_abort };
    match (which, outcome.cause) {
        (SiblingAbort::Off, _) => false,
        (_, None | Some(FailureCause::ExitCode)) => settings.pipeline.exit_code_aborts,
        (_, Some(FailureCause::NotStarted | FailureCause::TimedOut | FailureCause::Panicked)) => true,
        (SiblingAbort::Failed, Some(_)) => false,
        (SiblingAbort::Any, Some(_)) => outcome.abort.is_none(),
    }
}

impl AbortReason {
    /// The text of the synthetic result (T-16).
    pub(crate) fn text(&self, texts: &ModelTexts) -> String {
        match self {
            Self::StreamingFallback => texts.say(TextName::Discarded, &[]),
            Self::SiblingError(failed) => texts.say(TextName::SiblingFailed, &[("call", failed)]),
            Self::BudgetSpent => texts.say(TextName::BudgetSpent, &[]),
            Self::AnswerRefused => texts.say(TextName::RefusedToolUse, &[]),
            Self::AgentUnneeded => texts.say(TextName::AgentUnneeded, &[]),
            Self::UserInterrupted => texts.say(TextName::UserRejected, &[]),
        }
    }
}

/// How many characters of its command, path or pattern name a failed call.
const DESCRIPTION_CHARACTERS_MAX: usize = 40;

/// `Name(first 40 characters of its command, path or pattern…)`, or the bare name (T-13).
pub(crate) fn description(tool_use: &ToolUse) -> String {
    let ToolInput::Valid(input) = &tool_use.input else { return tool_use.name.to_string() };
    let value = input.to_value();
    // A model that leaves a member out may write null in its place.
    let present = ["command", "file_path", "pattern"].iter().filter_map(|key| value.get(key)).find(|value| !value.is_null());
    match present.and_then(serde_json::Value::as_str).filter(|text| !text.is_empty()) {
        None => tool_use.name.to_string(),
        Some(text) => {
            let cut = text.char_indices().nth(DESCRIPTION_CHARACTERS_MAX).map(|(at, _)| at);
            let (shown, mark) = cut.map_or((text, ""), |at| (&text[..at], "…"));
            format!("{}({shown}{mark})", tool_use.name)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_wire::json::Json;

    #[test]
    fn t_15_the_first_match_decides() {
        use InterruptBehaviour::{Block, Cancel};
        let failed = || Some(Arc::from("Bash(false)"));
        let of = |discarded, sibling, query| AbortScopes { discarded, sibling, query };
        let table = [
            (of(false, None, None), true, Block, None),
            (of(true, failed(), Some(AbortKind::Cancel)), true, Block, Some(AbortReason::StreamingFallback)),
            (of(false, failed(), Some(AbortKind::Cancel)), true, Block, Some(AbortReason::SiblingError("Bash(false)".into()))),
            (of(false, None, Some(AbortKind::Cancel)), true, Block, Some(AbortReason::UserInterrupted)),
            (of(false, None, Some(AbortKind::Interrupt)), true, Cancel, Some(AbortReason::UserInterrupted)),
            (of(false, None, Some(AbortKind::Interrupt)), true, Block, None),
            (of(false, None, Some(AbortKind::Unneeded)), true, Block, Some(AbortReason::AgentUnneeded)),
            (of(false, None, Some(AbortKind::Interrupt)), false, Block, Some(AbortReason::UserInterrupted)),
        ];
        for (aborts, executing, behaviour, expected) in table {
            assert_eq!(why(&aborts, executing, behaviour), expected, "{aborts:?} executing {executing} {behaviour:?}");
        }
    }

    #[test]
    fn t_28_which_failures_of_a_shell_abort_its_siblings() {
        let aborts = |cause, sibling_abort, exit_code_aborts, abort: Option<&str>| {
            let mut settings = Settings { sibling_abort, ..Settings::default() };
            settings.pipeline.exit_code_aborts = exit_code_aborts;
            fails_siblings(&ToolOutcome { cause, abort: abort.map(Into::into), ..ToolOutcome::error("x") }, &settings)
        };
        let ran = [FailureCause::NotStarted, FailureCause::TimedOut, FailureCause::Panicked];
        for cause in FailureCause::ALL.into_iter().map(Some).chain([None]) {
            for exit_code_aborts in [true, false] {
                let (is_exit_code, has_run) =
                    (matches!(cause, None | Some(FailureCause::ExitCode)), cause.is_some_and(|cause| ran.contains(&cause)));
                let aborts = |which, abort| aborts(cause, which, exit_code_aborts, abort);
                assert!(!aborts(SiblingAbort::Off, None), "{cause:?}");
                let failed = if is_exit_code { exit_code_aborts } else { has_run };
                assert_eq!(aborts(SiblingAbort::Failed, None), failed, "{cause:?}");
                let any = if is_exit_code { exit_code_aborts } else { true };
                assert_eq!(aborts(SiblingAbort::Any, None), any, "{cause:?}");
                assert_eq!(aborts(SiblingAbort::Any, Some("no")), failed, "{cause:?} ends the query");
            }
        }
    }

    #[test]
    fn t_13_a_failed_call_is_described_by_the_first_of_command_path_pattern() {
        let of = |input: &str| {
            let input = ToolInput::Valid(Json::trusted(input));
            description(&ToolUse { id: "t".into(), name: "Bash".into(), input })
        };
        assert_eq!(of(r#"{"command":"false","file_path":"/a"}"#), "Bash(false)");
        assert_eq!(of(r#"{"pattern":"x*"}"#), "Bash(x*)");
        assert_eq!(of(r#"{"command":"","pattern":"x"}"#), "Bash", "the first that is present, if it is text");
        assert_eq!(of(r#"{"command":5}"#), "Bash");
        assert_eq!(of(r#"{"command":null,"file_path":"/a"}"#), "Bash(/a)", "null is absent");
        assert_eq!(of(r#"{"command":null}"#), "Bash");
        assert_eq!(of("{}"), "Bash");
        let forty = "x".repeat(40);
        assert_eq!(of(&format!(r#"{{"command":"{forty}"}}"#)), format!("Bash({forty})"));
        assert_eq!(of(&format!(r#"{{"command":"{forty}y"}}"#)), format!("Bash({forty}…)"));
    }
}
