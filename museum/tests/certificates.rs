//! Certificates of versions that break a rule (E-3c).

mod program;

use program::{folder, museum};

#[test]
fn e_3c_a_version_that_breaks_a_rule_gets_no_certificate_and_is_compared_with_an_older_one() {
    let folder = folder("completion-order");
    let explored =
        |engine: &str, options: &[&str]| museum(folder.path(), &[&[engine, "explore", "completion-order.toml"], options].concat());
    let budget = ["--budget", "1,0,0"];
    let (_, said, code) = explored("completion-order", &[&budget[..], &["--certificate", "broken.cert"]].concat());
    assert!(code == Some(1) && said.contains("no certificate of (1,0,0): there are findings"), "{said}");
    assert!(!folder.path().join("broken.cert").exists());
    let (_, said, code) = explored("honest", &[&budget[..], &["--certificate", "honest.cert"]].concat());
    assert_eq!(code, Some(0), "{said}");
    let (_, said, code) = explored("honest", &["--against", "honest.cert"]);
    assert!(code == Some(0) && said.contains("nothing has changed"), "{said}");
    let (_, said, code) = explored("completion-order", &["--against", "honest.cert"]);
    assert!(code == Some(1) && said.contains(" as before, ") && said.contains("the decisions have other effects"), "{said}");
    let (_, said, code) = explored("completion-order", &["--against", "honest.cert", "--certificate", "broken.cert"]);
    assert!(code == Some(1) && said.contains("no certificate of ") && said.contains(" as before, "), "{said}");
}
