//! Where in a text something stands that may vary.

use reenact_wire::prelude::*;

/// A folder as it may stand in a text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FolderSpan {
    spelling: String,
    /// Whether it is spelled as one name, with dashes for what stands between the parts of its path: clients name folders after folders.
    is_dashed: bool,
}

impl FolderSpan {
    /// The spellings of a path; none for the root, which stands before everything.
    pub(super) fn from_path(path: &str) -> Vec<Self> {
        let path = path.trim_end_matches('/');
        if path.len() < 2 {
            return Vec::new();
        }
        let dashed = path.replace(['/', '.', '_'], "-");
        vec![Self { spelling: path.into(), is_dashed: false }, Self { spelling: dashed, is_dashed: true }]
    }

    pub(super) fn len(&self) -> usize {
        self.spelling.len()
    }

    /// A text with the folder replaced where it, or something in it, is named; `/www` and `/w.bak` are not in `/w`.
    ///
    /// Anything may stand before it: `-I/w`, `file:///w`, `/private/w`.
    pub(super) fn replaced(&self, text: &str, name: &str) -> String {
        if !text.contains(&self.spelling) {
            return text.into();
        }
        replaced(text, |bytes, at| self.length_at(bytes, at), |_| name.into())
    }

    /// How long it is where it stands at this place.
    pub(super) fn length_at(&self, bytes: &[u8], at: usize) -> Option<usize> {
        bytes[at..].strip_prefix(self.spelling.as_bytes()).filter(|rest| self.ends(rest)).map(|_| self.len())
    }

    pub(super) fn spelling(&self) -> &str {
        &self.spelling
    }

    /// Whether its name is over before `rest`. A dot is part of a name where something follows it, and else ends a sentence.
    fn ends(&self, rest: &[u8]) -> bool {
        match self.is_dashed {
            true => !rest.first().is_some_and(u8::is_ascii_alphanumeric),
            false => !rest.iter().find(|byte| **byte != b'.').is_some_and(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(byte)),
        }
    }
}

/// A text with each span replaced that `at` finds the length of.
pub(super) fn replaced(text: &str, at: impl Fn(&[u8], usize) -> Option<usize>, mut name: impl FnMut(&str) -> String) -> String {
    let bytes = text.as_bytes();
    let (mut out, mut from, mut position) = (String::with_capacity(text.len()), 0, 0);
    while position < bytes.len() {
        match at(bytes, position).filter(|_| text.is_char_boundary(position)) {
            Some(length) => {
                out.push_str(&text[from..position]);
                out.push_str(&name(&text[position..position + length]));
                position += length;
                from = position;
            }
            None => position += 1,
        }
    }
    out.push_str(&text[from..]);
    out
}

/// `8-4-4-4-12` hexadecimal digits, not inside a word.
pub(super) fn uuid_at(bytes: &[u8], at: usize) -> Option<usize> {
    const GROUPS: [usize; 5] = [8, 4, 4, 4, 12];
    if is_word_before(bytes, at) {
        return None;
    }
    let mut position = at;
    for (number, group) in GROUPS.into_iter().enumerate() {
        if number > 0 {
            (bytes.get(position) == Some(&b'-')).then_some(())?;
            position += 1;
        }
        let digits = bytes.get(position..position + group)?;
        digits.iter().all(u8::is_ascii_hexdigit).then_some(())?;
        position += group;
    }
    (!bytes.get(position).is_some_and(u8::is_ascii_alphanumeric)).then_some(position - at)
}

/// 32 and more hexadecimal digits, or the 17 from `a` on that Claude Code names its agents by, not inside a word.
pub(super) fn id_at(bytes: &[u8], at: usize) -> Option<usize> {
    if is_word_before(bytes, at) {
        return None;
    }
    let length = bytes[at..].iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let fits = length >= 32 || (length == 17 && bytes[at] == b'a');
    (fits && !bytes.get(at + length).is_some_and(u8::is_ascii_alphanumeric)).then_some(length)
}

/// The digits in `<duration_ms>381</duration_ms>` and the like.
pub(super) fn milliseconds_at(bytes: &[u8], at: usize) -> Option<usize> {
    let length = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    (length > 0 && bytes[..at].ends_with(b"_ms>")).then_some(length)
}

/// `prt_1fff9e92e001xKOzXdGGeFAA8r`: three letters, 12 hexadecimal digits (the time), 14 letters or digits, as opencode makes them. The API's
/// own ids are shorter.
pub(super) fn timed_id_at(bytes: &[u8], at: usize) -> Option<usize> {
    const LENGTH: usize = 4 + 12 + 14;
    let id = bytes.get(at..at + LENGTH).filter(|_| !is_word_before(bytes, at))?;
    let (prefix, rest) = id.split_at(4);
    let fits = prefix[..3].iter().all(u8::is_ascii_lowercase)
        && prefix[3] == b'_'
        && rest[..12].iter().all(u8::is_ascii_hexdigit)
        && rest.iter().all(u8::is_ascii_alphanumeric)
        && !bytes.get(at + LENGTH).is_some_and(u8::is_ascii_alphanumeric);
    fits.then_some(LENGTH)
}

/// `2026-11-21`, with a time of day behind it or not.
pub(super) fn date_at(bytes: &[u8], at: usize) -> Option<usize> {
    if is_word_before(bytes, at) {
        return None;
    }
    let length = pattern(bytes, at, b"dddd-dd-dd")?;
    if bytes.get(at + length).is_some_and(u8::is_ascii_digit) {
        return None;
    }
    let Some(time) = pattern(bytes, at + length, b"Tdd:dd:dd").or_else(|| pattern(bytes, at + length, b" dd:dd:dd")) else {
        return Some(length);
    };
    let mut end = at + length + time;
    if bytes.get(end) == Some(&b'.') {
        end += 1 + bytes[end + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    }
    end += match bytes.get(end) {
        Some(b'Z') => 1,
        Some(b'+' | b'-') => pattern(bytes, end + 1, b"dd:dd").map_or(0, |zone| zone + 1),
        _ => 0,
    };
    Some(end - at)
}

/// The ports behind the names of this machine.
pub(super) fn ports(text: &str) -> String {
    let mut out = text.to_string();
    for host in ["127.0.0.1:", "localhost:"] {
        let mut from = 0;
        while let Some(found) = out[from..].find(host) {
            let start = from + found + host.len();
            let digits = out[start..].bytes().take_while(u8::is_ascii_digit).count();
            if digits > 0 {
                out.replace_range(start..start + digits, "<port>");
            }
            from = start;
        }
    }
    out
}

/// The text between two texts; without the second one up to the next blank.
pub(super) fn between(text: &str, after: &str, until: Option<&str>, name: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(found) = rest.find(after).filter(|_| !after.is_empty()) {
        let start = found + after.len();
        let length = match until {
            Some(until) => rest[start..].find(until),
            None => rest[start..].find(char::is_whitespace),
        };
        let end = start + length.unwrap_or(rest.len() - start);
        out.push_str(&rest[..start]);
        out.push_str(name);
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

/// The length of a pattern in which `d` is a digit and everything else itself.
fn pattern(bytes: &[u8], at: usize, pattern: &[u8]) -> Option<usize> {
    let found = bytes.get(at..at + pattern.len())?;
    let fits = found.iter().zip(pattern).all(|(byte, wanted)| if *wanted == b'd' { byte.is_ascii_digit() } else { byte == wanted });
    fits.then_some(pattern.len())
}

fn is_word_before(bytes: &[u8], at: usize) -> bool {
    at > 0 && bytes[at - 1].is_ascii_alphanumeric()
}
