//! Profiles of clients: what they start and put in place, and what of a run is judged by them (K-7, K-9).

#![cfg(unix)]

use std::fs;
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::Duration;

use super::client::setup;
use super::drive::wait;
use reenact::live::drive::client_sweep::{ClientSweep, ClientSweepReport, RowVerdict, client_sweep};
use reenact::live::drive::{ChildSignal, ClientAction, ClientHarness, ClientRun, SignalTarget, drive};
use reenact::scenario::client_profile;

const HELLO: &str = "[[prompt]]\ntext = \"Hello?\"\n\n[[prompt.turn]]\ntext = \"Hello, \\nyou.\"\nmay = true\n";

/// Asks once, prints the answer's text and ends. `MODE` is the defect: `careless` ends with 0 after a failure, `strict` with 3 after an answer,
/// `mute` prints nothing, `echo` prints twice, `slow` waits for signals.
const AGENT: &str = r#"
import json, os, signal, sys, time, urllib.request
mode = os.environ.get("MODE", "")
body = {"model": "claude-sonnet-4-5", "max_tokens": 8000, "messages": [{"role": "user", "content": sys.argv[1]}]}
headers = {"content-type": "application/json", "anthropic-version": "2023-06-01", "x-api-key": "k"}
request = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", json.dumps(body).encode(), headers)
if mode == "bad-signal":
    signal.signal(signal.SIGTERM, lambda *_: os._exit(9))
try:
    answer = json.load(urllib.request.urlopen(request, timeout=20))
    text = " ".join(answer["content"][0]["text"].split())
    for _ in range({"mute": 0, "echo": 2}.get(mode, 1)):
        print(json.dumps({"kind": "answer", "body": {"parts": [{"text": text}]}}), flush=True)
except Exception as error:
    print(type(error).__name__, file=sys.stderr)
    sys.exit(0 if mode == "careless" else 1)
if "signal" in mode or mode == "slow":
    time.sleep(2)
sys.exit(3 if mode == "strict" else 0)
"#;

const PROFILE: &str = r#"
name = "small-agent"
start = ["python3", "{home}/agent.py", "{prompt}"]

[output.text]
lines = { kind = "answer" }
at = "body.parts[].text"

[exit]
ok = [0]
failed = [1]
SIGTERM = [143]
"#;

fn has_python() -> bool {
    let is_there = Command::new("python3").arg("--version").output().is_ok_and(|output| output.status.success());
    if !is_there {
        println!("SKIPPED: there is no python3");
    }
    is_there
}

fn profile() -> String {
    format!("{PROFILE}\n[[file]]\npath = \"{{home}}/agent.py\"\ntext = '''{AGENT}'''\n")
}

fn harness(mode: &str) -> ClientHarness {
    let profile = client_profile::read("small-agent.toml", &profile()).unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
    let base = super::drive::harness(profile.start.clone(), ("MODE", mode));
    ClientHarness { profile: Some(Arc::new(profile)), ..base }
}

fn driven(scenario: &str, how: &ClientHarness) -> ClientRun {
    wait(drive(&setup(scenario), how, None)).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn k_9_exit_codes_and_texts_are_judged_by_the_profile() {
    if !has_python() {
        return;
    }
    let with_fault = |fault: &str| format!("{HELLO}\n[[fault]]\n{fault}\n");
    let (gone, cut) = (with_fault("status = 413"), with_fault("cut = { after_bytes = 20, how = \"close\" }"));
    for (mode, scenario, expected) in [
        ("", HELLO, None),
        ("", &gone, None),
        ("", &cut, None),
        ("strict", HELLO, Some("the exit code is 3, and the profile has 0 (the prompt was answered)")),
        ("careless", &gone, Some("the exit code is 0, and the profile has 1 (the API failed for good)")),
        ("careless", &cut, Some("the exit code is 0, and the profile has 1 (the API failed for good)")),
        ("mute", HELLO, Some("the output lacks a text of the model: \"Hello, you.\"")),
        ("echo", HELLO, Some("the output has a text of the model 2 times, and it came 1 times: \"Hello, you.\"")),
    ] {
        let run = driven(scenario, &harness(mode));
        let problems: Vec<&str> = run.failures.iter().map(String::as_str).collect();
        assert_eq!(problems, expected.into_iter().collect::<Vec<_>>(), "{mode}: {}", run.text);
    }
    let plain = format!("{}\n", profile().replace("lines = { kind = \"answer\" }\nat = \"body.parts[].text\"", "of = \"last\""));
    let plain = client_profile::read("plain.toml", &plain).unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
    for (mode, expected) in [("", 0), ("mute", 1), ("echo", 1)] {
        let run = driven(HELLO, &ClientHarness { profile: Some(Arc::new(plain.clone())), ..harness(mode) });
        assert_eq!(run.failures.len(), expected, "{mode}: {:?}", run.failures);
    }
    let own = driven(&format!("{HELLO}\n[drive]\nexit = 3\n"), &harness("strict"));
    assert!(own.failures.is_empty(), "the scenario's own code counts: {:?}", own.failures);
}

fn swept(command: &[&str], mode: &str, only: &str) -> ClientSweepReport {
    let how = ClientHarness { command: command.iter().map(|word| String::from(*word)).collect(), ..harness(mode) };
    let ways = ClientSweep {
        what: [SignalTarget::Process, SignalTarget::Group].map(|target| ClientAction::Signal(ChildSignal::Terminate, target)).to_vec(),
        only: vec![only.parse().unwrap()],
        lead: Duration::from_millis(20),
        wait: Duration::from_millis(50),
        repeat: 1,
        jobs: 2,
    };
    wait(client_sweep(&setup(HELLO), &how, &ways, core::future::pending())).unwrap()
}

#[test]
fn k_9_a_signal_that_reaches_a_shell_alone_asks_nothing_of_the_client() {
    if !has_python() {
        return;
    }
    let shell = swept(&["sh", "-c", "python3 \"$HOME/agent.py\" 'Hello?'; exit $?"], "slow", "1:tools+300ms");
    let table = shell.to_string();
    assert!(!shell.is_fine(), "one of the two actions was never asked: {table}");
    let verdicts: Vec<RowVerdict> = shell.rows.iter().map(|row| row.verdict()).collect();
    assert_eq!(verdicts, [RowVerdict::Unasked { shell: "sh" }, RowVerdict::Fine], "{table}");
    for part in ["not asked", "1 not asked: the signal reached the shell `sh` alone; put `exec` before the client"] {
        assert!(table.contains(part), "{part}: {table}");
    }
    let exec = swept(&["sh", "-c", "exec python3 \"$HOME/agent.py\" 'Hello?'"], "slow", "1:tools+300ms");
    assert!(exec.is_fine(), "{exec}");
    assert!(
        exec.to_string()
            .contains("asked: requests that the API takes, processes left behind, an end in time, the exit code, the text of the output, the exit code after SIGTERM")
    );
    let bad = swept(&["python3", "{home}/agent.py", "{prompt}"], "bad-signal", "1:tools+300ms");
    let expected = [("K-9: the exit code is 9, and the profile has 143 (after SIGTERM)", 1)];
    assert!(bad.rows.iter().all(|row| row.problems() == expected), "{bad}");
}

#[test]
fn k_7_files_and_a_setup_command_are_there_before_the_client() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("in")).unwrap();
    fs::write(folder.path().join("in/b.txt"), "from the folder\n").unwrap();
    std::os::unix::fs::symlink("in/b.txt", folder.path().join("link")).unwrap();
    let how = ClientHarness {
        command: ["sh", "-c", "cat in/b.txt link \"$HOME/made\"; head -c 6 \"$HOME/agent.py\" | wc -c"].map(String::from).to_vec(),
        files: Some(folder.path().into()),
        setup: Some("printf 'made in %s\\n' \"$PWD\" > {home}/made; test -f in/b.txt".into()),
        ..harness("")
    };
    let scenario = setup("[[prompt]]\ntext = \"Hello?\"\n\n[[prompt.turn]]\ntext = \"Hi.\"\nmay = true\n\n[expect]\nrequests = 0\n");
    let run = wait(drive(&scenario, &how, None)).unwrap();
    assert_eq!(run.output.lines[..2], ["from the folder", "from the folder"]);
    assert!(run.output.lines[2].starts_with("made in ") && run.output.lines[2].ends_with("/work"), "{:?}", run.output);
    let broken = ClientHarness { setup: Some("echo so; echo not so >&2; exit 4".into()), ..how.clone() };
    let error = wait(drive(&scenario, &broken, None)).unwrap_err().to_string();
    assert!(error.contains("failed (exit 4)") && error.ends_with("so\nnot so"), "{error}");
    let missing = ClientHarness { files: Some(folder.path().join("none")), ..how };
    let error = wait(drive(&scenario, &missing, None)).unwrap_err().to_string();
    assert!(error.contains("cannot copy the files of") && error.contains("none"), "{error}");
}

fn reenact(folder: &tempfile::TempDir, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_reenact")).args(arguments).current_dir(folder.path()).output().unwrap()
}

#[test]
fn k_7_a_profile_starts_its_client_and_a_wrong_one_is_shown_with_its_place() {
    if !has_python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("hello.toml"), HELLO).unwrap();
    fs::write(folder.path().join("agent.toml"), profile()).unwrap();
    let inline: String = profile()
        .lines()
        .map(|line| match line.strip_prefix('[') {
            Some(rest) if line.starts_with("[[") => format!("[[client.{}\n", &rest[1..]),
            Some(rest) => format!("[client.{rest}\n"),
            None => format!("{line}\n"),
        })
        .collect();
    fs::write(folder.path().join("inline.toml"), format!("{HELLO}\n[client]\n{inline}")).unwrap();
    for arguments in [&["drive", "hello.toml", "--profile", "agent.toml"][..], &["drive", "inline.toml"]] {
        let output = reenact(&folder, arguments);
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && printed.contains("driven: small-agent"), "{printed}{}", String::from_utf8_lossy(&output.stderr));
        assert!(
            printed.contains("Hello?") && printed.contains("output    {\"body\":{\"parts\":[{\"text\":\"Hello, you.\"}]}"),
            "{printed}"
        );
    }
    fs::write(folder.path().join("wrong.toml"), "name = \"a\"\nstrat = [\"a\"]\n").unwrap();
    fs::write(folder.path().join("empty.toml"), "name = \"a\"\n").unwrap();
    for (arguments, expected) in [
        (&["drive", "hello.toml", "--profile", "wrong.toml"][..], "wrong.toml:2:1: unknown key `strat`; did you mean `start`?"),
        (&["drive", "hello.toml", "--profile", "empty.toml"], "the profile `a` does not say how the client is started"),
        (&["drive", "hello.toml", "--profile", "none.toml"], "--profile none.toml: "),
        (&["drive", "hello.toml"], "no command is given: write it after `--`, or name a client with --client or --profile"),
        (&["drive", "hello.toml", "--client", "gptmee"], "did you mean `gptme`?"),
        (&["drive", "hello.toml", "--resume", "--", "a"], "no profile says how the session is resumed"),
    ] {
        let output = reenact(&folder, arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains(expected), "{arguments:?}: {said}");
    }
}

#[test]
fn k_9_a_sweep_is_written_as_json_with_the_words_that_do_a_row_again() {
    if !has_python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // The texts have times of their own, which `--timing none` leaves out.
    fs::write(folder.path().join("slow.toml"), format!("{HELLO}\n[timing]\nhead = \"30s\"\n")).unwrap();
    fs::write(folder.path().join("agent.toml"), profile()).unwrap();
    let arguments = ["drive", "slow.toml", "--profile", "agent.toml", "--env", "MODE=bad-signal", "--sweep", "SIGTERM:group,SIGKILL"];
    let output = reenact(
        &folder,
        &[&arguments[..], &["--only", "1:tools+300ms", "--timeout", "20", "--timing", "none", "--json", "out/swept.json"]].concat(),
    );
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&fs::read(folder.path().join("out/swept.json")).unwrap()).unwrap();
    let expected = serde_json::json!({ "version": 1, "client": "small-agent", "is_fine": false, "runs": 3, "planned_runs": 3 });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(report[name], *value, "{name}: {report:#}");
    }
    assert_eq!(report["baseline"], serde_json::json!({ "ended": "exit 0", "results": 0, "requests": 1, "failures": [] }));
    assert!(report["asked"].as_array().unwrap().contains(&"the exit code after SIGTERM".into()), "{report:#}");
    let rows: Vec<[&str; 4]> = report["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| ["moment", "kind", "action", "verdict"].map(|name| row[name].as_str().unwrap()))
        .collect();
    let at = ["1:tools+300ms", "tools"];
    assert_eq!(rows[0], [at[0], at[1], "SIGTERM:group", "failed"]);
    assert_eq!(rows[1..], [[at[0], at[1], "SIGKILL:process", "ok"], [at[0], at[1], "SIGKILL:group", "ok"]]);
    let first = &report["rows"][0];
    assert_eq!(
        first["problems"],
        serde_json::json!([{ "text": "K-9: the exit code is 9, and the profile has 143 (after SIGTERM)", "runs": 1 }])
    );
    assert_eq!(first["runs"][0]["ended"], "exit 9");
    assert!(String::from_utf8_lossy(&output.stdout).contains("--sweep SIGTERM:group --only 1:tools+300ms --show\n"));
    assert!(!String::from_utf8_lossy(&output.stdout).contains("--json"), "a row that is done again writes no report");
}
