//! One API call, however many attempts (Q-7, R-1 to R-13).
//!
//! ```text
//!   open ──> Due ──make──> AwaitingHead ──200, stream──> Streaming ──end──> Ended
//!             ▲                 └── error status, or whole body ──> AwaitingBody ──end──> Ended
//!             ├── timer, credentials ── Waiting, Refreshing <── an attempt failed, and nothing of it was handed up
//!             └── go_on ─────────────── Abandoned           <── it failed after something was
//! ```
//!
//! Only the owner makes an attempt ([`ApiCall::make`]): it knows whether the budget allows it (S-10).
//!
//! A streamed answer and one that comes whole leave this machine as the same blocks. Whether a failure is repeated is a pure function
//! in [`retry`](super::retry); how is in [`attempts`]. What only the owner can decide goes up as a [`CallVerdict`]; the report of each
//! attempt goes out as an effect.

mod answer;
mod attempts;
mod diagram;
mod failure;
mod shape;
mod watchdog;

#[cfg(test)]
mod tests;

use answer::{as_sent, category, defect, message, messages};
use diagram::CallCause;
pub(crate) use diagram::DIAGRAM;
use failure::{broken, cut_short};
use shape::RequestShape;
pub(crate) use shape::{FastModeState, thinking_below, without_thinking_budget};
use watchdog::Watchdog;

use super::agent_effects::AgentEffects;
use super::contract::{AnswerEnd, Effect, Input, RequestId, TimerId};
use super::emission::{AssistantMessage, Emission};
use super::key::KeylessValue;
use super::retry::broken_stream::{StreamBreak, StreamProgress};
use super::retry::{AttemptFailure, CallHistory, CallUrgency, RetryDecision};
use super::settings::Environment;
use super::time::{Micros, Time};
use reenact_wire::assembler::{Assembler, AssemblerStep};
use reenact_wire::block::{Block, BlockKind};
use reenact_wire::event::{EventPayload, NAMELESS, StreamEvent};
use reenact_wire::http::HttpHeader;
use reenact_wire::prelude::*;
use reenact_wire::request::Request;
use reenact_wire::usage::{Usage, cleared_input_tokens};

/// The timer that ends the wait before a retry; its generation is the attempt that it begins.
const RETRY_TIMER: u32 = 1;

/// One answer from the model.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(crate) struct ApiCall {
    id: RequestId,
    /// Which attempt was the call's first: one that takes over from another continues counting.
    first_attempt: u32,
    request: Arc<Request>,
    urgency: CallUrgency,
    shape: RequestShape,
    /// Which HTTP client is used: grows when a failure asks for a new one.
    client: u32,
    history: CallHistory,
    standing: CallStanding,
    /// The watchdog of the running attempt (R-11).
    watchdog: Option<Watchdog>,
    /// When the first attempt was made.
    since: KeylessValue<Time>,
    started: KeylessValue<Time>,
    first_byte: KeylessValue<Option<Time>>,
    usage: Usage,
    /// The category of a refusal, if the API names it (Q-23).
    refusal_category: Option<Arc<str>>,
    /// The tokens that the API says it left out of the request (C-2).
    cleared_input_tokens: Option<u64>,
    state: CallState,
}

#[derive(Clone, Debug, PartialEq, Hash)]
enum CallState {
    /// The owner is to make the attempt of this name.
    Due(RequestId),
    AwaitingHead,
    Streaming {
        assembler: Box<Assembler>,
        seen_event: bool,
        handed_up: bool,
        progress: StreamProgress,
    },
    AwaitingBody {
        status: u16,
        headers: Arc<[HttpHeader]>,
        body: Arc<str>,
    },
    /// A retry waits for its time; a timer rings at the latest then, and before where a long wait is cut into pieces (R-10).
    Waiting {
        since: Time,
        until: Time,
        rings: Time,
    },
    /// A retry waits for credentials; the failure that asked for them, should they not be had.
    Refreshing(AttemptFailure),
    /// Blocks of the attempt were handed up: what is to be done about its failure waits for the owner to forget them.
    Abandoned(AttemptFailure, RetryDecision),
    Ended,
}

/// The decisions that belong to the owner of the call.
#[derive(Clone, Debug, PartialEq, Hash)]
#[must_use]
pub(crate) enum CallVerdict {
    /// Nothing.
    Pending,
    /// Blocks of the stream are complete: one that stopped, or those that came with its first event.
    Blocks(Vec<Arc<AssistantMessage>>),
    /// The stream says why the model stopped, and the tokens until then; it may say more (Q-7).
    StopReason(Arc<str>, Usage),
    /// The answer is complete.
    Ended(CompletedAnswer),
    /// The call is lost.
    Failed(AttemptFailure),
    /// The model is overloaded and another one takes over (R-8): the owner makes the whole request again (Q-19).
    Fallback {
        /// The model that takes over.
        to: Arc<str>,
        /// The failure of the last attempt.
        failure: AttemptFailure,
    },
    /// An attempt failed and will be made again: nothing of it was handed up.
    AttemptLost(LostAttempt),
    /// The same for a stream that broke after blocks of it were handed up (R-11): the owner forgets them (Q-20), then lets the call
    /// [continue](ApiCall::go_on).
    Abandoned(LostAttempt),
}

/// The use of an attempt whose answer is lost. It is paid for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LostAttempt {
    pub(crate) usage: Usage,
    /// Whether it was made at fast speed (R-9).
    pub(crate) is_fast: bool,
}

/// The part of a call's state that later calls of the session continue from (R-8, R-9).
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub(crate) struct CallStanding {
    /// Consecutive answers that the API is overloaded, carried into this call.
    pub(crate) overloads: u32,
    /// Whether requests that should be fast may be.
    pub(crate) speed: FastModeState,
}

/// A complete answer.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(crate) struct CompletedAnswer {
    /// Blocks that were not handed up before: all of them when the answer came whole.
    pub(crate) blocks: Vec<Arc<AssistantMessage>>,
    /// The stop reason.
    pub(crate) stop_reason: Option<Arc<str>>,
    /// The model that was asked.
    pub(crate) model: Arc<str>,
    /// Its tokens.
    pub(crate) usage: Usage,
    /// The category of a refusal, if the API names it (Q-23).
    pub(crate) refusal_category: Option<Arc<str>>,
    /// How many input tokens the API says that it left out of old tool results (C-2).
    pub(crate) cleared_input_tokens: Option<u64>,
    /// How long the call took.
    pub(crate) took: Micros,
    /// Whether its stream broke, and what came of it stands (R-11).
    pub(crate) is_part: bool,
}

impl ApiCall {
    /// A call whose first attempt is due, as the one that `id` says: a call that takes over from another one continues with its numbers.
    pub(crate) fn open(
        env: &Environment,
        now: Time,
        (id, urgency): (RequestId, CallUrgency),
        request: Request,
        standing: CallStanding,
        effects: &mut AgentEffects,
    ) -> Self {
        let mut call = Self {
            id,
            first_attempt: id.attempt,
            request: Arc::new(request),
            urgency,
            shape: RequestShape::default(),
            client: 1,
            history: CallHistory { overloads: standing.overloads, ..CallHistory::default() },
            standing,
            watchdog: None,
            since: KeylessValue(now),
            started: KeylessValue(now),
            first_byte: KeylessValue(None),
            usage: Usage::default(),
            refusal_category: None,
            cleared_input_tokens: None,
            state: CallState::Due(id),
        };
        if env.settings.retry.fast_mode {
            call.ask_for_speed(now, effects);
        }
        DIAGRAM.pass(None, CallCause::Start, call.state.phase());
        call
    }

    /// The next state, and what brings it about.
    fn to(&mut self, cause: CallCause, state: CallState) {
        DIAGRAM.pass(Some(self.state.phase()), cause, state.phase());
        self.state = state;
    }

    /// Whether an attempt is to be made.
    pub(crate) fn is_due(&self) -> bool {
        matches!(self.state, CallState::Due(_))
    }

    /// Makes the attempt that is due.
    pub(crate) fn make(&mut self, env: &Environment, now: Time, effects: &mut AgentEffects) {
        let CallState::Due(id) = self.state else { unreachable!("an attempt is made when it is due") };
        self.id = id;
        self.started = KeylessValue(now);
        self.first_byte = KeylessValue(None);
        self.to(CallCause::Request, CallState::AwaitingHead);
        effects.push(Effect::Request { id, request: self.request.clone() });
        match self.request.stream {
            true => self.watch_for_head(env, now, effects),
            false => self.watch_for_lateness(env, now, effects),
        }
    }

    /// Whether it is over.
    pub(crate) fn is_over(&self) -> bool {
        self.state == CallState::Ended
    }

    /// Which attempt this is: inputs for another are stale.
    pub(crate) fn id(&self) -> RequestId {
        self.id
    }

    /// When the attempt was made.
    pub(crate) fn started(&self) -> Time {
        *self.started
    }

    /// The model that was asked.
    pub(crate) fn model(&self) -> &Arc<str> {
        &self.request.model
    }

    /// The attempt's tokens so far.
    pub(crate) fn usage(&self) -> &Usage {
        &self.usage
    }

    /// Whether the attempt was made at fast speed (R-9).
    pub(crate) fn is_fast(&self) -> bool {
        self.shape.is_fast()
    }

    /// When the first attempt was made.
    pub(crate) fn since(&self) -> Time {
        *self.since
    }

    /// The state that later calls continue from.
    pub(crate) fn standing(&self) -> CallStanding {
        CallStanding { overloads: self.history.overloads, speed: self.standing.speed }
    }

    /// Goes on after the owner has forgotten what an abandoned attempt brought (R-11, Q-20).
    pub(crate) fn go_on(&mut self, env: &Environment, now: Time, effects: &mut AgentEffects) {
        if let CallState::Abandoned(failure, decision) = &self.state {
            let (failure, decision) = (failure.clone(), decision.clone());
            self.carry_out(env, now, failure, decision, effects);
        }
    }

    /// Takes what concerns the call. An attempt that was given up may still speak: that is dropped.
    pub(crate) fn step(&mut self, env: &Environment, now: Time, input: &Input, effects: &mut AgentEffects) -> CallVerdict {
        match input {
            Input::Head { id, status, headers } if self.id == *id => self.on_head(env, now, *status, headers, effects),
            Input::Body { id, body } if self.id == *id => self.on_body(body),
            Input::Stream { id, event } if self.id == *id => return self.on_event(env, now, event, effects),
            Input::End { id, how } if self.id == *id => return self.on_end(env, now, how, effects),
            Input::Timer(timer) => return self.on_timer(env, now, *timer, effects),
            Input::AuthRefreshed { id, ok } if self.id == *id => return self.on_auth(env, now, *ok, effects),
            _ => (),
        }
        CallVerdict::Pending
    }

    /// Takes the head of the answer: from here on it is a stream or a body.
    fn on_head(&mut self, env: &Environment, now: Time, status: u16, headers: &Arc<[HttpHeader]>, effects: &mut AgentEffects) {
        if self.state == CallState::AwaitingHead {
            self.first_byte = KeylessValue(Some(now));
            if self.request.stream {
                self.disarm(effects);
                self.watch_for_silence(env, now, effects); // the body of an error may fall silent, too
            }
            self.to(CallCause::Head, CallState::AwaitingBody { status, headers: headers.clone(), body: "".into() });
        }
    }

    /// Takes the whole body of an answer that is no stream.
    fn on_body(&mut self, text: &Arc<str>) {
        if let CallState::AwaitingBody { body, .. } = &mut self.state {
            *body = text.clone();
        }
    }

    /// Whether the attempt still listens to its stream. One that was given up may still speak.
    pub(crate) fn is_listening(&self) -> bool {
        matches!(self.state, CallState::AwaitingBody { .. } | CallState::Streaming { .. })
    }

    /// Whether the next event is the first of the answer.
    pub(crate) fn awaits_first_event(&self) -> bool {
        matches!(self.state, CallState::AwaitingBody { .. } | CallState::Streaming { seen_event: false, .. })
    }

    /// Takes one event of the stream.
    fn on_event(&mut self, env: &Environment, now: Time, event: &StreamEvent, effects: &mut AgentEffects) -> CallVerdict {
        if let CallState::AwaitingBody { status: 200, .. } = self.state {
            let assembler = Box::new(Assembler::with_policy(env.settings.stream_order));
            let progress = StreamProgress::default();
            self.to(CallCause::FirstEvent, CallState::Streaming { assembler, seen_event: false, handed_up: false, progress });
        }
        let CallState::Streaming { assembler, seen_event, handed_up, progress } = &mut self.state else { return CallVerdict::Pending };
        *seen_event = true;
        progress.has_delta |= matches!(event.payload(), EventPayload::BlockDelta { .. });
        if let Some(watchdog) = &mut self.watchdog {
            watchdog.on_event(now);
        }
        let mut notes = Vec::new();
        let step = assembler.on_event(event, &mut notes);
        for violation in &notes {
            effects.push(Effect::Note(defect(self.id, violation)));
        }
        self.usage = *assembler.usage();
        let is_refusal = |assembler: &Assembler| assembler.stop_reason().is_some_and(|reason| &**reason == "refusal");
        match step {
            AssemblerStep::Nothing | AssemblerStep::Ended => CallVerdict::Pending,
            AssemblerStep::Started { blocks } => {
                if is_refusal(assembler) {
                    self.refusal_category = category(event.data(), "/message/stop_details/category");
                }
                if blocks.is_empty() {
                    return CallVerdict::Pending;
                }
                *handed_up = true;
                CallVerdict::Blocks(messages(self.id, assembler.message_id(), assembler.model(), blocks))
            }
            AssemblerStep::Delta => {
                self.cleared_input_tokens = cleared_input_tokens(event.data()).or(self.cleared_input_tokens);
                let Some(stop_reason) = assembler.stop_reason() else { return CallVerdict::Pending };
                if is_refusal(assembler) {
                    self.refusal_category = category(event.data(), "/delta/stop_details/category");
                }
                CallVerdict::StopReason(stop_reason.clone(), self.usage)
            }
            AssemblerStep::Block { index, block } => {
                *handed_up = true;
                let is_tool_use = block.as_tool_use().is_some();
                progress.has_tool_use |= is_tool_use;
                progress.has_words |= !is_tool_use;
                let block = as_sent(block, &env.settings);
                CallVerdict::Blocks(vec![Arc::new(message(self.id, assembler.message_id(), assembler.model(), index, block))])
            }
            AssemblerStep::Failed { kind, message } => {
                let kind = if kind.is_empty() { "unnamed_error".into() } else { kind };
                // Where events have names, one without is data that nobody expects: for clients it is as good as a cut.
                let broke = if event.name() == NAMELESS { StreamBreak::Cut } else { StreamBreak::ErrorEvent };
                let failure = AttemptFailure::in_stream(kind, message).broken_by(broke);
                effects.push(Effect::CloseRequest { id: self.id });
                self.fail(env, now, failure, effects)
            }
            AssemblerStep::Refused(violation) => {
                effects.push(Effect::CloseRequest { id: self.id });
                self.fail(env, now, broken(&violation), effects)
            }
        }
    }

    /// Takes the end of the answer.
    fn on_end(&mut self, env: &Environment, now: Time, how: &AnswerEnd, effects: &mut AgentEffects) -> CallVerdict {
        let failure = match (&self.state, how) {
            // The attempt failed before its answer ended.
            (CallState::Due(_) | CallState::Ended | CallState::Waiting { .. } | CallState::Refreshing(_) | CallState::Abandoned(..), _) => {
                return CallVerdict::Pending;
            }
            (CallState::AwaitingHead, AnswerEnd::Complete) => {
                AttemptFailure::new("no_answer", "the connection closed before an answer came")
            }
            (CallState::Streaming { assembler, .. }, AnswerEnd::Complete) => match assembler.at_end_of_stream() {
                Ok(()) => {
                    let stop_reason = assembler.stop_reason().cloned();
                    return self.ended(now, Vec::new(), stop_reason, effects);
                }
                Err(violation) => broken(&violation),
            },
            (CallState::AwaitingBody { status: 200, body, .. }, AnswerEnd::Complete) => {
                let body = body.clone();
                return self.on_whole_answer(env, now, &body, effects);
            }
            (_, how) => self.told_failure().unwrap_or_else(|| cut_short(how)),
        };
        self.fail(env, now, failure, effects)
    }

    /// A timer rings: a wait is over, or an answer takes too long. One that is neither is stale.
    fn on_timer(&mut self, env: &Environment, now: Time, timer: TimerId, effects: &mut AgentEffects) -> CallVerdict {
        if timer == self.retry_timer() {
            self.on_wait_over(env, now, effects);
        }
        let rung = self.watchdog.as_mut().filter(|watchdog| watchdog.timer() == timer).map(|watchdog| watchdog.on_timer(now));
        match rung {
            None | Some(watchdog::WatchdogSignal::StaleTimer) => CallVerdict::Pending,
            Some(watchdog::WatchdogSignal::Rearmed { at, warning }) => {
                if let Some(text) = warning {
                    effects.push(Effect::Emit(Emission::Warning { text }));
                }
                effects.push(Effect::SetTimer { timer, at });
                CallVerdict::Pending
            }
            Some(watchdog::WatchdogSignal::Expired(failure)) => {
                self.watchdog = None;
                effects.push(Effect::CloseRequest { id: self.id });
                let failure = self.told_failure().unwrap_or(failure);
                self.fail(env, now, failure, effects)
            }
        }
    }

    /// The failure that the head of an answer told: its status and the wait that it asks for hold, however its body ends (R-2).
    fn told_failure(&self) -> Option<AttemptFailure> {
        match &self.state {
            CallState::AwaitingBody { status, headers, body } if *status != 200 => {
                Some(AttemptFailure::from_answer(*status, headers, body))
            }
            _ => None,
        }
    }

    fn retry_timer(&self) -> TimerId {
        TimerId { id: RETRY_TIMER, generation: self.id.attempt + 1 }
    }

    /// Credentials were renewed, or are not to be had.
    fn on_auth(&mut self, env: &Environment, now: Time, ok: bool, effects: &mut AgentEffects) -> CallVerdict {
        let CallState::Refreshing(failure) = &self.state else { return CallVerdict::Pending };
        let failure = failure.clone();
        if !ok {
            return self.give_up(now, failure, Some("no new credentials were available"));
        }
        self.attempt_at_once(env, now, &failure, effects);
        CallVerdict::Pending
    }

    /// The open text and thinking of an aborted call (Q-10a). Half of a tool's input is no input.
    pub(crate) fn unfinished(&self) -> Vec<Arc<AssistantMessage>> {
        let CallState::Streaming { assembler, .. } = &self.state else { return Vec::new() };
        let is_said = |block: &Block| match block.kind() {
            BlockKind::Text(text) | BlockKind::Thinking { thinking: text, .. } => !text.trim().is_empty(),
            _ => false,
        };
        let said = assembler.open_blocks().filter(|(_, block)| is_said(block));
        said.map(|(index, block)| Arc::new(message(self.id, assembler.message_id(), assembler.model(), index, block))).collect()
    }

    /// Whether thinking of an aborted call has no end: an answer is kept without it.
    pub(crate) fn has_unfinished_thinking(&self) -> bool {
        matches!(&self.state, CallState::Streaming { assembler, .. } if assembler.open_blocks().any(|(_, block)| block.is_thinking()))
    }

    /// Ends an attempt or a wait at once (R-5).
    pub(crate) fn abort(&mut self, now: Time, effects: &mut AgentEffects) {
        let is_open = match self.state {
            CallState::AwaitingHead | CallState::Streaming { .. } | CallState::AwaitingBody { .. } => true,
            CallState::Waiting { .. } => {
                effects.push(Effect::CancelTimer { timer: self.retry_timer() });
                false
            }
            CallState::Due(_) | CallState::Refreshing(_) | CallState::Abandoned(..) | CallState::Ended => false,
        };
        self.to(CallCause::Abort, CallState::Ended);
        self.disarm(effects);
        if is_open {
            self.report(now, "aborted", effects);
            effects.push(Effect::CloseRequest { id: self.id });
        }
    }
}
