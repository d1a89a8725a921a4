//! How an iteration begins: the cascade, a compaction if it asks for one, the request, and how one follows another.

use super::outcome::{LastMessage, QueryEnding};
use super::state::{AfterCompaction, QueryState};
use super::{Query, QueryScope, QueryVerdict, host, structured_output};
use crate::call::ApiCall;
use crate::compaction::{self, CascadeDecision, CompactionCause};
use crate::contract::{Effect, RequestId, Terminal};
use crate::conversation::{ItemKind, answer_name, prompt_name, results_name};
use crate::emission::{CompactTrigger, Emission, Transition};
use crate::retry::{AttemptFailure, CallUrgency};
use crate::session::prompt::with_task_budget;
use crate::status;
use crate::texts::TextName;
use reenact_wire::prelude::*;
use reenact_wire::request::Request;

impl Query {
    /// what comes before the request `id`.
    pub(super) fn begin_iteration(&mut self, scope: &mut QueryScope<'_>, id: RequestId) -> QueryVerdict {
        if self.is_over_budget(scope) {
            return self.end_over_budget(scope);
        }
        let changed = host::changed_frame(&self.frame, scope, id);
        let (frame, memory) = (changed.as_ref().unwrap_or(&self.frame), &mut *scope.memory);
        let next = compaction::cascade(scope.env, frame, &mut memory.conversation, &mut memory.tracking, scope.effects);
        self.go_on(scope, next, id)
    }

    /// Carries out the decision of the cascade.
    pub(super) fn go_on(&mut self, scope: &mut QueryScope<'_>, next: CascadeDecision, id: RequestId) -> QueryVerdict {
        match next {
            CascadeDecision::Call => self.call(scope, id),
            CascadeDecision::Compact => {
                let cause = CompactionCause::new(CompactTrigger::Auto);
                self.compact(scope, cause, (id, AfterCompaction::Ask(id)))
            }
            CascadeDecision::Blocked { tokens, limit } => {
                let text = format!("the prompt is too long: about {tokens} tokens, the limit is {limit}");
                let failure = AttemptFailure::new("prompt_too_long", &text);
                self.end(scope, QueryEnding::failed(Terminal::BlockingLimit, id, failure))
            }
        }
    }

    /// The request is made at the end of the step, if there is money for it (S-10).
    pub(super) fn call(&mut self, scope: &mut QueryScope<'_>, id: RequestId) -> QueryVerdict {
        status::report(scope.env, status::REQUESTING, scope.effects);
        host::heed(&mut self.frame, scope, id);
        let call = self.open_call(scope, id);
        self.state = QueryState::Calling(Box::new(call));
        QueryVerdict::Running
    }

    /// The request that is due.
    fn request(&self, scope: &QueryScope<'_>) -> Request {
        let mut request = scope.memory.conversation.request(&self.frame, self.recoveries.chain.raised_cap);
        if let Some(total) = scope.env.settings.session.task_budget {
            request.extra = with_task_budget(&request.extra, total, total.saturating_sub(scope.memory.task_tokens_used));
        }
        scope.memory.with_container(request)
    }

    /// The call that makes the request, from the attempt `id` on.
    pub(super) fn open_call(&self, scope: &mut QueryScope<'_>, id: RequestId) -> ApiCall {
        let (request, standing) = (self.request(scope), scope.memory.standing.clone());
        ApiCall::open(scope.env, scope.now, (id, CallUrgency::for_loop(&scope.env.settings)), request, standing, scope.effects)
    }

    /// Opens the next request under a named transition.
    pub(super) fn ask_again(&mut self, scope: &mut QueryScope<'_>, asked: RequestId, transition: Transition) -> QueryVerdict {
        scope.pass(transition);
        self.begin_answer();
        let id = RequestId { prompt: asked.prompt, turn: asked.turn + 1, attempt: 1 };
        self.begin_iteration(scope, id)
    }

    /// results, then what was queued, then the turn limit, then the next request.
    pub(super) fn next_turn(&mut self, scope: &mut QueryScope<'_>) -> QueryVerdict {
        let turn = core::mem::take(&mut self.turn);
        self.totals.turns += 1;
        self.totals.last = LastMessage::Results;
        self.recoveries.begin_turn();
        scope.memory.tracking.reactively_compacted = false;
        scope.memory.keep_answer(&turn.blocks, turn.usage);
        let mut content = self.executor.results(&scope.env.settings);
        let structure = structured_output::accepted_output(&turn, &content).filter(|_| structured_output::is_enforced(scope.env));
        let results = content.clone();
        content.extend(self.executor.attachments());
        self.totals.denials.extend(self.executor.take_denials());
        let asked = turn.blocks.first().map_or(RequestId::first(self.prompt), |message| message.id);
        if let Some(why) = self.executor.stopped_by_hook().cloned() {
            scope.memory.conversation.push_user(results_name(asked), ItemKind::Results, content);
            scope.effects.push(Effect::Emit(Emission::Warning { text: format!("a hook ends the turn: {why}").into() }));
            self.begin_answer();
            return self.end(scope, QueryEnding::well(Terminal::HookStopped));
        }
        // Structured output ends the prompt: a message that nobody would answer in it becomes a prompt of its own (O-24).
        let beside = if structure.is_none() { self.queued.join(scope, &mut content) } else { Vec::new() };
        scope.memory.conversation.push_user(results_name(asked), ItemKind::Results, content);
        for (prompt, message) in beside {
            scope.memory.conversation.push_user(prompt_name(prompt), ItemKind::Prompt, message.to_vec());
        }
        if turn.is_refused {
            let note = scope.env.settings.texts.template(TextName::RefusalNote);
            scope.say_hidden(&format!("{}.go-on", answer_name(asked)), "refusal", note);
        }
        self.begin_answer();
        if let Some(json) = structure {
            scope.effects.push(Effect::Emit(Emission::StructuredOutput { json: json.clone() }));
            self.totals.structured_output = Some(json);
            return self.end(scope, QueryEnding::well(Terminal::Completed));
        }
        if scope.env.settings.session.max_turns.is_some_and(|max| self.totals.turns >= max) {
            scope.effects.push(Effect::Emit(Emission::MaxTurnsReached { turns: self.totals.turns }));
            return self.end(scope, QueryEnding::limit(Terminal::MaxTurns, "the turn limit is reached"));
        }
        self.tool_summaries.drop_line(scope); // it is about what was done before
        let model = scope.env.settings.session.tool_use_summaries.clone().filter(|_| !self.is_over_budget(scope));
        let asked = model.map_or(asked, |model| self.tool_summaries.ask(scope, (model, asked), (&turn.blocks, &results)));
        self.ask_again(scope, asked, Transition::NextTurn)
    }
}
