//! The common form of YAML and JSON recordings: a tree of values, order kept, scalars as they were written.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::wire::json::push_string;
use crate::wire::raw_json::{self, RawObject, elements};

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum DataNode {
    Null,
    Bool(bool),
    /// A number as JSON writes it.
    Number(String),
    Text(String),
    /// YAML's `!!binary`.
    Bytes(Vec<u8>),
    List(Vec<DataNode>),
    Map(Vec<(String, DataNode)>),
}

/// Where a file stops being YAML or JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SyntaxError {
    pub(super) line: usize,
    pub(super) column: usize,
    pub(super) problem: String,
}

/// No recording is nested so deep; a hostile one would fill the stack.
pub(super) const DEPTH_MAX: usize = 200;

impl DataNode {
    /// A JSON value.
    pub(super) fn from_json(text: &str) -> Result<Self, SyntaxError> {
        let checked = serde_json::from_str::<&serde_json::value::RawValue>(text);
        let value = checked.map_err(|error| SyntaxError { line: error.line(), column: error.column(), problem: error.to_string() })?;
        let too_deep = || SyntaxError { line: 1, column: 1, problem: format!("it is nested deeper than {DEPTH_MAX}") };
        Self::from_checked(value.get(), 0).ok_or_else(too_deep)
    }

    /// Of text that is one JSON value; `None` when it is nested too deep.
    fn from_checked(value: &str, depth: usize) -> Option<Self> {
        if depth > DEPTH_MAX {
            return None;
        }
        Some(match value.as_bytes().first() {
            Some(b'{') => {
                let object = RawObject::parse(value).ok()?;
                let member = |(name, value): (&str, &str)| Some((name.to_owned(), Self::from_checked(value, depth + 1)?));
                Self::Map(object.members().map(member).collect::<Option<_>>()?)
            }
            Some(b'[') => {
                Self::List(elements(value).ok()?.into_iter().map(|item| Self::from_checked(item, depth + 1)).collect::<Option<_>>()?)
            }
            Some(b'"') => Self::Text(raw_json::string(value).unwrap_or_default().into_owned()),
            Some(b't') => Self::Bool(true),
            Some(b'f') => Self::Bool(false),
            Some(b'n') | None => Self::Null,
            Some(_) => Self::Number(value.to_owned()),
        })
    }

    /// A member of a map.
    pub(super) fn get(&self, name: &str) -> Option<&DataNode> {
        match self {
            Self::Map(members) => members.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// A member of a map that is there and not null.
    pub(super) fn present(&self, name: &str) -> Option<&DataNode> {
        self.get(name).filter(|value| **value != Self::Null)
    }

    pub(super) fn list(&self) -> Option<&[DataNode]> {
        match self {
            Self::List(items) => Some(items),
            _ => None,
        }
    }

    /// Text, or a number or truth value as it was written. Recorders write text as bytes where their client gave them bytes.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Bytes(bytes) => std::str::from_utf8(bytes).ok(),
            Self::Text(text) | Self::Number(text) => Some(text),
            Self::Bool(truth) => Some(if *truth { "true" } else { "false" }),
            _ => None,
        }
    }

    pub(super) fn number<T: std::str::FromStr>(&self) -> Option<T> {
        self.text().and_then(|text| text.parse().ok())
    }

    /// Appends the value as JSON; bytes as their base64.
    pub(super) fn push_json(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
            Self::Number(text) => out.push_str(text),
            Self::Text(text) => push_string(out, text),
            Self::Bytes(bytes) => push_string(out, &STANDARD.encode(bytes)),
            Self::List(items) => {
                out.push('[');
                for (position, item) in items.iter().enumerate() {
                    if position > 0 {
                        out.push(',');
                    }
                    item.push_json(out);
                }
                out.push(']');
            }
            Self::Map(members) => {
                out.push('{');
                for (position, (name, value)) in members.iter().enumerate() {
                    if position > 0 {
                        out.push(',');
                    }
                    push_string(out, name);
                    out.push(':');
                    value.push_json(out);
                }
                out.push('}');
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(node: &DataNode) -> String {
        let mut out = String::new();
        node.push_json(&mut out);
        out
    }

    #[test]
    fn k_5_json_keeps_its_numbers_and_order() {
        let text = r#"{"b":1e3,"a":[true,null,"x\ny"],"c":{}}"#;
        assert_eq!(json(&DataNode::from_json(text).unwrap()), text);
    }
}
