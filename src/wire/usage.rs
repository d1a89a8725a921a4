//! Token counts as the API reports them.
//!
//! A later report is a running total, not an addition: it overwrites, and a field that it leaves out keeps its earlier value (N-3).

use serde::{Deserialize, Serialize};

/// Token counts of one answer. A field that the API did not send is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Input tokens after the last cache breakpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Output tokens so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Input tokens written to the cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_creation_input_tokens: Option<u64>,
    /// Input tokens read from the cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read_input_tokens: Option<u64>,
    /// Of the input tokens written to the cache, those that stay there for an hour.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_creation_1h_input_tokens: Option<u64>,
    /// Web searches that the API made for the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub web_search_requests: Option<u32>,
}

impl Usage {
    /// Takes over every field that `later` carries (N-3: cumulative, so it overwrites).
    pub fn overwrite_with(&mut self, later: &Usage) {
        let take = |mine: &mut Option<u64>, theirs: Option<u64>| *mine = theirs.or(*mine);
        take(&mut self.input_tokens, later.input_tokens);
        take(&mut self.output_tokens, later.output_tokens);
        take(&mut self.cache_creation_input_tokens, later.cache_creation_input_tokens);
        take(&mut self.cache_read_input_tokens, later.cache_read_input_tokens);
        take(&mut self.cache_creation_1h_input_tokens, later.cache_creation_1h_input_tokens);
        self.web_search_requests = later.web_search_requests.or(self.web_search_requests);
    }

    /// Adds the figures of a further answer: for totals over a session, where each answer counts once.
    pub fn add(&mut self, other: &Usage) {
        let add = |mine: &mut Option<u64>, theirs: Option<u64>| {
            if let Some(more) = theirs {
                *mine = Some(mine.unwrap_or(0).saturating_add(more));
            }
        };
        add(&mut self.input_tokens, other.input_tokens);
        add(&mut self.output_tokens, other.output_tokens);
        add(&mut self.cache_creation_input_tokens, other.cache_creation_input_tokens);
        add(&mut self.cache_read_input_tokens, other.cache_read_input_tokens);
        add(&mut self.cache_creation_1h_input_tokens, other.cache_creation_1h_input_tokens);
        if let Some(more) = other.web_search_requests {
            self.web_search_requests = Some(self.web_search_requests.unwrap_or(0).saturating_add(more));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n_3_a_later_report_overwrites_and_absent_fields_stay() {
        let mut usage = Usage { input_tokens: Some(25), output_tokens: Some(1), cache_read_input_tokens: Some(7), ..Usage::default() };
        usage.overwrite_with(&Usage { output_tokens: Some(97), input_tokens: Some(9281), ..Usage::default() });
        assert_eq!(usage.output_tokens, Some(97), "not 98");
        assert_eq!(usage.input_tokens, Some(9281));
        assert_eq!(usage.cache_read_input_tokens, Some(7));
    }
}
