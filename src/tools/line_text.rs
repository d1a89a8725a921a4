//! Lines of a file as a model sees them: numbered, long ones cut (B-1).

use reenact_wire::prelude::*;

/// So many characters of a line are shown.
pub(crate) const LINE_CHARACTERS_MAX: usize = 2_000;

/// The mark at the end of a line that was cut.
const CUT_MARK: &str = "… (the line goes on)";

/// The line without the line end that it may have.
pub fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The text of a line. One that is too long is cut and marked.
pub(crate) fn shown_line(line: &[u8]) -> String {
    // A character has at most four bytes: more is not needed to know that the line is too long.
    let head = &line[..line.len().min(4 * LINE_CHARACTERS_MAX + 4)];
    let text = String::from_utf8_lossy(head);
    match text.char_indices().nth(LINE_CHARACTERS_MAX) {
        Some((end, _)) => format!("{}{CUT_MARK}", &text[..end]),
        None => text.into_owned(),
    }
}

/// A line with its number in front.
pub(crate) fn numbered_line(number: u64, line: &[u8]) -> String {
    format!("{number}\t{}", shown_line(line))
}

/// Cuts a text that comes in pieces into lines. Of a line that is too long the rest is let go, so memory does not depend on its length.
#[derive(Debug, Default)]
pub(crate) struct LineCutter {
    line: Vec<u8>,
    is_begun: bool,
    ends_in_return: bool,
}

impl LineCutter {
    /// Bytes of a line that are kept: more than are shown.
    const KEPT_BYTES: usize = 4 * LINE_CHARACTERS_MAX + 8;

    /// Takes a piece in. `each` gets every line that ends in it, without its end.
    pub(crate) fn take(&mut self, piece: &[u8], mut each: impl FnMut(&[u8])) {
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            let content = part.strip_suffix(b"\n");
            self.keep(content.unwrap_or(part));
            if content.is_some() {
                self.end_line(&mut each);
            }
        }
    }

    /// The last line, if no line end stands behind it.
    pub(crate) fn finish(&mut self, mut each: impl FnMut(&[u8])) {
        if self.is_begun {
            self.ends_in_return = false;
            self.end_line(&mut each);
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = Self::KEPT_BYTES.saturating_sub(self.line.len());
        self.line.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.is_begun = true;
        if let Some(last) = bytes.last() {
            self.ends_in_return = *last == b'\r';
        }
    }

    fn end_line(&mut self, each: &mut impl FnMut(&[u8])) {
        let line = if self.ends_in_return && self.line.ends_with(b"\r") { &self.line[..self.line.len() - 1] } else { &self.line };
        each(line);
        self.line.clear();
        (self.is_begun, self.ends_in_return) = (false, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(pieces: &[&str]) -> Vec<String> {
        let (mut cutter, mut lines) = (LineCutter::default(), Vec::new());
        for piece in pieces {
            cutter.take(piece.as_bytes(), |line| lines.push(String::from_utf8_lossy(line).into_owned()));
        }
        cutter.finish(|line| lines.push(String::from_utf8_lossy(line).into_owned()));
        lines
    }

    #[test]
    fn b_1_lines_do_not_depend_on_the_pieces() {
        assert_eq!(lines(&["a\nb\r\n\nc"]), ["a", "b", "", "c"]);
        assert_eq!(lines(&["a", "\nb\r", "\n", "\nc"]), ["a", "b", "", "c"]);
        assert_eq!(lines(&["a\n"]), ["a"]);
        assert_eq!(lines(&["a\r"]), ["a\r"], "no line ends here");
        assert_eq!(lines(&[""]), [] as [&str; 0]);
    }

    #[test]
    fn b_1_a_long_line_is_cut_and_marked() {
        let long = "ä".repeat(LINE_CHARACTERS_MAX + 1);
        assert_eq!(numbered_line(7, long.as_bytes()), format!("7\t{}{CUT_MARK}", "ä".repeat(LINE_CHARACTERS_MAX)));
        assert_eq!(shown_line("ä".repeat(LINE_CHARACTERS_MAX).as_bytes()).chars().count(), LINE_CHARACTERS_MAX);
        let mut cutter = LineCutter::default();
        for _ in 0..1_000 {
            cutter.take(&[b'x'; 1_000], |_| ());
        }
        assert!(cutter.line.capacity() < 20_000, "a line without end takes no more memory");
    }
}
