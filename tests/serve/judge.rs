//! A client sweep judges stored sessions, lost messages, commands that run on and resumed runs: one agent, right or with a defect (K-9, O-20, O-24).

#![cfg(unix)]

use std::sync::Arc;
use std::time::Duration;

use super::agent::{DEFECTS, TEST};
use super::client::setup;
use super::drive::{side_by_side, wait};
use reenact::live::drive::client_sweep::{ClientSweep, ClientSweepReport, client_sweep};
use reenact::live::drive::{ChildSignal, ClientAction, ClientHarness, SignalTarget, drive};
use reenact::scenario::client_profile;

const SCENARIO: &str = r#"
title = "A command that takes a while"
tools = ["Bash"]

[drive]
marker_file = "started.txt"

[[prompt]]
text = "Please look around here."

[[prompt.turn]]
text = "I will look around."
tool = [{ name = "Bash", input = { command = "touch started.txt; sleep 1.2; touch ended.txt" }, id = "toolu_look", result = "ended with 0" }]

[[prompt.turn]]
text = "All is well here."
"#;

fn profile(start: &[&str]) -> String {
    format!(
        r#"
name = "test-agent"
start = {start:?}
resume = {start:?}
session = {{ files = "{{home}}/agent/*.messages.json" }}
store = {{ files = "{{home}}/agent/*.messages.json", format = "cline" }}

[env]
AGENT_PROMPT = "{{prompt}}"
AGENT_SESSION = "{{session}}"

[output]
result = {{ type = "result" }}
text = {{ lines = {{ type = "assistant" }}, at = "text" }}

[exit]
ok = [0]
failed = [1]
SIGINT = [130]
SIGTERM = [143]
"#
    )
}

fn agent(defect: &str) -> ClientHarness {
    let this = std::env::current_exe().unwrap();
    let start = [this.to_str().unwrap(), TEST, "--exact", "--nocapture", "--quiet"];
    let profile = client_profile::read("agent.toml", &profile(&start)).unwrap_or_else(|error| panic!("{error}"));
    let base = super::drive::harness(profile.start.clone(), ("AGENT_DEFECT", defect));
    ClientHarness { again: Some(profile.resume.clone()), profile: Some(Arc::new(profile)), ..base }
}

fn swept(defect: &str, what: Vec<ClientAction>, only: &[&str]) -> ClientSweepReport {
    let ways = ClientSweep {
        what,
        only: only.iter().map(|moment| moment.parse().unwrap()).collect(),
        repeat: 1,
        lead: Duration::from_millis(60),
        wait: Duration::from_millis(60),
        jobs: 4,
    };
    wait(client_sweep(&setup(SCENARIO), &agent(defect), &ways, core::future::pending())).unwrap()
}

#[test]
fn k_9_and_o_20_and_o_24_an_agent_without_a_defect_passes_at_every_moment() {
    let what = [
        ClientAction::Signal(ChildSignal::Interrupt, SignalTarget::Process),
        ClientAction::Signal(ChildSignal::Interrupt, SignalTarget::Group),
        ClientAction::Signal(ChildSignal::Terminate, SignalTarget::Group),
    ];
    let swept = swept("none", what.to_vec(), &[]);
    let table = swept.to_string();
    println!("{table}");
    assert!(swept.is_fine(), "{table}");
    assert!(swept.rows.len() > 60, "{table}");
    for asked in [
        "(O-20)",
        "the session on disk",
        "(O-24)",
        "the conversation when it is resumed",
        "commands that run on",
        "the answer of the resumed run",
    ] {
        let line = table.lines().find(|line| line.starts_with("asked: ")).unwrap();
        assert!(line.contains(asked), "{asked}: {table}");
    }
}

#[test]
fn k_9_and_o_20_and_o_24_each_defect_of_an_agent_is_found_and_named() {
    let moments = ["1:head", "1:8", "1:12", "1:marker", "done+50ms"];
    let interrupt = || vec![ClientAction::Signal(ChildSignal::Interrupt, SignalTarget::Group)];
    for ((defect, words), swept) in DEFECTS.iter().zip(side_by_side(&DEFECTS, |(defect, _)| swept(defect, interrupt(), &moments))) {
        let table = swept.to_string();
        println!("{defect}:\n{table}\n");
        assert!(!swept.is_fine(), "{defect}: {table}");
        assert!(table.lines().any(|line| line.contains(words)), "{defect}: {words}: {table}");
    }
}

#[test]
fn o_24_an_answer_that_an_agent_had_no_time_to_take_is_not_lost_by_it() {
    let interrupt = || vec![ClientAction::Signal(ChildSignal::Interrupt, SignalTarget::Process)];
    let slow = swept("takes-its-time", interrupt(), &["1:tools+50ms"]);
    assert!(slow.is_fine(), "{slow}");
    // What it has printed, or the file of a command, shows that it had the answer.
    let quick = swept("answer-lost", interrupt(), &["1:tools+50ms"]);
    assert!(quick.rows[0].problems().iter().any(|(problem, _)| problem.starts_with("O-24: the text")), "{quick}");
}

#[test]
fn k_9_what_was_not_asked_of_an_agent_without_a_profile_is_said() {
    let how = ClientHarness { profile: None, again: None, ..agent("none") };
    let how = ClientHarness { variables: vec![("AGENT_DEFECT".into(), "none".into()), ("AGENT_PROMPT".into(), "Hi.".into())], ..how };
    let ways = ClientSweep {
        what: vec![ClientAction::Signal(ChildSignal::Interrupt, SignalTarget::Process)],
        only: vec!["1:head".parse().unwrap()],
        repeat: 1,
        lead: Duration::ZERO,
        wait: Duration::ZERO,
        jobs: 1,
    };
    let table = wait(client_sweep(&setup(SCENARIO), &how, &ways, core::future::pending())).unwrap().to_string();
    let line = table.lines().find(|line| line.starts_with("not asked: ")).unwrap_or_else(|| panic!("{table}"));
    for unasked in ["the session on disk", "(O-24)", "the conversation when it is resumed", "(O-20)"] {
        assert!(line.contains(unasked), "{unasked}: {table}");
    }
    let twice = format!("{SCENARIO}\n[[prompt]]\ntext = \"And now?\"\n\n[[prompt.turn]]\ntext = \"Still well.\"\n");
    let run = wait(drive(&setup(&twice), &agent("none"), None)).unwrap();
    for part in ["stored: <home>/agent/s1.messages.json", "stored again:", "resumed: request"] {
        assert!(run.judgement.shown.contains(part), "{part}: {}", run.judgement.shown);
    }
    assert!(run.failures.is_empty(), "{:#?}", run.failures);
}

/// Two tool uses at once, and an API that is overloaded once between the results and the next answer.
const PARALLEL: &str = r#"
title = "Two commands, and an overloaded API"
tools = ["Bash"]

[[prompt]]
text = "Please look around here."

[[prompt.turn]]
text = "I will look around."
tool = [
  { name = "Bash", input = { command = "echo left is a wall" }, id = "toolu_left", result = "left is a wall\nended with 0" },
  { name = "Bash", input = { command = "echo right is a door" }, id = "toolu_right", result = "right is a door\nended with 0" },
]

[[prompt.turn]]
text = "All is well here."

[[fault]]
at = { request = 2, attempt = 1 }
status = 529
"#;

#[test]
fn k_9_and_o_20_and_o_24_results_that_change_places_or_are_lost_in_a_retry_are_found() {
    for (defect, words) in [
        ("none", ""),
        ("swaps-results", "O-20: tool calls toolu_left and toolu_right have each other's results in request"),
        ("shares-results", "O-20: tool calls toolu_left and toolu_right have the results of both in request"),
        ("drops-a-result", "O-24: the result of tool call toolu_right of request"),
        ("empties-results", "O-24: the result of tool call toolu_left has a text in request"),
    ] {
        let run = wait(drive(&setup(PARALLEL), &ClientHarness { again: None, ..agent(defect) }, None)).unwrap();
        println!("{defect}: {}\n{:#?}", run.verdict, run.failures);
        match words {
            "" => {
                assert!(run.failures.is_empty(), "{:#?}", run.failures);
                for asked in ["results of parallel tool uses", "what a request leaves out that is sent again", "answers that go back"] {
                    assert!(run.verdict.questions.asked.iter().any(|question| question.starts_with(asked)), "{asked}");
                }
            }
            words => assert!(run.failures.iter().any(|failure| failure.starts_with(words)), "{defect}: {:#?}", run.failures),
        }
    }
}

#[test]
fn k_9_a_stream_that_ends_with_an_error_is_an_answer_that_failed() {
    let scenario = PARALLEL.replace("status = 529", "error_event = \"overloaded_error\"\nafter_events = 3");
    let run = wait(drive(&setup(&scenario), &ClientHarness { again: None, ..agent("leaves-at-an-error") }, None)).unwrap();
    println!("{}", run.verdict);
    assert!(run.failures.iter().any(|failure| failure.starts_with("the exit code is 0, and the profile has 1")), "{:#?}", run.failures);
}

#[test]
fn k_9_a_second_prompt_is_that_of_the_resumed_run_in_a_sweep_as_well() {
    let twice = format!("{SCENARIO}\n[[prompt]]\ntext = \"And now?\"\n\n[[prompt.turn]]\ntext = \"Still well.\"\n");
    let ways = ClientSweep {
        what: vec![ClientAction::Signal(ChildSignal::Interrupt, SignalTarget::Process)],
        only: vec!["1:head".parse().unwrap()],
        repeat: 1,
        lead: Duration::from_millis(60),
        wait: Duration::from_millis(60),
        jobs: 1,
    };
    let swept = wait(client_sweep(&setup(&twice), &agent("none"), &ways, core::future::pending())).unwrap();
    assert!(swept.is_fine(), "{swept}");
    assert!(swept.usual.text.contains("Still well.") && swept.usual.again.is_some(), "{}", swept.usual.text);
}
