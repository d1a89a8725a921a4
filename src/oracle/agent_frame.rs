//! O-21, of the first request of an agent below the root (B-8): its conversation is its own and begins with its prompt, it is offered no tool that starts
//! agents in its turn, and no to-do list.

use super::request_kind::{RequestKind, SentRequest};
use super::stable_prefix::ORACLE;
use super::{OracleFindings, OracleRules};
use reenact_wire::block::Role;
use reenact_wire::prelude::*;

/// The list of the root's tasks is no agent's.
const TODO_TOOL: &str = "TodoWrite";

/// Whether the first request of an agent went out.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct AgentFrameOracle {
    is_known: bool,
}

impl AgentFrameOracle {
    pub(super) fn on_request(&mut self, rules: &OracleRules, sent: SentRequest<'_>, found: &mut OracleFindings<'_>) {
        if core::mem::replace(&mut self.is_known, true) || sent.kind != RequestKind::Ordinary || !rules.keeps_own_words() {
            return;
        }
        found.ask(ORACLE);
        let SentRequest { id, request, .. } = sent;
        if request.messages.iter().any(|message| message.role == Role::Assistant) {
            found.add(ORACLE, format!("request {id} is the first of an agent, and it holds answers that the agent has not got"));
        }
        let tools = super::request_frame::names(request.tools.as_ref());
        for name in tools.iter().filter(|name| rules.tools.is_agent(name) || &***name == TODO_TOOL) {
            found.add(ORACLE, format!("request {id} of an agent offers tool {name}, which is the root's alone"));
        }
    }
}
