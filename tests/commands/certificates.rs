//! `explore --certificate`, `certify` and `explore --against`, as a user types them (E-3c).

use super::{HELLO, folder, reenact};

#[test]
fn e_3c_a_certificate_is_written_checked_and_refused_when_something_changes() {
    let folder = folder(&[("hello.toml", HELLO), ("other.toml", HELLO)]);
    let at = folder.path();
    let (text, said, code) = reenact(at, &["explore", "hello.toml", "--budget", "0,0,1", "--certificate", "hello.cert"]);
    assert!(code == Some(0) && said.contains("wrote hello.cert; check it: ") && said.contains("certify hello.cert"), "{text}{said}");
    assert!(text.contains("never asked, so nothing is claimed of them: O-"), "{text}");
    let (text, said, code) = reenact(at, &["certify", "hello.cert"]);
    assert!(text.starts_with("ok ") && text.contains("no run within (0,0,1) breaks a rule") && code == Some(0), "{text}{said}");
    let (_, said, code) = reenact(at, &["explore", "hello.toml", "--against", "hello.cert"]);
    assert!(said.contains("against the certificate: nothing has changed") && code == Some(0), "{said}");

    // What was set is part of the claim, and is said.
    let set = ["explore", "hello.toml", "--budget", "0,0,1", "--set", "engine.stream=false", "--certificate", "set.cert"];
    assert_eq!(reenact(at, &set).2, Some(0));
    let (text, said, code) = reenact(at, &["certify", "set.cert", "--sample", "50%", "--sample-seed", "1"]);
    assert!(
        text.starts_with("ok      hello.toml --set engine.stream=false: a sample of the claim for (0,0,1)") && code == Some(0),
        "{text}{said}"
    );
    assert!(
        text.contains("--sample-seed 1") && text.contains("compared when it is checked as a whole") && !text.contains("never asked"),
        "{text}"
    );

    // Another policy is another scenario, and so is a changed file.
    let (_, said, code) = reenact(at, &["explore", "hello.toml", "--set", "engine.model=claude-haiku-4-5", "--against", "hello.cert"]);
    assert!(said.contains("it is of another scenario") && code == Some(2), "{said}");
    std::fs::write(at.join("hello.toml"), format!("{HELLO}\n[limits]\nrequests = 7\n")).unwrap();
    let (_, said, code) = reenact(at, &["certify", "hello.cert"]);
    assert!(said.contains("REFUSED: the scenario hello.toml is not the one that was explored") && code == Some(1), "{said}");
    let (text, said, code) = reenact(at, &["certify", "hello.cert", "--scenario", "other.toml", "--shard", "1/2"]);
    assert!(text.contains("part 1 of 2 of the claim for (0,0,1)") && code == Some(0), "{text}{said}");
    for (arguments, words, expected) in [
        (&["certify", "none.cert"][..], "none.cert: ", 2),
        (&["certify", "other.toml"][..], "this is no certificate: `", 2),
        (&["certify", "hello.cert", "--shard", "3/2"][..], "as in `2/8`", 2),
        (&["certify", "hello.cert", "--sample", "0"][..], "is no percentage", 2),
        (&["explore", ".", "--certificate", "x.cert"][..], "--certificate takes one scenario", 2),
        (&["explore", "other.toml", "--certificate", "hello.toml"][..], "this file exists and is not a certificate", 2),
        (&["certify", "hello.cert", "--scenario", "other.toml", "--shard", "99999/99999"][..], "no state is in this part", 2),
    ] {
        let (text, said, code) = reenact(at, arguments);
        assert!(said.contains(words) && code == Some(expected), "{arguments:?}: {code:?} {text}{said}");
    }
    let mut bytes = std::fs::read(at.join("hello.cert")).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(at.join("bad.cert"), &bytes).unwrap();
    let (_, said, code) = reenact(at, &["certify", "bad.cert"]);
    assert!(said.contains("REFUSED: the certificate was changed") && code == Some(1), "{said}");
}

#[test]
fn e_3c_what_was_not_finished_gets_no_certificate() {
    let folder = folder(&[("hello.toml", HELLO)]);
    let (_, said, code) =
        reenact(folder.path(), &["explore", "hello.toml", "--budget", "0,0,1", "--memory", "0", "--certificate", "x.cert"]);
    assert!(said.contains("no certificate of (0,0,1): the budget was not finished") && code == Some(1), "{said}");
    assert!(!folder.path().join("x.cert").exists());
}
