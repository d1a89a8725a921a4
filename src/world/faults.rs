//! The faults between engine and model server: a list of rules of which the first that fits a request counts (M-4).
//!
//! ```text
//!   request ── rules ──┬── Pass ─────────────> the answer
//!                      ├── Instead ──────────> another answer, or none; the answer is still there for the next attempt
//!                      └── Change ───────────> the answer, changed; given again when the same is asked again
//! ```
//!
//! A rule decides by the request alone, and a change works on the plan of an answer alone, so that neither knows the engine or the server.

mod answers;
mod changes;

pub(super) use answers::instead;
pub(super) use changes::change;

use super::choices::ChoiceMaker;
use super::model_request::ModelRequest;
use reenact_engine::time::Time;
use reenact_scenario::fault::{FaultKind, FaultPlace, FaultRule, NumberSpan};
use reenact_wire::prelude::*;

/// Which rule hits a request, and what happens to it; `None` for nothing.
pub(super) fn verdict<'a>(
    rules: &'a [FaultRule],
    asked: &ModelRequest<'_>,
    choices: &mut ChoiceMaker<'_>,
) -> Option<(usize, &'a FaultKind)> {
    let mut hits = |(index, rule): &(usize, &FaultRule)| fits(&rule.at, asked) && is_drawn(&rules[..*index], rule, asked, choices);
    rules.iter().enumerate().find(&mut hits).map(|(index, rule)| (index, &rule.kind))
}

/// The rules with a probability that could hit a request: those whose place it is, as long as no rule before them hits for certain. One with a
/// probability of 0 never does.
pub(super) fn chances(rules: &[FaultRule], asked: &ModelRequest<'_>) -> Vec<usize> {
    let is_certain = |rule: &FaultRule| rule.at.probability.is_none_or(|probability| probability >= 1.0);
    let mut found = Vec::new();
    for (index, rule) in rules.iter().enumerate().filter(|(_, rule)| fits(&rule.at, asked)) {
        found.extend(rule.at.probability.filter(|probability| *probability > 0.0).map(|_| index));
        if is_certain(rule) {
            break;
        }
    }
    found
}

fn fits(at: &FaultPlace, asked: &ModelRequest<'_>) -> bool {
    let FaultPlace { prompt, request, attempt, model, thread, after, before, probability: _ } = at;
    let within = |span: &Option<NumberSpan>, number| span.is_none_or(|span| span.contains(number));
    within(prompt, asked.id.prompt)
        && within(request, asked.id.turn)
        && within(attempt, asked.id.attempt)
        && model.as_ref().is_none_or(|model| *model == asked.request.model)
        && thread.as_deref().is_none_or(|thread| thread == asked.agent.tool_use_id().unwrap_or("main"))
        && after.is_none_or(|after| asked.now >= Time::ZERO + after)
        && before.is_none_or(|before| asked.now < Time::ZERO + before)
}

/// The key holds the kind and not the rule's place in the list: one more rule before it changes no draw (D3). A plan tells rules of one kind
/// apart by their order among themselves.
fn is_drawn(before: &[FaultRule], rule: &FaultRule, asked: &ModelRequest<'_>, choices: &mut ChoiceMaker<'_>) -> bool {
    let Some(probability) = rule.at.probability else { return true };
    let kind = rule.kind.to_string();
    let identity = format!("{}/{}/{kind}", asked.agent.tool_use_id().unwrap_or_default(), asked.id);
    let nth = 1 + before.iter().filter(|other| other.at.probability.is_some() && other.kind.to_string() == kind).count();
    let again = if nth == 1 { String::new() } else { format!(" ({nth})") };
    choices.fault(&format!("{} {kind}{again}", asked.agent.key(asked.id)), &identity, probability)
}

#[cfg(test)]
mod tests;
