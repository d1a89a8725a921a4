//! The reports of `run`, `sweep` and `explore` for programs are as their schema says, and say what the text form says.

use super::{HELLO, folder, reenact};
use std::path::Path;

use serde_json::Value;

/// The document that a command writes; it is as the schema says, and its `exit` is that of the command.
pub(super) fn report(at: &Path, arguments: &[&str]) -> (Value, String) {
    let (shown, said, code) = reenact(at, &[arguments, &["--format", "json"]].concat());
    let document: Value = serde_json::from_str(&shown).unwrap_or_else(|error| panic!("{arguments:?}: {error}\n{shown}{said}"));
    let schema = serde_json::from_str(include_str!("../../src/cli/report/schema.json")).unwrap();
    let errors: Vec<String> = jsonschema::validator_for(&schema)
        .unwrap()
        .iter_errors(&document)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{arguments:?}: {errors:?}\n{shown}");
    assert_eq!(document["exit"].as_i64(), code.map(i64::from), "{arguments:?}");
    (document, said)
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}

#[test]
fn a_run_has_its_end_its_digest_and_its_failures() {
    let failing = format!("{HELLO}[expect]\nrequests = 2\n");
    let folder = folder(&[("a.toml", HELLO), ("b.toml", &failing), ("c.toml", &format!("titel = 1\n{HELLO}"))]);
    let at = folder.path();
    let (document, said) = report(at, &["run", "a.toml", "b.toml", "c.toml"]);
    assert_eq!((document["exit"].as_i64(), document["failed"].as_i64()), (Some(2), Some(1)), "{document}");
    let [a, b] = &document["runs"].as_array().unwrap()[..] else { panic!("{document}") };
    assert_eq!((a["verdict"].as_str(), a["terminal"].as_str(), a["end"].as_str()), (Some("ok"), Some("completed"), Some("idle")));
    let digest = reenact(at, &["run", "a.toml", "--format", "digest"]).0;
    assert_eq!(digest.split(' ').next(), a["digest"].as_str());
    assert_eq!(b["verdict"], "failed");
    assert_eq!(texts(&b["failures"]), ["expected requests 2, got 1"]);
    assert!(!said.contains("expected requests"), "what the document says is not said twice: {said}");
    assert!(
        document["unread"][0]["path"] == "c.toml" && document["unread"][0]["problem"].as_str().unwrap().contains("`titel`"),
        "{document}"
    );
    assert_eq!(reenact(at, &["run", "c.toml", "--format", "json"]), (String::new(), reenact(at, &["run", "c.toml"]).1, Some(2)));
}

#[test]
fn a_run_tells_the_rules_that_it_breaks_and_how_to_make_it_again() {
    let folder = folder(&[("a b.toml", HELLO)]);
    let at = folder.path();
    let (document, _) = report(at, &["run", "a b.toml", "--canary", "double-terminal", "--seed", "7", "--set", "limits.time=2h"]);
    let run = &document["runs"][0];
    assert_eq!((run["seed"].as_i64(), run["violations"][0]["oracle"].as_str()), (Some(7), Some("O-8")), "{run}");
    assert!(run["command"].as_str().unwrap().ends_with("run 'a b.toml' --set limits.time=2h --seed 7 --canary double-terminal"), "{run}");
    let unasked = report(at, &["run", "a b.toml", "--no-oracles"]).0;
    assert_eq!(unasked["runs"][0]["violations"], Value::Null);
}

#[test]
fn e_5_a_sweep_has_its_groups_and_their_smallest_runs() {
    let folder = folder(&[("a.toml", HELLO), ("b.toml", HELLO)]);
    let at = folder.path();
    let (fine, _) = report(at, &["sweep", "a.toml"]);
    assert!(fine["exit"] == 0 && fine["groups"].as_array().unwrap().is_empty() && fine["findings"] == 0, "{fine}");
    assert_eq!(fine["runs"], fine["sweeps"][0]["runs"]);
    let arguments = ["sweep", "a.toml", "b.toml", "--canary", "request-after-cancel"];
    let (document, said) = report(at, &arguments);
    let [group] = &document["groups"].as_array().unwrap()[..] else { panic!("{document}") };
    assert_eq!((group["oracle"].as_str(), group["findings"].as_i64()), (Some("O-11"), document["findings"].as_i64()), "{group}");
    assert_eq!(texts(&group["scenarios"]), ["a", "b"]);
    assert_eq!(group["interrupts"]["cancel"], group["findings"]);
    assert!(!said.contains("look at it"), "{said}");
    let command: Vec<&str> = group["smallest"]["command"].as_str().unwrap().split(' ').skip(1).collect();
    let (looked, _) = report(at, &command);
    assert_eq!((looked["exit"].as_i64(), &looked["runs"][0]["violations"]), (Some(1), &group["smallest"]["violations"]));
    let (all, _) = report(at, &[&arguments[..], &["--all"]].concat());
    let each = all["sweeps"].as_array().unwrap().iter().map(|sweep| sweep["all"].as_array().unwrap().len()).sum::<usize>();
    assert_eq!(Some(each as u64), document["findings"].as_u64());
    let on = |threads| reenact(at, &[&arguments[..], &["--format", "json", "--threads", threads]].concat()).0;
    assert_eq!(on("1"), on("4"));
}

#[test]
fn e_7_a_report_has_the_coverage_that_was_asked_for() {
    let folder = folder(&[("a.toml", HELLO)]);
    let at = folder.path();
    for command in ["run", "sweep"] {
        assert_eq!(report(at, &[command, "a.toml"]).0.get("coverage"), None);
        let (document, said) = report(at, &[command, "a.toml", "--coverage"]);
        let coverage = &document["coverage"];
        assert!(coverage["reached"]["terminal"]["completed"].as_u64() > Some(0) && !said.contains("coverage of"), "{document}{said}");
        assert!(
            texts(&coverage["never"]["terminal"]).contains(&"max_turns") && coverage["reached"]["oracle"]["O-8"].as_u64() > Some(0),
            "{document}"
        );
        let (document, _) = report(at, &[command, "a.toml", "--require", "terminal:max_turns"]);
        assert_eq!((document["exit"].as_i64(), texts(&document["coverage"]["missing"])), (Some(1), vec!["terminal:max_turns"]));
    }
}

#[test]
fn e_1_a_sweep_says_where_a_scenario_fails_as_it_is() {
    let failing = format!("{HELLO}[expect]\nterminal = \"model_error\"\n");
    let folder = folder(&[("a.toml", HELLO), ("b.toml", &failing)]);
    let at = folder.path();
    let (shown, said, code) = reenact(at, &["sweep", "a.toml", "b.toml"]);
    assert_eq!(code, Some(0), "the rules that hold in every run hold: {shown}{said}");
    let lines: Vec<&str> = shown.lines().collect();
    assert!(!lines[0].contains("as it is") && lines[1].ends_with("0 findings  fails as it is"), "{shown}");
    assert!(lines[2].ends_with("0 findings in 0 scenarios; 1 scenario fails as it is"), "{shown}");
    assert!(said.contains(" run b.toml\nexpected terminal model_error, got completed"), "{said}");
    let (seeds, _, _) = reenact(at, &["sweep", "b.toml", "--seeds", "1..=3"]);
    assert!(seeds.lines().next().unwrap().ends_with("3 seeds  fails as it is"), "{seeds}");
    let (document, _) = report(at, &["sweep", "a.toml", "b.toml"]);
    let unmet: Vec<_> = document["sweeps"].as_array().unwrap().iter().map(|sweep| texts(&sweep["unmet"])).collect();
    assert_eq!(unmet, [vec![], vec!["expected terminal model_error, got completed"]]);
    assert_eq!(document["sweeps"][1]["verdict"], "ok");
}

/// Signals that a process takes into its own hands, as Linux tells it.
#[cfg(target_os = "linux")]
fn catches_interrupts(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or_default();
    u64::from_str_radix(caught.trim(), 16).is_ok_and(|signals| signals & 0b10 != 0)
}

#[cfg(target_os = "linux")]
#[test]
fn e_1_a_stopped_sweep_shows_what_was_swept() {
    use std::process::{Command, Stdio};
    let hook = "[[hook]]\nname = \"objects\"\nevent = \"stop\"\ndecision = \"deny\"\nreason = \"Go on.\"\n[limits]\nrequests = 1000000\nevents = 100000000\n";
    let turn = "\n[[prompt.turn]]\ntext = \"Hello.\"\n".repeat(20_000);
    let folder = folder(&[("a.toml", HELLO), ("b.toml", &format!("{HELLO}{turn}{hook}"))]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_reenact"));
    let command = command.args(["sweep", "a.toml", "b.toml", "--threads", "1"]).current_dir(folder.path());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while !catches_interrupts(child.id()) {
        std::thread::yield_now();
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(130), "{shown}");
    let last = shown.lines().last().unwrap();
    assert!(last.starts_with("stopped: ") && last.contains("swept, the rest was not looked at"), "{shown}");
}

#[test]
fn an_exploration_tells_what_it_finished_and_each_defect_with_its_command() {
    let folder = folder(&[("hello.toml", HELLO)]);
    let at = folder.path();
    let (document, _) = report(at, &["explore", "hello.toml", "--budget", "0,1,1"]);
    let exploration = &document["explorations"][0];
    assert_eq!((document["findings"].as_i64(), exploration["verdict"].as_str()), (Some(0), Some("ok")), "{document}");
    let budgets: Vec<&str> = exploration["budgets"].as_array().unwrap().iter().map(|budget| budget["budget"].as_str().unwrap()).collect();
    assert_eq!(budgets, ["(0,0,1)", "(0,1,0)", "(0,1,1)"]);
    let (text, _, code) = reenact(at, &["explore", "hello.toml", "--budget", "0,1,1"]);
    assert!(text.starts_with("ok ") && text.contains("finished (0,0,1) (0,1,0) (0,1,1)") && code == Some(0), "{text}");
    // A budget without an end of its time is said not to be finished, and is no success.
    let (document, _) = report(at, &["explore", "hello.toml", "--budget", "0,1,1", "--memory", "0"]);
    let exploration = &document["explorations"][0];
    assert_eq!((exploration["verdict"].as_str(), exploration["budgets"][0]["outcome"].as_str()), (Some("failed"), Some("stopped")));
    assert!(texts(&exploration["notes"])[0].contains("nothing is claimed of it"), "{document}");
}

#[test]
fn a_search_by_chance_tells_what_it_made_and_each_defect_with_its_command() {
    let folder = folder(&[("hello.toml", HELLO), ("wrong.toml", &format!("titel = 1\n{HELLO}"))]);
    let at = folder.path();
    let (document, _) = report(at, &["fuzz", "hello.toml", "wrong.toml", "--cases", "40", "--campaign", "kept"]);
    let search = &document["searches"][0];
    assert_eq!((search["cases"].as_i64(), search["earlier"].as_i64(), search["verdict"].as_str()), (Some(40), Some(0), Some("ok")));
    assert!(search["behaviours"].as_u64().unwrap() > 5 && document["unread"][0]["path"] == "wrong.toml", "{document}");
    let (document, _) = report(at, &["fuzz", "hello.toml", "--cases", "60", "--campaign", "kept"]);
    let search = &document["searches"][0];
    assert_eq!((search["cases"].as_i64(), search["earlier"].as_i64()), (Some(60), Some(40)), "the search goes on");
    let (document, said) = report(at, &["fuzz", "hello.toml", "--cases", "0"]);
    assert!(document["exit"] == 2 && said.contains("no case was made"), "{document}{said}");
    // A file in the place of the folder, and a folder that cannot be made.
    let (_, said, code) = reenact(at, &["fuzz", "hello.toml", "--cases", "4", "--campaign", "hello.toml"]);
    assert!(code == Some(2) && said.contains("the campaign cannot go on: hello.toml"), "{said}");
}

#[test]
fn v_8_a_recording_is_one_document() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let files = ["samples/sample.tape.jsonl", "samples/sample.har", "samples/sample.vcrpy.yaml", "formats/three-529s.log"];
    for file in files {
        let path = tests.join(file);
        let (document, said) = report(&tests, &["show", path.to_str().unwrap()]);
        assert!(document["requests"].as_array().is_some_and(|requests| !requests.is_empty()) && said.is_empty(), "{document}{said}");
    }
    let (document, _) = report(&tests, &["show", "samples/sample.tape.jsonl"]);
    assert_eq!((&document["tools"][1]["label"], &document["tools"][1]["returns"][0]["request"]), (&Value::from("1B"), &Value::from(4)));
    assert_eq!(document["requests"][3]["attempts"][0]["status"], 529);
}
