//! Moments at which a client sweep acts on a client: while it starts, when a tool shows that it runs, after the last answer, and at a terminal (K-9).

#![cfg(unix)]

use reenact::live::drive::client_sweep::{ClientSweep, ClientSweepReport, RowVerdict, client_sweep};
use reenact::live::drive::{ActionOutcome, ClientAction, ClientExit, ClientHarness, ClientLeaving, ClientTerminal};

use super::client::setup;
use super::drive::{TERMINATE, TWO_TURNS, client, driven, has_python, is_too_late, run_of, wait, ways};

/// The scenario with a marker.
fn with_marker(key: &str, value: &str) -> String {
    format!("{TWO_TURNS}\n[drive]\n{key} = \"{value}\"\n")
}

/// A client whose tool does this, and then takes half a second.
fn with_tool(python: &str) -> ClientHarness {
    let mut how = client("good");
    how.variables.extend([("TOOL".into(), python.into()), ("TOOL_SECONDS".into(), "0.5".into())]);
    how
}

fn swept(scenario: &str, how: &ClientHarness, ways: &ClientSweep) -> ClientSweepReport {
    wait(client_sweep(&setup(scenario), how, ways, core::future::pending())).unwrap()
}

#[test]
fn k_9_a_sweep_acts_when_a_tool_shows_that_it_runs() {
    if !has_python() {
        return;
    }
    let opened = "urllib.request.urlopen(os.environ['REENACT_MARKER_URL'])";
    for (scenario, tool) in [
        (with_marker("marker_file", "started"), "open('started', 'w').close()"),
        (with_marker("marker_line", "it runs"), "os.write(1, b'now it runs\\n')"),
        (TWO_TURNS.to_string(), opened),
    ] {
        let how = with_tool(tool);
        let swept = swept(&scenario, &how, &ways(vec![TERMINATE], &["1:marker"]));
        assert!(swept.is_fine(), "{tool}: {swept}");
        assert_eq!((swept.usual.marked.as_slice(), run_of(&swept.rows[0]).action), ([1].as_slice(), ActionOutcome::Done), "{swept}");
        assert_eq!(run_of(&swept.rows[0]).output.ended, ClientExit::Code(143), "{swept}");
    }
    let silent = swept(TWO_TURNS, &client("good"), &ways(vec![TERMINATE], &["1:marker"]));
    assert!(silent.to_string().contains("1:marker, SIGTERM: K-9: there is no such moment: no marker came after answer 1"), "{silent}");
    assert!(silent.to_string().contains("not asked: ") && silent.to_string().contains("no marker was seen"), "{silent}");
    let all = swept(&with_marker("marker_file", "started"), &with_tool("open('started', 'w').close()"), &ways(vec![TERMINATE], &[]));
    let count = |moment: &str| all.rows.iter().filter(|row| row.moment.to_string() == moment).count();
    assert_eq!(["1:marker", "2:marker", "start+0ms", "done+50ms", "2:tools+50ms"].map(count), [1, 0, 1, 1, 0], "{all}");
    assert!(all.is_fine(), "{all}");
}

#[test]
fn k_9_a_sweep_acts_while_a_client_starts_and_after_its_last_answer() {
    if !has_python() {
        return;
    }
    let script = client("good").command[2].replace("say(\"system\", cwd=os.getcwd())", "time.sleep(0.7)") + "\ntime.sleep(0.3)\n";
    let how = ClientHarness { command: vec!["python3".into(), "-c".into(), script], ..client("good") };
    let swept = swept(TWO_TURNS, &how, &ways(vec![TERMINATE], &["start+500ms", "start+5s", "done+50ms", "done+5s"]));
    let late: Vec<bool> = swept.rows.iter().map(is_too_late).collect();
    assert_eq!(late, [false, true, false, true], "{swept}");
    let requests = |row: usize| run_of(&swept.rows[row]).verdict.asked.len();
    assert_eq!((requests(0), requests(2)), (0, 2), "{swept}");
}

#[test]
fn k_9_a_client_that_had_no_time_to_listen_for_signals_owes_nothing() {
    if !has_python() {
        return;
    }
    // Where `python3` is a script, a signal at the start reaches its shell.
    let told = std::process::Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output().unwrap();
    let mut how = client("good");
    how.command[0] = String::from_utf8(told.stdout).unwrap().trim().into();
    let swept = swept(TWO_TURNS, &how, &ways(vec![TERMINATE], &["start+0ms", "start+50ms", "1:head"]));
    assert!(swept.is_fine(), "{swept}");
}

#[test]
fn k_9_answers_that_are_not_streamed_have_an_end_behind_which_tools_run() {
    if !has_python() {
        return;
    }
    let script = client("good").command[2].replace("\"stream\": True", "\"stream\": False").replace(
        "    with urllib.request.urlopen(request) as answer:",
        "    with urllib.request.urlopen(request) as answer:\n        return json.load(answer)[\"content\"]",
    );
    let how = ClientHarness { command: vec!["python3".into(), "-c".into(), script], ..with_tool("open('started', 'w').close()") };
    let swept = swept(&with_marker("marker_file", "started"), &how, &ways(vec![TERMINATE], &["1:marker", "1:tools+50ms", "done+50ms"]));
    assert!(swept.rows[..2].iter().all(|row| row.verdict() == RowVerdict::Fine), "{swept}");
}

#[test]
fn k_9_a_row_whose_runs_differ_is_flaky_and_fails() {
    if !has_python() {
        return;
    }
    // Every second run that is interrupted prints no result.
    let count = tempfile::NamedTempFile::new().unwrap();
    let path = count.path().display();
    let other = format!("    n = len(open('{path}').read()); open('{path}', 'a').write('x')\n    if n % 2:");
    let script = client("good").command[2].replace("    if mode != \"silent\":", &other);
    let how = ClientHarness { command: vec!["python3".into(), "-c".into(), script], ..client("good") };
    let ways = ClientSweep { repeat: 4, jobs: 1, ..ways(vec![TERMINATE], &["1:3"]) };
    let flaky = swept(TWO_TURNS, &how, &ways);
    let table = flaky.to_string();
    assert_eq!(flaky.rows[0].verdict(), RowVerdict::Flaky { failed: 2, runs: 4 }, "{table}");
    assert!(!flaky.is_fine() && table.contains("flaky, 2 of 4 failed"), "{table}");
    assert!(table.contains("1:3, SIGTERM: K-9: 0 result lines, usually 1 (2 of 4 runs)"), "{table}");
    assert!(table.contains("1 row, 0 failed, 4 runs, 1 flaky"), "{table}");
    let same = swept(TWO_TURNS, &client("good"), &ways);
    assert!(same.is_fine(), "{same}");
    // A client that breaks down is quoted.
    let script = client("good").command[2].replace("    if mode != \"silent\":", "    raise SystemExit('no way out')\n    if mode:");
    let how = ClientHarness { command: vec!["python3".into(), "-c".into(), script], ..client("good") };
    let broken = swept(TWO_TURNS, &how, &ways).to_string();
    assert!(broken.contains("K-9: 0 result lines, usually 1, and its last error line is “no way out” (4 of 4 runs)"), "{broken}");
    // Nothing is wrong with a run that ends in another way, and no row is trusted whose runs do.
    let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
    std::fs::write(&path, "").unwrap();
    let code = format!("os._exit(len(open('{0}').read()) % 2) if open('{0}', 'a').write('x') else None", path.display());
    let script = client("good").command[2].replace("os._exit(0 if signum == signal.SIGINT else 143)", &code);
    let how = ClientHarness { command: vec!["python3".into(), "-c".into(), script], ..client("good") };
    let swept = swept(TWO_TURNS, &how, &ways);
    let table = swept.to_string();
    assert_eq!(swept.rows[0].verdict(), RowVerdict::Flaky { failed: 0, runs: 4 }, "{table}");
    assert!(table.contains("1:3, SIGTERM: the runs end differently: ") && table.contains("2 times exit 1 and 1 result line"), "{table}");
}

#[test]
fn k_9_an_interrupt_of_the_scenario_is_done_to_a_client_or_fails() {
    if !has_python() {
        return;
    }
    let interrupt = |when: &str, more: &str| format!("\n[[interrupt]]\nkind = \"cancel\"\n{when}\n{more}\n[expect]\nrequests = 1\n");
    let executing = "when = { tool = \"Read\", state = \"executing\" }";
    let marked = format!("{}{}", with_marker("marker_file", "started"), interrupt(executing, ""));
    let done = driven(&setup(&marked), &with_tool("open('started', 'w').close()"));
    assert_eq!((done.failures.len(), done.output.ended), (0, ClientExit::Code(0)), "{}", done.text);
    let event = format!("{TWO_TURNS}{}", interrupt("when = { event = \"content_block_start\", nth = 2 }", "").replace("requests = 1", ""));
    let cut = driven(&setup(&event), &client("good"));
    assert_eq!((cut.failures.len(), cut.verdict.asked[0].pieces), (0, 7), "{}", cut.verdict);

    let without_marker = driven(&setup(&marked), &with_tool(""));
    assert!(
        without_marker
            .failures
            .iter()
            .any(|failure| failure.contains("[[interrupt]] 1 was not done: no use of this tool showed its marker"))
    );
    let queued = format!("{TWO_TURNS}{}", interrupt("when = { tool = \"Read\", state = \"queued\" }", ""));
    let named = driven(&setup(&queued.replace("requests = 1", "requests = 2")), &client("good"));
    assert_eq!(named.failures.len(), 1, "{:?}", named.failures);
    assert!(named.failures[0].starts_with("[[interrupt]] 1 was not done: of a client's tools"), "{:?}", named.failures);
    let may = interrupt("when = { retry = 1 }", "may = true").replace("requests = 1", "requests = 2");
    assert!(driven(&setup(&format!("{TWO_TURNS}{may}")), &client("good")).failures.is_empty());
}

/// A client at a terminal: it says what it is at, and waits for keys when it has its answers.
const AT_TERMINAL: &str = r#"
assert os.isatty(0) and os.isatty(1) and os.isatty(2) and os.tcgetpgrp(0) == os.getpid()
import termios, tty
tty.setcbreak(0)
modes = termios.tcgetattr(0)
modes[3] &= ~termios.ISIG
termios.tcsetattr(0, termios.TCSANOW, modes)
import threading
def keys():
    pressed = b""
    while True:
        key = os.read(0, 1)
        pressed += key
        print("\x1b[31mkey %r\x1b[0m" % key, flush=True)
        if key == b"\x1b" or pressed.endswith(b"\x03\x03"):
            os._exit(7)
threading.Thread(target=keys, daemon=True).start()
"#;

#[test]
fn k_9_a_client_at_a_terminal_is_pressed_keys() {
    if !has_python() {
        return;
    }
    let script = client("good").command[2].replacen("mode = os", &format!("{AT_TERMINAL}\nmode = os"), 1) + "\ntime.sleep(60)\n";
    let how = ClientHarness { command: vec!["python3".into(), "-c".into(), script], terminal: ClientTerminal::Own, ..client("good") };
    let usual = driven(&setup(TWO_TURNS), &how);
    assert_eq!((usual.failures.len(), usual.output.leaving), (0, ClientLeaving::SentAway), "{}", usual.text);
    assert_eq!((usual.output.ended, usual.output.results()), (ClientExit::Code(7), 1), "{}", usual.text);
    assert!(usual.output.lines.contains(&String::from("key b'\\x03'")), "no colours: {:?}", usual.output.lines);

    let keys = |word| ClientAction::parse(word).unwrap().remove(0);
    let long = |ways| ClientSweep { wait: std::time::Duration::from_millis(400), ..ways };
    let swept = swept(TWO_TURNS, &how, &long(ways(vec![keys("key:ESC"), keys("key:^C^C"), keys("key:^C")], &["1:4"])));
    let ended: Vec<_> = swept.rows.iter().map(|row| (run_of(row).output.leaving, run_of(row).verdict.asked.len())).collect();
    assert_eq!(ended, [(ClientLeaving::OnItsOwn, 1), (ClientLeaving::OnItsOwn, 1), (ClientLeaving::SentAway, 2)], "{swept}");
}

#[test]
fn k_9_ctrl_c_at_a_terminal_is_an_interrupt_of_its_group() {
    let setup = setup(&format!("{TWO_TURNS}\n[expect]\nrequests = 0\n"));
    let command = ["sh", "-c", "trap 'echo interrupted' INT; sleep 2; echo over"].map(String::from).to_vec();
    let how = ClientHarness { command, terminal: ClientTerminal::Own, ..client("good") };
    let ways = ways(vec![ClientAction::parse("key:^C").unwrap().remove(0)], &["start+300ms"]);
    let swept = wait(client_sweep(&setup, &how, &ways, core::future::pending())).unwrap();
    assert_eq!(swept.usual.output.lines, ["over"], "{swept}");
    assert_eq!(run_of(&swept.rows[0]).output.lines, ["^Cinterrupted", "over"], "the sleep was interrupted as well: {swept}");
}

/// A client at a terminal to which one types: each line is a prompt. `^C` leaves the answer that is under way, and ends the client where no answer is under way.
const TYPED_AT: &str = r#"
import json, os, sys, urllib.request
messages = []
def ask(text):
    messages.append({"role": "user", "content": text})
    body = {"model": "claude-sonnet-4-5", "max_tokens": 100, "stream": True, "messages": messages}
    headers = {"content-type": "application/json", "x-api-key": os.environ["ANTHROPIC_API_KEY"], "anthropic-version": "2023-06-01"}
    request = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", json.dumps(body).encode(), headers)
    said = ""
    try:
        with urllib.request.urlopen(request) as answer:
            for line in answer:
                if line.startswith(b"data:"):
                    said += json.loads(line[5:]).get("delta", {}).get("text", "")
    except KeyboardInterrupt:
        said += " (cancelled)"
    messages.append({"role": "assistant", "content": said})
    print(said, flush=True)
try:
    ask("Hello.")
    for line in sys.stdin:
        ask(line.strip())
except KeyboardInterrupt:
    sys.exit(130)
"#;

fn typed_at() -> ClientHarness {
    let command = ["python3", "-c", TYPED_AT].map(String::from).to_vec();
    ClientHarness { command, terminal: ClientTerminal::Own, ..client("good") }
}

const ONE_TURN: &str =
    "title = \"Typed\"\n\n[[prompt]]\ntext = \"Hello.\"\n\n[[prompt.turn]]\ntext = \"Hello to you, and to all others.\"\n";

#[test]
fn k_9_further_prompts_are_typed_at_a_terminal_and_excused_ones_are_not() {
    if !has_python() {
        return;
    }
    let second = "\n[[prompt]]\ntext = \"And now?\"\n\n[[prompt.turn]]\ntext = \"Now it is late.\"\n";
    let run = driven(&setup(&format!("{ONE_TURN}{second}")), &typed_at());
    assert_eq!((run.failures.len(), run.output.leaving), (0, ClientLeaving::SentAway), "{}", run.text);
    assert!(run.text.contains(r#"{"text":"And now?","type":"text"}"#) && run.text.contains("Now it is late."), "{}", run.text);
    let unasked = "texts that are put back into the input line (O-24)";
    assert!(run.verdict.questions.unasked.iter().any(|question| question == unasked), "{:?}", run.verdict.questions);

    let excused = driven(&setup(&format!("{ONE_TURN}{second}may = true\n")), &typed_at());
    assert_eq!(
        (excused.failures.len(), excused.output.leaving, excused.verdict.asked.len()),
        (0, ClientLeaving::SentAway, 1),
        "{}",
        excused.text
    );
}

#[test]
fn k_9_a_message_of_the_user_is_typed_at_a_terminal_and_refused_without_one() {
    if !has_python() {
        return;
    }
    let message = "\n[[interrupt]]\nkind = \"interrupt\"\ntext = \"Be quick.\"\nwhen = { request = 1 }\n";
    let run = driven(&setup(&format!("{ONE_TURN}{message}")), &typed_at());
    assert_eq!(run.failures, [""; 0], "{}", run.text);
    assert!(run.text.contains(r#"{"text":"Be quick.","type":"text"}"#), "{}", run.text);
    let piped = driven(&setup(&format!("{ONE_TURN}{message}")), &ClientHarness { terminal: ClientTerminal::None, ..typed_at() });
    assert!(
        piped.failures.iter().any(|failure| failure.contains("a message is typed at a terminal alone: add --terminal")),
        "{:?}",
        piped.failures
    );
}

#[test]
fn k_9_a_client_that_leaves_an_answer_at_its_terminal_is_sent_away() {
    if !has_python() {
        return;
    }
    let key = ClientAction::parse("key:^C").unwrap().remove(0);
    let swept = swept(ONE_TURN, &typed_at(), &ways(vec![key], &["1:head", "1:4"]));
    assert!(swept.is_fine(), "{swept}");
    assert!(swept.rows.iter().all(|row| run_of(row).output.leaving == ClientLeaving::SentAway), "{swept}");
}
