//! The simulated API's response to an invalid request (M-2), and the input tokens that it reports for a valid one.
//!
//! The texts and rules are those of [`RequestValidator`]; here they become an answer on its way. What a fault puts in the answer's place comes first:
//! a request that never gets to the API is not refused by it, only marked.

use super::choices::ChoiceMaker;
use super::faults::instead;
use super::model_request::{AnswerTerms, ModelRequest};
use super::plan::ResponsePlan;
use super::setup::RunSetup;
use super::signatures::GivenThinking;
use reenact_scenario::fault::{AnswerSubstitute, FaultAnswer};
use reenact_scenario::types::{AnswerTiming, SimulatedApi};
use reenact_wire::prelude::*;
use reenact_wire::request::Request;
use reenact_wire::tokens;
use reenact_wire::validate::{Refusal, RequestValidator, ValidationContext};

/// The refusal of a request; `None` when the API takes it.
pub(super) fn find(
    setup: &RunSetup,
    terms: AnswerTerms,
    validator: &mut RequestValidator,
    given: &GivenThinking,
    request: &Request,
) -> Option<Refusal> {
    let api = &setup.scenario.api;
    let SimulatedApi { context_window, counts_max_tokens, .. } = *api;
    let rules = ValidationContext { context_window, counts_max_tokens, thinking: !terms.lacks_thinking, ..ValidationContext::default() };
    validator.refusal(request, &rules).or_else(|| given.refusal(setup, request))
}

/// The refusal as an answer, after the time that errors take.
pub(super) fn plan(refusal: &Refusal, asked: &ModelRequest<'_>, timing: &AnswerTiming, choices: &mut ChoiceMaker<'_>) -> ResponsePlan {
    let body = refusal.body(&choices.request_id(asked.agent, asked.id));
    let answer = FaultAnswer {
        status: refusal.status,
        error: None,
        body: Some(body.into()),
        headers: Vec::new(),
        retry_after: None,
        rate_limits: false,
    };
    instead(&AnswerSubstitute::Answer(answer), asked, timing, choices)
}

/// The beginning of the usage in a scripted answer that says nothing of its input.
const UNTOLD: &[u8] = br#""usage":{"output_tokens":"#;

/// Tells the input tokens in an answer that does not say them by itself.
pub(super) fn tell_input_tokens(plan: &mut ResponsePlan, request: &Request) {
    // In a stream the first event tells of the input, and the last repeats only what changed.
    let Some(first) = plan.pieces.first_mut() else { return };
    let Some(found) = memchr::memmem::find(&first.bytes, UNTOLD) else { return };
    let (before, behind) = first.bytes.split_at(found + br#""usage":{"#.len());
    let told = format!("\"input_tokens\":{},", tokens::request(request));
    first.bytes = [before, told.as_bytes(), behind].concat().into();
}
