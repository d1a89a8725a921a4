//! The model's turns: requests, and answers.

use reenact::engine::contract::{Block, BlockKind, Emission, RequestId, Terminal};
use reenact::engine::emission::CompactTrigger;
use reenact::wire::error::ApiError;

use super::MiniLoop;
use super::call::{Call, CallPurpose};
use super::habits::Habits;
use super::history;
use super::scope::StepScope;

impl<H: Habits> MiniLoop<H> {
    /// Makes the next request: for the model's turn, or for a summary if the conversation has become too long for the model.
    pub(super) fn ask(&mut self, scope: &mut StepScope<'_>) {
        let Some(prompt) = &mut self.prompt else { return };
        let model = prompt.facts.model.clone();
        if self.history.signer.as_ref().is_some_and(|signer| *signer != model) {
            H::strip_thinking(&mut self.history);
            self.history.signer = None;
        }
        prompt.request += 1;
        let id = RequestId { prompt: prompt.number, turn: prompt.request, attempt: 1 };
        let request = self.history.request(scope.env, &model);
        let is_too_long = H::context_limit(scope.env, &prompt.facts).is_some_and(|limit| history::size(&request) > limit);
        prompt.tools.answer_is_whole = false;
        prompt.call = Some(if is_too_long && self.history.can_shrink() && !prompt.has_shrunk {
            Call::start(scope, id, self.history.summary_request(scope.env, &model), CallPurpose::Summary)
        } else {
            Call::start(scope, id, request, CallPurpose::Answer)
        });
    }

    pub(super) fn on_answered(&mut self, scope: &mut StepScope<'_>) {
        let Some(prompt) = &mut self.prompt else { return };
        let Some(call) = prompt.call.take() else { return };
        let (blocks, model) = (call.blocks(), prompt.facts.model.clone());
        match call.purpose {
            CallPurpose::Answer => {
                (prompt.has_shrunk, prompt.words, prompt.tools.answer_is_whole) = (false, words(&blocks), true);
                self.history.signer = Some(model);
                H::record_answer(&mut self.history, blocks);
                if prompt.tools.table.entries.is_empty() {
                    prompt.ending = Some(Terminal::Completed);
                }
            }
            CallPurpose::Summary => {
                prompt.has_shrunk = true; // whatever came of it
                let tokens_before = history::size(&self.history.request(scope.env, &model));
                let shrunk = self.history.shrunk(&words(&blocks));
                let tokens_after = history::size(&shrunk.request(scope.env, &model));
                if tokens_after < tokens_before {
                    (self.history, prompt.facts.refused) = (shrunk, None);
                    let trigger = CompactTrigger::Auto;
                    scope.emit(Emission::CompactBoundary { trigger, tokens_before, tokens_after, kept: Vec::new() });
                } else if prompt.facts.refused.is_some() {
                    let error = ApiError::in_stream("too_long", "the summary is no shorter than what it stands for");
                    prompt.call = Some(call);
                    self.give_up(scope, &error, Terminal::PromptTooLong);
                }
            }
        }
    }
}

/// The words of an answer, without its thinking and its tool uses.
fn words(blocks: &[Block]) -> String {
    let text = |block: &Block| match block.kind() {
        BlockKind::Text(text) => Some(text.to_string()),
        _ => None,
    };
    blocks.iter().filter_map(text).collect::<Vec<_>>().join("\n")
}
