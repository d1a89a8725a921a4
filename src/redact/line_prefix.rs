//! The prefixes that tools put before the lines of a text: numbers, marks, names of files, times (K-2).

use std::ops::Range;

use super::names::telling;

/// How long a time before a line may be.
const TIME_BYTES_MAX: usize = 40;

/// The shortest has a day and an hour.
const TIME_BYTES_MIN: usize = 16;

/// How long a day is: `2026-01-01`.
const DAY_BYTES: usize = 10;

/// How long what a logger put before a line may be.
const LOG_BYTES_MAX: usize = 128;

/// How long what a tool put before a line is.
pub(super) fn line_prefix(line: &[u8]) -> usize {
    let time = time_prefix(line);
    let level = time + level_prefix(&line[time..]);
    if level > 0 {
        return level;
    }
    let blanks = line.iter().take_while(|byte| **byte == b' ').count();
    let digits = line[blanks..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let behind = &line[blanks + digits..];
    let marks: [&[u8]; 7] = ["→".as_bytes(), b"\t", b": ", b":", b" | ", b"- ", b"-"];
    if let Some(mark) = marks.iter().find(|mark| digits > 0 && behind.starts_with(mark)) {
        return blanks + digits + mark.len();
    }
    // The dashes around the title of a key are a part of it.
    let dashes = line[blanks..].iter().take_while(|byte| **byte == b'-').count();
    let marks: [&[u8]; 9] = [b"> ", b"- ", b" | ", b"| ", b"# ", b"// ", b"* ", b"+", if dashes == 5 { b"+" } else { b"-" }];
    if let Some(mark) = marks.iter().find(|mark| line[blanks..].starts_with(mark)) {
        return blanks + mark.len();
    }
    if let Some(length) = log_prefix(line) {
        return length;
    }
    // `file:2:`, and `file-2-` of the lines around it
    let name = line.iter().take(256).take_while(|byte| byte.is_ascii_alphanumeric() || b"_./-".contains(byte)).count();
    let number = line[name..].iter().skip(1).take_while(|byte| byte.is_ascii_digit()).count();
    let is_place = name > 0 && number > 0 && line.get(name) == Some(&b':') && line.get(name + 1 + number) == Some(&b':');
    if is_place {
        return name + number + 2;
    }
    let number_from = |at: usize| line[at + 1..name].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut signs = memchr::memchr_iter(b'-', &line[..name]).filter(|at| *at > 0);
    let place = signs.find(|at| number_from(*at) > 0 && line.get(at + 1 + number_from(*at)) == Some(&b'-'));
    place.map_or(0, |at| at + number_from(at) + 2)
}

/// How long the time before a line is: `2026-01-01T00:00:02.000Z `, `[2026-01-01 00:00:02] `.
fn time_prefix(line: &[u8]) -> usize {
    let open = usize::from(line.first() == Some(&b'['));
    // One blank parts the day from the hour.
    let is_part = |(at, byte): &(usize, &u8)| byte.is_ascii_digit() || b"-/:.,TZ+".contains(byte) || *at == DAY_BYTES && **byte == b' ';
    let word = line[open..].iter().enumerate().take(TIME_BYTES_MAX).take_while(is_part).count();
    let time = &line[open..open + word];
    let is_sign = |at: usize, signs: &[u8]| time.get(at).is_some_and(|byte| signs.contains(byte));
    let is_date = is_sign(4, b"-/") && is_sign(7, b"-/") && is_sign(DAY_BYTES, b"T ") && is_sign(13, b":");
    let end = open + time.len();
    let close = usize::from(open > 0 && line.get(end) == Some(&b']'));
    let is_whole = time.len() >= TIME_BYTES_MIN && is_date && close == open && line.get(end + close) == Some(&b' ');
    if is_whole { end + close + 1 } else { 0 }
}

/// How long the level before a line is, and what names the logger: `INFO app: `, `[ERROR] `. A name that tells of a secret is none.
fn level_prefix(line: &[u8]) -> usize {
    const LEVELS: [&[u8]; 10] = [b"TRACE", b"DEBUG", b"INFO", b"NOTICE", b"WARN", b"WARNING", b"ERROR", b"FATAL", b"CRITICAL", b"SEVERE"];
    let word = |at: usize| {
        let part = &line[at..line.len().min(at + LOG_BYTES_MAX)];
        memchr::memchr(b' ', part).map_or(&[][..], |end| &part[..end])
    };
    let first = word(0);
    let level: &[u8] = first.strip_prefix(b"[").and_then(|level| level.strip_suffix(b"]")).unwrap_or(first);
    if !LEVELS.contains(&level.strip_suffix(b":").unwrap_or(level)) {
        return 0;
    }
    let at = first.len() + 1;
    let logger = word(at);
    let is_logger =
        logger.strip_suffix(b":").is_some_and(|name| telling(name).is_none()) || logger.starts_with(b"[") && logger.ends_with(b"]");
    if is_logger { at + logger.len() + 1 } else { at }
}

/// How long what a logger put before a line is: `web_1  | ` of containers, `I0101 10:00:00.000000       1 main.go:42] `, `Jan  1 10:00:00 host app[12]: `.
fn log_prefix(line: &[u8]) -> Option<usize> {
    let head = &line[..line.len().min(LOG_BYTES_MAX)];
    let word = head.iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(byte)).count();
    let blanks = head[word..].iter().take_while(|byte| **byte == b' ').count();
    let behind = |at: usize| at + usize::from(line.get(at) == Some(&b' '));
    if word > 0 && blanks > 0 && head.get(word + blanks) == Some(&b'|') {
        return Some(behind(word + blanks + 1));
    }
    let is_digits = |range: Range<usize>| head.get(range).is_some_and(|digits| digits.iter().all(u8::is_ascii_digit));
    if matches!(head.first(), Some(b'I' | b'W' | b'E' | b'F')) && is_digits(1..5) && head.get(5) == Some(&b' ') {
        return memchr::memmem::find(head, b"] ").map(|end| end + 2).or_else(|| head.ends_with(b"]").then_some(head.len()));
    }
    // A month, a day and a time, then a host and a program.
    let is_month = head.len() > 16 && head[..3].iter().all(u8::is_ascii_alphabetic) && head[3] == b' ';
    (is_month && is_digits(7..9) && head[9] == b':' && is_digits(10..12) && head[12] == b':').then_some(())?;
    let end = memchr::memmem::find(&head[16..], b":").map(|end| 16 + end + 1)?;
    head[16..end].iter().filter(|byte| **byte == b' ').count().eq(&1).then(|| behind(end))
}
