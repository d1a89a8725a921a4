//! The write-ahead log: what was committed, and is not yet in the database file.

use alloc::collections::BTreeMap;

use super::be32;
use reenact_wire::prelude::*;

/// The header of a log.
const HEADER_BYTES: usize = 32;

/// The header of a frame: the number of its page, the pages of the database where the frame ends a transaction, two salts, two checksums.
const FRAME_HEADER_BYTES: usize = 24;

/// The committed pages of a log.
#[derive(Debug, Default)]
pub(super) struct CommittedLog<'a> {
    /// Of a page, in bytes; `None` where nothing was committed.
    pub(super) page_size: Option<usize>,
    /// The newest state of each page, by its number.
    pub(super) pages: BTreeMap<u32, &'a [u8]>,
}

/// The two sums that run through a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct LogChecksum(u32, u32);

impl<'a> CommittedLog<'a> {
    /// Reads a log up to the first frame that is not right: it is of a transaction that was never finished, or of one before the last checkpoint.
    pub(super) fn read(bytes: &'a [u8]) -> Self {
        Self::read_header(bytes).unwrap_or_default()
    }

    fn read_header(bytes: &'a [u8]) -> Option<Self> {
        let is_big_endian = match be32(bytes, 0)? {
            0x377f_0682 => false,
            0x377f_0683 => true,
            _ => return None,
        };
        let size = usize::try_from(be32(bytes, 8)?).ok()?;
        let salts = bytes.get(16..24)?;
        let mut sum = LogChecksum::default().with(bytes.get(..24)?, is_big_endian);
        if !size.is_power_of_two() || sum != LogChecksum(be32(bytes, 24)?, be32(bytes, 28)?) {
            return None;
        }
        let mut log = Self::default();
        let mut uncommitted = Vec::new();
        for frame in bytes.get(HEADER_BYTES..)?.chunks_exact(FRAME_HEADER_BYTES.checked_add(size)?) {
            let (header, page) = frame.split_at(FRAME_HEADER_BYTES);
            sum = sum.with(&header[..8], is_big_endian).with(page, is_big_endian);
            if header[8..16] != *salts || sum != LogChecksum(be32(header, 16)?, be32(header, 20)?) {
                break;
            }
            uncommitted.push((be32(header, 0)?, page));
            if be32(header, 4)? != 0 {
                log.pages.extend(uncommitted.drain(..));
                log.page_size = Some(size);
            }
        }
        Some(log)
    }
}

impl LogChecksum {
    /// The sums with further bytes, eight at a time.
    fn with(mut self, bytes: &[u8], is_big_endian: bool) -> Self {
        for word in bytes.as_chunks::<8>().0 {
            let [a, b, c, d, e, f, g, h] = *word;
            let number = |bytes| if is_big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) };
            self.0 = self.0.wrapping_add(number([a, b, c, d])).wrapping_add(self.1);
            self.1 = self.1.wrapping_add(number([e, f, g, h])).wrapping_add(self.0);
        }
        self
    }
}
