//! Secrets in every view of a text (K-2).
//!
//! ```text
//! bytes ──> view ──> rules ──> hits
//!             └──> views of it: strings of JSON, escapes resolved, percent, base64 ──> rules ──> hits, mapped back, joined
//! ```
//!
//! A view is text with the places that it comes from ([`MappedText`]). Its own views are found in it in the same way, to a depth of eight. What is
//! found in any of them is a hit at the places of the text that was given.

use std::collections::BTreeMap;
use std::ops::Range;

use super::assignments::{self, NamedValue};
use super::base64_text::{self, PackedText};
use super::closing;
use super::columns;
use super::event_text;
use super::found_secret::FoundSecret;
use super::header_values::LearnedValues;
use super::json::{JsonStart, JsonString, JsonStrings};
use super::members::{MemberNames, scheme_length};
use super::placeholder::{is_placeholder, placeholders};
use super::private_key;
use super::rules::{BuiltinRule, RedactionRules};
use super::sections;
use super::text_map::{Flattener, MappedText};
use super::views::{self, percent_byte};

/// How many views may be inside of one another.
pub const DEPTH_MAX: usize = 8;

/// To what depth a plus is read as the blank of a form as well as what it is, beside percent signs.
const FORM_DEPTH_MAX: usize = 3;

/// To what depth the strings of JSON in the middle of a text are read by themselves.
const JSON_DEPTH_MAX: usize = 6;

/// Stands for the rule of what is found and is a placeholder.
const PLACEHOLDER: usize = usize::MAX;

/// How much of a value shows its shape.
const SHAPE_BYTES: usize = 256;

/// Looks for secrets, and counts the bytes that it looked at.
pub(super) struct SecretExplorer<'a> {
    pub(super) rules: &'a RedactionRules,
    pub(super) learned: &'a LearnedValues,
    pub(super) work: u64,
    /// There are views inside of the deepest: they were not looked at.
    pub(super) is_too_deep: bool,
    /// The views of the whole of the text that is looked at: the digest of each, and the least depth at which it was read.
    pub(super) whole_views: BTreeMap<[u8; 32], usize>,
}

impl SecretExplorer<'_> {
    /// Every secret of a text, in order, none overlapping another; and its strings, where it is JSON.
    pub(super) fn explore(&mut self, text: &[u8], start: &JsonStart) -> (Vec<FoundSecret>, Option<JsonStrings>) {
        let (mut found, strings) = self.document(text, start, 0);
        let is_replaced = |found: &FoundSecret| is_placeholder(&found.secret) || is_placeholder(&spelt(text, found));
        found.retain(|found| !found.spans.is_empty() && (found.rule == PLACEHOLDER || !is_replaced(found)));
        (joined(without_parts(found)), strings)
    }

    fn document(&mut self, text: &[u8], start: &JsonStart, depth: usize) -> (Vec<FoundSecret>, Option<JsonStrings>) {
        self.work += text.len() as u64;
        let (mut found, strings) = match JsonStrings::read(text, start) {
            Some(strings) => (self.strings(text, &strings, start, depth), Some(strings)),
            None => (self.text(text, depth), None),
        };
        let placeholders = if depth > 0 { placeholders(text) } else { Vec::new() };
        found.extend(placeholders.into_iter().map(|place| direct(PLACEHOLDER, String::new(), text, vec![place], depth)));
        (found, strings)
    }

    /// The strings of JSON, each a view of its own.
    fn strings(&mut self, text: &[u8], json: &JsonStrings, start: &JsonStart, depth: usize) -> Vec<FoundSecret> {
        let mut found = Vec::new();
        let known = match start {
            JsonStart::String(key) => key.as_slice(),
            JsonStart::Beginning | JsonStart::Structure => &[],
        };
        let members = MemberNames { text, json, known };
        for (index, string) in json.strings.iter().enumerate() {
            let value = &text[string.value.clone()];
            if value.is_empty() || members.is_opaque(index) && !self.begins_as_secret(value) {
                continue;
            }
            if let Some((rule, name)) = members.rule(index) {
                let name = String::from_utf8_lossy(name).into_owned();
                found.push(self.whole_string(text, string, rule, name, depth));
                continue;
            }
            found.extend(self.string(text, string.value.clone(), depth));
        }
        let parts = private_key::find_in_json(text).into_iter();
        found.extend(parts.map(|part| direct(BuiltinRule::PrivateKey as usize, String::new(), text, vec![part], depth)));
        if depth < DEPTH_MAX {
            // A key that is written with escapes is known in the text without them.
            let is_spelt = json.keys.iter().any(|key| text[key.clone()].contains(&b'\\'));
            let escapes = views::escapes(text).filter(|_| is_spelt);
            for view in event_text::deltas(text, json).into_iter().chain(views::colours(text)).chain(escapes) {
                found.extend(self.child(&view, text.len(), depth));
            }
        }
        // A key is never a secret because of a name, but what has the shape of one is a secret also as a key.
        for key in &json.keys {
            if key.len() >= 16 && key.len() < 4096 {
                let mut of_key = Vec::new();
                self.patterns(&text[key.clone()], depth, &mut of_key);
                of_key.retain(|found| found.rule >= BuiltinRule::COUNT && self.rules.has_shape(found.rule));
                found.extend(of_key.into_iter().map(|found| shifted(found, key.start)));
            }
        }
        found
    }

    /// Whether a value that looks like base64 of no text has the shape of a secret from its first byte on.
    fn begins_as_secret(&self, value: &[u8]) -> bool {
        let mut found = Vec::new();
        self.patterns(&value[..value.len().min(SHAPE_BYTES)], 0, &mut found);
        found.iter().any(|found| found.hull().start == 0 && self.rules.has_shape(found.rule))
    }

    /// The strings of JSON in a text that are secrets because of their names. What else is in them is seen in the text.
    fn members(&self, text: &[u8], json: &JsonStrings, depth: usize) -> Vec<FoundSecret> {
        let members = MemberNames { text, json, known: &[] };
        let of_name = json.strings.iter().enumerate().filter_map(|(index, string)| {
            let (rule, name) = members.rule(index).filter(|_| !string.value.is_empty())?;
            Some(self.whole_string(text, string, rule, String::from_utf8_lossy(name).into_owned(), depth))
        });
        of_name.collect()
    }

    /// A string that is a secret as a whole.
    fn whole_string(&self, text: &[u8], string: &JsonString, rule: BuiltinRule, name: String, depth: usize) -> FoundSecret {
        let mut view = MappedText::default();
        Flattener::string().feed(0, &text[string.value.clone()], &mut view);
        let mut secret = view.text().to_vec();
        let mut span = string.value.clone();
        // Of `Bearer …` the scheme stays.
        let value = &text[span.clone()];
        if let Some(at) = scheme_length(value) {
            span.start += at;
            secret.drain(..at.min(secret.len()));
        }
        FoundSecret { rule: rule as usize, name, spans: vec![span], secret, depth: depth + 1, packed: None }
    }

    fn string(&mut self, text: &[u8], value: Range<usize>, depth: usize) -> Vec<FoundSecret> {
        let inner = &text[value.clone()];
        if depth >= DEPTH_MAX {
            return self.text(inner, depth).into_iter().map(|found| shifted(found, value.start)).collect();
        }
        if memchr::memchr(b'\\', inner).is_none() {
            return self.part(inner, depth).into_iter().map(|found| shifted(found, value.start)).collect();
        }
        let mut view = MappedText::default();
        Flattener::string().feed(value.start as u64, inner, &mut view);
        self.part(view.text(), depth).into_iter().map(|found| mapped(found, &view)).collect()
    }

    /// The secrets in a view of a text of `length` bytes, at the places from which it comes.
    ///
    /// Views of a whole text commute: without its colours and then without its entities it is what it is in the other order. One of them is read.
    fn child(&mut self, view: &MappedText, length: usize, depth: usize) -> Vec<FoundSecret> {
        if depth >= DEPTH_MAX {
            return Vec::new();
        }
        let found = match view.text().len() >= length - length / 8 {
            true if !self.is_new_view(view.text(), depth) => Vec::new(),
            true => self.document(view.text(), &JsonStart::Beginning, depth + 1).0,
            false => self.part(view.text(), depth),
        };
        found.into_iter().map(|found| mapped(found, view)).collect()
    }

    /// The secrets in a part of a text, which has views of its own: an equal part at another place is read as well.
    fn part(&mut self, part: &[u8], depth: usize) -> Vec<FoundSecret> {
        let outer = std::mem::take(&mut self.whole_views);
        let found = self.document(part, &JsonStart::Beginning, depth + 1).0;
        self.whole_views = outer;
        found
    }

    /// Whether no view of the same bytes was read with as many views left to be inside of it.
    fn is_new_view(&mut self, text: &[u8], depth: usize) -> bool {
        let least = self.whole_views.entry(*blake3::hash(text).as_bytes()).or_insert(usize::MAX);
        let is_new = depth < *least;
        *least = (*least).min(depth);
        is_new
    }

    /// Text that is not JSON.
    fn text(&mut self, text: &[u8], depth: usize) -> Vec<FoundSecret> {
        let mut found = Vec::new();
        self.patterns(text, depth, &mut found);
        self.learned(text, depth, &mut found);
        let of_tables = columns::find(text).into_iter().chain(sections::find(text));
        for NamedValue { name, value } in assignments::find(text, &mut self.work).into_iter().chain(of_tables) {
            let (name, value) = (String::from_utf8_lossy(&text[name]).into_owned(), behind_escape(text, value));
            found.extend((!value.is_empty()).then(|| direct(BuiltinRule::Assignment as usize, name, text, vec![value], depth)));
        }
        let keys = private_key::find(text).into_iter().chain(private_key::find_in_json(text).into_iter().map(|part| vec![part]));
        for spans in keys {
            let spans: Vec<_> = spans.into_iter().map(|span| behind_escape(text, span)).filter(|span| !span.is_empty()).collect();
            found.push(direct(BuiltinRule::PrivateKey as usize, String::new(), text, spans, depth));
        }
        if depth < DEPTH_MAX {
            let views = [views::escapes(text), views::colours(text), views::entities(text)];
            let stretches = views::lines(text).into_iter().chain(event_text::blocks(text));
            for view in views.into_iter().flatten().chain(stretches) {
                found.extend(self.child(&view, text.len(), depth));
            }
            for json in JsonStrings::in_text(text) {
                found.extend(self.members(text, &json, depth));
                // What stands at the beginning of a line in it stands behind a quote in the text.
                let is_text = |value: &&Range<usize>| depth < JSON_DEPTH_MAX && assignments::has_telling_word(&text[(*value).clone()]);
                for value in json.strings.iter().map(|string| &string.value).filter(is_text) {
                    found.extend(self.string(text, value.clone(), depth));
                }
            }
            self.percent(text, depth, &mut found);
            self.packed(text, depth, &mut found);
        } else {
            self.is_too_deep |= views::escapes(text).is_some() || views::has_percent(text) || base64_text::holds_text(text);
        }
        found
    }

    fn patterns(&self, text: &[u8], depth: usize, found: &mut Vec<FoundSecret>) {
        for rule in &self.rules.any.matches(text) {
            for captures in self.rules.patterns[rule].captures_iter(text) {
                let Some(whole) = captures.get(0) else { continue };
                let secret = captures.iter().skip(1).flatten().next().unwrap_or(whole).range();
                let secret = closing::before(text, whole.start(), secret);
                let secret = behind_escape(text, secret);
                if !secret.is_empty() && self.rules.checks[rule].holds(&text[secret.clone()]) && !is_placeholder(&text[secret.clone()]) {
                    found.push(direct(BuiltinRule::COUNT + rule, String::new(), text, vec![secret], depth));
                }
            }
        }
    }

    fn learned(&self, text: &[u8], depth: usize, found: &mut Vec<FoundSecret>) {
        for place in self.learned.find(text) {
            found.push(direct(BuiltinRule::Learned as usize, String::new(), text, std::iter::once(place).collect(), depth));
        }
    }

    /// Words that are written with percent signs.
    fn percent(&mut self, text: &[u8], depth: usize, found: &mut Vec<FoundSecret>) {
        for value in views::percent_values(text) {
            let pair = views::percent(text, value.clone());
            if views::has_percent(&text[value.clone()]) {
                let view = views::value_of_form(&pair);
                found.extend(self.child(view.as_ref().unwrap_or(&pair), text.len(), depth));
            }
            // A form writes a blank as a plus.
            let is_read = depth < FORM_DEPTH_MAX || !views::has_percent(&text[value.clone()]);
            if is_read && memchr::memchr(b'+', &text[value]).is_some() {
                let form = views::form(&pair);
                let view = views::value_of_form(&form);
                found.extend(self.child(view.as_ref().unwrap_or(&form), text.len(), depth));
            }
        }
    }

    /// Text that is packed as base64.
    fn packed(&mut self, text: &[u8], depth: usize, found: &mut Vec<FoundSecret>) {
        for lines in base64_text::runs(text) {
            let Some(packed) = PackedText::read(text, &lines) else { continue };
            let inner = self.part(&packed.bytes, depth);
            found.extend(inner.into_iter().map(|inner| mapped(repacked(inner, &packed), &packed.characters)));
        }
    }
}

/// A hit without what it begins or ends with of an escape: the `n` of a line end, the digits behind a percent sign, the name of a quote. They are no
/// part of a secret. Behind many backslashes the letter is an escape of a text further inside.
fn behind_escape(text: &[u8], hit: Range<usize>) -> Range<usize> {
    let start = hit.start;
    let is_escaped = start > 0 && text[start - 1] == b'\\';
    let percent = (1..3).find(|back| start >= *back && percent_byte(text, start - back).is_some());
    let skipped = match (percent, text.get(start)) {
        (Some(back), _) => 3 - back,
        (None, Some(b'n' | b'r' | b't' | b'b' | b'f')) if is_escaped => 1,
        (None, Some(b'u')) if is_escaped && text[start..].iter().skip(1).take(4).filter(|byte| byte.is_ascii_hexdigit()).count() == 4 => 5,
        _ => 0,
    };
    views::between_entities(text, (start + skipped).min(hit.end)..hit.end)
}

fn direct(rule: usize, name: String, text: &[u8], spans: Vec<Range<usize>>, depth: usize) -> FoundSecret {
    let secret = spans.iter().flat_map(|span| &text[span.clone()]).copied().collect();
    FoundSecret { rule, name, spans, secret, depth, packed: None }
}

fn shifted(mut found: FoundSecret, by: usize) -> FoundSecret {
    for span in &mut found.spans {
        *span = span.start + by..span.end + by;
    }
    found
}

/// The secret of a view, at the place from which the view comes.
fn mapped(mut found: FoundSecret, view: &MappedText) -> FoundSecret {
    let mut spans: Vec<Range<usize>> = Vec::new();
    for origin in found.spans.iter().flat_map(|span| view.origins(span.clone())) {
        let origin = origin.start as usize..origin.end as usize;
        match spans.last_mut() {
            Some(last) if last.end >= origin.start => last.end = last.end.max(origin.end),
            _ => spans.push(origin),
        }
    }
    found.spans = spans;
    found
}

/// The secret in the bytes of base64, at the groups of four characters that hold it.
fn repacked(inner: FoundSecret, of: &PackedText) -> FoundSecret {
    let (place, packed) = of.secret(inner.hull());
    // A secret in views of its own inside of base64 is replaced with all that its group holds.
    FoundSecret { spans: std::iter::once(place).collect(), packed: Some(packed), ..inner }
}

fn spelt(text: &[u8], found: &FoundSecret) -> Vec<u8> {
    found.spans.iter().flat_map(|span| &text[span.clone()]).copied().collect()
}

/// Without what is a part of a placeholder: other views see it whole, and it was replaced before.
fn without_parts(found: Vec<FoundSecret>) -> Vec<FoundSecret> {
    let (placeholders, mut found): (Vec<FoundSecret>, Vec<FoundSecret>) = found.into_iter().partition(|found| found.rule == PLACEHOLDER);
    let mut places: Vec<Range<usize>> = placeholders.into_iter().flat_map(|found| found.spans).collect();
    places.sort_by_key(|place| (place.start, place.end));
    let holds = |span: &Range<usize>| {
        let index = places.partition_point(|place| place.start <= span.start);
        index > 0 && places[index - 1].end >= span.end
    };
    found.retain(|found| !found.spans.iter().all(holds));
    found
}

/// Secrets that overlap become one. The longer has the say of what it is; of two that are as long, the one that was seen plainer.
fn joined(mut found: Vec<FoundSecret>) -> Vec<FoundSecret> {
    found.sort_by_key(|found| (found.hull().start, core::cmp::Reverse(found.hull().end), core::cmp::Reverse(found.depth)));
    let mut joined: Vec<FoundSecret> = Vec::new();
    for next in found {
        let Some(last) = joined.last_mut().filter(|last| next.hull().start < last.hull().end) else {
            joined.push(next);
            continue;
        };
        if last.spans == next.spans {
            // The same in another view: nothing is new but how it reads.
            continue;
        }
        let is_inside = last.spans.iter().any(|span| span.start <= next.hull().start && next.hull().end <= span.end);
        if !is_inside {
            last.packed = None;
            let mut spans: Vec<Range<usize>> = last.spans.iter().chain(&next.spans).cloned().collect();
            spans.sort_by_key(|span| span.start);
            last.spans.clear();
            for span in spans {
                match last.spans.last_mut() {
                    Some(before) if span.start <= before.end => before.end = before.end.max(span.end),
                    _ => last.spans.push(span),
                }
            }
        } else if last.packed.is_some() {
            last.packed = None;
        }
    }
    joined
}
