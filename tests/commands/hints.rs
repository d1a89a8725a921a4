//! The next steps that messages name: each is a command of the program that was called.

use super::{HELLO, folder, reenact};
use std::path::Path;
use std::process::Command;

const PROGRAM: &str = env!("CARGO_BIN_EXE_reenact");

fn said(at: &Path, arguments: &[&str]) -> String {
    reenact(at, arguments).1
}

#[test]
fn a_program_is_named_as_it_was_called_unless_the_search_path_leads_to_it() {
    let folder = folder(&[("a.toml", HELLO)]);
    let wrong = ["preset", "nobody"];
    assert!(said(folder.path(), &wrong).contains(&format!("`{PROGRAM} preset` lists all")), "{}", said(folder.path(), &wrong));
    let words = |paths: &str| {
        let output = Command::new(PROGRAM).args(wrong).env("PATH", paths).output().unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    let beside = Path::new(PROGRAM).parent().unwrap().to_string_lossy().into_owned();
    assert!(words(&beside).contains("`reenact preset` lists all"), "{}", words(&beside));
    // Another program of this name comes first there.
    std::fs::write(folder.path().join("reenact"), "").unwrap();
    let other = format!("{}:{beside}", folder.path().display());
    assert!(words(&other).contains(&format!("`{PROGRAM} preset`")), "{}", words(&other));
}

#[test]
fn hints_of_every_room_name_this_program() {
    let folder = folder(&[("x.har", "{\"log\": {\"entries\": []}}")]);
    for (arguments, words) in [
        (&["sweep", "--canary", "parrot"][..], "sweep --canary list` explains them"),
        (&["run", "."], "import RECORDING --out"),
        (&["replay", "nothing.log"], "run SCENARIO --log FILE`"),
    ] {
        let told = said(folder.path(), arguments);
        assert!(told.contains(&format!("`{PROGRAM} {words}")), "{arguments:?}: {told}");
    }
}

#[test]
fn one_run_ends_with_its_verdict() {
    let failing = format!("{HELLO}[expect]\nrequests = 2\n");
    let folder = folder(&[("a.toml", HELLO), ("b.toml", &failing)]);
    let last = |arguments: &[&str]| reenact(folder.path(), arguments).0.lines().last().unwrap_or_default().to_string();
    assert!(last(&["run", "a.toml"]).starts_with("ok      a   "), "{}", last(&["run", "a.toml"]));
    assert!(last(&["run", "b.toml"]).starts_with("FAILED  b   "), "{}", last(&["run", "b.toml"]));
    let interrupted = ["run", "a.toml", "--interrupt-at", "2:after"];
    assert!(last(&interrupted).starts_with("ok      a   ") && last(&interrupted).contains("aborted_streaming"), "{}", last(&interrupted));
}

#[test]
fn f_11_a_sweep_says_whose_option_a_plan_is() {
    let folder = folder(&[("a.toml", HELLO)]);
    for more in [&["--write-plan"][..], &["--write-plan", "x.toml"]] {
        let (_, told, code) = reenact(folder.path(), &[&["sweep", "a.toml"], more].concat());
        assert!(code == Some(2) && told.contains("this is an option of `run`"), "{told}");
    }
}

#[test]
fn d_3_a_seed_is_an_option() {
    let folder = folder(&[("a.toml", HELLO)]);
    let told = said(folder.path(), &["run", "a.toml@seed=3"]);
    assert!(told.contains("it has no [matrix]; for another seed: a.toml --seed 3"), "{told}");
    let told = said(folder.path(), &["run", "a.toml", "--seed", "x"]);
    assert!(told.contains("a seed is a whole number from 0 to 18446744073709551615"), "{told}");
}

#[test]
fn f_7_a_wrong_setting_is_told_once() {
    let folder = folder(&[("a.toml", HELLO), ("b.toml", HELLO)]);
    let (_, told, code) = reenact(folder.path(), &["run", ".", "--set", "engine.max_turn=3"]);
    assert_eq!((code, told.matches("did you mean `max_turns`?").count()), (Some(2), 1), "{told}");
}

#[test]
fn f_6_a_folder_says_what_it_holds_instead_of_scenarios() {
    let bases = folder(&[("_a.toml", HELLO)]);
    let told = said(bases.path(), &["run", "."]);
    assert!(told.contains("./_a.toml is there to be extended") && told.contains("name the file to run it"), "{told}");
    let lost = folder(&[("a.toml", HELLO), ("b.toml", "\n"), ("c.toml", "# a comment\n")]);
    let (shown, told, code) = reenact(lost.path(), &["run", "."]);
    assert!(told.contains("./b.toml: this file is empty") && !told.contains("c.toml: this file"), "{told}");
    assert_eq!(code, Some(2), "{shown}{told}");
}

#[test]
fn m_3_a_scenario_without_a_tape_has_no_turn_left() {
    let folder = folder(&[("a.toml", "[[prompt]]\ntext = \"Hello?\"\n[expect]\nterminal = \"completed\"\n")]);
    let told = said(folder.path(), &["run", "a.toml"]);
    assert!(told.contains("the run ended with tape_exhausted: no [[prompt.turn]] is left for request 1"), "{told}");
    assert!(told.contains("expected terminal completed, got none: the run ended with tape_exhausted"), "{told}");
}
