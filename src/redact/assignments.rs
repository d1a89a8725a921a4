//! Values that are secrets because of the name before them, in text of any kind (K-2).
//!
//! ```text
//! export X_TOKEN=…      token: …      "auth": "…"      --password …      <password>…</password>      headers["x-api-key"] = '…'
//! ```
//!
//! A pattern finds the word that tells; from there a name and a value are read by hand, so that no byte is read more often than a few times.

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::Regex;

use super::assigned_value::{BARE_HEAD_BYTES, ValueHead, run, value_after};
use super::letter_pairs::is_unlikely;
use super::name_bytes::{NAME_BYTES_MAX, is_name_byte, skip};
use super::names::{TellingName, is_drawn, is_hex, is_mixed, telling};
use super::placeholder::without_placeholders;
use super::value_forms;

/// A word that every telling name contains.
static WORDS: LazyLock<Regex> = LazyLock::new(|| {
    let words = r"(?i-u)key|token|secret|passw|passphrase|passcode|pass(?:\b|_)|psk|pwd|auth|stringdata|cred|session|cookie|jwt|bearer|otp|assertion|sas\b|dsn|webhook|connection_?string|recovery|backup|mnemonic|(?:\b|_)(?:sid|sig|pat|pw|pin|seed|salt)(?:\b|_)";
    #[expect(clippy::expect_used, reason = "the pattern is a constant, and each test compiles it")]
    Regex::new(words).expect("the pattern of words is one")
});

/// How far behind a word that tells a secret without a sign between may stand.
const NEAR_BYTES: usize = 40;

/// How long a drawn word is that prose says to be a secret.
const WORD_BYTES_MIN: usize = 12;

/// A value and the name that told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedValue {
    pub(super) name: Range<usize>,
    pub(super) value: Range<usize>,
}

/// Every such value of a text, in order. `looked` counts the bytes of values that were looked at.
pub(super) fn find(text: &[u8], looked: &mut u64) -> Vec<NamedValue> {
    let (mut found, mut at) = (Vec::new(), 0);
    let mut fruitless = FruitlessStretch { end: 0, tells: TellingName::Weak, names: 0 };
    while let Some(word) = WORDS.find_at(text, at) {
        let name = name_around(text, word.range());
        at = name.end.max(word.end());
        if name.len() > NAME_BYTES_MAX {
            continue;
        }
        // Of a cookie that is set only the value is a secret: it has a rule.
        let is_cookie = text[name.clone()].to_ascii_lowercase().ends_with(b"set-cookie");
        let Some(tells) = telling(&text[name.clone()]).filter(|_| !is_cookie) else { continue };
        let tells = if is_key_of_prose(text, &name) { TellingName::Strong } else { tells };
        if fruitless.holds(&name, tells) {
            continue;
        }
        let mut values = value_forms::phrase(text, &name, tells);
        if values.is_empty() {
            values.extend(value_after(text, &name, tells, looked));
        }
        if values.is_empty() {
            values = value_forms::find(text, &name, tells);
            *looked += values.iter().map(|value| value.len() as u64).sum::<u64>();
        }
        if values.is_empty() {
            values.extend(drawn_near(text, &name, tells, looked));
        }
        if values.is_empty() && is_unbroken(text, name.end) {
            let goes_on = name.start <= fruitless.end + FRUITLESS_BYTES;
            let names = if goes_on { fruitless.names + 1 } else { 1 };
            fruitless = FruitlessStretch { end: name.end + FRUITLESS_BYTES, tells, names };
        }
        at = values.last().map_or(at, |value| value.end);
        found.extend(values.into_iter().map(|value| NamedValue { name: name.clone(), value }));
    }
    found
}

/// How far behind a name without a value another is no news, in a text without an end of a word that has had [`FRUITLESS_NAMES`] of them. Such a text may
/// have a name in every few bytes, and all of them have nearly the same value: it is not looked at for each (K-12).
const FRUITLESS_BYTES: usize = 64;

/// So many names in a row without a value no text of anybody has.
const FRUITLESS_NAMES: usize = 16;

/// A stretch in which a name tells nothing: its value was looked at already, for a name that tells as much.
struct FruitlessStretch {
    end: usize,
    tells: TellingName,
    /// How many names were looked at in vain, one near the other.
    names: usize,
}

impl FruitlessStretch {
    fn holds(&self, name: &Range<usize>, tells: TellingName) -> bool {
        self.names >= FRUITLESS_NAMES && name.start < self.end && tells <= self.tells
    }
}

/// Whether a text goes on from here without a blank, a quote or a sign that ends a value, for as long as heads of values are.
fn is_unbroken(text: &[u8], from: usize) -> bool {
    let is_inner = |byte: &u8| byte.is_ascii_graphic() && !b"\"'`<>&,;\\".contains(byte);
    text.get(from..from + BARE_HEAD_BYTES).is_some_and(|head| head.iter().all(is_inner))
}

/// Whether a word is there that some telling name contains.
pub(super) fn has_telling_word(text: &[u8]) -> bool {
    WORDS.is_match(text)
}

/// The whole name of which a word is a part. It is too long to be one where it is longer than names are.
fn name_around(text: &[u8], word: Range<usize>) -> Range<usize> {
    let before = text[..word.start].iter().rev().take(NAME_BYTES_MAX).take_while(|byte| is_name_byte(**byte)).count();
    let after = text[word.end..].iter().take(NAME_BYTES_MAX).take_while(|byte| is_name_byte(**byte)).count();
    word.start - before..word.end + after
}

/// Whether a name is two words of a sentence: `your API key is …`.
fn is_key_of_prose(text: &[u8], name: &Range<usize>) -> bool {
    const BEFORE: [&[u8]; 9] =
        [b"api ", b"access ", b"auth ", b"bearer ", b"refresh ", b"secret ", b"private ", b"license ", b"encryption "];
    let before = text[name.start.saturating_sub(12)..name.start].to_ascii_lowercase();
    let is_word = [&b"key"[..], b"token"].iter().any(|word| text[name.clone()].eq_ignore_ascii_case(word));
    is_word && BEFORE.iter().any(|word| before.ends_with(word))
}

/// A value that looks drawn, a little behind a telling word, on the same line: `the token is …`.
fn drawn_near(text: &[u8], name: &Range<usize>, tells: TellingName, looked: &mut u64) -> Option<Range<usize>> {
    if tells == TellingName::Weak {
        return None;
    }
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"+/_-~.".contains(&byte);
    // The name is a piece of base64.
    let before = name.start.checked_sub(1).map(|at| text[at]);
    if [before, text.get(name.end).copied()].iter().any(|byte| matches!(byte, Some(b'+' | b'/'))) {
        return None;
    }
    let is_password = tells == TellingName::Password;
    let (mut at, mut is_below) = (name.end, false);
    while at < text.len() && at <= name.end + NEAR_BYTES && !b"{}[];".contains(&text[at]) {
        if text[at] == b'\n' && !ends_label(&text[name.end..at]) {
            return None;
        }
        is_below |= text[at] == b'\n';
        if !text[at].is_ascii_alphanumeric() {
            at += 1;
            continue;
        }
        let ValueHead { range, is_cut } = run(text, at, BARE_HEAD_BYTES, is_part);
        let range = without_dots(text, range);
        *looked += range.len() as u64;
        // What a sign of equality follows is a name, unless the sign fills up base64.
        let signs = skip(text, range.end, 2, b"=") - range.end;
        let is_name =
            signs > 0 && text.get(range.end + signs).is_some_and(|byte| byte.is_ascii_alphanumeric() || b"\"'$%<{[(".contains(byte));
        if is_name {
            at = range.end + signs;
            continue;
        }
        let range = range.start..range.end + signs;
        let value = &text[range.clone()];
        let evidence = &*without_placeholders(value);
        let capitals = evidence.iter().any(u8::is_ascii_uppercase) && evidence.iter().any(u8::is_ascii_lowercase);
        let is_short = || is_password && evidence.len() >= 10 && is_mixed(evidence) && evidence.iter().all(u8::is_ascii_alphanumeric);
        let is_escape = at > 0 && text[at - 1] == b'%';
        let is_word = || is_unlikely(evidence) && evidence.len() >= WORD_BYTES_MIN && evidence.iter().all(u8::is_ascii_alphanumeric);
        let is_one = || (is_hex(evidence) || is_word()) && tells >= TellingName::Strong && is_said(&text[name.end..at]);
        if ((is_drawn(evidence) || is_short() && !is_escape) && capitals && !is_path(value)) || is_one() {
            return Some(if is_cut { without_dots(text, run(text, at, text.len(), is_part).range) } else { range });
        }
        // In the line below only the first word counts.
        if is_below {
            return None;
        }
        at = range.end.max(at + 1);
    }
    None
}

/// Whether what stands before a value says that the value is the one of the name: `token is …`, and not `token for commit …`.
fn is_said(between: &[u8]) -> bool {
    const ABOUT: [&[u8]; 12] =
        [b"hash", b"sha1", b"sha256", b"sha512", b"md5", b"digest", b"checksum", b"fingerprint", b"commit", b"id", b"uuid", b"etag"];
    let words = || between.split(|byte| !byte.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let is_verb = |word: &[u8]| matches!(word, b"is" | b"was" | b"be" | b"to" | b"now" | b"with");
    let ends = words().next_back().is_none_or(is_verb) || between.trim_ascii_end().ends_with(b":") || between.ends_with(b"`");
    ends && !words().any(|word| ABOUT.contains(&word.to_ascii_lowercase().as_slice()))
}

/// Whether a line ends here that only says what stands in the next: `API key`, `the token is:`.
fn ends_label(behind_name: &[u8]) -> bool {
    let is_end = |byte: &u8| byte.is_ascii_alphabetic() || b" :\r".contains(byte);
    let rest = behind_name.trim_ascii_end();
    behind_name.iter().all(is_end) && (rest.is_empty() || rest.ends_with(b":"))
}

/// A run without the dots at its end: they end a sentence.
fn without_dots(text: &[u8], range: Range<usize>) -> Range<usize> {
    let length = text[range.clone()].iter().rposition(|byte| *byte != b'.').map_or(0, |last| last + 1);
    range.start..range.start + length
}

/// A path of files, or an id of the API.
fn is_path(value: &[u8]) -> bool {
    let value = &value[..value.len().min(512)];
    let slashes = value.iter().filter(|byte| **byte == b'/').count();
    let ids: [&[u8]; 7] = [b"msg_", b"toolu_", b"srvtoolu_", b"call_", b"req_", b"file_", b"container_"];
    slashes >= 2 || ids.iter().any(|id| value.starts_with(id))
}
