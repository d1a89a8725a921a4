//! How a prompt can end.

use serde::{Deserialize, Serialize};

use reenact_wire::prelude::*;

/// Why a prompt ended: exactly one each.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Terminal {
    /// The turn ended well, or every recovery from the output limit was used up.
    Completed,
    /// Too long a prompt, and no recovery helped.
    PromptTooLong,
    /// Too large media, and no recovery helped.
    ImageError,
    /// The API call gave up.
    ModelError,
    /// The user aborted while the model streamed or while a retry was waiting.
    AbortedStreaming,
    /// The user aborted while tools ran.
    AbortedTools,
    /// The context is over the hard limit and nothing is left that could shorten it.
    BlockingLimit,
    /// A stop hook ended the turn.
    StopHookPrevented,
    /// A tool hook ended the turn (T-23, T-26).
    HookStopped,
    /// The turn limit is reached (S-10).
    MaxTurns,
    /// The money is spent (S-10).
    MaxBudget,
    /// The model was asked too often for its structured output (S-9).
    StructuredOutputRetries,
    /// An end that only another engine knows.
    Other(Arc<str>),
}

impl Terminal {
    /// The words of all that are known here.
    pub const WORDS: [&'static str; 12] = [
        "completed",
        "aborted_streaming",
        "aborted_tools",
        "prompt_too_long",
        "image_error",
        "model_error",
        "blocking_limit",
        "stop_hook_prevented",
        "hook_stopped",
        "max_turns",
        "max_budget",
        "structured_output_retries",
    ];

    /// The word that transcripts and scenarios use.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Completed => "completed",
            Self::PromptTooLong => "prompt_too_long",
            Self::ImageError => "image_error",
            Self::ModelError => "model_error",
            Self::AbortedStreaming => "aborted_streaming",
            Self::AbortedTools => "aborted_tools",
            Self::BlockingLimit => "blocking_limit",
            Self::StopHookPrevented => "stop_hook_prevented",
            Self::HookStopped => "hook_stopped",
            Self::MaxTurns => "max_turns",
            Self::MaxBudget => "max_budget",
            Self::StructuredOutputRetries => "structured_output_retries",
            Self::Other(name) => name,
        }
    }
}
