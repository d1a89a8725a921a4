//! Secrets in every view of a text (K-2).
//!
//! ```text
//! bytes ──> view ──> rules ──> hits
//!             └──> views of it: strings of JSON, escapes resolved, percent, base64 ──> rules ──> hits, mapped back, joined
//! ```
//!
//! A view is text with the places that it comes from ([`MappedText`]). Its own views are found in it in the same way, to a depth of eight. What is
//! found in any of them is a hit at the places of the text that was given.

use std::ops::Range;

use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{Engine as _, alphabet};

use super::assignments::{self, NamedValue};
use super::closing;
use super::json::{JsonStart, JsonString, JsonStrings};
use super::line_prefix::line_prefix;
use super::members::{MemberNames, scheme_length};
use super::placeholder::is_placeholder;
use super::private_key;
use super::rules::{BuiltinRule, RedactionRules};
use super::text_map::{ByteRole, Flattener, MappedText};

/// How many views may be inside of one another.
pub const DEPTH_MAX: usize = 8;

/// The least length of a run of base64 that is looked into.
const PACKED_BYTES_MIN: usize = 24;

/// How many backslashes before a letter are counted.
const ESCAPES_MAX: usize = 1 << DEPTH_MAX;

/// How much of it is unpacked to see whether it holds text: whole groups of four.
const PACKED_SAMPLE_BYTES: usize = 88;

/// A secret in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FoundSecret {
    pub(super) rule: usize,
    /// The name that told, if one did.
    pub(super) name: String,
    /// Where it stands, in order; lines of a private key have something between them.
    pub(super) spans: Vec<Range<usize>>,
    /// As the innermost view has it: by this its number is known.
    pub(super) secret: Vec<u8>,
    depth: usize,
    /// For one in base64: how its place is written anew.
    pub(super) packed: Option<PackedSecret>,
}

/// A secret in base64: the bytes of the groups that hold it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PackedSecret {
    pub(super) bytes: Vec<u8>,
    pub(super) secret: Range<usize>,
    url_safe: bool,
}

/// Looks for secrets, and counts the bytes that it looked at.
pub(super) struct SecretExplorer<'a> {
    pub(super) rules: &'a RedactionRules,
    pub(super) learned: &'a [Vec<u8>],
    pub(super) work: u64,
    /// There are views inside of the deepest: they were not looked at.
    pub(super) is_too_deep: bool,
}

impl FoundSecret {
    /// From the first byte to behind the last.
    pub(super) fn hull(&self) -> Range<usize> {
        let start = self.spans.first().map_or(0, |span| span.start);
        start..self.spans.last().map_or(start, |span| span.end)
    }
}

impl PackedSecret {
    /// The base64 with `replacement` in the place of the secret.
    pub(super) fn written(&self, replacement: &[u8]) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        bytes[self.secret.clone()].copy_from_slice(replacement);
        let text = if self.url_safe { URL_SAFE_NO_PAD.encode(bytes) } else { STANDARD_NO_PAD.encode(bytes) };
        text.into_bytes()
    }
}

impl SecretExplorer<'_> {
    /// Every secret of a text, in order, none overlapping another; and its strings, where it is JSON.
    pub(super) fn explore(&mut self, text: &[u8], start: &JsonStart) -> (Vec<FoundSecret>, Option<JsonStrings>) {
        let (mut found, strings) = self.document(text, start, 0);
        found.retain(|found| !found.spans.is_empty() && !is_placeholder(&found.secret) && !is_placeholder(&spelt(text, found)));
        (joined(found), strings)
    }

    fn document(&mut self, text: &[u8], start: &JsonStart, depth: usize) -> (Vec<FoundSecret>, Option<JsonStrings>) {
        self.work += text.len() as u64;
        match JsonStrings::read(text, start) {
            Some(strings) => (self.strings(text, &strings, start, depth), Some(strings)),
            None => (self.text(text, depth), None),
        }
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
            if value.is_empty() || members.is_opaque(index) {
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
            let found = self.document(inner, &JsonStart::Beginning, depth + 1).0;
            return found.into_iter().map(|found| shifted(found, value.start)).collect();
        }
        let mut view = MappedText::default();
        Flattener::string().feed(value.start as u64, inner, &mut view);
        self.child(&view, depth)
    }

    /// The secrets in a view, at the places from which it comes.
    fn child(&mut self, view: &MappedText, depth: usize) -> Vec<FoundSecret> {
        if depth >= DEPTH_MAX {
            return Vec::new();
        }
        let found = self.document(view.text(), &JsonStart::Beginning, depth + 1).0;
        found.into_iter().map(|found| mapped(found, view)).collect()
    }

    /// Text that is not JSON.
    fn text(&mut self, text: &[u8], depth: usize) -> Vec<FoundSecret> {
        let mut found = Vec::new();
        self.patterns(text, depth, &mut found);
        self.learned(text, depth, &mut found);
        for NamedValue { name, value } in assignments::find(text, &mut self.work) {
            let (name, value) = (String::from_utf8_lossy(&text[name]).into_owned(), behind_escape(text, value));
            found.extend((!value.is_empty()).then(|| direct(BuiltinRule::Assignment as usize, name, text, vec![value], depth)));
        }
        let keys = private_key::find(text).into_iter().chain(private_key::find_in_json(text).into_iter().map(|part| vec![part]));
        for spans in keys {
            let spans: Vec<_> = spans.into_iter().map(|span| behind_escape(text, span)).filter(|span| !span.is_empty()).collect();
            found.push(direct(BuiltinRule::PrivateKey as usize, String::new(), text, spans, depth));
        }
        if depth < DEPTH_MAX {
            self.escapes(text, depth, &mut found);
            self.colours(text, depth, &mut found);
            self.lines(text, depth, &mut found);
            self.percent(text, depth, &mut found);
            self.packed(text, depth, &mut found);
        } else {
            self.is_too_deep |= has_escapes(text) || memchr::memchr_iter(b'%', text).any(|sign| percent_byte(text, sign).is_some());
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
        for secret in self.learned {
            for at in memchr::memmem::find_iter(text, secret) {
                found.push(direct(
                    BuiltinRule::Learned as usize,
                    String::new(),
                    text,
                    std::iter::once(at..at + secret.len()).collect(),
                    depth,
                ));
            }
        }
    }

    /// The text with its escapes resolved, where it has any: JSON in the middle of prose, strings of code.
    fn escapes(&mut self, text: &[u8], depth: usize, found: &mut Vec<FoundSecret>) {
        if !has_escapes(text) {
            return;
        }
        let mut view = MappedText::default();
        Flattener::string().feed(0, text, &mut view);
        found.extend(self.child(&view, depth));
    }

    /// The text without the sequences that colour it on a terminal.
    fn colours(&mut self, text: &[u8], depth: usize, found: &mut Vec<FoundSecret>) {
        if memchr::memchr(0x1b, text).is_none() {
            return;
        }
        let (mut view, mut at) = (MappedText::default(), 0);
        while let Some(escape) = memchr::memchr(0x1b, &text[at..]).map(|escape| at + escape) {
            view.push_run(at as u64, &text[at..escape], ByteRole::String);
            let parameters = text[escape + 1..].iter().take_while(|byte| b"[0123456789;:?".contains(byte)).count();
            at = (escape + 1 + parameters + usize::from(parameters > 0)).min(text.len());
            view.push_run(escape as u64, b" ", ByteRole::Structure);
        }
        view.push_run(at as u64, &text[at..], ByteRole::String);
        found.extend(self.child(&view, depth));
    }

    /// The lines without what tools put before them: numbers, marks, names of files.
    fn lines(&mut self, text: &[u8], depth: usize, found: &mut Vec<FoundSecret>) {
        let first = text.split(|byte| *byte == b'\n').take(8);
        if first.filter(|line| line_prefix(line) > 0).count() < 2 {
            return;
        }
        let (mut view, mut start) = (MappedText::default(), 0);
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            let prefix = line_prefix(line);
            view.push_run((start + prefix) as u64, &line[prefix..], ByteRole::String);
            start += line.len();
        }
        found.extend(self.child(&view, depth));
    }

    /// Words that are written with percent signs.
    fn percent(&mut self, text: &[u8], depth: usize, found: &mut Vec<FoundSecret>) {
        let is_part = |byte: &u8| byte.is_ascii_graphic() && !b"\"'<>`\\".contains(byte);
        let mut done = 0;
        for sign in memchr::memchr_iter(b'%', text) {
            if sign < done || percent_byte(text, sign).is_none() {
                continue;
            }
            let start = sign - text[done..sign].iter().rev().take_while(|byte| is_part(byte)).count();
            let end = sign + text[sign..].iter().take_while(|byte| is_part(byte)).count();
            done = end;
            // A value ends where the next begins, whatever its own signs stand for.
            let mut from = start;
            while from < end {
                let to = memchr::memchr(b'&', &text[from + 1..end]).map_or(end, |next| from + 1 + next);
                self.percent_value(text, from..to, depth, found);
                from = to;
            }
        }
    }

    /// One value that is written with percent signs.
    fn percent_value(&mut self, text: &[u8], value: Range<usize>, depth: usize, found: &mut Vec<FoundSecret>) {
        let has_plus = memchr::memchr(b'+', &text[value.clone()]).is_some();
        if !has_plus && memchr::memchr(b'%', &text[value.clone()]).is_none() {
            return;
        }
        let (mut view, mut at) = (MappedText::default(), value.start);
        while at < value.end {
            match percent_byte(&text[..value.end], at) {
                Some(byte) => {
                    view.push_escape(at as u64, 3, &[byte]);
                    at += 3;
                }
                None => {
                    view.push_escape(at as u64, 1, &text[at..=at]);
                    at += 1;
                }
            }
        }
        found.extend(self.child(&view, depth));
        // A form writes a blank as a plus.
        if depth < 3 && has_plus {
            let mut form = MappedText::default();
            for (origin, length, bytes) in view.pieces(0..view.text().len()) {
                let blank = length == 1 && bytes == b"+";
                form.push_escape(origin, length, if blank { b" " } else { bytes });
            }
            found.extend(self.child(&form, depth));
        }
    }

    /// Text that is packed as base64.
    fn packed(&mut self, text: &[u8], depth: usize, found: &mut Vec<FoundSecret>) {
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte);
        let mut at = 0;
        while at < text.len() {
            let length = text[at..].iter().take_while(|byte| is_part(byte)).count();
            let run = at..at + length;
            at = run.end + 1;
            if length < PACKED_BYTES_MIN {
                continue;
            }
            let packed = &text[run.clone()];
            let url_safe = packed.iter().any(|byte| b"-_".contains(byte));
            let whole = packed.len() - usize::from(packed.len() % 4 == 1);
            let unpack = |packed: &[u8]| match url_safe {
                true => LENIENT_URL_SAFE.decode(packed).ok(),
                false => LENIENT.decode(packed).ok(),
            };
            // Most runs hold no text, pictures above all: their beginning shows it.
            if unpack(&packed[..whole.min(PACKED_SAMPLE_BYTES)]).is_none_or(|sample| !is_readable(&sample)) {
                continue;
            }
            let Some(bytes) = unpack(&packed[..whole]).filter(|bytes| is_readable(bytes)) else { continue };
            let inner = self.document(&bytes, &JsonStart::Beginning, depth + 1).0;
            found.extend(inner.into_iter().map(|inner| repacked(inner, &bytes, &run, url_safe)));
        }
    }
}

/// Base64 as it is found: the left-over bits of the last character do not matter.
const LENIENT_CONFIG: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_allow_trailing_bits(true)
    .with_encode_padding(false)
    .with_decode_padding_mode(DecodePaddingMode::Indifferent);
static LENIENT: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT_CONFIG);
static LENIENT_URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT_CONFIG);

/// Whether a text holds what may be the escape of another character.
fn has_escapes(text: &[u8]) -> bool {
    let is_escape = |at: usize| text.get(at + 1).is_some_and(|byte| b"nrtu\"'\\/".contains(byte));
    memchr::memchr_iter(b'\\', text).any(is_escape)
}

/// A hit without what it begins with of an escape: the `n` of a line end, the digits behind a percent sign. They are no part of a secret.
fn behind_escape(text: &[u8], hit: Range<usize>) -> Range<usize> {
    let start = hit.start;
    let backslashes = || text[..start].iter().rev().take(ESCAPES_MAX).take_while(|byte| **byte == b'\\').count();
    let is_letter = matches!(text.get(start), Some(b'n' | b'r' | b't' | b'b' | b'f'));
    let percent = (1..3).find(|back| start >= *back && percent_byte(text, start - back).is_some());
    let skipped = match percent {
        Some(back) => 3 - back,
        None => usize::from(is_letter && backslashes() % 2 == 1),
    };
    (start + skipped).min(hit.end)..hit.end
}

/// Whether bytes are text: of a picture, and of words that merely could be base64, most are none.
fn is_readable(bytes: &[u8]) -> bool {
    let is_text = |byte: &&u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace() || **byte >= 0xc2;
    let first = &bytes[..bytes.len().min(64)];
    first.iter().filter(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace()).count() * 10 >= first.len() * 9
        && bytes.iter().filter(is_text).count() * 20 >= bytes.len() * 17
}

/// The byte that a percent sign and two digits stand for.
fn percent_byte(text: &[u8], at: usize) -> Option<u8> {
    let digits = text.get(at..at + 3)?;
    let digit = |byte: u8| char::from(byte).to_digit(16);
    (digits[0] == b'%').then_some(())?;
    u8::try_from(digit(digits[1])? * 16 + digit(digits[2])?).ok()
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
fn repacked(inner: FoundSecret, bytes: &[u8], run: &Range<usize>, url_safe: bool) -> FoundSecret {
    let hull = inner.hull();
    let groups = hull.start / 3 * 3..bytes.len().min(hull.end.div_ceil(3) * 3);
    let length = (groups.len() * 4).div_ceil(3);
    let start = run.start + groups.start / 3 * 4;
    // A secret in views of its own inside of base64 is replaced with all that its group holds.
    let packed =
        PackedSecret { bytes: bytes[groups.clone()].to_vec(), secret: hull.start - groups.start..hull.end - groups.start, url_safe };
    FoundSecret { spans: std::iter::once(start..(start + length).min(run.end)).collect(), packed: Some(packed), ..inner }
}

fn spelt(text: &[u8], found: &FoundSecret) -> Vec<u8> {
    found.spans.iter().flat_map(|span| &text[span.clone()]).copied().collect()
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
