//! Endless input of a recorder, and damage to its tape meanwhile (K-3, K-12).

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;
use std::time::Duration;

use reenact::files::tape;

use crate::harness::*;

/// With a bound of its memory: a recorder that breaks it aborts.
const BOUNDED: [&str; 4] = ["sh", "-c", "ulimit -v 1500000; ulimit -c 0; exec \"$@\"", "sh"];

fn hello() -> u16 {
    upstream(|_, stream| {
        stream_head(stream, "");
        message("Hello.").iter().for_each(|event| _ = send_chunk(stream, event.as_bytes()));
        stream.write_all(b"0\r\n\r\n").unwrap();
        Then::Next
    })
}

fn ask_hello(port: u16) {
    assert!(ask(port, "POST", "/v1/messages", "", prompt("hi").as_bytes()).unwrap().whole, "the traffic goes on");
}

/// The most memory that a process has taken, where the system tells.
fn peak_mib(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? >> 10)
}

#[test]
fn k_3_a_tape_that_is_deleted_moved_cut_or_written_to_is_noticed() {
    let port = hello();
    for (done, words, counted) in [
        ("rm x", "it was deleted or moved", 0),
        ("mv x y", "it was deleted or moved", 0),
        ("rm x; echo other > x", "another file has taken its place", 0),
        ("truncate -s 300 x", "something has cut it", 0),
        ("truncate -s 0 x", "something has cut it", 0),
        ("echo x >> x", "something else has written to it", 1),
    ] {
        for goes_on in [true, false] {
            let mut recorder = Recorder::start(port, &[]);
            ask_hello(recorder.port);
            pause(Duration::from_millis(300));
            let script = done.replace('x', "x.tape.jsonl");
            assert!(Command::new("sh").args(["-c", &script]).current_dir(recorder.tape.parent().unwrap()).status().unwrap().success());
            if goes_on {
                ask_hello(recorder.port);
            }
            recorder.signal("-INT");
            let (status, said) = recorder.wait();
            assert_eq!(status.code(), Some(1), "{done}: {said}");
            assert!(said.contains(words) && said.contains("record again"), "{done}: {said}");
            let counts: Vec<String> = (counted..=counted + u64::from(goes_on)).map(|count| format!("recorded {count} exchange")).collect();
            assert!(counts.iter().any(|count| said.contains(count)), "{done}: {said}");
        }
    }
}

#[test]
fn k_12_a_tape_is_its_owners_is_never_written_through_a_link_and_replaced_by_force_alone() {
    let port = hello();
    let folder = tempfile::tempdir().unwrap();
    let (path, other) = (folder.path().join("x.tape.jsonl"), folder.path().join("other"));
    std::fs::write(&other, "other").unwrap();
    symlink(&other, &path).unwrap();
    let refused = Command::new(env!("CARGO_BIN_EXE_reenact")).args(["record", "--out"]).arg(&path).args(["--", "true"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8(refused.stderr).unwrap().contains("--force"));
    let recorder = Recorder::start_at(&format!("http://127.0.0.1:{port}"), &["--force"], &[], &path, tempfile::tempdir().unwrap());
    ask_hello(recorder.port);
    let (status, said, tape) = recorder.stop();
    assert!(status.success() && tape.exchanges.len() == 1, "{said}");
    assert_eq!(std::fs::read(&other).unwrap(), b"other");
    assert_eq!(path.symlink_metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "nothing is left beside");
}

#[test]
fn k_12_an_answer_that_unpacks_without_end_passes_and_is_not_recorded() {
    let gzip = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    // 4 GiB of a letter in brotli: 14 bytes for each 16 MiB.
    let first = b"\xcf\xff\xff\x7f\x00\x24\xc2\xe2\xb1\x40\x72\xef\xff\x0d";
    let further = b"\xfc\xff\xff\x07\x40\x02\x20\x0e\x0b\x40\xf7\xfe\xdf\x00";
    let bomb = gzip(&[first.as_slice(), &further.repeat(255), b"\x03"].concat());
    let sent = bomb.clone();
    let port = upstream(move |_, stream| {
        send_whole(stream, "200 OK", "content-encoding: br, gzip\r\n", &sent);
        Then::Next
    });
    let recorder = Recorder::start_with(&format!("http://127.0.0.1:{port}"), &[], &BOUNDED);
    let got = ask(recorder.port, "POST", "/v1/messages", "", prompt("hi").as_bytes()).unwrap();
    assert_eq!(got.body(), bomb);
    let (status, said, tape) = recorder.stop();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(
        ["unpacked it is larger than 256 MiB", "the disk is slower"].iter().any(|why| said.contains(why)) && tape.exchanges.is_empty(),
        "{said}"
    );
}

#[test]
fn k_12_open_requests_beyond_the_bound_cost_the_youngest_its_place() {
    const SENT: usize = 30 << 20;
    // 256 MiB of bodies, 32 MiB on their way to the tape writer, and what the program and the search of one body take.
    const PEAK_MIB_MAX: u64 = 420;
    let port = upstream(|_, _| Then::Close);
    let mut recorder = Recorder::start_with(&format!("http://127.0.0.1:{port}"), &[], &BOUNDED);
    let piece = vec![b' '; SENT];
    // While the tape writer is busy with a long body, what the others send does not pile up.
    let busy = TcpStream::connect(("127.0.0.1", recorder.port)).and_then(|mut stream| {
        let body = prompt(&"the tide rises at noon, ".repeat(400_000));
        let head = format!("POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\ncontent-length: {}\r\n\r\n", body.len());
        stream.write_all(&[head, body].concat().into_bytes()).map(|()| stream)
    });
    let clients: Vec<TcpStream> = (0..20)
        .map(|_| {
            let mut stream = TcpStream::connect(("127.0.0.1", recorder.port)).unwrap();
            stream
                .write_all(format!("POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\ncontent-length: {}\r\n\r\n", SENT + 1).as_bytes())
                .unwrap();
            stream.write_all(&piece).unwrap();
            stream
        })
        .collect();
    pause(Duration::from_secs(1));
    let peak = peak_mib(recorder.child.id());
    recorder.signal("-KILL");
    let (_, said) = recorder.wait();
    drop((busy, clients));
    assert!(peak.is_none_or(|peak| peak < PEAK_MIB_MAX), "600 MiB of open bodies take {peak:?} MiB");
    assert!(said.contains("is not on the tape: open bodies took more than 256 MiB together"), "{said}");
    assert!(!said.contains("exchange 1 is") && !said.contains("exchange 2 is"), "{said}");
}

#[test]
fn k_12_a_head_that_never_ends_is_dropped_and_an_idle_connection_is_not() {
    let recorder = Recorder::start(hello(), &[]);
    let mut idle = Talk::open(recorder.port);
    assert!(idle.try_ask(prompt("hi").as_bytes()) && idle.answer().unwrap().whole);
    let mut endless = TcpStream::connect(("127.0.0.1", recorder.port)).unwrap();
    endless.write_all(b"GET / HTTP/1.1\r\nx-a").unwrap();
    endless.set_read_timeout(Some(PATIENCE)).unwrap();
    assert_eq!(endless.read(&mut [0; 64]).unwrap_or(0), 0, "it is closed without an answer");
    assert!(idle.try_ask(prompt("hi").as_bytes()) && idle.answer().unwrap().whole, "it waited as long");
    let (status, said, tape) = recorder.stop();
    assert!(status.success() && said.contains("did not end") && tape.exchanges.len() == 2, "{said}");
}

#[test]
fn k_3_a_tape_that_is_being_written_can_be_read_and_what_a_killed_recorder_leaves_runs() {
    let port = upstream(|request, stream| {
        stream_head(stream, "");
        let is_last = String::from_utf8_lossy(&request.body).contains("stay");
        for event in message("Hello.").iter().take(if is_last { 3 } else { usize::MAX }) {
            send_chunk(stream, event.as_bytes());
        }
        if is_last {
            pause(PATIENCE);
        }
        if stream.write_all(b"0\r\n\r\n").is_ok() { Then::Next } else { Then::Close }
    });
    let mut recorder = Recorder::start(port, &[]);
    ask_hello(recorder.port);
    let mut open = Talk::open(recorder.port);
    assert!(open.try_ask(prompt("stay").as_bytes()));
    pause(Duration::from_millis(500));
    let run = |path: &std::path::Path| {
        let output = Command::new(env!("CARGO_BIN_EXE_reenact")).arg("run").arg(path).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(tape::read(&recorder.tape).unwrap().exchanges.len(), 1);
    let (code, shown, said) = run(&recorder.tape);
    assert!(code == Some(0) && shown.contains("Hello."), "{shown}{said}");
    recorder.signal("-KILL");
    recorder.wait();
    let (code, shown, said) = run(&recorder.tape);
    assert!(code == Some(0) && shown.contains("Hello."), "{shown}{said}");
    assert!(said.contains("exchange 2 begins here and has no end"), "{said}");
}

#[test]
fn k_2_the_log_of_a_real_session_holds_no_secret_and_replays() {
    let secret = ["sk-ant-", "api03-", &"Zx8Qm2Lw".repeat(10), "AA"].concat();
    let said = message(&format!("The key is {secret} here."));
    let port = upstream(move |_, stream| {
        stream_head(stream, "");
        said.iter().for_each(|event| _ = send_chunk(stream, event.as_bytes()));
        stream.write_all(b"0\r\n\r\n").unwrap();
        Then::Next
    });
    let folder = tempfile::tempdir().unwrap();
    let (scenario, log) = (folder.path().join("x.toml"), folder.path().join("log.jsonl"));
    std::fs::write(&scenario, "[[prompt]]\ntext = \"What is the key?\"\n").unwrap();
    let reenact = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_reenact")).args(arguments).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr))
    };
    let (scenario, path) = (scenario.to_str().unwrap(), log.to_str().unwrap());
    let upstream = format!("http://127.0.0.1:{port}");
    let (code, shown) = reenact(&["run", scenario, "--level", "live", "--upstream", &upstream, "--log", path]);
    let written = std::fs::read_to_string(&log).unwrap_or_else(|error| panic!("{error}: {code:?} {shown}"));
    assert!(written.contains("The key is ") && !written.contains(&secret), "{written}");
    assert_eq!(log.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let (code, shown) = reenact(&["replay", path]);
    assert_eq!(code, Some(0), "{shown}");
}
