//! Heads of requests that never end: their connections are closed (K-12).
//!
//! How long a head may be is hyper's part. A timer of hyper's would also close connections that wait for their next request, as those of clients do.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::body::{Body, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// How long a head may take from its first byte. Clients send theirs in one piece.
pub(super) const HEAD_WAIT_MAX: Duration = Duration::from_secs(10);

/// Where one connection stands.
#[derive(Debug)]
pub(super) struct HeadWatch {
    opened: Instant,
    wait_max: Duration,
    /// When the first byte of a head came, in microseconds from `opened` and never 0; 0 while none is coming.
    since: AtomicU64,
    /// A head has begun.
    begun: Notify,
    /// How many exchanges are under way: bytes that come meanwhile are their bodies.
    under_way: AtomicU32,
}

/// An exchange that is under way until this is dropped.
#[derive(Debug)]
pub(super) struct ExchangeUnderWay(Arc<HeadWatch>);

impl HeadWatch {
    pub(super) fn new(wait_max: Duration) -> Arc<Self> {
        let (since, under_way) = (AtomicU64::new(0), AtomicU32::new(0));
        Arc::new(Self { opened: Instant::now(), wait_max, since, begun: Notify::new(), under_way })
    }

    /// Bytes came from the client.
    pub(super) fn on_bytes(&self) {
        if self.under_way.load(Ordering::Relaxed) == 0 && self.since.load(Ordering::Relaxed) == 0 {
            let micros = u64::try_from(self.opened.elapsed().as_micros()).unwrap_or(u64::MAX);
            self.since.store(micros.max(1), Ordering::Relaxed);
            self.begun.notify_one();
        }
    }

    /// A head is whole.
    pub(super) fn begin_exchange(self: &Arc<Self>) -> ExchangeUnderWay {
        self.since.store(0, Ordering::Relaxed);
        self.under_way.fetch_add(1, Ordering::Relaxed);
        ExchangeUnderWay(Arc::clone(self))
    }

    /// Resolves when a head takes too long.
    pub(super) async fn overdue(&self) {
        loop {
            match self.since.load(Ordering::Relaxed) {
                0 => self.begun.notified().await,
                since => {
                    sleep_until(self.opened + Duration::from_micros(since) + self.wait_max).await;
                    if self.since.load(Ordering::Relaxed) == since {
                        return;
                    }
                }
            }
        }
    }

    /// For people, of a connection that is closed.
    pub(super) fn problem(&self) -> String {
        format!("the head of its request did not end within {:?}: send all of its lines and the empty line after them", self.wait_max)
    }
}

impl Drop for ExchangeUnderWay {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A connection whose reads are watched.
#[derive(Debug)]
pub(super) struct WatchedStream<S> {
    pub(super) stream: S,
    pub(super) head: Arc<HeadWatch>,
}

impl<S: AsyncRead + Unpin> AsyncRead for WatchedStream<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = ready!(Pin::new(&mut self.stream).poll_read(context, buffer));
        if buffer.filled().len() > before {
            self.head.on_bytes();
        }
        Poll::Ready(read)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WatchedStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(mut self: Pin<&mut Self>, context: &mut Context<'_>, parts: &[io::IoSlice<'_>]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

/// The body of an answer: while it goes out its exchange is under way.
#[derive(Debug)]
pub(super) struct WatchedBody<B> {
    pub(super) body: B,
    pub(super) _under_way: ExchangeUnderWay,
}

impl<B: Body + Unpin> Body for WatchedBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    #[test]
    fn k_12_only_a_head_that_has_begun_and_does_not_end_is_overdue() {
        const SHORT: Duration = Duration::from_millis(20);
        const LONG: Duration = Duration::from_millis(200);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let head = HeadWatch::new(SHORT);
            assert!(timeout(LONG, head.overdue()).await.is_err(), "an idle connection");
            head.on_bytes();
            let exchange = head.begin_exchange();
            head.on_bytes();
            assert!(timeout(LONG, head.overdue()).await.is_err(), "a slow body");
            drop(exchange);
            assert!(timeout(LONG, head.overdue()).await.is_err(), "idle again");
            head.on_bytes();
            assert!(timeout(LONG, head.overdue()).await.is_ok(), "a head that never ends");
            assert!(head.problem().contains("20ms"));
        });
    }
}
