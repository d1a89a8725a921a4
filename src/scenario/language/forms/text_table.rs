//! Tables of names, each with text.

use crate::language::description::ValueShape;
use crate::language::keys::{KeyForm, KeyPosition};
use crate::language::toml::{TomlTable, TomlValue};
use crate::parse::report::DiagnosticReport;
use crate::parse::tree::{TreeValue, TreeValueKind};
use reenact_wire::prelude::*;

/// Names with text, in the order in which they are written.
pub(crate) struct TextTable;

impl KeyForm for TextTable {
    type Value = Vec<(String, String)>;

    fn shape() -> ValueShape {
        ValueShape::Map(Box::new(ValueShape::Text))
    }

    fn read(value: &TreeValue, at: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<Vec<(String, String)>> {
        let TreeValueKind::Table(table) = &value.kind else {
            if !matches!(value.kind, TreeValueKind::StandIn) {
                report.mismatch(value, "a table of names with text");
            }
            return None;
        };
        Some(table.members.iter().filter_map(|member| Some((member.key.clone(), String::read(&member.value, at, report)?))).collect())
    }

    fn write(values: &Vec<(String, String)>) -> TomlValue {
        let mut table = TomlTable::default();
        values.iter().for_each(|(name, value)| table.put_named(name, TomlValue::text(value)));
        TomlValue::Inline(table.inline())
    }
}
