//! The client's connection, to which both hyper and the chunks of an answer are written.
//!
//! hyper writes the head of an answer and its end. A chunk that comes between is written past hyper as soon as it is there: on hyper's way it would
//! wait until nothing more can be read and the connection has been looked at from all sides, which takes longer than the writing.

use std::io::{self, Write as _};
use std::net::Shutdown;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::head_watch::{HEAD_WAIT_MAX, HeadWatch};
use crate::network::{MachineNetwork, Network as _};

/// How much of a burst leaves at once.
const TOGETHER_BYTES: usize = 64 << 10;

/// The client's connection.
#[derive(Clone, Debug)]
pub(super) struct ClientConnection {
    stream: Arc<TcpStream>,
    /// Whether hyper has nothing left to write.
    is_written: Arc<AtomicBool>,
    /// The head of the next request, as far as it is read.
    pub(super) head: Arc<HeadWatch>,
}

impl ClientConnection {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self { stream: Arc::new(stream), is_written: Arc::new(AtomicBool::new(true)), head: HeadWatch::new(HEAD_WAIT_MAX) }
    }

    /// Makes the client see a reset when the connection is closed.
    pub(super) fn break_on_close(&self) {
        MachineNetwork::break_on_close(&self.stream);
    }
}

impl AsyncRead for ClientConnection {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            ready!(self.stream.poll_read_ready(context))?;
            match self.stream.try_read_buf(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => (),
                read => {
                    if matches!(read, Ok(1..)) {
                        self.head.on_bytes();
                    }
                    return Poll::Ready(read.map(drop));
                }
            }
        }
    }
}

impl AsyncWrite for ClientConnection {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.is_written.store(false, Ordering::Relaxed);
        loop {
            ready!(self.stream.poll_write_ready(context))?;
            match self.stream.try_write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => (),
                written => return Poll::Ready(written),
            }
        }
    }

    /// hyper flushes when it has written all that it had.
    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.is_written.swap(true, Ordering::Relaxed) {
            // The chunks may begin, and are asked for by the same task.
            context.waker().wake_by_ref();
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(socket2::SockRef::from(&*self.stream).shutdown(Shutdown::Write))
    }
}

/// The chunks of one answer on their way to the client.
#[derive(Debug)]
pub(super) struct ChunkWriter {
    client: ClientConnection,
    has_begun: bool,
    /// The bytes that are not written yet, and their first position.
    unsent: Vec<u8>,
    from: usize,
    /// How many chunks came since there was nothing to read, and whether there were several the time before: then more come with the next.
    together: usize,
    is_burst: bool,
}

impl ChunkWriter {
    /// For an answer whose head hyper writes before this is asked anything, with chunked coding.
    pub(super) fn new(client: ClientConnection) -> Self {
        Self { client, has_begun: false, unsent: Vec::new(), from: 0, together: 0, is_burst: false }
    }

    /// Ready when the head is written, and all chunks before.
    pub(super) fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.has_begun {
            // The head is in hyper's hands now; it wakes this task when it has written it.
            self.has_begun = true;
            self.client.is_written.store(false, Ordering::Relaxed);
        }
        match self.client.is_written.load(Ordering::Relaxed) {
            true => self.poll_send(context),
            false => Poll::Pending,
        }
    }

    /// Writes a chunk, unless others will have come with it. Pending when the client has to read first.
    pub(super) fn poll_pass(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<()>> {
        // Memory takes whatever is written to it.
        let _ = write!(self.unsent, "{:X}\r\n", bytes.len());
        self.unsent.extend_from_slice(bytes);
        self.unsent.extend_from_slice(b"\r\n");
        self.together += 1;
        match self.is_burst && self.unsent.len() < TOGETHER_BYTES {
            true => Poll::Ready(Ok(())),
            false => self.poll_send(context),
        }
    }

    /// There is nothing to read: what has come is written.
    pub(super) fn poll_pause(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.together > 0 {
            self.is_burst = self.together > 1;
            self.together = 0;
        }
        self.poll_send(context)
    }

    fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.from < self.unsent.len() {
            match self.client.stream.try_write(&self.unsent[self.from..]) {
                Ok(written) => self.from += written,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => ready!(self.client.stream.poll_write_ready(context))?,
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        self.unsent.clear();
        self.from = 0;
        Poll::Ready(Ok(()))
    }
}
