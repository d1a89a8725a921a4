//! The placeholder of a secret: of the same length, the same for the same secret, and never recognised as a secret itself (K-2).
//!
//! Secrets are numbered in the order in which they are seen. A placeholder that were a hash of its secret would let anyone who has a guess find out
//! whether it is right.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use reenact_scenario::tape::placeholder::{DIGITS_MAX, SHORT_WORD, WORD, length_at_start};

/// Which secrets were seen. They themselves are not kept.
#[derive(Clone, Debug, Default)]
pub(super) struct SecretNumbers {
    known: BTreeMap<[u8; 32], u32>,
}

impl SecretNumbers {
    /// The number of a secret.
    pub(super) fn number(&mut self, secret: &[u8]) -> u32 {
        let next = u32::try_from(self.known.len() + 1).unwrap_or(u32::MAX);
        *self.known.entry(*blake3::hash(secret).as_bytes()).or_insert(next)
    }

    /// How many secrets were seen.
    pub(super) fn count(&self) -> usize {
        self.known.len()
    }
}

/// The placeholder with this number and length: `REDACTED000001xxxx`, or `RX0001` where that is too long.
pub(super) fn placeholder(number: u32, length: usize) -> Vec<u8> {
    let (word, digits) = match length {
        0..4 => ("", 0),
        4..12 => (SHORT_WORD, (length - SHORT_WORD.len()).min(DIGITS_MAX)),
        _ => (WORD, (length - WORD.len()).min(DIGITS_MAX)),
    };
    let mut out = word.as_bytes().to_vec();
    if digits > 0 {
        let shown = u64::from(number) % 10_u64.pow(digits as u32);
        out.extend_from_slice(format!("{shown:0digits$}").as_bytes());
    }
    out.resize(length, b'x');
    out
}

/// Whether this is a placeholder.
pub(super) fn is_placeholder(text: &[u8]) -> bool {
    if (1..4).contains(&text.len()) {
        return text.iter().all(|byte| *byte == b'x');
    }
    length_at_start(text) == Some(text.len())
}

/// Whether a text ends with a placeholder.
pub(super) fn ends_with_placeholder(text: &[u8]) -> bool {
    let without = |text: &[u8], most: usize, is_part: fn(&u8) -> bool| {
        text.len() - text.iter().rev().take(most).take_while(|byte| is_part(byte)).count()
    };
    let digits = &text[..without(text, text.len(), |byte| *byte == b'x')];
    let word = &digits[..without(digits, DIGITS_MAX, u8::is_ascii_digit)];
    digits.len() - word.len() >= 2 && (word.ends_with(WORD.as_bytes()) || word.ends_with(SHORT_WORD.as_bytes()))
}

/// Where placeholders stand in a text.
pub(super) fn placeholders(text: &[u8]) -> Vec<Range<usize>> {
    let (mut found, mut done) = (Vec::new(), 0);
    for at in memchr::memchr_iter(b'R', text) {
        let is_whole = |end: usize| {
            let follows = |at: usize| text.get(at).is_some_and(u8::is_ascii_alphanumeric);
            text[at..].starts_with(WORD.as_bytes()) || !at.checked_sub(1).is_some_and(follows) && !follows(end)
        };
        if let Some(length) = length_at_start(&text[at..]).filter(|length| at >= done && is_whole(at + length)) {
            found.push(at..at + length);
            done = at + length;
        }
    }
    found
}

/// A value without the placeholders in it: they are no evidence that what is around them is a secret, or a redacted tape would not stay as it is
/// when it is redacted again.
pub(super) fn without_placeholders(value: &[u8]) -> Cow<'_, [u8]> {
    let value = &value[..value.len() - cut_placeholder(value)];
    let (mut out, mut done) = (Vec::new(), 0);
    for place in placeholders(value) {
        out.extend_from_slice(&value[done..place.start]);
        done = place.end;
    }
    if done == 0 {
        return Cow::Borrowed(value);
    }
    out.extend_from_slice(&value[done..]);
    Cow::Owned(out)
}

/// How many bytes at the end may begin a placeholder: only the head of a long value is looked at, and may end within one.
fn cut_placeholder(value: &[u8]) -> usize {
    let last = &value[value.len().saturating_sub(WORD.len() + 1)..];
    let begins =
        |part: &[u8]| WORD.as_bytes().starts_with(part) || part.strip_prefix(WORD.as_bytes()).is_some_and(|digits| digits.len() < 2);
    memchr::memchr_iter(b'R', last).find(|at| begins(&last[*at..])).map_or(0, |at| last.len() - at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_2_a_placeholder_is_as_long_as_its_secret_and_known_as_one() {
        for length in 1..300 {
            for number in [1, 9, 57] {
                let made = placeholder(number, length);
                assert_eq!(made.len(), length);
                assert!(is_placeholder(&made), "{}", String::from_utf8_lossy(&made));
            }
        }
        assert_eq!(placeholder(3, 20), b"REDACTED000003xxxxxx");
        assert_eq!(placeholder(3, 6), b"RX0003");
        assert!(!is_placeholder(b"REDACTED") && !is_placeholder(b"hunter2") && !is_placeholder(b""));
    }

    #[test]
    fn k_2_placeholders_are_taken_out_of_a_value() {
        let rest = |value: &str| String::from_utf8_lossy(&without_placeholders(value.as_bytes())).into_owned();
        assert_eq!(rest("session=RX0002; Path=/"), "session=; Path=/");
        assert_eq!(rest("aREDACTED000001xxxxb7"), "ab7");
        assert_eq!(rest("RX01 and RX02x"), " and ");
        assert_eq!(rest("REDACTED000001xx"), "");
        // Letters and digits around the short word are those of a value.
        assert_eq!(rest("mRX9012k"), "mRX9012k");
        assert_eq!(rest("hunter2"), "hunter2");
        // The end of a head that was cut within one.
        assert_eq!(rest("token=token=REDACT"), "token=token=");
        assert_eq!(rest("token=REDACTED0001"), "token=");
    }

    #[test]
    fn k_2_a_placeholder_at_the_end_of_a_text_is_known() {
        for text in ["a=REDACTED000001xxxx", "RX01", "token=REDACTED000002"] {
            assert!(ends_with_placeholder(text.as_bytes()), "{text}");
        }
        for text in ["a=REDACTED", "xxx", "RX0", "REDACTED000001xx;", ""] {
            assert!(!ends_with_placeholder(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn k_2_the_same_secret_has_the_same_number() {
        let mut numbers = SecretNumbers::default();
        assert_eq!([&b"a"[..], b"b", b"a"].map(|secret| numbers.number(secret)), [1, 2, 1]);
        assert_eq!(numbers.count(), 2);
    }
}
