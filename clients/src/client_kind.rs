//! The clients that are installed for the tables: SDKs, and libraries above them.

/// The language that a client is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Python,
    TypeScript,
}

/// An SDK that is installed.
#[derive(Debug)]
pub(super) struct SdkClient {
    pub(super) language: Language,
    /// To be followed by the way.
    pub(super) command: Vec<String>,
}

/// A library in a pinned version, in a folder of its own: their dependencies do not fit together.
#[derive(Debug)]
pub(super) struct Library {
    pub(super) name: &'static str,
    pub(super) language: Language,
    pub(super) pins: &'static [&'static str],
    /// Its name in the scripts.
    pub(super) argument: &'static str,
}

impl Language {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Python => "Python",
            Self::TypeScript => "TypeScript",
        }
    }
}
