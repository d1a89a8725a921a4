//! A request's body on its way upstream: each frame is noted and passed on.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};

use super::room::{Room, take_room};
use super::{TapeWriterEvent, TapeWriterLink};

/// A request's body.
pub(super) struct ProxiedRequestBody {
    inner: Incoming,
    link: TapeWriterLink,
    id: u32,
    is_open: bool,
    /// The tape writer is behind: bytes that came wait for room.
    waiting: Option<(Bytes, Room)>,
}

impl ProxiedRequestBody {
    pub(super) fn new(inner: Incoming, link: TapeWriterLink, id: u32) -> Self {
        let mut asking = Self { inner, link, id, is_open: true, waiting: None };
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
        self.link.send(TapeWriterEvent::RequestEnd { id: self.id });
    }

    /// Notes bytes and passes them on.
    fn pass(&mut self, bytes: Bytes) -> Frame<Bytes> {
        self.link.send(TapeWriterEvent::RequestBody { id: self.id, bytes: bytes.clone() });
        self.note_end();
        Frame::data(bytes)
    }
}

impl Body for ProxiedRequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        if self.waiting.is_none() {
            match ready!(Pin::new(&mut self.inner).poll_frame(context)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(bytes) => match take_room(&self.link.shared.room, bytes.len()) {
                        None => return Poll::Ready(Some(Ok(self.pass(bytes)))),
                        Some(room) => self.waiting = Some((bytes, room)),
                    },
                    Err(trailers) => {
                        self.note_end();
                        return Poll::Ready(Some(Ok(trailers)));
                    }
                },
                None => {
                    if self.is_open {
                        self.end();
                    }
                    return Poll::Ready(None);
                }
                error => return Poll::Ready(error),
            }
        }
        if let Some((_, room)) = &mut self.waiting {
            ready!(room.as_mut().poll(context));
        }
        let bytes = self.waiting.take().map(|(bytes, _)| bytes).unwrap_or_default();
        Poll::Ready(Some(Ok(self.pass(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.waiting.is_none() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (inner, waiting) = (self.inner.size_hint(), self.waiting.as_ref().map_or(0, |(bytes, _)| bytes.len() as u64));
        let mut hint = SizeHint::new();
        hint.set_lower(inner.lower() + waiting);
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper + waiting);
        }
        hint
    }
}

impl Drop for ProxiedRequestBody {
    fn drop(&mut self) {
        // What waits for room has arrived all the same; it is little.
        if let Some((bytes, _)) = self.waiting.take() {
            self.link.send(TapeWriterEvent::RequestBody { id: self.id, bytes });
        }
    }
}
