//! `reenact fuzz PATH…`: random runs from a seed, beyond what `explore` finishes (E-4).

use std::collections::BTreeMap;
use std::time::Duration;

use clap::ValueEnum;
use tokio::time::Instant;

use super::certify::SearchShard;
use super::ctrl_c::{is_stopped, until_ctrl_c};
use super::output::{complain, print_line, without_panic_messages, wrong_input};
use super::program::{plan_command, shrink_command};
use super::selection::Selection;
use super::{CommandExit, SILENCE, STOPPED};
use crate::engine::contract::Engine;
use crate::explore::explorer::Workers;
use crate::explore::fingerprint::Fingerprint;
use crate::explore::fuzz::{FuzzCase, FuzzGround, FuzzStrategy};
use crate::files::scenario::LoadedScenario;
use crate::prelude::*;
use crate::runner::PanicCatcher;
use crate::runner::explore::Threads;

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
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FuzzStrategyArgument {
    /// All in turn
    Mix,
    /// Each order as likely as any other
    Uniform,
    /// A few changes at places that are drawn before
    Pct,
    /// Some kinds of changes, and several of them
    Swarm,
}

/// So many cases are made at once.
const BATCH: u64 = 256;

/// The cases of one scenario.
struct FuzzOutcome {
    cases: u64,
    /// By fingerprint: how many cases, and the one with the fewest decisions.
    findings: BTreeMap<Fingerprint, (u64, FuzzCase)>,
}

pub(super) fn run<E: Engine + Send>(arguments: &FuzzArguments, new_engine: &(impl Fn() -> E + Sync)) -> CommandExit {
    let selected = arguments.selection.load();
    let mut exit = selected.exit;
    if selected.scenarios.is_empty() {
        return exit;
    }
    let (mut findings, mut cases, began) = (0, 0, Instant::now());
    let fuzz_each = || {
        let mut done = 0;
        for scenario in &selected.scenarios {
            let engine = new_engine();
            let outcome = fuzz(arguments, scenario, &engine);
            findings += outcome.findings.len();
            cases += outcome.cases;
            show(arguments, scenario, &engine, &outcome);
            done += 1;
            if is_stopped() {
                break;
            }
        }
        done
    };
    let done = without_panic_messages(|| until_ctrl_c(fuzz_each));
    print_line(&format!("{}, {}, {}", plural(done, "scenario"), plural(cases, "case"), plural(findings as u64, "finding")));
    // How fast it went is no part of the output.
    let seconds = began.elapsed().as_secs_f64().max(0.001);
    complain(&format!("note: {:.0} cases a second", f64::from(u32::try_from(cases).unwrap_or(u32::MAX)) / seconds));
    if cases == 0 && !is_stopped() {
        return wrong_input(
            "no case was made, so nothing was looked at: --cases N and --time N are at least 1, and a --shard has some of the cases",
        );
    }
    if findings > 0 {
        exit = exit.max(CommandExit::Failed);
    }
    if is_stopped() {
        complain(&format!("stopped: the rest of {} was not looked at", plural(selected.scenarios.len() as u64, "scenario")));
        std::process::exit(STOPPED);
    }
    exit
}

fn fuzz<E: Engine + Send>(arguments: &FuzzArguments, scenario: &LoadedScenario, engine: &E) -> FuzzOutcome {
    let ground = FuzzGround::new(&scenario.setup, engine, &PanicCatcher);
    let threads = Threads(arguments.selection.threads());
    let (began, mut silence) = (Instant::now(), SILENCE);
    let mut outcome = FuzzOutcome { cases: 0, findings: BTreeMap::new() };
    let mut next = 0;
    let is_over = |next: u64| match arguments.time {
        Some(time) => began.elapsed() >= Duration::from_secs(time),
        None => next >= arguments.cases,
    };
    while !is_over(next) && !is_stopped() {
        let end = if arguments.time.is_some() { next + BATCH } else { arguments.cases.min(next + BATCH) };
        let numbers = (next..end).filter(|number| arguments.shard.is_none_or(|shard| shard.has(*number)));
        let numbers: Vec<(u64, E)> = numbers.map(|number| (number, engine.clone())).collect();
        outcome.cases += numbers.len() as u64;
        next = end;
        let case = |(number, engine): (u64, E)| {
            let strategy = arguments.strategy.of_case(number);
            ground.case(&scenario.setup, &engine, (strategy, arguments.fuzz_seed, number), &PanicCatcher)
        };
        for case in threads.map(numbers, case) {
            let Some(fingerprint) = case.fingerprint() else { continue };
            let known = outcome.findings.entry(fingerprint).or_insert_with(|| (0, case.clone()));
            known.0 += 1;
            if (case.decisions(), case.number) < (known.1.decisions(), known.1.number) {
                known.1 = case;
            }
        }
        if began.elapsed() > silence {
            silence *= 2;
            let path = scenario.path.display();
            complain(&format!("fuzzing {path}: {} cases, {}", outcome.cases, plural(outcome.findings.len() as u64, "finding")));
        }
    }
    outcome
}

impl FuzzStrategyArgument {
    fn of_case(self, number: u64) -> FuzzStrategy {
        match self {
            Self::Uniform => FuzzStrategy::Uniform,
            Self::Pct => FuzzStrategy::Pct,
            Self::Swarm => FuzzStrategy::Swarm,
            Self::Mix => FuzzStrategy::ALL[usize::try_from(number % FuzzStrategy::ALL.len() as u64).unwrap_or(0)],
        }
    }
}

fn show<E: Engine>(arguments: &FuzzArguments, scenario: &LoadedScenario, engine: &E, outcome: &FuzzOutcome) {
    let FuzzOutcome { cases, findings } = outcome;
    let word = if findings.is_empty() { "ok" } else { "FAILED" };
    print_line(&format!("{word:<7} {:<44} {:>9} {:>11}", scenario.name, plural(*cases, "case"), plural(findings.len() as u64, "finding")));
    for (fingerprint, (count, case)) in findings {
        let (plan, decisions) = case.plan(&scenario.setup, engine, &PanicCatcher);
        let options = arguments.selection.options(scenario.setup.scenario.seed.0);
        let command = plan_command(&scenario.path, &options, &scenario.setup.scenario, &plan);
        let mut text =
            format!("{fingerprint}\n  {} of {cases}; the one with the fewest decisions, case {}:", plural(*count, "case"), case.number);
        text += &decisions.iter().map(|decision| format!("\n    {decision}")).collect::<String>();
        text += &case.violations.iter().map(|violation| format!("\n  {violation}")).collect::<String>();
        complain(&format!("{text}\n  look at it: {command}\n  {}", shrink_command(&command)));
    }
}
