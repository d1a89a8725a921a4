//! The proxy's side of the tape writer: all that is heard of exchanges is told there, and only the end of an exchange waits for it (K-3).

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread::Thread;
use std::time::Instant;

use tokio::sync::oneshot;

use super::exchange::{ExchangeInput, ProxiedRequestHead};
use super::{END_WAIT_MAX, RecorderState};
use reenact_engine::time::Micros;

/// The way to the tape writer.
#[derive(Clone, Debug)]
pub(super) struct TapeWriterLink {
    pub(super) events: mpsc::Sender<TapeWriterEvent>,
    pub(super) writer_thread: Thread,
    pub(super) shared: Arc<RecorderState>,
    pub(super) started: Instant,
    pub(super) next_id: Arc<AtomicU32>,
    pub(super) durable: bool,
    pub(super) notice: fn(&str),
}

/// Something that the tape writer is told. Times are counted from the beginning of the recording.
#[derive(Debug)]
pub(super) enum TapeWriterEvent {
    /// An exchange has begun.
    Request { id: u32, at: Micros, head: ProxiedRequestHead },
    /// It goes on. The other side of `written` wants to know when its lines are written.
    Exchange { id: u32, at: Micros, input: ExchangeInput, written: Option<oneshot::Sender<()>> },
    /// Nothing follows.
    Stop,
}

impl TapeWriterLink {
    /// Tells of a request.
    pub(super) fn begin(&self, head: ProxiedRequestHead) -> ProxiedExchange {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        self.send(TapeWriterEvent::Request { id, at: self.at(), head }, true);
        ProxiedExchange { link: self.clone(), id, is_open: true }
    }

    /// Tells what was heard of an exchange just now.
    pub(super) fn tell(&self, id: u32, input: ExchangeInput) {
        self.tell_and_ask(id, input, None);
    }

    fn tell_and_ask(&self, id: u32, input: ExchangeInput, written: Option<oneshot::Sender<()>>) {
        // Pieces of bodies can wait until there are many, or the tape writer looks again: waking a thread for each would cost the client more than
        // all the rest of the recording.
        let is_urgent = match &input {
            ExchangeInput::RequestBytes(bytes) | ExchangeInput::ResponseBytes(bytes) => {
                self.shared.room.take(bytes.len());
                self.shared.room.is_much_taken()
            }
            _ => true,
        };
        self.send(TapeWriterEvent::Exchange { id, at: self.at(), input, written }, is_urgent);
    }

    /// Tells that nothing follows.
    pub(super) fn stop(&self) {
        self.send(TapeWriterEvent::Stop, true);
    }

    /// Never waits, and never fails: without a tape writer there is no recording, and the traffic continues.
    fn send(&self, event: TapeWriterEvent, is_urgent: bool) {
        if self.events.send(event).is_ok() && is_urgent {
            self.writer_thread.unpark();
        }
    }

    fn at(&self) -> Micros {
        Micros(u64::try_from(now().duration_since(self.started).as_micros()).unwrap_or(u64::MAX))
    }
}

#[expect(clippy::disallowed_methods, reason = "a recording is of real time")]
pub(super) fn now() -> Instant {
    Instant::now()
}

/// An exchange as the proxy follows it. When it is dropped without an end, the client went away, or the recorder stops.
#[derive(Debug)]
pub(super) struct ProxiedExchange {
    pub(super) link: TapeWriterLink,
    pub(super) id: u32,
    is_open: bool,
}

/// Resolves when the lines of an exchange are written.
pub(super) type LinesWritten = Pin<Box<dyn Future<Output = ()> + Send>>;

impl ProxiedExchange {
    /// Whether it has not ended.
    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    /// Tells what was heard just now.
    pub(super) fn tell(&self, input: ExchangeInput) {
        self.link.tell(self.id, input);
    }

    /// Tells how it ends, and gives what to wait for before the client may see it.
    pub(super) fn end(&mut self, how: ExchangeInput) -> LinesWritten {
        self.is_open = false;
        let (sender, written) = oneshot::channel();
        self.link.tell_and_ask(self.id, how, Some(sender));
        let link = self.link.clone();
        Box::pin(async move {
            // A tape writer or a disk that gave up drops its side: there is nothing to wait for then.
            if link.durable {
                let _ = written.await;
            } else if tokio::time::timeout(END_WAIT_MAX, written).await.is_err()
                && link.shared.ends_unwritten.fetch_add(1, Ordering::Relaxed) == 0
            {
                (link.notice)(
                    "the disk is slow: answers end for the client before they are on the tape. \
                     A recorder that is killed now loses them; with --durable each answer waits",
                );
            }
        })
    }
}

impl Drop for ProxiedExchange {
    fn drop(&mut self) {
        if self.is_open {
            let stopping = self.link.shared.is_stopping.load(Ordering::Relaxed);
            drop(self.end(if stopping { ExchangeInput::RecorderStop } else { ExchangeInput::ClientGone }));
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// An exchange, and what is told of it.
    pub(in crate::record) fn exchange() -> (ProxiedExchange, mpsc::Receiver<TapeWriterEvent>) {
        let (events, told) = mpsc::channel();
        let link = TapeWriterLink {
            events,
            writer_thread: std::thread::current(),
            shared: Arc::new(RecorderState::default()),
            started: now(),
            next_id: Arc::default(),
            durable: false,
            notice: |_| (),
        };
        let exchange =
            link.begin(ProxiedRequestHead { method: String::from("POST"), path: String::from("/v1/messages"), headers: Vec::new() });
        assert!(matches!(told.try_recv(), Ok(TapeWriterEvent::Request { .. })));
        (exchange, told)
    }

    /// The inputs that were told.
    pub(in crate::record) fn inputs(told: &mpsc::Receiver<TapeWriterEvent>) -> Vec<ExchangeInput> {
        let inputs = told.try_iter().map(|event| match event {
            TapeWriterEvent::Exchange { input, .. } => input,
            event => panic!("{event:?}"),
        });
        inputs.collect()
    }

    #[test]
    fn k_3_an_end_that_is_passed_on_before_it_is_written_is_counted() {
        let (mut exchange, told) = exchange();
        let shared = Arc::clone(&exchange.link.shared);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let written = exchange.end(ExchangeInput::ResponseEnd);
            let Ok(TapeWriterEvent::Exchange { written: Some(done), .. }) = told.recv() else { panic!("the tape writer gets the end") };
            done.send(()).unwrap();
            written.await;
            assert_eq!(shared.ends_unwritten.load(Ordering::Relaxed), 0, "it was written in time");
            exchange.end(ExchangeInput::ResponseEnd).await; // of a tape writer that does nothing
            assert_eq!(shared.ends_unwritten.load(Ordering::Relaxed), 1);
        });
    }

    #[test]
    fn k_11_an_exchange_that_is_dropped_is_the_clients_unless_the_recorder_stops() {
        let (client_gone, told) = exchange();
        drop(client_gone);
        assert!(matches!(&inputs(&told)[..], [ExchangeInput::ClientGone]));
        let (stopped, told) = exchange();
        stopped.link.shared.is_stopping.store(true, Ordering::Relaxed);
        drop(stopped);
        assert!(matches!(&inputs(&told)[..], [ExchangeInput::RecorderStop]));
    }
}
