//! Bytes that recordings hold as base64, each recorder in its own form.

use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD};

/// Bytes of base64 that may be broken into lines, in either alphabet, with or without its padding.
///
/// # Errors
/// When it is not base64: the problem, for people.
pub fn from_base64(text: &str) -> Result<Vec<u8>, String> {
    let packed: String = text.chars().filter(|c| !c.is_whitespace() && *c != '=').collect();
    let alphabet = if packed.contains(['-', '_']) { &URL_SAFE } else { &STANDARD };
    GeneralPurpose::new(alphabet, NO_PAD).decode(packed).map_err(|error| error.to_string())
}
