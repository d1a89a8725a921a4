//! `reenact fuzz PATH…`: random runs from a seed, beyond what `explore` finishes (E-4).

mod campaign;
mod search;

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::ValueEnum;
use tokio::time::Instant;

use super::certify::SearchShard;
use super::ctrl_c::{exit_code, is_stopped, until_ctrl_c};
use super::output::{complain, print_line, print_verdict, without_panic_messages, wrong_input};
use super::program::{plan_command, shrink_command};
use super::report::{FuzzEntry, FuzzFindingEntry, FuzzReportDocument, print_document, unasked_text};
use super::selection::Selection;
use super::{CommandExit, STOPPED};
use crate::engine::contract::Engine;
use crate::explore::certificate::unclaimed;
use crate::explore::fuzz::{FuzzCase, FuzzIsland, FuzzStrategy};
use crate::files::scenario::LoadedScenario;
use crate::oracle::ORACLES;
use crate::prelude::*;
use crate::runner::PanicCatcher;
use campaign::FindingRecord;
use search::FuzzOutcome;

#[derive(Debug, clap::Args)]
pub(super) struct FuzzArguments {
    #[command(flatten)]
    selection: Selection,
    /// How many cases of each scenario
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    cases: u64,
    /// Go on for so many seconds with each scenario, however many cases that is
    #[arg(long, value_name = "SECONDS", conflicts_with = "cases")]
    time: Option<u64>,
    /// How decisions are chosen; `mix` takes the others in turn
    #[arg(long, value_enum, default_value = "mix")]
    strategy: FuzzStrategyArgument,
    /// The root of all draws of the cases; the scenario keeps its own seed
    #[arg(long, value_name = "N", default_value_t = 0)]
    fuzz_seed: u64,
    /// Make the part k of n of all cases: `2/8`; no case is in two parts
    #[arg(long, value_name = "K/N")]
    shard: Option<SearchShard>,
    /// Keep the search in this folder: a search that was stopped goes on, and folders of parts are merged by copying them into one
    #[arg(long, value_name = "FOLDER")]
    campaign: Option<PathBuf>,
    /// In which form; `json` is one document
    #[arg(long, value_enum, default_value = "text")]
    format: FuzzFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FuzzFormat {
    Text,
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FuzzStrategyArgument {
    /// All in turn
    Mix,
    /// Each order as likely as any other
    Uniform,
    /// As uniform, but an arrival is as likely as its source has arrivals waiting
    Weighted,
    /// A few changes at places that are drawn before
    Pct,
    /// Some kinds of changes, and several of them
    Swarm,
    /// One change in a case that showed something new
    Guided,
}

/// All searches of a command.
#[derive(Default)]
struct FuzzTotals {
    entries: Vec<FuzzEntry>,
    cases: u64,
    /// Those that a campaign had before.
    earlier: u64,
    findings: usize,
    /// The scenarios of which no case was made.
    unsearched: Vec<String>,
    /// How often each oracle was asked.
    asked: BTreeMap<String, u64>,
}

pub(super) fn run<E: Engine + Send>(arguments: &FuzzArguments, new_engine: &(impl Fn() -> E + Sync)) -> CommandExit {
    let selected = arguments.selection.load();
    let mut exit = selected.exit;
    if selected.scenarios.is_empty() {
        return exit;
    }
    if arguments.shard.is_some_and(|shard| (0..FuzzIsland::COUNT).all(|island| !shard.has(island))) {
        return wrong_input(&format!("a search has at most {} parts, so there is nothing in this --shard", FuzzIsland::COUNT));
    }
    let began = Instant::now();
    let fuzz_each = || -> Result<FuzzTotals, String> {
        let mut totals = FuzzTotals::default();
        for scenario in &selected.scenarios {
            let notes = unclaimed(&scenario.setup.scenario);
            notes.iter().for_each(|text| complain(&format!("note: {}: {text}", scenario.path.display())));
            totals.add(arguments, scenario, &search::fuzz(arguments, scenario, &new_engine())?);
            if is_stopped() {
                break;
            }
        }
        Ok(totals)
    };
    let totals = match without_panic_messages(|| until_ctrl_c(fuzz_each)) {
        Ok(totals) => totals,
        Err(problem) => return wrong_input(&format!("the campaign cannot go on: {problem}")),
    };
    if totals.findings > 0 {
        exit = exit.max(CommandExit::Failed);
    }
    if !totals.unsearched.is_empty() && !is_stopped() {
        let paths = totals.unsearched.join(", ");
        exit = wrong_input(&format!(
            "no case was made, so nothing was looked at: {paths}: --cases N and --time N are at least 1, and a --shard has some of the cases"
        ));
    }
    let FuzzTotals { entries, cases, earlier, findings, asked, .. } = totals;
    let done = plural(entries.len() as u64, "scenario");
    match arguments.format {
        FuzzFormat::Json => print_document(&FuzzReportDocument::new(entries, selected.unread, exit_code(exit))),
        FuzzFormat::Text => {
            let unasked: Vec<&str> = ORACLES.iter().map(|(oracle, _)| *oracle).filter(|oracle| !asked.contains_key(*oracle)).collect();
            let unasked = unasked_text(&unasked).map(|text| format!("; {text}")).unwrap_or_default();
            print_line(&format!("{done}, {}, {}{unasked}", plural(cases, "case"), plural(findings as u64, "finding")));
        }
    }
    // How fast it went is no part of the output.
    let seconds = began.elapsed().as_secs_f64().max(0.001);
    complain(&format!("note: {:.0} cases a second", f64::from(u32::try_from(cases - earlier).unwrap_or(u32::MAX)) / seconds));
    if is_stopped() {
        complain(&format!("stopped: the rest of {} was not looked at", plural(selected.scenarios.len() as u64, "scenario")));
        std::process::exit(STOPPED.into());
    }
    exit
}

impl FuzzTotals {
    /// Takes a search into the totals, and shows it.
    fn add(&mut self, arguments: &FuzzArguments, scenario: &LoadedScenario, outcome: &FuzzOutcome) {
        let FuzzOutcome { cases, earlier, behaviours, tally, findings } = outcome;
        self.cases += cases;
        self.earlier += earlier;
        self.findings += findings.len();
        self.unsearched.extend((*cases == 0).then(|| scenario.path.display().to_string()));
        tally.asked.iter().for_each(|(oracle, count)| *self.asked.entry(oracle.clone()).or_default() += count);
        let entry = |(count, finding): &(u64, FindingRecord)| {
            let FindingRecord { defect, case, decisions, violations, command, .. } = finding;
            FuzzFindingEntry::new(defect, ((*count).max(1), *case), (decisions, violations), command)
        };
        let findings = findings.values().map(entry).collect();
        let counts = (*cases, *earlier, *behaviours);
        let notes = unclaimed(&scenario.setup.scenario);
        self.entries.push(FuzzEntry::new((&scenario.name, &scenario.path), notes, counts, tally.asked.clone(), findings));
        if arguments.format == FuzzFormat::Text {
            show(scenario, outcome);
        }
    }
}

impl FuzzStrategyArgument {
    fn as_str(self) -> &'static str {
        match self {
            Self::Mix => "mix",
            _ => self.of_case(0).as_str(),
        }
    }

    fn of_case(self, number: u64) -> FuzzStrategy {
        match self {
            Self::Uniform => FuzzStrategy::Uniform,
            Self::Pct => FuzzStrategy::Pct,
            Self::Swarm => FuzzStrategy::Swarm,
            Self::Weighted => FuzzStrategy::Weighted,
            Self::Guided => FuzzStrategy::Guided,
            Self::Mix => FuzzStrategy::ALL[usize::try_from(number % FuzzStrategy::ALL.len() as u64).unwrap_or(0)],
        }
    }
}

fn show(scenario: &LoadedScenario, outcome: &FuzzOutcome) {
    let FuzzOutcome { cases, earlier, behaviours, findings, .. } = outcome;
    let word = if findings.is_empty() && *cases > 0 { "ok" } else { "FAILED" };
    let earlier = if *earlier > 0 { format!(" ({earlier} of them earlier)") } else { String::new() };
    print_verdict(&format!(
        "{word:<7} {:<44} {:>9}, {}, {}{earlier}",
        scenario.name,
        plural(*cases, "case"),
        plural(*behaviours as u64, "behaviour"),
        plural(findings.len() as u64, "finding")
    ));
    for (count, finding) in findings.values() {
        let FindingRecord { defect, case, decisions, violations, command, .. } = finding;
        let mut text =
            format!("{defect}\n  {} of {cases}; the one with the fewest decisions, case {case}:", plural((*count).max(1), "case"));
        text += &decisions.iter().map(|decision| format!("\n    {decision}")).collect::<String>();
        text += &violations.iter().map(|violation| format!("\n  {violation}")).collect::<String>();
        complain(&format!("{text}\n  look at it: {command}\n  {}", shrink_command(command)));
    }
}

/// A finding in words, with the command that makes it again.
fn case_record<E: Engine>(
    arguments: &FuzzArguments,
    scenario: &LoadedScenario,
    engine: &E,
    (defect, case): (&str, &FuzzCase),
) -> FindingRecord {
    let (plan, decisions) = case.plan(&scenario.setup, engine, &PanicCatcher);
    let options = arguments.selection.options(scenario.setup.scenario.seed.0);
    FindingRecord {
        defect: defect.into(),
        decision_count: case.decisions(),
        case: case.number,
        decisions: decisions.iter().map(ToString::to_string).collect(),
        violations: case.violations.iter().map(ToString::to_string).collect(),
        command: plan_command(&scenario.path, &options, &scenario.setup.scenario, &plan),
    }
}
