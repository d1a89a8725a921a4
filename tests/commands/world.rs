//! `world`: lines in, lines out, for clients in virtual time (G-1).

use super::{HELLO, folder};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

/// The replies to these lines, and the exit code at the end of input.
fn replies(lines: &[Value], scenario: &str) -> (Vec<Value>, Option<i32>) {
    let folder = folder(&[("a.toml", scenario)]);
    let mut child = Command::new(env!("CARGO_BIN_EXE_reenact"))
        .arg("world")
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    for line in lines {
        writeln!(input, "{line}").unwrap();
    }
    drop(input);
    let output = BufReader::new(child.stdout.take().unwrap());
    let replies = output.lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    (replies, child.wait().unwrap().code())
}

fn open(members: Value) -> Value {
    let mut line = json!({ "op": "open", "protocol": 1, "scenario": "a.toml" });
    line.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    line
}

#[test]
fn g_1_many_runs_go_over_one_process() {
    let request = |run: u64| {
        let body =
            json!({ "model": "claude-sonnet-4-5", "max_tokens": 9, "stream": true, "messages": [{ "role": "user", "content": "Hello?" }] });
        let headers = json!([["x-api-key", "k"], ["anthropic-version", "2023-06-01"]]);
        json!({
            "op": "request", "run": run, "at": 0, "method": "POST", "path": "/v1/messages", "headers": headers, "body": body.to_string()
        })
    };
    let end = |run: u64| json!({ "op": "end", "run": run, "at": 60_000_000 });
    let lines = [open(json!({})), open(json!({ "seed": 2 })), request(2), request(1), end(1), end(2)];
    let (replies, code) = replies(&lines, HELLO);
    assert_eq!((replies.len(), code), (6, Some(0)));
    assert_eq!((&replies[0]["run"], &replies[1]["run"]), (&json!(1), &json!(2)));
    assert_ne!(replies[2]["pieces"], replies[3]["pieces"], "each has its seed");
    assert_eq!((&replies[4]["is_fine"], &replies[5]["is_fine"]), (&json!(true), &json!(true)), "{}", replies[4]);
}

#[test]
fn g_1_errors_are_replies_and_the_program_goes_on() {
    let (replies, code) = replies(&[open(json!({})), json!({ "op": "end", "run": 1, "at": 0 }), json!("?")], "[[prompt]]\ntxt = 1\n");
    let told: Vec<&str> = replies.iter().map(|reply| reply["error"].as_str().unwrap()).collect();
    assert!(told[0].contains("a.toml:2:1: unknown key `txt`"), "{told:?}");
    assert!(told[1].contains("no open run 1"), "{told:?}");
    assert_eq!((told.len(), code), (3, Some(0)));
}
