//! The program as its users meet it: what it prints and how it exits.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

const HELLO: &str = "[[prompt]]\ntext = \"Hello?\"\n\n[[prompt.turn]]\ntext = \"Hello.\"\n";

fn reenact(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_reenact")).args(arguments).current_dir(folder).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs and expects bad input: exit code 2, nothing about a panic, and each of `words` in what is complained about.
fn refused(folder: &Path, arguments: &[&str], words: &[&str]) {
    let output = reenact(folder, arguments);
    let complaint = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {complaint}");
    assert!(!complaint.contains("panicked"), "{complaint}");
    for word in words {
        assert!(complaint.contains(word), "{arguments:?}: {word:?} is not in:\n{complaint}");
    }
}

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, contents) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, contents).unwrap();
    }
    folder
}

#[test]
fn f_7_bad_input_is_named_with_file_line_and_column() {
    let two_typos = "titel = \"x\"\n[engine]\nmodle = \"m\"\n[[prompt]]\ntext = \"hi\"\n[[prompt.turn]]\ntext = \"ho\"\n";
    let folder = folder(&[
        ("empty.toml", ""),
        ("broken.toml", "title = \"x\n[[prompt]\ntext = 5\n"),
        ("typos.toml", two_typos),
        ("folder/readme.txt", "no scenario"),
        ("gone.toml", "tape = \"gone.tape.jsonl\"\n[[prompt]]\ntext = \"hi\"\n"),
        ("bytes.toml", "ok"),
    ]);
    fs::write(folder.path().join("bytes.toml"), [0xff, 0xfe]).unwrap();
    let at = folder.path();
    refused(at, &["run", "nowhere.toml"], &["nowhere.toml", "no such file"]);
    refused(at, &["run", "folder"], &["folder", "holds no scenario"]);
    refused(at, &["run", "empty.toml"], &["empty.toml:1:1", "[[prompt]]"]);
    refused(at, &["run", "broken.toml"], &["broken.toml:1:11", "broken.toml:2:10", "broken.toml:3:8"]);
    refused(at, &["run", "typos.toml"], &["typos.toml:1:1", "`titel`", "`title`", "typos.toml:3:1", "`modle`", "`model`"]);
    refused(at, &["run", "gone.toml"], &["gone.toml:1:8", "gone.tape.jsonl"]);
    refused(at, &["run", "bytes.toml"], &["bytes.toml", "not UTF-8"]);
    refused(at, &["run", "typos.toml", "empty.toml"], &["typos.toml:3:1", "empty.toml:1:1"]);
    refused(at, &["run", "--detial", "brief"], &["--detail"]);
    refused(at, &["replay", "nowhere.log"], &["nowhere.log"]);
    refused(at, &["replay", "typos.toml"], &["line 1", "not a boundary log"]);
}

/// The shipped recording with its tape changed.
fn replayed_with(change: impl Fn(&str) -> String) -> TempDir {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/world");
    let tape = fs::read_to_string(shipped.join("replayed.tape.jsonl")).unwrap();
    let scenario = fs::read_to_string(shipped.join("replayed.toml")).unwrap();
    folder(&[("replayed.toml", &scenario), ("replayed.tape.jsonl", &change(&tape))])
}

#[test]
fn f_2_a_cut_tape_is_reported_and_its_whole_exchanges_are_replayed() {
    let folder = replayed_with(|tape| tape[..tape.len() - 300].to_string());
    let last_line = fs::read_to_string(folder.path().join("replayed.tape.jsonl")).unwrap().lines().count();
    let place = format!("replayed.tape.jsonl:{last_line}:");
    // Of the tape alone nothing is expected that is not on it; the scenario expects the end that was cut.
    for (named, code) in [("replayed.toml", 1), ("replayed.tape.jsonl", 0)] {
        let output = reenact(folder.path(), &["run", named]);
        let (shown, said) = (text(&output.stdout), text(&output.stderr));
        assert!(said.contains(&format!("note: {place}")) && said.contains("left out"), "{said}");
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(shown.contains("result 1A") && shown.contains("tape_exhausted"), "nothing that is whole is lost:\n{shown}");
    }
}

#[test]
fn f_7_a_result_for_a_tool_use_that_nobody_asks_for_is_refused() {
    let folder = replayed_with(str::to_string);
    let path = folder.path().join("replayed.toml");
    let scenario = fs::read_to_string(&path).unwrap().replace("toolu_sample_vcrpy", "toolu_wrong");
    fs::write(&path, scenario).unwrap();
    refused(folder.path(), &["run", "replayed.toml"], &["toolu_wrong", "toolu_sample_vcrpy"]);
}

#[test]
fn f_5_a_newer_tape_and_one_that_is_none_are_refused() {
    let newer = replayed_with(|tape| tape.replacen("\"reenact_tape\":1", "\"reenact_tape\":2", 1));
    refused(newer.path(), &["run", "replayed.toml"], &["replayed.toml:", "replayed.tape.jsonl", "version 2"]);
    refused(newer.path(), &["run", "replayed.tape.jsonl"], &["replayed.tape.jsonl", "version 2"]);
    let header_cut = replayed_with(|tape| tape[..20].to_string());
    refused(header_cut.path(), &["run", "replayed.toml"], &["replayed.toml:", "replayed.tape.jsonl"]);
    let empty = replayed_with(|_| String::new());
    refused(empty.path(), &["run", "replayed.toml"], &["replayed.tape.jsonl", "empty"]);
    let other = replayed_with(|_| String::from("event: ping\ndata: {\"type\": \"ping\"}\n\n"));
    refused(other.path(), &["run", "replayed.toml"], &["reenact import"]);
}

#[test]
fn set_and_seed_change_the_run_and_their_faults_name_them() {
    let folder = folder(&[("hello.toml", HELLO)]);
    let output = reenact(folder.path(), &["run", "hello.toml", "--set", "engine.model=some-model", "--seed", "9"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("some-model") && text(&output.stdout).contains("seed 9"));
    refused(folder.path(), &["run", "hello.toml", "--set", "engine.modle=x"], &["--set", "`modle`", "`model`"]);
    refused(folder.path(), &["run", "hello.toml", "--set", "novalue"], &["KEY=VALUE"]);
    refused(folder.path(), &["run", "hello.toml", "--seed", "9", "--accept"], &["leave out --seed"]);
}

#[test]
fn forms_and_details_of_a_transcript() {
    let folder = folder(&[("hello.toml", HELLO)]);
    let say = |arguments: &[&str]| {
        let output = reenact(folder.path(), &[&["run", "hello.toml"], arguments].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let (brief, normal, debug) = (say(&["--detail", "brief"]), say(&[]), say(&["--detail", "debug"]));
    assert!(!brief.contains("request 1") && normal.contains("request 1") && debug.contains("message_start"));
    let lines = say(&["--format", "jsonl"]);
    let transcript = reenact::transcript::json::from_json_lines(&lines).unwrap();
    let digest = say(&["--format", "digest"]);
    assert!(digest.starts_with(&reenact::transcript::json::digest(&transcript)), "{digest}");
}

#[test]
fn d_5_check_compares_digests() {
    let folder = folder(&[("hello.toml", HELLO)]);
    let output = reenact(folder.path(), &["run", "hello.toml", "--check"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("1 digest the same"), "{}", text(&output.stdout));
}

#[test]
fn snapshots_are_left_pending_until_they_are_accepted() {
    let folder = folder(&[("scenarios/a/hello.toml", HELLO)]);
    let at = folder.path();
    let run = |arguments: &[&str]| reenact(at, &[&["run"], arguments].concat());
    let (snapshot, pending) = (at.join("snapshots/a/hello.snap"), at.join("snapshots/a/hello.snap.new"));
    assert_eq!(run(&["--snapshots"]).status.code(), Some(1));
    assert!(pending.exists() && !snapshot.exists());
    assert_eq!(run(&["--accept"]).status.code(), Some(0));
    assert!(!pending.exists() && snapshot.exists());
    assert_eq!(run(&["--snapshots"]).status.code(), Some(0));
    fs::write(at.join("scenarios/a/hello.toml"), HELLO.replace("Hello.", "Good day.")).unwrap();
    let changed = run(&["--snapshots"]);
    assert_eq!(changed.status.code(), Some(1));
    assert!(text(&changed.stderr).contains("Good day."), "{}", text(&changed.stderr));
}

#[test]
fn f_9_each_run_of_a_matrix_has_its_snapshot_and_can_be_named() {
    let matrix = "extends = \"_base.toml\"\n[matrix]\nseed = [1, 2]\n";
    let base = "[[prompt]]\ntext = \"Hello.\"\n[[prompt.turn]]\ntext = \"Hi.\"\n";
    let folder = folder(&[("scenarios/a.toml", matrix), ("scenarios/_base.toml", base)]);
    let accepted = reenact(folder.path(), &["run", "scenarios", "--accept"]);
    assert_eq!(accepted.status.code(), Some(0), "{}", text(&accepted.stderr));
    for seed in [1, 2] {
        assert!(folder.path().join(format!("snapshots/a@seed={seed}.snap")).is_file());
    }
    assert!(!folder.path().join("snapshots/_base.snap").exists());
    let one = reenact(folder.path(), &["run", "scenarios/a.toml@seed=2", "--snapshots"]);
    assert!(text(&one.stdout).starts_with("a@seed=2\n"), "{}", text(&one.stdout));
    assert_eq!(one.status.code(), Some(0));
    let checked = reenact(folder.path(), &["run", "scenarios", "--check", "--format", "digest"]);
    assert!(text(&checked.stderr).contains("check: 2 digests the same"), "{}", text(&checked.stderr));
    let swept = reenact(folder.path(), &["sweep", "scenarios", "--canary", "double-terminal"]);
    assert!(text(&swept.stderr).contains("run scenarios/a.toml@seed=1 --canary"), "{}", text(&swept.stderr));
    refused(folder.path(), &["run", "scenarios/a.toml@seed=3"], &["no run of this name", "scenarios/a.toml@seed=1"]);
    refused(folder.path(), &["run", "scenarios/a.toml", "--log", "x.log"], &["takes one scenario, and these are 2"]);
}

#[test]
fn s_10_a_scenario_may_bring_its_own_prices() {
    let prices = include_str!("../src/engine/budget/prices.toml").replace("output = \"15\"", "output = \"16\"");
    let scenario = "extends = \"bases/_base.toml\"\n[[prompt]]\ntext = \"Hello.\"\n[[prompt.turn]]\ntext = \"Hi.\"\noutput_tokens = 1000\n";
    let base = "[engine]\nmodel = \"claude-sonnet-4-5\"\nprices = \"mine.toml\"\n";
    let folder = folder(&[("a.toml", scenario), ("bases/_base.toml", base), ("bases/mine.toml", &prices)]);
    let output = reenact(folder.path(), &["run", "a.toml", "--log", "a.log"]);
    assert!(text(&output.stdout).contains("$0.0160"), "{}", text(&output.stdout));
    let replayed = reenact(folder.path(), &["replay", "a.log"]);
    assert_eq!(replayed.status.code(), Some(0), "the log holds the prices: {}", text(&replayed.stderr));
    fs::write(folder.path().join("bases/mine.toml"), prices.replace("cache_read = \"0.30\"", "cache_read = 1")).unwrap();
    refused(folder.path(), &["run", "a.toml"], &["bases/_base.toml:3:", "mine.toml: line ", "`cache_read`: expected text in quotes"]);
    fs::remove_file(folder.path().join("bases/mine.toml")).unwrap();
    refused(folder.path(), &["run", "a.toml"], &["bases/_base.toml:3:", "mine.toml: cannot be read: "]);
}

#[test]
fn c_4_a_scenario_may_bring_its_own_windows() {
    let windows =
        "compiled = \"2026-11-21\"\n[[window]]\nmodels = [\"mine\"]\ntokens = 90000\nsource = \"made up\"\nseen = \"2026-11-21\"\n";
    let scenario = "[engine]\nmodel = \"mine\"\nwindows = \"mine.toml\"\n[engine.compaction]\nauto = false\n\
                    [[prompt]]\ntext = \"Hello.\"\n[[prompt.turn]]\ntext = \"Hi.\"\ninput_tokens = 91000\noutput_tokens = 5\n";
    let folder = folder(&[("a.toml", scenario), ("mine.toml", windows)]);
    let output = reenact(folder.path(), &["run", "a.toml", "--log", "a.log"]);
    assert!(text(&output.stdout).contains("the window of mine has 90000, and compaction is off"), "{}", text(&output.stdout));
    let replayed = reenact(folder.path(), &["replay", "a.log"]);
    assert_eq!(replayed.status.code(), Some(0), "the log holds the windows: {}", text(&replayed.stderr));
    fs::write(folder.path().join("mine.toml"), windows.replace("90000", "\"90000\"")).unwrap();
    refused(folder.path(), &["run", "a.toml"], &["a.toml:3:", "window table", "line 4: `tokens`: expected a whole number of tokens"]);
}

#[test]
fn a_failed_expectation_exits_with_1_and_says_what_it_got() {
    let folder = folder(&[("hello.toml", &format!("{HELLO}\n[expect]\nrequests = 2\n"))]);
    let output = reenact(folder.path(), &["run", "hello.toml"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("expected requests 2, got 1"), "{}", text(&output.stderr));
}

#[test]
fn a_boundary_log_replays_and_a_changed_one_is_named() {
    let folder = folder(&[("hello.toml", HELLO)]);
    assert_eq!(reenact(folder.path(), &["run", "hello.toml", "--log", "hello.log"]).status.code(), Some(0));
    let output = reenact(folder.path(), &["replay", "hello.log"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("all equal"));
    let log = fs::read_to_string(folder.path().join("hello.log")).unwrap();
    let without_head: String = log.lines().filter(|line| !line.contains("\"head\"")).map(|line| format!("{line}\n")).collect();
    fs::write(folder.path().join("cut.log"), without_head).unwrap();
    let output = reenact(folder.path(), &["replay", "cut.log"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("logged:"), "{}", text(&output.stderr));
}

#[cfg(unix)]
#[test]
fn links_in_circles_and_doubled_paths_find_each_scenario_once() {
    let folder = folder(&[("scenarios/hello.toml", HELLO)]);
    let at = folder.path();
    std::os::unix::fs::symlink(".", at.join("scenarios/self")).unwrap();
    std::os::unix::fs::symlink("../scenarios", at.join("scenarios/up")).unwrap();
    let output = reenact(at, &["run", "scenarios", "scenarios/hello.toml", "--format", "digest"]);
    assert_eq!(text(&output.stdout).lines().count(), 1, "{}", text(&output.stdout));
}

#[test]
fn a_log_overwrites_logs_only() {
    let folder = folder(&[("hello.toml", HELLO)]);
    refused(folder.path(), &["run", "hello.toml", "--log", "hello.toml"], &["hello.toml", "not a boundary log"]);
    assert_eq!(fs::read_to_string(folder.path().join("hello.toml")).unwrap(), HELLO);
    for _ in 0..2 {
        assert_eq!(reenact(folder.path(), &["run", "hello.toml", "--log", "x.log"]).status.code(), Some(0));
    }
}

#[test]
fn a_snapshot_has_one_place_however_its_scenario_is_named() {
    let folder = folder(&[("scenarios/a/hello.toml", HELLO)]);
    assert_eq!(reenact(folder.path(), &["run", "--accept"]).status.code(), Some(0));
    for (from, path) in [("scenarios", "."), ("scenarios/a", "hello.toml"), (".", "./scenarios/../scenarios")] {
        let output = reenact(&folder.path().join(from), &["run", path, "--snapshots"]);
        assert_eq!(output.status.code(), Some(0), "{from} {path}: {}", text(&output.stderr));
    }
}

#[test]
fn a_recording_named_as_a_scenario_is_recognised() {
    let folder = folder(&[("r.sse", "event: ping\ndata: {\"type\": \"ping\"}\n\n")]);
    refused(folder.path(), &["run", "r.sse"], &["r.sse", "raw event stream", "reenact import"]);
}

#[test]
fn f_7_a_large_foreign_file_is_refused_soon() {
    let folder = folder(&[("big.toml", &"this line is not toml at all\n".repeat(40_000))]);
    refused(folder.path(), &["run", "big.toml"], &["big.toml: this is not a scenario"]);
}

#[test]
fn an_import_goes_into_a_folder_and_says_when_there_is_nothing_to_replay() {
    let other = r#"{"log":{"version":"1.2","entries":[{"startedDateTime":"2026-01-01T00:00:00Z","time":1,"request":{"method":"GET","url":"https://x.example/y","headers":[]},"response":{"status":200,"headers":[],"content":{"text":"{}"}},"timings":{"wait":1}}]}}"#;
    let sample = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples/sample.sse")).unwrap();
    let folder = folder(&[("other.har", other), ("in/sample.sse", &sample), ("out/x.txt", "")]);
    let output = reenact(folder.path(), &["import", "in/sample.sse", "--out", "out"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(folder.path().join("out/sample.toml").exists());
    refused(folder.path(), &["import", "other.har"], &["a HAR file", "requests to other services (1)", "reenact record"]);
    let left = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).filter(|name| name != "in" && name != "out");
    assert_eq!(left.collect::<Vec<_>>(), ["other.har"], "an import that found nothing leaves nothing");
}

#[test]
fn k_2_a_folder_is_searched_to_its_last_file() {
    let key = "ANTHROPIC_API_KEY=sk-ant-api03-q7Vd2mXk9TfLw4ZrB8yN\n";
    let folder = folder(&[
        ("good/a.txt", "nothing here\n"),
        ("good/empty.txt", ""),
        ("bad/x/y/b.txt", key),
        ("bad/a.txt", "nothing\n"),
        ("none/empty", ""),
    ]);
    let at = folder.path();
    let scanned = |name: &str| {
        let output = reenact(at, &["scan", name]);
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    assert_eq!(scanned("good"), (Some(0), String::from("no secrets found in 1 file, 13 bytes\n"), String::new()));
    let (exit, found, _) = scanned("bad");
    assert!(exit == Some(1) && found.starts_with("bad/x/y/b.txt:1:"), "{exit:?} {found}");
    refused(at, &["scan", "none"], &["none: no file in it holds anything, so nothing was searched"]);
    // A file that cannot be searched takes the verdict away, also where all others are clean.
    fs::write(at.join("good/picture.bin"), b"\0\0\0").unwrap();
    refused(
        at,
        &["scan", "good"],
        &["good/picture.bin: it is not text", "searched 1 file, 13 bytes, without a finding; 1 file not searched"],
    );
    fs::remove_file(at.join("good/picture.bin")).unwrap();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(at.join("bad"), at.join("good/link")).unwrap();
        refused(at, &["scan", "good"], &["good/link: it is a link and was not followed: name its target"]);
    }
}

#[test]
fn k_2_an_import_holds_no_secret_unless_it_is_asked_for() {
    let stream =
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"sk-ant-api03-aaaaaaaaaa TICKET-4711\"}}\n\n";
    let rules = "[[rule]]\nname = \"ticket\"\npattern = 'TICKET-(\\d+)'\n";
    let folder = folder(&[("r.sse", stream), ("rules.toml", rules), ("bad.toml", "[[rule]]\nname = \"x\"\npattern = '('\n")]);
    let at = folder.path();
    let tape = |out: &str, options: &[&str]| {
        let output = reenact(at, &[&["import", "r.sse", "--out", out][..], options].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let tape = fs::read_to_string(at.join(out).with_extension("tape.jsonl")).unwrap();
        (tape, text(&output.stdout), text(&output.stderr))
    };
    let scanned = |out: &str| reenact(at, &["scan", &format!("{out}.tape.jsonl")]).status.code();
    let (shipped, said, _) = tape("a", &[]);
    assert!(shipped.contains("\\\"REDACTED000001xxxxxxxxx TICKET-4711"), "{shipped}");
    assert!(
        said.contains("replaced or left out: 1 secret (anthropic-key)") && shipped.contains("\"redactions\":[\"anthropic-key\"]"),
        "{said}"
    );
    let (further, said, _) = tape("b", &["--redact", "rules.toml"]);
    assert!(further.contains("TICKET-RX02") && said.contains("2 secrets (anthropic-key, ticket)"), "{said}{further}");
    let (kept, said, warned) = tape("c", &["--keep-bodies"]);
    assert!(kept.contains("sk-ant-api03-aaaaaaaaaa TICKET-4711") && !said.contains("replaced") && warned.contains("warning"), "{warned}");
    assert_eq!(["a", "b", "c"].map(scanned), [Some(0), Some(0), Some(1)]);
    // Compressed it is the same.
    for out in ["a", "c"] {
        let plain = fs::read(at.join(out).with_extension("tape.jsonl")).unwrap();
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut encoder, &plain).unwrap();
        fs::write(at.join(out).with_extension("tape.jsonl"), encoder.finish().unwrap()).unwrap();
    }
    assert_eq!(["a", "c"].map(scanned), [Some(0), Some(1)]);
    fs::write(at.join("cut.gz"), &fs::read(at.join("a.tape.jsonl")).unwrap()[..40]).unwrap();
    fs::write(at.join("x.zip"), b"PK\x03\x04 and more").unwrap();
    refused(at, &["scan", "cut.gz"], &["cut.gz: cannot be read"]);
    refused(at, &["scan", "x.zip"], &["x.zip: it is compressed and was not searched"]);
    refused(at, &["import", "r.sse", "--redact", "bad.toml"], &["bad.toml", "rule `x`"]);
    refused(at, &["import", "r.sse", "--redact", "rules.toml", "--keep-bodies"], &["--keep-bodies"]);
}

#[test]
#[cfg(unix)]
fn k_12_an_import_writes_all_of_its_files_or_none_and_can_be_repeated_by_force() {
    use std::os::unix::fs::PermissionsExt as _;
    let sample = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples/sample.vcrpy.yaml")).unwrap();
    let folder = folder(&[("r.yaml", &sample), ("out/taken.toml", "mine")]);
    let (at, out) = (folder.path(), folder.path().join("out"));
    let files = || {
        let mut files: Vec<(String, Vec<u8>)> = fs::read_dir(&out)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(&path).unwrap()))
            .collect();
        files.sort();
        files
    };
    let before = files();
    refused(at, &["import", "r.yaml", "--out", "out/taken"], &["out/taken.toml", "--force"]);
    // The file system refuses in the middle, and the process is killed by that.
    let limited = "ulimit -f 1; ulimit -c 0; exec \"$@\"";
    let program = env!("CARGO_BIN_EXE_reenact");
    let killed = Command::new("sh").args(["-c", limited, "sh", program, "import", "r.yaml", "--out", "out/x"]).current_dir(at).output();
    assert!(!killed.unwrap().status.success());
    assert_eq!(files(), before, "nothing is left");
    assert_eq!(reenact(at, &["import", "r.yaml", "--out", "out/x"]).status.code(), Some(0));
    let written = files();
    assert!(written.len() > before.len() + 1);
    assert_eq!(out.join("x.tape.jsonl").metadata().unwrap().permissions().mode() & 0o777, 0o600);
    refused(at, &["import", "r.yaml", "--out", "out/x"], &["--force"]);
    fs::write(out.join("x.toml"), "changed").unwrap();
    assert_eq!(reenact(at, &["import", "r.yaml", "--out", "out/x", "--force"]).status.code(), Some(0));
    assert!(files() == written, "the same files and no others");
}

#[test]
fn f_11_a_run_is_kept_as_a_scenario_that_needs_no_seed() {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/world");
    let read = |name: &str| fs::read_to_string(shipped.join(name)).unwrap();
    let (tape, replayed) = (read("replayed.tape.jsonl"), read("replayed.toml"));
    let folder = folder(&[
        ("base/replayed.tape.jsonl", &tape),
        ("base/_replayed.toml", &format!("{replayed}\n[timing]\nhead = \"1s..9s\"\n")),
        ("replayed.toml", "extends = \"base/_replayed.toml\"\n"),
        ("hello.toml", HELLO),
        // A project: the plan below names the tape beside its folder.
        (".git", "gitdir: elsewhere\n"),
    ]);
    let at = folder.path();
    let digest = |arguments: &[&str]| {
        let output = reenact(at, &[&["run", "--format", "digest"], arguments].concat());
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout).split(' ').next().unwrap().to_string()
    };
    let known = digest(&["replayed.toml", "--seed", "3", "--write-plan", "kept/there/replayed.toml"]);
    let kept = fs::read_to_string(at.join("kept/there/replayed.toml")).unwrap();
    assert!(kept.starts_with("# The run of scenario replayed"), "{kept}");
    assert!(kept.contains("tape = \"../../base/replayed.tape.jsonl\""), "{kept}");
    assert_eq!(digest(&["kept/there/replayed.toml"]), known);
    assert_eq!(digest(&["kept/there/replayed.toml", "--seed", "4"]), known);
    assert_ne!(digest(&["replayed.toml", "--seed", "4"]), known);
    let place = ["--interrupt-at", "5:after", "--interrupt-kind", "interrupt"];
    let interrupted = digest(&[&["hello.toml", "--write-plan", "i.toml"][..], &place].concat());
    assert_eq!(digest(&["i.toml", "--seed", "9", "--oracles"]), interrupted);
    assert_eq!(digest(&["hello.toml", "--write-plan", "i.toml"]), digest(&["i.toml"]), "a file of its own may be written anew");
    refused(at, &["run", "hello.toml", "--write-plan", "replayed.toml"], &["replayed.toml", "name another"]);
    refused(at, &["run", "hello.toml", "i.toml", "--write-plan", "j.toml"], &["one scenario"]);
}

#[test]
fn e_8_a_plan_that_names_what_does_not_come_fails() {
    let plan =
        "[[plan.interrupt]]\nevent = 999\nkind = \"cancel\"\n\n[plan.tools]\ntoolu_x = \"5ms\"\n\n[plan.answers]\n1 = { head = \"1s\" }\n";
    let folder = folder(&[("late.toml", &format!("{HELLO}\n{plan}"))]);
    let ran = reenact(folder.path(), &["run", "late.toml"]);
    assert_eq!(ran.status.code(), Some(1));
    let (output, failures) = (text(&ran.stdout), text(&ran.stderr));
    for told in ["the plan's interrupt at event 999", "the plan's tools, toolu_x"] {
        assert!(output.contains(told) && failures.contains(&format!("{told} did not come")), "{told} is not in:\n{output}{failures}");
    }
    assert!(!output.contains("the plan's answers"), "{output}");
}
