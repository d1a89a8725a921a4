//! `reenact sweep PATH…`: interrupts at every boundary, all oracles on each run (E-1).

mod findings;
mod progress;
mod seeds;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use clap::ValueEnum;

use super::CommandExit;
use super::coverage::{CoverageArguments, CoverageEntry, CoveragePlace};
use super::output::{complain, print_line, print_verdict, without_panic_messages, wrong_input};
use super::report::{FindingEntry, SweepEntry, SweepReportDocument, UnreadEntry, group_entries, print_document, verdict_word};
use super::selection::{SelectedScenarios, Selection, canary, unread_text};
use crate::engine::contract::Engine;
use crate::explore::PanicGuard;
use crate::explore::canary::{CANARIES, Canary, Saboteur};
use crate::explore::coverage::RunCoverage;
use crate::explore::finding_group::{SweepFindingGroup, group};
use crate::explore::interrupt::{BoundaryPlace, InjectionKind};
use crate::explore::sweep::{AT_LIMIT_MAX, InterruptSweepReport, SweepFinding};
use crate::files::scenario::LoadedScenario;
use crate::prelude::*;
use crate::runner::PanicCatcher;
use crate::runner::statements::judge;
use crate::runner::sweep::{SweepCounts, sweep_all_telling};
use crate::sim::Run;
use crate::sim::statements::RunView;
use crate::transcript::event::RunEnd;

use self::progress::NewsSender;

#[derive(Debug, clap::Args)]
pub(super) struct SweepArguments {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    coverage: CoverageArguments,
    /// The injections at the boundaries
    #[arg(long, value_enum, default_value = "all")]
    kind: KindArgument,
    /// In which form; `json` is one document
    #[arg(long, value_enum, default_value = "text")]
    format: SweepFormat,
    /// Show every finding, and not only each group of equal ones with its smallest run
    #[arg(long)]
    all: bool,
    /// Put this saboteur around the engine, to see that it is caught; `list` shows all of them
    #[arg(long, value_name = "NAME", value_parser = canary_or_list)]
    canary: Option<CanaryArgument>,
    /// It stands here to be refused with what to do
    #[arg(long, hide = true, value_name = "FILE", num_args = 0..=1, default_missing_value = "FILE", value_parser = no_plan_here)]
    write_plan: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum KindArgument {
    /// The user cancels
    Cancel,
    /// The user submits a message
    Interrupt,
    /// From here on, the API answers without faults
    Heal,
    /// Cancel and interrupt
    Both,
    /// All of these
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SweepFormat {
    Text,
    Json,
}

#[derive(Clone, Copy, Debug)]
enum CanaryArgument {
    List,
    Of(Canary),
}

pub(super) fn run<E: Engine>(arguments: &SweepArguments, new_engine: &(impl Fn() -> E + Sync)) -> CommandExit {
    match arguments.canary {
        Some(CanaryArgument::List) => {
            CANARIES.iter().for_each(|canary| print_line(&format!("{:<26} {:<5} {}", canary.name, canary.oracle, canary.about)));
            CommandExit::Fine
        }
        Some(CanaryArgument::Of(canary)) => sweep(arguments, &|| Saboteur::new(new_engine(), canary)),
        None => sweep(arguments, new_engine),
    }
}

/// A scenario that was swept, without its setup: of many seeds only this is kept.
#[derive(Clone, Debug)]
struct SweptScenario {
    name: String,
    path: PathBuf,
    seed: u64,
    /// The statements of the scenario that the run without an interrupt does not meet. A sweep does not ask for them.
    unmet: Vec<String>,
}

impl From<&LoadedScenario> for SweptScenario {
    fn from(LoadedScenario { name, path, setup, .. }: &LoadedScenario) -> Self {
        Self { name: name.clone(), path: path.clone(), seed: setup.scenario.seed.0, unmet: Vec::new() }
    }
}

/// Everything that was swept.
#[derive(Default)]
struct SweptScenarios {
    scenarios: Vec<SweptScenario>,
    /// One for each scenario.
    reports: Vec<InterruptSweepReport>,
    unread: Vec<UnreadEntry>,
    with_network: BTreeSet<String>,
}

fn sweep<E: Engine>(arguments: &SweepArguments, new_engine: &(impl Fn() -> E + Sync)) -> CommandExit {
    let requirements = match arguments.coverage.requirements() {
        Ok(requirements) => requirements,
        Err(problem) => return wrong_input(&problem),
    };
    let watched = || progress::watched(arguments, |watch| sweep_selected(arguments, new_engine, watch));
    let (swept, exit) = without_panic_messages(watched);
    if swept.scenarios.is_empty() {
        return exit;
    }
    if !swept.with_network.is_empty() {
        let names: Vec<&str> = swept.with_network.iter().map(String::as_str).collect();
        complain(&format!("note: [network] is ignored in sweeps: {}", names.join(", ")));
    }
    let groups = group(&swept.reports);
    if arguments.format == SweepFormat::Text {
        swept.show(arguments, &groups);
    }
    let mut exit = exit.max(match arguments.canary {
        Some(CanaryArgument::Of(canary)) => canary_exit(arguments, canary, &swept.reports),
        _ => swept.reports.iter().map(verdict).max().unwrap_or(CommandExit::Failed),
    });
    let coverage = arguments.coverage.is_wanted().then(|| swept.coverage());
    if let Some(coverage) = &coverage {
        let is_text = arguments.format == SweepFormat::Text;
        let place = if is_text { CoveragePlace::Output } else { CoveragePlace::Document };
        exit = exit.max(arguments.coverage.show(coverage, &requirements, place));
    }
    if arguments.format == SweepFormat::Json {
        let coverage = coverage.map(|coverage| CoverageEntry::new(&coverage, &requirements));
        let sweeps = swept.scenarios.iter().zip(&swept.reports).map(|(scenario, report)| entry(arguments, scenario, report)).collect();
        let command = |sweep: usize, finding: &_| findings::command(arguments, &swept.scenarios[sweep], finding);
        let groups = group_entries(&groups, |sweep| swept.scenarios[sweep].name.clone(), command);
        print_document(&SweepReportDocument::new(sweeps, groups, swept.unread, coverage, exit as u8));
    }
    exit
}

/// Sweeps over all scenarios at once; with several seeds over one file after the other, each with all seeds.
fn sweep_selected<E: Engine>(
    arguments: &SweepArguments,
    new_engine: &(impl Fn() -> E + Sync),
    watch: &NewsSender,
) -> (SweptScenarios, CommandExit) {
    let mut swept = SweptScenarios::default();
    let Some(seeds) = arguments.selection.seeds() else {
        let exit = swept.add(arguments, arguments.selection.load(), new_engine, watch);
        return (swept, exit);
    };
    let (paths, mut exit) = arguments.selection.search();
    for path in paths {
        exit = exit.max(swept.add(arguments, arguments.selection.load_with_seeds(&path, seeds), new_engine, watch));
    }
    (swept, exit)
}

impl SweptScenarios {
    /// Sweeps over scenarios; the exit code of having read them.
    fn add<E: Engine>(
        &mut self,
        arguments: &SweepArguments,
        mut selected: SelectedScenarios,
        new_engine: &(impl Fn() -> E + Sync),
        watch: &NewsSender,
    ) -> CommandExit {
        let kinds: &[InjectionKind] = match arguments.kind {
            KindArgument::Cancel => &[InjectionKind::Cancel],
            KindArgument::Interrupt => &[InjectionKind::Interrupt],
            KindArgument::Heal => &[InjectionKind::Heal],
            KindArgument::Both => &InjectionKind::OF_USER,
            KindArgument::All => &InjectionKind::ALL,
        };
        let scenarios = &selected.scenarios[..];
        let threads = arguments.selection.threads();
        let counts = if arguments.coverage.is_wanted() { SweepCounts::FindingsAndCoverage } else { SweepCounts::Findings };
        watch.begin(scenarios);
        let reports = sweep_all_telling(scenarios, threads, kinds, counts, new_engine, |news| watch.tell(news));
        let mut swept: Vec<SweptScenario> = scenarios.iter().map(SweptScenario::from).collect();
        if arguments.canary.is_none() {
            let with_network = scenarios.iter().filter(|scenario| scenario.setup.scenario.network.is_some());
            self.with_network.extend(with_network.map(|scenario| scenario.name.clone()));
            for (at, unmet) in unmet(scenarios, &reports, new_engine) {
                swept[at].unmet = unmet;
            }
        }
        self.reports.extend(reports);
        self.unread.append(&mut selected.unread);
        self.scenarios.extend(swept);
        selected.exit
    }

    /// Everything as text.
    fn show(&self, arguments: &SweepArguments, groups: &[SweepFindingGroup]) {
        match arguments.selection.seeds() {
            None => self.scenarios.iter().zip(&self.reports).for_each(|(scenario, report)| show(arguments, scenario, report)),
            Some(_) => seeds::show(arguments, self),
        }
        findings::show_groups(arguments, &self.scenarios, groups);
        print_line(&format!("{}, {}", self.count(arguments), totals(self, groups.len())));
    }

    /// The coverage of all runs.
    fn coverage(&self) -> RunCoverage {
        let mut coverage = RunCoverage::default();
        self.reports.iter().for_each(|report| coverage.add(&report.coverage));
        coverage
    }

    /// `3 scenarios, 1 file that cannot be run`, and the seeds.
    fn count(&self, arguments: &SweepArguments) -> String {
        let names: BTreeSet<&str> = self.scenarios.iter().map(|scenario| &*scenario.name).collect();
        let unread = unread_text(self.unread.len());
        let seeds = arguments.selection.seeds().map_or_else(String::new, |seeds| format!(", {}", plural(seeds.count() as u64, "seed")));
        format!("{}{unread}{seeds}", plural(names.len() as u64, "scenario"))
    }
}

/// The statements of scenarios that their runs without an interrupt do not meet, by position. A sweep asks for the rules that hold in every run alone. But it
/// interrupts the run as it is: where that is not what the scenario says, something else was swept than was meant.
fn unmet<E: Engine>(
    scenarios: &[LoadedScenario],
    reports: &[InterruptSweepReport],
    new_engine: &(impl Fn() -> E + Sync),
) -> BTreeMap<usize, Vec<String>> {
    let plain = |scenario: &LoadedScenario| {
        let run = || Run::new(scenario.setup.clone(), new_engine()).without_oracles().to_end();
        PanicCatcher.run(run).ok()
    };
    let runs: Vec<_> = scenarios.iter().map(plain).collect();
    let mut unmet: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for (at, (run, report)) in runs.iter().zip(reports).enumerate() {
        // What breaks a rule is a finding already.
        let is_found = |failure: &str| {
            let usual = report.findings.iter().filter(|finding| finding.interrupt.is_none());
            usual.flat_map(|finding: &SweepFinding| &finding.violations).any(|violation| failure.ends_with(&*violation.text))
        };
        let failures: Vec<String> =
            run.iter().flat_map(|run| &run.failures).filter(|failure| !is_found(failure.as_str())).cloned().collect();
        if !failures.is_empty() {
            unmet.insert(at, failures);
        }
    }
    let runs: Vec<_> = scenarios.iter().zip(&runs).map(|(scenario, run)| (scenario, run.as_ref().map(Into::into))).collect();
    for (at, failures) in judge(&runs, RunView::Simulated).failures {
        unmet.entry(at).or_default().extend(failures);
    }
    unmet
}

/// `94 runs, 72 findings in 1 scenario, 1 group`, and how many scenarios do not meet what they say themselves.
fn totals(swept: &SweptScenarios, groups: usize) -> String {
    let count = |count: usize, noun| plural(count as u64, noun);
    let runs: usize = swept.reports.iter().map(|report| report.runs).sum();
    let merged: usize = swept.reports.iter().map(|report| report.merged).sum();
    let merged = if merged > 0 { format!(" ({merged} merged with runs in the same state)") } else { String::new() };
    let findings: usize = swept.reports.iter().map(|report| report.findings.len()).sum();
    let with_findings = swept.scenarios.iter().zip(&swept.reports).filter(|(_, report)| !report.findings.is_empty());
    let names: BTreeSet<&str> = with_findings.map(|(scenario, _)| &*scenario.name).collect();
    let groups = if findings > 0 { format!(", {}", count(groups, "group")) } else { String::new() };
    let unmet: BTreeSet<&str> =
        swept.scenarios.iter().filter(|scenario| !scenario.unmet.is_empty()).map(|scenario| &*scenario.name).collect();
    let unmet = match unmet.len() {
        0 => String::new(),
        1 => String::from("; 1 scenario fails as it is"),
        unmet => format!("; {unmet} scenarios fail as they are"),
    };
    format!("{}{merged}, {} in {}{groups}{unmet}", count(runs, "run"), count(findings, "finding"), count(names.len(), "scenario"))
}

/// A sweep as the document has it.
fn entry(arguments: &SweepArguments, scenario: &SweptScenario, report: &InterruptSweepReport) -> SweepEntry {
    let all =
        report.findings.iter().map(|finding| FindingEntry::new(&scenario.name, finding, findings::command(arguments, scenario, finding)));
    SweepEntry {
        scenario: scenario.name.clone(),
        path: scenario.path.display().to_string(),
        seed: scenario.seed,
        verdict: verdict_word(verdict(report) == CommandExit::Fine),
        boundaries: report.boundaries,
        runs: report.runs,
        findings: report.findings.len(),
        left_out: report.left_out,
        shown: report.shown,
        unmet: scenario.unmet.clone(),
        notes: remarks(arguments, scenario, report),
        all: arguments.all.then(|| all.collect()),
    }
}

/// A canary is there to be caught.
fn canary_exit(arguments: &SweepArguments, canary: Canary, reports: &[InterruptSweepReport]) -> CommandExit {
    let violations = reports.iter().flat_map(|report| &report.findings).flat_map(|finding| &finding.violations);
    let caught_by: BTreeSet<&str> = violations.map(|violation| violation.oracle).collect();
    let Canary { name, oracle, about, .. } = canary;
    if caught_by.is_empty() {
        complain(&format!(
            "canary {name} was NOT caught by {oracle} or any other oracle: it {about}. Either no scenario here gives it the chance, or the \
             oracle does not work; sweep a scenario in which it can do harm"
        ));
        return CommandExit::Failed;
    }
    let by: Vec<&str> = caught_by.iter().copied().collect();
    if !caught_by.contains(oracle) {
        complain(&format!(
            "canary {name} was caught by {}, and not by its own oracle {oracle}: nothing shows that this one works; without --canary it shows whether the \
             engine breaks a rule by itself; sweep a scenario in which the canary can do harm",
            by.join(", ")
        ));
        return CommandExit::Failed;
    }
    let caught = format!("canary {name} was caught by {}", by.join(", "));
    if arguments.format == SweepFormat::Text {
        print_line(&caught)
    } else {
        complain(&caught)
    }
    CommandExit::Fine
}

fn verdict(report: &InterruptSweepReport) -> CommandExit {
    if report.findings.is_empty() && report.boundaries > 0 && report.left_out == 0 { CommandExit::Fine } else { CommandExit::Failed }
}

fn show(arguments: &SweepArguments, scenario: &SweptScenario, report: &InterruptSweepReport) {
    let figures = (report.boundaries, report.runs, report.findings.len());
    print_verdict(&(line(verdict(report), &scenario.name, figures) + unmet_word(scenario)));
    tell(arguments, scenario, report);
}

/// The figures of one or several sweeps: boundaries, runs, findings.
fn line(verdict: CommandExit, name: &str, (boundaries, runs, findings): (usize, usize, usize)) -> String {
    let word = if verdict == CommandExit::Fine { "ok" } else { "FAILED" };
    let found = plural(findings as u64, "finding");
    format!("{word:<7} {name:<44} {boundaries:>6} boundaries {runs:>7} runs {found:>14}")
}

/// The end of the line of a scenario that fails without any interrupt: it is no plain `ok`.
fn unmet_word(scenario: &SweptScenario) -> &'static str {
    if scenario.unmet.is_empty() { "" } else { "  fails as it is" }
}

/// Remarks on a sweep, and with `--all` each finding.
fn tell(arguments: &SweepArguments, scenario: &SweptScenario, report: &InterruptSweepReport) {
    remarks(arguments, scenario, report).iter().for_each(|remark| complain(&format!("note: {}: {remark}", scenario.path.display())));
    if arguments.all {
        report.findings.iter().for_each(|finding| complain(&findings::text(arguments, scenario, finding)));
    }
}

/// The boundaries and statements that were not looked at, and the violations that the scenario announces.
fn remarks(arguments: &SweepArguments, scenario: &SweptScenario, report: &InterruptSweepReport) -> Vec<String> {
    let mut remarks = Vec::new();
    let command = || findings::usual_command(arguments, scenario);
    if report.usual_end.is_none() {
        let place = report.usual_panic.as_ref().map(|BoundaryPlace { boundary, at, event, .. }| {
            // The number of the event is that of `--interrupt-at`.
            format!(" at event {} at {at} ({event})", boundary.event)
        });
        remarks.push(format!(
            "the run without an interrupt panicked{}, so nothing was interrupted: {} shows it",
            place.unwrap_or_default(),
            command()
        ));
    } else if report.boundaries == 0 {
        remarks.push(String::from("nothing was interrupted: the engine got no input in this run"));
    }
    if !scenario.unmet.is_empty() {
        let unmet = scenario.unmet.join("\n");
        remarks.push(format!(
            "the run without an interrupt does not meet its scenario, and a sweep does not ask for that: {}\n{unmet}",
            command()
        ));
    }
    if let Some(RunEnd::LimitReached { limit }) = &report.usual_end {
        remarks
            .push(format!("without an interrupt the run ends at its limit on {limit}: nothing after it is interrupted; raise the limit"));
    }
    if report.left_out > 0 {
        remarks.push(format!(
            "{} not made, and no run was made again: {AT_LIMIT_MAX} runs with an interrupt of the same kind had reached a limit already. \
             Correct what runs for ever after an interrupt (e.g. a hook that always objects), and sweep again",
            if report.left_out == 1 { String::from("1 interrupt was") } else { format!("{} interrupts were", report.left_out) }
        ));
    }
    if report.shown > 0 {
        remarks.push(format!("the rules under `breaks` are broken, as the scenario expects, in {}", plural(report.shown as u64, "run")));
    }
    remarks
}

/// A sweep makes many runs, and a plan is one run.
fn no_plan_here(_: &str) -> Result<String, String> {
    Err(String::from(
        "this is an option of `run`: add it to the command behind `look at it` of a finding, `run SCENARIO --interrupt-at N:SIDE --interrupt-kind KIND --write-plan FILE`",
    ))
}

fn canary_or_list(text: &str) -> Result<CanaryArgument, String> {
    if text == "list" { Ok(CanaryArgument::List) } else { canary(text).map(CanaryArgument::Of) }
}
