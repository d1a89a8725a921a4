//! What YAML and JSON recordings have in common: a tree of values, order kept, scalars as they were written.
//!
//! YAML is read from the parser's events and not through a typed loader, because a loader has no place for `!!binary`, and because a
//! parsed body must become JSON again with its members in their order.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, SpannedEventReceiver, Tag};

use super::parts::from_base64;
use crate::wire::json::push_string;
use crate::wire::raw::{self, Object, elements};

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Null,
    Bool(bool),
    /// A number as JSON writes it.
    Number(String),
    Text(String),
    /// YAML's `!!binary`.
    Bytes(Vec<u8>),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

/// Where a file stops being YAML or JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SyntaxError {
    pub(super) line: usize,
    pub(super) column: usize,
    pub(super) problem: String,
}

/// No file that people have repeats so much by aliases; a hostile one would fill the memory.
const NODES_MAX: usize = 20_000_000;

/// No recording is nested so deep; a hostile one would fill the stack.
const DEPTH_MAX: usize = 200;

impl Node {
    /// The documents of a YAML file.
    pub(super) fn documents(text: &str) -> Result<Vec<Self>, SyntaxError> {
        let mut builder = Builder::default();
        Parser::new_from_str(text).load(&mut builder, true).map_err(|error| at_mark(&error))?;
        match builder.problem {
            Some(problem) => Err(problem),
            None => Ok(builder.documents),
        }
    }

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
                let object = Object::parse(value).ok()?;
                let member = |(name, value): (&str, &str)| Some((name.to_owned(), Self::from_checked(value, depth + 1)?));
                Self::Map(object.members().map(member).collect::<Option<_>>()?)
            }
            Some(b'[') => {
                Self::List(elements(value).ok()?.into_iter().map(|item| Self::from_checked(item, depth + 1)).collect::<Option<_>>()?)
            }
            Some(b'"') => Self::Text(raw::string(value).unwrap_or_default().into_owned()),
            Some(b't') => Self::Bool(true),
            Some(b'f') => Self::Bool(false),
            Some(b'n') | None => Self::Null,
            Some(_) => Self::Number(value.to_owned()),
        })
    }

    /// A member of a map.
    pub(super) fn get(&self, name: &str) -> Option<&Node> {
        match self {
            Self::Map(members) => members.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// A member of a map that is there and not null.
    pub(super) fn present(&self, name: &str) -> Option<&Node> {
        self.get(name).filter(|value| **value != Self::Null)
    }

    pub(super) fn list(&self) -> Option<&[Node]> {
        match self {
            Self::List(items) => Some(items),
            _ => None,
        }
    }

    /// Text, or a number or truth value as it was written.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
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

/// Builds nodes from the parser's events.
#[derive(Default)]
struct Builder {
    documents: Vec<Node>,
    open: Vec<Open>,
    anchors: BTreeMap<usize, Node>,
    nodes: usize,
    problem: Option<SyntaxError>,
}

/// A list or a map that has not ended.
struct Open {
    anchor: usize,
    kind: OpenKind,
}

enum OpenKind {
    List(Vec<Node>),
    /// With the key whose value comes next.
    Map(Vec<(String, Node)>, Option<String>),
}

impl<'input> SpannedEventReceiver<'input> for Builder {
    fn on_event(&mut self, event: Event<'input>, span: Span) {
        if self.problem.is_some() {
            return;
        }
        match event {
            Event::Scalar(text, style, anchor, tag) => match scalar(&text, style, tag.as_deref()) {
                Ok(node) => self.value(anchor, node, span),
                Err(problem) => self.fail(span, problem),
            },
            Event::SequenceStart(..) | Event::MappingStart(..) if self.open.len() >= DEPTH_MAX => {
                self.fail(span, format!("it is nested deeper than {DEPTH_MAX}"));
            }
            Event::SequenceStart(anchor, _) => self.open.push(Open { anchor, kind: OpenKind::List(Vec::new()) }),
            Event::MappingStart(anchor, _) => self.open.push(Open { anchor, kind: OpenKind::Map(Vec::new(), None) }),
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(Open { anchor, kind: OpenKind::List(items) }) => self.value(anchor, Node::List(items), span),
                Some(Open { anchor, kind: OpenKind::Map(members, _) }) => self.value(anchor, Node::Map(members), span),
                None => self.fail(span, String::from("an end without a beginning")),
            },
            Event::Alias(anchor) => self.alias(anchor, span),
            _ => (),
        }
    }
}

impl Builder {
    fn alias(&mut self, anchor: usize, span: Span) {
        let Some(node) = self.anchors.get(&anchor) else {
            return self.fail(span, String::from("an alias of something that is not there yet"));
        };
        self.nodes += count(node);
        if self.nodes > NODES_MAX {
            return self.fail(span, String::from("aliases repeat too much"));
        }
        let node = node.clone();
        self.value(0, node, span);
    }

    fn value(&mut self, anchor: usize, node: Node, span: Span) {
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        match self.open.last_mut().map(|open| &mut open.kind) {
            None => self.documents.push(node),
            Some(OpenKind::List(items)) => items.push(node),
            Some(OpenKind::Map(members, key)) => match key.take() {
                Some(name) => members.push((name, node)),
                None => match node.text() {
                    Some(name) => *key = Some(name.to_owned()),
                    None if node == Node::Null => *key = Some(String::from("null")),
                    None => self.fail(span, String::from("a key that is not text")),
                },
            },
        }
    }

    fn fail(&mut self, span: Span, problem: String) {
        self.problem = Some(SyntaxError { line: span.start.line(), column: span.start.col() + 1, problem });
    }
}

fn count(node: &Node) -> usize {
    match node {
        Node::List(items) => 1 + items.iter().map(count).sum::<usize>(),
        Node::Map(members) => 1 + members.iter().map(|(_, value)| count(value)).sum::<usize>(),
        _ => 1,
    }
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Node, String> {
    // Ruby writes `!binary`, with one mark.
    match tag.filter(|tag| tag.is_yaml_core_schema() || tag.handle == "!").map(|tag| tag.suffix.as_str()) {
        Some("binary") => {
            return from_base64(text).map(Node::Bytes).map_err(|problem| format!("`!!binary` that is not base64: {problem}"));
        }
        Some("str") => return Ok(Node::Text(text.to_owned())),
        _ => (),
    }
    if style != ScalarStyle::Plain {
        return Ok(Node::Text(text.to_owned()));
    }
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => Node::Null,
        "true" | "True" | "TRUE" => Node::Bool(true),
        "false" | "False" | "FALSE" => Node::Bool(false),
        _ if serde_json::from_str::<serde_json::Number>(text).is_ok() => Node::Number(text.to_owned()),
        _ => Node::Text(text.to_owned()),
    })
}

fn at_mark(error: &ScanError) -> SyntaxError {
    SyntaxError { line: error.marker().line(), column: error.marker().col() + 1, problem: error.info().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(node: &Node) -> String {
        let mut out = String::new();
        node.push_json(&mut out);
        out
    }

    #[test]
    fn k_5_yaml_as_recorders_write_it() {
        let text = concat!(
            "z: 'folded over\n  two lines'\n",
            "a: \"wide \\U0001F600 \\\n  \\ spaced\\n\"\n",
            "stream: |+\n  event: a\n  data: {}   \n\n  event: b\n\n",
            "bytes: !!binary |\n  aGVs\n  bG8=\n",
            "same: &x {n: 1.0, t: 2025-01-01, q: '1', no: null, yes: true}\n",
            "again: *x\n",
            "ruby: !binary |-\n  aGVs\n  bG8=\n",
            "---\nb: 2\n",
        );
        let [node, second] = <[Node; 2]>::try_from(Node::documents(text).unwrap()).unwrap();
        assert_eq!(json(&second), r#"{"b":2}"#);
        assert_eq!(node.get("ruby"), node.get("bytes"));
        assert_eq!(node.get("stream").unwrap().text(), Some("event: a\ndata: {}   \n\nevent: b\n\n"));
        assert_eq!(node.get("bytes"), Some(&Node::Bytes(b"hello".to_vec())));
        assert_eq!(json(node.get("again").unwrap()), r#"{"n":1.0,"t":"2025-01-01","q":"1","no":null,"yes":true}"#);
        assert_eq!(json(&node).split(",\"stream").next().unwrap(), "{\"z\":\"folded over two lines\",\"a\":\"wide 😀  spaced\\n\"");
    }

    #[test]
    fn k_5_errors_have_their_place() {
        let error = Node::documents("a: 1\nb: [1,\n").unwrap_err();
        assert!(error.line >= 2, "{error:?}");
        let error = Node::documents("a: 1\nb: !!binary '?'\n").unwrap_err();
        assert_eq!((error.line, error.column), (2, 4), "{error:?}");
        assert_eq!(Node::from_json("{\n\"a\": x}").unwrap_err().line, 2);
    }

    #[test]
    fn k_5_json_keeps_its_numbers_and_order() {
        let text = r#"{"b":1e3,"a":[true,null,"x\ny"],"c":{}}"#;
        assert_eq!(json(&Node::from_json(text).unwrap()), text);
    }
}
