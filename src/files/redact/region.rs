//! A stretch of text in which secrets are looked for as a whole: a body, or one block of an answer.
//!
//! It is decided when it ends. What grows too long is decided but for its last part, in which a secret may be unfinished; so memory does not grow
//! with an answer.

use super::text_map::{ByteRole, Flattener, MappedText};
use super::{Redactor, SecretHit, SecretMatch};

/// How much text is held before a part of it is decided.
const HELD_BYTES_MAX: usize = 64 << 10;

/// How much of the end is not decided then: what a rule needs to see at once.
const WINDOW_BYTES: usize = 16 << 10;

/// What is still one match after this much text is decided as it is.
const MATCH_BYTES_MAX: usize = 1 << 20;

/// Text that is held.
#[derive(Clone, Debug)]
pub(super) struct HeldRegion {
    /// What rules look at.
    flat: MappedText,
    form: RegionForm,
}

#[derive(Clone, Debug)]
enum RegionForm {
    /// The source is the text.
    Plain,
    /// The source is JSON.
    Json(Flattener),
    /// The source comes in fragments that are strings of JSON; their text is the text.
    Fragments,
    /// The text of the fragments is itself JSON: it, with its places in the source, and how far it was read.
    JsonFragments(Flattener, Box<MappedText>),
}

impl HeldRegion {
    /// For text.
    pub(super) fn plain() -> Self {
        Self { flat: MappedText::default(), form: RegionForm::Plain }
    }

    /// For a body, as its first byte has it.
    pub(super) fn from_body(first: Option<u8>) -> Self {
        match first {
            Some(b'{' | b'[' | b'"' | b' ' | b'\t' | b'\r' | b'\n') => Self::json(),
            _ => Self::plain(),
        }
    }

    /// For JSON.
    pub(super) fn json() -> Self {
        Self { flat: MappedText::default(), form: RegionForm::Json(Flattener::document()) }
    }

    /// For a block whose fragments are text.
    pub(super) fn text_block() -> Self {
        Self { flat: MappedText::default(), form: RegionForm::Fragments }
    }

    /// For a block whose fragments are JSON.
    pub(super) fn json_block() -> Self {
        Self { flat: MappedText::default(), form: RegionForm::JsonFragments(Flattener::document(), Box::default()) }
    }

    /// The next bytes of the source.
    pub(super) fn feed_source(&mut self, origin: u64, bytes: &[u8]) {
        match &mut self.form {
            RegionForm::Json(flattener) => flattener.feed(origin, bytes, &mut self.flat),
            RegionForm::Plain | RegionForm::Fragments | RegionForm::JsonFragments(..) => {
                self.flat.push_run(origin, bytes, ByteRole::String)
            }
        }
    }

    /// The next fragment: what stands between the quotes, in pieces with their origins.
    pub(super) fn feed_fragment<'a>(&mut self, pieces: impl Iterator<Item = (u64, u64, &'a [u8])>) {
        let mut string = Flattener::string();
        match &mut self.form {
            RegionForm::JsonFragments(document, text) => {
                let before = text.end();
                pieces.for_each(|(origin, _, bytes)| string.feed(origin, bytes, text));
                let new = text.local(before)..text.text().len();
                document.feed(before, &text.text()[new], &mut self.flat);
            }
            RegionForm::Plain | RegionForm::Json(_) | RegionForm::Fragments => {
                pieces.for_each(|(origin, _, bytes)| string.feed(origin, bytes, &mut self.flat));
            }
        }
    }

    /// Where the source is not decided yet.
    pub(super) fn undecided(&self) -> Option<u64> {
        let of_flat = self.flat.first_origin();
        match &self.form {
            RegionForm::Plain | RegionForm::Fragments => of_flat,
            RegionForm::Json(flattener) => of_flat.or_else(|| flattener.open_escape()),
            // What was decided was dropped from the fragments' text, too.
            RegionForm::JsonFragments(_, text) => text.first_origin(),
        }
    }

    /// Decides what no longer depends on what follows, once there is much.
    pub(super) fn decide_some(&mut self, redactor: &mut Redactor) -> Vec<SecretHit> {
        let length = self.flat.text().len();
        if length < HELD_BYTES_MAX {
            return Vec::new();
        }
        let found = redactor.find(self.flat.text());
        let mut keep = length - WINDOW_BYTES;
        while let Some(open) = found.iter().find(|found| found.whole.start < keep && found.whole.end > keep) {
            keep = open.whole.start;
        }
        if keep == 0 && length > MATCH_BYTES_MAX {
            keep = length;
        }
        self.settle(&found, keep, redactor)
    }

    /// Decides everything: nothing follows.
    pub(super) fn decide_all(&mut self, redactor: &mut Redactor) -> Vec<SecretHit> {
        let found = redactor.find(self.flat.text());
        let hits = self.settle(&found, self.flat.text().len(), redactor);
        if let RegionForm::JsonFragments(_, text) = &mut self.form {
            text.drop_before(u64::MAX);
        }
        hits
    }

    /// Turns matches before `keep` into hits, and forgets the text before it.
    fn settle(&mut self, found: &[SecretMatch], keep: usize, redactor: &mut Redactor) -> Vec<SecretHit> {
        let mut hits = Vec::new();
        for found in found.iter().filter(|found| found.whole.end <= keep) {
            let secret = self.flat.in_one_string(found.secret.clone());
            if secret.is_empty() {
                continue;
            }
            let places = self.flat.origins(secret.clone());
            let places = match &self.form {
                RegionForm::JsonFragments(_, text) => {
                    let inner = places.iter().flat_map(|place| text.origins(text.local(place.start)..text.local(place.end)));
                    inner.collect()
                }
                RegionForm::Plain | RegionForm::Json(_) | RegionForm::Fragments => places,
            };
            let length: u64 = places.iter().map(|place| place.end - place.start).sum();
            let rule = redactor.rule_name(found.rule).to_owned();
            let replacement = redactor.stand_in(&rule, &self.flat.text()[secret], length as usize);
            hits.push(SecretHit { rule: found.rule, places, replacement });
        }
        self.flat.drop_first(keep);
        if let RegionForm::JsonFragments(flattener, text) = &mut self.form {
            let reached = self.flat.first_origin().or_else(|| flattener.open_escape()).unwrap_or_else(|| text.end());
            text.drop_before(reached);
        }
        hits
    }
}
