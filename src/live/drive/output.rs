//! The output of a client, and its end.

use core::fmt;
use std::time::Duration;

use super::member_path::has_members;
use super::profile::{self, ClientProfile, ProfileNames};
use reenact_children::ChildExit;
use reenact_scenario::client_profile::OutputPlaces;
use reenact_wire::prelude::*;

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
    pub(super) results: usize,
    pub(super) session: Option<String>,
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
    pub(super) fn read(mut self, profile: Option<&ClientProfile>, names: &ProfileNames) -> Self {
        self.results = self.json_lines().filter(|line| is_result(line, profile.map(|profile| &profile.output))).count();
        self.session = profile::session(profile.and_then(|profile| profile.session.as_ref()), self.json_lines(), names);
        self
    }
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

/// Whether a line of JSON is the result of a run.
fn is_result(line: &serde_json::Value, places: Option<&OutputPlaces>) -> bool {
    match places.filter(|places| !places.result.is_empty()) {
        Some(places) => has_members(line, &places.result),
        None => line["type"] == "result",
    }
}
