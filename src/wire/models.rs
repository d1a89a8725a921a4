//! Facts about the models of the API that decide which requests are refused (N-6). Their context windows are a table of the engine,
//! `src/engine/windows.toml`.
//!
//! As of 2026-11-21: from public documentation where it says so, otherwise inferred from the model's family. A model that is not here is taken for
//! one that allows everything: a guess would refuse what the real API takes. Rows for retired models stay, because recordings name them.

use crate::prelude::*;

/// One model, or a family of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ModelFacts {
    /// How its name begins; the longest row that fits a name counts.
    pub prefix: &'static str,
    /// The most output tokens that may be asked for.
    pub output_max: u64,
    /// How old it is, for the rules that changed over time.
    pub generation: ModelGeneration,
}

/// The generations of models that the API treats differently, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ModelGeneration {
    /// Before 4.5: input and `max_tokens` together must fit into the window.
    Early,
    /// 4.5: the input alone must fit; no adaptive thinking.
    Four5,
    /// 4.6: no prefill any more.
    Four6,
    /// 4.7 to 5: thinking is adaptive; that of another model is ignored.
    Four7,
    /// 5.1, 5.2 and 5.5: thinking that cannot be read is dropped.
    Five1,
    /// Those of them that always think, so that no tool can be forced.
    AlwaysThinks,
}

words! {
    /// The API's treatment of thinking that it did not give for just this place of the conversation.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum SignaturePolicy {
        /// Nothing: it is not read.
        Ignore = "ignore",
        /// It is left out, and the request continues.
        Drop = "drop",
        /// The request is refused.
        Refuse = "refuse",
    }
}

const fn model(prefix: &'static str, output_max: u64, generation: ModelGeneration) -> ModelFacts {
    ModelFacts { prefix, output_max, generation }
}

/// All rows.
pub const MODELS: &[ModelFacts] = &[
    model("claude-3-haiku", 4_096, ModelGeneration::Early),
    model("claude-3-opus", 4_096, ModelGeneration::Early),
    model("claude-3-sonnet", 4_096, ModelGeneration::Early),
    model("claude-3-5-haiku", 8_192, ModelGeneration::Early),
    model("claude-3-5-sonnet", 8_192, ModelGeneration::Early),
    model("claude-3-7-sonnet", 64_000, ModelGeneration::Early),
    model("claude-opus-4", 32_000, ModelGeneration::Early),
    model("claude-sonnet-4", 64_000, ModelGeneration::Early),
    model("claude-opus-4-5", 64_000, ModelGeneration::Four5),
    model("claude-sonnet-4-5", 64_000, ModelGeneration::Four5),
    model("claude-haiku-4-5", 64_000, ModelGeneration::Four5),
    model("claude-opus-4-6", 128_000, ModelGeneration::Four6),
    model("claude-sonnet-4-6", 128_000, ModelGeneration::Four6),
    model("claude-opus-4-7", 128_000, ModelGeneration::Four7),
    model("claude-opus-4-8", 128_000, ModelGeneration::Four7),
    model("claude-opus-5", 128_000, ModelGeneration::Four7),
    model("claude-sonnet-5", 128_000, ModelGeneration::Four7),
    model("claude-fable-5", 128_000, ModelGeneration::Four7),
    model("claude-mythos-5", 128_000, ModelGeneration::Four7),
    model("claude-opus-5-5", 128_000, ModelGeneration::AlwaysThinks),
    model("claude-sonnet-5-5", 128_000, ModelGeneration::Five1),
    model("claude-haiku-5-5", 128_000, ModelGeneration::Five1),
    model("claude-fable-5-1", 128_000, ModelGeneration::AlwaysThinks),
    model("claude-mythos-5-1", 128_000, ModelGeneration::AlwaysThinks),
    model("claude-fable-5-2", 128_000, ModelGeneration::Five1),
    model("claude-mythos-5-2", 128_000, ModelGeneration::Five1),
];

impl ModelFacts {
    /// The row of this model; `None` when nothing is known of it.
    pub fn find(name: &str) -> Option<&'static Self> {
        let fits = |row: &&Self| name.strip_prefix(row.prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '@', '[']));
        MODELS.iter().filter(fits).max_by_key(|row| row.prefix.len())
    }

    /// The API's treatment of foreign thinking by default.
    pub fn signatures(&self) -> SignaturePolicy {
        if self.generation >= ModelGeneration::Five1 { SignaturePolicy::Drop } else { SignaturePolicy::Ignore }
    }

    /// Whether the API ties this model's thinking to all that is before it, and takes it in no other place.
    pub fn binds_thinking(name: &str) -> bool {
        Self::find(name).is_some_and(|model| model.signatures() != SignaturePolicy::Ignore)
    }

    /// The levels of effort that it knows, in the order in which the API lists them; `None` where they were not seen.
    pub fn efforts(&self) -> Option<&'static [&'static str]> {
        (self.prefix == "claude-opus-4-6").then_some(&["high", "low", "max", "medium"])
    }

    /// How many images a request may hold: fewer where the window is small, as it was up to 4.5.
    pub fn images_max(&self) -> usize {
        if self.generation <= ModelGeneration::Four5 { 100 } else { 600 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n_6_the_longest_row_counts_and_an_unknown_model_has_none() {
        let of = |name| ModelFacts::find(name).map(|row| row.prefix);
        assert_eq!(of("claude-sonnet-4-5-20250929"), Some("claude-sonnet-4-5"));
        assert_eq!(of("claude-sonnet-4-20250514"), Some("claude-sonnet-4"));
        assert_eq!(of("claude-opus-5-5"), Some("claude-opus-5-5"));
        assert_eq!(of("claude-opus-50"), None);
        assert_eq!(of("some-other"), None);
    }

    #[test]
    fn n_6_no_row_is_there_twice() {
        for (at, row) in MODELS.iter().enumerate() {
            assert!(MODELS[..at].iter().all(|other| other.prefix != row.prefix), "{}", row.prefix);
        }
    }
}
