//! The common form of YAML and JSON recordings: a tree of values, order kept, scalars as they were written.
//!
//! Not `serde_json`'s tree, which forgets how a number was written, the order of members and the first of two equal names, and has no bytes. Not the
//! tree of a scenario's TOML, whose values have places in the text, and no null. What is JSON alone and only passes through stays text
//! (`wire::json`).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use reenact_wire::json::push_string;
use reenact_wire::raw_json;

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub enum DataNode {
    /// JSON's `null`, and what YAML takes for it.
    Null,
    /// A truth value.
    Bool(bool),
    /// A number as JSON writes it.
    Number(String),
    /// Text without its quotes and escapes.
    Text(String),
    /// YAML's `!!binary`.
    Bytes(Vec<u8>),
    /// A list.
    List(Vec<DataNode>),
    /// A map, its members in their order; a name may come twice, and the last one counts.
    Map(Vec<(String, DataNode)>),
}

/// Where a file stops being YAML or JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// The problem, for people.
    pub problem: String,
}

/// No recording is nested so deep; a hostile one would fill the stack.
pub const DEPTH_MAX: usize = 200;

impl DataNode {
    /// A JSON value.
    ///
    /// # Errors
    /// When it is not JSON, and when it is nested deeper than [`DEPTH_MAX`].
    pub fn from_json(text: &str) -> Result<Self, SyntaxError> {
        let checked = serde_json::from_str::<&serde_json::value::RawValue>(text);
        let value = checked.map_err(|error| SyntaxError { line: error.line(), column: error.column(), problem: error.to_string() })?;
        let too_deep = || SyntaxError { line: 1, column: 1, problem: format!("it is nested deeper than {DEPTH_MAX}") };
        JsonText { text: value.get(), at: 0 }.value(0).ok_or_else(too_deep)
    }

    /// A member of a map.
    pub fn get(&self, name: &str) -> Option<&DataNode> {
        match self {
            Self::Map(members) => members.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// A member of a map that is there and not null.
    pub fn present(&self, name: &str) -> Option<&DataNode> {
        self.get(name).filter(|value| **value != Self::Null)
    }

    /// The items of a list.
    pub fn list(&self) -> Option<&[DataNode]> {
        match self {
            Self::List(items) => Some(items),
            _ => None,
        }
    }

    /// Text, or a number or truth value as it was written. Recorders write text as bytes where their client gave them bytes.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Bytes(bytes) => std::str::from_utf8(bytes).ok(),
            Self::Text(text) | Self::Number(text) => Some(text),
            Self::Bool(truth) => Some(if *truth { "true" } else { "false" }),
            _ => None,
        }
    }

    /// A number, also one that was written as text.
    pub fn number<T: std::str::FromStr>(&self) -> Option<T> {
        self.text().and_then(|text| text.parse().ok())
    }

    /// Appends the value as JSON; bytes as their base64.
    pub fn push_json(&self, out: &mut String) {
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

/// Text that is one JSON value, read from its beginning to its end once.
struct JsonText<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> JsonText<'a> {
    /// The value that begins here; `None` when it is nested too deep.
    fn value(&mut self, depth: usize) -> Option<DataNode> {
        if depth > DEPTH_MAX {
            return None;
        }
        Some(match self.peek() {
            Some(b'{') => {
                let mut members = Vec::new();
                while self.next_item(b'}') {
                    let name = raw_json::string(self.string()).unwrap_or_default().into_owned();
                    self.peek();
                    self.at += 1; // the colon
                    members.push((name, self.value(depth + 1)?));
                }
                DataNode::Map(members)
            }
            Some(b'[') => {
                let mut items = Vec::new();
                while self.next_item(b']') {
                    items.push(self.value(depth + 1)?);
                }
                DataNode::List(items)
            }
            Some(b'"') => DataNode::Text(raw_json::string(self.string()).unwrap_or_default().into_owned()),
            Some(b't') => self.word(DataNode::Bool(true)),
            Some(b'f') => self.word(DataNode::Bool(false)),
            Some(b'n') | None => self.word(DataNode::Null),
            Some(_) => {
                let start = self.at;
                self.skip_word();
                DataNode::Number(self.text[start..self.at].to_owned())
            }
        })
    }

    /// The next byte that is no white space.
    fn peek(&mut self) -> Option<u8> {
        let rest = self.text.as_bytes().get(self.at..)?;
        self.at += rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.text.as_bytes().get(self.at).copied()
    }

    /// Past a bracket or a comma; whether an item follows and not the end.
    fn next_item(&mut self, end: u8) -> bool {
        let mut next = self.peek();
        if next.is_some_and(|byte| b"[{,".contains(&byte)) {
            self.at += 1;
            next = self.peek();
        }
        if next == Some(end) {
            self.at += 1;
        }
        next.is_some_and(|byte| byte != end)
    }

    /// The string that begins here, with its quotes.
    fn string(&mut self) -> &'a str {
        self.peek();
        let (start, bytes) = (self.at, self.text.as_bytes());
        self.at += 1;
        while let Some(found) = bytes.get(self.at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
            self.at += found + 1;
            match bytes[self.at - 1] {
                b'"' => break,
                _ => self.at += 1,
            }
        }
        &self.text[start..self.at]
    }

    fn word(&mut self, node: DataNode) -> DataNode {
        self.skip_word();
        node
    }

    fn skip_word(&mut self) {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        self.at += rest.iter().take_while(|byte| !byte.is_ascii_whitespace() && !b",]}".contains(byte)).count();
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

    #[test]
    fn k_5_values_of_every_form_are_read_in_one_pass() {
        for text in [
            r#"{"a":[],"b":{},"c":[[],[{}]],"d":""}"#,
            r#"[1,-2.50e+3,true,false,null,"\\","\"","a,]}","é"]"#,
            r#""alone""#,
            "7",
            r#"{"":0,"a":1,"a":2}"#,
        ] {
            let spaced: String = text.split_inclusive(',').map(|part| format!("{part} \n\t")).collect();
            for text in [text, &*format!(" {text} "), if text.contains("a,]}") { text } else { &*spaced }] {
                let compact = json(&DataNode::from_json(text).unwrap());
                let (read, again): (serde_json::Value, serde_json::Value) =
                    (serde_json::from_str(text).unwrap(), serde_json::from_str(&compact).unwrap());
                assert_eq!(read, again, "{text}");
            }
        }
        let nested = |depth: usize| DataNode::from_json(&format!("{}1{}", "[".repeat(depth), "]".repeat(depth)));
        assert!(nested(DEPTH_MAX).is_ok());
        assert!(nested(DEPTH_MAX + 1).unwrap_err().problem.contains("deeper than 200"));
    }
}
