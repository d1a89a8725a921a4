//! Bytes that an import holds compressed (K-5).

use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

/// Compressed bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PackedBytes {
    bytes: Box<[u8]>,
    /// The length of the unpacked bytes.
    length: usize,
}

impl PackedBytes {
    pub(super) fn new(bytes: &[u8]) -> Self {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        // A vector takes all that it is given.
        let packed = encoder.write_all(bytes).and_then(|()| encoder.finish()).unwrap_or_default();
        Self { bytes: packed.as_slice().into(), length: bytes.len() }
    }

    pub(super) fn unpacked(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.length);
        self.unpack_to(&mut bytes);
        bytes
    }

    /// Appends what was packed.
    pub(super) fn unpack_to(&self, out: &mut Vec<u8>) {
        let read = DeflateDecoder::new(&*self.bytes).read_to_end(out);
        debug_assert!(read.is_ok_and(|length| length == self.length), "what was packed is there");
    }

    /// The length of the unpacked bytes.
    pub(super) fn length(&self) -> usize {
        self.length
    }

    #[cfg(test)]
    pub(super) fn packed_length(&self) -> usize {
        self.bytes.len()
    }
}
