//! A workspace in memory: deterministic, cheap to copy, with faults (M-7).
//!
//! Its clock is the one of the run. A copy shares all files with the original until one of the two writes.

mod commands;
mod program_end;
mod programs;
mod transfers;

use alloc::collections::BTreeMap;
use core::hash::{Hash, Hasher};
use core::ops::ControlFlow;

use reenact_wire::prelude::*;

use crate::files::edited_text::changed_lines;
use crate::read_state::ContentDigest;
use crate::search::ignore_file::IgnoreFile;
use crate::search::pattern::{MatchedLine, SearchPattern};
use crate::shell_run::{CallStep, ShellRun};
use crate::workspace::{
    EntryFacts, FileProblem, FileScope, FoundFile, UNSEARCHED_FOLDERS, Workspace, absolute_path, lies_below, normal_path,
};

/// Files in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct VirtualWorkspace {
    working_directory: Arc<str>,
    entries: Arc<BTreeMap<Arc<str>, VirtualEntry>>,
    faults: Arc<[WorkspaceFault]>,
    /// The time of writing, in microseconds.
    now: i64,
    /// The time of the last write. The next one is later, also at the same instant: so what was written twice has two times.
    latest: i64,
}

/// A file or a folder. Content counts by its digest, so a key of many files is made fast.
#[derive(Clone, Debug, PartialEq, Hash)]
enum VirtualEntry {
    Folder,
    File(VirtualFile),
}

#[derive(Clone, Debug)]
struct VirtualFile {
    content: Arc<[u8]>,
    digest: ContentDigest,
    modified: i64,
}

/// A file before and after something.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FileDifference {
    /// Its path.
    pub path: Arc<str>,
    /// The content before; `None` where the file was not there.
    pub before: Option<Arc<[u8]>>,
    /// The content after; `None` where the file is gone.
    pub after: Option<Arc<[u8]>>,
}

impl FileDifference {
    /// The word for it: `made`, `changed` or `removed`.
    pub fn word(&self) -> &'static str {
        match (&self.before, &self.after) {
            (None, _) => "made",
            (_, None) => "removed",
            _ => "changed",
        }
    }

    /// The lines that went, each behind a minus sign, and those that came, each behind a plus sign.
    pub fn changed_lines(&self) -> String {
        let text =
            |content: &Option<Arc<[u8]>>| content.as_ref().map_or_else(String::new, |bytes| String::from_utf8_lossy(bytes).into_owned());
        changed_lines(&text(&self.before), &text(&self.after))
    }
}

/// Something that is wrong with a path, and with all below it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WorkspaceFault {
    /// The path.
    pub path: Arc<str>,
    /// The fault.
    pub kind: WorkspaceFaultKind,
}

words! {
    /// The kind of a fault.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum WorkspaceFaultKind {
        /// No room is left: nothing can be written.
        Full = "full",
        /// It may be neither read nor written.
        Denied = "denied",
        /// Tools that use it take much longer.
        Slow = "slow",
    }
}

impl PartialEq for VirtualFile {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest && self.modified == other.modified
    }
}

impl Hash for VirtualFile {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.digest.hash(state);
    }
}

/// Of times only the order counts: every write is later than those before it. So states at other times of the clock are equal (E-3).
impl Hash for VirtualWorkspace {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.working_directory, &self.entries, &self.faults).hash(state);
        let files = self
            .entries
            .iter()
            .filter_map(|(path, entry)| if let VirtualEntry::File(file) = entry { Some((file.modified, path)) } else { None });
        let mut by_time: Vec<(i64, &Arc<str>)> = files.collect();
        by_time.sort_unstable();
        by_time.iter().for_each(|(_, path)| path.hash(state));
    }
}

impl VirtualWorkspace {
    /// An empty folder.
    pub fn new(working_directory: &str) -> Self {
        let working_directory = normal_path("/", working_directory);
        let mut workspace = Self {
            working_directory: working_directory.as_str().into(),
            entries: Arc::default(),
            faults: Arc::new([]),
            now: 0,
            latest: i64::MIN,
        };
        workspace.make_folders(&working_directory);
        workspace
    }

    /// With these faults.
    pub fn with_faults(self, faults: impl Into<Arc<[WorkspaceFault]>>) -> Self {
        Self { faults: faults.into(), ..self }
    }

    /// Sets the time of all that is written from now on, in microseconds.
    pub fn set_clock(&mut self, now: i64) {
        self.now = now;
    }

    /// Another process writes a file now, whatever faults there are. As [`VirtualWorkspace::place`].
    pub fn overwrite(&mut self, path: &str, content: &[u8]) {
        self.place(path, content, self.next_time());
    }

    /// Puts a file there with this time, whatever faults there are: the beginning of a run. Where a folder has this path, or a file stands in the
    /// place of one of its folders, nothing happens.
    pub fn place(&mut self, path: &str, content: &[u8], modified: i64) {
        let path = normal_path(&self.working_directory, path);
        if self.check_place(&path).is_ok() {
            self.make_folders(parent(&path));
            self.insert(&path, content, modified);
        }
    }

    /// Takes a file or a folder away, whatever faults there are.
    pub fn displace(&mut self, path: &str) {
        let path = normal_path(&self.working_directory, path);
        Arc::make_mut(&mut self.entries).retain(|known, _| **known != *path && !lies_below(known, &path));
    }

    /// All files with their contents, in the order of their paths.
    pub fn all_files(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<[u8]>)> {
        self.entries.iter().filter_map(|(path, entry)| match entry {
            VirtualEntry::File(file) => Some((path, &file.content)),
            VirtualEntry::Folder => None,
        })
    }

    /// The files that differ from those of another state, in the order of their paths. States that share all files are compared at once.
    pub fn differences_from(&self, before: &Self) -> Vec<FileDifference> {
        if Arc::ptr_eq(&self.entries, &before.entries) {
            return Vec::new();
        }
        let content = |workspace: &Self, path: &str| workspace.file(path).ok().map(|file| file.content.clone());
        let digest = |workspace: &Self, path: &str| workspace.file(path).ok().map(|file| file.digest);
        let mut paths: Vec<&Arc<str>> = self.all_files().chain(before.all_files()).map(|(path, _)| path).collect();
        paths.sort_unstable();
        paths.dedup();
        paths.retain(|path| digest(self, path) != digest(before, path));
        paths
            .into_iter()
            .map(|path| FileDifference { path: path.clone(), before: content(before, path), after: content(self, path) })
            .collect()
    }

    /// Whether tools that use this path, or a folder with a slow file below it, take much longer.
    pub fn is_slow(&self, path: &str) -> bool {
        let has_one_below = || self.faults.iter().any(|fault| fault.kind == WorkspaceFaultKind::Slow && lies_below(&fault.path, path));
        self.has_fault(path, WorkspaceFaultKind::Slow) || (self.is_folder(path) && has_one_below())
    }

    fn has_fault(&self, path: &str, kind: WorkspaceFaultKind) -> bool {
        let is_it = |fault: &WorkspaceFault| *fault.path == *path || lies_below(path, &fault.path);
        self.faults.iter().any(|fault| fault.kind == kind && is_it(fault))
    }

    fn check_readable(&self, path: &str) -> Result<(), FileProblem> {
        if self.has_fault(path, WorkspaceFaultKind::Denied) { Err(FileProblem::Denied) } else { Ok(()) }
    }

    fn check_writable(&self, path: &str) -> Result<(), FileProblem> {
        self.check_readable(path)?;
        if self.has_fault(path, WorkspaceFaultKind::Full) { Err(FileProblem::Full) } else { Ok(()) }
    }

    /// The entry at this path; a parent that is a file is another problem than one that is not there.
    fn entry(&self, path: &str) -> Result<&VirtualEntry, FileProblem> {
        if let Some(entry) = self.entries.get(path) {
            return Ok(entry);
        }
        let above = core::iter::successors(Some(parent(path)), |above| (*above != "/").then(|| parent(above)));
        let nearest = above.filter_map(|above| self.entries.get(above)).next();
        Err(if matches!(nearest, Some(VirtualEntry::File(_))) { FileProblem::NotFolder } else { FileProblem::Missing })
    }

    fn file(&self, path: &str) -> Result<&VirtualFile, FileProblem> {
        match self.entry(path)? {
            VirtualEntry::File(file) => Ok(file),
            VirtualEntry::Folder => Err(FileProblem::IsFolder),
        }
    }

    fn is_folder(&self, path: &str) -> bool {
        path == "/" || matches!(self.entries.get(path), Some(VirtualEntry::Folder))
    }

    /// Whether a file can have this path: it is no folder, and lies below no file.
    fn check_place(&self, path: &str) -> Result<(), FileProblem> {
        match self.file(path) {
            _ if path == "/" => Err(FileProblem::IsFolder),
            Ok(_) | Err(FileProblem::Missing) => Ok(()),
            Err(problem) => Err(problem),
        }
    }

    /// The time of a write that happens now.
    fn next_time(&self) -> i64 {
        self.now.max(self.latest.saturating_add(1))
    }

    /// Writes a file now.
    fn put(&mut self, path: &str, content: &[u8]) {
        self.insert(path, content, self.next_time());
    }

    fn insert(&mut self, path: &str, content: &[u8], modified: i64) {
        self.latest = self.latest.max(modified);
        let file = VirtualFile { content: content.into(), digest: ContentDigest::from_bytes(content), modified };
        Arc::make_mut(&mut self.entries).insert(path.into(), VirtualEntry::File(file));
    }

    /// Makes a folder and those above it.
    fn make_folders(&mut self, path: &str) {
        if self.is_folder(path) {
            return;
        }
        self.make_folders(parent(path));
        Arc::make_mut(&mut self.entries).insert(path.into(), VirtualEntry::Folder);
    }

    /// The paths right below a folder, in their order.
    fn children<'a>(&'a self, folder: &str) -> impl Iterator<Item = (&'a str, &'a VirtualEntry)> {
        let below = if folder == "/" { String::from("/") } else { format!("{folder}/") };
        let length = below.len();
        let entries = self.entries.range::<str, _>((core::ops::Bound::Excluded(below.as_str()), core::ops::Bound::Unbounded));
        let entries = entries.take_while(move |(path, _)| path.starts_with(&below));
        entries.filter(move |(path, _)| !path[length..].contains('/')).map(|(path, entry)| (&**path, entry))
    }

    /// Adds the files below a folder that no ignore file names; `ignored` has those of the folders above, the nearest last.
    fn collect_files(&self, folder: &str, ignored: &mut Vec<IgnoreFile>, scope: FileScope, files: &mut Vec<FoundFile>) {
        let depth = ignored.len();
        if scope == FileScope::NotIgnored {
            ignored.extend(self.ignore_file(folder));
        }
        for (path, entry) in self.children(folder) {
            let is_folder = matches!(entry, VirtualEntry::Folder);
            if ignored.iter().rev().find_map(|file| file.verdict(path, is_folder)) == Some(true) {
                continue;
            }
            match entry {
                VirtualEntry::File(file) => files.push(FoundFile { path: path.to_owned(), modified: file.modified }),
                VirtualEntry::Folder if UNSEARCHED_FOLDERS.contains(&name(path)) => (),
                VirtualEntry::Folder if self.check_readable(path).is_err() => (),
                VirtualEntry::Folder => self.collect_files(path, ignored, scope, files),
            }
        }
        ignored.truncate(depth);
    }

    fn ignore_file(&self, folder: &str) -> Option<IgnoreFile> {
        let path = format!("{}/.gitignore", folder.trim_end_matches('/'));
        let content = &self.file(&path).ok()?.content;
        Some(IgnoreFile::new(folder, &String::from_utf8_lossy(content)))
    }
}

impl Workspace for VirtualWorkspace {
    fn working_directory(&self) -> &str {
        &self.working_directory
    }

    fn resolve(&self, path: &str) -> Result<String, FileProblem> {
        let whole = absolute_path(&self.working_directory, path);
        // Behind a file nothing can stand, not even a slash.
        for (end, _) in whole.match_indices('/').skip(1) {
            if self.file(&normal_path("/", &whole[..end])).is_ok() {
                return Err(FileProblem::NotFolder);
            }
        }
        Ok(normal_path("/", &whole))
    }

    fn facts(&self, path: &str) -> Result<EntryFacts, FileProblem> {
        if path == "/" {
            return Ok(EntryFacts { is_folder: true, size: 0, modified: 0, names: 1 });
        }
        Ok(match self.entry(path)? {
            VirtualEntry::Folder => EntryFacts { is_folder: true, size: 0, modified: 0, names: 1 },
            VirtualEntry::File(file) => EntryFacts { is_folder: false, size: file.content.len() as u64, modified: file.modified, names: 1 },
        })
    }

    fn read(&self, path: &str, piece: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) -> Result<(), FileProblem> {
        let file = self.file(path)?;
        self.check_readable(path)?;
        // The pieces end with the content or when nobody wants more.
        let _ = file.content.chunks(64 << 10).try_for_each(piece);
        Ok(())
    }

    fn write(&mut self, path: &str, content: &[u8]) -> Result<(), FileProblem> {
        self.check_place(path)?;
        self.check_writable(path)?;
        self.make_folders(parent(path));
        self.put(path, content);
        Ok(())
    }

    fn files(&self, folder: &str, scope: FileScope) -> Result<Vec<FoundFile>, FileProblem> {
        if !self.is_folder(folder) {
            return Err(self.entry(folder).map_or_else(|problem| problem, |_| FileProblem::NotFolder));
        }
        self.check_readable(folder)?;
        let mut above: Vec<&str> = Vec::new();
        let mut at = folder;
        while at != "/" {
            at = parent(at);
            above.push(at);
        }
        let mut ignored = match scope {
            FileScope::Whole => Vec::new(),
            FileScope::NotIgnored => above.iter().rev().filter_map(|folder| self.ignore_file(folder)).collect(),
        };
        let mut files = Vec::new();
        self.collect_files(folder, &mut ignored, scope, &mut files);
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(files)
    }

    fn digest(&self, path: &str) -> Result<ContentDigest, FileProblem> {
        let file = self.file(path)?;
        self.check_readable(path)?;
        Ok(file.digest)
    }

    fn matches(&self, path: &str, pattern: &SearchPattern) -> Result<Vec<MatchedLine>, FileProblem> {
        let file = self.file(path)?;
        self.check_readable(path)?;
        Ok(pattern.lines_of(&file.content))
    }

    fn run_shell(&mut self, run: &mut ShellRun) -> CallStep {
        commands::step(self, run)
    }
}

/// The folder that a path lies in.
fn parent(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some((parent, _)) if !parent.is_empty() => parent,
        _ => "/",
    }
}

/// The last part of a path.
fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}
