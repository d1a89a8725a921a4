//! `reenact test [PATH…]`: each scenario against its snapshot, its expectations and the oracles (V-1).

mod junit;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use tokio::time::Instant;

use super::certify::SearchShard;
use super::ctrl_c::{exit_code, is_stopped, until_ctrl_c};
use super::output::{complain, print_line, print_styled, print_verdict, without_panic_messages, wrong_input};
use super::program::in_this_program;
use super::report::{TestEntry, TestReportDocument, UnreadEntry, print_document};
use super::selection::{FileSelection, unread_text};
use super::terminal::progress_bar;
use super::{CommandExit, STOPPED};
use crate::engine::contract::Engine;
use crate::files::scenario::{LoadedScenario, snapshot_path};
use crate::prelude::*;
use crate::review::scenario_tests::{
    NameFilter, ScenarioVerdict, SnapshotUse, orphans, shared_snapshot_problem, shared_snapshots, verdict,
};
use crate::runner::statements::judge_outcomes;
use crate::runner::{RunOutcome, in_parallel, run_to_end};
use crate::sim::Run;
use crate::sim::statements::RunView;

#[derive(Debug, clap::Args)]
pub(super) struct TestArguments {
    #[command(flatten)]
    files: FileSelection,
    /// Only scenarios with this in their names, or with names of this pattern (`executor/*`); may be given several times
    #[arg(long, value_name = "PATTERN", value_parser = NameFilter::new)]
    filter: Vec<NameFilter>,
    /// Only the part k of n of them: `2/8`; no scenario is in two parts
    #[arg(long, value_name = "K/N")]
    shard: Option<SearchShard>,
    /// Print the names of the scenarios, run nothing
    #[arg(long, conflicts_with_all = ["update", "fail_fast", "junit"])]
    list: bool,
    /// Write the snapshots as they are now
    #[arg(long)]
    update: bool,
    /// Stop soon after the first failure; the rest is counted as not run
    #[arg(long)]
    fail_fast: bool,
    /// Write a report for CI to this file, in the form of JUnit
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Print a line for each scenario, and not only for those that fail
    #[arg(short, long)]
    verbose: bool,
    /// In which form; `json` is one document
    #[arg(long, value_enum, default_value = "text")]
    format: TestFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TestFormat {
    Text,
    Json,
}

/// So many scenarios are run before it is asked whether to go on.
const BATCH: usize = 64;

/// One scenario after its run.
struct TestedScenario<'a> {
    scenario: &'a LoadedScenario,
    verdict: ScenarioVerdict,
    took: Duration,
}

/// All that a command has to say.
struct TestSummary<'a> {
    tested: Vec<TestedScenario<'a>>,
    /// Snapshots without a scenario.
    orphans: Vec<PathBuf>,
    unread: Vec<UnreadEntry>,
    /// How many scenarios were not run after a failure, or because of Ctrl-C.
    unrun: usize,
}

pub(super) fn run<E: Engine + Send>(arguments: &TestArguments, new_engine: &(impl Fn() -> E + Sync)) -> CommandExit {
    let selected = arguments.files.load(Vec::new());
    let mut exit = selected.exit;
    let all = &selected.scenarios[..];
    let meant = arguments.chosen(all);
    if meant.is_empty() && !all.is_empty() {
        let count = plural(all.len() as u64, "scenario");
        return wrong_input(&format!("nothing was run: of {count} none has such a name, or none is in this part; --list names them"));
    }
    if arguments.list {
        meant.iter().for_each(|scenario| print_line(&scenario.name));
        return exit;
    }
    let tested = without_panic_messages(|| until_ctrl_c(|| test_each(arguments, &meant, new_engine)));
    let unrun = meant.len() - tested.len();
    // Of a file that cannot be read nobody knows the snapshots.
    let are_all_known = meant.len() == all.len() && selected.unread.is_empty();
    let orphans = if are_all_known { orphans_of(arguments, all) } else { Ok(Vec::new()) };
    let orphans = orphans.unwrap_or_else(|problem| {
        exit = wrong_input(&problem);
        Vec::new()
    });
    let summary = TestSummary { tested, orphans, unread: selected.unread, unrun };
    if !summary.is_fine() {
        exit = exit.max(CommandExit::Failed);
    }
    if let Some(problem) = arguments.junit.as_ref().and_then(|path| junit::write(path, &summary).err()) {
        exit = exit.max(wrong_input(&problem));
    }
    match arguments.format {
        TestFormat::Json => print_document(&summary.document(exit_code(exit))),
        TestFormat::Text => show(arguments, &summary),
    }
    if is_stopped() {
        complain(&format!("stopped: {} not run", plural(unrun as u64, "scenario")));
        std::process::exit(STOPPED.into());
    }
    exit
}

impl TestArguments {
    /// The scenarios with these names, in this part.
    fn chosen<'a>(&self, all: &'a [LoadedScenario]) -> Vec<&'a LoadedScenario> {
        let is_named = |scenario: &&LoadedScenario| self.filter.is_empty() || self.filter.iter().any(|filter| filter.fits(&scenario.name));
        let named = (0..).zip(all.iter().filter(is_named));
        named.filter(|(number, _)| self.shard.is_none_or(|shard| shard.has(*number))).map(|(_, scenario)| scenario).collect()
    }
}

/// Runs the scenarios, until one fails if that is wanted.
fn test_each<'a, E: Engine + Send>(
    arguments: &TestArguments,
    scenarios: &[&'a LoadedScenario],
    new_engine: &(impl Fn() -> E + Sync),
) -> Vec<TestedScenario<'a>> {
    let snapshots = if arguments.update { SnapshotUse::Update } else { SnapshotUse::Compare };
    let mut tested = Vec::new();
    let mut outcomes = Vec::new();
    let shared = shared_snapshots(scenarios.iter().copied());
    let bar = progress_bar(scenarios.len());
    let size = if arguments.fail_fast { arguments.files.threads().get() } else { BATCH };
    for batch in scenarios.chunks(size) {
        let test = |scenario: &&'a LoadedScenario| {
            let began = Instant::now();
            let outcome = run_to_end(scenario, Run::new(scenario.setup.clone(), new_engine()));
            let path = snapshot_path(&scenario.path);
            let owners = shared.get(&path);
            let mut verdict = verdict(scenario, &outcome, if owners.is_some() { SnapshotUse::Ignore } else { snapshots });
            verdict.problems.extend(owners.map(|owners| shared_snapshot_problem(&path, owners)));
            bar.inc(1);
            (outcome, TestedScenario { scenario, verdict, took: began.elapsed() })
        };
        for (outcome, test) in in_parallel(batch, arguments.files.threads(), test) {
            outcomes.push(outcome);
            tested.push(test);
        }
        let has_failed = tested.iter().any(|test| !test.verdict.problems.is_empty());
        if is_stopped() || arguments.fail_fast && has_failed {
            break;
        }
    }
    bar.finish_and_clear();
    judge_statements(&mut tested, &outcomes);
    tested
}

/// The statements of files that came to pass in none of their runs are failures of the file's first run.
fn judge_statements<E>(tested: &mut [TestedScenario<'_>], outcomes: &[RunOutcome<E>]) {
    let scenarios: Vec<_> = tested.iter().map(|test| test.scenario).collect();
    for (place, problems) in judge_outcomes(scenarios, outcomes, RunView::Simulated).failures {
        tested[place].verdict.problems.extend(problems);
    }
}

/// The snapshots in the folders that were named without a scenario.
fn orphans_of(arguments: &TestArguments, scenarios: &[LoadedScenario]) -> Result<Vec<PathBuf>, String> {
    let mut found = BTreeSet::new();
    for folder in arguments.files.paths().iter().filter(|path| path.is_dir()) {
        found.extend(orphans(folder, scenarios)?);
    }
    Ok(found.into_iter().collect())
}

impl TestSummary<'_> {
    fn is_fine(&self) -> bool {
        self.failed().next().is_none() && self.orphans.is_empty() && self.unrun == 0
    }

    fn failed(&self) -> impl Iterator<Item = &TestedScenario<'_>> {
        self.tested.iter().filter(|test| !test.verdict.problems.is_empty())
    }

    fn document(&self, exit: u8) -> TestReportDocument {
        let entry = |test: &TestedScenario<'_>| {
            let LoadedScenario { name, path, .. } = test.scenario;
            TestEntry::new((name, path), test.verdict.plain_problems(), test.verdict.wrote.as_deref())
        };
        TestReportDocument::new(self.tested.iter().map(entry).collect(), &self.orphans, self.unread.clone(), self.unrun, exit)
    }

    /// `550 scenarios, 2 failed, 1 snapshot without a scenario`.
    fn line(&self) -> String {
        let count = |count: usize, text: &str| if count > 0 { format!(", {text}") } else { String::new() };
        let failed = self.failed().count();
        let wrote = self.tested.iter().filter(|test| test.verdict.wrote.is_some()).count();
        plural(self.tested.len() as u64, "scenario")
            + &format!(", {failed} failed")
            + &unread_text(self.unread.len())
            + &count(self.unrun, &format!("{} not run", self.unrun))
            + &count(self.orphans.len(), &(plural(self.orphans.len() as u64, "snapshot") + " without a scenario"))
            + &count(wrote, &format!("{} written", plural(wrote as u64, "snapshot")))
    }
}

/// Each failure in full, then all of them in a line each.
fn show(arguments: &TestArguments, summary: &TestSummary<'_>) {
    for TestedScenario { scenario, verdict, .. } in &summary.tested {
        let is_fine = verdict.problems.is_empty();
        if arguments.verbose || !is_fine {
            print_verdict(&format!("{:<7} {}", if is_fine { "ok" } else { "FAILED" }, scenario.name));
        }
        verdict.problems.iter().for_each(|problem| print_styled(&in_this_program(&format!("  {}", problem.replace('\n', "\n  ")))));
        verdict.wrote.iter().for_each(|path| print_line(&format!("wrote {}", path.display())));
    }
    let orphans = summary.orphans.iter();
    orphans.for_each(|path| print_verdict(&format!("FAILED  {}: no scenario has this snapshot: delete it", path.display())));
    if summary.failed().count() > 1 {
        print_line("\nfailed:");
        summary.failed().for_each(|test| print_line(&format!("  {}", test.scenario.path.display())));
    }
    // Of nothing there is nothing to sum up: what is wrong was told.
    if summary.tested.len() + summary.unread.len() + summary.unrun + summary.orphans.len() > 0 {
        print_line(&summary.line());
    }
}
