//! Findings in words: one by one, and each defect once (E-5).

use std::collections::BTreeSet;

use super::super::output::complain;
use super::super::program::run_command;
use super::{CanaryArgument, SweepArguments, SweptScenario};
use crate::explore::finding_group::{SmallestFinding, SweepFindingGroup};
use crate::explore::fingerprint::Fingerprint;
use crate::explore::interrupt::InjectionKind;
use crate::explore::sweep::SweepFinding;
use crate::oracle::Violation;
use crate::prelude::*;

/// How many groups are shown with all that is known of them.
const IN_FULL_MAX: usize = 10;

/// How many violations of a run are shown.
const VIOLATIONS_MAX: usize = 3;

/// How many kinds of boundaries are named.
const BOUNDARIES_MAX: usize = 3;

/// Shows each group: what was observed, how often, and the smallest run with its command.
pub(super) fn show_groups(arguments: &SweepArguments, scenarios: &[SweptScenario], groups: &[SweepFindingGroup]) {
    for (number, group) in (1..).zip(groups) {
        let SmallestFinding { sweep, finding } = &group.smallest;
        let scenario = &scenarios[*sweep];
        let mut text = format!("\ngroup {number} of {}: {}\n  {}", groups.len(), group.fingerprint, count(group, scenarios));
        if number <= IN_FULL_MAX || arguments.all {
            text += &format!("\n  smallest: {}", place(scenario, finding));
            text += &violations(&finding.violations, "    ");
            text += &others(group, groups);
        }
        complain(&(text + "\n  look at it: " + &command(arguments, scenario, finding)));
    }
    if !groups.is_empty() {
        let all = if arguments.all { "" } else { "; --all shows every finding" };
        complain(&format!("\nto keep a run as a scenario: its `run` command above with --write-plan FILE, an option of `run`{all}"));
    }
}

/// One finding by itself.
pub(super) fn text(arguments: &SweepArguments, scenario: &SweptScenario, finding: &SweepFinding) -> String {
    place(scenario, finding) + &violations(&finding.violations, "  ") + "\n  look at it: " + &command(arguments, scenario, finding)
}

/// The command that shows the run without an interrupt.
pub(super) fn usual_command(arguments: &SweepArguments, scenario: &SweptScenario) -> String {
    let usual = SweepFinding { interrupt: None, before: None, violations: Vec::new(), runs: 1 };
    command(arguments, scenario, &usual)
}

/// The command that shows a finding.
pub(super) fn command(arguments: &SweepArguments, scenario: &SweptScenario, finding: &SweepFinding) -> String {
    let mut command = run_command(&scenario.path);
    command += &match &finding.interrupt {
        Some((place, kind)) => format!(" --interrupt-at {} --interrupt-kind {kind}", place.boundary),
        None => String::new(),
    };
    command += &arguments.selection.options(scenario.seed);
    if let Some(CanaryArgument::Of(canary)) = arguments.canary {
        command += &format!(" --canary {}", canary.name);
    }
    command
}

/// `104 findings in 3 scenarios: 60 with a cancel, 43 with an interrupt, 1 in the run as it is; most at tool_ended (40), stream.ping (12)`.
fn count(group: &SweepFindingGroup, scenarios: &[SweptScenario]) -> String {
    let of = |kind: InjectionKind| group.interrupts.get(&kind).copied().unwrap_or_default();
    let parts = [
        (of(InjectionKind::Cancel), "with a cancel"),
        (of(InjectionKind::Interrupt), "with an interrupt"),
        (of(InjectionKind::Heal), "with a heal (no fault after it)"),
        (group.uninterrupted, "in the run as it is"),
    ];
    let parts: Vec<String> = parts.iter().filter(|(count, _)| *count > 0).map(|(count, how)| format!("{count} {how}")).collect();
    let findings = plural(group.findings as u64, "finding");
    let names: BTreeSet<&str> = group.sweeps.iter().map(|sweep| &*scenarios[*sweep].name).collect();
    let scenarios = plural(names.len() as u64, "scenario");
    let boundaries: Vec<String> =
        group.boundaries_by_count().into_iter().take(BOUNDARIES_MAX).map(|(kind, count)| format!("{} ({count})", kind.as_str())).collect();
    let most = if group.boundaries.len() > BOUNDARIES_MAX { "most at" } else { "at" };
    let at = if boundaries.is_empty() { String::new() } else { format!("; {most} {}", boundaries.join(", ")) };
    format!("{findings} in {scenarios}: {}{at}", parts.join(", "))
}

fn place(scenario: &SweptScenario, finding: &SweepFinding) -> String {
    let path = scenario.path.display();
    match &finding.interrupt {
        Some((place, kind)) => format!("{path}: {kind} {place}"),
        None => format!("{path}: the run as it is"),
    }
}

/// The first violations, a line each.
fn violations(violations: &[Violation], indent: &str) -> String {
    let mut text: String = violations.iter().take(VIOLATIONS_MAX).map(|violation| format!("\n{indent}{violation}")).collect();
    if violations.len() > VIOLATIONS_MAX {
        text += &format!("\n{indent}and {} more", violations.len() - VIOLATIONS_MAX);
    }
    text
}

/// The other violations in the runs of a group. Where one of them comes first in other runs, these are a group of their own, perhaps of the same defect.
fn others(group: &SweepFindingGroup, groups: &[SweepFindingGroup]) -> String {
    let line = |(other, count): (&Fingerprint, &usize)| {
        let number = groups.iter().position(|group| group.fingerprint == *other);
        let of_its_own = number.map_or_else(String::new, |number| format!(", group {}", number + 1));
        let count = if *count == group.findings { String::from("in all") } else { format!("in {count}") };
        format!("\n    {other} ({count}{of_its_own})")
    };
    let others: String = group.others.iter().map(line).collect();
    if others.is_empty() { others } else { format!("\n  broken after that in these runs:{others}") }
}
