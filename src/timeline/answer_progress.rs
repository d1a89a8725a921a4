//! An answer as it comes: its blocks and silences with their times, and its tokens.
//!
//! The assembler of `wire` says what is complete. Of content the beginning is kept, or all of it where a reader asks for contents.

use reenact_engine::time::Micros;
use reenact_wire::assembler::{Assembler, AssemblerStep};
use reenact_wire::block::Block;
use reenact_wire::event::{BlockDelta, EventPayload, StreamEvent};
use reenact_wire::json::Json;
use reenact_wire::order::StreamOrderPolicy;
use reenact_wire::prelude::*;
use reenact_wire::raw_json::RawObject;
use reenact_wire::sse::{SseFrame, SseFramer};
use reenact_wire::usage::Usage;
use reenact_wire::whole_message::whole_message;

use super::{BlockInterval, ReadingOptions, StreamStall};

/// An answer as far as it has come.
#[derive(Clone, Debug, Default)]
pub(crate) struct TimedAnswer {
    form: BodyForm,
    pub(crate) blocks: Vec<StreamedBlock>,
    pub(crate) stalls: Vec<StreamStall>,
    pub(crate) usage: Usage,
    pub(crate) model: Arc<str>,
    pub(crate) stop_reason: Option<Arc<str>>,
    /// Why it is lost: an error inside of the stream.
    pub(crate) failure: Option<String>,
    /// When the last content came, and how many pings since then.
    silence: Option<(Micros, u32)>,
    is_whole: bool,
}

#[derive(Clone, Debug, Default)]
enum BodyForm {
    /// Nothing of it has come.
    #[default]
    Unknown,
    /// A stream of events. Where they come one by one the framer has no work.
    Stream(Box<SseFramer>, Box<Assembler>),
    /// One JSON object, or an error, as far as it is there.
    Body(Vec<u8>),
}

/// A block with the facts that a tool use needs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StreamedBlock {
    index: u32,
    pub(crate) interval: BlockInterval,
    /// Id and name of a tool use.
    pub(crate) tool_use: Option<(Arc<str>, Arc<str>)>,
}

impl TimedAnswer {
    /// Takes a piece of the body. `is_stream` is asked when it is the first.
    pub(crate) fn on_bytes(&mut self, at: Option<Micros>, bytes: &[u8], options: ReadingOptions, is_stream: impl FnOnce() -> bool) {
        if let BodyForm::Unknown = self.form {
            self.form = if is_stream() { new_stream() } else { BodyForm::Body(Vec::new()) };
        }
        let mut events = Vec::new();
        match &mut self.form {
            BodyForm::Stream(framer, _) => {
                let mut sink = |frame: SseFrame<'_>| events.push(StreamEvent::decode(frame.event, frame.data));
                if let Err(error) = framer.feed(bytes, &mut sink) {
                    self.failure.get_or_insert(error.to_string());
                }
            }
            BodyForm::Body(body) => body.extend_from_slice(bytes),
            BodyForm::Unknown => (),
        }
        // A piece of a long event is a sign of life.
        if events.is_empty() {
            self.on_content(at, options.stall_limit);
        }
        events.iter().for_each(|event| self.on_decoded(at, event, options));
    }

    /// The head is in: from here on a silence counts.
    pub(crate) fn on_head(&mut self, at: Option<Micros>) {
        self.silence = at.map(|at| (at, 0));
    }

    /// Takes an event of a stream that comes event by event.
    pub(crate) fn on_event(&mut self, at: Option<Micros>, event: &StreamEvent, options: ReadingOptions) {
        if let BodyForm::Unknown = self.form {
            self.form = new_stream();
        }
        self.on_decoded(at, event, options);
    }

    /// The body that is an error or a whole message; empty where a stream came.
    pub(crate) fn take_body(&mut self) -> Vec<u8> {
        match &mut self.form {
            BodyForm::Body(body) => core::mem::take(body),
            _ => Vec::new(),
        }
    }

    /// Reads a whole message; false when the body is not one. Times of its parts are not known: `at` is when all of it was there.
    pub(crate) fn on_whole_body(&mut self, at: Option<Micros>, body: &[u8], options: ReadingOptions) -> bool {
        let Some(message) = core::str::from_utf8(body).ok().and_then(|text| whole_message(text).ok()) else { return false };
        (self.usage, self.model, self.stop_reason) = (message.usage, message.model, message.stop_reason);
        let blocks = (0..).zip(message.blocks).map(|(index, block)| StreamedBlock::complete(index, &block, at, options));
        self.blocks = blocks.collect();
        self.is_whole = true;
        true
    }

    /// The end of the response. A silence before it counts, but where the whole answer came in one piece, perhaps without a time of its own.
    pub(crate) fn on_end(&mut self, at: Option<Micros>, limit: Micros) {
        if !matches!(self.form, BodyForm::Body(_)) {
            self.on_content(at, limit);
        }
    }

    /// Whether all of a message is there.
    pub(crate) fn is_whole(&self) -> bool {
        let is_ended = |assembler: &Assembler| assembler.at_end_of_stream().is_ok();
        self.failure.is_none() && (self.is_whole || matches!(&self.form, BodyForm::Stream(_, assembler) if is_ended(assembler)))
    }

    fn on_content(&mut self, at: Option<Micros>, limit: Micros) {
        let Some(at) = at else { return };
        if let Some((last, pings)) = self.silence.replace((at, 0))
            && at - last > limit
        {
            self.stalls.push(StreamStall { at: last, end_at: at, pings });
        }
    }

    fn on_decoded(&mut self, at: Option<Micros>, event: &StreamEvent, options: ReadingOptions) {
        match (event.payload(), &mut self.silence) {
            (EventPayload::Ping, Some((_, pings))) => *pings += 1,
            _ => self.on_content(at, options.stall_limit),
        }
        let BodyForm::Stream(_, assembler) = &mut self.form else { return };
        let step = assembler.on_event(event, &mut Vec::new());
        (self.usage, self.model, self.stop_reason) = (*assembler.usage(), Arc::clone(assembler.model()), assembler.stop_reason().cloned());
        match step {
            AssemblerStep::Failed { kind, message } => {
                self.failure.get_or_insert(format!("{kind} in the stream: {message}"));
            }
            AssemblerStep::Refused(violation) => {
                self.failure.get_or_insert(format!("the stream is not in order: {}", violation.name()));
            }
            AssemblerStep::Started { blocks } => {
                self.blocks.extend((0..).zip(&blocks).map(|(index, block)| StreamedBlock::complete(index, block, at, options)));
            }
            _ => (),
        }
        self.on_block_event(at, event.payload(), options);
    }

    fn on_block_event(&mut self, at: Option<Micros>, payload: &EventPayload<'_>, options: ReadingOptions) {
        match payload {
            EventPayload::BlockStart { index, kind, block } => self.blocks.push(StreamedBlock::begun(*index, kind, block, at, options)),
            EventPayload::BlockDelta { index, delta } => {
                let text = match delta {
                    BlockDelta::Text(text) | BlockDelta::InputJson(text) | BlockDelta::Thinking(text) => text,
                    _ => return,
                };
                if let Some(block) = self.open_block(*index) {
                    block.interval.bytes += text.len() as u64;
                    options.keep(&mut block.interval.beginning, text);
                }
            }
            EventPayload::BlockStop { index } => {
                if let Some(block) = self.open_block(*index) {
                    (block.interval.end_at, block.interval.is_complete) = (at, true);
                }
            }
            _ => (),
        }
    }

    fn open_block(&mut self, index: u32) -> Option<&mut StreamedBlock> {
        self.blocks.iter_mut().rfind(|block| block.index == index && !block.interval.is_complete)
    }
}

fn new_stream() -> BodyForm {
    BodyForm::Stream(Box::default(), Box::new(Assembler::with_policy(StreamOrderPolicy::Lenient)))
}

impl StreamedBlock {
    fn begun(index: u32, kind: &str, json: &str, at: Option<Micros>, options: ReadingOptions) -> Self {
        let block = RawObject::parse(json).ok();
        let text = |name: &str| block.as_ref().and_then(|block| block.string(name)).unwrap_or_default();
        let tool_use = (kind == "tool_use").then(|| (Arc::from(&*text("id")), Arc::from(&*text("name"))));
        let begun = text("text");
        let mut beginning = String::new();
        match kind {
            "text" | "thinking" | "tool_use" => options.keep(&mut beginning, &begun),
            _ if options.keeps_contents => beginning.push_str(json),
            _ => (),
        }
        let interval =
            BlockInterval { kind: kind.into(), at, end_at: None, is_complete: false, bytes: begun.len() as u64, beginning, tool: None };
        Self { index, interval, tool_use }
    }

    /// A block that came in one piece.
    fn complete(index: u32, block: &Block, at: Option<Micros>, options: ReadingOptions) -> Self {
        let json: &Json = block.json();
        let object = RawObject::parse(json.as_str()).ok();
        let kind = object.as_ref().and_then(|object| object.string("type")).unwrap_or_default();
        let mut whole = Self::begun(index, &kind, json.as_str(), at, options);
        let thinking = object.as_ref().and_then(|object| object.string("thinking"));
        let content = block.as_tool_use().map(|tool_use| Cow::from(tool_use.input.as_str())).or(thinking);
        if let Some(content) = content {
            whole.interval.bytes = content.len() as u64;
            whole.interval.beginning.clear();
            options.keep(&mut whole.interval.beginning, &content);
        }
        (whole.interval.end_at, whole.interval.is_complete) = (at, true);
        whole
    }
}
