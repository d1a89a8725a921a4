//! Read: the lines of a text, an image, a document, the cells of a notebook (B-1).

use core::ops::ControlFlow;

use serde::Deserialize;

use reenact_engine::contract::ToolOutcome;
use reenact_wire::prelude::*;

use super::image_size::fitting;
use super::notebook;
use crate::file_kind::{FileKind, HEAD_BYTES, file_kind};
use crate::line_text::{LineCutter, numbered_line};
use crate::outcome::{blocks, media_block};
use crate::read_state::{ContentDigest, FileStamp, ReadState};
use crate::workspace::{EntryFacts, FileProblem, Workspace, whole_content};

/// So many lines are given if the model names no limit.
const LINES_USUAL: u64 = 2_000;

/// A larger file is distinguished by its time alone: to read the whole of it takes longer than anyone waits.
const DIGEST_BYTES_MAX: u64 = 64 << 20;

/// Larger images, documents and notebooks fit into no request.
const MEDIA_BYTES_MAX: usize = 32 << 20;

/// The text in place of the text of an empty file.
const EMPTY: &str = "<system-reminder>The file exists and is empty.</system-reminder>";

/// The input of Read.
#[derive(Clone, Debug, Deserialize, PartialEq, Hash)]
pub(crate) struct ReadInput {
    pub(crate) file_path: String,
    /// The first line, from 1.
    offset: Option<u64>,
    limit: Option<u64>,
}

/// Reads the file at this path and notes it as read.
///
/// # Errors
/// The reason why nothing can be given.
pub(crate) fn read(workspace: &impl Workspace, state: &mut ReadState, path: &str, input: &ReadInput) -> Result<ToolOutcome, String> {
    let with_path = |problem: FileProblem| format!("{path}: {problem}");
    let facts = workspace.facts(path).map_err(with_path)?;
    if facts.is_folder {
        return Err(with_path(FileProblem::IsFolder));
    }
    let mut head = Vec::new();
    workspace
        .read(path, &mut |piece| {
            head.extend_from_slice(&piece[..piece.len().min(HEAD_BYTES - head.len())]);
            if head.len() < HEAD_BYTES { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
        .map_err(with_path)?;
    let kind = file_kind(path, &head);
    let (outcome, stamp) = match kind {
        FileKind::Binary => return Err(format!("{path}: it is a binary file")),
        FileKind::Text => {
            let (outcome, stamp) = text_lines(workspace, path, input, facts).map_err(with_path)?;
            (Ok(outcome), stamp)
        }
        FileKind::Image(_) | FileKind::Pdf | FileKind::Notebook => {
            let content = whole_content(workspace, path, MEDIA_BYTES_MAX).map_err(with_path)?;
            let stamp = FileStamp { modified: facts.modified, digest: Some(ContentDigest::from_bytes(&content)) };
            (media(path, kind, &content), stamp)
        }
    };
    state.note(path, stamp);
    outcome
}

fn media(path: &str, kind: FileKind, content: &[u8]) -> Result<ToolOutcome, String> {
    match kind {
        FileKind::Image(media_type) => {
            let (media_type, content) = fitting(media_type, content).map_err(|problem| format!("{path}: {problem}"))?;
            Ok(blocks(&[media_block("image", media_type, &content)]))
        }
        FileKind::Pdf => Ok(blocks(&[media_block("document", "application/pdf", content)])),
        _ => notebook::cells(content).map_err(|problem| format!("{path}: {problem}")),
    }
}

/// How the file is now.
///
/// # Errors
/// It cannot be read.
pub(crate) fn stamp(workspace: &impl Workspace, path: &str) -> Result<FileStamp, FileProblem> {
    let facts = workspace.facts(path)?;
    let digest = if facts.size <= DIGEST_BYTES_MAX { Some(workspace.digest(path)?) } else { None };
    Ok(FileStamp { modified: facts.modified, digest })
}

/// The lines that are asked for, and how the file was while it was read.
fn text_lines(
    workspace: &impl Workspace,
    path: &str,
    input: &ReadInput,
    facts: EntryFacts,
) -> Result<(ToolOutcome, FileStamp), FileProblem> {
    let mut lines =
        WantedLines { first: input.offset.unwrap_or(1).max(1), most: input.limit.unwrap_or(LINES_USUAL), count: 0, shown: Vec::new() };
    let is_hashed = facts.size <= DIGEST_BYTES_MAX;
    let mut hasher = blake3::Hasher::new();
    let mut cutter = LineCutter::default();
    let mut is_first = true;
    workspace.read(path, &mut |piece| {
        if is_hashed {
            hasher.update(piece);
        }
        let text = if core::mem::take(&mut is_first) { piece.strip_prefix(b"\xef\xbb\xbf").unwrap_or(piece) } else { piece };
        if !lines.is_past() {
            cutter.take(text, |line| lines.take(line));
        }
        if is_hashed || !lines.is_past() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    cutter.finish(|line| lines.take(line));
    let stamp = FileStamp { modified: facts.modified, digest: is_hashed.then(|| ContentDigest::from_hasher(&hasher)) };
    Ok((ToolOutcome::text(&lines.text()), stamp))
}

/// The lines of a file that a model asked for.
struct WantedLines {
    first: u64,
    most: u64,
    /// How many lines were seen.
    count: u64,
    shown: Vec<String>,
}

impl WantedLines {
    fn take(&mut self, line: &[u8]) {
        self.count += 1;
        if self.count >= self.first && self.count - self.first < self.most {
            self.shown.push(numbered_line(self.count, line));
        }
    }

    /// Whether one more line was seen than is shown: then it is known that the file goes on.
    fn is_past(&self) -> bool {
        self.count >= self.first.saturating_add(self.most)
    }

    fn text(&self) -> String {
        let mut text = self.shown.join("\n");
        match self.shown.len() as u64 {
            _ if self.count == 0 => text.push_str(EMPTY),
            0 if !self.is_past() => text = format!("(the file has {}; line {} is behind its end)", plural(self.count, "line"), self.first),
            shown if self.is_past() => {
                let next = self.first + shown;
                text.push_str(&format!("\n(cut: the file goes on; read on with offset {next})"));
            }
            _ => (),
        }
        text
    }
}
