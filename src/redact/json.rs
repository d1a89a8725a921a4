//! The strings of a JSON text with the names that say what they are (K-2).
//!
//! The reader keeps no tree: it walks over the bytes once. A text in which anything but JSON stands between strings is not JSON, and is then
//! looked at as it is. A text that is cut is JSON as far as it goes.

use std::ops::Range;

/// A string of a JSON text: no key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JsonString {
    /// The text between the quotes, escapes and all.
    pub(super) value: Range<usize>,
    /// The key of its member; in a list the key of the list.
    pub(super) key: Option<Range<usize>>,
    /// Which object or list holds it.
    pub(super) container: usize,
    /// Its place among the values of its container.
    pub(super) position: usize,
}

/// An object or a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JsonContainer {
    /// The key that it has.
    pub(super) key: Option<Range<usize>>,
    /// Which one holds it: itself, if none does.
    pub(super) parent: usize,
    pub(super) is_list: bool,
    values: usize,
}

/// The strings of a text, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JsonStrings {
    pub(super) strings: Vec<JsonString>,
    pub(super) keys: Vec<Range<usize>>,
    pub(super) containers: Vec<JsonContainer>,
}

/// Where a text begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum JsonStart {
    /// At its beginning: whether it is JSON shows there.
    #[default]
    Beginning,
    /// Between strings.
    Structure,
    /// In a string that is the value of this key.
    String(Vec<u8>),
}

impl JsonStrings {
    /// Reads a text; nothing when it is not JSON.
    pub(super) fn read(text: &[u8], start: &JsonStart) -> Option<Self> {
        let first = text.iter().position(|byte| !byte.is_ascii_whitespace()).map(|at| text[at]);
        if *start == JsonStart::Beginning && !matches!(first, Some(b'{' | b'[' | b'"')) {
            return None;
        }
        let mut reader = JsonReader::new(text);
        let mut at = 0;
        if let JsonStart::String(_) = start {
            let end = string_end(text, 0);
            reader.string(0..end);
            at = end + 1;
        }
        while at < text.len() {
            at = reader.token(at)?;
        }
        // A line of quoted fields is none.
        let is_row = *start == JsonStart::Beginning && first == Some(b'"') && reader.found.containers[0].values > 1;
        (!is_row).then_some(reader.found)
    }

    /// The strings of every object and list that stands in a text which is no JSON as a whole. What begins as one counts as far as it goes.
    pub(super) fn in_text(text: &[u8]) -> Vec<Self> {
        let (mut found, mut at) = (Vec::new(), 0);
        while let Some(start) = text.get(at..).and_then(|rest| memchr::memchr2(b'{', b'[', rest)) {
            let mut reader = JsonReader::new(text);
            at += start;
            let mut string = None;
            loop {
                // A string ends with its line.
                let is_broken = |end: usize| text[at] == b'"' && memchr::memchr(b'\n', &text[at..end.min(text.len())]).is_some();
                let Some(end) = reader.token(at).filter(|end| !is_broken(*end)) else { break };
                string = (text[at] == b'"' && end < text.len()).then_some(at);
                at = end;
                if reader.open.len() == 1 || at >= text.len() {
                    break;
                }
            }
            // The string that was broken off is none.
            reader.found.strings.truncate(reader.found.strings.partition_point(|string| string.value.start <= at));
            // What fails behind a string may have begun in it: the quotes are those of a text in another string.
            at = string.map_or(at, |string| string + 1);
            found.extend((!reader.found.strings.is_empty()).then_some(reader.found));
        }
        found
    }

    /// How a text begins that is cut off at `at`.
    pub(super) fn start_at(&self, text: &[u8], at: usize, before: &JsonStart) -> JsonStart {
        let index = self.strings.partition_point(|string| string.value.end < at);
        match self.strings.get(index) {
            Some(string) if string.value.start <= at && at <= string.value.end => match &string.key {
                Some(key) => JsonStart::String(text[key.clone()].to_vec()),
                None if string.value.start == 0 && matches!(before, JsonStart::String(_)) => before.clone(),
                None => JsonStart::String(Vec::new()),
            },
            _ => JsonStart::Structure,
        }
    }
}

struct JsonReader<'a> {
    text: &'a [u8],
    found: JsonStrings,
    open: Vec<usize>,
    key: Option<Range<usize>>,
}

impl<'a> JsonReader<'a> {
    fn new(text: &'a [u8]) -> Self {
        let around = JsonContainer { key: None, parent: 0, is_list: false, values: 0 };
        let found = JsonStrings { strings: Vec::new(), keys: Vec::new(), containers: vec![around] };
        Self { text, found, open: vec![0], key: None }
    }

    /// Reads one token; gives the place behind it.
    fn token(&mut self, at: usize) -> Option<usize> {
        match self.text[at] {
            b'"' => {
                let end = string_end(self.text, at + 1);
                let after = self.text[(end + 1).min(self.text.len())..].iter().find(|byte| !byte.is_ascii_whitespace());
                if after == Some(&b':') {
                    self.key = Some(at + 1..end);
                    self.found.keys.push(at + 1..end);
                } else {
                    self.string(at + 1..end);
                }
                Some(end + 1)
            }
            open @ (b'{' | b'[') => {
                self.count();
                let parent = self.open.last().copied().unwrap_or_default();
                self.open.push(self.found.containers.len());
                self.found.containers.push(JsonContainer { key: self.key.take(), parent, is_list: open == b'[', values: 0 });
                Some(at + 1)
            }
            b'}' | b']' => {
                if self.open.len() > 1 {
                    self.open.pop();
                }
                self.key = None;
                Some(at + 1)
            }
            b',' => {
                self.key = None;
                Some(at + 1)
            }
            b':' | b' ' | b'\t' | b'\r' | b'\n' => Some(at + 1),
            _ => {
                let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
                let word = &self.text[at..at + self.text[at..].iter().take_while(|byte| is_word(byte)).count()];
                let is_number = word.first().is_some_and(|byte| byte.is_ascii_digit() || *byte == b'-')
                    && word.iter().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(byte));
                let is_literal = [&b"true"[..], b"false", b"null"].contains(&word);
                // The last word of a text that is cut may be a part of one.
                let is_cut =
                    at + word.len() == self.text.len() && [&b"true"[..], b"false", b"null"].iter().any(|whole| whole.starts_with(word));
                self.count();
                (!word.is_empty() && (is_number || is_literal || is_cut)).then_some(at + word.len())
            }
        }
    }

    fn string(&mut self, value: Range<usize>) {
        let position = self.count();
        let container = self.open.last().copied().unwrap_or_default();
        let of_list = || self.found.containers[container].is_list.then(|| self.found.containers[container].key.clone()).flatten();
        let key = self.key.take().or_else(of_list);
        self.found.strings.push(JsonString { value, key, container, position });
    }

    /// Counts a value of the open container.
    fn count(&mut self) -> usize {
        let container = &mut self.found.containers[self.open.last().copied().unwrap_or_default()];
        container.values += 1;
        container.values - 1
    }
}

/// Where the string ends that begins at `at`: at its quote, or with the text.
fn string_end(text: &[u8], mut at: usize) -> usize {
    while let Some(next) = text.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += next;
        if text[at] == b'"' {
            return at;
        }
        at += 2;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Option<Vec<(String, String)>> {
        let read = JsonStrings::read(text.as_bytes(), &JsonStart::Beginning)?;
        let part = |range: Range<usize>| text[range].to_owned();
        Some(read.strings.into_iter().map(|string| (string.key.map(part).unwrap_or_default(), part(string.value))).collect())
    }

    #[test]
    fn k_2_strings_are_known_by_their_keys() {
        let found = shown(r#" {"a": "b\"c", "d": [1, "e", {"f":"g"}, null], "h" : true, "i":"cut"#).unwrap();
        let pairs: Vec<(&str, &str)> = found.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(pairs, [("a", "b\\\"c"), ("d", "e"), ("f", "g"), ("i", "cut")]);
    }

    #[test]
    fn k_2_json_is_found_in_text_as_far_as_it_goes() {
        let found = |text: &str| {
            let strings = JsonStrings::in_text(text.as_bytes()).into_iter().flat_map(|json| json.strings);
            strings.map(|string| text[string.value].to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(found("[info] x = {\n \"a\": {\"b\": [\"c\"]}\n}; {\"d\":\"e\", oops: \"f\"} [\"g\"]"), ["c", "e", "g"]);
        assert_eq!(found("{\"a\": \"not\nclosed\", \"x\": {\"b\":\"c\"}"), ["c"]);
        assert_eq!(found("{\"cut"), ["cut"]);
        // The escapes of text in a string are resolved.
        assert_eq!(found("log: {\"a\": \"x: {\"b\":{\"c\":\"d\"}}\"}").last().map(String::as_str), Some("d"));
    }

    #[test]
    fn k_2_what_only_begins_like_json_is_none() {
        for text in ["[error] invalid key", "\"a\",\"b\"", "{ name: 1 }", "\"a\" and more", "{\"a\":1} trailing", "plain", ""] {
            assert_eq!(shown(text), None, "{text}");
        }
    }
}
