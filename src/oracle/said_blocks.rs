//! O-28: as it came. What a request gives back as the model's words is what the model said, byte for byte, or what an earlier session left.

use super::OracleFindings;
use reenact_engine::contract::{Message, RequestId, Role};
use reenact_wire::block::{Block, BlockKind};
use reenact_wire::prelude::*;

pub(super) const ORACLE: &str = "O-28";

/// The messages of the last request: they were looked at.
#[derive(Clone, Debug, Default)]
pub(super) struct SaidBlockOracle {
    seen: Vec<Arc<Message>>,
}

impl SaidBlockOracle {
    /// `is_known` says whether some model said a block to this agent or another one, or the session began with it.
    pub(super) fn on_request(
        &mut self,
        id: RequestId,
        messages: &[Arc<Message>],
        is_known: impl Fn(&Block) -> bool,
        found: &mut OracleFindings<'_>,
    ) {
        let same = self.seen.iter().zip(messages).take_while(|(seen, sent)| Arc::ptr_eq(seen, sent)).count();
        self.seen.truncate(same);
        self.seen.extend(messages[same..].iter().cloned());
        let of_model = messages[same..].iter().filter(|message| message.role == Role::Assistant);
        for block in of_model.flat_map(|message| &message.content) {
            let what = match block.kind() {
                BlockKind::Text(_) => "text",
                BlockKind::Thinking { .. } => "thinking",
                BlockKind::ToolUse(_) => "a tool use",
                _ => continue,
            };
            if !is_known(block) {
                found.add(ORACLE, format!("request {id} has {what} as the model's that the model did not say: {}", block.json().as_str()));
            }
        }
    }
}
