//! The scenario of a recorded session (K-4).

use super::*;
use crate::conversation;
use crate::latency::Latency;
use crate::tape::{BodyChunk, Provenance, RecordedResponse, ResponseEnd, TapeHeader};
use reenact_engine::settings::{ContextWindow, HostMessage, NeighbourMerging, RequestPlace, ToolSafety};
use reenact_engine::time::Micros;
use reenact_wire::http::HttpHeader;
use reenact_wire::json::Json;

const SETTINGS: &str = r#""model":"m","max_tokens":9,"stream":true,"temperature":0.5,"metadata":{"user_id":"u"}"#;
const TOOLS: &str = r#""tools":[{"name":"Read","description":"r","input_schema":{}},{"name":"Own","input_schema":{},"cache_control":{"type":"ephemeral"}}]"#;

/// The answer to a request, as the next longer request sends it back.
fn answer(bodies: &[String], at: usize) -> String {
    let messages = |body: &str| match serde_json::from_str::<serde_json::Value>(body) {
        Ok(body) => body["messages"].as_array().cloned().unwrap_or_default(),
        Err(_) => Vec::new(),
    };
    let asked = messages(&bodies[at]);
    let longer = bodies[at + 1..].iter().map(|body| messages(body)).find(|later| later.len() > asked.len() && later.starts_with(&asked));
    let echo = longer.map(|later| later[asked.len()].clone()).filter(|message| message["role"] == "assistant");
    let content = match echo.map(|echo| echo["content"].clone()) {
        Some(serde_json::Value::String(text)) => serde_json::json!([{ "type": "text", "text": text }]),
        Some(content) => content,
        None => serde_json::json!([{ "type": "text", "text": "the end" }]),
    };
    serde_json::json!({ "type": "message", "id": "msg", "content": content, "stop_reason": "end_turn" }).to_string()
}

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
        answer: RecordedResponse {
            status: 200,
            headers: Arc::new([]),
            head_at: None,
            chunks: [BodyChunk { at: None, bytes: answer(bodies, id as usize - 1).into_bytes().into() }].into(),
            end: ResponseEnd::Complete,
            end_at: Some(Micros::from_secs(1)),
        },
    };
    let mut exchanges: Vec<_> = bodies.iter().zip(1..).map(exchange).collect();
    conversation::assign(&mut exchanges);
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

fn only(bodies: &[String]) -> DerivedScenario {
    let mut derived = scenarios(&tape(bodies), "x.tape.jsonl");
    assert_eq!(derived.len(), 1, "{derived:?}");
    derived.remove(0)
}

fn texts(derived: &DerivedScenario) -> Vec<&str> {
    let content = derived.scenario.prompts.iter().flat_map(|prompt| &prompt.content);
    content.map(|block| block.json().as_str()).collect()
}

#[test]
fn k_4_prompts_settings_tools_and_results_come_from_the_requests() {
    let derived = only(&[body(&[HI]), body(&[HI, USE, RESULTS]), body(&[HI, USE, RESULTS, DONE, MORE])]);
    let Scenario { settings, tools, results, .. } = &derived.scenario;
    assert_eq!(texts(&derived), [r#"{"type":"text","text":"hi"}"#, r#"{"type":"text","text":"more"}"#]);
    assert_eq!((&*settings.model, settings.max_tokens, settings.stream, settings.cache_breakpoints), ("m", 9, true, true));
    assert_eq!(settings.request_extra.as_str(), r#"{"temperature":0.5}"#);
    assert_eq!(settings.system_prompt, Some(Json::from_value("")), "no prompt is not the default prompt");
    assert_eq!(tools[0].definition.safe, ToolSafety::Always);
    assert_eq!((tools[1].definition.safe, tools[1].definition.json.as_str()), (ToolSafety::Unknown, r#"{"name":"Own","input_schema":{}}"#));
    assert_eq!(results["t1"].content, Some(Json::from_value("1e3")), "one block of plain text is that text");
    assert!(!results["t1"].is_error && results["t2"].is_error);
    assert_eq!(results["t2"].latency, Some(Latency::Fixed(Micros::from_secs(9))), "an upper bound");
    assert_eq!(derived.scenario.title.as_deref(), Some("hi"));
    assert_eq!(derived.notes, ["Derived from x.tape.jsonl, 3 exchanges."]);
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
    conversation::assign(&mut tape.exchanges);
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
        tape.exchanges[1].answer.headers = header.iter().map(|(name, value)| HttpHeader::new(name, value)).collect();
        let terminal = scenarios(&tape, "x.tape.jsonl").remove(0).scenario.expect.terminal;
        assert_eq!(terminal.as_deref(), again.then_some("tape_exhausted"), "{status} {header:?}");
    }
    let mut tape = tape(&vec![body(&[HI]); 12]);
    tape.exchanges.iter_mut().for_each(|exchange| exchange.answer.status = 500);
    conversation::assign(&mut tape.exchanges);
    assert_eq!(scenarios(&tape, "x.tape.jsonl").remove(0).scenario.expect.terminal, None, "by then clients give up");
}

#[test]
fn k_4_failures_of_the_recorded_client_are_noted() {
    let mut tape = tape(&[body(&[HI]), body(&[HI, DONE, MORE]), body(&[MORE])]);
    tape.exchanges[1].answer.end = ResponseEnd::Reset;
    tape.exchanges[1].answer.chunks = [].into();
    for status in [0, 413] {
        tape.exchanges[2].answer = RecordedResponse { status, end: ResponseEnd::ClientGone, ..tape.exchanges[2].answer.clone() };
        let notes: Vec<_> = scenarios(&tape, "x.tape.jsonl").into_iter().flat_map(|derived| derived.notes).collect();
        let last = match status {
            0 => "Exchange 3 never got an answer: the client went away.",
            _ => "The recording ends with a failed attempt (status 413).",
        };
        for note in ["The answer of exchange 2 was cut.", last] {
            assert!(notes.iter().any(|known| known == note), "{note}: {notes:#?}");
        }
    }
}

/// The answer is known, and the client sent another one back: a replay cannot send both.
#[test]
fn k_4_an_answer_that_comes_back_changed_is_noted() {
    let changed = USE.replace("\"name\":\"Own\"", "\"name\":\"own\"");
    let mut tape = tape(&[body(&[HI]), body(&[HI, USE, RESULTS])]);
    tape.exchanges[1].body = body(&[HI, &changed, RESULTS]).into_bytes().into();
    let notes = scenarios(&tape, "x.tape.jsonl").remove(0).notes;
    assert_eq!(notes[1], "Exchange 2 sends the answer of exchange 1 back changed (at content[1].name), and so does a replay.");
}

#[test]
fn k_4_what_was_said_before_is_history() {
    let derived = only(&[body(&[HI, DONE, MORE])]);
    assert_eq!(texts(&derived), [r#"{"type":"text","text":"more"}"#]);
    assert_eq!(derived.scenario.history.len(), 2);
    assert_eq!(derived.scenario.history[0].content[0].json().as_str(), r#"{"type":"text","text":"hi"}"#);
}

/// The place, what changes there, and what the host says there.
fn host(derived: &DerivedScenario) -> Vec<String> {
    let session = &derived.scenario.settings.session;
    let place = |at: RequestPlace| format!("{}/{}", at.prompt, at.request);
    let changes = session.changes.iter().map(|change| {
        let tools = change.tools.as_ref().map_or_else(String::new, |tools| format!(" tools {}", tools.join(",")));
        format!("{} {} -{}{tools}", place(change.from), change.set, change.unset.join(","))
    });
    let messages = session.host_messages.iter().map(|HostMessage { at, place: goes, message }| {
        format!("{} {goes:?} {} {}", place(*at), message.role.as_str(), message.content.len())
    });
    changes.chain(messages).collect()
}

#[test]
fn k_4_what_changes_in_mid_thread_holds_from_that_request_on() {
    let results = RESULTS.strip_suffix("]}").unwrap();
    let beside = format!(r#"{results},{{"type":"text","text":"hurry"}}]}}"#);
    let second = body(&[HI, USE, &beside]).replace(r#""model":"m","max_tokens":9"#, r#""model":"n","max_tokens":8"#);
    let third = body(&[HI, USE, &beside, DONE, MORE])
        .replace(r#""temperature":0.5,"#, "")
        .replace(r#","stream":true"#, "")
        .replace(r#",{"name":"Own","input_schema":{},"cache_control":{"type":"ephemeral"}}"#, "");
    let derived = only(&[body(&[HI]), second, third]);
    assert_eq!(
        host(&derived),
        [
            r#"1/2 {"max_tokens":8,"model":"n"} -"#,
            r#"2/1 {"max_tokens":9,"model":"m"} -stream,temperature tools Read"#,
            "1/2 Beside user 1",
        ]
    );
    assert_eq!(derived.notes.len(), 1, "{:?}", derived.notes);
}

#[test]
fn k_4_system_messages_and_first_words_keep_their_place() {
    let system = r#"{"role":"system","content":"In Spanish."}"#;
    let first_words = r#"{"role":"assistant","content":"{"}"#;
    let derived =
        only(&[body(&[HI, DONE, system, MORE, first_words]), body(&[HI, DONE, system, MORE, first_words, DONE, system, HI, MORE])]);
    let roles: Vec<&str> = derived.scenario.history.iter().map(|message| message.role.as_str()).collect();
    assert_eq!(roles, ["user", "assistant", "system"]);
    assert_eq!(host(&derived), ["1/1 After assistant 1", "2/1 Before system 1", "2/1 After user 1"]);
    assert_eq!(derived.scenario.settings.neighbours, NeighbourMerging::Apart);
}

#[test]
fn k_4_what_the_client_did_at_the_output_limit_is_a_setting() {
    let mut tape = tape(&[body(&[HI]).replace("\"max_tokens\":9", "\"max_tokens\":8000")]);
    let answer = r#"{"type":"message","content":[{"type":"text","text":"and"}],"stop_reason":"max_tokens"}"#;
    tape.exchanges[0].answer.chunks = [BodyChunk { at: None, bytes: answer.as_bytes().into() }].into();
    let settings = scenarios(&tape, "x.tape.jsonl").remove(0).scenario.settings;
    assert_eq!((settings.session.max_output_recoveries, settings.session.raised_max_tokens), (0, Some(0)));
}

#[test]
fn k_4_a_context_near_the_window_was_left_to_the_client() {
    let window = |model: &str, tokens: u64| {
        let mut tape = tape(&[body(&[HI]).replace("\"m\"", &format!("\"{model}\""))]);
        let usage = format!(r#"{{"input_tokens":{tokens},"output_tokens":10}}"#);
        let answer = format!(r#"{{"type":"message","content":[],"stop_reason":"end_turn","usage":{usage}}}"#);
        tape.exchanges[0].answer.chunks = [BodyChunk { at: None, bytes: answer.into_bytes().into() }].into();
        scenarios(&tape, "x.tape.jsonl").remove(0).scenario.settings.compaction.context_window
    };
    assert_eq!(window("claude-sonnet-4-5", 99_000), ContextWindow::Auto);
    assert_eq!(window("claude-sonnet-4-5", 99_990), ContextWindow::None, "the engine would compact where the client did not");
    assert_eq!(window("claude-opus-5-5", 170_000), ContextWindow::Auto);
    assert_eq!(window("m", 999_000), ContextWindow::Auto, "an unknown model has no window");
}

#[test]
fn k_4_each_thread_has_its_scenario_and_other_endpoints_have_none() {
    let mut tape = tape(&[body(&[HI]), body(&[MORE]), body(&[HI])]);
    tape.exchanges[2].path = "/v1/messages/count_tokens".into();
    conversation::assign(&mut tape.exchanges);
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
        "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
        "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n"
    );
    tape.exchanges[0].answer.chunks = [BodyChunk { at: None, bytes: stream.as_bytes().into() }].into();
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
        derived.notes.iter().any(|note| note == "Exchange 1 continues from a message that is not in the recording."),
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

/// A long conversation is held once, and not once for each of its requests.
#[test]
fn k_4_what_requests_have_in_common_is_held_once() {
    let read = |text: String| Request::from_json(&text).unwrap();
    let (before, mut now) = (read(body(&[HI])), read(body(&[HI, DONE, MORE])));
    share(&mut now, &before);
    assert!(Arc::ptr_eq(&now.messages[0], &before.messages[0]));
    assert_eq!(now, read(body(&[HI, DONE, MORE])));
    let text = |request: &Request| request.tools.as_ref().map(|tools| tools.as_str().as_ptr());
    assert_eq!(text(&now), text(&before));
}
