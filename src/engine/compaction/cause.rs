//! Why a compaction happens, and what follows for it.

use super::TokenExcess;
use crate::emission::{CompactTrigger, CompactionLevel};
use reenact_wire::prelude::*;

/// Why the model is asked to summarise.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(crate) struct CompactionCause {
    /// Its cause.
    pub(crate) trigger: CompactTrigger,
    /// The user's instructions for the summary (C-9).
    pub(crate) instructions: Option<Arc<str>>,
    /// How many tokens have to go, where the API said so (C-5): [`excess`](super::excess) of the error.
    pub(crate) excess: Option<TokenExcess>,
    /// Whether media are left out.
    pub(crate) without_media: bool,
    /// How many answers that something follows there must be at least.
    pub(crate) answers_min: u32,
}

impl CompactionCause {
    /// A plain one.
    pub(crate) fn new(trigger: CompactTrigger) -> Self {
        Self { trigger, instructions: None, excess: None, without_media: false, answers_min: 0 }
    }

    /// The level whose work it is.
    pub(super) fn level(&self) -> CompactionLevel {
        match self.trigger {
            CompactTrigger::Auto | CompactTrigger::Manual => CompactionLevel::Auto,
            CompactTrigger::Reactive => CompactionLevel::Reactive,
        }
    }

    /// As a transcript says it.
    pub(super) fn in_words(&self) -> &'static str {
        match self.trigger {
            CompactTrigger::Auto => "the context had reached the threshold",
            CompactTrigger::Manual => "the user asked for it",
            CompactTrigger::Reactive => "the API refused the request as too large",
        }
    }
}
