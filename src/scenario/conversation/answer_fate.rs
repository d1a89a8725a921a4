//! The fate of a request's answer: it decides which requests may continue from it (M-3).
//!
//! Clients send back what they were answered, and some send it back with changes: without citations, in another order, with another spelling of a
//! tool's name. Such an answer is still known by its gist: the id of a tool use, how a text begins or ends.

use super::digest::{BlockDigest, ConversationDigest, RequestTerms, message_digests};
use crate::tape::{RecordedResponse, ResponseEnd};
use reenact_engine::settings::RetrySettings;
use reenact_wire::answer::CompleteAnswer;
use reenact_wire::compare::VolatileMember;
use reenact_wire::error::ApiError;
use reenact_wire::prelude::*;

/// The fate of the answer to a request.
#[derive(Clone, Debug, PartialEq)]
#[doc(hidden)]
pub enum AnswerFate {
    /// It was not compared.
    Unknown,
    /// There was no whole answer.
    Failed {
        /// Whether clients ask the same again after that (R-3).
        may_be_repeated: bool,
        /// Whether the request left too little room for its answer, so that they ask with a lower limit (R-7).
        wants_less: bool,
        /// Whether another model may take over (R-8).
        may_fall_back: bool,
        /// Whether the client did not wait for it: it may ask the same again, or say something else.
        is_abandoned: bool,
    },
    /// There was.
    Answered {
        blocks: Vec<BlockDigest>,
        /// The stop reason.
        stop_reason: Option<Arc<str>>,
    },
}

/// How well one request continues from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ContinuationFit {
    /// The answer is missing or not known.
    Unknown,
    /// The answer comes back changed.
    Changed,
    /// It comes back as it was.
    Unchanged,
}

impl AnswerFate {
    /// The fate of the answer to the `attempt`-th request for the same; `replied` is the whole answer, if there was one.
    pub(super) fn from_answer(answer: &RecordedResponse, replied: Option<&CompleteAnswer>, attempt: u32) -> Self {
        replied.map_or_else(|| Self::failed(answer, attempt), Self::answered)
    }

    /// A whole answer.
    #[doc(hidden)]
    pub fn answered(replied: &CompleteAnswer) -> Self {
        let content: Vec<&str> = replied.blocks.iter().map(|block| block.json().as_str()).collect();
        let message = format!(r#"{{"role":"assistant","content":[{}]}}"#, content.join(","));
        Self::Answered { blocks: message_digests(&VolatileMember::default(), &message), stop_reason: replied.stop_reason.clone() }
    }

    fn failed(answer: &RecordedResponse, attempt: u32) -> Self {
        Self::Failed {
            // How often a client tries is for the recording to say.
            may_be_repeated: may_be_repeated(answer, attempt, &RetrySettings { max_retries: u32::MAX, ..RetrySettings::default() }),
            wants_less: answer.status == 400 && ApiError::read(answer.status, &answer.headers, &answer.body()).context.is_some(),
            may_fall_back: answer.status == 529 && attempt == RetrySettings::default().overloads_to_fallback,
            is_abandoned: answer.status == 0 && answer.end == ResponseEnd::ClientGone,
        }
    }

    /// How well `now` continues from `before`, to which this came; `None` when it does not.
    pub(super) fn fit(&self, before: &ConversationDigest, now: &ConversationDigest) -> Option<ContinuationFit> {
        if !now.begins_with(before) {
            return None;
        }
        if now.len() == before.len() {
            return (before.setting == now.setting && self.is_asked_again(&before.terms, &now.terms)).then_some(ContinuationFit::Unknown);
        }
        let added = &now.blocks[before.len()..];
        let echoed: Vec<_> = added.iter().take_while(|said| said.gist.is_some()).collect();
        match self {
            Self::Unknown => Some(ContinuationFit::Unknown),
            // A repeated request would have been recognised before this point.
            Self::Failed { may_be_repeated, .. } => (echoed.is_empty() && !may_be_repeated).then_some(ContinuationFit::Unknown),
            Self::Answered { blocks, .. } if echoed.iter().map(|said| said.digest).eq(blocks.iter().map(|block| block.digest)) => {
                Some(ContinuationFit::Unchanged)
            }
            Self::Answered { blocks, stop_reason } => {
                let gists = || blocks.iter().filter_map(|block| block.gist);
                let is_like = echoed.iter().any(|said| gists().any(|gist| said.gist.is_some_and(|said| said.is_like(gist))));
                // A refusal may be left out; so is an answer without content.
                let is_left_out = echoed.is_empty() && (gists().next().is_none() || stop_reason.as_deref() == Some("refusal"));
                (is_like || is_left_out).then_some(ContinuationFit::Changed)
            }
        }
    }

    /// Whether the same conversation is another attempt, or the same with a higher limit (Q-15). After a success it is another question.
    fn is_asked_again(&self, before: &RequestTerms, now: &RequestTerms) -> bool {
        let (is_same_model, is_same) = (before.model == now.model, before.others == now.others);
        match self {
            Self::Unknown => true,
            Self::Failed { may_be_repeated, wants_less, may_fall_back, is_abandoned } => {
                let is_repeated = is_same_model && (*may_be_repeated || *is_abandoned);
                is_same && (is_repeated || *may_fall_back || (*wants_less && now.max_tokens < before.max_tokens))
            }
            Self::Answered { stop_reason, .. } => {
                is_same && is_same_model && now.max_tokens > before.max_tokens && stop_reason.as_deref() == Some("max_tokens")
            }
        }
    }
}

/// Whether clients ask the same again after this answer to the `attempt`-th request for it (R-3).
pub(crate) fn may_be_repeated(answer: &RecordedResponse, attempt: u32, settings: &RetrySettings) -> bool {
    if answer.status == 200 {
        return attempt <= settings.max_retries; // it was not whole
    }
    let error = ApiError::read(answer.status, &answer.headers, &answer.body());
    let is_given_up = attempt > settings.max_retries || error.delay_us() > Some(settings.max_retry_after.0);
    let again = error.should_retry.unwrap_or(match answer.status {
        401 => attempt == 1,
        0 => answer.end != ResponseEnd::ClientGone,
        status => matches!(status, 408 | 409 | 429 | 500..),
    });
    !is_given_up && again
}
