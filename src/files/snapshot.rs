//! Snapshots: the transcript that a person approved, in the file format of the insta crate, so that `cargo insta review` works on them (V-1).
//!
//! Read and written by our own code, because the program compares snapshots at run time, where no test harness is. The form:
//!
//! ```text
//! ---
//! source: scenarios/retry/after-three-529s.toml
//! description: After three 529s the second model takes over
//! expression: transcript
//! ---
//! the transcript's text, without blank lines at its end
//! ```
//!
//! A different transcript is left beside as `<name>.snap.new`, the *pending* snapshot, until it is accepted or rejected. The metadata between the
//! `---` lines is YAML; an entry is kept as the text it was read from, so that keys that are not known here survive (V-6).

mod metadata;
mod store;

pub use metadata::SnapshotMetadata;
pub use store::{
    RejectionOutcome, SnapshotError, SnapshotOutcome, accept, compare, compare_and_leave_pending, pending_below, pending_path, read_text,
    reject, restore, snapshots_below, write_pending,
};

use std::borrow::Cow;
use std::fmt;

/// One snapshot file's contents. Its `Display` is the file's text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Where it comes from and what it shows.
    pub metadata: SnapshotMetadata,
    contents: String,
}

/// Why a text is no snapshot. Lines are 1-based.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseSnapshotError {
    /// The first line is not `---`: an old form of insta's, or another kind of file.
    #[error("the first line is not `---`; remove it, and `reenact test --update` writes it anew")]
    NoFrontMatter,
    /// There is no second `---`.
    #[error("the metadata has no end; add a line `---` before the transcript, or remove the file and accept it anew")]
    UnclosedFrontMatter,
    /// A line of the metadata is no `key: value`.
    #[error("line {line} is not `key: value`; correct it, or remove the file and accept it anew")]
    BadMetadata {
        /// Where in the file.
        line: usize,
    },
    /// Insta keeps the contents of a binary snapshot in another file; a transcript is text.
    #[error("it is a binary snapshot, a transcript is text; give one of them another name")]
    Binary,
}

impl Snapshot {
    /// A snapshot of `contents`, normalised as insta does: without white space at the end, lines ended by `\n`.
    pub fn new(metadata: SnapshotMetadata, contents: &str) -> Snapshot {
        Snapshot { metadata, contents: normalised(contents).into_owned() }
    }

    /// Reads a snapshot file's text.
    ///
    /// # Errors
    /// See [`ParseSnapshotError`]; each ends with a next step.
    pub fn parse(text: &str) -> Result<Snapshot, ParseSnapshotError> {
        let (first, rest) = split_line(text);
        if first.trim_end() != "---" {
            return Err(ParseSnapshotError::NoFrontMatter);
        }
        let mut front_matter = Vec::new();
        let mut remaining = rest;
        while !remaining.is_empty() {
            let (line, rest) = split_line(remaining);
            remaining = rest;
            if line.trim_end() == "---" {
                let metadata = SnapshotMetadata::from_lines(&front_matter)?;
                let is_binary = metadata.get("snapshot_kind").as_deref() == Some("binary");
                return if is_binary { Err(ParseSnapshotError::Binary) } else { Ok(Snapshot::new(metadata, remaining)) };
            }
            front_matter.push(line);
        }
        Err(ParseSnapshotError::UnclosedFrontMatter)
    }

    /// The text that was approved, normalised: comparing is comparing strings.
    pub fn contents(&self) -> &str {
        &self.contents
    }
}

impl fmt::Display for Snapshot {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "---\n{}---\n{}\n", self.metadata, self.contents)
    }
}

/// Insta ignores what git or an editor may change at a text's end and at its line ends; a lone `\r` is data.
fn normalised(contents: &str) -> Cow<'_, str> {
    let contents = contents.trim_end();
    if contents.contains("\r\n") { Cow::Owned(contents.replace("\r\n", "\n")) } else { Cow::Borrowed(contents) }
}

/// The first line without its line end, and what follows.
fn split_line(text: &str) -> (&str, &str) {
    let (line, rest) = text.split_once('\n').unwrap_or((text, ""));
    (line.strip_suffix('\r').unwrap_or(line), rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "---\nsource: scenarios/a.toml\nexpression: transcript\n---\n0.000s  user  prompt 1\n\n        done\n";

    #[test]
    fn v_1_a_file_is_read_and_written_back() {
        let snapshot = Snapshot::parse(FILE).expect("a snapshot");
        assert_eq!(snapshot.metadata.source().as_deref(), Some("scenarios/a.toml"));
        assert_eq!(snapshot.contents(), "0.000s  user  prompt 1\n\n        done");
        assert_eq!(snapshot.to_string(), FILE);
    }

    #[test]
    fn v_1_line_ends_and_the_texts_end_do_not_count() {
        let snapshot = Snapshot::parse(FILE).expect("a snapshot");
        for text in [FILE.replace('\n', "\r\n"), format!("{FILE}\n\n \t\n"), FILE.trim_end().to_string()] {
            assert_eq!(Snapshot::parse(&text).as_ref(), Ok(&snapshot), "{text:?}");
        }
        assert_eq!(Snapshot::new(SnapshotMetadata::default(), "a\rb\n").contents(), "a\rb");
        assert_eq!(Snapshot::new(SnapshotMetadata::default(), "\n  a").contents(), "\n  a");
    }

    #[test]
    fn v_1_dashes_in_the_contents_end_nothing() {
        let snapshot = Snapshot::new(SnapshotMetadata::default(), "a\n---\nb\n---");
        assert_eq!(Snapshot::parse(&snapshot.to_string()), Ok(snapshot));
    }

    #[test]
    fn v_1_what_is_no_snapshot_is_told() {
        assert_eq!(Snapshot::parse("Expression: a\n\nb"), Err(ParseSnapshotError::NoFrontMatter));
        assert_eq!(Snapshot::parse(""), Err(ParseSnapshotError::NoFrontMatter));
        assert_eq!(Snapshot::parse("---\na: b\n"), Err(ParseSnapshotError::UnclosedFrontMatter));
        assert_eq!(Snapshot::parse("---\na: b\nnonsense\n---\n"), Err(ParseSnapshotError::BadMetadata { line: 3 }));
        assert_eq!(Snapshot::parse("---\nextension: png\nsnapshot_kind: binary\n---\n"), Err(ParseSnapshotError::Binary));
    }
}
