//! What a recorded session says of its scenario (K-4).

use super::*;
use crate::engine::time::Micros;
use crate::scenario::latency::Latency;
use crate::scenario::tape::{Answer, Chunk, End, Provenance, TapeHeader};
use crate::scenario::thread;
use crate::wire::http::Header;
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
    let derived = only(&[body(&[HI]), body(&[HI, USE, RESULTS]), body(&[HI, USE, RESULTS]), body(&[HI, USE, RESULTS, DONE, MORE])]);
    let Scenario { settings, tools, results, .. } = &derived.scenario;
    assert_eq!(texts(&derived), [r#"{"type":"text","text":"hi"}"#, r#"{"type":"text","text":"more"}"#]);
    assert_eq!((&*settings.model, settings.max_tokens, settings.stream, settings.cache_breakpoints), ("m", 9, true, true));
    assert_eq!(settings.request_extra.as_str(), r#"{"temperature":0.5}"#);
    assert_eq!(settings.system_prompt, Some(Json::of("")), "no prompt is not the default prompt");
    assert_eq!(tools[0].definition.safe, Some(true));
    assert_eq!((tools[1].definition.safe, tools[1].definition.json.as_str()), (None, r#"{"name":"Own","input_schema":{}}"#));
    assert_eq!(results["t1"].content, Some(Json::of("1e3")), "one block of plain text is that text");
    assert!(!results["t1"].is_error && results["t2"].is_error);
    assert_eq!(results["t2"].latency, Some(Latency::Fixed(Micros::from_secs(9))), "an upper bound");
    assert_eq!(derived.scenario.title.as_deref(), Some("hi"));
    assert_eq!(derived.notes, ["Derived from x.tape.jsonl, 4 exchanges."]);
}

#[test]
fn k_4_only_one_plain_block_becomes_text() {
    let table = [
        (r#"[{"text":"a\n","type":"text"}]"#, r#""a\n""#),
        (r#"[{"type":"text","text":""}]"#, ""),
        (r#"[{"type":"text","text":"a","citations":[]}]"#, ""),
        (r#"[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#, ""),
        (r#"[{"type":"image","text":"a"}]"#, ""),
        (r#"[{"type":"text","text":"\ud83d"}]"#, ""),
        (r#""a""#, ""),
        ("[]", ""),
    ];
    for (content, text) in table {
        let expected = if text.is_empty() { content } else { text };
        assert_eq!(settings::shorthand(Json::trusted(content)).as_str(), expected);
    }
}

/// 429, 429, 200, and then the next request: the attempts are answers on the tape, and add nothing.
#[test]
fn k_4_failed_attempts_add_nothing() {
    let mut tape = tape(&[body(&[HI]), body(&[HI]), body(&[HI]), body(&[HI, DONE, MORE])]);
    for failed in &mut tape.exchanges[..2] {
        failed.answer.status = 429;
    }
    let derived = scenarios(&tape, "x.tape.jsonl").remove(0);
    assert_eq!(texts(&derived), [r#"{"type":"text","text":"hi"}"#, r#"{"type":"text","text":"more"}"#]);
    assert_eq!((derived.notes.len(), derived.scenario.expect.terminal), (1, None));
    assert!(tape.exchanges.iter().all(|exchange| &*exchange.thread == "main"));
}

#[test]
fn k_4_a_replay_asks_again_after_a_failure_that_is_tried_again() {
    let table = [
        (0, None, true),
        (401, None, true),
        (429, None, true),
        (529, Some(("x-should-retry", "false")), false),
        (400, Some(("x-should-retry", "true")), true),
        (400, None, false),
        (413, None, false),
        (429, Some(("retry-after", "30")), true),
        (429, Some(("retry-after", "90000")), false),
    ];
    for (status, header, again) in table {
        let mut tape = tape(&[body(&[HI]), body(&[HI, DONE, MORE])]);
        tape.exchanges[1].answer.status = status;
        tape.exchanges[1].answer.headers = header.iter().map(|(name, value)| Header::new(name, value)).collect();
        let terminal = scenarios(&tape, "x.tape.jsonl").remove(0).scenario.expect.terminal;
        assert_eq!(terminal.as_deref(), again.then_some("tape_exhausted"), "{status} {header:?}");
    }
    let mut tape = tape(&vec![body(&[HI]); 12]);
    tape.exchanges.iter_mut().for_each(|exchange| exchange.answer.status = 529);
    assert_eq!(scenarios(&tape, "x.tape.jsonl").remove(0).scenario.expect.terminal, None, "by then clients give up");
}

#[test]
fn k_4_failures_and_faults_of_the_recorded_client_are_noted() {
    let mut tape = tape(&[body(&[HI, MORE]), body(&[HI, MORE, RESULTS]), body(&[HI, MORE, RESULTS, DONE, MORE]), body(&[HI])]);
    tape.exchanges[1].answer.end = End::Reset;
    tape.exchanges[2].answer.status = 400;
    for status in [0, 413] {
        tape.exchanges[3].answer = Answer { status, end: End::ClientGone, ..tape.exchanges[3].answer.clone() };
        let notes: Vec<_> = scenarios(&tape, "x.tape.jsonl").into_iter().flat_map(|derived| derived.notes).collect();
        let (third, fourth) = match status {
            0 => ("The recording ends with a failed attempt (status 400).", "Exchange 4 never got an answer: the client went away."),
            _ => ("The answer of exchange 4 was cut.", "The recording ends with a failed attempt (status 413)."),
        };
        for note in [
            "The first request has messages of one role in a row; an engine that joins them sends another request.",
            "Exchange 2 leaves out the answer of exchange 1; an engine that keeps it sends another request.",
            "The answer of exchange 2 was cut.",
            third,
            fourth,
        ] {
            assert!(notes.iter().any(|known| known == note), "{note}: {notes:#?}");
        }
    }
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
    let beside =
        RESULTS.replace("]}", r#",{"type":"text","text":"hurry"}]}"#).replace(r#""1e3"},{"type":"text","text":"hurry"}]"#, r#""1e3"}]"#);
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
        "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"Own\",\"input\":{}}}\n\n",
        "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n"
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
            "The prompt, the settings and the results of tools are made up.",
            "The recording ends with an answer that asks for more, so a replay ends when the tape does."
        ]
    );
    assert_eq!(derived.scenario.expect.terminal.as_deref(), Some("tape_exhausted"));
}

#[test]
fn k_4_what_goes_on_from_a_message_that_was_not_recorded_is_said() {
    let thread = r#""thread":{"type":"continue","previous_message_id":"msg_0"}"#;
    let derived = only(&[format!("{{{SETTINGS},{thread},\"messages\":[{RESULTS}]}}")]);
    assert!(
        derived.notes.iter().any(|note| note == "Exchange 1 goes on from a message that the recording does not hold."),
        "{:?}",
        derived.notes
    );
}

#[test]
fn k_4_the_title_is_what_the_user_said() {
    let reminded = r#"{"role":"user","content":[{"type":"text","text":"<system-reminder>\nToday\n</system-reminder>"},{"type":"text","text":"\n Do it. \nNow."}]}"#;
    assert_eq!(only(&[body(&[reminded])]).scenario.title.as_deref(), Some("Do it."));
    let tagged = r#"{"role":"user","content":"<task>do it</task>"}"#;
    assert_eq!(only(&[body(&[tagged])]).scenario.title.as_deref(), Some("<task>do it</task>"));
}
