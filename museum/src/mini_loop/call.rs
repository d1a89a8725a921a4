//! One answer of the model, over all attempts at its request.
//!
//! Each attempt has an assembler of its own, so nothing of a broken one can get into the next. A block is handed up when it is whole.

use std::sync::Arc;

use reenact::engine::contract::{AnswerEnd, Block, BlockKind, Effect, Emission, Input, Micros, Note, Request, RequestId, TimerId};
use reenact::engine::emission::AssistantMessage;
use reenact::wire::assembler::{Assembler, AssemblerStep};
use reenact::wire::error::ApiError;

use super::retry::FailureCounts;
use super::scope::StepScope;

/// A request on its way to a whole answer.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct Call {
    /// Its purpose.
    pub purpose: CallPurpose,
    /// The request as it was made last.
    pub request: Arc<Request>,
    /// The attempts, the last one at work or failed.
    pub attempts: Vec<Attempt>,
    /// The failures so far.
    pub counts: FailureCounts,
    /// Rings when the next attempt is due, or when the present one takes too long.
    timer: Option<TimerId>,
}

/// The purpose of a call.
#[derive(Clone, Copy, Debug, PartialEq, Hash, Eq)]
pub enum CallPurpose {
    /// The model's next turn.
    Answer,
    /// A summary of the conversation, which takes its place.
    Summary,
}

/// One attempt.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct Attempt {
    /// Its name.
    pub id: RequestId,
    /// The answer, as far as it came.
    pub assembler: Assembler,
    /// The whole blocks of its answer, as consumers got them.
    pub blocks: Vec<Arc<AssistantMessage>>,
    /// The error in its answer's place.
    error: Option<ApiError>,
    /// Whether more of it may come.
    pub is_open: bool,
}

/// The meaning of an input for the call.
#[must_use]
#[derive(Clone, Debug, PartialEq, Hash)]
pub enum CallVerdict {
    /// Nothing that its owner has to decide.
    Pending,
    /// These blocks are whole.
    Blocks(Vec<Arc<AssistantMessage>>),
    /// The answer is whole.
    Answered,
    /// The attempt failed.
    Failed(ApiError),
    /// The wait is over.
    Due,
}

impl Call {
    /// Makes the first attempt.
    pub fn start(scope: &mut StepScope<'_>, id: RequestId, request: Request, purpose: CallPurpose) -> Self {
        let mut call = Self { purpose, request: Arc::new(request), attempts: Vec::new(), counts: FailureCounts::default(), timer: None };
        call.make_attempt(scope, id);
        call
    }

    /// Makes the next attempt, with the conversation as it is now.
    pub fn retry(&mut self, scope: &mut StepScope<'_>, request: Request) {
        self.request = Arc::new(request);
        let id = self.last().id;
        self.make_attempt(scope, RequestId { attempt: id.attempt + 1, ..id });
    }

    /// The last attempt.
    pub fn last(&self) -> &Attempt {
        &self.attempts[self.attempts.len() - 1]
    }

    /// The blocks of the last attempt, for the conversation. The API takes no blank text, and no answer that ends in thinking.
    pub fn blocks(&self) -> Vec<Block> {
        let mut blocks: Vec<Block> = self.last().blocks.iter().map(|message| message.block.clone()).collect();
        blocks.retain(|block| !matches!(block.kind(), BlockKind::Text(text) if text.trim().is_empty()));
        while blocks.pop_if(|block| block.is_thinking()).is_some() {}
        blocks
    }

    /// Takes what belongs to its last attempt.
    pub fn on_input(&mut self, scope: &mut StepScope<'_>, input: &Input) -> CallVerdict {
        let last = self.attempts.len() - 1;
        let attempt = &mut self.attempts[last];
        match input {
            Input::Head { status, headers, .. } if *status != 200 => attempt.error = Some(ApiError::read(*status, headers, b"")),
            Input::Body { body, .. } => {
                let headers = []; // what they say was read with the head
                let of_head = attempt.error.take();
                let status = of_head.as_ref().and_then(|error| error.status).unwrap_or(200);
                let retry_after = of_head.and_then(|error| error.retry_after);
                attempt.error = Some(ApiError { retry_after, ..ApiError::read(status, &headers, body.as_bytes()) });
            }
            Input::Stream { id, event } => {
                if scope.env.settings.partial_messages && self.purpose == CallPurpose::Answer {
                    scope.emit(Emission::StreamEvent { id: *id, event: event.clone(), time_to_first_token: None });
                }
                let step = attempt.assembler.on_event(event, &mut Vec::new());
                return self.on_step(scope, step);
            }
            Input::End { how, .. } => {
                attempt.is_open = false;
                let error = attempt.error.take().unwrap_or_else(|| broken(how));
                return CallVerdict::Failed(error);
            }
            Input::Timer(timer) if self.timer == Some(*timer) => {
                self.timer = None;
                let took_too_long = || ApiError::in_stream("timeout", "the answer did not end in time");
                return if attempt.is_open { CallVerdict::Failed(took_too_long()) } else { CallVerdict::Due };
            }
            _ => (),
        }
        CallVerdict::Pending
    }

    /// Nothing more of it is wanted.
    pub fn close(&mut self, scope: &mut StepScope<'_>) {
        scope.cancel_timer(self.timer.take());
        let last = self.attempts.len() - 1;
        if core::mem::take(&mut self.attempts[last].is_open) {
            scope.push(Effect::CloseRequest { id: self.last().id });
        }
    }

    /// Takes back what consumers got of the failed attempt. Its blocks are in no conversation yet.
    pub fn take_back(&mut self, scope: &mut StepScope<'_>, running: Vec<reenact::engine::contract::ToolRun>) {
        let last = self.attempts.len() - 1;
        let attempt = &mut self.attempts[last];
        if self.purpose == CallPurpose::Answer && !attempt.blocks.is_empty() {
            scope.push(Effect::Note(Note::Discarded { id: attempt.id, running }));
            for message in attempt.blocks.drain(..) {
                scope.emit(Emission::Tombstone { uuid: message.uuid.clone() });
            }
        }
    }

    /// Announces the next attempt, and waits for it.
    pub fn wait(&mut self, scope: &mut StepScope<'_>, delay: Micros, error: &ApiError) {
        self.counts.retries += 1;
        scope.emit(Emission::ApiRetry {
            id: self.last().id,
            retry: self.counts.retries,
            of: scope.env.settings.retry.max_retries,
            delay,
            status: error.status,
            kind: error.kind.as_str().into(),
            text: error.message.clone(),
        });
        self.timer = Some(scope.set_timer(scope.now + delay));
    }

    fn make_attempt(&mut self, scope: &mut StepScope<'_>, id: RequestId) {
        self.attempts.push(Attempt { id, assembler: Assembler::new(), blocks: Vec::new(), error: None, is_open: true });
        scope.push(Effect::Request { id, request: self.request.clone() });
        self.timer = Some(scope.set_timer(scope.now + scope.env.settings.retry.head_timeout));
    }

    fn on_step(&mut self, scope: &mut StepScope<'_>, step: AssemblerStep) -> CallVerdict {
        let last = self.attempts.len() - 1;
        let attempt = &mut self.attempts[last];
        let blocks = match step {
            AssemblerStep::Ended => {
                // Its end may still come, and says nothing new.
                attempt.is_open = false;
                scope.cancel_timer(self.timer.take());
                return CallVerdict::Answered;
            }
            AssemblerStep::Failed { kind, message } => return CallVerdict::Failed(ApiError::in_stream(&kind, &message)),
            AssemblerStep::Refused(violation) => {
                return CallVerdict::Failed(ApiError::in_stream("broken_stream", &violation.to_string()));
            }
            step => step.into_blocks(),
        };
        let known = attempt.blocks.len();
        for block in blocks {
            let RequestId { prompt, turn, attempt: number } = attempt.id;
            let message = AssistantMessage {
                uuid: format!("p{prompt}.r{turn}.a{number}.b{}", attempt.blocks.len()).into(),
                id: attempt.id,
                api_id: attempt.assembler.message_id().clone(),
                model: attempt.assembler.model().clone(),
                block,
                error: None,
            };
            attempt.blocks.push(Arc::new(message));
        }
        let new = attempt.blocks[known..].to_vec();
        if self.purpose == CallPurpose::Answer {
            new.iter().for_each(|message| scope.emit(Emission::Assistant(message.clone())));
        }
        if new.is_empty() { CallVerdict::Pending } else { CallVerdict::Blocks(new) }
    }
}

/// The error of an answer that ended before it was whole.
fn broken(how: &AnswerEnd) -> ApiError {
    ApiError::in_stream("broken_stream", &format!("the answer ended before it was whole: {how:?}"))
}
