//! When and how the context is shortened: figures of C-1 to C-5 and Q-5.

use serde::{Deserialize, Serialize};

use super::table::settings;
use reenact_wire::prelude::*;

settings! {
    ($)
    /// When and how the context is shortened (C-1 to C-5, Q-5).
    #[derive(Eq)]
    pub struct CompactionSettings, keys compaction_keys {
        /// The context window. The engine summarises near `context_window - output_reserve - margin` tokens, by default 33,000 below the window (C-4). Without
        /// a window nothing that depends on it happens (C-3, Q-5).
        context_window: ContextWindow = ContextWindow::Auto, unit("tokens"), example("200000");
        /// Whether the engine removes dead messages (C-1).
        snip: bool = true;
        /// How old results are cleared (C-2).
        microcompact: MicrocompactMode = MicrocompactMode::Off;
        /// How many of the newest results stay (C-2).
        keep_results: u32 = 5, unit("results");
        /// Whether staged summaries are committed (C-3).
        collapse: bool = true;
        /// Staged summaries are committed from this part of the effective window on (C-3).
        collapse_percent: u32 = 90, unit("percent");
        /// Whether the engine summarises the conversation when the context comes near the window (C-4).
        auto: bool = true;
        /// Whether the engine summarises the conversation after the API refused it as too long (C-5).
        reactive: bool = true;
        /// The longest answer of the model. If it is smaller than `output_reserve`, it counts in its place.
        output_cap: Option<u64> = None, unit("tokens"), example("8000");
        /// The greatest part of the window that stays free for the answer. The rest is the effective window. A summary may be as long.
        output_reserve: u64 = 20_000, unit("tokens");
        /// The engine summarises from this distance to the effective window on (C-4).
        margin: u64 = 13_000, unit("tokens");
        /// The user gets a warning from this distance to that point on.
        warning_margin: u64 = 20_000, unit("tokens");
        /// The engine makes no request from this distance to the effective window on.
        hard_margin: u64 = 3_000, unit("tokens");
        /// After this many failures in a row the session does not summarise again (C-4).
        max_failures: u32 = 3, above_zero("a circuit breaker opens after at least 1 failure");
        /// How often the engine drops the oldest rounds when the summarising request itself is too long (C-4).
        summary_drops: u32 = 3;
        /// Whether the summarising request is first made about all there is, also where the error says how much is too much (C-4).
        full_summary_first: bool = false;
        /// Whether the summarising request keeps the tools of the conversation (C-4).
        summary_tools: bool = false;
        /// Whether the engine asks once more for a summary that is not in `<summary>` tags (C-4a).
        summary_tags: bool = false;
        /// How a prompt ends that the API refuses with 413.
        too_large_request: TooLargeRequestPolicy = TooLargeRequestPolicy::Prompt;
        /// After a 413 the engine summarises only a conversation with at least this many answers that something follows.
        too_large_answers: u32 = 0;
        /// How many of the newest messages a summary leaves unchanged, with the rest of their rounds (C-4). The last message of the user stays in any
        /// case until it is answered.
        keep_messages: u32 = 0, unit("messages");
        /// How many of the files that were read last are attached to a summary (C-4).
        attached_files: u32 = 5, unit("files");
        /// How many tokens of these files are attached in all (C-4).
        attached_file_tokens: u64 = 50_000, unit("tokens");
        /// A plan that is attached to a summary (C-4).
        plan: Option<Arc<str>> = None;
        /// The texts of invoked skills, attached to a summary (C-4).
        skills: Vec<Arc<str>> as TextListOf<Arc<str>> = Vec::new();
    }
}

/// Which context window the figures of C-3, C-4 and Q-5 follow from. Written as `"auto"`, a number, or `null`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
    /// what a request that is too large in bytes counts as when nothing helps.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum TooLargeRequestPolicy default Prompt {
        /// Too long a prompt: the terminal is `prompt_too_long`.
        Prompt = "prompt",
        /// Too large media: the terminal is `image_error`.
        Media = "media",
    }
}

words! {
    /// C-2: the two ways, or neither.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum MicrocompactMode default Off {
        /// Results stay.
        Off = "off",
        /// The content is replaced in the messages.
        Local = "local",
        /// The messages stay, and the request asks the API to clear the results.
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
