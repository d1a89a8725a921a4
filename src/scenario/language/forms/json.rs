//! JSON in text, and content of messages.

use serde_json::value::RawValue;

use super::super::description::{KeyDescription, ValueShape, WrittenForm};
use super::super::keys::{FieldForm, KeyFacts, KeyForm, KeyPosition};
use super::super::toml::{TomlTable, TomlValue};
use super::{text, wrong};
use crate::parse::reader::TableReader;
use crate::parse::report::DiagnosticReport;
use crate::parse::tree::{TextPlace, TreeValue, TreeValueKind};
use reenact_wire::block::Block;
use reenact_wire::json::{Json, push_string};
use reenact_wire::prelude::*;

/// An example of content, as TOML.
const BLOCKS_EXAMPLE: &str = r#"'[{"type":"text","text":"Hello"}]'"#;

/// A JSON object, written as a table or as text that holds JSON.
pub(crate) struct JsonObjectText;

impl KeyForm for JsonObjectText {
    type Value = Json;

    fn shape() -> ValueShape {
        let forms = vec![ValueShape::Text, ValueShape::Map(Box::new(ValueShape::Anything))];
        let form = WrittenForm { noun: "a table, or text with a JSON object", help: "", example: "'{}'" };
        ValueShape::Written(form, Box::new(ValueShape::Either(forms)))
    }

    fn read(value: &TreeValue, _: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<Json> {
        match &value.kind {
            TreeValueKind::Table(_) => value.to_json(report),
            TreeValueKind::Text(_) => shaped(value, report, &['{'], "a JSON object"),
            _ => wrong(value, report, "a table, or text with a JSON object"),
        }
    }

    fn write(value: &Json) -> TomlValue {
        TomlValue::text(value.as_str())
    }
}

/// Plain text, which is kept as a JSON string.
struct TextAsJson;

impl KeyForm for TextAsJson {
    type Value = Json;

    fn shape() -> ValueShape {
        ValueShape::Text
    }

    fn read(value: &TreeValue, _: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<Json> {
        let text = text(value, report)?;
        let mut out = String::new();
        push_string(&mut out, text);
        Some(Json::trusted(out))
    }

    fn write(value: &Json) -> TomlValue {
        TomlValue::text(&serde_json::from_str::<String>(value.as_str()).unwrap_or_default())
    }
}

/// Content as the API takes it: text with a JSON string or a JSON array of blocks.
struct ContentJson;

impl KeyForm for ContentJson {
    type Value = Json;

    fn shape() -> ValueShape {
        let form = WrittenForm { noun: "text with a JSON string or a JSON array of blocks", help: "", example: BLOCKS_EXAMPLE };
        ValueShape::Written(form, Box::new(ValueShape::Text))
    }

    fn read(value: &TreeValue, _: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<Json> {
        let json = shaped(value, report, &['"', '['], "a JSON string or a JSON array of blocks")?;
        if json.as_str().starts_with('[') {
            blocks(value, report, &json)?;
        }
        Some(json)
    }

    fn write(value: &Json) -> TomlValue {
        TomlValue::text(value.as_str())
    }
}

/// Content blocks: text with a JSON array of objects.
pub(crate) struct BlocksText;

impl KeyForm for BlocksText {
    type Value = Vec<Block>;

    fn shape() -> ValueShape {
        let form = WrittenForm { noun: "text with a JSON array of blocks", help: "", example: BLOCKS_EXAMPLE };
        ValueShape::Written(form, Box::new(ValueShape::Text))
    }

    fn read(value: &TreeValue, _: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<Vec<Block>> {
        let json = shaped(value, report, &['['], "a JSON array of blocks")?;
        blocks(value, report, &json)
    }

    fn write(value: &Vec<Block>) -> TomlValue {
        let blocks: Vec<&str> = value.iter().map(|block| block.json().as_str()).collect();
        TomlValue::text(&format!("[{}]", blocks.join(",")))
    }
}

/// Content as plain text under the key, or as JSON under the other one.
pub(crate) struct TextOrJson;

impl FieldForm for TextOrJson {
    type Value = Option<Json>;

    fn describe_field(facts: &KeyFacts, usual: &Option<Json>, keys: &mut Vec<KeyDescription>) {
        <Option<TextAsJson> as FieldForm>::describe_field(facts, usual, keys);
        if let Some(other) = facts.other {
            <Option<ContentJson> as FieldForm>::describe_field(
                &KeyFacts::new(other, "The same as JSON, for content that is not plain text."),
                usual,
                keys,
            );
        }
    }

    fn field_names(facts: &KeyFacts) -> Vec<&'static str> {
        [Some(facts.name), facts.other].into_iter().flatten().collect()
    }

    fn read_field(reader: &mut TableReader<'_, '_>, facts: &KeyFacts) -> Option<Option<Json>> {
        let other = facts.other?;
        reader.one_of(&[facts.name, other]);
        let plain = <TextAsJson as FieldForm>::read_field(reader, facts);
        plain.or(<ContentJson as FieldForm>::read_field(reader, &facts.key(other))).map(Some)
    }

    fn write_field(value: &Option<Json>, facts: &KeyFacts, out: &mut TomlTable) {
        let Some(json) = value else { return };
        let is_plain = serde_json::from_str::<String>(json.as_str()).is_ok_and(|text| Json::from_value(&text) == *json);
        match (is_plain, facts.other) {
            (false, Some(other)) => out.put(other, ContentJson::write(json)),
            _ => out.put(facts.name, TextAsJson::write(json)),
        }
    }
}

fn blocks(value: &TreeValue, report: &mut DiagnosticReport, json: &Json) -> Option<Vec<Block>> {
    let items: Vec<&RawValue> = serde_json::from_str(json.as_str()).unwrap_or_default();
    let of = |(at, item): (usize, &&RawValue)| {
        if item.get().starts_with('{') {
            return Some(Block::from(Json::trusted(item.get())));
        }
        let message = format!("content block {} is not a JSON object", at + 1);
        report.value(value.place, message, Some("a block is an object such as {\"type\":\"text\",\"text\":\"…\"}".into()));
        None
    };
    let blocks: Vec<Block> = items.iter().enumerate().filter_map(of).collect();
    (blocks.len() == items.len()).then_some(blocks)
}

/// Text that holds JSON which begins with one of `starts`.
fn shaped(value: &TreeValue, report: &mut DiagnosticReport, starts: &[char], wanted: &str) -> Option<Json> {
    let TreeValueKind::Text(text) = &value.kind else { return wrong(value, report, &format!("text with {wanted}")) };
    let text = text.trim_matches([' ', '\t', '\r', '\n']);
    match Json::parse(text) {
        Ok(json) if text.starts_with(starts) => return Some(json),
        Ok(_) => report.value(value.place, format!("expected {wanted}, found {}", json_kind(text)), None),
        Err(error) => not_json(value, report, text, &error, wanted),
    }
    None
}

/// The parser's own words, at the place that they are about where the text stands in the source as it is.
fn not_json(value: &TreeValue, report: &mut DiagnosticReport, text: &str, error: &serde_json::Error, wanted: &str) {
    let (line, column) = (error.line(), error.column());
    let words = error.to_string();
    let help = Some(format!("expected {wanted} inside the text"));
    let Some(start) = report.find(value.place, text) else {
        return report.value(value.place, format!("not JSON: {words}"), help);
    };
    let words = words.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&words);
    let before: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let at = start + (before + column.saturating_sub(1)).min(text.len());
    report.value(TextPlace { start: at, end: at, ..value.place }, format!("not JSON: {words}"), help);
}

fn json_kind(json: &str) -> &'static str {
    match json.as_bytes().first() {
        Some(b'{') => "a JSON object",
        Some(b'[') => "a JSON array",
        Some(b'"') => "a JSON string",
        Some(b'n') => "null",
        Some(b't' | b'f') => "a JSON boolean",
        _ => "a JSON number",
    }
}
