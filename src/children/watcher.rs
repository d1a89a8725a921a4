//! The watcher: starts a command, and ends all its descendants when it should.
//!
//! ```text
//!   command runs ──its end──> lingering ──all gone──────────────────────────> done
//!        │                        └──time is up──┐
//!        └──asked, or the socket closed──────> ending: SIGTERM, after the grace SIGKILL until none is left ──> done
//! ```

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{Instant, sleep};

use super::descendants::{self, Descendant};
use super::message::{ChildExit, SignalTarget, WatcherReport, WatcherRequest};
use super::sandbox::{Sandbox, SandboxSupport};
use super::{WatcherProgram, terminal};

pub(super) const ROLE: &str = "watch";

/// The argument in place of the number of folders, for a command without a sandbox.
pub(super) const NO_SANDBOX: &str = "free";

/// The name of the socket in its folder.
pub(super) const SOCKET: &str = "socket";

/// How often the watcher looks for descendants while it waits for their end.
const LOOK: Duration = Duration::from_millis(20);

/// How long after the first SIGKILL a process counts as one that cannot be ended.
const STUCK: Duration = Duration::from_secs(5);

/// The arguments, in their order.
struct WatcherArguments {
    socket: PathBuf,
    has_own_session: bool,
    /// The path of the terminal that the command gets; empty for none.
    terminal: OsString,
    grace: Duration,
    linger: Duration,
    sandbox: Option<Sandbox>,
    may_stay: Vec<String>,
    words: Vec<OsString>,
}

/// The state of the watcher.
#[derive(Clone, Copy, Debug, PartialEq)]
enum WatchState {
    Running,
    /// The command itself has ended.
    Lingering {
        until: Instant,
    },
    Ending {
        kill_at: Instant,
    },
}

pub(super) fn main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let Some(arguments) = WatcherArguments::read(arguments) else { return ExitCode::from(2) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime.and_then(|runtime| runtime.block_on(watch(&arguments))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

impl WatcherArguments {
    fn read(mut arguments: impl Iterator<Item = OsString>) -> Option<Self> {
        let socket = PathBuf::from(arguments.next()?);
        let has_own_session = arguments.next()? == "own";
        let terminal = arguments.next()?;
        let [grace, linger] = [number(&mut arguments)?, number(&mut arguments)?];
        let sandbox = match arguments.next()?.into_string().ok()?.as_str() {
            NO_SANDBOX => None,
            count => {
                let writable = (0..count.parse::<u64>().ok()?).map(|_| arguments.next().map(PathBuf::from)).collect::<Option<_>>()?;
                Some(Sandbox { writable })
            }
        };
        let staying = number(&mut arguments)?;
        let may_stay = (0..staying).map(|_| arguments.next()?.into_string().ok()).collect::<Option<_>>()?;
        let words: Vec<OsString> = arguments.collect();
        let [grace, linger] = [grace, linger].map(Duration::from_millis);
        (!words.is_empty()).then_some(Self { socket, has_own_session, terminal, grace, linger, sandbox, may_stay, words })
    }
}

fn number(arguments: &mut impl Iterator<Item = OsString>) -> Option<u64> {
    arguments.next()?.into_string().ok()?.parse().ok()
}

async fn watch(arguments: &WatcherArguments) -> io::Result<()> {
    // From here on no signal ends the watcher before its command.
    let mut child_ended = signal(SignalKind::child())?;
    let mut terminated = signal(SignalKind::terminate())?;
    let mut hung_up = signal(SignalKind::hangup())?;
    let _ignored = [SignalKind::interrupt(), SignalKind::quit()].map(signal);
    if arguments.has_own_session {
        // The leader of a group cannot; then it has one already.
        let _ = rustix::process::setsid();
    }
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let (read, write) = UnixStream::connect(&arguments.socket).await?.into_split();
    let mut requests = Some(BufReader::new(read).lines());
    let mut watcher = Watcher { arguments, reports: write, command: None, group: None, state: WatchState::Running };
    if !watcher.start().await {
        return Ok(());
    }
    while !watcher.look().await {
        let looks = watcher.state != WatchState::Running;
        tokio::select! {
            biased;
            line = next_line(&mut requests) => match line {
                Some(line) => watcher.on_request(&line),
                None => {
                    requests = None;
                    watcher.end();
                }
            },
            _ = child_ended.recv() => (),
            _ = terminated.recv() => watcher.end(),
            _ = hung_up.recv() => watcher.end(),
            () = sleep(LOOK), if looks => (),
        }
    }
    Ok(())
}

/// The next line of the program; `None` at its end, and after that nothing any more.
async fn next_line(lines: &mut Option<Lines<BufReader<OwnedReadHalf>>>) -> Option<String> {
    match lines {
        Some(lines) => lines.next_line().await.ok().flatten(),
        None => std::future::pending().await,
    }
}

struct Watcher<'a> {
    arguments: &'a WatcherArguments,
    reports: OwnedWriteHalf,
    /// While it lives.
    command: Option<Pid>,
    group: Option<u32>,
    state: WatchState,
}

impl Watcher<'_> {
    /// Starts the command, and says what came of it.
    async fn start(&mut self) -> bool {
        if self.arguments.sandbox.is_some() && SandboxSupport::of_system() == SandboxSupport::None {
            self.report(WatcherReport::NotSandboxed(String::from("this system has none"))).await;
            return false;
        }
        match self.command().and_then(|mut command| command.spawn()) {
            Ok(child) => {
                self.command = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
                self.group = self.arguments.has_own_session.then_some(child.id());
                self.report(WatcherReport::Started(child.id())).await;
                release_streams();
                true
            }
            Err(error) => {
                self.report(WatcherReport::NotStarted(error.raw_os_error().unwrap_or_default())).await;
                false
            }
        }
    }

    fn command(&self) -> io::Result<Command> {
        use std::os::unix::process::CommandExt as _;
        if !self.arguments.terminal.is_empty() {
            return Ok(terminal::command(&WatcherProgram::current()?, &self.arguments.terminal, &self.arguments.words));
        }
        let (program, rest) = self.arguments.words.split_first().unwrap_or_else(|| unreachable!("read checks it"));
        let mut command = match &self.arguments.sandbox {
            Some(sandbox) => sandbox.command(&WatcherProgram::current()?, &self.arguments.words),
            None => {
                let mut command = Command::new(program);
                command.args(rest);
                command
            }
        };
        if self.arguments.has_own_session {
            command.process_group(0);
        }
        Ok(command)
    }

    /// A program that is gone hears nothing.
    async fn report(&mut self, report: WatcherReport) {
        let _ = self.reports.write_all(format!("{report}\n").as_bytes()).await;
    }

    fn on_request(&mut self, line: &str) {
        match WatcherRequest::parse(line) {
            Some(WatcherRequest::End) => self.end(),
            Some(WatcherRequest::Signal(signal, target)) => {
                let Some(command) = self.command else { return };
                let _ = match target {
                    SignalTarget::Group if self.arguments.has_own_session => rustix::process::kill_process_group(command, signal.number()),
                    SignalTarget::Process | SignalTarget::Group => rustix::process::kill_process(command, signal.number()),
                };
            }
            None => (),
        }
    }

    fn end(&mut self) {
        if !matches!(self.state, WatchState::Ending { .. }) {
            self.state = WatchState::Ending { kill_at: Instant::now() + self.arguments.grace };
            for descendant in self.descendants() {
                kill(&descendant, Signal::TERM);
            }
        }
    }

    /// Takes what has happened; whether all is over.
    async fn look(&mut self) -> bool {
        while let Ok(Some((id, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            if self.command == Some(id) {
                self.command = None;
                self.report(WatcherReport::Exited(exit(status))).await;
                if self.state == WatchState::Running {
                    self.state = WatchState::Lingering { until: Instant::now() + self.arguments.linger };
                }
            }
        }
        match self.state {
            WatchState::Running => false,
            WatchState::Lingering { until } => {
                let (stay, left) = self.sorted();
                if !left.is_empty() && Instant::now() < until {
                    return false;
                }
                if left.is_empty() {
                    return self.done(&stay).await;
                }
                for descendant in left {
                    self.report(WatcherReport::Left(descendant.name)).await;
                }
                self.end();
                false
            }
            WatchState::Ending { kill_at } => {
                let (stay, left) = self.sorted();
                if left.is_empty() && self.command.is_none() {
                    return self.done(&stay).await;
                }
                if Instant::now() >= kill_at + STUCK {
                    for descendant in left {
                        self.report(WatcherReport::Stuck(descendant.name)).await;
                    }
                    return self.done(&stay).await;
                }
                if Instant::now() >= kill_at {
                    left.iter().for_each(|descendant| kill(descendant, Signal::KILL));
                }
                false
            }
        }
    }

    async fn done(&mut self, stay: &[Descendant]) -> bool {
        for descendant in stay {
            self.report(WatcherReport::Stayed(descendant.name.clone())).await;
        }
        self.report(WatcherReport::Done).await;
        true
    }

    /// The descendants that may stay, and the others.
    fn sorted(&self) -> (Vec<Descendant>, Vec<Descendant>) {
        self.descendants().into_iter().partition(|descendant| self.arguments.may_stay.contains(&descendant.name))
    }

    fn descendants(&self) -> Vec<Descendant> {
        descendants::find(std::process::id(), self.group)
    }
}

fn kill(descendant: &Descendant, signal: Signal) {
    // One that is gone meanwhile needs no signal.
    if let Some(id) = i32::try_from(descendant.id).ok().and_then(Pid::from_raw) {
        #[cfg(target_os = "linux")]
        let _ = rustix::process::kill_process(id, signal);
        #[cfg(not(target_os = "linux"))]
        let _ = rustix::process::kill_process_group(id, signal);
    }
}

fn exit(status: WaitStatus) -> ChildExit {
    match status.terminating_signal() {
        Some(signal) => ChildExit::Signal(signal),
        None => ChildExit::Code(status.exit_status().unwrap_or(-1)),
    }
}

/// Only the command holds its streams, so that their readers see their end when it has ended.
fn release_streams() {
    let Ok(nothing) = std::fs::File::options().read(true).write(true).open("/dev/null") else { return };
    let _ = rustix::stdio::dup2_stdin(&nothing);
    let _ = rustix::stdio::dup2_stdout(&nothing);
    let _ = rustix::stdio::dup2_stderr(&nothing);
}
