//! YAML files, read exchange by exchange: a list in a map, a list alone, or documents (K-5).
//!
//! They are read from the parser's events and not through a typed loader, because a loader has no place for `!!binary`, and because a
//! parsed body must become JSON again with its members in their order.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{BufRead, Read as _};
use std::ops::ControlFlow;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Tag};

use super::base64_text::from_base64;
use super::entries::{EntrySink, FileEntry, LISTS, place};
use super::node::{DEPTH_MAX, DataNode, SyntaxError};
use super::source::RecordingSource;

/// The limit of everything that anchors keep and aliases repeat: this much, and so many bytes for each byte of the file. No honest file
/// repeats more; a hostile one would fill the memory (K-12).
const REPEATED_BYTES_MIN: usize = 32 << 20;
const REPEATED_FACTOR: usize = 8;

/// The memory of a value beside its text.
const NODE_BYTES: usize = 64;

/// How much of a key that is no text is kept.
const SHOWN_KEY_BYTES: usize = 256;

/// One text of more is none of this API, and is not read to its end (K-12).
const TEXT_BYTES_MAX: usize = 64 << 20;

/// Gives every exchange of the file to `sink`. The name of the syntax that is broken stands beside the error.
///
/// # Errors
/// When it is not YAML or not UTF-8, with the place; when a text is larger than 64 MiB, or aliases repeat too much; and those of the reader.
pub fn read(source: RecordingSource<'_>, sink: &mut dyn EntrySink) -> Result<(), (&'static str, SyntaxError)> {
    let (mut trouble, progress) = (None, ReadProgress::default());
    let chars = YamlChars { reader: source.reader, line: String::new(), at: 0, number: 0, trouble: &mut trouble, progress: &progress };
    let read = parse(chars, &progress, sink);
    // What ends the text too soon is the cause of what the parser says.
    match trouble {
        Some(trouble) => Err(trouble),
        None => read.map_err(|error| ("YAML", error)),
    }
}

/// How far a file was read; the parser, which owns the reader, does not say.
#[derive(Default)]
struct ReadProgress {
    bytes: Cell<usize>,
    /// Since the last event.
    text_bytes: Cell<usize>,
}

fn parse(chars: YamlChars<'_>, progress: &ReadProgress, sink: &mut dyn EntrySink) -> Result<(), SyntaxError> {
    let mut parser = Parser::new_from_iter(chars);
    let mut builder =
        NodeBuilder { sink, progress, open: Vec::new(), anchors: BTreeMap::new(), repeated: 0, documents: 0, has_list: false };
    while let Some(next) = parser.next_event() {
        progress.text_bytes.set(0);
        let (event, span) = next.map_err(|error| at_mark(&error))?;
        let wrong = |problem| SyntaxError { line: span.start.line(), column: span.start.col() + 1, problem };
        if builder.on_event(event).map_err(wrong)?.is_break() {
            break;
        }
    }
    Ok(())
}

/// The characters of a file, a line in memory at a time.
struct YamlChars<'a> {
    reader: Box<dyn BufRead + 'a>,
    line: String,
    at: usize,
    /// The line's, from 1.
    number: usize,
    /// Why the text ends before the file does.
    trouble: &'a mut Option<(&'static str, SyntaxError)>,
    progress: &'a ReadProgress,
}

impl Iterator for YamlChars<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        if self.at == self.line.len() {
            if self.trouble.is_some() {
                return None;
            }
            self.next_line()?;
        }
        let next = self.line[self.at..].chars().next()?;
        self.at += next.len_utf8();
        Some(next)
    }
}

impl YamlChars<'_> {
    fn next_line(&mut self) -> Option<()> {
        let mut bytes = std::mem::take(&mut self.line).into_bytes();
        bytes.clear();
        self.at = 0;
        self.number += 1;
        if let Err(error) = self.reader.by_ref().take(TEXT_BYTES_MAX as u64 + 1).read_until(b'\n', &mut bytes) {
            self.stop("YAML", 1, error.to_string());
            return None;
        }
        let ReadProgress { bytes: read, text_bytes } = self.progress;
        read.set(read.get() + bytes.len());
        text_bytes.set(text_bytes.get() + bytes.len());
        if text_bytes.get() > TEXT_BYTES_MAX {
            self.stop("YAML", 1, format!("a text in it is larger than {} MiB", TEXT_BYTES_MAX >> 20));
            return None;
        }
        self.line = String::from_utf8(bytes).unwrap_or_else(|error| {
            let text = error.utf8_error().valid_up_to();
            self.stop("UTF-8", text + 1, String::from("a byte that is not text"));
            let mut bytes = error.into_bytes();
            bytes.truncate(text);
            String::from_utf8(bytes).unwrap_or_default()
        });
        (!self.line.is_empty()).then_some(())
    }

    fn stop(&mut self, syntax: &'static str, column: usize, problem: String) {
        *self.trouble = Some((syntax, SyntaxError { line: self.number, column, problem }));
    }
}

/// Builds nodes from the parser's events.
struct NodeBuilder<'s> {
    sink: &'s mut dyn EntrySink,
    progress: &'s ReadProgress,
    open: Vec<OpenNode>,
    anchors: BTreeMap<usize, DataNode>,
    /// How many bytes anchors and aliases took.
    repeated: usize,
    /// How many documents began.
    documents: usize,
    /// Whether this document has a list of exchanges.
    has_list: bool,
}

/// A list or a map that has not ended.
struct OpenNode {
    anchor: usize,
    /// Python's objects are written as the list of what makes them again: one text is that text.
    is_python: bool,
    kind: OpenKind,
}

enum OpenKind {
    List(Vec<DataNode>),
    /// A list of exchanges, which are given away one by one: its name, and how many there were.
    Exchanges(String, usize),
    /// With the key whose value comes next.
    Map(Vec<(String, DataNode)>, Option<String>),
}

type Step = Result<ControlFlow<()>, String>;

const NEXT: Step = Ok(ControlFlow::Continue(()));

impl NodeBuilder<'_> {
    fn on_event(&mut self, event: Event<'_>) -> Step {
        match event {
            Event::DocumentStart(_) => {
                self.documents += 1;
                self.has_list = false;
                NEXT
            }
            Event::Scalar(text, style, anchor, tag) => self.value(anchor, scalar(&text, style, tag.as_deref())?),
            Event::SequenceStart(..) | Event::MappingStart(..) if self.open.len() >= DEPTH_MAX => {
                Err(format!("it is nested deeper than {DEPTH_MAX}"))
            }
            Event::SequenceStart(anchor, tag) => {
                let kind = self.list_kind();
                self.open.push(OpenNode { anchor, is_python: tag.is_some_and(|tag| tag.suffix.starts_with("python/")), kind });
                NEXT
            }
            Event::MappingStart(anchor, _) => {
                self.open.push(OpenNode { anchor, is_python: false, kind: OpenKind::Map(Vec::new(), None) });
                NEXT
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(OpenNode { anchor, is_python, kind: OpenKind::List(mut items) }) => match (is_python, items.len()) {
                    (true, 1) => self.value(anchor, items.remove(0)),
                    _ => self.value(anchor, DataNode::List(items)),
                },
                Some(OpenNode { anchor, kind: OpenKind::Map(members, _), .. }) => self.value(anchor, DataNode::Map(members)),
                Some(OpenNode { kind: OpenKind::Exchanges(..), .. }) => self.value(0, DataNode::Null),
                None => Err(String::from("an end without a beginning")),
            },
            Event::Alias(anchor) => self.alias(anchor),
            _ => NEXT,
        }
    }

    /// The kind of the list that begins here.
    fn list_kind(&mut self) -> OpenKind {
        let name = match self.open.as_slice() {
            [] => "",
            [OpenNode { kind: OpenKind::Map(_, Some(key)), .. }] if LISTS.contains(&key.as_str()) => key,
            _ => return OpenKind::List(Vec::new()),
        };
        let name = name.to_owned();
        self.has_list = true;
        self.sink.list(&name);
        OpenKind::Exchanges(name, 0)
    }

    fn alias(&mut self, anchor: usize) -> Step {
        let node = self.anchors.get(&anchor).ok_or("an alias of a value that comes later")?;
        let node = repeat(node, &mut self.repeated, self.progress)?;
        self.value(0, node)
    }

    fn value(&mut self, anchor: usize, node: DataNode) -> Step {
        if anchor > 0 {
            let kept = repeat(&node, &mut self.repeated, self.progress)?;
            self.anchors.insert(anchor, kept);
        }
        match self.open.last_mut().map(|open| &mut open.kind) {
            None => return Ok(self.document(node)),
            Some(OpenKind::List(items)) => items.push(node),
            Some(OpenKind::Exchanges(list, index)) => {
                *index += 1;
                return Ok(self.sink.entry(FileEntry { list, place: place(list, *index - 1), node, text: None }));
            }
            Some(OpenKind::Map(members, key)) => match key.take() {
                Some(name) => members.push((name, node)),
                None => *key = Some(key_text(node)),
            },
        }
        NEXT
    }

    /// A whole document.
    fn document(&mut self, node: DataNode) -> ControlFlow<()> {
        match node {
            // A file may end with `---`.
            DataNode::Null => (),
            DataNode::Map(members) if self.has_list => members.into_iter().for_each(|(name, value)| self.sink.member(&name, value)),
            node => return self.sink.entry(FileEntry { list: "", place: format!("document {}", self.documents), node, text: None }),
        }
        ControlFlow::Continue(())
    }
}

/// A key is text. Any other is shown as the beginning of its JSON: nothing asks for it, and the rest of the file can be read. It is cut because a key
/// in a key in a key … would double its backslashes each time (K-12).
fn key_text(key: DataNode) -> String {
    if let Some(text) = key.text() {
        return text.to_owned();
    }
    let mut json = String::new();
    key.push_json(&mut json);
    let end = (0..=SHOWN_KEY_BYTES.min(json.len())).rfind(|end| json.is_char_boundary(*end));
    json.truncate(end.unwrap_or_default());
    json
}

/// A copy, when there is room for it.
fn repeat(node: &DataNode, repeated: &mut usize, progress: &ReadProgress) -> Result<DataNode, String> {
    *repeated += size(node);
    match *repeated > REPEATED_BYTES_MIN + REPEATED_FACTOR * progress.bytes.get() {
        true => Err(String::from("aliases repeat too much")),
        false => Ok(node.clone()),
    }
}

/// How many bytes a value takes, about.
fn size(node: &DataNode) -> usize {
    let inner = match node {
        DataNode::Null | DataNode::Bool(_) => 0,
        DataNode::Number(text) | DataNode::Text(text) => text.len(),
        DataNode::Bytes(bytes) => bytes.len(),
        DataNode::List(items) => items.iter().map(size).sum(),
        DataNode::Map(members) => members.iter().map(|(name, value)| name.len() + size(value)).sum(),
    };
    NODE_BYTES + inner
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<DataNode, String> {
    // Ruby writes `!binary`, with one mark.
    match tag.filter(|tag| tag.is_yaml_core_schema() || tag.handle == "!").map(|tag| tag.suffix.as_str()) {
        Some("binary") => {
            return from_base64(text).map(DataNode::Bytes).map_err(|problem| format!("`!!binary` that is not base64: {problem}"));
        }
        Some("str") => return Ok(DataNode::Text(text.to_owned())),
        _ => (),
    }
    if style != ScalarStyle::Plain {
        return Ok(DataNode::Text(text.to_owned()));
    }
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => DataNode::Null,
        "true" | "True" | "TRUE" => DataNode::Bool(true),
        "false" | "False" | "FALSE" => DataNode::Bool(false),
        _ if serde_json::from_str::<serde_json::Number>(text).is_ok() => DataNode::Number(text.to_owned()),
        _ => DataNode::Text(text.to_owned()),
    })
}

fn at_mark(error: &ScanError) -> SyntaxError {
    SyntaxError { line: error.marker().line(), column: error.marker().col() + 1, problem: error.info().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps what it is given.
    #[derive(Default)]
    struct NodeCollection {
        entries: Vec<(String, DataNode)>,
        members: Vec<String>,
    }

    impl EntrySink for NodeCollection {
        fn list(&mut self, _: &str) {}

        fn entry(&mut self, entry: FileEntry<'_>) -> ControlFlow<()> {
            self.entries.push((entry.place, entry.node));
            ControlFlow::Continue(())
        }

        fn member(&mut self, name: &str, _: DataNode) {
            self.members.push(name.to_owned());
        }

        fn broken(&mut self, _: String, _: String) -> ControlFlow<()> {
            ControlFlow::Break(())
        }

        fn cut(&mut self) {}
    }

    fn kept(text: &[u8]) -> Result<NodeCollection, (&'static str, SyntaxError)> {
        let mut kept = NodeCollection::default();
        read(RecordingSource::open(text).ok().unwrap(), &mut kept)?;
        Ok(kept)
    }

    fn json(node: &DataNode) -> String {
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
            "---\nb: 2\n---\n",
        );
        let kept = kept(text.as_bytes()).unwrap();
        let [(_, node), (place, second)] = <[(String, DataNode); 2]>::try_from(kept.entries).unwrap();
        assert_eq!((&*place, &*json(&second)), ("document 2", r#"{"b":2}"#));
        assert_eq!(node.get("ruby"), node.get("bytes"));
        assert_eq!(node.get("stream").unwrap().text(), Some("event: a\ndata: {}   \n\nevent: b\n\n"));
        assert_eq!(node.get("bytes"), Some(&DataNode::Bytes(b"hello".to_vec())));
        assert_eq!(json(node.get("again").unwrap()), r#"{"n":1.0,"t":"2025-01-01","q":"1","no":null,"yes":true}"#);
        assert_eq!(json(&node).split(",\"stream").next().unwrap(), "{\"z\":\"folded over two lines\",\"a\":\"wide 😀  spaced\\n\"");
    }

    #[test]
    fn k_5_exchanges_are_given_one_by_one_and_the_rest_apart() {
        let kept = kept(b"version: 2\ninteractions:\n- a: 1\n- [2]\nother:\n- 3\n").unwrap();
        let entries: Vec<String> = kept.entries.iter().map(|(place, node)| format!("{place} {}", json(node))).collect();
        assert_eq!(entries, ["interactions[0] {\"a\":1}", "interactions[1] [2]"]);
        assert_eq!(kept.members, ["version", "interactions", "other"]);
    }

    #[test]
    fn k_5_keys_that_python_wrote_as_objects_are_read() {
        let text = "- ? !!python/object/apply:multidict._multidict.istr\n  - Accept\n  : - a/b\n  ? [x, 1]\n  : 2\n";
        assert_eq!(json(&kept(text.as_bytes()).unwrap().entries[0].1), r#"{"Accept":["a/b"],"[\"x\",1]":2}"#);
    }

    #[test]
    fn k_5_errors_have_their_place() {
        let error = |text: &[u8]| kept(text).err().unwrap();
        let (syntax, error_at) = error(b"a: 1\nb: [1,\n");
        assert!(syntax == "YAML" && error_at.line >= 2, "{error_at:?}");
        let (_, error_at) = error(b"a: 1\nb: !!binary '?'\n");
        assert_eq!((error_at.line, error_at.column), (2, 4), "{error_at:?}");
        let (syntax, error_at) = error(b"a: 1\nb: \xff\n");
        assert_eq!((syntax, error_at.line, error_at.column), ("UTF-8", 2, 4));
    }
}
