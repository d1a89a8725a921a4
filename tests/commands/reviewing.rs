//! `review` as a person types it, with the letters on standard input.

use super::{HELLO, folder, reenact};
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Its exit code and all that it says.
fn reviewed(at: &Path, arguments: &[&str], letters: &str) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reenact"));
    command.arg("review").args(arguments).current_dir(at).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let _ = child.stdin.take().unwrap().write_all(letters.as_bytes()); // a review that needs no letters may have ended
    let output = child.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(said).unwrap())
}

#[test]
fn v_3_a_changed_transcript_is_accepted_by_a_letter() {
    let folder = folder(&[("scenarios/a.toml", HELLO), ("scenarios/b.toml", HELLO)]);
    let at = folder.path();
    assert_eq!(reviewed(at, &[], ""), (0, String::from("nothing is pending\n")));
    assert_eq!(reenact(at, &["test", "--update"]).2, Some(0));
    for name in ["a", "b"] {
        let path = at.join(format!("scenarios/{name}.toml"));
        fs::write(&path, HELLO.replace("\"Hello.\"", "\"Hello to you.\"")).unwrap();
    }
    assert_eq!(reenact(at, &["test"]).2, Some(1));
    let (code, said) = reviewed(at, &["--list"], "");
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("1 of 2  snapshots/a.snap") && said.contains("{+Hello to you.+}"), "{said}");
    let (code, said) = reviewed(at, &[], "?\nas\n");
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("`?` is no choice") && said.contains("1 accepted, 0 rejected, 1 still pending"), "{said}");
    let (code, said) = reviewed(at, &[], "r");
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("0 accepted, 1 rejected, 0 still pending"), "{said}");
    assert_eq!(reenact(at, &["test"]).2, Some(1), "what was rejected comes again");
    let (code, said) = reviewed(at, &["--accept"], "");
    assert_eq!((code, reenact(at, &["test"]).2), (0, Some(0)), "{said}");
}

#[test]
fn v_3_files_that_are_no_snapshots_are_named() {
    let folder = folder(&[("a.txt", "no snapshot"), ("b.snap.new", "no snapshot either")]);
    let (code, said) = reviewed(folder.path(), &["a.txt"], "");
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("a.txt: no such folder, and no snapshot"), "{said}");
    let (code, said) = reviewed(folder.path(), &[], "a");
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("b.snap.new") && said.contains("nothing else is pending"), "{said}");
    let (code, said) = reviewed(folder.path(), &["c.snap"], "");
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("nothing is pending for c.snap"), "{said}");
}
