//! C-2, cached: the edit by which the API leaves old results out, and what it has reported of them.
//!
//! The API's edit does not name results; it says how many of the newest stay and which tools it is not about. So one edit, always the same,
//! stands for all that become old later; once sent it is sent for as long as the conversation lasts.

use crate::settings::ToolDefinition;
use reenact_wire::json::Json;
use reenact_wire::prelude::*;
use reenact_wire::raw_json::RawObject;
use reenact_wire::request::Request;

/// The tools whose results can be had again.
pub(super) const CLEARABLE: [&str; 8] = ["Read", "Bash", "Grep", "Glob", "WebFetch", "WebSearch", "Edit", "Write"];

/// The member of a request that edits of its context stand in.
const MEMBER: &str = "context_management";

/// A result that is old.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(super) struct OldResult {
    /// The tool use.
    pub(super) tool_use_id: Arc<str>,
    /// The item that it is in.
    pub(super) item: usize,
    /// The block of the item's message.
    pub(super) block: usize,
    /// About how many tokens clearing it saves.
    pub(super) saves: u64,
}

/// The results that the API should clear, and its reports about them.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(crate) struct CacheEdit {
    /// The member's value, always the same: what changes breaks the cache.
    json: Json,
    /// The results that it clears.
    cleared: Vec<ClearedResults>,
    /// The last report of the API on cleared tokens.
    said: u64,
}

#[derive(Clone, Debug, PartialEq, Hash)]
struct ClearedResults {
    tool_use_id: Arc<str>,
    tokens: u64,
    /// Whether the API has reported cleared tokens since.
    is_confirmed: bool,
    /// Whether the API has counted a request with the edit, whatever it left out of it.
    is_counted: bool,
}

impl CacheEdit {
    /// The edit that keeps the newest `keep` results of tools that read.
    pub(super) fn new(keep: u32, tools: &[ToolDefinition]) -> Self {
        let excluded: Vec<&str> = tools.iter().map(|tool| &*tool.name).filter(|name| !CLEARABLE.contains(name)).collect();
        let excluded = if excluded.is_empty() { String::new() } else { format!(r#","exclude_tools":{}"#, Json::from_value(&excluded)) };
        let count = format!(r#"{{"type":"tool_uses","value":{keep}}}"#);
        let edit = format!(r#"{{"type":"clear_tool_uses_20250919","trigger":{count},"keep":{count}{excluded}}}"#);
        Self { json: Json::trusted(format!(r#"{{"edits":[{edit}]}}"#)), cleared: Vec::new(), said: 0 }
    }

    /// Takes note of results that the edit clears from now on; returns those that it did not before.
    pub(super) fn covers(&mut self, old: Vec<OldResult>) -> Vec<OldResult> {
        let new: Vec<OldResult> =
            old.into_iter().filter(|old| self.cleared.iter().all(|known| known.tool_use_id != old.tool_use_id)).collect();
        self.cleared.extend(new.iter().map(|old| ClearedResults {
            tool_use_id: old.tool_use_id.clone(),
            tokens: old.saves,
            is_confirmed: false,
            is_counted: false,
        }));
        new
    }

    /// The API has said how many tokens it left out of a request, which counts all that was cleared so far. Gives the results that it
    /// had not spoken of, and by how much the figure grew; nothing without such results.
    pub(super) fn on_applied(&mut self, tokens: u64) -> Option<(Vec<Arc<str>>, u64)> {
        let new = self.cleared.iter_mut().filter(|cleared| !cleared.is_confirmed);
        let ids: Vec<Arc<str>> = new
            .map(|cleared| {
                cleared.is_confirmed = true;
                cleared.tool_use_id.clone()
            })
            .collect();
        let grown = tokens.saturating_sub(self.said);
        self.said = tokens;
        (!ids.is_empty()).then_some((ids, grown))
    }

    /// The API has counted an answer, and with it a request that had the edit.
    pub(crate) fn on_counted(&mut self) {
        self.cleared.iter_mut().for_each(|cleared| cleared.is_counted = true);
    }

    /// The tokens that are not in an estimate: the API counts without the parts that it left out, and only once it has counted.
    pub(crate) fn tokens_not_seen(&self, counted: bool) -> u64 {
        let is_seen = |cleared: &&ClearedResults| counted && (cleared.is_confirmed || cleared.is_counted);
        self.cleared.iter().filter(|cleared| !is_seen(cleared)).map(|cleared| cleared.tokens).sum()
    }

    /// The same request with the edit, always at the same place.
    pub(crate) fn added_to(&self, mut request: Request) -> Request {
        if let Ok(extra) = RawObject::parse(request.extra.as_str()) {
            request.extra = Json::trusted(extra.with(&[(MEMBER, self.json.to_string())]));
        }
        request
    }
}

/// Whether requests carry another edit already, so that ours cannot be added.
pub(super) fn is_taken(request_extra: &Json) -> bool {
    RawObject::parse(request_extra.as_str()).is_ok_and(|extra| extra.get(MEMBER).is_some())
}
