//! Grep and Glob (B-6, B-7): patterns, ignored files, and what a result says.

pub mod glob_pattern;
pub(crate) mod ignore_file;
pub mod pattern;

use serde::Deserialize;

use reenact_engine::contract::ToolOutcome;
use reenact_wire::prelude::*;

use crate::file_kind::is_unsearched;
use crate::line_text::shown_line;
use crate::workspace::{FileProblem, FileScope, FoundFile, Workspace};
use glob_pattern::GlobPattern;
use pattern::{MatchedLine, SearchPattern};

/// The output of Grep for each file that fits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Hash)]
#[serde(rename_all = "snake_case")]
enum GrepOutput {
    /// Their paths.
    #[default]
    Files,
    /// Their lines.
    Content,
    /// How many lines fit.
    Count,
}

/// The input of Grep.
#[derive(Clone, Debug, Deserialize, PartialEq, Hash)]
pub(crate) struct GrepInput {
    pattern: String,
    pub(crate) path: Option<String>,
    glob: Option<String>,
    #[serde(default)]
    output_mode: GrepOutput,
    /// Lines around a match.
    #[serde(default)]
    context: usize,
    #[serde(default)]
    ignore_case: bool,
    #[serde(default)]
    multiline: bool,
    /// The most files.
    #[serde(default = "twenty")]
    limit: usize,
    /// The most matches of a file.
    #[serde(default = "ten")]
    matches: usize,
}

fn twenty() -> usize {
    20
}

fn ten() -> usize {
    10
}

/// The input of Glob.
#[derive(Clone, Debug, Deserialize, PartialEq, Hash)]
pub(crate) struct GlobInput {
    pattern: String,
    pub(crate) path: Option<String>,
    #[serde(default = "hundred")]
    limit: usize,
}

fn hundred() -> usize {
    100
}

/// So many files are searched before it is asked whether enough was found; then four times as many.
const BATCH_FILES: usize = 32;

/// Searches a file, or the files below a folder, for a regular expression (B-6).
///
/// # Errors
/// A pattern that cannot be read, or a path that is not there.
pub(crate) fn grep(workspace: &impl Workspace, folder: &str, input: &GrepInput) -> Result<ToolOutcome, String> {
    let most = if input.output_mode == GrepOutput::Count { usize::MAX } else { input.matches.max(1) };
    let pattern = SearchPattern::new(&input.pattern, input.ignore_case, input.multiline)?.with_limits(input.context, most);
    let glob = input.glob.as_deref().map(GlobPattern::for_name_or_path).transpose()?;
    let mut files = files_at(workspace, folder, FileScope::NotIgnored)?;
    files.retain(|file| !is_unsearched(&file.path) && glob.as_ref().is_none_or(|glob| glob.fits(below(folder, &file.path))));
    sort_newest_first(&mut files);
    let mut found: Vec<(String, Vec<MatchedLine>)> = Vec::new();
    let mut is_cut = false;
    let mut left = &files[..];
    let mut size = BATCH_FILES;
    while !left.is_empty() && !is_cut {
        let (batch, rest) = left.split_at(size.min(left.len()));
        let paths: Vec<&str> = batch.iter().map(|file| file.path.as_str()).collect();
        for (path, lines) in paths.iter().zip(workspace.matches_of(&paths, &pattern)) {
            // A file that may not be read, or that has gone in the meantime, is passed over as ripgrep does; not one that was named.
            let lines = match lines {
                Err(problem) if *path == folder => return Err(format!("{folder}: {problem}")),
                lines => lines.unwrap_or_default(),
            };
            if lines.is_empty() {
                continue;
            }
            is_cut = found.len() == input.limit.max(1);
            if is_cut {
                break;
            }
            found.push(((*path).to_owned(), lines));
        }
        (left, size) = (rest, size * 4);
    }
    if found.is_empty() {
        return Ok(ToolOutcome::text("nothing was found"));
    }
    let mut text = found.iter().map(|(path, lines)| shown_matches(path, lines, input.output_mode)).collect::<Vec<_>>().join("\n");
    if is_cut {
        text.push_str(&format!("\n(cut: {}; more files fit)", plural(found.len() as u64, "file")));
    }
    Ok(ToolOutcome::text(&text))
}

/// Lists the files below a folder whose paths fit (B-7).
///
/// # Errors
/// A pattern that cannot be read, or a folder that is not there.
pub(crate) fn glob(workspace: &impl Workspace, folder: &str, input: &GlobInput) -> Result<ToolOutcome, String> {
    let pattern = GlobPattern::for_path(input.pattern.strip_prefix(&format!("{folder}/")).unwrap_or(&input.pattern))?;
    let mut files = files_at(workspace, folder, FileScope::Whole)?;
    files.retain(|file| pattern.fits(below(folder, &file.path)));
    if files.is_empty() {
        return Ok(ToolOutcome::text("no file fits"));
    }
    sort_newest_first(&mut files);
    let count = files.len();
    files.truncate(input.limit.max(1));
    let mut text = files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>().join("\n");
    if files.len() < count {
        text.push_str(&format!("\n(cut: {} of {} are shown)", files.len(), plural(count as u64, "file")));
    }
    Ok(ToolOutcome::text(&text))
}

/// The files below a folder; a file is searched alone.
fn files_at(workspace: &impl Workspace, path: &str, scope: FileScope) -> Result<Vec<FoundFile>, String> {
    let of = |problem: FileProblem| format!("{path}: {problem}");
    let facts = workspace.facts(path).map_err(of)?;
    if facts.is_folder {
        workspace.files(path, scope).map_err(of)
    } else {
        Ok(vec![FoundFile { path: path.to_owned(), modified: facts.modified }])
    }
}

/// The path of a file as it is below the folder; the name of a file that was searched alone.
fn below<'a>(folder: &str, path: &'a str) -> &'a str {
    let rest = path.strip_prefix(folder).unwrap_or(path).trim_start_matches('/');
    if rest.is_empty() { path.rsplit('/').next().unwrap_or_default() } else { rest }
}

fn sort_newest_first(files: &mut [FoundFile]) {
    files.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.path.cmp(&b.path)));
}

fn shown_matches(path: &str, lines: &[MatchedLine], output: GrepOutput) -> String {
    match output {
        GrepOutput::Files => path.to_owned(),
        GrepOutput::Count => format!("{path}:{}", lines.iter().filter(|line| line.is_match).count()),
        GrepOutput::Content => {
            let mut rows: Vec<String> = Vec::new();
            for (index, line) in lines.iter().enumerate() {
                // Lines that do not stand side by side are kept apart.
                if index > 0 && lines[index - 1].number + 1 != line.number && lines.iter().any(|line| !line.is_match) {
                    rows.push(String::from("--"));
                }
                let mark = if line.is_match { ':' } else { '-' };
                rows.push(format!("{path}{mark}{}{mark}{}", line.number, shown_line(&line.line)));
            }
            rows.join("\n")
        }
    }
}
