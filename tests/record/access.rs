//! The permitted callers of the recorder, and the secrets that it never prints (K-1, K-2).

use std::process::Command;
use std::sync::mpsc;

use crate::harness::*;

/// An upstream that allows all pages, as some APIs do, and tells each request line.
fn telling_upstream() -> (u16, mpsc::Receiver<String>) {
    let (told, seen) = mpsc::channel();
    let port = upstream(move |request, stream| {
        told.send(request.line.clone()).unwrap();
        send_whole(stream, "200 OK", "content-type: application/json\r\naccess-control-allow-origin: *\r\n", b"{}");
        Then::Next
    });
    (port, seen)
}

#[test]
fn k_1_what_a_web_page_sends_is_neither_passed_on_nor_recorded() {
    let (port, seen) = telling_upstream();
    let recorder = Recorder::start(port, &["--allow-origin", "http://localhost:3000"]);
    let send = |method: &str, headers: &str| ask(recorder.port, method, "/v1/messages", headers, prompt("hi").as_bytes()).unwrap();
    let preflight = "access-control-request-method: POST\r\naccess-control-request-headers: x-api-key\r\n";
    for (method, headers) in [("POST", ""), ("OPTIONS", preflight)] {
        let got = send(method, &format!("origin: https://page.example\r\n{headers}"));
        assert!(got.status.contains(" 403 ") && got.header("access-control-allow-origin").is_none(), "{got:?}");
        assert!(String::from_utf8(got.body()).unwrap().contains("--allow-origin https://page.example"));
    }
    let mut talk = Talk::open(recorder.port);
    talk.send("POST /v1/messages HTTP/1.1\r\nhost: rebound.example\r\ncontent-length: 0\r\n\r\n");
    let got = talk.answer().unwrap();
    assert!(got.status.contains(" 421 ") && String::from_utf8(got.body()).unwrap().contains("--allow-host"), "{got:?}");
    let allowed = "origin: http://localhost:3000\r\n";
    let mut talk = Talk::open(recorder.port);
    talk.ask("OPTIONS", "/v1/messages", &format!("{allowed}{preflight}"), b"");
    let got = talk.head().unwrap();
    assert!(got.status.contains(" 204 ") && got.header("access-control-allow-headers") == Some("x-api-key"), "{got:?}");
    let got = send("POST", allowed);
    assert!(got.status.contains(" 200 ") && got.header("access-control-allow-origin") == Some("http://localhost:3000"), "{got:?}");
    assert!(got.header("vary").is_some_and(|vary| vary.contains("origin")), "{got:?}");
    send("POST", "");
    let (_, said, tape) = recorder.stop();
    assert_eq!(seen.try_iter().count(), 2, "upstream saw only what may pass");
    assert_eq!(tape.exchanges.len(), 2, "{said}");
    let head = &tape.exchanges[0].answer.headers;
    assert!(head.iter().any(|header| &*header.name == "access-control-allow-origin" && &*header.value == "*"), "as it came: {head:?}");
    assert!(
        said.contains("turned a request away: ") && said.contains("turned away 2 requests: ") && said.contains("rebound.example"),
        "{said}"
    );
}

#[test]
fn k_2_a_password_in_the_address_of_upstream_is_refused_and_not_printed() {
    let secret = ["hunter", "2xyz"].concat();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("x.tape.jsonl");
    for url in
        [format!("http://user:{secret}@127.0.0.1:9"), format!("https://user:{secret}/a b@127.0.0.1"), format!("http://h/?k={secret}")]
    {
        for words in [
            &["record", "--upstream", &url, "--out", out.to_str().unwrap(), "--", "true"][..],
            &["run", "scenarios/session/hello.toml", "--level", "live", "--upstream", &url],
        ] {
            let output = Command::new(env!("CARGO_BIN_EXE_reenact")).args(words).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
            assert_eq!(output.status.code(), Some(2), "{said}");
            assert!(!said.contains(&secret) && said.contains("--upstream: the URL holds"), "{said}");
            assert!(!out.exists());
        }
    }
}

#[test]
fn k_1_an_open_port_is_named_with_what_it_means() {
    let (port, _seen) = telling_upstream();
    let recorded = |options: &[&str]| {
        let recorder = Recorder::start(port, options);
        ask(recorder.port, "POST", "/v1/messages", "", prompt("hi").as_bytes()).unwrap();
        recorder.stop().1
    };
    let said = recorded(&["--listen", "0.0.0.0"]);
    assert!(said.contains("anyone who can reach port") && said.contains("can send requests to http://127.0.0.1:"), "{said}");
    let said = recorded(&["--listen", "127.0.0.1:0"]);
    assert!(!said.contains("anyone who"), "{said}");
}
