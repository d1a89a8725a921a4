//! Exchanges as an import holds them: their bodies are compressed (K-5).

use std::borrow::Cow;
use std::sync::Arc;

use super::folding::FoldedBody;
use super::packed_bytes::PackedBytes;
use reenact_engine::time::Micros;
use reenact_scenario::tape::{BodyChunk, Exchange};

/// An exchange of a tape that will be written.
#[derive(Clone, Debug, PartialEq)]
pub struct PackedExchange {
    /// Without body and chunks.
    outline: Exchange,
    body: FoldedBody,
    /// The body with what the API held for it, where it is another one.
    whole: Option<FoldedBody>,
    /// The chunks of the answer, with their times.
    chunks: Vec<(Option<Micros>, PackedBytes)>,
}

impl PackedExchange {
    /// `body` and `whole` are its own; they are not taken from it.
    pub(super) fn new(mut exchange: Exchange, body: FoldedBody, whole: Option<FoldedBody>) -> Self {
        exchange.body = Arc::new([]);
        let chunks = std::mem::replace(&mut exchange.answer.chunks, Arc::new([]));
        let chunks = chunks.iter().map(|chunk| (chunk.at, PackedBytes::new(&chunk.bytes))).collect();
        Self { outline: exchange, body, whole, chunks }
    }

    /// The exchange, without the body of its request and the chunks of its answer.
    pub fn outline(&self) -> &Exchange {
        &self.outline
    }

    /// How long the body of its request is.
    pub(super) fn request_bytes(&self) -> usize {
        self.whole.as_ref().unwrap_or(&self.body).length()
    }

    /// How long its answer is.
    pub(super) fn answer_bytes(&self) -> usize {
        self.chunks.iter().map(|(_, chunk)| chunk.length()).sum()
    }

    pub(super) fn place(&mut self, thread: Arc<str>, parent: Option<u32>) {
        (self.outline.thread, self.outline.parent) = (thread, parent);
    }

    /// All of it.
    pub fn exchange(&self) -> Exchange {
        let mut exchange = self.outline.clone();
        exchange.body = self.body.unfolded().into();
        exchange.answer.chunks = self.chunks.iter().map(|(at, chunk)| BodyChunk { at: *at, bytes: chunk.unpacked().into() }).collect();
        exchange
    }

    /// The body of its request, with what the API held for it.
    pub(super) fn whole_body(&self) -> Cow<'_, [u8]> {
        self.whole.as_ref().unwrap_or(&self.body).unfolded().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_5_what_is_packed_comes_out_as_it_was() {
        let loop_of_an_agent = r#"{"role":"user","content":"the tide table"}"#.repeat(9_000);
        for bytes in [&b""[..], b"a", &[0xff; 70_000], loop_of_an_agent.as_bytes()] {
            assert_eq!(PackedBytes::new(bytes).unpacked(), bytes);
        }
        assert!(PackedBytes::new(loop_of_an_agent.as_bytes()).packed_length() < loop_of_an_agent.len() / 20);
    }
}
