//! A request that the API refused for its content is not repeated as it was: O-12 for one that was too long, O-9 for any other that is invalid.
//!
//! The API says so with status 413, or with a 400 that names the limit; an answer that broke off says nothing. A client that retries within the
//! same prompt must be asked something else: fewer messages, less room for the answer, or another model. The user may ask the same once more. The server may ask for a repetition (`x-should-retry`).

use super::request_kind::{RequestKind, SentRequest};
use super::{OracleFindings, OracleRules, compaction, retry};
use reenact_engine::contract::{AnswerEnd, Effect, Input, Request, RequestId};
use reenact_engine::key::SharedValue;
use reenact_wire::error::{ApiError, ErrorKind};
use reenact_wire::prelude::*;

/// The requests of one agent that may have been refused, or were.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct RefusedRequestOracle {
    /// Those without a whole answer.
    open: Vec<SuspectRequest>,
    /// Those of the last prompt that were refused.
    refused: Vec<(RequestId, SharedValue<Request>, RefusalCause)>,
}

/// A request, and what is known of its answer.
#[derive(Clone, Debug, Hash)]
struct SuspectRequest {
    id: RequestId,
    request: SharedValue<Request>,
    status: Option<u16>,
    /// The server asks for a repetition, or gives credentials as the reason.
    may_repeat: bool,
    cause: Option<RefusalCause>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum RefusalCause {
    TooLong,
    Invalid,
}

impl RefusedRequestOracle {
    pub(super) fn on_request(
        &mut self,
        rules: &OracleRules,
        SentRequest { id, request, kind }: SentRequest<'_>,
        found: &mut OracleFindings<'_>,
    ) {
        self.refused.retain(|(refused, ..)| refused.prompt == id.prompt);
        for (refused, before, cause) in &self.refused {
            if *cause == RefusalCause::Invalid && rules.settings.retry.refused_retries > 0 {
                continue;
            }
            // Two turns with the same tools have the same line about them.
            if kind == RequestKind::ToolSummary && refused.turn != id.turn {
                continue;
            }
            let (oracle, problem) = match cause {
                RefusalCause::TooLong => (compaction::ORACLE, "was too long"),
                RefusalCause::Invalid => (retry::ORACLE, "was refused as invalid"),
            };
            found.ask(oracle);
            if before == request {
                found.add(oracle, format!("request {id} repeats request {refused}, which {problem}"));
                break;
            }
        }
        self.open.push(SuspectRequest { id, request: request.clone(), status: None, may_repeat: false, cause: None });
    }

    pub(super) fn on_input(&mut self, input: &Input) {
        match input {
            Input::Head { id, status, headers } => {
                if let Some(asking) = self.asking(*id) {
                    asking.status = Some(*status);
                    asking.may_repeat =
                        headers.iter().any(|header| header.name.eq_ignore_ascii_case("x-should-retry") && header.value.trim() == "true");
                    asking.cause = (*status == 413).then_some(RefusalCause::TooLong);
                }
            }
            Input::Body { id, body } => {
                if let Some(asking) = self.asking(*id).filter(|asking| asking.status == Some(400)) {
                    let error = ApiError::read(400, &[], body.as_bytes());
                    let is_invalid = !asking.may_repeat && !body.trim().is_empty() && error.kind == ErrorKind::InvalidRequest;
                    let invalid = is_invalid.then_some(RefusalCause::Invalid);
                    asking.cause = if error.is_context_overflow() { Some(RefusalCause::TooLong) } else { invalid };
                }
            }
            Input::End { id, how } => {
                if *how == AnswerEnd::Complete && self.asking(*id).is_some_and(|asking| asking.status == Some(200)) {
                    // A later attempt was short enough. That the same is to be asked after it is chance.
                    self.refused.retain(|(refused, ..)| (refused.prompt, refused.turn) != (id.prompt, id.turn));
                }
                let ended = self.open.extract_if(.., |asking| asking.id == *id).filter(|_| *how == AnswerEnd::Complete);
                let refused = ended.filter_map(|asking| Some((asking.id, asking.request, asking.cause?)));
                self.refused.extend(refused);
            }
            _ => (),
        }
    }

    pub(super) fn on_effect(&mut self, effect: &Effect) {
        if let Effect::CloseRequest { id } = effect {
            self.open.retain(|asking| asking.id != *id);
        }
    }

    fn asking(&mut self, id: RequestId) -> Option<&mut SuspectRequest> {
        self.open.iter_mut().find(|asking| asking.id == id)
    }
}
