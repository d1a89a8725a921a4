//! A timeline as text for a terminal (V-8).
//!
//! ```text
//! file     session.tape.jsonl, a tape
//! …
//!     time      for  what
//!   0.000s   3.120s  request 1    tool_use, first byte 0.412s, 412 in, 87 out, 1 message
//!   1.812s   1.988s    1A Read    result in request 2  {"file_path":"/w/a"}
//! …
//!           0s        1s        2s        3s        4s
//! 1         ....===========================
//!   1A Read                   --------------------
//! 2                                               ...======
//! ```

mod axis;
mod lanes;
mod rows;

use anstyle::{AnsiColor, Style};
use reenact_engine::time::Micros;
use reenact_timeline::{RemarkKind, SessionTimeline, grouped, span_text, tools_at_once, usage_text};
use reenact_transcript::text::one_line;
use reenact_wire::prelude::*;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

pub(crate) const ANSWER: Style = AnsiColor::Green.on_default();
pub(crate) const TOOL: Style = AnsiColor::Cyan.on_default();
pub(crate) const LOST: Style = AnsiColor::Yellow.on_default();
pub(crate) const WRONG: Style = AnsiColor::Red.on_default();

/// The width of the names before the lines of the first paragraph.
const NAME_COLUMNS: usize = 9;

/// How a timeline is shown. The text has escapes for colours in each case: its writer takes them out where nobody sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShowLayout {
    /// No line is longer, colours left aside.
    pub columns: usize,
    /// Only what goes on between these instants.
    pub window: (Micros, Option<Micros>),
}

/// Everything: the facts, a line for each event, the lanes, and the remarks.
pub fn text(name: &str, timeline: &SessionTimeline, layout: ShowLayout) -> String {
    let lanes = if timeline.has_times { lanes::text(timeline, layout) } else { String::new() };
    let parts = [facts(name, timeline, layout.columns), rows::text(timeline, layout), lanes, remarks(timeline, layout)];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// A text of a recording in a piece of a line of at most so many columns: nothing in it moves the cursor.
pub(crate) fn clean(text: &str, columns: usize) -> String {
    let text = one_line(text);
    if text.width() <= columns {
        return text.into_owned();
    }
    let mut out = String::new();
    let mut width = 0;
    for character in text.chars() {
        width += character.width().unwrap_or(0);
        if width >= columns {
            break;
        }
        out.push(character);
    }
    if columns > 0 {
        out.push('…');
    }
    out
}

pub(crate) fn styled(style: Style, text: &str) -> String {
    if text.is_empty() || style == Style::new() { text.into() } else { format!("{style}{text}{style:#}") }
}

fn facts(name: &str, timeline: &SessionTimeline, columns: usize) -> String {
    let source = &timeline.source;
    let file = [Some(name.into()), Some(source.kind.clone()), source.recorder.clone(), source.upstream.clone()];
    let duration = if timeline.has_times { span_text(timeline.until) + " long" } else { String::from("without times, in its order") };
    let mut lines =
        vec![("file", file.into_iter().flatten().collect()), ("when", source.recorded_at.iter().cloned().chain([duration]).collect())];
    lines.push(("requests", requests(timeline)));
    for other in &timeline.others {
        lines.push(("others", vec![format!("{} {}", other.count, other.path)]));
    }
    for tokens in &timeline.tokens {
        let model = if tokens.model.is_empty() { "model not known" } else { &*tokens.model };
        lines.push(("tokens", vec![format!("{model}: {}", usage_text(&tokens.usage))]));
    }
    if let Some(shares) = timeline.time {
        let shares = [
            (shares.answers, "answers"),
            (shares.first_bytes, "waits for first bytes"),
            (shares.requests, "requests of an unknown first byte"),
            (shares.stalls, "silent streams"),
            (shares.tools, "tools alone"),
            (shares.retries, "waits before retries"),
            (shares.nothing, "nothing"),
        ];
        let words = shares.into_iter().filter(|(span, _)| *span > Micros::ZERO).map(|(span, word)| format!("{} {word}", span_text(span)));
        lines.push(("time", words.collect()));
    }
    lines.push(("missing", source.lost.clone()));
    let line = |(name, parts): (&str, Vec<String>)| {
        let text = wrapped(&parts.join(", "), columns.saturating_sub(NAME_COLUMNS).max(20));
        let indent = format!("\n{}", " ".repeat(NAME_COLUMNS));
        format!("{name:<NAME_COLUMNS$}{}", text.join(&indent))
    };
    lines.into_iter().filter(|(_, parts)| !parts.is_empty()).map(line).collect::<Vec<_>>().join("\n")
}

fn requests(timeline: &SessionTimeline) -> Vec<String> {
    let attempts = timeline.attempts().count();
    let mut parts = vec![grouped(timeline.requests.len() as u64)];
    if attempts != timeline.requests.len() {
        parts[0] = format!("{} in {attempts} attempts", parts[0]);
    }
    if !timeline.tools.is_empty() {
        let at_once = Some(tools_at_once(timeline)).filter(|count| *count > 1);
        let at_once = at_once.map_or_else(String::new, |count| format!(" (up to {count} at once)"));
        parts.push(plural(timeline.tools.len() as u64, "tool use") + &at_once);
    }
    if timeline.threads.len() > 1 {
        let threads: Vec<String> = timeline.threads.iter().map(|thread| format!("{} {}", thread.name, thread.requests)).collect();
        parts.push(format!("{} threads ({})", threads.len(), threads.join(", ")));
    }
    parts
}

/// The remarks of the window, and those on the whole.
fn remarks(timeline: &SessionTimeline, layout: ShowLayout) -> String {
    let ShowLayout { columns, window: (from, to) } = layout;
    let line = |(kind, at, text): (RemarkKind, Option<Micros>, &str)| {
        let time = at.map_or_else(String::new, span_text);
        let text = wrapped(text, columns.saturating_sub(12).max(20)).join(&format!("\n{}", " ".repeat(12)));
        let style = match kind {
            RemarkKind::Untimed => Style::new(),
            RemarkKind::Stall | RemarkKind::Gap | RemarkKind::Retry | RemarkKind::Open | RemarkKind::Twice | RemarkKind::CacheMiss => LOST,
            _ => WRONG,
        };
        styled(style, &format!("{time:>10}  {text}"))
    };
    let is_inside = |at: Option<Micros>| at.is_none_or(|at| at >= from && to.is_none_or(|to| at <= to));
    let (inside, others): (Vec<_>, Vec<_>) = timeline.remarks.iter().partition(|remark| is_inside(remark.at));
    let mut lines: Vec<String> = inside.iter().map(|remark| line((remark.kind, remark.at, &remark.text))).collect();
    if !others.is_empty() {
        lines.push(format!("{:>12}{} on other times", "", plural(others.len() as u64, "remark")));
    }
    lines.join("\n")
}

/// The text in lines of at most so many columns, broken at blanks where there are any.
fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in one_line(text).split(' ') {
        let word = clean(word, columns);
        let line = lines.pop().unwrap_or_default();
        match () {
            () if line.is_empty() => lines.push(word),
            () if line.width() + 1 + word.width() <= columns => lines.push(format!("{line} {word}")),
            () => lines.extend([line, word]),
        }
    }
    lines
}
