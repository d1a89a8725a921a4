//! Collects what is wrong while a scenario is read: nothing stops at the first diagnostic (F-7).

use super::diagnostic::{Diagnostic, Diagnostics, line_starts};
use super::nearest::nearest;
use super::recovery::{RecoveredText, syntax};
use super::tree::{TextPlace, TreeValue};
use reenact_wire::prelude::*;

/// Behind so many diagnostics no nearest word is looked for: nobody reads so many, and a file of nothing else would take long (K-12).
const HELP_MAX: usize = 1_000;

/// The sources, and the diagnostics so far.
pub(crate) struct DiagnosticReport {
    sources: Vec<ReportSource>,
    /// A file that is extended and was not found: whatever is missing may be in it.
    base_is_lost: bool,
    diagnostics: Vec<(TextPlace, String, Option<String>)>,
}

/// A text that places are in.
struct ReportSource {
    name: String,
    text: String,
    /// Where each line starts.
    starts: Vec<usize>,
    /// Lines, from 0, that could not be read at all.
    lost: Vec<usize>,
    /// Whether it is a file, as against an override.
    is_file: bool,
}

impl DiagnosticReport {
    /// A report on nothing yet; the first file that is added is source 0.
    pub(crate) fn new() -> Self {
        Self { sources: Vec::new(), base_is_lost: false, diagnostics: Vec::new() }
    }

    /// Adds a file with its syntax errors, and gives its number.
    pub(super) fn add_file(&mut self, name: &str, text: &str, recovered: &RecoveredText) -> usize {
        let source = self.sources.len();
        let (starts, lost) = (line_starts(text), recovered.lost.clone());
        self.sources.push(ReportSource { name: name.into(), text: text.into(), starts, lost, is_file: true });
        for (span, message) in &recovered.errors {
            let (message, help) = syntax::explained(text, span, message);
            self.value(TextPlace { source, start: span.start, end: span.end }, message, help);
        }
        source
    }

    /// A file cannot be extended, for the reason that stands in `message`.
    pub(crate) fn lost_base(&mut self, place: TextPlace, message: String) {
        self.base_is_lost = true;
        self.value(place, message, None);
    }

    /// Adds an override as a source and gives its number.
    pub(crate) fn add_override(&mut self, name: &str, text: String) -> usize {
        let starts = line_starts(&text);
        self.sources.push(ReportSource { name: name.into(), text, starts, lost: Vec::new(), is_file: false });
        self.sources.len() - 1
    }

    /// The names and texts of all sources, by their numbers.
    pub(crate) fn sources(&self) -> Arc<[(String, String)]> {
        self.sources.iter().map(|source| (source.name.clone(), source.text.clone())).collect()
    }

    /// The name of the file that a place is in; none for an override.
    pub(crate) fn file_name(&self, place: TextPlace) -> Option<&str> {
        self.sources.get(place.source).filter(|source| source.is_file).map(|source| source.name.as_str())
    }

    /// Something is wrong at a place.
    pub(crate) fn value(&mut self, place: TextPlace, message: String, help: Option<String>) {
        self.diagnostics.push((place, message, help));
    }

    /// A value is not of the kind that it should be.
    pub(crate) fn mismatch(&mut self, value: &TreeValue, wanted: &str) {
        self.value(value.place, format!("expected {wanted}, found {}", value.found()), None);
    }

    /// A table lacks something. Not said when part of the table could not be read, for then it may well be there.
    pub(crate) fn missing(&mut self, table: TextPlace, message: String, help: Option<String>) {
        if !self.has_lost_part(table) {
            self.value(table, message, help);
        }
    }

    /// A word that is none of those known here.
    pub(crate) fn unknown(&mut self, place: TextPlace, what: &str, word: &str, within: &str, known: &[&str]) {
        if self.diagnostics.len() >= HELP_MAX {
            return self.value(place, format!("unknown {what} `{word}`{within}"), None);
        }
        let near = nearest(word, known.iter().copied());
        let question = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        let list = known.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
        let help = (near.is_none() && !known.is_empty()).then(|| format!("known here: {list}"));
        self.value(place, format!("unknown {what} `{word}`{within}{question}"), help);
    }

    /// Whether the lines from a table's place to the next section hold some that could not be read; the whole file is a table, too. Where
    /// a file extends others, the table may as well go on in one of those.
    fn has_lost_part(&self, table: TextPlace) -> bool {
        let elsewhere =
            self.base_is_lost || self.sources.iter().enumerate().any(|(at, source)| at != table.source && !source.lost.is_empty());
        let Some(ReportSource { text, starts, lost, .. }) = self.sources.get(table.source) else { return elsewhere };
        if lost.is_empty() {
            return elsewhere;
        }
        let first = starts.partition_point(|start| *start <= table.start).saturating_sub(1);
        let is_head = |line: &usize| text[starts[*line]..].trim_start_matches([' ', '\t']).starts_with('[');
        let next = (first + 1..starts.len()).find(is_head);
        let end = if table.end == 0 { usize::MAX } else { next.unwrap_or(usize::MAX) };
        elsewhere || lost.iter().any(|line| (first..end).contains(line))
    }

    /// Where in its source a value's text begins, if it stands there without escapes.
    pub(crate) fn find(&self, place: TextPlace, text: &str) -> Option<usize> {
        let written = self.sources.get(place.source)?.text.get(place.start..place.end)?;
        written.find(text).map(|at| place.start + at)
    }

    /// A diagnostic without a message, for what is only found out later (a file that is not there).
    pub(crate) fn diagnostic_at(&self, place: TextPlace) -> Diagnostic {
        self.diagnostic((place, String::new(), None))
    }

    fn diagnostic(&self, (place, message, help): (TextPlace, String, Option<String>)) -> Diagnostic {
        let source = &self.sources[place.source.min(self.sources.len() - 1)];
        Diagnostic::in_lines(&source.name, (&source.text, &source.starts), place.start..place.end, message, help)
    }

    /// All diagnostics in the order of their places, or `Ok` without any.
    pub(crate) fn verdict(&self) -> Result<(), Diagnostics> {
        let mut found = self.diagnostics.clone();
        found.sort_by(|left, right| (left.0, &left.1).cmp(&(right.0, &right.1)));
        found.dedup();
        let diagnostics: Vec<Diagnostic> = found.into_iter().map(|found| self.diagnostic(found)).collect();
        if diagnostics.is_empty() { Ok(()) } else { Err(Diagnostics(diagnostics)) }
    }
}
