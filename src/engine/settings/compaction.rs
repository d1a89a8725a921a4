//! When and how the context is shortened: figures of C-1 to C-5 and Q-5.

use serde::{Deserialize, Serialize};

use super::table::settings;
use crate::prelude::*;

settings! {
    ($)
    /// Settings of the compaction cascade.
    #[derive(Eq)]
    pub struct CompactionSettings, keys compaction_keys {
        /// The context window that the other figures follow from. Without one nothing that depends on it happens (C-3, C-4, Q-5).
        context_window: ContextWindow = ContextWindow::Auto, unit("tokens"), example("200000");
        /// Whether dead messages go (C-1).
        snip: bool = true;
        /// How old results are cleared (C-2).
        microcompact: MicrocompactMode = MicrocompactMode::Off;
        /// How many of the newest results stay (C-2).
        keep_results: u32 = 5, unit("results");
        /// Whether staged summaries are committed (C-3).
        collapse: bool = true;
        /// From how many percent of the effective window on they are (C-3).
        collapse_percent: u32 = 90, unit("percent");
        /// Whether all is summarised when the context comes near the window (C-4).
        auto: bool = true;
        /// Whether all is summarised after the API said too long (C-5).
        reactive: bool = true;
        /// The most that the model can answer, in tokens; `None` when it is not known, and then `output_reserve` stands for it.
        output_cap: Option<u64> = None, unit("tokens");
        /// At most so much of the window is kept free for the answer: what is left is the effective window. A summary may be as long.
        output_reserve: u64 = 20_000, unit("tokens");
        /// So far below the effective window all is summarised (C-4).
        margin: u64 = 13_000, unit("tokens");
        /// So far below that the user is warned.
        warning_margin: u64 = 20_000, unit("tokens");
        /// So far below the effective window no request is made any more.
        hard_margin: u64 = 3_000, unit("tokens");
        /// After so many failures in a row it is not tried again in this session (C-4).
        max_failures: u32 = 3, above_zero("a circuit breaker opens after at least 1 failure");
        /// How often the oldest rounds are left out when the summarising call itself is too long (C-4).
        summary_drops: u32 = 3;
        /// So many of the newest messages stay as they are, and what belongs to the same round with them (C-4). What the user said last stays
        /// whatever this says, as long as it is not answered.
        keep_messages: u32 = 0, unit("messages");
        /// At most so many of the files that were read last are attached to the summary (C-4).
        attached_files: u32 = 5, unit("files");
        /// And at most so many tokens of them in all.
        attached_file_tokens: u64 = 50_000, unit("tokens");
        /// The plan that is attached to the summary, if there is one.
        plan: Option<Arc<str>> = None;
        /// What invoked skills say, attached to the summary.
        skills: Vec<Arc<str>> as TextListOf<Arc<str>> = Vec::new();
    }
}

/// Which context window the figures of C-3, C-4 and Q-5 follow from. Written as `"auto"`, a number, or `null`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "WindowForm", into = "WindowForm")]
pub enum ContextWindow {
    /// That of the model in the request, by the window table.
    #[default]
    Auto,
    /// So many tokens, whatever the model.
    Tokens(u64),
    /// No window.
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

words! {
    /// C-2: the two ways, or neither.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum MicrocompactMode default Off {
        /// Results stay.
        Off = "off",
        /// The content is replaced in the messages.
        Local = "local",
        /// The messages stay, and the API is told what to clear.
        Cached = "cached",
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
