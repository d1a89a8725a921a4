//! Bodies of requests as an import holds them: each request of an agent's loop repeats the conversation before it, and the repeated part is held once
//! (K-5).
//!
//! ```text
//!   body 1   [ beginning ───────────────────────── end ]
//!   body 2   [ beginning ][ new ][ end ]
//!   body 3   [ beginning ][ new ][ newer ][ end ]        beginning, new and end are those of body 2
//! ```

use std::collections::VecDeque;
use std::sync::Arc;

use super::packed_bytes::PackedBytes;

/// So many bodies are looked at for what a new one has in common with them: conversations may take turns.
const RECENT: usize = 6;

/// The newest of them is always there, the others as long as they are no longer than this together.
const RECENT_BYTES_MAX: usize = 2 << 20;

/// A shorter piece is not worth holding by itself.
const PIECE_BYTES_MIN: usize = 256;

/// How many bytes are compared in one go.
const COMPARED_BYTES: usize = 512;

/// A body in pieces, of which it shares some with others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FoldedBody {
    pieces: Vec<Arc<PackedBytes>>,
}

impl FoldedBody {
    pub(super) fn unfolded(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.length());
        self.pieces.iter().for_each(|piece| piece.unpack_to(&mut bytes));
        bytes
    }

    /// How long the body is.
    pub(super) fn length(&self) -> usize {
        self.pieces.iter().map(|piece| piece.length()).sum()
    }
}

/// Folds bodies that come one by one.
#[derive(Debug, Default)]
pub(super) struct Folder {
    /// The newest at the end.
    recent: VecDeque<(Vec<u8>, FoldedBody)>,
}

/// How much two bodies have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Common {
    beginning: usize,
    end: usize,
}

impl Folder {
    pub(super) fn fold(&mut self, body: &[u8]) -> FoldedBody {
        let common = self.recent.iter().map(|(known, folded)| (Common::new(known, body), folded));
        let folded = match common.max_by_key(|(common, _)| common.bytes()).filter(|(common, _)| common.bytes() >= PIECE_BYTES_MIN) {
            Some((common, like)) => folded_like(body, common, like),
            None => FoldedBody { pieces: pieces(body, &[]) },
        };
        self.recent.push_back((body.to_vec(), folded.clone()));
        let bytes = |recent: &VecDeque<(Vec<u8>, FoldedBody)>| recent.iter().map(|(body, _)| body.len()).sum::<usize>();
        while self.recent.len() > RECENT || (self.recent.len() > 1 && bytes(&self.recent) > RECENT_BYTES_MAX) {
            self.recent.pop_front();
        }
        folded
    }
}

impl Common {
    fn new(known: &[u8], body: &[u8]) -> Self {
        let beginning = common_beginning(known, body);
        let end = common_end(&known[beginning..], &body[beginning..]);
        Self { beginning, end }
    }

    fn bytes(self) -> usize {
        self.beginning + self.end
    }
}

/// The body with the pieces of the other one that it has, too.
fn folded_like(body: &[u8], common: Common, like: &FoldedBody) -> FoldedBody {
    let whole_pieces = |pieces: &mut dyn Iterator<Item = &Arc<PackedBytes>>, within: usize| {
        let (mut taken, mut bytes) = (Vec::new(), 0);
        for piece in pieces {
            if bytes + piece.length() > within {
                break;
            }
            bytes += piece.length();
            taken.push(piece.clone());
        }
        (taken, bytes)
    };
    let (mut all, from) = whole_pieces(&mut like.pieces.iter(), common.beginning);
    let (mut end, behind) = whole_pieces(&mut like.pieces.iter().rev(), common.end);
    let to = body.len() - behind;
    all.extend(pieces(&body[from..to], &[common.beginning - from, body.len() - common.end - from]));
    end.reverse();
    all.extend(end);
    FoldedBody { pieces: all }
}

/// Cut at these places, where that makes no small pieces.
fn pieces(bytes: &[u8], cuts: &[usize]) -> Vec<Arc<PackedBytes>> {
    let (mut pieces, mut from) = (Vec::new(), 0);
    for cut in cuts {
        if cut.saturating_sub(from) >= PIECE_BYTES_MIN && bytes.len() - cut >= PIECE_BYTES_MIN {
            pieces.push(Arc::new(PackedBytes::new(&bytes[from..*cut])));
            from = *cut;
        }
    }
    if from < bytes.len() {
        pieces.push(Arc::new(PackedBytes::new(&bytes[from..])));
    }
    pieces
}

fn common_beginning(one: &[u8], other: &[u8]) -> usize {
    let mut at = 0;
    while at + COMPARED_BYTES <= one.len().min(other.len()) && one[at..at + COMPARED_BYTES] == other[at..at + COMPARED_BYTES] {
        at += COMPARED_BYTES;
    }
    at + one[at..].iter().zip(&other[at..]).take_while(|(one, other)| one == other).count()
}

fn common_end(one: &[u8], other: &[u8]) -> usize {
    let (mut one, mut other, mut length) = (one, other, 0);
    while let (Some((before, last)), Some((before_other, last_other))) =
        (one.split_last_chunk::<COMPARED_BYTES>(), other.split_last_chunk::<COMPARED_BYTES>())
    {
        if last != last_other {
            break;
        }
        (one, other, length) = (before, before_other, length + COMPARED_BYTES);
    }
    length + one.iter().rev().zip(other.iter().rev()).take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(name: &str, turns: usize) -> Vec<u8> {
        let messages: Vec<String> = (0..turns).map(|turn| format!("{name} {turn} ").repeat(100)).collect();
        format!("{{\"messages\":[{}],\"tools\":\"{}\"}}", messages.join(","), "tide ".repeat(4_000)).into_bytes()
    }

    fn bytes_held(bodies: &[FoldedBody]) -> usize {
        let mut pieces: Vec<(*const PackedBytes, usize)> =
            bodies.iter().flat_map(|body| &body.pieces).map(|piece| (Arc::as_ptr(piece), piece.length())).collect();
        pieces.sort_unstable();
        pieces.dedup();
        pieces.iter().map(|(_, length)| length).sum()
    }

    #[test]
    fn k_5_what_a_body_repeats_is_held_once() {
        let mut folder = Folder::default();
        // Two conversations take turns, and something else is asked between.
        let all: Vec<Vec<u8>> = (0..40).flat_map(|turn| [body("main", turn), body("agent", turn / 2), b"{}".to_vec()]).collect();
        let folded: Vec<FoldedBody> = all.iter().map(|body| folder.fold(body)).collect();
        for (body, folded) in all.iter().zip(&folded) {
            assert!(folded.unfolded() == *body && folded.length() == body.len());
        }
        let bytes: usize = all.iter().map(Vec::len).sum();
        assert!(bytes_held(&folded) * 10 < bytes, "{} of {bytes} bytes", bytes_held(&folded));
    }

    #[test]
    fn k_5_bodies_that_have_little_in_common_come_out_as_they_were() {
        let mut folder = Folder::default();
        let long = "a".repeat(3 * COMPARED_BYTES);
        let bodies = ["", "a", &long, &long[1..], &long.replacen('a', "b", 1), &(long.clone() + "b"), &format!("{long}b{long}"), ""];
        for body in bodies.iter().chain(bodies.iter().rev()) {
            assert_eq!(folder.fold(body.as_bytes()).unfolded(), body.as_bytes());
        }
    }
}
