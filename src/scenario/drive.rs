//! `[drive]` and `[[normalise]]`: what is known of a real client that is driven through a scenario (K-7, K-10).

use crate::client_profile::ClientProfile;
use reenact_wire::prelude::*;

/// The facts about a driven client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DriveScript {
    /// Which client it is; `None` for one that is not known.
    pub client: Option<KnownClient>,
    /// The profile that the scenario itself gives.
    pub profile: Option<Arc<ClientProfile>>,
    /// The exit code that it must have.
    pub exit: Option<u32>,
    /// Shipped rules that are left out, by their names.
    pub without: Vec<Arc<str>>,
    /// Further rules.
    pub normalise: Vec<NormaliseRule>,
    /// How tools show that they run.
    pub markers: ToolMarkers,
    /// Whether what cannot be done to a client, or asked of it, may be left out (F-10).
    pub may: bool,
}

/// By what it is seen that a tool of a client runs (K-9).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolMarkers {
    /// It makes this file in the client's working folder, or changes it.
    pub file: Option<Arc<str>>,
    /// The client prints a line that holds this text.
    pub line: Option<Arc<str>>,
}

words! {
    /// A client with a shipped profile.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum KnownClient {
        /// Claude Code.
        ClaudeCode = "claude-code",
        /// opencode.
        Opencode = "opencode",
        /// pi, the coding agent.
        Pi = "pi",
        /// Continue's command line.
        Continue = "continue",
        /// gptme.
        Gptme = "gptme",
        /// A program on one of the official SDKs.
        Sdk = "sdk",
        /// A small agent on the official SDK for Python.
        SdkPython = "sdk-python",
        /// A small agent on the official SDK for TypeScript.
        SdkTypescript = "sdk-typescript",
    }
}

/// Something that may vary between equal runs: it is shown by the rule's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NormaliseRule {
    /// The name that is shown in its place, in angle brackets.
    pub name: Arc<str>,
    /// Where it is.
    pub place: VaryingPlace,
}

/// Where something is that may vary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VaryingPlace {
    /// The values of JSON members of this name.
    Member(Arc<str>),
    /// The text behind `after`, up to `until`, or to the next blank where that is `None`.
    Between {
        /// The text before it.
        after: Arc<str>,
        /// The text behind it.
        until: Option<Arc<str>>,
    },
}

/// The names of the shipped rules, each with what it is about (K-10).
pub const SHIPPED_RULES: [(&str, &str); 8] = [
    ("ports", "the port behind 127.0.0.1: and localhost:"),
    ("uuids", "UUIDs, numbered in the order in which they are first seen"),
    ("ids", "32 and more hexadecimal digits, numbered in the order in which they are first seen"),
    ("folders", "the folders that were made for the run"),
    ("dates", "dates and times of day"),
    ("durations", "JSON members whose names end with _ms"),
    ("order", "the order of results that follow each other, and what marks the last of them"),
    ("members", "JSON members that are known to vary: uuid, timestamp, pid and the like"),
];
