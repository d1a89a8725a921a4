//! Durations, ranges of them, and latencies (M-5).

use super::super::description::{TableDescription, ValueShape, WrittenForm};
use super::super::keys::{ConvertedTable, KeyForm, KeyPosition, keys};
use super::super::tables::Inline;
use super::super::text;
use super::super::toml::TomlValue;
use super::understood;
use crate::latency::Latency;
use crate::parse::reader::TableReader;
use crate::parse::report::DiagnosticReport;
use crate::parse::span::{self, DURATION_HELP, LATENCY_HELP, RANGE_HELP};
use crate::parse::tree::{TreeValue, TreeValueKind};
use reenact_engine::time::Micros;
use reenact_wire::prelude::*;

/// That of a duration.
pub(crate) fn duration_shape() -> ValueShape {
    ValueShape::Written(WrittenForm { noun: "a duration", help: DURATION_HELP, example: "\"1500ms\"" }, Box::new(ValueShape::Text))
}

impl KeyForm for Micros {
    type Value = Self;

    fn shape() -> ValueShape {
        duration_shape()
    }

    fn read(value: &TreeValue, _: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<Self> {
        match &value.kind {
            TreeValueKind::Text(text) => understood(value, report, span::duration(text), DURATION_HELP),
            _ => wrong_span(value, report, "a duration", DURATION_HELP),
        }
    }

    fn write(value: &Self) -> TomlValue {
        TomlValue::Inline(text::duration(*value))
    }
}

impl KeyForm for Latency {
    type Value = Self;

    fn shape() -> ValueShape {
        let forms =
            vec![ValueShape::Text, ValueShape::List(Box::new(duration_shape())), ValueShape::Table(TableDescription::new::<Percentiles>())];
        let form = WrittenForm { noun: "a latency", help: LATENCY_HELP, example: "\"10ms..50ms\"" };
        ValueShape::Written(form, Box::new(ValueShape::Either(forms)))
    }

    fn read(value: &TreeValue, at: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<Self> {
        match &value.kind {
            TreeValueKind::Text(text) => understood(value, report, span::latency(text), LATENCY_HELP),
            TreeValueKind::List(items) if items.is_empty() => {
                report.value(value.place, "a table of latencies needs at least one duration".into(), Some(LATENCY_HELP.into()));
                None
            }
            TreeValueKind::List(items) => {
                let spans: Vec<Micros> = items.iter().filter_map(|item| Micros::read(item, at, report)).collect();
                (spans.len() == items.len()).then(|| Self::Table(spans.into()))
            }
            TreeValueKind::Table(_) => {
                Inline::<Percentiles>::read(value, at, report).map(|Percentiles { p50, p99 }| Self::LogNormal { p50, p99 })
            }
            _ => wrong_span(value, report, "a latency", LATENCY_HELP),
        }
    }

    fn write(value: &Self) -> TomlValue {
        TomlValue::Inline(text::latency(value))
    }
}

keys! {
    /// A latency with a log-normal distribution.
    pub(crate) struct PercentileKeys {
        /// Half of the figures are below.
        p50: Option<Micros> = None, required, example("\"5s\"");
        /// All but one in a hundred are below.
        p99: Option<Micros> = None, required, example("\"46s\"");
    }
}

/// Median and 99th percentile.
struct Percentiles {
    p50: Micros,
    p99: Micros,
}

impl ConvertedTable for Percentiles {
    type Keys = PercentileKeys;
    const TITLE: Option<&'static str> = Some("a latency");

    fn from_keys(PercentileKeys { p50, p99 }: PercentileKeys, reader: &mut TableReader<'_, '_>) -> Option<Self> {
        let (p50, p99) = (p50?, p99?);
        if p50 > p99 {
            let place = reader.place;
            reader.report.value(place, "`p99` is below `p50`; swap them".into(), None);
        }
        Some(Self { p50, p99 })
    }

    fn to_keys(&self) -> PercentileKeys {
        PercentileKeys { p50: Some(self.p50), p99: Some(self.p99) }
    }
}

/// One figure, or all from one to another.
pub(crate) struct FigureRange;

impl KeyForm for FigureRange {
    type Value = (Micros, Micros);

    fn shape() -> ValueShape {
        let form = WrittenForm { noun: "a duration or a range of them", help: RANGE_HELP, example: "\"500ms..750ms\"" };
        ValueShape::Written(form, Box::new(ValueShape::Text))
    }

    fn read(value: &TreeValue, _: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<(Micros, Micros)> {
        let TreeValueKind::Text(text) = &value.kind else { return wrong_span(value, report, "a duration or a range", RANGE_HELP) };
        let range = span::latency(text).and_then(|latency| match latency {
            Latency::Fixed(span) => Ok((span, span)),
            Latency::Uniform(low, high) => Ok((low, high)),
            _ => Err(format!("`{text}` is not a range of durations")),
        });
        understood(value, report, range, RANGE_HELP)
    }

    fn write(value: &(Micros, Micros)) -> TomlValue {
        TomlValue::Inline(text::range(*value))
    }
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
