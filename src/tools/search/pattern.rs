//! The expression that Grep looks for, and the search of a content in memory.

use reenact_wire::prelude::*;
use regex::bytes::{Regex, RegexBuilder};

use crate::line_text::without_end;

/// A regular expression with what its search depends on.
#[derive(Clone, Debug)]
pub struct SearchPattern {
    /// The expression, as the model wrote it.
    pub expression: String,
    /// Whether letters of both cases are alike.
    pub ignores_case: bool,
    /// Whether a match may go over several lines. Then a dot stands for a line end as well.
    pub is_multiline: bool,
    /// How many lines around a match are shown.
    pub context: usize,
    /// How many matching lines of a file are looked for.
    pub most: usize,
    compiled: Regex,
}

/// A line of a file that is shown for a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchedLine {
    /// Its number, from 1.
    pub number: u64,
    /// Its bytes, without its end.
    pub line: Vec<u8>,
    /// Whether it fits, and does not only stand near one that does.
    pub is_match: bool,
}

impl SearchPattern {
    /// An expression for lines.
    ///
    /// # Errors
    /// It is no regular expression, or needs several lines and may not have them.
    pub fn new(expression: &str, ignores_case: bool, is_multiline: bool) -> Result<Self, String> {
        if !is_multiline && (expression.contains('\n') || expression.contains("\\n")) {
            return Err(String::from("a pattern with a line end fits nothing in one line; set `multiline`"));
        }
        let compiled = RegexBuilder::new(expression)
            .case_insensitive(ignores_case)
            .multi_line(true)
            // As ripgrep does: a line may end in both, and its `$` stands before both.
            .crlf(!is_multiline)
            .dot_matches_new_line(is_multiline)
            .build()
            .map_err(|error| format!("the pattern is no regular expression: {error}"))?;
        Ok(Self { expression: expression.to_owned(), ignores_case, is_multiline, context: 0, most: usize::MAX, compiled })
    }

    /// With so many lines around each match, and at most so many matching lines of a file.
    pub fn with_limits(self, context: usize, most: usize) -> Self {
        Self { context, most, ..self }
    }

    /// The lines of a content that fit, with those around them; none of a binary content.
    pub fn lines_of(&self, content: &[u8]) -> Vec<MatchedLine> {
        if content.contains(&0) {
            return Vec::new();
        }
        let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
        let lines = lines(content);
        let mut matching = if self.is_multiline { self.spans(content, &lines) } else { self.single(content, &lines) };
        matching.truncate(self.most);
        with_context(&lines, &matching, self.context)
    }

    /// Lines that have a match of their own. The expression sees the whole content, so that its anchors know what a line end is.
    fn single(&self, content: &[u8], lines: &[(usize, &[u8])]) -> Vec<usize> {
        let mut matching = Vec::new();
        let mut index = 0;
        while let Some((start, line)) = lines.get(index)
            && matching.len() < self.most
        {
            let Some(found) = self.compiled.find_at(content, *start) else { break };
            let end = start + line.len();
            if found.start() > end {
                // Behind the last line end no line is left.
                index = line_of(lines, found.start()).max(index + 1);
                continue;
            }
            // A match that goes on in the next line is none here. In the line alone there may be a shorter one.
            if found.end() <= end || self.compiled.is_match(line) {
                matching.push(index);
            }
            index += 1;
        }
        matching
    }

    /// All lines that a match touches.
    fn spans(&self, content: &[u8], lines: &[(usize, &[u8])]) -> Vec<usize> {
        let mut matching: Vec<usize> = Vec::new();
        for found in self.compiled.find_iter(content) {
            if lines.is_empty() || (found.is_empty() && found.start() == content.len() && content.ends_with(b"\n")) {
                continue;
            }
            let last = line_of(lines, found.end().saturating_sub(1).max(found.start()));
            let next = matching.last().map_or(0, |last| last + 1);
            matching.extend(line_of(lines, found.start()).max(next)..=last);
            if matching.len() >= self.most {
                break;
            }
        }
        matching
    }
}

/// The lines of a content, without their line feeds, each with the byte at which it begins.
fn lines(content: &[u8]) -> Vec<(usize, &[u8])> {
    let mut at = 0;
    let cut = |line| {
        at += <[u8]>::len(line);
        (at - line.len(), line.strip_suffix(b"\n").unwrap_or(line))
    };
    content.split_inclusive(|byte| *byte == b'\n').map(cut).collect()
}

/// The line that a byte belongs to.
fn line_of(lines: &[(usize, &[u8])], at: usize) -> usize {
    lines.partition_point(|(start, _)| *start <= at).saturating_sub(1)
}

fn with_context(lines: &[(usize, &[u8])], matching: &[usize], context: usize) -> Vec<MatchedLine> {
    let mut shown: Vec<MatchedLine> = Vec::new();
    let mut next = 0;
    for (nth, index) in matching.iter().enumerate() {
        let end = (index + context + 1).min(lines.len());
        // Those behind it that fit are shown for themselves.
        let end = matching.get(nth + 1).map_or(end, |following| end.min(*following));
        let first = index.saturating_sub(context).max(next);
        for (at, (_, line)) in lines.iter().enumerate().take(end).skip(first) {
            shown.push(MatchedLine { number: at as u64 + 1, line: without_end(line).to_vec(), is_match: at == *index });
        }
        next = end.max(next);
    }
    shown
}
