//! Sessions that agents keep on disk, read as conversations (V-9).
//!
//! ```text
//!   bytes of files ──> reader of the format ──> StoredConversation ──> rules (O-1, O-2, O-10, O-20, O-24) ──> HistoryViolation
//!                                                requests ──────────────┘
//! ```
//!
//! A doctor of sessions ([`judgement`]) adds the likely mechanism of each finding, and the answer of the API to the next request.
//!
//! Its rules are in `docs/rules/review.md` (V-9) and `docs/rules/explore.md` (O-1 and those behind it).
//!
//! One file for each format. A reader gets bytes and opens nothing. It takes any bytes: its work is linear, and what it cannot read becomes a remark.
//! The rules look at stored conversations and at requests alike.

#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod claude_code;
mod cline;
mod codex;
mod content;
mod continue_cli;
pub mod conversation;
mod document;
mod gptme;
mod json_lines;
pub mod judgement;
mod mechanism;
mod opencode;
mod pi;
pub mod recognition;
pub mod rules;
mod shortening;
mod sqlite;
mod tree;

use core::fmt;

pub use shortening::shortened;

use conversation::{HistoryDialect, StoredConversation};
use reenact_wire::prelude::*;

words! {
    /// How an agent keeps its sessions.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum StoreFormat {
        /// Claude Code: JSON lines that name their parents.
        ClaudeCode = "claude-code",
        /// pi, version 3: JSON lines that name their parents.
        Pi = "pi",
        /// The command line of Continue: one JSON document a session.
        Continue = "continue",
        /// cline: one JSON document a session, `*.messages.json`.
        Cline = "cline",
        /// codex: rollouts, JSON lines of Responses items.
        Codex = "codex",
        /// gptme: `conversation.jsonl`.
        Gptme = "gptme",
        /// opencode: its database with the log beside it, or, in older versions, a JSON file for each message and each part of one.
        Opencode = "opencode",
    }
}

/// A file of a store.
#[derive(Clone, Copy, Debug)]
pub struct StoreFile<'a> {
    /// Its name, as messages call it.
    pub name: &'a str,
    /// Its contents.
    pub bytes: &'a [u8],
}

/// Why a store is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreError {
    /// The name of the file.
    pub file: Arc<str>,
    /// A sentence: the problem, and the next step.
    pub problem: String,
}

impl StoreFormat {
    /// Reads the files of a store: for each session its conversation, and behind it its side chains. An empty file has none.
    ///
    /// # Errors
    /// When a file is of another format. Single lines that cannot be read are remarks.
    pub fn read(self, files: &[StoreFile<'_>]) -> Result<Vec<StoredConversation>, StoreError> {
        let read_one: fn(&StoreFile<'_>) -> _ = match self {
            Self::Opencode => return opencode::read(files),
            Self::ClaudeCode => |file| claude_code::read(file, &[]),
            Self::Pi => pi::read,
            Self::Continue => continue_cli::read,
            Self::Cline => cline::read,
            Self::Codex => codex::read,
            Self::Gptme => gptme::read,
        };
        let mut conversations = Vec::new();
        for file in files.iter().filter(|file| !file.bytes.trim_ascii().is_empty()) {
            conversations.extend(read_one(file)?);
        }
        Ok(conversations)
    }

    /// Whether a session may go on from a line of another file of its folder.
    pub fn goes_on_elsewhere(self) -> bool {
        self == Self::ClaudeCode
    }

    /// The ids of a file's lines, which sessions of other files may go on from, each with the id of the line before it.
    pub fn line_links(self, bytes: &[u8]) -> impl Iterator<Item = (String, Option<String>)> {
        let bytes = if self.goes_on_elsewhere() { bytes } else { &[] };
        claude_code::line_links(bytes)
    }

    /// Reads one file whose conversations go on from lines of other files: its own conversations, each with its whole past. `beginnings` are the other files,
    /// the oldest first. Only Claude Code keeps a session so.
    ///
    /// # Errors
    /// As for [`Self::read`].
    pub fn read_with_beginnings(self, file: &StoreFile<'_>, beginnings: &[StoreFile<'_>]) -> Result<Vec<StoredConversation>, StoreError> {
        match self {
            Self::ClaudeCode => claude_code::read(file, beginnings),
            _ => self.read(&[*file]),
        }
    }

    /// Whether its reader looks for calls inside of texts, so that no text may be [`shortened`].
    pub fn has_calls_in_texts(self) -> bool {
        matches!(self, Self::Gptme | Self::Opencode)
    }

    /// The API whose history the sessions are.
    pub fn dialect(self) -> HistoryDialect {
        match self {
            Self::Codex => HistoryDialect::Responses,
            _ => HistoryDialect::Messages,
        }
    }
}

impl StoreError {
    fn new(file: &StoreFile<'_>, problem: impl Into<String>) -> Self {
        Self { file: file.name.into(), problem: problem.into() }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.problem)
    }
}

impl core::error::Error for StoreError {}

#[cfg(test)]
mod plants;
#[cfg(test)]
mod tests;
