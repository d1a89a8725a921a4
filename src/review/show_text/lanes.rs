//! A lane for each request and for each tool use, in proportion to time.

use anstyle::Style;
use reenact_engine::time::Micros;
use reenact_timeline::{RecordedAttempt, RecordedCall, RecordedEnd, SessionTimeline, ToolFate, ToolInterval};
use reenact_wire::prelude::*;

use super::axis::TimeAxis;
use super::{ANSWER, LOST, ShowLayout, TOOL, WRONG, clean, styled};

/// The signs of the lanes, with their colours and their words.
const SIGNS: [(char, Style, &str); 11] = [
    ('.', LOST, "until the first byte"),
    ('~', ANSWER, "request of an unknown first byte"),
    ('=', ANSWER, "answer"),
    ('!', WRONG, "silent"),
    ('_', LOST, "before a further attempt"),
    ('-', TOOL, "tool use until its result is sent"),
    ('#', TOOL, "tool runs"),
    ('x', WRONG, "failed"),
    ('?', WRONG, "no result"),
    ('+', WRONG, "result once more"),
    ('>', LOST, "not ended"),
];

/// With more lanes than this a line says how to see less.
const LANES_MAX: usize = 60;

/// The widest label.
const LABEL_MAX: usize = 24;

/// One lane: when it begins, its label, its signs.
struct Lane {
    at: Micros,
    label: String,
    signs: Vec<char>,
}

/// The axis, the lanes, and the meaning of their signs; empty where nothing has a time in the window.
pub(super) fn text(timeline: &SessionTimeline, layout: ShowLayout) -> String {
    let has_threads = timeline.threads.len() > 1;
    let thread = |place: usize| if has_threads { format!(" {}", timeline.threads[place].name) } else { String::new() };
    let request_label = |call: &RecordedCall| format!("{}{}", call.number, thread(call.thread));
    let tool_label = |tool: &ToolInterval| format!("  {} {}", tool.label, tool.name);
    let labels = timeline.requests.iter().map(request_label).chain(timeline.tools.iter().map(tool_label));
    let widest = labels.map(|label| label.chars().count()).max().unwrap_or(0);
    let width = widest.min(LABEL_MAX).min(layout.columns / 3);
    let columns = layout.columns.saturating_sub(width + 2).max(10);
    let axis = TimeAxis::new(timeline, layout.window, columns);
    let requests = timeline.requests.iter().filter_map(|call| request_lane(call, request_label(call), timeline, &axis, columns));
    let tools = timeline.tools.iter().filter_map(|tool| tool_lane(tool, tool_label(tool), timeline, &axis, columns));
    let mut lanes: Vec<Lane> = requests.chain(tools).collect();
    if lanes.is_empty() {
        return String::new();
    }
    lanes.sort_by_key(|lane| lane.at);
    let [labels, ruler] = axis.ruler();
    let line = |label: &str, signs: &str| format!("{}  {signs}", padded(label, width));
    let mut lines = vec![line("", &labels), line("", &ruler)];
    lines.extend(lanes.iter().map(|lane| line(&lane.label, &coloured(&lane.signs))));
    lines.extend(legend(&lanes, &axis, layout.columns));
    lines.join("\n")
}

fn padded(label: &str, width: usize) -> String {
    let label = clean(label, width);
    let missing = width.saturating_sub(unicode_width::UnicodeWidthStr::width(&*label));
    label + &" ".repeat(missing)
}

fn request_lane(call: &RecordedCall, label: String, timeline: &SessionTimeline, axis: &TimeAxis, columns: usize) -> Option<Lane> {
    let mut lane = Lane { at: call.attempts.iter().find_map(|attempt| attempt.at)?, label, signs: vec![' '; columns] };
    let spans = || call.attempts.iter().filter_map(|attempt| Some((attempt, attempt.at?, attempt_end(attempt, timeline))));
    // First the waits: a failure of an instant stays visible.
    let (mut before, mut is_seen) = (None, false);
    for (_, at, end) in spans() {
        if let Some(before) = before.filter(|before| at > *before) {
            lane.fill(axis, before, at, '_');
        }
        is_seen |= end >= axis.from && at <= axis.to;
        before = Some(end);
    }
    spans().for_each(|(attempt, at, end)| lane.attempt(attempt, (at, end), axis));
    is_seen.then_some(lane)
}

fn attempt_end(attempt: &RecordedAttempt, timeline: &SessionTimeline) -> Micros {
    let open = (attempt.end == RecordedEnd::Open).then_some(timeline.until);
    let known = [attempt.first_at, attempt.head_at, attempt.at].into_iter().flatten().max();
    attempt.end_at.or(open).or(known).unwrap_or_default()
}

fn tool_lane(tool: &ToolInterval, label: String, timeline: &SessionTimeline, axis: &TimeAxis, columns: usize) -> Option<Lane> {
    let at = tool.at?;
    let span = tool.span(timeline.until);
    let to = span.map_or(at, |(_, to)| to);
    if to < axis.from || at > axis.to {
        return None;
    }
    let mut lane = Lane { at, label, signs: vec![' '; columns] };
    lane.fill(axis, at, to, '-');
    for run in &tool.runs {
        lane.fill(axis, run.at, run.end_at.unwrap_or(to), '#');
    }
    match tool.fate {
        ToolFate::Error => lane.mark_end(axis, at, to, 'x'),
        ToolFate::Missing | ToolFate::Dropped => lane.mark_end(axis, at, to, '?'),
        ToolFate::Open => lane.mark_end(axis, at, to, '>'),
        ToolFate::Returned => (),
    }
    for further in tool.returns.iter().skip(1).filter_map(|further| further.at) {
        lane.fill(axis, further, further, '+');
    }
    Some(lane)
}

impl Lane {
    fn attempt(&mut self, attempt: &RecordedAttempt, (at, end): (Micros, Micros), axis: &TimeAxis) {
        let known = attempt.answer_at().map(|first| first.min(end));
        // What is refused brings no answer.
        let first = known.filter(|_| attempt.end != RecordedEnd::Refused).unwrap_or(end);
        if known.is_some() && attempt.end == RecordedEnd::Answered || end > first {
            self.fill(axis, first, end, '=');
        }
        self.fill(axis, at, first, if known.is_none() && attempt.end == RecordedEnd::Answered { '~' } else { '.' });
        attempt.stalls.iter().for_each(|stall| self.fill(axis, stall.at, stall.end_at, '!'));
        match attempt.end {
            RecordedEnd::Answered => (),
            RecordedEnd::Open => self.mark_end(axis, at, end, '>'),
            _ => self.mark_end(axis, at, end, 'x'),
        }
    }

    /// A span that lasts at all has a column.
    fn fill(&mut self, axis: &TimeAxis, from: Micros, to: Micros, sign: char) {
        if to < axis.from || from > axis.to {
            return;
        }
        let from = axis.column(from);
        self.signs[from..axis.column(to).max(from + 1)].fill(sign);
    }

    /// Puts a sign in the last column of a span.
    fn mark_end(&mut self, axis: &TimeAxis, from: Micros, to: Micros, sign: char) {
        if to <= axis.to {
            let last = axis.column(to).saturating_sub(1).max(axis.column(from));
            self.signs[last] = sign;
        }
    }
}

/// The signs with their colours, the blanks behind them left out.
fn coloured(signs: &[char]) -> String {
    let end = signs.iter().rposition(|sign| *sign != ' ').map_or(0, |last| last + 1);
    let style = |sign: char| SIGNS.iter().find(|known| known.0 == sign).map_or(Style::new(), |known| known.1);
    let runs = signs[..end].chunk_by(|one, other| one == other);
    runs.map(|run| styled(style(run[0]), &run.iter().collect::<String>())).collect()
}

/// The meanings of the signs that are there.
fn legend(lanes: &[Lane], axis: &TimeAxis, columns: usize) -> Vec<String> {
    let is_there = |sign: char| lanes.iter().any(|lane| lane.signs.contains(&sign));
    let signs = SIGNS.iter().filter(|(sign, ..)| is_there(*sign));
    let mut words: Vec<String> = signs.map(|(sign, _, word)| format!("{sign} {word}")).collect();
    words.extend(Some(axis.cuts_text()).filter(|text| !text.is_empty()));
    if lanes.len() > LANES_MAX {
        words.push(String::from("--from and --to show a part of the time larger"));
    }
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 3 + word.chars().count() <= columns => *line += &format!("   {word}"),
            _ => lines.push(clean(&word, columns)),
        }
    }
    lines
}
