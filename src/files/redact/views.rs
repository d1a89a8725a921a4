//! Other ways to read a text (K-2): its escapes resolved, without colours, without what tools put before lines. Each view knows where its bytes
//! come from.

use std::ops::Range;

use super::line_prefix::line_prefix;
use super::text_map::{ByteRole, Flattener, MappedText};

/// The longest entity that is resolved.
const ENTITY_BYTES_MAX: usize = 8;

/// The text with its escapes resolved, where it has any: JSON in the middle of prose, strings of code.
pub(super) fn escapes(text: &[u8]) -> Option<MappedText> {
    let is_escape = |at: usize| text.get(at + 1).is_some_and(|byte| b"nrtu\"'\\/".contains(byte));
    memchr::memchr_iter(b'\\', text).any(is_escape).then_some(())?;
    let mut view = MappedText::default();
    Flattener::string().feed(0, text, &mut view);
    Some(view)
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

/// The lines without what tools put before them: numbers, marks, names of files.
pub(super) fn lines(text: &[u8]) -> Option<MappedText> {
    let first: Vec<&[u8]> = text.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).take(8).collect();
    let is_prefixed = |line: &&&[u8]| line_prefix(line) >= if first.len() == 1 { LINE_PREFIX_BYTES_MIN } else { 1 };
    (first.iter().filter(is_prefixed).count() >= first.len().clamp(1, 2)).then_some(())?;
    let (mut view, mut start) = (MappedText::default(), 0);
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let prefix = line_prefix(line);
        view.push_run((start + prefix) as u64, &line[prefix..], ByteRole::String);
        start += line.len();
    }
    Some(view)
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

/// The values that are written with percent signs, or with a plus beside such.
pub(super) fn percent_values(text: &[u8]) -> Vec<Range<usize>> {
    let is_part = |byte: &u8| byte.is_ascii_graphic() && !b"\"'<>`\\".contains(byte);
    let (mut values, mut done) = (Vec::new(), 0);
    for sign in memchr::memchr_iter(b'%', text) {
        if sign < done || percent_byte(text, sign).is_none() {
            continue;
        }
        let start = sign - text[done..sign].iter().rev().take_while(|byte| is_part(byte)).count();
        let end = sign + text[sign..].iter().take_while(|byte| is_part(byte)).count();
        done = end;
        // A value ends where the next begins, whatever its own signs stand for.
        let mut from = start;
        while from < end {
            let to = memchr::memchr(b'&', &text[from + 1..end]).map_or(end, |next| from + 1 + next);
            values.extend(memchr::memchr2(b'%', b'+', &text[from..to]).map(|_| from..to));
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

/// The same with a blank for each plus, as a form has it.
pub(super) fn form(value: &MappedText) -> MappedText {
    let mut form = MappedText::default();
    for (origin, length, bytes) in value.pieces(0..value.text().len()) {
        let blank = length == 1 && bytes == b"+";
        form.push_escape(origin, length, if blank { b" " } else { bytes });
    }
    form
}
