//! A text file while it is edited: its mark, its line ends, and how a change of it is shown (B-2).

use reenact_wire::prelude::*;
use similar::{ChangeTag, TextDiff};

use crate::line_text::numbered_line;

/// Lines around a change in what the model sees of it.
const CONTEXT: usize = 5;

/// So many lines of a change are shown.
const SNIPPET_LINES_MAX: usize = 60;

/// The mark that some editors put before a text.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// A text with what belongs to its form and not to its content.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct EditedText {
    /// The content, with `\n` for each line end if all of them were `\r\n`.
    pub(crate) text: String,
    has_mark: bool,
    has_returns: bool,
}

impl EditedText {
    /// The text of these bytes.
    ///
    /// # Errors
    /// They are no UTF-8: to write them back would change them.
    pub(crate) fn from_bytes(content: &[u8]) -> Result<Self, String> {
        let text = core::str::from_utf8(content).map_err(|_| "it is not UTF-8, and to write it back would change it")?;
        let has_mark = text.starts_with(BYTE_ORDER_MARK);
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        let line_ends = text.matches('\n').count();
        let has_returns = line_ends > 0 && text.matches("\r\n").count() == line_ends;
        Ok(Self { text: if has_returns { text.replace("\r\n", "\n") } else { text.to_owned() }, has_mark, has_returns })
    }

    /// A text for this one, as the model wrote it.
    pub(crate) fn as_written<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.has_returns && text.contains("\r\n") { Cow::Owned(text.replace("\r\n", "\n")) } else { Cow::Borrowed(text) }
    }

    /// Another content in the same form.
    pub(crate) fn bytes_with(&self, text: &str) -> Vec<u8> {
        let text = if self.has_returns { Cow::Owned(text.replace('\n', "\r\n")) } else { Cow::Borrowed(text) };
        format!("{}{text}", if self.has_mark { BYTE_ORDER_MARK } else { "" }).into_bytes()
    }
}

/// The lines of the new text around its first change, numbered, and the whole change as a unified diff.
pub(crate) fn shown_change(path: &str, old: &str, new: &str) -> String {
    let diff = TextDiff::from_lines(old, new);
    let ops = diff.grouped_ops(CONTEXT);
    let snippet: Vec<String> = ops.first().map_or_else(Vec::new, |group| {
        let range = group.first().map_or(0, |op| op.new_range().start)..group.last().map_or(0, |op| op.new_range().end);
        let lines = new.lines().enumerate().skip(range.start).take(range.len().min(SNIPPET_LINES_MAX));
        lines.map(|(index, line)| numbered_line(index as u64 + 1, line.as_bytes())).collect()
    });
    let unified = diff.unified_diff().context_radius(3).header(path, path).to_string();
    format!("{}\n\n{}", snippet.join("\n"), unified.trim_end())
}

/// The lines that differ, each behind its sign.
pub(crate) fn changed_lines(old: &str, new: &str) -> String {
    let (old, new) = differing_lines(old, new);
    let diff = TextDiff::from_lines(old, new);
    let changes = diff.iter_all_changes().filter(|change| change.tag() != ChangeTag::Equal);
    let lines = changes.map(|change| format!("{}{}", change.tag(), change.value().trim_end_matches('\n')));
    lines.collect::<Vec<_>>().join("\n")
}

/// Both texts without the lines that they have in common at their beginnings and ends: most changes are small, and their files are not.
fn differing_lines<'a>(old: &'a str, new: &'a str) -> (&'a str, &'a str) {
    let common = |pairs: &mut dyn Iterator<Item = (&'a str, &'a str)>| -> usize {
        pairs.take_while(|(old, new)| old == new).map(|(line, _)| line.len()).sum()
    };
    let lines = |text: &'a str| text.split_inclusive('\n');
    let begin = common(&mut lines(old).zip(lines(new)));
    let (old, new) = (&old[begin..], &new[begin..]);
    let end = common(&mut lines(old).rev().zip(lines(new).rev()));
    (&old[..old.len() - end], &new[..new.len() - end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b_2_only_lines_that_differ_are_told() {
        let table = [
            ("a\nb\nc\n", "a\nx\nc\n", "-b\n+x"),
            ("a\na\n", "a\na\na\n", "+a"),
            ("a\na\na\n", "a\n", "-a\n-a"),
            ("", "a", "+a"),
            ("a", "a\n", "-a\n+a"),
            ("a\nb\nc\nd\n", "x\nb\nc\ny\n", "-a\n+x\n-d\n+y"),
            ("a\n", "a\n", ""),
        ];
        for (old, new, expected) in table {
            assert_eq!(changed_lines(old, new), expected, "{old:?} {new:?}");
        }
    }

    #[test]
    fn b_2_mark_and_line_ends_are_kept() {
        let of =
            |content: &str, text: &str| String::from_utf8(EditedText::from_bytes(content.as_bytes()).unwrap().bytes_with(text)).unwrap();
        assert_eq!(of("\u{feff}a\r\nb\r\n", "a\nc\n"), "\u{feff}a\r\nc\r\n");
        assert_eq!(of("a\r\nb\n", "a\r\nc\n"), "a\r\nc\n", "mixed line ends are left alone");
        assert_eq!(of("a", "b\n"), "b\n");
        assert!(EditedText::from_bytes(b"\xff").is_err());
    }

    #[test]
    fn b_2_a_change_is_shown_with_numbers_and_as_a_diff() {
        let old: String = (1..=20).map(|number| format!("{number}\n")).collect();
        let shown = shown_change("/w/a", &old, &old.replace("10\n", "ten\n"));
        assert!(shown.starts_with("5\t5\n") && shown.contains("\n10\tten\n") && shown.contains("\n15\t15\n\n"), "{shown}");
        assert!(shown.contains("--- /w/a\n+++ /w/a\n@@ -7,7 +7,7 @@\n 7\n 8\n 9\n-10\n+ten\n"), "{shown}");
    }
}
