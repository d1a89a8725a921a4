//! Settings of aborts, where engines in the field differ about tool uses (T-13, T-15a, T-19).

use serde::{Deserialize, Serialize};

use reenact_wire::prelude::*;

words! {
    /// T-13, T-28: which error results of a shell tool abort its siblings.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(from = "SiblingAbortValue", into = "SiblingAbortValue")]
    pub enum SiblingAbort {
        /// No error.
        Off = "off",
        /// Errors of a command that failed: it could not start, took too long, or ended with another exit code than 0 (which is a setting).
        Failed = "failed",
        /// Errors of a command that never started as well: a refused permission, an input that does not fit.
        Any = "any",
    }
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

words! {
    /// T-15a: when a queued tool use that is aborted gets its result.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum AbortResultOrder default AtOnce {
        /// In the step that aborts it.
        AtOnce = "at_once",
        /// When it would have started, behind those that still execute.
        InTurn = "in_turn",
    }
}

words! {
    /// T-15a: what happens to a queued *block* tool when a submitted message stops the *cancel* tools.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum QueuedBlockPolicy default Answered {
        /// It is answered and never starts.
        Answered = "answered",
        /// It starts when there is room, and the prompt ends after it.
        Run = "run",
    }
}

words! {
    /// T-19: what happens to running tools when their answer is discarded.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum DiscardPolicy default Stop {
        /// They are stopped, and count as executing until they end.
        Stop = "stop",
        /// They are neither stopped nor counted: the next attempt's tools start beside them, which is a hazard.
        Ignore = "ignore",
    }
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
