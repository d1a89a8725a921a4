//! Forms that nobody has filled in.

/// A form that nobody has filled in: one letter is half of it, in a row.
pub(super) fn is_filler(secret: &[u8]) -> bool {
    let is_blank = |run: &&[u8]| b"xX*._-".contains(&run[0]);
    let longest = secret.chunk_by(|one, other| one == other).filter(is_blank).map(<[u8]>::len).max().unwrap_or_default();
    longest >= FILLER_BYTES_MIN && longest * 2 >= secret.len()
}

/// From how many equal letters on a secret may be none.
const FILLER_BYTES_MIN: usize = 8;
