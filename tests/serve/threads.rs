//! Clients that send only what is new, because the API holds the conversation (message threads): to the scenario they are like any other (K-6).

use std::net::SocketAddr;
use std::time::Duration;

use super::client::{End, Seen, exchange, request, served, setup};
use reenact::live::serve::{AnswerPace, ServeOptions};
use tokio::net::TcpStream;

const PATIENCE: Duration = Duration::from_secs(20);

const ONE_TOOL: &str = r#"
tools = ["Read"]

[[prompt]]
text = "What is in it?"

[[prompt.turn]]
tool = [{ name = "Read", id = "toolu_01", input = { file_path = "/a" }, result = "b" }]

[[prompt.turn]]
text = "A letter."

[[fault]]
at = { request = 2, attempt = 1 }
status = 529

[expect]
requests = 3
"#;

async fn say(address: SocketAddr, thread: &str, more: &str, content: &str) -> Seen {
    let messages = format!(r#"[{{"role":"user","content":{content}}}]"#);
    let body = format!(r#"{{"model":"claude-sonnet-4-5","max_tokens":99,"stream":true,"thread":{thread}{more},"messages":{messages}}}"#);
    let stream = TcpStream::connect(address).await.unwrap();
    exchange(stream, &request("POST", "/v1/messages?beta=true", &body), PATIENCE).await.0
}

fn goes_on(id: &str) -> String {
    format!(r#"{{"type":"continue","previous_message_id":"{id}"}}"#)
}

const TOOLS: &str = r#","tools":[{"name":"Read","input_schema":{"type":"object"}}]"#;

const RESULT: &str = r#"[{"type":"tool_result","tool_use_id":"toolu_01","content":"b"}]"#;

#[test]
fn k_6_a_client_that_sends_only_what_is_new_is_answered_like_one_that_sends_everything() {
    let at_once = ServeOptions { pace: AnswerPace::None, ..ServeOptions::default() };
    let (_, verdict) = served(&setup(ONE_TOOL), at_once, |address| async move {
        let first = say(address, r#"{"type":"create"}"#, TOOLS, r#""What is in it?""#).await;
        assert_eq!((first.status(), first.end), (200, End::Whole), "{}", first.text());
        let thread = goes_on("msg_p1t1");
        assert_eq!(say(address, &thread, "", RESULT).await.status(), 529);
        let second = say(address, &thread, "", RESULT).await;
        assert!(second.body().contains("A letter."), "{}", second.text());
    });
    assert!(verdict.is_fine(), "{verdict}");
    let messages: Vec<_> = verdict.asked.iter().map(|asked| asked.message.as_ref().map(|message| message.messages)).collect();
    assert_eq!(messages, [Some(1), Some(3), Some(3)], "whole conversations are judged: {verdict}");
}

#[test]
fn k_6_what_cannot_go_on_is_refused_as_clients_expect_it() {
    let at_once = ServeOptions { pace: AnswerPace::None, ..ServeOptions::default() };
    let (_, verdict) = served(&setup(ONE_TOOL), at_once, |address| async move {
        let lost = say(address, &goes_on("msg_of_yesterday"), "", RESULT).await;
        let error: serde_json::Value = serde_json::from_str(&lost.body()).unwrap();
        assert_eq!((lost.status(), &error["error"]["details"]["error_code"]), (404, &"thread_not_found".into()));
        assert!(lost.body().contains("msg_of_yesterday"), "{}", lost.body());
        let first = say(address, r#"{"type":"create"}"#, TOOLS, r#""What is in it?""#).await;
        assert_eq!(first.status(), 200);
        let twice = say(address, &goes_on("msg_p1t1"), TOOLS, RESULT).await;
        assert!(twice.status() == 400 && twice.body().contains("`tools`"), "{}", twice.text());
        let odd = say(address, r#""main""#, "", RESULT).await;
        assert!(odd.status() == 400 && odd.body().contains("`thread`"), "{}", odd.text());
    });
    assert_eq!(verdict.failures.iter().filter(|failure| failure.contains("was answered with")).count(), 3, "{verdict}");
}

#[test]
fn k_6_an_answer_that_is_whole_in_spite_of_a_fault_is_held_and_counted() {
    let odd = ONE_TOOL.replace("at = { request = 2, attempt = 1 }\nstatus = 529", "at = { request = 1 }\nunknown_event = true");
    let at_once = ServeOptions { pace: AnswerPace::None, ..ServeOptions::default() };
    let (_, verdict) = served(&setup(&odd.replace("requests = 3", "requests = 2")), at_once, |address| async move {
        assert_eq!(say(address, r#"{"type":"create"}"#, TOOLS, r#""What is in it?""#).await.status(), 200);
        let second = say(address, &goes_on("msg_p1t1"), r#","system":null"#, RESULT).await;
        assert!(second.body().contains("A letter."), "{}", second.text());
        let body = format!(
            r#"{{"model":"claude-sonnet-4-5","thread":{},"messages":[{{"role":"user","content":{RESULT}}}]}}"#,
            goes_on("msg_p1t1")
        );
        let request = request("POST", "/v1/messages/count_tokens?beta=true", &body);
        let counted = exchange(TcpStream::connect(address).await.unwrap(), &request, PATIENCE).await.0.body();
        let counted: serde_json::Value = serde_json::from_str(&counted).unwrap();
        assert!(counted["input_tokens"].as_u64().unwrap_or_else(|| panic!("{counted}")) > 20, "the whole conversation counts: {counted}");
    });
    assert!(verdict.is_fine(), "{verdict}");
}
