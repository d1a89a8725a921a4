//! The recorder over loopback: what passes through it, and what is on the tape afterwards (K-1, K-2, K-11).
#![cfg(unix)]

#[path = "record/access.rs"]
mod access;
#[path = "record/bounds.rs"]
mod bounds;
#[path = "record/harness.rs"]
mod harness;
#[path = "record/robust.rs"]
mod robust;
#[path = "record/threads.rs"]
mod threads;
#[path = "record/tls.rs"]
mod tls;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use harness::*;
use reenact::scenario::tape::{ClientFolder, Exchange, ResponseEnd};

fn texts(exchange: &Exchange) -> Vec<String> {
    exchange.answer.chunks.iter().map(|chunk| String::from_utf8_lossy(&chunk.bytes).into_owned()).collect()
}

#[test]
fn k_1_each_event_is_passed_on_when_it_comes_and_kept_as_a_chunk() {
    let (go, may_go) = mpsc::channel::<()>();
    #[expect(clippy::disallowed_types, reason = "an upstream can be copied, one for each connection, and this one has one connection")]
    let may_go = std::sync::Arc::new(std::sync::Mutex::new(may_go));
    let port = upstream(move |request, stream| {
        assert_eq!(request.line, "POST /v1/messages?beta=true HTTP/1.1");
        assert!(request.header("host").unwrap().starts_with("127.0.0.1:"), "it is rewritten");
        assert_eq!(request.header("x-kept"), Some("1"));
        assert_eq!((request.header("x-hop"), request.header("connection")), (None, None));
        stream_head(stream, "");
        for event in message("Hello.") {
            may_go.lock().unwrap().recv_timeout(PATIENCE).unwrap();
            send_chunk(stream, event.as_bytes());
        }
        stream.write_all(b"0\r\n\r\n").unwrap();
        Then::Next
    });
    let recorder = Recorder::start(port, &[]);
    let mut talk = Talk::open(recorder.port);
    talk.ask("POST", "/v1/messages?beta=true", "X-Kept: 1\r\nConnection: x-hop\r\nx-hop: 1\r\n", prompt("hi").as_bytes());
    assert_eq!(talk.head().unwrap().status, "HTTP/1.1 200 OK");
    for (event, number) in message("Hello.").iter().zip(0..) {
        // Upstream sends the next one only when the client has this one: nothing is held back.
        if number == 3 {
            pause(Duration::from_millis(30));
        }
        go.send(()).unwrap();
        assert_eq!(talk.chunk().unwrap().unwrap(), event.as_bytes());
    }
    assert_eq!(talk.chunk(), Ok(None));
    let (status, said, tape) = recorder.stop();
    assert!(status.success() && said.contains("recorded 1 exchange in "), "{said}");
    let exchange = &tape.exchanges[0];
    assert_eq!(texts(exchange), message("Hello."));
    assert_eq!((exchange.answer.status, exchange.answer.end, &*exchange.path), (200, ResponseEnd::Complete, "/v1/messages?beta=true"));
    assert_eq!(&*exchange.body, prompt("hi").as_bytes());
    let at: Vec<u64> = exchange.answer.chunks.iter().map(|chunk| chunk.at.unwrap().0).collect();
    assert!(at.is_sorted() && at[3] - at[2] >= 30_000 && at[2] < 10_000_000, "{at:?}");
    assert!(exchange.answer.end_at.unwrap().0 >= at[6]);
    assert!(tape.left_out.is_empty() && tape.header.upstream.as_deref() == Some(&format!("127.0.0.1:{port}")));
}

#[test]
fn k_1_compressed_answers_pass_as_they_came_and_are_stored_as_they_read() {
    let events = message("Hello, hello, hello.").concat();
    let zstd = ruzstd::encoding::compress_to_vec(events.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest);
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    zlib.write_all(events.as_bytes()).unwrap();
    let zlib = zlib.finish().unwrap();
    let port = upstream(move |request, stream| {
        let encoding = request.line.split(['/', ' ']).nth(2).unwrap().to_owned();
        stream_head(stream, &format!("content-encoding: {encoding}\r\n"));
        match encoding.as_str() {
            "gzip" => {
                let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                for event in message("Hello, hello, hello.") {
                    gzip.write_all(event.as_bytes()).unwrap();
                    gzip.flush().unwrap();
                    send_chunk(stream, &std::mem::take(gzip.get_mut()));
                }
                send_chunk(stream, &gzip.finish().unwrap());
            }
            "deflate" => zlib.chunks(50).for_each(|part| _ = send_chunk(stream, part)),
            "br" => uncompressed_brotli(events.as_bytes()).chunks(50).for_each(|part| _ = send_chunk(stream, part)),
            _ => zstd.chunks(50).for_each(|part| _ = send_chunk(stream, part)),
        }
        stream.write_all(b"0\r\n\r\n").unwrap();
        Then::Next
    });
    let recorder = Recorder::start(port, &[]);
    for encoding in ["gzip", "deflate", "br", "zstd"] {
        let got = ask(recorder.port, "GET", &format!("/{encoding}"), "", b"").unwrap();
        assert_eq!(got.header("content-encoding"), Some(encoding));
        assert_ne!(got.body(), message("Hello, hello, hello.").concat().as_bytes());
    }
    let path = recorder.tape.clone();
    let lines = || std::fs::read_to_string(&path).unwrap();
    assert!(lines().contains(r#","decoded":"gzip"}"#) && lines().contains(r#","decoded":"br"}"#), "{}", lines());
    let (_, said, tape) = recorder.stop();
    assert_eq!(tape.exchanges.len(), 4, "{said}");
    for exchange in &tape.exchanges {
        assert_eq!(String::from_utf8_lossy(&exchange.answer.body()), message("Hello, hello, hello.").concat(), "{}", exchange.path);
        assert!(exchange.answer.headers.iter().all(|header| &*header.name != "content-encoding"));
    }
    assert_eq!(texts(&tape.exchanges[0]), message("Hello, hello, hello."), "what is flushed is one chunk");
}

/// A window of 16 bits, meta-blocks that are stored, and an empty last one (RFC 7932, 9.2).
fn uncompressed_brotli(bytes: &[u8]) -> Vec<u8> {
    let mut bits: Vec<bool> = Vec::new();
    let mut push = |value: usize, count: usize| bits.extend((0..count).map(|bit| value >> bit & 1 == 1));
    push(0, 1);
    push(0, 1); // not the last
    push(0, 2); // four nibbles of length
    push(bytes.len() - 1, 16);
    push(1, 1); // stored
    let pack = |bits: &[bool]| -> Vec<u8> {
        bits.chunks(8).map(|byte| byte.iter().enumerate().map(|(place, bit)| u8::from(*bit) << place).sum()).collect()
    };
    let mut out = pack(&bits);
    out.extend_from_slice(bytes);
    out.push(0b11); // last, and empty
    out
}

#[test]
fn k_11_failures_and_other_endpoints_are_kept_as_they_came() {
    let port = upstream(|request, stream| {
        match request.line.split(' ').nth(1).unwrap() {
            "/v1/messages" => {
                let body = br#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
                send_whole(stream, "529 Overloaded", "retry-after: 3\r\nx-should-retry: true\r\n", body);
            }
            "/v1/messages/count_tokens" => send_whole(stream, "200 OK", "content-type: application/json\r\n", br#"{"input_tokens": 12}"#),
            "/v1/models" => send_whole(stream, "200 OK", "", br#"{"data":[]}"#),
            _ => send_whole(stream, "404 Not Found", "", b""),
        }
        Then::Next
    });
    let recorder = Recorder::start(port, &[]);
    let mut talk = Talk::open(recorder.port);
    talk.ask("POST", "/v1/messages", "", prompt("hi").as_bytes());
    let got = talk.answer().unwrap();
    assert_eq!((got.status.as_str(), got.header("retry-after")), ("HTTP/1.1 529 Overloaded", Some("3")));
    for (method, path) in [("POST", "/v1/messages/count_tokens"), ("GET", "/v1/models"), ("HEAD", "/"), ("GET", "/nothing")] {
        talk.ask(method, path, "", if method == "POST" { b"{}" } else { b"" });
        talk.head().unwrap();
        let mut rest = vec![
            0;
            match path {
                "/v1/models" => 11,
                "/nothing" | "/" => 0,
                _ => 20,
            }
        ];
        talk.read_exactly(&mut rest);
    }
    let (_, said, tape) = recorder.stop();
    let seen: Vec<_> = tape.exchanges.iter().map(|exchange| (&*exchange.method, &*exchange.thread, exchange.answer.status)).collect();
    let expected = [("POST", "main", 529), ("POST", "other", 200), ("GET", "other", 200), ("HEAD", "other", 404), ("GET", "other", 404)];
    assert_eq!(seen, expected, "{said}");
    assert!(said.contains("recorded 5 exchanges, 3 refused"), "{said}");
    assert_eq!(tape.exchanges[0].answer.headers[0].name.as_ref(), "retry-after");
}

/// An upstream that breaks the connection: when `go` comes, `after` this many events.
fn breaking(after: usize) -> (u16, mpsc::Sender<()>) {
    let (go, may_go) = mpsc::channel::<()>();
    #[expect(clippy::disallowed_types, reason = "an upstream can be copied, one for each connection, and this one has one connection")]
    let may_go = std::sync::Arc::new(std::sync::Mutex::new(may_go));
    let port = upstream(move |_, stream| {
        if after > 0 {
            stream_head(stream, "");
        }
        message("x").iter().take(after).for_each(|event| _ = send_chunk(stream, event.as_bytes()));
        may_go.lock().unwrap().recv_timeout(PATIENCE).unwrap();
        socket2::SockRef::from(&*stream).set_linger(Some(Duration::ZERO)).unwrap();
        Then::Close
    });
    (port, go)
}

#[test]
fn k_1_a_connection_that_upstream_breaks_breaks_for_the_client() {
    for after in [0, 1, 3] {
        let (port, go) = breaking(after);
        let recorder = Recorder::start(port, &[]);
        let mut talk = Talk::open(recorder.port);
        talk.ask("POST", "/v1/messages", "", prompt("hi").as_bytes());
        if after > 0 {
            talk.head().unwrap();
            (0..after).for_each(|_| _ = talk.chunk().unwrap().unwrap());
        }
        go.send(()).unwrap();
        assert_eq!(talk.ends_with(), Some(std::io::ErrorKind::ConnectionReset), "after {after} events");
        let (_, said, tape) = recorder.stop();
        assert_eq!((tape.exchanges[0].answer.end, tape.exchanges[0].answer.chunks.len()), (ResponseEnd::Reset, after), "{said}");
    }
}

#[test]
fn k_1_a_slow_client_gets_every_byte_of_a_burst_in_order() {
    let text = "so the parser reads on ".repeat(40);
    let events: Vec<String> = (0..4_000).map(|number| message(&format!("{number} {text}"))[3].clone()).collect();
    let sent = events.clone();
    let port = upstream(move |_, stream| {
        stream_head(stream, "");
        for event in &sent {
            send_chunk(stream, event.as_bytes());
        }
        stream.write_all(b"0\r\n\r\n").unwrap();
        Then::Next
    });
    let recorder = Recorder::start(port, &[]);
    let mut talk = Talk::open(recorder.port);
    for _ in 0..2 {
        talk.ask("POST", "/v1/messages", "", prompt("hi").as_bytes());
        // More than sockets hold waits until the client reads.
        pause(Duration::from_millis(300));
        let got = talk.answer().unwrap();
        assert!(got.whole && got.body() == events.concat().as_bytes(), "{} bytes came", got.body().len());
    }
    let (_, said, tape) = recorder.stop();
    assert!(said.contains("recorded 2 exchanges"), "{said}");
    assert!(tape.exchanges.iter().all(|exchange| texts(exchange).concat() == events.concat()));
}

#[test]
fn k_11_a_cut_is_kept_with_its_place_and_a_request_without_answer_too() {
    let port = upstream(|request, stream| {
        if request.line.contains("/silent") {
            return Then::Close;
        }
        stream_head(stream, "");
        send_chunk(stream, message("x")[0].as_bytes());
        // The head of a chunk of 64 bytes, and ten of them.
        stream.write_all(b"40\r\nevent: con").unwrap();
        pause(Duration::from_millis(20));
        Then::Close
    });
    let recorder = Recorder::start(port, &[]);
    let got = ask(recorder.port, "POST", "/v1/messages", "", prompt("hi").as_bytes()).unwrap();
    assert!(!got.whole, "the client sees the cut");
    assert!(ask(recorder.port, "POST", "/silent", "", b"{}").is_none(), "no answer is made up");
    let (_, said, tape) = recorder.stop();
    assert!(said.contains("recorded 2 exchanges, 1 cut, 1 never answered") && said.contains("gave no answer"), "{said}");
    let [cut, silent] = &tape.exchanges[..] else { panic!("{tape:?}") };
    assert_eq!((cut.answer.end, cut.answer.body()), (ResponseEnd::Reset, [message("x")[0].as_bytes(), b"event: con"].concat()));
    assert_eq!((silent.answer.end, silent.answer.status, silent.answer.head_at), (ResponseEnd::Reset, 0, None));
}

#[test]
fn k_11_a_client_that_goes_away_ends_its_exchange_and_upstream_is_told() {
    let (gone, told) = mpsc::channel();
    let port = upstream(move |_, stream| {
        stream_head(stream, "");
        send_chunk(stream, message("x")[0].as_bytes());
        let mut rest = Vec::new();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        // The end of the connection is all that can come.
        let _ = stream.read_to_end(&mut rest);
        gone.send(()).unwrap();
        Then::Close
    });
    let recorder = Recorder::start(port, &[]);
    drop(Talk::begun(recorder.port));
    told.recv_timeout(PATIENCE).unwrap();
    let (_, said, tape) = recorder.stop();
    assert_eq!((tape.exchanges[0].answer.end, texts(&tape.exchanges[0]).len()), (ResponseEnd::ClientGone, 1), "{said}");
    assert!(said.contains("1 abandoned by the client"), "{said}");
}

#[test]
fn k_1_twenty_thousand_events_at_once_keep_their_boundaries() {
    const EVENTS: usize = 20_000;
    let event = |number: usize| format!("event: ping\ndata: {{\"type\": \"ping\", \"n\": {number}}}\n\n");
    let port = upstream(move |_, stream| {
        stream_head(stream, "");
        let mut all = Vec::new();
        for number in 0..EVENTS {
            let event = event(number);
            all.extend_from_slice(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes());
        }
        all.extend_from_slice(b"0\r\n\r\n");
        stream.write_all(&all).unwrap();
        Then::Next
    });
    let recorder = Recorder::start(port, &[]);
    let got = ask(recorder.port, "POST", "/v1/messages", "", prompt("hi").as_bytes()).unwrap();
    let expected: Vec<String> = (0..EVENTS).map(event).collect();
    assert_eq!(got.body(), expected.concat().as_bytes());
    let (_, _, tape) = recorder.stop();
    let recorded = texts(&tape.exchanges[0]);
    assert_eq!(recorded.concat(), expected.concat());
    // Where upstream's packet ends inside of a chunk, the chunk comes in two.
    assert!((EVENTS..EVENTS + EVENTS / 20).contains(&recorded.len()), "{}", recorded.len());
}

#[test]
fn k_2_no_secret_reaches_the_disk() {
    let key = format!("sk-ant-api03-{}AA", "Zk7Qw9Xb".repeat(11));
    let answer_key = key.replace("Zk7", "Yk8");
    let fragments = [answer_key[..30].to_owned(), answer_key[30..].to_owned()];
    let port = upstream(move |request, stream| {
        assert_eq!(request.header("authorization").unwrap().len(), "Bearer ".len() + 103, "upstream gets the real one");
        stream_head(stream, "set-cookie: __cf_bm=secretsecret\r\nrequest-id: req_011CQabcdefghijklmnop\r\n");
        for fragment in &fragments {
            let delta = format!(r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{fragment}"}}}}"#);
            send_chunk(stream, format!("data: {delta}\n\n").as_bytes());
        }
        stream.write_all(b"0\r\n\r\n").unwrap();
        Then::Next
    });
    let recorder = Recorder::start(port, &[]);
    let headers = format!("Authorization: Bearer {key}\r\n");
    let got = ask(recorder.port, "POST", "/v1/messages?token=abc", &headers, prompt(&format!("it is {key}")).as_bytes()).unwrap();
    assert!(String::from_utf8(got.body()).unwrap().contains(&answer_key[30..]), "the client gets the real one");
    let path = recorder.tape.clone();
    recorder.signal("-INT");
    let mut recorder = recorder;
    recorder.wait();
    let file = std::fs::read_to_string(&path).unwrap();
    for secret in [&key[20..40], &answer_key[20..30], &answer_key[30..40], "secretsecret", "token=abc", "\"authorization\",\"B"] {
        assert!(!file.contains(secret), "{secret}: {file}");
    }
    assert!(file.contains("it is REDACTED000001xxx") && file.contains("req_011CQabcdefghijklmnop"), "{file}");
    let scan = Command::new(env!("CARGO_BIN_EXE_reenact")).arg("scan").arg(&path).output().unwrap();
    assert_eq!(scan.status.code(), Some(0));
    assert!(String::from_utf8(scan.stdout).unwrap().starts_with("no secrets found in 1 file, "));
    std::fs::write(&path, file.replace("it is REDACTED", "it is sk-ant-api03-REDACTED")).unwrap();
    let scan = Command::new(env!("CARGO_BIN_EXE_reenact")).arg("scan").arg(&path).output().unwrap();
    assert_eq!(scan.status.code(), Some(1));
    assert!(String::from_utf8(scan.stdout).unwrap().starts_with(&format!("{}:2:", path.display())));
}

#[test]
fn k_2_a_secret_in_the_path_of_a_folder_is_replaced_as_it_is_in_bodies() {
    const SECRET: &str = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    const NAME: &str = "of-the-house-of-nobody";
    let port = upstream(|_, stream| {
        send_whole(stream, "200 OK", "content-type: application/json\r\n", b"{}");
        Then::Next
    });
    let folder = tempfile::tempdir().unwrap();
    let (tape, rules) = (folder.path().join("x.tape.jsonl"), folder.path().join("rules.toml"));
    std::fs::write(&rules, format!("[[rule]]\nname = \"house\"\npattern = '{NAME}'\n")).unwrap();
    let (home, tmp) = (format!("/x/{SECRET}"), format!("/tmp/{NAME}/"));
    let mut recorder = Command::new(env!("CARGO_BIN_EXE_reenact"));
    recorder.args(["record", "--upstream", &format!("http://127.0.0.1:{port}"), "--out"]).arg(&tape).arg("--redact").arg(&rules);
    // It says where the recorder is, and ends when it is told nothing more.
    recorder.args(["--base-url-var", "WHERE", "--", "/bin/sh", "-c", "echo $WHERE; cat"]).env("HOME", &home).env("TMPDIR", &tmp);
    let mut recorder = recorder.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut place = String::new();
    BufReader::new(recorder.stdout.take().unwrap()).read_line(&mut place).unwrap();
    let port = place.trim_end().rsplit(':').next().unwrap().parse().unwrap();
    ask(port, "POST", "/v1/messages", "", prompt(&format!("home {home}/a, tmp {tmp}b")).as_bytes()).unwrap();
    drop(recorder.stdin.take());
    assert!(recorder.wait().unwrap().success());
    let file = std::fs::read_to_string(&tape).unwrap();
    assert!(!file.contains(SECRET) && !file.contains(NAME), "{file}");
    let scan = Command::new(env!("CARGO_BIN_EXE_reenact")).args(["scan", "--redact"]).arg(&rules).arg(&tape).output().unwrap();
    assert_eq!(scan.status.code(), Some(0));
    assert!(String::from_utf8(scan.stdout).unwrap().starts_with("no secrets found in 1 file, "));
    let read = reenact::files::tape::read(&tape).unwrap();
    let path = |wanted| &read.header.folders.iter().find(|(folder, _)| *folder == wanted).unwrap().1;
    let said = format!("home {}/a, tmp {}/b", path(ClientFolder::Home), path(ClientFolder::Tmp));
    assert!(String::from_utf8_lossy(&read.exchanges[0].body).contains(&said), "{said} in {file}");
}
