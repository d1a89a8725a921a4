//! Private keys of several lines (K-2), also where a tool put something before each line.
//!
//! ```text
//!      1→-----BEGIN PRIVATE KEY-----
//!      2→MIIEvQIBADANBgkq…
//!        ----------------  of each line what is the key; the number stays
//!      3→-----END PRIVATE KEY-----
//! ```

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::Regex;

use super::line_prefix::line_prefix;
use super::views::sequence_end;

static BEGIN: LazyLock<Regex> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "the pattern is a constant, and each test compiles it")]
    Regex::new(
        r"(?-u)-----BEGIN[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?-----|---- BEGIN[ A-Z0-9]{0,40}PRIVATE KEY ----|\bPrivate-Lines: [0-9]{1,4}",
    )
    .expect("the pattern of a beginning is one")
});

/// The end of a private key: of OpenSSL, of SSH2, of PuTTY.
static END: LazyLock<Regex> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "the pattern is a constant, and each test compiles it")]
    Regex::new(r"(?-u)-----END|---- END|\bPrivate-MAC").expect("the pattern of an end is one")
});

/// A secret part of a key in JSON (RFC 7518), in an object with `kty`.
static JSON_PART: LazyLock<Regex> = LazyLock::new(|| {
    let part = r#"(?-u)"(?:d|p|q|dp|dq|qi|k)"\s{0,4}:\s{0,4}"([A-Za-z0-9_=-]{16,})"#;
    #[expect(clippy::expect_used, reason = "the pattern is a constant, and each test compiles it")]
    Regex::new(part).expect("the pattern of a part is one")
});

/// How far from its kind the parts of such a key stand.
const JSON_KEY_BYTES_MAX: usize = 8 << 10;

/// The longest key.
pub(super) const KEY_BYTES_MAX: usize = 1 << 20;

/// The fewest characters that make a line of a key whose end is not seen.
const LINE_BYTES_MIN: usize = 16;

/// The length from which a run is no word of a header.
const HEADER_RUN_MIN: usize = 48;

/// The pieces of each key.
pub(super) fn find(text: &[u8]) -> Vec<Vec<Range<usize>>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(begin) = BEGIN.find_at(text, at) {
        let window = begin.end()..text.len().min(begin.end() + KEY_BYTES_MAX);
        let next = BEGIN.find_at(&text[..window.end], window.start).map_or(window.end, |next| next.start());
        let end = END.find(&text[window.start..next]).map(|end| window.start + end.start());
        let spans = pieces(text, window.start, end.unwrap_or(next), end.is_some());
        at = end.or(spans.last().map(|last| last.end)).unwrap_or(window.start);
        found.extend((!spans.is_empty()).then_some(spans));
    }
    found
}

/// The secret parts of keys in JSON: `{"kty": "EC", "d": "…"}`.
pub(super) fn find_in_json(text: &[u8]) -> Vec<Range<usize>> {
    let (mut found, mut done) = (Vec::new(), 0);
    for kind in memchr::memmem::find_iter(text, b"\"kty\"") {
        if kind < done {
            continue;
        }
        let before = &text[kind.saturating_sub(JSON_KEY_BYTES_MAX).max(done)..kind];
        let start = kind - before.iter().rev().take_while(|byte| !b"{}".contains(byte)).count();
        let after = &text[kind..text.len().min(kind + JSON_KEY_BYTES_MAX)];
        done = kind + after.iter().position(|byte| b"{}".contains(byte)).unwrap_or(after.len());
        let parts = JSON_PART.captures_iter(&text[start..done]).filter_map(|captures| captures.get(1));
        found.extend(parts.map(|part| start + part.start()..start + part.end()));
    }
    found
}

/// The stretch of each line between two places that is a part of a key.
fn pieces(text: &[u8], start: usize, end: usize, is_closed: bool) -> Vec<Range<usize>> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
    let mut spans: Vec<Range<usize>> = Vec::new();
    let mut line_start = start;
    for line in text[start..end].split_inclusive(|byte| *byte == b'\n') {
        let place = if line_start == start { longest_run(line) } else { stretch(line) };
        let is_only = line_start == start && !line.ends_with(b"\n");
        let is_head = !is_only && is_header(line) && place.len() < HEADER_RUN_MIN;
        let is_last = line_start + line.len() == end;
        let least = match () {
            // All on one line, with blanks in the places of line ends.
            () if is_only => 1,
            () if is_closed => 2,
            () => LINE_BYTES_MIN,
        };
        let is_prefix = is_closed && is_last && !line.ends_with(b"\n");
        if (is_only || !is_prefix) && !is_head && place.len() >= least {
            if is_only {
                // Every word of it. Where its line ends are escaped, a header is a line of its own.
                let lines = escaped_lines(line);
                let is_key = |part: &&[u8]| lines.len() == 1 || !is_header(part) || longest_run(part).len() >= HEADER_RUN_MIN;
                let words = lines.iter().copied().filter(is_key).flat_map(|part| part.split(|byte| !is_part(byte)));
                let words = words.filter(|word| word.len() >= LINE_BYTES_MIN || is_closed && !word.is_empty());
                let place = |word: &[u8]| word.as_ptr() as usize - line.as_ptr() as usize;
                spans.extend(words.map(|word| line_start + place(word)..line_start + place(word) + word.len()));
            } else {
                // Only the last line is short: what is short before a long one does not belong to the key.
                if place.len() >= LINE_BYTES_MIN && spans.iter().all(|span| span.len() < LINE_BYTES_MIN) {
                    spans.clear();
                }
                spans.push(line_start + place.start..line_start + place.end);
            }
        } else if !is_closed && !is_head && spans.len() > 1 && !line.trim_ascii().is_empty() {
            break;
        }
        line_start += line.len();
    }
    spans
}

/// The part of a key in a line: behind the prefix of a tool, and between the sequences that colour it.
fn stretch(line: &[u8]) -> Range<usize> {
    let mut start = 0;
    while line.get(start) == Some(&0x1b) {
        start = sequence_end(line, start);
    }
    start += line_prefix(&line[start..]);
    let mut longest = start..start;
    while start < line.len() {
        if line[start] == 0x1b {
            start = sequence_end(line, start);
            continue;
        }
        let end = memchr::memchr(0x1b, &line[start..]).map_or(line.len(), |escape| start + escape);
        let run = longest_run(&line[start..end]);
        if run.len() >= longest.len() {
            longest = start + run.start..start + run.end;
        }
        start = end;
    }
    longest
}

/// The longest run of characters of base64; the last of those that are as long.
fn longest_run(line: &[u8]) -> Range<usize> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
    let (mut longest, mut at) = (0..0, 0);
    while at < line.len() {
        let length = line[at..].iter().take_while(|byte| is_part(byte)).count();
        if length >= longest.len() && length > 0 {
            longest = at..at + length;
        }
        at += length.max(1);
    }
    longest
}

/// The lines of a text whose line ends are escaped, however often.
fn escaped_lines(text: &[u8]) -> Vec<&[u8]> {
    let (mut lines, mut start, mut at) = (Vec::new(), 0, 0);
    while let Some(escape) = text.get(at..).and_then(|rest| memchr::memchr(b'\\', rest)).map(|escape| at + escape) {
        at = escape + text[escape..].iter().take_while(|byte| **byte == b'\\').count();
        if matches!(text.get(at), Some(b'n' | b'r')) {
            lines.push(&text[start..escape]);
            at += 1;
            start = at;
        }
    }
    lines.push(&text[start..]);
    lines
}

/// `Proc-Type: 4,ENCRYPTED`, and not the number of a line.
fn is_header(line: &[u8]) -> bool {
    let Some(colon) = memchr::memmem::find(line, b": ") else { return false };
    let name = line[..colon].iter().rev().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'-').collect::<Vec<_>>();
    name.len() >= 4 && name.last().is_some_and(|byte| byte.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<Vec<&str>> {
        find(text.as_bytes()).into_iter().map(|spans| spans.into_iter().map(|span| &text[span]).collect()).collect()
    }

    #[test]
    fn k_2_lines_of_a_key_are_found_behind_what_tools_put_before_them() {
        let (one, two) = ("Zk7Qw9Xb2Lp4Rt6Vn8Mc3Hd5", "Jf1Gs0Zk7Qw9Xb2L==");
        for prefix in ["", "     2→", "12:", "12: ", "> ", "- ", " | ", "src/file:2:", "2\t"] {
            let begin = ["-----BEGIN RSA ", "PRIVATE KEY-----"].concat();
            let text = format!("{prefix}{begin}\n{prefix}{one}\n{prefix}{two}\n{prefix}-----END RSA PRIVATE KEY-----\nand text");
            assert_eq!(shown(&text), [[one, two]], "{prefix}");
        }
    }

    #[test]
    fn k_2_keys_of_other_programs_are_found() {
        let (one, two) = ("Zk7Qw9Xb2Lp4Rt6Vn8Mc3Hd5", "Jf1Gs0Zk7Qw9Xb2L==");
        let begin = ["---- BEGIN SSH2 ENCRYPTED ", "PRIVATE KEY ----"].concat();
        assert_eq!(shown(&format!("{begin}\nComment: \"k\"\n{one}\n{two}\n---- END SSH2 ENCRYPTED\n")), [[one, two]]);
        assert_eq!(shown(&format!("Public-Lines: 1\nAAAAC3\nPrivate-Lines: 2\n{one}\n{two}\nPrivate-MAC: 12\n")), [[one, two]]);
        for text in [
            format!("{{\"kty\":\"RSA\",\"n\":\"{two}\",\"d\": \"{one}\",\"p\":\"{one}\"}}"),
            format!("{{\"d\":\"{one}\",\"k\":\"{one}\",\"kty\":1}}"),
        ] {
            let parts: Vec<&str> = find_in_json(text.as_bytes()).into_iter().map(|part| &text[part]).collect();
            assert_eq!(parts, [one, one]);
        }
        assert!(find_in_json(format!("{{\"kty\":1}} {{\"d\":\"{one}\"}}").as_bytes()).is_empty());
    }

    #[test]
    fn k_2_headers_of_a_key_stay_where_its_line_ends_are_escaped() {
        let (one, two) = ("Zk7Qw9Xb2Lp4Rt6Vn8Mc3Hd5", "Jf1Gs0Zk7Qw9Xb2L==");
        for end in ["\\n", "\\\\n", "\\\\r\\\\n"] {
            let lines = [
                &["-----BEGIN RSA ", "PRIVATE KEY-----"].concat(),
                "Proc-Type: 4,ENCRYPTED",
                "DEK-Info: AES-128-CBC,3F786850E387550FDA",
                "",
            ];
            let text = [&lines[..], &[one, two, "-----END RSA PRIVATE KEY-----"]].concat().join(end);
            assert_eq!(shown(&text), [[one, two]], "{text}");
        }
    }

    #[test]
    fn k_2_a_key_without_an_end_ends_where_its_lines_do() {
        let one = "Zk7Qw9Xb2Lp4Rt6Vn8Mc3Hd5";
        let text = format!("{}\n{one}\n{one}\n\nand then some prose\n{one}", ["-----BEGIN ", "PRIVATE KEY-----"].concat());
        assert_eq!(shown(&text), [[one, one]]);
        assert!(shown(&["-----BEGIN ", "PRIVATE KEY----- is how one begins"].concat()).is_empty());
    }
}
