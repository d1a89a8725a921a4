//! `reenact serve` and `reenact drive` as their users meet them.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

const HELLO: &str = "title = \"Hello\"\n[[prompt]]\ntext = \"Hello?\"\n\n[[prompt.turn]]\ntext = \"Hello.\"\n";

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("scenarios")).unwrap();
    fs::write(folder.path().join("scenarios/hello.toml"), HELLO).unwrap();
    folder
}

fn reenact(folder: &TempDir, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_reenact")).args(arguments).current_dir(folder.path()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn ask(address: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let request = super::client::request("POST", "/v1/messages", body).replace("host: ", "connection: close\r\nhost: ");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn k_6_the_base_url_is_the_first_line_and_the_verdict_the_end() {
    let folder = folder();
    for (prompt, code, words) in [("Hello?", 0, "all as expected"), ("\u{0}", 1, "no answer left")] {
        let mut server = Command::new(env!("CARGO_BIN_EXE_reenact"))
            .args(["serve", "scenarios/hello.toml", "--timing", "none", "--until-done"])
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
        let base = lines.next().unwrap().unwrap();
        let address = base.strip_prefix("http://").unwrap();
        assert!(ask(address, &super::client::body(&[("user", "Hello?")])).contains("message_stop"));
        if prompt != "Hello?" {
            let messages = [("user", "Hello?"), ("assistant", "Hello."), ("user", "More.")];
            assert!(ask(address, &super::client::body(&messages)).contains("tape_exhausted"));
        }
        let rest: Vec<String> = lines.map(Result::unwrap).collect();
        assert_eq!(server.wait().unwrap().code(), Some(code), "{rest:#?}");
        assert!(rest.iter().any(|line| line.contains(words)), "{rest:#?}");
    }
}

#[cfg(unix)]
#[test]
fn k_6_who_stops_the_server_gets_the_verdict() {
    let folder = folder();
    for signal in ["INT", "TERM"] {
        let mut server = Command::new(env!("CARGO_BIN_EXE_reenact"))
            .args(["serve", "scenarios/hello.toml", "--timing", "none"])
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
        lines.next().unwrap().unwrap();
        let sent = Command::new("sh").args(["-c", &format!("kill -{signal} {}", server.id())]).status().unwrap();
        assert!(sent.success());
        let rest: Vec<String> = lines.map(Result::unwrap).collect();
        assert_eq!(server.wait().unwrap().code(), Some(1), "{signal}: {rest:#?}");
        assert!(rest.iter().any(|line| line.contains("no request for a message came")), "{signal}: {rest:#?}");
        assert!(rest.last().unwrap().contains("0 requests"), "{signal}: {rest:#?}");
    }
}

#[cfg(unix)]
#[test]
fn k_6_a_client_that_fails_fails_the_server() {
    let folder = folder();
    let output = reenact(&folder, &["serve", "scenarios/hello.toml", "--set", "expect.requests=0", "--", "sh", "-c", "exit 5"]);
    let complaint = text(&output.stderr);
    assert!(output.status.code() == Some(1) && complaint.contains("FAILED: `sh` ended with exit 5"), "{complaint}");
}

#[test]
fn k_6_what_is_wrong_with_the_call_is_said() {
    let folder = folder();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    for (arguments, words) in [
        (vec!["serve", "scenarios/hello.toml", "--port", &port], vec!["another program has this port", "--port"]),
        (vec!["serve", "scenarios/gone.toml"], vec!["no such file"]),
        (vec!["serve", "scenarios/hello.toml", "--listen", "203.0.113.1"], vec!["--listen"]),
        (vec!["serve", "scenarios/hello.toml", "--timing", "soon"], vec!["recorded", "scaled 10%"]),
        (vec!["serve", "scenarios/hello.toml", "--", "no-such-program"], vec!["cannot start `no-such-program`"]),
        (vec!["drive", "scenarios/hello.toml", "--", "no-such-program"], vec!["cannot start `no-such-program`", "installed"]),
        (vec!["drive", "scenarios/hello.toml"], vec!["no command is given", "--profile"]),
        (vec!["drive", "scenarios/hello.toml", "--sweep", "SIGQUIT", "--", "true"], vec!["SIGINT", "line:TEXT"]),
        (vec!["drive", "scenarios/hello.toml", "--client", "mine", "--", "true"], vec!["claude-code"]),
    ] {
        let output = reenact(&folder, &arguments);
        let complaint = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {complaint}");
        assert!(words.iter().all(|word| complaint.contains(word)), "{arguments:?}: {complaint}");
    }
}

#[cfg(unix)]
#[test]
fn k_7_a_driven_client_s_transcript_is_approved_and_compared() {
    let folder = folder();
    let drive = |extra: &[&str], client: &str| {
        let asks_nothing =
            ["drive", "scenarios/hello.toml", "--timing", "none", "--set", "expect.requests=0", "--set", "prompt.0.turn.0.may=true"];
        let arguments = [&asks_nothing, extra, &["--", "sh", "-c", client]].concat();
        reenact(&folder, &arguments)
    };
    let says = "echo \"pid is 1, home $HOME, base $ANTHROPIC_BASE_URL\"";
    assert_eq!(drive(&["--snapshots"], says).status.code(), Some(1), "nothing was approved yet");
    let accepted = drive(&["--accept"], says);
    assert_eq!(accepted.status.code(), Some(0), "{}", text(&accepted.stderr));
    let snapshot = fs::read_to_string(folder.path().join("snapshots/hello.drive.snap")).unwrap();
    assert!(snapshot.contains("home <home>, base http://127.0.0.1:<port>"), "{snapshot}");
    assert_eq!(drive(&["--snapshots"], says).status.code(), Some(0));
    let changed = drive(&["--snapshots"], "echo something else");
    assert_eq!(changed.status.code(), Some(1));
    assert!(text(&changed.stderr).contains("+output    something else"), "{}", text(&changed.stderr));
}

#[cfg(unix)]
#[test]
fn k_7_who_stops_a_drive_stops_its_client_and_what_that_started() {
    let folder = folder();
    let mut driver = Command::new(env!("CARGO_BIN_EXE_reenact"))
        .args(["drive", "scenarios/hello.toml", "--", "sh", "-c", "sleep 63 & sleep 63"])
        .current_dir(folder.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let sleeping = || !Command::new("sh").args(["-c", "ps -eo args | grep -E '^sleep 63$'"]).output().unwrap().stdout.is_empty();
    while !sleeping() {
        assert!(driver.try_wait().unwrap().is_none());
    }
    assert!(Command::new("sh").args(["-c", &format!("kill -TERM {}", driver.id())]).status().unwrap().success());
    assert_eq!(driver.wait().unwrap().code(), Some(1));
    assert!(!sleeping(), "a process was left behind");
}

#[test]
fn k_6_each_path_can_be_a_client_of_its_own() {
    let folder = folder();
    let client = "import os, sys, urllib.request\nfor name in 'ab':\n  url = os.environ['ANTHROPIC_BASE_URL'] + '/' + name + '/v1/messages'\n  head = {'x-api-key': 'made-up', 'anthropic-version': '2023-06-01'}\n  print(urllib.request.urlopen(urllib.request.Request(url, sys.argv[1].encode(), head)).read())\n";
    let body = super::client::body(&[("user", "Hello?")]);
    if Command::new("python3").arg("--version").output().is_err() {
        println!("SKIPPED: there is no python3");
        return;
    }
    for (sessions, code) in [(&["--sessions"][..], 0), (&[], 1)] {
        let arguments =
            [&["serve", "scenarios/hello.toml", "--timing", "none"], sessions, &["--", "python3", "-c", client, &body]].concat();
        let output = reenact(&folder, &arguments);
        assert_eq!(output.status.code(), Some(code), "{}{}", text(&output.stdout), text(&output.stderr));
        assert_eq!(text(&output.stdout).contains("session b"), code == 0, "{}", text(&output.stdout));
    }
}

#[cfg(unix)]
#[test]
fn k_6_a_client_finds_the_server_under_each_name_that_clients_are_known_to_read() {
    let folder = folder();
    let says = "echo \"said $ANTHROPIC_BASE_URL $ANTHROPIC_API_BASE $ANTHROPIC_API_URL $ANTHROPIC_HOST $REENACT_BASE_URL_V1 $MINE $ANTHROPIC_API_KEY\" >&2";
    for command in ["serve", "drive"] {
        let mut started = Command::new(env!("CARGO_BIN_EXE_reenact"));
        started.args([
            command,
            "scenarios/hello.toml",
            "--base-url-var",
            "MINE=/v1",
            "--base-url-var",
            "ANTHROPIC_HOST=/v1",
            "--",
            "sh",
            "-c",
            says,
        ]);
        started.env_remove("ANTHROPIC_API_KEY").env_remove("ANTHROPIC_AUTH_TOKEN").current_dir(folder.path());
        let output = started.output().unwrap();
        let said = text(&output.stderr) + &text(&output.stdout);
        let line = said.lines().find(|line| line.contains("said ")).unwrap_or_else(|| panic!("{said}"));
        let words: Vec<&str> = line.split("said ").nth(1).unwrap().split(' ').collect();
        let base = words[0];
        let with_path = format!("{base}/v1");
        assert_eq!(words, [base, base, base, &with_path, &with_path, &with_path, "sk-ant-test-000"], "{command}");
    }
    let mut keyed = Command::new(env!("CARGO_BIN_EXE_reenact"));
    keyed.args(["serve", "scenarios/hello.toml", "--", "sh", "-c", says]).env("ANTHROPIC_API_KEY", "of-the-caller");
    let output = keyed.current_dir(folder.path()).output().unwrap();
    assert!(text(&output.stderr).contains(" of-the-caller\n"), "a key of the caller stays: {}", text(&output.stderr));
}
