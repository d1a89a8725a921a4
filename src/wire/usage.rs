//! Token counts as the API reports them.
//!
//! A later report is a running total, not an addition: it overwrites, and a field that it leaves out keeps its earlier value (N-3).

use serde::{Deserialize, Serialize};

use super::raw_json::{self, RawObject};

/// How many input tokens the API says that it left out of old tool results, in a `message_delta` or a whole message whose request asked for it
/// (`context_management.applied_edits`); `None` when it says nothing of it.
pub fn cleared_input_tokens(json: &str) -> Option<u64> {
    // Few answers have the member, and the others need not be taken apart for that.
    memchr::memmem::find(json.as_bytes(), b"\"context_management\"")?;
    let message = RawObject::parse(json).ok()?;
    let edits = message.object("context_management")?;
    let edits = raw_json::elements(edits.get("applied_edits")?).ok()?;
    let cleared = |edit: &str| {
        let edit = RawObject::parse(edit).ok()?;
        let is_ours = edit.string("type").is_some_and(|kind| kind.starts_with("clear_tool_uses"));
        if is_ours { edit.count("cleared_input_tokens") } else { None }
    };
    edits.into_iter().filter_map(cleared).reduce(u64::saturating_add)
}

/// Token counts of one answer. A field that the API did not send is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
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

    /// All that the model has seen and said when the answer is complete: input, cached or not, and output. `None` when the API said
    /// nothing of the input.
    pub fn context_tokens(&self) -> Option<u64> {
        let more = [self.output_tokens, self.cache_creation_input_tokens, self.cache_read_input_tokens];
        Some(more.into_iter().flatten().fold(self.input_tokens?, u64::saturating_add))
    }

    /// All tokens that were counted, in and out.
    pub fn all_tokens(&self) -> u64 {
        let all = [self.input_tokens, self.output_tokens, self.cache_creation_input_tokens, self.cache_read_input_tokens];
        all.into_iter().flatten().fold(0, u64::saturating_add)
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
    use crate::prelude::*;

    #[test]
    fn c_4_the_context_is_input_cached_or_not_and_output() {
        let usage = Usage {
            input_tokens: Some(1),
            output_tokens: Some(2),
            cache_creation_input_tokens: Some(4),
            cache_read_input_tokens: Some(8),
            ..Usage::default()
        };
        assert_eq!(usage.context_tokens(), Some(15));
        assert_eq!(Usage { input_tokens: None, ..usage }.context_tokens(), None, "output alone says nothing of the context");
    }

    #[test]
    fn c_2_applied_edits_are_added_up_by_kind() {
        let delta = |edits: &str| format!(r#"{{"type":"message_delta","context_management":{{"applied_edits":{edits}}}}}"#);
        let one = r#"{"type":"clear_tool_uses_20250919","cleared_tool_uses":2,"cleared_input_tokens":1500}"#;
        let other = r#"{"type":"clear_thinking_20251015","cleared_thinking_turns":3,"cleared_input_tokens":9}"#;
        assert_eq!(cleared_input_tokens(&delta(&format!("[{one},{other},{one}]"))), Some(3_000));
        assert_eq!(cleared_input_tokens(&delta(&format!("[{other}]"))), None);
        assert_eq!(cleared_input_tokens(&delta("[]")), None);
        assert_eq!(cleared_input_tokens(r#"{"type":"message_delta"}"#), None);
    }

    #[test]
    fn n_3_a_later_report_overwrites_and_absent_fields_stay() {
        let mut usage = Usage { input_tokens: Some(25), output_tokens: Some(1), cache_read_input_tokens: Some(7), ..Usage::default() };
        usage.overwrite_with(&Usage { output_tokens: Some(97), input_tokens: Some(9281), ..Usage::default() });
        assert_eq!(usage.output_tokens, Some(97), "not 98");
        assert_eq!(usage.input_tokens, Some(9281));
        assert_eq!(usage.cache_read_input_tokens, Some(7));
    }
}
