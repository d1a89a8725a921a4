//! From a scenario file's text to a [`Scenario`], with every diagnostic of the file at once (F-6, F-7).
//!
//! ```text
//! text ── recover ──> text without syntax errors ── tree ──> values with places <── files it extends, overrides (--set)
//!           │                                                  │
//!           │                                               matrix ──> a tree for each run <── its preset
//!           │                                                  │
//!           └────────────── diagnostics <── sections (reader) ──────┴──> Scenario
//! ```
//!
//! The sections and their keys are described in `scenario::language`.

pub(crate) mod data_file;
mod diagnostic;
mod extends;
mod kind;
mod matrix;
#[doc(hidden)]
pub mod nearest;
mod overrides;
mod places;
mod preset;
pub(crate) mod reader;
mod recovery;
pub mod reduction;
pub(crate) mod report;
pub(crate) mod span;
#[cfg(test)]
mod tests;
pub(crate) mod tree;
mod tree_json;

use self::preset::PresetTrees;
use self::report::DiagnosticReport;
use self::tree::{TextPlace, TreeMember, TreeTable};
use super::language::read_table::read_table;
use super::language::sections::plan::PlanFileKeys;
use super::plan::Plan;
use super::types::Scenario;
use reenact_wire::prelude::*;

pub use self::diagnostic::{Diagnostic, Diagnostics};
pub use self::extends::{FindBase, SourceText};
pub use self::kind::{is_scenario, is_scenario_part};
pub use self::places::TablePlaces;
#[doc(hidden)]
pub use self::span::duration;

/// A scenario, and what else its text says.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedScenario {
    /// The scenario.
    pub scenario: Scenario,
    /// Which combination of the file's `[matrix]` this is: `engine.model=x,seed=1`; none where there is no matrix.
    pub combination: Option<String>,
    /// Where its parts stand.
    pub places: TablePlaces,
    tape: Option<FileReference>,
    prices: Option<FileReference>,
    windows: Option<FileReference>,
    dir: Option<FileReference>,
}

/// Where a scenario names a file that it needs.
#[derive(Clone, Debug, PartialEq)]
struct FileReference {
    diagnostic: Diagnostic,
    file: Option<String>,
}

impl ParsedScenario {
    /// The diagnostic at the scenario's `tape` that a reader of files may find (no such file); `None` when there is no tape.
    pub fn tape_diagnostic(&self, message: &str) -> Option<Diagnostic> {
        self.tape.as_ref().map(|tape| tape.diagnostic.saying(message.into()))
    }

    /// The file that names the tape, which is the one that is read or one that it extends: the tape's path is relative to it. `None` when
    /// there is no tape, and when it is named by an override.
    pub fn tape_said_in(&self) -> Option<&str> {
        self.tape.as_ref()?.file.as_deref()
    }

    /// The same for the scenario's price table.
    pub fn prices_diagnostic(&self, message: &str) -> Option<Diagnostic> {
        self.prices.as_ref().map(|prices| prices.diagnostic.saying(message.into()))
    }

    /// The same for the scenario's price table: the file that its path is relative to.
    pub fn prices_said_in(&self) -> Option<&str> {
        self.prices.as_ref()?.file.as_deref()
    }

    /// The diagnostic at the scenario's window table.
    pub fn windows_diagnostic(&self, message: &str) -> Option<Diagnostic> {
        self.windows.as_ref().map(|windows| windows.diagnostic.saying(message.into()))
    }

    /// The file that the path of the scenario's window table is relative to.
    pub fn windows_said_in(&self) -> Option<&str> {
        self.windows.as_ref()?.file.as_deref()
    }

    /// The diagnostic at the folder of the scenario's `[workspace]`.
    pub fn dir_diagnostic(&self, message: &str) -> Option<Diagnostic> {
        self.dir.as_ref().map(|dir| dir.diagnostic.saying(message.into()))
    }

    /// The file that the path of that folder is relative to.
    pub fn dir_said_in(&self) -> Option<&str> {
        self.dir.as_ref()?.file.as_deref()
    }
}

/// Reads a scenario that stands alone. `source_name` is the name of the file in diagnostics; `overrides` are dotted keys with values (`limits.time`,
/// `2h`), where entries of arrays are counted from 0 (`prompt.0.text`). A value is taken as TOML, otherwise as text. (F-6)
///
/// # Errors
/// Everything that is wrong, syntax and meaning, in the order of the places, the file's before the overrides' (F-7). A scenario that
/// extends another or has a `[matrix]` is read by [`scenarios`].
pub fn scenario(source_name: &str, text: &str, overrides: &[(String, String)]) -> Result<ParsedScenario, Diagnostics> {
    let file = SourceText { name: source_name.into(), text: text.into() };
    let mut no_base = |path: &str, _: &str| Err(format!("`{path}` cannot be extended: this text is read without files"));
    let mut runs = all_runs(&file, overrides, &mut no_base, RunMultiplicity::Refused)?;
    // A file without a matrix is one run, and one with several has been refused.
    Ok(runs.remove(0))
}

/// Reads the text of a plan: a file with `[plan]` and nothing else (F-11).
///
/// # Errors
/// As for [`scenario`].
pub fn plan(source_name: &str, text: &str) -> Result<Plan, Diagnostics> {
    Ok(data_file::read::<PlanFileKeys>(source_name, text)?.plan)
}

/// Reads a scenario, with what it extends, as the runs that it is: one for each combination of its `[matrix]`, in the order of its keys and
/// values, or a single one. (F-9)
///
/// # Errors
/// As for [`scenario`].
pub fn scenarios(
    file: &SourceText,
    overrides: &[(String, String)],
    find_base: &mut FindBase<'_>,
) -> Result<Vec<ParsedScenario>, Diagnostics> {
    all_runs(file, overrides, find_base, RunMultiplicity::Wanted)
}

/// Whether the reader can do with more than one run.
#[derive(Clone, Copy, PartialEq)]
enum RunMultiplicity {
    Wanted,
    Refused,
}

fn all_runs(
    file: &SourceText,
    overrides: &[(String, String)],
    find_base: &mut FindBase<'_>,
    several: RunMultiplicity,
) -> Result<Vec<ParsedScenario>, Diagnostics> {
    let mut report = DiagnosticReport::new();
    let mut root = extends::read(file, find_base, &mut report);
    overrides::apply(&mut root, overrides, &mut report);
    if let (RunMultiplicity::Refused, Some(matrix)) = (several, root.get("matrix")) {
        report.value(matrix.place, "a scenario with a [matrix] is several runs, and only one run is possible here".into(), None);
    }
    let mut trees = matrix::runs(root, overrides, &mut report);
    let mut presets = PresetTrees::default();
    trees.iter_mut().for_each(|(_, tree)| presets.apply(tree, &mut report));
    let sources = report.sources();
    let of = |(combination, tree): (Option<String>, TreeTable)| {
        let parsed = whole_file(&tree, &mut report);
        ParsedScenario { combination, places: TablePlaces::new(sources.clone(), tree), ..parsed }
    };
    let runs = trees.into_iter().map(of).collect();
    report.verdict().map(|()| runs)
}

/// Reads the whole file: what it says, and where it names other files.
fn whole_file(tree: &TreeTable, report: &mut DiagnosticReport) -> ParsedScenario {
    let start = TextPlace { source: 0, start: 0, end: 0 };
    // A scenario that cannot be made has reported why.
    let scenario: Scenario = read_table(report, tree, start, "").unwrap_or_default();
    let reference = |member: Option<&TreeMember>| member.map(|member| file_reference(report, member));
    let tape = reference(tree.get("tape"));
    let [prices, windows] = ["prices", "windows"].map(|key| reference(tree.get("engine").and_then(|engine| engine.value.member(key))));
    let dir = reference(tree.get("workspace").and_then(|workspace| workspace.value.member("dir")));
    ParsedScenario { scenario, combination: None, places: TablePlaces::default(), tape, prices, windows, dir }
}

fn file_reference(report: &DiagnosticReport, member: &TreeMember) -> FileReference {
    let place = member.value.place;
    FileReference { diagnostic: report.diagnostic_at(place), file: report.file_name(place).map(Into::into) }
}
