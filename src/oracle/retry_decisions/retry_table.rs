//! A reference model of the retry table: what may follow a failed attempt, by the settings that the environment states.
//!
//! It is written from the rules and shares nothing with the policy of any engine. Where the rules leave something open it allows both: an engine of
//! somebody else may count a cut connection among the overloads in a row, or not.

use super::super::OracleRules;
use reenact_engine::contract::{Micros, Request};
use reenact_engine::settings::{BrokenStreamPolicy, OverloadPolicy, UnauthorizedPolicy};
use reenact_wire::error::{ApiError, ContextFigures};
use reenact_wire::prelude::*;
use reenact_wire::raw_json::RawObject;

/// The kind of an error that says that the API is overloaded.
pub(crate) const OVERLOADED: &str = "overloaded_error";

/// How an attempt ended, as far as it can be seen.
#[derive(Clone, Debug, Hash)]
pub(super) enum AttemptEnd {
    /// With a whole answer.
    Whole,
    /// With an error status and a whole body.
    Refused(Arc<ApiError>),
    /// Without the head of an answer.
    Unanswered,
    /// Inside an answer that had begun well.
    Broken(BrokenAnswer),
    /// The engine closed it, or the body of an error was cut. The status, where there was one.
    Unknown(Option<u16>),
}

/// The part of an answer that came before it broke.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct BrokenAnswer {
    /// The `error.type` of an error event.
    pub(super) error: Option<Arc<str>>,
    /// Whether any block had begun.
    pub(super) has_content: bool,
    /// Whether a block was complete.
    pub(super) has_block: bool,
}

impl AttemptEnd {
    /// The end, in words that follow "after".
    pub(super) fn in_words(&self) -> String {
        match self {
            Self::Whole => String::from("a whole answer"),
            Self::Refused(error) => format!("{} {}", error.status.unwrap_or_default(), error.kind.as_str()),
            Self::Unanswered => String::from("no answer"),
            Self::Broken(BrokenAnswer { error: Some(kind), .. }) => format!("the error event {kind}"),
            Self::Broken(_) => String::from("a broken answer"),
            Self::Unknown(_) => String::from("an attempt that was closed"),
        }
    }
}

/// A count of which the rules allow two readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct CountRange {
    pub(super) least: u32,
    pub(super) most: u32,
}

/// The attempts at one request of one model so far.
#[derive(Clone, Copy, Debug, Default, Hash)]
pub(super) struct CallRecord {
    /// The repetitions of which there are only so many.
    pub(super) retries: CountRange,
    /// The overloads in a row, that of the last attempt included.
    pub(super) overloads: CountRange,
    /// How often a plain 400 was repeated. Of a fast attempt the error does not say whether its speed was the reason.
    pub(super) refused: CountRange,
    /// Whether the attempt before the last one ended with a 401 and new credentials.
    pub(super) renewed_after_401: bool,
    /// Whether it ended with new credentials for another reason.
    pub(super) renewed_otherwise: bool,
    /// Whether credentials that were revoked were renewed.
    pub(super) renewed_revoked: bool,
    /// Whether `max_tokens` was lowered.
    pub(super) is_lowered: bool,
    /// Whether its beginning was not seen.
    pub(super) is_unknown: bool,
}

/// The manner of a repetition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Repetition {
    /// Any.
    Any,
    /// After a wait that is announced.
    Waited,
    /// After new credentials.
    Renewed,
    /// With this `max_tokens`.
    Lowered(u64),
    /// As a request for a whole answer.
    Unstreamed,
    /// At standard speed.
    Standard,
}

/// The decisions that the table allows after a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct AllowedDecisions {
    pub(super) repeat: Option<Repetition>,
    pub(super) give_up: bool,
    pub(super) hand_over: bool,
}

impl AllowedDecisions {
    const GIVE_UP: Self = Self { repeat: None, give_up: true, hand_over: false };
    const HAND_OVER: Self = Self { repeat: None, give_up: false, hand_over: true };
    /// The same model may be asked again, or the call ends: another rule decides.
    const OPEN: Self = Self { repeat: Some(Repetition::Any), give_up: true, hand_over: false };

    fn repeat(how: Repetition) -> Self {
        Self { repeat: Some(how), give_up: false, hand_over: false }
    }

    /// Whether it allows all that this rule can judge.
    pub(super) fn is_open(self) -> bool {
        self.repeat == Some(Repetition::Any) && self.give_up && self.hand_over
    }

    /// The decisions that one of both allows.
    fn or(self, other: Self) -> Self {
        let repeat = match (self.repeat, other.repeat) {
            (Some(one), Some(another)) if one != another => Some(Repetition::Any),
            (one, another) => one.or(another),
        };
        Self { repeat, give_up: self.give_up || other.give_up, hand_over: self.hand_over || other.hand_over }
    }
}

impl CountRange {
    pub(super) fn plus(self, least: u32, most: u32) -> Self {
        Self { least: self.least.saturating_add(least), most: self.most.saturating_add(most) }
    }
}

/// Whether the API says that it is overloaded.
fn is_overload(error: &ApiError) -> bool {
    error.status == Some(529) || error.kind.as_str() == OVERLOADED
}

/// Whether the attempt asked for a fast answer on behalf of the settings.
pub(super) fn is_fast(rules: &OracleRules, request: &Request) -> bool {
    rules.settings.retry.fast_mode
        && RawObject::parse(request.extra.as_str()).is_ok_and(|members| members.string("speed").as_deref() == Some("fast"))
}

/// The overloads in a row after one more attempt: any other answer begins anew. What is no answer says nothing, or begins anew.
pub(super) fn overloads_after(before: CountRange, end: &AttemptEnd) -> CountRange {
    match end {
        AttemptEnd::Whole => CountRange::default(),
        AttemptEnd::Refused(error) if is_overload(error) => before.plus(1, 1),
        AttemptEnd::Refused(_) => CountRange::default(),
        AttemptEnd::Broken(BrokenAnswer { error: Some(kind), has_content, .. }) if &**kind == OVERLOADED => match has_content {
            false => before.plus(1, 1),
            true => CountRange { least: 0, most: before.most.saturating_add(1) },
        },
        AttemptEnd::Unknown(Some(529)) => CountRange { least: 0, most: before.most.saturating_add(1) },
        AttemptEnd::Unanswered | AttemptEnd::Broken(_) | AttemptEnd::Unknown(_) => CountRange { least: 0, ..before },
    }
}

/// Whether a wait after this end may be repeated without limit.
pub(super) fn has_no_limit(rules: &OracleRules, end: &AttemptEnd) -> bool {
    rules.settings.retry.unattended
        && match end {
            AttemptEnd::Refused(error) => error.status == Some(429) || is_overload(error),
            AttemptEnd::Broken(BrokenAnswer { error: Some(kind), .. }) => &**kind == OVERLOADED,
            _ => false,
        }
}

/// The decisions that the table allows about the last attempt of a call.
pub(super) fn allowed(rules: &OracleRules, request: &Request, record: &CallRecord, end: &AttemptEnd) -> AllowedDecisions {
    let case = TableCase { rules, request, record, end };
    if record.is_unknown {
        return AllowedDecisions { hand_over: case.other_model(), ..AllowedDecisions::OPEN };
    }
    match end {
        // The status of an error is known from its head, although the rest is not.
        AttemptEnd::Unknown(Some(404)) if rules.settings.retry.fallback_on_missing_model => {
            AllowedDecisions { hand_over: case.other_model(), ..AllowedDecisions::OPEN }
        }
        AttemptEnd::Unknown(Some(500..)) if rules.settings.retry.fallback_on_server_error => {
            AllowedDecisions { hand_over: case.other_model(), ..AllowedDecisions::OPEN }
        }
        AttemptEnd::Whole | AttemptEnd::Unknown(_) => AllowedDecisions { hand_over: case.is_due(), ..AllowedDecisions::OPEN },
        AttemptEnd::Unanswered => case.limited(Repetition::Waited),
        AttemptEnd::Broken(broken) => case.broken(broken),
        AttemptEnd::Refused(error) => case.refused(error),
    }
}

/// A repetition, as long as fewer than `most` were made.
fn counted(made: CountRange, most: u32, how: Repetition) -> AllowedDecisions {
    match () {
        () if made.most < most => AllowedDecisions::repeat(how),
        () if made.least >= most => AllowedDecisions::GIVE_UP,
        () => AllowedDecisions::GIVE_UP.or(AllowedDecisions::repeat(how)),
    }
}

/// A failed attempt with all that the table looks at.
#[derive(Clone, Copy)]
struct TableCase<'a> {
    rules: &'a OracleRules,
    request: &'a Request,
    record: &'a CallRecord,
    end: &'a AttemptEnd,
}

impl TableCase<'_> {
    /// Whether there is another model that could take over.
    fn other_model(&self) -> bool {
        self.rules.settings.session.fallback_model.as_ref().is_some_and(|other| *other != self.request.model)
    }

    /// Whether there may have been enough overloads for another model to take over.
    fn is_due(&self) -> bool {
        self.other_model() && self.record.overloads.most >= self.rules.settings.retry.overloads_to_fallback.max(1)
    }

    /// A repetition, as long as there is one left.
    fn limited(&self, how: Repetition) -> AllowedDecisions {
        match has_no_limit(self.rules, self.end) {
            true => AllowedDecisions::repeat(how),
            false => counted(self.record.retries, self.rules.settings.retry.max_retries, how),
        }
    }

    ///
    fn overloaded(&self, how: Repetition) -> AllowedDecisions {
        let settings = &self.rules.settings.retry;
        if self.rules.settings.background {
            return AllowedDecisions::GIVE_UP;
        }
        let counted_out = match settings.on_overload {
            _ if self.other_model() => AllowedDecisions::HAND_OVER,
            OverloadPolicy::GiveUp if !settings.unattended => AllowedDecisions::GIVE_UP,
            OverloadPolicy::GiveUp | OverloadPolicy::GoOn => self.limited(how),
        };
        let (overloads, enough) = (self.record.overloads, settings.overloads_to_fallback.max(1));
        match () {
            () if overloads.least >= enough => counted_out,
            () if overloads.most < enough => self.limited(how),
            () => counted_out.or(self.limited(how)),
        }
    }

    /// A stream that began and broke, or a body that is no answer.
    fn broken(&self, broken: &BrokenAnswer) -> AllowedDecisions {
        let settings = &self.rules.settings.retry;
        let open = AllowedDecisions { hand_over: self.is_due(), ..AllowedDecisions::OPEN };
        if settings.broken_streams == BrokenStreamPolicy::ByCause {
            return open;
        }
        match broken.error.as_deref() {
            Some(OVERLOADED) if is_fast(self.rules, self.request) => AllowedDecisions::repeat(Repetition::Standard),
            Some(_) if is_fast(self.rules, self.request) => open,
            Some(OVERLOADED) if broken.has_content => open,
            Some(OVERLOADED) => {
                let decision = self.overloaded(Repetition::Any);
                // The last resort of a stream that broke is also one of a stream that an overload ended: R-11 does not tell them apart.
                let is_last = decision.repeat.is_none() && decision.give_up && settings.nonstreaming_fallback && self.request.stream;
                if is_last { decision.or(AllowedDecisions::repeat(Repetition::Unstreamed)) } else { decision }
            }
            None | Some("api_error" | "rate_limit_error") => self.broken_for_no_reason(broken),
            // Nothing says which status this would have been.
            Some(_) => open,
        }
    }

    fn broken_for_no_reason(&self, broken: &BrokenAnswer) -> AllowedDecisions {
        let settings = &self.rules.settings.retry;
        let can_come_whole = settings.nonstreaming_fallback && self.request.stream;
        // An engine that is to make no retry at all may take this for one.
        let whole = AllowedDecisions { give_up: settings.max_retries == 0, ..AllowedDecisions::repeat(Repetition::Unstreamed) };
        if can_come_whole && (broken.has_block || settings.nonstreaming_without_block) {
            return whole;
        }
        let limited = self.limited(Repetition::Waited);
        match limited.repeat {
            // Where no retry is left a whole answer is the last resort.
            None if can_come_whole => whole,
            Some(_) if can_come_whole && limited.give_up => AllowedDecisions::repeat(Repetition::Any),
            _ => limited,
        }
    }

    /// An answer with an error status: its wait may be too long a one.
    fn refused(&self, error: &ApiError) -> AllowedDecisions {
        let decision = self.refused_for_now(error);
        match error.delay_us().map(Micros) {
            Some(asked) if asked > self.rules.settings.retry.max_retry_after && decision.repeat != Some(Repetition::Standard) => {
                AllowedDecisions { repeat: decision.repeat.filter(|how| *how == Repetition::Any), give_up: true, ..decision }
            }
            _ => decision,
        }
    }

    /// The same, as if any wait could be waited.
    fn refused_for_now(&self, error: &ApiError) -> AllowedDecisions {
        if let Some(decision) = self.too_much(error) {
            return decision;
        }
        let is_limited = error.status == Some(429) || is_overload(error);
        // The server's word comes before the table. What it means for an overload that was one too many is left open.
        let overloaded = AllowedDecisions { hand_over: is_overload(error) && self.is_due(), ..AllowedDecisions::GIVE_UP };
        match error.should_retry {
            Some(false) => return overloaded,
            Some(true) if overloaded.hand_over => return overloaded.or(self.limited(Repetition::Any)),
            _ => (),
        }
        if is_fast(self.rules, self.request) {
            let is_short = error.delay_us().is_some_and(|asked| Micros(asked) < self.rules.settings.retry.fast_wait_max);
            let said = error.message.to_lowercase();
            if said.contains("fast mode") || said.contains("overage") {
                return AllowedDecisions { hand_over: self.is_due(), ..AllowedDecisions::OPEN };
            }
            if is_limited && !is_short {
                return AllowedDecisions::repeat(Repetition::Standard);
            }
        }
        if error.should_retry == Some(true) {
            return self.limited(Repetition::Any);
        }
        if self.is_of_cloud(error) {
            return AllowedDecisions::OPEN;
        }
        if is_overload(error) { self.overloaded(Repetition::Waited) } else { self.by_status(error) }
    }

    fn by_status(&self, error: &ApiError) -> AllowedDecisions {
        let settings = &self.rules.settings.retry;
        let record = self.record;
        match error.status.unwrap_or_default() {
            0..400 => AllowedDecisions::OPEN,
            400 => counted(record.refused, settings.refused_retries, Repetition::Any),
            401 if settings.on_unauthorized == UnauthorizedPolicy::Wait => self.limited(Repetition::Waited),
            401 if record.renewed_after_401 => AllowedDecisions::GIVE_UP,
            401 if record.renewed_otherwise => AllowedDecisions::OPEN,
            401 => AllowedDecisions::repeat(Repetition::Renewed),
            403 if error.message.contains("revoked") && !record.renewed_revoked => AllowedDecisions::repeat(Repetition::Renewed),
            404 if self.other_model() && settings.fallback_on_missing_model => AllowedDecisions::HAND_OVER,
            404 if self.request.stream && settings.nonstreaming_fallback => AllowedDecisions::repeat(Repetition::Unstreamed),
            408 | 409 | 429 => self.limited(Repetition::Waited),
            500.. if self.other_model() && settings.fallback_on_server_error => AllowedDecisions::HAND_OVER,
            500.. => self.limited(Repetition::Waited),
            _ => AllowedDecisions::GIVE_UP,
        }
    }

    /// Too long a prompt and too large media are not an attempt's matter; too much room for the answer is.
    fn too_much(&self, error: &ApiError) -> Option<AllowedDecisions> {
        let said = error.message.to_lowercase();
        let names_media = ["image", "document", "pdf"].iter().any(|word| said.contains(word));
        match (error.status, error.context) {
            (Some(413), _) => Some(AllowedDecisions::OPEN),
            (Some(400), _) if names_media => Some(AllowedDecisions::OPEN),
            (Some(400), Some(ContextFigures::InputAndMaxTokens { input_tokens, limit, .. })) => {
                Some(self.overflow(limit.saturating_sub(input_tokens)))
            }
            (Some(400), _) if error.is_context_overflow() || said.contains("exceed context limit") => Some(AllowedDecisions::OPEN),
            _ => None,
        }
    }

    /// less room for the answer, once in a call, and not below the floor. Otherwise the prompt is too long.
    fn overflow(&self, room: u64) -> AllowedDecisions {
        let settings = &self.rules.settings.retry;
        let thinking =
            RawObject::parse(self.request.extra.as_str()).ok().and_then(|extra| extra.object("thinking")?.count("budget_tokens"));
        let floor = settings.overflow_floor.max(thinking.map_or(0, |budget| budget.saturating_add(1)));
        let lowered = room.saturating_sub(settings.overflow_margin);
        match self.record.is_lowered || lowered < floor || lowered >= self.request.max_tokens {
            true => AllowedDecisions::OPEN,
            false => AllowedDecisions::repeat(Repetition::Lowered(lowered)),
        }
    }

    /// Whether it may be about the credentials of a cloud provider, who says so in words of its own.
    fn is_of_cloud(&self, error: &ApiError) -> bool {
        let said = error.message.to_lowercase();
        let names_them = ["token", "credential", "invalid_grant"].iter().any(|word| said.contains(word));
        self.rules.settings.retry.cloud.is_some() && (matches!(error.status, Some(401 | 403)) || (names_them && error.status < Some(500)))
    }
}
