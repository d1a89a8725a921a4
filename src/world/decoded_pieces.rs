//! The events of an answer's pieces, decoded once for all runs of a scenario.
//!
//! An answer is given again in each copy of a run. A piece that holds whole events alone means the same each time, so that no run has to frame and
//! decode it again. What is cut, changed by a fault or made fresh is other bytes, and is framed as it comes.

use once_cell::race::OnceBox;

use reenact_wire::event::StreamEvent;
use reenact_wire::prelude::*;
use reenact_wire::sse::{SseFrame, SseFramer};

/// The events of the pieces of one answer, in order; decoded when they are first asked for.
#[derive(Clone, Debug, Default)]
#[doc(hidden)]
pub struct DecodedPieces(Arc<OnceBox<Vec<DecodedPiece>>>);

#[derive(Debug)]
struct DecodedPiece {
    bytes: Arc<[u8]>,
    /// `None` for a piece that does not hold whole events alone.
    events: Option<Vec<Arc<StreamEvent>>>,
}

/// They follow from the pieces.
impl PartialEq for DecodedPieces {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl core::hash::Hash for DecodedPieces {
    fn hash<H: core::hash::Hasher>(&self, _: &mut H) {}
}

impl DecodedPieces {
    /// The same, of these pieces.
    pub(crate) fn decoded(&self, pieces: &[Arc<[u8]>]) -> Self {
        self.0.get_or_init(|| Box::new(decode(pieces)));
        self.clone()
    }

    /// The events of a piece, by its number from 1; `None` where they are not known, or where these are not the bytes that they were decoded from.
    pub(crate) fn events(&self, number: u32, bytes: &Arc<[u8]>) -> Option<&[Arc<StreamEvent>]> {
        let piece = self.0.get()?.get((number as usize).checked_sub(1)?)?;
        piece.events.as_deref().filter(|_| Arc::ptr_eq(&piece.bytes, bytes))
    }
}

fn decode(pieces: &[Arc<[u8]>]) -> Vec<DecodedPiece> {
    let mut framer = SseFramer::new();
    let decode = |bytes: &Arc<[u8]>| {
        let begins_whole = framer.is_between_events();
        let mut events = Vec::new();
        let fed = framer.feed(bytes, &mut |frame: SseFrame<'_>| events.push(Arc::new(StreamEvent::decode(frame.event, frame.data))));
        let is_whole = begins_whole && fed.is_ok() && framer.is_between_events();
        DecodedPiece { bytes: bytes.clone(), events: is_whole.then_some(events) }
    };
    pieces.iter().map(decode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PING: &str = "event: ping\ndata: {\"type\":\"ping\"}\n\n";

    fn known(pieces: &[&str]) -> Vec<Option<usize>> {
        let pieces: Vec<Arc<[u8]>> = pieces.iter().map(|piece| Arc::from(piece.as_bytes())).collect();
        let decoded = DecodedPieces::default().decoded(&pieces);
        (1..).zip(&pieces).map(|(number, bytes)| decoded.events(number, bytes).map(<[_]>::len)).collect()
    }

    #[test]
    fn m_6_pieces_of_whole_events_alone_are_known() {
        assert_eq!(known(&[PING, &PING.repeat(2)]), [Some(1), Some(2)]);
        let (front, back) = PING.split_at(9);
        assert_eq!(known(&[PING, front, back, PING]), [Some(1), None, None, Some(1)]);
        assert_eq!(known(&["event: ping\r\n\r", "\n"]), [None, None], "the end of a line is cut");
    }

    #[test]
    fn m_6_other_bytes_are_not_known() {
        let piece: Arc<[u8]> = Arc::from(PING.as_bytes());
        let decoded = DecodedPieces::default().decoded(core::slice::from_ref(&piece));
        let other: Arc<[u8]> = Arc::from(PING.as_bytes());
        assert_eq!((decoded.events(1, &other), decoded.events(2, &piece), decoded.events(0, &piece)), (None, None, None));
        assert!(decoded.events(1, &piece).is_some());
    }
}
