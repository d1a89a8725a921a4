//! The lines of a client in virtual time, as it writes them (G-1). `docs/world.md` describes them for people.

use serde::Deserialize;

use super::exploration_lines::{ExploreLine, NextLine, TriedLine};
pub use super::open_line::OpenLine;
use reenact_engine::time::Time;
use reenact_wire::prelude::*;

/// The version of the lines that this program speaks.
pub const PROTOCOL: u32 = 1;

/// One line.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum ClientLine {
    /// A run begins.
    Open(OpenLine),
    /// The client sends a request.
    Request(AskedLine),
    /// It closes a connection.
    Closed(ClosedLine),
    /// It starts a scripted tool.
    Tool(ToolLine),
    /// It does something else.
    Note(NoteLine),
    /// The run is over.
    End(EndLine),
    /// An exploration begins.
    Explore(ExploreLine),
    /// The client asks for the next plans.
    Next(NextLine),
    /// A plan was tried.
    Tried(TriedLine),
}

/// When a line happens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
pub struct LineMoment {
    /// Which run.
    pub run: u64,
    /// The time of the run.
    pub at: Time,
    /// How many events of the world the client has delivered; `None` for all that are due.
    #[serde(default)]
    pub seen: Option<u64>,
}

/// A request.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct AskedLine {
    /// When.
    #[serde(flatten)]
    pub moment: LineMoment,
    /// The HTTP method.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The headers, each with its value.
    #[serde(default)]
    pub headers: Vec<(Arc<str>, Arc<str>)>,
    /// The body.
    #[serde(default)]
    pub body: String,
    /// Which connection it goes over, from 1.
    #[serde(default)]
    pub connection: u64,
}

/// A connection is closed before the end of its answer.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ClosedLine {
    /// When.
    #[serde(flatten)]
    pub moment: LineMoment,
    /// The number of the answer.
    pub answer: u32,
}

/// A scripted tool starts.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ToolLine {
    /// When.
    #[serde(flatten)]
    pub moment: LineMoment,
    /// The id of the tool use.
    pub id: Arc<str>,
    /// The name of the tool.
    pub name: Arc<str>,
    /// Its input.
    #[serde(default)]
    pub input: serde_json::Value,
}

/// Something that the client does.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct NoteLine {
    /// When.
    #[serde(flatten)]
    pub moment: LineMoment,
    /// Whether it has a reply.
    #[serde(default)]
    pub reply: bool,
    /// The deed.
    #[serde(flatten)]
    pub deed: ClientDeed,
}

/// The deed of a client.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ClientDeed {
    /// A prompt begins.
    Prompt {
        /// Its number, from 1.
        prompt: u32,
        /// Its text.
        text: Arc<str>,
    },
    /// The user cancels.
    Cancel,
    /// The user sends a message while work goes on.
    Message {
        /// Its text.
        text: Arc<str>,
    },
    /// A tool of the client's own starts.
    ToolStart {
        /// The id of the tool use.
        id: Arc<str>,
        /// The name of the tool.
        name: Arc<str>,
    },
    /// A tool ends: one of the client's own, or a scripted one that is stopped.
    ToolEnd {
        /// The id of the tool use.
        id: Arc<str>,
        /// How.
        how: DeedEnd,
    },
    /// A prompt ends.
    Terminal {
        /// Its number.
        prompt: u32,
        /// How.
        how: DeedEnd,
        /// Its error, or what it gave.
        #[serde(default)]
        text: Arc<str>,
    },
    /// Something was done to the client at this boundary.
    Boundary {
        /// Its name.
        boundary: Arc<str>,
    },
    /// Nothing is left to happen, and the client still waits.
    Deadlock {
        /// Where it waits.
        text: Arc<str>,
    },
    /// The client goes on without an end.
    Livelock {
        /// How that was seen.
        text: Arc<str>,
    },
    /// A task of the client still runs at the end.
    LeftTask {
        /// Its name.
        text: Arc<str>,
    },
    /// A connection is still open at the end.
    OpenConnection {
        /// The number of its answer.
        answer: u32,
    },
}

/// How a tool or a prompt of a client ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeedEnd {
    /// As it should.
    Ok,
    /// With an error.
    Error,
    /// It was stopped.
    #[serde(alias = "cancelled")]
    Stopped,
}

impl DeedEnd {
    /// In a transcript, of a tool.
    pub(super) fn of_tool(self) -> &'static str {
        match self {
            Self::Ok => "tool ends",
            Self::Error => "tool fails",
            Self::Stopped => "tool stops",
        }
    }

    /// In a transcript, of a prompt.
    pub(super) fn of_prompt(self) -> &'static str {
        match self {
            Self::Ok => "prompt ends",
            Self::Error => "prompt fails",
            Self::Stopped => "prompt stops",
        }
    }
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct EndLine {
    /// When.
    #[serde(flatten)]
    pub moment: LineMoment,
    /// Whether the verdict has the text of the transcript.
    #[serde(default)]
    pub transcript: bool,
}

impl ClientLine {
    /// Reads a line.
    ///
    /// # Errors
    /// What is wrong with it, with its beginning.
    pub fn read(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| {
            let shown: String = text.chars().take(200).collect();
            format!("this line is not understood: {error}: {shown}")
        })
    }

    /// When it happens; `None` for a line outside of a run.
    pub fn moment(&self) -> Option<LineMoment> {
        match self {
            Self::Open(_) | Self::Explore(_) | Self::Next(_) | Self::Tried(_) => None,
            Self::Request(line) => Some(line.moment),
            Self::Closed(line) => Some(line.moment),
            Self::Tool(line) => Some(line.moment),
            Self::Note(line) => Some(line.moment),
            Self::End(line) => Some(line.moment),
        }
    }

    /// Whether the client waits for a reply.
    pub fn has_reply(&self) -> bool {
        match self {
            Self::Open(_) | Self::Request(_) | Self::Tool(_) | Self::End(_) | Self::Explore(_) | Self::Next(_) => true,
            Self::Closed(_) | Self::Tried(_) => false,
            Self::Note(line) => line.reply,
        }
    }
}
