//! Clients that do more than ask and go on: they look whether the service is there, leave, ask another model, say something else (K-4, K-5).

use std::path::Path;

use reenact::engine::agent_loop::AgentLoop;
use reenact::files::atomic::ExistingFile;
use reenact::import::{ImportedRecording, import_bytes, write};
use reenact::redact::scan::scan;
use reenact::runner::run_file;
use serde_json::{Value, json};

use super::{RULES, options};

/// A scenario that an import wrote: its text, and what fails when it is run.
struct Replay {
    text: String,
    failures: Vec<String>,
}

impl Replay {
    fn is_clean(&self) -> bool {
        self.failures.is_empty() && !self.text.contains("A replay fails")
    }

    fn ends_with_the_tape(&self) -> bool {
        self.text.contains("terminal = \"tape_exhausted\"")
    }
}

fn replays(imported: &ImportedRecording) -> Vec<Replay> {
    let folder = tempfile::tempdir().unwrap();
    let written = write(imported, &folder.path().join("x"), ExistingFile::IsAnError).unwrap();
    let replay = |path: &std::path::PathBuf| Replay {
        text: std::fs::read_to_string(path).unwrap(),
        failures: run_file(path, AgentLoop::default()).unwrap().failures,
    };
    written.scenarios.iter().map(replay).collect()
}

fn imported(name: &str, contents: &str) -> ImportedRecording {
    import_bytes(Path::new(name), contents.as_bytes(), &options()).unwrap()
}

/// A claude-trace log, a line a second.
fn log(lines: &[Value]) -> ImportedRecording {
    let line = |(number, line): (usize, &Value)| {
        let mut line = line.clone();
        let at = 1_772_442_900.0 + number as f64;
        (line["request"]["timestamp"], line["logged_at"]) = (json!(at), json!(at + 0.5));
        format!("{line}\n")
    };
    imported("x.jsonl", &lines.iter().enumerate().map(line).collect::<String>())
}

fn sent(method: &str, path: &str, body: Value, response: Value) -> Value {
    json!({ "request": { "method": method, "url": format!("https://api.anthropic.com{path}"), "headers": {}, "body": body }, "response": response })
}

fn asked(messages: &Value, response: Value) -> Value {
    sent("POST", "/v1/messages", request(messages), response)
}

fn request(messages: &Value) -> Value {
    json!({ "model": "claude-sonnet-4-5", "max_tokens": 64, "messages": messages })
}

fn message(content: &Value, stop_reason: &str) -> Value {
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": content,
        "stop_reason": stop_reason, "stop_sequence": null, "usage": { "input_tokens": 3, "output_tokens": 4 },
    })
}

fn answer(content: &Value, stop_reason: &str) -> Value {
    json!({ "status_code": 200, "headers": {}, "body": message(content, stop_reason) })
}

fn failure(status: u16) -> Value {
    json!({ "status_code": status, "headers": {}, "body": { "type": "error", "error": { "type": "api_error", "message": "no" } } })
}

/// A stream that breaks off.
fn cut() -> Value {
    json!({ "status_code": 200, "headers": {}, "body_raw": STREAM.split_inclusive("\n\n").take(3).collect::<String>() })
}

const STREAM: &str = concat!(
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",",
    "\"content\":[],\"stop_reason\":null,\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"So\"}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\n",
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
);

fn text(text: &str) -> Value {
    json!([{ "type": "text", "text": text }])
}

fn uses(id: &str) -> Value {
    json!([{ "type": "tool_use", "id": id, "name": "Read", "input": {} }])
}

fn first() -> Value {
    json!([{ "role": "user", "content": "hi" }])
}

/// A conversation, its answer, and what the user gives then.
fn further(messages: &Value, answer: &Value, given: &Value) -> Value {
    let mut messages = messages.as_array().unwrap().clone();
    messages.extend([json!({ "role": "assistant", "content": answer }), json!({ "role": "user", "content": given })]);
    json!(messages)
}

fn result(id: &str, found: &str) -> Value {
    json!([{ "type": "tool_result", "tool_use_id": id, "content": found }])
}

fn second() -> Value {
    further(&first(), &uses("toolu_1"), &result("toolu_1", "found"))
}

#[test]
fn k_5_only_questions_are_in_a_conversation() {
    let looks = |method: &str, path: &str, status: u16| {
        sent(method, path, Value::Null, json!({ "status_code": status, "headers": {}, "body": "" }))
    };
    let (asks, goes_on) = (asked(&first(), answer(&uses("toolu_1"), "tool_use")), asked(&second(), answer(&text("so"), "end_turn")));
    for other in
        [looks("OPTIONS", "/v1/messages", 204), looks("HEAD", "/", 404), looks("HEAD", "/", 200), looks("GET", "/v1/messages", 405)]
    {
        let imported = log(&[other.clone(), asks.clone(), other.clone(), goes_on.clone(), other]);
        assert_eq!(imported.others(), 3);
        assert!(!imported.header.lost.iter().any(|lost| lost.contains("gateway")), "{:?}", imported.header.lost);
        let replays = replays(&imported);
        assert!(replays.len() == 1 && replays[0].is_clean() && !replays[0].ends_with_the_tape(), "{:?}", replays[0].failures);
    }
}

#[test]
fn k_4_a_question_that_its_client_did_not_wait_for_is_an_attempt_of_the_same_again() {
    let whole = [
        asked(&first(), answer(&uses("toolu_1"), "tool_use")),
        asked(&second(), Value::Null),
        asked(&second(), answer(&text("so"), "end_turn")),
    ];
    let of_all = replays(&log(&whole));
    assert!(of_all.len() == 1 && of_all[0].is_clean() && !of_all[0].ends_with_the_tape(), "{:?}", of_all[0].failures);
    let of_two = replays(&log(&whole[..2]));
    assert!(of_two[0].is_clean() && of_two[0].ends_with_the_tape(), "{:?}", of_two[0].failures);
}

#[test]
fn k_4_a_cut_answer_that_nobody_asked_for_again_ends_the_tape() {
    let ends = [asked(&first(), answer(&uses("toolu_1"), "tool_use")), asked(&second(), cut())];
    for lines in [&ends[..], &ends[1..]] {
        let replays = replays(&log(lines));
        let length = cut()["body_raw"].as_str().unwrap().len();
        assert!(replays[0].is_clean() && replays[0].ends_with_the_tape(), "{:?}", replays[0].failures);
        assert!(
            replays[0].text.contains(&format!("The answer of exchange {} was cut after {length} bytes.", lines.len())),
            "{}",
            replays[0].text
        );
    }
    let alone: String = STREAM.split_inclusive("\n\n").take(3).collect();
    let replays = replays(&imported("x.sse", &alone));
    assert!(replays[0].is_clean() && replays[0].ends_with_the_tape(), "{:?}", replays[0].failures);
}

#[test]
fn k_4_an_answer_that_is_asked_for_whole_after_its_stream_broke_is_an_attempt() {
    for broken in
        [cut(), json!({ "status_code": 200, "headers": {}, "body_raw": format!("{}{}", cut()["body_raw"].as_str().unwrap(), OVERLOADED) })]
    {
        let mut lines = vec![
            asked(&first(), broken),
            asked(&first(), answer(&uses("toolu_1"), "tool_use")),
            asked(&second(), json!({ "status_code": 200, "headers": {}, "body_raw": STREAM })),
        ];
        for number in [0, 2] {
            lines[number]["request"]["body"]["stream"] = json!(true);
        }
        let replays = replays(&log(&lines));
        assert!(replays.len() == 1 && replays[0].is_clean() && !replays[0].ends_with_the_tape(), "{:?}", replays[0].failures);
    }
}

const OVERLOADED: &str =
    "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";

#[test]
fn k_4_a_stop_for_tools_that_names_none_asks_for_nothing() {
    let replays = replays(&log(&[asked(&first(), answer(&text("so"), "tool_use"))]));
    assert!(replays[0].is_clean() && !replays[0].ends_with_the_tape(), "{:?}", replays[0].failures);
}

#[test]
fn k_4_as_many_attempts_as_the_client_made_are_one_conversation() {
    let mut lines = vec![asked(&first(), failure(529)); 14];
    lines.push(asked(&first(), answer(&text("so"), "end_turn")));
    let of_all = replays(&log(&lines));
    assert!(of_all.len() == 1 && of_all[0].is_clean() && !of_all[0].ends_with_the_tape(), "{:?}", of_all[0].failures);
    let given_up = replays(&log(&lines[..14]));
    assert!(given_up.len() == 1 && given_up[0].is_clean() && !given_up[0].ends_with_the_tape(), "{:?}", given_up[0].failures);
}

#[test]
fn k_4_where_a_thread_ends_before_the_recording_it_says_where_that_goes_on() {
    let tool = || asked(&first(), answer(&uses("toolu_1"), "tool_use"));
    let mut other_model = asked(&second(), answer(&text("so"), "end_turn"));
    other_model["request"]["body"]["model"] = json!("claude-haiku-4-5");
    let shortened = further(&first(), &uses("toolu_1"), &result("toolu_1", "[cleared]"));
    let left = json!([first()[0], { "role": "user", "content": "something else" }]);
    let table = [
        (
            vec![tool(), asked(&second(), failure(529)), other_model],
            "This thread ends with a failed attempt",
            "Exchange 3 continues in x.thread-2.toml: the same words for another model.",
        ),
        (
            vec![tool(), asked(&second(), answer(&uses("toolu_2"), "tool_use")), asked(&shortened, answer(&text("so"), "end_turn"))],
            "This thread ends with an answer that asks for more",
            "Exchange 3 continues in x.thread-2.toml: other words in the place of block 3 of 3.",
        ),
        (
            vec![asked(&first(), cut()), asked(&left, answer(&text("so"), "end_turn"))],
            "The answer of exchange 1 was cut",
            "Exchange 2 continues in x.thread-2.toml: more words, though no whole answer came.",
        ),
    ];
    for (lines, end, goes_on) in table {
        let replays = replays(&log(&lines));
        let text = &replays[0].text;
        assert!(replays.len() == 2 && replays.iter().all(Replay::is_clean), "{text}");
        assert!(text.contains(end) && text.contains(goes_on) && !text.contains("The recording ends"), "{text}");
    }
}

#[test]
fn k_5_a_question_that_cannot_be_read_is_told() {
    let mut lines = vec![asked(&first(), answer(&text("so"), "end_turn")), asked(&first(), answer(&text("so"), "end_turn"))];
    lines[1]["request"]["body"] = json!("{\"model\":\"m\",\"messages\":[{\"ro");
    let imported = log(&lines);
    assert_eq!(imported.unreadable().len(), 1);
    assert!(
        imported.unreadable()[0].starts_with("exchange 2 (status 200) is in no scenario: its request is not JSON (EOF"),
        "{:?}",
        imported.unreadable()
    );
    assert_eq!(imported.others(), 0);
}

#[test]
fn k_4_ids_of_tool_uses_that_begin_anew_bring_each_its_own_result() {
    let third = further(&second(), &uses("toolu_1"), &result("toolu_1", "found more"));
    let lines = [
        asked(&first(), answer(&uses("toolu_1"), "tool_use")),
        asked(&second(), answer(&uses("toolu_1"), "tool_use")),
        asked(&third, answer(&text("so"), "end_turn")),
    ];
    let replays = replays(&log(&lines));
    assert!(replays.len() == 1 && replays[0].is_clean(), "{}", replays[0].text);
}

#[test]
fn k_5_a_request_and_an_answer_without_what_is_around_them_are_read() {
    for response in [message(&text("so"), "end_turn"), json!(STREAM)] {
        let pair = json!({ "request": request(&first()), "response": response });
        for contents in [pair.to_string(), json!([pair, pair]).to_string()] {
            let imported = imported("x.json", &contents);
            assert_eq!(imported.exchanges[0].outline().answer.status, 200);
            assert!(replays(&imported).iter().all(Replay::is_clean));
        }
    }
}

#[test]
fn k_5_each_answer_of_a_stream_is_an_exchange() {
    for stream in [STREAM.to_owned(), STREAM.lines().filter(|line| !line.starts_with("event:")).map(|line| format!("{line}\r\n")).collect()]
    {
        let imported = imported("x.sse", &format!(": recorded\n\n{stream}{stream}"));
        assert_eq!(imported.exchanges.len(), 2);
        assert!(replays(&imported)[0].is_clean());
    }
}

#[test]
fn k_5_an_archive_without_requests_says_so() {
    let har = |post_data: Value| {
        let request = json!({ "method": "POST", "url": "https://api.anthropic.com/v1/messages", "headers": [], "postData": post_data });
        let response = json!({ "status": 200, "headers": [], "content": { "text": message(&text("so"), "end_turn").to_string() } });
        let entries = json!([{ "request": request, "response": response }]);
        imported("x.har", &json!({ "log": { "version": "1.2", "creator": {}, "entries": entries } }).to_string())
    };
    let says_so = |imported: &ImportedRecording| imported.header.lost.iter().any(|lost| lost == "requests");
    assert!(says_so(&har(Value::Null)) && !says_so(&har(json!({ "text": request(&first()).to_string() }))));
}

#[test]
fn k_2_no_secret_is_found_in_what_names_the_secrets() {
    let mut line = asked(&first(), answer(&text("so"), "end_turn"));
    line["request"]["headers"] = json!({ "x-api-key": "a", "x-auth-token": "b", "x-goog-api-key": "c", "x-session-token": "d" });
    let text = &replays(&log(&[line]))[0].text;
    assert!(text.contains("header x-auth-token"), "{text}");
    let found = scan(text.as_bytes(), &RULES);
    assert!(found.findings.is_empty(), "{found:?}");
}
