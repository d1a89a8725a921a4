//! Answers after which the model is asked once more in the user's name, where the settings say so: refused, without content, without the tool use that
//! they announce, cut off in the middle. And messages of the user that join the result of a tool.

use super::outcome::QueryEnding;
use super::{Query, QueryScope, QueryVerdict};
use crate::contract::{Effect, RequestId, Terminal};
use crate::conversation::answer_name;
use crate::emission::{Emission, Transition};
use crate::executor::abort_reason::AbortKind;
use crate::executor::result;
use crate::retry::AttemptFailure;
use crate::texts::{ModelTexts, TextName};
use reenact_wire::block::{Block, BlockKind};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;
use reenact_wire::raw_json::RawObject;

/// Why the model is asked once more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum CorrectionCause {
    /// The model refused, and is told so.
    Refusal,
    /// The stream broke inside a tool use, behind complete text.
    CutOff,
    /// There is nothing in the answer.
    NoOutput,
    /// It was to hold a tool use and holds none.
    NoToolUse,
}

impl CorrectionCause {
    /// The text of the correction, and the transition under which the next request opens.
    fn words(self) -> (TextName, Transition) {
        match self {
            Self::Refusal => (TextName::RefusalNote, Transition::RefusalRetry),
            Self::CutOff => (TextName::CutOff, Transition::CutOffRecovery),
            Self::NoOutput => (TextName::NoOutput, Transition::AnswerNudge),
            Self::NoToolUse => (TextName::NoToolUse, Transition::AnswerNudge),
        }
    }
}

impl Query {
    /// Keeps the answer, or takes it back if it announced what it does not hold, and says what was wrong with it.
    pub(super) fn ask_for_correction(&mut self, scope: &mut QueryScope<'_>, (cause, id): (CorrectionCause, RequestId)) -> QueryVerdict {
        match cause {
            CorrectionCause::NoToolUse => {
                for message in &self.turn.blocks {
                    scope.effects.push(Effect::Emit(Emission::Tombstone { uuid: message.uuid.clone() }));
                }
            }
            CorrectionCause::Refusal | CorrectionCause::CutOff | CorrectionCause::NoOutput => {
                scope.memory.keep_answer(&self.turn.blocks, self.turn.usage)
            }
        }
        match cause {
            CorrectionCause::Refusal => self.refusal_retried = true,
            CorrectionCause::NoOutput | CorrectionCause::NoToolUse => self.chain.nudges += 1,
            CorrectionCause::CutOff => (),
        }
        let (text, transition) = cause.words();
        let text = scope.env.settings.texts.template(text);
        scope.say_hidden(&format!("{}.go-on", answer_name(id)), transition.as_str(), text);
        self.ask_again(scope, id, transition)
    }

    /// A refused answer holds tool uses: those that have no result yet get an error, and the model hears of it.
    pub(super) fn stop_refused_tools(&mut self, scope: &mut QueryScope<'_>) -> QueryVerdict {
        self.refusal_retried = true;
        self.executor.abort(&mut scope.pipeline(), AbortKind::Refusal);
        self.turn.is_refused = true;
        self.settle(scope)
    }

    /// The model was asked often enough for the tool use that its answers announce.
    pub(super) fn end_without_tool_use(&mut self, scope: &mut QueryScope<'_>, id: RequestId) -> QueryVerdict {
        let failure = AttemptFailure::new("malformed_tool_use_exhausted", "the model announced a tool use again and again, and made none");
        self.end(scope, QueryEnding::failed(Terminal::Completed, id, failure))
    }
}

/// the text of a message goes into the last result of a tool, and what is no text behind the results. Returns the tool use of that result.
pub(super) fn put_into_last_result(content: &mut Vec<Block>, message: &[Block], texts: &ModelTexts) -> Option<Arc<str>> {
    let said = |block: &Block| match block.kind() {
        BlockKind::Text(text) => Some(text.clone()),
        _ => None,
    };
    let note = texts.say(TextName::QueuedMessage, &[("message", &message.iter().filter_map(said).collect::<Vec<_>>().join("\n"))]);
    let last = content.iter_mut().rev().find_map(|block| with_note(block, &note).map(|noted| (block, noted)));
    let Some((block, (tool_use_id, noted))) = last else {
        content.extend(message.iter().cloned());
        return None;
    };
    *block = noted;
    content.extend(message.iter().filter(|block| said(block).is_none()).cloned());
    Some(tool_use_id)
}

/// The result of a tool with a note at its end, and the tool use; `None` for another block.
fn with_note(block: &Block, note: &str) -> Option<(Arc<str>, Block)> {
    let BlockKind::ToolResult { tool_use_id, .. } = block.kind() else { return None };
    let members = RawObject::parse(block.json().as_str()).ok()?;
    let noted = result::with_note(&Json::trusted(members.get("content").unwrap_or("\"\"")), note);
    let noted = Block::assembled(block.kind().clone(), Json::trusted(members.with(&[("content", noted.as_str().into())])));
    Some((tool_use_id.clone(), noted))
}
