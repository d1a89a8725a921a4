//! Heads of requests that never end: their connections are closed (K-12).
//!
//! How long a head may be is hyper's part. A timer of hyper's would also close connections that wait for their next request, as those of clients do.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::{micros_since, now};

/// How long a head may take from its first byte. Clients send theirs in one piece.
const HEAD_WAIT_MAX: Duration = Duration::from_secs(10);

/// How often it is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Where one connection stands.
#[derive(Debug)]
pub(super) struct HeadWatch {
    opened: Instant,
    /// When the first byte of a head came, in microseconds from `opened` and never 0; 0 while none is coming.
    since: AtomicU64,
    /// How many exchanges are under way: bytes that come meanwhile are their bodies.
    under_way: AtomicU32,
}

/// An exchange that is under way until this is dropped.
#[derive(Debug)]
pub(super) struct ExchangeUnderWay(Arc<HeadWatch>);

impl HeadWatch {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { opened: now(), since: AtomicU64::new(0), under_way: AtomicU32::new(0) })
    }

    /// Bytes came from the client.
    pub(super) fn on_bytes(&self) {
        if self.under_way.load(Ordering::Relaxed) == 0 && self.since.load(Ordering::Relaxed) == 0 {
            self.since.store(micros_since(self.opened).0.max(1), Ordering::Relaxed);
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
            tokio::time::sleep(LOOK_EVERY).await;
            let since = self.since.load(Ordering::Relaxed);
            if since > 0 && u128::from(micros_since(self.opened).0 - since) > HEAD_WAIT_MAX.as_micros() {
                return;
            }
        }
    }
}

impl Drop for ExchangeUnderWay {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::Relaxed);
    }
}
