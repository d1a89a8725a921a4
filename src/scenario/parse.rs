//! From a scenario file's text to a [`Scenario`], with every fault of the file at once (F-6, F-7).
//!
//! ```text
//! text ── mend ──> text without syntax errors ── tree ──> values with places <── files it extends, overrides (--set)
//!           │                                                  │
//!           │                                               matrix ──> a tree for each run
//!           │                                                  │
//!           └────────────── faults <── sections (reader) ──────┴──> Scenario
//! ```
//!
//! Sections are functions that ask a `TableReader` for their keys; adding a key is adding a line to one of them.

mod compaction;
mod diagnostic;
mod drive;
mod engine;
mod expect;
mod extends;
mod fault;
mod host;
mod interrupts;
mod kind;
mod matrix;
pub(crate) mod nearest;
mod network;
mod outcome;
mod overrides;
mod places;
mod plan;
mod prompts;
mod reader;
mod recovery;
mod replies;
mod report;
mod retry;
mod run;
pub mod schema;
mod session;
mod span;
#[cfg(test)]
mod tests;
mod texts;
mod tools;
mod tree;
mod values;

use self::reader::{TableReader, read_table};
use self::report::DiagnosticReport;
use self::tree::{TextPlace, TreeMember, TreeTable, TreeValueKind};
use super::types::{Scenario, TapeSource, TurnBlock};
use crate::engine::random::Seed;
use crate::prelude::*;

pub use self::diagnostic::{Diagnostic, Diagnostics};
#[cfg(test)]
pub(crate) use self::expect::BREAKABLE;
pub use self::extends::{FindBase, SourceText};
pub use self::kind::is_scenario;
pub use self::places::TablePlaces;

/// A scenario, and what else its text says.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedScenario {
    /// What is simulated and what must hold.
    pub scenario: Scenario,
    /// Which combination of the file's `[matrix]` this is: `engine.model=x,seed=1`; none where there is no matrix.
    pub combination: Option<String>,
    /// Where its parts stand.
    pub places: TablePlaces,
    tape: Option<FileReference>,
    prices: Option<FileReference>,
    windows: Option<FileReference>,
}

/// Where a scenario names a file that it needs.
#[derive(Clone, Debug, PartialEq)]
struct FileReference {
    fault: Diagnostic,
    file: Option<String>,
}

impl ParsedScenario {
    /// The fault at the scenario's `tape` that a reader of files may find (no such file); `None` when there is no tape.
    pub fn tape_fault(&self, message: &str) -> Option<Diagnostic> {
        self.tape.as_ref().map(|tape| tape.fault.saying(message.into()))
    }

    /// The file that names the tape, which is the one that is read or one that it extends: the tape's path is relative to it. `None` when
    /// there is no tape, and when it is named by an override.
    pub fn tape_said_in(&self) -> Option<&str> {
        self.tape.as_ref()?.file.as_deref()
    }

    /// The same for the scenario's price table.
    pub fn prices_fault(&self, message: &str) -> Option<Diagnostic> {
        self.prices.as_ref().map(|prices| prices.fault.saying(message.into()))
    }

    /// The same for the scenario's price table: the file that its path is relative to.
    pub fn prices_said_in(&self) -> Option<&str> {
        self.prices.as_ref()?.file.as_deref()
    }

    /// The fault at the scenario's window table.
    pub fn windows_fault(&self, message: &str) -> Option<Diagnostic> {
        self.windows.as_ref().map(|windows| windows.fault.saying(message.into()))
    }

    /// The file that the path of the scenario's window table is relative to.
    pub fn windows_said_in(&self) -> Option<&str> {
        self.windows.as_ref()?.file.as_deref()
    }
}

/// Reads a scenario that stands alone. `source_name` is what faults call the file; `overrides` are dotted keys with values (`limits.time`,
/// `2h`), where entries of arrays are counted from 0 (`prompt.0.text`). A value is taken as TOML, and as text when it is none. (F-6)
///
/// # Errors
/// Everything that is wrong, syntax and meaning, in the order of the places, the file's before the overrides' (F-7). A scenario that
/// extends another or has a `[matrix]` is read by [`scenarios`].
pub fn scenario(source_name: &str, text: &str, overrides: &[(String, String)]) -> Result<ParsedScenario, Diagnostics> {
    let file = SourceText { name: source_name.into(), text: text.into() };
    let mut no_base = |path: &str, _: &str| Err(format!("no file is looked for here, so `{path}` cannot be extended"));
    let mut runs = all_runs(&file, overrides, &mut no_base, RunMultiplicity::Refused)?;
    // A file without a matrix is one run, and one with several has been refused.
    Ok(runs.remove(0))
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
        report.value(matrix.place, "a scenario with a [matrix] is several runs, and here one is wanted".into(), None);
    }
    let start = TextPlace { source: 0, start: 0, end: 0 };
    let trees = matrix::runs(root, overrides, &mut report);
    let sources = report.sources();
    let of = |(combination, tree): (Option<String>, TreeTable)| {
        let parsed = read_table(&mut report, &tree, start, "", whole_file);
        ParsedScenario { combination, places: TablePlaces::new(sources.clone(), tree), ..parsed }
    };
    let runs = trees.into_iter().map(of).collect();
    report.verdict().map(|()| runs)
}

const SHORTEST: &str = "the shortest useful scenario is a [[prompt]] with `text` and a [[prompt.turn]] with `text`, or `tape = \"x.tape.jsonl\"` \
     and a [[prompt]]";

fn whole_file(reader: &mut TableReader<'_, '_>) -> ParsedScenario {
    let mut scenario = Scenario { title: reader.get("title"), rules: rules(reader), ..Scenario::default() };
    if let Some(values::SeedNumber(seed)) = reader.get("seed") {
        scenario.seed = Seed(seed);
    }
    let tape = reader.member("tape");
    scenario.tape = tape_source(reader, tape);
    scenario.prompts = reader.entries("prompt", "[[prompt]]", |reader| Some(prompts::prompt(reader, tape)));
    prompts::check_order(reader, &scenario.prompts);
    scenario.faults = reader.entries("fault", "[[fault]]", fault::rule);
    scenario.interrupts = reader.entries("interrupt", "[[interrupt]]", interrupts::interrupt);
    scenario.interrupts.extend(reader.entries("dead", "[[dead]]", interrupts::dead));
    scenario.interrupts.extend(reader.entries("collapse", "[[collapse]]", interrupts::collapse));
    scenario.default_answer = reader.get("default_answer");
    if tape.is_none() && reader.member("prompt").is_none() {
        let message = "a scenario needs at least one [[prompt]], or a `tape`".into();
        reader.lacks(&["prompt", "tape"], message, Some(SHORTEST.into()));
    }
    let engine = reader
        .section("engine", "[engine]", |reader| (engine::settings(reader), data_file(reader, "prices"), data_file(reader, "windows")));
    let (settings, prices, windows) = engine.unwrap_or_default();
    scenario.settings = settings;
    let (path, prices) = prices.unzip();
    scenario.prices = path;
    let (path, windows) = windows.unzip();
    scenario.windows = path;
    scenario.settings.texts = reader.section("texts", "[texts]", texts::texts).unwrap_or_default();
    scenario.tools = tools::tools(reader);
    replies::read(reader, &mut scenario);
    scenario.settings.session.commands = reader.entries("command", "[[command]]", session::command);
    session::check_commands(reader, &scenario.settings.session.commands);
    host::read(reader, &mut scenario);
    scenario.history = reader.entries("history", "[[history]]", prompts::message);
    session::check_orphan(reader, &scenario);
    scenario.lookups = reader.section("session", "[session]", session::lookups).unwrap_or_default();
    scenario.results = outcome::results(reader);
    outcome::check_results(reader, &scenario);
    run::read(reader, &mut scenario);
    scenario.network = reader.section("network", "[network]", network::network);
    check_agents(reader, &scenario);
    scenario.expect = reader.section("expect", "[expect]", expect::expect).unwrap_or_default();
    expect::check_bound(reader, &scenario);
    scenario.plan = reader.section("plan", "[plan]", |reader| plan::plan(reader, &scenario.faults)).unwrap_or_default();
    scenario.drive = drive::read(reader);
    // Both are used up already, and known keys nevertheless.
    for key in ["extends", "matrix"] {
        reader.member(key);
    }
    ParsedScenario {
        scenario,
        combination: None,
        places: TablePlaces::default(),
        tape: tape.map(|member| said(reader, member)),
        prices,
        windows,
    }
}

fn said(reader: &TableReader<'_, '_>, member: &TreeMember) -> FileReference {
    let place = member.value.place;
    FileReference { fault: reader.report.fault_at(place), file: reader.report.file_name(place).map(Into::into) }
}

/// The table that takes the place of the shipped one (S-10, C-4).
fn data_file(reader: &mut TableReader<'_, '_>, key: &'static str) -> Option<(String, FileReference)> {
    let member = reader.member(key)?;
    let path = reader.get(key)?;
    Some((path, said(reader, member)))
}

/// The tape and its thread; a thread without a tape means nothing, unless the reader was to find one.
fn tape_source(reader: &mut TableReader<'_, '_>, tape: Option<&TreeMember>) -> Option<TapeSource> {
    let path: Option<String> = reader.get("tape");
    let thread: Option<Arc<str>> = reader.get("thread");
    if let (None, Some(member)) = (tape, reader.member("thread")) {
        reader.report.value(member.place, "`thread` names a thread of a `tape`, and there is none".into(), None);
    }
    Some(TapeSource { path: path?, thread: thread.unwrap_or_else(|| "main".into()) })
}

/// Answers for agents that nobody makes would never be used.
fn check_agents(reader: &mut TableReader<'_, '_>, scenario: &Scenario) {
    let makes_agents = |name: &str| scenario.tools.iter().any(|tool| *tool.definition.name == *name && tool.definition.agent.is_some());
    for (key, turns) in [
        ("prompt", scenario.prompts.iter().flat_map(|prompt| &prompt.turns).collect::<Vec<_>>()),
        ("interrupt", scenario.interrupts.iter().flat_map(|interrupt| &interrupt.turns).collect()),
    ] {
        let tools = turns.into_iter().flat_map(|turn| &turn.content).filter_map(|block| match block {
            TurnBlock::Tool { name, outcome: Some(outcome), .. } if !outcome.agents.tasks.is_empty() => Some(name),
            _ => None,
        });
        for name in tools.filter(|name| !makes_agents(name)) {
            let place = reader.member(key).map_or(reader.place, |member| member.place);
            let help = format!("write [[tool]] with name = \"{name}\" and agent = true");
            reader.report.value(place, format!("a use of tool `{name}` has answers for agents, and the tool makes none"), Some(help));
        }
    }
}

/// Rule ids: a letter, a dash, a number, and maybe a part of it, as in `T-5`, `S-2a`, `S-10.2`.
fn rules(reader: &mut TableReader<'_, '_>) -> Vec<String> {
    let Some(member) = reader.member("rules") else { return Vec::new() };
    if let TreeValueKind::List(items) = &member.value.kind {
        for item in items {
            if let TreeValueKind::Text(text) = &item.kind
                && !is_rule(text)
            {
                let message = format!("`{text}` is no rule; a rule looks like T-5");
                reader.report.value(item.place, message, None);
            }
        }
    }
    reader.get("rules").unwrap_or_default()
}

fn is_rule(text: &str) -> bool {
    // The determinism rules have no dash: D1 to D6.
    let Some(number) =
        text.strip_prefix('D').or_else(|| text.split_once('-').filter(|(letter, _)| letter.len() == 1).map(|(_, number)| number))
    else {
        return false;
    };
    text.starts_with(|c: char| c.is_ascii_uppercase())
        && number.starts_with(|c: char| c.is_ascii_digit())
        && number.chars().all(|c| c.is_ascii_digit() || c.is_ascii_lowercase() || c == '.')
}
