//! What the simulated API says to a request that is not valid (M-2), and how many tokens it says that a valid one had.
//!
//! The texts and rules are those of [`Validator`]; here they become an answer on its way. What a fault puts in the answer's place comes first: a
//! request that never gets to the API is not refused by it, only marked.

use super::choices::Choices;
use super::faults::{Asked, instead};
use super::plan::Plan;
use super::setup::Setup;
use super::signatures::Given;
use crate::prelude::*;
use crate::scenario::fault::{FaultAnswer, Instead};
use crate::scenario::types::{Api, Timing};
use crate::wire::request::Request;
use crate::wire::tokens;
use crate::wire::validate::{Refusal, Rules, Validator};

/// What is wrong with a request; `None` when nothing is.
pub(super) fn of(setup: &Setup, validator: &mut Validator, given: &Given, request: &Request) -> Option<Refusal> {
    let api = &setup.scenario.api;
    let Api { context_window, counts_max_tokens, .. } = *api;
    let rules = Rules { context_window, counts_max_tokens, thinking: setup.wants_thinking, ..Rules::default() };
    validator.refusal(request, &rules).or_else(|| given.refusal(setup, request))
}

/// The refusal as an answer, after the time that errors take.
pub(super) fn plan(refusal: &Refusal, asked: &Asked<'_>, timing: &Timing, choices: &mut Choices<'_>) -> Plan {
    let body = refusal.body(&choices.request_id(asked));
    let answer = FaultAnswer {
        status: refusal.status,
        error: None,
        body: Some(body.into()),
        headers: Vec::new(),
        retry_after: None,
        rate_limits: false,
    };
    instead(&Instead::Answer(answer), asked, timing, choices)
}

/// The beginning of the usage in a scripted answer that says nothing of its input.
const UNTOLD: &[u8] = br#""usage":{"output_tokens":"#;

/// The answer with its input tokens, where it does not say them by itself; `None` where it does, and for what is no such answer.
pub(super) fn with_input_tokens(plan: &Plan, request: &Request) -> Option<Plan> {
    let first = plan.pieces.first()?;
    // In a stream the first event tells of the input, and the last repeats only what changed.
    let at = memchr::memmem::find(first, UNTOLD)? + br#""usage":{"#.len();
    let mut told = Vec::with_capacity(first.len() + 24);
    told.extend_from_slice(&first[..at]);
    told.extend_from_slice(format!("\"input_tokens\":{},", tokens::request(request)).as_bytes());
    told.extend_from_slice(&first[at..]);
    let mut pieces = plan.pieces.to_vec();
    pieces[0] = told.into();
    Some(Plan { pieces: pieces.into(), ..plan.clone() })
}
