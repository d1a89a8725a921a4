//! One run of a client: started under a watcher, read until it ends; processes that it leaves behind are found and ended.

use core::fmt;
use core::pin::pin;
use std::ffi::OsString;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};

use super::environment::{RunFolders, inherited};
use super::profile::{self, ClientProfile, ProfileNames};
use super::verdict::is_result;
use super::{ClientHarness, ClientHarnessError, ClientSurroundings, shell};
use crate::children::{ChildCommand, ChildExit, ChildSignal, SignalTarget};
use crate::prelude::*;

/// How long the output of a client may be held open by a process that cannot be ended.
const OPEN_OUTPUT: Duration = Duration::from_millis(400);

/// The output of a client, with its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientOutput {
    /// Standard output, a line each.
    pub lines: Vec<String>,
    /// Standard error.
    pub errors: String,
    /// The exit of the client.
    pub ended: ClientExit,
    /// The names of processes that were there when it had gone; they were ended.
    pub left_behind: Vec<String>,
    /// The shell that alone got a signal which was meant for the client.
    pub signalled_shell: Option<&'static str>,
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

/// An action on a client while it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ProcessAction {
    Signal(ChildSignal, SignalTarget),
    /// A line on its standard input.
    Line(String),
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
    folders: &RunFolders,
    base: &str,
    names: &ProfileNames,
    mut actions: mpsc::UnboundedReceiver<ProcessAction>,
) -> Result<ClientOutput, ClientHarnessError> {
    let mut child = command(drive, words, folders, base, names).start(&drive.watcher).await?;
    let (mut lines, mut errors) = (Vec::new(), Vec::new());
    let (mut stdin, Some(mut stdout), Some(mut stderr)) = child.take_streams() else {
        unreachable!("the streams of the command are pipes");
    };
    let (add_line, mut more_lines) = mpsc::unbounded_channel::<String>();
    let writing = async {
        // A client that does not read its input, or is gone, misses nothing.
        if let (Some(stdin), Some(input)) = (&mut stdin, &drive.input) {
            let _ = stdin.write_all(input).await;
            while drive.keeps_input_open
                && let Some(line) = more_lines.recv().await
            {
                let _ = stdin.write_all(line.as_bytes()).await;
            }
        }
        drop(stdin.take());
        core::future::pending::<()>().await;
    };
    let mut signalled_shell = None;
    let (ended, left) = {
        let reading = async { tokio::join!(stdout.read_to_end(&mut lines), stderr.read_to_end(&mut errors)) };
        let (mut reading, mut writing, mut is_read) = (pin!(reading), pin!(writing), false);
        let deadline = Instant::now() + drive.patience;
        let ended = loop {
            tokio::select! {
                biased;
                _ = &mut reading, if !is_read => is_read = true,
                exit = child.exited() => break exit.map_err(ClientHarnessError::Watcher)?.into(),
                () = sleep_until(deadline) => {
                    child.end();
                    break ClientExit::TimedOut;
                }
                Some(action) = actions.recv() => match action {
                    ProcessAction::Signal(signal, target) => {
                        if target == SignalTarget::Process && shell::is_shell_still(child.id()) {
                            signalled_shell = shell::of_words(words);
                        }
                        child.signal(signal, target);
                    }
                    // The writer is there as long as this.
                    ProcessAction::Line(line) => _ = add_line.send(line),
                },
                () = &mut writing => (),
            }
        };
        let mut left = pin!(child.left());
        let left = loop {
            tokio::select! {
                biased;
                _ = &mut reading, if !is_read => is_read = true,
                left = &mut left => break left.map_err(ClientHarnessError::Watcher)?,
            }
        };
        if !is_read {
            // A process that cannot be ended must not hold us up.
            let _ = timeout(OPEN_OUTPUT, reading).await;
        }
        (ended, left)
    };
    let lines = String::from_utf8_lossy(&lines).lines().map(str::to_string).collect();
    let mut left_behind: Vec<String> = left.ended;
    left_behind.sort();
    let errors = String::from_utf8_lossy(&errors).into_owned();
    let output = ClientOutput { lines, errors, ended, left_behind, signalled_shell, results: 0, session: None };
    Ok(output.read(drive.profile.as_deref(), names))
}

fn command(drive: &ClientHarness, words: &[String], folders: &RunFolders, base: &str, names: &ProfileNames) -> ChildCommand {
    let mut command = ChildCommand::new(names.fill_all(words).into_iter().map(OsString::from).collect());
    if drive.surroundings == ClientSurroundings::Clean {
        command.environment = Some(inherited().into_iter().map(|(name, value)| (name.into(), value.into())).collect());
    }
    command.variables = folders.variables(drive, base, names);
    command.may_stay = drive.profile.iter().flat_map(|profile| &profile.may_stay).cloned().collect();
    command.folder = Some(folders.work());
    command.streams = [Stdio::piped(), Stdio::piped(), Stdio::piped()];
    command
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
