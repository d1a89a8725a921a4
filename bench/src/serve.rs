//! `serve-first-byte`, `serve-memory`, `serve-slow-readers`: the replay server beside a bare one, under a thousand streams, and with clients that do
//! not read (K-8).

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream as Blocking};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::client::{BODY, duration, request};
use super::outcome::{BarLimit, ReportLine, TIMES, count, megabytes, time};
use super::rounds::median;
use super::upstream::{LAST_CHUNK, now_ns};
use super::ways::{self, ClientWay};
use super::{bare, start};

/// Streams at once.
const STREAMS: usize = 1_000;

/// One answer of so many events of 250 KB.
fn large_events(events: usize) -> String {
    let event = format!("event: ping\ndata: {{\"type\":\"ping\",\"pad\":\"{}\"}}\n\n", "x".repeat(250_000));
    let stream = event.repeat(events);
    format!(
        "[[prompt]]\ntext = \"Hello?\"\n\n[[prompt.turn]]\nbody = '''\n{stream}event: message_stop\ndata: {{\"type\":\"message_stop\"}}\n\n'''\n"
    )
}

/// One answer of so many blocks of text.
fn scenario(blocks: usize, text: &str, between_events: &str) -> String {
    let block = |number| format!("{{ text = \"{number} {text}\" }}");
    let content: Vec<String> = (0..blocks).map(block).collect();
    format!(
        "[timing]\nhead = \"5ms\"\nfirst_event = \"5ms\"\nbetween_events = \"{between_events}\"\n\n[[prompt]]\ntext = \"Hello?\"\n\n[[prompt.turn]]\ncontent = [{}]\n",
        content.join(", ")
    )
}

/// Paths of new clients.
#[derive(Default)]
struct FreshSessions(usize);

impl FreshSessions {
    fn next(&mut self) -> String {
        self.0 += 1;
        request(&format!("/client{}/v1/messages", self.0), BODY)
    }
}

/// How many requests each of the two servers gets.
const ASKED: usize = 301;
/// How many turns there are where a turn is long.
const TURNS: usize = 21;

/// The client's rest between requests.
const BETWEEN: Duration = Duration::from_millis(2);

/// The first byte of an answer that is due at once, beside hyper with the same bytes in memory.
#[expect(clippy::disallowed_methods, reason = "a client that is measured rests in real time")]
pub(crate) fn first_byte() -> Vec<ReportLine> {
    let ours = ClientWay::server(&start::build_ours(), &scenario(6, "words and more words", "0ms"), &["--timing", "none"]);
    let mut sessions = FreshSessions::default();
    let mut ours_connection = connect(ours.port);
    let (_, answer) = exchange(&mut ours_connection, &sessions.next());
    let bare = bare::start(&answer);
    let mut bare_connection = connect(bare);
    assert_eq!(exchange(&mut bare_connection, &sessions.next()).1, answer, "both send the same bytes");
    // Request by request, so that neither server finds its way warm from the request before.
    let (mut our_times, mut their_times) = (Vec::new(), Vec::new());
    for _ in 0..ASKED {
        our_times.push(exchange(&mut ours_connection, &sessions.next()).0);
        std::thread::sleep(BETWEEN);
        their_times.push(exchange(&mut bare_connection, &sessions.next()).0);
        std::thread::sleep(BETWEEN);
    }
    let (ours, theirs) = (median(our_times), median(their_times));
    vec![ReportLine::Bar {
        name: "serve-first-byte",
        ours: time(ours),
        theirs: format!("bare hyper {}", time(theirs)),
        figure: ours / theirs,
        unit: TIMES,
        limit: BarLimit::AtMost(2.0),
    }]
}

fn connect(port: u16) -> Blocking {
    let connection = Blocking::connect((Ipv4Addr::LOCALHOST, port)).expect("the server listens");
    connection.set_nodelay(true).expect("TCP can be told not to wait");
    connection.set_read_timeout(Some(Duration::from_secs(60))).expect("reading can have a limit");
    connection
}

/// One exchange: how long the first byte took, and the body's bytes.
fn exchange(connection: &mut Blocking, request: &str) -> (f64, Vec<u8>) {
    let began = now_ns();
    connection.write_all(request.as_bytes()).expect("the server takes a request");
    let (mut got, mut first) = (Vec::new(), None);
    let mut buffer = [0; 16 << 10];
    while !got.ends_with(LAST_CHUNK) {
        let read = connection.read(&mut buffer).expect("the server answers");
        assert!(read > 0, "the answer is whole");
        first.get_or_insert_with(|| duration(began, now_ns()));
        got.extend_from_slice(&buffer[..read]);
    }
    (first.expect("an answer has bytes"), unchunked(&got))
}

/// The body of an answer in chunks.
fn unchunked(answer: &[u8]) -> Vec<u8> {
    let head = answer.windows(4).position(|window| window == b"\r\n\r\n").expect("an answer has a head");
    let (mut rest, mut body) = (&answer[head + 4..], Vec::new());
    loop {
        let line = rest.windows(2).position(|window| window == b"\r\n").expect("a chunk has a length");
        let length = std::str::from_utf8(&rest[..line]).ok().and_then(|text| usize::from_str_radix(text, 16).ok());
        let length = length.expect("a length is a number");
        if length == 0 {
            return body;
        }
        body.extend_from_slice(&rest[line + 2..line + 2 + length]);
        rest = &rest[line + 2 + length + 2..];
    }
}

/// The memory of sessions is compared after these waves of streams.
const EARLY_WAVE: usize = 2;
const LATE_WAVE: usize = 6;

/// The memory of the server when a thousand streams are over, again and again, each of a client of its own. Nothing of the streams may be
/// left, except the facts for each client's verdict.
pub(crate) fn memory() -> Vec<ReportLine> {
    let ours = ClientWay::server(&start::build_ours(), &scenario(12, "words and more words", "20ms"), &[]);
    let (mut sessions, runtime) = (FreshSessions::default(), runtime());
    let mut after = Vec::new();
    let mut took = Vec::new();
    for _ in 0..LATE_WAVE {
        took = wave(&runtime, ours.port, STREAMS, &mut sessions);
        match ways::memory_bytes(ours.process()) {
            Ok(bytes) => after.push(bytes),
            Err(why) => return vec![ReportLine::NotMeasured { name: "serve-memory", why }],
        }
    }
    let (early, late) = (after[EARLY_WAVE - 1], after[LATE_WAVE - 1]);
    let left = count(late.saturating_sub(early)) / count((LATE_WAVE - EARLY_WAVE) * STREAMS) / 1e3;
    vec![
        ReportLine::Bar {
            name: "serve-memory",
            ours: format!("{left:.1} KB a client"),
            theirs: format!("{} then {}", megabytes(early), megabytes(late)),
            figure: left,
            unit: " KB",
            limit: BarLimit::AtMost(8.0),
        },
        ReportLine::Orientation {
            name: "first and last of 1,000 streams",
            figure: format!("over after {} and {}", time(took[0]), time(took[STREAMS - 1])),
        },
    ]
}

/// How many clients read, and how many do not.
const READERS: usize = 20;
const IDLERS: usize = 100;

/// How long clients that read take for their answers, while others do not read theirs.
pub(crate) fn slow_readers() -> Vec<ReportLine> {
    // More than sockets hold: the server has to wait for who does not read.
    let program = start::build_ours();
    let server = || ClientWay::server(&program, &large_events(20), &["--timing", "none"]);
    let (alone, beset) = (server(), server());
    let (mut sessions, runtime) = (FreshSessions::default(), runtime());
    let idlers = runtime.block_on(idle(beset.port, &mut sessions));
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        without.push(late(&wave(&runtime, alone.port, READERS, &mut sessions)));
        with.push(late(&wave(&runtime, beset.port, READERS, &mut sessions)));
    }
    drop(idlers);
    let ratios = with.iter().zip(&without).map(|(with, without)| with / without).collect();
    vec![ReportLine::Bar {
        name: "serve-slow-readers",
        ours: format!("p99 {}", time(median(with))),
        theirs: format!("without {}", time(median(without))),
        figure: median(ratios),
        unit: TIMES,
        limit: BarLimit::AtMost(1.25),
    }]
}

/// The time below which 99 of 100 are, of an ordered list.
fn late(took: &[f64]) -> f64 {
    took[took.len() * 99 / 100]
}

async fn idle(port: u16, sessions: &mut FreshSessions) -> Vec<TcpStream> {
    let mut idlers = Vec::new();
    for _ in 0..IDLERS {
        let socket = TcpSocket::new_v4().expect("there are sockets");
        socket.set_recv_buffer_size(4_096).expect("a buffer can be small");
        let mut stream = socket.connect((Ipv4Addr::LOCALHOST, port).into()).await.expect("the server listens");
        stream.write_all(sessions.next().as_bytes()).await.expect("the server takes a request");
        idlers.push(stream); // and never reads
    }
    // Until all of them are stuck.
    tokio::time::sleep(Duration::from_secs(1)).await;
    idlers
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime can be made")
}

/// So many clients at once, each with a connection of its own: how long each took for its answer, in order.
fn wave(runtime: &Runtime, port: u16, clients: usize, sessions: &mut FreshSessions) -> Vec<f64> {
    runtime.block_on(async {
        let mut connections = Vec::new();
        for _ in 0..clients {
            connections.push(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.expect("the server listens"));
        }
        let mut reading = JoinSet::new();
        for mut connection in connections {
            let request = sessions.next();
            reading.spawn(async move {
                let began = now_ns();
                connection.write_all(request.as_bytes()).await.expect("the server takes a request");
                let (mut buffer, mut tail) = (vec![0; 8 << 10], Vec::new());
                while !tail.ends_with(LAST_CHUNK) {
                    let read = connection.read(&mut buffer).await.expect("the server answers");
                    assert!(read > 0, "the answer is whole");
                    tail.extend_from_slice(&buffer[read.saturating_sub(LAST_CHUNK.len())..read]);
                    tail.drain(..tail.len().saturating_sub(LAST_CHUNK.len()));
                }
                duration(began, now_ns())
            });
        }
        let mut took = reading.join_all().await;
        took.sort_unstable_by(f64::total_cmp);
        took
    })
}
