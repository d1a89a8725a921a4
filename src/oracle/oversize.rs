//! O-12, second half: a request that was too long is not repeated as it was.
//!
//! The API says so with status 413, or with a 400 that names the limit; an answer that broke off says nothing. A client that retries within the
//! same prompt must be asked something else: fewer messages, less room for the answer, or another model. The user may ask the same once more.

use super::OracleFindings;
use super::compaction::ORACLE;
use reenact_engine::contract::{AnswerEnd, Effect, Input, Request, RequestId};
use reenact_wire::error::ApiError;
use reenact_wire::prelude::*;

/// The requests of one agent that may have been too long, or were.
#[derive(Clone, Debug, Default)]
pub(super) struct OversizeOracle {
    /// Those without a whole answer.
    open: Vec<SuspectRequest>,
    /// Those of the last prompt that were too long.
    refused: Vec<(RequestId, Request)>,
}

/// A request, and what is known of its answer.
#[derive(Clone, Debug)]
struct SuspectRequest {
    id: RequestId,
    request: Request,
    status: Option<u16>,
    is_too_long: bool,
}

impl OversizeOracle {
    pub(super) fn on_request(&mut self, id: RequestId, request: &Request, found: &mut OracleFindings<'_>) {
        self.refused.retain(|(refused, _)| refused.prompt == id.prompt);
        if let Some((refused, _)) = self.refused.iter().find(|(_, refused)| refused == request) {
            found.add(ORACLE, format!("request {id} repeats request {refused}, which was too long"));
        }
        self.open.push(SuspectRequest { id, request: request.clone(), status: None, is_too_long: false });
    }

    pub(super) fn on_input(&mut self, input: &Input) {
        match input {
            Input::Head { id, status, .. } => {
                if let Some(asking) = self.asking(*id) {
                    asking.status = Some(*status);
                    asking.is_too_long = *status == 413;
                }
            }
            Input::Body { id, body } => {
                if let Some(asking) = self.asking(*id).filter(|asking| asking.status == Some(400)) {
                    asking.is_too_long = ApiError::read(400, &[], body.as_bytes()).is_context_overflow();
                }
            }
            Input::End { id, how } => {
                if *how == AnswerEnd::Complete && self.asking(*id).is_some_and(|asking| asking.status == Some(200)) {
                    // A later attempt was short enough. That the same is to be asked after it is chance.
                    self.refused.retain(|(refused, _)| (refused.prompt, refused.turn) != (id.prompt, id.turn));
                }
                let ended = self.open.extract_if(.., |asking| asking.id == *id).filter(|asking| asking.is_too_long);
                let refused = ended.filter(|_| *how == AnswerEnd::Complete).map(|asking| (asking.id, asking.request));
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
