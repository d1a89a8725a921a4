//! Whole sessions from a tape: a client's side calls and sub-agents each get what was recorded for them, in whatever order they come (M-3, K-6).

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::client::{post, served};
use reenact::foreign::verdict::SessionVerdict;
use reenact::import::{ImportOptions, import_file};
use reenact::live::serve::{AnswerPace, ServeOptions};
use reenact::redact::RedactionRules;
use reenact::scenario::tape::{BodyChunk, ClientFolder, Exchange, Provenance, RecordedResponse, ResponseEnd, Tape, TapeHeader};
use reenact::scenario::{conversation, derive, tape};
use reenact::world::setup::RunSetup;

/// One request: whose system prompt and tools, and the texts of its messages, the user's first.
fn body(who: &str, tools: &str, texts: &[&str]) -> String {
    let messages = texts.iter().enumerate().map(|(at, text)| {
        let role = if at % 2 == 0 { "user" } else { "assistant" };
        serde_json::json!({ "role": role, "content": text })
    });
    let tools: Vec<_> =
        tools.split_whitespace().map(|name| serde_json::json!({ "name": name, "input_schema": { "type": "object" } })).collect();
    let messages: Vec<_> = messages.collect();
    serde_json::json!({ "model": "claude-sonnet-4-5", "max_tokens": 99, "system": who, "tools": tools, "messages": messages }).to_string()
}

fn answered(id: u32, body: String, text: &str) -> Exchange {
    let usage = serde_json::json!({ "input_tokens": 5, "output_tokens": 7 });
    let content = serde_json::json!([{ "type": "text", "text": text }]);
    let message = serde_json::json!({
        "type": "message", "id": format!("msg_{id}"), "role": "assistant", "model": "claude-sonnet-4-5",
        "content": content, "stop_reason": "end_turn", "stop_sequence": null, "usage": usage,
    });
    Exchange {
        id,
        thread: "".into(),
        parent: None,
        provenance: Provenance::Recorded,
        at: None,
        method: "POST".into(),
        path: "/v1/messages".into(),
        headers: [].into(),
        body: body.into_bytes().into(),
        answer: RecordedResponse {
            status: 200,
            headers: [].into(),
            head_at: None,
            chunks: [BodyChunk { at: None, bytes: message.to_string().into_bytes().into() }].into(),
            end: ResponseEnd::Complete,
            end_at: None,
        },
    }
}

/// An agent's two requests, between them a title, then a sub-agent's two.
fn session() -> Vec<(String, &'static str)> {
    vec![
        (body("agent", "Read Task", &["Look around."]), "I shall send someone."),
        (body("title", "", &["Look around."]), "Looking around"),
        (body("helper", "Read", &["What is there?"]), "A door."),
        (body("helper", "Read", &["What is there?", "A door.", "Open it."]), "It is open."),
        (body("agent", "Read Task", &["Look around.", "I shall send someone.", "And?"]), "There is an open door."),
    ]
}

fn setup() -> Arc<RunSetup> {
    let mut exchanges: Vec<_> = (1..).zip(session()).map(|(id, (body, text))| answered(id, body, text)).collect();
    conversation::assign(&mut exchanges);
    let tape = Tape { exchanges, ..Tape::default() };
    let scenario = derive::scenarios(&tape, "x.tape.jsonl").remove(0).scenario;
    Arc::new(RunSetup::new(scenario, Some(&tape)).unwrap().with_all_threads(&tape))
}

/// Sends these requests one after another; the text of each answer.
fn asked(bodies: Vec<String>) -> (Vec<String>, SessionVerdict) {
    let at_once = ServeOptions { pace: AnswerPace::None, ..ServeOptions::default() };
    served(&setup(), at_once, |address| async move {
        let mut texts = Vec::new();
        for body in bodies {
            texts.push(text(address, &body).await);
        }
        texts
    })
}

async fn text(address: SocketAddr, body: &str) -> String {
    let seen = post(address, body, Duration::from_secs(20)).await;
    let answer: serde_json::Value = serde_json::from_str(&seen.body()).unwrap_or_default();
    answer["content"][0]["text"].as_str().unwrap_or("nothing").into()
}

#[test]
fn m_3_side_calls_and_sub_agents_may_come_in_any_order() {
    for order in [[0, 1, 2, 3, 4], [1, 0, 2, 3, 4], [2, 0, 3, 4, 1]] {
        let session = session();
        let (texts, verdict) = asked(order.iter().map(|at| session[*at].0.clone()).collect());
        assert_eq!(texts, order.map(|at| session[at].1), "{order:?}: {verdict}");
        assert!(verdict.is_fine() && verdict.remarks.is_empty(), "{order:?}: {verdict}");
        assert!(verdict.to_string().contains("exchange 4 of thread-3"), "{verdict}");
    }
}

#[test]
fn m_3_a_side_call_that_is_left_out_is_a_remark_and_one_too_many_a_failure() {
    let session = session();
    let own = |at: usize| session[at].0.clone();
    let (texts, verdict) = asked(vec![own(0), own(4)]);
    assert_eq!(texts, [session[0].1, session[4].1]);
    assert!(verdict.is_fine(), "{verdict}");
    assert!(verdict.remarks.iter().any(|remark| remark == "exchange 2 of thread-2 was never asked for"), "{verdict}");
    let (texts, verdict) = asked(vec![own(0), own(1), own(1), own(4)]);
    assert_eq!(texts[2], "nothing");
    assert!(verdict.failures.iter().any(|failure| failure.contains("tape_exhausted")), "{verdict}");
}

#[test]
fn m_3_a_conversation_that_is_none_of_the_tape_takes_no_answer_of_others() {
    let session = session();
    let quota = body("quota", "", &["How much is left?"]);
    let (texts, verdict) = asked([quota].into_iter().chain(session.iter().map(|(body, _)| body.clone())).collect());
    assert_eq!(texts[0], "nothing", "{verdict}");
    assert_eq!(texts[1..], session.iter().map(|(_, text)| *text).collect::<Vec<_>>(), "{verdict}");
    assert!(verdict.failures[0].contains("no answer is left for request unrecorded-1/1"), "{verdict}");
}

#[test]
fn m_3_a_thread_that_is_begun_and_not_finished_is_a_failure() {
    let session = session();
    let (_, verdict) = asked([0, 2, 4].map(|at| session[at].0.clone()).to_vec());
    assert_eq!(verdict.failures, ["exchange 4 of thread-3 was never asked for"], "{verdict}");
    assert_eq!(verdict.remarks, ["exchange 2 of thread-2 was never asked for"], "{verdict}");
}

/// Helpers with the same system prompt and tools, whose prompts all begin with the date.
#[test]
fn m_3_helpers_beside_each_other_are_told_by_what_they_are_to_do() {
    let helper = |day: &str, task: &str| body("helper", "Read", &[&format!("Today is {day}.\n{task}")]);
    let (then, now) = ("2026-11-01", "2026-11-02");
    let bodies = [body("agent", "Task", &["Go."]), helper(then, "Look left."), helper(then, "Look right.")];
    let mut exchanges: Vec<_> =
        (1..).zip(bodies).zip(["Gone.", "A wall.", "A door."]).map(|((id, body), text)| answered(id, body, text)).collect();
    conversation::assign(&mut exchanges);
    let tape = Tape { exchanges, ..Tape::default() };
    let scenario = derive::scenarios(&tape, "x.tape.jsonl").remove(0).scenario;
    let setup = Arc::new(RunSetup::new(scenario, Some(&tape)).unwrap().with_all_threads(&tape).for_client(&[]));
    let at_once = ServeOptions { pace: AnswerPace::None, ..ServeOptions::default() };
    let (texts, verdict) = served(&setup, at_once, |address| async move {
        let mut texts = Vec::new();
        for body in [body("agent", "Task", &["Go."]), helper(now, "Look right."), helper(now, "Look left.")] {
            texts.push(text(address, &body).await);
        }
        texts
    });
    assert_eq!(texts, ["Gone.", "A door.", "A wall."], "{verdict}");
    assert!(verdict.is_fine(), "{verdict}");
}

#[test]
fn m_3_what_differs_is_told_by_its_tools_and_named() {
    let session = session();
    let other = [body("agent of today", "Read Task", &["Look about."]), body("title", "", &["Name this."]), session[2].0.clone()];
    let (texts, verdict) = asked(other.to_vec());
    assert_eq!(texts, [0, 1, 2].map(|at| session[at].1), "{verdict}");
    for place in ["request 1 differs from the recorded one at system", "request thread-2/1 differs from the recorded one at messages[0]"] {
        assert!(verdict.failures.iter().any(|failure| failure.starts_with(place)), "{place}: {verdict}");
    }
}

/// The files of a folder and all folders in it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files.append(&mut self::files(&path)),
            false => files.push(path),
        }
    }
    files.sort();
    files
}

/// Sends what was recorded, and holds what comes back against what was recorded; how many answers came.
fn comes_back(path: &Path, tape: &Tape) -> usize {
    let Some(derived) = derive::scenarios(tape, "x.tape.jsonl").into_iter().next() else { return 0 };
    let setup = Arc::new(RunSetup::new(derived.scenario, Some(tape)).unwrap().with_all_threads(tape));
    let asked: Vec<&Exchange> = tape
        .exchanges
        .iter()
        .filter(|exchange| tape::is_messages(&exchange.path) && !exchange.body.is_empty() && exchange.answer.end == ResponseEnd::Complete)
        .collect();
    let at_once = ServeOptions { pace: AnswerPace::None, ..ServeOptions::default() };
    let (seen, verdict) = served(&setup, at_once, |address| async move {
        let mut seen = Vec::new();
        for exchange in asked.iter() {
            let body = String::from_utf8_lossy(&exchange.body);
            seen.push((exchange.id, post(address, &body, Duration::from_secs(20)).await));
        }
        seen
    });
    for (id, seen) in &seen {
        let answer = &tape.exchanges.iter().find(|exchange| exchange.id == *id).unwrap().answer;
        let is_same = (seen.status(), seen.body().as_bytes()) == (answer.status, &*answer.body());
        assert!(is_same, "{}: exchange {id}: {}\n{verdict}", path.display(), seen.text());
    }
    let differs = |failure: &&String| failure.contains("differs from the recorded one");
    assert_eq!(verdict.failures.iter().find(differs), None, "{}", path.display());
    seen.len()
}

#[test]
fn k_6_who_asks_what_was_recorded_gets_what_was_recorded() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = files(&here.join("tests/samples"));
    match here.join("../shared/recordings") {
        folder if folder.is_dir() => paths.append(&mut files(&folder)),
        folder => eprintln!("SKIPPED: no recordings at {}", folder.display()),
    }
    let rules = RedactionRules::with(&[]).unwrap();
    let is_foreign = |path: &&PathBuf| {
        let name = path.to_string_lossy();
        !name.ends_with(".md") && !name.ends_with(".tape.jsonl")
    };
    let recordings = paths.iter().filter(is_foreign);
    let answers: usize = recordings
        .map(|path| comes_back(path, &import_file(path, &ImportOptions::with(&rules)).unwrap_or_else(|error| panic!("{error}")).tape()))
        .sum();
    assert!(answers > 15, "{answers}");
}

#[test]
fn k_10_what_may_vary_makes_no_difference_to_the_recorded_requests() {
    let says = |place: &str, session: &str, more: &str| {
        let system = format!("You work in {place}/src, session {session}.{more}");
        body(&system, "Read", &["Look around."])
    };
    let (then, now) = ("0b5c9f1e-3f0a-4b67-9d55-0123456789ab", "5f0e2c77-1111-4222-8333-0123456789ab");
    let mut exchanges = vec![answered(1, says("/w/then", then, ""), "A door.")];
    conversation::assign(&mut exchanges);
    let header = TapeHeader { folders: vec![(ClientFolder::Work, String::from("/w/then"))], ..TapeHeader::default() };
    let tape = Tape { exchanges, header, ..Tape::default() };
    let scenario = derive::scenarios(&tape, "x.tape.jsonl").remove(0).scenario;
    let setup = RunSetup::new(scenario, Some(&tape)).unwrap().with_all_threads(&tape).for_client(&[(String::from("/w/now/1"), "<work>")]);
    for (more, is_fine) in [("", true), (" Hurry.", false)] {
        let at_once = ServeOptions { pace: AnswerPace::None, ..ServeOptions::default() };
        let body = says("/w/now/1", now, more);
        let (_, verdict) = served(&Arc::new(setup.clone()), at_once, |address| async move { text(address, &body).await });
        assert_eq!(verdict.is_fine(), is_fine, "{more}: {verdict}");
    }
}

#[test]
fn k_2_a_secret_that_the_tape_does_not_have_makes_no_difference() {
    let says = |key: &str, more: &str| body("agent", "Read", &[&format!("My key is {key}.{more}")]);
    let mut exchanges = vec![answered(1, says("REDACTED000001xxxx", ""), "Thank you.")];
    conversation::assign(&mut exchanges);
    let tape = Tape { exchanges, ..Tape::default() };
    let scenario = derive::scenarios(&tape, "x.tape.jsonl").remove(0).scenario;
    let setup = Arc::new(RunSetup::new(scenario, Some(&tape)).unwrap().with_all_threads(&tape));
    for (more, is_fine) in [("", true), (" Keep it.", false)] {
        let at_once = ServeOptions { pace: AnswerPace::None, ..ServeOptions::default() };
        let (_, verdict) = served(&setup, at_once, |address| async move { text(address, &says("sk-made-up-1234567", more)).await });
        assert_eq!(verdict.is_fine(), is_fine, "{more}: {verdict}");
    }
}

/// A client that says where it works, reads the file that the answer names, and sends its text back. Its recorded folder is `THEN`.
const AGENT: &str = r#"
import json, os, sys, urllib.request
def ask(messages):
    body = {"model": "claude-sonnet-4-5", "max_tokens": 1000, "stream": True, "messages": messages,
            "system": "You work.\n<env>\nWorking directory: " + os.getcwd() + "\n</env>",
            "tools": [{"name": "Read", "input_schema": {"type": "object"}}]}
    head = {"x-api-key": "made-up", "anthropic-version": "2023-06-01", "content-type": "application/json"}
    request = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", json.dumps(body).encode(), head)
    blocks = {}
    with urllib.request.urlopen(request) as answer:
        for line in answer:
            if not line.startswith(b"data: "):
                continue
            event = json.loads(line[6:])
            if event["type"] == "content_block_start":
                blocks[event["index"]] = dict(event["content_block"], json="")
            elif event["type"] == "content_block_delta":
                delta = event["delta"]
                blocks[event["index"]]["json"] += delta.get("partial_json", "")
                blocks[event["index"]]["text"] = blocks[event["index"]].get("text", "") + delta.get("text", "")
    return list(blocks.values())
messages = [{"role": "user", "content": "What is in it?"}]
tool = ask(messages)[0]
use = {"type": "tool_use", "id": tool["id"], "name": tool["name"], "input": json.loads(tool["json"])}
path = use["input"]["file_path"]
result = {"type": "tool_result", "tool_use_id": tool["id"], "content": open(path).read() + " in " + path}
messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
print(ask(messages)[0]["text"], file=sys.stderr)
"#;

#[cfg(unix)]
#[test]
fn m_3_a_tape_holds_in_another_folder_than_the_recorded_one() {
    use std::process::Command;
    if Command::new("python3").arg("--version").output().is_err() {
        println!("SKIPPED: there is no python3");
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let root = root.path().canonicalize().unwrap();
    let folder = |name: &str| {
        let folder = root.join(name);
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("notes.txt"), "a letter").unwrap();
        folder
    };
    let (then, now) = (folder("recorded-here"), folder("and-replayed-there"));
    let path = then.join("notes.txt").display().to_string();
    let scenario = format!(
        "tools = [\"Read\"]\n[[prompt]]\ntext = \"What is in it?\"\n[[prompt.turn]]\ntool = [{{ name = \"Read\", input = {{ file_path = \"{path}\" }} }}]\n\
         [[prompt.turn]]\ntext = \"It is a letter, in {path}.\"\n"
    );
    std::fs::write(root.join("read.toml"), scenario).unwrap();
    std::fs::write(root.join("agent.py"), AGENT).unwrap();
    let (scenario, agent, tape) = (root.join("read.toml"), root.join("agent.py"), root.join("session.tape.jsonl"));
    let program = env!("CARGO_BIN_EXE_reenact");
    let run = |folder: &Path, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).current_dir(folder).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr))
    };
    let shown = |path: &PathBuf| path.display().to_string();
    let (scenario, agent, tape) = (shown(&scenario), shown(&agent), shown(&tape));
    // The recorder's upstream is a server of the scenario, which ends when the recorder does.
    let record = format!("{program} record --upstream $ANTHROPIC_BASE_URL --out {tape} -- python3 {agent}");
    let (code, said) = run(&then, &["serve", &scenario, "--timing", "none", "--", "sh", "-c", &record]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains(&format!("It is a letter, in {path}.")), "{said}");
    for folder in [&then, &now] {
        let (code, said) = run(folder, &["serve", &tape, "--timing", "none", "--", "python3", &agent]);
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains(&format!("It is a letter, in {}/notes.txt.", folder.display())), "{said}");
    }
    // A recording without folders, as of another tool, and a client that was started elsewhere.
    let whole = std::fs::read_to_string(&tape).unwrap();
    let (head, rest) = whole.split_once('\n').unwrap();
    let mut header: serde_json::Value = serde_json::from_str(head).unwrap();
    header.as_object_mut().unwrap().remove("folders").unwrap();
    std::fs::write(&tape, format!("{header}\n{rest}")).unwrap();
    let elsewhere = format!("cd {} && python3 {agent}", now.display());
    let (code, said) = run(&root, &["serve", &tape, "--timing", "none", "--", "sh", "-c", &elsewhere]);
    assert_eq!(code, Some(0), "{said}");
}
