//! Failures, cancels, and the end of a prompt.

use std::sync::Arc;

use reenact::engine::contract::{Block, Effect, Emission, Role, Terminal};
use reenact::engine::emission::AssistantMessage;
use reenact::wire::error::{ApiError, ErrorKind};

use super::MiniLoop;
use super::call::CallPurpose;
use super::habits::Habits;
use super::history;
use super::retry::{self, RetryDecision};
use super::scope::StepScope;

/// After so many refusals of a prompt as too long it is given up.
const REFUSALS_MAX: u32 = 3;

/// Why a prompt ends before the model has ended it.
pub(super) enum EarlyEnd {
    /// The user stopped it, or what counts as that did: the model is told so.
    Cancel,
    /// Something else is wanted now.
    Superseded,
    /// No attempt at a request succeeded.
    Failure(Terminal),
}

impl<H: Habits> MiniLoop<H> {
    /// Decides what follows a failed attempt, and takes back what came of it before anything follows.
    pub(super) fn on_failure(&mut self, scope: &mut StepScope<'_>, error: &ApiError) {
        let Some(prompt) = &mut self.prompt else { return };
        let Some(call) = &mut prompt.call else { return };
        call.close(scope);
        call.counts.overloads = if error.kind == ErrorKind::Overloaded { call.counts.overloads + 1 } else { 0 };
        let fallback = scope.env.settings.session.fallback_model.as_ref().filter(|model| **model != prompt.facts.model);
        let decision = retry::decide(error, call.counts, fallback, &scope.env.settings);
        let can_shrink = call.purpose == CallPurpose::Answer && !prompt.has_shrunk && self.history.can_shrink();
        match decision {
            RetryDecision::GiveUp => return self.give_up(scope, error, Terminal::ModelError),
            RetryDecision::StripThinking if prompt.has_stripped => return self.give_up(scope, error, Terminal::ModelError),
            RetryDecision::Shorten if !can_shrink || prompt.refusals == REFUSALS_MAX => {
                return self.give_up(scope, error, Terminal::PromptTooLong);
            }
            _ => (),
        }
        let running = prompt.tools.discard(scope);
        call.take_back(scope, running);
        match decision {
            RetryDecision::Wait(delay) => return call.wait(scope, delay, error),
            RetryDecision::Fallback(to) => {
                let (id, from, reason) = (call.last().id, prompt.facts.model.clone(), error.message.clone());
                scope.emit(Emission::ModelFallback { id, from, to: to.clone(), reason });
                prompt.facts.model = to;
            }
            RetryDecision::Shorten => {
                prompt.refusals += 1;
                prompt.facts.refused = Some(history::size(&call.request));
            }
            RetryDecision::StripThinking => {
                prompt.has_stripped = true;
                H::strip_thinking(&mut self.history);
            }
            RetryDecision::GiveUp => (),
        }
        prompt.call = None; // it is asked anew
    }

    pub(super) fn give_up(&mut self, scope: &mut StepScope<'_>, error: &ApiError, terminal: Terminal) {
        let last = self.prompt.as_ref().and_then(|prompt| Some((prompt.call.as_ref()?.last().id, prompt.facts.model.clone())));
        if let Some((id, model)) = last {
            let (uuid, block) = (format!("p{}.r{}.error", id.prompt, id.turn).into(), Block::text(&error.message));
            let error = Some(error.kind.as_str().into());
            scope.emit(Emission::Assistant(Arc::new(AssistantMessage { uuid, id, api_id: "".into(), model, block, error })));
        }
        self.end_early(scope, EarlyEnd::Failure(terminal));
    }

    /// The prompt ends here. What was said stays, and each tool use gets a result.
    pub(super) fn end_early(&mut self, scope: &mut StepScope<'_>, cause: EarlyEnd) {
        let Some(prompt) = self.prompt.as_mut().filter(|prompt| prompt.ending.is_none()) else { return };
        let aborted = if prompt.call.is_some() { Terminal::AbortedStreaming } else { Terminal::AbortedTools };
        if let Some(mut call) = prompt.call.take() {
            call.close(scope);
            if call.purpose == CallPurpose::Answer {
                self.history.signer = Some(prompt.facts.model.clone());
                H::record_answer(&mut self.history, call.blocks());
            }
        }
        prompt.tools.stop(scope);
        H::close_tool_uses(&mut prompt.tools.table, scope);
        self.history.push(Role::User, prompt.tools.table.take_results(scope.env.settings.result_order));
        prompt.ending = Some(match cause {
            EarlyEnd::Failure(terminal) => terminal,
            EarlyEnd::Superseded => aborted,
            EarlyEnd::Cancel => {
                let text = "[The user stopped this turn.]";
                scope.emit(Emission::Interrupted { prompt: prompt.number, text: text.into() });
                self.history.push(Role::User, vec![Block::text(text)]);
                aborted
            }
        });
    }

    pub(super) fn finish(&mut self, scope: &mut StepScope<'_>, terminal: &Terminal) {
        let Some(prompt) = self.prompt.take() else { return };
        H::keep_prompt(&mut self.history);
        for terminal in H::terminals(terminal.clone(), prompt.turns) {
            scope.push(Effect::Finished { prompt: prompt.number, terminal });
        }
        self.outcome = Some((terminal.clone(), prompt.words));
    }
}
