//! `reenact pairs PATH…`: two scenarios at a time as one session, all oracles on each (E-1).

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::ValueEnum;

use super::CommandExit;
use super::output::{complain, print_line, without_panic_messages, wrong_input};
use super::program::{program_name, quoted};
use super::selection::{FileSelection, SelectedScenarios};
use crate::engine::contract::Engine;
use crate::engine::random::Seed;
use crate::explore::fingerprint::Fingerprint;
use crate::files::scenario::LoadedScenario;
use crate::prelude::*;
use crate::runner::pairs::{PairRun, ScenarioPair, ScenarioPairs};
use crate::scenario::language::scenario_text;
use crate::scenario::pair::PairForm;
use crate::transcript::event::RunEnd;
use crate::transcript::text::{DetailLevel, render};

/// How many violations of a run are shown.
const VIOLATIONS_MAX: usize = 3;

/// Arguments of `pairs`.
#[derive(Debug, clap::Args)]
pub(super) struct PairArguments {
    #[command(flatten)]
    files: FileSelection,
    /// Run at most so many pairs; which ones is drawn
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    most: usize,
    /// Draw the pairs from this seed
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Run one pair, the first path and then the second, and show what happens
    #[arg(long, value_enum, value_name = "FORM")]
    show: Option<FormArgument>,
    /// With --show: write the session as a scenario
    #[arg(long, value_name = "FILE", requires = "show")]
    write: Option<PathBuf>,
}

/// The place where the second scenario begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FormArgument {
    /// Behind the last prompt of the first
    Prompts,
    /// In the last prompt of the first, behind its last tools or in the place of its last text
    Turns,
}

/// The runs that break the same rule first.
struct PairGroup<'a> {
    fingerprint: Fingerprint,
    runs: Vec<&'a PairRun>,
}

pub(super) fn run<E: Engine>(arguments: &PairArguments, new_engine: &(impl Fn() -> E + Sync)) -> CommandExit {
    let SelectedScenarios { scenarios, exit, .. } = arguments.files.load(Vec::new());
    if scenarios.is_empty() {
        return exit;
    }
    let threads = arguments.files.threads();
    without_panic_messages(|| {
        let pairs = ScenarioPairs::new(&scenarios, threads, new_engine);
        match arguments.show {
            Some(form) => exit.max(show(arguments, &pairs, &scenarios, form.into(), new_engine)),
            None => exit.max(search(arguments, &pairs, &scenarios, new_engine)),
        }
    })
}

/// Runs many pairs, and says what they break.
fn search<E: Engine>(
    arguments: &PairArguments,
    pairs: &ScenarioPairs,
    scenarios: &[LoadedScenario],
    new_engine: &(impl Fn() -> E + Sync),
) -> CommandExit {
    let drawn = pairs.drawn(arguments.most, Seed(arguments.seed));
    let runs = pairs.run(&drawn, arguments.files.threads(), new_engine);
    let groups = groups(&runs);
    for (number, group) in (1..).zip(&groups) {
        complain(&group_text(number, groups.len(), group, scenarios));
    }
    let unended = runs.iter().filter(|run| !matches!(run.end, Some(RunEnd::Idle))).count();
    let findings = runs.iter().filter(|run| !run.violations.is_empty()).count();
    print_line(&format!(
        "{} of {}, {} of {}, {}{}",
        plural(pairs.count() as u64, "scenario"),
        scenarios.len(),
        plural(runs.len() as u64, "pair"),
        pairs.possible(),
        plural(findings as u64, "finding"),
        if unended > 0 {
            format!("; {unended} did not come to an end of their own: what they left open was not judged")
        } else {
            String::new()
        },
    ));
    if runs.is_empty() {
        complain(
            "no two of these scenarios can be one session: those that need other files, break a rule on purpose or do not end by themselves are left out",
        );
    }
    if runs.is_empty() || findings > 0 { CommandExit::Failed } else { CommandExit::Fine }
}

/// Runs one pair, and shows it.
fn show<E: Engine>(
    arguments: &PairArguments,
    pairs: &ScenarioPairs,
    scenarios: &[LoadedScenario],
    form: PairForm,
    new_engine: &(impl Fn() -> E + Sync),
) -> CommandExit {
    let second = match scenarios {
        [_] => 0,
        [_, _] => 1,
        _ => return wrong_input("`--show` takes two scenarios: name the first and the second"),
    };
    let pair = ScenarioPair { first: 0, second, form };
    let Some(scenario) = pairs.scenario(pair) else {
        return wrong_input(
            "these two cannot be one session: one of them needs other files, breaks a rule on purpose or does not end by itself",
        );
    };
    if let Some(path) = &arguments.write {
        let title = format!("{}, then {}", scenarios[0].name, scenarios[second].name);
        if let Err(error) = std::fs::write(path, scenario_text(&scenario, &[title])) {
            return wrong_input(&format!("{}: cannot be written: {error}", path.display()));
        }
    }
    let Some((run, transcript)) = pairs.look(pair, new_engine) else {
        return wrong_input("these two cannot be one session: the scenario that they make cannot be run");
    };
    if let Some(transcript) = transcript {
        print_line(&render(&transcript, DetailLevel::Normal));
    }
    run.violations.iter().for_each(|violation| complain(&violation.to_string()));
    if run.violations.is_empty() { CommandExit::Fine } else { CommandExit::Failed }
}

/// The findings, each defect once; the most frequent ones come first.
fn groups(runs: &[PairRun]) -> Vec<PairGroup<'_>> {
    let mut groups: BTreeMap<Fingerprint, Vec<&PairRun>> = BTreeMap::new();
    for run in runs {
        if let Some(first) = run.violations.first() {
            groups.entry(Fingerprint::from(first)).or_default().push(run);
        }
    }
    let mut groups: Vec<PairGroup<'_>> = groups.into_iter().map(|(fingerprint, runs)| PairGroup { fingerprint, runs }).collect();
    groups.sort_by_key(|group| core::cmp::Reverse(group.runs.len()));
    groups
}

fn group_text(number: usize, count: usize, group: &PairGroup<'_>, scenarios: &[LoadedScenario]) -> String {
    let Some(smallest) = group.runs.iter().min_by_key(|run| (run.events, run.pair)) else { return String::new() };
    let ScenarioPair { first, second, form } = smallest.pair;
    let path = |at: usize| quoted(&scenarios[at].path.display().to_string());
    let word = match form {
        PairForm::Prompts => "prompts",
        PairForm::Turns => "turns",
    };
    let violations: String = smallest.violations.iter().take(VIOLATIONS_MAX).map(|violation| format!("\n    {violation}")).collect();
    let command = format!("{} pairs {} {} --show {word}", program_name(), path(first), path(second));
    format!(
        "\ngroup {number} of {count}: {}\n  {}, the smallest:{violations}\n  look at it: {command}",
        group.fingerprint,
        plural(group.runs.len() as u64, "pair"),
    )
}

impl From<FormArgument> for PairForm {
    fn from(form: FormArgument) -> Self {
        match form {
            FormArgument::Prompts => Self::Prompts,
            FormArgument::Turns => Self::Turns,
        }
    }
}
