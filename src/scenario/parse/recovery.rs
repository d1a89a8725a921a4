//! Finds every syntax error of a file, and leaves a text that can be read in spite of them (F-7).
//!
//! The TOML parser recovers by itself, but not always as a person would: after `model "x"` it reads nothing more, and an open
//! bracket swallows the sections that follow. So a statement with an error is replaced by the same key with a stand-in
//! value (or, when even its key cannot be made out, by nothing), and the file is read again until only its meaning is left to judge.
//! The lines stay where they are, and so does every key, so places in the recovered text are places in the file.

pub(super) mod syntax;

use core::cell::Cell;
use core::ops::Range;

use toml::de::{DeTable, Error};

use reenact_wire::prelude::*;

/// A text without syntax errors as far as it goes, and what was wrong.
pub(super) struct RecoveredText {
    /// The text to read.
    pub(super) text: String,
    /// The syntax errors by their place in bytes of the original.
    pub(super) errors: Vec<(Range<usize>, String)>,
    /// Lines, from 0, whose value is a stand-in that says nothing.
    pub(super) stand_ins: Vec<usize>,
    /// Lines, from 0, of which nothing is left.
    pub(super) lost: Vec<usize>,
}

/// A file with more wrong statements than this is no scenario; what was found so far is enough to say so.
const ROUNDS: usize = 64;

/// So many errors are enough to show that a text is no scenario; looking for all in a large foreign file would take long.
const ERRORS_MAX: usize = 40;

/// So many bytes are read in the search for the errors of a file, and the file once in any case. A scenario of 100 kB may have thirty errors or so; looking
/// for every error of a large foreign file would take long (K-12).
const SEARCH_BYTES_MAX: usize = 4 << 20;

/// An error costs as much time as so many bytes without one.
const BYTES_OF_ERROR: usize = 16;

/// The one complaint after which the parser has read everything all the same.
const DUPLICATE: &str = "duplicate key";

/// Repairs `original` statement by statement.
pub(super) fn recover(original: &str) -> RecoveredText {
    let mut draft = RecoveryDraft::new(original);
    for _ in 0..ROUNDS {
        let text = draft.lines.join("\n");
        let errors = draft.errors_of(&text);
        if draft.errors.len() >= ERRORS_MAX {
            break;
        }
        let Some(first) = errors.iter().filter(|error| error.message() != DUPLICATE).map(start_of).min() else { break };
        let line = line_of(&starts(draft.lines.iter().map(|line| &**line)), first);
        draft.mend_statement(line);
        if draft.bytes_left.get() == 0 {
            break;
        }
    }
    let text = draft.lines.join("\n");
    let text_starts = starts(text.split('\n'));
    for error in errors_of(&text).iter().filter(|error| error.message() == DUPLICATE).take(ERRORS_MAX) {
        draft.keep(&text_starts, text.len(), error, 0..draft.lines.len());
    }
    RecoveredText { text, errors: draft.errors, stand_ins: draft.stand_ins, lost: draft.lost }
}

/// A place in the recovered text as a place in the original: lines are the same, and so is what stands before a stand-in.
pub(super) struct RecoveredPlaces {
    recovered: Vec<usize>,
    original: Vec<usize>,
}

impl RecoveredPlaces {
    pub(super) fn new(recovered: &str, original: &str) -> Self {
        Self { recovered: starts(recovered.split('\n')), original: starts(original.split('\n')) }
    }

    pub(super) fn original(&self, offset: usize) -> usize {
        let line = line_of(&self.recovered, offset);
        self.original.get(line).copied().unwrap_or(0) + (offset - self.recovered[line])
    }

    /// The line, from 0, of a place in the recovered text.
    pub(super) fn line(&self, offset: usize) -> usize {
        line_of(&self.recovered, offset)
    }
}

struct RecoveryDraft<'t> {
    lines: Vec<Cow<'t, str>>,
    /// Where each line starts in the original.
    starts: Vec<usize>,
    errors: Vec<(Range<usize>, String)>,
    stand_ins: Vec<usize>,
    lost: Vec<usize>,
    /// How many more bytes may be read in the search for errors.
    bytes_left: Cell<usize>,
}

impl<'t> RecoveryDraft<'t> {
    fn new(original: &'t str) -> Self {
        Self {
            lines: original.split('\n').map(Cow::Borrowed).collect(),
            starts: starts(original.split('\n')),
            errors: Vec::new(),
            stand_ins: Vec::new(),
            lost: Vec::new(),
            bytes_left: Cell::new(SEARCH_BYTES_MAX),
        }
    }

    /// Reports what is wrong with the statement that `line` belongs to, and puts something readable in its place.
    fn mend_statement(&mut self, line: usize) {
        let first = self.statement_start(line);
        let mut end = self.statement_end(first);
        if self.is_clean(&self.lines[..end].join("\n")) {
            end = line + 1;
        }
        let text = self.lines[..end].join("\n");
        let found = self.errors.len();
        let text_starts = starts(text.split('\n'));
        for error in self.errors_of(&text).iter().filter(|error| error.message() != DUPLICATE).take(ERRORS_MAX) {
            self.keep(&text_starts, text.len(), error, first..end);
        }
        if self.errors.len() == found {
            let start = self.starts[line];
            self.errors.push((start..start, "not TOML".into()));
        }
        let candidate = stand_in(&self.lines[first]);
        let fits = candidate.as_ref().is_some_and(|candidate| {
            let mut head = self.lines[..first].join("\n");
            head.push('\n');
            head.push_str(candidate);
            self.is_clean(&head)
        });
        let header = is_header(&self.lines[first]);
        match candidate {
            Some(candidate) if fits => {
                if !header {
                    self.stand_ins.push(first);
                }
                self.blank(first..end);
                self.lines[first] = candidate.into();
            }
            // The keys of a section without its name would be taken for those of the section before.
            _ if header => {
                let next = (end..self.lines.len()).find(|line| is_header(&self.lines[*line])).unwrap_or(self.lines.len());
                self.lost.extend(first..next);
                self.blank(first..next);
            }
            _ => {
                self.lost.extend(first..end);
                self.blank(first..end);
            }
        }
    }

    fn blank(&mut self, lines: Range<usize>) {
        self.lines[lines].fill(Cow::Borrowed(""));
    }

    /// The nearest line at or above that begins a statement: everything before it is whole.
    fn statement_start(&self, line: usize) -> usize {
        let begins = |at: &usize| *at == line || begins_statement(&self.lines[*at]);
        (0..=line).rev().filter(begins).find(|at| self.is_clean(&self.lines[..*at].join("\n"))).unwrap_or(0)
    }

    /// The line after a statement's last: a statement ends at the latest where a line begins another one and is not indented more.
    fn statement_end(&self, first: usize) -> usize {
        let allowed = indent(&self.lines[first]);
        let ends = |line: &usize| begins_statement(&self.lines[*line]) && indent(&self.lines[*line]) <= allowed;
        (first + 1..self.lines.len()).find(ends).unwrap_or(self.lines.len())
    }

    /// Whether the text has no error that hides what follows. Taken for granted once the bytes are used up.
    fn is_clean(&self, text: &str) -> bool {
        self.bytes_left.get() == 0 || self.errors_of(text).iter().all(|error| error.message() == DUPLICATE)
    }

    /// The errors of the text, and less that may be read from now on.
    fn errors_of(&self, text: &str) -> Vec<Error> {
        let errors = errors_of(text);
        self.bytes_left.set(self.bytes_left.get().saturating_sub(text.len() + errors.len() * BYTES_OF_ERROR));
        errors
    }

    /// Notes an error in a text of this length with these line starts, at most one a line (others on it mostly follow from the first); places are brought into the given lines.
    fn keep(&mut self, lines: &[usize], length: usize, error: &Error, within: Range<usize>) {
        let span = error.span().unwrap_or(length..length);
        let mut line = line_of(lines, span.start);
        let mut column = span.start - lines[line];
        let last = (within.start..within.end).rev().find(|line| !self.lines[*line].trim().is_empty()).unwrap_or(within.start);
        if line > last {
            (line, column) = (last, self.lines[last].trim_end().len());
        }
        if line < within.start {
            return;
        }
        let start = self.starts[line] + column;
        let line_end = self.starts.get(line + 1).copied().unwrap_or(usize::MAX);
        if self.errors.iter().any(|(place, _)| (self.starts[line]..line_end).contains(&place.start)) {
            return;
        }
        let length = if start_of(error) == span.start && column > 0 || span.start == lines[line] { span.len() } else { 0 };
        self.errors.push((start..start + length, error.message().into()));
    }
}

fn errors_of(text: &str) -> Vec<Error> {
    DeTable::parse_recoverable(text).1
}

fn start_of(error: &Error) -> usize {
    error.span().map_or(0, |span| span.start)
}

/// Where each line starts.
fn starts<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<usize> {
    let advance = |next: &mut usize, line: &str| {
        let start = *next;
        *next += line.len() + 1;
        Some(start)
    };
    lines.scan(0_usize, advance).collect()
}

fn line_of(starts: &[usize], offset: usize) -> usize {
    starts.partition_point(|start| *start <= offset).saturating_sub(1)
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

fn is_key_character(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-' | '.' | '"' | '\'')
}

/// `[section]` or `[[section]]`, also without its last bracket; not an array's `[1, 2]` or `[ {…} ]`.
fn is_header(line: &str) -> bool {
    let line = line.trim_start();
    let name = line.trim_start_matches('[').trim_start();
    line.starts_with('[') && name.starts_with(char::is_alphabetic) && !name.contains(',')
}

/// Whether a line looks like the first of a statement: a section, or a key with its `=`.
fn begins_statement(line: &str) -> bool {
    let trimmed = line.trim_start();
    let rest = trimmed.trim_start_matches(is_key_character);
    is_header(line) || (rest.len() < trimmed.len() && rest.trim_start().starts_with('='))
}

/// The statement's name with nothing wrong about it; `None` when it has none that could be made out.
fn stand_in(line: &str) -> Option<String> {
    let margin = &line[..indent(line)];
    let trimmed = line.trim_start();
    let name_of = |text: &str| text[..text.find(|c| !is_key_character(c)).unwrap_or(text.len())].to_owned();
    if !is_header(line) {
        let name = name_of(trimmed);
        return (!name.is_empty()).then(|| format!("{margin}{name} = 0"));
    }
    let (open, close) = if trimmed.starts_with("[[") { ("[[", "]]") } else { ("[", "]") };
    let inner = trimmed.trim_start_matches('[');
    let name = name_of(inner);
    (!name.is_empty()).then(|| format!("{margin}{open}{name}{close}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads_clean(text: &str) -> bool {
        errors_of(text).iter().all(|error| error.message() == DUPLICATE)
    }

    #[test]
    fn k_12_a_file_of_errors_is_not_read_again_for_each_of_them() {
        let text = "[timing]\nhead =rules = [\"T-5\"]\n[[hook]]\nname = \"a\"\n".repeat(4_000);
        let recovered = recover(&text);
        assert!((1..=2 * ERRORS_MAX + 1).contains(&recovered.errors.len()), "{}", recovered.errors.len());
        let draft = RecoveryDraft::new("");
        let count = draft.errors_of(&"\r".repeat(1_000)).len();
        assert!(count > 900, "{count}");
        assert_eq!(
            SEARCH_BYTES_MAX - draft.bytes_left.get(),
            1_000 + count * BYTES_OF_ERROR,
            "a byte that is an error costs more than another"
        );
    }

    fn recovered(text: &str) -> (String, Vec<(usize, String)>) {
        let recovered = recover(text);
        assert!(reads_clean(&recovered.text), "{}", recovered.text);
        assert_eq!(recovered.text.matches('\n').count(), text.matches('\n').count());
        (recovered.text, recovered.errors.into_iter().map(|(place, message)| (place.start, message)).collect())
    }

    fn places(text: &str) -> Vec<usize> {
        recovered(text).1.into_iter().map(|(start, _)| start).collect()
    }

    #[test]
    fn f_7_text_without_errors_stays_as_it_is() {
        let text = "a = 1\r\n[b]\nc = [\n1,\n]\n";
        assert_eq!(recovered(text), (text.into(), vec![]));
    }

    #[test]
    fn f_7_a_key_without_a_value_hides_nothing_after_it() {
        assert_eq!(recovered("model \"x\"\nseed = 3\n[engine]\nmodle = 2\n").0, "model = 0\nseed = 3\n[engine]\nmodle = 2\n");
        assert_eq!(recovered("seed =\n[engine]\n").0, "seed = 0\n[engine]\n");
        assert_eq!(recovered("!?\nseed = 1\n").0, "\nseed = 1\n");
    }

    #[test]
    fn f_7_an_open_bracket_ends_where_the_next_statement_begins() {
        let text = "tool = [\n  { name = 1,\nseed = 3\n[engine]\nmodle = 2\n";
        assert_eq!(recovered(text).0, "tool = 0\n\nseed = 3\n[engine]\nmodle = 2\n");
        assert_eq!(recovered("text = \"\"\"abc\nseed = 3\n").0, "text = 0\nseed = 3\n");
        let (text, errors) = recovered("a = [1, 2\n[engine]\n");
        assert_eq!((text.as_str(), errors[0].0), ("a = 0\n[engine]\n", 9), "{errors:?}");
    }

    #[test]
    fn f_7_a_section_keeps_its_keys() {
        assert_eq!(recovered("[engine\nmodel = 1\n[[prompt]\na = 2\n").0, "[engine]\nmodel = 1\n[[prompt]]\na = 2\n");
        assert_eq!(recovered("[a!]\nmodel = 1\n[b]\nc = 2\n").0, "[a]\nmodel = 1\n[b]\nc = 2\n");
        assert_eq!(recovered("a = 1\n[a.b]\nmodel = 1\n[b]\nc = 2\n").0, "a = 1\n\n\n[b]\nc = 2\n", "nor does another section get them");
    }

    #[test]
    fn f_7_every_error_is_reported_once() {
        assert_eq!(places("a = x\nb = 1\nc = y\n[[d]\ne 1\n"), [4, 16, 22, 25]);
        assert_eq!(places("a = 1\na = 2\nb = x\n"), [16, 6]);
        assert_eq!(places("a = 1 b = 2\n"), [8]);
    }

    #[test]
    fn f_7_an_error_inside_a_long_value_takes_the_value_alone() {
        let text = "turn = [\n  { a = 1 },\n  { b },\n  { c = 3 },\n]\nseed = 1\n";
        assert_eq!(recovered(text).0, "turn = 0\n\n\n\n\nseed = 1\n");
        assert_eq!(places(text).len(), 1);
    }
}
