//! The levels as users of the program meet them (M-11).

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

const SESSION: &str = "tools = [\"Read\"]
[timing]
head = \"10ms\"
first_event = \"1ms\"
between_events = \"1ms\"
[[prompt]]
text = \"What does a say?\"
[[prompt.turn]]
text = \"I will read it.\"
tool = [{ name = \"Read\", input = { file_path = \"/w/a\" }, result = \"alpha\", latency = \"5ms\" }]
[[prompt.turn]]
text = \"It says alpha.\"
";

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reenact"));
    command.args(arguments).current_dir(folder);
    command
}

fn reenact(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command(folder, arguments).output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

fn folder(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("x.toml"), text).unwrap();
    folder
}

/// A served scenario, stopped at the end of the test.
struct Served(Child, String);

impl Served {
    fn new(folder: &Path) -> Self {
        let mut child = command(folder, &["serve", "x.toml", "--timing", "none"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        Self(child, url.trim().into())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn m_11_times_are_no_part_of_an_order_on_a_network() {
    let exact = format!("{SESSION}[expect]\norder = [\"0.000s engine request 1\", \"+0.017s model text It says alpha.\"]\n");
    let folder = folder(&exact);
    let (code, _, said) = reenact(folder.path(), &["run", "x.toml", "--set", "expect.order=[\"0.999s engine request 1\"]"]);
    assert!(code == Some(1) && said.contains("`order` expects"), "without a network they are: {said}");
    let network = ["run", "x.toml", "--level", "network"];
    let (code, _, said) = reenact(folder.path(), &network);
    assert!(code == Some(0) && said.contains("note: times inside `order` are not compared at this level: x"), "{said}");
    let (code, _, said) = reenact(folder.path(), &[&network[..], &["--set", "expect.order=[\"0.000s engine request 9\"]"]].concat());
    assert!(code == Some(1) && said.contains("`order` expects"), "{said}");
}

#[test]
fn m_11_what_a_network_cannot_run_is_named_and_not_counted() {
    let skipped = format!("{SESSION}[network]\nskip = \"it is about one machine\"\n");
    let long = SESSION.replace("\"5ms\"", "\"2h\"");
    let at = folder(SESSION);
    fs::write(at.path().join("skipped.toml"), skipped).unwrap();
    fs::write(at.path().join("long.toml"), long).unwrap();
    let (code, shown, said) = reenact(at.path(), &["run", ".", "--level", "network"]);
    assert!(code == Some(0) && shown.contains("1 scenario, 2 not run at this level, 0 failed"), "{shown}{said}");
    assert!(said.contains("not run at this level (it is about one machine): ./skipped.toml"), "{said}");
    assert!(
        said.contains("longer than 3600.000s, the limit of a simulated network; --scale 49% makes it short enough): ./long.toml"),
        "{said}"
    );
    let (code, _, said) = reenact(at.path(), &["run", "skipped.toml", "--level", "network"]);
    assert!(code == Some(2) && said.contains("nothing was run"), "{said}");
    let (code, _, said) = reenact(at.path(), &["run", "long.toml", "--level", "network", "--scale", "1%"]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(reenact(at.path(), &["run", "."]).0, Some(0), "without a network all of them are run");
}

#[test]
fn m_11_all_shipped_scenarios_are_green_on_a_network() {
    let (code, shown, said) = reenact(Path::new(env!("CARGO_MANIFEST_DIR")), &["run", "scenarios", "--level", "network"]);
    assert!(code == Some(0) && shown.contains(" not run at this level, 0 failed"), "{said}");
}

#[test]
fn m_11_a_session_over_http_is_shown_judged_and_logged() {
    let folder = folder(&format!("{SESSION}[expect]\nterminal = \"completed\"\nrequests = 2\n"));
    let at = folder.path();
    let server = Served::new(at);
    let live = ["run", "x.toml", "--level", "live", "--upstream", &server.1];
    let (code, shown, said) = reenact(at, &[&live[..], &["--log", "x.log"]].concat());
    assert_eq!(code, Some(0), "{shown}{said}");
    assert!(shown.contains("It says alpha."), "{shown}");
    let (code, replayed, said) = reenact(at, &["replay", "x.log"]);
    assert_eq!(code, Some(0), "{replayed}{said}");
    assert!(replayed.contains("all equal"), "{replayed}");
    let brief = |level: &[&str]| reenact(at, &[level, &["--untimed", "--detail", "brief"]].concat()).1;
    let server = Served::new(at);
    // The served scenario counts tokens, as the API does.
    let told =
        |text: String| text.replace(", in 13", "").lines().filter(|line| !line.contains("result         ")).collect::<Vec<_>>().join("\n");
    assert_eq!(
        told(brief(&["run", "x.toml", "--level", "live", "--upstream", &server.1])),
        told(brief(&["run", "x.toml", "--level", "network"]))
    );
    assert_eq!(brief(&["run", "x.toml", "--level", "network"]), brief(&["run", "x.toml"]));
}

#[cfg(unix)]
#[test]
#[expect(clippy::disallowed_methods, reason = "the program has to have got somewhere before it is stopped, and shows nothing until then")]
fn m_11_ctrl_c_ends_a_session_with_what_happened() {
    let folder = folder(&SESSION.replace("latency = \"5ms\"", "latency = \"1h\""));
    let at = folder.path();
    let server = Served::new(at);
    let arguments = ["run", "x.toml", "--level", "live", "--upstream", &server.1, "--log", "x.log"];
    let child = command(at, &arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    sleep(Duration::from_millis(1_500));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    let (shown, said) = (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap());
    assert_eq!(status.code(), Some(1), "{shown}{said}");
    assert!(shown.contains("tool 1A   starts") && shown.contains("run       stopped"), "{shown}");
    assert!(said.contains("the run so far follows"), "{said}");
    assert_eq!(reenact(at, &["replay", "x.log"]).0, Some(0));
}

#[test]
fn m_11_the_network_level_checks_itself_and_runs_many_seeds() {
    let events = "[network]\nlatency = \"1ms..90ms\"\n[[network.event]]\nat = \"0ms..1s\"\nkind = \"crash\"\nlasts = \"1s\"\n";
    let folder = folder(&format!("{SESSION}{events}"));
    let at = folder.path();
    let (code, shown, said) = reenact(at, &["run", "x.toml", "--level", "network", "--seeds", "1..=3", "--check"]);
    assert_eq!(code, Some(0), "{shown}{said}");
    assert!(shown.contains("3 seeds") && shown.contains("check: 3 digests the same"), "{shown}");
    let (_, shown, _) = reenact(at, &["run", "x.toml", "--level", "network", "--seeds", "1..=3", "--format", "digest"]);
    assert!(shown.contains("x@seed=3"), "{shown}");
    let (code, one, said) = reenact(at, &["run", "x.toml", "--level", "network", "--seed", "3", "--format", "digest"]);
    assert_eq!(code, Some(0), "{one}{said}");
    assert!(shown.contains(&one[..12]), "the third seed alone is another run: {one} {shown}");
    let (code, _, said) = reenact(at, &["run", "x.toml"]);
    assert_eq!(code, Some(0));
    assert!(said.contains("[network] is ignored at this level"), "{said}");
}

#[test]
fn f_10_an_event_that_no_seed_brings_before_the_end_is_told() {
    for (at, expected) in [("30m..40m", 1), ("0ms..40m", 0)] {
        let event = format!("[network]\n[[network.event]]\nat = \"{at}\"\nkind = \"hold\"\nlasts = \"10ms\"\n");
        let folder = folder(&format!("{SESSION}{event}"));
        let (code, shown, said) = reenact(folder.path(), &["run", "x.toml", "--level", "network"]);
        assert_eq!(code, Some(expected), "{at}: {shown}{said}");
        assert_eq!(said.contains("could not begin: the earliest of its times came after the end"), expected == 1, "{said}");
    }
}

#[test]
fn m_11_what_does_not_go_together_is_said() {
    let folder = folder(SESSION);
    for (arguments, part) in [
        (&["--level", "live"][..], "needs --upstream"),
        (&["--upstream", "http://127.0.0.1:1"], "--level live"),
        (&["--scale", "10%"], "--level network"),
        (&["--level", "live", "--upstream", "http://127.0.0.1:1", "--seeds", "4"], "--seed N"),
        (&["--level", "network", "--scale", "0%"], "above 0"),
        (&["--level", "network", "--accept"], "--level engine"),
        (&["--level", "live", "--upstream", "http://127.0.0.1:1", "--check"], "real clock"),
        (&["--level", "live", "--upstream", "127.0.0.1:1"], "http://"),
        (&["--level", "live", "--upstream", "https://127.0.0.1:1", "--ca", "nowhere.pem"], "nowhere.pem"),
        (&["--level", "live", "--upstream", "http://127.0.0.1:1", "--api-key-var", "REENACT_NO_SUCH_KEY"], "REENACT_NO_SUCH_KEY"),
    ] {
        let (code, shown, said) = reenact(folder.path(), &[&["run", "x.toml"], arguments].concat());
        assert_eq!(code, Some(2), "{arguments:?}: {shown}{said}");
        assert!(said.contains(part), "{arguments:?}: {said}");
    }
}
