//! The value that an assignment, an option, a tag or a pair gives to a name, in text of any kind (K-2).

use std::ops::Range;

use super::closing;
use super::name_bytes::{NAME_BYTES_MAX, is_name_byte, skip};
use super::names::{TellingName, ValuePlace, is_drawn, is_secret_value, is_variable, is_words};
use super::placeholder::ends_with_placeholder;

/// How much of a value between quotes or tags is read before it is known to be a secret.
const QUOTED_HEAD_BYTES: usize = 64 << 10;

/// How much of a value without quotes is read before it is known to be a secret. A value that goes on and on may have a name in every few bytes, and is
/// not read to its end for each of them (K-12).
pub(super) const BARE_HEAD_BYTES: usize = 256;

/// How far the two halves of a pair of a name and a value may be apart.
const PAIR_BYTES_MAX: usize = 64;

/// How much of a line before a name is looked at.
const LINE_BYTES_MAX: usize = 96;

/// The head of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ValueHead {
    pub(super) range: Range<usize>,
    /// Whether the value goes on behind it.
    pub(super) is_cut: bool,
}

impl ValueHead {
    fn whole(range: Range<usize>) -> Self {
        Self { range, is_cut: false }
    }
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
    let is_index = name.start > 0 && text[name.start - 1] == b'[';
    let end = match is_quoted {
        true => skip(text, skip(text, quote, 1, b"\"'`"), 1, b"]"),
        false => skip(text, name.end, usize::from(is_index), b"]"),
    };
    let of_pair = paired_value(text, end);
    let at = of_pair.unwrap_or_else(|| skip(text, end, 4, b" \t"));
    let is_option = text[name.clone()].starts_with(b"-") || !is_quoted && follows_command(text, name.start);
    let tag = value_of_tag(text, name);
    let value = match byte(at) {
        _ if of_pair.is_some() => at,
        _ if tag.is_some() => tag?,
        Some(b'=') if byte(at + 1) == Some(b'=') => return None,
        Some(b'=') if byte(at + 1) == Some(b'>') => behind_type(text, at + 2),
        Some(b':') if byte(at + 1) == Some(b'=') => at + 2,
        // `password:: ` of LDIF, and not `Token::Ident` or `https://…`.
        Some(b':') if byte(at + 1) == Some(b':') && byte(at + 2) == Some(b' ') => at + 2,
        Some(b':') if matches!(byte(at + 1), Some(b':' | b'/')) => return None,
        // A sign before a quote that ends a text is a part of it: `input("Password: ")`.
        Some(b'=' | b':') if !is_quoted && ends_string(text, name.start, at + 1) => return None,
        Some(b'=' | b':') => at + 1,
        Some(b',') if is_quoted => at + 1,
        Some(_) if is_option && at > name.end => at,
        _ => return None,
    };
    Some(AssignmentSign { at, value, is_pair: of_pair.is_some(), is_option, is_tag: tag.is_some() })
}

/// Where the value of a tag begins: `<name>value`, `<name><![CDATA[value`, `<key>name</key><string>value`.
fn value_of_tag(text: &[u8], name: &Range<usize>) -> Option<usize> {
    let blanks = |at: usize| skip(text, at, PAIR_BYTES_MAX, b" \t\r\n");
    let behind = |at: usize, word: &[u8]| text.get(at..at + word.len()).is_some_and(|here| here == word).then_some(at + word.len());
    (name.start > 0 && text[name.start - 1] == b'<' || text[..name.start].ends_with(b"<key>")).then_some(())?;
    if let Some(end) = behind(name.end, b"</key>") {
        return behind(blanks(end), b"<string>");
    }
    let start = blanks(behind(name.end, b">")?);
    Some(behind(start, b"<![CDATA[").unwrap_or(start))
}

/// The place behind what PHP prints of a type: `=> string(14) "…"`.
fn behind_type(text: &[u8], at: usize) -> usize {
    let start = skip(text, at, 16, b" \t\r\n");
    let Some(rest) = text.get(start..).and_then(|rest| rest.strip_prefix(b"string(")) else { return at };
    let digits = rest.iter().take(8).take_while(|byte| byte.is_ascii_digit()).count();
    if rest[digits..].starts_with(b") ") { start + b"string() ".len() + digits } else { at }
}

/// Whether a quote behind a sign ends a string that began before the name.
fn ends_string(text: &[u8], name: usize, sign: usize) -> bool {
    let blank = skip(text, sign, 4, b" \t");
    let quote = skip(text, blank, 8, b"\\");
    let Some(sign) = text.get(quote).filter(|byte| b"\"'`".contains(byte)) else { return false };
    if text.get(quote + 1).is_some_and(u8::is_ascii_alphanumeric) {
        return false;
    }
    let line = line_before(text, name);
    let at = |at: usize| line[..at].iter().rev().take_while(|byte| **byte == b'\\').count();
    let quotes = memchr::memchr_iter(*sign, line).filter(|place| at(*place) == quote - blank).count();
    quotes % 2 == 1
}

/// The line before a place, or the end of it where it is long.
fn line_before(text: &[u8], at: usize) -> &[u8] {
    let before = &text[at.saturating_sub(LINE_BYTES_MAX)..at];
    before.rsplit(|byte| *byte == b'\n').next().unwrap_or_default()
}

/// Whether a command stands before a name that gives it the next word as its value: `#define NAME value`, `npm config set //host/:NAME value`.
fn follows_command(text: &[u8], name: usize) -> bool {
    const COMMANDS: [&[u8]; 7] = [b"#define", b"define", b"setx", b"ENV", b"SetEnv", b"setenv", b"fastcgi_param"];
    let mut words = line_before(text, name).split(u8::is_ascii_whitespace).rev();
    let part = words.next().unwrap_or_default();
    let mut words = words.filter(|word| !word.is_empty());
    let command = words.next().unwrap_or_default();
    const BEFORE_SET: [&[u8]; 5] = [b"config", b"configure", b"secret", b"secrets", b"env"];
    // A quote or the number of a line may stand before the first word: `"config set NAME`.
    let is_set = |word: &[u8]| word.rsplit(|byte| !byte.is_ascii_alphanumeric()).next().is_some_and(|word| BEFORE_SET.contains(&word));
    // `set -gx NAME value`
    let is_shell = command.starts_with(b"-") && command[1..].iter().all(|byte| b"gxUL".contains(byte));
    let next = words.next().unwrap_or_default();
    let is_command = COMMANDS.contains(&command) || command == b"set" && is_set(next) || is_shell && next.ends_with(b"set");
    (part.is_empty() || part.ends_with(b"/:")) && is_command
}

/// Where the last of the quotes stands that open a value, the quote if there is one, and the backslashes before it. Three quotes are as good as one.
fn opening_quote(text: &[u8], start: usize) -> (usize, Option<u8>, usize) {
    let first = skip(text, start, 8, b"\\");
    let quote = text.get(first).copied().filter(|byte| b"\"'`".contains(byte));
    let sign = text.get(start..=first).filter(|_| quote.is_some()).unwrap_or_default();
    let is_triple = !sign.is_empty() && text[first + 1..].strip_prefix(sign).is_some_and(|rest| rest.starts_with(sign));
    (if is_triple { first + 2 * sign.len() } else { first }, quote, first - start)
}

/// The value that a name is given.
pub(super) fn value_after(text: &[u8], name: &Range<usize>, tells: TellingName, looked: &mut u64) -> Option<Range<usize>> {
    let byte = |at: usize| text.get(at).copied();
    let AssignmentSign { at: signs, value, is_pair: of_pair, is_option, is_tag } = assignment_sign(text, name)?;
    let is_list = byte(signs) == Some(b',') && !of_pair;
    let start = skip(text, value, 4, b" \t");
    // `b"…"`
    let is_prefixed = matches!(byte(start), Some(b'b' | b'f' | b'r' | b'u')) && matches!(byte(start + 1), Some(b'"' | b'\''));
    // `DerivedSecret => b"derived"` is an arm.
    if is_prefixed && text[..start].trim_ascii_end().ends_with(b"=>") {
        return None;
    }
    let start = start + usize::from(is_prefixed);
    let of_setting = is_option || is_tag || is_setting(text, name.start) || is_printed(text, name);
    let (quotes, quote, backslashes) = opening_quote(text, start);
    let is_text = quote.is_some();
    // A list of words: the next must be a header's value, and is quoted.
    if is_list && !is_text {
        return None;
    }
    let head_of = |most: Option<usize>| {
        let head = match quote {
            Some(quote) => quoted(text, quotes + 1, quote, backslashes, most.unwrap_or(QUOTED_HEAD_BYTES)),
            None if is_tag => of_tag(text, run(text, start, most.unwrap_or(QUOTED_HEAD_BYTES), |byte| byte != b'<')),
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
    let is_closed_tag = is_tag && text[range.end..].starts_with(b"</") && !text[range.clone()].iter().any(|byte| b"\\\n".contains(byte));
    let place = match (is_text || is_closed_tag && tells == TellingName::Password, of_setting) {
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
    let is_word_of_list = || tells == TellingName::Password || !text[name.clone()].contains(&b'-') && !is_drawn(&text[range.clone()]);
    let is_opening = is_text && !is_cut && tells < TellingName::Password && opens_text(text, &range);
    if is_opening || is_list && is_word_of_list() {
        return None;
    }
    // `self.token = next + …`, `password: String,`
    if !is_cut && !is_text && !is_option && is_variable_of_code(text, &range) {
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
    let of_constant = constant(text, range.start).filter(|_| !is_text && byte(signs) == Some(b':'))?;
    is_secret_value(tells, &text[of_constant.clone()], ValuePlace::Quoted).then_some(of_constant)
}

/// Whether a quote is not closed in its line, and opens a text of several lines: names are looked for in it.
fn opens_text(text: &[u8], value: &Range<usize>) -> bool {
    text.get(value.end).is_none_or(|byte| *byte == b'\n') && text[value.clone()].contains(&b' ')
}

/// Whether a value is a word that code follows: the name of a variable, of a type.
fn is_variable_of_code(text: &[u8], value: &Range<usize>) -> bool {
    let start = skip(text, value.start, 2, b"&*(").min(value.end);
    let end = start + text[start..value.end].iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"_.".contains(byte)).count();
    if start == end {
        return text[value.clone()].starts_with(b"&[");
    }
    let closes = !text[end..value.end].is_empty() && text[end..value.end].iter().all(|byte| b"):;,]}".contains(byte));
    let word = &text[start..end];
    // `TLS13_CHACHA20_POLY1305`
    let is_constant = word.contains(&b'_') && word.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_');
    if is_constant && end == value.end && text[..value.start].ends_with(b" ") {
        return true;
    }
    (is_words(word) || is_constant) && (closes || end == value.end && is_code_behind(text, end))
}

/// Whether code follows.
fn is_code_behind(text: &[u8], end: usize) -> bool {
    let blank = skip(text, end, 1, b" ");
    let rest = &text[blank.min(text.len())..];
    let words: [&[u8]; 6] = [b"or ", b"and ", b"if ", b"else ", b"|| ", b"?? "];
    matches!(text.get(end), Some(b',' | b';' | b')' | b'.' | b'(' | b'+' | b'[' | b'?'))
        || blank > end
            && (matches!(rest.first(), Some(b'+' | b'?' | b')' | b'{' | b'=')) || words.iter().any(|word| rest.starts_with(word)))
}

/// The head of a value between tags, without the blanks around it and what closes its section.
fn of_tag(text: &[u8], head: ValueHead) -> ValueHead {
    let section = text[head.range.clone()].strip_suffix(b"]]>").map_or(head.range.end, |value| head.range.start + value.len());
    let value = text[head.range.start..section].trim_ascii_end();
    ValueHead { range: head.range.start..head.range.start + value.len(), ..head }
}

/// The value of a constant whose type begins here: `const TOKEN: &'static str = "…"`.
fn constant(text: &[u8], start: usize) -> Option<Range<usize>> {
    let is_type = |byte: &u8| byte.is_ascii_alphanumeric() || b"&'_<>: ".contains(byte);
    let equals = start + text[start..].iter().take(PAIR_BYTES_MAX).take_while(|byte| is_type(byte)).count();
    let quote = skip(text, equals + 1, 2, b" ");
    let word = &text[start..equals.max(start)];
    let is_named = word.starts_with(b"&") || word.first().is_some_and(u8::is_ascii_uppercase) || word.starts_with(b"str");
    let is_text = is_named && text.get(equals) == Some(&b'=') && matches!(text.get(quote), Some(b'"' | b'\''));
    is_text.then(|| quoted(text, quote + 1, text[quote], 0, QUOTED_HEAD_BYTES).range)
}

/// Where the value begins of a name that is a value itself: `key="NAME" value="…"`, `- name: NAME` and `value: …` in the next line,
/// `variable "NAME" {` and `default = "…"`.
fn paired_value(text: &[u8], at: usize) -> Option<usize> {
    let mut end = at;
    for _ in 0..LINES_BETWEEN_MAX {
        if let Some(value) = value_of_pair(text, end) {
            return Some(value);
        }
        end = line_between(text, end)?;
    }
    value_of_pair(text, end)
}

/// How many lines may stand between the two halves of a pair.
const LINES_BETWEEN_MAX: usize = 2;

/// Where the next line ends, if it is another member of what a pair is in: `type: text`.
fn line_between(text: &[u8], at: usize) -> Option<usize> {
    let start = skip(text, at, 4, b"\"', \r");
    let first = (text.get(start) == Some(&b'\n')).then(|| skip(text, start + 1, PAIR_BYTES_MAX, b" \t\"'"))?;
    let line = &text[first..text.len().min(first + PAIR_BYTES_MAX)];
    let line = &line[..memchr::memchr(b'\n', line)?];
    let word = line.iter().take_while(|byte| is_name_byte(**byte)).count();
    (first > start + 1 && word > 0 && memchr::memchr(b':', &line[word..]).is_some_and(|colon| colon < 2)).then_some(first + line.len())
}

/// Where the value begins, if the second half of a pair stands here.
fn value_of_pair(text: &[u8], at: usize) -> Option<usize> {
    let word = skip(text, at, PAIR_BYTES_MAX, b" \t\r\n,\"'\\{:");
    let between = &text[at.min(word)..word];
    let is_block = between.contains(&b'{');
    let name: &[u8] = if is_block && text[word..].starts_with(b"default") { b"default" } else { b"value" };
    let after = word + name.len();
    let is_apart = word > at && (is_block || !between.contains(&b':'));
    (is_apart && text.get(word..after)?.eq_ignore_ascii_case(name)).then_some(())?;
    let sign = skip(text, after, 8, b" \t\"'\\");
    matches!(text.get(sign), Some(b'=' | b':')).then_some(sign + 1)
}

/// Whether a name begins a line that sets it: `export NAME=`, `name: `, `-e NAME=`.
fn is_setting(text: &[u8], start: usize) -> bool {
    let words = line_before(text, start).trim_ascii();
    const BEFORE: [&[u8]; 16] =
        [b"", b"export", b"set", b"ENV", b"ARG", b"env", b"-", b"-e", b"--env", b"#", b"setx", b"declare -x", b"*", b"[", b">", b"+"];
    // `kubectl create … --from-literal=NAME=value`
    const OPTIONS: [&[u8]; 5] = [b"--from-literal=", b"--build-arg", b"--set", b"--env", b"--env="];
    let option = words.rsplit(u8::is_ascii_whitespace).next().unwrap_or_default();
    // `settings.ini:NAME=value` of a search without numbers
    let is_place = || {
        words.last() == Some(&b':') && words.len() > 1 && words[..words.len() - 1].iter().all(|byte| is_name_byte(*byte) || *byte == b'/')
    };
    BEFORE.contains(&words)
        || OPTIONS.contains(&option)
        || words.starts_with(b"//") && words.ends_with(b":")
        || is_place()
        || words.ends_with("→".as_bytes())
}

/// Whether a name is one of a pair of a form, or of a structure that a program printed.
fn is_printed(text: &[u8], name: &Range<usize>) -> bool {
    match text.get(name.end) {
        Some(b'=') => is_pair(text, name),
        Some(b':') => is_field_of_struct(text, name),
        _ => false,
    }
}

/// Whether a name is one of pairs without blanks: of a form, of a connection.
fn is_pair(text: &[u8], name: &Range<usize>) -> bool {
    let before = name.start.checked_sub(1).map(|at| text[at]);
    let after = text.get(name.end + 1);
    matches!(before, None | Some(b'&' | b';' | b'?' | b'"' | b'\'' | b' ' | b'\n' | b'{'))
        && after.is_some_and(|byte| !byte.is_ascii_whitespace())
        && text[name.clone()].iter().all(|byte| *byte != b'.')
}

/// Whether a name is one of a structure as Go prints it: `{User:bob Password:… Port:1}`.
fn is_field_of_struct(text: &[u8], name: &Range<usize>) -> bool {
    let line = line_before(text, name.start);
    let fields = memchr::memrchr(b'{', line).map_or(&[][..], |open| &line[open + 1..]);
    let is_printed = fields.ends_with(b" ") && fields.contains(&b':') && !fields.contains(&b',');
    is_printed && text.get(name.end + 1).is_some_and(u8::is_ascii_alphanumeric)
}

/// Whether a line continues with a word.
fn goes_on(text: &[u8], end: usize) -> bool {
    text.get(end) == Some(&b' ') && text.get(end + 1).is_some_and(u8::is_ascii_alphabetic)
}

fn is_call(text: &[u8], end: usize) -> bool {
    matches!(text.get(end), Some(b'(' | b'[' | b'{'))
}

/// The text between quotes that are written with so many backslashes, and at most `most` bytes of it.
pub(super) fn quoted(text: &[u8], start: usize, quote: u8, backslashes: usize, most: usize) -> ValueHead {
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
pub(super) fn run(text: &[u8], start: usize, most: usize, is_part: impl Fn(u8) -> bool) -> ValueHead {
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
            b' ' => true,
            b'"' | b'\'' | b'`' | b'<' | b'>' => !of_setting || !is_inside(text, start, end),
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

/// Whether a quote or a bracket is a part of the value of a setting: letters stand around it, and no tag begins with it.
fn is_inside(text: &[u8], start: usize, at: usize) -> bool {
    let rest = &text[at + 1..text.len().min(at + 1 + PAIR_BYTES_MAX)];
    let word = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'-').count();
    let is_tag = text[at] == b'<' && matches!(rest.get(word), Some(b'>' | b' ' | b'/'));
    // A quote closes what was opened before the name.
    let is_partner = || memchr::memchr_iter(text[at], line_before(text, start)).count() % 2 == 1;
    // A placeholder is a value by itself.
    let is_over = || ends_with_placeholder(&text[start..at]);
    if at == start || is_tag || is_over() {
        return false;
    }
    match text[at] {
        // Neither an arrow nor a redirection is a part of a value.
        b'<' | b'>' => {
            !b"-=".contains(&text[at - 1]) && rest.first().is_some_and(|next| next.is_ascii_graphic() && !b"/&|$~.-=\"'`<>".contains(next))
        }
        _ => text[at - 1].is_ascii_alphanumeric() && word > 0 && !is_partner(),
    }
}

/// Whether a sign ends a value because another pair follows, or nothing.
fn is_end_of_pair(text: &[u8], at: usize) -> bool {
    let rest = text.get(at + 1..).unwrap_or_default();
    // In HTML the sign between two pairs is an entity.
    let rest = rest.strip_prefix(b"amp;").filter(|_| text[at] == b'&').unwrap_or(rest);
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
