//! The strings of a JSON text that are secrets because of their members' names, and those that must come back as they were (K-2).

use super::base64_text;
use super::json::{JsonString, JsonStrings};
use super::letter_pairs::is_unlikely;
use super::names::{
    TellingName, ValuePlace, is_drawn, is_mixed, is_secret_value, is_value_of_map, is_words, plain_name, telling, telling_header,
};
use super::rules::BuiltinRule;
use std::ops::Range;

/// A string of base64 of at least this length in a member that is opaque is not looked into.
const OPAQUE_BYTES_MIN: usize = 64;

/// How many objects around a string are looked at.
const OUTER_NAMES_MAX: usize = 3;

/// How far from a string what stands beside it is looked at.
const SIBLINGS_MAX: usize = 4;

/// The names of the strings of a JSON text.
pub(super) struct MemberNames<'a> {
    pub(super) text: &'a [u8],
    pub(super) json: &'a JsonStrings,
    /// The key of the string in which the text begins.
    pub(super) known: &'a [u8],
}

impl<'a> MemberNames<'a> {
    fn part(&self, range: &Range<usize>) -> &'a [u8] {
        &self.text[range.clone()]
    }

    fn key(&self, string: &JsonString) -> &'a [u8] {
        match &string.key {
            Some(key) => self.part(key),
            None if string.value.start == 0 => self.known,
            None => &[],
        }
    }

    /// The names of the objects around a string, the nearest first.
    fn outer(&self, string: &JsonString) -> impl Iterator<Item = &'a [u8]> {
        let mut next = Some(string.container);
        std::iter::from_fn(move || {
            let container = &self.json.containers[next?];
            let parent = container.parent;
            let name = container.key.as_ref().filter(|_| !container.is_list).map_or(&[][..], |key| self.part(key));
            next = (next != Some(parent)).then_some(parent);
            Some(name)
        })
        .take(OUTER_NAMES_MAX)
    }

    /// The strings beside one in the same object, the nearest first.
    fn siblings(&self, index: usize) -> impl Iterator<Item = &'a JsonString> {
        let strings = &self.json.strings;
        let both = (1..=SIBLINGS_MAX).flat_map(move |distance| [index.checked_sub(distance), index.checked_add(distance)]).flatten();
        let beside = both.filter_map(move |at| strings.get(at));
        beside.filter(move |string| string.container == strings[index].container)
    }

    /// The string before one in the same container.
    fn before(&self, index: usize) -> Option<&'a JsonString> {
        let string = &self.json.strings[index];
        let before = &self.json.strings[index.checked_sub(1)?];
        (before.container == string.container && before.position + 1 == string.position).then_some(before)
    }

    /// The rule that makes a string a secret as a whole, and the name that says so.
    pub(super) fn rule(&self, index: usize) -> Option<(BuiltinRule, &'a [u8])> {
        let string = &self.json.strings[index];
        let (key, value) = (self.key(string), self.part(&string.value));
        let container = &self.json.containers[string.container];
        if key == b"user_id" && container.key.as_ref().is_some_and(|key| self.part(key) == b"metadata") {
            return Some((BuiltinRule::UserId, key));
        }
        if is_account(key) && value.len() >= 12 && is_mixed(value) {
            return Some((BuiltinRule::AccountId, key));
        }
        let plain = &value[scheme_length(value).unwrap_or_default()..];
        let is_cookie = key.to_ascii_lowercase().ends_with(b"cookie") && memchr::memchr(b'=', value).is_some() && value.len() >= 8;
        if is_cookie || telling(key).is_some_and(|tells| is_secret_value(tells, plain, ValuePlace::Whole)) {
            // Names of things are given as strings, too: `"required": ["password"]`.
            let is_list_of_names = container.is_list && (is_words(plain) || plain.len() < 8);
            if !is_list_of_names {
                return Some((BuiltinRule::Member, key));
            }
        }
        if let Some(name) = self.around(index).filter(|_| is_unbroken(value)) {
            return Some((BuiltinRule::Member, name));
        }
        if let Some(name) = self.beside(index) {
            return Some((BuiltinRule::Member, name));
        }
        let before = self.before(index).filter(|_| container.is_list)?;
        let name = self.part(&before.value);
        // `["x-api-key", "…"]`, `["--password", "…"]`
        if before.position > 0 && !name.starts_with(b"-") {
            return None;
        }
        if name == b"-p" && is_drawn(value) {
            return Some((BuiltinRule::Member, name));
        }
        let tells = telling_header(std::str::from_utf8(name).ok()?)?;
        let is_option = name.starts_with(b"--") && tells >= TellingName::Strong && !value.starts_with(b"-");
        let is_header =
            name.contains(&b'-') || matches!(name.to_ascii_lowercase().as_slice(), b"authorization" | b"cookie" | b"apikey" | b"token");
        let is_secret = is_option && value.len() >= 4 || is_header && value.len() >= 6 && is_secret_value(tells, plain, ValuePlace::Whole);
        is_secret.then_some((BuiltinRule::Member, name))
    }

    /// The name of a secret that stands around a string: `{"password": {"value": "…"}}`, `{"secrets": {"stripe": "…"}}`.
    fn around(&self, index: usize) -> Option<&'a [u8]> {
        let string = &self.json.strings[index];
        let (key, value) = (self.key(string), self.part(&string.value));
        if is_value_of_pair(key) {
            let is_secret = |tells: TellingName| is_secret_value(tells, value, ValuePlace::Quoted) && !is_words(value);
            return self.outer(string).next().filter(|outer| telling(outer).is_some_and(is_secret));
        }
        let may_be_one = value.len() >= 8 && (value.iter().any(u8::is_ascii_digit) || is_unlikely(value)) && !is_about_secret(key);
        self.outer(string).find(|outer| may_be_one && is_value_of_map(outer, value))
    }

    /// The name of a secret that stands beside a string: `{"name": "x-api-key", "value": "…"}`, `{"value": "…", "type": "text", "key": "API_KEY"}`.
    fn beside(&self, index: usize) -> Option<&'a [u8]> {
        let string = &self.json.strings[index];
        let value = self.part(&string.value);
        let plain = &value[scheme_length(value).unwrap_or_default()..];
        let is_secret = |name: &&JsonString| {
            // `{"keyName": "key1", "value": "…"}`
            let of_key = || telling(self.key(name).strip_suffix(b"Name")?);
            let is_before = name.position + 1 == string.position;
            let is_one = |tells| is_secret_value(tells, plain, ValuePlace::Whole) && (is_before || is_unbroken(value) && !is_words(plain));
            is_name_of_pair(self.key(name)) && telling(self.part(&name.value)).or_else(of_key).is_some_and(is_one)
        };
        let mut siblings = self.siblings(index).filter(|_| is_value_of_pair(self.key(string)));
        siblings.find(is_secret).map(|name| self.part(&name.value))
    }

    /// Whether a string must come back as it was: a signature, what the model keeps encrypted, a picture. Such is base64 that holds no text; text is
    /// searched wherever it stands.
    pub(super) fn is_opaque(&self, index: usize) -> bool {
        let string = &self.json.strings[index];
        let (key, value) = (self.key(string), self.part(&string.value));
        if value.len() < OPAQUE_BYTES_MIN {
            return false;
        }
        if matches!(key, b"signature" | b"thoughtSignature" | b"thought_signature") || key.starts_with(b"encrypted_") {
            return base64_text::is_opaque(value);
        }
        if key != b"data" && key != b"file_data" {
            return false;
        }
        let siblings = || self.siblings(index).map(|sibling| (self.key(sibling), self.part(&sibling.value)));
        let is_type = |key: &[u8]| matches!(key, b"media_type" | b"mimeType" | b"mime_type");
        let is_media = siblings().any(|(key, value)| is_type(key) || key == b"type" && matches!(value, b"base64" | b"redacted_thinking"));
        let is_text = siblings().any(|(key, value)| is_type(key) && value.starts_with(b"text/") || key == b"type" && value == b"text");
        is_media && !is_text && base64_text::is_opaque(value)
    }
}

/// Whether a member has the name of another as its value: `{"name": "x-api-key", …}`.
fn is_name_of_pair(key: &[u8]) -> bool {
    const NAMES: [&[u8]; 14] = [
        b"name",
        b"key",
        b"header",
        b"field",
        b"keyname",
        b"variable",
        b"var",
        b"env",
        b"envvar",
        b"parameterkey",
        b"parameter",
        b"setting",
        b"id",
        b"label",
    ];
    NAMES.contains(&plain_name(key).as_slice())
}

/// Whether a member has the value of another: `{…, "value": "…"}`.
fn is_value_of_pair(key: &[u8]) -> bool {
    const VALUES: [&[u8]; 6] = [b"value", b"val", b"default", b"parametervalue", b"plaintext", b"secret"];
    VALUES.contains(&plain_name(key).as_slice())
}

/// Whether a member of a map of secrets says something about one of them.
fn is_about_secret(key: &[u8]) -> bool {
    const ABOUT: [&[u8]; 16] = [
        b"id",
        b"uuid",
        b"hash",
        b"digest",
        b"checksum",
        b"fingerprint",
        b"sha1",
        b"sha256",
        b"md5",
        b"etag",
        b"integrity",
        b"shasum",
        b"version",
        b"region",
        b"url",
        b"description",
    ];
    let key = plain_name(key);
    ABOUT.iter().any(|about| key.ends_with(about))
}

fn is_unbroken(value: &[u8]) -> bool {
    !value.is_empty() && !value.iter().any(u8::is_ascii_whitespace)
}

/// Names of accounts: of organisations, users, devices.
fn is_account(key: &[u8]) -> bool {
    let key: Vec<u8> = key.iter().filter(|byte| byte.is_ascii_alphanumeric()).map(u8::to_ascii_lowercase).collect();
    let of = key.strip_suffix(b"uuid").or_else(|| key.strip_suffix(b"id"));
    const OF: [&[u8]; 11] = [
        b"organization",
        b"organisation",
        b"org",
        b"account",
        b"user",
        b"workspace",
        b"device",
        b"tenant",
        b"profile",
        b"customer",
        b"subscription",
    ];
    of.is_some_and(|of| OF.contains(&of))
}

/// The scheme before the secret of a value, with its blank.
pub(super) fn scheme_length(value: &[u8]) -> Option<usize> {
    let schemes: [&[u8]; 4] = [b"bearer ", b"basic ", b"token ", b"bot "];
    schemes
        .iter()
        .find(|scheme| value.len() > scheme.len() && value[..scheme.len()].eq_ignore_ascii_case(scheme))
        .map(|scheme| scheme.len())
}
