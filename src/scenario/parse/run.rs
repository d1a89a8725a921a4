//! `[timing]`, `chunking`, `[limits]`, `[matching]`, `[auth]` and `[api]`: how a run goes.

use super::reader::{Reader, known_word};
use super::tree::Kind;
use crate::scenario::types::{Api, Auth, Chunking, Limits, Matching, Refresh, Scenario, Timing};
use crate::wire::compare::{Rule, Volatile};
use crate::wire::models::Signatures;

/// Reads these parts into the scenario.
pub(super) fn read(reader: &mut Reader<'_, '_>, scenario: &mut Scenario) {
    scenario.timing = reader.section("timing", "[timing]", timing).unwrap_or_default();
    scenario.chunking = chunking(reader).unwrap_or_default();
    scenario.limits = reader.section("limits", "[limits]", limits).unwrap_or_default();
    scenario.matching = reader.section("matching", "[matching]", matching).unwrap_or_default();
    scenario.auth = reader.section("auth", "[auth]", auth).unwrap_or_default();
    scenario.api = reader.section("api", "[api]", api).unwrap_or_default();
}

fn timing(reader: &mut Reader<'_, '_>) -> Timing {
    let mut timing = Timing::default();
    reader.set("head", &mut timing.head);
    reader.set("first_event", &mut timing.first_event);
    reader.set("between_events", &mut timing.between_events);
    timing
}

/// A word, or the number of bytes in each chunk.
fn chunking(reader: &mut Reader<'_, '_>) -> Option<Chunking> {
    let member = reader.member("chunking")?;
    if !matches!(member.value.kind, Kind::Integer(..)) {
        let words = [("as_recorded", Chunking::AsRecorded), ("bytes", Chunking::Bytes), ("random", Chunking::Random)];
        return reader.choice("chunking", &words);
    }
    let size: u32 = reader.get("chunking")?;
    if size == 0 {
        reader.report.value(member.value.place, "a chunk has at least 1 byte".into(), None);
    }
    usize::try_from(size).ok().map(Chunking::Every)
}

fn limits(reader: &mut Reader<'_, '_>) -> Limits {
    let mut limits = Limits::default();
    reader.set("time", &mut limits.time);
    reader.set("events", &mut limits.events);
    reader.set("requests", &mut limits.requests);
    limits
}

fn auth(reader: &mut Reader<'_, '_>) -> Auth {
    let refresh = reader.choice("refresh", &[("works", Refresh::Works), ("fails", Refresh::Fails)]);
    let usual = Auth::default();
    Auth {
        refresh: refresh.unwrap_or_default(),
        latency: reader.get("latency").unwrap_or(usual.latency),
        may: reader.get("may").unwrap_or_default(),
    }
}

fn api(reader: &mut Reader<'_, '_>) -> Api {
    let signatures = [("ignore", Signatures::Ignore), ("drop", Signatures::Drop), ("refuse", Signatures::Refuse)];
    let api = Api {
        context_window: reader.get("context_window"),
        count_tokens: reader.get("count_tokens").unwrap_or_default(),
        counts_max_tokens: reader.get("counts_max_tokens"),
        signatures: reader.choice("signatures", &signatures),
    };
    if let (None, Some(_), Some(member)) = (api.context_window, api.counts_max_tokens, reader.member("counts_max_tokens")) {
        reader.report.value(member.place, "`counts_max_tokens` is about a `context_window`, and there is none".into(), None);
    }
    api
}

fn matching(reader: &mut Reader<'_, '_>) -> Matching {
    let mut matching = Matching::default();
    reader.set("strict", &mut matching.strict);
    let Some(member) = reader.member("volatile") else { return matching };
    match &member.value.kind {
        Kind::List(items) => {
            let names = Rule::ALL.map(|(_, name)| name);
            let named = |word: &str| Rule::ALL.iter().find(|(_, name)| *name == word).map(|(rule, _)| *rule);
            let rules = items.iter().filter_map(|item| known_word(item, reader.report, "volatile field", &names).and_then(named));
            matching.volatile = Volatile::of(rules);
        }
        Kind::StandIn => (),
        _ => reader.report.mismatch(&member.value, "an array of names"),
    }
    matching
}
