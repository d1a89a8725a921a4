//! Other ways to read a text (K-2): its escapes resolved, without colours, without what tools put before lines. Each view knows where its bytes
//! come from.

use std::ops::Range;

use super::line_prefix::line_prefix;
use super::names::telling;
use super::text_map::{ByteRole, Flattener, MappedText};

/// The longest entity that is resolved.
const ENTITY_BYTES_MAX: usize = 8;

/// The text with its escapes resolved, where it has any: JSON in the middle of prose, strings of code. A line that is one string of code loses its quotes.
pub(super) fn escapes(text: &[u8]) -> Option<MappedText> {
    let is_escape = |at: usize| text.get(at + 1).is_some_and(|byte| b"nrtu\"'\\/".contains(byte));
    let has_string = || text.split(|byte| *byte == b'\n').any(|line| string_of_code(line).is_some());
    (memchr::memchr_iter(b'\\', text).any(is_escape) || has_string()).then_some(())?;
    let (mut view, mut string, mut start) = (MappedText::default(), Flattener::string(), 0);
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let end = start + line.len();
        let inner = string_of_code(line).map_or(start..start, |inner| start + inner.start..start + inner.end);
        if inner.is_empty() {
            string.feed(start as u64, line, &mut view);
        } else {
            string.feed(inner.start as u64, &text[inner.clone()], &mut view);
            string.feed(inner.end as u64 + 1, &text[inner.end + 1..end], &mut view);
        }
        start = end;
    }
    Some(view)
}

/// The text between the quotes of a line that is one string of words, as Python prints it: `b'first\nsecond'`.
fn string_of_code(line: &[u8]) -> Option<Range<usize>> {
    let start = usize::from(line.first() == Some(&b'b'));
    let sign = *line.get(start).filter(|byte| b"'\"".contains(byte))?;
    let end = line.trim_ascii_end().len().checked_sub(1).filter(|end| *end > start && line[*end] == sign)?;
    let inner = &line[start + 1..end];
    let is_inside = |at: usize| at > 0 && inner[at - 1] == b'\\';
    let is_one = memchr::memchr2(b' ', b'=', inner).is_some() || memchr::memmem::find(inner, b"\\n").is_some();
    let is_one = is_one && memchr::memchr_iter(sign, inner).all(is_inside);
    is_one.then_some(start + 1..end)
}

/// The text without the sequences that colour it on a terminal. In the place of one that moves the cursor stands a blank.
pub(super) fn colours(text: &[u8]) -> Option<MappedText> {
    memchr::memchr(0x1b, text)?;
    let (mut view, mut at) = (MappedText::default(), 0);
    while let Some(escape) = memchr::memchr(0x1b, &text[at..]).map(|escape| at + escape) {
        view.push_run(at as u64, &text[at..escape], ByteRole::String);
        at = sequence_end(text, escape);
        if !matches!(text[at - 1], b'm' | b'K') {
            view.push_run(escape as u64, b" ", ByteRole::Structure);
        }
    }
    view.push_run(at as u64, &text[at..], ByteRole::String);
    Some(view)
}

/// Where a sequence ends that begins with this escape.
pub(super) fn sequence_end(text: &[u8], escape: usize) -> usize {
    let parameters = text[escape + 1..].iter().take_while(|byte| b"[0123456789;:?".contains(byte)).count();
    (escape + 1 + parameters + usize::from(parameters > 0)).min(text.len())
}

/// How long the prefix of a line is that stands alone: a mark there may be anything.
const LINE_PREFIX_BYTES_MIN: usize = 4;

/// How many lines at the beginning of a text show whether all of it has prefixes.
const FIRST_LINES: usize = 8;

/// How long a line is at most in which there is nothing but a mark.
const MARK_BYTES_MAX: usize = 2;

/// The lines without what tools put before them: numbers, marks, names of files. Where the first lines have none, these are those that stand
/// together and have, each stretch of them by itself.
pub(super) fn lines(text: &[u8]) -> Vec<MappedText> {
    let first: Vec<&[u8]> = text.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).take(FIRST_LINES).collect();
    let is_prefixed = |line: &&&[u8]| line_prefix(line) >= if first.len() == 1 { LINE_PREFIX_BYTES_MIN } else { 1 };
    if first.iter().filter(is_prefixed).count() < first.len().clamp(1, 2) {
        return prefixed_stretches(text);
    }
    let (mut view, mut start) = (MappedText::default(), 0);
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        push_line(&mut view, start, line);
        start += line.len();
    }
    vec![view]
}

/// The stretches of two and more lines with a prefix.
fn prefixed_stretches(text: &[u8]) -> Vec<MappedText> {
    let (mut found, mut stretch, mut count, mut start) = (Vec::new(), MappedText::default(), 0, 0);
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let has_prefix = line_prefix(line) > 0;
        if has_prefix || count > 0 && line.trim_ascii().len() <= MARK_BYTES_MAX {
            push_line(&mut stretch, start, line);
            count += usize::from(has_prefix);
        } else {
            let stretch = std::mem::take(&mut stretch);
            found.extend((std::mem::take(&mut count) > 1).then_some(stretch));
        }
        start += line.len();
    }
    found.extend((count > 1).then_some(stretch));
    found
}

fn push_line(view: &mut MappedText, start: usize, line: &[u8]) {
    let prefix = line_prefix(line);
    view.push_run((start + prefix) as u64, &line[prefix..], ByteRole::String);
}

/// The text with the entities of HTML and XML resolved, where it has any.
pub(super) fn entities(text: &[u8]) -> Option<MappedText> {
    let (mut view, mut done) = (MappedText::default(), 0);
    for sign in memchr::memchr_iter(b'&', text) {
        let Some((byte, length)) = entity(text, sign) else { continue };
        view.push_run(done as u64, &text[done..sign], ByteRole::String);
        view.push_escape(sign as u64, length as u64, &[byte]);
        done = sign + length;
    }
    (done > 0).then_some(())?;
    view.push_run(done as u64, &text[done..], ByteRole::String);
    Some(view)
}

/// The character of the entity that begins here, and how long the entity is.
fn entity(text: &[u8], at: usize) -> Option<(u8, usize)> {
    let rest = &text[at..text.len().min(at + ENTITY_BYTES_MAX)];
    let name = rest.strip_prefix(b"&")?.split(|byte| *byte == b';').next()?;
    (name.len() + 1 < rest.len()).then_some(())?;
    let byte = match name {
        b"quot" => b'"',
        b"apos" => b'\'',
        b"lt" => b'<',
        b"gt" => b'>',
        b"amp" => b'&',
        [b'#', b'x' | b'X', digits @ ..] => u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?,
        [b'#', digits @ ..] => std::str::from_utf8(digits).ok()?.parse().ok()?,
        _ => return None,
    };
    byte.is_ascii().then_some((byte, name.len() + 2))
}

/// A hit without the entities around it that stand for quotes and brackets: those of the text are no part of the secret.
pub(super) fn between_entities(text: &[u8], hit: Range<usize>) -> Range<usize> {
    let closes = |at: usize| entity(text, at).filter(|(byte, _)| b"\"'<>".contains(byte)).map(|(_, length)| at + length);
    let mut start = hit.start;
    let around = (start.saturating_sub(ENTITY_BYTES_MAX)..=start).filter(|at| text.get(*at) == Some(&b'&'));
    start = around.filter_map(closes).max().map_or(start, |end| end.max(start)).min(hit.end);
    let mut signs = memchr::memchr_iter(b'&', &text[start..hit.end]).map(|at| start + at);
    let end = signs.find(|at| closes(*at).is_some()).unwrap_or(hit.end);
    start..end
}

/// The byte that a percent sign and two digits stand for.
pub(super) fn percent_byte(text: &[u8], at: usize) -> Option<u8> {
    let digits = text.get(at..at + 3)?;
    let digit = |byte: u8| char::from(byte).to_digit(16);
    (digits[0] == b'%').then_some(())?;
    u8::try_from(digit(digits[1])? * 16 + digit(digits[2])?).ok()
}

/// Whether anything is written with percent signs.
pub(super) fn has_percent(text: &[u8]) -> bool {
    memchr::memchr_iter(b'%', text).any(|sign| percent_byte(text, sign).is_some())
}

/// The values that are written with percent signs, or as a form writes blanks: `q=two+words`.
pub(super) fn percent_values(text: &[u8]) -> Vec<Range<usize>> {
    let is_part = |byte: &u8| byte.is_ascii_graphic() && !b"\"'<>`\\".contains(byte);
    let (mut values, mut end) = (Vec::new(), 0);
    while let Some(sign) = text.get(end..).and_then(|rest| memchr::memchr2(b'%', b'+', rest)).map(|sign| end + sign) {
        let start = sign - text[end..sign].iter().rev().take_while(|byte| is_part(byte)).count();
        end = sign + text[sign..].iter().take_while(|byte| is_part(byte)).count();
        let has_percent = has_percent(&text[sign..end]);
        // A value ends where the next begins, whatever its own signs stand for.
        let mut from = start;
        while from < end {
            let to = memchr::memchr(b'&', &text[from + 1..end]).map_or(end, |next| from + 1 + next);
            let pair = &text[from..to];
            let is_form = |sign: usize| pair[sign..].contains(&b'+');
            let is_packed = has_percent && memchr::memchr2(b'%', b'+', pair).is_some() || memchr::memchr(b'=', pair).is_some_and(is_form);
            values.extend(is_packed.then_some(from..to));
            from = to;
        }
    }
    values
}

/// One value without its percent signs.
pub(super) fn percent(text: &[u8], value: Range<usize>) -> MappedText {
    let (mut view, mut at) = (MappedText::default(), value.start);
    while at < value.end {
        match percent_byte(&text[..value.end], at) {
            Some(byte) => {
                view.push_escape(at as u64, 3, &[byte]);
                at += 3;
            }
            None => {
                view.push_escape(at as u64, 1, &text[at..=at]);
                at += 1;
            }
        }
    }
    view
}

/// The value of a pair of a form, where it is a text with lines or words of its own: `body=…`.
pub(super) fn value_of_form(pair: &MappedText) -> Option<MappedText> {
    let text = pair.text();
    let mut pieces = pair.pieces(0..text.len());
    // A sign that is written with a percent sign parts nothing.
    let before = pieces.by_ref().take_while(|(_, length, bytes)| *length != 1 || *bytes != b"=").map(|(_, _, bytes)| bytes.len());
    let sign = before.sum::<usize>();
    (sign < text.len() && telling(&text[..sign]).is_none()).then_some(())?;
    let value = sign + 1..text.len();
    text[value.clone()].iter().any(u8::is_ascii_whitespace).then_some(())?;
    let mut view = MappedText::default();
    pair.pieces(value).for_each(|(origin, length, bytes)| view.push_escape(origin, length, bytes));
    Some(view)
}

/// The same with a blank for each plus, as a form has it.
pub(super) fn form(value: &MappedText) -> MappedText {
    let mut form = MappedText::default();
    for (origin, length, bytes) in value.pieces(0..value.text().len()) {
        let blank = length == 1 && bytes == b"+";
        form.push_escape(origin, length, if blank { b" " } else { bytes });
    }
    form
}
