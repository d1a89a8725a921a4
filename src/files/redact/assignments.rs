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

use super::closing;
use super::names::{TellingName, ValuePlace, is_drawn, is_mixed, is_secret_value, is_variable, telling};
use super::placeholder::without_placeholders;

/// A word that every telling name contains.
static WORDS: LazyLock<Regex> = LazyLock::new(|| {
    let words = r"(?i-u)key|token|secret|passw|passphrase|passcode|pass\b|pwd|auth|cred|session|cookie|jwt|bearer|otp|assertion|sas\b|dsn|webhook|connection_?string|recovery|backup|mnemonic|(?:\b|_)(?:sid|sig|pat|pw|pin|seed|salt)(?:\b|_)";
    #[expect(clippy::expect_used, reason = "the pattern is a constant, and each test compiles it")]
    Regex::new(words).expect("the pattern of words is one")
});

/// The longest name.
const NAME_BYTES_MAX: usize = 128;

/// How much of a value between quotes or tags is read before it is known to be a secret.
const QUOTED_HEAD_BYTES: usize = 64 << 10;

/// How much of a value without quotes is read before it is known to be a secret. A value that goes on and on may have a name in every few bytes, and is
/// not read to its end for each of them (K-12).
const BARE_HEAD_BYTES: usize = 256;

/// How far behind a word that tells a secret without a sign between may stand.
const NEAR_BYTES: usize = 40;

/// How far the two halves of a pair of a name and a value may be apart.
const PAIR_BYTES_MAX: usize = 64;

/// A value and the name that told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedValue {
    pub(super) name: Range<usize>,
    pub(super) value: Range<usize>,
}

/// The head of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ValueHead {
    range: Range<usize>,
    /// Whether the value goes on behind it.
    is_cut: bool,
}

impl ValueHead {
    fn whole(range: Range<usize>) -> Self {
        Self { range, is_cut: false }
    }
}

/// Every such value of a text, in order. `looked` counts the bytes of values that were looked at.
pub(super) fn find(text: &[u8], looked: &mut u64) -> Vec<NamedValue> {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(word) = WORDS.find_at(text, at) {
        let name = name_around(text, word.range());
        at = name.end.max(word.end());
        if name.len() > NAME_BYTES_MAX {
            continue;
        }
        // Of a cookie that is set only the value is a secret: it has a rule.
        let is_cookie = text[name.clone()].to_ascii_lowercase().ends_with(b"set-cookie");
        let Some(tells) = telling(&text[name.clone()]).filter(|_| !is_cookie) else { continue };
        let value = value_after(text, &name, tells, looked).or_else(|| drawn_near(text, &name, tells, looked));
        if let Some(value) = value {
            at = value.end;
            found.push(NamedValue { name, value });
        }
    }
    found
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-.".contains(&byte)
}

/// The whole name of which a word is a part. It is too long to be one where it is longer than names are.
fn name_around(text: &[u8], word: Range<usize>) -> Range<usize> {
    let before = text[..word.start].iter().rev().take(NAME_BYTES_MAX).take_while(|byte| is_name_byte(**byte)).count();
    let after = text[word.end..].iter().take(NAME_BYTES_MAX).take_while(|byte| is_name_byte(**byte)).count();
    word.start - before..word.end + after
}

/// Skips at most `most` of the bytes.
fn skip(text: &[u8], at: usize, most: usize, bytes: &[u8]) -> usize {
    at + text.get(at..).unwrap_or_default().iter().take(most).take_while(|byte| bytes.contains(byte)).count()
}

/// The sign that gives a name its value, and the form in which it stands.
struct AssignmentSign {
    /// Where the sign stands.
    at: usize,
    /// Where the value begins, with the blanks before it.
    value: usize,
    /// `key="NAME" value="…"`
    is_pair: bool,
    /// `--name value`
    is_option: bool,
    /// `<name>value</name>`
    is_tag: bool,
}

fn assignment_sign(text: &[u8], name: &Range<usize>) -> Option<AssignmentSign> {
    let byte = |at: usize| text.get(at).copied();
    let quote = skip(text, name.end, 8, b"\\");
    let is_quoted = matches!(byte(quote), Some(b'"' | b'\'' | b'`'));
    let end = if is_quoted { skip(text, skip(text, quote, 1, b"\"'`"), 1, b"]") } else { name.end };
    let of_pair = paired_value(text, end);
    let at = of_pair.unwrap_or_else(|| skip(text, end, 4, b" \t"));
    let is_option = text[name.clone()].starts_with(b"-");
    let is_tag = name.start.checked_sub(1).map(|at| text[at]) == Some(b'<') && byte(name.end) == Some(b'>');
    let value = match byte(at) {
        _ if of_pair.is_some() => at,
        Some(b'>') if is_tag => at + 1,
        Some(b'=') if byte(at + 1) == Some(b'=') => return None,
        Some(b'=') if byte(at + 1) == Some(b'>') => at + 2,
        Some(b':') if byte(at + 1) == Some(b'=') => at + 2,
        // `Token::Ident` and `https://…` are none.
        Some(b':') if matches!(byte(at + 1), Some(b':' | b'/')) => return None,
        Some(b'=' | b':') => at + 1,
        Some(b',') if is_quoted => at + 1,
        Some(_) if is_option && at > name.end => at,
        _ => return None,
    };
    Some(AssignmentSign { at, value, is_pair: of_pair.is_some(), is_option, is_tag })
}

/// The value that a name is given.
fn value_after(text: &[u8], name: &Range<usize>, tells: TellingName, looked: &mut u64) -> Option<Range<usize>> {
    let byte = |at: usize| text.get(at).copied();
    let AssignmentSign { at: signs, value, is_pair: of_pair, is_option, is_tag } = assignment_sign(text, name)?;
    let is_list = byte(signs) == Some(b',') && !of_pair;
    let start = skip(text, value, 4, b" \t");
    let quotes = skip(text, start, 8, b"\\");
    let of_setting = is_option || is_tag || is_setting(text, name.start) || matches!(byte(name.end), Some(b'=')) && is_pair(text, name);
    let quote = byte(quotes).filter(|byte| b"\"'`".contains(byte));
    let is_text = quote.is_some();
    // A list of words: the next must be a header's value, and is quoted.
    if is_list && !is_text {
        return None;
    }
    let head_of = |most: Option<usize>| {
        let head = match quote {
            Some(quote) => quoted(text, quotes + 1, quote, quotes - start, most.unwrap_or(QUOTED_HEAD_BYTES)),
            None if is_tag => run(text, start, most.unwrap_or(QUOTED_HEAD_BYTES), |byte| byte != b'<'),
            None => closing_head(text, name, bare(text, start, of_setting, most.unwrap_or(BARE_HEAD_BYTES))),
        };
        after_scheme(text, head, name, most.unwrap_or(QUOTED_HEAD_BYTES))
    };
    let ValueHead { range, is_cut } = head_of(None);
    // Of a long value the head is enough to know it by.
    let whole = |range: Range<usize>| if is_cut { head_of(Some(text.len())).range } else { range };
    *looked += range.len() as u64;
    // `NAME=value` and `--name value` are settings; with blanks or a colon it may be code as well.
    let is_field = of_pair || byte(signs) == Some(b':') || byte(signs) == Some(b'=') && signs > name.end;
    let place = match (is_text, of_setting) {
        (true, _) => ValuePlace::Quoted,
        (false, true) if is_field && !is_option => ValuePlace::Field,
        (false, true) => ValuePlace::Setting,
        (false, false) => ValuePlace::Bare,
    };
    // Prose goes on behind a word; a setting does not.
    if matches!(place, ValuePlace::Setting | ValuePlace::Field)
        && tells < TellingName::Strong
        && !is_cut
        && goes_on(text, range.end)
        && !is_option
    {
        return is_secret_value(tells, &text[range.clone()], ValuePlace::Bare).then_some(range);
    }
    if is_list && (tells == TellingName::Password || !text[name.clone()].contains(&b'-') && !is_drawn(&text[range.clone()])) {
        return None;
    }
    // `f(token=other_token, …)`
    let is_argument = place == ValuePlace::Setting && !is_option && matches!(byte(range.end), Some(b',' | b')'));
    if !is_cut && (is_call(text, range.end) && !is_text || is_argument && is_variable(tells, &text[range.clone()])) {
        return None;
    }
    if is_secret_value(tells, &text[range.clone()], place) {
        return Some(whole(range));
    }
    let of_constant = constant(text, range.end).filter(|_| !is_text && byte(signs) == Some(b':'))?;
    is_secret_value(tells, &text[of_constant.clone()], ValuePlace::Quoted).then_some(of_constant)
}

/// The value of a constant whose type ends here: `const TOKEN: &str = "…"`.
fn constant(text: &[u8], end: usize) -> Option<Range<usize>> {
    let equals = skip(text, end, 3, b" ");
    let quote = skip(text, equals + 1, 2, b" ");
    let is_text = text.get(equals) == Some(&b'=') && matches!(text.get(quote), Some(b'"' | b'\''));
    is_text.then(|| quoted(text, quote + 1, text[quote], 0, QUOTED_HEAD_BYTES).range)
}

/// Where the value begins of a name that is a value itself: `key="NAME" value="…"`, `- name: NAME` and `value: …` in the next line.
fn paired_value(text: &[u8], at: usize) -> Option<usize> {
    let word = skip(text, at, PAIR_BYTES_MAX, b" \t\r\n,\"'\\");
    let after = word + b"value".len();
    (word > at && text.get(word..after)?.eq_ignore_ascii_case(b"value")).then_some(())?;
    let sign = skip(text, after, 8, b" \t\"'\\");
    matches!(text.get(sign), Some(b'=' | b':')).then_some(sign + 1)
}

/// Whether a name begins a line that sets it: `export NAME=`, `name: `, `-e NAME=`.
fn is_setting(text: &[u8], start: usize) -> bool {
    let before = &text[start.saturating_sub(64)..start];
    let line = before.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let words = line.trim_ascii();
    const BEFORE: [&[u8]; 12] = [b"", b"export", b"set", b"ENV", b"ARG", b"env", b"-", b"-e", b"--env", b"#", b"setx", b"declare -x"];
    BEFORE.contains(&words) || words.starts_with(b"//") && words.ends_with(b":")
}

/// Whether a name is one of pairs without blanks: of a form, of a connection.
fn is_pair(text: &[u8], name: &Range<usize>) -> bool {
    let before = name.start.checked_sub(1).map(|at| text[at]);
    let after = text.get(name.end + 1);
    matches!(before, None | Some(b'&' | b';' | b'?' | b'"' | b'\'' | b' ' | b'\n'))
        && after.is_some_and(|byte| !byte.is_ascii_whitespace())
        && text[name.clone()].iter().all(|byte| *byte != b'.')
}

/// Whether a line continues with a word.
fn goes_on(text: &[u8], end: usize) -> bool {
    text.get(end) == Some(&b' ') && text.get(end + 1).is_some_and(u8::is_ascii_alphabetic)
}

fn is_call(text: &[u8], end: usize) -> bool {
    matches!(text.get(end), Some(b'(' | b'[' | b'{'))
}

/// The text between quotes that are written with so many backslashes, and at most `most` bytes of it.
fn quoted(text: &[u8], start: usize, quote: u8, backslashes: usize, most: usize) -> ValueHead {
    let rest = &text[start..text.len().min(start.saturating_add(most))];
    let mut escaped = 0;
    for (at, byte) in rest.iter().enumerate() {
        match *byte {
            b'\\' => escaped += 1,
            b'\n' if quote != b'`' => return ValueHead::whole(start..start + at),
            byte if byte == quote && (backslashes > 0 && escaped <= backslashes || escaped % 2 == 0) => {
                let end = start + at - if backslashes > 0 { escaped } else { 0 };
                return ValueHead::whole(start..end.max(start));
            }
            _ => escaped = 0,
        }
    }
    let range = start..start + rest.len();
    ValueHead { is_cut: range.end < text.len(), range }
}

/// The bytes from `start` that are part of a value, at most `most` of them.
fn run(text: &[u8], start: usize, most: usize, is_part: impl Fn(u8) -> bool) -> ValueHead {
    let length = text[start..].iter().take(most).take_while(|byte| is_part(**byte)).count();
    let range = start..start + length;
    ValueHead { is_cut: length == most && text.get(range.end).is_some_and(|byte| is_part(*byte)), range }
}

/// The same without the signs that close something around it.
fn closing_head(text: &[u8], name: &Range<usize>, head: ValueHead) -> ValueHead {
    ValueHead { range: closing::before(text, name.start, head.range), ..head }
}

/// A value without quotes, up to a blank or a sign that ends it, and at most `most` bytes of it.
fn bare(text: &[u8], start: usize, of_setting: bool, most: usize) -> ValueHead {
    let (mut end, mut is_cut) = (start, false);
    while let Some(byte) = text.get(end) {
        let ends = match byte {
            0..0x20 | 0x7f => true,
            b' ' | b'"' | b'\'' | b'`' | b'<' | b'>' => true,
            b'\\' => matches!(text.get(end + 1), None | Some(b'n' | b'r' | b't' | b'"' | b'\'' | b'\\' | b'u' | b'\n' | b' ')),
            b'&' | b';' | b',' | b'|' => !of_setting || is_end_of_pair(text, end),
            b'(' | b')' | b'{' | b'}' | b'[' | b']' => !of_setting,
            _ => false,
        };
        is_cut = !ends && end - start == most;
        if ends || is_cut {
            break;
        }
        end += 1;
    }
    // The end of a sentence is no part of it.
    while end > start && !of_setting && b".:!?".contains(&text[end - 1]) {
        end -= 1;
    }
    ValueHead { range: start..end, is_cut }
}

/// Whether a sign ends a value because another pair follows, or nothing.
fn is_end_of_pair(text: &[u8], at: usize) -> bool {
    let rest = text.get(at + 1..).unwrap_or_default();
    let name = rest.iter().take(NAME_BYTES_MAX).take_while(|byte| is_name_byte(**byte) || **byte == b' ' && text[at] == b';').count();
    match rest.first() {
        None => true,
        Some(byte) if byte.is_ascii_whitespace() || b"\"'&|;".contains(byte) => true,
        Some(_) => name > 0 && rest.get(name) == Some(&b'='),
    }
}

/// Of `Bearer …` and `Basic …` the secret is what follows.
fn after_scheme(text: &[u8], head: ValueHead, name: &Range<usize>, most: usize) -> ValueHead {
    let schemes: [&[u8]; 6] = [b"bearer ", b"basic ", b"token ", b"bot ", b"apikey ", b"digest "];
    let range = head.range.clone();
    let value = &text[range.clone()];
    for scheme in schemes {
        if value.len() > scheme.len() && value[..scheme.len()].eq_ignore_ascii_case(scheme) {
            return ValueHead { range: range.start + scheme.len()..range.end, ..head };
        }
        // Without quotes the value ends with the scheme: `Authorization: Bearer …`.
        let word = &scheme[..scheme.len() - 1];
        if value.eq_ignore_ascii_case(word) && text.get(range.end) == Some(&b' ') && name.end < range.start {
            let start = range.end + 1;
            let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=_-~.:".contains(&byte);
            return closing_head(text, name, run(text, start, most, is_part));
        }
    }
    head
}

/// A value that looks drawn, a little behind a telling word, on the same line: `the token is …`.
fn drawn_near(text: &[u8], name: &Range<usize>, tells: TellingName, looked: &mut u64) -> Option<Range<usize>> {
    if tells == TellingName::Weak {
        return None;
    }
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=_-~.".contains(&byte);
    // The name is a piece of base64.
    let before = name.start.checked_sub(1).map(|at| text[at]);
    if [before, text.get(name.end).copied()].iter().any(|byte| matches!(byte, Some(b'+' | b'/'))) {
        return None;
    }
    let is_password = tells == TellingName::Password;
    let mut at = name.end;
    while at < text.len() && at <= name.end + NEAR_BYTES && !b"\n{}[];".contains(&text[at]) {
        if !text[at].is_ascii_alphanumeric() {
            at += 1;
            continue;
        }
        let ValueHead { range, is_cut } = run(text, at, BARE_HEAD_BYTES, is_part);
        let range = without_dots(text, range);
        *looked += range.len() as u64;
        let value = &text[range.clone()];
        let evidence = &*without_placeholders(value);
        let capitals = evidence.iter().any(u8::is_ascii_uppercase) && evidence.iter().any(u8::is_ascii_lowercase);
        let is_short = || is_password && evidence.len() >= 10 && is_mixed(evidence) && evidence.iter().all(u8::is_ascii_alphanumeric);
        let is_escape = at > 0 && text[at - 1] == b'%';
        if (is_drawn(evidence) || is_short() && !is_escape) && capitals && !is_path(value) {
            return Some(if is_cut { without_dots(text, run(text, at, text.len(), is_part).range) } else { range });
        }
        at = range.end.max(at + 1);
    }
    None
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
