//! The framing against a table of cases under every chunking, and against a naive reading of the standard.

use std::{env, eprintln, fs, path::PathBuf};

use proptest::prelude::*;
use serde::Deserialize;

use super::*;

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct DispatchedEvent {
    #[serde(rename = "type")]
    event: String,
    data: String,
    id: String,
}

/// All that can be seen of a stream from outside.
#[derive(Debug, PartialEq)]
struct FramingOutcome {
    events: Vec<DispatchedEvent>,
    retry: Option<u64>,
    last_event_id: String,
}

#[derive(Deserialize)]
struct FramingCase {
    name: String,
    input: Option<String>,
    input_hex: Option<String>,
    #[serde(default)]
    splits: Vec<usize>,
    events: Vec<DispatchedEvent>,
    retry: Option<u64>,
    last_event_id: String,
}

impl FramingCase {
    fn bytes(&self) -> Vec<u8> {
        match (&self.input, &self.input_hex) {
            (Some(text), None) => text.clone().into_bytes(),
            (None, Some(hex)) => (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect(),
            _ => panic!("case {}: give `input` or `input_hex`", self.name),
        }
    }
}

fn frame<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> (FramingOutcome, SseFramer) {
    let mut framer = SseFramer::new();
    let mut events = Vec::new();
    for chunk in chunks {
        framer.feed(chunk, &mut |frame| events.push(owned(frame))).unwrap();
    }
    (FramingOutcome { events, retry: framer.retry(), last_event_id: framer.last_event_id().into() }, framer)
}

fn owned(frame: SseFrame<'_>) -> DispatchedEvent {
    DispatchedEvent { event: frame.event.into(), data: frame.data.into(), id: frame.id.into() }
}

fn cut<'a>(bytes: &'a [u8], splits: &[usize]) -> Vec<&'a [u8]> {
    let mut from = 0;
    let ends = splits.iter().copied().chain([bytes.len()]);
    ends.map(|end| &bytes[core::mem::replace(&mut from, end)..end]).collect()
}

/// Holds each case whole, byte by byte, cut in two and (short ones) in three everywhere, and at its own splits.
fn hold(table: &str) -> usize {
    let cases = table.lines().filter(|line| !line.is_empty());
    let mut held = 0;
    for case in cases.map(|line| serde_json::from_str::<FramingCase>(line).unwrap()) {
        let bytes = case.bytes();
        let expected = FramingOutcome { events: case.events.clone(), retry: case.retry, last_event_id: case.last_event_id.clone() };
        let mut chunkings = vec![vec![], (1..bytes.len()).collect(), case.splits.clone()];
        for first in 0..=bytes.len() {
            chunkings.push(vec![first]);
            if bytes.len() <= 120 {
                chunkings.extend((first..=bytes.len()).map(|second| vec![first, second]));
            }
        }
        for splits in chunkings {
            let (seen, _) = frame(cut(&bytes, &splits));
            assert_eq!(seen, expected, "case {} cut at {splits:?}", case.name);
        }
        held += 1;
    }
    held
}

#[test]
fn n_1_cases_hold_under_every_chunking() {
    assert!(hold(include_str!("../../../tests/wire/framing_cases.jsonl")) > 40);
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "it says where the files lie that are no part of the repository; it decides nothing of a run"
)]
fn n_1_shared_cases_hold_under_every_chunking() {
    let shared =
        env::var_os("REENACT_SHARED").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let path = shared.join("wire/sse_cases.jsonl");
    match fs::read_to_string(&path) {
        Ok(table) => assert!(hold(&table) > 40),
        Err(_) => eprintln!("SKIPPED: {} is not there; REENACT_SHARED names its folder", path.display()),
    }
}

#[test]
fn n_1_an_event_inside_one_chunk_is_borrowed() {
    let chunk = b": hello\nevent: ping\ndata: {\"type\": \"ping\"}\r\n\r\n".as_slice();
    let inside = |text: &str| chunk.as_ptr_range().contains(&text.as_ptr());
    let mut events = 0;
    let mut sink = |frame: SseFrame<'_>| {
        assert!(inside(frame.event) && inside(frame.data));
        events += 1;
    };
    SseFramer::new().feed(chunk, &mut sink).unwrap();
    assert_eq!(events, 1);
}

#[test]
fn n_1_what_no_blank_line_follows_is_discarded_at_the_end() {
    let pending = |bytes: &[u8]| frame([bytes]).1.finish();
    assert!(!pending(b""));
    assert!(!pending(b"data: a\n\n"));
    assert!(!pending(b"data: a\n\r"), "a lone CR at the end is a line end");
    assert!(!pending(b"data: a\n\n: comment\n"));
    assert!(pending(b"data: a\n"));
    assert!(pending(b"data: a\r"));
    assert!(pending(b"event: message_stop\n"));
    assert!(pending(b"data: a\n\ndata: {\"ty"));
    assert!(pending(b"data: a\n\n\xe4\xb8"));
}

#[test]
fn n_1_a_framer_is_ready_for_the_next_stream() {
    let (_, mut framer) = frame([b"retry: 7\nid: 3\ndata: a\n\nid: 4\ndata: lost".as_slice()]);
    assert!(framer.finish());
    let mut events = Vec::new();
    framer.feed("\u{feff}data: b\n\n".as_bytes(), &mut |frame| events.push(owned(frame))).unwrap();
    assert_eq!(events, [DispatchedEvent { event: "message".into(), data: "b".into(), id: "3".into() }]);
    assert_eq!(framer.retry(), Some(7));
}

#[test]
fn n_1_the_event_size_limit_is_the_same_under_every_chunking() {
    // Lines of 8 and 9 bytes: 17 for the larger event, 15 for the smaller, comments aside.
    let stream = b"data: 12\ndata: 1\n\n: 3456789\ndata: 12\ndata: 123\n\ndata: late\n\n";
    for (limit, whole) in [(17, true), (16, false)] {
        for size in 1..=stream.len() {
            let mut framer = SseFramer::with_limit(limit);
            let mut events = 0;
            let result = stream.chunks(size).try_for_each(|chunk| framer.feed(chunk, &mut |_| events += 1));
            match whole {
                true => assert_eq!((result, events), (Ok(()), 3)),
                false => {
                    assert_eq!((result, events), (Err(FramingError::EventTooLarge { limit }), 1), "in chunks of {size}");
                    assert_eq!(framer.feed(b"\n\n", &mut |_| panic!("refused")), result, "and every further chunk");
                }
            }
        }
    }
    let message = FramingError::EventTooLarge { limit: 16 }.to_string();
    assert!(message.starts_with("an event of the stream is larger than 16 bytes"), "{message}");
}

#[test]
fn n_1_a_line_without_end_is_stopped_at_the_limit() {
    let mut framer = SseFramer::with_limit(1000);
    let fed = (0..).take_while(|_| framer.feed(&[b'x'; 10], &mut |_| ()).is_ok()).count();
    assert_eq!(fed, 100);
}

/// The standard's algorithm as written, on the whole stream at once.
fn reference(bytes: &[u8]) -> FramingOutcome {
    let text = String::from_utf8_lossy(bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut lines: Vec<&str> = text.split('\n').collect();
    lines.pop(); // what follows the last line end is no line
    let (mut data, mut kind, mut id) = (String::new(), String::new(), String::new());
    let mut outcome = FramingOutcome { events: vec![], retry: None, last_event_id: String::new() };
    for line in lines {
        if line.is_empty() {
            outcome.last_event_id = id.clone();
            if !data.is_empty() {
                data.pop();
                let event = if kind.is_empty() { "message".into() } else { kind.clone() };
                outcome.events.push(DispatchedEvent { event, data: data.clone(), id: id.clone() });
            }
            data.clear();
            kind.clear();
            continue;
        }
        let (field, value) = match line.find(':') {
            Some(0) => continue,
            Some(colon) => (&line[..colon], line[colon + 1..].strip_prefix(' ').unwrap_or(&line[colon + 1..])),
            None => (line, ""),
        };
        match field {
            "event" => kind = value.into(),
            "data" => data = data + value + "\n",
            "id" if !value.contains('\0') => id = value.into(),
            "retry" if !value.is_empty() && value.chars().all(|c| c.is_ascii_digit()) => {
                outcome.retry = Some(value.parse().unwrap_or(u64::MAX));
            }
            _ => (),
        }
    }
    outcome
}

/// Bytes that are likely to meet in a rule's corner.
fn stream_like() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => prop::sample::select(vec!["\n", "\r", "\r\n", "\n\n", "data", "data:", "data: ", "event: ", "id:", "retry: 1", ":", " ", "\u{feff}"])
            .prop_map(|text| text.as_bytes().to_vec()),
        2 => prop::sample::select(vec!["é", "世", "😀", "\0", "9", "x", "\u{2028}"]).prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 1..4),
        1 => prop::sample::select(vec![0xe4, 0xb8, 0xf0, 0x9f, 0xc3, 0xed, 0xa0, 0xff, 0xef, 0xbb, 0xbf, 0xe0, 0xf4, 0x90])
            .prop_map(|byte| vec![byte]),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn n_1_any_bytes_in_any_chunking_give_what_the_standard_says(
        bytes in stream_like(),
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let mut splits: Vec<usize> = places.iter().map(|place| place.index(bytes.len() + 1)).collect();
        splits.sort_unstable();
        let (whole, whole_state) = frame([&*bytes]);
        let (cut_up, cut_state) = frame(cut(&bytes, &splits));
        let (single, single_state) = frame(bytes.chunks(1));
        prop_assert_eq!(&whole, &reference(&bytes));
        prop_assert_eq!(&cut_up, &whole);
        prop_assert_eq!(&single, &whole);
        prop_assert_eq!(&cut_state, &whole_state);
        prop_assert_eq!(&single_state, &whole_state);
    }
}
