//! Everything about a recorded session that deserves a look, a sentence each.

mod repetitions;

use serde::Serialize;

use reenact_engine::time::Micros;
use reenact_wire::prelude::*;

use super::figures::span_text;
use super::{GapCause, RecordedAttempt, RecordedCall, RecordedEnd, SessionTimeline, ToolFate, ToolInterval};

/// So much of a problem stands in a remark.
const PROBLEM_CHARS: usize = 200;

/// A remark.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TimelineRemark {
    /// Its kind.
    pub kind: RemarkKind,
    /// When.
    pub at: Option<Micros>,
    /// The sentence.
    pub text: String,
}

words! {
    /// The kinds of remarks, in the order in which they are told.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum RemarkKind {
        /// A part of the recording cannot be read, and is not shown.
        Unread = "unread",
        /// Something had not ended when the recording ended.
        Open = "open",
        /// Several tool uses of one answer with one id.
        DoubledId = "doubled_id",
        /// A tool use without a result.
        NoResult = "no_result",
        /// A result that was sent more than once.
        DoubledResult = "doubled_result",
        /// A result for a tool use that is not recorded.
        StrangeResult = "strange_result",
        /// Results in another order than their tool uses.
        Order = "order",
        /// Results that are errors.
        ErrorResult = "error_result",
        /// A request that was not answered.
        Failure = "failure",
        /// A request that took several attempts.
        Retry = "retry",
        /// A stream that was silent.
        Stall = "stall",
        /// A thread in which nothing is known to have gone on.
        Gap = "gap",
        /// Tokens that were paid for twice.
        Twice = "twice",
        /// Tokens that were in the cache and were not read from it.
        CacheMiss = "cache_miss",
        /// Times that the recording does not have.
        Untimed = "untimed",
    }
}

/// All remarks on a timeline, by kind and time.
pub(crate) fn remarks(timeline: &SessionTimeline, unread: &[String], is_cut: bool) -> Vec<TimelineRemark> {
    let mut list = RemarkList::default();
    unread.iter().for_each(|problem| list.add(RemarkKind::Unread, None, problem.clone()));
    if is_cut {
        list.add(RemarkKind::Open, None, String::from("the recording ends inside of a line"));
    }
    timeline.requests.iter().for_each(|call| request_remarks(&mut list, call, timeline));
    missing_results(&mut list, &timeline.tools);
    timeline.tools.iter().for_each(|tool| doubled_results(&mut list, tool));
    for gap in timeline.gaps.iter().filter(|gap| gap.cause == GapCause::Unknown && gap.end_at - gap.at > timeline.stall_limit) {
        let text = format!(
            "{} without a request of {}, behind request {}",
            span_text(gap.end_at - gap.at),
            timeline.threads[gap.thread].name,
            gap.after
        );
        list.add(RemarkKind::Gap, Some(gap.at), text);
    }
    error_results(&mut list, timeline);
    repetitions::remarks(&mut list, timeline);
    untimed(&mut list, timeline);
    list.remarks.sort_by_key(|remark| (remark.kind, remark.at));
    list.remarks
}

/// The remarks so far.
#[derive(Default)]
struct RemarkList {
    remarks: Vec<TimelineRemark>,
}

impl RemarkList {
    fn add(&mut self, kind: RemarkKind, at: Option<Micros>, text: String) {
        self.remarks.push(TimelineRemark { kind, at, text });
    }
}

fn request_remarks(list: &mut RemarkList, call: &RecordedCall, timeline: &SessionTimeline) {
    for (index, attempt) in call.attempts.iter().enumerate() {
        let name = format!("request {}", call.attempt_label(index));
        for stall in &attempt.stalls {
            let pings = if stall.pings > 0 { format!(", but for {}", plural(stall.pings.into(), "ping")) } else { String::new() };
            list.add(RemarkKind::Stall, Some(stall.at), format!("{name} is silent for {}{pings}", span_text(stall.end_at - stall.at)));
        }
        if attempt.end == RecordedEnd::Open {
            let so_far = match attempt.status {
                Some(_) => plural(attempt.blocks.len() as u64, "block") + " so far",
                None => String::from("no response so far"),
            };
            list.add(RemarkKind::Open, attempt.at, format!("{name} has no end: {so_far}"));
        }
        order(list, &name, attempt, timeline);
        doubled_ids(list, attempt, timeline);
    }
    let last = call.last();
    if call.attempts.len() > 1 {
        list.add(RemarkKind::Retry, call.attempts[0].at, retry_text(call));
    } else if !matches!(last.end, RecordedEnd::Answered | RecordedEnd::Open) {
        list.add(RemarkKind::Failure, last.at, format!("request {} is not answered: {}", call.number, failure_text(last)));
    }
}

/// `request 2 takes 3 attempts in 3.100s: 529 overloaded_error, 529 overloaded_error, answered`.
fn retry_text(call: &RecordedCall) -> String {
    let ends: Vec<String> = call.attempts.iter().map(end_text).collect();
    let (first, last) = (call.attempts[0].at, call.last().at);
    let span = first.zip(last).map_or_else(String::new, |(first, last)| format!(" in {}", span_text(last - first)));
    let early: Vec<String> = call.attempts.windows(2).filter_map(early_text).collect();
    let early = if early.is_empty() { String::new() } else { format!("; {}", early.join(", ")) };
    format!("request {} takes {} attempts{span}: {}{early}", call.number, call.attempts.len(), ends.join(", "))
}

/// The whole problem of an attempt, as far as there is room.
fn failure_text(attempt: &RecordedAttempt) -> String {
    let status = attempt.status.filter(|_| attempt.end == RecordedEnd::Refused).map_or_else(String::new, |status| format!("{status} "));
    let problem = attempt.problem.as_deref().unwrap_or(attempt.end.as_str());
    status + &problem.chars().take(PROBLEM_CHARS).collect::<String>()
}

/// An attempt that comes earlier than the server asked for.
fn early_text(pair: &[RecordedAttempt]) -> Option<String> {
    let waited = pair[1].at? - pair[0].end_at?;
    let wanted = pair[0].retry_after.filter(|wanted| *wanted > waited)?;
    Some(format!("after {}, and the server had asked for {}", span_text(waited), span_text(wanted)))
}

/// How an attempt ended, in a few words.
fn end_text(attempt: &RecordedAttempt) -> String {
    match (attempt.end, &attempt.problem) {
        // The kind of the error; its line has the whole message.
        (RecordedEnd::Refused, Some(problem)) => {
            let kind = problem.split(':').next().unwrap_or_default();
            format!("{} {kind}", attempt.status.unwrap_or_default())
        }
        (_, Some(problem)) => problem.chars().take(PROBLEM_CHARS).collect(),
        (_, None) => attempt.end.as_str().into(),
    }
}

/// The tool uses without a result, those of one answer together.
fn missing_results(list: &mut RemarkList, tools: &[ToolInterval]) {
    let answers = tools.chunk_by(|one, other| (one.request, one.fate) == (other.request, other.fate));
    for tools in answers {
        let (kind, why) = match tools[0].fate {
            ToolFate::Missing => (RemarkKind::NoResult, "and the thread goes on"),
            ToolFate::Dropped => (RemarkKind::NoResult, "and the answer is not whole"),
            ToolFate::Open => (RemarkKind::Open, "and the recording ends"),
            ToolFate::Returned | ToolFate::Error => continue,
        };
        let names: Vec<String> = tools.iter().map(|tool| format!("{} {}", tool.label, tool.name)).collect();
        let has = if tools.len() == 1 { "has" } else { "have" };
        list.add(kind, tools[0].at, format!("{} {has} no result, {why}", names.join(", ")));
    }
}

/// Tool uses of one answer whose results cannot be distinguished by their ids.
fn doubled_ids(list: &mut RemarkList, attempt: &RecordedAttempt, timeline: &SessionTimeline) {
    let tools: Vec<&ToolInterval> = attempt.blocks.iter().filter_map(|block| block.tool.map(|tool| &timeline.tools[tool])).collect();
    for (place, tool) in tools.iter().enumerate() {
        let same: Vec<String> =
            tools.iter().filter(|other| other.id == tool.id).map(|tool| format!("{} {}", tool.label, tool.name)).collect();
        let is_first = tools[..place].iter().all(|earlier| earlier.id != tool.id);
        if is_first && same.len() > 1 {
            list.add(RemarkKind::DoubledId, tool.at, format!("{} have one id", same.join(" and ")));
        }
    }
}

/// Results that were sent more than once.
fn doubled_results(list: &mut RemarkList, tool: &ToolInterval) {
    for further in tool.returns.iter().skip(1) {
        let first = &tool.returns[0];
        let place = if first.request == further.request {
            format!("twice in request {}", first.request)
        } else {
            format!("in request {} and again in request {}", first.request, further.request)
        };
        list.add(RemarkKind::DoubledResult, further.at, format!("the result of {} {} is sent {place}", tool.label, tool.name));
    }
}

/// Results that stand in another order than their tool uses, and results that nobody asked for.
fn order(list: &mut RemarkList, name: &str, attempt: &RecordedAttempt, timeline: &SessionTimeline) {
    let tools: Vec<usize> = attempt.results.iter().filter_map(|result| result.tool).collect();
    if !tools.is_sorted() {
        let labels: Vec<&str> = tools.iter().map(|tool| &*timeline.tools[*tool].label).collect();
        list.add(
            RemarkKind::Order,
            attempt.at,
            format!("{name} has its results in another order than their tool uses: {}", labels.join(" ")),
        );
    }
    let strangers = attempt.results.iter().filter(|result| result.tool.is_none()).count() as u64;
    if strangers > 0 {
        let text = format!("{name} carries {} of tool uses that are not in the recording", plural(strangers, "result"));
        list.add(RemarkKind::StrangeResult, attempt.at, text);
    }
}

fn error_results(list: &mut RemarkList, timeline: &SessionTimeline) {
    let failed: Vec<String> = timeline
        .tools
        .iter()
        .filter(|tool| tool.returns.iter().any(|result| result.is_error))
        .map(|tool| format!("{} {}", tool.label, tool.name))
        .collect();
    if !failed.is_empty() {
        let text = format!(
            "{} {} an error: {}",
            plural(failed.len() as u64, "result"),
            if failed.len() == 1 { "is" } else { "are" },
            failed.join(", ")
        );
        list.add(RemarkKind::ErrorResult, None, text);
    }
}

/// The facts that cannot be seen because the recording has no times for them.
fn untimed(list: &mut RemarkList, timeline: &SessionTimeline) {
    if !timeline.has_times {
        if !timeline.requests.is_empty() {
            list.add(
                RemarkKind::Untimed,
                None,
                String::from("the recording has no times: its order is shown, and no stall, gap or duration is known"),
            );
        }
        return;
    }
    let count = |is: &dyn Fn(&RecordedAttempt) -> bool| timeline.attempts().filter(|(_, attempt)| is(attempt)).count() as u64;
    let without = count(&|attempt| attempt.at.is_none());
    if without > 0 {
        list.add(RemarkKind::Untimed, None, format!("{} without a time, so not on the axis", plural(without, "request")));
    }
    let one_piece = count(&|attempt| {
        attempt.at.is_some() && attempt.first_at.is_none() && attempt.end == RecordedEnd::Answered
            || attempt.blocks.iter().any(|block| block.is_complete && block.end_at.is_none())
    });
    if one_piece > 0 {
        let text = format!(
            "{} without times inside: blocks have none, tools begin at the end of their answer, and no stall is known",
            plural(one_piece, "answer")
        );
        list.add(RemarkKind::Untimed, None, text);
    }
}
