//! One run of a client: started under a watcher, read until it ends; processes that it leaves behind are found and ended.

use core::fmt;
use core::pin::pin;
use std::ffi::OsString;
use std::process::Stdio;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout};

use super::action::TerminalKey;
use super::environment::{RunFolders, inherited};
use super::marker;
use super::moment_watch::ClientSign;
use super::process_facts::RunningProcess;
use super::profile::{self, ClientProfile, ProfileNames};
use super::streams::{self, ClientKeyboard, ClientPrinter, LineMarker, PrintedBytes};
use super::verdict::is_result;
use super::{ClientHarness, ClientHarnessError, ClientSurroundings, ClientTerminal, shell};
use crate::children::{ChildCommand, ChildExit, ChildSignal, ChildTerminal, SignalTarget, WatchedChild};
use crate::prelude::*;

/// How long the output of a client may be held open by a process that cannot be ended.
const OPEN_OUTPUT: Duration = Duration::from_millis(400);

/// The keys that send a client away whose own way out is not known.
const FAREWELL: [TerminalKey; 3] = [TerminalKey::Control('C'), TerminalKey::Control('C'), TerminalKey::Control('D')];

/// How long a client may take to go when it is sent away.
const GOING: Duration = Duration::from_secs(3);

/// The output of a client, and its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientOutput {
    /// Standard output, a line each; or what its terminal showed.
    pub lines: Vec<String>,
    /// Standard error.
    pub errors: String,
    /// The exit of the client.
    pub ended: ClientExit,
    /// Whether it ended by itself.
    pub leaving: ClientLeaving,
    /// The names of processes that were there when it had gone; they were ended.
    pub left_behind: Vec<String>,
    /// The shell that alone got a signal which was meant for the client.
    pub signalled_shell: Option<&'static str>,
    /// How old its process was when it got a signal, where the system tells that.
    pub age_at_signal: Option<Duration>,
    results: usize,
    session: Option<String>,
}

/// How a client ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientExit {
    /// With this exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// Not in time: it was killed.
    TimedOut,
}

/// Why a client ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientLeaving {
    /// By itself, or by what was done to it.
    #[default]
    OnItsOwn,
    /// It waited at its terminal for somebody to type, and was sent away: its exit says nothing.
    SentAway,
}

/// An action on a client while it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ProcessAction {
    Signal(ChildSignal, SignalTarget),
    /// A line on its standard input.
    Line(String),
    /// Keys at its terminal.
    Keys(Vec<TerminalKey>),
    /// It has nothing to do any more, and should go.
    SendAway,
}

/// The surroundings of a run.
#[derive(Debug)]
pub(super) struct RunSurroundings<'a> {
    pub(super) folders: &'a RunFolders,
    /// The URL of the server.
    pub(super) base: &'a str,
    /// The values of the words in braces.
    pub(super) names: &'a ProfileNames,
    /// The URL by which tools show that they run.
    pub(super) marker_url: &'a str,
    /// The text of a line by which they do.
    pub(super) marker_line: Option<&'a str>,
    pub(super) terminal: ClientTerminal,
    /// Where signs of the client are told.
    pub(super) signs: &'a mpsc::UnboundedSender<ClientSign>,
}

impl ClientOutput {
    /// The lines that are JSON.
    pub fn json_lines(&self) -> impl Iterator<Item = serde_json::Value> {
        self.lines.iter().filter_map(|line| serde_json::from_str(line).ok())
    }

    /// How many result lines there are, as headless agents end with one. The profile says what one is.
    pub fn results(&self) -> usize {
        self.results
    }

    /// The last line of standard error that says something.
    pub(super) fn last_error(&self) -> Option<&str> {
        self.errors.lines().rfind(|line| !line.trim().is_empty())
    }

    /// The session of the run: where the profile says, or the one that the output names.
    pub fn session(&self) -> Option<String> {
        self.session.clone()
    }

    /// Reads what the profile knows of the output.
    fn read(mut self, profile: Option<&ClientProfile>, names: &ProfileNames) -> Self {
        self.results = self.json_lines().filter(|line| is_result(line, profile.map(|profile| &profile.output))).count();
        self.session = profile::session(profile.and_then(|profile| profile.session.as_ref()), self.json_lines(), names);
        self
    }
}

/// Runs a command to its end.
pub(super) async fn run(
    drive: &ClientHarness,
    words: &[String],
    run: &RunSurroundings<'_>,
    mut actions: mpsc::UnboundedReceiver<ProcessAction>,
) -> Result<ClientOutput, ClientHarnessError> {
    let (mut child, mut printer, keyboard) = start(drive, words, run).await?;
    // Who does not listen any more wants to know nothing.
    let _ = run.signs.send(ClientSign::Started);
    let (mut printed, mut leaving) = (PrintedBytes::default(), ClientLeaving::OnItsOwn);
    let (mut signalled_shell, mut age_at_signal) = (None, None);
    let (ended, mut left) = {
        let (type_more, typed) = mpsc::unbounded_channel();
        let (is_open, open) = oneshot::channel();
        let mut reading = pin!(printer.read(&mut printed, LineMarker { text: run.marker_line, tell: run.signs }, open));
        let mut writing = pin!(keyboard.write(drive, typed));
        let (mut is_read, mut deadline) = (false, Instant::now() + drive.patience);
        let ended = loop {
            tokio::select! {
                biased;
                () = &mut reading, if !is_read => is_read = true,
                exit = child.exited() => break exit.map_err(ClientHarnessError::Watcher)?.into(),
                () = sleep_until(deadline) => {
                    child.end();
                    if leaving == ClientLeaving::OnItsOwn {
                        break ClientExit::TimedOut;
                    }
                    deadline += drive.patience;
                }
                Some(action) = actions.recv() => match action {
                    ProcessAction::Signal(signal, target) => {
                        (signalled_shell, age_at_signal) = before_signal(words, &child, signal, target);
                        child.signal(signal, target);
                    }
                    // The writer is there as long as this.
                    ProcessAction::Line(line) => _ = type_more.send(line.into_bytes()),
                    ProcessAction::Keys(keys) => keys.iter().for_each(|key| _ = type_more.send(vec![key.byte()])),
                    ProcessAction::SendAway if leaving == ClientLeaving::OnItsOwn => {
                        leaving = ClientLeaving::SentAway;
                        deadline = Instant::now() + GOING;
                        FAREWELL.iter().for_each(|key| _ = type_more.send(vec![key.byte()]));
                    }
                    ProcessAction::SendAway => (),
                },
                () = &mut writing => (),
            }
        };
        let _ = run.signs.send(ClientSign::Ended);
        drop(actions);
        let mut left = pin!(child.left());
        let left = loop {
            tokio::select! {
                biased;
                () = &mut reading, if !is_read => is_read = true,
                left = &mut left => break left.map_err(ClientHarnessError::Watcher)?,
            }
        };
        drop(is_open);
        if !is_read {
            // A process that cannot be ended must not hold us up.
            let _ = timeout(OPEN_OUTPUT, reading).await;
        }
        (ended, left)
    };
    left.ended.sort();
    let (lines, errors) = printed.into_texts(run.terminal == ClientTerminal::Own);
    let (left_behind, results, session) = (left.ended, 0, None);
    let output = ClientOutput { lines, errors, ended, leaving, left_behind, signalled_shell, age_at_signal, results, session };
    Ok(output.read(drive.profile.as_deref(), run.names))
}

/// The shell that a signal reaches in place of the client, and the age of the process.
fn before_signal(
    words: &[String],
    child: &WatchedChild,
    signal: ChildSignal,
    target: SignalTarget,
) -> (Option<&'static str>, Option<Duration>) {
    let shell = shell::before_client(words, child.id(), signal).filter(|_| target == SignalTarget::Process);
    (shell, RunningProcess(child.id()).age())
}

/// Starts a command with its streams.
async fn start(
    drive: &ClientHarness,
    words: &[String],
    run: &RunSurroundings<'_>,
) -> Result<(WatchedChild, ClientPrinter, ClientKeyboard), ClientHarnessError> {
    let mut command = ChildCommand::new(run.names.fill_all(words).into_iter().map(OsString::from).collect());
    if drive.surroundings == ClientSurroundings::Clean {
        command.environment = Some(inherited().into_iter().map(|(name, value)| (name.into(), value.into())).collect());
    }
    command.variables = run.folders.variables(drive, run.base, run.names);
    command.may_stay = drive.profile.iter().flat_map(|profile| &profile.may_stay).cloned().collect();
    command.variables.push((marker::VARIABLE.into(), run.marker_url.into()));
    command.folder = Some(run.folders.work());
    let terminal = match run.terminal {
        ClientTerminal::None => {
            command.streams = [Stdio::piped(), Stdio::piped(), Stdio::piped()];
            None
        }
        ClientTerminal::Own => {
            let terminal = ChildTerminal::open().map_err(ClientHarnessError::Terminal)?;
            command.streams = [Stdio::null(), Stdio::null(), Stdio::null()];
            command.terminal = Some(terminal.path().into());
            // A client without these looks for a terminal of another kind.
            command.variables.retain(|(name, value)| !matches!((&**name, &**value), ("TERM", "dumb") | ("NO_COLOR", "1")));
            command.variables.push(("TERM".into(), "xterm-256color".into()));
            Some(terminal)
        }
    };
    let mut child = command.start(&drive.watcher).await?;
    let (printer, keyboard) = streams::of_child(&mut child, terminal);
    Ok((child, printer, keyboard))
}

impl From<ChildExit> for ClientExit {
    fn from(exit: ChildExit) -> Self {
        match exit {
            ChildExit::Code(code) => Self::Code(code),
            ChildExit::Signal(signal) => Self::Signal(signal),
        }
    }
}

/// `exit 0`, `killed by SIGINT`, `timed out`.
impl fmt::Display for ClientExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Code(code) => ChildExit::Code(code).fmt(f),
            Self::Signal(signal) => ChildExit::Signal(signal).fmt(f),
            Self::TimedOut => f.write_str("timed out"),
        }
    }
}
