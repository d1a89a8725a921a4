//! What a recorded session says of its scenario (K-4).

use super::*;
use crate::engine::time::Micros;
use crate::scenario::latency::Latency;
use crate::scenario::tape::{Answer, Chunk, End, Provenance, TapeHeader};
use crate::scenario::thread;
use crate::wire::json::Json;

const SETTINGS: &str = r#""model":"m","max_tokens":9,"stream":true,"temperature":0.5,"metadata":{"user_id":"u"}"#;
const TOOLS: &str = r#""tools":[{"name":"Read","description":"r","input_schema":{}},{"name":"Own","input_schema":{},"cache_control":{"type":"ephemeral"}}]"#;

/// A tape of requests given by their messages, each answered after a second, a request every ten.
fn tape(bodies: &[String]) -> Tape {
    let exchange = |(body, id): (&String, u32)| Exchange {
        id,
        thread: "main".into(),
        parent: None,
        provenance: Provenance::Recorded,
        at: Some(Micros::from_secs(u64::from(id) * 10)),
        method: "POST".into(),
        path: "/v1/messages".into(),
        headers: Arc::new([]),
        body: body.as_bytes().into(),
        answer: Answer {
            status: 200,
            headers: Arc::new([]),
            head_at: None,
            chunks: [Chunk { at: None, bytes: b"data: {}\n\n"[..].into() }].into(),
            end: End::Complete,
            end_at: Some(Micros::from_secs(1)),
        },
    };
    let mut exchanges: Vec<_> = bodies.iter().zip(1..).map(exchange).collect();
    thread::assign(&mut exchanges);
    Tape { exchanges, ..Tape::default() }
}

fn body(messages: &[&str]) -> String {
    format!("{{{SETTINGS},{TOOLS},\"messages\":[{}]}}", messages.join(","))
}

const HI: &str = r#"{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}"#;
const USE: &str = r#"{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Read","input":{}},{"type":"tool_use","id":"t2","name":"Own","input":{}}]}"#;
const RESULTS: &str = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"1e3"}]},{"type":"tool_result","tool_use_id":"t2","content":"no","is_error":true}]}"#;
const DONE: &str = r#"{"role":"assistant","content":"done"}"#;
const MORE: &str = r#"{"role":"user","content":"more"}"#;

fn only(bodies: &[String]) -> Derived {
    let mut derived = scenarios(&tape(bodies), "x.tape.jsonl");
    assert_eq!(derived.len(), 1, "{derived:?}");
    derived.remove(0)
}

fn texts(derived: &Derived) -> Vec<&str> {
    let content = derived.scenario.prompts.iter().flat_map(|prompt| &prompt.content);
    content.map(|block| block.json().as_str()).collect()
}

#[test]
fn k_4_prompts_settings_tools_and_results_come_from_the_requests() {
    let derived = only(&[
        body(&[HI]),
        body(&[HI, USE, RESULTS]),
        body(&[HI, USE, RESULTS]),
        body(&[HI, USE, RESULTS, DONE, MORE]),
    ]);
    let Scenario { settings, tools, results, .. } = &derived.scenario;
    assert_eq!(texts(&derived), [r#"{"type":"text","text":"hi"}"#, r#"{"type":"text","text":"more"}"#]);
    assert_eq!((&*settings.model, settings.max_tokens, settings.stream, settings.cache_breakpoints), ("m", 9, true, true));
    assert_eq!(settings.request_extra.as_str(), r#"{"temperature":0.5}"#);
    assert_eq!(settings.system_prompt, Some(Json::of("")), "no prompt is not the default prompt");
    assert_eq!(tools[0].definition.safe, Some(true));
    assert_eq!((tools[1].definition.safe, tools[1].definition.json.as_str()), (None, r#"{"name":"Own","input_schema":{}}"#));
    assert_eq!(results["t1"].content, Some(Json::trusted(r#"[{"type":"text","text":"1e3"}]"#)));
    assert!(!results["t1"].is_error && results["t2"].is_error);
    assert_eq!(results["t2"].latency, Some(Latency::Fixed(Micros::from_secs(9))), "an upper bound");
    assert_eq!(derived.scenario.title.as_deref(), Some("hi"));
    assert_eq!(derived.notes, ["Derived from x.tape.jsonl, 4 exchanges."]);
}

#[test]
fn k_4_what_was_said_before_is_history() {
    let derived = only(&[body(&[HI, DONE, MORE])]);
    assert_eq!(texts(&derived), [r#"{"type":"text","text":"more"}"#]);
    assert_eq!(derived.scenario.history.len(), 2);
    assert_eq!(derived.scenario.history[0].content[0].json().as_str(), r#"{"type":"text","text":"hi"}"#);
}

#[test]
fn k_4_what_a_scenario_cannot_say_is_noted() {
    let beside = RESULTS.replace("]}", r#",{"type":"text","text":"hurry"}]}"#).replace(r#""1e3"},{"type":"text","text":"hurry"}]"#, r#""1e3"}]"#);
    let other_model = body(&[HI, USE, &beside]).replace("\"m\"", "\"n\"");
    let derived = only(&[body(&[HI]), other_model, body(&[HI, DONE, MORE])]);
    assert_eq!(
        derived.notes[1..],
        [
            "Exchange 2 asks with other model; the scenario keeps the first.",
            "Exchange 2 holds other content beside tool results, which was left out.",
            "Exchange 3 goes on from exchange 1 and not from 2; the scenario goes on from the last.",
        ]
    );
}

#[test]
fn k_4_each_thread_has_its_scenario_and_other_endpoints_have_none() {
    let mut tape = tape(&[body(&[HI]), body(&[MORE]), body(&[HI])]);
    tape.exchanges[2].path = "/v1/messages/count_tokens".into();
    thread::assign(&mut tape.exchanges);
    let derived = scenarios(&tape, "x.tape.jsonl");
    let names: Vec<_> = derived.iter().map(|derived| (&*derived.thread, derived.suffix())).collect();
    assert_eq!(names, [("main", String::new()), ("thread-2", String::from(".thread-2"))]);
    assert_eq!(&*derived[1].scenario.tape.as_ref().unwrap().thread, "thread-2");
}

#[test]
fn k_4_a_recording_of_answers_says_what_is_made_up() {
    let mut tape = tape(&[String::new()]);
    let stream = concat!(
        "data: {\"type\":\"message_start\",\"message\":{\"model\":\"m-2\"}}\n\n",
        "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"Own\",\"input\":{}}}\n\n"
    );
    tape.exchanges[0].answer.chunks = [Chunk { at: None, bytes: stream.as_bytes().into() }].into();
    tape.header = TapeHeader { imported_from: Some("a raw event stream".into()), lost: vec!["requests".into()], ..TapeHeader::default() };
    let derived = scenarios(&tape, "x.tape.jsonl").remove(0);
    assert_eq!(texts(&derived), [r#"{"type":"text","text":"(not recorded)"}"#]);
    assert_eq!(&*derived.scenario.settings.model, "m-2");
    assert_eq!(derived.scenario.tools[0].definition.json.as_str(), r#"{"name":"Own","input_schema":{"type":"object"}}"#);
    assert_eq!(
        derived.notes,
        [
            "Derived from x.tape.jsonl, 1 exchange, imported from a raw event stream.",
            "Not in the recording: requests.",
            "The prompt, the settings and the results of tools are made up."
        ]
    );
}
