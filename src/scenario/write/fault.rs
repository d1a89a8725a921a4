//! `[[fault]]` as TOML.

use super::text::{duration, string};
use super::{TomlLines, inline_headers};
use crate::prelude::*;
use crate::scenario::fault::{
    AnswerChange, AnswerSubstitute, ConnectFault, CutAfter, FaultAnswer, FaultKind, FaultPlace, FaultRule, NumberSpan, STREAM_PARTS,
};

/// `[[fault]]`.
pub(super) fn fault_entry(out: &mut TomlLines, rule: &FaultRule) {
    let FaultRule { at, kind, may } = rule;
    out.table("[[fault]]");
    if *at != FaultPlace::default() {
        out.raw("at", format!("{{ {} }}", place_keys(at).join(", ")));
    }
    match kind {
        FaultKind::Instead(AnswerSubstitute::Answer(answer)) => answer_keys(out, answer),
        FaultKind::Instead(AnswerSubstitute::Connection(how)) => {
            let word = ConnectFault::ALL.iter().find(|(_, known)| known == how).map_or("", |(word, _)| word);
            out.text("connect", word);
        }
        FaultKind::Change(change) => change_keys(out, change),
    }
    out.flag("may", *may, false);
}

fn place_keys(at: &FaultPlace) -> Vec<String> {
    let FaultPlace { prompt, request, attempt, model, thread, after, before, probability } = at;
    let numbers = [("prompt", prompt), ("request", request), ("attempt", attempt)];
    let texts = [("model", model), ("thread", thread)];
    let times = [("after", after), ("before", before)];
    let numbers = numbers.into_iter().filter_map(|(key, span)| Some(format!("{key} = {}", numbers_of((*span)?))));
    let texts = texts.into_iter().filter_map(|(key, text)| Some(format!("{key} = {}", string(text.as_ref()?))));
    let times = times.into_iter().filter_map(|(key, at)| Some(format!("{key} = {}", duration((*at)?))));
    let probability = probability.map(|probability| format!("probability = {probability:?}"));
    numbers.chain(texts).chain(times).chain(probability).collect()
}

fn numbers_of(NumberSpan { first, last }: NumberSpan) -> String {
    match last {
        Some(last) if last == first => first.to_string(),
        Some(last) => format!("\"{first}..={last}\""),
        None => format!("\"{first}..\""),
    }
}

fn answer_keys(out: &mut TomlLines, answer: &FaultAnswer) {
    let FaultAnswer { status, error, body, headers, retry_after, rate_limits } = answer;
    match error {
        Some(error) if error.status == *status => out.text("error", error.name),
        _ => out.raw("status", status),
    }
    if let Some(body) = body {
        out.text("body", body);
    }
    inline_headers(out, headers);
    if let Some(span) = retry_after {
        out.raw("retry_after", duration(*span));
    }
    out.flag("rate_limits", *rate_limits, false);
}

fn change_keys(out: &mut TomlLines, change: &AnswerChange) {
    let part = |name: &str| STREAM_PARTS.iter().find(|(_, known)| *known == name).map_or("", |(word, _)| *word);
    match change {
        AnswerChange::Cut { after, how } => {
            let after = match after {
                CutAfter::Events(count) => format!("after_events = {count}"),
                CutAfter::Bytes(count) => format!("after_bytes = {count}"),
            };
            let how = how.as_str();
            out.raw("cut", format!("{{ {after}, how = \"{how}\" }}"));
        }
        AnswerChange::Stall { after_events, time } => {
            let time = time.map_or_else(|| String::from("\"forever\""), duration);
            out.raw("stall", format!("{{ after_events = {after_events}, time = {time} }}"));
        }
        AnswerChange::Insert { after_events, name, data } => {
            out.raw("event", format!("{{ after_events = {after_events}, name = {}, data = {} }}", string(name), string(data)));
        }
        AnswerChange::Duplicate { name, after_events } => counting(out, "duplicate", part(name), *after_events),
        AnswerChange::Missing { name, after_events } => counting(out, "missing", part(name), *after_events),
        AnswerChange::EmptyBody => out.raw("empty_body", true),
        AnswerChange::ContentType(kind) => out.text("content_type", kind),
        AnswerChange::TruncateToolInput => out.raw("truncate_tool_input", true),
        AnswerChange::Drip { bytes_per_second } => out.raw("drip", bytes_per_second),
    }
}

fn counting(out: &mut TomlLines, key: &str, word: &str, after_events: u32) {
    out.text(key, word);
    if after_events != 0 {
        out.raw("after_events", after_events);
    }
}
