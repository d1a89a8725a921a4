//! The client's connection. hyper alone writes to it; the answer that goes out over it has two wishes about how it ends.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::head_watch::{HEAD_WAIT_MAX, HeadWatch, WatchedStream};
use crate::network::{MachineNetwork, Network as _};

/// The side of the answers.
#[derive(Debug)]
pub(super) struct ClientConnection {
    /// The head of the next request, as far as it is read.
    pub(super) head: Arc<HeadWatch>,
    /// Whether hyper has written all that it had since this was asked.
    is_flushed: AtomicBool,
    breaks_on_close: AtomicBool,
}

impl ClientConnection {
    pub(super) fn new() -> Arc<Self> {
        let head = HeadWatch::new(HEAD_WAIT_MAX);
        Arc::new(Self { head, is_flushed: AtomicBool::new(true), breaks_on_close: AtomicBool::new(false) })
    }

    /// Asks hyper to wake the answer when it has written all that it has.
    pub(super) fn ask_for_flush(&self) {
        self.is_flushed.store(false, Ordering::Relaxed);
    }

    /// Ready when hyper has written what it had when it was asked. The answer is polled by the task of the connection, which is woken then.
    pub(super) fn poll_flushed(&self) -> Poll<()> {
        if self.is_flushed.load(Ordering::Relaxed) { Poll::Ready(()) } else { Poll::Pending }
    }

    /// hyper has written all that it has.
    pub(super) fn on_flushed(&self, context: &Context<'_>) {
        if !self.is_flushed.swap(true, Ordering::Relaxed) {
            context.waker().wake_by_ref();
        }
    }

    /// Makes the client see a reset when the connection is closed.
    pub(super) fn break_on_close(&self) {
        self.breaks_on_close.store(true, Ordering::Relaxed);
    }

    pub(super) fn breaks_on_close(&self) -> bool {
        self.breaks_on_close.load(Ordering::Relaxed)
    }
}

/// The side of hyper.
#[derive(Debug)]
pub(super) struct ClientStream {
    watched: WatchedStream<TcpStream>,
    connection: Arc<ClientConnection>,
}

impl ClientStream {
    pub(super) fn new(stream: TcpStream, connection: &Arc<ClientConnection>) -> Self {
        Self { watched: WatchedStream { stream, head: connection.head.clone() }, connection: connection.clone() }
    }
}

impl AsyncRead for ClientStream {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.watched).poll_read(context, buffer)
    }
}

impl AsyncWrite for ClientStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.watched).poll_write(context, bytes)
    }

    /// hyper flushes when it has written all that it had.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.connection.on_flushed(context);
        Pin::new(&mut self.watched).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.watched).poll_shutdown(context)
    }
}

impl Drop for ClientStream {
    fn drop(&mut self) {
        if self.connection.breaks_on_close() {
            MachineNetwork::break_on_close(&self.watched.stream);
        }
    }
}
