//! `test` and `diff`, as a user types them (V-1, V-2).

use std::fs;

use super::{HELLO, folder, reenact};

#[test]
fn v_1_a_scenario_is_held_against_its_snapshot() {
    let folder = folder(&[("scenarios/a/hello.toml", HELLO), ("scenarios/a/other.toml", HELLO)]);
    let at = folder.path();
    let test = |options: &[&str]| reenact(at, &[&["test"][..], options].concat());
    let (text, _, code) = test(&[]);
    assert!(code == Some(1) && text.contains("FAILED  a/hello\n  it has no snapshot") && text.contains("2 scenarios, 2 failed"), "{text}");
    let (text, _, code) = test(&["--update"]);
    assert!(code == Some(0) && text.contains("2 scenarios, 0 failed, 2 snapshots written"), "{text}");
    assert!(!at.join("snapshots/a/hello.snap.new").exists(), "what waited is taken");
    let (text, _, code) = test(&[]);
    assert!(code == Some(0) && text == "2 scenarios, 0 failed\n", "{text}");
    // A changed word is told by itself, the new transcript waits, and all failures are listed at the end.
    let snapshot = at.join("snapshots/a/hello.snap");
    let approved = fs::read_to_string(&snapshot).unwrap();
    fs::write(&snapshot, approved.replace("Hello?", "Hallo?")).unwrap();
    let (text, _, code) = test(&["--color", "never"]);
    assert!(code == Some(1) && text.contains("[-Hallo?-]{+Hello?+}") && text.contains("1 failed"), "{text}");
    assert!(at.join("snapshots/a/hello.snap.new").exists());
    let (text, _, _) = test(&["--color", "always"]);
    assert!(text.contains("\u{1b}["), "{text}");
    fs::write(&snapshot, approved).unwrap();
    let (_, _, code) = test(&[]);
    assert!(code == Some(0) && !at.join("snapshots/a/hello.snap.new").exists(), "what waited is out of date");
}

#[test]
fn v_1_some_scenarios_are_chosen_and_the_rest_is_not_said_to_be_fine() {
    let files: Vec<(String, &str)> = (0..5).map(|number| (format!("scenarios/s/n{number}.toml"), HELLO)).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (&**name, *text)).collect();
    let folder = folder(&files);
    let at = folder.path();
    let test = |options: &[&str]| reenact(at, &[&["test"][..], options].concat());
    assert_eq!(test(&["--update"]).2, Some(0));
    let listed = |options: &[&str]| test(&[&["--list"][..], options].concat()).0.lines().map(String::from).collect::<Vec<_>>();
    assert_eq!(listed(&["--filter", "n1", "--filter", "s/n[34]"]), ["s/n1", "s/n3", "s/n4"]);
    let parts = [listed(&["--shard", "1/2"]), listed(&["--shard", "2/2"])];
    assert_eq!((parts[0].len(), parts[1].len()), (3, 2));
    assert!(parts[0].iter().all(|name| !parts[1].contains(name)));
    let (_, said, code) = test(&["--filter", "n9"]);
    assert!(code == Some(2) && said.contains("nothing was run"), "{said}");
    let (_, said, code) = test(&["--filter", "[n"]);
    assert!(code == Some(2) && said.contains("is not a pattern"), "{said}");
    // A snapshot without a scenario, where all were run.
    fs::remove_file(at.join("scenarios/s/n4.toml")).unwrap();
    let (text, _, code) = test(&[]);
    assert!(code == Some(1) && text.contains("n4.snap: no scenario has this snapshot"), "{text}");
    assert_eq!(test(&["--filter", "n1"]).2, Some(0));
    // A file that cannot be read fails the rest, and is in the reports.
    fs::write(at.join("scenarios/s/n4.toml"), format!("titel = 1\n{HELLO}")).unwrap();
    let (text, _, code) = test(&["--format", "json", "--junit", "report.xml"]);
    assert!(code == Some(2) && text.contains("\"exit\": 2") && text.contains("n4.toml"), "{text}");
    let report = fs::read_to_string(at.join("report.xml")).unwrap();
    assert!(report.contains("<testcase name=\"s/n0\"") && report.contains("failures=\"1\""), "{report}");
}

#[test]
fn v_2_two_runs_are_compared_event_by_event() {
    let folder = folder(&[("scenarios/hello.toml", HELLO)]);
    let at = folder.path();
    let diff = |options: &[&str]| reenact(at, &[&["diff"][..], options].concat());
    let scenario = "scenarios/hello.toml";
    let (_, said, code) = diff(&[scenario]);
    assert!(code == Some(2) && said.contains("has no snapshot"), "{said}");
    assert_eq!(reenact(at, &["test", "--update"]).2, Some(0));
    let (text, _, code) = diff(&[scenario]);
    assert!(code == Some(0) && text.starts_with("no difference; "), "{text}");
    let (text, _, code) = diff(&[scenario, "--new-set", "engine.model=claude-haiku-4-5"]);
    assert!(code == Some(1) && text.contains("{+claude-haiku-4-5") && text.contains("changed"), "{text}");
    let (text, _, code) = diff(&[scenario, "--old-seed", "1", "--new-seed", "2", "--ignore", "time"]);
    assert!(code == Some(0) && !text.contains("retimed"), "{text}");
    // All forms of one run are the same.
    let (transcript, _, _) = reenact(at, &["run", scenario, "--format", "jsonl"]);
    fs::write(at.join("run.jsonl"), transcript).unwrap();
    assert_eq!(reenact(at, &["run", scenario, "--log", "run.log"]).2, Some(0));
    for other in ["run.jsonl", "snapshots/hello.snap"] {
        let (text, said, code) = diff(&[scenario, other]);
        assert!(code == Some(0), "{other}: {text}{said}");
    }
    let (text, said, code) = diff(&["run.log", "run.log", "--format", "json"]);
    assert!(code == Some(0) && text.contains("\"reenact_diff\": 1"), "{text}{said}");
    let (_, said, code) = diff(&["run.jsonl"]);
    assert!(code == Some(2) && said.contains("compared with what?"), "{said}");
    let (_, said, code) = diff(&["run.jsonl", "run.jsonl", "--new-seed", "3"]);
    assert!(code == Some(2) && said.contains("no scenario"), "{said}");
}

#[test]
fn v_1_only_a_snapshot_that_no_file_can_have_is_an_orphan() {
    let folder = folder(&[
        ("foo/a.toml", HELLO),
        ("scenarios/_base.toml", HELLO),
        ("scenarios/b.toml", HELLO),
        (".gitignore", "scenarios/i.toml\n"),
    ]);
    let at = folder.path();
    for path in ["foo", "scenarios", "scenarios/_base.toml"] {
        let (text, said, code) = reenact(at, &["test", path, "--update"]);
        assert!(code == Some(0), "{path}: {text}{said}");
    }
    for path in ["foo", "scenarios", "."] {
        let (text, said, code) = reenact(at, &["test", path]);
        assert!(code == Some(0) && !text.contains("no scenario has"), "{path}: {text}{said}");
    }
    fs::remove_file(at.join("foo/a.toml")).unwrap();
    fs::write(at.join("foo/c.toml"), HELLO).unwrap();
    let (text, ..) = reenact(at, &["test", "foo", "--update"]);
    assert!(text.contains("a.snap: no scenario has this snapshot"), "{text}");
    fs::write(at.join("scenarios/b@seed=3.toml"), HELLO).unwrap();
    fs::write(at.join("scenarios/b.toml"), format!("{HELLO}\n[matrix]\nseed = [3, 4]\n")).unwrap();
    let (text, _, code) = reenact(at, &["test", "--update"]);
    assert!(code == Some(1) && text.matches("give them different names").count() == 2, "{text}");
}

#[test]
fn v_1_the_hint_names_the_files_as_a_shell_takes_them() {
    let folder = folder(&[("sp ace/x.toml", HELLO), ("-x.toml", HELLO)]);
    let at = folder.path();
    for path in ["sp ace/x.toml", "./-x.toml"] {
        let (text, ..) = reenact(at, &["test", path]);
        let hints: Vec<&str> = text.split('`').filter(|part| part.contains(" test ") || part.contains(" review ")).collect();
        assert_eq!(hints.len(), 2, "{text}");
        for hint in hints {
            let hint = if hint.contains(" review ") { format!("{hint} --list") } else { hint.into() };
            let output = std::process::Command::new("sh").arg("-c").arg(&hint).current_dir(at).output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
            assert!(said.contains("1 still pending") || said.contains("1 of 1") || said.contains("1 snapshot written"), "{hint}: {said}");
        }
    }
}

#[test]
fn v_1_the_first_failure_ends_a_run_that_fails_fast() {
    let names: Vec<String> = (0..12).map(|number| format!("s/n{number:02}.toml")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (&**name, HELLO)).collect();
    let folder = folder(&files);
    let (text, ..) = reenact(folder.path(), &["test", "s", "--fail-fast", "--threads", "1"]);
    assert!(text.contains("1 scenario, 1 failed, 11 not run"), "{text}");
}

#[test]
fn d_3_a_tape_takes_a_seed_and_keys_as_a_scenario_does() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/world");
    let run = |options: &[&str]| reenact(&folder, &[&["run", "replayed.tape.jsonl"][..], options].concat());
    let (usual, said, code) = run(&[]);
    assert_eq!(code, Some(0), "{said}");
    let (set, said, code) = run(&["--set", "title=usual"]);
    assert!(code == Some(0) && set.lines().nth(1) == Some("usual"), "{set}{said}");
    assert_eq!(
        set.lines().skip(2).filter(|line| !line.starts_with("ok ")).count(),
        usual.lines().skip(2).filter(|line| !line.starts_with("ok ")).count()
    );
    assert!(run(&["--seed", "7"]).0.contains("seed 7"));
    assert!(run(&["--set", "engine.max_turns=1"]).0.contains("max_turns"));
    let (_, said, code) = run(&["--set", "engine.max_turn=1"]);
    assert!(code == Some(2) && said.contains("max_turns"), "{said}");
}

#[test]
fn v_2_two_recordings_are_compared_as_they_happened() {
    let samples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples");
    let diff = |options: &[&str]| reenact(&samples, &[&["diff"][..], options].concat());
    let (text, said, code) = diff(&["sample.tape.jsonl", "sample.tape.jsonl"]);
    assert!(code == Some(0) && text.starts_with("no difference; 37 ") && said.contains("not compared: ids"), "{text}{said}");
    let (text, said, code) = diff(&["sample.har", "sample.vcrpy.yaml"]);
    assert!(code == Some(1) && text.contains("events the same") && said.is_empty(), "{text}{said}");
    let (_, said, code) = diff(&["sample.har", "../formats/three-529s.log"]);
    assert!(code == Some(2) && said.contains("a recording is compared with another recording"), "{said}");
    let (_, said, code) = diff(&["sample.har", "sample.har", "--detail", "debug"]);
    assert!(code == Some(2) && said.contains("a recording is compared with another recording"), "{said}");
}

#[test]
fn v_2_a_difference_of_stream_events_is_seen_in_detail_and_another_seed_is_none() {
    let folder = folder(&[("a.toml", HELLO)]);
    let at = folder.path();
    let (lines, ..) = reenact(at, &["run", "a.toml", "--format", "jsonl"]);
    std::fs::write(at.join("old.jsonl"), &lines).unwrap();
    // The stream brings other pieces, and the whole is the same.
    let changed = lines.replacen(r#""text_delta\",\"text\":\"Hel"#, r#""text_delta\",\"text\":\"Hul"#, 1);
    let changed = if changed == lines { lines.replacen("text_delta", "text_delta2", 1) } else { changed };
    assert_ne!(changed, lines);
    std::fs::write(at.join("new.jsonl"), changed).unwrap();
    let (_, said, code) = reenact(at, &["diff", "old.jsonl", "new.jsonl"]);
    assert!(code == Some(1) || said.contains("--detail debug"), "{said}");
    let (said, _, code) = reenact(at, &["diff", "--detail", "debug", "old.jsonl", "new.jsonl"]);
    assert_eq!(code, Some(1), "{said}");
    let (said, _, code) = reenact(at, &["diff", "a.toml", "--old-seed", "1", "--new-seed", "2", "--ignore", "time,text"]);
    assert_eq!(code, Some(0), "{said}");
}
