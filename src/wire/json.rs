//! JSON text that is kept as it came.
//!
//! Parsing and writing again would lose duplicate keys, big numbers, `1e3`, lone surrogates and key order (N-8), so what
//! travels through the program is the text itself, shared, with whatever was understood of it beside it.

use core::fmt;

use serde::{Deserialize, Serialize};

use crate::prelude::*;

/// One JSON value as text. Cheap to clone. Equality is equality of bytes.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Json(Arc<str>);

impl Json {
    /// Takes text that is already known to be one JSON value.
    pub fn trusted(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// Checks that `text` is exactly one JSON value and keeps it byte for byte.
    ///
    /// # Errors
    /// The parser's own message, with line and column inside `text`.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str::<serde::de::IgnoredAny>(text)?;
        Ok(Self(text.into()))
    }

    /// Writes a value of ours; the members come in the order of the type's fields.
    pub fn from_value<T: Serialize + ?Sized>(value: &T) -> Self {
        // Only a map with keys that are not text can fail, and no type of ours has one.
        Self(serde_json::to_string(value).unwrap_or_else(|_| String::from("null")).into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The parsed value; `null` for text that is not JSON, which [`Json::parse`] never lets in.
    pub fn to_value(&self) -> serde_json::Value {
        serde_json::from_str(&self.0).unwrap_or_default()
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Default for Json {
    fn default() -> Self {
        Self::trusted("null")
    }
}

/// Appends `text` as a JSON string, quotes included.
pub fn push_string(out: &mut String, text: &str) {
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|b| b == b'"' || b == b'\\' || b < 0x20) {
        out.push_str(&rest[..at]);
        match rest.as_bytes()[at] {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            control => out.push_str(&format!("\\u{control:04x}")),
        }
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n_8_text_that_a_parser_would_change_is_kept() {
        let text = r#"{"b":1e3,"a":123456789012345678901234567890,"a":"\ud83d"  }"#;
        assert_eq!(Json::parse(text).unwrap().as_str(), text);
        assert!(Json::parse("{} {}").is_err(), "two values are not one");
    }

    #[test]
    fn a_pushed_string_reads_back() {
        let text = "quote \" slash \\ line \n tab \t bell \u{7} é 😀";
        let mut out = String::new();
        push_string(&mut out, text);
        assert_eq!(serde_json::from_str::<String>(&out).unwrap(), text);
    }
}
