//! O-12, of figures: after a compaction an engine takes its context for about as large as the next request shows it. Counts that the API gave before the compaction
//! are about a context that is gone (C-4).

use super::ORACLE;
use crate::OracleFindings;
use reenact_engine::contract::{Effect, Emission, Note, RequestId};
use reenact_engine::emission::CompactionLevel;
use reenact_wire::prelude::*;

/// So many tokens an engine may be wrong by in any case, beside a quarter of the context.
const ERROR_MAX: u64 = 200;

/// The figure of the engine since the last compaction.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct ContextFigureOracle {
    /// A compaction was made, and the API has counted nothing since.
    is_uncounted: bool,
    /// The size of the context in the engine's own words.
    told: Option<u64>,
}

impl ContextFigureOracle {
    pub(super) fn on_effect(&mut self, effect: &Effect) {
        match effect {
            Effect::Emit(Emission::CompactBoundary { .. }) => *self = Self { is_uncounted: true, told: None },
            Effect::Emit(Emission::Answered { usage, .. }) if usage.context_tokens().is_some() => *self = Self::default(),
            // Each prompt takes the size of its context anew, and its first request may be one for a summary, which leaves media out.
            Effect::Finished { .. } => self.told = None,
            Effect::Note(Note::Compaction { level: CompactionLevel::Auto, before, .. }) if self.is_uncounted => self.told = Some(*before),
            _ => (),
        }
    }

    /// `tokens` counts the size of a request, by its content.
    pub(super) fn on_request(&mut self, id: RequestId, tokens: impl FnOnce() -> u64, found: &mut OracleFindings<'_>) {
        let Some(told) = self.told.take() else { return };
        let tokens = tokens();
        found.ask(ORACLE);
        if told > tokens + tokens / 4 + ERROR_MAX {
            found.add(ORACLE, format!("the context was taken for {told} tokens after a compaction, and request {id} has about {tokens}"));
        }
    }
}
