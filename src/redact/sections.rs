//! Sections of settings and maps in code whose name tells of secrets (K-2): the names in them are those of hosts, of services, of people.
//!
//! ```text
//! secrets:         [secrets]            TOKENS = {'stripe': '…', 'mail': '…'}
//!   stripe: …      stripe = "…"
//! ```

use std::ops::Range;

use super::assigned_value::quoted;
use super::assignments::{NamedValue, has_telling_word};
use super::name_bytes::{is_name_byte, skip};
use super::names::{is_value_of_map, names_map};

/// The longest line that is looked at.
const LINE_BYTES_MAX: usize = 4 << 10;

/// A section that is open.
struct SecretSection {
    name: Range<usize>,
    /// Lines that are indented further belong to it; all do below a head in brackets.
    indent: Option<usize>,
}

/// Every such value of a text, in order.
pub(super) fn find(text: &[u8]) -> Vec<NamedValue> {
    let (mut found, mut open, mut start) = (Vec::new(), None::<SecretSection>, 0);
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let range = start..start + line.trim_ascii_end().len();
        start += line.len();
        if range.is_empty() || range.len() > LINE_BYTES_MAX {
            continue;
        }
        let first = skip(text, range.start, range.len(), b" \t");
        let belongs = |section: &SecretSection| section.indent.map_or(text[first] != b'[', |indent| first - range.start > indent);
        open = open.filter(belongs);
        if let Some(section) = &open {
            found.extend(entry(text, first, range.end, true).and_then(|entry| entry.secret(text, section)));
        }
        let Some((section, mut at)) = head(text, &range) else { continue };
        while let Some(entry) = entry(text, skip(text, at, LINE_BYTES_MAX, b" \t,"), range.end, false) {
            at = entry.end;
            found.extend(entry.secret(text, &section));
        }
        open = Some(section);
    }
    found
}

/// The section that begins in this line, and where its first entry may stand.
fn head(text: &[u8], line: &Range<usize>) -> Option<(SecretSection, usize)> {
    let bytes = &text[line.clone()];
    let brace = memchr::memchr(b'{', bytes);
    let is_head = matches!(bytes.last(), Some(b':' | b']' | b'{')) || brace.is_some();
    (is_head && has_telling_word(bytes)).then_some(())?;
    let before = bytes[..brace.unwrap_or(bytes.len())].trim_ascii_end();
    let indent = bytes.iter().take_while(|byte| b" \t".contains(byte)).count();
    let is_bracketed = before[indent.min(before.len())..].starts_with(b"[") && before.ends_with(b"]");
    let signs = before.iter().rev().take_while(|byte| b"]:=\"' \t".contains(byte)).count();
    let end = before.len() - signs;
    let length = before[..end].iter().rev().take_while(|byte| is_name_byte(**byte)).count();
    let name = line.start + end - length..line.start + end;
    // Without a bracket the name begins its line.
    let is_first = before[..end - length].iter().all(|byte| b" \t-\"'".contains(byte));
    let is_open = is_bracketed || before.ends_with(b":") && (is_first || brace.is_some()) || before.ends_with(b"=") && brace.is_some();
    (is_open && length > 0 && names_map(&text[name.clone()])).then_some(())?;
    let section = SecretSection { name, indent: (!is_bracketed).then_some(indent) };
    Some((section, brace.map_or(line.end, |brace| line.start + brace + 1)))
}

/// A name and its value in a section.
struct Entry {
    value: Range<usize>,
    end: usize,
}

impl Entry {
    fn secret(self, text: &[u8], section: &SecretSection) -> Option<NamedValue> {
        is_value_of_map(&text[section.name.clone()], &text[self.value.clone()])
            .then(|| NamedValue { name: section.name.clone(), value: self.value })
    }
}

/// The entry that begins here. Only on a line of its own a value may stand without quotes.
fn entry(text: &[u8], at: usize, end: usize, is_line: bool) -> Option<Entry> {
    let key = skip(text, at, 1, b"\"'");
    let is_part = |byte: &u8| is_name_byte(*byte) || b"/@".contains(byte);
    let length = text.get(key..end)?.iter().take_while(|byte| is_part(byte)).count();
    let sign = skip(text, skip(text, key + length, 1, b"\"'"), 4, b" \t");
    (length > 0 && matches!(text.get(sign), Some(b'=' | b':'))).then_some(())?;
    let start = skip(text, sign + 1, 8, b"> \t");
    let sign = text.get(start..end)?.first()?;
    if b"\"'".contains(sign) {
        let value = quoted(text, start + 1, *sign, 0, LINE_BYTES_MAX).range;
        return (value.end <= end).then(|| Entry { end: value.end + 1, value });
    }
    is_line.then(|| Entry { value: start..start + text[start..end].trim_ascii_end().len(), end })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<&str> {
        find(text.as_bytes()).into_iter().map(|found| &text[found.value]).collect()
    }

    #[test]
    fn k_2_values_of_a_section_of_secrets_are_found_whatever_their_names() {
        let (one, two) = ("tT7kQm2ZpL9x", "Zk7Qw9Xb2Lp4");
        for text in [
            format!("a: 1\nsecrets:\n  stripe: {one}\n  mail: {two}\nother: {one}\n"),
            format!("credentials:\n  - prod:\n    main: \"{one}\"\n    x: y\n    y: {two}\n"),
            format!("[secrets]\nstripe = \"{one}\"\nport = 1\nmail = '{two}'\n[x]\ny = {one}\n"),
            format!("TOKENS = {{'stripe': '{one}', \"mail\": \"{two}\"}}\n"),
            format!("const apiKeys = {{ stripe: '{one}', x: '{two}' }}"),
            format!("API_KEYS = {{\n    'a.example/x': '{one}',\n    'b' => '{two}',\n}}\nx: {one}\n"),
        ] {
            assert_eq!(shown(&text), [one, two], "{text}");
        }
    }

    #[test]
    fn k_2_sections_of_other_things_hold_none() {
        for text in [
            "secrets:\n  - name: api\n    path: /run/x1y2z3\n",
            "credentials:\n  region: us-east-1\n  provider: awsv4\n",
            "max_tokens = {\n  'model': 'tT7kQm2ZpL9x',\n}\n",
            "secrets: inherit\nx: tT7kQm2ZpL9x\n",
            "if tokens: {\n}\n",
        ] {
            assert_eq!(shown(text), [""; 0], "{text}");
        }
    }
}
