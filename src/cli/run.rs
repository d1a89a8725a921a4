//! `reenact run PATH…`.

mod check;
mod inspection;
mod level;
mod plan;
mod real_tools;
mod seeds;
mod skip;
mod statements;
mod verdict;
mod workspace;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::CommandExit;
use super::coverage::{CoverageArguments, CoverageEntry, CoveragePlace};
use super::output::{complain, is_quiet, print_line, print_verdict, wrong_input};
use super::report::{RunEntry, RunReportDocument, print_document};
use super::selection::{DetailArgument, Selection, canary};
use crate::engine::contract::Engine;
use crate::engine::log::{self, LoggedScenario};
use crate::explore::canary::{Canary, Saboteur};
use crate::explore::coverage::RunCoverage;
use crate::explore::interrupt::{InjectionKind, RunBoundary};
use crate::files::atomic::{self, FileAccess};
use crate::files::open;
use crate::files::plan::is_ours;
use crate::files::scenario::LoadedScenario;
use crate::live::workspace_run::ComparedTool;
use crate::prelude::*;
use crate::redact::{RedactionRules, Redactor};
use crate::review::scenario_tests::{SnapshotUse, verdict as verdict_of};
use crate::runner::{EnginePanic, RunOutcome};
use crate::sim::report::RunReport;
use crate::transcript::event::Transcript;
use crate::transcript::json;
use crate::transcript::stream_json::to_stream_json;
use crate::transcript::text::{DetailLevel, render, render_untimed};
use crate::transcript::trace::to_trace;

#[derive(Debug, clap::Args)]
pub(super) struct RunArguments {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    level: level::LevelArguments,
    #[command(flatten)]
    coverage: CoverageArguments,
    #[command(flatten)]
    workspace: workspace::WorkspaceArguments,
    /// Leave out all times, before lines and inside them
    #[arg(long)]
    untimed: bool,
    /// How much the transcript shows; one scenario is shown at `normal`, several only when this is given
    #[arg(long, value_enum)]
    detail: Option<DetailArgument>,
    /// In which form; `jsonl` is the transcripts, `json` one document with the verdict on each run, `digest` one BLAKE3 digest a scenario, `stream-json` what a headless client would print, `trace` a timeline for Perfetto (one scenario only)
    #[arg(long, value_enum, default_value = "text")]
    format: OutputFormat,
    /// Run everything again (on one thread, on many, and in a fresh process with other TZ and LANG) and compare digests
    #[arg(long)]
    check: bool,
    /// Compare with the snapshots; a new or changed transcript is left beside its place as `*.snap.new`
    #[arg(long)]
    snapshots: bool,
    /// Write the snapshots as they are now
    #[arg(long, conflicts_with = "snapshots")]
    accept: bool,
    /// Write the log at the engine's boundary here (one scenario only); `replay` reads it
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Write the run with all its choices to this file, as a scenario that gives the same run under every seed (one scenario only)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["check", "snapshots", "accept"])]
    write_plan: Option<PathBuf>,
    /// Has no effect: oracles are always checked
    #[arg(long, hide = true, conflicts_with = "no_oracles")]
    oracles: bool,
    /// Do not check the oracles (rules that hold in every run): the verdict is then about the expectations of the scenarios only
    #[arg(long, conflicts_with_all = ["interrupt_at", "check"])]
    no_oracles: bool,
    /// Interrupt the run before or after its N-th event, as a sweep does (one scenario only); expectations are not checked
    #[arg(long, value_name = "N[:before|after]", conflicts_with_all = ["check", "snapshots", "accept", "log", "coverage", "require"])]
    interrupt_at: Option<RunBoundary>,
    /// The injection: `cancel`, `interrupt`, or `heal` (no fault comes from there on)
    #[arg(long, value_name = "KIND", default_value = "cancel", requires = "interrupt_at")]
    interrupt_kind: InjectionKind,
    /// Put this saboteur around the engine; `sweep --canary list` shows all of them
    #[arg(long, value_name = "NAME", value_parser = canary, conflicts_with_all = ["check", "snapshots", "accept", "log"])]
    canary: Option<Canary>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OutputFormat {
    Text,
    Jsonl,
    Json,
    Digest,
    /// The messages that a headless client prints, one a line
    StreamJson,
    /// A timeline for viewers of Chrome's traces, such as Perfetto (one scenario only)
    Trace,
}

impl OutputFormat {
    /// Where the coverage of the runs is shown.
    fn coverage_place(self) -> CoveragePlace {
        match self {
            Self::Text => CoveragePlace::Output,
            Self::Json => CoveragePlace::Document,
            Self::Jsonl | Self::Digest | Self::StreamJson | Self::Trace => CoveragePlace::BesideOutput,
        }
    }

    /// A whole run in a form for programs; `None` for the forms that say more than a run.
    fn of_run(self, transcript: &Transcript, name: &str) -> Option<String> {
        match self {
            Self::Text | Self::Json => None,
            Self::Jsonl => Some(json::to_json_lines(transcript)),
            Self::Digest => Some(format!("{}  {name}", json::digest(transcript))),
            Self::StreamJson => Some(to_stream_json(transcript)),
            Self::Trace => Some(to_trace(transcript)),
        }
    }

    /// Whether notes are told beside the output.
    fn has_notes(self) -> bool {
        matches!(self, Self::Text | Self::Json)
    }
}

impl RunArguments {
    fn detail(&self) -> DetailLevel {
        self.detail.map_or(DetailLevel::Normal, DetailArgument::level)
    }
}

pub(super) fn run<E: Engine + Send + 'static>(arguments: &RunArguments, new_engine: &(impl Fn() -> E + Sync)) -> CommandExit {
    match arguments.canary {
        Some(canary) => run_selected(arguments, &|| Saboteur::new(new_engine(), canary)),
        None => run_selected(arguments, new_engine),
    }
}

fn run_selected<E: Engine + Send + 'static>(arguments: &RunArguments, new_engine: &(impl Fn() -> E + Sync)) -> CommandExit {
    if arguments.no_oracles {
        complain("note: --no-oracles: the rules that hold in every run are not checked, only the expectations of the scenarios");
    }
    let requirements = match arguments.coverage.requirements() {
        Ok(requirements) => requirements,
        Err(problem) => return wrong_input(&problem),
    };
    if let Some(seeds) = arguments.selection.seeds() {
        return seeds::run(arguments, seeds, &requirements, new_engine);
    }
    let mut selected = arguments.selection.load();
    let mut exit = selected.exit;
    if selected.scenarios.is_empty() {
        return exit;
    }
    if let Err(problem) = check_usage(arguments, &selected.scenarios) {
        return wrong_input(&problem);
    }
    let mut reasons = skip::SkippedFiles::new();
    let skipped = skip::take_out(arguments, &mut selected.scenarios, new_engine, &mut reasons);
    skip::tell(&reasons);
    let scenarios = &selected.scenarios[..];
    if scenarios.is_empty() {
        return wrong_input("nothing was run: name a scenario for this level, or run these without --level network");
    }
    if let Some(boundary) = arguments.interrupt_at {
        exit = exit.max(inspection::run(arguments, &scenarios[0], boundary, &new_engine()));
        return exit.max(write_plan(arguments, &scenarios[0], &new_engine()));
    }
    let (outcomes, compared) = match outcomes(arguments, scenarios, new_engine) {
        Ok(outcomes) => outcomes,
        Err(problem) => return wrong_input(&problem),
    };
    let (entries, failed) = show_each(arguments, scenarios, &outcomes);
    if failed > 0 {
        exit = exit.max(CommandExit::Failed);
    }
    if let (Some(folder), Some(compared)) = (arguments.workspace.folder(), compared) {
        exit = exit.max(workspace::show(folder, &compared));
    }
    exit = exit.max(canary_exit(arguments, outcomes.iter().any(is_caught)));
    if let Some(path) = &arguments.log {
        exit = exit.max(write_log(arguments, path, &scenarios[0], &outcomes[0]));
    }
    exit = exit.max(write_plan(arguments, &scenarios[0], &new_engine()));
    if arguments.format == OutputFormat::Text && scenarios.len() + selected.unread.len() + skipped > 1 {
        let asked = if arguments.no_oracles { "; oracles not checked" } else { "" };
        let skipped = if skipped > 0 { format!(", {skipped} not run at this level") } else { String::new() };
        let mut counts = BTreeMap::new();
        count_provenance(&outcomes, &mut counts);
        print_line(&format!("{}{skipped}, {failed} failed{asked}; {}", selected.count(), provenance(&counts)));
    }
    if arguments.check {
        let paths: Vec<PathBuf> = scenarios.iter().map(|scenario| scenario.path.clone()).collect();
        match check::repeat(arguments, scenarios, &paths, new_engine) {
            Ok(count) => check::tell(arguments, count),
            Err(code) => exit = exit.max(code),
        }
    }
    let coverage = arguments.coverage.is_wanted().then(|| coverage_of(scenarios, &outcomes));
    if let Some(coverage) = &coverage {
        exit = exit.max(arguments.coverage.show(coverage, &requirements, arguments.format.coverage_place()));
    }
    if arguments.format == OutputFormat::Json {
        let coverage = coverage.map(|coverage| CoverageEntry::new(&coverage, &requirements));
        print_document(&RunReportDocument::new(entries, selected.unread, (skipped, failed), coverage, exit as u8));
    }
    exit
}

/// The runs; with `--workspace` the one run, and how its tools compare.
type ComparedRuns<E> = (Vec<RunOutcome<E>>, Option<Vec<ComparedTool>>);

fn outcomes<E: Engine + Send + 'static>(
    arguments: &RunArguments,
    scenarios: &[LoadedScenario],
    new_engine: &(impl Fn() -> E + Sync),
) -> Result<ComparedRuns<E>, String> {
    match arguments.workspace.folder() {
        Some(folder) => {
            let (outcome, compared) = workspace::run(arguments, folder, &scenarios[0], new_engine())?;
            Ok((vec![outcome], Some(compared)))
        }
        None => Ok((level::run(arguments, scenarios, arguments.selection.threads(), new_engine)?, None)),
    }
}

/// The coverage of the runs. One that panicked has no transcript.
fn coverage_of<E>(scenarios: &[LoadedScenario], outcomes: &[RunOutcome<E>]) -> RunCoverage {
    let mut coverage = RunCoverage::default();
    for (scenario, outcome) in scenarios.iter().zip(outcomes) {
        if let Ok(report) = outcome {
            coverage.add(&RunCoverage::of_transcript(&scenario.setup, &report.transcript));
        }
    }
    coverage
}

/// Shows each run with its failures. Returns the entries of a document, and how many runs failed.
fn show_each<E>(arguments: &RunArguments, scenarios: &[LoadedScenario], outcomes: &[RunOutcome<E>]) -> (Vec<RunEntry>, usize) {
    let (mut unpassed, unasked) = statements::unpassed(arguments, scenarios, outcomes);
    statements::print_reasons(arguments, &unasked);
    let (mut entries, mut failed) = (Vec::new(), 0);
    for (index, (scenario, outcome)) in scenarios.iter().zip(outcomes).enumerate() {
        let problems = problems_of(arguments, scenario, outcome);
        let of_file = unpassed.remove(&index).unwrap_or_default();
        let is_fine = problems.is_empty() && of_file.is_empty();
        show(arguments, scenarios.len(), scenario, outcome, is_fine);
        if arguments.format == OutputFormat::Json {
            entries.push(verdict::entry(arguments, scenario, outcome, [problems, of_file].concat()));
        } else {
            problems.iter().for_each(|problem| complain(&format!("{}: {problem}", scenario.path.display())));
            of_file.iter().for_each(|problem| complain(problem));
        }
        // One scenario shows its transcript: the verdict stands at its end.
        if arguments.format == OutputFormat::Text && scenarios.len() == 1 {
            print_verdict(&verdict_line(arguments, scenario, outcome, is_fine));
        }
        failed += usize::from(!is_fine);
    }
    (entries, failed)
}

/// Whether a run shows that something is wrong with its engine.
fn is_caught<E>(outcome: &RunOutcome<E>) -> bool {
    let shows = |report: &RunReport<E>| !report.failures.is_empty() || report.violations.iter().flatten().next().is_some();
    outcome.as_ref().map_or(true, shows)
}

/// A canary must be caught. Without oracles a note has been printed.
fn canary_exit(arguments: &RunArguments, is_caught: bool) -> CommandExit {
    let Some(Canary { name, about, .. }) = arguments.canary.filter(|_| !arguments.no_oracles && !is_caught) else {
        return CommandExit::Fine;
    };
    complain(&format!(
        "canary {name} was NOT caught: it {about}, and no scenario here gives it the chance; \
             try `reenact sweep --canary {name}`, which also interrupts"
    ));
    CommandExit::Failed
}

/// F-11, where it is asked for.
fn write_plan<E: Engine>(arguments: &RunArguments, scenario: &LoadedScenario, engine: &E) -> CommandExit {
    arguments.write_plan.as_ref().map_or(CommandExit::Fine, |path| plan::write(path, arguments, scenario, engine))
}

fn check_usage(arguments: &RunArguments, scenarios: &[LoadedScenario]) -> Result<(), String> {
    level::check_usage(arguments, scenarios)?;
    if arguments.selection.changes_scenarios() && (arguments.snapshots || arguments.accept) {
        return Err(String::from(
            "snapshots show scenarios as they are written: leave out --seed, --seeds and --set, or --snapshots and --accept",
        ));
    }
    if arguments.untimed && arguments.format != OutputFormat::Text {
        return Err(String::from("--untimed is for --format text: the other forms always hold the times; leave it out"));
    }
    if let Some(path) = arguments.log.as_ref().filter(|path| path.exists() && !open::is_ours(path, log::MARK)) {
        return Err(format!("--log {}: this file exists and is not a boundary log: name another file", path.display()));
    }
    if let Some(path) = arguments.write_plan.as_ref().filter(|path| path.exists() && !is_ours(path)) {
        return Err(format!("--write-plan {}: this file exists and was not written by --write-plan: name another file", path.display()));
    }
    if arguments.write_plan.is_some() && scenarios.len() > 1 {
        return Err(format!("--write-plan takes one scenario, and these are {}: name one of them", scenarios.len()));
    }
    if arguments.workspace.folder().is_some() && scenarios.len() > 1 {
        return Err(format!("--workspace takes one recording, and these are {}: name one of them", scenarios.len()));
    }
    if arguments.workspace.folder().is_some() && arguments.format != OutputFormat::Text {
        return Err(String::from("--workspace is for --format text: leave out one of them"));
    }
    if arguments.interrupt_at.is_some() && scenarios.len() > 1 {
        return Err(format!("--interrupt-at takes one scenario, and these are {}: name one of them", scenarios.len()));
    }
    if arguments.format == OutputFormat::Trace && scenarios.len() > 1 {
        return Err(format!("--format trace takes one scenario, and these are {}: name one of them", scenarios.len()));
    }
    if arguments.log.is_some() && scenarios.len() > 1 {
        return Err(format!("--log takes one scenario, and these are {}: name one of them", scenarios.len()));
    }
    Ok(())
}

/// The failures of one run, a paragraph each.
fn problems_of<E>(arguments: &RunArguments, scenario: &LoadedScenario, outcome: &RunOutcome<E>) -> Vec<String> {
    let snapshots = match (arguments.accept, arguments.snapshots) {
        (true, _) => SnapshotUse::Update,
        (false, true) => SnapshotUse::Compare,
        (false, false) => SnapshotUse::Ignore,
    };
    let verdict = verdict_of(scenario, outcome, snapshots);
    if let Some(path) = &verdict.wrote {
        let wrote = format!("wrote {}", path.display());
        if arguments.format == OutputFormat::Json { complain(&wrote) } else { print_line(&wrote) }
    }
    verdict.plain_problems()
}

/// Shows a run: the transcript of one scenario, and of several a line each.
fn show<E>(arguments: &RunArguments, count: usize, scenario: &LoadedScenario, outcome: &RunOutcome<E>, is_fine: bool) {
    let shows_transcript = count == 1 || arguments.detail.is_some();
    let Some(transcript) = transcript(outcome) else { return };
    match arguments.format {
        OutputFormat::Text if shows_transcript && is_fine && is_quiet() => (),
        OutputFormat::Text if shows_transcript => {
            let gap = if count == 1 { "" } else { "\n" };
            print_line(&format!("{}\n{}{gap}", scenario.name, text(arguments, transcript)));
        }
        OutputFormat::Text => print_verdict(&verdict_line(arguments, scenario, outcome, is_fine)),
        // A run that panicked is no whole run.
        format => format.of_run(transcript, &scenario.name).filter(|_| outcome.is_ok()).iter().for_each(|text| print_line(text)),
    }
}

/// The record of a run, up to a panic if there was one.
fn transcript<E>(outcome: &RunOutcome<E>) -> Option<&Transcript> {
    match outcome {
        Ok(report) => Some(&report.transcript),
        Err(panic) => panic.run.as_ref().map(|run| &run.transcript),
    }
}

/// `ok      query/read-one-file   completed   10.874s  50f4c68f5d33`. Without times it has no digest either: that is one of all times.
fn verdict_line<E>(arguments: &RunArguments, scenario: &LoadedScenario, outcome: &RunOutcome<E>, is_fine: bool) -> String {
    let transcript = transcript(outcome);
    let (terminal, digest) = match outcome {
        Ok(report) => (report.terminal(), format!("  {}", &json::digest(&report.transcript)[..12])),
        Err(_) => ("panic", String::new()),
    };
    let end = match outcome {
        Err(EnginePanic { run: Some(run), .. }) => run.at.0,
        _ => transcript.and_then(|transcript| transcript.events.last()).map_or(0, |event| event.at.0),
    };
    if arguments.untimed {
        return untimed_end_line(&scenario.name, terminal, is_fine);
    }
    end_line(&scenario.name, terminal, end, is_fine) + &digest
}

/// The verdict on a run with its end, in a line.
fn end_line(name: &str, terminal: &str, end: u64, is_fine: bool) -> String {
    let seconds = format!("{}.{:03}s", end / 1_000_000, end / 1_000 % 1_000);
    format!("{:<69} {seconds:>11}", untimed_end_line(name, terminal, is_fine))
}

fn untimed_end_line(name: &str, terminal: &str, is_fine: bool) -> String {
    let word = if is_fine { "ok" } else { "FAILED" };
    format!("{word:<7} {name:<44} {terminal}")
}

fn text(arguments: &RunArguments, transcript: &Transcript) -> String {
    let render = if arguments.untimed { render_untimed } else { render };
    render(transcript, arguments.detail())
}

/// Counts the answers that were recorded, derived, written by hand (F-12).
fn count_provenance<E>(outcomes: &[RunOutcome<E>], counts: &mut BTreeMap<Arc<str>, usize>) {
    for (kind, count) in outcomes.iter().flatten().flat_map(RunReport::provenance) {
        *counts.entry(kind).or_default() += count;
    }
}

fn provenance(counts: &BTreeMap<Arc<str>, usize>) -> String {
    let list: Vec<String> =
        counts.iter().map(|(kind, count)| format!("{count} {}", if &**kind == "written" { "from scenarios" } else { kind })).collect();
    format!("answers given: {}", if list.is_empty() { String::from("none") } else { list.join(", ") })
}

/// The log of a real session, without its secrets: they are replaced as they are on a tape, so that it replays (K-2).
fn redacted(log: &str) -> io::Result<String> {
    let rules = RedactionRules::with(&[]).map_err(|error| io::Error::other(error.to_string()))?;
    let mut redactor = Redactor::new(&rules);
    Ok(log.split_inclusive('\n').map(|line| String::from_utf8_lossy(&redactor.body(line.as_bytes())).into_owned()).collect())
}

fn write_log<E>(arguments: &RunArguments, path: &Path, loaded: &LoadedScenario, outcome: &RunOutcome<E>) -> CommandExit {
    let Ok(report) = outcome else { return CommandExit::Failed };
    let scenario = LoggedScenario { path: loaded.path.display().to_string(), set: arguments.selection.overrides() };
    let log = report.log.as_ref().map(|log| log.with_scenario(scenario));
    let text = log.as_ref().map_or("", |log| log.as_str());
    let text = if arguments.level.is_live() { redacted(text) } else { Ok(text.into()) };
    match text.and_then(|text| atomic::write_with(path, FileAccess::Owner, |file| file.write_all(text.as_bytes()))) {
        Ok(()) => CommandExit::Fine,
        Err(error) => wrong_input(&format!("{}: cannot write the log: {error}", path.display())),
    }
}
