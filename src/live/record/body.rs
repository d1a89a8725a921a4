//! An answer's body on its way through: each frame is noted and passed on.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::sync::oneshot;

use super::chunk_writer::{ChunkWriter, ClientConnection};
use super::room::{Room, take_room};
use super::upstream::{UpstreamLane, is_reset};
use super::{END_WAIT_MAX, TapeWriterEvent, TapeWriterLink, micros_since};
use crate::head_watch::ExchangeUnderWay;
use reenact_engine::time::Micros;
use reenact_scenario::tape::ResponseEnd;

/// A chunk of up to this length is copied for the tape writer: one that is shared keeps the whole buffer into which it was read, so that a new buffer
/// would be needed for every small packet.
const COPIED_BYTES_MAX: usize = 2 << 10;

/// An exchange as the proxy follows it. When it is dropped without an end, the client went away, or the recorder stops.
#[derive(Debug)]
pub(super) struct ProxiedExchange {
    pub(super) link: TapeWriterLink,
    pub(super) id: u32,
    pub(super) since: Instant,
    pub(super) is_open: bool,
}

impl ProxiedExchange {
    pub(super) fn at(&self) -> Micros {
        micros_since(self.since)
    }

    /// Notes the end, and gives what to wait for before the client may see it.
    pub(super) fn end(&mut self, how: ResponseEnd) -> LinesWritten {
        self.is_open = false;
        let (sender, written) = oneshot::channel();
        self.link.send(TapeWriterEvent::End { id: self.id, at: self.at(), how, written: sender });
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

    fn chunk(&self, at: Micros, bytes: &Bytes) {
        let bytes = if bytes.len() > COPIED_BYTES_MAX { bytes.clone() } else { Bytes::copy_from_slice(bytes) };
        self.link.send(TapeWriterEvent::Chunk { id: self.id, at, bytes });
    }
}

impl Drop for ProxiedExchange {
    fn drop(&mut self) {
        if self.is_open {
            let stopping = self.link.shared.is_stopping.load(Ordering::Relaxed);
            drop(self.end(if stopping { ResponseEnd::Reset } else { ResponseEnd::ClientGone }));
        }
    }
}

/// Resolves when the lines of an exchange are written.
pub(super) type LinesWritten = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Where the connection upstream waits for the client's next request.
pub(super) type UpstreamSlot = Arc<tokio::sync::Mutex<Option<UpstreamLane>>>;

/// An answer's body, with the connections that it comes and goes over.
pub(super) struct ProxiedResponseBody {
    inner: Incoming,
    lane: Option<UpstreamLane>,
    slot: UpstreamSlot,
    exchange: ProxiedExchange,
    _under_way: ExchangeUnderWay,
    client: ClientConnection,
    /// Where the chunks are written; `None` for an answer that hyper has to write.
    passing: Option<ChunkWriter>,
    stage: ResponseStage,
}

enum ResponseStage {
    Streaming,
    /// The tape writer is behind: bytes that came wait for room.
    Waiting(Bytes, Micros, Room),
    /// The answer has ended; the client sees its end when it is written.
    Holding(Option<Frame<Bytes>>, LinesWritten),
    /// The answer was cut; the client sees it when it has what came before.
    Breaking(Option<hyper::Error>),
    Done,
}

type PolledFrame = Poll<Option<Result<Frame<Bytes>, io::Error>>>;

impl ProxiedResponseBody {
    /// `is_chunked` when hyper will write it in chunks of HTTP.
    pub(super) fn new(
        inner: Incoming,
        lane: UpstreamLane,
        slot: UpstreamSlot,
        (exchange, under_way): (ProxiedExchange, ExchangeUnderWay),
        client: ClientConnection,
        is_chunked: bool,
    ) -> Self {
        let stage = if exchange.is_open { ResponseStage::Streaming } else { ResponseStage::Done };
        let passing = is_chunked.then(|| ChunkWriter::new(client.clone()));
        let mut answering = Self { inner, lane: Some(lane), slot, exchange, _under_way: under_way, client, passing, stage };
        if answering.is_end_stream() {
            answering.keep_lane();
        }
        answering
    }

    /// The next frame. The connection is driven until it has brought one, or there is nothing to read: frames of one packet come one after another
    /// without waiting.
    fn poll_inner(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        if let Some(lane) = &mut self.lane {
            lane.drive(context);
        }
        Pin::new(&mut self.inner).poll_frame(context)
    }

    /// The answer has come to its end: the connection may serve the next.
    fn keep_lane(&mut self) {
        if let (Some(lane), Ok(mut slot)) = (self.lane.take().filter(UpstreamLane::may_stay), self.slot.try_lock()) {
            *slot = Some(lane);
        }
    }

    /// The next step of a body that streams; `None` to take another at once.
    fn step(&mut self, context: &mut Context<'_>) -> Option<PolledFrame> {
        let Poll::Ready(came) = self.poll_inner(context) else {
            return match self.passing.as_mut().map(|passing| passing.poll_pause(context)) {
                Some(Poll::Ready(Err(error))) => Some(Poll::Ready(Some(Err(error)))),
                _ => Some(Poll::Pending),
            };
        };
        match came.transpose() {
            Ok(Some(frame)) => match frame.into_data() {
                // HTTP/2 may end a body with a frame of nothing.
                Ok(bytes) if bytes.is_empty() => {
                    if self.inner.is_end_stream() {
                        self.hold(None);
                    }
                    None
                }
                Ok(bytes) => {
                    let at = self.exchange.at();
                    match take_room(&self.exchange.link.shared.room, bytes.len()) {
                        None => self.pass(context, bytes, at),
                        Some(room) => {
                            self.stage = ResponseStage::Waiting(bytes, at, room);
                            None
                        }
                    }
                }
                Err(trailers) => match self.inner.is_end_stream() {
                    true => {
                        self.hold(Some(trailers));
                        None
                    }
                    false => Some(Poll::Ready(Some(Ok(trailers)))),
                },
            },
            Ok(None) => {
                self.hold(None);
                None
            }
            Err(error) => {
                drop(self.exchange.end(ResponseEnd::Reset));
                self.stage = ResponseStage::Breaking(Some(error));
                None
            }
        }
    }

    /// Passes bytes on and notes them; where they are the last, they are held like the end.
    fn pass(&mut self, context: &mut Context<'_>, bytes: Bytes, at: Micros) -> Option<PolledFrame> {
        self.stage = ResponseStage::Streaming;
        let is_last = self.inner.is_end_stream();
        let passed = match &mut self.passing {
            Some(passing) if !is_last => Some(passing.poll_pass(context, &bytes)),
            _ => None,
        };
        self.exchange.chunk(at, &bytes);
        match passed {
            Some(Poll::Ready(Ok(()))) => None,
            Some(Poll::Ready(Err(error))) => Some(Poll::Ready(Some(Err(error)))),
            Some(Poll::Pending) => Some(Poll::Pending),
            None if is_last => {
                self.hold(Some(Frame::data(bytes)));
                None
            }
            None => Some(Poll::Ready(Some(Ok(Frame::data(bytes))))),
        }
    }

    fn hold(&mut self, last: Option<Frame<Bytes>>) {
        self.stage = ResponseStage::Holding(last, self.exchange.end(ResponseEnd::Complete));
        self.keep_lane();
    }
}

impl Body for ProxiedResponseBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> PolledFrame {
        let this = &mut *self;
        if let Some(passing) = &mut this.passing
            && let Err(error) = ready!(passing.poll_ready(context))
        {
            return Poll::Ready(Some(Err(error)));
        }
        loop {
            match &mut this.stage {
                ResponseStage::Done => return Poll::Ready(None),
                ResponseStage::Holding(frame, written) => {
                    if let Some(passing) = &mut this.passing
                        && let Err(error) = ready!(passing.poll_pause(context))
                    {
                        return Poll::Ready(Some(Err(error)));
                    }
                    ready!(written.as_mut().poll(context));
                    let frame = frame.take();
                    this.stage = ResponseStage::Done;
                    return Poll::Ready(frame.map(Ok));
                }
                ResponseStage::Breaking(error) => {
                    if let Some(passing) = &mut this.passing
                        && let Err(error) = ready!(passing.poll_pause(context))
                    {
                        return Poll::Ready(Some(Err(error)));
                    }
                    let error = error.take();
                    if error.as_ref().is_some_and(is_reset) {
                        this.client.break_on_close();
                    }
                    this.stage = ResponseStage::Done;
                    return Poll::Ready(error.map(|error| Err(io::Error::other(error))));
                }
                ResponseStage::Waiting(bytes, at, room) => {
                    ready!(room.as_mut().poll(context));
                    let (bytes, at) = (std::mem::take(bytes), *at);
                    if let Some(polled) = this.pass(context, bytes, at) {
                        return polled;
                    }
                }
                ResponseStage::Streaming => {
                    if let Some(polled) = this.step(context) {
                        return polled;
                    }
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.stage, ResponseStage::Done)
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl Drop for ProxiedResponseBody {
    fn drop(&mut self) {
        // What waits for room has arrived all the same; it is little.
        if let ResponseStage::Waiting(bytes, at, _) = &self.stage {
            self.exchange.chunk(*at, bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::record::{RecorderState, now};

    #[test]
    fn k_3_an_end_that_is_passed_on_before_it_is_written_is_counted() {
        let shared = Arc::new(RecorderState::new());
        let (events, writer_events) = mpsc::channel();
        let link = TapeWriterLink {
            events,
            writer_thread: std::thread::current(),
            shared: Arc::clone(&shared),
            started: now(),
            next_id: Arc::default(),
            durable: false,
            notice: |_| (),
        };
        let mut exchange = ProxiedExchange { link, id: 1, since: now(), is_open: true };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let written = exchange.end(ResponseEnd::Complete);
            let Ok(TapeWriterEvent::End { written: done, .. }) = writer_events.recv() else { panic!("the tape writer gets the end") };
            done.send(()).unwrap();
            written.await;
            assert_eq!(shared.ends_unwritten.load(Ordering::Relaxed), 0, "it was written in time");
            exchange.end(ResponseEnd::Complete).await; // of a tape writer that does nothing
            assert_eq!(shared.ends_unwritten.load(Ordering::Relaxed), 1);
        });
    }
}
