//! When and how the context is shortened: figures of C-1 to C-5 and Q-5.

use serde::{Deserialize, Serialize};

use crate::prelude::*;

/// Settings of the compaction cascade.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CompactionSettings {
    /// The context window; without one nothing that depends on it happens (C-3, C-4, Q-5).
    pub context_window: ContextWindow,
    /// Whether dead messages go (C-1).
    pub snip: bool,
    /// How old results are cleared (C-2).
    pub microcompact: MicrocompactMode,
    /// How many of the newest results stay (C-2).
    pub keep_results: u32,
    /// Whether staged summaries are committed (C-3).
    pub collapse: bool,
    /// From how many percent of the effective window on they are (C-3).
    pub collapse_percent: u32,
    /// Whether all is summarised when the context comes near the window (C-4).
    pub auto: bool,
    /// Whether all is summarised after the API said too long (C-5).
    pub reactive: bool,
    /// The most that the model can answer, in tokens; `None` when it is not known, and then `output_reserve` stands for it.
    pub output_cap: Option<u64>,
    /// At most so much of the window is kept free for the answer: what is left is the effective window. A summary may be as long.
    pub output_reserve: u64,
    /// So far below the effective window all is summarised (C-4).
    pub margin: u64,
    /// So far below that the user is warned.
    pub warning_margin: u64,
    /// So far below the effective window no request is made any more.
    pub hard_margin: u64,
    /// After so many failures in a row it is not tried again in this session (C-4).
    pub max_failures: u32,
    /// How often the oldest rounds are left out when the summarising call itself is too long (C-4).
    pub summary_drops: u32,
    /// So many of the newest messages stay as they are, and what belongs to the same round with them (C-4). What the user said last stays
    /// whatever this says, as long as it is not answered.
    pub keep_messages: u32,
    /// At most so many of the files that were read last are attached to the summary (C-4).
    pub attached_files: u32,
    /// And at most so many tokens of them in all.
    pub attached_file_tokens: u64,
    /// The plan that is attached to the summary, if there is one.
    pub plan: Option<Arc<str>>,
    /// What invoked skills say, attached to the summary.
    pub skills: Vec<Arc<str>>,
}

/// Which context window the figures of C-3, C-4 and Q-5 follow from. Written as `"auto"`, a number, or `null`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "WindowForm", into = "WindowForm")]
pub enum ContextWindow {
    /// That of the model which the request names, as the window table has it.
    #[default]
    Auto,
    /// So many tokens, whatever the model.
    Tokens(u64),
    /// None.
    None,
}

/// How a context window is written: `null` and numbers are the older forms.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum WindowForm {
    Tokens(u64),
    Word(WindowWord),
    Null(()),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WindowWord {
    Auto,
}

impl From<WindowForm> for ContextWindow {
    fn from(form: WindowForm) -> Self {
        match form {
            WindowForm::Tokens(tokens) => Self::Tokens(tokens),
            WindowForm::Word(WindowWord::Auto) => Self::Auto,
            WindowForm::Null(()) => Self::None,
        }
    }
}

impl From<ContextWindow> for WindowForm {
    fn from(window: ContextWindow) -> Self {
        match window {
            ContextWindow::Tokens(tokens) => Self::Tokens(tokens),
            ContextWindow::Auto => Self::Word(WindowWord::Auto),
            ContextWindow::None => Self::Null(()),
        }
    }
}

/// C-2: the two ways, or neither.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MicrocompactMode {
    /// Results stay.
    #[default]
    Off,
    /// The content is replaced in the messages.
    Local,
    /// The messages stay, and the API is told what to clear.
    Cached,
}

impl Default for CompactionSettings {
    fn default() -> Self {
        Self {
            context_window: ContextWindow::Auto,
            snip: true,
            microcompact: MicrocompactMode::Off,
            keep_results: 5,
            collapse: true,
            collapse_percent: 90,
            auto: true,
            reactive: true,
            output_cap: None,
            output_reserve: 20_000,
            margin: 13_000,
            warning_margin: 20_000,
            hard_margin: 3_000,
            max_failures: 3,
            summary_drops: 3,
            keep_messages: 0,
            attached_files: 5,
            attached_file_tokens: 50_000,
            plan: None,
            skills: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c_4_each_form_of_a_window_is_read_as_it_is_written() {
        for (window, text) in [(ContextWindow::Auto, "\"auto\""), (ContextWindow::Tokens(9), "9"), (ContextWindow::None, "null")] {
            assert_eq!(serde_json::to_string(&window).unwrap(), text);
            assert_eq!(serde_json::from_str::<ContextWindow>(text).unwrap(), window);
        }
        assert!(serde_json::from_str::<ContextWindow>("\"large\"").is_err());
        let older: CompactionSettings = serde_json::from_str("{\"context_window\":null}").unwrap();
        assert_eq!(older.context_window, ContextWindow::None, "so it was written where no window was known");
    }
}
