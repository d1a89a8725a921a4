//! O-28: as it came. What a request gives back as the model's words is what the model said, byte for byte, or what an earlier session left. The words of
//! an answer that ended as a refusal and holds no tool use are in no request, unless the settings keep them.

use super::speech::ModelSpeech;
use super::{OracleFindings, OracleRules, same_messages};
use reenact_engine::contract::{ByAgent, Request, RequestId, Role};
use reenact_engine::key::SharedValue;
use reenact_wire::block::{Block, BlockKind};
use reenact_wire::prelude::*;

pub(super) const ORACLE: &str = "O-28";

/// The last request: its messages were looked at.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct SaidBlockOracle(Option<SharedValue<Request>>);

/// Where a block comes from that a request has as the model's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockSource {
    /// Some model said it to this agent or another one, or the session began with it.
    Said,
    /// It stands in answers alone that the model refused to give.
    Refused,
    Unknown,
}

impl BlockSource {
    pub(super) fn find(rules: &OracleRules, speech: &ByAgent<ModelSpeech>, block: &Block) -> Self {
        let keeps_refusals = rules.settings.refusal_notes;
        match () {
            () if speech.all().any(|speech| speech.has_given(block)) || rules.is_given(block) => Self::Said,
            () if !speech.all().any(|speech| speech.has(block)) => Self::Unknown,
            () if keeps_refusals => Self::Said,
            () => Self::Refused,
        }
    }
}

impl SaidBlockOracle {
    pub(super) fn on_request(
        &mut self,
        id: RequestId,
        request: &SharedValue<Request>,
        source: impl Fn(&Block) -> BlockSource,
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
            let problem = match source(block) {
                BlockSource::Said => continue,
                BlockSource::Refused => "of an answer that the model refused to give",
                BlockSource::Unknown => "as the model's that the model did not say",
            };
            found.add(ORACLE, format!("request {id} has {what} {problem}: {}", block.json().as_str()));
        }
    }
}
