//! Bytes of a command's output as text, piece by piece.

/// A decoder that keeps a character which is not whole yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct OutputDecoder {
    pending: Vec<u8>,
}

impl OutputDecoder {
    /// The text of further bytes. What is no UTF-8 is shown as a replacement character.
    pub(crate) fn text(&mut self, bytes: &[u8]) -> String {
        self.pending.extend_from_slice(bytes);
        let (text, kept) = decoded(&self.pending);
        self.pending.drain(..self.pending.len() - kept);
        text
    }

    /// The rest, at the end of the output.
    pub(crate) fn rest(&mut self) -> String {
        String::from_utf8_lossy(&core::mem::take(&mut self.pending)).into_owned()
    }
}

/// The text, and how many bytes at the end are the beginning of a character.
fn decoded(bytes: &[u8]) -> (String, usize) {
    let mut text = String::with_capacity(bytes.len());
    let mut at = 0;
    for chunk in bytes.utf8_chunks() {
        at += chunk.valid().len() + chunk.invalid().len();
        text.push_str(chunk.valid());
        let invalid = chunk.invalid();
        if invalid.is_empty() {
            continue;
        }
        let is_open = core::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none());
        if at == bytes.len() && is_open {
            return (text, invalid.len());
        }
        text.push(char::REPLACEMENT_CHARACTER);
    }
    (text, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b_5_output_is_the_same_text_however_it_is_cut() {
        let bytes = "añ→𝄞z".as_bytes().iter().copied().chain([0xff, b'b', 0xe2, 0x86]).collect::<Vec<_>>();
        let whole = String::from_utf8_lossy(&bytes).into_owned();
        for size in 1..bytes.len() {
            let mut decoder = OutputDecoder::default();
            let mut text: String = bytes.chunks(size).map(|piece| decoder.text(piece)).collect();
            text.push_str(&decoder.rest());
            assert_eq!(text, whole, "in pieces of {size}");
        }
    }
}
