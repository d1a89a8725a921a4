//! `explore --budget` and `[explore]`, as a user types them (E-3).

use super::{HELLO, folder, reenact};

#[test]
fn e_3_an_automatic_budget_is_as_large_as_its_time() {
    let folder = folder(&[("hello.toml", HELLO)]);
    let explore = |options: &[&str]| reenact(folder.path(), &[&["explore", "hello.toml"][..], options].concat());
    let (text, said, code) = explore(&["--budget", "auto", "--time", "600"]);
    assert!(code == Some(0) && text.contains("finished (0,0,1) ") && text.contains("(2,1,1)"), "{text}{said}");
    // Without time nothing is finished, and nothing is claimed.
    let (text, said, code) = explore(&["--budget", "auto", "--time", "0"]);
    assert!(code == Some(1) && text.contains("no budget finished"), "{text}{said}");
    let (_, said, code) = explore(&["--budget", "auto", "--certificate", "x.cert"]);
    assert!(code == Some(2) && said.contains("--certificate takes a budget"), "{said}");
    let (_, said, code) = explore(&["--budget", "automatic"]);
    assert!(code == Some(2) && said.contains("as in `1,0,1`, or `auto`"), "{said}");
}

#[test]
fn e_3_faults_that_a_scenario_leaves_out_are_named() {
    let folder = folder(&[("hello.toml", HELLO)]);
    let note = "[explore] leaves out these faults, so nothing is claimed of them: overloaded, internal, rate_limit, too_long, error_event, stall, close";
    let faults = "explore.faults=[\"reset\", \"cut\"]";
    for options in [&["explore", "--budget", "0,1,0"][..], &["fuzz", "--cases", "10"]] {
        let (_, said, code) = reenact(folder.path(), &[options, &["hello.toml", "--set", faults]].concat());
        assert!(code == Some(0) && said.contains(note), "{said}");
        let (_, said, _) = reenact(folder.path(), &[options, &["hello.toml"]].concat());
        assert!(!said.contains("leaves out"), "{said}");
    }
    let (_, said, code) = reenact(folder.path(), &["explore", "hello.toml", "--set", "explore.faults=[\"resett\"]"]);
    assert!(code == Some(2) && said.contains("`reset`"), "{said}");
    let certificate = ["explore", "hello.toml", "--budget", "0,1,0", "--set", faults, "--certificate", "x.cert"];
    assert_eq!(reenact(folder.path(), &certificate).2, Some(0));
    let (text, said, code) = reenact(folder.path(), &["certify", "x.cert"]);
    assert!(
        code == Some(0) && text.contains("its faults are not the usual ones: reset once, reset forever, cut after each event"),
        "{text}{said}"
    );
}

#[test]
fn e_3_times_that_a_scenario_limits_are_named() {
    let folder = folder(&[("hello.toml", HELLO)]);
    let note = "[explore.jitter] says how far an arrival may be, so nothing is claimed of other times: tools at most 0.500s from their time, \
                user at most 2.000s from their time";
    let jitter = ["hello.toml", "--set", "explore.jitter.tools=\"500ms\"", "--set", "explore.jitter.user=\"2s\""];
    for options in [&["explore", "--budget", "1,0,0"][..], &["fuzz", "--cases", "10"]] {
        let (_, said, code) = reenact(folder.path(), &[options, &jitter[..]].concat());
        assert!(code == Some(0) && said.contains(note), "{said}");
        let (text, _, code) = reenact(folder.path(), &[options, &jitter[..], &["--format", "json"]].concat());
        assert!(code == Some(0) && text.contains(note), "{text}");
        let (_, said, _) = reenact(folder.path(), &[options, &["hello.toml"]].concat());
        assert!(!said.contains("jitter"), "{said}");
    }
}

#[test]
fn e_3_each_seed_is_explored_by_itself() {
    let folder = folder(&[("hello.toml", HELLO)]);
    for command in [&["explore", "--budget", "0,0,1"][..], &["fuzz", "--cases", "10"]] {
        let (text, said, code) = reenact(folder.path(), &[command, &["hello.toml", "--seeds", "1..=3"]].concat());
        let lines = text.lines().filter(|line| line.starts_with("ok ")).count();
        assert!(code == Some(0) && lines == 3 && text.contains("3 scenarios"), "{text}{said}");
    }
}

#[test]
fn e_3_rules_that_a_scenario_breaks_are_named() {
    let folder = folder(&[("hello.toml", &format!("{HELLO}\n[expect]\nbreaks = [\"O-2\"]\n"))]);
    let (_, said, code) = reenact(folder.path(), &["explore", "hello.toml", "--budget", "0,0,1", "--certificate", "x.cert"]);
    let note = "[expect] says that these rules are broken, so nothing is claimed of them: O-2";
    assert!(code == Some(0) && said.contains(note), "{said}");
    let (text, said, code) = reenact(folder.path(), &["certify", "x.cert"]);
    assert!(code == Some(0) && text.contains(note), "{text}{said}");
}

#[test]
fn e_4_a_scenario_without_a_case_is_not_fine() {
    let folder = folder(&[("a.toml", HELLO), ("b.toml", HELLO)]);
    let at = folder.path();
    assert_eq!(reenact(at, &["fuzz", "a.toml", "--cases", "10", "--campaign", "kept"]).2, Some(0));
    let (text, said, code) = reenact(at, &["fuzz", "a.toml", "b.toml", "--cases", "0", "--campaign", "kept"]);
    assert!(code == Some(2) && text.contains("FAILED  b") && said.contains("nothing was looked at: b.toml"), "{text}{said}");
}
