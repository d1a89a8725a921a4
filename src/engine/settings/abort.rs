//! What an abort does to tool uses, where engines in the field differ (T-13, T-15a, T-19).

use serde::{Deserialize, Serialize};

/// T-13, T-28: which error results of a shell tool abort its siblings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "SiblingAbortValue", into = "SiblingAbortValue")]
pub enum SiblingAbort {
    /// None.
    Off,
    /// Those of a command that failed: it could not start, took too long, or ended with another exit code than 0 (which is a setting).
    Failed,
    /// Those of a command that was never started, too: a refused permission, an input that does not fit.
    Any,
}

/// As logs have it: `true`, `false` or a word.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum SiblingAbortValue {
    Flag(bool),
    Word(SiblingAbortWord),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SiblingAbortWord {
    Any,
}

/// Whether failed commands do.
impl From<bool> for SiblingAbort {
    fn from(aborts: bool) -> Self {
        if aborts { Self::Failed } else { Self::Off }
    }
}

impl From<SiblingAbortValue> for SiblingAbort {
    fn from(value: SiblingAbortValue) -> Self {
        match value {
            SiblingAbortValue::Flag(aborts) => aborts.into(),
            SiblingAbortValue::Word(SiblingAbortWord::Any) => Self::Any,
        }
    }
}

impl From<SiblingAbort> for SiblingAbortValue {
    fn from(which: SiblingAbort) -> Self {
        match which {
            SiblingAbort::Off => Self::Flag(false),
            SiblingAbort::Failed => Self::Flag(true),
            SiblingAbort::Any => Self::Word(SiblingAbortWord::Any),
        }
    }
}

/// T-15a: when a queued tool use that is aborted gets its result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AbortResultOrder {
    /// In the step that aborts it.
    #[default]
    AtOnce,
    /// When it would have started, behind those that still execute.
    InTurn,
}

/// T-15a: what becomes of a queued *block* tool when a message was submitted that stopped the *cancel* tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueuedBlockPolicy {
    /// It is answered and never starts.
    #[default]
    Answered,
    /// It starts when there is room, and the prompt ends after it.
    Run,
}

/// T-19: what becomes of tools that run when their answer is discarded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiscardPolicy {
    /// They are told to stop, and count as executing until they do.
    #[default]
    Stop,
    /// Nobody is told, and they are in nobody's way: a hazard.
    Ignore,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t_13_logs_keep_the_words_that_they_had() {
        for (which, text) in [(SiblingAbort::Off, "false"), (SiblingAbort::Failed, "true"), (SiblingAbort::Any, r#""any""#)] {
            assert_eq!(serde_json::to_string(&which).unwrap(), text);
            assert_eq!(serde_json::from_str::<SiblingAbort>(text).unwrap(), which);
        }
    }
}
