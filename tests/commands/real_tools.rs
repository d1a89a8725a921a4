//! `run --workspace`: the tools of a recorded session, today; `run --level live --tools`: real tools in a named folder (B-1 to B-7, P-1).

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::{folder, reenact};

const SESSION: &str = r#"
tools = ["Read", "Grep", "Bash", "Edit"]

[[prompt]]
text = "Look."

[[prompt.turn]]
tool = [
  { name = "Read", input = { file_path = "/w/dev/p/a.rs" }, result = "     1→fn main() {}\n\n<system-reminder>x</system-reminder>" },
  { name = "Bash", input = { command = "cat /w/dev/p/b.txt && pwd" }, result = "one\n/w/dev/p" },
  { name = "Grep", input = { pattern = "one", path = "/w/dev/p" } },
  { name = "Edit", input = { file_path = "/w/dev/p/a.rs", old_string = "main", new_string = "other" }, result = "edited" },
  { name = "Read", input = { file_path = "/w/dev/p/a.rs" }, result = "     1→fn other() {}" },
]

[[prompt.turn]]
text = "Done."
"#;

fn session(more: &str) -> tempfile::TempDir {
    folder(&[("s.toml", &format!("{more}{SESSION}")), ("p/a.rs", "fn main() {}\n"), ("p/b.txt", "one\n")])
}

#[test]
fn b_1_tools_that_read_run_today_in_a_copy_and_are_compared_with_the_recording() {
    let folder = session("");
    let run = |more: &[&str]| reenact(folder.path(), &[&["run", "s.toml", "--workspace", "p"], more].concat());
    let (output, told, code) = run(&["--recorded-folder", "/w/dev/p"]);
    let shown: Vec<&str> = output.lines().skip_while(|line| !line.starts_with("tools of today")).collect();
    let expected = [
        "tools of today, in a copy of p",
        "  1A     same                 Read /w/dev/p/a.rs",
        "  1B     same                 Bash cat /w/dev/p/b.txt && pwd",
        "  1C     not recorded         Grep one",
        "  1D     recorded, it writes  Edit /w/dev/p/a.rs",
        "  1E     different            Read /w/dev/p/a.rs",
        "         recorded      1→fn other() {}",
        "         today    1\tfn main() {}",
        "4 tools ran today: 2 as recorded, 1 different, 1 not recorded; 1 answered from the recording",
    ];
    assert_eq!((shown.as_slice(), code), (&expected[..], Some(1)), "{told}");
    assert!(output.contains("result 1C      ok /w/dev/p/b.txt"), "the result of today is used, under the recorded path: {output}");
    assert_eq!(std::fs::read_to_string(folder.path().join("p/a.rs")).unwrap(), "fn main() {}\n");
}

#[test]
fn p_3_tools_that_write_run_in_a_sandbox_around_the_copy() {
    if reenact::children::SandboxSupport::of_system() != reenact::children::SandboxSupport::Full {
        eprintln!("SKIPPED: this system has no whole sandbox, so nothing was tried");
        return;
    }
    let folder = session("");
    let arguments = ["run", "s.toml", "--workspace", "p", "--recorded-folder", "/w/dev/p", "--run-writes"];
    let (output, told, code) = reenact(folder.path(), &arguments);
    assert!(output.contains("  1E     same                 Read /w/dev/p/a.rs"), "the edit was made, in the copy: {output}{told}");
    assert!(output.contains("  1D     different            Edit"), "our Edit says more than `edited`: {output}");
    assert_eq!(code, Some(1));
    assert_eq!(std::fs::read_to_string(folder.path().join("p/a.rs")).unwrap(), "fn main() {}\n");
}

#[test]
fn b_1_the_recorded_folder_is_found_or_asked_for_and_nothing_looked_at_is_no_success() {
    let folder = session("");
    let (_, told, code) = reenact(folder.path(), &["run", "s.toml", "--workspace", "p"]);
    assert!(code == Some(2) && told.contains("name it with --recorded-folder PATH"), "{told}");
    let (_, told, code) = reenact(folder.path(), &["run", "s.toml", "--workspace", "nowhere", "--recorded-folder", "/w"]);
    assert!(code == Some(2) && told.contains("--workspace nowhere: this is not a folder"), "{told}");
    let (_, told, code) = reenact(folder.path(), &["run", "s.toml", "--workspace", "p", "--format", "json"]);
    assert!(code == Some(2) && told.contains("--workspace is for --format text"), "{told}");
    std::fs::write(folder.path().join("none.toml"), super::HELLO).unwrap();
    let (output, told, code) = reenact(folder.path(), &["run", "none.toml", "--workspace", "p", "--recorded-folder", "/w"]);
    assert!(code == Some(1) && told.contains("no tool ran, so nothing was compared"), "{output}{told}");
}

/// A replay server that ends with the test.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start(at: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_reenact"));
        command.args(["serve", "s.toml", "--listen", "127.0.0.1:0"]).current_dir(at).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        Self { child, url: url.trim().into() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const LIVE: &str = r#"
tools = ["Read", "Bash", "Edit"]

[[prompt]]
text = "Look."

[[prompt.turn]]
tool = [
  { name = "Read", input = { file_path = "b.txt" } },
  { name = "Edit", input = { file_path = "b.txt", old_string = "one", new_string = "two" } },
  { name = "Bash", input = { command = "cat b.txt && pwd" } },
  { name = "Read", input = { file_path = "../s.toml" } },
]

[[prompt.turn]]
text = "Done."
"#;

#[test]
fn p_1_real_tools_work_in_the_named_folder_and_ask() {
    let live = |permissions: &str| {
        let folder = folder(&[("s.toml", &format!("{LIVE}{permissions}")), ("p/b.txt", "one\n")]);
        let server = Server::start(folder.path());
        let arguments = ["run", "s.toml", "--level", "live", "--upstream", &server.url, "--tools", "p"];
        let (output, told, code) = reenact(folder.path(), &arguments);
        assert_eq!(code, Some(0), "{output}{told}");
        (output, told, std::fs::read_to_string(folder.path().join("p/b.txt")).unwrap())
    };
    // Without a terminal nobody can agree.
    let (output, told, file) = live("");
    assert!(
        told.contains("nobody can be asked") && output.contains("result 1A      error The user refused this call of Read"),
        "{output}{told}"
    );
    assert_eq!(file, "one\n");
    let (output, told, file) = live("\n[permissions]\nmode = \"bypass\"\n");
    assert!(output.contains("result 1A      ok 1⇥one") && output.contains("result 1C      ok two⏎"), "{output}{told}");
    assert!(
        output.contains("asks 1D") && output.contains("result 1D      error The user refused"),
        "outside it asks in every mode: {output}"
    );
    assert_eq!(file, "two\n");
    let (output, _, file) = live("\n[permissions]\nallow = [\"Read\", \"Bash(cat *)\"]\n");
    assert!(
        output.contains("result 1A      ok 1⇥one") && output.contains("result 1D      ok 1⇥"),
        "a rule answers what is asked about a path: {output}"
    );
    assert!(output.contains("result 1B      error") && output.contains("result 1C      error"), "{output}");
    assert_eq!(file, "one\n");
}

#[test]
fn p_1_real_tools_are_for_the_live_level_and_a_folder() {
    let folder = folder(&[("s.toml", LIVE)]);
    let (_, told, code) = reenact(folder.path(), &["run", "s.toml", "--tools", "."]);
    assert!(code == Some(2) && told.contains("--tools is for --level live"), "{told}");
    let (_, told, code) = reenact(folder.path(), &["run", "s.toml", "--level", "live", "--upstream", "http://127.0.0.1:9", "--tools", "x"]);
    assert!(code == Some(2) && told.contains("--tools x:"), "{told}");
}
