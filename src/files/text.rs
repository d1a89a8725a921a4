//! Text files that people wrote: UTF-8, or an error that names their encoding.

use std::path::Path;

use super::open::{self, BYTE_ORDER_MARK};
use reenact_wire::prelude::*;

/// No text that people write is larger.
pub(super) const TEXT_BYTES_MAX: u64 = 64 << 20;

/// Reads a text file. An error has a next step, and does not name the file.
///
/// # Errors
/// When it cannot be read, is no regular file or too large, and when it is not UTF-8.
#[doc(hidden)]
pub fn read(path: &Path) -> Result<String, String> {
    read_up_to(path, TEXT_BYTES_MAX)
}

/// The same for text that a program wrote.
///
/// # Errors
/// As [`read`].
#[doc(hidden)]
pub fn read_up_to(path: &Path, bytes_max: u64) -> Result<String, String> {
    decode(open::read(path, bytes_max).map_err(|error| error.to_string())?)
}

/// The text of a file's bytes.
///
/// # Errors
/// When they are not UTF-8.
pub(crate) fn decode(mut bytes: Vec<u8>) -> Result<String, String> {
    if bytes.starts_with(BYTE_ORDER_MARK) {
        bytes.drain(..BYTE_ORDER_MARK.len());
    }
    if let Some(encoding) = other_encoding(&bytes) {
        return Err(format!("not UTF-8 but {encoding} text: save it as UTF-8 (in an editor on Windows: Save as, Encoding, UTF-8)"));
    }
    String::from_utf8(bytes).map_err(|error| format!("not UTF-8 text (byte {}): save it as UTF-8", error.utf8_error().valid_up_to() + 1))
}

/// Encodings that are known by their first bytes: a mark, or the zero bytes of plain letters.
fn other_encoding(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => Some("UTF-32"),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some("UTF-16"),
        [first, 0, third, 0, ..] | [0, first, 0, third, ..] if *first != 0 && *third != 0 => Some("UTF-16"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f_7_text_in_another_encoding_is_called_by_its_name() {
        let utf_16 = |mark: &[u8]| [mark, &"title = 1".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>()].concat();
        assert!(decode(utf_16(&[0xff, 0xfe])).unwrap_err().starts_with("not UTF-8 but UTF-16 text: save it as UTF-8"));
        assert!(decode(utf_16(&[])).unwrap_err().starts_with("not UTF-8 but UTF-16 text"));
        assert!(decode(b"a = \"\xe9\"".to_vec()).unwrap_err().contains("byte 6"));
        assert_eq!(decode("ä".into()), Ok(String::from("ä")));
        assert_eq!(decode(Vec::new()), Ok(String::new()));
    }
}
