//! Searches that are stopped, divided and merged (E-6).

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// An exhibit whose defect takes some cases, and some others that show nothing.
const EXHIBIT: &str = "lost-wake-up";

/// More than a killed search makes before its end.
const CASES: &str = if cfg!(debug_assertions) { "3000" } else { "40000" };

fn command(campaign: Option<&Path>, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reenact-museum"));
    let scenario = format!("scenarios/{EXHIBIT}.toml");
    command.current_dir(env!("CARGO_MANIFEST_DIR")).args([EXHIBIT, "fuzz", &scenario]).args(arguments);
    if let Some(campaign) = campaign {
        command.arg("--campaign").arg(campaign);
    }
    command
}

/// The output of the program and its messages, without the lines that depend on time.
fn fuzz(campaign: Option<&Path>, arguments: &[&str]) -> (String, String) {
    let output = command(campaign, arguments).output().unwrap();
    let [shown, said] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert_eq!(output.status.code(), Some(1), "{shown}{said}");
    let is_of_time = |line: &&str| line.starts_with("note: ") || line.starts_with("fuzzing ");
    let said = said.lines().filter(|line| !is_of_time(line)).map(|line| format!("{line}\n")).collect();
    (shown, said)
}

/// The output without how many cases a campaign had.
fn without_earlier(shown: &str) -> String {
    shown.lines().map(|line| format!("{}\n", line.split(" (").next().unwrap())).collect()
}

/// The names of the files of a campaign, which say what is in them, but for those of its progress: which parts there are depends on time.
fn files(campaign: &Path) -> BTreeSet<String> {
    let mut files = BTreeSet::new();
    for search in std::fs::read_dir(campaign).into_iter().flatten() {
        for file in std::fs::read_dir(search.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if !name.starts_with("progress-") && !name.starts_with('.') {
                files.insert(name);
            }
        }
    }
    files
}

fn copy(from: &Path, to: &Path) {
    for search in std::fs::read_dir(from).unwrap() {
        let search = search.unwrap();
        let folder = to.join(search.file_name());
        std::fs::create_dir_all(&folder).unwrap();
        for file in std::fs::read_dir(search.path()).unwrap() {
            let file = file.unwrap();
            std::fs::copy(file.path(), folder.join(file.file_name())).unwrap();
        }
    }
}

#[test]
fn e_6_parts_that_are_merged_are_one_search() {
    let folder = tempfile::tempdir().unwrap();
    let [one, first, second, merged] = ["one", "first", "second", "merged"].map(|name| folder.path().join(name));
    let whole = fuzz(Some(&one), &["--cases", "1000"]);
    assert_eq!(fuzz(None, &["--cases", "1000"]), whole, "a folder changes nothing");
    assert_eq!(fuzz(None, &["--cases", "1000", "--threads", "1"]), whole, "threads change nothing");
    for (part, campaign) in [("1/2", &first), ("2/2", &second)] {
        // A part has its own cases, and may find nothing.
        let output = command(Some(campaign), &["--cases", "1000", "--shard", part]).output().unwrap();
        let shown = String::from_utf8(output.stdout).unwrap();
        assert!(shown.contains(" 500 cases"), "{shown}");
        copy(campaign, &merged);
    }
    let (shown, said) = fuzz(Some(&merged), &["--cases", "1000"]);
    assert!(shown.contains("(1000 of them earlier)"), "{shown}");
    assert_eq!((without_earlier(&shown), said), (without_earlier(&whole.0), whole.1));
}

#[test]
fn e_6_a_killed_search_goes_on_and_loses_nothing() {
    // A program without optimisation takes its time until its first case, and a machine may be slow: after these kills there are more, until one comes late
    // enough.
    let (kills, begin, step) = if cfg!(debug_assertions) { (6, 300, 300) } else { (20, 30, 60) };
    let folder = tempfile::tempdir().unwrap();
    let campaign = folder.path().join("campaign");
    let mut known = BTreeSet::new();
    #[expect(clippy::disallowed_methods, reason = "the test is about when a program is killed")]
    let wait = |instant: u64| std::thread::sleep(Duration::from_millis(begin + step * instant));
    let has_finding = |files: &BTreeSet<String>| files.iter().any(|name| name.starts_with("finding-"));
    for instant in 0.. {
        if instant >= kills && has_finding(&known) {
            break;
        }
        assert!(instant < 100, "nothing was found in {instant} runs before they were killed");
        let mut child = command(Some(&campaign), &["--cases", CASES]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait(instant);
        child.kill().unwrap();
        child.wait().unwrap();
        let now = files(&campaign);
        assert!(known.is_subset(&now), "a file was lost at kill {instant}");
        known = now;
    }
    // All that was made is there: the whole is as if it had never been stopped.
    let again = folder.path().join("again");
    let (shown, said) = fuzz(Some(&campaign), &["--cases", CASES]);
    let whole = fuzz(Some(&again), &["--cases", CASES]);
    assert_eq!((without_earlier(&shown), said), (without_earlier(&whole.0), whole.1));
}

#[test]
fn e_6_a_changed_file_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let campaign = folder.path().join("campaign");
    fuzz(Some(&campaign), &["--cases", "200"]);
    let search = std::fs::read_dir(&campaign).unwrap().next().unwrap().unwrap().path();
    let progress =
        std::fs::read_dir(&search).unwrap().map(|file| file.unwrap().path()).find(|path| path.to_string_lossy().contains("progress-"));
    let progress = progress.unwrap();
    let text = std::fs::read_to_string(&progress).unwrap();
    std::fs::write(&progress, text.replace("\"to\": ", "\"to\": 1")).unwrap();
    let output = command(Some(&campaign), &["--cases", "200"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("its content is not the one that it is named for: remove it"), "{said}");
}
