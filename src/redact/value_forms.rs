//! Values that stand further from their names (K-2): in the lines below, in a list, in the next cell of a table, as the second argument of a call, in a
//! wrapper, behind a label.
//!
//! ```text
//! api_keys:          password: |      api_keys = ["…", "…"]      | API_KEY | `…` |      environ.get("API_KEY", "…")
//!   - …                …              token: Some("…")           **Password:** …        passphrase: some words of it
//! ```

use std::ops::Range;

use super::assigned_value::quoted;
use super::letter_pairs::is_unlikely;
use super::name_bytes::{is_name_byte, skip};
use super::names::{TellingName, ValuePlace, is_drawn, is_mixed, is_noise, is_secret_value, is_words, plain_name};

/// How long a value is that is known by its form.
const VALUE_BYTES_MAX: usize = 4 << 10;

/// How much of a line before a name is looked at.
const LINE_BYTES_MAX: usize = 96;

/// How many blanks stand between a name, its sign and its value.
const BLANKS_MAX: usize = 64;

/// The values of a name in any of these forms.
pub(super) fn find(text: &[u8], name: &Range<usize>, tells: TellingName) -> Vec<Range<usize>> {
    let forms = [below, list, cell, argument, wrapped, label];
    forms.iter().map(|form| form(text, name, tells)).find(|values| !values.is_empty()).unwrap_or_default()
}

/// Whether a value is one that only its name tells of. Where the name says little, it shows by itself.
fn is_value(text: &[u8], tells: TellingName, value: &Range<usize>) -> bool {
    let shows = || is_drawn(&text[value.clone()]) || is_noise(&text[value.clone()]) || is_unlikely(&text[value.clone()]);
    is_no_word(text, tells, value) && (tells >= TellingName::Strong || shows())
}

/// Whether a value is no word, but for the words of a password with a number.
fn is_no_word(text: &[u8], tells: TellingName, value: &Range<usize>) -> bool {
    let value = &text[value.clone()];
    let is_numbered = value.iter().any(u8::is_ascii_digit) && !value.contains(&b'.');
    let is_word = is_words(value) && !(tells == TellingName::Password && is_numbered);
    is_secret_value(tells, value, ValuePlace::Quoted) && !is_word && value.len() >= 6
}

/// The lines below a name and a colon: a list, a block, or the value itself.
fn below(text: &[u8], name: &Range<usize>, tells: TellingName) -> Vec<Range<usize>> {
    let colon = skip(text, name.end, 1, b"\"'");
    let line = line_before(text, name.start);
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
        let next = below.end + 1 + usize::from(text.get(below.end) == Some(&b'\r'));
        let is_only = values.is_empty() && line_below(text, next, line.len()).is_none();
        let is_one = if has_blanks { is_only && is_block } else { item > 0 || is_block || is_only };
        if !is_one || !is_value(text, tells, &value) || text[value.clone()].ends_with(b":") {
            break;
        }
        values.push(value);
        at = next;
    }
    values
}

/// The line before a place. It begins with the string that it stands in: `"text": "api_keys:`.
fn line_before(text: &[u8], at: usize) -> &[u8] {
    let before = &text[at.saturating_sub(LINE_BYTES_MAX)..at];
    let line = before.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let opens = |sign: &[u8]| memchr::memmem::rfind(line, sign).map(|start| start + sign.len());
    let start = [&b": \""[..], b":\"", b"(\""].into_iter().filter_map(opens).max().unwrap_or_default();
    &line[start..]
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
    let length = cell_length(text, start);
    let is_closed = text.get(skip(text, start + length, BLANKS_MAX, b" \t`*")) == Some(&b'|');
    let value = start..start + length;
    if is_closed && is_mixed(&text[value.clone()]) && is_value(text, tells, &value) { vec![value] } else { Vec::new() }
}

/// How long the value of a cell is: up to its closing tick where one opens it. A bar may be a part of what has other signs in it, too.
fn cell_length(text: &[u8], start: usize) -> usize {
    let is_ticked = text[start - 1] == b'`';
    let is_part = |byte: &u8| byte.is_ascii_graphic() || is_ticked && *byte == b' ';
    let rest = &text[start..text.len().min(start + VALUE_BYTES_MAX)];
    let tick = rest.iter().position(|byte| *byte == b'`' || !is_part(byte)).filter(|end| is_ticked && rest[*end] == b'`');
    if let Some(tick) = tick {
        return tick;
    }
    let has_signs = |part: &[u8]| part.iter().any(|byte| byte.is_ascii_punctuation() && !b"-_.:/`*".contains(byte));
    // Parts are cut one by one: a table may have a name in each of its cells.
    let part_at = |at: usize| rest[at..].iter().take_while(|byte| is_part(byte) && !b"|`".contains(byte)).count();
    let mut length = part_at(0);
    while rest.get(length).is_some_and(|byte| b"|`".contains(byte)) {
        let next = length + 1 + part_at(length + 1);
        let part = &rest[length + 1..next];
        if !(has_signs(part) && is_mixed(part)) {
            break;
        }
        length = next;
    }
    length
}

/// The second argument of a call that asks for a setting, or makes one: `environ.get("API_KEY", "…")`.
fn argument(text: &[u8], name: &Range<usize>, tells: TellingName) -> Vec<Range<usize>> {
    const CALLS: [&[u8]; 9] = [b"get", b"getenv", b"env", b"setenv", b"set", b"setitem", b"setdefault", b"putenv", b"define"];
    let before = &text[name.start.saturating_sub(LINE_BYTES_MAX)..name.start];
    let Some((quote, before)) = before.split_last() else { return Vec::new() };
    let before = before.trim_ascii_end();
    let Some(open) = before.len().checked_sub(1) else { return Vec::new() };
    let call = before[..open].rsplit(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_').next().unwrap_or_default().to_ascii_lowercase();
    let comma = skip(text, name.end + 1, 4, b" ");
    let is_call = b"\"'".contains(quote) && before[open] == b'(' && CALLS.contains(&call.as_slice());
    if !is_call || text.get(name.end) != Some(quote) || text.get(comma) != Some(&b',') {
        return Vec::new();
    }
    let start = skip(text, comma + 1, BLANKS_MAX, b" ");
    let Some(sign) = text.get(start).filter(|byte| b"\"'".contains(byte)) else { return Vec::new() };
    let value = quoted(text, start + 1, *sign, 0, VALUE_BYTES_MAX);
    if !value.is_cut && is_value(text, tells, &value.range) { vec![value.range] } else { Vec::new() }
}

/// Calls around a value that change what it is, and not what it says.
const WRAPPERS: [&[u8]; 26] = [
    b"Some",
    b"Ok",
    b"Just",
    b"String",
    b"String::from",
    b"Secret",
    b"Secret::new",
    b"Secret::from",
    b"SecretStr",
    b"SecretString",
    b"SecretString::new",
    b"SecretString::from",
    b"SecretBox::new",
    b"Password",
    b"aws.String",
    b"pulumi.String",
    b"pulumi.secret",
    b"ptr.To",
    b"to.Ptr",
    b"strPtr",
    b"Buffer.from",
    b"Optional.of",
    b"Cow::Borrowed",
    b"bytes",
    b"byte",
    b"str",
];

/// How many wrappers may be around one value.
const WRAPPERS_MAX: usize = 3;

/// The text in a wrapper: `token: Some("…")`, `Password: aws.String("…")`.
fn wrapped(text: &[u8], name: &Range<usize>, tells: TellingName) -> Vec<Range<usize>> {
    let sign = skip(text, skip(text, name.end, 8, b"\\\"'"), 4, b" \t");
    if !matches!(text.get(sign), Some(b'=' | b':')) {
        return Vec::new();
    }
    let first = skip(text, sign + 1, 4, b"= \t");
    let mut start = first;
    for _ in 0..WRAPPERS_MAX {
        let from = skip(text, start, 3, b"&[]");
        let rest = text.get(from..).unwrap_or_default();
        let word = rest.iter().take(LINE_BYTES_MAX).take_while(|byte| is_name_byte(**byte) || **byte == b':').count();
        let is_wrapper = WRAPPERS.contains(&&rest[..word]) && rest.get(word) == Some(&b'(');
        start = if is_wrapper { skip(text, from + word + 1, 4, b" ") } else { break };
    }
    let quote = skip(text, start, 8, b"\\");
    let Some(sign) = text.get(quote).filter(|byte| b"\"'".contains(byte) && start > first) else { return Vec::new() };
    let value = quoted(text, quote + 1, *sign, quote - start, VALUE_BYTES_MAX);
    if !value.is_cut && is_no_word(text, tells, &value.range) { vec![value.range] } else { Vec::new() }
}

/// How long a value behind a label may be.
const LABELLED_BYTES_MAX: usize = 256;

/// The rest of a line behind a label of Markdown: `**Password:** …`, `*API key*: `…``.
fn label(text: &[u8], name: &Range<usize>, tells: TellingName) -> Vec<Range<usize>> {
    let marks = b"*_";
    let before = name.start.checked_sub(1).map(|at| text[at]);
    let sign = skip(text, name.end, 3, marks);
    let behind = skip(text, sign + 1, 3, marks);
    let start = skip(text, behind, 4, b" ");
    let is_marked = sign > name.end || behind > sign + 1;
    if text.get(sign) != Some(&b':') || !is_marked || start == behind || before.is_some_and(|byte| !b"*_ ".contains(&byte)) {
        return Vec::new();
    }
    let rest = &text[start..text.len().min(start + LABELLED_BYTES_MAX)];
    let line = memchr::memchr(b'\n', rest).map_or(rest, |end| &rest[..end]).trim_ascii_end();
    let ticks = usize::from(line.len() > 2 && line.starts_with(b"`") && line.ends_with(b"`"));
    let value = start + ticks..start + line.len() - ticks;
    let is_whole =
        line.len() < LABELLED_BYTES_MAX && !text[value.clone()].iter().any(|byte| byte.is_ascii_whitespace() || b"`<>\\\"".contains(byte));
    let is_password =
        tells == TellingName::Password && value.len() >= 6 && is_secret_value(tells, &text[value.clone()], ValuePlace::Quoted);
    if is_whole && (is_password || is_value(text, tells, &value)) { vec![value] } else { Vec::new() }
}

/// The fewest and the most words of a phrase.
const PHRASE_WORDS: std::ops::RangeInclusive<usize> = 3..=24;

/// Words of sentences about a password, which a password seldom has.
const SENTENCE: [&[u8]; 44] = [
    b"a",
    b"an",
    b"and",
    b"are",
    b"be",
    b"can",
    b"cannot",
    b"change",
    b"characters",
    b"contain",
    b"enter",
    b"field",
    b"for",
    b"forgot",
    b"from",
    b"has",
    b"have",
    b"if",
    b"in",
    b"input",
    b"is",
    b"least",
    b"must",
    b"new",
    b"no",
    b"not",
    b"of",
    b"on",
    b"optional",
    b"or",
    b"required",
    b"reset",
    b"see",
    b"should",
    b"string",
    b"the",
    b"this",
    b"to",
    b"used",
    b"user",
    b"was",
    b"will",
    b"with",
    b"your",
];

/// The rest of a line behind the name of a phrase, or of a password that is set: `passphrase: some words of it`.
pub(super) fn phrase(text: &[u8], name: &Range<usize>, tells: TellingName) -> Vec<Range<usize>> {
    let sign = skip(text, name.end, 4, b" \t");
    let start = skip(text, sign + 1, 4, b" \t");
    let plain = plain_name(&text[name.clone()]);
    let of_phrase = plain.ends_with(b"phrase") || plain.ends_with(b"mnemonic");
    let is_first = line_before(text, name.start).iter().all(|byte| b" \t+-".contains(byte));
    if !matches!(text.get(sign), Some(b'=' | b':')) || !(of_phrase || is_first && tells == TellingName::Password) {
        return Vec::new();
    }
    let rest = &text[start..text.len().min(start + LABELLED_BYTES_MAX)];
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b" -".contains(byte);
    let line = rest[..rest.iter().take_while(|byte| is_part(byte)).count()].trim_ascii_end();
    let is_whole = text.get(start + line.len()).is_none_or(|byte| b"\r\n".contains(byte));
    let words: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    let is_word =
        |word: &&[u8]| !word.is_empty() && word.iter().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-');
    let is_sentence = words.iter().any(|word| SENTENCE.contains(&word.to_ascii_lowercase().as_slice()));
    let is_phrase = is_whole && PHRASE_WORDS.contains(&words.len()) && !is_sentence && line.len() >= 12;
    let value = start..start + line.len();
    if is_phrase && (of_phrase || words.iter().all(is_word)) { vec![value] } else { Vec::new() }
}
