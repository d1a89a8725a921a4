//! The API behind the recorder and its peers: a plain server on threads, so that what it costs is system calls alone.
//!
//! Each event is a chunk of HTTP by itself, written by itself, as an API that flushes each event does it. It carries the time at which it was written, on
//! the clock of this process, where the client reads it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Stands before an event's time, in digits of [`MARK_DIGITS`].
pub(crate) const MARK: u8 = b'@';
/// How many digits a time has, in nanoseconds.
pub(crate) const MARK_DIGITS: usize = 15;
/// The end of every answer: the empty chunk.
pub(crate) const LAST_CHUNK: &[u8] = b"\r\n0\r\n\r\n";

/// Between events that are paced.
const PACE: Duration = Duration::from_millis(1);

const HEAD: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\nrequest-id: req_011Made\r\ntransfer-encoding: chunked\r\n\r\n";
const BEGIN: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_01Made","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":12,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

"#;
const END: &str = r#"event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":400}}

event: message_stop
data: {"type":"message_stop"}

"#;

/// The specification of an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AnswerSpec {
    /// So many events, one each millisecond.
    Paced(usize),
    /// So many events at once.
    Burst(usize),
    /// At least so many megabytes at once, some hundred events to a chunk.
    Bulk(usize),
}

impl AnswerSpec {
    /// The path that asks for it.
    pub(crate) fn path(self) -> String {
        let (kind, count) = match self {
            Self::Paced(count) => ("paced", count),
            Self::Burst(count) => ("burst", count),
            Self::Bulk(count) => ("bulk", count),
        };
        format!("/v1/messages?{kind}={count}")
    }

    fn parse(path: &str) -> Option<Self> {
        let (kind, count) = path.split_once('?')?.1.split_once('=')?;
        let count = count.parse().ok()?;
        match kind {
            "paced" => Some(Self::Paced(count)),
            "burst" => Some(Self::Burst(count)),
            "bulk" => Some(Self::Bulk(count)),
            _ => None,
        }
    }
}

/// Starts it for as long as this process lives; the port.
#[expect(clippy::disallowed_methods, reason = "what fails in these threads fails the client that reads from them")]
pub(crate) fn start() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
    let port = listener.local_addr().expect("an open port has an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.expect("a connection can be accepted");
            std::thread::spawn(move || serve(stream));
        }
    });
    port
}

/// Nanoseconds since this process first asked.
#[expect(clippy::disallowed_methods, reason = "measuring the real time is what a bench is for")]
pub(crate) fn now_ns() -> u64 {
    static BEGAN: OnceLock<Instant> = OnceLock::new();
    let since = BEGAN.get_or_init(Instant::now).elapsed();
    u64::try_from(since.as_nanos()).expect("a bench takes no centuries")
}

/// One connection. A client that leaves ends it.
fn serve(stream: TcpStream) {
    stream.set_nodelay(true).expect("TCP can be told not to wait");
    let mut requests = BufReader::new(stream.try_clone().expect("a socket can be shared"));
    while let Some(wanted) = read_request(&mut requests) {
        if answer(&stream, wanted).is_err() {
            return;
        }
    }
}

fn read_request(requests: &mut BufReader<TcpStream>) -> Option<AnswerSpec> {
    let (mut wanted, mut length) = (None, 0);
    loop {
        let mut line = String::new();
        if requests.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        match line.split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => length = value.parse().ok()?,
            None => wanted = line.split(' ').nth(1).and_then(AnswerSpec::parse),
            Some(_) => (),
        }
    }
    let mut body = vec![0; length];
    requests.read_exact(&mut body).ok()?;
    wanted
}

fn answer(mut stream: &TcpStream, wanted: AnswerSpec) -> std::io::Result<()> {
    stream.write_all(HEAD)?;
    let mut chunk = HttpChunk::default();
    stream.write_all(chunk.refill(|out| out.extend_from_slice(BEGIN.as_bytes())))?;
    match wanted {
        AnswerSpec::Paced(events) => {
            let mut at = now_ns();
            for _ in 0..events {
                at += u64::try_from(PACE.as_nanos()).expect("a pace is short");
                sleep_until(at);
                stream.write_all(chunk.refill(event))?;
            }
        }
        AnswerSpec::Burst(events) => {
            for _ in 0..events {
                stream.write_all(chunk.refill(event))?;
            }
        }
        AnswerSpec::Bulk(megabytes) => {
            let mut left = megabytes << 20;
            while left > 0 {
                let bytes = chunk.refill(|out| {
                    while out.len() < BULK_CHUNK_BYTES {
                        event(out);
                    }
                });
                stream.write_all(bytes)?;
                left = left.saturating_sub(bytes.len());
            }
        }
    }
    let end = chunk.refill(|out| out.extend_from_slice(END.as_bytes()));
    stream.write_all(end)?;
    stream.write_all(&LAST_CHUNK[2..])
}

const BULK_CHUNK_BYTES: usize = 16 << 10;

/// A chunk of HTTP that is written again and again.
#[derive(Default)]
struct HttpChunk {
    payload: Vec<u8>,
    framed: Vec<u8>,
}

impl HttpChunk {
    fn refill(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> &[u8] {
        self.payload.clear();
        write(&mut self.payload);
        self.framed.clear();
        write!(self.framed, "{:x}\r\n", self.payload.len()).expect("memory can be written to");
        self.framed.extend_from_slice(&self.payload);
        self.framed.extend_from_slice(b"\r\n");
        &self.framed
    }
}

/// One delta of some 160 bytes that says when it was written.
fn event(out: &mut Vec<u8>) {
    out.extend_from_slice(
        b"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\" so the parser ",
    );
    out.push(MARK);
    write!(out, "{:0width$}", now_ns(), width = MARK_DIGITS).expect("memory can be written to");
    out.extend_from_slice(b" reads\"}   }\n\n");
}

#[expect(clippy::disallowed_methods, reason = "a server that is measured sends in real time")]
fn sleep_until(at_ns: u64) {
    std::thread::sleep(Duration::from_nanos(at_ns.saturating_sub(now_ns())));
}
