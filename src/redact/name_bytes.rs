//! The bytes of names in a text, and what stands between a name and its value.

/// The longest name.
pub(super) const NAME_BYTES_MAX: usize = 128;

/// Whether a name may have this byte.
pub(super) fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-.".contains(&byte)
}

/// Skips at most `most` of the bytes.
pub(super) fn skip(text: &[u8], at: usize, most: usize, bytes: &[u8]) -> usize {
    at + text.get(at..).unwrap_or_default().iter().take(most).take_while(|byte| bytes.contains(byte)).count()
}
