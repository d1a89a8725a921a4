//! JSON taken apart without losing what a parser would lose: members and elements as slices of the text (N-8).
//!
//! A typed parser refuses duplicate keys and lone surrogates, and forgets how a number was written. Here the grammar is still checked
//! in full by `serde_json`, but a value stays the text it was. For the typed view the last of duplicate keys wins, and a lone surrogate
//! escape such as `\ud83d` reads as U+FFFD; the text beside it stays exact.

use core::fmt;

use memchr::memchr;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::json::push_string;
use crate::prelude::*;

/// A JSON object as its members, in the order of the text.
#[derive(Debug)]
pub struct RawObject<'a> {
    text: &'a str,
    members: Vec<(Cow<'a, str>, &'a str)>,
}

impl<'a> RawObject<'a> {
    /// Takes apart the object that `text` is. The error is the parser's, also when `text` is another kind of value.
    pub fn parse(text: &'a str) -> Result<Self, serde_json::Error> {
        let MemberIterator(members) = serde_json::from_str(text)?;
        Ok(Self { text, members })
    }

    /// The object as it was given.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// A member's text; the last one when there are several.
    pub fn get(&self, key: &str) -> Option<&'a str> {
        self.members.iter().rev().find(|(name, _)| name == key).map(|(_, value)| *value)
    }

    /// A member that is there and not `null`.
    pub fn present(&self, key: &str) -> Option<&'a str> {
        self.get(key).filter(|value| *value != "null")
    }

    /// A member that is a string.
    pub fn string(&self, key: &str) -> Option<Cow<'a, str>> {
        self.get(key).and_then(string)
    }

    /// A member that is an object.
    pub fn object(&self, key: &str) -> Option<RawObject<'a>> {
        self.get(key).and_then(|value| RawObject::parse(value).ok())
    }

    /// A member that is a count: a whole number, however it is written (`12`, `1.2e1`).
    pub fn count(&self, key: &str) -> Option<u64> {
        let value = self.get(key)?;
        let float = || value.parse().ok().filter(|n: &f64| *n >= 0.0 && *n < 9e15 && *n as u64 as f64 == *n);
        value.parse().ok().or_else(|| float().map(|n| n as u64))
    }

    /// The members, in order.
    pub fn members(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.members.iter().map(|(name, value)| (&**name, *value))
    }

    /// The object's text with some members' values replaced; one that is not there is added at the end. All else stays byte for byte.
    pub fn with(&self, edits: &[(&str, String)]) -> String {
        let mut spans = Vec::new();
        let mut added = String::new();
        for (key, value) in edits {
            match self.get(key) {
                Some(old) => spans.push((self.offset(old), old.len(), value)),
                None => {
                    push_string(&mut added, key);
                    added.push(':');
                    added.push_str(value);
                    added.push(',');
                }
            }
        }
        // What is added goes behind the last member, before whatever white space precedes the brace.
        let end = match self.members.last() {
            Some((_, value)) => self.offset(value) + value.len(),
            None => self.text.find('{').map_or(0, |brace| brace + 1),
        };
        if added.pop().is_some() {
            if !self.members.is_empty() {
                added.insert(0, ',');
            }
            spans.push((end, 0, &added));
        }
        spans.sort_unstable();
        let mut out = String::with_capacity(self.text.len() + spans.iter().map(|span| span.2.len()).sum::<usize>());
        let mut from = 0;
        for (at, length, value) in spans {
            out.push_str(&self.text[from..at]);
            out.push_str(value);
            from = at + length;
        }
        out.push_str(&self.text[from..]);
        out
    }

    /// The object's text without a member; the others byte for byte, what stands between them the usual way.
    pub fn without(&self, key: &str) -> String {
        let mut out = String::from("{");
        for (name, value) in self.members().filter(|(name, _)| *name != key) {
            if out.len() > 1 {
                out.push(',');
            }
            push_string(&mut out, name);
            out.push(':');
            out.push_str(value);
        }
        out.push('}');
        out
    }

    /// Where a member's value stands in the text that it is a slice of.
    fn offset(&self, value: &str) -> usize {
        value.as_ptr() as usize - self.text.as_ptr() as usize
    }
}

/// The elements of a JSON array as text.
pub fn elements(text: &str) -> Result<Vec<&str>, serde_json::Error> {
    let elements: Vec<&RawValue> = serde_json::from_str(text)?;
    Ok(elements.into_iter().map(RawValue::get).collect())
}

/// The value of a JSON string, quotes included in `text`; `None` for every other kind of value. Borrowed when nothing is escaped.
pub fn string(text: &str) -> Option<Cow<'_, str>> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    match memchr(b'\\', inner.as_bytes()) {
        None => Some(Cow::Borrowed(inner)),
        Some(_) => unescape(inner).map(Cow::Owned),
    }
}

/// Resolves the escapes of a string whose grammar was checked before.
fn unescape(inner: &str) -> Option<String> {
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = memchr(b'\\', rest.as_bytes()) {
        out.push_str(&rest[..at]);
        let escape = *rest.as_bytes().get(at + 1)?;
        rest = &rest[at + 2..];
        if escape == b'u' {
            let (character, after) = unicode_escape(rest)?;
            out.push(character);
            rest = after;
        } else {
            out.push(simple_escape(escape)?);
        }
    }
    out.push_str(rest);
    Some(out)
}

/// The character for a backslash and this byte, `\u` aside.
pub fn simple_escape(byte: u8) -> Option<char> {
    Some(match byte {
        b'"' | b'\\' | b'/' => char::from(byte),
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        _ => return None,
    })
}

/// The character that begins with four hex digits, after `\u`, and what follows it. Half of a pair alone is U+FFFD.
fn unicode_escape(rest: &str) -> Option<(char, &str)> {
    let unit = |text: &str| text.get(..4).and_then(|digits| u32::from_str_radix(digits, 16).ok());
    let first = unit(rest)?;
    let rest = &rest[4..];
    if let Some(character) = char::from_u32(first) {
        return Some((character, rest));
    }
    let second = rest.strip_prefix("\\u").and_then(unit).filter(|second| (0xdc00..0xe000).contains(second));
    match (first, second) {
        (..0xdc00, Some(second)) => Some((char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00))?, &rest[6..])),
        _ => Some(('\u{fffd}', rest)),
    }
}

struct MemberIterator<'a>(Vec<(Cow<'a, str>, &'a str)>);

impl<'de: 'a, 'a> Deserialize<'de> for MemberIterator<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = MemberIterator<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((key, value)) = map.next_entry::<&RawValue, &RawValue>()? {
                    members.push((string(key.get()).unwrap_or_default(), value.get()));
                }
                Ok(MemberIterator(members))
            }
        }
        deserializer.deserialize_map(All)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n_8_members_are_slices_and_the_last_of_duplicates_wins() {
        let object = RawObject::parse(r#" {"a":1e3 , "b\u0020":[ 1 ],"a": "x\ud83d"} "#).unwrap();
        let members: Vec<_> = object.members().collect();
        assert_eq!(members, [("a", "1e3"), ("b ", "[ 1 ]"), ("a", r#""x\ud83d""#)]);
        assert_eq!(object.string("a").unwrap(), "x\u{fffd}");
        assert!(RawObject::parse("[1]").unwrap_err().to_string().contains("expected a JSON object"));
        assert!(RawObject::parse("{} x").is_err());
    }

    #[test]
    fn n_2_escapes_are_resolved_as_the_parser_does() {
        for text in [r#""""#, r#""a\"\\\/\b\f\n\r\t""#, r#""\u00e9\u4e16\ud83d\ude80 é""#, r#""\u0000""#] {
            assert_eq!(string(text).unwrap(), serde_json::from_str::<String>(text).unwrap(), "{text}");
        }
    }

    #[test]
    fn n_2_half_a_surrogate_pair_reads_as_a_replacement() {
        for (text, value) in [
            (r#""\ud83d""#, "\u{fffd}"),
            (r#""\ude80\ud83d""#, "\u{fffd}\u{fffd}"),
            (r#""\ud83dx""#, "\u{fffd}x"),
            (r#""\ud83d\n""#, "\u{fffd}\n"),
            (r#""\ud83d\u0041""#, "\u{fffd}A"),
            (r#""\ud83d\ud83d\ude80""#, "\u{fffd}🚀"),
        ] {
            assert_eq!(string(text).unwrap(), value, "{text}");
        }
    }

    #[test]
    fn n_2_counts_are_whole_numbers_however_written() {
        let object = RawObject::parse(r#"{"a":12,"b":1.2e1,"c":1.5,"d":-1,"e":"12","f":null,"g":18446744073709551615}"#).unwrap();
        let counts: Vec<_> = ["a", "b", "c", "d", "e", "f", "g", "h"].iter().map(|key| object.count(key)).collect();
        assert_eq!(counts, [Some(12), Some(12), None, None, None, None, Some(u64::MAX), None]);
    }

    #[test]
    fn n_8_an_edit_leaves_everything_else_as_it_was() {
        let edit = |text: &str, edits: &[(&str, &str)]| {
            let edits: Vec<_> = edits.iter().map(|(key, value)| (*key, String::from(*value))).collect();
            RawObject::parse(text).unwrap().with(&edits)
        };
        assert_eq!(edit(r#"{ "b" :1e3, "a":"" ,"c":null }"#, &[("a", "\"x\"")]), r#"{ "b" :1e3, "a":"x" ,"c":null }"#);
        assert_eq!(edit(r#"{"a":1,"b":2}"#, &[("b", "20"), ("a", "10")]), r#"{"a":10,"b":20}"#);
        assert_eq!(edit(r#"{"a":1,"a":2}"#, &[("a", "3")]), r#"{"a":1,"a":3}"#);
        assert_eq!(edit(r#"{"a":1 }"#, &[("b", "2"), ("c", "3")]), r#"{"a":1,"b":2,"c":3 }"#);
        assert_eq!(edit(r#"{"a":1 }"#, &[("b", "2"), ("a", "100")]), r#"{"a":100,"b":2 }"#);
        assert_eq!(edit(" { } ", &[("a", "1")]), r#" {"a":1 } "#);
        assert_eq!(edit(r#"{"a":1}"#, &[]), r#"{"a":1}"#);
    }
}
