//! A secret in a text, and its places.

use std::ops::Range;

use super::base64_text::PackedSecret;

/// A secret in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FoundSecret {
    pub(super) rule: usize,
    /// The name that told, if one did.
    pub(super) name: String,
    /// Where it stands, in order; lines of a private key have something between them.
    pub(super) spans: Vec<Range<usize>>,
    /// As the innermost view has it: by this its number is known.
    pub(super) secret: Vec<u8>,
    pub(super) depth: usize,
    /// For one in base64: how its place is written anew.
    pub(super) packed: Option<PackedSecret>,
}

impl FoundSecret {
    /// From the first byte to behind the last.
    pub(super) fn hull(&self) -> Range<usize> {
        let start = self.spans.first().map_or(0, |span| span.start);
        start..self.spans.last().map_or(start, |span| span.end)
    }
}
