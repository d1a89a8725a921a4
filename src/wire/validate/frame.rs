//! The API's rules for the frame of a conversation: the output cap, thinking, sampling, effort, cache breakpoints (N-6).

use memchr::memmem::Finder;

use super::super::block::{BlockKind, Message};
use super::super::json::Json;
use super::super::models::{ModelFacts, ModelGeneration};
use super::super::raw_json::{RawObject, elements};
use super::super::request::Request;
use super::{Refusal, tools};
use crate::prelude::*;

/// How many cache breakpoints there may be.
const BREAKPOINTS_MAX: usize = 4;

const CACHE_CONTROL: &[u8] = b"\"cache_control\"";

/// The least that may be thought about.
const BUDGET_MIN: u64 = 1_024;

/// The frame of a conversation, with its refusal.
#[derive(Debug, PartialEq, Hash)]
pub(super) struct CheckedFrame {
    model: Arc<str>,
    max_tokens: u64,
    system: Option<Json>,
    tools: Option<Json>,
    extra: Json,
    /// How many cache breakpoints it has.
    pub(super) breakpoints: usize,
    /// Whether thinking has a budget.
    pub(super) thinking_is_enabled: bool,
    pub(super) refusal: Option<Refusal>,
}

impl CheckedFrame {
    pub(super) fn check(request: &Request, facts: Option<&ModelFacts>) -> Self {
        let tools = request.tools.as_ref().and_then(tools::listed);
        let of_system =
            request.system.as_ref().filter(|system| mentions(system.as_str())).and_then(|system| elements(system.as_str()).ok());
        let of_system = of_system.into_iter().flatten().filter(|item| has_breakpoint(item)).count();
        let of_tools = tools.iter().flatten().filter(|tool| mentions(tool.text()) && tool.present("cache_control").is_some()).count();
        Self {
            model: request.model.clone(),
            max_tokens: request.max_tokens,
            system: request.system.clone(),
            tools: request.tools.clone(),
            extra: request.extra.clone(),
            breakpoints: of_system + of_tools,
            thinking_is_enabled: thinking(request).is_some_and(|thinking| thinking.kind == "enabled"),
            refusal: refusal(request, tools.as_deref(), facts),
        }
    }

    /// Whether it is this request's.
    pub(super) fn is_of(&self, request: &Request) -> bool {
        (&self.model, self.max_tokens) == (&request.model, request.max_tokens)
            && (&self.system, &self.tools, &self.extra) == (&request.system, &request.tools, &request.extra)
    }
}

/// The refusal of the frame, if there is one.
fn refusal(request: &Request, tools: Option<&[RawObject<'_>]>, facts: Option<&ModelFacts>) -> Option<Refusal> {
    let extra = if request.extra.as_str() == "{}" { None } else { RawObject::parse(request.extra.as_str()).ok() };
    output_cap(request, facts)
        .or_else(|| thinking_refusal(request, facts))
        .or_else(|| extra.as_ref().and_then(|extra| temperature(extra).or_else(|| effort(extra, facts))))
        .or_else(|| extra.as_ref().and_then(|extra| forced_tool(extra, request, facts)))
        .or_else(|| tools.and_then(tools::refusal))
}

fn temperature(extra: &RawObject<'_>) -> Option<Refusal> {
    let temperature: f64 = extra.present("temperature")?.parse().ok()?;
    (!(0.0..=1.0).contains(&temperature)).then(|| Refusal::invalid("temperature", "temperature: range: 0..1"))
}

/// Where it is known which levels a model has.
fn effort(extra: &RawObject<'_>, facts: Option<&ModelFacts>) -> Option<Refusal> {
    let asked = extra.object("output_config")?.string("effort")?;
    let levels = facts?.efforts()?;
    let text = format!("This model does not support effort level '{asked}'. Supported levels: {}.", levels.join(", "));
    (!levels.contains(&&*asked)).then(|| Refusal::invalid("effort", text))
}

/// Nothing may be asked for, where something is cached: that fills the cache beforehand.
fn output_cap(request: &Request, facts: Option<&ModelFacts>) -> Option<Refusal> {
    if request.max_tokens == 0 && !caches(request) {
        return Some(Refusal::invalid("no_output", "max_tokens: Input should be greater than or equal to 1")); // plausible
    }
    let facts = facts.filter(|facts| request.max_tokens > facts.output_max)?;
    let (asked, most, model) = (request.max_tokens, facts.output_max, &request.model);
    let text = format!("max_tokens: {asked} > {most}, which is the maximum allowed number of output tokens for {model}");
    Some(Refusal::invalid("max_tokens_too_large", text))
}

/// The `thinking` member of a request.
struct ThinkingMember {
    /// `enabled`, `adaptive`, `disabled` or another word.
    kind: String,
    budget: Option<u64>,
}

/// The thinking that a request asks for.
fn thinking(request: &Request) -> Option<ThinkingMember> {
    if !request.extra.as_str().contains("\"thinking\"") {
        return None;
    }
    let extra = RawObject::parse(request.extra.as_str()).ok()?;
    let thinking = extra.object("thinking")?;
    Some(ThinkingMember { kind: thinking.string("type")?.into_owned(), budget: thinking.count("budget_tokens") })
}

fn thinking_refusal(request: &Request, facts: Option<&ModelFacts>) -> Option<Refusal> {
    let thinking = thinking(request)?;
    let generation = facts.map(|facts| facts.generation);
    let unsupported = |kind: &str| {
        let text = format!(
            "\"thinking.type.{kind}\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control \
             thinking behavior."
        );
        Some(Refusal::invalid("thinking_kind", text))
    };
    match (&*thinking.kind, generation) {
        ("enabled", Some(generation)) if generation >= ModelGeneration::Four7 => unsupported("enabled"),
        ("disabled", Some(ModelGeneration::AlwaysThinks)) => unsupported("disabled"),
        ("adaptive", Some(generation)) if generation <= ModelGeneration::Four5 => {
            Some(Refusal::invalid("thinking_kind", "adaptive thinking is not supported on this model"))
        }
        ("enabled", _) => budget_refusal(thinking.budget, request.max_tokens),
        _ => None,
    }
}

fn budget_refusal(budget: Option<u64>, max_tokens: u64) -> Option<Refusal> {
    let text = match budget {
        None => "thinking.enabled.budget_tokens: Field required",
        Some(..BUDGET_MIN) => "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
        Some(budget) if budget >= max_tokens => "`max_tokens` must be greater than `thinking.budget_tokens`.",
        Some(_) => return None,
    };
    Some(Refusal::invalid("thinking_budget", text)) // plausible, all three
}

/// No tool can be forced where thinking comes first.
fn forced_tool(extra: &RawObject<'_>, request: &Request, facts: Option<&ModelFacts>) -> Option<Refusal> {
    let choice = extra.object("tool_choice")?.string("type")?;
    if !matches!(&*choice, "any" | "tool") {
        return None;
    }
    if facts.is_some_and(|facts| facts.generation == ModelGeneration::AlwaysThinks) {
        return Some(Refusal::invalid("tool_choice", "tool_choice: type \"tool\" and \"any\" are not supported for this model."));
    }
    let thinks = thinking(request).is_some_and(|thinking| thinking.kind == "enabled");
    thinks.then(|| Refusal::invalid("tool_choice", "Thinking may not be enabled when tool_choice forces tool use.")) // plausible
}

/// How many cache breakpoints messages have.
pub(super) fn breakpoints_in(messages: &[Arc<Message>]) -> usize {
    let blocks = messages.iter().flat_map(|message| &message.content).map(|block| block.json().as_str());
    blocks.filter(|json| mentions(json)).map(in_block).sum()
}

/// How many cache breakpoints there are beside the `known` ones of the frame and of the messages before `start`, and whether each stands where one
/// may.
pub(super) fn breakpoints(request: &Request, start: usize, known: usize) -> Option<Refusal> {
    let mut count = known;
    let finder = Finder::new(CACHE_CONTROL);
    for (index, message) in (start..).zip(&request.messages[start..]) {
        for (position, block) in (0..).zip(&message.content).filter(|(_, block)| finder.find(block.json().as_str().as_bytes()).is_some()) {
            let of_block = in_block(block.json().as_str());
            if of_block > 0 && block.is_thinking() {
                return Some(on_thinking(index, position, matches!(block.kind(), BlockKind::RedactedThinking)));
            }
            count += of_block;
        }
    }
    count += usize::from(request.adds_breakpoint());
    (count > BREAKPOINTS_MAX).then(|| {
        let text = format!("A maximum of {BREAKPOINTS_MAX} blocks with cache_control may be provided. Found {count}.");
        Refusal::invalid("too_many_breakpoints", text)
    })
}

fn on_thinking(index: usize, position: usize, is_redacted: bool) -> Refusal {
    let kind = if is_redacted { "redacted_thinking" } else { "thinking" };
    let text = format!("messages.{index}.content.{position}.{kind}.cache_control: Extra inputs are not permitted");
    Refusal::invalid("breakpoint_on_thinking", text) // the words are the API's, the path before them is plausible
}

/// Whether there is any cache breakpoint.
fn caches(request: &Request) -> bool {
    let frame = [request.system.as_ref(), request.tools.as_ref(), Some(&request.extra)].into_iter().flatten();
    let blocks = request.messages.iter().flat_map(|message| &message.content).map(|block| block.json());
    request.cache_last_message || frame.chain(blocks).any(|json| mentions(json.as_str()))
}

/// A cheap look before JSON is taken apart: text inside of strings has its quotes escaped and does not count.
fn mentions(json: &str) -> bool {
    memchr::memmem::find(json.as_bytes(), CACHE_CONTROL).is_some()
}

fn has_breakpoint(object: &str) -> bool {
    mentions(object) && RawObject::parse(object).is_ok_and(|object| object.present("cache_control").is_some())
}

/// A block's own, and those of the blocks that a result holds.
fn in_block(json: &str) -> usize {
    let Ok(block) = RawObject::parse(json) else { return 0 };
    let held = block.get("content").and_then(|content| elements(content).ok()).unwrap_or_default();
    usize::from(block.present("cache_control").is_some()) + held.into_iter().filter(|item| has_breakpoint(item)).count()
}
