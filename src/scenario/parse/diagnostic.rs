//! Mistakes in a scenario file, shown the way compilers do (F-7).
//!
//! ```text
//! scenarios/x.toml:12:1: unknown key `modle` in [engine]; did you mean `model`?
//!    12 | modle = "claude"
//!       | ^^^^^
//!       = keys here: `model`, `max_tokens`, …
//! ```

use core::fmt;
use core::ops::Range;

use reenact_wire::prelude::*;

/// One thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The file as it was named, or `--set`.
    pub source: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// How many characters of the line are meant, at least 1.
    pub width: usize,
    /// The line itself.
    pub line_text: String,
    /// The mistake, in a line.
    pub message: String,
    /// The correction, where the message does not name it.
    pub help: Option<String>,
}

/// Everything that is wrong with a scenario, in the order of the places; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostics(pub Vec<Diagnostic>);

/// How many characters of a line that is longer than both together are shown on each side of the place.
const SHOWN_BEFORE: usize = 60;
const SHOWN_AFTER: usize = 60;

impl Diagnostic {
    /// A diagnostic at the bytes `start..end` of `text`; places outside of it count as its end.
    pub(super) fn at(source: &str, text: &str, start: usize, end: usize, message: String, help: Option<String>) -> Self {
        Self::in_lines(source, (text, &line_starts(text)), start..end, message, help)
    }

    /// The same for one of many in a text: where its lines start is known.
    pub(super) fn in_lines(
        source: &str,
        (text, starts): (&str, &[usize]),
        place: Range<usize>,
        message: String,
        help: Option<String>,
    ) -> Self {
        let start = boundary(text, place.start);
        let end = boundary(text, place.end.max(start));
        let line = starts.partition_point(|line_start| *line_start <= start).max(1);
        let line_start = starts.get(line - 1).copied().unwrap_or(0);
        let line_end = starts.get(line).map_or(text.len(), |next| next - 1);
        Self {
            source: source.into(),
            line,
            column: text[line_start..start].chars().count() + 1,
            width: text[start..end.min(line_end).max(start)].trim_end().chars().count().max(1),
            line_text: text[line_start..line_end].trim_end_matches('\r').into(),
            message,
            help,
        }
    }

    /// The same place with something else to say about it.
    #[must_use]
    pub fn saying(&self, message: String) -> Self {
        Self { message, help: None, ..self.clone() }
    }
}

/// Where each line of a text starts.
pub(super) fn line_starts(text: &str) -> Vec<usize> {
    core::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect()
}

/// The nearest place at or before `at` that does not split a character.
fn boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, line, column, width, line_text, message, help } = self;
        let is_short = line_text.chars().count() <= SHOWN_BEFORE + SHOWN_AFTER;
        let skipped = if is_short { 0 } else { (column - 1).saturating_sub(SHOWN_BEFORE) };
        let shown: Vec<char> = line_text.chars().skip(skipped).take(SHOWN_BEFORE + SHOWN_AFTER).collect();
        let (cut_before, cut_after) = (skipped > 0, line_text.chars().count() > skipped + shown.len());
        let before = column - 1 - skipped;
        writeln!(f, "{source}:{line}:{column}: {}", plain(message))?;
        write!(f, "{line:>5} | {}", if cut_before { "…" } else { "" })?;
        shown.iter().try_for_each(|character| write!(f, "{}", visible(*character)))?;
        writeln!(f, "{}", if cut_after { "…" } else { "" })?;
        write!(f, "      | {}", if cut_before { " " } else { "" })?;
        for at in 0..before {
            // A tab stays a tab, so that the marks stand below what they mean.
            f.write_str(if shown.get(at) == Some(&'\t') { "\t" } else { " " })?;
        }
        let room = shown.len().saturating_sub(before).max(1);
        write!(f, "{}", "^".repeat((*width).min(room)))?;
        match help {
            Some(help) => write!(f, "\n      = {}", plain(help)),
            None => Ok(()),
        }
    }
}

/// A message may quote the file: what would disturb a terminal is shown by its code.
fn plain(message: &str) -> String {
    let is_direction = |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let shown = |c: char| if c.is_control() || is_direction(c) { c.escape_unicode().to_string() } else { c.to_string() };
    message.chars().map(shown).collect()
}

/// Control characters would disturb a terminal and the marks below the line.
fn visible(character: char) -> char {
    if character.is_control() && character != '\t' { '\u{fffd}' } else { character }
}

/// How many diagnostics are shown; a page of them is enough to begin with.
const DIAGNOSTICS_SHOWN: usize = 10;

/// A page of diagnostics, an empty line between two, and how many there are.
impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut last_help = None;
        for diagnostic in self.0.iter().take(DIAGNOSTICS_SHOWN) {
            // What stands just above need not be read again.
            let is_known = diagnostic.help.is_some() && last_help == diagnostic.help.as_ref();
            let again = Diagnostic { help: diagnostic.help.as_ref().map(|_| String::from("as above")), ..diagnostic.clone() };
            writeln!(f, "{}\n", if is_known { &again } else { diagnostic })?;
            last_help = diagnostic.help.as_ref();
        }
        match self.0.len() {
            1 => f.write_str("1 error; correct it and run again"),
            count if count > DIAGNOSTICS_SHOWN => {
                write!(f, "{count} errors, the first {DIAGNOSTICS_SHOWN} are shown; correct them and run again")
            }
            count => write!(f, "{count} errors; correct them and run again"),
        }
    }
}

impl core::error::Error for Diagnostics {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f_7_columns_count_characters() {
        let text = "a = 1\r\nä = \"äöü\" # ß\r\n";
        let start = text.find("\"ä").unwrap();
        let diagnostic = Diagnostic::at("x.toml", text, start, start + "\"äöü\"".len(), "no".into(), None);
        assert_eq!((diagnostic.line, diagnostic.column, diagnostic.width), (2, 5, 5));
        assert_eq!(diagnostic.to_string(), "x.toml:2:5: no\n    2 | ä = \"äöü\" # ß\n      |     ^^^^^");
    }

    #[test]
    fn f_7_a_long_line_is_cut_around_the_place() {
        let text = format!("a = \"{}\", oops, \"{}\"", "x".repeat(300), "y".repeat(300));
        let start = text.find("oops").unwrap();
        let shown = Diagnostic::at("x", &text, start, start + 4, "no".into(), None).to_string();
        let lines: Vec<_> = shown.lines().collect();
        let marked = lines[2].chars().position(|c| c == '^').unwrap();
        assert_eq!(lines[1].chars().skip(marked).take(4).collect::<String>(), "oops");
        assert!(lines.iter().all(|line| line.chars().count() < 140), "{shown}");
    }

    #[test]
    fn f_7_many_faults_are_a_page_and_a_count() {
        let text = "a\n".repeat(500);
        let diagnostic = |line: usize| Diagnostic::at("x", &text, 2 * line, 2 * line + 1, "unknown".into(), Some("known here: `b`".into()));
        let shown = Diagnostics((0..500).map(diagnostic).collect()).to_string();
        assert!(shown.lines().count() < 60, "{shown}");
        assert_eq!(shown.matches("known here: `b`").count(), 1, "{shown}");
        assert!(shown.ends_with("500 errors, the first 10 are shown; correct them and run again"), "{shown}");
    }

    #[test]
    fn f_7_places_outside_of_the_text_are_its_end() {
        let diagnostic = Diagnostic::at("x", "ab", 9, 12, "no".into(), None);
        assert_eq!((diagnostic.line, diagnostic.column, diagnostic.width), (1, 3, 1));
        let diagnostic = Diagnostic::at("x", "", 0, 0, "no".into(), None);
        assert_eq!(diagnostic.to_string(), "x:1:1: no\n    1 | \n      | ^");
    }
}
