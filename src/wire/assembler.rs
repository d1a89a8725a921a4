//! From stream events to finished blocks: what the official SDKs call accumulation (N-3), with the order rules checked (N-4).
//!
//! ```text
//! message_start         -> Started { … }      id, model, first usage, and blocks where it brings some
//! content_block_start 0 -> Nothing
//! content_block_delta 0 -> Nothing            kept until the block stops: tool input is text till then
//! content_block_stop  0 -> Block { 0, … }     parsed, and as the JSON that goes back
//! message_delta         -> Delta              stop reason; usage overwrites
//! message_stop          -> Ended
//! ```
//!
//! The block that is sent back is the object of its `content_block_start` with the accumulated members put in place: other members, unknown
//! ones, key order and spacing stay as they came, and a tool's input is the text that the model wrote (N-8).

use super::{
    block::Block,
    event::{BlockDelta, EventPayload, MessageDelta, MessageStart, NAMELESS, StreamEvent},
    json::Json,
    order::{OrderViolation, StreamOrderPolicy, ViolationVerdict},
    partial_block::{MisplacedDelta, PartialBlock},
    usage::Usage,
};
use crate::prelude::*;

/// One answer on its way. A clone continues from the same event.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct Assembler {
    policy: StreamOrderPolicy,
    state: AssemblerState,
    /// Whether the stream gives its events names: one without is nothing of the answer then.
    names_events: bool,
    message_id: Arc<str>,
    model: Arc<str>,
    usage: Usage,
    stop_reason: Option<Arc<str>>,
    stop_sequence: Option<Arc<str>>,
}

#[derive(Clone, Debug, Default, PartialEq, Hash)]
enum AssemblerState {
    #[default]
    BeforeStart,
    Open(AnswerBlocks),
    Ended {
        /// The indexes of blocks that never stopped.
        incomplete: Vec<u32>,
        /// How many blocks there are.
        blocks: usize,
    },
    /// An error event, or a violation that is one. It has been reported.
    Failed,
}

/// The blocks of an answer by index.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
struct AnswerBlocks {
    blocks: alloc::collections::BTreeMap<u32, BlockSlot>,
    message_deltas: u32,
}

#[derive(Clone, Debug, PartialEq, Hash)]
enum BlockSlot {
    Open(PartialBlock),
    Stopped,
}

/// The result of an event.
#[must_use]
#[derive(Clone, Debug, PartialEq, Hash)]
pub enum AssemblerStep {
    /// Nothing to act on.
    Nothing,
    /// `message_start`: id, model and first usage are there.
    Started {
        /// Blocks that it brought, complete, from index 0 on: none, or the whole answer where code that the API runs asks for tools.
        blocks: Vec<Block>,
    },
    /// A block is complete.
    Block {
        /// Its place in the answer's content.
        index: u32,
        /// The block.
        block: Block,
    },
    /// `message_delta`: stop reason and usage are newer.
    Delta,
    /// `message_stop`: the answer is complete, but for [`Assembler::incomplete`].
    Ended,
    /// An `error` event: the answer is lost.
    Failed {
        /// `error.type`; empty when absent.
        kind: Arc<str>,
        /// `error.message`; empty when absent.
        message: Arc<str>,
    },
    /// The stream broke a rule in a way that is an error: the answer is lost.
    Refused(OrderViolation),
}

impl AssemblerStep {
    /// The blocks that are complete with it, in order.
    pub fn into_blocks(self) -> Vec<Block> {
        match self {
            Self::Started { blocks } => blocks,
            Self::Block { block, .. } => vec![block],
            _ => Vec::new(),
        }
    }
}

/// How an event ends early: with the violation that refuses it.
type OrderResult<T> = Result<T, OrderViolation>;

impl Assembler {
    /// An answer of which nothing has come yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same where more or less disorder is let pass (N-4).
    pub fn with_policy(policy: StreamOrderPolicy) -> Self {
        Self { policy, ..Self::default() }
    }

    /// Takes the next event of the stream (N-3). Violations that are only noted (N-4) are appended to `notes`.
    ///
    /// After [`AssemblerStep::Failed`] and [`AssemblerStep::Refused`] every further event is [`AssemblerStep::Nothing`].
    pub fn on_event(&mut self, event: &StreamEvent, notes: &mut Vec<OrderViolation>) -> AssemblerStep {
        let step = match &mut self.state {
            AssemblerState::BeforeStart => self.on_event_before_start(event, notes),
            AssemblerState::Open(_) => self.on_event_while_open(event, notes),
            AssemblerState::Ended { .. } => self.on_event_after_end(event, notes),
            AssemblerState::Failed => judge(OrderViolation::EventAfterFailure, notes).map(|()| AssemblerStep::Nothing),
        };
        let step = step.unwrap_or_else(AssemblerStep::Refused);
        if let AssemblerStep::Failed { .. } | AssemblerStep::Refused(_) = step {
            self.state = AssemblerState::Failed;
        }
        step
    }

    /// Whether the stream may end here.
    ///
    /// # Errors
    /// [`OrderViolation::EndWithoutMessageStop`]: the answer is incomplete. Not after a failure that was reported before.
    pub fn at_end_of_stream(&self) -> Result<(), OrderViolation> {
        match &self.state {
            AssemblerState::Open(content)
                if self.policy == StreamOrderPolicy::Lenient && self.stop_reason.is_some() && content.has_stopped() =>
            {
                Ok(())
            }
            AssemblerState::BeforeStart | AssemblerState::Open(_) => Err(OrderViolation::EndWithoutMessageStop),
            AssemblerState::Ended { .. } | AssemblerState::Failed => Ok(()),
        }
    }

    /// Whether the whole answer is there.
    pub fn is_complete(&self) -> bool {
        matches!(self.state, AssemblerState::Ended { .. })
    }

    /// The API's id of the message; empty before [`AssemblerStep::Started`].
    pub fn message_id(&self) -> &Arc<str> {
        &self.message_id
    }

    /// The model that answers; empty before [`AssemblerStep::Started`].
    pub fn model(&self) -> &Arc<str> {
        &self.model
    }

    /// Token counts by the latest report.
    pub fn usage(&self) -> &Usage {
        &self.usage
    }

    /// Why the model stopped; `None` until a `message_delta` said so.
    pub fn stop_reason(&self) -> Option<&Arc<str>> {
        self.stop_reason.as_ref()
    }

    /// The stop sequence that was hit.
    pub fn stop_sequence(&self) -> Option<&Arc<str>> {
        self.stop_sequence.as_ref()
    }

    /// The indexes of blocks that never stopped: closed without being handed over. Empty before [`AssemblerStep::Ended`].
    pub fn incomplete(&self) -> &[u32] {
        match &self.state {
            AssemblerState::Ended { incomplete, .. } => incomplete,
            _ => &[],
        }
    }

    /// The blocks that have begun and not stopped, as far as they came.
    pub fn open_blocks(&self) -> impl Iterator<Item = (u32, Block)> + '_ {
        let content = match &self.state {
            AssemblerState::Open(content) => Some(content),
            _ => None,
        };
        content.into_iter().flat_map(|content| &content.blocks).filter_map(|(index, slot)| match slot {
            BlockSlot::Open(partial) => Some((*index, partial.finish())),
            BlockSlot::Stopped => None,
        })
    }

    fn on_event_before_start(&mut self, event: &StreamEvent, notes: &mut Vec<OrderViolation>) -> OrderResult<AssemblerStep> {
        match event.payload() {
            EventPayload::MessageStart(start) => {
                self.names_events = event.name() != NAMELESS;
                return Ok(self.on_message_start(start));
            }
            EventPayload::Error { kind, message } => return Ok(failed(kind, message)),
            EventPayload::Ping => judge(OrderViolation::PingOutsideMessage, notes)?,
            EventPayload::Unknown { .. } => judge(OrderViolation::UnknownEvent, notes)?,
            // Where events have no names this may have been the beginning. The next event is refused then.
            EventPayload::Malformed { .. } => judge(malformed(event, true), notes)?,
            _ => judge(OrderViolation::EventBeforeMessageStart, notes)?,
        }
        Ok(AssemblerStep::Nothing)
    }

    fn on_message_start(&mut self, start: &MessageStart<'_>) -> AssemblerStep {
        self.message_id = Arc::from(&*start.id);
        self.model = Arc::from(&*start.model);
        self.usage = start.usage;
        self.stop_reason = start.stop_reason.as_deref().map(Arc::from);
        self.stop_sequence = start.stop_sequence.as_deref().map(Arc::from);
        let blocks: Vec<Block> = start.content.iter().map(|block| Block::from(Json::trusted(&**block))).collect();
        let slots = (0..).zip(&blocks).map(|(index, _)| (index, BlockSlot::Stopped)).collect();
        self.state = AssemblerState::Open(AnswerBlocks { blocks: slots, message_deltas: 0 });
        AssemblerStep::Started { blocks }
    }

    fn on_event_while_open(&mut self, event: &StreamEvent, notes: &mut Vec<OrderViolation>) -> OrderResult<AssemblerStep> {
        let AssemblerState::Open(content) = &mut self.state else { return Ok(AssemblerStep::Nothing) };
        match event.payload() {
            EventPayload::BlockStart { index, kind, block } => content.on_start(*index, PartialBlock::new(kind, block), notes)?,
            EventPayload::BlockDelta { index, delta } => content.on_delta(*index, delta, notes)?,
            EventPayload::BlockStop { index } => return content.on_stop(*index, notes),
            EventPayload::MessageDelta(delta) => {
                content.message_deltas = content.message_deltas.saturating_add(1);
                return Ok(self.on_message_delta(delta));
            }
            EventPayload::MessageStop => return self.on_message_stop(notes),
            EventPayload::Error { kind, message } => return Ok(failed(kind, message)),
            EventPayload::Ping => (),
            EventPayload::MessageStart(_) => judge_by(self.policy, OrderViolation::SecondMessageStart, notes)?,
            EventPayload::Unknown { .. } => judge(OrderViolation::UnknownEvent, notes)?,
            EventPayload::Malformed { .. } => judge(malformed(event, self.names_events), notes)?,
        }
        Ok(AssemblerStep::Nothing)
    }

    /// The answer is complete: nothing that comes now can be a part of it, and content that claims to be one is refused.
    fn on_event_after_end(&mut self, event: &StreamEvent, notes: &mut Vec<OrderViolation>) -> OrderResult<AssemblerStep> {
        let AssemblerState::Ended { blocks, .. } = self.state else { return Ok(AssemblerStep::Nothing) };
        let violation = match event.payload() {
            EventPayload::Error { kind, message } => return Ok(failed(kind, message)),
            EventPayload::MessageDelta(delta) => {
                judge(OrderViolation::MessageDeltaAfterMessageStop, notes)?;
                self.usage.overwrite_with(&delta.usage);
                return Ok(AssemblerStep::Delta);
            }
            EventPayload::BlockStop { index } if usize::try_from(*index).is_ok_and(|index| index < blocks) => {
                OrderViolation::SecondBlockStop
            }
            EventPayload::Ping => OrderViolation::PingOutsideMessage,
            EventPayload::Unknown { .. } => OrderViolation::UnknownEvent,
            EventPayload::MessageStop => OrderViolation::SecondMessageStop,
            EventPayload::MessageStart(_) => OrderViolation::SecondMessageStart,
            EventPayload::Malformed { .. } => malformed(event, true),
            _ => OrderViolation::EventAfterMessageStop,
        };
        judge_by(self.policy, violation, notes)?;
        Ok(AssemblerStep::Nothing)
    }

    /// Totals, not additions: what the delta carries replaces what was there (N-3).
    fn on_message_delta(&mut self, delta: &MessageDelta<'_>) -> AssemblerStep {
        self.usage.overwrite_with(&delta.usage);
        if let Some(reason) = &delta.stop_reason {
            self.stop_reason = Some(Arc::from(&**reason));
        }
        if let Some(sequence) = &delta.stop_sequence {
            self.stop_sequence = Some(Arc::from(&**sequence));
        }
        AssemblerStep::Delta
    }

    fn on_message_stop(&mut self, notes: &mut Vec<OrderViolation>) -> OrderResult<AssemblerStep> {
        let AssemblerState::Open(content) = &self.state else { return Ok(AssemblerStep::Nothing) };
        if content.message_deltas == 0 && self.stop_reason.is_none() {
            judge(OrderViolation::NoMessageDelta, notes)?;
        }
        let cut_off = cuts_off(self.stop_reason.as_deref());
        let mut incomplete = Vec::new();
        for (index, slot) in &content.blocks {
            if let BlockSlot::Open(partial) = slot {
                let is_cut_off = cut_off && partial.is_tool_use();
                let violation = if is_cut_off { OrderViolation::ToolUseCutOff } else { OrderViolation::BlockNeverStopped };
                judge_by(self.policy, violation, notes)?;
                incomplete.push(*index);
            }
        }
        self.state = AssemblerState::Ended { incomplete, blocks: content.blocks.len() };
        Ok(AssemblerStep::Ended)
    }
}

impl AnswerBlocks {
    /// Whether no block is open.
    fn has_stopped(&self) -> bool {
        self.blocks.values().all(|slot| matches!(slot, BlockSlot::Stopped))
    }

    fn on_start(&mut self, index: u32, partial: PartialBlock, notes: &mut Vec<OrderViolation>) -> OrderResult<()> {
        if self.blocks.contains_key(&index) {
            return judge(OrderViolation::BlockIndexReused, notes);
        }
        if usize::try_from(index) != Ok(self.blocks.len()) {
            judge(OrderViolation::BlockIndexSkipped, notes)?;
        }
        if self.message_deltas > 0 {
            judge(OrderViolation::ContentAfterMessageDelta, notes)?;
        }
        if self.blocks.values().any(|slot| matches!(slot, BlockSlot::Open(_))) {
            judge(OrderViolation::BlocksInterleaved, notes)?;
        }
        self.blocks.insert(index, BlockSlot::Open(partial));
        Ok(())
    }

    fn on_delta(&mut self, index: u32, delta: &BlockDelta<'_>, notes: &mut Vec<OrderViolation>) -> OrderResult<()> {
        let misfit = match self.blocks.get_mut(&index) {
            None => return judge(OrderViolation::DeltaForUnknownBlock, notes),
            Some(BlockSlot::Open(partial)) => match partial.add(delta) {
                Ok(()) => return Ok(()),
                Err(MisplacedDelta) => OrderViolation::DeltaKindMismatch,
            },
            Some(BlockSlot::Stopped) => OrderViolation::DeltaAfterBlockStop,
        };
        let violation = match delta {
            BlockDelta::Unknown { .. } => OrderViolation::UnknownDelta,
            delta if delta.is_empty() => OrderViolation::EmptyDelta,
            _ => misfit,
        };
        judge(violation, notes)
    }

    fn on_stop(&mut self, index: u32, notes: &mut Vec<OrderViolation>) -> OrderResult<AssemblerStep> {
        let partial = match self.blocks.get(&index) {
            None => return judge(OrderViolation::StopForUnknownBlock, notes).map(|()| AssemblerStep::Nothing),
            Some(BlockSlot::Stopped) => return judge(OrderViolation::SecondBlockStop, notes).map(|()| AssemblerStep::Nothing),
            Some(BlockSlot::Open(partial)) => partial,
        };
        let block = partial.finish();
        self.blocks.insert(index, BlockSlot::Stopped);
        Ok(AssemblerStep::Block { index, block })
    }
}

/// The name of unreadable data. `names_count` says whether an event of the answer would have a name.
fn malformed(event: &StreamEvent, names_count: bool) -> OrderViolation {
    if names_count && event.name() == NAMELESS { OrderViolation::NamelessData } else { OrderViolation::MalformedEvent }
}

/// Carries out what the table says: the one place where a violation gets its consequence.
fn judge(violation: OrderViolation, notes: &mut Vec<OrderViolation>) -> OrderResult<()> {
    judge_by(StreamOrderPolicy::Strict, violation, notes)
}

/// The same where the settings let more pass.
fn judge_by(policy: StreamOrderPolicy, violation: OrderViolation, notes: &mut Vec<OrderViolation>) -> OrderResult<()> {
    match violation.verdict_by(policy) {
        ViolationVerdict::Accept => Ok(()),
        ViolationVerdict::Note => {
            notes.push(violation);
            Ok(())
        }
        ViolationVerdict::Error => Err(violation),
    }
}

/// Whether an answer with this stop reason may end in the middle of a tool use. A reason of which nothing is known may.
fn cuts_off(stop_reason: Option<&str>) -> bool {
    !matches!(stop_reason, None | Some("end_turn" | "tool_use" | "pause_turn"))
}

fn failed(kind: &str, message: &str) -> AssemblerStep {
    AssemblerStep::Failed { kind: kind.into(), message: message.into() }
}

#[cfg(test)]
mod perturbation;
#[cfg(test)]
mod tests;
