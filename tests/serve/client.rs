//! A small client for tests: raw TCP, so that it can distinguish packet boundaries, the end of a stream and a broken connection.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use reenact::files::scenario::load;
use reenact::foreign::verdict::SessionVerdict;
use reenact::live::network::{LOOPBACK, MachineNetwork, Network};
use reenact::live::serve::{ServeOptions, ServedScenario};
use reenact::world::setup::RunSetup;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};

/// A scenario from its text.
pub(crate) fn setup(text: &str) -> Arc<RunSetup> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("scenario.toml");
    std::fs::write(&path, text).unwrap();
    load(&path, &[]).unwrap_or_else(|error| panic!("{error}")).setup
}

/// Serves a scenario while `work` continues; what it says, and the verdict.
pub(crate) fn served<R, W: Future<Output = R>>(
    setup: &Arc<RunSetup>,
    options: ServeOptions,
    work: impl FnOnce(SocketAddr) -> W,
) -> (R, SessionVerdict) {
    with_server(setup, options, |replay, listener, stop| replay.serve::<MachineNetwork>(listener, stop), work)
}

/// The same for clients that are sessions of their own.
pub(crate) fn served_all<R, W: Future<Output = R>>(
    setup: &Arc<RunSetup>,
    options: ServeOptions,
    work: impl FnOnce(SocketAddr) -> W,
) -> (R, Vec<(Arc<str>, SessionVerdict)>) {
    with_server(setup, options, |replay, listener, stop| replay.serve_all::<MachineNetwork>(listener, stop), work)
}

/// Serves until `work` is done.
fn with_server<R, V, W, S>(
    setup: &Arc<RunSetup>,
    options: ServeOptions,
    serve: impl FnOnce(ServedScenario, TcpListener, Stopped) -> S,
    work: impl FnOnce(SocketAddr) -> W,
) -> (R, V)
where
    V: Send + 'static,
    W: Future<Output = R>,
    S: Future<Output = V> + Send + 'static,
{
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = MachineNetwork.bind(LOOPBACK).await.unwrap();
        let address = MachineNetwork::address(&listener).unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let stopped: Stopped = Box::pin(async {
            let _ = stopped.await;
        });
        let server = tokio::spawn(serve(ServedScenario::new(setup, options), listener, stopped));
        let result = timeout(Duration::from_secs(120), work(address)).await.expect("the client was never done");
        let _ = stop.send(());
        (result, server.await.unwrap())
    })
}

/// Comes when the server should stop.
type Stopped = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Whether a try shows what a client sees that reads in time. On a loaded machine it reads late, and finds together what was sent apart; a server
/// that writes it together shows it in no try.
pub(crate) fn in_some_try(mut shows: impl FnMut() -> bool) -> bool {
    (0..6).any(|_| shows())
}

/// An answer as a client saw it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// The bytes of each read, with the time after the request.
    pub(crate) reads: Vec<(Duration, Vec<u8>)>,
    pub(crate) end: End,
    /// When the end was seen.
    pub(crate) ended: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The body was whole.
    Whole,
    /// The other side closed the connection inside the answer.
    Closed,
    /// The connection broke.
    Broken,
    /// Nothing came for so long that the client left.
    Left,
}

impl Seen {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.reads.iter().map(|(_, bytes)| &**bytes).collect::<Vec<_>>().concat()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes()).into_owned()
    }

    pub(crate) fn status(&self) -> u16 {
        self.text().split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
    }

    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let text = self.text();
        let head = text.split("\r\n\r\n").next().unwrap_or_default();
        head.lines().find_map(|line| line.to_lowercase().strip_prefix(&format!("{name}: ")).map(str::to_string))
    }

    /// The chunks of a body, or the whole of one that is not chunked.
    pub(crate) fn chunks(&self) -> Vec<Vec<u8>> {
        let bytes = self.bytes();
        let Some(at) = find(&bytes, b"\r\n\r\n") else { return Vec::new() };
        let mut rest = &bytes[at + 4..];
        if self.header("transfer-encoding").as_deref() != Some("chunked") {
            return vec![rest.to_vec()];
        }
        let mut chunks = Vec::new();
        while let Some(line) = find(rest, b"\r\n") {
            let size = usize::from_str_radix(std::str::from_utf8(&rest[..line]).unwrap(), 16).unwrap();
            if size == 0 || rest.len() < line + 2 + size {
                break;
            }
            chunks.push(rest[line + 2..line + 2 + size].to_vec());
            rest = &rest[(line + 4 + size).min(rest.len())..];
        }
        chunks
    }

    pub(crate) fn body(&self) -> String {
        String::from_utf8_lossy(&self.chunks().concat()).into_owned()
    }
}

/// Whether an answer has all that its head promised.
fn is_whole(all: &[u8], head: &mut Option<(usize, Option<usize>)>) -> bool {
    if head.is_none() {
        let Some(at) = find(all, b"\r\n\r\n") else { return false };
        let text = String::from_utf8_lossy(&all[..at]).to_lowercase();
        let length = text.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        *head = Some((at + 4, length));
    }
    match *head {
        Some((from, Some(length))) => all.len() >= from + length,
        Some((from, None)) => all.ends_with(b"\r\n0\r\n\r\n") || all[from..] == *b"0\r\n\r\n",
        None => false,
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

/// A request body with these messages, each a role and a text.
pub(crate) fn body(messages: &[(&str, &str)]) -> String {
    let messages: Vec<_> = messages.iter().map(|(role, text)| serde_json::json!({ "role": role, "content": text })).collect();
    serde_json::json!({ "model": "claude-sonnet-4-5", "max_tokens": 1000, "stream": true, "messages": messages }).to_string()
}

/// Posts a body to the Messages API on a connection of its own, and reads until the answer is over or nothing comes for `patience`.
pub(crate) async fn post(address: SocketAddr, body: &str, patience: Duration) -> Seen {
    let stream = TcpStream::connect(address).await.unwrap();
    exchange(stream, &request("POST", "/v1/messages", body), patience).await.0
}

pub(crate) fn request(method: &str, path: &str, body: &str) -> String {
    let length = body.len();
    format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\n{HEAD}content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}")
}

/// The headers that the API asks of every request.
pub(crate) const HEAD: &str = "x-api-key: sk-ant-test-000\r\nanthropic-version: 2023-06-01\r\n";

/// Sends a request as it is and reads its answer; the connection can be used again when the answer was whole.
pub(crate) async fn exchange(mut stream: TcpStream, request: impl AsRef<[u8]>, patience: Duration) -> (Seen, TcpStream) {
    let from = Instant::now();
    let mut seen = Seen { reads: Vec::new(), end: End::Closed, ended: Duration::ZERO };
    if stream.write_all(request.as_ref()).await.is_err() {
        seen.end = End::Broken;
        return (seen, stream);
    }
    let mut buffer = vec![0; 64 * 1024];
    let (mut all, mut head) = (Vec::new(), None);
    seen.end = loop {
        match timeout(patience, stream.read(&mut buffer)).await {
            Err(_) => break End::Left,
            Ok(Err(_)) => break End::Broken,
            Ok(Ok(0)) => break End::Closed,
            Ok(Ok(count)) => {
                seen.reads.push((from.elapsed(), buffer[..count].to_vec()));
                all.extend_from_slice(&buffer[..count]);
            }
        }
        if is_whole(&all, &mut head) {
            break End::Whole;
        }
    };
    seen.ended = from.elapsed();
    (seen, stream)
}
