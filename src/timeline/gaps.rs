//! The time of a thread between its attempts, and what it is known to be.

use reenact_engine::time::Micros;
use reenact_wire::prelude::*;

use super::{GapCause, RecordedAttempt, RecordedCall, SessionTimeline, ThreadGap};

/// All gaps, thread by thread.
pub(crate) fn gaps(timeline: &SessionTimeline) -> Vec<ThreadGap> {
    (0..timeline.threads.len()).flat_map(|thread| thread_gaps(timeline, thread)).collect()
}

fn thread_gaps(timeline: &SessionTimeline, thread: usize) -> Vec<ThreadGap> {
    let mut gaps = Vec::new();
    // The call before, and when all of the thread so far had ended.
    let mut before: Option<(usize, Micros)> = None;
    for (call, attempt) in timeline.attempts().filter(|(call, _)| call.thread == thread) {
        if let (Some((after, at)), Some(end_at)) = (before, attempt.at)
            && end_at > at
        {
            gaps.push(ThreadGap { thread, after, at, end_at, cause: cause(after, call, attempt) });
        }
        // An attempt that has no end has no gap behind it.
        let end = attempt.end_at.or((attempt.end == super::RecordedEnd::Open).then_some(timeline.until));
        before = end.map(|end| (call.number, end.max(before.map_or(Micros::ZERO, |(_, at)| at))));
    }
    gaps
}

fn cause(after: usize, call: &RecordedCall, attempt: &RecordedAttempt) -> GapCause {
    match attempt {
        _ if call.number == after => GapCause::Retry,
        attempt if attempt.results.iter().any(|result| result.tool.is_some()) => GapCause::Tools,
        _ => GapCause::Unknown,
    }
}
