//! Tokens that were paid for twice, as far as the usage tells it.

use alloc::collections::BTreeMap;

use reenact_wire::prelude::*;
use reenact_wire::usage::Usage;

use super::{RecordedAttempt, RecordedCall, RecordedEnd, RemarkKind, RemarkList, SessionTimeline};
use crate::figures::{grouped, span_text, usage_text};

/// The API caches no prefix that is shorter, so less may be missing for other reasons.
const CACHED_TOKENS_MIN: u64 = 1_024;

pub(super) fn remarks(list: &mut RemarkList, timeline: &SessionTimeline) {
    timeline.requests.iter().for_each(|call| lost_attempts(list, call));
    repeated_requests(list, timeline);
    for thread in 0..timeline.threads.len() {
        let calls: Vec<&RecordedCall> = timeline.requests.iter().filter(|call| call.thread == thread).collect();
        calls.windows(2).for_each(|pair| cache_misses(list, pair[0], pair[1]));
    }
}

/// Attempts whose tokens were counted, and after which the same was asked again.
fn lost_attempts(list: &mut RemarkList, call: &RecordedCall) {
    let before_last = call.attempts.len() - 1;
    for (index, attempt) in call.attempts.iter().enumerate().take(before_last).filter(|(_, attempt)| attempt.usage.all_tokens() > 0) {
        let end = match attempt.end {
            RecordedEnd::Refused => "is refused",
            RecordedEnd::Failed => "fails",
            RecordedEnd::Abandoned => "is abandoned",
            RecordedEnd::Cut | RecordedEnd::Answered | RecordedEnd::Open => "is cut",
        };
        let (name, tokens) = (call.attempt_label(index), usage_text(&attempt.usage));
        let text = format!("request {name} {end} with {tokens} on its bill, and is made again");
        list.add(RemarkKind::Twice, attempt.at, text);
    }
}

/// The same body once more, after an answer.
fn repeated_requests(list: &mut RemarkList, timeline: &SessionTimeline) {
    let mut answered: BTreeMap<u128, String> = BTreeMap::new();
    for call in &timeline.requests {
        for (index, attempt) in call.attempts.iter().enumerate() {
            if attempt.end != RecordedEnd::Answered || attempt.messages == 0 {
                continue;
            }
            let label = call.attempt_label(index);
            match answered.get(&attempt.keys.body) {
                Some(first) => {
                    let tokens =
                        if attempt.usage == Usage::default() { String::new() } else { format!(": {}", usage_text(&attempt.usage)) };
                    let text = format!("request {label} is request {first} once more, and both are answered{tokens}");
                    list.add(RemarkKind::Twice, attempt.at, text);
                }
                None => {
                    answered.insert(attempt.keys.body, label);
                }
            }
        }
    }
}

/// A request that extends the one before, and reads less from the cache than that had there.
fn cache_misses(list: &mut RemarkList, before: &RecordedCall, after: &RecordedCall) {
    let (last, next) = (before.last(), after.last());
    let cached = |attempt: &RecordedAttempt| {
        let Usage { cache_read_input_tokens: read, cache_creation_input_tokens: written, .. } = attempt.usage;
        read.unwrap_or(0) + written.unwrap_or(0)
    };
    let extends = next.keys.parent.as_ref() == Some(&last.exchange) || after.attempts[0].keys.parent.as_ref() == Some(&last.exchange);
    let is_same = extends && last.model == next.model && last.keys.setting == next.keys.setting && last.messages < next.messages;
    let Some(read) = next.usage.cache_read_input_tokens.filter(|_| is_same) else { return };
    let known = cached(last);
    if known.saturating_sub(read) < CACHED_TOKENS_MIN {
        return;
    }
    let span = last.at.zip(next.at).map_or_else(String::new, |(last, next)| format!(", {} later", span_text(next - last)));
    let text = format!(
        "request {} reads {} of the {} tokens that request {} had in the cache{span}",
        after.number,
        grouped(read),
        grouped(known),
        before.number
    );
    list.add(RemarkKind::CacheMiss, next.at, text);
}
