//! Reads a table of a scenario into the type that has its keys.

use super::keys::KeyTable;
use crate::parse::reader::TableReader;
use crate::parse::report::DiagnosticReport;
use crate::parse::tree::{TextPlace, TreeTable, TreeValue, TreeValueKind};

/// Reads a table, and reports the keys that it does not have. `title` is empty for the file itself.
pub(crate) fn read_table<T: KeyTable>(report: &mut DiagnosticReport, table: &TreeTable, place: TextPlace, title: &str) -> Option<T> {
    let mut reader = TableReader::new(report, table, place, title, T::names());
    let result = T::read(&mut reader);
    reader.report_unknown_keys();
    result
}

/// Reads a value that must be a table.
pub(crate) fn read_table_value<T: KeyTable>(value: &TreeValue, title: &str, report: &mut DiagnosticReport) -> Option<T> {
    match &value.kind {
        TreeValueKind::Table(table) => read_table(report, table, value.place, title),
        TreeValueKind::StandIn => None,
        _ => {
            report.mismatch(value, "a table");
            None
        }
    }
}
