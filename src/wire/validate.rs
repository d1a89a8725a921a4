//! The API's refusals, in its own words (N-6).
//!
//! ```text
//!   request ──> size ──> frame (max_tokens, thinking, breakpoints) ──> turns (roles, pairs, content) ──> images ──> tokens ──> taken
//!                 └────────────┴────────────────────────────┴──────────────────────────┴────────────┴──> Refusal
//! ```
//!
//! Before these checks come those of the head of a request ([`endpoint`]).
//!
//! Pure functions over a request: what is sent is not written out for this. The texts are the API's where they were seen in its documentation
//! or in public reports; where only the rule is known they are as plain as the API's own, and marked `plausible` beside the code: nobody should
//! take those for observed. Neighbours of the same role are one turn and not refused. What was recorded as taken is taken here: the model may
//! begin, an id may be used again in a later turn.

pub mod endpoint;
mod frame;
mod image;
mod prefix;
mod tools;
mod turns;

use frame::CheckedFrame;

#[doc(hidden)]
pub use prefix::SettledMessages;

use super::block::Message;
use super::error::ErrorKind;
use super::json::Json;
use super::models::{ModelFacts, ModelGeneration};
use super::raw_json::{RawObject, elements};
use super::request::Request;
use crate::prelude::*;

/// A request that the API does not take.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Refusal {
    /// HTTP status.
    pub status: u16,
    /// The subject: a short name of ours, the same for every request that breaks the same rule.
    pub name: &'static str,
    /// The message of the API.
    pub message: String,
}

/// The facts that are not in a request and decide about it all the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ValidationContext {
    /// The context window in tokens; `None` when tokens are not counted.
    pub context_window: Option<u64>,
    /// Whether `max_tokens` must fit into the window too; `None` for as the model has it.
    pub counts_max_tokens: Option<bool>,
    /// The most bytes that an image may have as base64.
    pub image_bytes_max: usize,
    /// Whether tool uses and results must belong together. Off for callers that check it elsewhere.
    pub pairs: bool,
    /// Whether an answer must begin with thinking where thinking is enabled. Off where the answers have no thinking.
    pub thinking: bool,
}

impl Default for ValidationContext {
    fn default() -> Self {
        Self { context_window: None, counts_max_tokens: None, image_bytes_max: 10 << 20, pairs: true, thinking: true }
    }
}

/// The most bytes that a request may have.
pub const REQUEST_BYTES_MAX: usize = 32 << 20;

/// The API's refusal of a request; `None` when it takes it. The first mistake is named, as the API does.
pub fn refusal(request: &Request, rules: &ValidationContext) -> Option<Refusal> {
    RequestValidator::default().refusal(request, rules)
}

/// The same for requests one after another: what surrounds the conversation is mostly the same in all of them, and so is its beginning. Both are
/// looked at once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestValidator {
    last: Option<Arc<CheckedFrame>>,
    settled: SettledPart,
}

/// The part of the conversation that needs no second look, and what was counted of it.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
struct SettledPart {
    messages: SettledMessages,
    /// By which rules it was looked at.
    rules: Option<(ValidationContext, Arc<str>, bool)>,
    sums: MessageSums,
}

/// The figures of messages that are checked as sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Hash)]
struct MessageSums {
    bytes: usize,
    breakpoints: usize,
    images: usize,
    tokens: u64,
}

impl MessageSums {
    fn plus(self, messages: &[Arc<Message>]) -> Self {
        Self {
            bytes: self.bytes + bytes(messages),
            breakpoints: self.breakpoints + frame::breakpoints_in(messages),
            images: self.images + image::count(messages),
            tokens: self.tokens + super::tokens::messages(messages),
        }
    }
}

/// It remembers what it has looked at and finds the same without: no part of a state's key (E-3).
impl core::hash::Hash for RequestValidator {
    fn hash<H: core::hash::Hasher>(&self, _: &mut H) {}
}

impl RequestValidator {
    /// The API's refusal of the next request.
    pub fn refusal(&mut self, request: &Request, rules: &ValidationContext) -> Option<Refusal> {
        let facts = ModelFacts::find(&request.model);
        let framed = match &self.last {
            Some(framed) if framed.is_of(request) => framed.clone(),
            _ => self.last.insert(Arc::new(CheckedFrame::check(request, facts))).clone(),
        };
        self.settled.refusal(request, facts, &framed, rules)
    }
}

impl SettledPart {
    fn refusal(
        &mut self,
        request: &Request,
        facts: Option<&ModelFacts>,
        framed: &CheckedFrame,
        rules: &ValidationContext,
    ) -> Option<Refusal> {
        let thinks = framed.thinking_is_enabled && rules.thinking;
        let is_same =
            self.rules.as_ref().is_some_and(|(known, model, thought)| (known, model, *thought) == (rules, &request.model, thinks));
        let messages = &request.messages;
        let start = if is_same { self.messages.start_in(messages) } else { 0 };
        let sums = if start == 0 { MessageSums::default() } else { self.sums };
        let refusal = size(request, sums.bytes + bytes(&messages[start..]))
            .or_else(|| turns::content(messages, start))
            .or_else(|| frame::breakpoints(request, start, framed.breakpoints + sums.breakpoints))
            .or_else(|| framed.refusal.clone())
            .or_else(|| turns::order(messages, start, facts, thinks))
            .or_else(|| turns::unique(messages, start))
            .or_else(|| rules.pairs.then(|| turns::pairs(messages, start)).flatten())
            // How large an image may be depends on how many there are.
            .or_else(|| image::refusal(messages, if sums.images == 0 { start } else { 0 }, facts, rules))
            .or_else(|| tokens(request, sums.tokens + super::tokens::messages(&messages[start..]), facts, rules));
        if refusal.is_none() {
            if !is_same {
                self.rules = Some((rules.clone(), request.model.clone(), thinks));
            }
            self.sums = sums.plus(self.messages.settle(messages, start));
        }
        refusal
    }
}

/// The API's refusal by tool uses and their results alone, which [`ValidationContext::pairs`] leaves out elsewhere. `start` is 0, or what
/// [`SettledMessages::start_in`] gives.
pub fn pairs(messages: &[Arc<Message>], start: usize) -> Option<Refusal> {
    turns::pairs(messages, start)
}

/// The same for a body as it came: what is not a request is refused too.
pub fn refusal_of_body(body: &str, rules: &ValidationContext) -> Option<Refusal> {
    if body.len() > REQUEST_BYTES_MAX {
        return Some(Refusal::too_large());
    }
    match request(body) {
        Ok(request) => refusal(&request, rules),
        Err(refused) => Some(refused),
    }
}

/// A body read as a request.
///
/// # Errors
/// The refusal of the API.
pub fn request(body: &str) -> Result<Request, Refusal> {
    with_members(body, &["model", "max_tokens", "messages"])
}

/// A body read as a request that limits no answer: its tokens are to be counted, or the API is lenient.
///
/// # Errors
/// The refusal of the API.
pub fn countable(body: &str) -> Result<Request, Refusal> {
    with_members(body, &["model", "messages"])
}

fn with_members(body: &str, needed: &[&str]) -> Result<Request, Refusal> {
    if let Some(refusal) = malformed(body, needed) {
        return Err(refusal);
    }
    Request::from_json(body).map_err(|problem| Refusal::invalid("malformed", format!("The request body is not valid: {problem}"))) // plausible
}

/// Whether a request that breaks this rule is a defect of its client. A prompt that has grown too long is not: only the API can count it.
pub fn is_defect(rule: &str) -> bool {
    !matches!(rule, PROMPT_TOO_LONG | CONTEXT_OVERFLOW)
}

const PROMPT_TOO_LONG: &str = "prompt_too_long";
const CONTEXT_OVERFLOW: &str = "context_overflow";

impl Refusal {
    /// A 400.
    fn invalid(name: &'static str, message: impl Into<String>) -> Self {
        Self { status: 400, name, message: message.into() }
    }

    /// The refusal of a request that is too large.
    #[doc(hidden)]
    pub fn too_large() -> Self {
        Self { status: 413, name: "request_too_large", message: "Request exceeds the maximum size".into() }
    }

    /// The body of the API's answer. The edge before it answers without the API's wrapper.
    pub fn body(&self, request_id: &str) -> String {
        let kind = ErrorKind::from_status(self.status);
        let (kind, message) = (kind.as_str(), Json::from_value(&self.message));
        if self.status == 413 {
            return format!(r#"{{"error":{{"type":"{kind}","message":{message}}}}}"#);
        }
        format!(r#"{{"type":"error","error":{{"type":"{kind}","message":{message}}},"request_id":"{request_id}"}}"#)
    }
}

fn size(request: &Request, of_messages: usize) -> Option<Refusal> {
    let length = |json: &Option<Json>| json.as_ref().map_or(0, |json| json.as_str().len());
    let frame = length(&request.system) + length(&request.tools) + request.extra.as_str().len();
    (frame + of_messages > REQUEST_BYTES_MAX).then(Refusal::too_large)
}

fn bytes(messages: &[Arc<Message>]) -> usize {
    let content = |message: &Arc<Message>| message.content.iter().map(|block| block.json().as_str().len() + 1).sum::<usize>() + 32;
    messages.iter().map(content).sum()
}

/// Input alone over the window is too long for every model; input with `max_tokens` for older ones.
fn tokens(request: &Request, of_messages: u64, facts: Option<&ModelFacts>, rules: &ValidationContext) -> Option<Refusal> {
    let window = rules.context_window?;
    let input = super::tokens::frame(request) + of_messages;
    if input > window {
        return Some(Refusal::invalid(PROMPT_TOO_LONG, format!("prompt is too long: {input} tokens > {window} maximum")));
    }
    let counts = rules.counts_max_tokens.unwrap_or(facts.is_some_and(|facts| facts.generation == ModelGeneration::Early));
    let output = request.max_tokens;
    (counts && input.saturating_add(output) > window).then(|| {
        let text = format!(
            "input length and `max_tokens` exceed context limit: {input} + {output} > {window}, decrease input length or `max_tokens` and try again"
        );
        Refusal::invalid(CONTEXT_OVERFLOW, text)
    })
}

/// The members that a body must have, and the roles that it may name.
fn malformed(body: &str, needed: &[&str]) -> Option<Refusal> {
    let members = match RawObject::parse(body) {
        Ok(members) => members,
        Err(problem) => return Some(Refusal::invalid("malformed", format!("The request body is not valid JSON: {problem}"))), // plausible
    };
    let missing = |name: &str| Refusal::invalid("missing_member", format!("{name}: Field required")); // plausible
    if let Some(name) = needed.iter().find(|name| members.present(name).is_none()) {
        return Some(missing(name));
    }
    let messages = members.get("messages").and_then(|messages| elements(messages).ok()).unwrap_or_default();
    let last = messages.len().saturating_sub(1);
    (0..).zip(messages).find_map(|(index, message): (usize, _)| {
        let Ok(message) = RawObject::parse(message) else {
            return Some(Refusal::invalid("malformed", format!("messages.{index}: Input does not match the expected shape.")));
        };
        match message.string("role").as_deref() {
            // A text block that is empty is another matter, and a request that was read no longer tells which it was.
            Some("assistant") if index == last => None,
            Some("user" | "assistant" | "system") => (message.get("content") == Some("\"\"")).then(|| turns::empty(index)),
            Some(_) => Some(Refusal::invalid("unknown_role", format!("messages.{index}.role: Input should be 'user' or 'assistant'"))), // plausible
            None => Some(missing(&format!("messages.{index}.role"))),
        }
    })
}

#[cfg(test)]
mod recorded_refusals;
#[cfg(test)]
mod tests;
