//! The steps after a failed attempt: the policy's decision is carried out, or returned to the owner.

use super::{ApiCall, CallCause, CallState, CallVerdict, CompletedAnswer, LostAttempt, shape};
use crate::agent_effects::AgentEffects;
use crate::contract::{Effect, RequestId};
use crate::emission::{AttemptReport, Emission, Note};
use crate::retry::broken_stream::StreamProgress;
use crate::retry::{self, AttemptFailure, CallKind, FailedAttempt, RetryDecision, overload};
use crate::settings::Environment;
use crate::time::{Micros, Time};
use reenact_wire::prelude::*;

impl ApiCall {
    /// An attempt failed: it is repeated if the policy says so; if something of it was handed up, the owner first forgets that.
    pub(super) fn fail(&mut self, env: &Environment, now: Time, mut failure: AttemptFailure, effects: &mut AgentEffects) -> CallVerdict {
        self.disarm(effects);
        self.report(now, &failure.summary(), effects);
        let was_answered = !matches!(self.state, CallState::AwaitingHead);
        self.history.overloads = overload::counted(self.history.overloads, &failure, was_answered);
        let handed_up = matches!(self.state, CallState::Streaming { handed_up: true, .. });
        let progress = self.progress();
        let settings = &env.settings.retry;
        let case = FailedAttempt {
            failure: &failure,
            id: self.id,
            now,
            call: CallKind { answered: was_answered, handed_up, progress, ..self.kind(env) },
            history: self.history,
            settings,
            seed: env.seed,
            given: env.given_backoff(self.id),
        };
        let decision = retry::decide(&case);
        self.history.just_refreshed = matches!(decision, RetryDecision::RefreshAuth { .. });
        match decision {
            RetryDecision::GiveUp(reason) => self.give_up(now, failure, reason.as_deref()),
            RetryDecision::PromptTooLong => {
                failure.too_long = true;
                self.give_up(now, failure, None)
            }
            RetryDecision::Media => self.give_up(now, failure, None),
            RetryDecision::Fallback => self.fall_back(env, now, failure),
            RetryDecision::KeepPart => self.keep_part(now),
            decision if handed_up => {
                self.to(CallCause::LateFailure, CallState::Abandoned(failure, decision));
                CallVerdict::Abandoned(self.lose())
            }
            decision => {
                let lost = self.lose();
                self.carry_out(env, now, failure, decision, effects);
                CallVerdict::AttemptLost(lost)
            }
        }
    }

    /// Takes the use of the attempt. The next one begins with nothing.
    fn lose(&mut self) -> LostAttempt {
        LostAttempt { usage: core::mem::take(&mut self.usage), is_fast: self.is_fast() }
    }

    /// Does what was decided about a failed attempt of which nothing is handed up, or is any more.
    pub(super) fn carry_out(
        &mut self,
        env: &Environment,
        now: Time,
        failure: AttemptFailure,
        decision: RetryDecision,
        effects: &mut AgentEffects,
    ) {
        match decision {
            RetryDecision::After { delay, new_client, counted } => {
                self.client += u32::from(new_client);
                match counted {
                    true => self.history.retries += 1,
                    false => self.history.polls = self.history.polls.after_one_more(now, &env.settings.retry),
                }
                // There is no last one of the retries that do not count.
                let of = if counted { self.last_retry(env) } else { 0 };
                self.wait(env, now, delay, &failure, of, effects);
            }
            RetryDecision::RefreshAuth { forced, provider } => {
                self.history.forced_refresh |= forced;
                self.client += 1;
                self.to(CallCause::CredentialRefresh, CallState::Refreshing(failure));
                let provider = provider.map(|provider| provider.as_str().into());
                effects.push(Effect::RefreshAuth { id: self.id, forced, provider });
            }
            RetryDecision::LowerMaxTokens(max_tokens) => {
                self.history.lowered = true;
                self.lower_max_tokens(max_tokens);
                self.attempt_at_once(env, now, &failure, effects);
            }
            RetryDecision::StandardSpeed { cooldown } => {
                self.switch_to_standard(now, cooldown, &failure.summary(), effects);
                self.attempt();
            }
            RetryDecision::Silent(delay) => {
                self.history.silent += 1;
                effects.push(Effect::Note(Note::SilentWait { id: self.id, delay }));
                self.wait_on(env, now, now, now + delay, effects);
            }
            RetryDecision::AtOnce => {
                self.history.refused += 1;
                self.attempt_at_once(env, now, &failure, effects);
            }
            RetryDecision::WithoutStreaming => {
                self.history.unannounced += u32::from(env.settings.retry.nonstreaming_counts && failure.broke.is_some());
                self.stop_streaming(env.settings.retry.nonstreaming_max_tokens);
                self.attempt_at_once(env, now, &failure, effects);
            }
            RetryDecision::GiveUp(_)
            | RetryDecision::PromptTooLong
            | RetryDecision::Media
            | RetryDecision::Fallback
            | RetryDecision::KeepPart => {
                debug_assert!(false, "what ends a call is not carried out");
            }
        }
    }

    /// what came of a stream that broke is an answer.
    fn keep_part(&mut self, now: Time) -> CallVerdict {
        let CallState::Streaming { assembler, .. } = &self.state else { unreachable!("a part of an answer comes by a stream") };
        let stop_reason = assembler.stop_reason().cloned();
        self.to(CallCause::KeptPart, CallState::Ended);
        CallVerdict::Ended(CompletedAnswer { is_part: true, ..self.completed(now, Vec::new(), stop_reason) })
    }

    /// The next attempt, at once unless the server asked to wait: only a switch of speed is no reason to.
    pub(super) fn attempt_at_once(&mut self, env: &Environment, now: Time, failure: &AttemptFailure, effects: &mut AgentEffects) {
        match failure.retry_after {
            Some(delay) => {
                self.history.retries += 1;
                let of = self.last_retry(env);
                self.wait(env, now, delay, failure, of, effects);
            }
            None => self.attempt(),
        }
    }

    /// The number of the last retry: those that do not count are numbered with the others, and a wait that the server asks for needs no
    /// retry to be left.
    fn last_retry(&self, env: &Environment) -> u32 {
        env.settings.retry.max_retries.max(self.history.retries) + self.history.polls.made
    }

    /// The facts about the call that the policy needs.
    fn kind(&self, env: &Environment) -> CallKind {
        let fallback = env.settings.session.fallback_model.as_ref();
        CallKind {
            streamed: self.request.stream,
            answered: false,
            handed_up: false,
            progress: StreamProgress::default(),
            urgency: self.urgency,
            fast: self.shape.is_fast(),
            has_fallback: fallback.is_some_and(|model| *model != self.request.model),
            max_tokens: self.request.max_tokens,
            thinking_budget: shape::thinking_budget(&self.request),
        }
    }

    /// the notice comes before the wait.
    fn wait(&mut self, env: &Environment, now: Time, delay: Micros, failure: &AttemptFailure, of: u32, effects: &mut AgentEffects) {
        effects.push(Effect::Emit(Emission::ApiRetry {
            id: self.id,
            retry: self.history.retries + self.history.polls.made,
            of,
            delay,
            status: failure.status,
            kind: failure.kind.clone(),
            text: failure.message.clone(),
        }));
        self.wait_on(env, now, now, now + delay, effects);
    }

    /// Waits until `until`, or as long as one may be silent.
    fn wait_on(&mut self, env: &Environment, now: Time, since: Time, until: Time, effects: &mut AgentEffects) {
        let retry = &env.settings.retry;
        let is_cut = retry.unattended && retry.heartbeat > Micros::ZERO;
        let rings = if is_cut { until.min(now + retry.heartbeat) } else { until };
        self.to(CallCause::Wait, CallState::Waiting { since, until, rings });
        effects.push(Effect::SetTimer { timer: self.retry_timer(), at: rings });
    }

    /// The timer of a wait rings. A driver may let one ring that was cancelled: it must not cut a later wait short.
    pub(super) fn on_wait_over(&mut self, env: &Environment, now: Time, effects: &mut AgentEffects) {
        match self.state {
            CallState::Waiting { until, .. } if until <= now => self.attempt(),
            CallState::Waiting { since, until, rings } if rings <= now => {
                let (waited, remaining) = (now.since(since), until.since(now));
                effects.push(Effect::Emit(Emission::Heartbeat { id: self.id, waited, remaining }));
                self.wait_on(env, now, since, until, effects);
            }
            _ => (),
        }
    }

    /// The next attempt at the same request is due.
    pub(super) fn attempt(&mut self) {
        let next = RequestId { attempt: self.id.attempt + 1, ..self.id };
        self.to(CallCause::NextAttempt, CallState::Due(next));
    }

    /// names the last error, the attempts made and the time they took. The next call counts from zero.
    pub(super) fn give_up(&mut self, now: Time, failure: AttemptFailure, reason: Option<&str>) -> CallVerdict {
        self.to(CallCause::GiveUp, CallState::Ended);
        self.history.overloads = 0;
        let attempts = self.id.attempt + 1 - self.first_attempt;
        if attempts == 1 && reason.is_none() {
            return CallVerdict::Failed(failure);
        }
        let reason = reason.map(|reason| format!("{reason}; ")).unwrap_or_default();
        let attempts = if attempts == 1 { "1 attempt" } else { &format!("{attempts} attempts") };
        let message = format!("{} ({reason}gave up after {attempts} in {})", failure.message, now.since(*self.since));
        CallVerdict::Failed(AttemptFailure { message: message.into(), ..failure })
    }

    /// another model takes over, and none of its answers was counted yet.
    fn fall_back(&mut self, env: &Environment, now: Time, failure: AttemptFailure) -> CallVerdict {
        match &env.settings.session.fallback_model {
            Some(to) => {
                self.to(CallCause::Fallback, CallState::Ended);
                self.history.overloads = 0;
                CallVerdict::Fallback { to: to.clone(), failure }
            }
            None => self.give_up(now, failure, None),
        }
    }

    /// every attempt is an item of the transcript.
    pub(super) fn report(&self, now: Time, outcome: &str, effects: &mut AgentEffects) {
        effects.push(Effect::Note(Note::Attempt(Box::new(AttemptReport {
            id: self.id,
            model: self.request.model.clone(),
            client: self.client,
            started: *self.started,
            first_byte: *self.first_byte,
            ended: now,
            outcome: outcome.into(),
            usage: self.usage,
        }))));
    }
}
