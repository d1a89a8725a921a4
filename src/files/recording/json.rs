//! JSON files, read exchange by exchange: a list in an object, a list alone, or values in a row (K-5).

use std::cell::Cell;
use std::io::{self, BufRead, Read};
use std::ops::ControlFlow;

use serde::Deserialize as _;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::entries::{EntrySink, FileEntry, LISTS, place};
use super::node::{DataNode, SyntaxError};
use super::source::RecordingSource;

/// A value of more, in which a request and its answer stand, is none of this API (K-12).
const VALUE_BYTES_MAX: usize = 64 << 20;

/// A member beside the list of exchanges that is larger says nothing about a recording.
const MEMBER_BYTES_MAX: usize = 64 << 10;

/// Gives every value of the file to `sink`.
///
/// # Errors
/// When it is not JSON, with the place; when a value is larger than 64 MiB; and those of the reader.
pub fn read(source: RecordingSource<'_>, sink: &mut dyn EntrySink) -> Result<(), SyntaxError> {
    let is_list = source.head.trim_ascii_start().starts_with(b"[");
    let value = Cell::new(0);
    let mut feed = JsonFeed { reader: source.reader, line: 1, column: 0, last: 0, value: &value };
    if !is_list && !begins_container(&source.head) {
        return values(&mut feed, sink);
    }
    let mut walk = JsonWalk { sink, stopped: false, value: &value };
    let mut deserializer = serde_json::Deserializer::from_reader(&mut feed);
    let seed = if is_list { ValueSeed::List("") } else { ValueSeed::Root };
    let read = JsonPart { walk: &mut walk, seed }.deserialize(&mut deserializer).and_then(|()| deserializer.end());
    match read {
        Err(error) if !walk.stopped => Err(feed.error(&error)),
        _ => Ok(()),
    }
}

/// Values one after another, most often a line each. A line that is not JSON does not cost the others.
fn values(feed: &mut JsonFeed<'_>, sink: &mut dyn EntrySink) -> Result<(), SyntaxError> {
    for number in 1.. {
        if !feed.skip_space() {
            break;
        }
        let line = feed.line;
        feed.value.set(0);
        let value = Box::<RawValue>::deserialize(&mut serde_json::Deserializer::from_reader(&mut *feed));
        let name = if feed.line == line { format!("line {line}") } else { format!("value {number}") };
        let flow = match value {
            Ok(value) => give(sink, "", name, value.get()),
            Err(error) if number > 1 && error.is_eof() && feed.last != b'\n' => {
                sink.cut();
                break;
            }
            Err(error) => {
                let wrong = feed.error(&error);
                if number == 1 || error.is_io() || sink.broken(name, wrong.problem.clone()).is_break() {
                    return Err(wrong);
                }
                feed.skip_line();
                ControlFlow::Continue(())
            }
        };
        if flow.is_break() {
            break;
        }
    }
    Ok(())
}

/// One value to `sink`; when it holds a list of exchanges, each of them.
fn give(sink: &mut dyn EntrySink, list: &str, name: String, text: &str) -> ControlFlow<()> {
    let node = match DataNode::from_json(text) {
        Ok(node) => node,
        Err(error) => return sink.broken(name, error.problem),
    };
    let outer = if list.is_empty() { node.get("log").unwrap_or(&node) } else { &DataNode::Null };
    let Some((key, items)) = LISTS.iter().find_map(|key| Some((*key, outer.get(key)?.list()?))) else {
        return sink.entry(FileEntry { list, place: name, node, text: Some(text) });
    };
    sink.list(key);
    for (index, item) in items.iter().enumerate() {
        sink.entry(FileEntry { list: key, place: place(key, index), node: item.clone(), text: None })?;
    }
    ControlFlow::Continue(())
}

/// Whether the outermost object has a list of exchanges, as far as its beginning shows.
fn begins_container(head: &[u8]) -> bool {
    let (mut depth, mut at, mut outer) = (0_usize, 0, &b""[..]);
    while at < head.len() {
        match head[at] {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                let start = at + 1;
                at = start;
                while at < head.len() && head[at] != b'"' {
                    at += if head[at] == b'\\' { 2 } else { 1 };
                }
                let word = head.get(start..at).unwrap_or_default();
                let is_key = head.get(at + 1..).is_some_and(|rest| rest.trim_ascii_start().starts_with(b":"));
                let may_hold = depth == 1 || (depth == 2 && outer == b"log");
                if is_key && may_hold && LISTS.iter().any(|list| word == list.as_bytes()) {
                    return true;
                }
                if is_key && depth == 1 {
                    outer = word;
                }
            }
            _ => (),
        }
        // A second value in the file: lines, not a container.
        if depth == 0 && at > 0 && matches!(head[at], b'}' | b']') {
            return false;
        }
        at += 1;
    }
    false
}

/// The bytes of a file, and where they are.
struct JsonFeed<'a> {
    reader: Box<dyn BufRead + 'a>,
    /// From 1.
    line: usize,
    /// How many bytes of this line were read; of the line before, when the last byte was its end.
    column: usize,
    last: u8,
    /// How many bytes of a value were read.
    value: &'a Cell<usize>,
}

impl Read for JsonFeed<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let available = self.reader.fill_buf()?;
        let length = available.len().min(out.len());
        self.value.set(self.value.get() + length);
        if self.value.get() > VALUE_BYTES_MAX {
            return Err(io::Error::other(format!("a value in it is larger than {} MiB", VALUE_BYTES_MAX >> 20)));
        }
        out[..length].copy_from_slice(&available[..length]);
        self.reader.consume(length);
        out[..length].iter().for_each(|byte| self.count(*byte));
        Ok(length)
    }
}

impl JsonFeed<'_> {
    fn count(&mut self, byte: u8) {
        if self.last == b'\n' {
            self.column = 0;
        }
        if byte == b'\n' {
            self.line += 1;
        }
        self.column += 1;
        self.last = byte;
    }

    /// To the next byte that is no white space; whether there is one.
    fn skip_space(&mut self) -> bool {
        loop {
            match self.reader.fill_buf().ok().and_then(|available| available.first().copied()) {
                Some(byte) if byte.is_ascii_whitespace() => {
                    self.reader.consume(1);
                    self.count(byte);
                }
                // An error of the file system comes back when the value is read.
                Some(_) => return true,
                None => return false,
            }
        }
    }

    /// To the beginning of the next line, unless it is there already.
    fn skip_line(&mut self) {
        while self.last != b'\n' {
            let Some(byte) = self.reader.fill_buf().ok().and_then(|available| available.first().copied()) else { return };
            self.reader.consume(1);
            self.count(byte);
        }
    }

    /// The parser's error at the place in the file.
    fn error(&self, error: &serde_json::Error) -> SyntaxError {
        let text = error.to_string();
        let problem = text.rfind(" at line ").map_or(&*text, |at| &text[..at]).to_owned();
        let line = if self.last == b'\n' && self.line > 1 { self.line - 1 } else { self.line };
        SyntaxError { line, column: self.column.max(1), problem }
    }
}

/// A walk through the values of one file.
struct JsonWalk<'s> {
    sink: &'s mut dyn EntrySink,
    /// The sink wants no more.
    stopped: bool,
    /// How many bytes of a value were read.
    value: &'s Cell<usize>,
}

/// A value of the file, by what it should be.
#[derive(Clone, Copy)]
enum ValueSeed {
    /// The outermost object, or HAR's `log`.
    Root,
    /// A list of exchanges with this name.
    List(&'static str),
}

struct JsonPart<'w, 's> {
    walk: &'w mut JsonWalk<'s>,
    seed: ValueSeed,
}

impl<'de> DeserializeSeed<'de> for JsonPart<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// Values of another kind than expected are read over.
impl<'de> Visitor<'de> for JsonPart<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a recording")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            self.walk.value.set(0);
            let list = LISTS.iter().find(|list| **list == key && matches!(self.seed, ValueSeed::Root));
            if let Some(list) = list {
                map.next_value_seed(JsonPart { walk: &mut *self.walk, seed: ValueSeed::List(list) })?;
            } else if key == "log" {
                map.next_value_seed(JsonPart { walk: &mut *self.walk, seed: ValueSeed::Root })?;
            } else {
                let value = map.next_value::<Box<RawValue>>()?;
                if value.get().len() <= MEMBER_BYTES_MAX
                    && let Ok(node) = DataNode::from_json(value.get())
                {
                    self.walk.sink.member(&key, node);
                }
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let ValueSeed::List(list) = self.seed else {
            while items.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(());
        };
        self.walk.sink.list(list);
        for index in 0.. {
            self.walk.value.set(0);
            let Some(item) = items.next_element::<Box<RawValue>>()? else { break };
            if give(self.walk.sink, list, place(list, index), item.get()).is_break() {
                self.walk.stopped = true;
                return Err(A::Error::custom("no more is wanted"));
            }
        }
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes down what it is given.
    #[derive(Default)]
    struct EntryNotes(Vec<String>);

    impl EntrySink for EntryNotes {
        fn list(&mut self, name: &str) {
            self.0.push(format!("list {name}"));
        }

        fn entry(&mut self, entry: FileEntry<'_>) -> ControlFlow<()> {
            let mut text = String::new();
            entry.node.push_json(&mut text);
            self.0.push(format!("{}: {text}", entry.place));
            if text.contains("stop") { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }

        fn member(&mut self, name: &str, _: DataNode) {
            self.0.push(format!("member {name}"));
        }

        fn broken(&mut self, place: String, _: String) -> ControlFlow<()> {
            self.0.push(format!("{place} is broken"));
            ControlFlow::Continue(())
        }

        fn cut(&mut self) {
            self.0.push(String::from("cut"));
        }
    }

    fn notes(text: &str) -> (String, Result<(), SyntaxError>) {
        let mut notes = EntryNotes::default();
        let read = read(RecordingSource::open(text.as_bytes()).ok().unwrap(), &mut notes);
        (notes.0.join(", "), read)
    }

    #[test]
    fn k_5_a_file_is_given_value_by_value() {
        let table = [
            (
                r#"{"version":1,"interactions":[{"a":1},{"b":2}],"z":[]}"#,
                "member version, list interactions, interactions[0]: {\"a\":1}, interactions[1]: {\"b\":2}, member z",
            ),
            (r#"{"log":{"entries":[1],"pages":3},"x":null}"#, "list entries, entries[0]: 1, member pages, member x"),
            (r#"[{"a":"interactions"}, 7]"#, "list , [0]: {\"a\":\"interactions\"}, [1]: 7"),
            ("{\"a\":1.0}\n{\"b\":2}\n", "line 1: {\"a\":1.0}, line 2: {\"b\":2}"),
            ("{\n\"a\":1}\n{\"b\":2}", "value 1: {\"a\":1}, line 3: {\"b\":2}"),
            ("{\"a\":1}\n{\"b\":}\n{\"c\":3}\n", "line 1: {\"a\":1}, line 2 is broken, line 3: {\"c\":3}"),
            ("{\"a\":1}\n{\"b\":\"\n{\"c\":3}\n", "line 1: {\"a\":1}, value 2 is broken, line 3: {\"c\":3}"),
            ("{\"a\":1}\n{\"b\":", "line 1: {\"a\":1}, cut"),
            ("{\"stop\":1}\n{\"b\":2}", "line 1: {\"stop\":1}"),
            (r#"{"interactions":["stop",2]}"#, "list interactions, interactions[0]: \"stop\""),
            (r#"{"interactions":{"a":[1]},"log":7}"#, "member a"),
            (r#"{"a":{"interactions":[1]}}"#, "line 1: {\"a\":{\"interactions\":[1]}}"),
        ];
        for (text, given) in table {
            let (notes, read) = notes(text);
            assert_eq!(notes, given, "{text}");
            assert_eq!(read, Ok(()), "{text}");
        }
    }

    #[test]
    fn k_5_a_list_behind_much_else_is_found_too() {
        let text = format!(r#"{{"a":"{}","interactions":[1]}}"#, "x".repeat(70_000));
        assert_eq!(notes(&text).0, "list interactions, interactions[0]: 1");
    }

    #[test]
    fn k_5_errors_have_their_place() {
        for (text, line, column) in [("{\n\"a\": x}", 2, 6), ("{\"log\":\n{", 2, 1), ("{\"interactions\":[1,\n}", 2, 1), ("[1,]", 1, 4)] {
            let error = notes(text).1.unwrap_err();
            assert_eq!((error.line, error.column), (line, column), "{text}: {error:?}");
            assert!(!error.problem.contains("line"), "{error:?}");
        }
    }
}
