//! Files of the language that are no scenarios: presets, and profiles of clients.

use super::Diagnostics;
use super::extends::{SourceText, read_one};
use super::report::DiagnosticReport;
use super::tree::TextPlace;
use crate::language::keys::KeyTable;
use crate::language::read_table::read_table;

/// Reads a file that is one table of the language. `name` is what messages call the file.
pub(crate) fn read<T: KeyTable + Default>(name: &str, text: &str) -> Result<T, Diagnostics> {
    let mut report = DiagnosticReport::new();
    let tree = read_one(&SourceText { name: name.into(), text: text.into() }, &mut report);
    let keys = read_table(&mut report, &tree, TextPlace { source: 0, start: 0, end: 0 }, "");
    report.verdict().map(|()| keys.unwrap_or_default())
}
