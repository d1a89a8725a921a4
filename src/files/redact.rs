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

mod answer;
mod blocks;
mod headers;
mod placeholder;
mod region;
mod rules;
pub mod scan;
#[cfg(test)]
mod tests;
mod text_map;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

pub use self::answer::{AnswerRedactor, HeldChunk};
use self::headers::{is_secret as is_secret_header, parameter_is_secret};
use self::placeholder::{SecretNumbers, is_placeholder, placeholder};
use self::region::HeldRegion;
pub use self::rules::{RedactionRules, RulesError};
use crate::prelude::plural;

/// A value that stood in a header is looked for everywhere when it is at least this long: shorter ones are words.
const LEARNED_BYTES_MIN: usize = 12;

/// How many values of headers are looked for: clients have one key, or a few that are renewed.
const LEARNED_MAX: usize = 64;

/// The name of the rule for such values.
const LEARNED: &str = "sent-as-header";

/// Replaces secrets in what goes into one tape.
#[derive(Clone, Debug)]
pub struct Redactor {
    rules: Arc<RedactionRules>,
    numbers: SecretNumbers,
    learned: Vec<Vec<u8>>,
    counts: BTreeMap<String, u64>,
}

/// A secret in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SecretMatch {
    rule: usize,
    /// What the rule needs to see.
    whole: Range<usize>,
    /// What is replaced.
    secret: Range<usize>,
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
        Self { rules: Arc::clone(rules), numbers: SecretNumbers::default(), learned: Vec::new(), counts: BTreeMap::new() }
    }

    /// How often each rule found something.
    pub fn counts(&self) -> &BTreeMap<String, u64> {
        &self.counts
    }

    /// How many different secrets there were.
    pub fn distinct(&self) -> usize {
        self.numbers.count()
    }

    /// A whole body, its length kept.
    pub fn body(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut region = HeldRegion::from_body(bytes.first().copied());
        region.feed_source(0, bytes);
        let mut out = bytes.to_vec();
        for hit in region.decide_all(self) {
            hit.apply(0, &mut out);
        }
        out
    }

    /// Text that is not JSON: the value of a header, a line.
    pub fn text(&mut self, text: &str) -> String {
        let mut region = HeldRegion::plain();
        region.feed_source(0, text.as_bytes());
        let mut out = text.as_bytes().to_vec();
        for hit in region.decide_all(self) {
            hit.apply(0, &mut out);
        }
        // A match may cut a character that is no ASCII; what is left of it is replaced by the reader's mark.
        String::from_utf8_lossy(&out).into_owned()
    }

    /// The placeholder of a secret where it takes `length` bytes.
    fn stand_in(&mut self, rule: &str, secret: &[u8], length: usize) -> Vec<u8> {
        *self.counts.entry(rule.to_owned()).or_default() += 1;
        placeholder(self.numbers.number(secret), length)
    }

    /// Remembers a value that is a secret because of where it stood.
    fn learn(&mut self, secret: &[u8]) {
        if secret.len() >= LEARNED_BYTES_MIN && self.learned.len() < LEARNED_MAX && !self.learned.iter().any(|known| known == secret) {
            self.learned.push(secret.to_vec());
        }
    }

    fn rule_name(&self, rule: usize) -> &str {
        self.rules.names.get(rule).map_or(LEARNED, String::as_str)
    }

    /// Every secret in `text`, in order, none overlapping another.
    fn find(&self, text: &[u8]) -> Vec<SecretMatch> {
        let mut found = Vec::new();
        for rule in &self.rules.any.matches(text) {
            for captures in self.rules.patterns[rule].captures_iter(text) {
                let Some(whole) = captures.get(0) else { continue };
                let secret = captures.iter().skip(1).flatten().next().unwrap_or(whole);
                let (whole, secret) = (whole.range(), secret.range());
                if self.rules.checks[rule].holds(&text[secret.clone()]) {
                    found.push(SecretMatch { rule, whole, secret });
                }
            }
        }
        for secret in &self.learned {
            for at in memchr::memmem::find_iter(text, secret) {
                let range = at..at + secret.len();
                found.push(SecretMatch { rule: self.rules.names.len(), whole: range.clone(), secret: range });
            }
        }
        if found.is_empty() {
            return found;
        }
        found.retain(|found| !found.secret.is_empty() && !is_placeholder(&text[found.secret.clone()]));
        self.keep_opaque(text, &mut found);
        merged(found)
    }

    /// Leaves signatures and encrypted content alone: replay must give them back as they were.
    fn keep_opaque(&self, text: &[u8], found: &mut Vec<SecretMatch>) {
        if found.is_empty() {
            return;
        }
        for captures in self.rules.opaque.captures_iter(text) {
            let opaque = captures.iter().skip(1).flatten().next().map(|group| group.range());
            found.retain(|found| opaque.as_ref().is_none_or(|opaque| found.secret.end <= opaque.start || opaque.end <= found.secret.start));
        }
    }
}

/// Matches that overlap become one, named by the first.
fn merged(mut found: Vec<SecretMatch>) -> Vec<SecretMatch> {
    found.sort_by_key(|found| (found.secret.start, core::cmp::Reverse(found.secret.end)));
    let mut merged: Vec<SecretMatch> = Vec::new();
    for next in found {
        match merged.last_mut() {
            Some(last) if next.secret.start < last.secret.end => {
                last.secret.end = last.secret.end.max(next.secret.end);
                last.whole = last.whole.start.min(next.whole.start)..last.whole.end.max(next.whole.end);
            }
            _ => merged.push(next),
        }
    }
    merged
}

impl SecretHit {
    /// Replaces what lies in `bytes`, whose first byte stands at `start` in the source.
    fn apply(&self, start: u64, bytes: &mut [u8]) {
        let end = start + bytes.len() as u64;
        let mut done = 0;
        for place in &self.places {
            let (from, to) = (place.start.max(start), place.end.min(end));
            if from < to {
                let replacement = &self.replacement[done + (from - place.start) as usize..done + (to - place.start) as usize];
                bytes[(from - start) as usize..(to - start) as usize].copy_from_slice(replacement);
            }
            done += (place.end - place.start) as usize;
        }
    }

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
