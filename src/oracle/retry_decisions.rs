//! O-31: the decisions of a retry table, held against a reference model of it, and the model that a prompt begins with.
//!
//! ```text
//!   answer ──> AttemptEnd ──> retry_table::allowed ──> AllowedDecisions <── notice, next attempt, hand-over, error of the engine
//!   prompt ──> begun_models ──> the models that it may begin with       <── first request
//! ```
//!
//! The environment states the settings of retries, and with `policy = "engine"` that the engine has a table of its own: then its decisions are not
//! judged. What an engine announces would be a weaker sign: one that gives up at its first failure announces nothing.
//!
//! A decision is judged once, where it first shows. A call that is lost without a word is not: an engine may do without a summary or a title.
//! What follows an abort is no decision of the table.

mod begun_models;
mod retry_table;

use super::{OracleFindings, OracleRules};
use begun_models::BegunModels;
use reenact_engine::contract::{Agent, AnswerEnd, Effect, Emission, HttpHeader, Input, Micros, Request, RequestId, Time};
use reenact_engine::key::{Deadline, SharedValue};
use reenact_engine::settings::{RetryPolicySource, StreamOrderPolicy};
use reenact_wire::error::ApiError;
use reenact_wire::event::EventPayload;
use reenact_wire::prelude::*;
use reenact_wire::rate_limit::reset_us;
use reenact_wire::whole_message::whole_message;
pub(super) use retry_table::OVERLOADED;
use retry_table::{AllowedDecisions, AttemptEnd, BrokenAnswer, CallRecord, CountRange, Repetition};

pub(super) const ORACLE: &str = "O-31";

/// How much longer than asked for a wait may be because the engine counts in milliseconds.
const ROUNDING: Micros = Micros::from_millis(1);

/// The calls of one agent whose answers are not whole.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct RetryDecisionOracle {
    calls: Vec<ObservedCall>,
    /// The overloads in a row that a new call may begin with.
    overloads: CountRange,
    begun: BegunModels,
    /// Until when answers are not fast (R-9).
    standard_until: Deadline,
}

/// A request with all its attempts of one model.
#[derive(Clone, Debug, Hash)]
struct ObservedCall {
    /// The last attempt.
    id: RequestId,
    request: SharedValue<Request>,
    heard: HeardAnswer,
    /// How it ended, and what may follow.
    over: Option<(AttemptEnd, AllowedDecisions)>,
    /// When it ended, if it did.
    over_at: Deadline,
    /// The attempts before it.
    record: CallRecord,
    has_notice: bool,
    has_new_credentials: bool,
    is_judged: bool,
}

/// The part of an answer that has come.
#[derive(Clone, Debug, Default, Hash)]
struct HeardAnswer {
    head: Option<(u16, Arc<[HttpHeader]>)>,
    body: Arc<str>,
    stream: BrokenAnswer,
    is_stopped: bool,
}

/// The decision of an engine about a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum SeenDecision {
    Repeat,
    GiveUp,
    HandOver,
}

impl RetryDecisionOracle {
    /// The user, a tool or a person has aborted what all agents do, or a message of the user may have.
    pub(super) fn on_abort(&mut self) {
        self.calls.clear();
    }

    /// Whether the next piece of this answer is the first with content.
    pub(super) fn awaits_content(&self, id: RequestId) -> bool {
        self.calls.iter().any(|call| call.id == id && call.over.is_none() && !call.heard.stream.has_content)
    }

    pub(super) fn on_input(&mut self, rules: &OracleRules, at: Time, input: &Input) {
        match input {
            Input::Prompt { prompt, content } => self.begun.on_prompt(rules, *prompt, content),
            Input::Interrupt { prompt, content } => {
                self.begun.on_prompt(rules, *prompt, content);
                self.on_abort();
            }
            Input::Head { id, status, headers } => {
                if let Some(call) = self.open(*id) {
                    call.heard.head = Some((*status, headers.clone()));
                }
            }
            Input::Body { id, body } => {
                if let Some(call) = self.open(*id) {
                    call.heard.body = body.clone();
                }
            }
            Input::Stream { id, event } => {
                if let Some(call) = self.open(*id)
                    && call.heard.on_event(event.payload())
                {
                    let end = call.heard.end_by_error();
                    self.close(rules, (at, *id), end);
                }
            }
            Input::End { id, how } => {
                if let Some(call) = self.open(*id) {
                    let end = call.heard.end(rules, how);
                    self.close(rules, (at, *id), end);
                }
            }
            Input::AuthRefreshed { id, ok: false } => {
                if let Some(call) = self.call(*id) {
                    call.is_judged = true; // it was tried, and there is nothing to go on with
                }
            }
            _ => (),
        }
    }

    pub(super) fn on_request(
        &mut self,
        rules: &OracleRules,
        (agent, id): (&Agent, RequestId),
        request: &SharedValue<Request>,
        found: &mut OracleFindings<'_>,
    ) {
        if agent.is_root() {
            self.begun.on_request(rules, id, &request.model, found);
        }
        if found.at < *self.standard_until && retry_table::is_fast(rules, request) {
            found.add(ORACLE, format!("request {id} asks for a fast answer, and answers are at standard speed for now"));
        }
        if rules.settings.retry.policy == RetryPolicySource::Engine {
            return;
        }
        let known = self.calls.iter().position(|call| (call.id.prompt, call.id.turn) == (id.prompt, id.turn));
        let record = match known.map(|place| self.calls.swap_remove(place)) {
            Some(mut before) if before.request.model == request.model => {
                before.judge(SeenDecision::Repeat, &format_args!("request {id}"), found);
                before.check_manner(id, rules, request, found);
                before.record_with_one_more(rules)
            }
            Some(mut before) => {
                before.judge(SeenDecision::HandOver, &format_args!("request {id}"), found);
                CallRecord::default()
            }
            // The beginning of the call was before an abort, or it is an attempt after a whole answer.
            None => CallRecord { overloads: self.overloads, is_unknown: id.attempt > 1, ..CallRecord::default() },
        };
        self.calls.push(ObservedCall {
            id,
            request: request.clone(),
            heard: HeardAnswer::default(),
            over: None,
            over_at: Deadline::default(),
            record,
            has_notice: false,
            has_new_credentials: false,
            is_judged: false,
        });
    }

    pub(super) fn on_effect(&mut self, rules: &OracleRules, effect: &Effect, found: &mut OracleFindings<'_>) {
        self.begun.on_effect(effect);
        match effect {
            Effect::Emit(Emission::Speed { fast, until, .. }) => {
                self.standard_until = Deadline(if *fast { Time::ZERO } else { until.unwrap_or(Time(u64::MAX)) });
            }
            Effect::CloseRequest { id } => {
                if let Some(call) = self.open(*id) {
                    let end = AttemptEnd::Unknown(call.heard.status());
                    self.close(rules, (found.at, *id), end);
                }
            }
            Effect::RefreshAuth { id, .. } => {
                if let Some(call) = self.call(*id) {
                    call.has_new_credentials = true;
                }
            }
            Effect::Emit(Emission::ApiRetry { id, delay, .. }) => {
                if let Some(call) = self.call(*id) {
                    call.judge(SeenDecision::Repeat, &format_args!("a retry of {id}"), found);
                    call.has_notice = true;
                    call.check_delay(rules, *delay, found);
                }
            }
            Effect::Emit(Emission::ModelFallback { id, to, .. }) => {
                if let Some(call) = self.call(*id) {
                    call.judge(SeenDecision::HandOver, &format_args!("a hand-over of {id}"), found);
                    if rules.settings.session.fallback_model.as_ref() != Some(to) {
                        found.add(ORACLE, format!("request {id} was handed over to {to}, which is not the fallback model"));
                    }
                }
            }
            Effect::Emit(Emission::Assistant(message)) if message.error.is_some() => {
                if let Some(call) = self.call(message.id) {
                    call.judge(SeenDecision::GiveUp, &format_args!("the error of {}", message.id), found);
                }
            }
            Effect::Finished { prompt, .. } => self.calls.retain(|call| call.id.prompt != *prompt),
            _ => (),
        }
    }

    fn call(&mut self, id: RequestId) -> Option<&mut ObservedCall> {
        self.calls.iter_mut().find(|call| call.id == id)
    }

    /// The call whose attempt this is, if the attempt is not over.
    fn open(&mut self, id: RequestId) -> Option<&mut ObservedCall> {
        self.call(id).filter(|call| call.over.is_none())
    }

    /// An attempt is over.
    fn close(&mut self, rules: &OracleRules, (at, id): (Time, RequestId), end: AttemptEnd) {
        let Some(call) = self.call(id) else { return };
        call.record.overloads = retry_table::overloads_after(call.record.overloads, &end);
        let (overloads, is_whole) = (call.record.overloads, matches!(end, AttemptEnd::Whole));
        let is_caption = rules.settings.session.tool_use_summaries.as_ref() == Some(&call.request.model);
        let allowed = retry_table::allowed(rules, &call.request, &call.record, &end);
        call.over = Some((end, allowed));
        call.over_at = Deadline(at);
        // The next call continues counting, unless this one gave up. One that writes captions beside it says nothing about it.
        self.overloads = match is_caption {
            true => CountRange { least: 0, most: overloads.most.max(self.overloads.most) },
            false => CountRange { least: 0, ..overloads },
        };
        if is_whole {
            self.calls.retain(|call| call.id != id);
        }
    }
}

impl HeardAnswer {
    fn status(&self) -> Option<u16> {
        self.head.as_ref().map(|(status, _)| *status)
    }

    /// Whether the event ends the attempt.
    fn on_event(&mut self, event: &EventPayload<'_>) -> bool {
        match event {
            EventPayload::MessageStart(start) => {
                self.stream.has_content |= !start.content.is_empty();
                self.stream.has_block |= !start.content.is_empty();
            }
            EventPayload::BlockStart { .. } | EventPayload::BlockDelta { .. } => self.stream.has_content = true,
            EventPayload::BlockStop { .. } => self.stream.has_block = true,
            EventPayload::MessageStop => self.is_stopped = true,
            EventPayload::Error { kind, .. } => {
                self.stream.error = Some(kind.as_ref().into());
                return true;
            }
            _ => (),
        }
        false
    }

    /// An error event ends the attempt. Behind the last event of an answer it may mean nothing; that the API is overloaded counts there, too.
    fn end_by_error(&self) -> AttemptEnd {
        let is_overload = self.stream.error.as_deref() == Some(OVERLOADED);
        match self.status() == Some(200) && (is_overload || !self.is_stopped) {
            true => AttemptEnd::Broken(self.stream.clone()),
            false => AttemptEnd::Unknown(self.status()),
        }
    }

    fn end(&self, rules: &OracleRules, how: &AnswerEnd) -> AttemptEnd {
        let is_complete = *how == AnswerEnd::Complete;
        match &self.head {
            None => AttemptEnd::Unanswered,
            Some((200, _)) if is_complete && (self.is_stopped || whole_message(&self.body).is_ok()) => AttemptEnd::Whole,
            Some((200, _)) if is_complete && rules.settings.stream_order == StreamOrderPolicy::Lenient => AttemptEnd::Unknown(Some(200)),
            Some((200, _)) => AttemptEnd::Broken(self.stream.clone()),
            Some((status, headers)) if is_complete => AttemptEnd::Refused(Arc::new(ApiError::read(*status, headers, self.body.as_bytes()))),
            Some((status, _)) => AttemptEnd::Unknown(Some(*status)),
        }
    }
}

impl ObservedCall {
    /// The decision shows, and is judged if it was not before.
    fn judge(&mut self, seen: SeenDecision, sign: &dyn core::fmt::Display, found: &mut OracleFindings<'_>) {
        let Some((_, allowed)) = self.over.as_ref().filter(|_| !self.is_judged) else { return };
        let allowed = *allowed;
        self.is_judged = true;
        let is_allowed = match seen {
            SeenDecision::Repeat => allowed.repeat.is_some(),
            SeenDecision::GiveUp => allowed.give_up,
            SeenDecision::HandOver => allowed.hand_over,
        };
        if !allowed.is_open() {
            found.ask(ORACLE);
        }
        if !is_allowed {
            let done = match seen {
                SeenDecision::Repeat => "repeats the request",
                SeenDecision::GiveUp => "gives up",
                SeenDecision::HandOver => "hands over to another model",
            };
            found.add(ORACLE, format!("{sign} {done} after attempt {}, and by the settings {}", self.id.attempt, self.expected()));
        }
    }

    /// The decisions of the table, and the counts that it goes by.
    fn expected(&self) -> String {
        let Some((end, allowed)) = &self.over else { return String::new() };
        let all = [(allowed.repeat.is_some(), "repeats"), (allowed.give_up, "gives up"), (allowed.hand_over, "hands over")];
        let words: Vec<&str> = all.iter().filter(|(is_allowed, _)| *is_allowed).map(|(_, word)| *word).collect();
        let CallRecord { retries, overloads, .. } = self.record;
        format!(
            "the table {} after {} (repetitions before it: {}; overloads in a row: {})",
            words.join(" or "),
            end.in_words(),
            retries.most,
            overloads.most
        )
    }

    /// The manner of the repetition that this request is.
    fn check_manner(&self, id: RequestId, rules: &OracleRules, request: &Request, found: &mut OracleFindings<'_>) {
        let Some((_, AllowedDecisions { repeat: Some(how), .. })) = &self.over else { return };
        let problem = match how {
            // A wait without a notice is O-9's.
            Repetition::Waited if !self.has_notice && found.at <= *self.over_at => "was made at once, and the table waits",
            Repetition::Renewed if !self.has_new_credentials => "was made without new credentials",
            Repetition::Lowered(max_tokens) if request.max_tokens != *max_tokens => {
                return found
                    .add(ORACLE, format!("request {id} has a max_tokens of {}, and {max_tokens} is what fits", request.max_tokens));
            }
            Repetition::Unstreamed if request.stream => "asks for a stream, and the table for a whole answer",
            Repetition::Unstreamed => return self.check_room(id, rules, request, found),
            Repetition::Standard if retry_table::is_fast(rules, request) => "asks for a fast answer again",
            _ => return,
        };
        found.add(ORACLE, format!("request {id} {problem}"));
    }

    /// R-11: a whole answer has no more room than the API gives one that is not streamed, and no less for the rest.
    fn check_room(&self, id: RequestId, rules: &OracleRules, request: &Request, found: &mut OracleFindings<'_>) {
        let room = self.request.max_tokens.min(rules.settings.retry.nonstreaming_max_tokens);
        if request.max_tokens != room {
            found.add(
                ORACLE,
                format!("request {id} asks for a whole answer with a max_tokens of {}, and the room is {room}", request.max_tokens),
            );
        }
    }

    /// R-1, R-2: the length of an announced wait.
    fn check_delay(&self, rules: &OracleRules, delay: Micros, found: &mut OracleFindings<'_>) {
        let Some((end, AllowedDecisions { repeat: Some(Repetition::Waited), .. })) = &self.over else { return };
        if rules.has_given_waits || self.record.is_unknown {
            return;
        }
        let (least, most) = self.delay_bounds(rules, end);
        if delay < least || delay > most {
            found.add(ORACLE, format!("the wait after request {} is {delay}, and the settings give {least} to {most}", self.id));
        }
    }

    /// The shortest and the longest wait.
    fn delay_bounds(&self, rules: &OracleRules, end: &AttemptEnd) -> (Micros, Micros) {
        let settings = &rules.settings.retry;
        let with_jitter = |delay: Micros, percent: u32| delay + delay.scaled(u64::from(percent), 100);
        let error = if let AttemptEnd::Refused(error) = end { Some(error) } else { None };
        if let Some(asked) = error.and_then(|error| error.delay_us()).map(Micros) {
            // A shorter one is O-9's.
            return (Micros::ZERO, with_jitter(asked, settings.retry_after_jitter_percent) + ROUNDING);
        }
        let doubled = |times: u32| {
            let factor = 1_u64.checked_shl(times).unwrap_or(u64::MAX);
            settings.base_delay.scaled(factor, 1)
        };
        if retry_table::has_no_limit(rules, end) {
            let headers = self.heard.head.as_ref().filter(|(status, _)| *status == 429).map(|(_, headers)| headers);
            // The time at which a limit is whole again is waited for in place of polling.
            if let Some(reset) = headers.and_then(|headers| reset_us(headers)).map(Micros) {
                let wait = reset.min(settings.unattended_reset);
                return (Micros(wait.0.saturating_sub(ROUNDING.0)), wait + ROUNDING);
            }
            let most = settings.unattended_max_delay;
            return (doubled(0).min(most), most);
        }
        let CountRange { least, most } = self.record.retries;
        (doubled(least).min(settings.max_delay), with_jitter(doubled(most).min(settings.max_delay), settings.jitter_percent))
    }

    /// The record before the next attempt of the same model.
    fn record_with_one_more(&self, rules: &OracleRules) -> CallRecord {
        let mut record = self.record;
        let Some((end, allowed)) = &self.over else { return CallRecord { is_unknown: true, ..record } };
        let is_counted = allowed.repeat == Some(Repetition::Waited);
        record.retries = match self.has_notice && retry_table::has_no_limit(rules, end) {
            true => record.retries,
            false => record.retries.plus(u32::from(is_counted), 1),
        };
        let refusal = if let AttemptEnd::Refused(error) = end { Some(error) } else { None };
        let status = refusal.and_then(|error| error.status);
        // One after which less is asked for is no plain one, and the server's word is none either.
        let is_plain = !matches!(allowed.repeat, Some(Repetition::Lowered(_)))
            && status == Some(400)
            && refusal.is_some_and(|error| error.should_retry != Some(true));
        let is_fast = retry_table::is_fast(rules, &self.request);
        record.refused = record.refused.plus(u32::from(is_plain && !is_fast), u32::from(is_plain));
        record.renewed_after_401 = self.has_new_credentials && status == Some(401);
        record.renewed_otherwise = self.has_new_credentials && status != Some(401);
        record.renewed_revoked |= self.has_new_credentials && status == Some(403);
        record.is_lowered |= matches!(allowed.repeat, Some(Repetition::Lowered(_)));
        record
    }
}
