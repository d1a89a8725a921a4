//! The message that an answer brings, streamed or whole, put together while its body comes.

use super::assembler::Assembler;
use super::block::Block;
use super::event::StreamEvent;
use super::sse::{SseFrame, SseFramer};
use super::usage::Usage;
use super::whole_message::whole_message;
use crate::prelude::*;

/// An answer on its way.
#[derive(Debug)]
pub struct AnswerReader {
    blocks: Vec<Block>,
    form: AnswerProgress,
}

#[derive(Debug)]
enum AnswerProgress {
    Stream {
        framer: Box<SseFramer>,
        assembler: Box<Assembler>,
    },
    /// One JSON object, as far as it is there.
    Whole(Vec<u8>),
    /// A stream that cannot be read on.
    Broken,
}

/// A complete message.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct CompleteAnswer {
    /// The API's id.
    pub id: Arc<str>,
    /// Its content; blocks that never stopped are left out.
    pub blocks: Vec<Block>,
    /// The stop reason.
    pub stop_reason: Option<Arc<str>>,
    /// Its tokens.
    pub usage: Usage,
}

impl AnswerReader {
    /// An answer of which nothing has come yet.
    pub fn new(is_stream: bool) -> Self {
        let form = match is_stream {
            true => AnswerProgress::Stream { framer: Box::new(SseFramer::new()), assembler: Box::new(Assembler::new()) },
            false => AnswerProgress::Whole(Vec::new()),
        };
        Self { blocks: Vec::new(), form }
    }

    /// Takes the next piece of the body.
    pub fn feed(&mut self, piece: &[u8]) {
        let (framer, assembler) = match &mut self.form {
            AnswerProgress::Stream { framer, assembler } => (framer, assembler),
            AnswerProgress::Whole(body) => return body.extend_from_slice(piece),
            AnswerProgress::Broken => return,
        };
        let mut sink = |frame: SseFrame<'_>| {
            let step = assembler.on_event(&StreamEvent::decode(frame.event, frame.data), &mut Vec::new());
            self.blocks.extend(step.into_blocks());
        };
        if framer.feed(piece, &mut sink).is_err() {
            self.form = AnswerProgress::Broken;
        }
    }

    /// The complete blocks, in order.
    pub fn into_blocks(self) -> Vec<Block> {
        match &self.form {
            AnswerProgress::Whole(body) => whole_message(&String::from_utf8_lossy(body)).map_or_else(|_| Vec::new(), |whole| whole.blocks),
            AnswerProgress::Stream { .. } | AnswerProgress::Broken => self.blocks,
        }
    }

    /// Whether the message is whole, so that nothing of the body matters any more; unknown for a body that is not streamed.
    pub fn is_whole(&self) -> bool {
        matches!(&self.form, AnswerProgress::Stream { assembler, .. } if assembler.at_end_of_stream().is_ok())
    }

    /// The message; `None` when the answer brought none that is complete.
    pub fn finish(self) -> Option<CompleteAnswer> {
        match self.form {
            AnswerProgress::Whole(body) => {
                let whole = whole_message(core::str::from_utf8(&body).ok()?).ok()?;
                Some(CompleteAnswer { id: whole.id, blocks: whole.blocks, stop_reason: whole.stop_reason, usage: whole.usage })
            }
            AnswerProgress::Stream { assembler, .. } => assembler.is_complete().then(|| CompleteAnswer {
                id: assembler.message_id().clone(),
                stop_reason: assembler.stop_reason().cloned(),
                usage: *assembler.usage(),
                blocks: self.blocks,
            }),
            AnswerProgress::Broken => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENTS: [&str; 5] = [
        r#"{"type":"message_start","message":{"id":"msg_1","content":[],"usage":{"output_tokens":1}}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}"#,
        r#"{"type":"message_stop"}"#,
    ];

    fn after(events: &[&str]) -> AnswerReader {
        let mut reply = AnswerReader::new(true);
        for event in events {
            let (first, second) = event.split_at(event.len() / 2);
            reply.feed(format!("data: {first}").as_bytes());
            reply.feed(format!("{second}\n\n").as_bytes());
        }
        reply
    }

    #[test]
    fn n_3_a_message_is_there_when_its_stream_is_whole() {
        let replied = after(&EVENTS).finish().unwrap();
        assert_eq!((&*replied.id, &replied.blocks[..]), ("msg_1", &[Block::text("a")][..]));
        assert_eq!(after(&EVENTS[..4]).finish(), None, "cut before its last event");
        assert_eq!(after(&EVENTS[..4]).into_blocks(), [Block::text("a")], "what is complete of it is there");
        let failed = [EVENTS[0], EVENTS[1], EVENTS[2], r#"{"type":"error","error":{"type":"overloaded_error","message":""}}"#];
        assert_eq!(after(&failed).finish(), None);
        assert_eq!(after(&[EVENTS[0], EVENTS[3], failed[3]]).finish(), None, "it failed, though its stop reason is known");
        let whole = r#"{"type":"message_start","message":{"id":"msg_1","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn"}}"#;
        assert_eq!(after(&[whole, EVENTS[4]]).finish().unwrap().blocks, [Block::text("a")], "its content came with the start");
    }

    #[test]
    fn r_13_a_whole_body_brings_a_message_too() {
        let mut reply = AnswerReader::new(false);
        [r#"{"type":"message","id":"msg_1","content":["#, r#"{"type":"text","text":"a"}]}"#]
            .iter()
            .for_each(|piece| reply.feed(piece.as_bytes()));
        assert_eq!(
            reply.finish().unwrap(),
            CompleteAnswer { id: "msg_1".into(), blocks: vec![Block::text("a")], stop_reason: None, usage: Usage::default() }
        );
        assert_eq!(AnswerReader::new(false).finish(), None);
    }
}
