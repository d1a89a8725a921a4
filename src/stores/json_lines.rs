//! Files of JSON lines: one object a line. A last line that is cut short is normal: its writer was killed.

use super::conversation::{HistoryPlace, StoreRemarks};
use super::{StoreError, StoreFile};
use reenact_wire::prelude::*;
use reenact_wire::raw_json::RawObject;

/// Gives each object to `take`, with its line from 1. Lines that are none become remarks.
///
/// # Errors
/// When no line is an object.
pub(super) fn each_object(
    file: &StoreFile<'_>,
    remarks: &mut StoreRemarks,
    mut take: impl FnMut(usize, &RawObject<'_>),
) -> Result<(), StoreError> {
    let bytes = file.bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file.bytes);
    let mut lines = bytes.split(|byte| *byte == b'\n').enumerate().peekable();
    let (mut objects, mut first_problem) = (0_usize, None);
    while let Some((index, line)) = lines.next() {
        let number = index + 1;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let object = core::str::from_utf8(line).map_err(|_| String::from("it is not UTF-8"));
        match object.and_then(|line| RawObject::parse(line).map_err(|error| error.to_string())) {
            Ok(object) => {
                objects += 1;
                take(number, &object);
            }
            Err(_) if lines.peek().is_none() => remarks.add(format!("line {number} is cut short")),
            Err(problem) => {
                remarks.add_damage(HistoryPlace::Line(number), format!("cannot be read: {problem}"));
                first_problem.get_or_insert((number, problem));
            }
        }
    }
    match first_problem {
        Some((number, problem)) if objects == 0 => {
            let text = format!("no line of it is a JSON object (line {number}: {problem}): is it the file of a session?");
            Err(StoreError::new(file, text))
        }
        _ => Ok(()),
    }
}

/// A text member, shared.
pub(super) fn shared(object: &RawObject<'_>, name: &str) -> Option<Arc<str>> {
    object.string(name).map(Arc::from)
}
