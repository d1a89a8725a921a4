//! O-9: attempts, delays and their order obey the retry rules: attempts are numbered one after another, no wait that the server asked
//! for is undercut unless the speed or the model changes, and a wait is announced before it and kept.

use super::{OracleFindings, OracleRules};
use reenact_engine::contract::{Effect, Emission, Input, Micros, RequestId, Time};
use reenact_engine::key::Deadline;
use reenact_wire::error::ApiError;
use reenact_wire::event::EventPayload;
use reenact_wire::prelude::*;

pub(super) const ORACLE: &str = "O-9";

/// The attempts at the request that was made last.
#[derive(Clone, Debug, Default, Hash)]
pub(super) enum RetryOracle {
    /// No request.
    #[default]
    Idle,
    /// This is the last of them.
    Asked(ObservedAttempt),
    /// The prompt was aborted or is over: what still comes of it is no matter of retrying.
    Ended { prompt: u32 },
}

/// The observations of an attempt.
#[derive(Clone, Debug, Hash)]
pub(super) struct ObservedAttempt {
    id: RequestId,
    model: Arc<str>,
    /// When its answer was over, or was given up.
    over: Option<Deadline>,
    /// The server wants to hear nothing before this time.
    asked: Deadline,
    /// When the announced wait is over; `None` when none was announced.
    announced: Option<Deadline>,
    /// The number that the last retry was announced with.
    retries: u32,
    /// Whether the wait is for credentials, which take as long as they take, or has no notice by the settings.
    is_untold: bool,
    /// Whether the speed was switched.
    switched: bool,
}

impl RetryOracle {
    pub(super) fn on_input(&mut self, rules: &OracleRules, at: Time, input: &Input) {
        if let (Input::Cancel, Self::Asked(attempt)) = (input, &*self) {
            *self = Self::Ended { prompt: attempt.id.prompt };
        }
        let Self::Asked(attempt) = self else { return };
        match input {
            // What comes after the engine has closed the request is not heard.
            Input::Head { id, status, headers } if *id == attempt.id && *status != 200 && attempt.over.is_none() => {
                let wait = ApiError::read(*status, headers, b"").delay_us().map_or(Micros::ZERO, Micros);
                attempt.asked = Deadline(at + wait);
            }
            Input::End { id, .. } if *id == attempt.id => attempt.end(at),
            Input::Stream { id, event } if *id == attempt.id && matches!(event.payload(), EventPayload::Error { .. }) => {
                attempt.is_untold |= rules.settings.retry.silent_retries > 0;
            }
            _ => (),
        }
    }

    pub(super) fn on_request(
        &mut self,
        rules: &OracleRules,
        at: Time,
        (id, model): (RequestId, &Arc<str>),
        found: &mut OracleFindings<'_>,
    ) {
        let mut retries = 0;
        match self {
            Self::Ended { prompt } if *prompt == id.prompt => return,
            Self::Asked(before) if (before.id.prompt, before.id.turn) == (id.prompt, id.turn) => {
                before.check_next(rules, at, (id, model), found);
                retries = if before.model == *model { before.retries } else { 0 };
            }
            _ if id.attempt != 1 => found.add(ORACLE, format!("request {id} was made without the attempt before it")),
            _ => (),
        }
        let (model, asked) = (model.clone(), Deadline::default());
        *self = Self::Asked(ObservedAttempt { id, model, over: None, asked, announced: None, retries, is_untold: false, switched: false });
    }

    pub(super) fn on_effect(&mut self, at: Time, effect: &Effect, found: &mut OracleFindings<'_>) {
        if let Effect::Finished { prompt, .. } = effect {
            *self = Self::Ended { prompt: *prompt };
        }
        let Self::Asked(attempt) = self else { return };
        match effect {
            Effect::CloseRequest { id } if *id == attempt.id => attempt.end(at),
            Effect::RefreshAuth { id, .. } if *id == attempt.id => attempt.is_untold = true,
            Effect::Emit(Emission::Speed { fast: false, .. }) => attempt.switched = true,
            Effect::Emit(Emission::ApiRetry { id, retry, of, delay, .. }) => {
                if *id != attempt.id {
                    return found.add(ORACLE, format!("a retry of request {id} was announced, and the last attempt was {}", attempt.id));
                }
                if *retry != attempt.retries + 1 || (*of > 0 && retry > of) {
                    found.add(ORACLE, format!("retry {retry} of {of} was announced after {} of them", attempt.retries));
                }
                attempt.retries = *retry;
                attempt.announced = Some(Deadline(at + *delay));
            }
            _ => (),
        }
    }
}

impl ObservedAttempt {
    fn end(&mut self, at: Time) {
        self.over.get_or_insert(Deadline(at));
    }

    /// The next attempt at the same request.
    fn check_next(&self, rules: &OracleRules, at: Time, (id, model): (RequestId, &Arc<str>), found: &mut OracleFindings<'_>) {
        found.ask(ORACLE);
        if id.attempt != self.id.attempt + 1 {
            found.add(ORACLE, format!("request {id} was made after {}", self.id));
        }
        let Some(over) = self.over else {
            return found.add(ORACLE, format!("request {id} was made while {} was open", self.id));
        };
        let is_another = self.switched || self.model != *model;
        if at < *self.asked && !is_another {
            found.add(ORACLE, format!("request {id} was made too early: the server had asked to wait until {}", *self.asked));
        }
        match self.announced {
            Some(Deadline(until)) if at < until => {
                found.add(ORACLE, format!("request {id} was made before the announced wait was over at {until}"))
            }
            Some(Deadline(until)) if at > until + rules.lateness && !self.is_untold => {
                found.add(ORACLE, format!("request {id} was made {} after the announced wait was over", at.since(until)));
            }
            None if at > *over && !self.is_untold => {
                found.add(ORACLE, format!("request {id} was made {} after the failure, and no wait was announced", at.since(*over)));
            }
            _ => (),
        }
    }
}
