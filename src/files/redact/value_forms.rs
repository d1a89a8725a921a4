//! Values that stand further from their names (K-2): in the lines below, in a list, in the next cell of a table, as the second argument of a call.
//!
//! ```text
//! api_keys:          password: |      api_keys = ["…", "…"]      | API_KEY | `…` |      environ.get("API_KEY", "…")
//!   - …                …
//! ```

use std::ops::Range;

use super::assigned_value::quoted;
use super::assignments::{is_name_byte, skip};
use super::names::{TellingName, ValuePlace, is_mixed, is_secret_value, is_words};

/// How long a value is that is known by its form.
const VALUE_BYTES_MAX: usize = 4 << 10;

/// How much of a line before a name is looked at.
const LINE_BYTES_MAX: usize = 96;

/// How many blanks stand between a name, its sign and its value.
const BLANKS_MAX: usize = 64;

/// The values of a name in any of these forms.
pub(super) fn find(text: &[u8], name: &Range<usize>, tells: TellingName) -> Vec<Range<usize>> {
    if tells < TellingName::Strong {
        return Vec::new();
    }
    let forms = [below, list, cell, argument];
    forms.iter().map(|form| form(text, name, tells)).find(|values| !values.is_empty()).unwrap_or_default()
}

/// Whether a value is one that only its name tells of: no word.
fn is_value(text: &[u8], tells: TellingName, value: &Range<usize>) -> bool {
    let value = &text[value.clone()];
    is_secret_value(tells, value, ValuePlace::Quoted) && !is_words(value) && value.len() >= 6
}

/// The lines below a name and a colon: a list, a block, or the value itself.
fn below(text: &[u8], name: &Range<usize>, tells: TellingName) -> Vec<Range<usize>> {
    let colon = skip(text, name.end, 1, b"\"'");
    let line = &text[name.start.saturating_sub(LINE_BYTES_MAX)..name.start];
    let line = line.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let is_first = line.iter().all(|byte| b" \t-\"'".contains(byte));
    if text.get(colon) != Some(&b':') || !is_first {
        return Vec::new();
    }
    let start = skip(text, colon + 1, 4, b" \t");
    let mark = skip(text, start, 3, b"|>+-");
    let end = skip(text, mark, 2, b" \r");
    if text.get(end) != Some(&b'\n') {
        return Vec::new();
    }
    let (mut values, mut at) = (Vec::new(), end + 1);
    while let Some(below) = line_below(text, at, line.len()) {
        let item = text[below.clone()].strip_prefix(b"- ").map_or(0, |item| below.len() - item.len());
        let value = without_quotes(text, below.start + item..below.end);
        // A block is text as it stands; without its mark what is below may be other names.
        let (is_block, has_blanks) = (mark > start, text[value.clone()].contains(&b' '));
        let is_only = values.is_empty() && line_below(text, below.end + 1, line.len()).is_none();
        let is_one = item > 0 && !has_blanks || is_block && !has_blanks || is_only && (is_block || !has_blanks);
        if !is_one || !is_value(text, tells, &value) || text[value.clone()].ends_with(b":") {
            break;
        }
        values.push(value);
        at = below.end + 1;
    }
    values
}

/// The line that begins here without its indent; nothing where it is indented no further than the name is, or is long.
fn line_below(text: &[u8], at: usize, indent: usize) -> Option<Range<usize>> {
    let start = skip(text, at, LINE_BYTES_MAX, b" ");
    let is_item = text.get(start..)?.starts_with(b"- ");
    (start - at > indent || is_item && start - at == indent).then_some(())?;
    let length = text[start..].iter().take(VALUE_BYTES_MAX).take_while(|byte| !b"\r\n".contains(byte)).count();
    (0 < length && length < VALUE_BYTES_MAX).then_some(start..start + length)
}

fn without_quotes(text: &[u8], value: Range<usize>) -> Range<usize> {
    let is_quoted = value.len() >= 2 && matches!(text[value.start], b'"' | b'\'') && text[value.end - 1] == text[value.start];
    if is_quoted { value.start + 1..value.end - 1 } else { value }
}

/// The strings of a list: `api_keys = ["…", "…"]`.
fn list(text: &[u8], name: &Range<usize>, tells: TellingName) -> Vec<Range<usize>> {
    let sign = skip(text, skip(text, name.end, 4, b"\\\"'"), 4, b" \t");
    let open = skip(text, sign + 1, 4, b" \t");
    if !matches!(text.get(sign), Some(b'=' | b':')) || text.get(open) != Some(&b'[') {
        return Vec::new();
    }
    let (mut values, mut at) = (Vec::new(), open + 1);
    loop {
        let start = skip(text, at, BLANKS_MAX, b" \t\r\n,");
        let quote = skip(text, start, 8, b"\\");
        let Some(sign) = text.get(quote).filter(|byte| b"\"'".contains(byte)) else { return values };
        let value = quoted(text, quote + 1, *sign, quote - start, VALUE_BYTES_MAX);
        if value.is_cut || !is_value(text, tells, &value.range) {
            return values;
        }
        at = skip(text, skip(text, value.range.end, 8, b"\\"), 1, b"\"'");
        values.push(value.range);
    }
}

/// The next cell of a table: `| API_KEY | `…` |`.
fn cell(text: &[u8], name: &Range<usize>, tells: TellingName) -> Vec<Range<usize>> {
    let before = &text[name.start.saturating_sub(BLANKS_MAX)..name.start];
    let before = before.iter().rev().find(|byte| !b" \t`*".contains(byte));
    let bar = skip(text, name.end, BLANKS_MAX, b" \t`*");
    if before != Some(&b'|') || text.get(bar) != Some(&b'|') {
        return Vec::new();
    }
    let start = skip(text, bar + 1, BLANKS_MAX, b" \t`*");
    let length = text[start..].iter().take(VALUE_BYTES_MAX).take_while(|byte| byte.is_ascii_graphic() && !b"|`".contains(byte)).count();
    let is_closed = text.get(skip(text, start + length, BLANKS_MAX, b" \t`*")) == Some(&b'|');
    let value = start..start + length;
    if is_closed && is_mixed(&text[value.clone()]) && is_value(text, tells, &value) { vec![value] } else { Vec::new() }
}

/// The second argument of a call that asks for a setting, or makes one: `environ.get("API_KEY", "…")`.
fn argument(text: &[u8], name: &Range<usize>, tells: TellingName) -> Vec<Range<usize>> {
    const CALLS: [&[u8]; 8] = [b"get", b"getenv", b"env", b"setenv", b"set", b"setitem", b"setdefault", b"putenv"];
    let before = &text[name.start.saturating_sub(LINE_BYTES_MAX)..name.start];
    let (Some(quote), Some(open)) = (before.last(), before.len().checked_sub(2)) else { return Vec::new() };
    let call = before[..open].rsplit(|byte| !is_name_byte(*byte) || *byte == b'.').next().unwrap_or_default().to_ascii_lowercase();
    let comma = skip(text, name.end + 1, 4, b" ");
    let is_call = b"\"'".contains(quote) && before[open] == b'(' && CALLS.contains(&call.as_slice());
    if !is_call || text.get(name.end) != Some(quote) || text.get(comma) != Some(&b',') {
        return Vec::new();
    }
    let start = skip(text, comma + 1, 4, b" ");
    let Some(sign) = text.get(start).filter(|byte| b"\"'".contains(byte)) else { return Vec::new() };
    let value = quoted(text, start + 1, *sign, 0, VALUE_BYTES_MAX);
    if !value.is_cut && is_value(text, tells, &value.range) { vec![value.range] } else { Vec::new() }
}
