//! One run of a client: started under a watcher, read until it ends; processes that it leaves behind are found and ended.

use core::pin::pin;
use std::ffi::OsString;
use std::process::Stdio;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout};

use super::action::TerminalKey;
use super::environment::{RunFolders, inherited};
use super::marker;
use super::output::{ClientExit, ClientLeaving, ClientOutput};
use super::process_facts::RunningProcess;
use super::process_message::{ClientSign, ProcessAction};
use super::profile::ProfileNames;
use super::streams::{self, ClientKeyboard, ClientPrinter, LineMarker, PrintedBytes};
use super::{ClientHarness, ClientHarnessError, ClientSurroundings, ClientTerminal, shell};
use reenact_children::{ChildCommand, ChildSignal, ChildTerminal, SignalTarget, WatchedChild};
use reenact_wire::prelude::*;

/// How long the output of a client may be held open by a process that cannot be ended.
const OPEN_OUTPUT: Duration = Duration::from_millis(400);

/// The keys that send a client away whose own way out is not known.
const FAREWELL: [TerminalKey; 3] = [TerminalKey::Control('C'), TerminalKey::Control('C'), TerminalKey::Control('D')];

/// How long a client may take to go when it is sent away.
const GOING: Duration = Duration::from_secs(3);

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
