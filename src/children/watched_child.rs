//! A command that runs under a watcher, as its starter sees it.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::net::{UnixListener, UnixStream};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

use super::message::{ChildExit, ChildSignal, SignalTarget, WatcherReport, WatcherRequest};
use super::private_folder::PrivateFolder;
use super::sandbox::Sandbox;
use super::{WatcherProgram, watcher};

/// The name of the socket's folder.
const FOLDER_NAME: &str = "reenact-watch";

/// How long a socket's path may be on every system.
const SOCKET_PATH_BYTES: usize = 100;

/// How long a watcher gets beyond the grace of its command when its starter waits for it on the way out.
const LAST_WAIT: Duration = Duration::from_secs(2);

/// A command to start.
#[derive(Debug)]
pub struct ChildCommand {
    /// The program and its arguments.
    pub words: Vec<OsString>,
    /// The variables of its environment; `None` leaves it those of this process.
    pub environment: Option<Vec<(OsString, OsString)>>,
    /// Variables that are set in any case.
    pub variables: Vec<(String, String)>,
    /// Where it runs; this process's folder when not given.
    pub folder: Option<PathBuf>,
    /// Its standard streams: input, output, errors.
    pub streams: [Stdio; 3],
    /// Its session.
    pub session: ChildSession,
    /// Its limits, if it has any.
    pub sandbox: Option<Sandbox>,
    /// The terminal that takes the place of its streams, by its path ([`ChildTerminal::path`](super::ChildTerminal::path)); its session is then its own.
    pub terminal: Option<PathBuf>,
    /// The names of processes that may outlive it.
    pub may_stay: Vec<String>,
    /// How long processes get between SIGTERM and SIGKILL.
    pub grace: Duration,
    /// How long the descendants of a command that has ended may take to go by themselves.
    pub linger: Duration,
}

/// The session of a command (K-13).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChildSession {
    /// Its own: what is pressed at the terminal does not reach it.
    Own,
    /// This process's, for a command that people use at their terminal.
    Shared,
}

/// Why a command does not run.
#[derive(Debug, thiserror::Error)]
pub enum ChildStartError {
    /// The list of words is empty.
    #[error("no command is given")]
    NoCommand,
    /// The system does not start it.
    #[error("cannot start `{program}`: {problem}")]
    Program {
        /// The program.
        program: String,
        /// The error of the system.
        problem: io::Error,
    },
    /// The watcher does not run.
    #[error("cannot watch the command: {0}")]
    Watcher(io::Error),
}

/// A command that runs. When this is dropped, everything that it started is ended.
#[derive(Debug)]
pub struct WatchedChild {
    watcher: Child,
    streams: ChildStreams,
    socket: UnixStream,
    received: Vec<u8>,
    reports: VecDeque<WatcherReport>,
    id: u32,
    session: ChildSession,
    exit: Option<ChildExit>,
    /// Those that were told so far.
    left: LeftProcesses,
    is_over: bool,
    patience: Duration,
}

/// The input, the output and the errors of a command, where they are pipes.
type ChildStreams = (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>);

/// The processes that were left of a command that had ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftProcesses {
    /// The names of those that did not go by themselves; they were ended.
    pub ended: Vec<String>,
    /// Of those that may stay.
    pub stayed: Vec<String>,
    /// Of those that could not be ended.
    pub stuck: Vec<String>,
}

impl LeftProcesses {
    /// For people: what was done about them; `None` where there were none.
    pub fn notice(&self) -> Option<String> {
        let mut parts = Vec::new();
        if !self.ended.is_empty() {
            parts.push(format!("ended what the command left behind: {}", self.ended.join(", ")));
        }
        if !self.stuck.is_empty() {
            parts.push(format!("cannot end what the command left behind: {}", self.stuck.join(", ")));
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

impl ChildSession {
    /// Shared for a command whose input is a terminal, which people use there.
    pub fn from_terminal() -> Self {
        if std::io::IsTerminal::is_terminal(&std::io::stdin()) { Self::Shared } else { Self::Own }
    }
}

impl ChildCommand {
    /// A command with the streams and variables of this process.
    pub fn new(words: Vec<OsString>) -> Self {
        Self {
            words,
            environment: None,
            variables: Vec::new(),
            folder: None,
            streams: [Stdio::inherit(), Stdio::inherit(), Stdio::inherit()],
            session: ChildSession::Own,
            sandbox: None,
            terminal: None,
            may_stay: Vec::new(),
            grace: Duration::from_millis(500),
            linger: Duration::from_millis(400),
        }
    }

    /// Starts it under a watcher.
    ///
    /// # Errors
    /// When it cannot be started, or not watched.
    pub async fn start(self, program: &WatcherProgram) -> Result<WatchedChild, ChildStartError> {
        let Some(name) = self.words.first().map(|word| word.to_string_lossy().into_owned()) else {
            return Err(ChildStartError::NoCommand);
        };
        let (folder, listener) = socket().map_err(ChildStartError::Watcher)?;
        let (session, patience) = (self.session, self.grace + LAST_WAIT);
        let mut watcher = self.watcher(program, &folder).spawn().map_err(ChildStartError::Watcher)?;
        // Who waits for a process closes its input, unless it was taken.
        let streams = (watcher.stdin.take(), watcher.stdout.take(), watcher.stderr.take());
        let socket = tokio::select! {
            biased;
            connected = listener.accept() => connected.map_err(ChildStartError::Watcher)?.0,
            status = watcher.wait() => return Err(ChildStartError::Watcher(gone(status))),
        };
        // Both sides are connected: nothing of it is needed any more.
        drop(folder);
        let mut child = WatchedChild {
            watcher,
            streams,
            socket,
            received: Vec::new(),
            reports: VecDeque::new(),
            id: 0,
            session,
            exit: None,
            left: LeftProcesses::default(),
            is_over: false,
            patience,
        };
        match child.report().await.map_err(ChildStartError::Watcher)? {
            WatcherReport::Started(id) => child.id = id,
            WatcherReport::NotStarted(error) => {
                child.is_over = true;
                return Err(ChildStartError::Program { program: name, problem: io::Error::from_raw_os_error(error) });
            }
            WatcherReport::NotSandboxed(reason) => {
                child.is_over = true;
                return Err(ChildStartError::Watcher(io::Error::other(format!("its sandbox is not there: {reason}"))));
            }
            other => return Err(ChildStartError::Watcher(io::Error::other(format!("it reports `{other}`")))),
        }
        Ok(child)
    }

    fn watcher(self, program: &WatcherProgram, folder: &PrivateFolder) -> tokio::process::Command {
        let mut command = program.command(watcher::ROLE);
        let [input, output, errors] = self.streams;
        command.stdin(input).stdout(output).stderr(errors);
        if let Some(environment) = self.environment {
            command.env_clear().envs(environment);
        }
        command.envs(self.variables);
        if let Some(folder) = self.folder {
            command.current_dir(folder);
        }
        let session = if self.session == ChildSession::Own { "own" } else { "shared" };
        command.arg(folder.path().join(watcher::SOCKET)).arg(session).arg(self.terminal.unwrap_or_default());
        command.args([self.grace, self.linger].map(|time| time.as_millis().to_string()));
        match self.sandbox {
            Some(sandbox) => command.arg(sandbox.writable.len().to_string()).args(sandbox.writable),
            None => command.arg(watcher::NO_SANDBOX),
        };
        command.arg(self.may_stay.len().to_string()).args(self.may_stay).args(self.words);
        command.into()
    }
}

impl WatchedChild {
    /// The id of its process.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Its streams, where they are pipes; each can be taken once.
    pub fn take_streams(&mut self) -> (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>) {
        core::mem::take(&mut self.streams)
    }

    /// Sends a signal, when it still runs.
    pub fn signal(&mut self, signal: ChildSignal, target: SignalTarget) {
        self.ask(WatcherRequest::Signal(signal, target));
    }

    /// Its session.
    pub fn session(&self) -> ChildSession {
        self.session
    }

    /// Asks for the end of all that was started.
    pub fn end(&mut self) {
        self.ask(WatcherRequest::End);
    }

    fn ask(&mut self, request: WatcherRequest) {
        // A line fits into the buffer of the socket. A watcher that is gone needs none.
        let _ = self.socket.try_write(format!("{request}\n").as_bytes());
    }

    /// Waits for the end of the command itself. It may be asked again.
    ///
    /// # Errors
    /// When the watcher was killed.
    pub async fn exited(&mut self) -> io::Result<ChildExit> {
        loop {
            if let Some(exit) = self.exit {
                return Ok(exit);
            }
            match self.report().await? {
                WatcherReport::Exited(exit) => self.exit = Some(exit),
                other => self.reports.push_back(other),
            }
        }
    }

    /// Waits until nothing is left of the command. A wait that ends early loses nothing: the next one goes on.
    ///
    /// # Errors
    /// When the watcher was killed.
    pub async fn left(&mut self) -> io::Result<LeftProcesses> {
        while !self.is_over {
            let next = match self.reports.pop_front() {
                Some(report) => report,
                None => self.report().await?,
            };
            match next {
                WatcherReport::Left(name) => self.left.ended.push(name),
                WatcherReport::Stayed(name) => self.left.stayed.push(name),
                WatcherReport::Stuck(name) => self.left.stuck.push(name),
                WatcherReport::Exited(exit) => self.exit = Some(exit),
                WatcherReport::Done => self.is_over = true,
                WatcherReport::Started(_) | WatcherReport::NotStarted(_) | WatcherReport::NotSandboxed(_) => (),
            }
        }
        let _ = self.watcher.wait().await;
        Ok(core::mem::take(&mut self.left))
    }

    /// The next report. What was read of one is kept when the wait for it ends early.
    async fn report(&mut self) -> io::Result<WatcherReport> {
        loop {
            if let Some(end) = memchr::memchr(b'\n', &self.received) {
                let line: Vec<u8> = self.received.drain(..=end).collect();
                let line = String::from_utf8_lossy(&line);
                let report = WatcherReport::parse(line.trim_end());
                return report.ok_or_else(|| io::Error::other(format!("the watcher says `{}`", line.trim_end())));
            }
            if self.socket.read_buf(&mut self.received).await? == 0 {
                return Err(io::Error::other("the watcher was killed; what the command started may still run"));
            }
        }
    }
}

impl Drop for WatchedChild {
    fn drop(&mut self) {
        if !self.is_over {
            // At the end of the socket the watcher ends all processes. It is waited for, so that none outlives this value.
            self.end();
            let _ = rustix::net::shutdown(&self.socket, rustix::net::Shutdown::Write);
            wait_for(&mut self.watcher, self.patience);
        }
    }
}

/// Waits for the end of a watcher, for so long.
#[expect(clippy::disallowed_methods, reason = "what is dropped cannot wait in any other way")]
fn wait_for(watcher: &mut Child, patience: Duration) {
    let since = std::time::Instant::now();
    while since.elapsed() < patience && matches!(watcher.try_wait(), Ok(None)) {
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn gone(status: io::Result<std::process::ExitStatus>) -> io::Error {
    match status {
        Ok(status) => io::Error::other(format!("the watcher ended with {status}")),
        Err(error) => error,
    }
}

/// A socket in a folder of its own.
fn socket() -> io::Result<(PrivateFolder, UnixListener)> {
    let usual = std::env::temp_dir();
    let is_short = usual.as_os_str().len() + FOLDER_NAME.len() + 40 <= SOCKET_PATH_BYTES;
    // The folder for temporary files may have a long path, or not exist: the command has the same variables, and may do without it.
    let folder = PrivateFolder::new(&usual, FOLDER_NAME).ok().filter(|_| is_short);
    let folder = folder.map_or_else(|| PrivateFolder::new(Path::new("/tmp"), FOLDER_NAME), Ok)?;
    let listener = UnixListener::bind(folder.path().join(watcher::SOCKET))?;
    Ok((folder, listener))
}
