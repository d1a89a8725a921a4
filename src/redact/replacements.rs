//! Replacements that wait for the bytes that they go into.

use std::collections::BTreeMap;

use super::SecretHit;

/// Replacements in the order of their places. What was written is forgotten, so that each is looked at once, however long its bytes are held (K-12).
#[derive(Clone, Debug, Default)]
pub(super) struct PendingReplacements {
    /// By where they begin, and the order in which they came: where they end, and their bytes.
    pieces: BTreeMap<(u64, u64), (u64, Vec<u8>)>,
    added: u64,
}

impl PendingReplacements {
    /// Takes the replacements of a hit.
    pub(super) fn add(&mut self, hit: &SecretHit) {
        let mut rest = hit.replacement.as_slice();
        for place in &hit.places {
            let (piece, after) = rest.split_at((place.end - place.start) as usize);
            rest = after;
            self.pieces.insert((place.start, self.added), (place.end, piece.to_vec()));
            self.added += 1;
        }
    }

    /// Writes what lies in `bytes`, whose first byte stands at `start` in the source. No earlier bytes may follow.
    pub(super) fn write(&mut self, start: u64, bytes: &mut [u8]) {
        let end = start + bytes.len() as u64;
        let mut unfinished = Vec::new();
        while let Some(piece) = self.pieces.first_entry().filter(|piece| piece.key().0 < end) {
            let (key, (until, replacement)) = piece.remove_entry();
            let (from, to) = (key.0.max(start), until.min(end));
            if from < to {
                let part = &replacement[(from - key.0) as usize..(to - key.0) as usize];
                bytes[(from - start) as usize..(to - start) as usize].copy_from_slice(part);
            }
            if until > end {
                unfinished.push((key, (until, replacement)));
            }
        }
        self.pieces.extend(unfinished);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_2_a_replacement_is_written_over_the_chunks_that_it_lies_in() {
        let mut pending = PendingReplacements::default();
        pending.add(&SecretHit { rule: 0, places: vec![2..5, 8..10], replacement: b"ABCDE".to_vec() });
        pending.add(&SecretHit { rule: 0, places: std::iter::once(6..7).collect(), replacement: b"z".to_vec() });
        let mut out = Vec::new();
        for (start, length) in [(0, 3), (3, 4), (7, 2), (9, 3)] {
            let mut bytes = vec![b'.'; length];
            pending.write(start, &mut bytes);
            out.extend(bytes);
        }
        assert_eq!(out, b"..ABC.z.DE..");
        assert!(pending.pieces.is_empty(), "what was written is forgotten");
    }
}
