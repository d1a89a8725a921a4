//! O-35, second half: an old result that is cleared is never among the newest that are to be kept, and *local* all that are older are cleared (C-2).
//!
//! *Local*: the request shows the placeholder in the place of the result. A result that is no longer than the placeholder stays. *Cached*: the request says how many the API is to keep, and a boundary
//! says which results were cleared.

use alloc::collections::BTreeSet;

use super::ORACLE;
use crate::request_kind::{RequestKind, SentRequest};
use crate::{OracleFindings, OracleRules, same_messages};
use reenact_engine::contract::{Block, BlockKind, Effect, Emission, Note, Request, RequestId};
use reenact_engine::emission::CompactionLevel;
use reenact_engine::key::SharedValue;
use reenact_engine::settings::MicrocompactMode;
use reenact_engine::texts::TextName;
use reenact_wire::prelude::*;
use reenact_wire::raw_json;
use reenact_wire::raw_json::RawObject;
use reenact_wire::tokens;

/// The tools whose results can be had again (C-2).
const CLEARABLE: [&str; 8] = ["Read", "Bash", "Grep", "Glob", "WebFetch", "WebSearch", "Edit", "Write"];

/// The cleared results of one agent.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct ClearedResultOracle {
    /// Those that are known to be cleared.
    cleared: Vec<Arc<str>>,
    /// The last request of the conversation.
    last: Option<SharedValue<Request>>,
    /// Whether results have left the view since the last request: what was old may be among the newest now.
    is_narrowed: bool,
    /// The same, since the conversation began.
    was_narrowed: bool,
    /// Whether a message of the user joined results. Such a result stays, and an engine need not count it among the newest.
    has_joined: bool,
}

impl ClearedResultOracle {
    pub(super) fn on_request(&mut self, rules: &OracleRules, sent: SentRequest<'_>, found: &mut OracleFindings<'_>) {
        let SentRequest { id, request, kind } = sent;
        let mode = rules.settings.compaction.microcompact;
        if mode == MicrocompactMode::Off || kind != RequestKind::Ordinary {
            return;
        }
        match mode {
            MicrocompactMode::Local => {
                self.check_placeholders(rules, id, request, found);
                self.check_old(rules, id, request, found);
            }
            _ => check_edit(rules, id, request, found),
        }
        self.is_narrowed = false;
        self.last = Some(request.clone());
    }

    pub(super) fn on_effect(&mut self, rules: &OracleRules, effect: &Effect, found: &mut OracleFindings<'_>) {
        match effect {
            Effect::Note(Note::Compaction { level: CompactionLevel::Collapse | CompactionLevel::Snip, ran: true, .. }) => {
                (self.is_narrowed, self.was_narrowed) = (true, true);
            }
            Effect::Emit(Emission::QueuedCommand { .. }) => self.has_joined = true,
            Effect::Emit(Emission::CompactBoundary { .. }) => *self = Self::default(),
            Effect::Emit(Emission::MicrocompactBoundary { tool_use_ids, .. })
                if rules.settings.compaction.microcompact == MicrocompactMode::Cached && !self.was_narrowed =>
            {
                let Some(request) = &self.last else { return };
                found.ask(ORACLE);
                let results = results(request);
                let kept = newest(&results, rules.settings.compaction.keep_results);
                // An older result may have the id of a newer one.
                let is_one = |id: &Arc<str>| results.iter().filter(|(other, _)| *other == id).count() == 1;
                if let Some(id) = tool_use_ids.iter().find(|id| kept.contains(id) && is_one(id)) {
                    found.add(ORACLE, format!("the result of {id} is cleared, and is one of the newest {}", kept.len()));
                }
            }
            _ => (),
        }
    }

    /// The results that are older than those to be kept.
    fn check_old(&self, rules: &OracleRules, id: RequestId, request: &Request, found: &mut OracleFindings<'_>) {
        if self.has_joined {
            return;
        }
        let placeholder = rules.settings.texts.template(TextName::ClearedResult);
        let results = results(request);
        let old = results.len().saturating_sub(rules.settings.compaction.keep_results as usize);
        let least = tokens::tokens_of_text(placeholder);
        for (tool_use_id, block) in &results[..old] {
            found.ask(ORACLE);
            if block.result_text().as_deref() != Some(placeholder) && tokens::block(block) > least {
                found.add(ORACLE, format!("request {id} has the old result of {tool_use_id}, and it is to be cleared"));
            }
        }
    }

    /// Placeholders that no request had before.
    fn check_placeholders(&mut self, rules: &OracleRules, id: RequestId, request: &Request, found: &mut OracleFindings<'_>) {
        let placeholder = rules.settings.texts.template(TextName::ClearedResult);
        let is_placeholder = |block: &Block| block.result_text().as_deref() == Some(placeholder);
        // What stands as it stood was looked at.
        let same = self.last.as_ref().map_or(0, |last| same_messages(&last.messages, &request.messages));
        let changed: Vec<&Block> =
            request.messages[same..].iter().flat_map(|message| &message.content).filter(|block| is_placeholder(block)).collect();
        if changed.is_empty() {
            return;
        }
        let results = results(request);
        let old = results.len().saturating_sub(rules.settings.compaction.keep_results as usize);
        for (place, (tool_use_id, block)) in results.iter().enumerate() {
            let is_new = changed.iter().any(|changed| core::ptr::eq(*changed, *block)) && !self.cleared.contains(tool_use_id);
            if !is_new || rules.is_given(block) {
                continue;
            }
            found.ask(ORACLE);
            self.cleared.push((*tool_use_id).clone());
            if place >= old && !self.is_narrowed {
                let newest = results.len() - old;
                found.add(ORACLE, format!("request {id} has the result of {tool_use_id} cleared, and it is one of the newest {newest}"));
            }
        }
    }
}

/// The results of tools that read, in their order.
fn results(request: &Request) -> Vec<(&Arc<str>, &Block)> {
    let mut tools: BTreeSet<&Arc<str>> = BTreeSet::new();
    let mut results = Vec::new();
    for block in request.messages.iter().flat_map(|message| &message.content) {
        match block.kind() {
            BlockKind::ToolUse(tool_use) if CLEARABLE.contains(&&*tool_use.name) => drop(tools.insert(&tool_use.id)),
            BlockKind::ToolResult { tool_use_id, .. } if tools.contains(tool_use_id) => results.push((tool_use_id, block)),
            _ => (),
        }
    }
    results
}

fn newest<'a>(results: &[(&'a Arc<str>, &Block)], keep: u32) -> Vec<&'a Arc<str>> {
    let old = results.len().saturating_sub(keep as usize);
    results[old..].iter().map(|(id, _)| *id).collect()
}

/// The API is told to keep at least as many as the settings say.
fn check_edit(rules: &OracleRules, id: RequestId, request: &Request, found: &mut OracleFindings<'_>) {
    let Some(kept) = kept_by_edit(request) else { return };
    found.ask(ORACLE);
    let keep = rules.settings.compaction.keep_results;
    if kept < u64::from(keep) {
        found.add(ORACLE, format!("request {id} has the API keep {kept} results, and the newest {keep} are to stay"));
    }
}

/// How many results the API is to keep; `None` where it is to clear none, or where the scenario's own member says so.
fn kept_by_edit(request: &Request) -> Option<u64> {
    let extra = RawObject::parse(request.extra.as_str()).ok()?;
    let management = RawObject::parse(extra.get("context_management")?).ok()?;
    let edits = raw_json::elements(management.get("edits")?).ok()?;
    let kept = |edit: &str| {
        let edit = RawObject::parse(edit).ok()?;
        edit.string("type").filter(|kind| kind.starts_with("clear_tool_uses"))?;
        RawObject::parse(edit.get("keep")?).ok()?.get("value")?.trim().parse().ok()
    };
    edits.into_iter().find_map(kept)
}
