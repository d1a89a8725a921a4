//! The prefixes that tools put before the lines of a text: numbers, marks, names of files, times (K-2).

use std::ops::Range;

/// How long a time before a line may be.
const TIME_BYTES_MAX: usize = 40;

/// The shortest has a day and an hour.
const TIME_BYTES_MIN: usize = 16;

/// How long what a logger put before a line may be.
const LOG_BYTES_MAX: usize = 128;

/// How long what a tool put before a line is.
pub(super) fn line_prefix(line: &[u8]) -> usize {
    // `2026-01-01T00:00:02.000Z `
    let word = line.iter().take(TIME_BYTES_MAX).take_while(|byte| byte.is_ascii_digit() || b"-:.TZ+".contains(byte)).count();
    if word >= TIME_BYTES_MIN && line.get(word) == Some(&b' ') && line[..word].contains(&b'T') {
        return word + 1;
    }
    let blanks = line.iter().take_while(|byte| **byte == b' ').count();
    let digits = line[blanks..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let behind = &line[blanks + digits..];
    let marks: [&[u8]; 7] = ["→".as_bytes(), b"\t", b": ", b":", b" | ", b"- ", b"-"];
    if let Some(mark) = marks.iter().find(|mark| digits > 0 && behind.starts_with(mark)) {
        return blanks + digits + mark.len();
    }
    let marks: [&[u8]; 9] = [b"> ", b"- ", b" | ", b"| ", b"# ", b"// ", b"* ", b"+", b"-"];
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
