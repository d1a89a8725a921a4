//! `run --seeds`: each scenario once per seed. Seeds that end alike are one line, and each other seed is one, with its command.
//!
//! The files are run one after the other, each with all seeds at once: so all seeds of a file are judged together (F-10), and the memory that a
//! command takes does not grow with the number of files.

use std::collections::BTreeMap;

use super::super::CommandExit;
use super::super::coverage::{CoverageEntry, CoverageRequirements};
use super::super::output::{complain, print_line, print_verdict, wrong_input};
use super::super::report::{RunEntry, RunReportDocument, UnreadEntry, print_document};
use super::super::seeds::SeedList;
use super::super::selection::unread_text;
use super::{OutputFormat, RunArguments, check, level, problems_of, skip, statements, verdict};
use crate::engine::contract::Engine;
use crate::explore::coverage::RunCoverage;
use crate::files::scenario::LoadedScenario;
use crate::prelude::*;

/// How many failures of a seed are shown.
const FAILURES_MAX: usize = 3;

/// The sums over all files.
#[derive(Default)]
struct SeedTotals {
    /// The runs, for the document.
    entries: Vec<RunEntry>,
    unread: Vec<UnreadEntry>,
    /// One scenario of each name, for notes.
    scenarios: Vec<LoadedScenario>,
    runs: usize,
    failed: usize,
    skipped: usize,
    skipped_files: skip::SkippedFiles,
    unasked: Vec<statements::UnaskedFile>,
    provenance: BTreeMap<Arc<str>, usize>,
    is_caught: bool,
    /// The coverage, where it is asked for.
    coverage: RunCoverage,
    /// How many digests were compared.
    checked: usize,
}

/// The runs of one scenario with all seeds, and what its file says that no run showed.
struct ScenarioSeeds {
    entries: Vec<RunEntry>,
    unpassed: Vec<String>,
}

pub(super) fn run<E: Engine + Send + 'static>(
    arguments: &RunArguments,
    seeds: &SeedList,
    requirements: &CoverageRequirements,
    new_engine: &(impl Fn() -> E + Sync),
) -> CommandExit {
    if let Err(problem) = check_usage(arguments) {
        return wrong_input(&problem);
    }
    let (paths, mut exit) = arguments.selection.search();
    let mut totals = SeedTotals::default();
    for path in paths {
        let mut selected = arguments.selection.load_with_seeds(&path, seeds);
        exit = exit.max(selected.exit);
        totals.unread.append(&mut selected.unread);
        if let Err(problem) = super::check_usage(arguments, &selected.scenarios) {
            return wrong_input(&problem);
        }
        totals.skipped += skip::take_out(arguments, &mut selected.scenarios, new_engine, &mut totals.skipped_files);
        exit = exit.max(run_file(arguments, &selected.scenarios, new_engine, &mut totals));
        if arguments.check && !selected.scenarios.is_empty() {
            match check::repeat(arguments, &selected.scenarios, &[path], new_engine) {
                Ok(count) => totals.checked += count,
                Err(code) => exit = exit.max(code),
            }
        }
    }
    exit.max(tell(arguments, seeds, requirements, totals, exit))
}

/// Refuses the options that are about one run.
fn check_usage(arguments: &RunArguments) -> Result<(), String> {
    let options = [
        (arguments.log.is_some(), "--log"),
        (arguments.write_plan.is_some(), "--write-plan"),
        (arguments.interrupt_at.is_some(), "--interrupt-at"),
        (arguments.detail.is_some(), "--detail"),
    ];
    match options.into_iter().find(|(is_given, _)| *is_given) {
        Some((_, option)) => Err(format!("{option} is for one run: name its seed with --seed N in place of --seeds")),
        None => Ok(()),
    }
}

/// Runs the scenarios of a file with all seeds, and shows them.
fn run_file<E: Engine + Send + 'static>(
    arguments: &RunArguments,
    scenarios: &[LoadedScenario],
    new_engine: &(impl Fn() -> E + Sync),
    totals: &mut SeedTotals,
) -> CommandExit {
    let outcomes = level::run_quietly(arguments, scenarios, arguments.selection.threads(), new_engine);
    let (mut unpassed, unasked) = statements::unpassed(arguments, scenarios, &outcomes);
    totals.unasked.extend(unasked);
    totals.is_caught |= outcomes.iter().any(super::is_caught);
    super::count_provenance(&outcomes, &mut totals.provenance);
    if arguments.coverage.is_wanted() {
        totals.coverage.add(&super::coverage_of(scenarios, &outcomes));
    }
    let mut by_name: Vec<ScenarioSeeds> = Vec::new();
    for (index, (scenario, outcome)) in scenarios.iter().zip(&outcomes).enumerate() {
        if matches!(arguments.format, OutputFormat::Digest | OutputFormat::Jsonl) {
            let named = LoadedScenario { name: name(&scenario.name, scenario.setup.scenario.seed.0), ..scenario.clone() };
            super::show(arguments, scenarios.len(), &named, outcome, true);
        }
        let entry = verdict::entry(arguments, scenario, outcome, problems_of(arguments, scenario, outcome));
        let position = by_name.iter().position(|known| known.entries[0].scenario == scenario.name).unwrap_or_else(|| {
            totals.scenarios.push(scenario.clone());
            by_name.push(ScenarioSeeds { entries: Vec::new(), unpassed: Vec::new() });
            by_name.len() - 1
        });
        by_name[position].entries.push(entry);
        by_name[position].unpassed.extend(unpassed.remove(&index).unwrap_or_default());
    }
    totals.runs += scenarios.len();
    let mut exit = CommandExit::Fine;
    for mut seeds in by_name {
        let failed = seeds.entries.iter().filter(|entry| !entry.failures.is_empty()).count();
        if failed > 0 || !seeds.unpassed.is_empty() {
            exit = CommandExit::Failed;
        }
        totals.failed += failed.max(usize::from(!seeds.unpassed.is_empty()));
        if arguments.format == OutputFormat::Json {
            if let Some(first) = seeds.entries.first_mut().filter(|_| !seeds.unpassed.is_empty()) {
                first.fail(&seeds.unpassed);
            }
            totals.entries.extend(seeds.entries);
        } else {
            seeds.show(arguments.format);
        }
    }
    exit
}

impl ScenarioSeeds {
    /// How most of the runs end: the seeds that are one line. Of two that are as many it is that of the first seed.
    fn usual_end(&self) -> (&'static str, Option<&str>) {
        let mut counts: BTreeMap<(&'static str, Option<&str>), usize> = BTreeMap::new();
        self.entries.iter().for_each(|entry| *counts.entry(end(entry)).or_default() += 1);
        let most = counts.values().copied().max().unwrap_or_default();
        let first = self.entries.iter().map(end).find(|end| counts[end] == most);
        first.unwrap_or_default()
    }

    fn show(&self, format: OutputFormat) {
        let usual = self.usual_end();
        let (agreeing, others): (Vec<&RunEntry>, Vec<&RunEntry>) = self.entries.iter().partition(|entry| end(entry) == usual);
        let Some(first) = agreeing.first() else { return };
        let is_fine = first.failures.is_empty() && self.unpassed.is_empty();
        if format == OutputFormat::Text {
            let seeds = match others.len() {
                0 => plural(agreeing.len() as u64, "seed"),
                _ => format!("{} of {}", agreeing.len(), plural(self.entries.len() as u64, "seed")),
            };
            let digests: std::collections::BTreeSet<_> = agreeing.iter().filter_map(|entry| entry.digest.as_ref()).collect();
            let transcripts = plural(digests.len() as u64, "transcript");
            let command = if first.failures.is_empty() { String::new() } else { format!("  {}", first.command) };
            print_verdict(&format!("{}  {seeds}, {transcripts}{command}", start_of_line(is_fine, &first.scenario, first)));
        }
        tell_failures(first);
        self.unpassed.iter().for_each(|problem| complain(problem));
        for entry in others {
            if format == OutputFormat::Text {
                let scenario = name(&entry.scenario, entry.seed);
                print_verdict(&format!("{}  {}", start_of_line(entry.failures.is_empty(), &scenario, entry), entry.command));
            }
            tell_failures(entry);
        }
    }
}

/// The facts in which seeds agree: the verdict and the end.
fn end(entry: &RunEntry) -> (&'static str, Option<&str>) {
    (entry.verdict, entry.terminal.as_deref())
}

fn start_of_line(is_fine: bool, scenario: &str, entry: &RunEntry) -> String {
    let word = if is_fine { "ok" } else { "FAILED" };
    format!("{word:<7} {scenario:<44} {:<16}", entry.terminal.as_deref().unwrap_or("panic"))
}

fn tell_failures(entry: &RunEntry) {
    let (path, seed) = (&entry.path, entry.seed);
    entry.failures.iter().take(FAILURES_MAX).for_each(|failure| complain(&format!("{path}, seed {seed}: {failure}")));
    if entry.failures.len() > FAILURES_MAX {
        complain(&format!("{path}, seed {seed}: and {} more", entry.failures.len() - FAILURES_MAX));
    }
}

/// A scenario with one of its seeds: `a/b@seed=7`.
fn name(scenario: &str, seed: u64) -> String {
    format!("{scenario}{}seed={seed}", if scenario.contains('@') { "," } else { "@" })
}

/// Notes, totals, and the document. Returns the exit code that they add.
fn tell(
    arguments: &RunArguments,
    seeds: &SeedList,
    requirements: &CoverageRequirements,
    totals: SeedTotals,
    exit: CommandExit,
) -> CommandExit {
    level::tell(arguments, &totals.scenarios);
    skip::tell(&totals.skipped_files);
    statements::print_reasons(arguments, &totals.unasked);
    if totals.runs == 0 {
        return exit.max(CommandExit::WrongInput);
    }
    let mut exit = exit.max(super::canary_exit(arguments, totals.is_caught));
    if arguments.format == OutputFormat::Text {
        let scenarios = plural(totals.scenarios.len() as u64, "scenario");
        let unread = unread_text(totals.unread.len());
        let skipped = if totals.skipped > 0 { format!(", {} not run at this level", totals.skipped) } else { String::new() };
        let asked = if arguments.no_oracles { "; oracles not checked" } else { "" };
        print_line(&format!(
            "{scenarios}{unread}, {}, {}{skipped}, {} failed{asked}; {}",
            plural(seeds.count() as u64, "seed"),
            plural(totals.runs as u64, "run"),
            totals.failed,
            super::provenance(&totals.provenance)
        ));
    }
    if arguments.check && totals.checked == totals.runs {
        check::tell(arguments, totals.checked);
    }
    if arguments.coverage.is_wanted() {
        exit = exit.max(arguments.coverage.show(&totals.coverage, requirements, arguments.format.coverage_place()));
    }
    if arguments.format == OutputFormat::Json {
        let coverage = arguments.coverage.is_wanted().then(|| CoverageEntry::new(&totals.coverage, requirements));
        print_document(&RunReportDocument::new(totals.entries, totals.unread, (totals.skipped, totals.failed), coverage, exit as u8));
    }
    exit
}
