//! The tokens of content, by a counter that is better than the estimate (a tokenizer may be plugged in).
//!
//! The API's count has priority over a tokenizer. The tokenizer counts newer content only. The simulated API continues counting by
//! the estimate: what is outside of an engine knows nothing of what is plugged into it.

use core::fmt;

use reenact_wire::block::Block;
use reenact_wire::prelude::*;
use reenact_wire::tokens;

/// Counts tokens. The same block always has the same number of them.
pub trait CountTokens: fmt::Debug + Send + Sync {
    /// How many tokens a block has.
    fn tokens(&self, block: &Block) -> u64;
}

/// The tokenizer of an environment, if there is one. It is neither compared nor written: after reading an environment it must be attached again.
#[derive(Clone, Debug, Default)]
pub struct Tokenizer(Option<Arc<dyn CountTokens>>);

impl PartialEq for Tokenizer {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Tokenizer {
    /// Asks this one from now on.
    pub fn new(counter: impl CountTokens + 'static) -> Self {
        Self(Some(Arc::new(counter)))
    }

    /// How many tokens the content of a message has; without a tokenizer, about how many.
    pub fn blocks(&self, content: &[Block]) -> u64 {
        match &self.0 {
            Some(counter) => content.iter().map(|block| counter.tokens(block)).fold(0, u64::saturating_add),
            None => tokens::blocks(content),
        }
    }
}
