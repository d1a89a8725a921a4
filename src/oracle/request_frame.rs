//! O-21, of the frame of requests: system prompt and tools of a request of the root are those of the settings (S-2). No request asks for
//! a stream where the settings ask for none, but that for a summary (C-4).
//!
//! Where the host changes the settings of single requests (`changes`), nothing is asked.

use super::request_kind::{RequestKind, SentRequest};
use super::stable_prefix::ORACLE;
use super::{OracleFindings, OracleRules};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;
use reenact_wire::raw_json::{self, RawObject, elements};

/// The complaint about a request that does not offer a tool.
pub(super) const MISSING_TOOL: &str = "does not offer tool";

/// Whether the first request of the root went out. A later one may ask for something else in words that no setting knows.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct RequestFrameOracle {
    is_known: bool,
}

impl RequestFrameOracle {
    pub(super) fn on_request(&mut self, rules: &OracleRules, sent: SentRequest<'_>, found: &mut OracleFindings<'_>) {
        let settings = &rules.settings;
        let is_own = sent.kind == RequestKind::Ordinary && rules.keeps_own_words();
        if is_own && !settings.stream {
            found.ask(ORACLE);
        }
        if is_own && !settings.stream && sent.request.stream {
            found.add(ORACLE, format!("request {} asks for a stream, and the settings ask for none", sent.id));
        }
        if self.is_known || sent.kind != RequestKind::Ordinary || !settings.session.changes.is_empty() {
            return;
        }
        self.is_known = true;
        found.ask(ORACLE);
        let (id, request) = (sent.id, sent.request);
        let wanted = [texts(settings.system_prompt.as_ref()), settings.append_system_prompt.clone().into_iter().collect()].concat();
        if !wanted.is_empty() {
            let system = texts(request.system.as_ref());
            for text in wanted.iter().filter(|text| !text.is_empty() && !system.iter().any(|said| said.contains(&***text))) {
                found.add(ORACLE, format!("the system prompt of request {id} lacks what the settings say: {text}"));
            }
        }
        let tools = names(request.tools.as_ref());
        for name in rules.tools.names().filter(|name| !tools.iter().any(|tool| tool == *name)) {
            found.add(ORACLE, format!("request {id} {MISSING_TOOL} {name}"));
        }
    }
}

/// The texts of a system prompt: a string, or blocks.
fn texts(system: Option<&Json>) -> Vec<Arc<str>> {
    let Some(system) = system else { return Vec::new() };
    match raw_json::string(system.as_str()) {
        Some(text) => vec![text.as_ref().into()],
        None => members(system, "text"),
    }
}

pub(super) fn names(tools: Option<&Json>) -> Vec<Arc<str>> {
    tools.map_or_else(Vec::new, |tools| members(tools, "name"))
}

fn members(list: &Json, member: &str) -> Vec<Arc<str>> {
    let of = |item: &&str| RawObject::parse(item).ok()?.string(member).map(|text| Arc::from(&*text));
    elements(list.as_str()).unwrap_or_default().iter().filter_map(of).collect()
}
