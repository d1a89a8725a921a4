//! The permitted callers of `reenact serve`, and its warning about a port that is open to others (K-6).

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};

use tempfile::TempDir;

const HELLO: &str = "[[prompt]]\ntext = \"Hello?\"\n[[prompt.turn]]\ntext = \"Hello.\"\n";

/// A server that plays one answer.
struct Server {
    child: Child,
    lines: BufReader<ChildStdout>,
    base: String,
    _folder: TempDir,
}

impl Server {
    fn start(options: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("hello.toml"), HELLO).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_reenact"));
        command.args(["serve", "hello.toml", "--timing", "none", "--until-done"]).args(options).current_dir(folder.path());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut base = String::new();
        lines.read_line(&mut base).unwrap();
        Self { child, lines, base: base.trim_end().to_string(), _folder: folder }
    }

    /// Sends a request with these headers; the whole answer.
    fn ask(&self, method: &str, headers: &str) -> String {
        let mut stream = TcpStream::connect(self.base.strip_prefix("http://").unwrap()).unwrap();
        let body = super::client::body(&[("user", "Hello?")]);
        let length = body.len();
        let head = format!(
            "{method} /v1/messages HTTP/1.1\r\n{headers}{}connection: close\r\ncontent-length: {length}\r\n\r\n",
            super::client::HEAD
        );
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// The output of the finished command: its verdict, its messages, and its exit code.
    fn end(mut self) -> (String, String, Option<i32>) {
        let (mut verdict, mut messages) = (String::new(), String::new());
        self.lines.read_to_string(&mut verdict).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut messages).unwrap();
        (verdict, messages, self.child.wait().unwrap().code())
    }
}

#[test]
fn k_6_web_pages_and_foreign_hosts_are_turned_away_and_use_up_nothing() {
    let server = Server::start(&[]);
    for (headers, status, words) in [
        ("host: localhost\r\norigin: https://page.example\r\n", "403", "--allow-origin https://page.example"),
        ("host: localhost\r\norigin: null\r\n", "403", "--allow-origin null"),
        ("host: rebound.example\r\n", "421", "--allow-host NAME"),
        ("host: localhost\r\nsec-fetch-site: cross-site\r\n", "403", "--allow-origin URL"),
    ] {
        let answer = server.ask("POST", headers);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")) && answer.contains(words), "{headers}: {answer}");
        assert!(!answer.contains("access-control-") && !answer.contains("message_start"), "{answer}");
    }
    let preflight = server.ask("OPTIONS", "host: localhost\r\norigin: https://page.example\r\naccess-control-request-method: POST\r\n");
    assert!(preflight.starts_with("HTTP/1.1 403 ") && !preflight.contains("access-control-"), "{preflight}");
    assert!(server.ask("POST", "host: localhost\r\n").contains("message_stop"), "the answer is there for the client");
    let (verdict, _, code) = server.end();
    assert_eq!(code, Some(0), "{verdict}");
    assert!(verdict.contains("1 request for messages, 0 others; no request without an answer; all as expected"), "{verdict}");
    assert!(
        verdict.contains("note: turned away 2 requests: the request is from a web page of the origin https://page.example"),
        "{verdict}"
    );
    assert!(verdict.contains("note: turned away 1 request: the request is for the host rebound.example"), "{verdict}");
}

#[test]
fn k_6_an_allowed_page_and_an_allowed_host_are_answered() {
    let server = Server::start(&["--allow-origin", "http://localhost:3000", "--allow-host", "host.docker.internal"]);
    let headers = "host: host.docker.internal:1\r\norigin: http://localhost:3000\r\n";
    let asks = "access-control-request-method: POST\r\naccess-control-request-headers: x-api-key,content-type\r\n";
    let preflight = server.ask("OPTIONS", &format!("{headers}{asks}"));
    for words in [
        "HTTP/1.1 204 ",
        "access-control-allow-origin: http://localhost:3000",
        "access-control-allow-methods: POST",
        "access-control-allow-headers: x-api-key,content-type",
    ] {
        assert!(preflight.contains(words), "{words}: {preflight}");
    }
    let answer = server.ask("POST", headers);
    assert!(answer.contains("message_stop") && answer.contains("access-control-allow-origin: http://localhost:3000"), "{answer}");
    let (verdict, _, code) = server.end();
    assert!(code == Some(0) && verdict.contains("1 request for messages, 0 others") && !verdict.contains("turned away"), "{verdict}");
}

#[test]
fn k_6_an_open_port_is_named_with_what_it_means_and_loopback_of_both_kinds_is_not() {
    for (listen, link, is_open) in
        [("0.0.0.0", "http://127.0.0.1:", true), ("[::1]:0", "http://[::1]:", false), ("127.0.0.1:0", "http://127.0.0.1:", false)]
    {
        if listen.contains("::") && std::net::TcpListener::bind("[::1]:0").is_err() {
            println!("SKIPPED: this machine has no IPv6 loopback");
            continue;
        }
        let server = Server::start(&["--listen", listen]);
        assert!(server.base.starts_with(link), "{listen}: {}", server.base);
        let host = server.base.strip_prefix("http://").unwrap().to_string();
        assert!(server.ask("POST", &format!("host: {host}\r\n")).contains("message_stop"));
        let (verdict, messages, code) = server.end();
        assert_eq!(code, Some(0), "{verdict}");
        assert_eq!(messages.contains("anyone who can reach port"), is_open, "{listen}: {messages}");
    }
}

#[cfg(unix)]
#[test]
fn k_7_no_client_asks_a_proxy_for_loopback() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("hello.toml"), HELLO).unwrap();
    let says = "echo \"no proxy: $NO_PROXY, $no_proxy, proxy: $HTTP_PROXY\" >&2";
    for (words, proxy) in [
        (&["serve", "hello.toml", "--", "sh", "-c", says][..], "http://proxy.example"),
        (&["record", "--upstream", "http://127.0.0.1:9", "--out", "x.tape.jsonl", "--", "sh", "-c", says], "http://proxy.example"),
        (&["drive", "hello.toml", "--keep-env", "--", "sh", "-c", says], "http://proxy.example"),
        (&["drive", "hello.toml", "--env", "NO_PROXY=mine.example", "--", "sh", "-c", says], ""),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_reenact"));
        command.args(words).env("HTTP_PROXY", "http://proxy.example").env("NO_PROXY", "mine.example").env_remove("no_proxy");
        let output = command.current_dir(folder.path()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
        let list = "mine.example,localhost,127.0.0.1,::1";
        assert!(said.contains(&format!("no proxy: {list}, {list}, proxy: {proxy}\n")), "{words:?}: {said}");
    }
}
