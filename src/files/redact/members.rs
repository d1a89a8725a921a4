//! The strings of a JSON text that are secrets because of their members' names, and those that must come back as they were (K-2).

use super::json::{JsonString, JsonStrings};
use super::names::{TellingName, ValuePlace, is_drawn, is_mixed, is_secret_value, telling, telling_header};
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
            let is_list_of_names = container.is_list && !is_drawn(plain);
            if !is_list_of_names || value.len() >= 12 && is_mixed(plain) {
                return Some((BuiltinRule::Member, key));
            }
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

    /// Whether a string must come back as it was: a signature, what the model keeps encrypted, a picture.
    pub(super) fn is_opaque(&self, index: usize) -> bool {
        let string = &self.json.strings[index];
        let (key, value) = (self.key(string), self.part(&string.value));
        let is_base64 =
            || value.len() >= OPAQUE_BYTES_MIN && value.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+/=_-\\".contains(byte));
        if key == b"signature" || key == b"thoughtSignature" || key == b"thought_signature" || key.starts_with(b"encrypted_") {
            return is_base64();
        }
        if key != b"data" && key != b"file_data" {
            return false;
        }
        let same = |at: &usize| self.json.strings[*at].container == string.container;
        let around = (index.saturating_sub(4)..index).chain(index + 1..self.json.strings.len().min(index + 5)).filter(same);
        let mut siblings = around.map(|at| &self.json.strings[at]);
        let is_media = siblings.any(|sibling| {
            let (key, value) = (self.key(sibling), self.part(&sibling.value));
            matches!(key, b"media_type" | b"mimeType" | b"mime_type") || key == b"type" && matches!(value, b"base64" | b"redacted_thinking")
        });
        is_media && is_base64()
    }
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
