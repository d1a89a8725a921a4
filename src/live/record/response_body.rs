//! An answer's body on its way to the client: each piece is told and passed on, and its end is held until it is written (K-3).

use std::error::Error;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};

use super::client_connection::ClientConnection;
use super::exchange::ExchangeInput;
use super::link::{LinesWritten, ProxiedExchange};
use super::room::RoomGate;
use super::upstream::{UpstreamLane, is_reset};
use crate::head_watch::ExchangeUnderWay;

/// A piece of up to this length is copied for the tape writer: one that is shared keeps the whole buffer into which it was read, so that a new buffer
/// would be needed for every small packet.
const COPIED_BYTES_MAX: usize = 2 << 10;

/// Where the connection upstream waits for the client's next request.
pub(super) type UpstreamSlot = Arc<tokio::sync::Mutex<Option<UpstreamLane>>>;

/// An answer's body, with the connections that it comes and goes over.
pub(super) struct ProxiedResponseBody<B: Body = Incoming> {
    inner: B,
    lane: Option<UpstreamLane>,
    slot: UpstreamSlot,
    exchange: ProxiedExchange,
    gate: RoomGate,
    _under_way: ExchangeUnderWay,
    client: Arc<ClientConnection>,
    stage: ResponseStage<B::Error>,
}

enum ResponseStage<E> {
    Streaming,
    /// The answer has ended; the client sees its last frame and its end when its lines are written.
    Holding(Option<Frame<Bytes>>, LinesWritten),
    /// The answer was cut; the client sees it when it has what came before.
    Breaking(Option<E>),
    Done,
}

impl<B: Body<Data = Bytes> + Unpin> ProxiedResponseBody<B> {
    /// `lane` is the connection that it comes over, to be kept in `slot`.
    pub(super) fn new(
        inner: B,
        (lane, slot): (Option<UpstreamLane>, UpstreamSlot),
        (exchange, under_way): (ProxiedExchange, ExchangeUnderWay),
        client: Arc<ClientConnection>,
    ) -> Self {
        let stage = if exchange.is_open() { ResponseStage::Streaming } else { ResponseStage::Done };
        let gate = RoomGate::new(&exchange.link.shared.room);
        let mut answering = Self { inner, lane, slot, exchange, gate, _under_way: under_way, client, stage };
        if answering.is_done() {
            answering.keep_lane();
        }
        answering
    }

    fn is_done(&self) -> bool {
        matches!(self.stage, ResponseStage::Done)
    }

    /// The next frame. The connection is driven until it has brought one, or there is nothing to read: frames of one packet come one after another
    /// without waiting.
    fn poll_inner(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        if let Some(lane) = &mut self.lane {
            lane.drive(context);
        }
        Pin::new(&mut self.inner).poll_frame(context)
    }

    /// Tells of what came, and gives the frame that is passed on at once.
    fn hear(&mut self, came: Option<Result<Frame<Bytes>, B::Error>>) -> Option<Frame<Bytes>> {
        let frame = match came.transpose() {
            Ok(frame) => frame,
            Err(error) => {
                drop(self.exchange.end(ExchangeInput::UpstreamFailure));
                self.client.ask_for_flush();
                self.stage = ResponseStage::Breaking(Some(error));
                return None;
            }
        };
        let is_last = frame.is_none() || self.inner.is_end_stream();
        // HTTP/2 may end a body with a frame of nothing.
        let frame = frame.filter(|frame| !frame.data_ref().is_some_and(Bytes::is_empty));
        if let Some(bytes) = frame.as_ref().and_then(Frame::data_ref) {
            let told = if bytes.len() > COPIED_BYTES_MAX { bytes.clone() } else { Bytes::copy_from_slice(bytes) };
            self.exchange.tell(ExchangeInput::ResponseBytes(told));
        }
        if !is_last {
            return frame;
        }
        self.stage = ResponseStage::Holding(frame, self.exchange.end(ExchangeInput::ResponseEnd));
        self.keep_lane();
        None
    }

    /// The answer has come to its end: the connection may serve the next.
    fn keep_lane(&mut self) {
        if let (Some(lane), Ok(mut slot)) = (self.lane.take().filter(UpstreamLane::may_stay), self.slot.try_lock()) {
            *slot = Some(lane);
        }
    }
}

impl<B: Body<Data = Bytes, Error: Error + Send + Sync + Unpin + 'static> + Unpin> Body for ProxiedResponseBody<B> {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let this = &mut *self;
        loop {
            match &mut this.stage {
                ResponseStage::Streaming => {
                    ready!(this.gate.poll(context));
                    let came = ready!(this.poll_inner(context));
                    if let Some(frame) = this.hear(came) {
                        return Poll::Ready(Some(Ok(frame)));
                    }
                }
                ResponseStage::Holding(last, written) => {
                    ready!(written.as_mut().poll(context));
                    let last = last.take();
                    this.stage = ResponseStage::Done;
                    return Poll::Ready(last.map(Ok));
                }
                ResponseStage::Breaking(error) => {
                    ready!(this.client.poll_flushed());
                    let error = error.take();
                    if error.as_ref().is_some_and(|error| is_reset(error)) {
                        this.client.break_on_close();
                    }
                    this.stage = ResponseStage::Done;
                    return Poll::Ready(error.map(|error| Err(io::Error::other(error))));
                }
                ResponseStage::Done => return Poll::Ready(None),
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.is_done()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::mpsc::Receiver;
    use std::task::Waker;

    use super::super::link::TapeWriterEvent;
    use super::super::link::tests::{exchange, inputs};
    use super::*;

    /// A body of some pieces, with an error behind them or its end.
    struct StagedBody {
        pieces: VecDeque<&'static str>,
        error: Option<CutError>,
        /// Whether it says with its last piece that it is the last.
        knows_end: bool,
    }

    #[derive(Debug, thiserror::Error)]
    #[error("the body is cut")]
    struct CutError(#[source] io::Error);

    impl Body for StagedBody {
        type Data = Bytes;
        type Error = CutError;

        fn poll_frame(mut self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, CutError>>> {
            let piece = self.pieces.pop_front().map(|piece| Ok(Frame::data(Bytes::from_static(piece.as_bytes()))));
            Poll::Ready(piece.or_else(|| self.error.take().map(Err)))
        }

        fn is_end_stream(&self) -> bool {
            self.knows_end && self.pieces.is_empty() && self.error.is_none()
        }
    }

    /// An answer on its way, with what is told of it.
    fn answer(inner: StagedBody) -> (ProxiedResponseBody<StagedBody>, Receiver<TapeWriterEvent>) {
        let (exchange, told) = exchange();
        let client = ClientConnection::new();
        let under_way = client.head.begin_exchange();
        (ProxiedResponseBody::new(inner, (None, UpstreamSlot::default()), (exchange, under_way), client), told)
    }

    fn poll(answer: &mut ProxiedResponseBody<StagedBody>) -> Poll<Option<Result<Bytes, String>>> {
        let polled = Pin::new(answer).poll_frame(&mut Context::from_waker(Waker::noop()));
        polled.map(|came| came.map(|frame| frame.map(|frame| frame.into_data().unwrap()).map_err(|error| error.to_string())))
    }

    fn piece(text: &'static str) -> Poll<Option<Result<Bytes, String>>> {
        Poll::Ready(Some(Ok(Bytes::from_static(text.as_bytes()))))
    }

    #[test]
    fn k_3_the_end_of_an_answer_is_held_until_it_is_written() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _entered = runtime.enter();
        for (knows_end, last) in [(true, piece("b")), (false, Poll::Ready(None))] {
            let (mut answer, told) = answer(StagedBody { pieces: ["a", "", "b"].into(), error: None, knows_end });
            assert_eq!(poll(&mut answer), piece("a"));
            if !knows_end {
                assert_eq!(poll(&mut answer), piece("b"));
            }
            assert_eq!(poll(&mut answer), Poll::Pending);
            assert!(!answer.is_end_stream());
            let mut events: Vec<TapeWriterEvent> = told.try_iter().collect();
            assert_eq!(events.len(), 3, "two pieces and the end: {events:?}");
            let Some(TapeWriterEvent::Exchange { input: ExchangeInput::ResponseEnd, written: Some(written), .. }) = events.pop() else {
                panic!("its end was told")
            };
            written.send(()).unwrap();
            assert_eq!(poll(&mut answer), last);
            assert!(answer.is_end_stream());
            drop(answer);
            assert!(inputs(&told).is_empty(), "it has ended");
        }
    }

    #[test]
    fn k_11_a_cut_is_passed_on_behind_what_came_before_it() {
        for (kind, is_reset) in [(io::ErrorKind::ConnectionReset, true), (io::ErrorKind::UnexpectedEof, false)] {
            let error = CutError(kind.into());
            let (mut answer, told) = answer(StagedBody { pieces: ["a"].into(), error: Some(error), knows_end: false });
            let client = Arc::clone(&answer.client);
            assert_eq!(poll(&mut answer), piece("a"));
            assert_eq!(poll(&mut answer), Poll::Pending, "the client may not have the piece yet");
            assert!(matches!(&inputs(&told)[..], [ExchangeInput::ResponseBytes(_), ExchangeInput::UpstreamFailure]));
            client.on_flushed(&Context::from_waker(Waker::noop()));
            assert!(matches!(poll(&mut answer), Poll::Ready(Some(Err(_)))));
            assert_eq!(client.breaks_on_close(), is_reset);
            drop(answer);
            assert!(inputs(&told).is_empty(), "it has ended");
        }
    }
}
