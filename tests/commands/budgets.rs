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
