//! Files that are one JSON document, and the lines in which its parts begin.

use super::conversation::{HistoryPlace, StoreRemarks};
use super::{StoreError, StoreFile};
use reenact_wire::prelude::*;
use reenact_wire::raw_json::{RawObject, elements};

/// A document.
#[derive(Debug)]
pub(super) struct StoreDocument<'a> {
    text: &'a str,
    /// Its members.
    pub(super) object: RawObject<'a>,
}

impl<'a> StoreDocument<'a> {
    /// Reads it.
    ///
    /// # Errors
    /// When it is no JSON object.
    pub(super) fn read(file: &StoreFile<'a>) -> Result<Self, StoreError> {
        let bytes = file.bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file.bytes);
        let text = core::str::from_utf8(bytes).map_err(|_| StoreError::new(file, "it is not UTF-8: is it the file of a session?"))?;
        let wrong = |error| format!("it is no JSON object: {error}; its writer may have been killed, or it is not the file of a session");
        let object = RawObject::parse(text).map_err(|error| StoreError::new(file, wrong(error)))?;
        Ok(Self { text, object })
    }

    /// The objects in the array that is called `name`, each with its place; `None` when there is no such array. In a document of one line a place is an
    /// index.
    pub(super) fn objects(&self, name: &str, remarks: &mut StoreRemarks) -> Option<Vec<(HistoryPlace, RawObject<'a>)>> {
        let is_one_line = !self.text.trim().contains('\n');
        let mut counted = (0, 1);
        let parts = elements(self.object.get(name)?).ok()?;
        let placed = |(index, part): (usize, &'a str)| {
            let at = part.as_ptr() as usize - self.text.as_ptr() as usize;
            let lines = self.text.as_bytes()[counted.0..at].iter().filter(|byte| **byte == b'\n').count();
            counted = (at, counted.1 + lines);
            let place = if is_one_line { HistoryPlace::Message(index) } else { HistoryPlace::Line(counted.1) };
            match RawObject::parse(part) {
                Ok(object) => Some((place, object)),
                Err(_) => {
                    remarks.add_damage(place, "is no message");
                    None
                }
            }
        };
        Some(parts.into_iter().enumerate().filter_map(placed).collect())
    }
}
