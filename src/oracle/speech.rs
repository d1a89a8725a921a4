//! The words of the model: the blocks of each answer, put together from the inputs, apart from the engine's own reading of them.

use reenact_engine::contract::{AnswerEnd, EventPayload, Input, RequestId};
use reenact_wire::block::{Block, BlockKind, ToolInput};
use reenact_wire::event::{BlockDelta, StreamEvent};
use reenact_wire::prelude::*;
use reenact_wire::raw_json::{self, RawObject};
use reenact_wire::request::Request;

/// The answers to the requests of one agent, in the order in which they began. Copies of a run share those that are over.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct ModelSpeech(Vec<Arc<SaidAnswer>>);

#[derive(Clone, Debug, Hash)]
struct SaidAnswer {
    id: RequestId,
    /// Whether nothing more of it comes.
    is_over: bool,
    refusal: RefusalWord,
    blocks: Vec<SaidBlock>,
}

/// Whether the model refuses to answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum RefusalWord {
    #[default]
    Unsaid,
    /// The stop reason says so, and the answer is not whole.
    Said,
    /// The answer ended so.
    Final,
}

/// The place of a block in all that the model said: the number of its answer, and of the block in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SpeechPlace {
    pub(super) answer: usize,
    pub(super) block: usize,
}

/// A block as far as it came.
#[derive(Clone, Debug, Hash)]
pub(super) struct SaidBlock {
    index: u32,
    content: SaidContent,
    pub(super) is_whole: bool,
}

#[derive(Clone, Debug, Hash)]
enum SaidContent {
    Text(String),
    Thinking {
        thinking: String,
        signature: String,
    },
    ToolUse {
        id: String,
        name: String,
        input: String,
    },
    /// A kind that is passed on unread.
    Other,
}

impl ModelSpeech {
    pub(super) fn on_input(&mut self, input: &Input) {
        match input {
            Input::Stream { id, event } => self.on_event(*id, event),
            Input::Body { id, body } => {
                let message = RawObject::parse(body).ok();
                let content = message.as_ref().and_then(|message| message.get("content"));
                let stop_reason = message.as_ref().and_then(|message| message.string("stop_reason"));
                let blocks = content.and_then(|content| raw_json::elements(content).ok()).unwrap_or_default();
                for (index, block) in (0..).zip(blocks) {
                    self.answer(*id).blocks.push(SaidBlock { index, content: SaidContent::read(block), is_whole: true });
                }
                self.on_stop_reason(*id, stop_reason.as_deref());
            }
            Input::End { id, how } => {
                if *how == AnswerEnd::Complete {
                    self.on_complete(*id);
                }
                self.on_over(*id);
            }
            _ => (),
        }
    }

    /// The answer ended, or was closed.
    pub(super) fn on_over(&mut self, id: RequestId) {
        let is_open = |answer: &&mut Arc<SaidAnswer>| answer.id == id && (answer.has_halves() || answer.refusal == RefusalWord::Said);
        if let Some(answer) = self.0.iter_mut().rev().find(is_open) {
            let answer = Arc::make_mut(answer);
            answer.is_over = true;
            // One that was closed before its end did not end as a refusal.
            if answer.refusal == RefusalWord::Said {
                answer.refusal = RefusalWord::Unsaid;
            }
        }
    }

    /// Whether there are words of an answer that was cut.
    pub(super) fn has_closed_halves(&self) -> bool {
        self.0.iter().any(|answer| answer.is_over && answer.has_halves())
    }

    /// Forgets words of answers that were cut, unless this request gives them back: what an engine has not kept by now, it has dropped.
    pub(super) fn forget_halves(&mut self, request: &Request) {
        for answer in self.0.iter_mut().filter(|answer| answer.is_over) {
            let is_kept =
                |said: &SaidBlock| request.messages.iter().flat_map(|message| &message.content).any(|block| said.is(block.kind()));
            Arc::make_mut(answer).blocks.retain(|said| !said.is_half() || is_kept(said));
        }
    }

    /// The open block of an answer was given to consumers as aborted: no request holds it (Q-10a).
    pub(super) fn on_aborted(&mut self, id: RequestId) {
        if let Some(answer) = self.0.iter_mut().rev().find(|answer| answer.id == id && answer.has_halves()) {
            Arc::make_mut(answer).blocks.retain(|said| !said.is_half());
        }
    }

    fn on_event(&mut self, id: RequestId, event: &StreamEvent) {
        // Nobody listens any more.
        if self.0.iter().rev().any(|answer| answer.id == id && answer.is_over) {
            return;
        }
        match event.payload() {
            EventPayload::MessageStart(start) => {
                for (index, block) in (0..).zip(&start.content) {
                    self.answer(id).blocks.push(SaidBlock { index, content: SaidContent::read(block), is_whole: true });
                }
            }
            EventPayload::BlockStart { index, block, .. } => {
                self.answer(id).blocks.push(SaidBlock { index: *index, content: SaidContent::read(block), is_whole: false });
            }
            EventPayload::BlockDelta { index, delta } => {
                if let Some(block) = self.open(id, *index) {
                    block.content.push(delta);
                }
            }
            EventPayload::BlockStop { index } => {
                if let Some(block) = self.open(id, *index) {
                    block.is_whole = true;
                }
            }
            EventPayload::MessageDelta(delta) => self.on_stop_reason(id, delta.stop_reason.as_deref()),
            _ => (),
        }
    }

    /// The last stop reason counts.
    fn on_stop_reason(&mut self, id: RequestId, reason: Option<&str>) {
        let word = if reason == Some("refusal") { RefusalWord::Said } else { RefusalWord::Unsaid };
        if let Some(answer) = self.0.iter_mut().rev().find(|answer| answer.id == id && answer.refusal != word)
            && reason.is_some()
        {
            Arc::make_mut(answer).refusal = word;
        }
    }

    fn on_complete(&mut self, id: RequestId) {
        if let Some(answer) = self.0.iter_mut().rev().find(|answer| answer.id == id && answer.refusal == RefusalWord::Said) {
            Arc::make_mut(answer).refusal = RefusalWord::Final;
        }
    }

    fn answer(&mut self, id: RequestId) -> &mut SaidAnswer {
        // Two answers may come at once, and the one that goes on is among the last.
        let at = self.0.iter().rposition(|answer| answer.id == id).unwrap_or_else(|| {
            self.0.push(Arc::new(SaidAnswer { id, is_over: false, refusal: RefusalWord::Unsaid, blocks: Vec::new() }));
            self.0.len() - 1
        });
        Arc::make_mut(&mut self.0[at])
    }

    fn open(&mut self, id: RequestId, index: u32) -> Option<&mut SaidBlock> {
        self.answer(id).blocks.iter_mut().rev().find(|block| block.index == index && !block.is_whole)
    }

    /// The tool use of an answer with this API id, or at this position where none or several have it; `None` if nobody saw it. Those that never became whole
    /// have no place in the engine's count.
    pub(super) fn tool_use(&self, id: RequestId, position: u32, api_id: &str) -> Option<&SaidBlock> {
        let answer = self.0.iter().rev().find(|answer| answer.id == id)?;
        let mut named = answer.blocks.iter().filter(|block| matches!(&block.content, SaidContent::ToolUse { id, .. } if id == api_id));
        if let (Some(only), None) = (named.next(), named.next()) {
            return Some(only);
        }
        let mut uses = answer.blocks.iter().filter(|block| matches!(block.content, SaidContent::ToolUse { .. }));
        uses.nth(usize::try_from(position).ok()?)
    }

    /// Whether the last block of an answer is a text or thinking of which some words have come, and not its end.
    pub(super) fn is_within_words(&self, id: RequestId) -> bool {
        let answer = self.0.iter().rev().find(|answer| answer.id == id);
        answer.and_then(|answer| answer.blocks.last()).is_some_and(|block| block.is_half() && block.has_words())
    }

    /// How many answers have begun.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// The place where the model said this block: the first one from here on, or else the last one before.
    pub(super) fn place(&self, block: &Block, earliest: SpeechPlace) -> Option<SpeechPlace> {
        let kind = block.kind();
        let places = |answer: usize| {
            let blocks = self.0[answer].blocks.iter().enumerate();
            blocks.filter(move |(_, said)| said.is(kind)).map(move |(block, _)| SpeechPlace { answer, block })
        };
        let first_answer = earliest.answer.min(self.0.len());
        let behind = (first_answer..self.0.len()).flat_map(places).find(|place| *place >= earliest);
        behind.or_else(|| (0..self.0.len().min(earliest.answer + 1)).rev().find_map(|answer| places(answer).next_back()))
    }

    /// Whether the model said this text, thinking or tool use, byte for byte. Blocks of other kinds are never found.
    pub(super) fn has(&self, block: &Block) -> bool {
        self.0.iter().rev().any(|answer| answer.has(block))
    }

    /// The same, leaving out answers that the model refused to give (Q-23).
    pub(super) fn has_given(&self, block: &Block) -> bool {
        self.0.iter().rev().any(|answer| !answer.is_refused() && answer.has(block))
    }
}

impl SaidAnswer {
    fn has(&self, block: &Block) -> bool {
        self.blocks.iter().any(|said| said.is(block.kind()))
    }

    /// Whether it ended as a refusal. One that holds a tool use is an answer all the same (Q-23).
    fn is_refused(&self) -> bool {
        self.refusal == RefusalWord::Final && !self.blocks.iter().any(|said| matches!(said.content, SaidContent::ToolUse { .. }))
    }

    fn has_halves(&self) -> bool {
        self.blocks.iter().any(SaidBlock::is_half)
    }
}

impl SaidBlock {
    /// Whether these are words that did not come to their end. Tool uses are counted by their places, so halves of them stay.
    fn is_half(&self) -> bool {
        !self.is_whole && matches!(self.content, SaidContent::Text(_) | SaidContent::Thinking { .. })
    }

    fn has_words(&self) -> bool {
        matches!(&self.content, SaidContent::Text(text) | SaidContent::Thinking { thinking: text, .. } if !text.trim().is_empty())
    }

    fn is(&self, kind: &BlockKind) -> bool {
        match (&self.content, kind) {
            (SaidContent::Text(said), BlockKind::Text(text)) => **said == **text,
            (SaidContent::Thinking { thinking, signature }, BlockKind::Thinking { thinking: sent, signature: signed }) => {
                **thinking == **sent && **signature == **signed
            }
            (SaidContent::ToolUse { id, name, input }, BlockKind::ToolUse(sent)) => {
                let is_same = |said: &str| matches!(&sent.input, ToolInput::Valid(sent) if sent.as_str() == said);
                **id == *sent.id && **name == *sent.name && (is_same(input) || self.input().as_ref() == Some(&sent.input))
            }
            _ => false,
        }
    }

    /// The input of a tool use, read strictly.
    pub(super) fn input(&self) -> Option<ToolInput> {
        match &self.content {
            SaidContent::ToolUse { input, .. } => Some(ToolInput::read(if input.is_empty() { "{}" } else { input })),
            _ => None,
        }
    }
}

impl SaidContent {
    /// A block as it begins.
    fn read(block: &str) -> Self {
        // Nearly all texts begin so.
        if block == r#"{"type":"text","text":""}"# {
            return Self::Text(String::new());
        }
        let Ok(object) = RawObject::parse(block) else { return Self::Other };
        let text = |key: &str| object.string(key).map(Cow::into_owned).unwrap_or_default();
        match object.string("type").as_deref() {
            Some("text") => Self::Text(text("text")),
            Some("thinking") => Self::Thinking { thinking: text("thinking"), signature: text("signature") },
            Some("tool_use") => {
                let input = object.get("input").filter(|input| !is_empty_object(input)).unwrap_or_default();
                Self::ToolUse { id: text("id"), name: text("name"), input: input.into() }
            }
            _ => Self::Other,
        }
    }

    fn push(&mut self, delta: &BlockDelta<'_>) {
        match (self, delta) {
            (Self::Text(text), BlockDelta::Text(piece)) => append(text, piece),
            (Self::Thinking { thinking, .. }, BlockDelta::Thinking(piece)) => append(thinking, piece),
            (Self::Thinking { signature, .. }, BlockDelta::Signature(whole)) => *signature = whole.clone().into_owned(),
            (Self::ToolUse { input, .. }, BlockDelta::InputJson(piece)) => append(input, piece),
            _ => (),
        }
    }
}

/// The first piece makes room for those that follow it.
fn append(text: &mut String, piece: &str) {
    const CAPACITY: usize = 256;
    if text.capacity() == 0 {
        text.reserve(CAPACITY.max(piece.len()));
    }
    text.push_str(piece);
}

fn is_empty_object(text: &str) -> bool {
    text.bytes().filter(|byte| !byte.is_ascii_whitespace()).eq(*b"{}")
}
