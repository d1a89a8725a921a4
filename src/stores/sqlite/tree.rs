//! The b-tree of a table: pages of pages, and at its leaves the records. A record that is too long for its page goes on in others.

use alloc::collections::BTreeSet;

use super::{HEADER_BYTES, SCHEMA_PAGE, SqlitePages, be16, be32, record};
use crate::conversation::{HistoryPlace, StoreRemarks};
use reenact_wire::prelude::*;

/// A page of pages.
const INTERIOR: u8 = 5;

/// A page of records.
const LEAF: u8 = 13;

/// Gives each record of the tree to `take`, in the order of row ids, with its row id. What cannot be read becomes a remark.
pub(super) fn each_record(pages: &SqlitePages<'_>, root: u32, remarks: &mut StoreRemarks, mut take: impl FnMut(i64, &[u8])) {
    let mut reader = PageReader { pages, seen: BTreeSet::new() };
    let mut waiting = vec![root];
    while let Some(number) = waiting.pop() {
        let start = if number == SCHEMA_PAGE { HEADER_BYTES } else { 0 };
        let page = reader.page(number);
        let read = match page.and_then(|page| page.get(start)) {
            Some(&INTERIOR) => page.and_then(|page| children(page, start)).map(|children| waiting.extend(children)),
            Some(&LEAF) => page.and_then(|page| reader.leaf(page, start, &mut take)),
            _ => None,
        };
        if read.is_none() {
            remarks.add_damage(HistoryPlace::Page(number), "is damaged: rows of it are missing here");
        }
    }
}

/// Reads each page once at most, so that no circle is endless.
struct PageReader<'p, 'a> {
    pages: &'p SqlitePages<'a>,
    seen: BTreeSet<u32>,
}

impl<'a> PageReader<'_, 'a> {
    fn page(&mut self, number: u32) -> Option<&'a [u8]> {
        if self.seen.insert(number) { self.pages.page(number) } else { None }
    }

    /// The records of a leaf, as far as they are right.
    fn leaf(&mut self, page: &[u8], start: usize, take: &mut impl FnMut(i64, &[u8])) -> Option<()> {
        // Cells of one page share its bytes. Those that overlap would make more of them than there are.
        let mut left = page.len();
        for cell in cells(page, start, 8)? {
            let mut bytes = page.get(cell..)?;
            let length = record::varint(&mut bytes)?;
            let row = record::varint(&mut bytes)?;
            let local = self.local_bytes(length)?;
            left = left.checked_sub(local)?;
            let here = bytes.get(..local)?;
            match length - local as u64 {
                0 => take(row.cast_signed(), here),
                rest => take(row.cast_signed(), &self.overflowing(here, be32(bytes, local)?, rest)?),
            }
        }
        Some(())
    }

    /// How many bytes of a record stand in its page.
    fn local_bytes(&self, length: u64) -> Option<usize> {
        let usable = self.pages.usable;
        let (most, least) = (usable - 35, (usable - 12) * 32 / 255 - 23);
        if length <= most as u64 {
            return usize::try_from(length).ok();
        }
        let rest = usize::try_from((length - least as u64) % (usable as u64 - 4)).ok()?;
        Some(if least + rest <= most { least + rest } else { least })
    }

    fn overflowing(&mut self, here: &[u8], first: u32, mut rest: u64) -> Option<Vec<u8>> {
        let mut record = here.to_vec();
        let mut next = first;
        while rest > 0 {
            let page = self.page(next)?;
            let content = page.get(4..self.pages.usable)?;
            let taken = usize::try_from(rest).unwrap_or(usize::MAX).min(content.len());
            record.extend_from_slice(&content[..taken]);
            rest -= taken as u64;
            next = be32(page, 0)?;
        }
        Some(record)
    }
}

/// The places of the cells in a page, whose header has `header` bytes.
fn cells(page: &[u8], start: usize, header: usize) -> Option<impl DoubleEndedIterator<Item = usize>> {
    let count = usize::from(be16(page, start + 3)?);
    let pointers = page.get(start + header..start + header + 2 * count)?;
    Some(pointers.as_chunks::<2>().0.iter().map(|pointer| u16::from_be_bytes(*pointer).into()))
}

/// The children of a page, the last one first.
fn children(page: &[u8], start: usize) -> Option<Vec<u32>> {
    let last = be32(page, start + 8)?;
    let mut children = vec![last];
    for cell in cells(page, start, 12)?.rev() {
        children.push(be32(page, cell)?);
    }
    Some(children)
}
