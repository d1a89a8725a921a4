//! Files that are made to hurt: each reader gives a clear error, in little memory and time (K-12).
//!
//! The readers run in the built program, under a bound of its memory: one that breaks it aborts, and an abort is no exit code 2.
#![cfg(unix)]

#[path = "hostile/files.rs"]
mod files;

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use files::{alias_bomb, brotli_of_letters, doubling_tape, gzip_of_letters, har};
use proptest::prelude::*;
use tempfile::TempDir;

/// All the memory that a reader may take, in KiB.
const MEMORY_KIB: u32 = 1_000_000;

/// A release build takes under 2 s; the tests run builds that are not optimised, several at once.
const PATIENCE: Duration = Duration::from_secs(30);

fn reenact(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -v {MEMORY_KIB}; ulimit -c 0; exec \"$@\""), "sh", env!("CARGO_BIN_EXE_reenact")]);
    command.args(arguments).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let id = child.id();
    let (sender, ended) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || sender.send(child.wait_with_output().unwrap()));
        ended.recv_timeout(PATIENCE).unwrap_or_else(|_| {
            Command::new("kill").args(["-KILL", &id.to_string()]).status().unwrap();
            panic!("{arguments:?} does not end");
        })
    })
}

/// Asserts that the command gives an error that names `name`, and returns it.
fn refused(folder: &Path, arguments: &[&str], name: &str) -> String {
    let output = reenact(folder, arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let start: String = said.chars().take(300).collect();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {start}");
    assert!(said.contains(name) && said.len() < 4_000, "{arguments:?}: {start}");
    said
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A file of `count` bytes of nothing, which takes no room on the disk.
fn hollow(path: &Path, count: u64) {
    std::fs::File::create(path).unwrap().set_len(count).unwrap();
}

#[test]
fn k_12_pipes_devices_and_folders_are_refused_by_every_reader() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    for name in ["x.toml", "x.tape.jsonl", "x.har"] {
        assert!(Command::new("mkfifo").arg(at.join(name)).status().unwrap().success());
    }
    std::fs::write(at.join("fine.txt"), "fine").unwrap();
    std::fs::create_dir(at.join("folder")).unwrap();
    let pipe = "a pipe or a device";
    for (arguments, words) in [
        (&["import", "x.har", "--out", "o"][..], pipe),
        (&["import", "/dev/zero", "--out", "o"], pipe),
        (&["import", "folder", "--out", "o"], "folder"),
        (&["run", "x.tape.jsonl"], pipe),
        (&["run", "x.toml"], "not a file"),
        (&["run", "/dev/zero"], "not a file"),
        (&["serve", "x.tape.jsonl"], pipe),
        (&["scan", "x.toml"], pipe),
        (&["scan", "/dev/zero"], pipe),
        (&["scan", "folder"], "folder"),
        (&["scan", "fine.txt", "--redact", "x.toml"], pipe),
        (&["replay", "x.toml"], pipe),
        (&["record", "--upstream", "https://127.0.0.1:9", "--ca", "x.toml", "--out", "o.tape.jsonl", "--", "true"], pipe),
    ] {
        let name = arguments.iter().find(|word| ["x.", "/dev", "folder"].iter().any(|start| word.starts_with(start))).unwrap();
        assert!(refused(at, arguments, name).contains(words), "{arguments:?}");
    }
}

#[test]
fn k_12_hollow_and_empty_files_are_refused() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    for (name, command) in [("x.toml", "run"), ("x.tape.jsonl", "run"), ("x.har", "import"), ("x.yaml", "import"), ("log.jsonl", "replay")]
    {
        hollow(&at.join(name), 3 << 30);
        refused(at, &[command, name], name);
        hollow(&at.join(name), 0);
        if command != "replay" {
            refused(at, &[command, name], name);
        }
    }
}

#[test]
fn k_12_a_scenario_of_too_many_values_is_refused() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("x.toml"), format!("x = [{}]\n", "1,".repeat(3_000_000))).unwrap();
    assert!(refused(folder.path(), &["run", "x.toml"], "x.toml").contains("more than 500000 lines and values"));
}

#[test]
fn k_12_what_unpacks_without_end_is_refused() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    let much = gzip(&vec![b'a'; 300 << 20]);
    let four_gib = brotli_of_letters(256);
    assert!(four_gib.len() < 4_000);
    for (name, contents) in [
        ("body.har", har("gzip", &much).into_bytes()),
        ("twice.har", har("gzip, gzip", &gzip(&much)).into_bytes()),
        ("brotli.har", har("br", &four_gib).into_bytes()),
        ("both.har", har("br, gzip", &gzip(&four_gib)).into_bytes()),
        ("stream.gz", gzip_of_letters(b"event: ping\ndata: ", 1 << 20)),
        ("yaml.gz", gzip_of_letters(b"interactions: ", 1 << 20)),
    ] {
        std::fs::write(at.join(name), contents).unwrap();
        assert!(refused(at, &["import", name, "--out", "o"], name).contains("larger than"), "{name}");
    }
    // Nothing in it says what it is.
    std::fs::write(at.join("bare.br"), &four_gib).unwrap();
    assert!(refused(at, &["scan", "bare.br"], "bare.br").contains("was not searched"));
    refused(at, &["import", "bare.br", "--out", "o"], "bare.br: not a known kind of recording");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn k_12_tapes_that_double_are_refused(first in "[a-z]{0,2000}", lines in 28_u32..60) {
        let folder = TempDir::new().unwrap();
        std::fs::write(folder.path().join("x.tape.jsonl"), doubling_tape(&first, lines)).unwrap();
        for command in ["run", "scan"] {
            let said = refused(folder.path(), &[command, "x.tape.jsonl"], "x.tape.jsonl: ");
            prop_assert!(said.contains("grow beyond"), "{}", said);
        }
    }

    #[test]
    fn k_12_aliases_that_repeat_are_refused(text in "[a-z]{0,2000}", levels in 8_usize..30) {
        let folder = TempDir::new().unwrap();
        std::fs::write(folder.path().join("x.yaml"), alias_bomb(&text, levels)).unwrap();
        let said = refused(folder.path(), &["import", "x.yaml", "--out", "o"], "x.yaml");
        prop_assert!(said.contains("aliases repeat too much"), "{}", said);
    }

    #[test]
    fn k_12_nesting_is_refused(
        unit in prop::sample::select(vec!["? ", "- ", "[", "{a: ", "{\"a\":", "a: ", "[{\"a\":", "\"", "&a ", "!a ", "? - "]),
        start in prop::sample::select(vec!["", "interactions:\n- ", "{\"interactions\":[", "{\"a\":", "reenact_tape: ", "[[prompt]]\na = "]),
        count in 1_000_usize..100_000,
    ) {
        let folder = TempDir::new().unwrap();
        let text = format!("{start}{}", unit.repeat(count));
        for (command, name) in [("import", "x.yaml"), ("run", "x.toml"), ("run", "x.tape.jsonl"), ("replay", "x.log")] {
            std::fs::write(folder.path().join(name), &text).unwrap();
            refused(folder.path(), &[command, name], name);
        }
    }

    /// Each reader ends on a text that repeats itself, in bounded time and memory.
    #[test]
    fn k_12_what_repeats_is_read_to_its_end(
        unit in prop::sample::select(vec![
            "token=", "password: \"", "a = \n", "[[prompt]]\n", "[[prompt\n", "- a\n", "&a *a ", "data: x\n\n", "{},", "\\\"", "%41+", "{\"at\":0}\n", "a\t",
        ]),
        start in prop::sample::select(vec!["", "interactions:\n", "{\"reenact_tape\":1}\n", "x = [", "{\"log\":{\"entries\":["]),
    ) {
        let folder = TempDir::new().unwrap();
        let text = format!("{start}{}", unit.repeat(200_000 / unit.len()));
        let readers = [("import", "x.yaml"), ("import", "x.sse"), ("run", "x.toml"), ("run", "x.tape.jsonl"), ("replay", "x.log"), ("scan", "x.txt")];
        for (command, name) in readers {
            std::fs::write(folder.path().join(name), &text).unwrap();
            let output = reenact(folder.path(), &[command, name]);
            prop_assert!(matches!(output.status.code(), Some(0..=2)), "{command} {name}: {:?}", output.status);
        }
    }

    /// As deep as may be, with a text in which every level could double the backslashes.
    #[test]
    fn k_12_what_is_nested_as_deep_as_may_be_stays_small(
        unit in prop::sample::select(vec!["? ", "? - ", "- ? ", "? {a: 1, ? ", "[", "{? ", "{? a: 1, ? "]),
        leaf in "[\"\\\\]{0,6}",
        count in 2_usize..70,
    ) {
        let folder = TempDir::new().unwrap();
        let leaf = format!("{{'{leaf}': \"{}\"}}", leaf.escape_default());
        let closing = unit.bytes().rev().filter_map(|byte| match byte { b'[' => Some(']'), b'{' => Some('}'), _ => None });
        let text = format!("interactions:\n- {}{leaf}{}\n", unit.repeat(count), closing.collect::<String>().repeat(count));
        std::fs::write(folder.path().join("x.yaml"), &text).unwrap();
        // Bounded in time and memory; whether it is refused is for the other tests.
        let output = reenact(folder.path(), &["import", "x.yaml", "--out", "o"]);
        prop_assert!(matches!(output.status.code(), Some(0..=2)), "{:?} {}", output.status, String::from_utf8_lossy(&output.stderr));
    }
}
