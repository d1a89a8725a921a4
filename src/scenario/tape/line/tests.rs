//! The promises of the format: any prefix is a tape (F-2), bytes come back (F-3), repetition is stored once (F-4), and what is not
//! known survives (F-5).

use proptest::prelude::*;

use super::*;
use crate::tape::{BodyChunk, ClientFolder, Exchange, RecordedResponse, Tape, TapePlace, UnknownEntry, UnknownPart};

fn exchange(id: u32, body: &[u8], chunks: &[&[u8]]) -> Exchange {
    let at = |n: u64| id.is_multiple_of(2).then_some(Micros(n));
    Exchange {
        id,
        thread: "main".into(),
        parent: id.checked_sub(1).filter(|parent| *parent > 0),
        provenance: Provenance::Recorded,
        at: at(7),
        method: "POST".into(),
        path: "/v1/messages?beta=true".into(),
        headers: [HttpHeader::new("Accept", "a \"quoted\" é")].into(),
        body: body.into(),
        answer: RecordedResponse {
            status: 200,
            headers: [HttpHeader::new("content-type", "text/event-stream"), HttpHeader::new("x", "1"), HttpHeader::new("x", "2")].into(),
            head_at: at(5),
            chunks: chunks.iter().zip(10..).map(|(bytes, n)| BodyChunk { at: at(n), bytes: (*bytes).into() }).collect(),
            end: ResponseEnd::Complete,
            end_at: at(99),
        },
    }
}

fn small_tape() -> Tape {
    let long = "a message that is long enough to be stored as a span of its own, with é".repeat(2);
    let first = format!(r#"{{"model":"m","messages":[{{"role":"user","content":"{long}"}}]}}"#);
    let second = format!(r#"{{"model":"m","messages":[{{"role":"user","content":"{long}"}},{{"role":"assistant","content":"ok"}}]}}"#);
    Tape {
        header: TapeHeader {
            recorder: String::from("test"),
            lost: vec![String::from("chunk times")],
            folders: vec![(ClientFolder::Tmp, String::from("/t"))],
            ..TapeHeader::default()
        },
        exchanges: vec![
            exchange(1, first.as_bytes(), &[b"event: a\ndata: \xc3", b"\xa9\n\n"]),
            exchange(2, second.as_bytes(), &[b"data: 2\r\n\r\n"]),
            Exchange {
                answer: RecordedResponse {
                    status: 0,
                    end: ResponseEnd::Reset,
                    headers: Arc::new([]),
                    head_at: None,
                    ..exchange(3, b"", &[]).answer
                },
                ..exchange(3, b"\xff\x00", &[])
            },
        ],
        ..Tape::default()
    }
}

fn decode(bytes: &[u8]) -> Result<Tape, TapeError> {
    let mut decoder = TapeDecoder::new();
    bytes.split_inclusive(|byte| *byte == b'\n').try_for_each(|line| decoder.feed(line))?;
    decoder.finish()
}

#[test]
fn f_3_what_is_written_reads_back_exactly() {
    let tape = small_tape();
    let text = encode(&tape);
    assert_eq!(decode(text.as_bytes()).unwrap(), tape);
    assert!(text.contains(r#""base64":""#), "half a character cannot stand as text: {text}");
    assert!(text.contains(r#""ref":""#) || text.contains(r#""of":1"#), "the first message comes again: {text}");
}

#[test]
fn f_2_a_cut_anywhere_loses_only_what_is_cut() {
    let tape = small_tape();
    let text = encode(&tape);
    let header = text.find('\n').unwrap();
    for cut in 0..text.len() {
        let prefix = &text.as_bytes()[..cut];
        if cut < header {
            let error = decode(prefix).unwrap_err();
            assert!(matches!(error, TapeError::Empty | TapeError::HeaderCut { .. }), "cut at {cut}: {error}");
            continue;
        }
        let read = decode(prefix).unwrap_or_else(|error| panic!("cut at {cut}: {error}"));
        // A line is whole with its last brace, before its line end.
        let whole_lines = |kind: &str| line_ends(&text, kind).into_iter().filter(|end| *end <= cut).count();
        let (begun, ended, all) = (whole_lines("{\"request\":"), whole_lines("{\"end\":"), whole_lines("{"));
        assert_eq!(read.exchanges, tape.exchanges[..ended], "cut at {cut}");
        let inside_a_line = prefix.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count() > all;
        assert_eq!(read.left_out.len(), begun - ended + usize::from(inside_a_line), "cut at {cut}: {:?}", read.left_out);
        if inside_a_line {
            let last = prefix.rsplit(|byte| *byte == b'\n').next().unwrap();
            let left_out = read.left_out.last().unwrap();
            assert_eq!((left_out.line, left_out.problem.as_str()), (all + 1, "the line is cut off here; it was left out"), "cut at {cut}");
            assert!(left_out.column == last.len() + 1, "cut at {cut}: {left_out:?}");
        }
    }
}

fn line_ends(text: &str, kind: &str) -> Vec<usize> {
    let starts = core::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
    starts.filter(|start| text[*start..].starts_with(kind)).map(|start| start + text[start..].find('\n').unwrap()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn f_2_f_3_any_bytes_come_back_and_any_cut_keeps_what_ended(
        bodies in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..40), prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..4)), 1..5),
    ) {
        let exchanges = bodies.iter().zip(1..).map(|((body, chunks), id)| exchange(id, body, &chunks.iter().map(Vec::as_slice).collect::<Vec<_>>()));
        let tape = Tape { exchanges: exchanges.collect(), ..Tape::default() };
        let text = encode(&tape);
        prop_assert_eq!(&decode(text.as_bytes()).unwrap(), &tape);
        let header = text.find('\n').unwrap();
        let ends = line_ends(&text, "{\"end\":");
        for cut in header..text.len() {
            let read = decode(&text.as_bytes()[..cut]);
            let whole = ends.iter().filter(|end| **end <= cut).count();
            prop_assert_eq!(read.unwrap().exchanges.len(), whole, "cut at {}", cut);
        }
    }
}

/// A session as an agent has it: each request repeats the conversation, and a breakpoint moves with the last message.
fn session(requests: u32, moving_breakpoint: bool) -> (usize, usize, Tape) {
    let system = "You are a careful agent. ".repeat(200);
    let mut tape = Tape::default();
    let mut plain = 0;
    for id in 1..=requests {
        let messages: Vec<String> = (0..id * 2 - 1)
            .map(|n| {
                let text = format!("message {n} says something that no other does. ").repeat(10);
                let mark = if moving_breakpoint && n == id * 2 - 2 { r#","cache_control":{"type":"ephemeral"}"# } else { "" };
                format!(
                    r#"{{"role":"{}","content":[{{"type":"text","text":"{text}"{mark}}}]}}"#,
                    if n % 2 == 0 { "user" } else { "assistant" }
                )
            })
            .collect();
        let body = format!(r#"{{"model":"m","max_tokens":9,"system":"{system}","messages":[{}],"stream":true}}"#, messages.join(","));
        plain += body.len();
        tape.exchanges.push(exchange(id, body.as_bytes(), &[b"data: {}\n\n"]));
    }
    (encode(&tape).len(), plain, tape)
}

#[test]
fn f_4_a_tape_does_not_grow_with_the_square_of_its_session() {
    for moving in [false, true] {
        let (half, _, _) = session(100, moving);
        let (whole, plain, tape) = session(200, moving);
        assert!(whole * 10 < half * 23, "twice the requests: {half} became {whole}");
        assert!(whole * 20 < plain, "{whole} bytes for bodies of {plain}");
        assert_eq!(decode(encode(&tape).as_bytes()).unwrap().exchanges, tape.exchanges);
    }
}

#[test]
fn f_4_threads_that_interleave_share_too() {
    let (_, _, tape) = session(60, true);
    let (alone, _, _) = session(30, true);
    // Two conversations, the one with the even and the one with the odd numbers of messages, take turns.
    let mut mixed = Tape::default();
    for (exchange, id) in tape.exchanges[..30].iter().flat_map(|one| [one, one]).zip(1..) {
        mixed.exchanges.push(Exchange { id, ..exchange.clone() });
    }
    assert!(encode(&mixed).len() < alone + 30 * 900, "a repeated request costs its line and a run");
}

#[test]
fn f_4_requests_of_unfinished_exchanges_serve_as_bases() {
    let tape = small_tape();
    let text: String = encode(&tape).lines().filter(|line| !line.starts_with("{\"end\":1")).map(|line| format!("{line}\n")).collect();
    let read = decode(text.as_bytes()).unwrap();
    assert_eq!(read.exchanges, tape.exchanges[1..]);
    assert_eq!(read.left_out.len(), 1);
    assert_eq!((read.left_out[0].line, read.left_out[0].column), (2, 1));
}

#[test]
fn f_4_a_body_whose_hash_differs_is_left_out_with_its_answer() {
    let text = encode(&small_tape()).replacen("long enough", "wrong enough", 1);
    let read = decode(text.as_bytes()).unwrap();
    assert_eq!(read.exchanges.iter().map(|exchange| exchange.id).collect::<Vec<_>>(), [3]);
    assert_eq!(read.left_out.len(), 2, "both requests that hold the message, and nothing about their answers: {:?}", read.left_out);
    assert!(read.left_out[0].problem.contains("hash"));
}

#[test]
fn k_12_a_tape_of_lines_that_cannot_be_used_is_given_up() {
    let mut decoder = TapeDecoder::new();
    decoder.feed(b"{\"reenact_tape\":1}\n").unwrap();
    for line in [&b"{\"req\n"[..], b"{\"end\":7,\"how\":\"complete\"}\n"] {
        let mut decoder = decoder.clone();
        let fed = (0..20_000).find_map(|_| decoder.feed(line).err());
        assert_eq!(fed, Some(TapeError::Broken { line: 10_002 }), "{}", String::from_utf8_lossy(line));
    }
}

#[test]
fn f_2_a_line_that_cannot_be_read_is_said_and_its_exchange_left_out() {
    let tape = small_tape();
    let text = encode(&tape);
    let chunk = text.lines().position(|line| line.starts_with("{\"chunk\":1")).unwrap();
    let damaged: String = text
        .lines()
        .enumerate()
        .map(|(n, line)| if n == chunk { String::from("{\"chunk\":1,oops}\n") } else { format!("{line}\n") })
        .collect();
    let read = decode(damaged.as_bytes()).unwrap();
    assert_eq!(read.exchanges, tape.exchanges[1..]);
    assert_eq!((read.left_out[0].line, read.left_out[0].column), (chunk + 1, 12), "{:?}", read.left_out);
    assert!(read.left_out[1].problem.contains("in 1 chunks, and its end says"), "{:?}", read.left_out);
}

#[test]
fn f_5_what_is_not_known_survives_a_rewrite_byte_for_byte() {
    let mut text = encode(&small_tape());
    for start in ["{\"reenact_tape\":1", "{\"request\":1", "{\"head\":1", "{\"chunk\":1", "{\"end\":1"] {
        let at = text.find(start).unwrap();
        let end = at + text[at..].find('\n').unwrap();
        text.insert_str(end - 1, r#","new":{"b":1e3, "a":[ ],"a":"\ud83d"}"#);
        text.insert_str(end - 1 + r#","new":{"b":1e3, "a":[ ],"a":"\ud83d"}"#.len() + 2, "{\"note\" : 1.0,\"request\":1}\n");
    }
    let tape = decode(text.as_bytes()).unwrap();
    assert_eq!(tape.unknown.len(), 10, "{:?}", tape.unknown);
    assert!(tape.left_out.is_empty(), "{:?}", tape.left_out);
    assert_eq!(encode(&tape), text);
}

#[test]
fn f_5_lines_beside_a_lost_exchange_survive_it() {
    let unknown = UnknownEntry { place: TapePlace::End(9), what: UnknownPart::Line("{\"note\":1}".into()) };
    let text = encode(&Tape { unknown: vec![unknown], ..small_tape() });
    assert!(text.ends_with("{\"note\":1}\n"));
}

#[test]
fn f_5_a_newer_version_is_refused_by_name() {
    let error = decode(b"{\"reenact_tape\":2,\"recorder\":\"reenact 9.0.0 record\"}\n").unwrap_err();
    assert_eq!(
        error.to_string(),
        "the tape has format version 2, written by reenact 9.0.0 record, and this program reads up to version 1: \
         use that program's version or a later one"
    );
}

#[test]
fn f_5_a_tape_of_version_1_still_opens() {
    let text = concat!(
        "{\"reenact_tape\":1,\"recorder\":\"reenact 0.1.0 import\",\"upstream\":\"api.example\",\"lost\":[\"chunk times\"]}\n",
        "{\"request\":1,\"thread\":\"main\",\"provenance\":\"written\",\"method\":\"POST\",\"path\":\"/v1/messages\",\"body\":[\"{}\"],",
        "\"body_hash\":\"6e46dd10defc9b56c29a6ec56b508c21f54c08192194e4df25bf36f0c9c3c279\"}\n",
        "{\"status\":200,\"headers\":[[\"a\",\"b\"]],\"head\":1}\n",
        "\n",
        "{\"chunk\":1,\"text\":\"hi\"}\r\n",
        "{\"end\":1,\"how\":\"client_gone\"}"
    );
    let tape = decode(text.as_bytes()).unwrap();
    assert!(tape.left_out.is_empty(), "{:?}", tape.left_out);
    // The hash is a literal, so that a change of the format shows.
    let answer = &tape.exchanges[0].answer;
    assert_eq!((answer.status, answer.end, answer.body()), (200, ResponseEnd::ClientGone, b"hi".to_vec()));
    assert_eq!(tape.exchanges[0].provenance, Provenance::Written);
}

#[test]
fn f_1_other_files_are_not_tapes() {
    assert_eq!(decode(b"").unwrap_err(), TapeError::Empty);
    assert_eq!(decode(b"\n").unwrap_err(), TapeError::Empty);
    assert!(matches!(decode(b"{\"log\":{}}\n").unwrap_err(), TapeError::NotATape { column: 1, .. }));
    assert!(matches!(decode(b"version: 2\n").unwrap_err(), TapeError::NotATape { .. }));
}
