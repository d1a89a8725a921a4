//! A small agent with defects that can be switched on, written by somebody who had not seen the judge: each is found, and nothing is without them (K-9).
//!
//! Its switches stand at the head of `tests/planted/agent/agent.py`.

#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::process::Command;

use super::drive::{has_python, side_by_side};

/// The switch, the scenario, the moment of a sweep where one is needed, and words of the problem.
const DEFECTS: [(&str, &str, Option<&str>, &str); 23] = [
    ("cancelled.ok", "look.toml", Some("1:marker"), "O-20: "),
    ("cancelled.denied", "look.toml", Some("1:marker"), "O-20: "),
    ("cancelled.open", "look.toml", Some("1:marker"), "O-1: "),
    ("cancelled.rerun", "look.toml", Some("1:marker"), "1:marker"),
    ("file.late", "look.toml", Some("1:5"), "O-24: the user's message"),
    ("file.torn", "look.toml", Some("1:marker"), "1:marker"),
    ("file.forked", "look.toml", Some("1:marker"), "begins anew"),
    ("file.resumed", "look.toml", Some("1:marker"), "O-24: "),
    ("partial.twice", "look.toml", Some("1:5"), "O-28: "),
    ("partial.call", "look.toml", Some("1:10"), "O-28: "),
    ("retry.dropped", "parallel-retried.toml", None, "O-24: "),
    ("retry.deaf", "retried.toml", Some("2:tools+50ms"), "2:tools+50ms"),
    ("child.shell", "look.toml", Some("1:tools+300ms"), "left processes behind"),
    ("child.waited", "look.toml", Some("1:tools+300ms"), "ran on after SIGINT"),
    ("exit.midstream", "fails.toml", None, "the exit code is 0, and the profile has 1"),
    ("exit.signal", "look.toml", Some("1:marker"), "the exit code is 0, and the profile has 130"),
    ("parallel.swapped", "parallel.toml", None, "O-20: "),
    ("parallel.one", "parallel.toml", Some("1:tools+1000ms"), "has neither its text nor a word of SIGINT: “(lost)”"),
    ("parallel.empty", "parallel.toml", None, "O-24: the text “right is a door” that tool call "),
    ("parallel.kept", "parallel.toml", None, "and its result in the stored session is “”"),
    ("output.doubled", "retried.toml", None, "the output has a part of an attempt that failed, beside the whole text"),
    ("output.tail", "look.toml", None, "the output lacks a text of the model"),
    ("output.silent", "look.toml", Some("1:marker"), "0 result lines, usually 1"),
];

/// Drives the agent; the exit code, and all that was printed.
fn driven(profile: &Path, scenario: &str, defect: &str, moments: &[&str]) -> (Option<i32>, String) {
    let defect = format!("PLANTED={defect}");
    let sweep = if moments.is_empty() { &[][..] } else { &["--sweep", "SIGINT:process"] };
    let only = moments.iter().flat_map(|moment| ["--only", moment]);
    driven_by(profile, scenario, &["--env", &defect].into_iter().chain(sweep.iter().copied()).chain(only).collect::<Vec<_>>(), &[])
}

/// The same with these options, and with a command of its own.
fn driven_by(profile: &Path, scenario: &str, options: &[&str], client: &[&str]) -> (Option<i32>, String) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/planted");
    let mut command = Command::new(env!("CARGO_BIN_EXE_reenact"));
    command.current_dir(&folder).arg("drive").arg(scenario).arg("--profile").arg(profile).args(["--files", "agent", "--timing", "none"]);
    let output = command.args(options).args(client).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

fn profile() -> &'static Path {
    Path::new("profile.toml")
}

#[test]
fn k_9_each_defect_that_was_planted_in_an_agent_is_found_and_named() {
    if !has_python() {
        return;
    }
    let runs = side_by_side(&DEFECTS, |(defect, scenario, moment, _)| driven(profile(), scenario, defect, moment.as_slice()));
    let is_found = |code, said: &str, words| code == Some(1) && said.contains(words);
    let missed: Vec<_> = DEFECTS
        .iter()
        .zip(runs)
        .filter(|((.., words), (code, said))| !is_found(*code, said, words))
        .map(|((defect, .., words), (code, said))| format!("{defect}: exit {code:?}, without {words}:\n{said}"))
        .collect();
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn k_9_the_agent_passes_where_nothing_is_planted() {
    if !has_python() {
        return;
    }
    const MOMENTS: &[&str] = &["1:5", "1:tools+300ms", "2:head", "done+50ms"];
    const RUNS: [(&str, &[&str]); 8] = [
        ("look.toml", MOMENTS),
        ("parallel.toml", MOMENTS),
        ("retried.toml", MOMENTS),
        // Both answers say the same, and the second is broken off.
        ("tricky.toml", &["2:7"]),
        ("fails.toml", &[]),
        ("fails-cut.toml", &[]),
        ("fails-413.toml", &[]),
        ("talk.toml", &[]),
    ];
    for ((scenario, _), (code, said)) in
        RUNS.iter().zip(side_by_side(&RUNS, |(scenario, moments)| driven(profile(), scenario, "", moments)))
    {
        assert_eq!(code, Some(0), "{scenario}: {said}");
    }
}

#[test]
fn k_9_a_moment_that_does_not_exist_is_named_with_what_there_is() {
    if !has_python() {
        return;
    }
    let (code, said) = driven(profile(), "look.toml", "", &["9:head", "1:99", "2:marker"]);
    assert_eq!(code, Some(1), "{said}");
    for words in [
        "9:head, SIGINT: K-9: there is no such moment: the run in which nothing is done has 2 answers",
        "1:99, SIGINT: K-9: there is no such moment: answer 1 has ",
        "2:marker, SIGINT: K-9: there is no such moment: no marker came after answer 2 when nothing was done",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

/// The profile in a folder, with other words in one place.
fn changed_profile(folder: &Path, from: &str, to: &str) -> PathBuf {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/planted/profile.toml")).unwrap();
    assert!(text.contains(from), "{from}: {text}");
    let path = folder.join("profile.toml");
    std::fs::write(&path, text.replace(from, to)).unwrap();
    path
}

#[test]
fn k_9_a_client_that_asks_nothing_is_quoted() {
    if !has_python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let profile = changed_profile(folder.path(), "{work}/agent.py", "{work}/agnt.py");
    let (code, said) = driven(&profile, "look.toml", "", &["1:marker"]);
    assert_eq!(code, Some(1), "{said}");
    let line = said.lines().find(|line| line.contains("the client ended with exit 2 and asked nothing; its last line is: "));
    assert!(line.is_some_and(|line| line.contains("/agnt.py")), "{said}");
}

#[test]
fn k_9_a_profile_whose_places_hold_nothing_fails_before_anything_is_swept() {
    if !has_python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let cases = [
        (
            "sessions/*",
            "sesions/*",
            "no file is where the profile has the sessions, {home}/.gull/sesions/*.jsonl; <home>/.gull holds sessions",
        ),
        ("member = \"session\"", "member = \"sesion\"", "no line of the output has the member `sesion`"),
    ];
    for (right, wrong, words) in cases {
        let profile = changed_profile(folder.path(), right, wrong);
        for moments in [&[][..], &["1:marker"]] {
            let (code, said) = driven(&profile, "look.toml", "", moments);
            assert_eq!(code, Some(1), "{said}");
            assert!(said.contains(words), "{words}: {said}");
            assert!(!said.contains("all as expected") && !said.contains("0 failed"), "{said}");
        }
    }
}

#[test]
fn k_9_a_sweep_begins_with_a_run_that_fails_as_the_profile_says() {
    if !has_python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (code, said) = driven(profile(), "fails-cut.toml", "", &["1:head"]);
    assert_eq!(code, Some(0), "{said}");
    let profile = changed_profile(folder.path(), "failed = [1]", "failed = [3]");
    let (code, said) = driven(&profile, "fails-cut.toml", "", &["1:head"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("the exit code is 1, and the profile has 3"), "{said}");
}

#[test]
fn k_9_commands_that_make_no_file_are_not_asked_about() {
    if !has_python() {
        return;
    }
    let effects = "commands that run on after the client was interrupted";
    let asks = |scenario: &str, moment: &str| {
        let (code, said) = driven(profile(), scenario, "", &[moment]);
        assert_eq!(code, Some(0), "{said}");
        let line = |start: &str| said.lines().find(|line| line.starts_with(start)).unwrap_or_default().contains(effects);
        (line("asked: "), line("not asked: "))
    };
    assert_eq!(asks("look.toml", "1:marker"), (true, false));
    assert_eq!(asks("talk.toml", "1:head"), (false, true));
}

#[test]
fn e_8_a_statement_of_the_scenario_that_no_client_comes_to_fails_a_sweep() {
    if !has_python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/planted/look.toml")).unwrap();
    let path = folder.path().join("look.toml");
    std::fs::write(&path, text + "\n[[fault]]\nat = { request = 9 }\nerror = \"overloaded\"\n").unwrap();
    let (code, said) = driven(profile(), &path.display().to_string(), "", &["1:5"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("[[fault]]"), "{said}");
    assert!(!said.contains("all as expected"), "{said}");
}

#[test]
fn k_9_a_session_is_resumed_with_the_words_of_the_profile() {
    if !has_python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // Another program than that of the profile has its own words.
    let other = ["--", "env", "python3", "-S", "-E", "agent.py", "Look around."];
    let (_, said) = driven_by(profile(), "look.toml", &["--sweep", "SIGINT:process", "--only", "1:marker"], &other);
    assert!(said.contains("note: no session is resumed, because the profile resumes with `python3`"), "{said}");
    assert!(said.lines().any(|line| line.starts_with("not asked: ") && line.contains("the conversation when it is resumed")), "{said}");
    // Without a place of its own, the session's id is the name of the newest file.
    let unnamed = changed_profile(folder.path(), "[session]\nmember = \"session\"\n", "");
    let (code, said) = driven(&unnamed, "look.toml", "", &["1:marker"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.lines().any(|line| line.starts_with("asked: ") && line.contains("the conversation when it is resumed")), "{said}");
}

#[test]
fn k_9_a_client_that_named_no_session_is_not_resumed() {
    if !has_python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let of_words = "\"--resume\", \"{session}\", \"{prompt}\"]";
    let of_variable = "\"--resume\", \"\", \"{prompt}\"]\nenv = { GULL_SESSION = \"{session}\" }";
    for resume in [of_words, of_variable] {
        let profile = changed_profile(folder.path(), of_words, resume);
        let (_, said) = driven_by(&profile, "talk.toml", &["--sweep", "SIGKILL:process", "--only", "start+0ms"], &[]);
        let row = said.lines().find(|line| line.starts_with("start+0ms")).unwrap_or_else(|| panic!("{said}"));
        let cells: Vec<&str> = row.split("  ").filter(|cell| !cell.is_empty()).collect();
        assert_eq!(cells[cells.len() - 2].trim(), "-", "{said}");
    }
}

#[test]
fn o_28_parts_of_attempts_that_failed_are_judged_as_the_profile_says() {
    if !has_python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let hidden = "failed_attempts = \"hidden\"";
    let question = "parts of answers that broke off, in the output";
    let more = "the output has a part of a text 2 times beside the whole text, and it came 1 time: ";
    for (says, defect, words) in [
        ("", "", None),
        ("", "output.doubled", None),
        ("", "output.again", Some(more)),
        ("failed_attempts = \"shown\"", "output.doubled", None),
        ("failed_attempts = \"shown\"", "output.again", Some(more)),
        (hidden, "", None),
    ] {
        let profile = changed_profile(folder.path(), hidden, says);
        let (code, said) = driven(&profile, "retried.toml", defect, &[]);
        assert_eq!(code, Some(i32::from(words.is_some())), "{says}, {defect}: {said}");
        assert!(words.is_none_or(|words| said.contains(words)), "{says}, {defect}: {said}");
        let line = if says.is_empty() { "not asked: " } else { "asked: " };
        assert!(said.lines().any(|other| other.starts_with(line) && other.contains(question)), "{says}, {defect}: {said}");
    }
}

#[test]
fn k_9_there_are_moments_after_an_answer_that_the_client_left() {
    if !has_python() {
        return;
    }
    let sweep_of = |profile: &Path, scenario: &str, code: &str, moments: &[&str]| {
        let only = moments.iter().flat_map(|moment| ["--only", moment]);
        let options: Vec<&str> = ["--env", code, "--sweep", "SIGINT:process"].into_iter().chain(only).collect();
        driven_by(profile, scenario, &options, &["--", "python3", "-S", "-E", "{work}/lingers.py", "{work}/agent.py", "Look around."])
    };
    let sweep = |code: &str, moments: &[&str]| sweep_of(profile(), "fails.toml", code, moments);
    // It leaves each answer at its error event: the second one to ask again, and the last one for good.
    let (code, said) = sweep("LINGER=", &["2:tools+50ms", "done+50ms", "done+500ms"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("3 rows, 0 failed") && !said.contains("too late"), "{said}");
    let (code, said) = sweep("LINGER_CODE=4", &["done+50ms"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("the exit code is 4, and the profile has 1 (the API failed for good)"), "{said}");
    // The scenario's own code counts there as well.
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/planted/fails.toml")).unwrap();
    let scenario = folder.path().join("fails.toml");
    std::fs::write(&scenario, text + "\n[drive]\nexit = 1\n").unwrap();
    let other = changed_profile(folder.path(), "failed = [1]", "failed = [3]");
    let (code, said) = sweep_of(&other, &scenario.display().to_string(), "LINGER=", &["done+50ms"]);
    assert_eq!(code, Some(0), "{said}");
    // Who is gone by then was not asked.
    let (code, said) = driven(profile(), "fails.toml", "", &["1:5", "done+500ms"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("moments after the last answer (no action reached the client in time)"), "{said}");
}

/// A script in the folder, to be run as a program.
fn script(folder: &Path, text: &str) -> String {
    use std::os::unix::fs::PermissionsExt as _;
    let path = folder.join("shim");
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

#[test]
#[cfg(target_os = "linux")]
fn k_9_a_script_before_the_client_gets_a_signal_in_its_place() {
    if !has_python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let child = "#!/bin/sh\n\"$@\"\nexit $?\n";
    let exec = "#!/bin/sh\nexec \"$@\"\n";
    let trap = "#!/bin/sh\ntrap 'kill -TERM $child' TERM\n\"$@\" &\nchild=$!\nwait $child\nwait $child\nexit $?\n";
    for (text, code, verdict) in [(child, 1, "not asked"), (exec, 0, "ok"), (trap, 0, "ok")] {
        let path = script(folder.path(), text);
        let client = ["--", &path, "python3", "-S", "-E", "{work}/agent.py", "Look around."];
        let (got, said) = driven_by(profile(), "look.toml", &["--sweep", "SIGTERM:process", "--only", "1:marker"], &client);
        let row = said.lines().find(|line| line.starts_with("1:marker")).unwrap_or_else(|| panic!("{said}"));
        assert!(row.ends_with(verdict), "{text}: {said}");
        assert_eq!(got, Some(code), "{text}: {said}");
    }
}

#[test]
fn k_9_and_m_8_an_interrupt_of_the_scenario_is_judged_as_one_of_a_sweep() {
    if !has_python() {
        return;
    }
    let (code, said) = driven(profile(), "interrupted.toml", "", &[]);
    assert_eq!(code, Some(0), "{said}");
    let asked = said.lines().find(|line| line.starts_with("asked: ")).unwrap_or_else(|| panic!("{said}"));
    for question in
        ["the exit code", "commands that run on", "requests after the client was interrupted (O-11)", "commands that were stopped (O-20)"]
    {
        assert!(asked.contains(question), "{question}: {said}");
    }
    for (defect, words) in [
        ("exit.signal", "the exit code is 0, and the profile has 130 (after SIGINT)"),
        ("child.waited", "ran on after SIGINT to the group"),
        ("cancelled.ok", "O-20: tool call toolu_p1t1n1 was stopped by SIGINT"),
    ] {
        let (code, said) = driven(profile(), "interrupted.toml", defect, &[]);
        assert_eq!(code, Some(1), "{defect}: {said}");
        assert!(said.contains(words), "{defect}: {said}");
    }
}

#[test]
fn k_9_a_profile_says_after_which_signals_no_result_is_owed() {
    if !has_python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let result = "result = { type = \"result\" }\n";
    let silent = changed_profile(folder.path(), result, &format!("{result}no_result_after = [\"SIGINT\"]\n"));
    let (code, said) = driven(&silent, "look.toml", "output.silent", &["1:marker"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.lines().any(|line| line.starts_with("not asked: ") && line.contains("result lines after SIGINT")), "{said}");
    let other = changed_profile(folder.path(), result, &format!("{result}no_result_after = [\"SIGTERM\"]\n"));
    let (code, said) = driven(&other, "look.toml", "output.silent", &["1:marker"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("0 result lines, usually 1"), "{said}");
}

#[test]
fn o_24_a_prompt_that_a_key_stops_may_be_put_back_into_the_input_line() {
    if !has_python() {
        return;
    }
    let options = ["--env", "PLANTED=file.late", "--timeout", "20", "--sweep", "key:ESC", "--only", "1:head"];
    let (code, said) = driven_by(Path::new("profile-terminal.toml"), "talk.toml", &options, &[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.lines().any(|line| line.starts_with("not asked: ") && line.contains("put back into the input line (O-24)")), "{said}");
}

#[test]
fn o_24_a_result_that_the_output_shows_is_not_lost_for_the_model() {
    if !has_python() {
        return;
    }
    for (defect, words) in [
        ("PLANTED=", None),
        ("PLANTED=parallel.empty", Some("of tool call toolu_p1t1n2 is lost: the output has it, and its result in request 2 is “”")),
    ] {
        let (code, said) = driven_by(profile(), "shown.toml", &["--env", "GULL_SHOWS=1", "--env", defect], &[]);
        assert_eq!(code, Some(i32::from(words.is_some())), "{said}");
        assert!(words.is_none_or(|words| said.contains(words)), "{said}");
        let question = "texts of results that are lost (O-24)";
        assert!(said.lines().any(|line| line.starts_with("asked: ") && line.contains(question)), "{said}");
    }
}
