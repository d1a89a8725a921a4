//! Stored sessions of agents, found, read and judged (V-9).
//!
//! ```text
//!   paths ──> files ──> stores: a file, a database with its log, the files of one session ──> conversations ──> judgements
//! ```
//!
//! Stores are judged in parallel, and nothing is written. What could not be judged is in the result, with its reason.

mod beginnings;
pub mod scenario;
mod store_files;

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use reenact_files::open;
use reenact_files::session_files::{SessionFileEntry, search};
use reenact_runner::in_parallel;
use reenact_stores::conversation::{StoredBranch, StoredConversation};
use reenact_stores::judgement::{ConversationJudgement, SessionAge, judge};
use reenact_stores::recognition::{StoreFileKind, recognise};
use reenact_stores::rules::ViolationKind;
use reenact_stores::{StoreFile, StoreFormat, shortened};
use reenact_wire::prelude::*;

use beginnings::Beginnings;
use store_files::{SessionStore, stores};

/// A file of sessions is read up to this size (K-12).
const FILE_BYTES_MAX: u64 = 1 << 30;

/// The agent of a session that was changed so lately may still be running.
const RECENT: Duration = Duration::from_secs(600);

/// How sessions are examined.
#[derive(Clone, Copy, Debug)]
pub struct ExamineOptions {
    /// The format of all files; `None` where each file tells its own.
    pub format: Option<StoreFormat>,
    /// How many threads read and judge.
    pub threads: NonZeroUsize,
    /// The time that sessions are recent by.
    pub now: SystemTime,
}

/// The findings in sessions, and all that was left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Examination {
    /// The conversations, in the order of their files.
    pub conversations: Vec<ExaminedConversation>,
    /// The files that could not be judged.
    pub unjudged: Vec<UnjudgedFile>,
    /// How many sessions hold no message.
    pub without_messages: usize,
    /// How many files stand beside sessions and hold none.
    pub beside: usize,
    /// How many files of folders do not look like sessions by their names.
    pub others: usize,
    /// How many bytes were read.
    pub bytes: u64,
}

/// A conversation and its judgement.
#[derive(Clone, Debug, PartialEq)]
pub struct ExaminedConversation {
    /// The format of its file.
    pub format: StoreFormat,
    /// The file.
    pub file: Arc<str>,
    /// The session's id, where the store tells it.
    pub session: Option<Arc<str>>,
    /// Which of the file's conversations it is.
    pub branch: StoredBranch,
    /// How many messages it has.
    pub messages: usize,
    /// The remarks of its reader.
    pub remarks: Vec<String>,
    /// The findings, and the answer of the API.
    pub judgement: ConversationJudgement,
}

/// A file that could not be judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnjudgedFile {
    /// The file, or the folder.
    pub path: PathBuf,
    /// The reason.
    pub problem: String,
}

/// Examines all sessions at these paths: files, and folders of them.
pub fn examine(paths: &[PathBuf], options: &ExamineOptions) -> Examination {
    let found = search(paths);
    let mut examination = Examination { others: found.others, ..Examination::default() };
    examination.unjudged.extend(found.left_out.into_iter().map(|(path, problem)| UnjudgedFile { path, problem }));
    let stores = stores(found.files, &mut examination);
    let beginnings = Beginnings::new(stores.iter().flat_map(|store| &store.files).map(|file| &*file.path));
    for part in in_parallel(&stores, options.threads, |store| examine_store(store, &beginnings, options)) {
        examination.add(part);
    }
    // A file beside several sessions is told once.
    let mut told = BTreeSet::new();
    examination.unjudged.retain(|file| told.insert(file.path.clone()));
    examination
}

impl Examination {
    /// The conversations with findings.
    pub fn broken(&self) -> impl Iterator<Item = &ExaminedConversation> {
        self.conversations.iter().filter(|conversation| !conversation.judgement.findings.is_empty())
    }

    /// How many findings there are of each kind.
    pub fn counts(&self) -> BTreeMap<ViolationKind, usize> {
        let mut counts = BTreeMap::new();
        for finding in self.broken().flat_map(|conversation| &conversation.judgement.findings) {
            *counts.entry(finding.violation.kind).or_default() += 1;
        }
        counts
    }

    fn add(&mut self, part: Self) {
        self.conversations.extend(part.conversations);
        self.unjudged.extend(part.unjudged);
        self.without_messages += part.without_messages;
        self.beside += part.beside;
        self.others += part.others;
        self.bytes += part.bytes;
    }
}

fn examine_store(store: &SessionStore, beginnings: &Beginnings, options: &ExamineOptions) -> Examination {
    let mut examination = Examination::default();
    let mut contents = Vec::new();
    for file in &store.files {
        match open::read(&file.path, FILE_BYTES_MAX) {
            Ok(bytes) => contents.push((file.path.to_string_lossy(), bytes)),
            Err(error) => {
                let problem = format!("it cannot be read ({error})");
                examination.unjudged.push(UnjudgedFile { path: file.path.clone(), problem });
                // The others alone would look broken, or whole.
                return examination;
            }
        }
    }
    examination.bytes = contents.iter().map(|(_, bytes)| bytes.len() as u64).sum();
    let files: Vec<StoreFile<'_>> = contents.iter().map(|(name, bytes)| StoreFile { name, bytes }).collect();
    match StoreContents::read(&files, store.format.or(options.format)) {
        StoreContents::Conversations(_, conversations) if conversations.is_empty() => examination.without_messages += 1,
        StoreContents::Conversations(format, conversations) => {
            let conversations = beginnings.join(&store.files[0].path, &files[0], format, conversations, &mut examination.unjudged);
            let judged = conversations.iter().map(|conversation| examined(conversation, format, age(conversation, &store.files, options)));
            examination.conversations.extend(judged);
        }
        StoreContents::Beside => examination.beside += 1,
        StoreContents::Unjudged(problem) => {
            let path = store.files[0].path.clone();
            examination.unjudged.push(UnjudgedFile { path, problem });
        }
    }
    examination
}

/// The contents of a store.
enum StoreContents {
    Conversations(StoreFormat, Vec<StoredConversation>),
    /// None, and none is missed.
    Beside,
    /// Nobody knows: why.
    Unjudged(String),
}

impl StoreContents {
    fn read(files: &[StoreFile<'_>], format: Option<StoreFormat>) -> Self {
        let Some(first) = files.first() else { return Self::Beside };
        let short = shortened(first.bytes);
        let format = match format.map_or_else(|| recognise(first.name, &short), StoreFileKind::Session) {
            StoreFileKind::Session(format) => format,
            StoreFileKind::Beside(_) => return Self::Beside,
            StoreFileKind::Unread(problem) | StoreFileKind::Unknown(problem) => return Self::Unjudged(problem.into()),
        };
        if format == StoreFormat::Opencode && files.len() == 1 && !is_database(first) {
            return Self::Unjudged("it is a part of a session of older opencode: name its folder `storage`".into());
        }
        if files.iter().all(|file| file.bytes.trim_ascii().is_empty()) {
            return Self::Unjudged("it is empty: its writer may have been killed before it wrote".into());
        }
        let is_damaged = |conversations: &[StoredConversation]| conversations.iter().any(|one| !one.remarks.damages().is_empty());
        if !format.has_calls_in_texts()
            && let Ok(conversations) = format.read(&[StoreFile { name: first.name, bytes: &short }])
            && !is_damaged(&conversations)
        {
            return Self::Conversations(format, conversations);
        }
        // Whole, so that messages have the columns of the file.
        match format.read(files) {
            Ok(conversations) => Self::Conversations(format, conversations),
            Err(error) => Self::Unjudged(error.problem),
        }
    }
}

fn is_database(file: &StoreFile<'_>) -> bool {
    file.bytes.starts_with(b"SQLite format 3\0")
}

fn age(conversation: &StoredConversation, files: &[SessionFileEntry], options: &ExamineOptions) -> SessionAge {
    let of_store = conversation.newest_at_ms.map(|at_ms| SystemTime::UNIX_EPOCH + Duration::from_millis(at_ms));
    let changed_at = of_store.or_else(|| files.iter().filter_map(|file| file.changed_at).max());
    // A clock may be ahead, and not by more than that: a date in the far future says nothing.
    let distance = |at: SystemTime| options.now.duration_since(at).unwrap_or_else(|ahead| ahead.duration());
    let is_recent = changed_at.is_some_and(|changed_at| distance(changed_at) < RECENT);
    if is_recent { SessionAge::Recent } else { SessionAge::Settled }
}

fn examined(conversation: &StoredConversation, format: StoreFormat, age: SessionAge) -> ExaminedConversation {
    ExaminedConversation {
        format,
        file: conversation.file.clone(),
        session: conversation.session.clone(),
        branch: conversation.branch.clone(),
        messages: conversation.messages.len(),
        remarks: conversation.remarks.iter().skip(conversation.remarks.damages().len()).map(Cow::into_owned).collect(),
        judgement: judge(conversation, format, age),
    }
}
