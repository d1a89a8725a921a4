//! Statements of the shipped scenarios, each misspelt or misplaced by itself: the run fails and names the line (F-10).
//!
//! A change is put over the file as `--set` does, so that the file stays where it is.

use std::path::{Path, PathBuf};

use super::*;
use crate::PanicCatcher;
use crate::in_parallel;
use crate::threads_available;
use reenact_engine::agent_loop::AgentLoop;
use reenact_explore::PanicGuard;
use reenact_files::scenario::{FileReach, LoadOptions, find, load_all, load_all_with};
use reenact_scenario::interrupt::{InterruptKind, InterruptMoment, InterruptTrigger, ScriptedInterrupt};
use reenact_scenario::language::scenario_text;
use reenact_scenario::statement::{PathStep, Statement, StatementEntry, StatementPath as Place, statements, tool_uses};
use reenact_scenario::types::{Scenario, TurnBlock};
use reenact_sim::Run;
use reenact_sim::report::RunReport;

/// A change of one statement.
#[derive(Clone, Debug)]
struct Misspelling {
    file: PathBuf,
    key: String,
    value: String,
    /// Where the statement begins: `file:line:`.
    line: String,
}

/// The name with two neighbours changed for each other.
fn swapped(name: &str) -> Option<String> {
    let mut letters: Vec<char> = name.chars().collect();
    let is_letter = |at: usize| letters.get(at).is_some_and(|letter| letter.is_ascii_alphanumeric());
    let at = (1..letters.len().saturating_sub(1)).find(|at| is_letter(*at) && is_letter(at + 1) && letters[*at] != letters[at + 1])?;
    letters.swap(at, at + 1);
    Some(letters.into_iter().collect())
}

/// A path as `--set` takes it, if it can.
fn dotted(path: &Place) -> Option<String> {
    let step = |step: &PathStep| match step {
        PathStep::Key(key) => Some((*key).to_string()),
        PathStep::Nth(nth) => Some(nth.to_string()),
        PathStep::ToolUse(nth) => Some(format!("tool.{nth}")),
        PathStep::Where(..) => None,
    };
    path.iter().map(step).collect::<Option<Vec<_>>>().map(|steps| steps.join("."))
}

/// The change that makes this statement one that never comes to pass: a key below it, and its value.
fn worse(scenario: &Scenario, said: &StatementEntry) -> Option<(&'static str, String)> {
    match &said.statement {
        Statement::Fault(_) => Some(("at.request", "999".into())),
        Statement::Hook(index) => {
            let matcher = scenario.hooks[*index].definition.matcher.as_ref()?;
            let names: Option<Vec<String>> = matcher.split('|').map(swapped).collect();
            Some(("matcher", names?.join("|")))
        }
        Statement::Permission(index) => Some(("for", swapped(scenario.permissions[*index].about.as_ref()?)?)),
        Statement::Interrupt(index) => match &scenario.interrupts[*index].moment {
            // A message always begins something, and who is never answered waits until the user cancels.
            InterruptMoment::At(_) if is_a_message(&scenario.interrupts[*index]) || waits_for_ever(scenario) => None,
            InterruptMoment::At(_) => Some(("at", "23h".into())),
            InterruptMoment::When { anchor, .. } => Some(match anchor {
                InterruptTrigger::Tool { name, .. } => ("when.tool", swapped(name)?),
                InterruptTrigger::Event { .. } => ("when.nth", "9999".into()),
                InterruptTrigger::Request { .. } => ("when.request", "999".into()),
                InterruptTrigger::Retry { .. } => ("when.retry", "999".into()),
                InterruptTrigger::Result { .. } => ("when.result", "999".into()),
                InterruptTrigger::Terminal { .. } => ("when.terminal", "999".into()),
            }),
        },
        _ => None,
    }
}

fn is_a_message(interrupt: &ScriptedInterrupt) -> bool {
    matches!(interrupt.kind, InterruptKind::Interrupt(_))
}

fn waits_for_ever(scenario: &Scenario) -> bool {
    scenario_text(scenario, &[]).contains("never_answers = true")
}

fn changes_of(file: &Path) -> Vec<Misspelling> {
    let Ok(runs) = load_all(file, &[]) else { return Vec::new() };
    let loaded = &runs[0];
    let scenario = &loaded.setup.scenario;
    let change = |path: &Place, key: &str, value: String| {
        let place = loaded.places.diagnostic(path, String::new(), None)?;
        let line = format!("{}:{}:", place.source, place.line);
        Some(Misspelling { file: file.into(), key: format!("{}.{key}", dotted(path)?), value, line })
    };
    let of_statements = statements(scenario).into_iter().filter(|said| !said.may).filter_map(|said| {
        let (key, value) = worse(scenario, &said)?;
        change(&said.path, key, value)
    });
    let of_tool_uses = tool_uses(scenario).into_iter().filter_map(|tool_use| {
        let TurnBlock::Tool { name, slip: None, .. } = tool_use.block else { return None };
        change(&tool_use.path, "name", swapped(name)?)
    });
    let own = |change: &Misspelling| change.line.starts_with(&file.display().to_string()) || change.line.contains("/_");
    of_statements.chain(of_tool_uses).filter(own).collect()
}

/// All runs of a file with these settings, and the failures of its statements; `None` where it cannot run or is not checked.
pub(super) fn run_and_judge(file: &Path, settings: &[(String, String)]) -> Option<(Vec<RunReport<AgentLoop>>, Vec<String>)> {
    // A planted file extends a scenario that stands elsewhere.
    let runs =
        load_all_with(file, &LoadOptions { overrides: settings.to_vec(), reach: FileReach::Anywhere, ..LoadOptions::default() }).ok()?;
    // An engine that panics at what it is given is another test's affair.
    let run = |run: &LoadedScenario| PanicCatcher.run(|| Run::new(run.setup.clone(), AgentLoop::default()).to_end()).ok();
    let reports = runs.iter().map(run).collect::<Option<Vec<_>>>()?;
    let made: Vec<_> = runs.iter().zip(&reports).map(|(loaded, report)| (loaded, Some(report.into()))).collect();
    let StatementsVerdict { failures, not_asked } = judge(&made, RunView::Simulated);
    let failures = failures.into_iter().flat_map(|(_, failures)| failures).collect();
    // What a planted file says itself is judged whether or not its base is.
    not_asked.iter().all(|(_, reason)| *reason == IN_BASE).then_some((reports, failures))
}

/// The change that went unnoticed; `None` where the change makes no scenario that can be run.
fn unnoticed(change: &Misspelling) -> Option<Option<String>> {
    let (_, told) = run_and_judge(&change.file, &[(change.key.clone(), change.value.clone())])?;
    let is_named = told.iter().any(|failure| failure.contains(&change.line));
    Some((!is_named).then(|| format!("{} {} = {}: {told:?}", change.line, change.key, change.value)))
}

#[test]
fn f_10_every_statement_misspelt_is_named() {
    let folder = crate::shipped_scenarios::checkout().join("scenarios");
    let (files, errors) = find(&[folder]);
    assert!(errors.is_empty(), "{errors:?}");
    let changes: Vec<Misspelling> = files.iter().flat_map(|file| changes_of(file)).collect();
    let results: Vec<Option<String>> = in_parallel(&changes, threads_available(), unnoticed).into_iter().flatten().collect();
    let missed: Vec<&String> = results.iter().flatten().collect();
    assert!(missed.is_empty(), "{} of {} went unnoticed:\n{missed:#?}", missed.len(), results.len());
    assert!(results.len() > 300, "only {} were tried", results.len());
}
