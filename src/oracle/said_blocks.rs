//! O-28: as it came. What a request gives back as the model's words is what the model said, byte for byte, or what an earlier session left.

use super::{OracleFindings, same_messages};
use reenact_engine::contract::{Request, RequestId, Role};
use reenact_engine::key::SharedValue;
use reenact_wire::block::{Block, BlockKind};
use reenact_wire::prelude::*;

pub(super) const ORACLE: &str = "O-28";

/// The last request: its messages were looked at.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct SaidBlockOracle(Option<SharedValue<Request>>);

impl SaidBlockOracle {
    /// `is_known` says whether some model said a block to this agent or another one, or the session began with it.
    pub(super) fn on_request(
        &mut self,
        id: RequestId,
        request: &SharedValue<Request>,
        is_known: impl Fn(&Block) -> bool,
        found: &mut OracleFindings<'_>,
    ) {
        let last = self.0.replace(request.clone());
        let seen = last.as_ref().map_or(&[][..], |last| &last.messages);
        let new = &request.messages[same_messages(seen, &request.messages)..];
        let of_model = new.iter().filter(|message| message.role == Role::Assistant);
        for block in of_model.flat_map(|message| &message.content) {
            let what = match block.kind() {
                BlockKind::Text(_) => "text",
                BlockKind::Thinking { .. } => "thinking",
                BlockKind::ToolUse(_) => "a tool use",
                _ => continue,
            };
            found.ask(ORACLE);
            if !is_known(block) {
                found.add(ORACLE, format!("request {id} has {what} as the model's that the model did not say: {}", block.json().as_str()));
            }
        }
    }
}
