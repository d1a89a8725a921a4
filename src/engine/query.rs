//! The query loop: ask the model, run its tools, ask again, until the turn ends (Q-1 to Q-23).
//!
//! ```text
//!   start ──> Calling ──answer with tool uses──> AwaitingTools ──all results in──> Calling   (next_turn)
//!                │  ▲──── paused, refused and tried again ────┘
//!                └──answer without tool use, or a lost call──> Finished
//! ```
//!
//! Tools run while the model still streams, so the executor lives in both open states. What follows an answer is a pure function
//! in [`after_answer`]. After the terminal nothing more comes out (Q-3): a late input finds `Finished` and is dropped.

mod after_answer;
mod observable;

use after_answer::{Answer, Next};

use super::call::{ApiCall, Ended, Verdict as CallVerdict};
use super::contract::{Effect, Effects, Input, RequestId, Terminal};
use super::emission::{AssistantMessage, Emission, Note, Transition};
use super::executor::Executor;
use super::retry::{self, Decision, Failure};
use super::session::prompt::Frame;
use super::settings::Environment;
use super::time::{Micros, Time};
use crate::prelude::*;
use crate::wire::block::{Block, BlockKind, Message, Role};
use crate::wire::usage::Usage;

/// One prompt's way through the loop.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Query {
    prompt: u32,
    frame: Arc<Frame>,
    /// The conversation that the next request carries.
    conversation: Vec<Arc<Message>>,
    /// Context changes of exclusive tools, in order (T-11).
    context: Vec<Arc<str>>,
    /// How many paused answers came in a row (Q-23).
    pauses: u32,
    /// Whether a refusal was tried again (Q-23).
    refusal_retried: bool,
    totals: Totals,
    state: State,
}

#[derive(Clone, Debug, PartialEq)]
enum State {
    Calling { call: Box<ApiCall>, turn: Turn },
    AwaitingTools { turn: Turn },
    Finished,
}

/// What one answer has brought so far.
#[derive(Clone, Debug, Default, PartialEq)]
struct Turn {
    blocks: Vec<Arc<AssistantMessage>>,
    executor: Executor,
}

/// What the result message will say.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Totals {
    /// Answers that had tool results (S-7b).
    pub(crate) turns: u32,
    /// Time with a request under way.
    pub(crate) api_time: Micros,
    /// Tokens by model, in the order of first use.
    pub(crate) usage_by_model: Vec<(Arc<str>, Usage)>,
    /// The last answer's stop reason.
    pub(crate) stop_reason: Option<Arc<str>>,
    /// The text of the last answer.
    pub(crate) text: Arc<str>,
}

/// How a query ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Outcome {
    /// Why.
    pub(crate) terminal: Terminal,
    /// What went wrong; the result is an error if there is anything.
    pub(crate) errors: Vec<Arc<str>>,
    /// The conversation to go on from with the next prompt.
    pub(crate) conversation: Vec<Arc<Message>>,
    /// For the result message.
    pub(crate) totals: Totals,
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
    pub(crate) fn start(now: Time, prompt: u32, frame: Arc<Frame>, conversation: Vec<Arc<Message>>, effects: &mut Effects) -> Self {
        let id = RequestId::first(prompt);
        let call = ApiCall::open(id, now, frame.request(&conversation), effects);
        let state = State::Calling { call: Box::new(call), turn: Turn::default() };
        let (context, totals) = (Vec::new(), Totals::default());
        Self { prompt, frame, conversation, context, pauses: 0, refusal_retried: false, totals, state }
    }

    /// Takes everything that can happen while the prompt is worked on.
    pub(crate) fn step(&mut self, env: &Environment, now: Time, input: &Input, effects: &mut Effects) -> Verdict {
        let verdict = match (&mut self.state, input) {
            (State::Calling { call, .. }, Input::Head { id, status, headers }) if call.id() == *id => {
                call.on_head(now, *status, headers);
                CallVerdict::Pending
            }
            (State::Calling { call, .. }, Input::Body { id, body }) if call.id() == *id => {
                call.on_body(body);
                CallVerdict::Pending
            }
            (State::Calling { call, turn }, Input::Stream { id, event }) if call.id() == *id => {
                let first = call.awaits_first_event().then(|| now.since(call.started()));
                if env.settings.partial_messages {
                    let event = event.clone();
                    effects.push(Effect::Emit(Emission::StreamEvent { id: *id, event, time_to_first_token: first }));
                }
                turn.executor.emit_completed(&env.settings, effects); // Q-8 F: a raw event is an item too
                call.on_event(now, event, effects)
            }
            (State::Calling { call, .. }, Input::End { id, how }) if call.id() == *id => call.on_end(now, how, effects),
            (State::Calling { turn, .. } | State::AwaitingTools { turn }, Input::ToolProgress { run, text }) => {
                turn.executor.on_progress(&env.settings, *run, text, effects);
                CallVerdict::Pending
            }
            (State::Calling { turn, .. } | State::AwaitingTools { turn }, Input::ToolEnded { run, outcome }) => {
                self.context.extend(turn.executor.on_ended(&env.settings, *run, outcome, effects));
                CallVerdict::Pending
            }
            _ => return Verdict::Running, // an abandoned attempt speaks, or nothing that concerns this prompt
        };
        let verdict = match verdict {
            CallVerdict::Pending => self.settle(env, now, effects),
            CallVerdict::Block(message) => {
                self.on_block(env, &message, effects);
                Verdict::Running
            }
            CallVerdict::Ended(ended) => self.on_answer(env, now, ended, effects),
            CallVerdict::Failed(failure) => self.on_call_lost(&failure, effects),
        };
        self.check_invariants();
        verdict
    }

    /// Q-8 for a finished block: emit it, keep it, hand its tool use to the executor at once, take results that are in.
    fn on_block(&mut self, env: &Environment, message: &Arc<AssistantMessage>, effects: &mut Effects) {
        let State::Calling { turn, .. } = &mut self.state else { return };
        effects.push(Effect::Emit(Emission::Assistant(observable::emitted(env, message))));
        turn.blocks.push(message.clone());
        if let Some(tool_use) = message.block.as_tool_use() {
            turn.executor.submit(env, message, tool_use, effects);
        }
        turn.executor.emit_completed(&env.settings, effects);
    }

    /// The answer is complete: its blocks decide what follows (Q-11, Q-18, Q-23).
    fn on_answer(&mut self, env: &Environment, now: Time, ended: Ended, effects: &mut Effects) -> Verdict {
        for message in &ended.blocks {
            self.on_block(env, message, effects);
        }
        let State::Calling { call, turn } = core::mem::replace(&mut self.state, State::Finished) else { return Verdict::Running };
        self.totals.count(&turn, &ended);
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
                self.keep_answer(&turn);
                if let Some(name) = defect {
                    let text = format!("answer {} ended with {}", call.id(), ended.stop_reason.as_deref().unwrap_or("no stop reason"));
                    effects.push(Effect::Note(Note::Defect { id: call.id(), name: name.into(), text: text.into() }));
                }
                self.finish(Terminal::Completed, None, effects)
            }
            Next::ResumePause => {
                self.keep_answer(&turn);
                self.pauses += 1;
                self.ask_again(now, call.id(), Transition::PauseTurnResume, effects)
            }
            Next::RetryRefusal => {
                self.refusal_retried = true;
                self.ask_again(now, call.id(), Transition::RefusalRetry, effects)
            }
            Next::OutputLimit => {
                self.keep_answer(&turn);
                let failure = Failure::of("max_output_tokens", "the answer reached the output limit before it was complete");
                self.finish_with_error(call.id(), Terminal::Completed, &failure, effects)
            }
            Next::PausedTooOften => {
                self.keep_answer(&turn);
                let failure = Failure::of("paused_too_often", "the answer was paused more often than it may be resumed");
                self.finish_with_error(call.id(), Terminal::Completed, &failure, effects)
            }
            Next::Refused => {
                let category = ended.refusal_category.as_deref().unwrap_or("none given");
                let failure = Failure::of("refusal", &format!("the model refused to answer (category: {category})"));
                self.finish_with_error(call.id(), Terminal::Completed, &failure, effects)
            }
        }
    }

    /// T-9: with the stream over, results are emitted as they come; once all are, the next turn begins (Q-18).
    fn settle(&mut self, env: &Environment, now: Time, effects: &mut Effects) -> Verdict {
        let State::AwaitingTools { turn } = &mut self.state else { return Verdict::Running };
        turn.executor.emit_completed(&env.settings, effects);
        if !turn.executor.is_settled() {
            return Verdict::Running;
        }
        let turn = core::mem::take(turn);
        self.totals.turns += 1;
        self.pauses = 0;
        self.keep_answer(&turn);
        self.conversation.push(Arc::new(Message { role: Role::User, content: turn.executor.results(&env.settings) }));
        let asked = turn.blocks.first().map_or(RequestId::first(self.prompt), |message| message.id);
        self.ask_again(now, asked, Transition::NextTurn, effects)
    }

    /// R-6: the call gave up. Tool uses that were already emitted get their results before the error is shown.
    fn on_call_lost(&mut self, failure: &Failure, effects: &mut Effects) -> Verdict {
        let State::Calling { call, mut turn } = core::mem::replace(&mut self.state, State::Finished) else { return Verdict::Running };
        turn.executor.close_open(effects);
        let terminal = match retry::decide(failure) {
            Decision::GiveUp => Terminal::ModelError,
            Decision::TooLong => Terminal::PromptTooLong,
            Decision::Media => Terminal::ImageError,
        };
        self.finish_with_error(call.id(), terminal, failure, effects)
    }

    /// Opens the next request under a named transition (Q-1).
    fn ask_again(&mut self, now: Time, asked: RequestId, transition: Transition, effects: &mut Effects) -> Verdict {
        effects.push(Effect::Note(Note::Transition(transition)));
        let id = RequestId { prompt: asked.prompt, turn: asked.turn + 1, attempt: 1 };
        let call = ApiCall::open(id, now, self.frame.request(&self.conversation), effects);
        self.state = State::Calling { call: Box::new(call), turn: Turn::default() };
        Verdict::Running
    }

    /// N-7: the blocks of one answer are one message again. The API refuses a message without content.
    fn keep_answer(&mut self, turn: &Turn) {
        let content: Vec<Block> = turn.blocks.iter().map(|message| message.block.clone()).collect();
        if !content.is_empty() {
            self.conversation.push(Arc::new(Message { role: Role::Assistant, content }));
        }
    }

    /// The error takes the place of an answer, as one assistant message (R-6).
    fn finish_with_error(&mut self, id: RequestId, terminal: Terminal, failure: &Failure, effects: &mut Effects) -> Verdict {
        let text: Arc<str> = failure.summary().into();
        effects.push(Effect::Emit(Emission::Assistant(Arc::new(AssistantMessage {
            uuid: format!("p{}.r{}.a{}.error", id.prompt, id.turn, id.attempt).into(),
            id,
            api_id: "".into(),
            model: "".into(),
            block: Block::text(&text),
            error: Some(failure.kind.clone()),
        }))));
        self.finish(terminal, Some(text), effects)
    }

    fn finish(&mut self, terminal: Terminal, error: Option<Arc<str>>, _effects: &mut Effects) -> Verdict {
        self.state = State::Finished;
        Verdict::Finished(Box::new(Outcome {
            terminal,
            errors: error.into_iter().collect(),
            conversation: core::mem::take(&mut self.conversation),
            totals: core::mem::take(&mut self.totals),
        }))
    }

    fn check_invariants(&self) {
        if let State::Calling { call, turn } = &self.state {
            assert!(call.id().prompt == self.prompt, "a query asks for its own prompt");
            assert!(turn.blocks.iter().all(|message| message.id == call.id()), "a turn holds the blocks of one attempt");
        }
        if let State::AwaitingTools { turn } = &self.state {
            assert!(!turn.executor.is_settled(), "a turn whose results are all emitted has gone on");
        }
        let doubled = self.conversation.windows(2).any(|pair| pair[0].role == Role::Assistant && pair[1].role == Role::Assistant);
        assert!(!doubled || self.pauses > 0, "only a resumed pause puts one answer after another");
    }
}

impl Totals {
    fn count(&mut self, turn: &Turn, ended: &Ended) {
        self.api_time = self.api_time + ended.took;
        self.stop_reason.clone_from(&ended.stop_reason);
        let text = |message: &Arc<AssistantMessage>| match message.block.kind() {
            BlockKind::Text(text) => Some(text.clone()),
            _ => None,
        };
        self.text = turn.blocks.last().and_then(text).unwrap_or_default();
        let model = turn.blocks.last().map_or_else(Arc::default, |message| message.model.clone());
        match self.usage_by_model.iter_mut().find(|(known, _)| *known == model) {
            Some((_, usage)) => usage.add(&ended.usage),
            None => self.usage_by_model.push((model, ended.usage)),
        }
    }
}
