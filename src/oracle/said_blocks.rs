//! O-28: as it came. What a request gives back as the model's words is what the model said, byte for byte, or what an earlier session left. The words of
//! an answer that ended as a refusal and holds no tool use are in no request, unless the settings keep them. The order of these words is in
//! `said_order`.

use super::aborted_words::AbortedWordOracle;
use super::request_kind::SentRequest;
use super::said_order::SaidOrder;
use super::speech::ModelSpeech;
use super::{OracleFindings, OracleRules, same_messages};
use reenact_engine::contract::{ByAgent, Effect, Input, Request, Role};
use reenact_engine::key::SharedValue;
use reenact_wire::block::{Block, BlockKind};
use reenact_wire::order::StreamOrderPolicy;
use reenact_wire::prelude::*;

pub(super) const ORACLE: &str = "O-28";

/// The words of the model in the requests of one agent.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct SaidBlockOracle {
    /// The last request: its messages were looked at.
    last: Option<SharedValue<Request>>,
    order: SaidOrder,
    aborted: AbortedWordOracle,
}

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
    /// The user cancels.
    pub(super) fn on_cancel(&mut self) {
        self.aborted.on_abort();
    }

    pub(super) fn on_input(&mut self, input: &Input, speech: Option<&ModelSpeech>) {
        if matches!(input, Input::Interrupt { .. }) {
            self.aborted.on_abort();
        }
        self.order.on_input(input, speech);
    }

    pub(super) fn on_effect(&mut self, rules: &OracleRules, effect: &Effect, speech: Option<&ModelSpeech>, found: &mut OracleFindings<'_>) {
        self.order.on_effect(effect, speech);
        // Of streams in disorder nobody can say what is open.
        if rules.settings.stream_order != StreamOrderPolicy::Lenient {
            self.aborted.on_effect(effect, speech, found);
        }
    }

    pub(super) fn on_request(
        &mut self,
        rules: &OracleRules,
        sent: SentRequest<'_>,
        speech: Option<&ModelSpeech>,
        source: impl Fn(&Block) -> BlockSource,
        found: &mut OracleFindings<'_>,
    ) {
        self.aborted.on_request(sent);
        let SentRequest { id, request, .. } = sent;
        let last = self.last.replace(request.clone());
        let seen = last.as_ref().map_or(&[][..], |last| &last.messages);
        let same = same_messages(seen, &request.messages);
        let new = &request.messages[same..];
        // A host may put words where it wants.
        if let Some((block, broken)) = self.order.check(rules, (new, same == seen.len()), speech).filter(|_| rules.keeps_own_words()) {
            found.add(ORACLE, broken.describe(id, block));
        }
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
