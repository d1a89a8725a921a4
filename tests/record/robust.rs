//! Failures around a recording: kills, full disks, certificates, wrong options (K-1, K-3).

use std::io::Write as _;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use reenact::files::tape;
use reenact::scenario::tape::{ClientFolder, ResponseEnd};

use crate::harness::*;

/// Answers with the prompt, an event every other millisecond.
fn echo_slowly() -> u16 {
    upstream(|request, stream| {
        let body = String::from_utf8(request.body.clone()).unwrap();
        let said = body.split("\"content\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        stream_head(stream, "");
        for event in message(&said) {
            pause(Duration::from_millis(2));
            if !send_chunk(stream, event.as_bytes()) {
                return Then::Close;
            }
        }
        match stream.write_all(b"0\r\n\r\n") {
            Ok(()) => Then::Next,
            Err(_) => Then::Close,
        }
    })
}

/// How long an answer may take on a busy machine.
const LOAD_PATIENCE: Duration = Duration::from_secs(60);

/// Kills a recorder under load, so long after so many answers; every answer that a client saw end must be on its tape.
fn kill_after(upstream: u16, answers: usize, delay: Duration) -> usize {
    let mut recorder = Recorder::start(upstream, &[]);
    let (port, stop) = (recorder.port, Arc::new(AtomicBool::new(false)));
    let (completed, told) = mpsc::channel();
    for client in 0..4 {
        let (completed, stop) = (completed.clone(), Arc::clone(&stop));
        in_background(move || {
            let mut talk = Talk::open(port);
            for number in 0.. {
                let marker = format!("marker-{client}-{number}.");
                if stop.load(Ordering::Relaxed) || !talk.try_ask(prompt(&marker).as_bytes()) {
                    return;
                }
                match talk.answer() {
                    Some(got) if got.whole => completed.send(marker).unwrap(),
                    _ => return,
                }
            }
        });
    }
    drop(completed);
    let mut completed: Vec<String> = (0..answers).filter_map(|_| told.recv_timeout(LOAD_PATIENCE).ok()).collect();
    pause(delay);
    recorder.signal("-KILL");
    recorder.wait();
    stop.store(true, Ordering::Relaxed);
    completed.extend(told);
    if !recorder.tape.exists() {
        return 0;
    }
    let tape = match tape::read(&recorder.tape) {
        Ok(tape) => tape,
        Err(error) => {
            assert!(completed.is_empty(), "the tape does not open: {error}");
            return 0;
        }
    };
    for marker in &completed {
        let on_tape = tape.exchanges.iter().find(|exchange| String::from_utf8_lossy(&exchange.body).contains(marker));
        let exchange = on_tape.unwrap_or_else(|| panic!("{marker} was complete and is lost: {:?}", tape.left_out));
        assert_eq!((exchange.answer.end, exchange.answer.body()), (ResponseEnd::Complete, message(marker).concat().into_bytes()));
    }
    completed.len()
}

fn kill_at(instants: u32) {
    let upstream = echo_slowly();
    // Every other one is killed while it starts. A busy machine answers late, so the others wait for answers and not for a time.
    let at = |instant: u32| (instant as usize % 2 * 4, Duration::from_millis(u64::from(instant * 37 % 211) + 5));
    let completed: usize = (0..instants).map(at).map(|(answers, delay)| kill_after(upstream, answers, delay)).sum();
    assert!(completed >= instants as usize / 2 * 4, "there was hardly any load: {completed}");
}

#[test]
fn k_3_killed_at_any_instant_it_keeps_what_was_complete() {
    kill_at(8);
}

#[test]
#[ignore = "the long form of the test above"]
fn k_3_killed_at_fifty_instants() {
    kill_at(50);
}

#[test]
fn k_3_durable_recordings_are_synced_before_the_end_is_passed_on() {
    if Command::new("strace").arg("-V").output().is_err() {
        eprintln!("SKIPPED: strace is not installed");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("calls");
    let trace = ["strace", "-f", "-s", "65536", "-e", "trace=fdatasync,fsync,sendto,write,writev,sendmsg", "-o", log.to_str().unwrap()];
    let mut recorder = Recorder::start_with(&format!("http://127.0.0.1:{}", echo_slowly()), &["--durable"], &trace);
    assert!(ask(recorder.port, "POST", "/v1/messages", "", prompt("hi").as_bytes()).unwrap().whole);
    // The tracer passes no signal on; its child is the recorder.
    let tracer = recorder.child.id();
    let child = std::fs::read_to_string(format!("/proc/{tracer}/task/{tracer}/children")).unwrap();
    assert!(Command::new("kill").args(["-INT", child.trim()]).status().unwrap().success());
    recorder.wait();
    let calls = std::fs::read_to_string(&log).unwrap();
    let place = |wanted: &dyn Fn(&str) -> bool| calls.lines().position(wanted).unwrap_or_else(|| panic!("{calls}"));
    let written = place(&|line| line.contains(r#"{\"end\":1"#) || (line.contains("write(") && line.contains(r#"{\"request\":1"#)));
    let synced = place(&|line| line.contains("fdatasync") && line.contains("= 0"));
    let passed_on = place(&|line| line.contains(r#"0\r\n\r\n""#) && !line.contains("HTTP/1.1"));
    assert!(written < synced && synced < passed_on, "written {written}, synced {synced}, passed on {passed_on}:\n{calls}");
}

#[test]
fn k_3_a_full_disk_ends_the_recording_and_not_the_traffic() {
    let folder = tempfile::tempdir().unwrap();
    let small = folder.path().join("small");
    std::fs::create_dir(&small).unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "none"]).arg(&small).output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED: a small file system cannot be mounted here");
        return;
    }
    let _mount = Mount(&small);
    let port = upstream(|_, stream| {
        stream_head(stream, "");
        for number in 0..2_000 {
            send_chunk(stream, message(&format!("{number} {}", "many words ".repeat(20)))[3].as_bytes());
        }
        stream.write_all(b"0\r\n\r\n").unwrap();
        Then::Next
    });
    let tape = small.join("x.tape.jsonl");
    let mut recorder = Recorder::start_at(&format!("http://127.0.0.1:{port}"), &[], &[], &tape, tempfile::tempdir().unwrap());
    for _ in 0..2 {
        let got = ask(recorder.port, "POST", "/v1/messages", "", prompt("hi").as_bytes()).unwrap();
        assert!(got.whole && got.chunks.len() >= 2_000, "the client's traffic goes on");
    }
    recorder.signal("-INT");
    let (status, said) = recorder.wait();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("recording has stopped") && said.contains("No space left"), "{said}");
    let read = tape::read(&tape).unwrap();
    assert!(read.exchanges.is_empty());
}

struct Mount<'a>(&'a Path);

impl Drop for Mount<'_> {
    fn drop(&mut self) {
        // Where it fails the folder stays; nothing else depends on it.
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

#[test]
fn k_1_ctrl_c_keeps_what_came() {
    let port = upstream(|_, stream| {
        stream_head(stream, "");
        send_chunk(stream, message("x")[0].as_bytes());
        pause(PATIENCE);
        Then::Close
    });
    let recorder = Recorder::start(port, &[]);
    let mut talk = Talk::begun(recorder.port);
    let (status, said, tape) = recorder.stop();
    assert!(status.success() && said.contains("recorded 1 exchange, 1 cut"), "{said}");
    assert_eq!((tape.exchanges[0].answer.end, tape.exchanges[0].answer.body()), (ResponseEnd::Reset, message("x")[0].clone().into_bytes()));
    assert_eq!(talk.chunk(), Err(()));
}

fn record(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_reenact")).arg("record").args(arguments).output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn k_1_a_command_gets_the_address_and_passes_its_exit_code_on() {
    let folder = tempfile::tempdir().unwrap();
    let tape = folder.path().join("x.tape.jsonl");
    let out = tape.to_str().unwrap();
    let shell = ["--", "sh", "-c", "echo at $WHERE; exit 7"];
    let (code, said, _) = record(&[&["--upstream", "http://127.0.0.1:9", "--out", out, "--base-url-var", "WHERE"][..], &shell].concat());
    assert_eq!((code, said.starts_with("at http://127.0.0.1:")), (Some(7), true), "{said}");
    let empty = tape::read(&tape).unwrap();
    assert!(empty.exchanges.is_empty());
    let work = std::env::current_dir().unwrap().display().to_string();
    assert!(empty.header.folders.contains(&(ClientFolder::Work, work)), "so that they are recognised in a client's requests (K-10)");
    let (code, _, complaint) = record(&["--out", out, "--", "true"]);
    assert_eq!(code, Some(2));
    assert!(complaint.contains("is not overwritten"), "{complaint}");
    std::fs::remove_file(&tape).unwrap();
    let (code, _, complaint) = record(&["--upstream", "http://127.0.0.1:9", "--out", out, "--", "/no/such/program"]);
    assert!(code == Some(2) && complaint.contains("/no/such/program: cannot be started") && !tape.exists(), "{complaint}");
}

#[test]
fn k_1_what_cannot_work_is_said_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("x.tape.jsonl");
    let out = out.to_str().unwrap();
    let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    for (arguments, words) in [
        (vec!["--upstream", "http://127.0.0.1:9", "--out", out, "--port", &port], "choose another port"),
        (vec!["--upstream", "ftp://x", "--out", out], "write it as https://HOST"),
        (vec!["--upstream", "https://127.0.0.1:9", "--out", out, "--ca", "/no/such.pem"], "cannot be read"),
        (vec!["--upstream", "http://127.0.0.1:9", "--out", "/no/such/folder/x.tape.jsonl"], "make its folder first"),
        (vec!["--upstream", "http://127.0.0.1:9", "--out", out, "--redact", "/no/such.toml"], "No such file"),
    ] {
        let (code, _, complaint) = record(&arguments);
        assert!(code == Some(2) && complaint.contains(words), "{arguments:?}: {complaint}");
    }
    // Upstream is down: the client sees a closed connection, the user why.
    let recorder = Recorder::start(9, &[]);
    assert!(ask(recorder.port, "POST", "/v1/messages", "", b"{}").is_none());
    let (_, said, tape) = recorder.stop();
    assert!(said.contains("cannot connect to 127.0.0.1:9") && said.contains("check --upstream"), "{said}");
    assert_eq!((tape.exchanges[0].answer.status, tape.exchanges[0].answer.end), (0, ResponseEnd::Reset));
}

#[test]
fn k_1_a_connection_that_upstream_closed_is_opened_anew() {
    let asked = Arc::new(AtomicU32::new(0));
    let seen = Arc::clone(&asked);
    let port = upstream(move |_, stream| {
        seen.fetch_add(1, Ordering::Relaxed);
        send_whole(stream, "200 OK", "", b"ok");
        Then::Close
    });
    let recorder = Recorder::start(port, &[]);
    let mut talk = Talk::open(recorder.port);
    for _ in 0..3 {
        talk.ask("GET", "/", "", b"");
        assert_eq!(talk.answer().unwrap().body(), b"ok");
        pause(Duration::from_millis(20));
    }
    assert_eq!(asked.load(Ordering::Relaxed), 3);
    assert_eq!(recorder.stop().2.exchanges.len(), 3);
}

#[test]
fn k_4_a_recording_with_failures_runs() {
    let count = Arc::new(AtomicU32::new(0));
    let port = upstream(move |_, stream| {
        match count.fetch_add(1, Ordering::Relaxed) {
            0 => {
                let headers = "date: Sat, 21 Nov 2026 02:03:01 GMT\r\nretry-after: Sat, 21 Nov 2026 02:03:11 GMT\r\n";
                send_whole(
                    stream,
                    "529 Overloaded",
                    headers,
                    br#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                );
            }
            1 => {
                stream_head(stream, "");
                send_chunk(stream, message("Hello.")[0].as_bytes());
                return Then::Close;
            }
            _ => {
                stream_head(stream, "");
                message("Hello.").iter().for_each(|event| _ = send_chunk(stream, event.as_bytes()));
                stream.write_all(b"0\r\n\r\n").unwrap();
            }
        }
        Then::Next
    });
    let recorder = Recorder::start(port, &[]);
    for _ in 0..3 {
        ask(recorder.port, "POST", "/v1/messages", "", prompt("Say hello").as_bytes());
    }
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("hello.tape.jsonl");
    let path = recorder.tape.clone();
    recorder.signal("-INT");
    let mut recorder = recorder;
    recorder.wait();
    std::fs::copy(path, &copy).unwrap();
    let run = Command::new(env!("CARGO_BIN_EXE_reenact")).arg("run").arg(&copy).output().unwrap();
    let shown = String::from_utf8(run.stdout).unwrap();
    let complaint = String::from_utf8(run.stderr).unwrap();
    assert!(run.status.success(), "{shown}{complaint}");
    assert!(shown.contains("Hello.") && shown.contains("529") && shown.contains("completed"), "{shown}");
    // The date in `retry-after` is read against the answer's own: ten seconds, whenever the tape is played.
    assert!(shown.contains("10.0"), "{shown}");
}

#[test]
fn k_11_what_was_asked_is_kept_where_nobody_could_be_asked() {
    let recorder = Recorder::start(9, &[]);
    let asked = prompt("Is anybody there?");
    assert!(ask(recorder.port, "POST", "/v1/messages", "", asked.as_bytes()).is_none());
    let (_, _, tape) = recorder.stop();
    assert_eq!(std::str::from_utf8(&tape.exchanges[0].body), Ok(&*asked));
    let (code, _, complaint) = record(&["--out", "x.json", "--", "true"]);
    assert!(code == Some(2) && complaint.contains("NAME.tape.jsonl"), "{complaint}");
}
