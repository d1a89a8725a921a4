//! `[timing]`, `chunking`, `[limits]`, `[matching]`, `[auth]` and `[api]`: how a run goes.

use super::reader::{TableReader, known_word};
use super::tree::TreeValueKind;
use crate::scenario::types::{AnswerTiming, Chunking, RefreshOutcome, RequestMatching, RunLimits, Scenario, ScriptedAuth, SimulatedApi};
use crate::wire::compare::{VolatileMember, VolatileRule};
use crate::wire::models::SignaturePolicy;

/// Reads these parts into the scenario.
pub(super) fn read(reader: &mut TableReader<'_, '_>, scenario: &mut Scenario) {
    scenario.timing = reader.section("timing", "[timing]", timing).unwrap_or_default();
    scenario.chunking = chunking(reader).unwrap_or_default();
    scenario.limits = reader.section("limits", "[limits]", limits).unwrap_or_default();
    scenario.matching = reader.section("matching", "[matching]", matching).unwrap_or_default();
    scenario.auth = reader.section("auth", "[auth]", auth).unwrap_or_default();
    scenario.api = reader.section("api", "[api]", api).unwrap_or_default();
}

fn timing(reader: &mut TableReader<'_, '_>) -> AnswerTiming {
    let mut timing = AnswerTiming::default();
    reader.set("head", &mut timing.head);
    reader.set("first_event", &mut timing.first_event);
    reader.set("between_events", &mut timing.between_events);
    timing
}

/// A word, or the number of bytes in each chunk.
fn chunking(reader: &mut TableReader<'_, '_>) -> Option<Chunking> {
    let member = reader.member("chunking")?;
    if !matches!(member.value.kind, TreeValueKind::Integer(..)) {
        let words = [("as_recorded", Chunking::AsRecorded), ("bytes", Chunking::Bytes), ("random", Chunking::Random)];
        return reader.choice("chunking", &words);
    }
    let size: u32 = reader.get("chunking")?;
    if size == 0 {
        reader.report.value(member.value.place, "a chunk has at least 1 byte".into(), None);
    }
    usize::try_from(size).ok().map(Chunking::Every)
}

fn limits(reader: &mut TableReader<'_, '_>) -> RunLimits {
    let mut limits = RunLimits::default();
    reader.set("time", &mut limits.time);
    reader.set("events", &mut limits.events);
    reader.set("requests", &mut limits.requests);
    limits
}

fn auth(reader: &mut TableReader<'_, '_>) -> ScriptedAuth {
    let refresh = reader.choice("refresh", &[("works", RefreshOutcome::Works), ("fails", RefreshOutcome::Fails)]);
    let usual = ScriptedAuth::default();
    ScriptedAuth {
        refresh: refresh.unwrap_or_default(),
        latency: reader.get("latency").unwrap_or(usual.latency),
        may: reader.get("may").unwrap_or_default(),
    }
}

fn api(reader: &mut TableReader<'_, '_>) -> SimulatedApi {
    let signatures = [("ignore", SignaturePolicy::Ignore), ("drop", SignaturePolicy::Drop), ("refuse", SignaturePolicy::Refuse)];
    let api = SimulatedApi {
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

fn matching(reader: &mut TableReader<'_, '_>) -> RequestMatching {
    let mut matching = RequestMatching::default();
    reader.set("strict", &mut matching.strict);
    let Some(member) = reader.member("volatile") else { return matching };
    match &member.value.kind {
        TreeValueKind::List(items) => {
            let names = VolatileRule::ALL.map(|(_, name)| name);
            let named = |word: &str| VolatileRule::ALL.iter().find(|(_, name)| *name == word).map(|(rule, _)| *rule);
            let rules = items.iter().filter_map(|item| known_word(item, reader.report, "volatile field", &names).and_then(named));
            matching.volatile = VolatileMember::from_rules(rules);
        }
        TreeValueKind::StandIn => (),
        _ => reader.report.mismatch(&member.value, "an array of names"),
    }
    matching
}
