//! Room for bytes on their way to the tape writer: a slow disk must not fill the memory (K-12).
//!
//! Bytes that have come are always passed on. When more of them wait than there is room for, nothing more is read until the tape writer has worked
//! through half of them, as any proxy reads no faster than it works.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use tokio::sync::Notify;

/// How many bytes may wait for the tape writer.
const ROOM_BYTES: usize = 32 << 20;

/// When so many bytes wait for the tape writer, it is woken.
const MUCH_BYTES: usize = 64 << 10;

/// The memory of a piece beside its bytes.
const PIECE_COST_BYTES: usize = 128;

/// The bytes that wait for the tape writer.
#[derive(Debug, Default)]
pub(super) struct WriterRoom {
    taken: AtomicUsize,
    freed: Notify,
    is_closed: AtomicBool,
}

impl WriterRoom {
    /// A piece of a body is on its way.
    pub(super) fn take(&self, length: usize) {
        self.taken.fetch_add(length + PIECE_COST_BYTES, Ordering::Relaxed);
    }

    /// The tape writer has a piece.
    pub(super) fn free(&self, length: usize) {
        let cost = length + PIECE_COST_BYTES;
        let before = self.taken.fetch_sub(cost, Ordering::Relaxed);
        if before > ROOM_BYTES / 2 && before - cost <= ROOM_BYTES / 2 {
            self.freed.notify_waiters();
        }
    }

    /// Nothing waits for room any more: nobody works through what comes.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
        self.freed.notify_waiters();
    }

    /// Whether it is worth waking the tape writer.
    pub(super) fn is_much_taken(&self) -> bool {
        self.taken.load(Ordering::Relaxed) > MUCH_BYTES
    }

    fn is_full(&self) -> bool {
        self.taken.load(Ordering::Relaxed) > ROOM_BYTES && !self.is_closed.load(Ordering::Relaxed)
    }
}

/// Where the reader of one body waits for room.
pub(super) struct RoomGate {
    room: Arc<WriterRoom>,
    waiting: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl RoomGate {
    pub(super) fn new(room: &Arc<WriterRoom>) -> Self {
        Self { room: Arc::clone(room), waiting: None }
    }

    /// Ready when more may be read.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.waiting.is_none() && self.room.is_full() {
            let room = Arc::clone(&self.room);
            self.waiting = Some(Box::pin(async move {
                loop {
                    // It hears of what is freed from here on.
                    let freed = room.freed.notified();
                    if !room.is_full() {
                        return;
                    }
                    freed.await;
                }
            }));
        }
        if let Some(waiting) = &mut self.waiting {
            ready!(waiting.as_mut().poll(context));
            self.waiting = None;
        }
        Poll::Ready(())
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    #[test]
    fn k_12_readers_wait_while_the_room_is_full_until_half_of_it_is_free() {
        const PIECE: usize = 1 << 20;
        let room = Arc::new(WriterRoom::default());
        let (mut gate, mut other) = (RoomGate::new(&room), RoomGate::new(&room));
        let mut context = Context::from_waker(Waker::noop());
        assert!(gate.poll(&mut context).is_ready() && !room.is_much_taken());
        let pieces = ROOM_BYTES / PIECE;
        (0..pieces).for_each(|_| room.take(PIECE));
        assert!(gate.poll(&mut context).is_pending() && room.is_much_taken());
        (0..pieces / 2).for_each(|_| room.free(PIECE));
        assert!(gate.poll(&mut context).is_pending(), "a reader that waits is not woken for each piece");
        room.free(PIECE);
        assert!(gate.poll(&mut context).is_ready());
        (0..pieces).for_each(|_| room.take(PIECE));
        assert!(gate.poll(&mut context).is_pending());
        room.close();
        assert!(gate.poll(&mut context).is_ready() && other.poll(&mut context).is_ready(), "nobody writes any more");
    }
}
