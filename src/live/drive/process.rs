//! One run of a client: started in a group of its own, read until it ends; processes that it leaves behind are found and killed.

use core::fmt;
use core::pin::pin;
use std::fs;
use std::io;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::environment::{RunFolders, inherited};
use super::{ClientHarness, ClientHarnessError, ClientSurroundings};
use crate::prelude::*;

/// How long processes may take to go when the client has gone.
const GOING: Duration = Duration::from_millis(400);

/// How often in a row no process must be seen.
const EMPTY_LOOKS: u32 = 3;

/// What a client printed, and how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientOutput {
    /// Standard output, a line each.
    pub lines: Vec<String>,
    /// Standard error.
    pub errors: String,
    /// How it ended.
    pub ended: ClientExit,
    /// The names of processes that were there when it had gone; they were killed.
    pub left_behind: Vec<String>,
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

/// A signal to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientSignal {
    /// As Ctrl-C sends.
    Interrupt,
    /// As a service manager sends.
    Terminate,
    /// The end at once.
    Kill,
}

/// A client's group of processes, as signals know it.
#[derive(Clone, Debug)]
pub(super) struct ProcessGroup {
    id: u32,
}

impl ClientOutput {
    /// The lines that are JSON.
    pub fn json_lines(&self) -> impl Iterator<Item = serde_json::Value> {
        self.lines.iter().filter_map(|line| serde_json::from_str(line).ok())
    }

    /// How many result lines there are, as headless agents end with one.
    pub fn results(&self) -> usize {
        self.json_lines().filter(|line| line["type"] == "result").count()
    }

    /// The session that the output names.
    pub fn session(&self) -> Option<String> {
        let of_line = |line: serde_json::Value| {
            ["session_id", "sessionID", "sessionId"].iter().find_map(|name| line[*name].as_str().map(str::to_string))
        };
        self.json_lines().find_map(of_line)
    }
}

/// Runs a command to its end.
pub(super) async fn run(
    drive: &ClientHarness,
    words: &[String],
    folders: &RunFolders,
    base: &str,
    process: watch::Sender<Option<ProcessGroup>>,
    mut more_input: mpsc::UnboundedReceiver<String>,
) -> Result<ClientOutput, ClientHarnessError> {
    let Some((program, rest)) = words.split_first() else { return Err(ClientHarnessError::NoCommand) };
    let mut command = Command::new(program);
    command.args(rest.iter().map(|word| word.replace("{base}", base)));
    if drive.surroundings == ClientSurroundings::Clean {
        command.env_clear().envs(inherited());
    }
    command.envs(folders.variables(drive, base)).current_dir(folders.work());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
    let start = |problem: io::Error| ClientHarnessError::Start { program: program.clone(), problem };
    let mut child = command.spawn().map_err(start)?;
    let group = ProcessGroup { id: child.id().unwrap_or_default() };
    process.send_replace(Some(group.clone()));
    let mut whole = WholeRun { group: group.clone(), mark: folders.mark(), is_over: false };
    let (mut lines, mut errors) = (Vec::new(), Vec::new());
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(mut stdin), Some(mut stdout), Some(mut stderr)) = (stdin, stdout, stderr) else {
        return Err(start(io::Error::other("it has no standard streams")));
    };
    let writing = async {
        // A client that does not read its input, or is gone, misses nothing.
        if let Some(input) = &drive.input {
            let _ = stdin.write_all(input).await;
            while let Some(line) = more_input.recv().await {
                let _ = stdin.write_all(line.as_bytes()).await;
            }
        }
        drop(stdin);
        core::future::pending::<()>().await;
    };
    let (ended, left_behind) = {
        let reading = async { tokio::join!(stdout.read_to_end(&mut lines), stderr.read_to_end(&mut errors)) };
        let (mut reading, mut writing, mut is_read) = (pin!(reading), pin!(writing), false);
        let deadline = Instant::now() + drive.patience;
        let ended = loop {
            tokio::select! {
                biased;
                _ = &mut reading, if !is_read => is_read = true,
                status = child.wait() => break status.map_or(ClientExit::TimedOut, ended),
                () = sleep_until(deadline) => {
                    group.kill_all(&folders.mark());
                    let _ = child.wait().await;
                    break ClientExit::TimedOut;
                }
                () = &mut writing => (),
            }
        };
        process.send_replace(None);
        let left_behind = group.left_behind(&folders.mark()).await;
        whole.is_over = true;
        if !is_read {
            // The holders of the pipes were killed; a hidden process must not hold us up.
            let _ = timeout(GOING, reading).await;
        }
        (ended, left_behind)
    };
    let lines = String::from_utf8_lossy(&lines).lines().map(str::to_string).collect();
    Ok(ClientOutput { lines, errors: String::from_utf8_lossy(&errors).into_owned(), ended, left_behind })
}

fn ended(status: std::process::ExitStatus) -> ClientExit {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return ClientExit::Signal(signal);
    }
    ClientExit::Code(status.code().unwrap_or(-1))
}

impl ProcessGroup {
    /// Sends a signal to the client alone: what it started is its own to stop.
    #[cfg(unix)]
    pub(super) fn signal(&self, signal: ClientSignal) {
        if let Some(client) = pid(self.id) {
            // A client that is gone needs no signal.
            let _ = rustix::process::kill_process(client, system_signal(signal));
        }
    }

    #[cfg(not(unix))]
    pub(super) fn signal(&self, _: ClientSignal) {}

    /// Kills all processes of the run.
    #[cfg(unix)]
    fn kill_all(&self, mark: &str) {
        if let Some(group) = pid(self.id) {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        for (id, _) in marked(mark) {
            if let Some(process) = pid(id) {
                let _ = rustix::process::kill_process(process, rustix::process::Signal::KILL);
            }
        }
    }

    #[cfg(not(unix))]
    fn kill_all(&self, _: &str) {}

    /// The names of the processes that do not go by themselves; they are killed.
    async fn left_behind(&self, mark: &str) -> Vec<String> {
        let until = Instant::now() + GOING;
        let mut empty = 0;
        loop {
            let left = marked(mark);
            // A process that is being replaced by its program has no variables for a moment.
            empty = if left.is_empty() { empty + 1 } else { 0 };
            if empty == EMPTY_LOOKS {
                return Vec::new();
            }
            if !left.is_empty() && Instant::now() >= until {
                self.kill_all(mark);
                let mut names: Vec<String> = left.into_iter().map(|(_, name)| name).collect();
                names.sort();
                return names;
            }
            sleep(Duration::from_millis(20)).await;
        }
    }
}

/// A run that is dropped early leaves no process behind.
struct WholeRun {
    group: ProcessGroup,
    mark: String,
    is_over: bool,
}

impl Drop for WholeRun {
    fn drop(&mut self) {
        if !self.is_over {
            self.group.kill_all(&self.mark);
        }
    }
}

#[cfg(unix)]
fn pid(id: u32) -> Option<rustix::process::Pid> {
    rustix::process::Pid::from_raw(i32::try_from(id).ok()?)
}

#[cfg(unix)]
fn system_signal(signal: ClientSignal) -> rustix::process::Signal {
    match signal {
        ClientSignal::Interrupt => rustix::process::Signal::INT,
        ClientSignal::Terminate => rustix::process::Signal::TERM,
        ClientSignal::Kill => rustix::process::Signal::KILL,
    }
}

/// The living processes that were started with the mark of a run, however far from their client, each with its name. What left the client's group is
/// found too; on systems without `/proc` nothing is.
fn marked(mark: &str) -> Vec<(u32, String)> {
    let wanted = format!("REENACT_DRIVE={mark}");
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    ids.filter_map(|id| {
        // A process that is gone meanwhile, or is another user's, is none of ours.
        let variables = fs::read(format!("/proc/{id}/environ")).ok()?;
        variables.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes()).then_some(())?;
        let name = fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_default();
        Some((id, name.trim().to_string()))
    })
    .collect()
}

/// `exit 0`, `killed by SIGINT`, `timed out`.
impl fmt::Display for ClientExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit {code}"),
            Self::Signal(2) => f.write_str("killed by SIGINT"),
            Self::Signal(9) => f.write_str("killed by SIGKILL"),
            Self::Signal(15) => f.write_str("killed by SIGTERM"),
            Self::Signal(signal) => write!(f, "killed by signal {signal}"),
            Self::TimedOut => f.write_str("timed out"),
        }
    }
}
