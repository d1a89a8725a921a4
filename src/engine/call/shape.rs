//! Changes of a call's request from attempt to attempt: speed (R-9), room for output (R-7), streaming (R-11). All of it lasts for
//! the call alone.

use super::ApiCall;
use crate::agent_effects::AgentEffects;
use crate::contract::Effect;
use crate::emission::Emission;
use crate::settings::ThinkingSetting;
use crate::time::{Micros, Time};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;
use reenact_wire::raw_json::RawObject;
use reenact_wire::request::Request;

/// The state of fast mode (R-9). It counts only where the settings ask for fast answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum FastModeState {
    /// Requests are fast.
    #[default]
    Fast,
    /// They are again from then on.
    CoolingUntil(Time),
    /// They are not for the rest of the session.
    Off,
}

/// The parts of a request's form that the request itself does not show.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub(super) struct RequestShape {
    /// The request's further members at standard speed, as long as it is fast.
    standard: Option<Json>,
}

impl RequestShape {
    pub(super) fn is_fast(&self) -> bool {
        self.standard.is_some()
    }
}

/// How many tokens a request lets the model think.
pub(super) fn thinking_budget(request: &Request) -> Option<u64> {
    RawObject::parse(request.extra.as_str()).ok()?.object("thinking")?.count("budget_tokens")
}

/// The request with a lower cap on output tokens. Thinking must stay below it, or the API refuses the request.
fn capped(request: &Request, max_tokens: u64) -> Request {
    let mut request = Request { max_tokens, ..request.clone() };
    if let Some(extra) = thinking_below(&request.extra, max_tokens) {
        request.extra = extra;
    }
    request
}

/// A request's further members with a thinking budget below `max_tokens`, and without thinking where that is less than the API takes; `None` where
/// nothing has to change.
pub(crate) fn thinking_below(extra: &Json, max_tokens: u64) -> Option<Json> {
    let members = RawObject::parse(extra.as_str()).ok()?;
    let thinking = members.object("thinking")?;
    thinking.count("budget_tokens").filter(|budget| *budget >= max_tokens)?;
    Some(Json::trusted(match ThinkingSetting::greatest_budget(max_tokens) {
        Some(greatest) => members.with(&[("thinking", thinking.with(&[("budget_tokens", greatest.to_string())]))]),
        None => members.without("thinking"),
    }))
}

/// The request without a thinking budget, because its conversation cannot continue under one (Q-19).
pub(crate) fn without_thinking_budget(mut request: Request) -> Request {
    if let Ok(members) = RawObject::parse(request.extra.as_str())
        && members.object("thinking").is_some_and(|thinking| thinking.string("type").as_deref() == Some("enabled"))
    {
        request.extra = Json::trusted(members.without("thinking"));
    }
    request
}

impl ApiCall {
    /// R-9: the request is fast unless the speed was switched and has not come back.
    pub(super) fn ask_for_speed(&mut self, now: Time, effects: &mut AgentEffects) {
        match self.standing.speed {
            FastModeState::Fast => (),
            FastModeState::CoolingUntil(until) if until <= now => {
                self.standing.speed = FastModeState::Fast;
                effects.push(Effect::Emit(Emission::Speed { fast: true, until: None, reason: "the cooldown is over".into() }));
            }
            FastModeState::CoolingUntil(_) | FastModeState::Off => return,
        }
        let standard = self.request.extra.clone();
        let Ok(members) = RawObject::parse(standard.as_str()) else { return };
        if members.get("speed").is_some() {
            return; // the settings say it themselves
        }
        let extra = Json::trusted(members.with(&[("speed", String::from(r#""fast""#))]));
        self.request = Arc::new(Request { extra, ..Request::clone(&self.request) });
        self.shape.standard = Some(standard);
    }

    /// R-9: standard speed for a time, or for good.
    pub(super) fn switch_to_standard(&mut self, now: Time, cooldown: Option<Micros>, reason: &str, effects: &mut AgentEffects) {
        let until = cooldown.map(|cooldown| now + cooldown);
        self.standing.speed = until.map_or(FastModeState::Off, FastModeState::CoolingUntil);
        if let Some(extra) = self.shape.standard.take() {
            self.request = Arc::new(Request { extra, ..Request::clone(&self.request) });
        }
        effects.push(Effect::Emit(Emission::Speed { fast: false, until, reason: reason.into() }));
    }

    /// R-7: less room for the output.
    pub(super) fn lower_max_tokens(&mut self, max_tokens: u64) {
        self.request = Arc::new(capped(&self.request, max_tokens));
    }

    /// R-11: the answer is to come whole, so it must not be too long for that.
    pub(super) fn stop_streaming(&mut self, max_tokens: u64) {
        let request = if self.request.max_tokens > max_tokens { capped(&self.request, max_tokens) } else { Request::clone(&self.request) };
        self.request = Arc::new(Request { stream: false, ..request });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_7_thinking_stays_below_the_cap() {
        let mut request = Request::new("m", 32_000);
        request.extra = Json::trusted(r#"{"a":1,"thinking":{"type":"enabled","budget_tokens":30000},"b":2}"#);
        assert_eq!(thinking_budget(&request), Some(30_000));
        let less = capped(&request, 9_000);
        assert_eq!(less.max_tokens, 9_000);
        assert_eq!(less.extra.as_str(), r#"{"a":1,"thinking":{"type":"enabled","budget_tokens":8999},"b":2}"#);
        assert_eq!(capped(&request, 30_001).extra, request.extra, "it is below already");
        assert_eq!(capped(&request, 1_024).extra.as_str(), r#"{"a":1,"b":2}"#, "the API takes no budget below 1,024");
    }
}
