//! Bodies on their way through: each frame is noted and passed on.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::sync::oneshot;

use super::upstream::Lane;
use super::{END_WAIT_MAX, Event, Link, ROOM_BYTES, micros_since};
use crate::engine::time::Micros;
use crate::scenario::tape::End;

/// What a chunk costs beside its bytes.
const CHUNK_COST_BYTES: usize = 128;

/// A chunk of up to this length is copied for the keeper: one that is shared keeps the whole buffer into which it was read, so that a new buffer would
/// be needed for every small packet.
const COPIED_BYTES_MAX: usize = 2 << 10;

/// An exchange as the proxy follows it. When it is dropped without an end, the client went away, or the recorder stops.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) link: Link,
    pub(super) id: u32,
    pub(super) since: Instant,
    pub(super) is_open: bool,
}

impl Exchange {
    pub(super) fn at(&self) -> Micros {
        micros_since(self.since)
    }

    /// Notes the end, and gives what to wait for before the client may see it.
    pub(super) fn end(&mut self, how: End) -> Written {
        self.is_open = false;
        let (sender, written) = oneshot::channel();
        self.link.send(Event::End { id: self.id, at: self.at(), how, written: sender });
        let durable = self.link.durable;
        Box::pin(async move {
            // A keeper or a disk that gave up drops its side: there is nothing to wait for then.
            if durable {
                let _ = written.await;
            } else {
                let _ = tokio::time::timeout(END_WAIT_MAX, written).await;
            }
        })
    }

    fn chunk(&self, at: Micros, bytes: &Bytes) {
        let bytes = if bytes.len() > COPIED_BYTES_MAX { bytes.clone() } else { Bytes::copy_from_slice(bytes) };
        self.link.send(Event::Chunk { id: self.id, at, bytes });
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        if self.is_open {
            let stopping = self.link.shared.is_stopping.load(std::sync::atomic::Ordering::Relaxed);
            drop(self.end(if stopping { End::Reset } else { End::ClientGone }));
        }
    }
}

/// Resolves when the lines of an exchange are written.
pub(super) type Written = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A request's body.
#[derive(Debug)]
pub(super) struct Asking {
    inner: Incoming,
    link: Link,
    id: u32,
    is_open: bool,
}

impl Asking {
    pub(super) fn new(inner: Incoming, link: Link, id: u32) -> Self {
        let mut asking = Self { inner, link, id, is_open: true };
        asking.note_end();
        asking
    }

    fn note_end(&mut self) {
        if self.is_open && self.inner.is_end_stream() {
            self.end();
        }
    }

    fn end(&mut self) {
        self.is_open = false;
        self.link.send(Event::RequestEnd { id: self.id });
    }
}

impl Body for Asking {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = ready!(Pin::new(&mut self.inner).poll_frame(context));
        match &frame {
            Some(Ok(frame)) => {
                if let Some(bytes) = frame.data_ref() {
                    self.link.send(Event::RequestBody { id: self.id, bytes: bytes.clone() });
                }
                self.note_end();
            }
            None if self.is_open => self.end(),
            Some(Err(_)) | None => (),
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// Where the connection upstream waits for the client's next request.
pub(super) type Slot = std::sync::Arc<tokio::sync::Mutex<Option<Lane>>>;

/// An answer's body, with the connection that it comes over.
pub(super) struct Answering {
    inner: Incoming,
    lane: Option<Lane>,
    slot: Slot,
    exchange: Exchange,
    stage: Stage,
}

enum Stage {
    Streaming,
    /// The keeper is behind: a frame that came waits for room.
    Waiting(Frame<Bytes>, Micros, Pin<Box<dyn Future<Output = ()> + Send>>),
    /// The answer has ended; the client sees its end when it is written.
    Holding(Option<Frame<Bytes>>, Written),
    Done,
}

impl Answering {
    pub(super) fn new(inner: Incoming, lane: Lane, slot: Slot, exchange: Exchange) -> Self {
        let stage = if exchange.is_open { Stage::Streaming } else { Stage::Done };
        let mut answering = Self { inner, lane: Some(lane), slot, exchange, stage };
        if answering.is_end_stream() {
            answering.keep_lane();
        }
        answering
    }

    /// The next frame. The connection is driven until it has brought one, or there is nothing to read: frames of one packet come one after another
    /// without waiting, and leave together.
    fn poll_inner(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        if let Some(lane) = &mut self.lane {
            lane.drive(context);
        }
        Pin::new(&mut self.inner).poll_frame(context)
    }

    /// The answer has come to its end: the connection may serve the next.
    fn keep_lane(&mut self) {
        if let (Some(lane), Ok(mut slot)) = (self.lane.take().filter(Lane::may_stay), self.slot.try_lock()) {
            *slot = Some(lane);
        }
    }

    /// After a frame was noted: where its bytes were the last, they are held like the end.
    fn after(&mut self, frame: Frame<Bytes>) -> Option<Frame<Bytes>> {
        if self.inner.is_end_stream() {
            self.stage = Stage::Holding(Some(frame), self.exchange.end(End::Complete));
            self.keep_lane();
            return None;
        }
        self.stage = Stage::Streaming;
        Some(frame)
    }

    /// Takes room for a chunk, or gives what to wait for.
    fn take_room(&self, length: usize) -> Option<Pin<Box<dyn Future<Output = ()> + Send>>> {
        let room = &self.exchange.link.shared.room;
        let cost = room_for(length);
        match room.try_acquire_many(cost) {
            Ok(permit) => {
                permit.forget();
                None
            }
            Err(_) => {
                let room = std::sync::Arc::clone(room);
                Some(Box::pin(async move {
                    if let Ok(permit) = room.acquire_many(cost).await {
                        permit.forget();
                    }
                }))
            }
        }
    }
}

/// How much room a chunk of this length takes.
pub(super) fn room_for(length: usize) -> u32 {
    u32::try_from((length + CHUNK_COST_BYTES).min(ROOM_BYTES)).unwrap_or(u32::MAX)
}

impl Body for Answering {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        loop {
            match &mut self.stage {
                Stage::Done => return Poll::Ready(None),
                Stage::Holding(frame, written) => {
                    ready!(written.as_mut().poll(context));
                    let frame = frame.take();
                    self.stage = Stage::Done;
                    return Poll::Ready(frame.map(Ok));
                }
                Stage::Waiting(_, _, room) => {
                    ready!(room.as_mut().poll(context));
                    let Stage::Waiting(frame, at, _) = std::mem::replace(&mut self.stage, Stage::Streaming) else { continue };
                    if let Some(bytes) = frame.data_ref() {
                        self.exchange.chunk(at, bytes);
                    }
                    if let Some(frame) = self.after(frame) {
                        return Poll::Ready(Some(Ok(frame)));
                    }
                }
                Stage::Streaming => match ready!(self.poll_inner(context)) {
                    Some(Ok(frame)) => {
                        // HTTP/2 may end a body with a frame of nothing.
                        if let Some(bytes) = frame.data_ref().filter(|bytes| !bytes.is_empty()) {
                            let at = self.exchange.at();
                            if let Some(room) = self.take_room(bytes.len()) {
                                self.stage = Stage::Waiting(frame, at, room);
                                continue;
                            }
                            self.exchange.chunk(at, bytes);
                        }
                        if let Some(frame) = self.after(frame) {
                            return Poll::Ready(Some(Ok(frame)));
                        }
                    }
                    Some(Err(error)) => {
                        drop(self.exchange.end(End::Reset));
                        self.stage = Stage::Done;
                        return Poll::Ready(Some(Err(error)));
                    }
                    None => {
                        self.stage = Stage::Holding(None, self.exchange.end(End::Complete));
                        self.keep_lane();
                    }
                },
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.stage, Stage::Done)
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        // What waits for room has arrived all the same; it is little.
        if let Stage::Waiting(frame, at, _) = &self.stage
            && let Some(bytes) = frame.data_ref()
        {
            self.exchange.chunk(*at, bytes);
        }
    }
}
