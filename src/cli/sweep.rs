//! `reenact sweep PATH…`: interrupts at every boundary, all oracles on each run (E-1).

use std::collections::BTreeSet;
use std::env;
use std::panic;
use std::path::Path;

use clap::ValueEnum;

use super::CommandExit;
use super::output::{complain, print_line};
use super::selection::{Selection, canary, quoted};
use crate::engine::contract::Engine;
use crate::explore::PanicGuard;
use crate::explore::canary::{CANARIES, Canary, Saboteur};
use crate::explore::interrupt::SweepKind;
use crate::explore::sweep::{AT_LIMIT_MAX, SweepFinding, SweepReport};
use crate::files::scenario::LoadedScenario;
use crate::prelude::*;
use crate::runner::PanicCatcher;
use crate::runner::statements::judge;
use crate::runner::sweep::sweep_all;
use crate::sim::Run;
use crate::sim::statements::RunView;
use crate::transcript::event::RunEnd;

/// How many findings of a scenario are shown.
const SHOWN_MAX: usize = 3;

#[derive(Debug, clap::Args)]
pub(super) struct SweepArguments {
    #[command(flatten)]
    selection: Selection,
    /// Which interrupts are injected
    #[arg(long, value_enum, default_value = "both")]
    kind: KindArgument,
    /// Show all findings, not only the first three of each scenario
    #[arg(long)]
    all: bool,
    /// Put this saboteur around the engine, to see that it is caught; `list` shows all of them
    #[arg(long, value_name = "NAME", value_parser = canary_or_list)]
    canary: Option<CanaryArgument>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum KindArgument {
    Cancel,
    Interrupt,
    Both,
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

fn sweep<E: Engine>(arguments: &SweepArguments, new_engine: &(impl Fn() -> E + Sync)) -> CommandExit {
    let selected = arguments.selection.load();
    let (scenarios, exit) = (&selected.scenarios[..], selected.exit);
    if scenarios.is_empty() {
        return exit;
    }
    let kinds: &[SweepKind] = match arguments.kind {
        KindArgument::Cancel => &[SweepKind::Cancel],
        KindArgument::Interrupt => &[SweepKind::Interrupt],
        KindArgument::Both => &SweepKind::ALL,
    };
    // A panic is a finding, told with the command that shows it; its own words at each of a hundred boundaries would bury that.
    let usual = panic::take_hook();
    panic::set_hook(Box::new(|_| ()));
    let reports = sweep_all(scenarios, arguments.selection.threads(), kinds, new_engine);
    if arguments.canary.is_none() {
        tell_what_is_not_swept(scenarios, new_engine);
    }
    panic::set_hook(usual);
    let mut told = Vec::new();
    for (scenario, report) in scenarios.iter().zip(&reports) {
        show(arguments, scenario, report, &mut told);
    }
    let runs: usize = reports.iter().map(|report| report.runs).sum();
    let findings: usize = reports.iter().map(|report| report.findings.len()).sum();
    let with_findings = reports.iter().filter(|report| !report.findings.is_empty()).count();
    let count = |count: usize, noun| plural(count as u64, noun);
    let found = format!("{} in {}", count(findings, "finding"), count(with_findings, "scenario"));
    print_line(&format!("{}, {}, {found}", selected.count(), count(runs, "run")));
    if let Some(CanaryArgument::Of(canary)) = arguments.canary {
        return exit.max(canary_exit(canary, &reports));
    }
    exit.max(reports.iter().map(verdict).max().unwrap_or(CommandExit::Failed))
}

/// A sweep interrupts the run as it is. Where that is not what the scenario says, something else was swept than was meant.
fn tell_what_is_not_swept<E: Engine>(scenarios: &[LoadedScenario], new_engine: &(impl Fn() -> E + Sync)) {
    let with_network: Vec<&str> =
        scenarios.iter().filter(|scenario| scenario.setup.scenario.network.is_some()).map(|scenario| &*scenario.name).collect();
    if !with_network.is_empty() {
        complain(&format!("note: [network] is ignored in sweeps: {}", with_network.join(", ")));
    }
    let plain = |scenario: &LoadedScenario| PanicCatcher.run(|| Run::new(scenario.setup.clone(), new_engine()).to_end()).ok();
    let reports: Vec<_> = scenarios.iter().map(plain).collect();
    let runs: Vec<_> = scenarios.iter().zip(&reports).map(|(scenario, report)| (scenario, report.as_ref().map(Into::into))).collect();
    for (at, failures) in judge(&runs, RunView::Simulated).failures {
        complain(&format!("note: {}: the run without an interrupt does not meet its scenario:", scenarios[at].path.display()));
        failures.iter().for_each(|failure| complain(failure));
    }
}

/// A canary is there to be caught.
fn canary_exit(canary: Canary, reports: &[SweepReport]) -> CommandExit {
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
    print_line(&format!(
        "canary {name} was caught by {}{}",
        by.join(", "),
        if caught_by.contains(oracle) { "" } else { ", not by its own oracle" }
    ));
    CommandExit::Fine
}

fn verdict(report: &SweepReport) -> CommandExit {
    if report.findings.is_empty() && report.boundaries > 0 && report.left_out == 0 { CommandExit::Fine } else { CommandExit::Failed }
}

/// `told` are the findings that are the same for each scenario, and were shown.
fn show(arguments: &SweepArguments, scenario: &LoadedScenario, report: &SweepReport, told: &mut Vec<Vec<SweepKind>>) {
    let SweepReport { boundaries, runs, findings, ignored, left_out: _, shown: _, usual_end: _ } = report;
    let word = if verdict(report) == CommandExit::Fine { "ok" } else { "FAILED" };
    let found = plural(findings.len() as u64, "finding");
    print_line(&format!("{word:<7} {:<44} {boundaries:>6} boundaries {runs:>7} runs {found:>14}", scenario.name));
    remarks(report).iter().for_each(|remark| complain(&format!("note: {}: {remark}", scenario.path.display())));
    let is_told = !ignored.is_empty() && told.contains(ignored);
    let findings = if is_told && !arguments.all { &findings[..0] } else { findings };
    if !is_told {
        told.push(ignored.clone());
    }
    let shown = if arguments.all { findings.len() } else { SHOWN_MAX.min(findings.len()) };
    for finding in &findings[..shown] {
        complain(&text(arguments, scenario, finding));
    }
    if shown < findings.len() {
        let more = plural((findings.len() - shown) as u64, "further finding");
        complain(&format!("{}: {more}: --all shows them", scenario.path.display()));
    }
}

/// The boundaries that were left out, and the violations that the scenario announces.
fn remarks(report: &SweepReport) -> Vec<String> {
    let mut remarks = Vec::new();
    if report.boundaries == 0 {
        remarks.push(String::from("nothing was interrupted: the engine got no input in this run"));
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

fn text(arguments: &SweepArguments, scenario: &LoadedScenario, finding: &SweepFinding) -> String {
    let path = scenario.path.display();
    let mut text = match &finding.interrupt {
        Some((place, kind)) => format!("{path}: {kind} {place}"),
        None => format!("{path}: without an interrupt"),
    };
    for violation in &finding.violations {
        text += &format!("\n  {violation}");
    }
    text + "\n  look at it: " + &command(arguments, &scenario.path, finding) + "\n  keep it as a scenario: the same with --write-plan FILE"
}

/// The command that shows a finding.
fn command(arguments: &SweepArguments, path: &Path, finding: &SweepFinding) -> String {
    let program = env::args_os().next().and_then(|program| Some(Path::new(&program).file_name()?.to_string_lossy().into_owned()));
    let mut command = format!("{} run {}", program.as_deref().unwrap_or("reenact"), quoted(&path.to_string_lossy()));
    command += &match &finding.interrupt {
        Some((place, kind)) => format!(" --interrupt-at {} --interrupt-kind {kind}", place.boundary),
        None => String::new(),
    };
    command += &arguments.selection.options();
    if let Some(CanaryArgument::Of(canary)) = arguments.canary {
        command += &format!(" --canary {}", canary.name);
    }
    command
}

fn canary_or_list(text: &str) -> Result<CanaryArgument, String> {
    if text == "list" { Ok(CanaryArgument::List) } else { canary(text).map(CanaryArgument::Of) }
}
