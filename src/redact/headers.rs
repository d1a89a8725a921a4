//! Headers and addresses: which are left out, and what of the others is replaced.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::Redactor;
use super::names::{TellingName, ValuePlace, is_secret_value, telling_header};
use reenact_wire::http::HttpHeader;

/// Headers that hold secrets, or ids of an account or a person.
const SECRET: &[&str] = &[
    "anthropic-organization-id",
    "anthropic-user-profile-id",
    "anthropic-workspace-id",
    "api-key",
    "authorization",
    "baggage",
    "cf-ray",
    "cookie",
    "cookie2",
    "proxy-authorization",
    "set-cookie",
    "set-cookie2",
    "traceparent",
    "tracestate",
    "x-access-token",
    "x-amz-content-sha256",
    "x-amz-date",
    "x-amz-security-token",
    "x-amzn-requestid",
    "x-api-key",
    "x-auth-token",
    "x-forwarded-for",
    "x-goog-api-key",
    "x-goog-user-project",
    "x-honeycomb-team",
    "x-hub-signature",
    "x-hub-signature-256",
    "x-amzn-oidc-data",
    "x-real-ip",
    "x-signature",
    "x-session-token",
];

/// Of those, the ids and keys whose names do not tell: they are looked for in bodies, too.
const LEARNED: &[&str] = &["anthropic-organization-id", "anthropic-user-profile-id", "anthropic-workspace-id", "x-honeycomb-team"];

/// Parts of the names of parameters that hold secrets.
const SECRET_PARAMETERS: &[&str] = &["auth", "code", "credential", "key", "passwd", "password", "secret", "sig", "token"];

/// The name in small letters, if a header is left out of tapes: it is listed, or its parts say that it holds a key.
pub(super) fn is_secret(name: &str) -> Option<String> {
    let lower = name.to_ascii_lowercase();
    let is_listed = SECRET.contains(&lower.as_str());
    (is_listed || telling_header(&lower) >= Some(TellingName::Medium)).then_some(lower)
}

/// Whether the value of a query parameter of this name is replaced.
pub(super) fn parameter_is_secret(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let is_count = lower.contains("tokens") || lower.starts_with("page") || lower.starts_with("next");
    !is_count && SECRET_PARAMETERS.iter().any(|secret| lower.contains(secret))
}

impl Redactor {
    /// Remembers the keys that stand in headers, where these are at hand before what may repeat them.
    pub fn learn_headers(&mut self, headers: &[HttpHeader]) {
        for HttpHeader { name, value } in headers {
            let name = name.to_ascii_lowercase();
            if telling_header(&name) >= Some(TellingName::Medium) || LEARNED.contains(&name.as_str()) {
                self.learn_value(&name, value);
            }
        }
    }

    /// The headers to keep, secrets in their values replaced. Values of those left out are looked for in bodies from now on.
    pub fn headers(&mut self, headers: &[HttpHeader]) -> Vec<HttpHeader> {
        self.learn_headers(headers);
        let mut kept = Vec::new();
        for HttpHeader { name, value } in headers {
            let secret = is_secret(name).map(|secret| format!("header {secret}")).filter(|rule| !self.rules.keeps(rule));
            if let Some(rule) = secret {
                self.count(&rule, "", b"left out");
            } else if telling_header(name).is_some_and(|tells| is_secret_value(tells, value.as_bytes(), ValuePlace::Whole)) {
                let made = self.stand_in("header", name, value.as_bytes(), value.len());
                kept.push(HttpHeader::new(name, &String::from_utf8_lossy(&made)));
            } else {
                kept.push(HttpHeader::new(name, &self.text(value)));
            }
        }
        kept
    }

    /// A path with its query.
    pub fn path(&mut self, path: &str) -> String {
        let Some((path, query)) = path.split_once('?') else { return self.path_of_url(path) };
        let mut out = self.path_of_url(path);
        for (position, parameter) in query.split('&').enumerate() {
            out.push(if position == 0 { '?' } else { '&' });
            match parameter.split_once('=') {
                Some((name, value)) if parameter_is_secret(name) && !value.is_empty() => {
                    let made = self.stand_in("url-parameter", name, value.as_bytes(), value.len());
                    out.push_str(name);
                    out.push('=');
                    out.push_str(&String::from_utf8_lossy(&made));
                }
                _ => out.push_str(&self.text(parameter)),
            }
        }
        out
    }

    /// A path without its query. A secret that is a part of it by itself ends with its part; what spans parts is looked for in the whole.
    fn path_of_url(&mut self, path: &str) -> String {
        let parts: Vec<String> = path.split('/').map(|part| self.text(part)).collect();
        let parts = parts.join("/");
        if parts == path { self.text(path) } else { parts }
    }

    /// Of a scheme with one token the token is learned, of cookies their values, of others all. What has parts of its own (a signature of AWS) is
    /// known by its rules; learning `AWS4-HMAC-SHA256`, or the domain of a cookie, would take words out of bodies.
    fn learn_value(&mut self, name: &str, value: &str) {
        let after_name = |pair: &str| pair.split_once('=').map(|(_, value)| value.trim().to_owned());
        match name {
            "set-cookie" => {
                after_name(value.split(';').next().unwrap_or_default()).into_iter().for_each(|value| self.learn(value.as_bytes()))
            }
            "cookie" => value.split(';').filter_map(after_name).for_each(|value| self.learn(value.as_bytes())),
            "authorization" | "proxy-authorization" => match value.split_ascii_whitespace().collect::<Vec<_>>()[..] {
                [only] | [_, only] => {
                    self.learn(only.as_bytes());
                    password_of_basic(value).into_iter().for_each(|password| self.learn(&password));
                }
                _ => (),
            },
            _ => self.learn(value.as_bytes()),
        }
    }
}

/// The password in `Basic …`.
fn password_of_basic(value: &str) -> Option<Vec<u8>> {
    let (scheme, packed) = value.split_once(' ')?;
    let pair = STANDARD.decode(packed.trim()).ok().filter(|_| scheme.eq_ignore_ascii_case("basic"))?;
    let colon = memchr::memchr(b':', &pair)?;
    Some(pair[colon + 1..].to_vec())
}
