//! The output and the input of a client: over pipes, or at a terminal of its own (K-9).

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::oneshot::error::TryRecvError;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};

use super::process_message::ClientSign;
use super::{ClientHarness, plain_text};
use reenact_children::{ChildTerminal, WatchedChild};
use reenact_wire::prelude::*;

/// How long nothing is shown at a terminal when its client waits for somebody to type.
const QUIET: Duration = Duration::from_secs(2);

/// The time between two keys, so that a client takes them for two.
const KEY_PAUSE: Duration = Duration::from_millis(100);

/// How long a terminal that no process has open is left alone.
const OPENING: Duration = Duration::from_millis(20);

/// The questions of programs to their terminal, and its answers: the place of the cursor, and the kind of terminal.
const TERMINAL_REPLIES: [(&[u8], &[u8]); 2] = [(b"\x1b[6n", b"\x1b[1;1R"), (b"\x1b[c", b"\x1b[?1;2c")];

/// Where a client prints.
#[derive(Debug)]
pub(super) enum ClientPrinter {
    Pipes(ChildStdout, ChildStderr),
    Terminal(Arc<ChildTerminal>),
}

/// Where a client reads.
#[derive(Debug)]
pub(super) enum ClientKeyboard {
    Pipe(ChildStdin),
    Terminal(Arc<ChildTerminal>),
}

/// The output so far.
#[derive(Debug, Default)]
pub(super) struct PrintedBytes {
    output: Vec<u8>,
    errors: Vec<u8>,
}

/// By what it is seen in a client's output that a tool runs, and where that is told.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineMarker<'a> {
    pub(super) text: Option<&'a str>,
    pub(super) tell: &'a mpsc::UnboundedSender<ClientSign>,
}

/// The streams of a client that was started with pipes, or at this terminal.
pub(super) fn of_child(child: &mut WatchedChild, terminal: Option<ChildTerminal>) -> (ClientPrinter, ClientKeyboard) {
    if let Some(terminal) = terminal.map(Arc::new) {
        return (ClientPrinter::Terminal(terminal.clone()), ClientKeyboard::Terminal(terminal));
    }
    let (Some(input), Some(output), Some(errors)) = child.take_streams() else { unreachable!("the streams of the command are pipes") };
    (ClientPrinter::Pipes(output, errors), ClientKeyboard::Pipe(input))
}

impl ClientPrinter {
    /// Reads all that is printed. A terminal is read until nobody holds the other side of `open` any more.
    pub(super) async fn read(&mut self, printed: &mut PrintedBytes, marker: LineMarker<'_>, open: oneshot::Receiver<()>) {
        match self {
            Self::Pipes(output, errors) => {
                let silent = LineMarker { text: None, ..marker };
                tokio::join!(read_pipe(output, &mut printed.output, marker), read_pipe(errors, &mut printed.errors, silent));
            }
            Self::Terminal(terminal) => read_terminal(terminal, &mut printed.output, marker, open).await,
        }
    }
}

impl ClientKeyboard {
    /// Types what the client is given at first, then what else is typed. Without terminal the input ends there unless it stays open.
    pub(super) async fn write(self, drive: &ClientHarness, mut typed: mpsc::UnboundedReceiver<Vec<u8>>) {
        // A client that does not read its input, or is gone, misses nothing.
        match self {
            Self::Pipe(mut pipe) => {
                let _ = pipe.write_all(drive.input.as_deref().unwrap_or_default()).await;
                while drive.keeps_input_open
                    && let Some(bytes) = typed.recv().await
                {
                    let _ = pipe.write_all(&bytes).await;
                }
            }
            Self::Terminal(terminal) => {
                let _ = terminal.write(&as_keys(drive.input.as_deref().unwrap_or_default())).await;
                while let Some(bytes) = typed.recv().await {
                    let _ = terminal.write(&as_keys(&bytes)).await;
                    sleep(KEY_PAUSE).await;
                }
            }
        }
        core::future::pending::<()>().await;
    }
}

/// The Return key sends a carriage return.
fn as_keys(text: &[u8]) -> Vec<u8> {
    text.iter().map(|byte| if *byte == b'\n' { b'\r' } else { *byte }).collect()
}

async fn read_pipe(pipe: &mut (impl AsyncRead + Unpin), all: &mut Vec<u8>, marker: LineMarker<'_>) {
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        match pipe.read_buf(&mut bytes).await {
            Ok(0) | Err(_) => return,
            Ok(_) => marker.append(all, &bytes),
        }
    }
}

impl LineMarker<'_> {
    /// Adds what was printed, and tells when a line with the marker is complete.
    fn append(&self, all: &mut Vec<u8>, bytes: &[u8]) {
        let from = memchr::memrchr(b'\n', all).map_or(0, |end| end + 1);
        all.extend_from_slice(bytes);
        let Some(text) = self.text else { return };
        let Some(end) = memchr::memrchr(b'\n', &all[from..]) else { return };
        let lines = all[from..from + end].split(|byte| *byte == b'\n');
        for _ in lines.filter(|line| memchr::memmem::find(line, text.as_bytes()).is_some()) {
            // Who does not listen any more wants to know nothing.
            let _ = self.tell.send(ClientSign::Marker);
        }
    }
}

async fn read_terminal(terminal: &ChildTerminal, all: &mut Vec<u8>, marker: LineMarker<'_>, mut open: oneshot::Receiver<()>) {
    loop {
        match timeout(QUIET, terminal.read()).await {
            Ok(Some(bytes)) => {
                marker.append(all, &bytes);
                for (question, reply) in TERMINAL_REPLIES {
                    if memchr::memmem::find(&bytes, question).is_some() {
                        let _ = terminal.write(reply).await;
                    }
                }
            }
            Ok(None) if open.try_recv() == Err(TryRecvError::Closed) => return,
            // The client has not opened it yet.
            Ok(None) => sleep(OPENING).await,
            Err(_quiet) => _ = marker.tell.send(ClientSign::Quiet),
        }
    }
}

impl PrintedBytes {
    /// The lines of the output, or of what a terminal showed, and the errors.
    pub(super) fn into_texts(self, is_terminal: bool) -> (Vec<String>, String) {
        let lines = match is_terminal {
            true => plain_text::lines(&self.output),
            false => String::from_utf8_lossy(&self.output).lines().map(str::to_string).collect(),
        };
        (lines, String::from_utf8_lossy(&self.errors).into_owned())
    }
}
