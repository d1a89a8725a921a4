//! Secrets replaced before anything is written (K-2).
//!
//! ```text
//!   client ──bytes──> proxy ──the same bytes──> upstream        never altered
//!                       └──> redactor ──> tape                  in memory only; the tape may lag, the client never does
//! ```
//!
//! A secret is replaced where it stands by a placeholder of the same length, inside of strings only; every other byte stays as it came, so a
//! redacted tape replays the packets that were recorded. The same secret has the same placeholder throughout a tape. Some headers are left out whole.
//!
//! Streamed text is held back until it is known whether it is a secret: a block of an answer to its end ([`AnswerRedactor`]), because its text and
//! the input of its tool come in fragments that may cut a secret anywhere.
//!
//! It works on bytes that it is given: no file is opened here, and nothing is sent.
//!
//! Its rules: `docs/rules/record.md` (K-2).

mod answer;
mod assigned_value;
mod assignments;
mod base64_text;
mod blocks;
mod closing;
mod columns;
mod event_text;
mod explore;
mod filler;
mod found_secret;
mod header_values;
mod headers;
mod json;
mod letter_pairs;
mod line_prefix;
mod members;
mod name_bytes;
mod names;
mod placeholder;
mod private_key;
mod region;
mod replacements;
mod rules;
pub mod scan;
mod sections;
mod telling_words;
#[cfg(test)]
mod tests;
mod text_map;
mod value_forms;
mod views;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

pub use self::answer::{AnswerRedactor, HeldChunk};
use self::answer::{is_long, is_stream};
use self::explore::{DEPTH_MAX, SecretExplorer};
use self::found_secret::FoundSecret;
use self::header_values::LearnedValues;
use self::headers::{is_secret as is_secret_header, parameter_is_secret};
use self::json::{JsonStart, JsonStrings};
use self::placeholder::{SecretNumbers, placeholder};
use self::replacements::PendingReplacements;
pub use self::rules::{RedactionOptions, RedactionRules, RulesError};
use reenact_wire::prelude::plural;

/// How often a body is looked at, at most.
const BODY_READINGS_MAX: usize = 8;

/// Replaces secrets in what goes into one tape.
#[derive(Clone, Debug)]
pub struct Redactor {
    rules: Arc<RedactionRules>,
    numbers: SecretNumbers,
    learned: LearnedValues,
    counts: BTreeMap<String, u64>,
    explained: BTreeMap<ReplacedSecret, u64>,
    /// How many bytes of views were looked at.
    work: u64,
    /// Something was too deep inside of other things to be looked at.
    is_too_deep: bool,
}

/// A replaced secret and the reason; never the secret itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReplacedSecret {
    /// The rule.
    pub rule: String,
    /// The name that told, where one did.
    pub name: String,
    /// The placeholder in its place.
    pub placeholder: String,
}

/// A secret and where it stands in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SecretHit {
    rule: usize,
    places: Vec<Range<u64>>,
    replacement: Vec<u8>,
}

impl Redactor {
    /// With these rules, and no secret seen.
    pub fn new(rules: &Arc<RedactionRules>) -> Self {
        Self {
            rules: Arc::clone(rules),
            numbers: SecretNumbers::default(),
            learned: LearnedValues::default(),
            counts: BTreeMap::new(),
            explained: BTreeMap::new(),
            work: 0,
            is_too_deep: false,
        }
    }

    /// How often each rule found something.
    pub fn counts(&self) -> &BTreeMap<String, u64> {
        &self.counts
    }

    /// How many different secrets there were.
    pub fn distinct(&self) -> usize {
        self.numbers.count()
    }

    /// The replaced secrets with the reason, and how often.
    pub fn explained(&self) -> &BTreeMap<ReplacedSecret, u64> {
        &self.explained
    }

    /// The texts that could not be searched, a sentence each, for people: they may hold secrets.
    pub fn unsearched(&self) -> Vec<String> {
        let deep = format!(
            "text lies in text more than {DEPTH_MAX} levels deep and was not searched for secrets: unpack it and run `reenact scan` on it"
        );
        let full = "there were more values of secret headers than are looked for in bodies: run `reenact scan` on the tape";
        let parts = [(self.is_too_deep, deep.as_str()), (self.learned.is_full(), full)];
        parts.into_iter().filter(|(is_so, _)| *is_so).map(|(_, text)| text.to_owned()).collect()
    }

    /// A whole body, its length kept. A search finds nothing in the result.
    pub fn body(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut out = bytes.to_vec();
        // A placeholder may end what hid another secret, so it is looked at again until nothing is found.
        for _ in 0..BODY_READINGS_MAX {
            let is_long = is_long(&out);
            let in_parts = (is_long || is_stream(&out)) && self.replace_in_parts(&mut out);
            let as_one = !is_long && self.replace_as_one(&mut out);
            if !in_parts && !as_one {
                break;
            }
        }
        out
    }

    /// Replaces what is found in a body that is read like an answer; whether there was something.
    fn replace_in_parts(&mut self, body: &mut Vec<u8>) -> bool {
        let mut out = Vec::with_capacity(body.len());
        let mut answer = AnswerRedactor::read_whole(self, body, &mut |chunk| out.extend(chunk.bytes));
        *body = out;
        !answer.take_found().is_empty()
    }

    /// Replaces what is found in a body that is read as one text; whether there was something.
    fn replace_as_one(&mut self, body: &mut [u8]) -> bool {
        let (found, _) = self.explore(body, &JsonStart::Beginning);
        let mut pending = PendingReplacements::default();
        for found in &found {
            let length = found.spans.iter().map(ExactSizeIterator::len).sum();
            let replacement = self.replacement(found, length);
            let places = found.spans.iter().map(|span| span.start as u64..span.end as u64).collect();
            pending.add(&SecretHit { rule: found.rule, places, replacement });
        }
        pending.write(0, body);
        !found.is_empty()
    }

    /// Text that is not JSON: the value of a header, a line.
    pub fn text(&mut self, text: &str) -> String {
        let out = self.body(text.as_bytes());
        // A match may cut a character that is no ASCII; what is left of it is replaced by the reader's mark.
        String::from_utf8_lossy(&out).into_owned()
    }

    /// The placeholder of a secret where it takes `length` bytes.
    fn stand_in(&mut self, rule: &str, name: &str, secret: &[u8], length: usize) -> Vec<u8> {
        let made = placeholder(self.numbers.number(secret), length);
        self.count(rule, name, &made);
        made
    }

    fn count(&mut self, rule: &str, name: &str, placeholder: &[u8]) {
        *self.counts.entry(rule.to_owned()).or_default() += 1;
        let shown = String::from_utf8_lossy(placeholder).trim_end_matches('x').to_owned();
        let replaced = ReplacedSecret { rule: rule.to_owned(), name: name.to_owned(), placeholder: shown };
        *self.explained.entry(replaced).or_default() += 1;
    }

    /// The bytes in the place of a secret, so many.
    fn replacement(&mut self, found: &FoundSecret, length: usize) -> Vec<u8> {
        let rule = self.rule_name(found.rule).to_owned();
        if let Some(packed) = &found.packed {
            let inner = placeholder(self.numbers.number(&found.secret), packed.secret.len());
            let written = packed.written(&inner);
            if written.len() == length {
                self.count(&rule, &found.name, &inner);
                return written;
            }
        }
        self.stand_in(&rule, &found.name, &found.secret, length)
    }

    /// The bytes in the place of everything that follows a match that is too long.
    fn continued(&mut self, length: usize) -> Vec<u8> {
        self.work += length as u64;
        vec![b'x'; length]
    }

    /// Remembers a value that is a secret because of where it stood.
    fn learn(&mut self, secret: &[u8]) {
        self.learned.learn(secret);
    }

    fn rule_name(&self, rule: usize) -> &str {
        self.rules.names.get(rule).map_or("", String::as_str)
    }

    /// Every secret in `text`, in order, none overlapping another; and its strings, where it is JSON.
    fn explore(&mut self, text: &[u8], start: &JsonStart) -> (Vec<FoundSecret>, Option<JsonStrings>) {
        let mut explorer =
            SecretExplorer { rules: &self.rules, learned: &self.learned, work: 0, is_too_deep: false, whole_views: BTreeMap::new() };
        let (mut found, strings) = explorer.explore(text, start);
        self.work += explorer.work;
        self.is_too_deep |= explorer.is_too_deep;
        found.retain(|found| !self.rules.keeps(&self.rules.names[found.rule]));
        (found, strings)
    }
}

impl SecretHit {
    /// Where it begins and ends in the source.
    fn span(&self) -> Range<u64> {
        let start = self.places.first().map_or(0, |place| place.start);
        start..self.places.last().map_or(start, |place| place.end)
    }
}

/// For people: how many secrets were found, and by which rules; `None` when there were none.
pub fn counts_text(counts: &BTreeMap<String, u64>) -> Option<String> {
    let secrets: u64 = counts.values().sum();
    let rules: Vec<&str> = counts.keys().map(String::as_str).collect();
    (secrets > 0).then(|| format!("replaced or left out: {} ({})", plural(secrets, "secret"), rules.join(", ")))
}

/// For people: a table of what was replaced, by which rule, because of which name, and how often; never the secrets.
pub fn explained_text(explained: &BTreeMap<ReplacedSecret, u64>) -> String {
    let rows: Vec<[String; 4]> = explained
        .iter()
        .map(|(replaced, count)| [replaced.placeholder.clone(), replaced.rule.clone(), replaced.name.clone(), format!("{count}x")])
        .collect();
    if rows.is_empty() {
        return String::from("nothing was replaced or left out");
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let (placeholder, rule, name) = (width(0), width(1), width(2));
    let line = |row: &[String; 4]| format!("{:placeholder$}  {:rule$}  {:name$}  {}", row[0], row[1], row[2], row[3]).trim_end().to_owned();
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}
