//! `sweep --seeds`: seeds with the same verdict are one line, and each other seed is one, with its command.

use std::collections::BTreeMap;

use super::super::CommandExit;
use super::super::output::print_verdict;
use super::super::program::{program_name, quoted_path};
use super::{CanaryArgument, KindArgument, SweepArguments, SweptScenario, SweptScenarios, line, tell, unmet_word, verdict};
use crate::explore::sweep::InterruptSweepReport;
use crate::prelude::*;

/// Sweeps over one scenario, one for each seed.
type SeedSweeps<'a> = Vec<(&'a SweptScenario, &'a InterruptSweepReport)>;

/// Shows each scenario with all of its seeds.
pub(super) fn show(arguments: &SweepArguments, swept: &SweptScenarios) {
    let mut sweeps: Vec<SeedSweeps<'_>> = Vec::new();
    for sweep in swept.scenarios.iter().zip(&swept.reports) {
        match sweeps.iter_mut().find(|known| known[0].0.name == sweep.0.name) {
            Some(known) => known.push(sweep),
            None => sweeps.push(vec![sweep]),
        }
    }
    sweeps.iter().for_each(|sweeps| show_scenario(arguments, sweeps));
}

fn show_scenario(arguments: &SweepArguments, sweeps: &SeedSweeps<'_>) {
    let usual = usual_outcome(sweeps);
    let (agreeing, others): (SeedSweeps<'_>, SeedSweeps<'_>) = sweeps.iter().partition(|sweep| outcome(sweep) == usual);
    let Some((first, report)) = agreeing.first() else { return };
    let sum = |of: fn(&InterruptSweepReport) -> usize| agreeing.iter().map(|(_, report)| of(report)).sum::<usize>();
    let figures = (sum(|report| report.boundaries), sum(|report| report.runs), sum(|report| report.findings.len()));
    let seeds = match others.len() {
        0 => plural(agreeing.len() as u64, "seed"),
        _ => format!("{} of {}", agreeing.len(), plural(sweeps.len() as u64, "seed")),
    };
    print_verdict(&format!("{}  {seeds}{}", line(usual.0, &first.name, figures), unmet_word(first)));
    tell(arguments, first, report);
    for (scenario, report) in others {
        let name = format!("{}{}seed={}", scenario.name, if scenario.name.contains('@') { "," } else { "@" }, scenario.seed);
        let figures = (report.boundaries, report.runs, report.findings.len());
        print_verdict(&format!("{}  {}{}", line(verdict(report), &name, figures), command(arguments, scenario), unmet_word(scenario)));
        tell(arguments, scenario, report);
    }
}

/// The verdict, and whether the scenario fails as it is.
type SweepOutcome = (CommandExit, bool);

fn outcome((scenario, report): &(&SweptScenario, &InterruptSweepReport)) -> SweepOutcome {
    (verdict(report), !scenario.unmet.is_empty())
}

/// The outcome of most seeds. Of two that are as many it is that of the first seed.
fn usual_outcome(sweeps: &SeedSweeps<'_>) -> SweepOutcome {
    let mut counts: BTreeMap<SweepOutcome, usize> = BTreeMap::new();
    sweeps.iter().for_each(|sweep| *counts.entry(outcome(sweep)).or_default() += 1);
    let most = counts.values().copied().max().unwrap_or_default();
    sweeps.iter().map(outcome).find(|outcome| counts[outcome] == most).unwrap_or((CommandExit::Fine, false))
}

/// The command that sweeps over a scenario with its seed.
fn command(arguments: &SweepArguments, scenario: &SweptScenario) -> String {
    let mut command = program_name() + " sweep " + &quoted_path(&scenario.path) + &arguments.selection.options(scenario.seed);
    match arguments.kind {
        KindArgument::Cancel => command += " --kind cancel",
        KindArgument::Interrupt => command += " --kind interrupt",
        KindArgument::Heal => command += " --kind heal",
        KindArgument::Both => command += " --kind both",
        KindArgument::All => (),
    }
    if let Some(CanaryArgument::Of(canary)) = arguments.canary {
        command += &format!(" --canary {}", canary.name);
    }
    command
}
