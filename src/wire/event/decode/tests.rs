//! Every kind of event, what is unknown and what is broken; and that both ways of decoding agree.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn decode(data: &str) -> EventPayload<'_> {
    payload("message", data)
}

fn problem(data: &str) -> String {
    match decode(data) {
        EventPayload::Malformed { problem } => problem.into_owned(),
        other => panic!("{data} was taken for {other:?}"),
    }
}

fn delta_of(delta: &str) -> EventPayload<'static> {
    decode(&format!(r#"{{"type":"content_block_delta","index":3,"delta":{delta}}}"#)).into_owned()
}

#[test]
fn n_2_message_events_are_typed() {
    let start = decode(concat!(
        r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"m","#,
        r#""usage":{"input_tokens":25,"cache_creation_input_tokens":0,"cache_read_input_tokens":7,"output_tokens":1,"speed":"fast"}}}"#
    ));
    let usage = Usage {
        input_tokens: Some(25),
        output_tokens: Some(1),
        cache_creation_input_tokens: Some(0),
        cache_read_input_tokens: Some(7),
        ..Usage::default()
    };
    assert_eq!(start, EventPayload::MessageStart(MessageStart { id: "msg_1".into(), model: "m".into(), usage, ..MessageStart::default() }));
    let delta = decode(concat!(
        r#"{"type":"message_delta","delta":{"stop_reason":"stop_sequence","stop_sequence":"END","stop_details":null},"#,
        r#""usage":{"output_tokens":97}}"#
    ));
    let EventPayload::MessageDelta(delta) = delta else { panic!("{delta:?}") };
    assert_eq!((delta.stop_reason.as_deref(), delta.stop_sequence.as_deref()), (Some("stop_sequence"), Some("END")));
    assert_eq!((delta.usage.output_tokens, delta.usage.input_tokens), (Some(97), None));
    assert_eq!(decode(r#"{"type":"message_stop"}"#), EventPayload::MessageStop);
    assert_eq!(decode(r#"{"type": "ping"}"#), EventPayload::Ping);
}

#[test]
fn n_2_a_message_without_usage_is_read() {
    assert_eq!(decode(r#"{"type":"message_start","message":{}}"#), EventPayload::MessageStart(MessageStart::default()));
    assert_eq!(decode(r#"{"type":"message_delta","delta":{}}"#), EventPayload::MessageDelta(MessageDelta::default()));
    assert_eq!(
        decode(r#"{"type":"message_delta","delta":{"stop_reason":null},"usage":null}"#),
        EventPayload::MessageDelta(MessageDelta::default())
    );
}

#[test]
fn n_2_block_events_are_typed() {
    let block = r#"{ "type":"tool_use","id":"toolu_1","name":"Read","input":{},"new":1e3 }"#;
    let data = format!(r#"{{"type":"content_block_start","index":2,"content_block":{block}  }}"#);
    assert_eq!(decode(&data), EventPayload::BlockStart { index: 2, kind: "tool_use".into(), block: block.into() });
    assert_eq!(decode(r#"{"type":"content_block_stop","index":0        }"#), EventPayload::BlockStop { index: 0 });
}

#[test]
fn n_2_deltas_are_typed() {
    for (json, delta) in [
        (r#"{"type":"text_delta","text":"a"}"#, BlockDelta::Text("a".into())),
        (r#"{"type":"input_json_delta","partial_json":"{\"a"}"#, BlockDelta::InputJson("{\"a".into())),
        (r#"{"type":"thinking_delta","thinking":"h","estimated_tokens":4}"#, BlockDelta::Thinking("h".into())),
        (r#"{"type":"signature_delta","signature":"Eq=="}"#, BlockDelta::Signature("Eq==".into())),
        (r#"{"type":"citations_delta","citation":{"url": "u"}}"#, BlockDelta::Citation(r#"{"url": "u"}"#.into())),
        (r#"{"type":"compaction_delta","content":"c"}"#, BlockDelta::Compaction(r#"{"type":"compaction_delta","content":"c"}"#.into())),
        (r#"{"type":"mood_delta","mood":"up"}"#, BlockDelta::Unknown { kind: "mood_delta".into() }),
    ] {
        assert_eq!(delta_of(json), EventPayload::BlockDelta { index: 3, delta });
    }
}

#[test]
fn n_2_an_error_is_one_however_little_it_says() {
    let error = |kind: &str, message: &str| EventPayload::Error { kind: kind.to_owned().into(), message: message.to_owned().into() };
    let full = r#"{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}"#;
    assert_eq!(decode(full), error("overloaded_error", "Overloaded"));
    assert_eq!(decode(r#"{"type":"error","error":{"message":"m"}}"#), error("", "m"));
    assert_eq!(decode(r#"{"type":"error","error":"it broke"}"#), error("", "it broke"));
    assert_eq!(decode(r#"{"type":"error"}"#), error("", ""));
}

#[test]
fn n_2_what_is_unknown_is_no_error() {
    assert_eq!(decode(r#"{"type":"weather","index":"x"}"#), EventPayload::Unknown { kind: "weather".into() });
    assert_eq!(decode(r#"{"type":""}"#), EventPayload::Unknown { kind: "".into() });
    let start = decode(r#"{"type":"content_block_start","index":0,"content_block":{"type":"hologram","volume":[]}}"#);
    assert!(matches!(start, EventPayload::BlockStart { kind, .. } if kind == "hologram"));
}

#[test]
fn n_2_the_type_in_the_data_decides_not_the_event_name() {
    assert_eq!(payload("message_stop", r#"{"type":"ping"}"#), EventPayload::Ping);
    assert_eq!(payload("ping", r#"{"type":"message_stop"}"#), EventPayload::MessageStop);
    assert!(matches!(payload("message_stop", "{}"), EventPayload::Malformed { .. }));
    assert_eq!(payload("ping", "{}"), EventPayload::Ping, "dropped by its name, as in the SDKs");
    assert_eq!(payload("ping", ""), EventPayload::Ping);
}

#[test]
fn n_2_a_name_decides_where_the_data_has_no_type() {
    let unknown = |kind: &str| EventPayload::Unknown { kind: kind.to_owned().into() };
    for data in ["[DONE]", "sunny", "null", r#"{"sunny":true}"#, ""] {
        assert_eq!(payload("data", data), unknown("data"), "{data}");
    }
    assert_eq!(payload("content_block_delta", ""), unknown("content_block_delta"), "both SDKs pass over an event without data");
    assert_eq!(payload("message", ""), unknown("message"));
    assert!(matches!(payload("data", r#"{"type":"message_stop","#), EventPayload::Unknown { .. }));
    assert!(matches!(payload("content_block_delta", "[DONE]"), EventPayload::Malformed { .. }));
    assert!(matches!(payload("data", r#"{"type":"content_block_stop"}"#), EventPayload::Malformed { .. }), "the type is the API's");
    let error = |kind: &str, message: &str| EventPayload::Error { kind: kind.to_owned().into(), message: message.to_owned().into() };
    assert_eq!(payload("error", "upstream timed out"), error("", "upstream timed out"));
    assert_eq!(payload("error", r#"{"error":{"type":"api_error","message":"m"}}"#), error("api_error", "m"));
    assert_eq!(payload("error", r#"{"type":"overloaded_error","message":"m"}"#), error("overloaded_error", "m"), "without the wrapper");
}

#[test]
fn n_2_a_message_that_comes_with_its_content_is_read() {
    let block = r#"{"type":"tool_use","id":"t","name":"n","input":{"a": 1}}"#;
    let data = format!(r#"{{"type":"message_start","message":{{"id":7,"model":null,"content":[ {block} ],"stop_reason":"tool_use"}}}}"#);
    let expected = MessageStart { content: vec![block.into()], stop_reason: Some("tool_use".into()), ..MessageStart::default() };
    assert_eq!(decode(&data), EventPayload::MessageStart(expected), "an id that is no text is none, as nothing follows from it");
}

#[test]
fn n_2_malformed_data_says_what_is_wrong() {
    assert!(problem("upstream timed out").starts_with("expected value"));
    assert!(problem("[DONE]").contains("expected a JSON object"));
    assert!(problem(r#"{"type":"message_stop"} x"#).starts_with("trailing characters"));
    for (data, said) in [
        (r#"{"index":0}"#, "`type` is missing or not a string"),
        (r#"{"type":7}"#, "`type` is missing or not a string"),
        (r#"{"type":"message_start"}"#, "`message` is missing or not an object"),
        (r#"{"type":"message_start","message":{"content":"Hi"}}"#, "`message.content` is missing or not a list"),
        (r#"{"type":"message_start","message":{"content":["Hi"]}}"#, "`message.content` is missing or not a list of objects"),
        (r#"{"type":"message_start","message":{"content":[{"text":"Hi"}]}}"#, "`type` is missing or not a string"),
        (r#"{"type":"message_start","message":{"content":[{"type":"tool_use","id":"t"}]}}"#, "`name` is missing or not a string"),
        (r#"{"type":"content_block_start","index":0}"#, "`content_block` is missing or not an object"),
        (r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t"}}"#, "`name` is missing or not a string"),
        (r#"{"type":"content_block_stop"}"#, "`index` is missing or not a whole number"),
        (r#"{"type":"content_block_stop","index":-1}"#, "`index` is missing or not a whole number"),
        (r#"{"type":"content_block_stop","index":4294967296}"#, "`index` is missing or not a whole number"),
        (r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta"}}"#, "`text` is missing or not a string"),
        (r#"{"type":"message_delta","delta":{"stop_reason":[]}}"#, "`stop_reason` is missing or not a string"),
    ] {
        assert_eq!(problem(data), said, "{data}");
    }
}

#[test]
fn n_2_a_lone_surrogate_reads_as_a_replacement() {
    assert_eq!(
        delta_of(r#"{"type":"text_delta","text":"a\ud83d"}"#),
        EventPayload::BlockDelta { index: 3, delta: BlockDelta::Text("a\u{fffd}".into()) }
    );
    let data = r#"{"type":"error","error":{"message":"\udc00"}}"#;
    assert_eq!(decode(data), EventPayload::Error { kind: "".into(), message: "\u{fffd}".into() });
}

#[test]
fn n_2_deep_nesting_costs_no_stack() {
    let deep = "[".repeat(200_000) + &"]".repeat(200_000);
    let data = format!(r#"{{"type":"content_block_start","index":0,"content_block":{{"type":"hologram","deep":{deep}}}}}"#);
    assert!(matches!(decode(&data), EventPayload::BlockStart { .. }));
}

#[test]
fn n_2_the_last_of_duplicate_keys_wins() {
    let data = r#"{"type":"ping","index":1,"type":"content_block_stop","index":2}"#;
    assert_eq!(decode(data), EventPayload::BlockStop { index: 2 });
}

#[test]
fn n_2_hot_deltas_are_recognised_by_shape_and_borrowed() {
    for (kind, member) in [("text_delta", "text"), ("input_json_delta", "partial_json"), ("thinking_delta", "thinking")] {
        let data = format!(r#"{{"type":"content_block_delta","index":10,"delta":{{"type":"{kind}","{member}":"déjà"}}    }}"#);
        let found = delta_by_shape(&data);
        assert!(found.is_some(), "{data}");
        let Some(EventPayload::BlockDelta {
            delta: BlockDelta::Text(text) | BlockDelta::InputJson(text) | BlockDelta::Thinking(text), ..
        }) = found
        else {
            panic!("{data}")
        };
        assert!(matches!(text, Cow::Borrowed("déjà")));
        let escaped = data.replace("déjà", r#"\"a\\b\n"#);
        assert!(delta_by_shape(&escaped).is_some(), "simple escapes need no parser");
    }
}

/// Texts near the shape: the shape itself with pieces replaced by other JSON and by mistakes.
fn near_the_shape() -> impl Strategy<Value = String> {
    let index = prop::sample::select(vec!["0", "7", "12", "01", "-1", "", "4294967295", "4294967296", "999999999", "1.0", "1e0", " 3"]);
    let member = prop::sample::select(vec![
        r#""text_delta","text":""#,
        r#""input_json_delta","partial_json":""#,
        r#""thinking_delta","thinking":""#,
        r#""text_delta","thinking":""#,
        r#""text_delta", "text":""#,
        r#""mood_delta","text":""#,
    ]);
    let piece = prop_oneof![
        any::<char>().prop_map(String::from),
        prop::sample::select(vec![
            "\\n", "\\\"", "\\\\", "\\/", "\\b", "\\f", "\\u0041", "\\ud83d", "\\ude00", "\\x", "\\", "\"", "\n", "\t", "\u{7f}", "ab",
        ])
        .prop_map(String::from),
    ];
    let text = prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat());
    let end = prop::sample::select(vec![
        "\"}}",
        "\"}  }",
        "\"} }\n",
        "\" }}",
        "\"}",
        "\"}}}",
        "\"},\"x\":1}",
        "\",\"x\":1}}",
        "\"}\t}",
        "}}",
        "\"} } ",
        "\"},\"index\":9}",
    ]);
    (index, member, text, end).prop_map(|(index, member, text, end)| {
        format!(r#"{{"type":"content_block_delta","index":{index},"delta":{{"type":{member}{text}{end}"#)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn n_2_shape_and_parser_agree(data in near_the_shape()) {
        if let Some(by_shape) = delta_by_shape(&data) {
            prop_assert_eq!(by_shape, by_parser("message", &data));
        }
        prop_assert_eq!(payload("message", &data), by_parser("message", &data));
    }

    #[test]
    fn n_2_a_written_delta_reads_back(text in any::<String>(), index in any::<u32>()) {
        let data = json!({"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": text}}).to_string();
        prop_assert_eq!(payload("message", &data), EventPayload::BlockDelta { index, delta: BlockDelta::Text(text.into()) });
    }

    #[test]
    fn n_2_any_text_is_decoded_without_panic(data in any::<String>(), kind in "[a-z_]{0,20}") {
        let _ = payload("message", &data);
        let _ = payload(&kind, &format!(r#"{{"type":"{kind}","index":0,"delta":{data:?}}}"#));
    }
}
