//! `reenact record`: a reverse proxy whose traffic becomes a tape (K-1 to K-3, K-11).
//!
//! ```text
//!  client ──> proxy ──> upstream         one thread: bytes are passed on before anything else is done with them
//!               │ events, never waited for
//!               v
//!             tape writer                feeds each exchange, which writes lines   src/live/record/tape_writer.rs, exchange.rs
//!               │ batches of lines
//!               v
//!              disk                      appends, syncs                            src/live/record/disk.rs
//! ```
//!
//! The client waits for one thing: the end of an answer is passed on when its lines were handed to the operating system, so that a recorder which is
//! killed has every answer that a client saw end (K-3). With `durable` it waits until they are on the disk. Otherwise that wait is bounded
//! ([`END_WAIT_MAX`]; a wait that was too short is reported and counted), and a disk that cannot keep up costs recordings and no client's time.

mod client_connection;
mod disk;
mod exchange;
mod link;
mod proxy;
mod request_body;
mod response_body;
mod room;
mod summary;
mod tape_writer;
mod upstream;

use std::ffi::OsString;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use self::disk::{TapeFile, WrittenTape};
use self::link::TapeWriterLink;
use self::room::WriterRoom;
pub use self::summary::{ExchangeCounts, TapeSummary};
use self::upstream::RecorderUpstream;
use crate::access::{AccessRules, RefusedRequests};
use crate::base_url::BaseUrl;
use reenact_children::{ChildExit, ChildSession, ChildStartError, WatcherProgram};
use reenact_files::atomic::ExistingFile;
use reenact_redact::{RedactionRules, Redactor};

/// How long the end of an answer waits for its lines to be written, unless the recording is durable.
pub const END_WAIT_MAX: Duration = Duration::from_millis(250);

/// How many bytes of lines may wait for the disk. When there are more, what is being recorded is given up: the client does not wait for a disk.
const BEHIND_BYTES_MAX: usize = 64 << 20;

/// The options of a recording.
#[derive(Clone, Debug)]
pub struct RecordOptions {
    /// Where requests go: scheme, host, and a path to put before theirs.
    pub upstream: BaseUrl,
    /// Where clients connect.
    pub listen: SocketAddr,
    /// The allowed callers beside programs that call this machine by loopback or by that address.
    pub access: AccessRules,
    /// The tape to write.
    pub out: PathBuf,
    /// The treatment of an existing tape.
    pub existing: ExistingFile,
    /// Certificates to trust in place of the system's.
    pub ca: Option<PathBuf>,
    /// Whether the end of an answer waits for the disk (K-3).
    pub durable: bool,
    /// The patterns of secrets.
    pub rules: Arc<RedactionRules>,
    /// A client to start, and to stop with.
    pub client: Option<ClientCommand>,
    /// Gets notices for the user while recording.
    pub notice: fn(&str),
}

/// A program that is started with its base URL set.
#[derive(Clone, Debug)]
pub struct ClientCommand {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// The program that watches it.
    pub watcher: WatcherProgram,
    /// Its session: shared when people use it at their terminal.
    pub session: ChildSession,
    /// The environment variable that holds the base URL.
    pub base_url_variable: String,
}

/// Why there is no recording.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The tape's file cannot be made.
    #[error("{}: cannot be created ({source}): {}", path.display(), advice(source))]
    Out {
        /// The path.
        path: PathBuf,
        /// The error of the file system.
        source: io::Error,
    },
    /// The port cannot be opened.
    #[error(
        "cannot listen on {address} ({source}): choose another port with --port, or 0 for any that is free, or another address with --listen"
    )]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The upstream's address or its certificates are of no use.
    #[error("{0}")]
    Upstream(String),
    /// The client cannot be started.
    #[error("{program}: cannot be started ({source}): check the command after `--`")]
    Client {
        /// The program of the command.
        program: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The watcher of the client does not run, or was killed.
    #[error("cannot watch the client: {0}; start it again")]
    Watcher(io::Error),
    /// The operating system refuses what every program may do.
    #[error("cannot start recording: {0}")]
    System(io::Error),
}

impl From<ChildStartError> for RecordError {
    fn from(error: ChildStartError) -> Self {
        match error {
            ChildStartError::NoCommand => {
                Self::Client { program: String::new(), source: io::Error::new(io::ErrorKind::InvalidInput, "there is no command") }
            }
            ChildStartError::Program { program, problem } => Self::Client { program, source: problem },
            ChildStartError::Watcher(problem) => Self::Watcher(problem),
        }
    }
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AlreadyExists => "an existing tape is not overwritten; name another file, or replace this one with --force",
        io::ErrorKind::NotFound => "make its folder first",
        _ => "check the folder's permissions and the free space",
    }
}

/// The outcome of a recording.
#[derive(Debug)]
pub struct RecordingSummary {
    /// The contents of the tape.
    pub summary: TapeSummary,
    /// How the client ended, if one was started.
    pub client: Option<ChildExit>,
}

/// Records until the client ends, or until Ctrl-C.
///
/// # Errors
/// When recording cannot begin. Once it has begun nothing ends it early: what goes wrong is in the summary.
pub fn run(options: RecordOptions) -> Result<RecordingSummary, RecordError> {
    let upstream = RecorderUpstream::new(&options.upstream, options.ca.as_deref()).map_err(RecordError::Upstream)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(RecordError::System)?;
    let listener = runtime.block_on(proxy::listen(options.listen))?;
    let file = TapeFile::create(&options.out, options.existing).map_err(|source| RecordError::Out { path: options.out.clone(), source })?;
    let outcome = with_threads(&options, file, |link| runtime.block_on(proxy::serve(listener, upstream, link, &options)));
    if outcome.is_err() {
        // Nothing was recorded: the file would only be in the way of the next attempt.
        let _ = std::fs::remove_file(&options.out);
    }
    outcome
}

/// Runs `proxy` with tape writer and disk beside it; ends them when it ends, and everything they were told is on the tape then.
fn with_threads(
    options: &RecordOptions,
    file: TapeFile,
    proxy: impl FnOnce(TapeWriterLink) -> Result<ProxyOutcome, RecordError>,
) -> Result<RecordingSummary, RecordError> {
    let (events, from_proxy) = mpsc::channel();
    let (batches, from_writer) = mpsc::channel();
    let shared = Arc::new(RecorderState::default());
    std::thread::scope(|scope| {
        let (for_disk, for_writer) = (Arc::clone(&shared), Arc::clone(&shared));
        let disk = scope.spawn(move || disk::run(file, &from_writer, &for_disk, options));
        let mut redactor = Redactor::new(&options.rules);
        let header = tape_writer::header(options, &mut redactor);
        let writer_thread = scope.spawn(move || {
            let _opens_the_way = RoomRelease(Arc::clone(&for_writer));
            tape_writer::TapeWriter::new(&header, redactor, batches, for_writer, options.notice).run(&from_proxy)
        });
        let link = TapeWriterLink {
            events,
            writer_thread: writer_thread.thread().clone(),
            shared: Arc::clone(&shared),
            started: link::now(),
            next_id: Arc::new(AtomicU32::new(1)),
            durable: options.durable,
            notice: options.notice,
        };
        // Also when the proxy breaks down: the other threads would wait for ever, and this one for them.
        let stop = WriterStop(link.clone());
        let outcome = proxy(link);
        drop(stop);
        let (kept, written) = (writer_thread.join(), disk.join());
        let mut summary = kept.unwrap_or_else(|_| TapeSummary::from_panic("the tape writer"));
        match written {
            Ok(WrittenTape { problem, counts }) => {
                summary.problem = summary.problem.or(problem);
                summary.counts = counts;
            }
            Err(_) => {
                summary.problem =
                    Some(String::from("the thread that writes the tape panicked: this is a defect of the program; please report it"))
            }
        }
        summary.ends_unwritten = u64::from(shared.ends_unwritten.load(Ordering::Relaxed));
        let ProxyOutcome { client, refused } = outcome?;
        summary.refused_requests = refused;
        Ok(RecordingSummary { summary, client })
    })
}

/// The result of passing traffic on.
#[derive(Debug, Default)]
struct ProxyOutcome {
    /// How the client ended that was started, if it did.
    client: Option<ChildExit>,
    /// Requests that were not passed on.
    refused: RefusedRequests,
}

/// Tells the tape writer that nothing follows.
struct WriterStop(TapeWriterLink);

impl Drop for WriterStop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// When the tape writer ends or panics, nothing waits for room any more: the traffic continues.
struct RoomRelease(Arc<RecorderState>);

impl Drop for RoomRelease {
    fn drop(&mut self) {
        self.0.room.close();
    }
}

/// The shared state of the threads.
#[derive(Debug, Default)]
struct RecorderState {
    /// Room for bytes on their way to the tape writer.
    room: Arc<WriterRoom>,
    /// Bytes on their way to the disk.
    behind: AtomicUsize,
    /// Whether the recorder itself ends the connections.
    is_stopping: AtomicBool,
    /// Whether the disk has refused: then nothing is recorded any more.
    disk_failed: AtomicBool,
    /// How many answers ended for their clients before they were written: a recorder that is killed then has lost them.
    ends_unwritten: AtomicU32,
}
