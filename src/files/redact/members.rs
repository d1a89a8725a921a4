//! The strings of a JSON text that are secrets because of their members' names, and those that must come back as they were (K-2).

use super::base64_text;
use super::json::{JsonString, JsonStrings};
use super::names::{TellingName, ValuePlace, is_drawn, is_mixed, is_secret_value, is_words, telling, telling_header};
use super::rules::BuiltinRule;
use std::ops::Range;

/// A string of base64 of at least this length in a member that is opaque is not looked into.
const OPAQUE_BYTES_MIN: usize = 64;

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
        let before = self.before(index)?;
        let name = self.part(&before.value);
        // `["x-api-key", "…"]`, `["--password", "…"]`
        if container.is_list && (before.position == 0 || name.starts_with(b"-")) {
            if name == b"-p" && is_drawn(value) {
                return Some((BuiltinRule::Member, name));
            }
            let tells = telling_header(std::str::from_utf8(name).ok()?)?;
            let is_option = name.starts_with(b"--") && tells >= TellingName::Strong && !value.starts_with(b"-");
            let is_header =
                name.contains(&b'-') || matches!(name.to_ascii_lowercase().as_slice(), b"authorization" | b"cookie" | b"apikey" | b"token");
            let is_secret =
                is_option && value.len() >= 4 || is_header && value.len() >= 6 && is_secret_value(tells, plain, ValuePlace::Whole);
            return is_secret.then_some((BuiltinRule::Member, name));
        }
        // `{"name": "x-api-key", "value": "…"}`
        let before_key = self.key(before).to_ascii_lowercase();
        let is_pair = matches!(before_key.as_slice(), b"name" | b"key" | b"header" | b"field") && key.eq_ignore_ascii_case(b"value");
        let tells = telling(name).filter(|_| is_pair)?;
        is_secret_value(tells, plain, ValuePlace::Whole).then_some((BuiltinRule::Member, name))
    }

    /// The name of a secret that stands around a string, or behind it: `{"password": {"value": "…"}}`, `{"secrets": {"stripe": "…"}}`,
    /// `{"value": "…", "name": "x-api-key"}`.
    fn around(&self, index: usize) -> Option<&'a [u8]> {
        let string = &self.json.strings[index];
        let (key, value) = (self.key(string), self.part(&string.value));
        let container = &self.json.containers[string.container];
        let outer = container.key.as_ref().filter(|_| !container.is_list).map_or(&[][..], |key| self.part(key));
        let is_value = key.eq_ignore_ascii_case(b"value") || key.eq_ignore_ascii_case(b"default");
        let is_secret = |tells: TellingName| is_secret_value(tells, value, ValuePlace::Quoted) && !is_words(value);
        if is_value && telling(outer).is_some_and(is_secret) {
            return Some(outer);
        }
        const MAPS: [&[u8]; 6] = [b"secrets", b"credentials", b"passwords", b"tokens", b"api_keys", b"apikeys"];
        let is_map = MAPS.iter().any(|map| outer.eq_ignore_ascii_case(map));
        if is_map && value.len() >= 8 && is_mixed(value) && !is_words(value) {
            return Some(outer);
        }
        let next =
            self.json.strings.get(index + 1).filter(|next| next.container == string.container && next.position == string.position + 1)?;
        let name = self.part(&next.value);
        let is_name = matches!(self.key(next), b"name" | b"key" | b"header" | b"field") && key.eq_ignore_ascii_case(b"value");
        (is_name && telling(name).is_some_and(is_secret)).then_some(name)
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
        let same = |at: &usize| self.json.strings[*at].container == string.container;
        let around = (index.saturating_sub(4)..index).chain(index + 1..self.json.strings.len().min(index + 5)).filter(same);
        let siblings = || around.clone().map(|at| &self.json.strings[at]).map(|sibling| (self.key(sibling), self.part(&sibling.value)));
        let is_type = |key: &[u8]| matches!(key, b"media_type" | b"mimeType" | b"mime_type");
        let is_media = siblings().any(|(key, value)| is_type(key) || key == b"type" && matches!(value, b"base64" | b"redacted_thinking"));
        let is_text = siblings().any(|(key, value)| is_type(key) && value.starts_with(b"text/") || key == b"type" && value == b"text");
        is_media && !is_text && base64_text::is_opaque(value)
    }
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
