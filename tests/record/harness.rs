//! A scripted upstream, a recorder, and a client that reads what travels byte by byte.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use reenact::files::tape;
use reenact::scenario::tape::Tape;
use tempfile::TempDir;

/// Nothing in these tests takes longer; what does is stuck.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A request as upstream saw it.
pub(crate) struct Request {
    pub(crate) line: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

/// Whether a connection serves further requests.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    Next,
    Close,
}

/// Opens a port and answers each request with `answer`, each connection in a thread of its own.
pub(crate) fn upstream(answer: impl Fn(&Request, &mut TcpStream) -> Then + Clone + Send + 'static) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    in_background(move || {
        for stream in listener.incoming() {
            let (stream, answer) = (stream.unwrap(), answer.clone());
            in_background(move || {
                stream.set_nodelay(true).unwrap();
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let mut stream = stream;
                while let Some(request) = read_request(&mut reader) {
                    if answer(&request, &mut stream) == Then::Close {
                        return;
                    }
                }
            });
        }
    });
    port
}

#[expect(clippy::disallowed_methods, reason = "an upstream lives as long as its test")]
pub(crate) fn in_background(work: impl FnOnce() + Send + 'static) {
    std::thread::spawn(work);
}

#[expect(clippy::disallowed_methods, reason = "these tests are about real time")]
pub(crate) fn pause(how_long: Duration) {
    std::thread::sleep(how_long);
}

fn read_request(reader: &mut BufReader<TcpStream>) -> Option<Request> {
    let (line, headers) = read_head(reader)?;
    let length = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let mut body = vec![0; length.map_or(0, |(_, value)| value.parse().unwrap())];
    reader.read_exact(&mut body).ok()?;
    Some(Request { line, headers, body })
}

fn read_head(reader: &mut BufReader<TcpStream>) -> Option<(String, Vec<(String, String)>)> {
    let mut line = || {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        Some(line.trim_end().to_owned())
    };
    let first = line()?;
    let mut headers = Vec::new();
    loop {
        match line()?.split_once(": ") {
            Some((name, value)) => headers.push((name.to_owned(), value.to_owned())),
            None => return Some((first, headers)),
        }
    }
}

/// The head of a streamed answer.
pub(crate) fn stream_head(stream: &mut TcpStream, more: &str) {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n{more}\r\n");
    stream.write_all(head.as_bytes()).unwrap();
}

/// One piece of a chunked body. A client that is gone is told by false.
pub(crate) fn send_chunk(stream: &mut TcpStream, bytes: &[u8]) -> bool {
    let mut packet = format!("{:x}\r\n", bytes.len()).into_bytes();
    packet.extend_from_slice(bytes);
    packet.extend_from_slice(b"\r\n");
    stream.write_all(&packet).is_ok()
}

/// An answer of one piece with its length.
pub(crate) fn send_whole(stream: &mut TcpStream, status: &str, headers: &str, body: &[u8]) {
    let head = format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n", body.len());
    stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
}

/// A recorder that runs.
pub(crate) struct Recorder {
    pub(crate) child: Child,
    pub(crate) port: u16,
    pub(crate) tape: PathBuf,
    stderr: BufReader<std::process::ChildStderr>,
    _folder: TempDir,
}

impl Recorder {
    /// In front of a loopback port.
    pub(crate) fn start(upstream: u16, options: &[&str]) -> Self {
        Self::start_with(&format!("http://127.0.0.1:{upstream}"), options, &[])
    }

    /// In front of any address; `wrapper` is what the program is started with.
    pub(crate) fn start_with(upstream: &str, options: &[&str], wrapper: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let tape = folder.path().join("x.tape.jsonl");
        Self::start_at(upstream, options, wrapper, &tape, folder)
    }

    pub(crate) fn start_at(upstream: &str, options: &[&str], wrapper: &[&str], tape: &Path, folder: TempDir) -> Self {
        let mut words: Vec<&str> = wrapper.to_vec();
        words.push(env!("CARGO_BIN_EXE_reenact"));
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).args(["record", "--upstream", upstream, "--out"]).arg(tape).args(options);
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        let port =
            line.strip_prefix("recording http://127.0.0.1:").and_then(|rest| rest.split(' ').next()).unwrap_or_else(|| panic!("{line}"));
        Self { port: port.parse().unwrap(), child, tape: tape.to_owned(), stderr, _folder: folder }
    }

    pub(crate) fn signal(&self, name: &str) {
        assert!(Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap().success());
    }

    /// Ends the recording as Ctrl-C does; how it ended, what it said, and the tape.
    pub(crate) fn stop(mut self) -> (ExitStatus, String, Tape) {
        self.signal("-INT");
        let (status, said) = self.wait();
        let tape = tape::read(&self.tape).unwrap();
        (status, said, tape)
    }

    pub(crate) fn wait(&mut self) -> (ExitStatus, String) {
        let mut said = String::new();
        self.stderr.read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap(), said)
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        // One that has ended is not there any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One connection of a client.
pub(crate) struct Talk {
    stream: TcpStream,
    reader: BufReader<TcpStream>,
}

/// An answer as a client got it.
#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) status: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) chunks: Vec<Vec<u8>>,
    /// Whether the body came to its end.
    pub(crate) whole: bool,
}

impl Got {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub(crate) fn body(&self) -> Vec<u8> {
        self.chunks.concat()
    }
}

impl Talk {
    pub(crate) fn open(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { reader: BufReader::new(stream.try_clone().unwrap()), stream }
    }

    /// A connection on which an answer has begun: its head and first piece were read.
    pub(crate) fn begun(port: u16) -> Self {
        let mut talk = Self::open(port);
        talk.ask("POST", "/v1/messages", "", prompt("hi").as_bytes());
        talk.head().unwrap();
        talk.chunk().unwrap().unwrap();
        talk
    }

    /// Bytes as they are.
    pub(crate) fn send(&mut self, bytes: &str) {
        self.stream.write_all(bytes.as_bytes()).unwrap();
    }

    pub(crate) fn ask(&mut self, method: &str, path: &str, headers: &str, body: &[u8]) {
        let head = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n{headers}content-length: {}\r\n\r\n", body.len());
        self.stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
    }

    /// The same to a recorder that may be gone.
    pub(crate) fn try_ask(&mut self, body: &[u8]) -> bool {
        let head = format!("POST /v1/messages HTTP/1.1\r\nHost: localhost\r\ncontent-length: {}\r\n\r\n", body.len());
        self.stream.write_all(&[head.as_bytes(), body].concat()).is_ok()
    }

    /// The head of the answer; `None` when the connection is closed instead.
    pub(crate) fn head(&mut self) -> Option<Got> {
        let (status, headers) = read_head(&mut self.reader)?;
        Some(Got { status, headers, chunks: Vec::new(), whole: false })
    }

    /// The next chunk of a chunked body; `None` at its end, or where it is cut, and which of the two.
    pub(crate) fn chunk(&mut self) -> Result<Option<Vec<u8>>, ()> {
        let mut line = String::new();
        if self.reader.read_line(&mut line).map_err(|_| ())? == 0 {
            return Err(());
        }
        let length = usize::from_str_radix(line.trim_end(), 16).map_err(|_| ())?;
        let mut bytes = vec![0; length + 2];
        self.reader.read_exact(&mut bytes).map_err(|_| ())?;
        bytes.truncate(length);
        Ok((length > 0).then_some(bytes))
    }

    /// Reads on; the error that the connection ends with, or `None` for a plain end.
    pub(crate) fn ends_with(&mut self) -> Option<std::io::ErrorKind> {
        self.reader.read_to_end(&mut Vec::new()).err().map(|error| error.kind())
    }

    /// Bytes of a body whose length is known.
    pub(crate) fn read_exactly(&mut self, bytes: &mut [u8]) {
        self.reader.read_exact(bytes).unwrap();
    }

    /// The whole answer, as far as it goes.
    pub(crate) fn answer(&mut self) -> Option<Got> {
        let mut got = self.head()?;
        if let Some(length) = got.header("content-length") {
            let mut body = vec![0; length.parse().unwrap()];
            got.whole = self.reader.read_exact(&mut body).is_ok();
            got.chunks.push(body);
            return Some(got);
        }
        loop {
            match self.chunk() {
                Ok(Some(bytes)) => got.chunks.push(bytes),
                Ok(None) => {
                    got.whole = true;
                    return Some(got);
                }
                Err(()) => return Some(got),
            }
        }
    }
}

/// Asks once over a connection of its own.
pub(crate) fn ask(port: u16, method: &str, path: &str, headers: &str, body: &[u8]) -> Option<Got> {
    let mut talk = Talk::open(port);
    talk.ask(method, path, headers, body);
    talk.answer()
}

/// A request body with this prompt.
pub(crate) fn prompt(text: &str) -> String {
    format!(r#"{{"model":"claude-sonnet-4-5","max_tokens":100,"stream":true,"messages":[{{"role":"user","content":"{text}"}}]}}"#)
}

/// A whole streamed message, an event a piece.
pub(crate) fn message(text: &str) -> Vec<String> {
    let event = |name: &str, data: String| format!("event: {name}\ndata: {data}\n\n");
    vec![
        event(
            "message_start",
            String::from(
                r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":9,"output_tokens":1}}}"#,
            ),
        ),
        event(
            "content_block_start",
            String::from(r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}  }"#),
        ),
        event("ping", String::from(r#"{"type": "ping"}"#)),
        event(
            "content_block_delta",
            format!(r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{text}"}}     }}"#),
        ),
        event("content_block_stop", String::from(r#"{"type":"content_block_stop","index":0     }"#)),
        event(
            "message_delta",
            String::from(
                r#"{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":7} }"#,
            ),
        ),
        event("message_stop", String::from(r#"{"type":"message_stop"  }"#)),
    ]
}
