//! Search in a directory, with the library that ripgrep is made of (B-6).

use std::fs::File;
use std::io::{self, Read as _};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::UNIX_EPOCH;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch};
use ignore::WalkBuilder;
use reenact_tools::line_text::without_end;
use reenact_tools::search::pattern::{MatchedLine, SearchPattern};
use reenact_tools::workspace::{FileProblem, FileScope, FoundFile, UNSEARCHED_FOLDERS};

use crate::of_error;
use crate::opening::open_file;
use crate::replacement::PARTIAL_FOLDER;

/// Larger files are not searched for matches over several lines.
const WHOLE_BYTES_MAX: u64 = 256 << 20;

/// All files below a folder, in the order of their paths.
pub(crate) fn files(folder: &str, scope: FileScope) -> Result<Vec<FoundFile>, FileProblem> {
    let respects = scope == FileScope::NotIgnored;
    let walk = WalkBuilder::new(folder)
        .hidden(false)
        .ignore(false)
        .git_global(false)
        .git_exclude(false)
        .git_ignore(respects)
        .parents(respects)
        .require_git(false)
        .follow_links(false)
        .filter_entry(|entry| {
            entry.depth() == 0
                || !entry.file_type().is_some_and(|kind| kind.is_dir())
                || !is_unsearched(&entry.file_name().to_string_lossy())
        })
        .build();
    let mut files = Vec::new();
    for entry in walk {
        // What may not be looked at, or has gone in the meantime, is passed over as ripgrep does.
        let Ok(entry) = entry else { continue };
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            continue;
        }
        let (Some(path), Ok(facts)) = (entry.path().to_str(), entry.metadata()) else { continue };
        let modified = facts.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let modified = modified.and_then(|span| i64::try_from(span.as_micros()).ok()).unwrap_or_default();
        files.push(FoundFile { path: path.to_owned(), modified });
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn is_unsearched(name: &str) -> bool {
    UNSEARCHED_FOLDERS.contains(&name) || name.starts_with(PARTIAL_FOLDER)
}

/// A search for a pattern, which goes through one file after the other.
#[derive(Clone, Debug)]
pub(crate) struct ContentSearch<'a> {
    pattern: &'a SearchPattern,
    matcher: RegexMatcher,
    searcher: Searcher,
}

impl<'a> ContentSearch<'a> {
    pub(crate) fn new(pattern: &'a SearchPattern) -> Result<Self, FileProblem> {
        let mut builder = RegexMatcherBuilder::new();
        builder.case_insensitive(pattern.ignores_case).multi_line(true).crlf(true).line_terminator(Some(b'\n'));
        let matcher = builder.build(&pattern.expression).map_err(|error| FileProblem::Other(error.to_string()))?;
        let searcher = SearcherBuilder::new()
            .line_number(true)
            .before_context(pattern.context)
            .after_context(pattern.context)
            .binary_detection(BinaryDetection::quit(0))
            .build();
        Ok(Self { pattern, matcher, searcher })
    }

    /// The lines of a file that fit.
    pub(crate) fn matches(&mut self, file: &File) -> Result<Vec<MatchedLine>, FileProblem> {
        if self.pattern.is_multiline {
            return matches_of_whole(file, self.pattern);
        }
        let mut sink = MatchSink { pattern: self.pattern, lines: Vec::new(), matches: 0, last_match: 0, is_binary: false };
        self.searcher.search_file(&self.matcher, file, &mut sink).map_err(|error| of_error(&error))?;
        if sink.is_binary {
            return Ok(Vec::new());
        }
        Ok(sink.lines)
    }
}

/// The lines of several files that fit, in their order. Threads take the files from one list; the result does not depend on their number.
pub(crate) fn matches_of(root: &str, paths: &[&str], pattern: &SearchPattern) -> Vec<Result<Vec<MatchedLine>, FileProblem>> {
    let search = match ContentSearch::new(pattern) {
        Ok(search) => search,
        Err(problem) => return paths.iter().map(|_| Err(problem.clone())).collect(),
    };
    let next = AtomicUsize::new(0);
    let work = |mut search: ContentSearch<'_>| {
        let mut found = Vec::new();
        while let Some((index, path)) = Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|index| Some((index, paths.get(index)?))) {
            found.push((index, open_file(root, path).and_then(|file| search.matches(&file))));
        }
        found
    };
    let threads = cores().min(paths.len().div_ceil(FILES_OF_THREAD));
    let mut found = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads)
            .map(|_| {
                let own = search.clone();
                let work = &work;
                scope.spawn(move || work(own))
            })
            .collect();
        let mut found = work(search.clone());
        for other in others {
            found.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        found
    });
    found.sort_by_key(|(index, _)| *index);
    found.into_iter().map(|(_, lines)| lines).collect()
}

/// For fewer files a thread costs more than it brings.
const FILES_OF_THREAD: usize = 8;

#[expect(clippy::disallowed_methods, reason = "it changes how long a search takes, never what it finds")]
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// A match over several lines needs the whole file in memory. The library of ripgrep goes on behind a match as if a line began there, so the expression is
/// asked itself.
fn matches_of_whole(mut file: &File, pattern: &SearchPattern) -> Result<Vec<MatchedLine>, FileProblem> {
    let size = file.metadata().map_err(|error| of_error(&error))?.len();
    if size > WHOLE_BYTES_MAX {
        return Err(FileProblem::Other(format!("it is too large for a search over several lines ({size} bytes)")));
    }
    let mut content = Vec::new();
    file.read_to_end(&mut content).map_err(|error| of_error(&error))?;
    Ok(pattern.lines_of(&content))
}

/// Takes the lines that the search gives.
struct MatchSink<'a> {
    pattern: &'a SearchPattern,
    lines: Vec<MatchedLine>,
    matches: usize,
    last_match: u64,
    is_binary: bool,
}

impl MatchSink<'_> {
    /// A line of the file. A match behind the most that are wanted is shown as what stands around the last one.
    fn take(&mut self, number: u64, line: &[u8], is_match: bool) -> bool {
        let is_full = self.matches == self.pattern.most;
        if is_full && number > self.last_match + self.pattern.context as u64 {
            return false;
        }
        let is_match = is_match && !is_full;
        if is_match {
            self.matches += 1;
            self.last_match = number;
        }
        self.lines.push(MatchedLine { number, line: without_end(line).to_vec(), is_match });
        true
    }
}

impl Sink for MatchSink<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        let first = found.line_number().unwrap_or(1);
        Ok((first..).zip(found.lines()).all(|(number, line)| self.take(number, line, true)))
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> Result<bool, io::Error> {
        Ok(self.take(context.line_number().unwrap_or(1), context.bytes(), false))
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, io::Error> {
        self.is_binary = true;
        Ok(false)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> Result<(), io::Error> {
        self.is_binary |= finish.binary_byte_offset().is_some();
        Ok(())
    }
}
