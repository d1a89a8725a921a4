//! What single values may look like, by the type that they become.

use serde_json::value::RawValue;

use super::report::DiagnosticReport;
use super::span::{self, DURATION_HELP, LATENCY_HELP, RANGE_HELP};
use super::tree::{TextPlace, TreeValue, TreeValueKind};
use crate::engine::time::Micros;
use crate::prelude::*;
use crate::scenario::latency::Latency;
use crate::wire::block::Block;
use crate::wire::json::{Json, push_string};

/// A type that a value can become.
pub(super) trait FromValue: Sized {
    /// Reads the value; what is wrong with it goes into the report, and a stand-in is passed over in silence.
    fn from_value(value: &TreeValue, report: &mut DiagnosticReport) -> Option<Self>;
}

impl FromValue for String {
    fn from_value(value: &TreeValue, report: &mut DiagnosticReport) -> Option<Self> {
        text(value, report).map(Into::into)
    }
}

impl FromValue for Arc<str> {
    fn from_value(value: &TreeValue, report: &mut DiagnosticReport) -> Option<Self> {
        text(value, report).map(Into::into)
    }
}

impl FromValue for bool {
    fn from_value(value: &TreeValue, report: &mut DiagnosticReport) -> Option<Self> {
        match value.kind {
            TreeValueKind::Boolean(value) => Some(value),
            _ => wrong(value, report, "true or false"),
        }
    }
}

impl FromValue for u64 {
    fn from_value(value: &TreeValue, report: &mut DiagnosticReport) -> Option<Self> {
        whole(value, report, Self::MAX)
    }
}

impl FromValue for u32 {
    fn from_value(value: &TreeValue, report: &mut DiagnosticReport) -> Option<Self> {
        whole(value, report, Self::MAX.into()).and_then(|number| number.try_into().ok())
    }
}

impl FromValue for Micros {
    fn from_value(value: &TreeValue, report: &mut DiagnosticReport) -> Option<Self> {
        match &value.kind {
            TreeValueKind::Text(text) => understood(value, report, span::duration(text), DURATION_HELP),
            _ => wrong_span(value, report, "a duration", DURATION_HELP),
        }
    }
}

impl FromValue for Latency {
    fn from_value(value: &TreeValue, report: &mut DiagnosticReport) -> Option<Self> {
        match &value.kind {
            TreeValueKind::Text(text) => understood(value, report, span::latency(text), LATENCY_HELP),
            TreeValueKind::List(items) if items.is_empty() => {
                report.value(value.place, "a table of latencies needs at least one duration".into(), Some(LATENCY_HELP.into()));
                None
            }
            TreeValueKind::List(items) => {
                let spans: Vec<Micros> = items.iter().filter_map(|item| Micros::from_value(item, report)).collect();
                (spans.len() == items.len()).then(|| Self::Table(spans.into()))
            }
            TreeValueKind::Table(_) => super::reader::entry(value, report, "a latency", |reader| {
                let (p50, p99) = (reader.required::<Micros>("p50"), reader.required::<Micros>("p99"));
                let (p50, p99) = (p50?, p99?);
                if p50 > p99 {
                    reader.report.value(value.place, "`p99` is below `p50`; swap them".into(), None);
                }
                Some(Self::LogNormal { p50, p99 })
            })?,
            _ => wrong_span(value, report, "a latency", LATENCY_HELP),
        }
    }
}

/// One figure, or all from one to another.
pub(super) struct FigureRange(pub(super) Micros, pub(super) Micros);

impl FromValue for FigureRange {
    fn from_value(value: &TreeValue, report: &mut DiagnosticReport) -> Option<Self> {
        let TreeValueKind::Text(text) = &value.kind else { return wrong_span(value, report, "a duration or a range", RANGE_HELP) };
        let range = span::latency(text).and_then(|latency| match latency {
            Latency::Fixed(span) => Ok(Self(span, span)),
            Latency::Uniform(low, high) => Ok(Self(low, high)),
            _ => Err(format!("`{text}` is no range of durations")),
        });
        understood(value, report, range, RANGE_HELP)
    }
}

impl<T: FromValue> FromValue for Vec<T> {
    fn from_value(value: &TreeValue, report: &mut DiagnosticReport) -> Option<Self> {
        match &value.kind {
            TreeValueKind::List(items) => Some(items.iter().filter_map(|item| T::from_value(item, report)).collect()),
            _ => wrong(value, report, "an array"),
        }
    }
}

/// One or several texts: a text, or an array of them.
pub(super) struct TextList(pub(super) Vec<String>);

impl FromValue for TextList {
    fn from_value(value: &TreeValue, report: &mut DiagnosticReport) -> Option<Self> {
        match &value.kind {
            TreeValueKind::Text(text) => Some(Self(vec![text.clone()])),
            TreeValueKind::List(_) => Vec::from_value(value, report).map(Self),
            _ => wrong(value, report, "text or an array of texts"),
        }
    }
}

/// A seed: an integer, or text with one for what TOML's 63 bits cannot hold.
pub(super) struct SeedNumber(pub(super) u64);

impl FromValue for SeedNumber {
    fn from_value(value: &TreeValue, report: &mut DiagnosticReport) -> Option<Self> {
        match &value.kind {
            TreeValueKind::Integer(..) => u64::from_value(value, report).map(Self),
            TreeValueKind::Text(text) => {
                let number = match text.trim().strip_prefix("0x") {
                    Some(digits) => u64::from_str_radix(digits, 16),
                    None => text.trim().parse(),
                };
                understood(value, report, number.map(Self).map_err(|_| format!("`{text}` is no seed")), SEED_HELP)
            }
            _ => wrong(value, report, "a whole number, or text with one"),
        }
    }
}

const SEED_HELP: &str = "a seed is a whole number from 0 to 18446744073709551615";

/// Any value, text included, as the JSON that says the same; text becomes a JSON string.
pub(super) struct TextAsJson(pub(super) Json);

impl FromValue for TextAsJson {
    fn from_value(value: &TreeValue, report: &mut DiagnosticReport) -> Option<Self> {
        let text = text(value, report)?;
        let mut out = String::new();
        push_string(&mut out, text);
        Some(Self(Json::trusted(out)))
    }
}

/// A JSON object, written as a table or as text that holds JSON.
pub(super) struct JsonObjectText(pub(super) Json);

impl FromValue for JsonObjectText {
    fn from_value(value: &TreeValue, report: &mut DiagnosticReport) -> Option<Self> {
        match &value.kind {
            TreeValueKind::Table(_) => value.to_json(report).map(Self),
            TreeValueKind::Text(_) => shaped(value, report, &['{'], "a JSON object").map(Self),
            _ => wrong(value, report, "a table, or text with a JSON object"),
        }
    }
}

/// Content as the API takes it: text with a JSON string or a JSON array of blocks.
pub(super) struct ContentJson(pub(super) Json);

impl FromValue for ContentJson {
    fn from_value(value: &TreeValue, report: &mut DiagnosticReport) -> Option<Self> {
        let json = shaped(value, report, &['"', '['], "a JSON string or a JSON array of blocks")?;
        if json.as_str().starts_with('[') {
            blocks(value, report, &json)?;
        }
        Some(Self(json))
    }
}

/// Content blocks: text with a JSON array of objects.
pub(super) struct BlocksText(pub(super) Vec<Block>);

impl FromValue for BlocksText {
    fn from_value(value: &TreeValue, report: &mut DiagnosticReport) -> Option<Self> {
        let json = shaped(value, report, &['['], "a JSON array of blocks")?;
        blocks(value, report, &json).map(Self)
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

pub(super) fn text<'a>(value: &'a TreeValue, report: &mut DiagnosticReport) -> Option<&'a str> {
    match &value.kind {
        TreeValueKind::Text(text) => Some(text),
        _ => wrong(value, report, "text"),
    }
}

/// A whole number from 0 to `highest`.
fn whole(value: &TreeValue, report: &mut DiagnosticReport, highest: u64) -> Option<u64> {
    let TreeValueKind::Integer(digits, radix) = &value.kind else { return wrong(value, report, "a whole number") };
    let number = u64::from_str_radix(digits, *radix).ok().filter(|number| *number <= highest);
    if number.is_none() {
        report.value(value.place, format!("expected a whole number from 0 to {highest}, found {digits}"), None);
    }
    number
}

pub(super) fn wrong<T>(value: &TreeValue, report: &mut DiagnosticReport, wanted: &str) -> Option<T> {
    if !matches!(value.kind, TreeValueKind::StandIn) {
        report.mismatch(value, wanted);
    }
    None
}

/// A number where a span of time should be lacks its unit, which is a common slip.
fn wrong_span<T>(value: &TreeValue, report: &mut DiagnosticReport, wanted: &str, help: &str) -> Option<T> {
    match &value.kind {
        TreeValueKind::Integer(number, _) | TreeValueKind::Float(number) => {
            let message = format!("expected {wanted}, found {} without a unit", value.found());
            report.value(value.place, message, Some(format!("write \"{number}ms\" or \"{number}s\"; {help}")));
        }
        TreeValueKind::StandIn => (),
        _ => report.value(value.place, format!("expected {wanted}, found {}", value.found()), Some(help.into())),
    }
    None
}

/// Passes on what was understood, or says what was not.
fn understood<T>(value: &TreeValue, report: &mut DiagnosticReport, result: Result<T, String>, help: &str) -> Option<T> {
    result.map_err(|message| report.value(value.place, message, Some(help.into()))).ok()
}
