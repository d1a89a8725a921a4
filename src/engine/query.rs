//! The query loop: ask the model, run its tools, ask again, until the turn ends (Q-1 to Q-23).
//!
//! ```text
//!   start ──> Calling ──answer with tool uses──> AwaitingTools ──all results in──> Calling   (next_turn)
//!                │  ▲──── paused, refused and tried again ────┘    │
//!                ├──answer without tool use──> Finished             │
//!                └──abort, or a lost call──> Ending <──abort────────┘   Ending ──all results in──> Finished
//! ```
//!
//! Tools run while the model still streams, so the executor lives in all open states. What follows an answer is a pure function
//! in [`after_answer`]. After the terminal nothing more comes out (Q-3): a late input finds `Finished` and is dropped.

mod after_answer;
mod observable;
mod outcome;

use after_answer::{Answer, Next};

use outcome::Ending;
pub(crate) use outcome::{Outcome, Totals};

use super::call::{ApiCall, Ended, RETRY_TIMER, Verdict as CallVerdict};
use super::contract::{Effect, Effects, Input, RequestId, Terminal};
use super::conversation::{Conversation, ItemKind, results_name};
use super::emission::{AssistantMessage, Emission, Note, Transition};
use super::executor::abort::AbortKind;
use super::executor::{Executor, Scope};
use super::permission::context::PermissionContext;
use super::retry::Failure;
use super::session::prompt::Frame;
use super::settings::Environment;
use super::time::Time;
use crate::prelude::*;
use crate::wire::block::{Block, BlockKind};
use crate::wire::usage::Usage;

/// One prompt's way through the loop.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Query {
    prompt: u32,
    frame: Arc<Frame>,
    /// The conversation that the next request carries.
    conversation: Conversation,
    /// What the session has learnt about permissions (T-11, T-24).
    permissions: PermissionContext,
    /// How many paused answers came in a row (Q-23).
    pauses: u32,
    /// Whether a refusal was tried again (Q-23).
    refusal_retried: bool,
    totals: Totals,
    /// Messages that were submitted while tools ran that do not stop for one (Q-22); they join the conversation at Q-18.
    queued: Vec<(u32, Arc<[Block]>)>,
    state: State,
}

#[derive(Clone, Debug, PartialEq)]
enum State {
    Calling {
        call: Box<ApiCall>,
        turn: Turn,
    },
    AwaitingTools {
        turn: Turn,
    },
    /// The prompt ends; what still runs has its grace (T-15a).
    Ending {
        turn: Turn,
        ending: Box<Ending>,
    },
    Finished,
}

impl State {
    fn turn_mut(&mut self) -> Option<&mut Turn> {
        match self {
            Self::Calling { turn, .. } | Self::AwaitingTools { turn } | Self::Ending { turn, .. } => Some(turn),
            Self::Finished => None,
        }
    }
}

/// What one answer has brought so far.
#[derive(Clone, Debug, Default, PartialEq)]
struct Turn {
    blocks: Vec<Arc<AssistantMessage>>,
    /// The tokens of the answer, once it is complete.
    usage: Option<Usage>,
    executor: Executor,
}

/// What the session must know.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub(crate) enum Verdict {
    /// It goes on.
    Running,
    /// It is over.
    Finished(Box<Outcome>),
}

impl Query {
    /// Begins with the first request.
    pub(crate) fn start(now: Time, prompt: u32, frame: Arc<Frame>, conversation: Conversation, effects: &mut Effects) -> Self {
        let id = RequestId::first(prompt);
        let call = ApiCall::open(id, now, frame.request(&conversation.messages()), effects);
        let state = State::Calling { call: Box::new(call), turn: Turn::default() };
        let (permissions, queued, totals) = (PermissionContext::default(), Vec::new(), Totals::default());
        Self { prompt, frame, conversation, permissions, pauses: 0, refusal_retried: false, totals, queued, state }
    }

    /// Goes on with what the session has learnt about permissions.
    pub(crate) fn with_permissions(self, permissions: PermissionContext) -> Self {
        Self { permissions, ..self }
    }

    /// Takes everything that can happen while the prompt is worked on.
    pub(crate) fn step(&mut self, env: &Environment, now: Time, input: &Input, effects: &mut Effects) -> Verdict {
        let verdict = match input {
            Input::Cancel => self.abort(env, now, AbortKind::Cancel, effects),
            Input::ToolProgress { run, text } => {
                if let Some(turn) = self.turn_mut() {
                    turn.executor.on_progress(&env.settings, *run, text, effects);
                }
                self.settle(env, now, effects)
            }
            input if Executor::is_for(input) => {
                let Some(ended) = self.with_executor(env, now, effects, |executor, scope| executor.on_input(scope, input)) else {
                    return Verdict::Running;
                };
                match ended.abort {
                    Some(_) => self.abort(env, now, AbortKind::Cancel, effects), // T-14
                    None => self.settle(env, now, effects),
                }
            }
            _ => match self.step_call(env, now, input, effects) {
                CallVerdict::Pending => Verdict::Running,
                CallVerdict::Block(message) => {
                    self.on_block(env, now, &message, effects);
                    Verdict::Running
                }
                CallVerdict::Ended(ended) => self.on_answer(env, now, ended, effects),
                CallVerdict::Failed(failure) | CallVerdict::Abandoned(failure) | CallVerdict::Fallback { failure, .. } => {
                    self.on_call_lost(env, now, failure, effects)
                }
            },
        };
        self.check_invariants();
        verdict
    }

    /// A message was submitted. Returns whether it waits for a tool that does not stop for one; otherwise the prompt is being
    /// aborted and the message is the next prompt (Q-22).
    pub(crate) fn interrupt(
        &mut self,
        env: &Environment,
        now: Time,
        message: (u32, &Arc<[Block]>),
        effects: &mut Effects,
    ) -> (bool, Verdict) {
        let open = matches!(self.state, State::Calling { .. } | State::AwaitingTools { .. });
        if open && self.turn_mut().is_some_and(|turn| turn.executor.blocks_interrupt()) {
            self.queued.push((message.0, message.1.clone()));
            return (true, Verdict::Running);
        }
        let verdict = self.abort(env, now, AbortKind::Interrupt, effects);
        self.check_invariants();
        (false, verdict)
    }

    /// What concerns the call; anything else finds nobody.
    fn step_call(&mut self, env: &Environment, now: Time, input: &Input, effects: &mut Effects) -> CallVerdict {
        let State::Calling { call, turn } = &mut self.state else { return CallVerdict::Pending };
        match input {
            Input::Head { id, status, headers } if call.id() == *id => call.on_head(now, *status, headers),
            Input::Body { id, body } if call.id() == *id => call.on_body(body),
            Input::Stream { id, event } if call.id() == *id => {
                let first = call.awaits_first_event().then(|| now.since(call.started()));
                if env.settings.partial_messages {
                    let event = event.clone();
                    effects.push(Effect::Emit(Emission::StreamEvent { id: *id, event, time_to_first_token: first }));
                }
                turn.executor.emit_completed(&env.settings, effects); // Q-8 F: a raw event is an item too
                return call.on_event(env, now, event, effects);
            }
            Input::End { id, how } if call.id() == *id => return call.on_end(env, now, how, effects),
            Input::Timer(timer) if timer.id == RETRY_TIMER => call.on_timer(now, timer.generation, effects),
            Input::AuthRefreshed { id, ok } if call.id() == *id => return call.on_auth(now, *ok, effects),
            _ => (), // an abandoned attempt speaks
        }
        CallVerdict::Pending
    }

    fn turn_mut(&mut self) -> Option<&mut Turn> {
        self.state.turn_mut()
    }

    /// Lets the executor do something, with what its tool uses may look at and change.
    fn with_executor<R>(
        &mut self,
        env: &Environment,
        now: Time,
        effects: &mut Effects,
        body: impl FnOnce(&mut Executor, &mut Scope<'_>) -> R,
    ) -> Option<R> {
        let turn = self.state.turn_mut()?;
        Some(body(&mut turn.executor, &mut Scope { env, now, permissions: &mut self.permissions, effects }))
    }

    /// Q-8 for a finished block: emit it, keep it, hand its tool use to the executor at once, take results that are in.
    fn on_block(&mut self, env: &Environment, now: Time, message: &Arc<AssistantMessage>, effects: &mut Effects) {
        let State::Calling { turn, .. } = &mut self.state else { return };
        effects.push(Effect::Emit(Emission::Assistant(observable::emitted(env, message))));
        turn.blocks.push(message.clone());
        if let Some(tool_use) = message.block.as_tool_use() {
            turn.executor.submit(&mut Scope { env, now, permissions: &mut self.permissions, effects }, message, tool_use);
        }
        turn.executor.emit_completed(&env.settings, effects);
    }

    /// The answer is complete: its blocks decide what follows (Q-11, Q-18, Q-23).
    fn on_answer(&mut self, env: &Environment, now: Time, ended: Ended, effects: &mut Effects) -> Verdict {
        for message in &ended.blocks {
            self.on_block(env, now, message, effects);
        }
        let State::Calling { call, mut turn } = core::mem::replace(&mut self.state, State::Finished) else { return Verdict::Running };
        effects.push(Effect::Emit(Emission::Answered {
            id: call.id(),
            uuid: turn.blocks.last().map(|message| message.uuid.clone()),
            stop_reason: ended.stop_reason.clone(),
            usage: ended.usage,
        }));
        turn.executor.on_stream_over(&mut Scope { env, now, permissions: &mut self.permissions, effects });
        turn.usage = Some(ended.usage);
        self.totals.count(&turn.blocks, &ended);
        let answer = Answer {
            stop_reason: ended.stop_reason.as_deref(),
            has_tool_use: turn.blocks.iter().any(|message| message.block.as_tool_use().is_some()),
            is_empty: turn.blocks.is_empty(),
            pauses: self.pauses,
            refusal_retried: self.refusal_retried,
        };
        match after_answer::decide(answer, &env.settings) {
            Next::FollowUp => {
                self.state = State::AwaitingTools { turn };
                self.settle(env, now, effects)
            }
            Next::Completed { defect } => {
                self.keep_answer(&turn.blocks, turn.usage);
                if let Some(name) = defect {
                    let text = format!("answer {} ended with {}", call.id(), ended.stop_reason.as_deref().unwrap_or("no stop reason"));
                    effects.push(Effect::Note(Note::Defect { id: call.id(), name: name.into(), text: text.into() }));
                }
                self.finish(Ending::well(Terminal::Completed), effects)
            }
            Next::ResumePause => {
                self.keep_answer(&turn.blocks, turn.usage);
                self.pauses += 1;
                self.ask_again(now, call.id(), Transition::PauseTurnResume, effects)
            }
            Next::RetryRefusal => {
                self.refusal_retried = true;
                self.ask_again(now, call.id(), Transition::RefusalRetry, effects)
            }
            Next::OutputLimit => {
                self.keep_answer(&turn.blocks, turn.usage);
                let failure = Failure::of("max_output_tokens", "the answer reached the output limit before it was complete");
                self.finish(Ending::failed(Terminal::Completed, call.id(), failure), effects)
            }
            Next::PausedTooOften => {
                self.keep_answer(&turn.blocks, turn.usage);
                let failure = Failure::of("paused_too_often", "the answer was paused more often than it may be resumed");
                self.finish(Ending::failed(Terminal::Completed, call.id(), failure), effects)
            }
            Next::Refused => {
                let category = ended.refusal_category.as_deref().unwrap_or("none given");
                let failure = Failure::of("refusal", &format!("the model refused to answer (category: {category})"));
                self.finish(Ending::failed(Terminal::Completed, call.id(), failure), effects)
            }
        }
    }

    /// T-9: with the stream over, results are emitted as they come; once all are, the next turn begins (Q-18), or the prompt ends.
    fn settle(&mut self, env: &Environment, now: Time, effects: &mut Effects) -> Verdict {
        let (State::AwaitingTools { turn } | State::Ending { turn, .. }) = &mut self.state else { return Verdict::Running };
        turn.executor.emit_completed(&env.settings, effects);
        if !turn.executor.is_settled() {
            return Verdict::Running;
        }
        match core::mem::replace(&mut self.state, State::Finished) {
            State::Ending { mut turn, ending } => {
                self.totals.denials.extend(turn.executor.take_denials());
                self.keep_what_is_answered(env, &turn);
                self.finish(*ending, effects)
            }
            State::AwaitingTools { mut turn } => {
                self.totals.denials.extend(turn.executor.take_denials());
                self.next_turn(env, now, &turn, effects)
            }
            State::Calling { .. } | State::Finished => Verdict::Running,
        }
    }

    /// Q-18: results, then what was queued, then the next request.
    fn next_turn(&mut self, env: &Environment, now: Time, turn: &Turn, effects: &mut Effects) -> Verdict {
        self.totals.turns += 1;
        self.pauses = 0;
        self.keep_answer(&turn.blocks, turn.usage);
        let asked = turn.blocks.first().map_or(RequestId::first(self.prompt), |message| message.id);
        let mut content = turn.executor.results(&env.settings);
        content.extend(turn.executor.attachments());
        if turn.executor.stopped_by_hook().is_some() {
            self.conversation.push_user(results_name(asked), ItemKind::Results, content);
            return self.finish(Ending::well(Terminal::HookStopped), effects);
        }
        for (prompt, message) in core::mem::take(&mut self.queued) {
            content.extend(message.iter().cloned());
            effects.push(Effect::Emit(Emission::QueuedCommand { prompt, content: message }));
        }
        self.conversation.push_user(results_name(asked), ItemKind::Results, content);
        self.ask_again(now, asked, Transition::NextTurn, effects)
    }

    /// Q-10 and Q-18: everything ends, and every open tool use gets its one result. A second abort finds nothing more to end.
    fn abort(&mut self, env: &Environment, now: Time, kind: AbortKind, effects: &mut Effects) -> Verdict {
        let (mut turn, terminal) = match core::mem::replace(&mut self.state, State::Finished) {
            State::Calling { mut call, turn } => {
                call.abort(now, effects);
                self.totals.count_lost(now, &call);
                (turn, Terminal::AbortedStreaming)
            }
            State::AwaitingTools { turn } => (turn, Terminal::AbortedTools),
            State::Ending { mut turn, ending } => {
                turn.executor.abort(&mut Scope { env, now, permissions: &mut self.permissions, effects }, kind);
                self.state = State::Ending { turn, ending };
                return self.settle(env, now, effects);
            }
            State::Finished => return Verdict::Running,
        };
        turn.executor.abort(&mut Scope { env, now, permissions: &mut self.permissions, effects }, kind);
        let ending = Ending::aborted(terminal, kind);
        self.state = State::Ending { turn, ending: Box::new(ending) };
        self.settle(env, now, effects)
    }

    /// R-6: the call gave up. Tool uses that were already emitted get their results before the error is shown.
    fn on_call_lost(&mut self, env: &Environment, now: Time, failure: Failure, effects: &mut Effects) -> Verdict {
        let State::Calling { call, mut turn } = core::mem::replace(&mut self.state, State::Finished) else { return Verdict::Running };
        self.totals.count_lost(now, &call);
        turn.executor.lose(&mut Scope { env, now, permissions: &mut self.permissions, effects });
        let ending = Ending::call_lost(call.id(), failure);
        self.state = State::Ending { turn, ending: Box::new(ending) };
        self.settle(env, now, effects)
    }

    /// Opens the next request under a named transition (Q-1).
    fn ask_again(&mut self, now: Time, asked: RequestId, transition: Transition, effects: &mut Effects) -> Verdict {
        effects.push(Effect::Note(Note::Transition(transition)));
        let id = RequestId { prompt: asked.prompt, turn: asked.turn + 1, attempt: 1 };
        let call = ApiCall::open(id, now, self.frame.request(&self.conversation.messages()), effects);
        self.state = State::Calling { call: Box::new(call), turn: Turn::default() };
        Verdict::Running
    }

    /// N-7: the blocks of one answer are one message again. The API refuses a message without content.
    fn keep_answer(&mut self, blocks: &[Arc<AssistantMessage>], usage: Option<Usage>) {
        // The API refuses empty text, too.
        let is_empty = |block: &Block| matches!(block.kind(), BlockKind::Text(text) if text.is_empty());
        let content: Vec<Block> = blocks.iter().map(|message| message.block.clone()).filter(|block| !is_empty(block)).collect();
        if let Some(first) = blocks.first() {
            self.conversation.push_answer(first.id, content, usage);
        }
    }

    /// What of a broken-off answer the next prompt goes on from: its complete blocks, each tool use with its result. Thinking that
    /// nothing followed is left out, because the API refuses an answer that ends in it.
    fn keep_what_is_answered(&mut self, env: &Environment, turn: &Turn) {
        let is_thinking =
            |message: &Arc<AssistantMessage>| matches!(message.block.kind(), BlockKind::Thinking { .. } | BlockKind::RedactedThinking);
        let kept = turn.blocks.iter().rposition(|message| !is_thinking(message)).map_or(0, |last| last + 1);
        self.keep_answer(&turn.blocks[..kept], None);
        if let Some(first) = turn.blocks.first() {
            let mut results = turn.executor.results(&env.settings);
            results.extend(turn.executor.attachments());
            self.conversation.push_user(results_name(first.id), ItemKind::Results, results);
        }
    }

    /// Says what there is to say, and hands everything to the session.
    fn finish(&mut self, ending: Ending, effects: &mut Effects) -> Verdict {
        self.state = State::Finished;
        let said = ending.say(self.prompt, effects);
        if let Some(text) = ending.kept_text() {
            self.conversation.push_user(format!("p{}.interrupted", self.prompt), ItemKind::Hidden, vec![Block::text(text)]);
        }
        Verdict::Finished(Box::new(Outcome {
            terminal: ending.terminal,
            errors: said.into_iter().collect(),
            conversation: core::mem::take(&mut self.conversation),
            queued: core::mem::take(&mut self.queued),
            totals: core::mem::take(&mut self.totals),
            permissions: core::mem::take(&mut self.permissions),
        }))
    }

    fn check_invariants(&self) {
        if let State::Calling { call, turn } = &self.state {
            assert!(call.id().prompt == self.prompt, "a query asks for its own prompt");
            assert!(turn.blocks.iter().all(|message| message.id == call.id()), "a turn holds the blocks of one attempt");
        }
        if let State::AwaitingTools { turn } | State::Ending { turn, .. } = &self.state {
            assert!(!turn.executor.is_settled(), "a turn whose results are all emitted has gone on");
        }
    }
}
