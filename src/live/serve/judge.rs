//! The problems of a client's requests.
//!
//! Of the oracles that one is asked which looks at requests alone: tool uses and results belong together (O-1). That the API takes what is sent
//! (O-10) was seen when it was answered. Others need to see what comes out of an engine.

use super::verdict::{ServeVerdict, ServedEnd, ServedExchange};
use crate::engine::contract::{Agent, Input, RequestId};
use crate::engine::settings::ResultOrder;
use crate::engine::time::{Micros, Time};
use crate::oracle::Violation;
use crate::prelude::*;
use crate::scenario::types::Expectations;
use crate::sim::delays::DelayTolerance;
use crate::sim::{requests, rules};
use crate::transcript::event::{EventKind, RunEnd};
use crate::transcript::text::end_text;
use crate::wire::error::ApiError;
use crate::world::setup::RunSetup;

/// The oracle that requests alone can break. The order of results is the client's own affair: the API takes any.
const BY_REQUESTS: &str = "O-1";

/// Adds what is wrong.
pub(super) fn judge(setup: &RunSetup, verdict: &mut ServeVerdict) {
    let mut failures = Vec::new();
    if let RunEnd::TapeExhausted { .. } = &verdict.end
        && setup.scenario.expect.terminal.as_deref() != Some(verdict.end.as_str())
    {
        failures.push(format!("{}: {}", verdict.end.as_str(), end_text(&verdict.end)));
    }
    if setup.scenario.expect.requests.is_none() && verdict.asked.iter().all(|asked| asked.message.is_none()) {
        let advice = match setup.scenario.network {
            None => "set ANTHROPIC_BASE_URL of the client to the server",
            Some(_) => {
                "check `loss` and `latency` in [network]; under `serve` and `drive` set ANTHROPIC_BASE_URL of the client to the \
                 server"
            }
        };
        failures.push(format!("no request for a message came: {advice}"));
    }
    let unjudged = unjudged(&setup.scenario.expect);
    if !unjudged.is_empty() {
        let keys = unjudged.join(", ");
        verdict.remarks.push(format!("not judged, because only the requests of a client are seen: {keys} in [expect]"));
    }
    failures.extend(oracle_failures(setup, verdict));
    failures.extend(early_attempts(verdict));
    failures.extend(requests::failures(&verdict.transcript, &setup.scenario, DelayTolerance::from_clock(Micros::ZERO)));
    if setup.scenario.matching.strict {
        failures.extend(verdict.unused.iter().map(|answer| format!("{answer} was never asked for")));
    } else {
        verdict.remarks.extend(verdict.unused.iter().map(|answer| format!("{answer} was never asked for")));
    }
    let open = verdict.asked.iter().filter(|asked| asked.how == ServedEnd::OpenAtEnd);
    verdict.remarks.extend(open.map(|asked| format!("an answer was still open when serving ended: {asked}")));
    verdict.failures.append(&mut failures);
}

/// The expectations that requests cannot show.
fn unjudged(expect: &Expectations) -> Vec<&'static str> {
    let Expectations { terminal, terminals, transitions, tools, result, text_present, text_absent, order, ends_after, ends_before, .. } =
        expect;
    let is_own_end = terminal.as_deref() == Some("tape_exhausted");
    let keys = [
        ("terminal", terminal.is_some() && !is_own_end),
        ("terminals", terminals.is_some()),
        ("transitions", transitions.is_some()),
        ("tools", tools.is_some()),
        ("result", result.is_some()),
        ("text_present", !text_present.is_empty()),
        ("text_absent", !text_absent.is_empty()),
        ("order", !order.is_empty()),
        ("ends_after", ends_after.is_some()),
        ("ends_before", ends_before.is_some()),
        ("breaks", expect.breaks.iter().any(|rule| rule != BY_REQUESTS)),
    ];
    keys.into_iter().filter(|(_, is_set)| *is_set).map(|(key, _)| key).collect()
}

fn oracle_failures(setup: &RunSetup, verdict: &ServeVerdict) -> Vec<String> {
    if rules::shows(&setup.scenario.expect, BY_REQUESTS) {
        return Vec::new();
    }
    let mut setup = setup.clone();
    setup.environment.settings.result_order = ResultOrder::Emission; // of which nothing is seen
    let mut oracles = rules::oracles(&setup);
    oracles.watch(&verdict.transcript);
    let violations = oracles.into_violations();
    violations.iter().filter(|violation| violation.oracle == BY_REQUESTS).map(words).collect()
}

/// A broken rule without the time: equal runs of a client are to fail with equal words.
pub(in crate::live) fn words(violation: &Violation) -> String {
    format!("{}: {}", violation.oracle, violation.text)
}

/// after `retry-after` no attempt comes sooner.
pub(in crate::live) fn early_attempts(verdict: &ServeVerdict) -> Vec<String> {
    let mut failures = Vec::new();
    let mut waits: Vec<(Agent, RequestId, Time)> = Vec::new();
    for event in verdict.transcript.events.iter() {
        match &event.what {
            EventKind::Input(Input::Head { id, status, headers }) if *status != 200 => {
                let Some(wait) = ApiError::read(*status, headers, b"").delay_us() else { continue };
                waits.push((event.agent.clone(), *id, event.at + Micros(wait)));
            }
            EventKind::Request { id, request } => {
                let is_before = |(agent, before, _): &&(Agent, RequestId, Time)| {
                    *agent == event.agent && (before.prompt, before.turn, before.attempt + 1) == (id.prompt, id.turn, id.attempt)
                };
                let Some((_, before, until)) = waits.iter().find(is_before) else { continue };
                let is_other_model = model_of(verdict, &event.agent, *before).is_some_and(|model| model != request.model);
                if event.at + DelayTolerance::EARLY < *until && !is_other_model {
                    let early = Micros(until.0 - event.at.0);
                    let (asked, before) = (event.agent.key(*id), event.agent.key(*before));
                    failures.push(format!("request {asked} came {early} too early: the answer to {before} asks for a longer wait"));
                }
            }
            _ => (),
        }
    }
    failures
}

fn model_of(verdict: &ServeVerdict, agent: &Agent, id: RequestId) -> Option<Arc<str>> {
    let is_it = |asked: &&ServedExchange| asked.message.as_ref().is_some_and(|message| (&message.agent, message.id) == (agent, id));
    verdict.asked.iter().find(is_it)?.message.as_ref().map(|message| message.model.clone())
}
