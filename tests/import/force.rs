//! The files that `import --force` leaves in a folder: those that it names, and none of an earlier import (K-12).

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::json;
use tempfile::{NamedTempFile, TempDir};

/// A scenario that somebody wrote, with a name as imports give it.
const MINE: &str = "tape = \"other.tape.jsonl\"\n\n[[prompt]]\ntext = \"mine\"\n";

/// A log of conversations that have nothing to do with each other: each is a thread.
fn log_of(conversations: usize) -> NamedTempFile {
    let mut file = NamedTempFile::with_suffix(".jsonl").unwrap();
    for number in 0..conversations {
        let request = json!({ "model": "m", "max_tokens": 9, "messages": [{ "role": "user", "content": format!("Question {number}?") }] });
        let content = json!([{ "type": "text", "text": format!("Answer {number} of {conversations}.") }]);
        let answer = json!({ "type": "message", "id": "msg_1", "role": "assistant", "content": content, "stop_reason": "end_turn" });
        let response = json!({ "status_code": 200, "headers": {}, "body": answer });
        let request = json!({ "url": "https://x.example/v1/messages", "body": request });
        writeln!(file, "{}", json!({ "request": request, "response": response, "logged_at": number })).unwrap();
    }
    file
}

fn import(folder: &Path, before: &[&str], recording: &NamedTempFile) -> Output {
    let words = [before, &[env!("CARGO_BIN_EXE_reenact"), "import", recording.path().to_str().unwrap()]].concat();
    Command::new(words[0]).args(&words[1..]).args(["--out", "x", "--force"]).current_dir(folder).output().unwrap()
}

fn files(folder: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read_to_string(path).unwrap())).collect()
}

/// A folder after an import of three threads, with a file of somebody else; and what an import of two threads makes of it.
fn folder() -> (TempDir, BTreeMap<String, String>) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("x.thread-9.toml"), MINE).unwrap();
    assert!(import(folder.path(), &[], &log_of(2)).status.success());
    let wanted = files(folder.path());
    assert_eq!(wanted.keys().collect::<Vec<_>>(), ["x.tape.jsonl", "x.thread-2.toml", "x.thread-9.toml", "x.toml"]);
    assert!(import(folder.path(), &[], &log_of(3)).status.success());
    assert!(folder.path().join("x.thread-3.toml").exists());
    (folder, wanted)
}

#[test]
fn k_12_an_import_by_force_leaves_no_scenario_of_an_earlier_one() {
    let (folder, wanted) = folder();
    let output = import(folder.path(), &[], &log_of(2));
    assert!(files(folder.path()) == wanted, "{:?}", files(folder.path()).keys());
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("removed x.thread-3.toml, which an earlier import wrote") && !said.contains("x.thread-9"), "{said}");
}

#[test]
fn k_12_an_import_by_force_that_is_refused_or_killed_at_any_call_changes_nothing_or_is_repeated() {
    if Command::new("strace").arg("-V").output().is_err() {
        eprintln!("SKIPPED: strace is not installed");
        return;
    }
    for (fault, calls) in [("error=EPERM", RENAMES), ("error=EPERM", LINKS), ("error=EPERM", REMOVALS)] {
        assert!(injected(fault, calls) > 1, "{calls}: hardly anything is called");
    }
    for calls in [RENAMES, LINKS, REMOVALS] {
        injected("signal=KILL", calls);
    }
}

const RENAMES: &str = "rename,renameat,renameat2";
const LINKS: &str = "link,linkat";
const REMOVALS: &str = "unlink,unlinkat";

/// Imports again and again, each time with a fault at another one of these calls; gives how many there were.
fn injected(fault: &str, calls: &str) -> u32 {
    for call in 1_u32.. {
        let what = format!("{fault} at {calls} {call}");
        let ((folder, wanted), log) = (folder(), tempfile::tempdir().unwrap());
        let (at, log) = (folder.path(), log.path().join("calls"));
        let before = files(at);
        let inject = format!("inject={calls}:{fault}:when={call}");
        let trace = ["strace", "-f", "-e", &format!("trace={calls}"), "-e", &inject, "-o", log.to_str().unwrap()];
        let output = import(at, &trace, &log_of(2));
        // What is killed may not be logged.
        if !fs::read_to_string(&log).unwrap().contains("INJECTED") && output.status.success() {
            return call - 1;
        }
        let after = files(at);
        let named: BTreeMap<_, _> = after.iter().filter(|(name, _)| !name.starts_with('.')).collect();
        let is_part_of = |whole: &BTreeMap<String, String>| named.iter().all(|(name, text)| whole.get(*name) == Some(text));
        assert!(is_part_of(&before) || is_part_of(&wanted), "{what}: some are old and some new: {:?}", named.keys());
        match output.status.code() {
            Some(2) => assert!(after == before, "{what}: {:?}", after.keys()),
            Some(0) => assert_eq!(named.len(), wanted.len(), "{what}"),
            _ => assert_eq!(fault, "signal=KILL"),
        }
        assert!(import(at, &[], &log_of(2)).status.success());
        assert!(files(at) == wanted, "{what}, repeated: {:?}", files(at).keys());
    }
    unreachable!("there are fewer calls")
}
