//! `new`, and the scenarios that any loop should pass.

use std::path::Path;

use super::folder;
use ::reenact::files::scenario::{LoadOptions, load_with};

/// The exit code of a command, and all that it says.
fn reenact(at: &Path, arguments: &[&str]) -> (i32, String) {
    let (output, messages, code) = super::reenact(at, arguments);
    (code.unwrap_or(-1), output + &messages)
}

/// The engine that `new engine` writes.
#[path = "../../src/cli/new/engine.rs"]
#[expect(unreachable_pub, reason = "the template is the root of a crate")]
mod written_engine;

#[test]
fn a_new_scenario_passes_and_is_not_written_over() {
    let folder = folder(&[]);
    let (code, said) = reenact(folder.path(), &["new", "scenario"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("run scenarios/first.toml"), "{said}");
    let (code, said) = reenact(folder.path(), &["run", "scenarios/first.toml"]);
    assert_eq!(code, 0, "{said}");
    let (code, said) = reenact(folder.path(), &["new", "scenario"]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("nothing was written") && said.contains("--force"), "{said}");
    assert_eq!(reenact(folder.path(), &["new", "scenario", "--force"]).0, 0);
}

#[test]
fn v_1_our_own_loop_passes_the_scenarios_that_any_loop_should_pass() {
    let folder = folder(&[]);
    let (code, said) = reenact(folder.path(), &["new", "conformance", "any loop"]);
    assert_eq!(code, 0, "{said}");
    let (code, said) = reenact(folder.path(), &["run", "any loop"]);
    assert_eq!(code, 0, "{said}");
    let (code, said) = reenact(folder.path(), &["sweep", "any loop"]);
    assert_eq!(code, 0, "{said}");
}

#[test]
fn v_1_a_new_engine_compiles_and_is_told_what_it_lacks() {
    let folder = folder(&[]);
    let (code, said) = reenact(folder.path(), &["new", "engine"]);
    assert_eq!(code, 0, "{said}");
    let manifest = std::fs::read_to_string(folder.path().join("my-agent/Cargo.toml")).unwrap();
    assert!(!manifest.contains("{library}"), "{manifest}");
    let first = ::reenact::runner::run_file(folder.path().join("my-agent/scenarios/first.toml"), written_engine::MyAgent).unwrap();
    assert_eq!(first.failures.len(), 0, "the first run of a new engine is green: {:?}", first.failures);
    assert_eq!(reenact(folder.path(), &["new", "conformance"]).0, 0);
    let passes = |name: &str| {
        let path = folder.path().join("scenarios/conformance").join(name).with_extension("toml");
        let loaded = load_with(&path, &LoadOptions::default()).unwrap();
        ::reenact::runner::run_file(&loaded.path, written_engine::MyAgent).unwrap().failures.is_empty()
    };
    assert!(passes("answer"));
    for lacking in ["tool-call", "overloaded", "cancelled-tool"] {
        assert!(!passes(lacking), "{lacking} needs more than this engine has");
    }
}

#[test]
fn k_7_a_client_that_asks_nothing_passes_nothing() {
    let folder = folder(&[]);
    let (code, said) = reenact(folder.path(), &["drive", "--conformance", "--", "true"]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("10 scenarios, 10 failed; 4 not asked"), "{said}");
    let (code, said) = reenact(folder.path(), &["drive", "--conformance"]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("write it after `--`"), "{said}");
}
