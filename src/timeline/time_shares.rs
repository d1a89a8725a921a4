//! Where the time went: each instant of the recording counts once, for the first of these that was going on in any thread.

use serde::Serialize;

use reenact_engine::time::Micros;
use reenact_wire::prelude::*;

use super::{GapCause, RecordedEnd, SessionTimeline};

/// The time of a recording, taken apart. The parts add up to the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TimeShares {
    /// Some answer came in.
    pub answers: Micros,
    /// Else some request waited for the first of its answer.
    pub first_bytes: Micros,
    /// Else some request was under way, and nothing says when its answer began.
    pub requests: Micros,
    /// Else some stream was silent for longer than the limit.
    pub stalls: Micros,
    /// Else some tool use waited for its result to be sent.
    pub tools: Micros,
    /// Else some client waited before a further attempt.
    pub retries: Micros,
    /// None of these.
    pub nothing: Micros,
}

/// The things that can go on at an instant, the first one first.
const KINDS: usize = 6;

/// Of a timeline with times.
pub(crate) fn shares(timeline: &SessionTimeline) -> TimeShares {
    let mut totals = [Micros::ZERO; KINDS + 1];
    spans(timeline, |kind, from, to| totals[kind] = totals[kind] + (to - from));
    let [answers, first_bytes, requests, stalls, tools, retries, nothing] = totals;
    TimeShares { answers, first_bytes, requests, stalls, tools, retries, nothing }
}

/// The spans in which nothing went on, in order.
pub fn idle_spans(timeline: &SessionTimeline) -> Vec<(Micros, Micros)> {
    let mut idle: Vec<(Micros, Micros)> = Vec::new();
    spans(timeline, |kind, from, to| match idle.last_mut() {
        _ if kind != KINDS => (),
        Some(last) if last.1 == from => last.1 = to,
        _ => idle.push((from, to)),
    });
    idle
}

/// How many tool uses waited for their results at the same time, at most.
pub fn tools_at_once(timeline: &SessionTimeline) -> usize {
    let spans = timeline.tools.iter().filter_map(|tool| tool.span(timeline.until)).filter(|(from, to)| to > from);
    let mut changes: Vec<(Micros, i32)> = spans.flat_map(|(from, to)| [(from, 1), (to, -1)]).collect();
    changes.sort_unstable();
    let counts = changes.iter().scan(0, |count, (_, change)| {
        *count += change;
        Some(*count)
    });
    usize::try_from(counts.max().unwrap_or(0)).unwrap_or(0)
}

/// Tells each span of time with its kind.
fn spans(timeline: &SessionTimeline, mut tell: impl FnMut(usize, Micros, Micros)) {
    let mut changes: Vec<(Micros, usize, i32)> = Vec::new();
    let mut add = |kind: usize, from: Micros, to: Micros| {
        if to > from {
            changes.extend([(from, kind, 1), (to, kind, -1)]);
        }
    };
    for (_, attempt) in timeline.attempts() {
        let Some(at) = attempt.at else { continue };
        let end = attempt.end_at.or((attempt.end == RecordedEnd::Open).then_some(timeline.until)).unwrap_or(at);
        let known = attempt.answer_at().map(|first| first.min(end));
        let first = known.unwrap_or(end);
        let was_waiting = known.is_some() || attempt.end != RecordedEnd::Answered;
        add(if was_waiting { 1 } else { 2 }, at, first);
        let mut from = first;
        for stall in &attempt.stalls {
            add(0, from, stall.at);
            add(3, stall.at, stall.end_at);
            from = stall.end_at;
        }
        add(0, from, end);
    }
    for tool in &timeline.tools {
        if let Some((from, to)) = tool.span(timeline.until) {
            add(4, from, to);
        }
    }
    timeline.gaps.iter().filter(|gap| gap.cause == GapCause::Retry).for_each(|gap| add(5, gap.at, gap.end_at));
    changes.sort_unstable();
    let mut active = [0; KINDS];
    let mut from = Micros::ZERO;
    for (at, kind, change) in changes {
        if at > from {
            tell(active.iter().position(|count| *count > 0).unwrap_or(KINDS), from, at);
            from = at;
        }
        active[kind] += change;
    }
    if timeline.until > from {
        tell(KINDS, from, timeline.until);
    }
}
