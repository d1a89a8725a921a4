//! Accumulation (N-3), the order rules (N-4) and the bytes that go back (N-8), on streams written as their data lines.

use super::*;
use crate::block::{BlockKind, ToolInput};

const START: &str =
    r#"{"type":"message_start","message":{"id":"msg_1","model":"m","content":[],"usage":{"input_tokens":25,"output_tokens":1}}}"#;
const TEXT: &str = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
const HELLO: &str = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}"#;
const STOP_0: &str = r#"{"type":"content_block_stop","index":0}"#;
const DELTA: &str = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":9}}"#;
const MAX_TOKENS: &str = r#"{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":9}}"#;
const END: &str = r#"{"type":"message_stop"}"#;
const PING: &str = r#"{"type": "ping"}"#;
const TOOL: &str =
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"Read","input":{}}}"#;

/// An answer that code which the API runs gives: whole in its first event.
const TOOL_WHOLE: &str = concat!(
    r#"{"type":"message_start","message":{"id":"msg_1","model":"m","content":[{"type":"tool_use","id":"toolu_1","name":"Roll","#,
    r#""input":{"n": 1e1},"caller":{"type":"code_execution_20250825","tool_id":"srvtoolu_1"}}],"stop_reason":"tool_use","#,
    r#""stop_sequence":null,"usage":{"input_tokens":0,"output_tokens":0}}}"#
);

struct AssemblerRun {
    assembler: Assembler,
    steps: Vec<AssemblerStep>,
    notes: Vec<OrderViolation>,
}

fn run<'a>(stream: impl IntoIterator<Item = &'a str>) -> AssemblerRun {
    let (mut assembler, mut notes) = (Assembler::new(), Vec::new());
    let steps = stream.into_iter().map(|data| assembler.on_event(&StreamEvent::decode("message", data), &mut notes)).collect();
    AssemblerRun { assembler, steps, notes }
}

impl AssemblerRun {
    fn last(&self) -> &AssemblerStep {
        self.steps.last().unwrap()
    }

    fn blocks(&self) -> Vec<(u32, &Block)> {
        let block = |step| if let &AssemblerStep::Block { index, ref block } = step { Some((index, block)) } else { None };
        self.steps.iter().filter_map(block).collect()
    }

    /// The JSON of the only block.
    fn block_json(&self) -> &str {
        assert_eq!(self.blocks().len(), 1, "{:?}", self.steps);
        self.blocks()[0].1.json().as_str()
    }
}

/// A stream with one block that starts with this object and gets these deltas.
fn one_block(start: &str, deltas: &[&str]) -> AssemblerRun {
    let mut stream = vec![String::from(START), format!(r#"{{"type":"content_block_start","index":0,"content_block":{start}}}"#)];
    stream.extend(deltas.iter().map(|delta| format!(r#"{{"type":"content_block_delta","index":0,"delta":{delta}}}"#)));
    stream.extend([STOP_0, DELTA, END].map(String::from));
    run(stream.iter().map(|data| &**data))
}

fn tool_input(pieces: &[&str]) -> (ToolInput, String) {
    let deltas: Vec<String> = pieces
        .iter()
        .map(|piece| format!(r#"{{"type":"input_json_delta","partial_json":{}}}"#, serde_json::to_string(piece).unwrap()))
        .collect();
    let start = r#"{"type":"tool_use","id":"toolu_1","name":"Read","input":{},"caller":{"type":"direct"}}"#;
    let run = one_block(start, &deltas.iter().map(|delta| &**delta).collect::<Vec<_>>());
    (run.blocks()[0].1.as_tool_use().unwrap().input.clone(), run.block_json().into())
}

#[test]
fn n_3_a_plain_answer_is_assembled() {
    let run = run([START, TEXT, PING, HELLO, HELLO, STOP_0, DELTA, END]);
    let block = Block::from(crate::json::Json::trusted(r#"{"type":"text","text":"HelloHello"}"#));
    let nothing = || AssemblerStep::Nothing;
    let block = AssemblerStep::Block { index: 0, block };
    let started = AssemblerStep::Started { blocks: Vec::new() };
    assert_eq!(run.steps, [started, nothing(), nothing(), nothing(), nothing(), block, AssemblerStep::Delta, AssemblerStep::Ended]);
    assert_eq!(run.notes, []);
    assert_eq!((&**run.assembler.message_id(), &**run.assembler.model()), ("msg_1", "m"));
    assert_eq!(run.assembler.stop_reason().map(|reason| &**reason), Some("end_turn"));
    assert_eq!(run.assembler.at_end_of_stream(), Ok(()));
}

#[test]
fn n_3_usage_overwrites() {
    let later = r#"{"type":"message_delta","delta":{"stop_reason":null},"usage":{"output_tokens":30,"input_tokens":400}}"#;
    let run = run([START, TEXT, STOP_0, DELTA, later, END]);
    assert_eq!(run.assembler.usage().output_tokens, Some(30), "a total, not 1 + 9 + 30");
    assert_eq!(run.assembler.usage().input_tokens, Some(400));
    assert_eq!(run.assembler.stop_reason().map(|reason| &**reason), Some("end_turn"), "null does not take it back");
}

#[test]
fn n_3_usage_that_is_absent_keeps_its_value() {
    assert_eq!(run([START, DELTA]).assembler.usage().input_tokens, Some(25));
}

#[test]
fn n_3_blocks_are_keyed_by_index() {
    let second = r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#;
    let world = r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"World"}}"#;
    let stop_1 = r#"{"type":"content_block_stop","index":1}"#;
    let run = run([START, TEXT, HELLO, second, world, HELLO, stop_1, STOP_0, DELTA, END]);
    let text = |block: &Block| if let BlockKind::Text(text) = block.kind() { text.clone() } else { panic!("{block:?}") };
    let blocks: Vec<_> = run.blocks().into_iter().map(|(index, block)| (index, text(block))).collect();
    assert_eq!(blocks, [(1, "World".into()), (0, "HelloHello".into())]);
    assert_eq!(run.notes, [OrderViolation::BlocksInterleaved]);
}

#[test]
fn n_3_tool_input_is_parsed_when_its_block_stops() {
    let (input, json) = tool_input(&["", "{\"path\": ", "\"a\\u00e9\", \"n\"", ":1e3,\"n\":2 }"]);
    let text = "{\"path\": \"a\\u00e9\", \"n\":1e3,\"n\":2 }";
    assert_eq!(input, ToolInput::Valid(crate::json::Json::trusted(text)));
    assert_eq!(json, format!(r#"{{"type":"tool_use","id":"toolu_1","name":"Read","input":{text},"caller":{{"type":"direct"}}}}"#));
}

#[test]
fn n_3_empty_tool_input_is_an_empty_object() {
    for pieces in [&[][..], &[""], &["", ""]] {
        assert_eq!(tool_input(pieces).0.as_str(), "{}");
    }
    let run = one_block(r#"{"type":"tool_use","id":"t","name":"n"}"#, &[]);
    assert_eq!(run.block_json(), r#"{"type":"tool_use","id":"t","name":"n","input":{}}"#);
    let run =
        one_block(r#"{"type":"tool_use","id":"t","name":"n","input":{"a":1}}"#, &[r#"{"type":"input_json_delta","partial_json":""}"#]);
    assert_eq!(run.block_json(), r#"{"type":"tool_use","id":"t","name":"n","input":{"a":1}}"#, "an input that came with the start counts");
}

#[test]
fn n_3_invalid_tool_input_is_kept_as_text() {
    for text in ["{\"a\": celsius}", "{\"a\":1", "{\"a\":1} x", "[1]", "{\"a\":NaN}"] {
        let (input, json) = tool_input(&[text]);
        let ToolInput::Invalid { text: kept, error } = input else { panic!("{text} was taken for valid") };
        assert_eq!(&*kept, text);
        assert!(!error.is_empty());
        let sent: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(sent["input"], serde_json::json!({ "INVALID_JSON": text }));
    }
}

#[test]
fn n_3_a_lone_surrogate_in_tool_input_is_kept() {
    let (input, json) = tool_input(&[r#"{"a":"\ud83d"}"#]);
    assert_eq!(input.as_str(), r#"{"a":"\ud83d"}"#);
    assert!(json.contains(r#""input":{"a":"\ud83d"}"#));
}

#[test]
fn n_3_signature_overwrites_and_thinking_appends() {
    let run = one_block(
        r#"{"type":"thinking","thinking":"","signature":""}"#,
        &[
            r#"{"type":"thinking_delta","thinking":"Hm"}"#,
            r#"{"type":"signature_delta","signature":"first"}"#,
            r#"{"type":"thinking_delta","thinking":"m.\n"}"#,
            r#"{"type":"signature_delta","signature":"Eq+/=="}"#,
        ],
    );
    assert_eq!(run.block_json(), r#"{"type":"thinking","thinking":"Hmm.\n","signature":"Eq+/=="}"#);
    assert_eq!(*run.blocks()[0].1.kind(), BlockKind::Thinking { thinking: "Hmm.\n".into(), signature: "Eq+/==".into() });
}

#[test]
fn n_3_compaction_overwrites() {
    let run = one_block(
        r#"{"type":"compaction","content":null}"#,
        &[
            r#"{"type":"compaction_delta","content":"first","encrypted_content":"x"}"#,
            r#"{"type":"compaction_delta","content":"whole","encrypted_content":"y"}"#,
        ],
    );
    assert_eq!(run.block_json(), r#"{"type":"compaction","content":"whole","encrypted_content":"y"}"#);
}

#[test]
fn n_3_citations_are_collected() {
    let deltas = [r#"{"type":"citations_delta","citation":{"url":"a"}}"#, r#"{"type":"citations_delta","citation":{"url":"b" }}"#];
    for (start, json) in [
        (r#"{"type":"text","text":"t"}"#, r#"{"type":"text","text":"t","citations":[{"url":"a"},{"url":"b" }]}"#),
        (r#"{"citations":[],"type":"text","text":"t"}"#, r#"{"citations":[{"url":"a"},{"url":"b" }],"type":"text","text":"t"}"#),
        (r#"{"citations":null,"type":"text","text":"t"}"#, r#"{"citations":[{"url":"a"},{"url":"b" }],"type":"text","text":"t"}"#),
        (
            r#"{"citations":[ {"url":1e3} ],"type":"text","text":"t"}"#,
            r#"{"citations":[{"url":1e3},{"url":"a"},{"url":"b" }],"type":"text","text":"t"}"#,
        ),
    ] {
        assert_eq!(one_block(start, &deltas).block_json(), json);
    }
}

#[test]
fn n_8_a_block_without_deltas_goes_back_as_it_came() {
    for start in [
        r#"{ "type" : "web_search_tool_result","content":[{"n":1e3,"n":2}],"tool_use_id":"srvtoolu_1" }"#,
        r#"{"type":"redacted_thinking","data":"E\/m=="}"#,
        r#"{"type":"hologram","text":"a\ud83d"}"#,
        r#"{"type":"text","text":"caf\u00e9"}"#,
    ] {
        let run = one_block(start, &[]);
        assert_eq!(run.block_json(), start);
        assert_eq!(run.notes, []);
    }
}

#[test]
fn n_2_an_unknown_block_takes_the_deltas_that_are_known() {
    let run = one_block(r#"{"type":"hologram","text":"a"}"#, &[r#"{"type":"text_delta","text":"b"}"#, r#"{"type":"mood_delta","mood":1}"#]);
    assert_eq!(run.block_json(), r#"{"type":"hologram","text":"ab"}"#);
    assert_eq!(run.notes, [OrderViolation::UnknownDelta]);
}

#[test]
fn n_3_a_tool_use_that_max_tokens_cut_off_is_closed_as_incomplete() {
    let piece = r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"pa"}}"#;
    let run = run([START, TOOL, piece, MAX_TOKENS, END]);
    assert_eq!(*run.last(), AssemblerStep::Ended);
    assert_eq!((run.blocks().len(), run.assembler.incomplete()), (0, &[0][..]), "neither handed over nor forgotten");
    assert_eq!(run.notes, [OrderViolation::ToolUseCutOff]);
}

#[test]
fn n_4_violations_get_their_names() {
    use OrderViolation::*;
    let start_2 = TEXT.replace("\"index\":0", "\"index\":2");
    let input = r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}"#;
    let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let unknown = r#"{"type":"weather"}"#;
    let empty = r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":""}}"#;
    let mood = r#"{"type":"content_block_delta","index":0,"delta":{"type":"mood_delta"}}"#;
    let refused: &[(&[&str], OrderViolation)] = &[
        (&[TEXT], EventBeforeMessageStart),
        (&[STOP_0], EventBeforeMessageStart),
        (&[END], EventBeforeMessageStart),
        (&[START, "not json"], MalformedEvent),
        (&[START, TEXT, START], SecondMessageStart),
        (&[START, TEXT, TEXT], BlockIndexReused),
        (&[START, TEXT, STOP_0, TEXT], BlockIndexReused),
        (&[START, TEXT, &start_2], BlockIndexSkipped),
        (&[START, HELLO], DeltaForUnknownBlock),
        (&[START, TEXT, STOP_0, HELLO], DeltaAfterBlockStop),
        (&[START, TEXT, input], DeltaKindMismatch),
        (&[START, TOOL, HELLO], DeltaKindMismatch),
        (&[START, STOP_0], StopForUnknownBlock),
        (&[START, TEXT, HELLO, DELTA, END], BlockNeverStopped),
        (&[START, TEXT, HELLO, MAX_TOKENS, END], BlockNeverStopped),
        (&[START, TOOL, DELTA, END], BlockNeverStopped),
        (&[START, TOOL, END], BlockNeverStopped),
        (&[START, DELTA, END, START], SecondMessageStart),
        (&[START, TEXT, STOP_0, DELTA, END, HELLO], EventAfterMessageStop),
        (&[START, DELTA, END, TEXT], EventAfterMessageStop),
        (&[START, DELTA, END, STOP_0], EventAfterMessageStop),
        (&[TOOL_WHOLE, TOOL], BlockIndexReused),
        (&[TOOL_WHOLE, input], DeltaAfterBlockStop),
    ];
    for (stream, violation) in refused {
        let mut run = run(stream.iter().copied());
        assert_eq!(*run.last(), AssemblerStep::Refused(*violation), "{stream:#?}");
        assert_eq!(run.assembler.on_event(&StreamEvent::decode("message", HELLO), &mut run.notes), AssemblerStep::Nothing, "reported once");
        assert_eq!(run.assembler.at_end_of_stream(), Ok(()), "reported once");
    }
    let noted: &[(&[&str], &[OrderViolation])] = &[
        (&[PING, START, PING, TEXT, PING, STOP_0, PING, DELTA, PING, END, PING], &[]),
        (&[unknown, START, unknown, DELTA, unknown, END, unknown], &[]),
        (&[START, TEXT, HELLO, STOP_0, END], &[NoMessageDelta]),
        (&[START, DELTA, TEXT, HELLO, STOP_0, DELTA, END], &[ContentAfterMessageDelta]),
        (&[START, TEXT, STOP_0, STOP_0, DELTA, END, STOP_0], &[SecondBlockStop, SecondBlockStop]),
        (&[START, DELTA, END, END], &[SecondMessageStop]),
        (&[START, DELTA, END, MAX_TOKENS], &[MessageDeltaAfterMessageStop]),
        (&[START, TEXT, empty, mood, STOP_0, empty, mood, DELTA, END], &[UnknownDelta, UnknownDelta]),
        (&[START, TEXT, STOP_0, DELTA, END, "[DONE]"], &[]),
    ];
    for (stream, notes) in noted {
        let run = run(stream.iter().copied());
        assert_eq!(run.notes, *notes, "{stream:#?}");
        assert!(run.steps.contains(&AssemblerStep::Ended));
    }
    for stream in [&[error, HELLO][..], &[START, TEXT, error, HELLO, END], &[START, DELTA, END, error]] {
        let run = run(stream.iter().copied());
        assert!(run.steps.contains(&AssemblerStep::Failed { kind: "overloaded_error".into(), message: "Overloaded".into() }));
        assert_eq!(run.assembler.at_end_of_stream(), Ok(()), "reported before");
    }
}

#[test]
fn n_4_a_block_that_arrives_whole_takes_no_delta() {
    for kind in ["redacted_thinking", "web_search_tool_result", "mcp_tool_result"] {
        let run = one_block(&format!(r#"{{"type":"{kind}"}}"#), &[r#"{"type":"text_delta","text":"lost"}"#]);
        assert!(run.steps.contains(&AssemblerStep::Refused(OrderViolation::DeltaKindMismatch)), "{kind}");
    }
}

#[test]
fn n_4_an_end_without_message_stop_is_an_error() {
    for stream in [&[][..], &[PING], &[START], &[START, TEXT, HELLO], &[START, TEXT, HELLO, STOP_0, DELTA]] {
        assert_eq!(run(stream.iter().copied()).assembler.at_end_of_stream(), Err(OrderViolation::EndWithoutMessageStop));
    }
}

#[test]
fn n_3_a_clone_goes_on_from_the_same_event() {
    let mut first = run([START, TEXT, HELLO]).assembler;
    let mut second = first.clone();
    for data in [HELLO, STOP_0, DELTA, END] {
        let event = StreamEvent::decode("message", data);
        assert_eq!(first.on_event(&event, &mut vec![]), second.on_event(&event, &mut vec![]));
        assert_eq!(first, second);
    }
}

#[test]
fn n_3_an_answer_that_comes_whole_with_message_start_is_read() {
    let run = run([TOOL_WHOLE, END]);
    let AssemblerStep::Started { blocks } = &run.steps[0] else { panic!("{:?}", run.steps) };
    assert_eq!(blocks[0].as_tool_use().unwrap().input.as_str(), r#"{"n": 1e1}"#, "byte for byte");
    assert!(blocks[0].json().as_str().contains("srvtoolu_1"), "what is not known is kept");
    assert_eq!(run.assembler.stop_reason().map(|reason| &**reason), Some("tool_use"));
    assert_eq!((*run.last() == AssemblerStep::Ended, run.notes, run.assembler.incomplete()), (true, vec![], &[][..]));
}

#[test]
fn n_4_after_the_end_token_counts_are_taken_and_the_stop_reason_stays() {
    let later = r#"{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":99}}"#;
    let run = run([START, TEXT, STOP_0, DELTA, END, later]);
    assert_eq!((run.assembler.usage().output_tokens, run.assembler.stop_reason().map(|reason| &**reason)), (Some(99), Some("end_turn")));
}

#[test]
fn n_4_data_without_a_name_counts_only_where_no_event_has_one() {
    let of = |name: &str| {
        let (mut assembler, mut notes) = (Assembler::new(), Vec::new());
        let mut step = |name: &str, data: &str| assembler.on_event(&StreamEvent::decode(name, data), &mut notes);
        let before = step("message", "garbage");
        let _ = step(name, START);
        let after = step("message", "garbage");
        (before, after)
    };
    assert_eq!(of("message_start"), (AssemblerStep::Nothing, AssemblerStep::Nothing), "both SDKs pass over it");
    assert_eq!(
        of("message"),
        (AssemblerStep::Nothing, AssemblerStep::Refused(OrderViolation::MalformedEvent)),
        "it may have been a part of the answer"
    );
}

/// Recorded answers, which are no part of the repository: bare streams, and one with a JSON text per line.
#[test]
fn n_4_recorded_streams_break_no_rule_that_is_an_error() {
    let folder = recordings();
    let files: &[(&str, &[OrderViolation])] = &[
        (
            "anthropics__anthropic-sdk-python/tests/lib/streaming/fixtures/incomplete_partial_json_response.txt",
            &[OrderViolation::ToolUseCutOff],
        ),
        ("_wire_shaped_synthetic/anthropics__anthropic-sdk-python/stream-a-toolrefusal.sse", &[]),
        ("_wire_shaped_synthetic/anthropics__anthropic-sdk-python/stream-b-fallback.sse", &[]),
        ("vercel__ai/packages/anthropic/src/__fixtures__/anthropic-text.chunks.txt", &[]),
        ("vercel__ai/packages/anthropic/src/__fixtures__/anthropic-tool-no-args.chunks.txt", &[]),
        ("vercel__ai/packages/anthropic/src/__fixtures__/anthropic-web-search-tool.1.chunks.txt", &[]),
    ];
    for (name, notes) in files {
        let Ok(mut bytes) = std::fs::read(folder.join(name)) else {
            std::eprintln!("SKIPPED: {name} is not in {}; REENACT_RECORDINGS names the folder", folder.display());
            continue;
        };
        bytes.extend(b"\n\n"); // one of them was stored without its last blank line
        let mut stream = Vec::new();
        match name.ends_with(".chunks.txt") {
            true => stream.extend(String::from_utf8(bytes).unwrap().trim_end().lines().map(String::from)),
            false => crate::sse::SseFramer::new().feed(&bytes, &mut |frame| stream.push(frame.data.to_owned())).unwrap(),
        }
        let run = run(stream.iter().map(|data| &**data));
        assert_eq!(*run.last(), AssemblerStep::Ended, "{name}");
        assert_eq!(run.notes, *notes, "{name}");
    }
}

/// Answers of which most came whole with `message_start`: code that the API ran asked for the tools.
#[test]
fn n_3_recorded_answers_that_came_with_message_start_are_whole() {
    let path = recordings().join("../recordings2/vercel__ai____fixtures___anthropic-programmatic-tool-calling.1.chunks.txt");
    let Ok(text) = std::fs::read_to_string(&path) else {
        std::eprintln!("SKIPPED: {} is not there; REENACT_RECORDINGS names the folder beside it", path.display());
        return;
    };
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let answers: Vec<&[&str]> = lines.chunk_by(|_, next| !next.contains(r#""type":"message_start""#)).collect();
    let mut whole = 0;
    for answer in &answers {
        let run = run(answer.iter().copied());
        assert_eq!((run.last(), &*run.notes), (&AssemblerStep::Ended, &[][..]), "{answer:#?}");
        let blocks: usize = run.steps.into_iter().map(|step| step.into_blocks().len()).sum();
        assert!(blocks > 0, "{answer:#?}");
        whole += usize::from(answer.len() == 2);
    }
    assert!(whole > 10 && whole < answers.len(), "{whole} of {}", answers.len());
}

#[expect(
    clippy::disallowed_methods,
    reason = "it says where the files lie that are no part of the repository; it decides nothing of a run"
)]
fn recordings() -> std::path::PathBuf {
    std::env::var_os("REENACT_RECORDINGS")
        .map_or_else(|| std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/recordings"), std::path::PathBuf::from)
}
