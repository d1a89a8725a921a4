//! Single values as TOML.

use crate::latency::Latency;
use reenact_engine::time::Micros;
use reenact_wire::prelude::*;

/// Text as the string that reads best: as it stands where TOML allows it, else with escapes.
pub(crate) fn string(text: &str) -> String {
    let is_plain = |c: char| !c.is_control() || c == '\n' || c == '\t';
    let has_lines = text.contains('\n');
    if text.chars().all(is_plain) {
        let needs_no_escape = !text.contains(['"', '\\', '\t']);
        return match has_lines {
            false if needs_no_escape => format!("\"{text}\""),
            false if !text.contains('\'') => format!("'{text}'"),
            // The first line end after the quotes is not part of the text.
            true if !text.contains("'''") && !text.ends_with('\'') => format!("'''\n{text}'''"),
            false if !text.contains("'''") && !text.ends_with('\'') => format!("'''{text}'''"),
            _ => escaped(text, has_lines),
        };
    }
    escaped(text, has_lines)
}

/// A key; with quotes where it is more than a word.
pub(crate) fn key(text: &str) -> String {
    let is_word = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    // A key cannot have several lines.
    if is_word { text.into() } else { escaped(text, false) }
}

/// A key in quotes, word or not.
pub(crate) fn name(text: &str) -> String {
    escaped(text, false)
}

fn escaped(text: &str, has_lines: bool) -> String {
    let quotes = if has_lines { "\"\"\"" } else { "\"" };
    let mut out = String::from(quotes);
    if has_lines {
        out.push('\n');
    }
    for c in text.chars() {
        match c {
            '\n' if has_lines => out.push('\n'),
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            control if control.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(control))),
            other => out.push(other),
        }
    }
    out.push_str(quotes);
    out
}

/// `"1500ms"`, in the largest unit in which it is whole.
pub(crate) fn duration(span: Micros) -> String {
    format!("\"{}\"", bare(span))
}

fn bare(span: Micros) -> String {
    match span.0 {
        micros if micros > 0 && micros.is_multiple_of(3_600_000_000) => format!("{}h", micros / 3_600_000_000),
        micros if micros > 0 && micros.is_multiple_of(60_000_000) => format!("{}m", micros / 60_000_000),
        micros if micros.is_multiple_of(1_000_000) => format!("{}s", micros / 1_000_000),
        micros if micros.is_multiple_of(1_000) => format!("{}ms", micros / 1_000),
        micros => format!("{micros}us"),
    }
}

/// From the one to the other; one figure where both are the same.
pub(crate) fn range((least, most): (Micros, Micros)) -> String {
    latency(&if least == most { Latency::Fixed(least) } else { Latency::Uniform(least, most) })
}

/// A latency: text, a table of percentiles, or an array.
pub(crate) fn latency(latency: &Latency) -> String {
    match latency {
        Latency::Fixed(span) => duration(*span),
        Latency::Uniform(low, high) => format!("\"{}..{}\"", bare(*low), bare(*high)),
        Latency::LogUniform(low, high) => format!("\"log {}..{}\"", bare(*low), bare(*high)),
        Latency::LogNormal { p50, p99 } => format!("{{ p50 = {}, p99 = {} }}", duration(*p50), duration(*p99)),
        Latency::Recorded { percent: 100 } => String::from("\"recorded\""),
        Latency::Recorded { percent } => format!("\"recorded x{}.{:02}\"", percent / 100, percent % 100),
        Latency::Table(spans) => format!("[{}]", spans.iter().map(|span| duration(*span)).collect::<Vec<_>>().join(", ")),
    }
}
