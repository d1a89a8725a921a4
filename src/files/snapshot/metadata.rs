//! A snapshot's metadata: ordered entries of YAML, each kept as the text it was read from.
//!
//! Only plain values are written here (a word, a number, a quoted text), in the manner of insta, so that a file does not change when the
//! one or the other program writes it. Other contents of a file (lists, block texts) are passed through.

use super::ParseSnapshotError;
use saphyr_parser::{Event, Parser};
use std::fmt;

/// The entries between the `---` lines. Its `Display` is their text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SnapshotMetadata {
    entries: Vec<MetadataEntry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct MetadataEntry {
    key: String,
    /// The entry's lines as in the file, key included, each ended by `\n`.
    text: String,
}

/// The order in which insta writes the keys; unknown ones come last.
const ORDER: &[&str] = &["source", "assertion_line", "description", "expression", "info", "input_file", "extension", "snapshot_kind"];

impl SnapshotMetadata {
    /// Where the snapshot comes from: the scenario's path, relative to the checkout, with `/` between its parts.
    pub fn source(&self) -> Option<String> {
        self.get("source")
    }

    /// The subject of the snapshot: the scenario's title.
    pub fn description(&self) -> Option<String> {
        self.get("description")
    }

    /// The rendered run: for a run of a scenario's matrix, its name.
    pub fn expression(&self) -> Option<String> {
        self.get("expression")
    }

    /// The value of any key, if it is a plain one (text or number).
    pub fn get(&self, key: &str) -> Option<String> {
        let entry = self.entries.iter().find(|entry| entry.key == key)?;
        bare_value(&entry.text).map_or_else(|| text_value(&entry.text), |value| (value != "~").then(|| value.to_string()))
    }

    /// With this text for this key, in the place of an earlier one or where insta would put it.
    #[must_use]
    pub fn with(mut self, key: &str, value: &str) -> SnapshotMetadata {
        let entry = MetadataEntry { key: key.to_string(), text: format!("{key}: {}\n", YamlScalar(value)) };
        if let Some(old) = self.entries.iter_mut().find(|entry| entry.key == key) {
            *old = entry;
        } else {
            let behind = self.entries.iter().position(|other| rank(&other.key) > rank(key));
            self.entries.insert(behind.unwrap_or(self.entries.len()), entry);
        }
        self
    }

    /// Without this key.
    #[must_use]
    pub fn without(mut self, key: &str) -> SnapshotMetadata {
        self.entries.retain(|entry| entry.key != key);
        self
    }

    /// Takes apart the lines between the `---` lines: an entry begins with a key at the margin and continues to the next.
    pub(super) fn from_lines(lines: &[&str]) -> Result<SnapshotMetadata, ParseSnapshotError> {
        let mut entries: Vec<MetadataEntry> = Vec::new();
        for (index, line) in lines.iter().enumerate() {
            let goes_on = line.is_empty() || line.starts_with([' ', '\t', '-', '#', ']', '}']);
            match (entries.last_mut(), key_of(line)) {
                (Some(last), _) if goes_on => {
                    last.text.push_str(line);
                    last.text.push('\n');
                }
                (_, Some(key)) if !goes_on => entries.push(MetadataEntry { key, text: format!("{line}\n") }),
                (None, _) if line.is_empty() || *line == "{}" || line.starts_with('#') => (),
                // The first `---` is line 1.
                _ => return Err(ParseSnapshotError::BadMetadata { line: index + 2 }),
            }
        }
        Ok(SnapshotMetadata { entries })
    }
}

impl fmt::Display for SnapshotMetadata {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.entries.is_empty() {
            return out.write_str("{}\n");
        }
        self.entries.iter().try_for_each(|entry| out.write_str(&entry.text))
    }
}

/// The key of a line such as `key: value`, without quotes.
fn key_of(line: &str) -> Option<String> {
    let (key, value) = line.split_once(':')?;
    let is_entry = !key.trim().is_empty() && (value.is_empty() || value.starts_with([' ', '\t']));
    is_entry.then(|| key.trim().trim_matches(['"', '\'']).to_string())
}

/// The value of a one-line entry without quotes, as the text it is: insta leaves `0o17` bare, which YAML takes for a number.
fn bare_value(text: &str) -> Option<&str> {
    let (_, value) = text.trim_end().split_once(':')?;
    let value = value.split(" #").next().unwrap_or(value).trim();
    let is_bare = !value.is_empty() && !value.contains('\n') && !value.starts_with(|c: char| "\"'|>[{&*!#".contains(c));
    is_bare.then_some(value)
}

/// The value of an entry that is one text in quotes or in a block. The events of the parser are followed no further than to it: what an entry nests
/// is never built.
fn text_value(entry: &str) -> Option<String> {
    let mut events = Parser::new_from_str(entry).filter_map(|event| match event {
        Ok((Event::StreamStart | Event::DocumentStart(_), _)) => None,
        other => Some(other),
    });
    let mut next = || events.next()?.ok().map(|(event, _)| event);
    match (next()?, next()?, next()?) {
        (Event::MappingStart(..), Event::Scalar(..), Event::Scalar(text, ..)) => Some(text.into_owned()),
        _ => None,
    }
}

fn rank(key: &str) -> usize {
    ORDER.iter().position(|known| *known == key).unwrap_or(ORDER.len())
}

/// A text as a YAML value: bare where that reads back as the same text, else in double quotes.
struct YamlScalar<'a>(&'a str);

impl fmt::Display for YamlScalar<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if reads_back_bare(self.0) {
            return out.write_str(self.0);
        }
        out.write_str("\"")?;
        for c in self.0.chars() {
            match c {
                '"' => out.write_str("\\\"")?,
                '\\' => out.write_str("\\\\")?,
                '\n' => out.write_str("\\n")?,
                '\t' => out.write_str("\\t")?,
                '\r' => out.write_str("\\r")?,
                '\u{8}' => out.write_str("\\b")?,
                '\u{c}' => out.write_str("\\f")?,
                c if c.is_ascii_control() => write!(out, "\\u{:04x}", u32::from(c))?,
                c => write!(out, "{c}")?,
            }
        }
        out.write_str("\"")
    }
}

/// Words that YAML 1.1 takes for a truth value or for nothing, in the three ways of writing each.
const RESERVED_WORDS: &[&str] = &["yes", "no", "true", "false", "on", "off", "null"];

/// Whether a bare text means itself. A little too careful where insta is, so that both write the same.
fn reads_back_bare(text: &str) -> bool {
    let is_reserved = text == "~"
        || RESERVED_WORDS.iter().any(|word| {
            let capitalised = format!("{}{}", word[..1].to_ascii_uppercase(), &word[1..]);
            [*word, &capitalised, &word.to_ascii_uppercase()].contains(&text)
        });
    let is_number = text.starts_with("0x") || text.parse::<i64>().is_ok() || text.parse::<f64>().is_ok();
    let has_mark = text.contains(|c: char| ":{}[],#`\"'\\".contains(c) || c.is_ascii_control());
    let begins_with_mark = text.starts_with(|c: char| "&*?|-<>=!%@.".contains(c));
    let has_space_around = text.starts_with(' ') || text.ends_with(' ');
    !(text.is_empty() || is_reserved || is_number || has_mark || begins_with_mark || has_space_around)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(text: &str) -> SnapshotMetadata {
        SnapshotMetadata::from_lines(&text.lines().collect::<Vec<_>>()).expect("metadata")
    }

    #[test]
    fn v_6_unknown_entries_survive_a_rewrite() {
        let text = "source: a.rs\ninfo:\n  b:\n    - 1\n    - two\nours: |\n  more\n\n  lines\n\"odd key\": 7\nlist:\n- x\n";
        let metadata = metadata(text);
        assert_eq!(metadata.to_string(), text);
        let changed = metadata.with("description", "d").without("source").to_string();
        assert_eq!(changed, text.replace("source: a.rs\n", "description: d\n"));
    }

    #[test]
    fn v_1_values_are_read_in_every_form() {
        let metadata = metadata(
            "source: a.rs\nassertion_line: 12\ndescription: \"say \\\"hi\\\": \\u00e9\"\nexpression: 'it''s'\nnothing: ~\noctal: 0o17 # so\nblock: |-\n  x\n  y\n",
        );
        assert_eq!(metadata.source().as_deref(), Some("a.rs"));
        assert_eq!(metadata.get("assertion_line").as_deref(), Some("12"));
        assert_eq!(metadata.description().as_deref(), Some("say \"hi\": é"));
        assert_eq!(metadata.expression().as_deref(), Some("it's"));
        assert_eq!(metadata.get("block").as_deref(), Some("x\ny"));
        assert_eq!(metadata.get("absent"), None);
        assert_eq!(metadata.get("nothing"), None);
        assert_eq!(metadata.get("octal").as_deref(), Some("0o17"));
    }

    #[test]
    fn k_12_what_an_entry_nests_is_not_built() {
        for nested in ["? ", "- ", "[", "{a: "] {
            let metadata = metadata(&format!("description: {}\n  x\nsource: ok\n", nested.repeat(100_000)));
            assert_eq!(
                (metadata.description(), metadata.source().as_deref()),
                (bare_value(&metadata.entries[0].text).map(str::to_owned), Some("ok"))
            );
        }
    }

    #[test]
    fn v_1_what_is_written_reads_back() {
        let values = [
            "plain words",
            "a: b",
            "",
            " x",
            "yes",
            "Null",
            "1e3",
            "0x1f",
            "-",
            "a\nb",
            "\u{1b}[1m\u{7f}\u{8}",
            "é – ü",
            "back\\slash",
            "NO",
            ".5",
        ];
        for value in values {
            let metadata = metadata(&SnapshotMetadata::default().with("description", value).to_string());
            assert_eq!(metadata.description().as_deref(), Some(value), "{metadata}");
        }
    }

    #[test]
    fn v_1_keys_stand_in_the_order_of_insta() {
        let metadata = SnapshotMetadata::default().with("ours", "x").with("expression", "e").with("source", "s").with("description", "d");
        assert_eq!(metadata.to_string(), "source: s\ndescription: d\nexpression: e\nours: x\n");
        assert_eq!(metadata.with("source", "t").to_string(), "source: t\ndescription: d\nexpression: e\nours: x\n");
        assert_eq!(SnapshotMetadata::default().to_string(), "{}\n");
    }
}
