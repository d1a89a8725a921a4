//! Tapes for tests, told in a few words.

use reenact_engine::time::Micros;
use reenact_scenario::tape::line::{encode, encode_exchanges};
use reenact_scenario::tape::{BodyChunk, Exchange, Provenance, RecordedResponse, ResponseEnd, Tape, TapeHeader};
use reenact_wire::http::HttpHeader;
use reenact_wire::prelude::*;

use crate::{ReadingOptions, STALL_LIMIT, SessionTimeline, TapeReader};

/// Exchanges in order.
pub(super) struct TapeStory {
    exchanges: Vec<Exchange>,
}

/// A piece of an answer, in milliseconds from its request.
pub(super) type StoryPiece = (u64, String);

impl TapeStory {
    pub(super) fn new() -> Self {
        Self { exchanges: Vec::new() }
    }

    /// An answer that is streamed. A piece without content is where the connection is cut.
    pub(super) fn exchange(mut self, thread: &str, at: u64, messages: &[String], pieces: &[StoryPiece]) -> Self {
        let mut pieces = pieces.to_vec();
        if pieces.first().is_some_and(|(_, first)| !first.contains("message_start")) {
            let first = pieces[0].0;
            pieces[0].1 = starts(first, 0, 0).1 + &pieces[0].1;
        }
        let (end_at, last) = pieces.last().cloned().unwrap_or_default();
        let chunks = pieces.iter().filter(|(_, text)| !text.is_empty());
        let chunks = chunks.map(|(at, text)| BodyChunk { at: Some(Micros::from_millis(*at)), bytes: text.as_bytes().into() });
        let response = RecordedResponse {
            status: 200,
            headers: Arc::new([HttpHeader::new("content-type", "text/event-stream")]),
            head_at: Some(Micros::from_millis(50)),
            chunks: chunks.collect(),
            end: if last.is_empty() { ResponseEnd::Reset } else { ResponseEnd::Complete },
            end_at: Some(Micros::from_millis(end_at)),
        };
        self.push(thread, at, messages, response);
        self
    }

    /// An answer with an error status, its kind, and the seconds to wait.
    pub(super) fn refused(mut self, thread: &str, at: u64, messages: &[String], (status, kind, wait): (u16, &str, &str)) -> Self {
        let body = format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"no more"}}}}"#);
        let response = RecordedResponse {
            status,
            headers: Arc::new([HttpHeader::new("content-type", "application/json"), HttpHeader::new("retry-after", wait)]),
            head_at: Some(Micros::from_millis(50)),
            chunks: Arc::new([BodyChunk { at: Some(Micros::from_millis(50)), bytes: body.as_bytes().into() }]),
            end: ResponseEnd::Complete,
            end_at: Some(Micros::from_millis(50)),
        };
        self.push(thread, at, messages, response);
        self
    }

    /// The last request with a system prompt.
    pub(super) fn with_system(mut self) -> Self {
        if let Some(last) = self.exchanges.last_mut() {
            last.body = [&br#"{"system":"s","#[..], &last.body[1..]].concat().into();
        }
        self
    }

    pub(super) fn without_times(mut self) -> Self {
        for exchange in &mut self.exchanges {
            (exchange.at, exchange.answer.head_at, exchange.answer.end_at) = (None, None, None);
            exchange.answer.chunks = exchange.answer.chunks.iter().map(|chunk| BodyChunk { at: None, ..chunk.clone() }).collect();
        }
        self
    }

    pub(super) fn tape(&self) -> String {
        encode(&Tape { header: header(), exchanges: self.exchanges.clone(), ..Tape::default() })
    }

    /// The timeline of its lines, which is that of its exchanges.
    pub(super) fn timeline(&self) -> SessionTimeline {
        self.timeline_with(STALL_LIMIT)
    }

    pub(super) fn timeline_with(&self, limit: Micros) -> SessionTimeline {
        let mut reader = TapeReader::from_header("a tape", &header(), options(limit));
        self.exchanges.iter().for_each(|exchange| reader.exchange(exchange));
        let by_line = read(self.tape(), limit);
        assert_eq!(by_line, reader.finish(), "lines and exchanges say the same");
        by_line
    }

    fn push(&mut self, thread: &str, at: u64, messages: &[String], answer: RecordedResponse) {
        let body = format!(r#"{{"model":"claude-sonnet-4-5","messages":[{}]}}"#, messages.join(","));
        let parent = self.exchanges.iter().rfind(|exchange| *exchange.thread == *thread).map(|exchange| exchange.id);
        self.exchanges.push(Exchange {
            id: self.exchanges.len() as u32 + 1,
            thread: thread.into(),
            parent,
            provenance: Provenance::Written,
            at: Some(Micros::from_millis(at)),
            method: "POST".into(),
            path: "/v1/messages".into(),
            headers: Arc::new([]),
            body: body.as_bytes().into(),
            answer,
        });
    }
}

fn options(stall_limit: Micros) -> ReadingOptions {
    ReadingOptions { stall_limit, ..ReadingOptions::default() }
}

/// Reads a tape, whole or not.
pub(super) fn read(tape: impl AsRef<[u8]>, limit: Micros) -> SessionTimeline {
    let mut reader = TapeReader::new(options(limit));
    tape.as_ref().split_inclusive(|byte| *byte == b'\n').for_each(|line| reader.feed(line).expect("a tape"));
    reader.finish()
}

/// The lines of exchanges in the order of their times, as a recorder writes them.
pub(super) fn interleaved(story: &TapeStory) -> String {
    let mut lines: Vec<(u64, String)> = Vec::new();
    for exchange in &story.exchanges {
        let mut at = exchange.at.unwrap_or_default().0;
        let began = at;
        let put = &mut |text: &str| -> Result<(), core::convert::Infallible> {
            for line in text.split_inclusive('\n').filter(|line| !line.contains("reenact_tape")) {
                let own = line.split_once(r#""at":"#).and_then(|(_, rest)| rest.split([',', '}']).next()?.parse::<u64>().ok());
                at = if line.contains("\"request\"") { began } else { began + own.unwrap_or(0) };
                lines.push((at, line.into()));
            }
            Ok(())
        };
        let Ok(()) = encode_exchanges(&header(), [exchange], put);
    }
    lines.sort_by_key(|(at, _)| *at);
    let head = encode(&Tape { header: header(), ..Tape::default() });
    head + &lines.into_iter().map(|(_, line)| line).collect::<String>()
}

pub(super) fn user(text: &str) -> String {
    format!(r#"{{"role":"user","content":[{{"type":"text","text":"{text}"}}]}}"#)
}

/// An answer and the results for it.
pub(super) fn results(ids: &[&str]) -> String {
    let block = |id: &&str| format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":"x"}}"#);
    let blocks: Vec<String> = ids.iter().map(block).collect();
    format!(r#"{{"role":"assistant","content":"…"}},{{"role":"user","content":[{}]}}"#, blocks.join(","))
}

pub(super) fn starts(at: u64, read: u64, written: u64) -> StoryPiece {
    let usage =
        format!(r#"{{"input_tokens":10,"output_tokens":1,"cache_read_input_tokens":{read},"cache_creation_input_tokens":{written}}}"#);
    let message =
        format!(r#"{{"type":"message_start","message":{{"id":"msg_1","model":"claude-sonnet-4-5","content":[],"usage":{usage}}}}}"#);
    (at, event("message_start", &message))
}

pub(super) fn text(at: u64, index: u32, text: &str) -> StoryPiece {
    let start = format!(r#"{{"type":"content_block_start","index":{index},"content_block":{{"type":"text","text":""}}}}"#);
    let delta = format!(r#"{{"type":"content_block_delta","index":{index},"delta":{{"type":"text_delta","text":"{text}"}}}}"#);
    (at, event("content_block_start", &start) + &event("content_block_delta", &delta) + &stop(index))
}

pub(super) fn tool(at: u64, index: u32, id: &str, name: &str) -> StoryPiece {
    let block = format!(r#"{{"type":"tool_use","id":"{id}","name":"{name}","input":{{}}}}"#);
    let start = format!(r#"{{"type":"content_block_start","index":{index},"content_block":{block}}}"#);
    let input = r#"{\"path\":\"/w/a\"}"#;
    let delta =
        format!(r#"{{"type":"content_block_delta","index":{index},"delta":{{"type":"input_json_delta","partial_json":"{input}"}}}}"#);
    (at, event("content_block_start", &start) + &event("content_block_delta", &delta) + &stop(index))
}

pub(super) fn ping(at: u64) -> StoryPiece {
    (at, event("ping", r#"{"type":"ping"}"#))
}

pub(super) fn ends(at: u64, reason: &str, tokens: u64) -> StoryPiece {
    let delta = format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}},"usage":{{"output_tokens":{tokens}}}}}"#);
    (at, event("message_delta", &delta) + &event("message_stop", r#"{"type":"message_stop"}"#))
}

/// The connection is cut.
pub(super) fn cut(at: u64) -> StoryPiece {
    (at, String::new())
}

fn header() -> TapeHeader {
    TapeHeader { recorder: String::from("test"), ..TapeHeader::default() }
}

fn stop(index: u32) -> String {
    event("content_block_stop", &format!(r#"{{"type":"content_block_stop","index":{index}}}"#))
}

fn event(name: &str, data: &str) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}
