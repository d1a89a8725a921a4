//! A request's body on its way upstream: each piece is told and passed on.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};

use super::exchange::ExchangeInput;
use super::link::TapeWriterLink;
use super::room::RoomGate;

/// A request's body.
pub(super) struct ProxiedRequestBody {
    inner: Incoming,
    link: TapeWriterLink,
    id: u32,
    gate: RoomGate,
}

impl ProxiedRequestBody {
    /// Of this exchange.
    pub(super) fn new(inner: Incoming, link: TapeWriterLink, id: u32) -> Self {
        if inner.is_end_stream() {
            link.tell(id, ExchangeInput::RequestEnd);
        }
        Self { inner, gate: RoomGate::new(&link.shared.room), link, id }
    }
}

impl Body for ProxiedRequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        ready!(self.gate.poll(context));
        let frame = ready!(Pin::new(&mut self.inner).poll_frame(context)?);
        if let Some(bytes) = frame.as_ref().and_then(Frame::data_ref) {
            self.link.tell(self.id, ExchangeInput::RequestBytes(bytes.clone()));
        }
        // A reader that knows already that this is the end does not ask again.
        if frame.is_none() || self.inner.is_end_stream() {
            self.link.tell(self.id, ExchangeInput::RequestEnd);
        }
        Poll::Ready(frame.map(Ok))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
