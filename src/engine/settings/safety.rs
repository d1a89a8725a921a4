//! A tool's class: may it run beside others (T-3)?

use serde::{Deserialize, Serialize};

/// Which uses of a tool may run beside others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "SafetyValue", into = "SafetyValue")]
pub enum ToolSafety {
    /// Every use.
    Always,
    /// No use.
    Never,
    /// A use with a `command` that only reads.
    ByCommand,
    /// The tool cannot say, so no use.
    #[default]
    Unknown,
}

/// From the word of a tool; `None` when it has none.
impl From<Option<bool>> for ToolSafety {
    fn from(safe: Option<bool>) -> Self {
        match safe {
            Some(true) => Self::Always,
            Some(false) => Self::Never,
            None => Self::Unknown,
        }
    }
}

/// As logs have it: `true`, `false`, `null` or a word.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum SafetyValue {
    Word(SafetyWord),
    Flag(Option<bool>),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SafetyWord {
    ByCommand,
}

impl From<SafetyValue> for ToolSafety {
    fn from(value: SafetyValue) -> Self {
        match value {
            SafetyValue::Flag(safe) => safe.into(),
            SafetyValue::Word(SafetyWord::ByCommand) => Self::ByCommand,
        }
    }
}

impl From<ToolSafety> for SafetyValue {
    fn from(safety: ToolSafety) -> Self {
        match safety {
            ToolSafety::Always => Self::Flag(Some(true)),
            ToolSafety::Never => Self::Flag(Some(false)),
            ToolSafety::Unknown => Self::Flag(None),
            ToolSafety::ByCommand => Self::Word(SafetyWord::ByCommand),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t_3_logs_keep_the_words_that_they_had() {
        let table = [
            (ToolSafety::Always, "true"),
            (ToolSafety::Never, "false"),
            (ToolSafety::Unknown, "null"),
            (ToolSafety::ByCommand, r#""by_command""#),
        ];
        for (safety, text) in table {
            assert_eq!(serde_json::to_string(&safety).unwrap(), text);
            assert_eq!(serde_json::from_str::<ToolSafety>(text).unwrap(), safety);
        }
    }
}
