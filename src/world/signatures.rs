//! Thinking that the simulated API gave out, and what it does when it comes back from elsewhere or in another place (N-6).
//!
//! A signature is bound to the model that gave it and to the conversation before it. Newer models check that; older ones ignore it, and then
//! nothing is remembered either.

use super::plan::ResponsePlan;
use super::setup::RunSetup;
use reenact_wire::block::{Block, BlockKind, Message};
use reenact_wire::json::Json;
use reenact_wire::models::{ModelFacts, SignaturePolicy};
use reenact_wire::prelude::*;
use reenact_wire::request::Request;
use reenact_wire::validate::Refusal;

/// All that was given out.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub(super) struct GivenThinking(Vec<Arc<BoundThinking>>);

/// One block of thinking, and what it is bound to.
#[derive(Debug, PartialEq, Hash)]
struct BoundThinking {
    block: Block,
    model: Arc<str>,
    system: Option<Json>,
    tools: Option<Json>,
    messages: Vec<Arc<Message>>,
}

impl GivenThinking {
    /// Takes note of the thinking in an answer, if anyone will look at it later.
    pub(super) fn remember(&mut self, setup: &RunSetup, request: &Request, plan: &ResponsePlan) {
        if mode(setup, request) == SignaturePolicy::Ignore {
            return;
        }
        let thinking = plan.answer().into_blocks().into_iter().filter(Block::is_thinking);
        self.0.extend(thinking.map(|block| {
            let Request { model, system, tools, messages, .. } = request.clone();
            Arc::new(BoundThinking { block, model, system, tools, messages })
        }));
    }

    /// The API's refusal of thinking that it did not give, or not here. Where it drops such thinking, it refuses nothing.
    pub(super) fn refusal(&self, setup: &RunSetup, request: &Request) -> Option<Refusal> {
        if mode(setup, request) != SignaturePolicy::Refuse {
            return None;
        }
        let latest = request.messages.iter().rposition(|message| message.content.iter().any(Block::is_thinking));
        (0..).zip(&request.messages).find_map(|(index, message)| {
            (0..).zip(&message.content).filter(|(_, block)| block.is_thinking()).find_map(|(position, block): (usize, _)| {
                let path = format!("messages.{index}.content.{position}");
                self.judge(request, index, block, latest == Some(index)).map(|problem| problem.at(&path))
            })
        })
    }

    fn judge(&self, request: &Request, index: usize, block: &Block, is_latest: bool) -> Option<SignatureProblem> {
        let known = self.0.iter().filter(|given| says_the_same(&given.block, block));
        let mut is_known = false;
        for given in known {
            is_known = true;
            if given.model == request.model && given.is_bound_to(request, index) {
                return None;
            }
        }
        Some(match is_known {
            true => SignatureProblem::OtherContext,
            false if is_latest && self.0.iter().any(|given| signature(&given.block) == signature(block)) => SignatureProblem::Changed,
            false => SignatureProblem::Unknown,
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SignatureProblem {
    /// The API never gave it.
    Unknown,
    /// It was given with another content.
    Changed,
    /// It was given by another model, or after other words.
    OtherContext,
}

impl SignatureProblem {
    fn at(self, path: &str) -> Refusal {
        let text = match self {
            Self::Unknown => format!("{path}: Invalid `signature` in `thinking` block"),
            Self::Changed => format!(
                "{path}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as \
                 they were in the original response."
            ),
            Self::OtherContext => format!(
                "{path}: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set \
                 `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\"."
            ),
        };
        Refusal { status: 400, name: "thinking_signature", message: text }
    }
}

impl BoundThinking {
    /// Whether the conversation before the answer at `index` is the one in which it was given.
    fn is_bound_to(&self, request: &Request, index: usize) -> bool {
        let same =
            |((role, block), (other_role, other)): ((&str, &Block), (&str, &Block))| role == other_role && says_the_same(block, other);
        let (given, sent) = (blocks_with_roles(&self.messages), blocks_with_roles(&request.messages[..index]));
        self.system == request.system
            && self.tools == request.tools
            && given.clone().count() == sent.clone().count()
            && given.zip(sent).all(same)
    }
}

/// Blocks with their roles: neighbours of the same role are one turn, wherever it is cut.
fn blocks_with_roles(messages: &[Arc<Message>]) -> impl Iterator<Item = (&'static str, &Block)> + Clone {
    messages.iter().flat_map(|message| message.content.iter().map(|block| (message.role.as_str(), block)))
}

/// Whether two blocks have the same members, in any order. The cache's breakpoint is none: it moves on with each request.
fn says_the_same(block: &Block, other: &Block) -> bool {
    let without_breakpoint = |block: &Block| {
        let mut value = block.json().to_value();
        if let serde_json::Value::Object(members) = &mut value {
            members.remove("cache_control");
        }
        value
    };
    block == other || without_breakpoint(block) == without_breakpoint(other)
}

fn mode(setup: &RunSetup, request: &Request) -> SignaturePolicy {
    let by_model = || ModelFacts::find(&request.model).map_or(SignaturePolicy::Ignore, ModelFacts::signatures);
    setup.scenario.api.signatures.unwrap_or_else(by_model)
}

fn signature(block: &Block) -> &str {
    match block.kind() {
        BlockKind::Thinking { signature, .. } => signature,
        _ => block.json().as_str(),
    }
}
