//! A line for each event and interval of a timeline, in the order of time.

use anstyle::Style;
use reenact_engine::time::Micros;
use reenact_timeline::{
    BlockInterval, GapCause, RecordedCall, RecordedEnd, SessionTimeline, ThreadGap, ToolFate, ToolInterval, ToolRunInterval, span_text,
    usage_text,
};
use reenact_wire::prelude::*;
use unicode_width::UnicodeWidthStr as _;

use super::{LOST, ShowLayout, TOOL, WRONG, clean, styled};

/// The width of names such as `request 12`, and of the tools below them.
const NAME_COLUMNS: usize = 12;

/// The widest name of a thread.
const THREAD_MAX: usize = 12;

/// A line. Its time is that of the line before it where it has none.
struct TimelineRow {
    at: Option<Micros>,
    end_at: Option<Micros>,
    /// Whether it went on when the recording ended.
    is_open: bool,
    thread: usize,
    name: String,
    text: String,
    style: Style,
}

/// All lines below their heading, as far as they are in the window.
pub(super) fn text(timeline: &SessionTimeline, layout: ShowLayout) -> String {
    let mut rows = rows(timeline);
    let mut before = Micros::ZERO;
    let mut ordered: Vec<(Micros, TimelineRow)> = Vec::with_capacity(rows.len());
    for row in rows.drain(..) {
        before = row.at.unwrap_or(before);
        ordered.push((before, row));
    }
    ordered.sort_by_key(|(at, _)| *at);
    let (from, to) = (layout.window.0, layout.window.1.unwrap_or(Micros(u64::MAX)));
    let is_inside = |(at, row): &&(Micros, TimelineRow)| *at <= to && row.end_at.unwrap_or(*at) >= from;
    let threads = if timeline.threads.len() > 1 { timeline.threads.iter().map(|thread| thread.name.width()).max() } else { None };
    let threads = threads.map(|widest| widest.clamp(6, THREAD_MAX));
    let shape = RowShape {
        times: if timeline.has_times { span_text(timeline.until).len().max(7) + 1 } else { 0 },
        threads,
        columns: layout.columns,
    };
    let lines: Vec<String> = ordered.iter().filter(is_inside).map(|(_, row)| line(row, timeline, &shape)).collect();
    if lines.is_empty() {
        return String::from("nothing in this recording, or in this part of it");
    }
    let thread = threads.map_or_else(String::new, |width| format!("{:<width$}  ", "thread"));
    let times = shape.times;
    let head = if times > 0 { format!("{:>times$} {:>times$}  ", "time", "for") } else { String::from("  ") };
    format!("{head}{thread}what\n{}", lines.join("\n"))
}

/// The widths of the columns.
struct RowShape {
    /// 0 where nothing has a time.
    times: usize,
    threads: Option<usize>,
    columns: usize,
}

fn line(row: &TimelineRow, timeline: &SessionTimeline, shape: &RowShape) -> String {
    let time = row.at.map_or_else(String::new, span_text);
    let span = row.at.zip(row.end_at).map_or_else(String::new, |(at, end_at)| span_text(end_at - at));
    let span = if row.is_open { span + "…" } else { span };
    let thread = shape.threads.map_or_else(String::new, |width| {
        let name = clean(&timeline.threads[row.thread].name, width);
        let missing = width.saturating_sub(name.width());
        format!("{name}{}  ", " ".repeat(missing))
    });
    let times = shape.times;
    let head = if times > 0 { format!("{time:>times$} {span:>times$}  {thread}") } else { format!("  {thread}") };
    let name = format!("{:<NAME_COLUMNS$}", clean(&row.name, 24));
    let text = clean(&format!("{name} {}", row.text), shape.columns.saturating_sub(head.width()));
    format!("{head}{}", styled(row.style, text.trim_end()))
}

fn rows(timeline: &SessionTimeline) -> Vec<TimelineRow> {
    let mark = |mark: &reenact_timeline::TimelineMark| TimelineRow {
        at: Some(mark.at),
        end_at: None,
        is_open: false,
        thread: mark.thread,
        name: mark.kind.into(),
        text: mark.text.clone(),
        style: if mark.kind == "cancel" || mark.kind == "interrupt" { LOST } else { Style::new() },
    };
    let mut rows: Vec<TimelineRow> = timeline.marks.iter().map(mark).collect();
    let mut models: Vec<&str> = vec![""; timeline.threads.len()];
    for call in &timeline.requests {
        for (index, attempt) in call.attempts.iter().enumerate() {
            let is_new_model = models[call.thread] != &*attempt.model;
            models[call.thread] = &attempt.model;
            rows.push(request_row(call, index, is_new_model.then_some(&attempt.model), timeline));
            let blocks = attempt.blocks.iter();
            rows.extend(blocks.map(|block| match block.tool {
                Some(tool) => tool_row(&timeline.tools[tool], timeline),
                None => block_row(block, call),
            }));
            rows.extend(attempt.stalls.iter().map(|stall| TimelineRow {
                at: Some(stall.at),
                end_at: Some(stall.end_at),
                is_open: false,
                thread: call.thread,
                name: String::from("  silent"),
                text: format!("request {}{}", call.attempt_label(index), if stall.pings > 0 { ", but for pings" } else { "" }),
                style: WRONG,
            }));
        }
    }
    let shown = |gap: &&ThreadGap| match gap.cause {
        GapCause::Retry => true,
        GapCause::Unknown => gap.end_at - gap.at > timeline.stall_limit,
        GapCause::Tools => false,
    };
    rows.extend(timeline.gaps.iter().filter(shown).map(gap_row));
    rows
}

/// The model is told where it is another one than before.
fn request_row(call: &RecordedCall, index: usize, model: Option<&Arc<str>>, timeline: &SessionTimeline) -> TimelineRow {
    let attempt = &call.attempts[index];
    let mut parts: Vec<String> = Vec::new();
    if let Some(problem) = &attempt.problem {
        let status = attempt.status.filter(|_| attempt.end == RecordedEnd::Refused).map_or_else(String::new, |status| format!("{status} "));
        parts.push(format!("{status}{problem}"));
    }
    let label = |tool: Option<usize>| tool.map_or("?", |tool| &*timeline.tools[tool].label);
    let results: Vec<&str> = attempt.results.iter().map(|result| label(result.tool)).collect();
    if !results.is_empty() {
        parts.push(format!("{} {}", if results.len() == 1 { "result" } else { "results" }, results.join(" ")));
    }
    if attempt.end == RecordedEnd::Open {
        parts.push(String::from("not ended"));
    }
    parts.extend(attempt.stop_reason.as_deref().filter(|_| attempt.problem.is_none()).map(String::from));
    let first = attempt.answer_at().zip(attempt.at).filter(|_| attempt.problem.is_none());
    parts.extend(first.map(|(first, at)| format!("first byte {}", span_text(first - at))));
    parts.extend(Some(usage_text(&attempt.usage)).filter(|tokens| !tokens.is_empty()));
    parts.push(plural(attempt.messages as u64, "message"));
    parts.extend(model.filter(|model| !model.is_empty()).map(|model| String::from(&**model)));
    let is_open = attempt.end == RecordedEnd::Open;
    let end_at = if is_open { attempt.at.map(|_| timeline.until) } else { attempt.end_at };
    let style = match attempt.end {
        RecordedEnd::Answered => Style::new(),
        RecordedEnd::Open => LOST,
        _ => WRONG,
    };
    let name = format!("request {}", call.attempt_label(index));
    TimelineRow { at: attempt.at, end_at, is_open, thread: call.thread, name, text: parts.join(", "), style }
}

fn block_row(block: &BlockInterval, call: &RecordedCall) -> TimelineRow {
    let end = if block.is_complete { "" } else { "(not complete) " };
    TimelineRow {
        at: block.at,
        end_at: block.end_at,
        is_open: false,
        thread: call.thread,
        name: format!("  {}", block.kind),
        text: format!("{end}{}", block.beginning),
        style: Style::new(),
    }
}

/// `in request 2`, `twice in request 2`, `in requests 2 and 3`.
fn places_text(tool: &ToolInterval) -> String {
    let mut requests: Vec<usize> = tool.returns.iter().map(|result| result.request).collect();
    let count = requests.len();
    requests.dedup();
    let names = requests.iter().map(usize::to_string).collect::<Vec<_>>().join(" and ");
    match (requests.len(), count) {
        (1, 1) => format!("in request {names}"),
        (1, 2) => format!("twice in request {names}"),
        (1, _) => format!("{count} times in request {names}"),
        _ => format!("in requests {names}"),
    }
}

fn tool_row(tool: &ToolInterval, timeline: &SessionTimeline) -> TimelineRow {
    let place = places_text(tool);
    let (fate, style) = match tool.fate {
        ToolFate::Returned if tool.returns.len() > 1 => (format!("result {place}"), WRONG),
        ToolFate::Returned => (format!("result {place}"), TOOL),
        ToolFate::Error => (format!("error {place}"), WRONG),
        ToolFate::Missing => (String::from("no result"), WRONG),
        ToolFate::Dropped => (String::from("no result, its answer is not whole"), WRONG),
        // A log says when a tool ended. The recording may end before a request tells its result.
        ToolFate::Open if tool.runs.last().is_some_and(|run| run.end_at.is_some()) => (String::from("its result is in no request"), TOOL),
        ToolFate::Open => (String::from("no result yet"), LOST),
    };
    let run = |run: &ToolRunInterval| {
        let from = if Some(run.at) == tool.at { String::new() } else { format!(" from {}", span_text(run.at)) };
        let span = run.end_at.map_or_else(|| String::from("without an end"), |end_at| span_text(end_at - run.at));
        format!("runs {span}{from}")
    };
    let runs = tool.runs.iter().map(run);
    let parts: Vec<String> = core::iter::once(fate).chain(runs).collect();
    TimelineRow {
        at: tool.at,
        end_at: tool.span(timeline.until).map(|(_, to)| to),
        is_open: tool.fate == ToolFate::Open && tool.at.is_some(),
        thread: tool.thread,
        name: format!("  {} {}", tool.label, tool.name),
        text: format!("{}  {}", parts.join(", "), tool.input),
        style,
    }
}

fn gap_row(gap: &ThreadGap) -> TimelineRow {
    let (name, text) = match gap.cause {
        GapCause::Retry => ("  wait", format!("before request {} is made again", gap.after)),
        GapCause::Tools | GapCause::Unknown => ("  nothing", format!("behind request {}: its client or its user waits", gap.after)),
    };
    TimelineRow { at: Some(gap.at), end_at: Some(gap.end_at), is_open: false, thread: gap.thread, name: name.into(), text, style: LOST }
}
