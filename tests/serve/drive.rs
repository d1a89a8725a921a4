//! Driving a client of our own: a python program that asks over its standard library, runs one tool, and obeys signals (K-7, K-9, K-10).

#![cfg(unix)]

use std::future::Future;
use std::num::NonZeroUsize;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use super::client::setup;
use reenact::children::WatcherProgram;
use reenact::explore::explorer::Workers as _;
use reenact::live::drive::client_sweep::{ClientSweep, ClientSweepReport, ClientSweepRow, RowVerdict, client_sweep};
use reenact::live::drive::{
    ActionOutcome, ChildSignal, ClientAction, ClientExit, ClientHarness, ClientRun, ClientSurroundings, ClientTerminal, SignalTarget, drive,
};
use reenact::live::serve::{AnswerPace, ServeOptions};
use reenact::runner::explore::Threads;
use reenact::world::setup::RunSetup;

pub(crate) const TWO_TURNS: &str = r#"
title = "A tool and an answer"
tools = ["Read"]

[[prompt]]
text = "Hello?"

[[prompt.turn]]
text = "Let me see."
tool = [{ name = "Read", input = { file_path = "/w/a" }, id = "toolu_read" }]

[[prompt.turn]]
text = "Done."
"#;

/// For clients that do something else.
const NOT_ASKED: &str = "[expect]\nrequests = 0\n";

/// Talks to the API as headless agents do. `MODE` says how well it behaves: `good`, `silent` (no result line when interrupted), `orphan` (a call
/// without its result when prompted again), `child` (leaves a process behind).
const CLIENT: &str = r#"
import json, os, signal, subprocess, sys, time, urllib.request, uuid

mode = os.environ.get("MODE", "good")
state = os.path.join(os.environ["HOME"], "history.json")
session = str(uuid.uuid4())

# The handler of a signal says something, too. It must not find a buffer of the interrupted line: Python refuses to enter one twice.
def say(kind, **rest):
    os.write(1, (json.dumps({"type": kind, "session_id": session, **rest}) + "\n").encode())

def stop(signum, frame):
    if mode != "silent":
        say("result", subtype="error_during_execution", is_error=True, duration_ms=7)
    if mode == "child":
        subprocess.Popen(["sleep", "60"], start_new_session=True)
    os._exit(0 if signum == signal.SIGINT else 143)

signal.signal(signal.SIGINT, stop)
signal.signal(signal.SIGTERM, stop)

def ask(messages):
    body = {"model": "claude-sonnet-4-5", "max_tokens": 1000, "stream": True, "messages": messages,
            "metadata": {"user_id": "user_" + uuid.uuid4().hex + "_session_" + session},
            "tools": [{"name": "Read", "description": "reads", "input_schema": {"type": "object"}}]}
    request = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", json.dumps(body).encode(),
                                     {"content-type": "application/json", "x-api-key": os.environ["ANTHROPIC_API_KEY"], "anthropic-version": "2023-06-01"})
    blocks, stopped = {}, False
    with urllib.request.urlopen(request) as answer:
        for line in answer:
            if not line.startswith(b"data: "):
                continue
            event = json.loads(line[6:])
            if event["type"] == "content_block_start":
                blocks[event["index"]] = dict(event["content_block"], text="", json="")
            elif event["type"] == "content_block_delta":
                block = blocks[event["index"]]
                block["text"] += event["delta"].get("text", "")
                block["json"] += event["delta"].get("partial_json", "")
            elif event["type"] == "message_stop":
                stopped = True
    if not stopped:
        raise IOError("the stream ended early")
    content = []
    for block in blocks.values():
        if block["type"] == "text":
            content.append({"type": "text", "text": block["text"]})
        else:
            content.append({"type": "tool_use", "id": block["id"], "name": block["name"], "input": json.loads(block["json"] or "{}")})
    return content

again = len(sys.argv) > 1
messages = json.load(open(state)) if again else []
if again and mode != "orphan":
    calls = [block for block in messages[-1]["content"] if block["type"] == "tool_use"] if messages and messages[-1]["role"] == "assistant" else []
    results = [{"type": "tool_result", "tool_use_id": call["id"], "content": "interrupted", "is_error": True} for call in calls]
else:
    results = []
if again and mode == "orphan" and messages[-1]["role"] == "user":
    messages.pop()
prompt = results + [{"type": "text", "text": "Go on." if again else "Hello?"}]
if messages and messages[-1]["role"] == "user":
    messages[-1]["content"] += prompt
else:
    messages.append({"role": "user", "content": prompt})
say("system", cwd=os.getcwd())
try:
    while True:
        json.dump(messages, open(state, "w"))
        content = ask(messages)
        messages.append({"role": "assistant", "content": content})
        json.dump(messages, open(state, "w"))
        say("assistant", content=content)
        calls = [block for block in content if block["type"] == "tool_use"]
        if not calls:
            break
        exec(os.environ.get("TOOL", ""))
        time.sleep(float(os.environ.get("TOOL_SECONDS", "0")))
        messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": call["id"], "content": "read"} for call in calls]})
    say("result", subtype="success", is_error=False, duration_ms=12)
except Exception as error:
    say("result", subtype="error", is_error=True, error=type(error).__name__)
    sys.exit(1)
"#;

pub(crate) fn has_python() -> bool {
    let is_there = Command::new("python3").arg("--version").output().is_ok_and(|output| output.status.success());
    if !is_there {
        println!("SKIPPED: there is no python3");
    }
    is_there
}

/// A client of this command, with a variable that names its defect.
pub(crate) fn harness(command: Vec<String>, (name, defect): (&str, &str)) -> ClientHarness {
    ClientHarness {
        command,
        watcher: WatcherProgram::from_path(env!("CARGO_BIN_EXE_reenact")),
        profile: None,
        files: None,
        setup: None,
        again: None,
        variables: vec![(name.into(), defect.into())],
        surroundings: ClientSurroundings::Clean,
        terminal: ClientTerminal::None,
        input: None,
        keeps_input_open: false,
        patience: Duration::from_secs(60),
        options: ServeOptions { pace: AnswerPace::None, ..ServeOptions::default() },
    }
}

pub(crate) fn client(mode: &str) -> ClientHarness {
    harness(["python3", "-c", CLIENT].map(String::from).to_vec(), ("MODE", mode))
}

pub(crate) fn wait<R>(work: impl Future<Output = R>) -> R {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(work)
}

/// Clients wait most of their time: four at once are done sooner. The results are in the order of the items.
pub(crate) fn side_by_side<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    Threads(NonZeroUsize::new(4).unwrap()).map(items.iter().collect(), work)
}

pub(crate) fn driven(setup: &Arc<RunSetup>, how: &ClientHarness) -> ClientRun {
    wait(drive(setup, how, None)).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn k_7_k_10_five_runs_of_a_client_give_the_same_transcript() {
    if !has_python() {
        return;
    }
    let setup = setup(TWO_TURNS);
    let first = driven(&setup, &client("good"));
    assert!(first.failures.is_empty(), "{:#?}\n{}", first.failures, first.output.errors);
    assert_eq!((first.output.ended, first.output.results()), (ClientExit::Code(0), 1));
    for part in [
        "request   1: claude-sonnet-4-5",
        "tools     Read (1:",
        "answer    turn 1.1: 200, complete",
        "\"duration_ms\":\"<durations>\"",
        "<uuid 1>",
        "<work>",
    ] {
        assert!(first.text.contains(part), "{part:?} is not in\n{}", first.text);
    }
    let told = first.verdict.to_string();
    assert!(told.contains("note: what varies was replaced by the rules durations, folders, "), "{told}");
    assert!(told.contains("asked: ") && told.contains("processes left behind, an end in time"), "{told}");
    assert!(told.contains("not asked: what tools do, the exit code, the text of the output, "), "{told}");
    for _ in 0..4 {
        assert_eq!(driven(&setup, &client("good")).text, first.text);
    }
    let other = driven(&self::setup_saying("Finished."), &client("good"));
    assert_ne!(other.text, first.text, "what matters shows");
}

fn setup_saying(text: &str) -> Arc<RunSetup> {
    setup(&TWO_TURNS.replace("Done.", text))
}

#[test]
fn k_7_a_client_lives_in_folders_and_variables_of_its_own() {
    let shell = |surroundings| ClientHarness {
        command: ["sh", "-c", "env; pwd; cat; echo oops >&2; exit 3"].map(String::from).to_vec(),
        variables: vec![(String::from("MINE"), String::from("yes"))],
        surroundings,
        ..client("good")
    };
    let clean = driven(&setup(TWO_TURNS), &shell(ClientSurroundings::Clean));
    let printed = clean.output.lines.join("\n");
    assert!(
        !printed.contains("CARGO") && printed.contains("MINE=yes") && printed.contains("ANTHROPIC_API_KEY=sk-ant-test-000"),
        "{printed}"
    );
    assert!(printed.contains("HOME=") && !printed.contains("HOME=/root\n"), "{printed}");
    assert_eq!((clean.output.ended, clean.output.errors.as_str()), (ClientExit::Code(3), "oops\n"));
    let home = printed.lines().find_map(|line| line.strip_prefix("HOME=")).unwrap();
    assert!(!std::path::Path::new(home).exists(), "what was made for the run is removed");
    let kept = driven(&setup(TWO_TURNS), &shell(ClientSurroundings::Inherited));
    assert!(kept.output.lines.iter().any(|line| line.starts_with("CARGO")), "{:?}", kept.output.lines);
}

#[test]
fn k_7_an_exit_code_that_was_not_wanted_and_a_client_without_end_fail() {
    let shell = |text: &str, patience| ClientHarness { command: ["sh", "-c", text].map(String::from).to_vec(), patience, ..client("good") };
    let wanted = setup(&format!("{TWO_TURNS}\n{NOT_ASKED}\n[drive]\nexit = 3\n"));
    let fine = driven(&wanted, &shell("echo it is away >&2; exit 3", Duration::from_secs(9)));
    assert!(fine.failures.is_empty(), "{:?}", fine.failures);
    let other = driven(&wanted, &shell("exit 4", Duration::from_secs(9)));
    assert_eq!(other.failures, ["expected exit code 3, got exit 4"]);
    let endless = driven(&setup(TWO_TURNS), &shell("sleep 60", Duration::from_millis(300)));
    assert_eq!(endless.output.ended, ClientExit::TimedOut);
    assert!(endless.failures.iter().any(|failure| failure.contains("did not end in time")), "{:?}", endless.failures);
    assert!(endless.failures[0].contains("no request for a message came"), "{:?}", endless.failures);
}

#[test]
fn k_10_a_rule_that_replaced_nothing_is_noted() {
    let rules = "[[normalise]]\nname = \"build\"\nafter = \"build \"\n\n[[normalise]]\nname = \"host\"\nmember = \"hsot\"\n";
    let printing = ["sh", "-c", "echo build 7; echo '{\"host\":\"a\"}'"].map(String::from).to_vec();
    let driven = driven(&setup(&format!("{TWO_TURNS}\n{NOT_ASKED}\n{rules}")), &ClientHarness { command: printing, ..client("good") });
    assert!(driven.text.contains("build <build>"), "{}", driven.text);
    let notes: Vec<&String> = driven.verdict.remarks.iter().filter(|remark| remark.contains("[[normalise]]")).collect();
    assert!(notes.len() == 1 && notes[0].starts_with("[[normalise]] `host` replaced nothing"), "{notes:?}");
}

#[test]
fn k_9_a_process_that_is_left_behind_is_found_and_killed() {
    let how = |text: &str| ClientHarness { command: ["sh", "-c", text].map(String::from).to_vec(), ..client("good") };
    let setup = setup(&format!("{TWO_TURNS}\n{NOT_ASKED}"));
    let left = driven(&setup, &how("sleep 61 & setsid sleep 62 & sleep 0.2"));
    assert_eq!(left.output.left_behind, ["sleep", "sleep"], "one of them left the group");
    assert!(left.failures[0].contains("left processes behind"), "{:?}", left.failures);
    let running = Command::new("sh").args(["-c", "ps -eo args | grep -E '^sleep 6[12]$'"]).output().unwrap();
    assert!(running.stdout.is_empty(), "{}", String::from_utf8_lossy(&running.stdout));
    assert!(driven(&setup, &how("sleep 0.1 & true")).failures.is_empty(), "who goes soon is not left behind");
}

fn swept(mode: &str, what: ClientAction, again: bool) -> ClientSweepReport {
    let script = CLIENT.replace('\'', "'\\''");
    let again = again.then(|| ["sh".into(), "-c".into(), format!("python3 -c '{script}' again")].to_vec());
    let how = ClientHarness { again, ..client(mode) };
    let ways = ClientSweep { lead: Duration::from_millis(60), wait: Duration::from_millis(150), ..ways(vec![what], &[]) };
    wait(client_sweep(&setup(TWO_TURNS), &how, &ways, core::future::pending())).unwrap()
}

pub(crate) fn ways(what: Vec<ClientAction>, only: &[&str]) -> ClientSweep {
    let only = only.iter().map(|moment| moment.parse().unwrap()).collect();
    ClientSweep { what, only, repeat: 1, lead: Duration::from_millis(20), wait: Duration::from_millis(50), jobs: 2 }
}

/// The one run of a row.
pub(crate) fn run_of(row: &ClientSweepRow) -> &ClientRun {
    row.runs[0].run.as_ref().unwrap()
}

pub(crate) fn is_too_late(row: &ClientSweepRow) -> bool {
    row.verdict() == RowVerdict::TooLate
}

fn has_problem(row: &ClientSweepRow, part: &str) -> bool {
    row.problems().iter().any(|(problem, _)| problem.contains(part))
}

pub(crate) const TERMINATE: ClientAction = ClientAction::Signal(ChildSignal::Terminate, SignalTarget::Process);

#[test]
fn k_9_a_client_that_behaves_passes_at_every_boundary() {
    if !has_python() {
        return;
    }
    let swept = swept("good", ClientAction::Signal(ChildSignal::Interrupt, SignalTarget::Process), true);
    println!("{swept}");
    assert!(swept.is_fine(), "{swept}");
    assert!(swept.rows.len() > 15, "{swept}");
    assert!(swept.rows.iter().all(|row| run_of(row).action == ActionOutcome::Done || is_too_late(row)));
    for row in swept.rows.iter().filter(|row| row.moment.is_in_answer()) {
        let again = run_of(row).again.as_ref().unwrap();
        assert_eq!(again.ended, ClientExit::Code(0), "{}: what exists because of the interrupt is answered: {:?}", row.moment, again.lines);
    }
    let table = swept.to_string();
    for part in ["1:head", "1:1", "message_start", "2:end", "exit 0, 1 results"] {
        assert!(table.contains(part), "{part}:\n{table}");
    }
}

#[test]
fn k_9_a_client_without_a_result_one_that_forgets_a_result_and_one_that_leaves_a_child_are_found() {
    if !has_python() {
        return;
    }
    let modes =
        [("silent", ChildSignal::Terminate, false), ("orphan", ChildSignal::Interrupt, true), ("child", ChildSignal::Interrupt, false)];
    let swept = side_by_side(&modes, |&(mode, signal, again)| swept(mode, ClientAction::Signal(signal, SignalTarget::Process), again));
    let [silent, orphan, child] = swept.try_into().unwrap();
    assert!(silent.rows.iter().any(|row| has_problem(row, "0 result lines, usually 1")), "{silent}");
    assert!(orphan.rows.iter().any(|row| has_problem(row, "O-1")), "{orphan}");
    let mut listening = child.rows.iter().filter(|row| !is_too_late(row) && row.moment.is_in_answer());
    assert!(listening.all(|row| has_problem(row, "left processes behind: sleep")), "{child}");
}

#[test]
fn k_9_a_connection_that_is_closed_is_seen_by_the_client() {
    if !has_python() {
        return;
    }
    let swept = swept("good", ClientAction::Close, false);
    println!("{swept}");
    for row in &swept.rows {
        let driven = run_of(row);
        assert_eq!(driven.output.results(), 1, "{swept}");
        let inside = !row.moment.to_string().ends_with("end");
        assert!(!inside || driven.output.ended == ClientExit::Code(1), "{}: {}", row.moment, driven.output.ended);
    }
}

#[test]
fn k_9_a_sweep_acts_between_answers_and_says_what_it_asked() {
    if !has_python() {
        return;
    }
    // The tool takes 150 ms: one moment lies in it, two behind the next request.
    let how = ClientHarness { variables: vec![("MODE".into(), "good".into()), ("TOOL_SECONDS".into(), "0.15".into())], ..client("good") };
    let targets = [SignalTarget::Process, SignalTarget::Group];
    let ways = |only: &[&str]| ways(targets.map(|target| ClientAction::Signal(ChildSignal::Terminate, target)).to_vec(), only);
    let swept = wait(client_sweep(&setup(TWO_TURNS), &how, &ways(&["1:tools+50ms", "1:tools+1s"]), core::future::pending())).unwrap();
    let table = swept.to_string();
    assert_eq!(swept.rows.len(), 4, "{table}");
    for row in &swept.rows {
        assert_eq!(is_too_late(row), row.moment.to_string() == "1:tools+1000ms", "{table}");
    }
    for part in ["SIGTERM to the group", "4 rows, 0 failed, 2 too late", "asked: requests that the API takes", "not asked: the exit code"] {
        assert!(table.contains(part), "{part}: {table}");
    }
    let late = wait(client_sweep(&setup(TWO_TURNS), &how, &ways(&["1:tools+1s"]), core::future::pending())).unwrap();
    assert!(!late.is_fine(), "what came too late shows nothing: {late}");
    let stopped = wait(client_sweep(&setup(TWO_TURNS), &how, &ways(&[]), core::future::ready(()))).unwrap();
    assert!(!stopped.is_fine() && stopped.to_string().contains("not done: the sweep was stopped"), "{stopped}");
}

#[test]
fn k_9_a_client_that_fails_by_itself_is_not_swept() {
    let how = ClientHarness { command: ["sh", "-c", "exit 0"].map(String::from).to_vec(), ..client("good") };
    let swept = wait(client_sweep(&setup(TWO_TURNS), &how, &ways(vec![ClientAction::Close], &[]), core::future::pending())).unwrap();
    let table = swept.to_string();
    assert!(!swept.is_fine() && table.contains("FAILED: no request for a message came"), "{table}");
    assert!(table.contains("the client fails although nothing is done to it, so nothing was tried: FAILED"), "{table}");
}
