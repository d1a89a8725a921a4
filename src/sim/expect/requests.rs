//! The requests of a run, compared with the expectations of its scenario: of a run with our engine as of one with a
//! client behind a real connection, of which nothing else is seen (F-10, K-6).

use super::delays::{self, DelayTolerance};
use super::{difference, text_failures};
use reenact_scenario::types::Expectations;
use reenact_wire::prelude::*;

use crate::rules;
use reenact_scenario::types::Scenario;
use reenact_transcript::event::{Event, EventKind, Transcript};
use reenact_wire::validate::is_defect;

/// All that is wrong with the requests; without a tolerance nothing is said of the waits between them.
#[doc(hidden)]
pub fn failures(transcript: &Transcript, scenario: &Scenario, tolerance: Option<DelayTolerance>) -> Vec<String> {
    let mut failures = refusal_failures(transcript, &scenario.expect);
    if scenario.matching.strict {
        failures.extend(differences(transcript));
    }
    failures.extend(asked_failures(transcript, &scenario.expect, tolerance));
    failures
}

/// M-2: a request that the API refuses is a defect of the engine, unless the scenario is about one.
pub(crate) fn refusal_failures(transcript: &Transcript, expect: &Expectations) -> Vec<String> {
    let refusal = |event: &Event| match &event.what {
        EventKind::Refused { id, rule, text, overruled: false } if is_defect(rule) => {
            Some(format!("the API refuses request {}: {text}", event.agent.key(*id)))
        }
        _ => None,
    };
    let refusals: Vec<String> = transcript.events.iter().filter_map(refusal).collect();
    let (wanted, got) = (expect.refusals.unwrap_or(0), refusals.len() as u64);
    match (wanted == got, expect.refusals) {
        (true, _) => Vec::new(),
        // The oracles have to see why.
        (false, None) if rules::shows_refusals(expect) => Vec::new(),
        (false, None) => refusals,
        (false, Some(_)) => vec![format!("expected refusals {wanted}, got {got}")],
    }
}

/// M-3: where requests differ from the recorded ones, which is a failure under `strict`.
pub(crate) fn differences(transcript: &Transcript) -> Vec<String> {
    let mut told: Vec<(String, String, usize)> = Vec::new();
    for event in transcript.events.iter() {
        let EventKind::Difference { id, difference } = &event.what else { continue };
        let difference = difference.to_string();
        // Each request repeats the conversation, and what differs in it.
        match told.iter_mut().find(|(_, known, _)| *known == difference) {
            Some((_, _, later)) => *later += 1,
            None => told.push((event.agent.key(*id), difference, 0)),
        }
    }
    let sentence = |(request, difference, later): (String, String, usize)| match later {
        0 => format!("request {request} differs from the recorded one at {difference}"),
        _ => {
            format!("request {request} differs from the recorded one at {difference} (and in {})", plural(later as u64, "later request"))
        }
    };
    told.into_iter().map(sentence).collect()
}

/// How many requests there were, how long after each other, for which models, and what they held.
pub(super) fn asked_failures(transcript: &Transcript, expect: &Expectations, tolerance: Option<DelayTolerance>) -> Vec<String> {
    let mut failures = Vec::new();
    let mut equal = |what: &str, wanted: Option<String>, got: String| failures.extend(difference(what, wanted, &got));
    let asked = models_asked(transcript);
    equal("requests", expect.requests.map(|count| count.to_string()), asked.len().to_string());
    let mut models: Vec<String> = Vec::new();
    for model in asked {
        if !models.contains(&model) {
            models.push(model);
        }
    }
    equal("models", expect.models.as_ref().map(|names| list(names)), list(&models));
    if let (Some(wanted), Some(tolerance)) = (&expect.delays, tolerance) {
        failures.extend(delays::failures(transcript, wanted, tolerance));
    }
    failures.extend(text_failures("request", (&expect.sent, &expect.not_sent), || transcript.kinds().filter_map(sent_text).collect()));
    failures
}

/// The model of each request, attempts counted.
fn models_asked(transcript: &Transcript) -> Vec<String> {
    let model = |what: &EventKind| match what {
        EventKind::Request { request, .. } => Some(request.model.to_string()),
        _ => None,
    };
    transcript.kinds().filter_map(model).collect()
}

/// The difference of a request from the one before it, as JSON text.
fn sent_text(what: &EventKind) -> Option<String> {
    let EventKind::Request { request, .. } = what else { return None };
    let frame = request.frame.iter().flat_map(|frame| [frame.system.as_ref(), frame.tools.as_ref(), Some(&frame.extra)]).flatten();
    let blocks = request.added.iter().flat_map(|message| &message.content).map(reenact_wire::block::Block::json);
    Some(frame.chain(blocks).map(|json| json.as_str()).collect::<Vec<_>>().join("\n"))
}

/// Names as `[expect]` shows them.
pub(super) fn list(names: &[String]) -> String {
    format!("[{}]", names.join(", "))
}
