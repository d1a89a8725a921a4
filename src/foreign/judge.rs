//! The problems of a client's requests.
//!
//! Of the oracles that one is asked which looks at requests alone: tool uses and results belong together (O-1). That the API takes what is sent
//! (O-10) was seen when it was answered. Others need to see what comes out of an engine.

use super::questions::{self, BY_REQUESTS};
use super::verdict::{ServedEnd, ServedExchange, SessionVerdict};
use super::{ServedClient, SessionTerms};
use reenact_engine::contract::{Agent, Input, RequestId};
use reenact_engine::settings::ResultOrder;
use reenact_engine::time::{Micros, Time};
use reenact_oracle::Violation;
use reenact_sim::expect::delays::DelayTolerance;
use reenact_sim::expect::requests;
use reenact_sim::rules;
use reenact_transcript::event::{EventKind, RequestRecord, RunEnd};
use reenact_transcript::text::end_text;
use reenact_wire::block::BlockKind;
use reenact_wire::error::ApiError;
use reenact_wire::prelude::*;
use reenact_world::setup::RunSetup;

/// Adds what is wrong.
pub(crate) fn judge(setup: &RunSetup, terms: &SessionTerms, rules: &[&str], verdict: &mut SessionVerdict) {
    let mut failures = Vec::new();
    if let RunEnd::TapeExhausted { .. } = &verdict.end
        && setup.scenario.expect.terminal.as_deref() != Some(verdict.end.as_str())
    {
        failures.push(format!("{}: {}", verdict.end.as_str(), end_text(&verdict.end)));
    }
    if setup.scenario.expect.requests.is_none() && verdict.asked.iter().all(|asked| asked.message.is_none()) {
        let advice = match setup.scenario.network {
            None if terms.notes_choices => "give the client the base URL of its session",
            None => "set ANTHROPIC_BASE_URL of the client to the server",
            Some(_) => {
                "check `loss` and `latency` in [network]; under `serve` and `drive` set ANTHROPIC_BASE_URL of the client to the \
                 server"
            }
        };
        failures.push(format!("no request for a message came: {advice}"));
    }
    if terms.client == ServedClient::Foreign {
        failures.extend(questions::failures(&setup.scenario, terms));
    }
    let (broken, orders) = oracle_findings(setup, rules, verdict);
    failures.extend(broken.iter().map(words));
    verdict.violations = broken;
    verdict.remarks.extend(orders);
    failures.extend(early_attempts(verdict));
    // The waits of our own engine are judged where it waits: requests may be late, or lost, on their way.
    let tolerance = (terms.client == ServedClient::Foreign).then(|| DelayTolerance::from_clock(Micros::ZERO));
    failures.extend(requests::failures(&verdict.transcript, &setup.scenario, tolerance));
    if setup.scenario.matching.strict {
        failures.extend(verdict.unused.iter().map(|answer| format!("{answer} was never asked for")));
    } else {
        verdict.remarks.extend(verdict.unused.iter().map(|answer| format!("{answer} was never asked for")));
    }
    let open = verdict.asked.iter().filter(|asked| asked.how == ServedEnd::OpenAtEnd);
    verdict.remarks.extend(open.map(|asked| format!("an answer was still open when serving ended: {asked}")));
    verdict.failures.append(&mut failures);
}

/// The rules that requests break, and remarks on the requests with results in another order than their tool uses. The API takes any order.
fn oracle_findings(setup: &RunSetup, asked: &[&str], verdict: &SessionVerdict) -> (Vec<Violation>, Vec<String>) {
    let expect = &setup.scenario.expect;
    let found = |order: ResultOrder, asked: &[&str]| -> Vec<Violation> {
        let mut environment = setup.environment.clone();
        environment.settings.result_order = order;
        let mut oracles = rules::oracles_in(&environment, expect);
        oracles.watch(&verdict.transcript);
        let is_asked = |violation: &Violation| asked.contains(&violation.oracle) && !rules::shows(expect, violation.oracle);
        oracles.into_violations().into_iter().filter(is_asked).collect()
    };
    // Of the order of emission nothing is seen.
    let broken = found(ResultOrder::Emission, asked);
    let known: Vec<String> = broken.iter().map(words).collect();
    let has_tools = verdict.transcript.kinds().any(|what| matches!(what, EventKind::Request { request, .. } if has_results(request)));
    let orders = if has_tools { found(ResultOrder::ToolUse, &BY_REQUESTS) } else { Vec::new() };
    let orders = orders.iter().map(words).filter(|violation| !known.contains(violation)).collect::<Vec<_>>();
    let orders = orders.iter().map(|violation| violation.trim_start_matches("O-1: ").to_string() + ", which the API takes").collect();
    (broken, orders)
}

/// Whether a request has several results, which may stand in any order.
fn has_results(request: &RequestRecord) -> bool {
    let results =
        request.added.iter().flat_map(|message| &message.content).filter(|block| matches!(block.kind(), BlockKind::ToolResult { .. }));
    results.count() > 1
}

/// A broken rule without the time: equal runs of a client are to fail with equal words.
pub fn words(violation: &Violation) -> String {
    format!("{}: {}", violation.oracle, violation.text)
}

/// after `retry-after` no attempt comes sooner.
pub fn early_attempts(verdict: &SessionVerdict) -> Vec<String> {
    let mut failures = Vec::new();
    let mut waits: Vec<(Agent, RequestId, Time)> = Vec::new();
    for event in verdict.transcript.events.iter() {
        match &event.what {
            // What is asked for a new prompt is no further attempt, although it may be word for word the same.
            EventKind::Input(Input::Prompt { .. }) => waits.clear(),
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

fn model_of(verdict: &SessionVerdict, agent: &Agent, id: RequestId) -> Option<Arc<str>> {
    let is_it = |asked: &&ServedExchange| asked.message.as_ref().is_some_and(|message| (&message.agent, message.id) == (agent, id));
    verdict.asked.iter().find(is_it)?.message.as_ref().map(|message| message.model.clone())
}
