//! `doctor`, as a user types it (V-9).

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::{folder, reenact, reports::report};

/// A session of pi up to a call; what comes behind it makes it healthy or broken.
const CALL: &str = r#"{"type":"session","version":3,"id":"s1","cwd":"/w"}
{"type":"message","id":"1","parentId":null,"message":{"role":"user","content":[{"type":"text","text":"Go."}]}}
{"type":"message","id":"2","parentId":"1","message":{"role":"assistant","content":[{"type":"toolCall","id":"t1","name":"bash","arguments":{}}],"stopReason":"toolUse"}}
"#;
const RESULT: &str = r#"{"type":"message","id":"3","parentId":"2","message":{"role":"toolResult","toolCallId":"t1","content":[{"type":"text","text":"one"}]}}
"#;
const PROMPT: &str = r#"{"type":"message","id":"4","parentId":"2","message":{"role":"user","content":[{"type":"text","text":"Go on."}]}}
"#;

fn healthy() -> String {
    format!("{CALL}{RESULT}")
}

fn broken() -> String {
    format!("{CALL}{PROMPT}")
}

#[test]
fn v_9_a_broken_session_is_told_with_place_mechanism_answer_and_scenario() {
    let folder = folder(&[("s/a.jsonl", &healthy()), ("s/b.jsonl", &broken())]);
    let at = folder.path();
    let (text, said, code) = reenact(at, &["doctor", "s", "--out", "out"]);
    assert_eq!((code, &*said), (Some(1), ""), "{text}");
    for part in [
        "BROKEN  s/b.jsonl (pi, 3 messages)",
        "  line 3: dangling-call\n    tool call t1 of line 3 has no result; the next user message stands at line 4",
        "likely: the user interrupted",
        "with 400: messages.1: `tool_use` ids were found without `tool_result` blocks",
        "shown by out/dangling-call-1.toml",
        "2 sessions, 1 broken: 1 dangling-call; 1 scenario written",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(!text.contains("s/a.jsonl"), "{text}");
    let (run, _, code) = reenact(at, &["run", "out/dangling-call-1.toml"]);
    assert!(code == Some(0) && run.contains("`tool_use` ids were found without"), "{run}");
    // The same finding has the same scenario, and a file of somebody else stays.
    let (again, ..) = reenact(at, &["doctor", "s", "--out", "out"]);
    assert_eq!(again, text);
    fs::write(at.join("out/dangling-call-1.toml"), "title = \"Mine\"\n").unwrap();
    assert!(reenact(at, &["doctor", "s", "--out", "out"]).0.contains("out/dangling-call-2.toml"));
    assert_eq!(fs::read_to_string(at.join("out/dangling-call-1.toml")).unwrap(), "title = \"Mine\"\n");
    let (text, said, code) = reenact(at, &["doctor", "s", "--out", "s/a.jsonl/x"]);
    assert!(
        code == Some(2) && text.contains("1 broken: 1 dangling-call") && said.contains("name another folder with --out"),
        "{text}{said}"
    );
    // Nothing is written beside the sessions.
    assert_eq!(fs::read_dir(at.join("s")).unwrap().count(), 2);
    let (text, _, code) = reenact(at, &["doctor", "s/a.jsonl"]);
    assert_eq!((&*text, code), ("1 session, 0 broken\n", Some(0)));
    assert_eq!(reenact(at, &["doctor", "s"]).0.matches("s/b.jsonl").count(), 1, "the file is named once");
}

#[test]
fn v_9_the_document_says_what_the_text_says() {
    let folder = folder(&[("s/a.jsonl", &healthy()), ("s/b.jsonl", &broken()), ("s/c.json", "{\"a\":1}"), ("s/d.md", "x")]);
    let (document, _) = report(folder.path(), &["doctor", "s", "--out", "out"]);
    assert_eq!((document["exit"].as_i64(), document["broken"].as_i64(), document["findings"].as_i64()), (Some(1), Some(1), Some(1)));
    let [a, b] = &document["sessions"].as_array().unwrap()[..] else { panic!("{document}") };
    assert_eq!((a["verdict"].as_str(), &a["refusal"]), (Some("ok"), &Value::Null));
    let finding = &b["findings"][0];
    assert_eq!(
        (finding["kind"].as_str(), finding["rule"].as_str(), finding["places"][0].as_str()),
        (Some("dangling-call"), Some("O-1"), Some("s/b.jsonl:3"))
    );
    assert_eq!((b["refusal"]["status"].as_i64(), finding["scenario"].as_str()), (Some(400), Some("out/dangling-call-1.toml")));
    assert!(
        document["unjudged"][0]["path"] == "s/c.json" && document["others"] == 1 && document["counts"]["dangling-call"] == 1,
        "{document}"
    );
}

#[test]
fn v_9_what_could_not_be_judged_is_never_fine() {
    let folder = folder(&[
        ("s/a.jsonl", &healthy()),
        ("s/empty.jsonl", ""),
        ("s/unknown.json", "{\"a\":1}"),
        ("s/b.tape.jsonl", "{\"reenact_tape\":1}\n"),
        ("s/cut.messages.json", "{\"messages\":["),
    ]);
    let at = folder.path();
    symlink(at.join("s"), at.join("s/loop")).unwrap();
    assert!(Command::new("mkfifo").arg(at.join("s/pipe.jsonl")).status().unwrap().success());
    let (text, _, code) = reenact(at, &["doctor", "s"]);
    assert!(code == Some(2) && text.contains("1 session, 0 broken; 6 files NOT judged"), "{text}");
    for part in [
        "empty.jsonl: it is empty",
        "unknown.json: no agent that is known",
        "b.tape.jsonl: it is a recording or a log of reenact, and no session: `reenact show` reads it",
        "cut.messages.json: it is no JSON object",
        "loop: it is a link",
        "pipe.jsonl: it is a pipe",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    // Something broken is told in any case.
    fs::write(at.join("s/b.jsonl"), broken()).unwrap();
    assert_eq!(reenact(at, &["doctor", "s"]).2, Some(1));
    for (arguments, part) in [
        (&["doctor", "none"][..], "none: it cannot be read (No such file"),
        (&["doctor", "s/a.jsonl", "--agent", "cline"], "a.jsonl: it is no JSON object"),
        (&["doctor", "s/unknown.json", "--agent", "pi"], "no line is the header of a session of pi"),
        (&["doctor", "s/a.jsonl", "--agent", "other"], "known are claude-code, pi, continue"),
    ] {
        let (text, said, code) = reenact(at, arguments);
        assert!(code == Some(2) && format!("{text}{said}").contains(part), "{arguments:?}\n{text}{said}");
    }
    fs::create_dir(at.join("nothing")).unwrap();
    let (text, said, code) = reenact(at, &["doctor", "nothing"]);
    assert!(code == Some(2) && text == "0 sessions, 0 broken\n" && said.contains("there is no session to judge"), "{text}{said}");
}

#[test]
fn v_9_a_call_of_a_session_that_may_still_run_is_a_note() {
    let folder = folder(&[("s/a.jsonl", CALL)]);
    let at = folder.path();
    let (text, _, code) = reenact(at, &["doctor", "s"]);
    assert!(
        code == Some(0)
            && text.contains("note: tool call t1 of line 3 has no result; the history ends there, and its agent may still be running"),
        "{text}"
    );
    let file = fs::File::options().append(true).open(at.join("s/a.jsonl")).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000)).unwrap();
    let (text, _, code) = reenact(at, &["doctor", "s"]);
    assert!(code == Some(1) && text.contains("likely: the agent was killed or closed while the tool ran"), "{text}");
}

#[test]
fn v_9_an_empty_text_of_an_answer_has_a_scenario_of_its_own() {
    let lines = [
        r#"{"type":"user","uuid":"1","version":"2.1.197","message":{"role":"user","content":"Go."}}"#,
        r#"{"type":"assistant","uuid":"2","parentUuid":"1","version":"2.1.197","message":{"id":"m","role":"assistant","content":[{"type":"text","text":""}]}}"#,
        r#"{"type":"assistant","uuid":"3","parentUuid":"2","version":"2.1.197","message":{"id":"m","role":"assistant","content":[{"type":"text","text":"Yes."}]}}"#,
        r#"{"type":"user","uuid":"4","parentUuid":"3","version":"2.1.197","message":{"role":"user","content":" "}}"#,
    ];
    let folder = folder(&[("s/a.jsonl", &lines.join("\n"))]);
    let at = folder.path();
    let (text, _, code) = reenact(at, &["doctor", "s", "--out", "out"]);
    assert!(code == Some(1) && text.contains("2 blank-text; 2 scenarios written"), "{text}");
    for (file, refusal) in [("out/blank-text-1.toml", "must be non-empty"), ("out/blank-text-2.toml", "must contain non-whitespace text")] {
        let (run, _, code) = reenact(at, &["run", file]);
        assert!(code == Some(0) && run.contains(refusal), "{run}");
    }
}

#[test]
fn v_9_a_sub_agent_has_no_next_request() {
    let lines = [
        r#"{"type":"user","uuid":"1","isSidechain":true,"message":{"role":"user","content":"Go."}}"#,
        r#"{"type":"assistant","uuid":"2","parentUuid":"1","isSidechain":true,"message":{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{}}]}}"#,
        r#"{"type":"user","uuid":"3","parentUuid":"2","isSidechain":true,"message":{"role":"user","content":"And?"}}"#,
    ];
    let folder = folder(&[("s/agent-a.jsonl", &lines.join("\n"))]);
    let (text, _, code) = reenact(folder.path(), &["doctor", "s"]);
    assert!(
        code == Some(1) && text.contains("The API would answer a request with this history with 400") && !text.contains("next request"),
        "{text}"
    );
}

#[test]
fn v_9_a_session_that_goes_on_from_another_file_is_judged_over_both() {
    let line = |kind: &str, uuid: &str, parent: &str, content: &str| {
        format!(
            "{{\"type\":\"{kind}\",\"uuid\":\"{uuid}\",\"parentUuid\":\"{parent}\",\"sessionId\":\"s\",\"message\":{{\"role\":\"{kind}\",\"content\":{content}}}}}\n"
        )
    };
    let call = r#"[{"type":"tool_use","id":"t1","name":"Bash","input":{}}]"#;
    let result = r#"[{"type":"tool_result","tool_use_id":"t1","content":"one"}]"#;
    let whole = line("user", "1", "", "\"Go.\"") + &line("assistant", "2", "1", call) + &line("user", "3", "2", result);
    let folder = folder(&[
        ("s/a.jsonl", &line("assistant", "4", "3", "\"Yes.\"")),
        ("s/b.jsonl", &whole),
        ("s/c.jsonl", &line("user", "9", "8", "\"?\"")),
    ]);
    let at = folder.path();
    let (text, _, code) = reenact(at, &["doctor", "s/a.jsonl", "-v"]);
    assert!(
        code == Some(0) && text.contains("ok      s/a.jsonl (claude-code, 4 messages)\n  note: line 1 goes on from line 3 of b.jsonl"),
        "{text}"
    );
    let (text, _, code) = reenact(at, &["doctor", "s/c.jsonl"]);
    assert!(code == Some(1) && text.contains("  line 1: unread-part\n") && text.contains("moved or deleted"), "{text}");
    // Over three files.
    fs::write(at.join("s/d.jsonl"), line("user", "5", "4", "\"And?\"")).unwrap();
    let (text, _, code) = reenact(at, &["doctor", "s/d.jsonl", "-v"]);
    assert!(
        code == Some(0)
            && text.contains("s/d.jsonl (claude-code, 5 messages)")
            && text.contains("line 1 of a.jsonl goes on from line 3 of b.jsonl"),
        "{text}"
    );
    // A file that cannot be read may have the beginning.
    fs::rename(at.join("s/b.jsonl"), at.join("b.jsonl")).unwrap();
    fs::write(at.join("s/b.jsonl"), "").unwrap();
    fs::File::options().write(true).open(at.join("s/b.jsonl")).unwrap().set_len((1 << 30) + 1).unwrap();
    let (text, _, code) = reenact(at, &["doctor", "s/a.jsonl"]);
    assert!(code != Some(0) && text.contains("s/b.jsonl: it may have the beginning of a session beside it"), "{text}");
    fs::rename(at.join("b.jsonl"), at.join("s/b.jsonl")).unwrap();
    // The folder of a bare name is this one.
    let (text, _, code) = reenact(&at.join("s"), &["doctor", "a.jsonl"]);
    assert_eq!((&*text, code), ("1 session, 0 broken\n", Some(0)));
    // What is wrong there is wrong here.
    fs::write(at.join("s/b.jsonl"), whole.replace(result, "\"Stop.\"")).unwrap();
    let (document, _) = report(at, &["doctor", "s/a.jsonl"]);
    assert_eq!(document["sessions"][0]["findings"][0]["places"][0], "s/b.jsonl:2");
}

#[test]
fn v_9_without_a_path_it_looks_where_agents_keep_their_sessions() {
    let folder = folder(&[
        ("h/.pi/agent/sessions/w/a.jsonl", &healthy()),
        ("claude/projects/p/b.jsonl", include_str!("../stores/claude-code.store.jsonl")),
        ("data/crush/crush.db", "SQLite format 3\0"),
    ]);
    let at = folder.path();
    let looked = |home: Option<&Path>, options: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_reenact"));
        command.arg("doctor").args(options).current_dir(at).env_clear();
        home.iter().for_each(|home| _ = command.env("HOME", home));
        let output = command.env("CLAUDE_CONFIG_DIR", at.join("claude")).env("XDG_DATA_HOME", at.join("data")).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (text(output.stdout), text(output.stderr), output.status.code())
    };
    let (text, _, code) = looked(Some(&at.join("h")), &[]);
    assert!(code == Some(2) && text.contains("crush.db: it is the database of crush, whose sessions are not read"), "{text}");
    assert!(text.contains("2 sessions (1 claude-code, 1 pi), 1 side chain, 0 broken; 1 file NOT judged"), "{text}");
    let [there, missing] = ["looked at: ", "not there: "].map(|label| text.split(label).nth(1).unwrap().replace("\n  ", " "));
    let there = there.split("not there").next().unwrap();
    assert!(there.contains("claude/projects (claude-code)") && there.contains("/h/.pi/agent/sessions (pi)"), "{text}");
    assert!(missing.contains("/h/.continue/sessions (continue)") && missing.contains("data/opencode/storage (opencode)"), "{text}");
    let (text, _, code) = looked(Some(&at.join("h")), &["--agent", "pi"]);
    assert!(code == Some(0) && text.ends_with("1 session, 0 broken\n") && !text.contains("claude"), "{text}");
    let (_, said, code) = looked(None, &[]);
    assert!(code == Some(2) && said.contains("HOME is not set"), "{said}");
}

#[test]
fn v_9_the_samples_of_real_stores_are_judged_as_known() {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/stores");
    if !samples.is_dir() {
        eprintln!("SKIPPED: {} is missing", samples.display());
        return;
    }
    let folder = folder(&[]);
    let (text, _, code) = reenact(folder.path(), &["doctor", &samples.to_string_lossy()]);
    assert!(code == Some(1) && text.contains("9 sessions (2 claude-code, 1 cline, 1 continue, 5 pi), 2 broken: 6 dangling-call"), "{text}");
}
