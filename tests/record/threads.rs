//! Sessions whose client sends only what is new, because the API holds the conversation (message threads): on the tape they are as they were sent,
//! and replay as the conversations that they stand for (K-4).

use std::process::Command;
use std::time::Duration;

use super::harness::*;

const READ: &str = r#"{"name":"Read","input_schema":{"type":"object"}}"#;

/// Answers the first request with a tool use and all others with a text.
fn two_answers() -> u16 {
    upstream(|request, stream| {
        let body = String::from_utf8(request.body.clone()).unwrap();
        let event = |data: &str| format!("data: {data}\n\n");
        let events = match body.contains("continue") {
            true => message("A letter.").into_iter().map(|event| event.replace("msg_1", "msg_2")).collect(),
            false => {
                let mut events = message("Let me see.");
                let block = r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"Read","input":{}}}"#;
                let input = r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"file_path\":\"/a\"}"}}"#;
                let stop = r#"{"type":"content_block_stop","index":1}"#;
                events.splice(5..5, [block, input, stop].map(event));
                events.into_iter().map(|event| event.replace("end_turn", "tool_use")).collect::<Vec<_>>()
            }
        };
        stream_head(stream, "");
        for event in events {
            send_chunk(stream, event.as_bytes());
        }
        // The message is whole, and the body has not ended yet when the client continues.
        pause(Duration::from_millis(300));
        let _ = std::io::Write::write_all(stream, b"0\r\n\r\n");
        Then::Next
    })
}

fn body(thread: &str, more: &str, content: &str) -> String {
    let messages = format!(r#"[{{"role":"user","content":{content}}}]"#);
    format!(r#"{{"model":"claude-sonnet-4-5","max_tokens":99,"stream":true,"thread":{thread}{more},"messages":{messages}}}"#)
}

#[test]
fn k_4_a_session_of_which_only_the_new_was_sent_replays_whole() {
    let recorder = Recorder::start(two_answers(), &[]);
    let first = body(r#"{"type":"create"}"#, &format!(r#","tools":[{READ}]"#), r#""What is in it?""#);
    let second = body(
        r#"{"type":"continue","previous_message_id":"msg_1"}"#,
        "",
        r#"[{"type":"tool_result","tool_use_id":"toolu_1","content":"b"}]"#,
    );
    let mut talks = [Talk::open(recorder.port), Talk::open(recorder.port)];
    for (talk, body) in talks.iter_mut().zip([&first, &second]) {
        talk.ask("POST", "/v1/messages?beta=true", "", body.as_bytes());
        assert!(talk.head().unwrap().status.contains("200"));
        while !String::from_utf8(talk.chunk().unwrap().unwrap()).unwrap().contains("message_stop") {}
    }
    for talk in &mut talks {
        while talk.chunk().unwrap().is_some() {}
    }
    let (mut recorder, path) = (recorder, tempfile::tempdir().unwrap());
    recorder.signal("-INT");
    recorder.wait();
    let copy = path.path().join("held.tape.jsonl");
    std::fs::copy(&recorder.tape, &copy).unwrap();
    let tape = reenact::files::tape::read(&copy).unwrap();
    let placed: Vec<_> = tape.exchanges.iter().map(|exchange| (&*exchange.thread, exchange.parent)).collect();
    assert_eq!(placed, [("main", None), ("main", Some(1))]);
    assert_eq!(&*tape.exchanges[1].body, second.as_bytes(), "the tape has what was sent");
    let run = Command::new(env!("CARGO_BIN_EXE_reenact")).arg("run").arg(&copy).output().unwrap();
    let shown = String::from_utf8(run.stdout).unwrap();
    let complaint = String::from_utf8(run.stderr).unwrap();
    // What is derived from a tape is strict: a request that differs from the recorded one would have failed the run.
    assert!(run.status.success(), "{shown}{complaint}");
    for part in ["Let me see.", "result 1A", "A letter.", "completed"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("differs"), "{shown}");
}
