//! Several scenarios behind one port: who asks for which, and a verdict for each (K-6).

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A scenario of one prompt and its answer.
fn scenario(prompt: &str, answer: &str) -> String {
    format!("[[prompt]]\ntext = \"{prompt}\"\n[[prompt.turn]]\ntext = \"{answer}\"\n")
}

fn ask(address: &str, request: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.replace("host: ", "connection: close\r\nhost: ").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer}"));
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.into())
}

fn get(address: &str, path: &str) -> (u16, Value) {
    let (status, body) = ask(address, &super::client::request("GET", path, ""));
    (status, serde_json::from_str(&body).unwrap_or_else(|_| panic!("{body}")))
}

fn five_scenarios() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let scenarios = folder.path().join("scenarios");
    fs::create_dir_all(scenarios.join("deep")).unwrap();
    let two_turns = format!(
        "{}[[prompt.turn]]\ntext = \"Never asked.\"\n[[fault]]\nat = {{ request = 7 }}\nstatus = 529\n",
        scenario("Hello?", "One.")
    );
    for (name, text) in [
        ("hello", scenario("Hello?", "Hello.")),
        ("deep/hello", two_turns),
        ("longer", scenario("Hello? Who is there?", "Nobody.")),
        ("headed", scenario("Else", "By header.")),
        ("idle", scenario("Never", "Never.")),
    ] {
        fs::write(scenarios.join(format!("{name}.toml")), text).unwrap();
    }
    folder
}

#[cfg(unix)]
#[test]
fn k_6_several_scenarios_are_chosen_by_header_path_or_first_message_and_judged_each() {
    let folder = five_scenarios();
    let mut server = Command::new(env!("CARGO_BIN_EXE_reenact"))
        .args(["serve", "scenarios", "--timing", "none"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap());
    let mut base = String::new();
    lines.read_line(&mut base).unwrap();
    let address = base.trim().strip_prefix("http://").unwrap();
    let post = |path: &str, header: &str, text: &str| {
        let request = super::client::request("POST", path, &super::client::body(&[("user", text)]));
        ask(address, &request.replace("host: ", &format!("{header}host: ")))
    };
    for (path, header, text, answer) in [
        ("/v1/messages", "", "Hello? Who is there?", "Nobody."),
        ("/v1/messages", "x-reenact-scenario: headed\r\n", "Hello?", "By header."),
        ("/hello/v1/messages", "", "anything", "Hello."),
        ("/deep/hello/v1/messages", "", "Hello?", "One."),
    ] {
        let (status, body) = post(path, header, text);
        assert!(status == 200 && body.contains(answer), "{path} {header}{text}: {body}");
    }
    for (path, header, text, words) in [
        ("/v1/messages", "", "Hello?", "of several scenarios"),
        ("/v1/messages", "", "Bye", "no scenario's first prompt"),
        ("/v1/messages", "x-reenact-scenario: gone\r\n", "Hello?", "there is no scenario `gone`"),
        ("/gone/v1/messages", "", "Hello?", "no scenario at the path `gone`"),
    ] {
        let (status, body) = post(path, header, text);
        assert!(status == 404 && body.contains(words) && body.contains("x-reenact-scenario: NAME"), "{body}");
        assert!(body.contains("deep/hello, headed, hello, idle, longer"), "the names are told: {body}");
    }
    let (status, verdict) = get(address, "/reenact/verdicts/longer");
    assert_eq!((status, &verdict["name"], &verdict["is_fine"]), (200, &"longer".into(), &true.into()), "{verdict}");
    assert_eq!((&verdict["requests"][0]["answer"], &verdict["requests"][0]["status"]), (&"turn 1.1".into(), &200.into()), "{verdict}");
    assert_eq!(verdict["requests"][0]["message"]["model"], "claude-sonnet-4-5", "{verdict}");
    let (_, failed) = get(address, "/reenact/verdicts/deep/hello");
    assert_eq!(failed["is_fine"], false, "a fault did not come to pass: {failed}");
    assert!(failed["failures"].to_string().contains("fault"), "{failed}");
    let (_, idle) = get(address, "/reenact/verdicts/idle");
    assert_eq!((&idle["is_fine"], idle["failures"].as_array().unwrap().len()), (&Value::Null, 0), "{idle}");
    assert_eq!(get(address, "/reenact/verdicts/gone").0, 404);
    let (_, all) = get(address, "/reenact/verdicts");
    let names: Vec<_> = all["verdicts"].as_array().unwrap().iter().filter_map(|verdict| verdict["name"].as_str()).collect();
    assert_eq!(names, ["deep/hello", "headed", "hello", "idle", "longer"]);
    assert_eq!(all["failures"].as_array().unwrap().len(), 4, "{all}");
    assert!(Command::new("sh").args(["-c", &format!("kill -INT {}", server.id())]).status().unwrap().success());
    let (mut said, mut noted) = (String::new(), String::new());
    lines.read_to_string(&mut said).unwrap();
    server.stderr.take().unwrap().read_to_string(&mut noted).unwrap();
    assert_eq!(server.wait().unwrap().code(), Some(1), "four requests were for no scenario: {said}");
    assert!(said.contains("scenario longer\n") && said.contains("scenario deep/hello\n") && !said.contains("scenario idle\n"), "{said}");
    assert!(noted.contains("nobody asked for the scenario `idle`"), "{noted}");
    assert!(said.contains("FAILED: POST /v1/messages was answered with 404: the first message is"), "{said}");
}

#[cfg(unix)]
#[test]
fn k_6_scenarios_of_one_name_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a", "b"] {
        fs::create_dir_all(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join("hello.toml"), scenario("Hello?", "Hello.")).unwrap();
    }
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_reenact")).args(arguments).current_dir(folder.path()).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, said) = run(&["serve", "a/hello.toml", "b/hello.toml", "--", "true"]);
    assert!(code == Some(2) && said.contains("rename one of the files"), "{code:?} {said}");
    fs::write(folder.path().join("a/other.toml"), scenario("Who?", "Me.")).unwrap();
    let (code, said) = run(&["serve", "a", "--sessions", "--", "true"]);
    assert!(code == Some(2) && said.contains("name one scenario"), "{code:?} {said}");
}
