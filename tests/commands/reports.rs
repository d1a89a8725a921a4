//! The reports of `run` and `sweep` for programs are as their schema says, and say what the text form says.

use super::{HELLO, folder, reenact};
use std::path::Path;

use serde_json::Value;

/// The document that a command writes; it is as the schema says, and its `exit` is that of the command.
fn report(at: &Path, arguments: &[&str]) -> (Value, String) {
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
