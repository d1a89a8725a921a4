//! Whole streams with what both official SDKs pass over put into them: the answer stays the same (N-1, N-2, N-4).
//!
//! A stream is made of random blocks, then disturbed: pings, unknown events and fields, data without a name, comments, `retry:`
//! lines, other line ends, blocks that come with `message_start`, and more after the end. What is put in was tried on the SDKs of
//! November 2026; `order.md` says which of it they see differently and why it is passed over here all the same.

use proptest::prelude::*;
use proptest::sample::Index;

use super::*;
use crate::raw_json::RawObject;
use crate::sse::SseFramer;

/// One event, or lines between events.
#[derive(Clone, Debug, Hash)]
enum StreamPiece {
    Event { name: String, data: String },
    Lines(&'static str),
}

/// Events that both SDKs pass over at any place.
const ANYWHERE: &[(&str, &str)] = &[
    ("ping", r#"{"type": "ping"}"#),
    ("ping", "no JSON"),
    ("keepalive", r#"{"type":"ping"}"#),
    ("weather", r#"{"type":"weather","index":0,"delta":{"type":"text_delta","text":"sun"}}"#),
    ("content_block_delta", r#"{"type":"weather"}"#),
    ("weather", r#"{"sunny":true}"#),
    ("weather", ""),
    ("content_block_delta", ""),
    ("data", "[DONE]"),
    ("", "[DONE]"),
    ("", r#"{"type":"#),
    ("", "{}"),
];

const LINES: &[&str] = &[":", ": a comment", "retry: 3000", "retry: soon", "id: 7", "colour: red", ""];

/// Deltas that add nothing to the first block once it has begun.
const DELTAS: &[&str] = &[
    r#"{"type":"mood_delta","mood":"calm"}"#,
    r#"{"type":"text_delta","text":""}"#,
    r#"{"type":"input_json_delta","partial_json":""}"#,
    r#"{"type":"thinking_delta","thinking":""}"#,
];

/// Events that may follow `message_stop`.
const AFTER: &[(&str, &str)] = &[
    ("data", "[DONE]"),
    ("", "[DONE]"),
    ("message_stop", r#"{"type":"message_stop"}"#),
    ("content_block_stop", r#"{"type":"content_block_stop","index":0}"#),
    ("message_delta", r#"{"type":"message_delta","delta":{},"usage":{"output_tokens":40}}"#),
];

#[derive(Clone, Debug, Hash)]
struct PerturbedStream {
    pieces: Vec<StreamPiece>,
    line_end: &'static str,
    /// The bytes behind the last blank line.
    tail: &'static str,
    chunk: usize,
}

/// The result of a stream.
#[derive(Debug, PartialEq, Hash)]
struct AssembledAnswer {
    blocks: Vec<String>,
    message_id: Arc<str>,
    stop_reason: Option<Arc<str>>,
    usage: Usage,
}

fn event(data: String) -> StreamPiece {
    let name = RawObject::parse(&data).unwrap().string("type").unwrap().into_owned();
    StreamPiece::Event { name, data }
}

/// The object that a block begins with, and its deltas.
fn block() -> impl Strategy<Value = (String, Vec<String>)> {
    let delta = |kind: &'static str, member: &'static str| {
        move |text: String| format!(r#"{{"type":"{kind}","{member}":{}}}"#, serde_json::to_string(&text).unwrap())
    };
    let many = |of: BoxedStrategy<String>| proptest::collection::vec(of, 0..4);
    let texts = many(".{0,6}".prop_map(delta("text_delta", "text")).boxed());
    let thoughts = many(".{0,6}".prop_map(delta("thinking_delta", "thinking")).boxed());
    let inputs = prop_oneof![Just(vec![]), Just(vec![""]), Just(vec!["", "{\"a\"", ":1e3}"]), Just(vec!["{\"a\": celsius}"])];
    let input = move |piece: &str| delta("input_json_delta", "partial_json")(piece.into());
    prop_oneof![
        texts.prop_map(|deltas| (r#"{"type":"text","text":""}"#.into(), deltas)),
        thoughts.prop_map(|deltas| (r#"{"type":"thinking","thinking":"","signature":""}"#.into(), deltas)),
        inputs.prop_map(move |pieces| {
            let start = r#"{"type":"tool_use","id":"toolu_1","name":"Read","input":{}}"#;
            (start.into(), pieces.into_iter().map(input).collect())
        }),
        Just((r#"{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}"#.into(), vec![])),
    ]
}

/// A stream as the API would give it.
fn stream(blocks: &[(String, Vec<String>)]) -> Vec<StreamPiece> {
    let mut pieces = vec![event(String::from(
        r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":25,"output_tokens":1}}}"#,
    ))];
    for (index, (start, deltas)) in blocks.iter().enumerate() {
        pieces.push(event(format!(r#"{{"type":"content_block_start","index":{index},"content_block":{start}}}"#)));
        let delta = |delta| event(format!(r#"{{"type":"content_block_delta","index":{index},"delta":{delta}}}"#));
        pieces.extend(deltas.iter().map(delta));
        pieces.push(event(format!(r#"{{"type":"content_block_stop","index":{index}}}"#)));
    }
    let end = [r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":40}}"#, r#"{"type":"message_stop"}"#];
    pieces.extend(end.map(|data| event(data.into())));
    pieces
}

impl PerturbedStream {
    fn bytes(&self) -> Vec<u8> {
        let mut text = String::new();
        for piece in &self.pieces {
            let lines = match piece {
                StreamPiece::Lines(lines) => format!("{lines}\n"),
                StreamPiece::Event { name, data } if name.is_empty() => format!("data: {data}\n\n"),
                StreamPiece::Event { name, data } => format!("event: {name}\ndata: {data}\n\n"),
            };
            text.push_str(&lines.replace('\n', self.line_end));
        }
        text.push_str(self.tail);
        text.into_bytes()
    }

    fn answer(&self) -> AssembledAnswer {
        let (mut assembler, mut framer, mut notes, mut blocks) = (Assembler::new(), SseFramer::new(), Vec::new(), Vec::new());
        for chunk in self.bytes().chunks(self.chunk) {
            let sink = &mut |frame: crate::sse::SseFrame<'_>| {
                let step = assembler.on_event(&StreamEvent::decode(frame.event, frame.data), &mut notes);
                assert!(!matches!(step, AssemblerStep::Refused(_) | AssemblerStep::Failed { .. }), "{step:?} at {frame:?}");
                blocks.extend(step.into_blocks().iter().map(|block| block.json().to_string()));
            };
            framer.feed(chunk, sink).unwrap();
        }
        assert_eq!(assembler.at_end_of_stream(), Ok(()));
        let (message_id, stop_reason) = (assembler.message_id().clone(), assembler.stop_reason().cloned());
        AssembledAnswer { blocks, message_id, stop_reason, usage: *assembler.usage() }
    }

    /// The first `count` blocks come with `message_start`, complete, as the answer has them.
    fn bring_with_the_start(&mut self, count: usize, answer: &AssembledAnswer) {
        let content = answer.blocks[..count].join(",");
        let is_brought = |data: &str| {
            (0..count).any(|index| data.contains(&format!(r#""index":{index},"#)) || data.contains(&format!(r#""index":{index}}}"#)))
        };
        self.pieces.retain(|piece| !matches!(piece, StreamPiece::Event { data, .. } if is_brought(data)));
        if let Some(StreamPiece::Event { data, .. }) = self.pieces.first_mut() {
            *data = data.replace(r#""content":[]"#, &format!(r#""content":[{content}]"#));
        }
    }

    /// Unknown members, at the end of every event.
    fn add_members(&mut self) {
        for piece in &mut self.pieces {
            if let StreamPiece::Event { data, .. } = piece {
                data.pop();
                data.push_str(r#","novel":{"type":"error","index":9} }"#);
            }
        }
    }

    fn insert(&mut self, place: &Index, piece: StreamPiece) {
        let at = place.index(self.pieces.len() + 1);
        self.pieces.insert(at, piece);
    }
}

fn noise() -> impl Strategy<Value = StreamPiece> {
    let owned = |(name, data): &(&str, &str)| StreamPiece::Event { name: String::from(*name), data: String::from(*data) };
    prop_oneof![
        proptest::sample::select(ANYWHERE).prop_map(move |event| owned(&event)),
        proptest::sample::select(LINES).prop_map(StreamPiece::Lines)
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn n_4_what_both_sdks_pass_over_changes_no_answer(
        blocks in proptest::collection::vec(block(), 0..4),
        brought in any::<Index>(),
        adds_members: bool,
        deltas in proptest::collection::vec((any::<Index>(), proptest::sample::select(DELTAS)), 0..3),
        noises in proptest::collection::vec((any::<Index>(), noise()), 0..8),
        after in proptest::collection::vec(proptest::sample::select(AFTER), 0..3),
        line_end in proptest::sample::select(&["\n", "\r", "\r\n"][..]),
        tail in proptest::sample::select(&["", "data: [DONE]", "0\r\n", "event: content_block_delta", ":"][..]),
        chunk in 1_usize..200,
    ) {
        let plain = PerturbedStream { pieces: stream(&blocks), line_end: "\n", tail: "", chunk: usize::MAX };
        let answer = plain.answer();
        prop_assert_eq!(answer.blocks.len(), blocks.len());
        let mut disturbed = PerturbedStream { line_end, tail, chunk, ..plain };
        let brought = brought.index(blocks.len() + 1);
        disturbed.bring_with_the_start(brought, &answer);
        if adds_members {
            disturbed.add_members();
        }
        // The first block has begun with the second event, or it came with the first.
        let first = if brought > 0 { 1 } else { 2 };
        for (place, delta) in deltas.iter().filter(|_| !blocks.is_empty()) {
            let at = first + place.index(disturbed.pieces.len() - first);
            disturbed.pieces.insert(at, event(format!(r#"{{"type":"content_block_delta","index":0,"delta":{delta}}}"#)));
        }
        for (name, data) in after.iter().filter(|(name, _)| *name != "content_block_stop" || !blocks.is_empty()) {
            disturbed.pieces.push(StreamPiece::Event { name: String::from(*name), data: String::from(*data) });
        }
        for (place, piece) in &noises {
            disturbed.insert(place, piece.clone());
        }
        prop_assert_eq!(disturbed.answer(), answer);
    }
}
