//! `reenact explore PATH…`: every order, fault and input within a budget, all oracles on each transition (E-3).

mod comparisons;
mod forecast;
mod memory;
mod neighbourhood;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::ValueEnum;
use tokio::time::Instant;

use forecast::ExploreForecast;
use memory::{MemoryLimit, MemoryState, MemoryWatch};

use super::certify;
use super::ctrl_c::{exit_code, is_stopped, until_ctrl_c};
use super::output::{complain, print_line, print_verdict, tell_progress, without_panic_messages, wrong_input};
use super::program::{plan_command, shrink_command};
use super::report::{
    ExploreBudgetEntry, ExploreEntry, ExploreFindingEntry, ExploreReportDocument, print_document, unasked_text, verdict_word,
};
use super::selection::Selection;
use super::shrink::{self, ShrinkTask};
use super::{CommandExit, SILENCE, STOPPED};
use crate::engine::contract::Engine;
use crate::engine::time::Micros;
use crate::explore::budget::ExploreBudget;
use crate::explore::certificate::{Certificate, unclaimed};
use crate::explore::explorer::{
    ExploreFinding, ExploreOptions, ExploreOutcome, ExplorePace, ExploreProgress, ExploreReport, ExploredGraph, FinishedExploration,
    PathDecision, explore_with, key_violation,
};
use crate::explore::fingerprint::Fingerprint;
use crate::files::scenario::LoadedScenario;
use crate::oracle::{ORACLES, rechunked_runs, repeated_requests};
use crate::prelude::*;
use crate::runner::PanicCatcher;
use crate::runner::explore::Threads;
use crate::scenario::plan::Plan;
use crate::scenario::types::Scenario;

#[derive(Clone, Debug, clap::Args)]
pub(super) struct ExploreArguments {
    #[command(flatten)]
    selection: Selection,
    /// The largest budget: deviations, faults and inputs of one run. Smaller ones come first. `auto`: as many as --time permits
    #[arg(long, value_name = "D,F,I", default_value = "1,1,1")]
    budget: BudgetArgument,
    /// How many seconds each budget of a scenario may take, and with `--budget auto` all of them; what is not finished by then is said
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    time: u64,
    /// How many GiB of memory there are: with more in use, runs are made again and not kept, which takes longer; with twice as much it is stopped
    #[arg(long, value_name = "GIB", default_value = "4")]
    memory: MemoryLimit,
    /// Write the claim of the largest budget as a certificate, which `certify` checks without searching
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,
    /// Compare with the certificate of another version of the engine, within its budget: say which decisions have other effects now
    #[arg(long, value_name = "CERT", conflicts_with = "budget")]
    against: Option<PathBuf>,
    /// Say of each finding how far it is from the run as it is; always said around a log or a tape
    #[arg(long)]
    distance: bool,
    /// Make each finding small, explain it, and keep it as a scenario in the folder `regressions`, as `shrink` does
    #[arg(long)]
    shrink: bool,
    /// In which form; `json` is one document
    #[arg(long, value_enum, default_value = "text")]
    format: ExploreFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ExploreFormat {
    Text,
    Json,
}

/// The value of `--budget`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BudgetArgument {
    /// One budget after the other, while the next one is expected to be finished in time.
    Auto,
    /// All up to this one.
    Largest(ExploreBudget),
}

impl FromStr for BudgetArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" { Ok(Self::Auto) } else { text.parse().map(Self::Largest).map_err(|problem: String| problem + ", or `auto`") }
    }
}

/// Why a budget was not finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExploreStopCause {
    Time,
    Memory,
    CtrlC,
}

pub(super) fn run<E: Engine + Send>(arguments: &ExploreArguments, new_engine: &(impl Fn() -> E + Sync)) -> CommandExit {
    // Around a log the scenario is that of its header.
    let of_log = match neighbourhood::of_log(&arguments.selection, new_engine) {
        Ok(selection) => selection.map(|selection| ExploreArguments { selection, distance: true, ..arguments.clone() }),
        Err(problem) => return wrong_input(&problem),
    };
    let arguments = of_log.as_ref().unwrap_or(arguments);
    let selected = arguments.selection.load();
    let mut exit = selected.exit;
    if selected.scenarios.is_empty() {
        return exit;
    }
    let asked = match AskedExploration::new(arguments, &selected.scenarios) {
        Ok(asked) => asked,
        Err(problem) => return wrong_input(&problem),
    };
    let entries = without_panic_messages(|| until_ctrl_c(|| explore_each(&asked, &selected.scenarios, new_engine)));
    if entries.iter().any(|entry| entry.verdict != verdict_word(true)) {
        exit = exit.max(CommandExit::Failed);
    }
    match arguments.format {
        ExploreFormat::Json => print_document(&ExploreReportDocument::new(entries, selected.unread, exit_code(exit))),
        ExploreFormat::Text => print_line(&totals(&entries)),
    }
    if is_stopped() {
        let count = selected.scenarios.len() as u64;
        complain(&format!("stopped: the rest of {} was not looked at", plural(count, "scenario")));
        std::process::exit(STOPPED.into());
    }
    exit
}

/// Of so many merges in each budget the two runs are made to their ends and compared, if there are as many.
const AUDITED: usize = 4;

/// The exploration that is asked for: the arguments, and the files that they name.
struct AskedExploration<'a> {
    arguments: &'a ExploreArguments,
    /// The largest budget.
    largest: ExploreBudget,
    /// The certificate of another version.
    older: Option<Certificate>,
}

impl<'a> AskedExploration<'a> {
    fn new(arguments: &'a ExploreArguments, scenarios: &[LoadedScenario]) -> Result<Self, String> {
        let option = arguments.certificate.as_ref().map(|_| "--certificate").or(arguments.against.as_ref().map(|_| "--against"));
        if let (Some(option), 2..) = (option, scenarios.len()) {
            return Err(format!("{option} takes one scenario, and these are {}: name one of them", scenarios.len()));
        }
        if let Some(path) = arguments.certificate.as_ref().filter(|path| !certify::may_write(path)) {
            return Err(format!("--certificate {}: this file exists and is not a certificate: name another file", path.display()));
        }
        let set = arguments.selection.overrides();
        let older = arguments.against.as_ref().map(|path| certify::read_older(path, &scenarios[0], &set)).transpose()?;
        let named = match arguments.budget {
            BudgetArgument::Largest(budget) => budget,
            BudgetArgument::Auto if arguments.certificate.is_some() => {
                return Err(String::from("--certificate takes a budget: write it in place of `auto`, as in `--budget 1,0,1`"));
            }
            BudgetArgument::Auto => ExploreBudget::RISING[ExploreBudget::RISING.len() - 1],
        };
        let largest = older.as_ref().map_or(Ok(named), Certificate::budget)?;
        Ok(Self { arguments, largest, older })
    }

    /// Whether all states of this budget are to be kept.
    fn keeps_graph(&self, budget: ExploreBudget) -> bool {
        budget == self.largest && (self.older.is_some() || self.arguments.certificate.is_some())
    }

    /// Writes the certificate, and tells the changes since the older one.
    fn use_graph<E: Engine>(&self, scenario: &LoadedScenario, engine: &E, explored: &FinishedExploration, entry: &mut ExploreEntry) {
        let Some(graph) = &explored.graph else {
            let why = match (explored.report.outcome, explored.report.is_merged) {
                (ExploreOutcome::Stopped, _) => "the budget was not finished",
                (_, false) => "the engine has no `key`",
                _ if entry.findings.is_empty() => "the engine has no `key` in some of its states",
                _ => "the engine's `key` leaves out something",
            };
            let what = if self.older.is_some() { "nothing was compared with the certificate" } else { "no certificate" };
            entry.notes.push(format!("{what} of {}: {why}", self.largest));
            entry.is_certified = false;
            return;
        };
        if let Some(path) = &self.arguments.certificate {
            let written = match explored.report.findings.is_empty() {
                true => certify::write_certificate(path, scenario, self.arguments.selection.overrides(), (&explored.report, graph)),
                false => Err(format!("no certificate of {}: there are findings", self.largest)),
            };
            entry.is_certified &= written.is_ok();
            let wrote = |()| format!("wrote {}; check it: {}", path.display(), certify::certify_command(path));
            entry.notes.push(written.map_or_else(|problem| problem, wrote));
        }
        let show = |graph: &ExploredGraph, place: usize| {
            let path = graph.path(place);
            let (plan, decisions) = path.plan(&scenario.setup, engine, &PanicCatcher);
            certify::witness(&decisions, path.choices.len(), &command(self.arguments, scenario, &plan))
        };
        if let Some(older) = &self.older {
            let difference = certify::difference(older, graph, show);
            entry.is_certified &= difference.is_none();
            entry.notes.push(difference.unwrap_or_else(|| String::from("against the certificate: nothing has changed")));
        }
    }
}

fn explore_each<E: Engine + Send>(
    asked: &AskedExploration<'_>,
    scenarios: &[LoadedScenario],
    new_engine: &(impl Fn() -> E + Sync),
) -> Vec<ExploreEntry> {
    let mut entries = Vec::new();
    for scenario in scenarios {
        let entry = explore_scenario(asked, scenario, &new_engine());
        if asked.arguments.format == ExploreFormat::Text {
            show(&entry);
        }
        entries.push(entry);
        if is_stopped() {
            break;
        }
    }
    entries
}

/// The budgets up to the largest one, in rising order.
fn budgets(largest: ExploreBudget) -> Vec<ExploreBudget> {
    let mut budgets: Vec<ExploreBudget> = ExploreBudget::RISING.into_iter().filter(|budget| largest.covers(*budget)).collect();
    if !budgets.contains(&largest) {
        budgets.push(largest);
    }
    budgets
}

/// Explores one budget after the other, until one is not finished.
fn explore_scenario<E: Engine + Send>(asked: &AskedExploration<'_>, scenario: &LoadedScenario, engine: &E) -> ExploreEntry {
    let AskedExploration { arguments, largest, .. } = asked;
    let mut entry = ExploreEntry::new(&scenario.name, &scenario.path, scenario.setup.scenario.seed.0);
    entry.notes.extend(neighbourhood::scope(scenario));
    entry.notes.extend(unclaimed(&scenario.setup.scenario));
    let mut known: BTreeSet<Fingerprint> = BTreeSet::new();
    let mut finished: Vec<ExploreBudget> = Vec::new();
    let (mut swaps, mut stop) = (0, None);
    let is_auto = arguments.budget == BudgetArgument::Auto;
    let time = Duration::from_secs(arguments.time);
    let began = Instant::now();
    let (plain, _) = explore_budget(asked, scenario, engine, (ExploreBudget::NONE, time));
    let mut forecast = ExploreForecast::new(began, plain.report.transitions);
    for budget in budgets(*largest) {
        let limit = if is_auto { forecast.time_left(time) } else { time };
        if let Some((transitions, expected)) = forecast.size(budget) {
            let seconds = plural(expected.as_secs(), "second");
            if is_auto && expected > limit {
                entry.notes.push(format!(
                    "budget {budget} was not begun: about {transitions} transitions, {seconds}, and --time leaves {}; nothing is claimed of it, nor of larger ones",
                    limit.as_secs()
                ));
                break;
            }
            if expected > SILENCE {
                tell_progress(&format!(
                    "exploring {}, budget {budget}: about {transitions} transitions, {seconds}",
                    scenario.path.display()
                ));
            }
        }
        let (mut explored, cause) = explore_budget(asked, scenario, engine, (budget, limit));
        let remake = |plan: &Plan| command(arguments, scenario, plan);
        let key_finding = comparisons::key_finding((scenario, engine), budget, &explored.equal_states, remake);
        explored.graph = explored.graph.filter(|_| key_finding.is_none());
        let report = &explored.report;
        swaps += report.swaps;
        for finding in &report.findings {
            if known.insert(finding.fingerprint.clone()) {
                let without = finished.iter().filter(|smaller| budget.covers(**smaller)).map(ExploreBudget::to_string).collect();
                entry.findings.push(finding_entry(arguments, scenario, engine, finding, (budget, without)));
            }
        }
        entry.findings.extend(key_finding.filter(|_| known.insert(Fingerprint::from(&key_violation()))));
        entry.notes.extend(notes(report, swaps));
        entry.notes.extend(cause.map(|cause| stop_text((budget, limit), cause)));
        stop = stop.or(cause);
        entry.budgets.push(ExploreBudgetEntry::new(&explored));
        if asked.keeps_graph(budget) {
            asked.use_graph(scenario, engine, &explored, &mut entry);
        }
        if report.outcome != ExploreOutcome::Finished {
            break;
        }
        forecast.add(budget, report.transitions);
        entry.asked = report.asked.by_oracle().collect();
        finished.push(budget);
    }
    let options = arguments.selection.options(scenario.setup.scenario.seed.0);
    let comparisons = comparisons::compare(scenario, engine, &options);
    entry.asked.extend(comparisons.asked);
    entry.findings.extend(comparisons.findings);
    entry.notes.dedup();
    // What was asked for and not looked at is not green.
    let is_done = finished.contains(largest) || is_auto && !finished.is_empty() && stop.is_none_or(|cause| cause == ExploreStopCause::Time);
    entry.verdict = verdict_word(entry.findings.is_empty() && is_done && entry.is_certified);
    entry
}

fn explore_budget<E: Engine + Send>(
    asked: &AskedExploration<'_>,
    scenario: &LoadedScenario,
    engine: &E,
    (budget, limit): (ExploreBudget, Duration),
) -> (FinishedExploration, Option<ExploreStopCause>) {
    let arguments = asked.arguments;
    let began = Instant::now();
    let mut cause = None;
    let mut silence = SILENCE;
    let mut memory = MemoryWatch::new(arguments.memory);
    let mut pace = |progress: ExploreProgress| {
        let memory = memory.look();
        let elapsed = began.elapsed();
        if is_stopped() {
            cause = Some(ExploreStopCause::CtrlC);
        } else if elapsed > limit {
            cause = Some(ExploreStopCause::Time);
        } else if memory == MemoryState::Exhausted {
            cause = Some(ExploreStopCause::Memory);
        } else if elapsed > silence {
            silence *= 2;
            let ExploreProgress { states, transitions, waiting } = progress;
            let path = scenario.path.display();
            tell_progress(&format!("exploring {path}, budget {budget}: {states} states, {transitions} transitions, {waiting} states wait"));
        }
        match (cause, memory) {
            (Some(_), _) => ExplorePace::Stopped,
            (None, MemoryState::Enough) => ExplorePace::Usual,
            (None, _) => ExplorePace::Sparing,
        }
    };
    let threads = Threads(arguments.selection.threads());
    let options = ExploreOptions { audited: AUDITED, keeps_graph: asked.keeps_graph(budget), ..ExploreOptions::default() };
    let explored = explore_with(&scenario.setup, engine, budget, &PanicCatcher, &threads, (options, &mut pace));
    (explored, cause)
}

/// Notes on the parts that were not looked at.
fn notes(report: &ExploreReport, swaps: u64) -> Vec<String> {
    let mut notes = Vec::new();
    if !report.is_merged {
        notes.push(String::from("the engine has no `key`: no two states are known to be equal, and each way is looked at by itself"));
    }
    if report.budget.deviations > 0 && swaps == 0 && report.outcome == ExploreOutcome::Finished {
        notes.push(String::from("nothing to reorder: at no state could another arrival come first"));
    }
    if report.budget.faults > 0 && report.faults == 0 && report.outcome == ExploreOutcome::Finished {
        notes.push(String::from("no fault was tried: no request was made, or `faults` in [explore] is empty"));
    }
    notes
}

fn stop_text((budget, limit): (ExploreBudget, Duration), cause: ExploreStopCause) -> String {
    match cause {
        ExploreStopCause::Time => format!(
            "budget {budget} was not finished in {}: nothing is claimed of it, nor of larger ones; --time N gives it more",
            plural(limit.as_secs(), "second")
        ),
        ExploreStopCause::Memory => format!(
            "budget {budget} was not finished, because its states take more than twice the memory of --memory: nothing is claimed of it, nor of larger ones"
        ),
        ExploreStopCause::CtrlC => {
            format!("budget {budget} was not finished when it was stopped: nothing is claimed of it, nor of larger ones")
        }
    }
}

fn finding_entry<E: Engine + Send>(
    arguments: &ExploreArguments,
    scenario: &LoadedScenario,
    engine: &E,
    finding: &ExploreFinding,
    (budget, without): (ExploreBudget, Vec<String>),
) -> ExploreFindingEntry {
    let is_measured = arguments.distance || scenario.tape_file.is_some();
    let distance = is_measured.then(|| neighbourhood::distance(scenario, engine, finding)).flatten();
    let path = distance.as_ref().map_or(&finding.path, |distance| &distance.path);
    let (plan, decisions) = path.plan(&scenario.setup, engine, &PanicCatcher);
    let planned = Scenario { plan: plan.clone(), ..scenario.setup.scenario.clone() };
    let task = ShrinkTask {
        loaded: scenario,
        scenario: &planned,
        fingerprint: &finding.fingerprint,
        out: None,
        prove: Duration::from_secs(arguments.time),
        threads: Threads(arguments.selection.threads()),
        reach: arguments.selection.reach(),
    };
    let shrunk = arguments.shrink.then(|| task.shrink(engine)).and_then(|shrunk| {
        let tell = |problem: &String| complain(&format!("{}: {problem}", scenario.path.display()));
        shrunk.inspect_err(tell).ok()
    });
    ExploreFindingEntry {
        oracle: finding.fingerprint.oracle,
        observation: finding.fingerprint.observation.clone(),
        budget: budget.to_string(),
        without,
        count: finding.count,
        decisions: decisions.iter().map(PathDecision::to_string).collect(),
        violations: finding.violations.iter().map(ToString::to_string).collect(),
        command: command(arguments, scenario, &plan),
        distance: distance.as_ref().and_then(|distance| distance.time).map(|time| time.0),
        reasons: distance.map(|distance| distance.reasons).unwrap_or_default(),
        shrunk,
    }
}

/// The command that makes the run again.
fn command(arguments: &ExploreArguments, scenario: &LoadedScenario, plan: &Plan) -> String {
    let options = arguments.selection.options(scenario.setup.scenario.seed.0);
    plan_command(&scenario.path, &options, &scenario.setup.scenario, plan)
}

fn show(entry: &ExploreEntry) {
    let word = if entry.verdict == verdict_word(true) { "ok" } else { "FAILED" };
    let finished: Vec<&str> = entry.budgets.iter().filter(|budget| budget.is_finished()).map(|budget| &*budget.budget).collect();
    let finished = if finished.is_empty() { String::from("no budget finished") } else { format!("finished {}", finished.join(" ")) };
    let states: usize = entry.budgets.iter().map(|budget| budget.states).sum();
    let transitions: u64 = entry.budgets.iter().map(|budget| budget.transitions).sum();
    let findings = plural(entry.findings.len() as u64, "finding");
    print_verdict(&format!("{word:<7} {:<44} {states:>8} states {transitions:>9} transitions {findings:>11}  {finished}", entry.scenario));
    entry.notes.iter().for_each(|note| complain(&format!("note: {}: {note}", entry.path)));
    for finding in &entry.findings {
        let ExploreFindingEntry { oracle, observation, budget, without, count, decisions, violations, command, distance, reasons, shrunk } =
            finding;
        let mut text = format!("{oracle}: {observation}\n  {} within {budget}; the smallest run:", plural(*count as u64, "way"));
        if decisions.is_empty() {
            text += "\n    as it is, without any decision";
        }
        text += &decisions.iter().map(|decision| format!("\n    {decision}")).collect::<String>();
        text += &violations.iter().map(|violation| format!("\n  {violation}")).collect::<String>();
        if let Some(distance) = distance {
            text += &format!("\n  {} away from the run as it is", Micros(*distance));
        }
        text += &reasons.iter().map(|reason| format!("\n  {reason}")).collect::<String>();
        if !without.is_empty() {
            text += &format!("\n  no run within {} does this", without.join(" or "));
        }
        text += &format!("\n  look at it: {command}");
        // A difference between two runs is in none of them.
        if ![repeated_requests::ORACLE, rechunked_runs::ORACLE].contains(oracle) {
            let small = shrunk.as_ref().map_or_else(|| shrink_command(command), |shrunk| format!("small: {}", shrink::text(shrunk)));
            text += &format!("\n  {small}");
        }
        complain(&text);
    }
}

fn totals(entries: &[ExploreEntry]) -> String {
    let findings: usize = entries.iter().map(|entry| entry.findings.len()).sum();
    let unfinished = entries.iter().filter(|entry| entry.budgets.iter().any(|budget| !budget.is_finished())).count();
    let unfinished = match unfinished {
        0 => String::new(),
        count => format!("; {} with a budget that was not finished", plural(count as u64, "scenario")),
    };
    let unasked = unasked_text(&unasked(entries)).map(|text| format!("; {text}")).unwrap_or_default();
    let nearest = entries.iter().flat_map(|entry| &entry.findings).filter_map(|finding| finding.distance).min();
    let nearest = nearest.map(|nearest| format!(", the nearest {} away", Micros(nearest))).unwrap_or_default();
    format!("{}, {}{nearest}{unfinished}{unasked}", plural(entries.len() as u64, "scenario"), plural(findings as u64, "finding"))
}

/// The rules whose situation came to pass in no exploration that was finished.
fn unasked(entries: &[ExploreEntry]) -> Vec<&'static str> {
    let is_unasked = |oracle: &&str| entries.iter().all(|entry| entry.asked.get(oracle).is_none_or(|count| *count == 0));
    ORACLES.iter().map(|(oracle, _)| *oracle).filter(is_unasked).collect()
}
