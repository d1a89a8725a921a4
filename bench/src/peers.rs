//! Other crates' parsers behind one form: chunks in, a count of events and bytes out.
//!
//! Those that are streams are polled to their end with a waker that does nothing, as nothing ever waits: no runtime is measured.

use std::convert::Infallible;
use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use futures_util::Stream;
use reenact::wire::sse::SseFramer;

/// How a body is cut, in bytes.
pub(crate) const CHUNK: usize = 16 * 1024;

/// The figures of a body: all parsers must agree.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ParsedFigures {
    pub(crate) events: usize,
    pub(crate) data_bytes: usize,
}

impl ParsedFigures {
    fn add(&mut self, data: &str) {
        self.events += 1;
        self.data_bytes += black_box(data).len();
    }
}

pub(crate) fn ours(body: &[u8], chunk: usize) -> ParsedFigures {
    let mut found = ParsedFigures::default();
    let mut framer = SseFramer::new();
    for chunk in body.chunks(chunk) {
        let fed = framer.feed(black_box(chunk), &mut |frame| {
            black_box(frame.event);
            found.add(frame.data);
        });
        assert_eq!(fed, Ok(()), "the body has no large event");
    }
    found
}

pub(crate) fn sse_core(body: &[u8]) -> ParsedFigures {
    let mut found = ParsedFigures::default();
    let mut decoder = sse_core::SseDecoder::new();
    for mut chunk in body.chunks(CHUNK) {
        while let Some(event) = decoder.next(black_box(&mut chunk)) {
            if let sse_core::SseEvent::Message(message) = black_box(event).expect("the body has no large event") {
                found.add(&message.data);
            }
        }
    }
    found
}

pub(crate) fn sse_stream(body: &[u8]) -> ParsedFigures {
    let mut found = ParsedFigures::default();
    drain(sse_stream::SseByteStream::new(chunks(body)), |event| {
        found.add(&event.expect("the body is well-formed").data.unwrap_or_default());
    });
    found
}

/// The body as the stream of buffers that an HTTP client would give.
pub(crate) fn chunks(body: &[u8]) -> impl Stream<Item = Result<&[u8], Infallible>> {
    futures_util::stream::iter(body.chunks(CHUNK).map(|chunk| Ok(black_box(chunk))))
}

/// Takes every item of a stream that never waits.
pub(crate) fn drain<S: Stream>(stream: S, mut take: impl FnMut(S::Item)) {
    let mut stream = pin!(stream);
    let mut context = Context::from_waker(Waker::noop());
    while let Poll::Ready(Some(item)) = stream.as_mut().poll_next(&mut context) {
        take(black_box(item));
    }
}
