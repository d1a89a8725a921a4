//! A stretch of text in which secrets are looked for as a whole: a body, or one block of an answer.
//!
//! It is decided when it ends. What grows too long is decided but for its last part, in which a secret may be unfinished; so memory does not grow
//! with an answer, and each byte is looked at a few times only, however long a match stays open.

use super::closing::CLOSING_SIGNS_MAX;
use super::json::JsonStart;
use super::private_key::KEY_BYTES_MAX;
use super::rules::BuiltinRule;
use super::text_map::{ByteRole, Flattener, MappedText};
use super::{Redactor, SecretHit};

/// How much text is held before a part of it is decided.
const HELD_BYTES_MAX: usize = 64 << 10;

/// How much of the end is not decided then: what a rule needs to see at once.
const WINDOW_BYTES: usize = 16 << 10;

/// How far a cut is moved to a place between words.
const CUT_BYTES: usize = 4 << 10;

/// Text that is held.
#[derive(Clone, Debug)]
pub(super) struct HeldRegion {
    text: MappedText,
    start: JsonStart,
    /// How much there must be until it is looked at again.
    next: usize,
    /// A match became too long to wait for its end: what follows is replaced.
    overlong: Option<usize>,
}

impl Default for HeldRegion {
    fn default() -> Self {
        Self { text: MappedText::default(), start: JsonStart::Beginning, next: HELD_BYTES_MAX, overlong: None }
    }
}

impl HeldRegion {
    /// The next bytes of the source.
    pub(super) fn feed_source(&mut self, origin: u64, bytes: &[u8]) {
        self.text.push_run(origin, bytes, ByteRole::String);
    }

    /// The end of a line whose own bytes stay.
    pub(super) fn feed_line_end(&mut self, origin: u64) {
        self.text.push_run(origin, b"\n", ByteRole::Structure);
    }

    /// The next fragment: what stands between the quotes, in pieces with their origins.
    pub(super) fn feed_fragment<'a>(&mut self, pieces: impl Iterator<Item = (u64, u64, &'a [u8])>) {
        let mut string = Flattener::string();
        pieces.for_each(|(origin, _, bytes)| string.feed(origin, bytes, &mut self.text));
    }

    /// Where the source is not decided yet.
    pub(super) fn undecided(&self) -> Option<u64> {
        self.text.first_origin()
    }

    /// Decides what no longer depends on what follows, once there is much.
    pub(super) fn decide_some(&mut self, redactor: &mut Redactor) -> Vec<SecretHit> {
        if self.overlong.is_some() {
            return self.replace_rest(redactor);
        }
        let length = self.text.text().len();
        if length < self.next {
            return Vec::new();
        }
        let (found, strings) = redactor.explore(self.text.text(), &self.start);
        let mut keep = cut_near(self.text.text(), length - WINDOW_BYTES);
        let mut open = None;
        for found in &found {
            let hull = found.hull();
            // What reaches the end may continue. A private key may also where its last line has ended.
            let is_key = found.rule == BuiltinRule::PrivateKey as usize;
            let is_open = hull.end + 1 + CLOSING_SIGNS_MAX >= length || is_key && hull.end + WINDOW_BYTES / 8 >= length;
            if hull.start < keep && hull.end > keep {
                let most = if is_key { KEY_BYTES_MAX } else { HELD_BYTES_MAX };
                match is_open {
                    true if length - hull.start < most => keep = hull.start,
                    true => open = Some(found.rule),
                    // Decided: it goes out whole.
                    false => keep = hull.end,
                }
            }
        }
        if open.is_some() {
            keep = length;
        }
        let start = strings.map_or(JsonStart::Structure, |strings| strings.start_at(self.text.text(), keep, &self.start));
        let is_json = start != JsonStart::Structure || self.start != JsonStart::Beginning || keep > 0;
        let hits = self.settle(&found, keep, redactor);
        if keep > 0 && is_json {
            self.start = start;
        }
        self.overlong = open;
        // Twice as much: so what stays open is looked at a few times only.
        self.next = (2 * (length - keep)).max(HELD_BYTES_MAX);
        hits
    }

    /// Decides everything: nothing follows.
    pub(super) fn decide_all(&mut self, redactor: &mut Redactor) -> Vec<SecretHit> {
        if self.overlong.is_some() {
            return self.replace_rest(redactor);
        }
        let (found, _) = redactor.explore(self.text.text(), &self.start);
        self.settle(&found, self.text.text().len(), redactor)
    }

    /// Turns what was found before `keep` into hits, and forgets the text before it.
    fn settle(&mut self, found: &[super::found_secret::FoundSecret], keep: usize, redactor: &mut Redactor) -> Vec<SecretHit> {
        let mut hits = Vec::new();
        for found in found.iter().filter(|found| found.hull().end <= keep) {
            let places: Vec<_> = found.spans.iter().flat_map(|span| self.text.origins(span.clone())).collect();
            let length: u64 = places.iter().map(|place| place.end - place.start).sum();
            if length == 0 {
                continue;
            }
            let replacement = redactor.replacement(found, length as usize);
            hits.push(SecretHit { rule: found.rule, places, replacement });
        }
        self.text.drop_first(keep);
        hits
    }

    /// Replaces the rest of an overlong match, up to the end of the string that it stands in.
    fn replace_rest(&mut self, redactor: &mut Redactor) -> Vec<SecretHit> {
        let text = self.text.text();
        let end = match self.start {
            JsonStart::String(_) => quote_in(text),
            JsonStart::Beginning | JsonStart::Structure => None,
        };
        let places = self.text.origins(0..end.unwrap_or(text.len()));
        let length: u64 = places.iter().map(|place| place.end - place.start).sum();
        let rule = self.overlong.unwrap_or(BuiltinRule::Undecided as usize);
        self.text.drop_first(end.unwrap_or(self.text.text().len()));
        if end.is_some() {
            self.overlong = None;
        }
        if length == 0 {
            return Vec::new();
        }
        vec![SecretHit { rule, places, replacement: redactor.continued(length as usize) }]
    }
}

/// The quote that ends a string.
fn quote_in(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

/// A place at or a little behind `at` that is in no word and in no escape.
fn cut_near(text: &[u8], at: usize) -> usize {
    let is_between = |at: &usize| {
        let (before, here) = (text[*at - 1], text[*at]);
        before != b'\\' && (here.is_ascii_whitespace() || here == b'"' || here == b'\'' || here == b',')
    };
    let between = (at.max(1)..text.len().min(at + CUT_BYTES)).find(is_between);
    // In a long run of base64 at a group of four, or the rest could not be unpacked.
    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(*byte);
    between.unwrap_or_else(|| at - text[..at].iter().rev().take_while(is_part).count() % 4)
}
