//! The findings of sweeps, put together: each defect once, with the smallest run that shows it (E-5).
//!
//! A run counts for the violation that came first in it, before the interrupt or after it. What is broken after that mostly follows from it, and is
//! counted beside it. So two defects of which one always follows the other are one group, until the first is corrected.

use alloc::collections::{BTreeMap, BTreeSet};
use core::fmt;

use super::finding::SweepFinding;
use super::fingerprint::Fingerprint;
use super::input_kind::InputKind;
use super::interrupt::{InjectionKind, RunBoundary};
use super::sweep::InterruptSweepReport;
use reenact_wire::prelude::*;

/// All runs in which the same violation came first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepFindingGroup {
    /// The violation.
    pub fingerprint: Fingerprint,
    /// How many findings these are.
    pub findings: usize,
    /// The positions of the sweeps that have some, in the list that was grouped.
    pub sweeps: BTreeSet<usize>,
    /// How many of the findings are runs without an interrupt.
    pub uninterrupted: usize,
    /// How many are runs with each kind of interrupt.
    pub interrupts: BTreeMap<InjectionKind, usize>,
    /// How many were interrupted before or after each kind of input.
    pub boundaries: BTreeMap<InputKind, usize>,
    /// The other violations in these runs, each with the number of runs.
    pub others: BTreeMap<Fingerprint, usize>,
    /// The smallest of the findings.
    pub smallest: SmallestFinding,
}

/// The finding that is the least work to understand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SmallestFinding {
    /// The position of its sweep, in the list that was grouped.
    pub sweep: usize,
    /// The run, with all that did not hold in it.
    pub finding: SweepFinding,
}

/// The group in words: the violation, its number of runs and the smallest run, with a line for each violation.
impl fmt::Display for SweepFindingGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SmallestFinding { finding, .. } = &self.smallest;
        write!(f, "{}\n  {}, the smallest: ", self.fingerprint, plural(self.findings as u64, "run"))?;
        match &finding.interrupt {
            Some((place, kind)) => write!(f, "{kind} {place}")?,
            None => write!(f, "the run as it is")?,
        }
        finding.violations.iter().try_for_each(|violation| write!(f, "\n    {violation}"))
    }
}

impl InterruptSweepReport {
    /// Panics when a rule was broken, with each defect once and the smallest run that shows it. Panics also when nothing was interrupted, and when interrupts
    /// were left out: the last line of a test.
    ///
    /// # Panics
    /// When there is a finding, or not everything was looked at.
    #[track_caller]
    pub fn assert(&self) {
        let groups = group(core::slice::from_ref(self));
        let words: String = groups.iter().map(|group| format!("\n{group}")).collect();
        assert!(groups.is_empty(), "this sweep found {} in {} runs:{words}", plural(groups.len() as u64, "defect"), self.runs);
        assert!(self.boundaries > 0, "nothing was interrupted: the run has no event, or panicked");
        assert!(self.left_out == 0, "{} interrupts were left out: the runs before them reached a limit", self.left_out);
    }
}

/// The order of sizes: a run without an interrupt before any other, then the shortest run, then the earliest boundary.
type FindingSize = (Option<()>, usize, Option<(RunBoundary, InjectionKind)>, usize);

/// Groups the findings of sweeps. An engine that ignores all interrupts comes first: more follows from it than is folded into its finding. Then come the
/// groups with most findings.
pub fn group(reports: &[InterruptSweepReport]) -> Vec<SweepFindingGroup> {
    let mut groups: BTreeMap<Fingerprint, (FindingSize, SweepFindingGroup)> = BTreeMap::new();
    for (sweep, report) in reports.iter().enumerate() {
        for finding in &report.findings {
            // A finding without a violation does not exist: each is made of at least one.
            let Some(first) = finding.first() else { continue };
            let fingerprint = Fingerprint::from(first);
            let size = size(sweep, report, finding);
            let smallest = || SmallestFinding { sweep, finding: finding.clone() };
            let (known, group) =
                groups.entry(fingerprint.clone()).or_insert_with(|| (size, SweepFindingGroup::new(fingerprint, smallest())));
            if size < *known {
                (*known, group.smallest) = (size, smallest());
            }
            group.count(sweep, finding);
        }
    }
    let mut groups: Vec<SweepFindingGroup> = groups.into_values().map(|(_, group)| group).collect();
    groups.sort_by_key(|group| (group.smallest.finding.runs == 1, core::cmp::Reverse(group.findings)));
    groups
}

fn size(sweep: usize, report: &InterruptSweepReport, finding: &SweepFinding) -> FindingSize {
    let interrupt = finding.interrupt.as_ref().map(|(place, kind)| (place.boundary, *kind));
    (interrupt.map(|_| ()), report.boundaries, interrupt, sweep)
}

impl SweepFindingGroup {
    fn new(fingerprint: Fingerprint, smallest: SmallestFinding) -> Self {
        Self {
            fingerprint,
            findings: 0,
            sweeps: BTreeSet::new(),
            uninterrupted: 0,
            interrupts: BTreeMap::new(),
            boundaries: BTreeMap::new(),
            others: BTreeMap::new(),
            smallest,
        }
    }

    fn count(&mut self, sweep: usize, finding: &SweepFinding) {
        self.findings += 1;
        self.sweeps.insert(sweep);
        match &finding.interrupt {
            None => self.uninterrupted += 1,
            Some((place, kind)) => {
                *self.interrupts.entry(*kind).or_default() += 1;
                *self.boundaries.entry(place.kind).or_default() += 1;
            }
        }
        let others: BTreeSet<Fingerprint> = finding.violations.iter().map(Fingerprint::from).collect();
        for other in others.into_iter().filter(|other| *other != self.fingerprint) {
            *self.others.entry(other).or_default() += 1;
        }
    }

    /// The boundaries of the findings, the most frequent kind of input first.
    pub fn boundaries_by_count(&self) -> Vec<(InputKind, usize)> {
        let mut boundaries: Vec<_> = self.boundaries.iter().map(|(kind, count)| (*kind, *count)).collect();
        boundaries.sort_by_key(|(_, count)| core::cmp::Reverse(*count));
        boundaries
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interrupt::{BoundaryPlace, BoundarySide};
    use reenact_engine::time::Time;
    use reenact_oracle::Violation;

    fn violation(at: u64, oracle: &'static str, text: &str) -> Violation {
        Violation { at: Time(at), oracle, text: text.into() }
    }

    fn finding(event: Option<u64>, kind: InjectionKind, violations: &[Violation]) -> SweepFinding {
        let place = |event| BoundaryPlace {
            boundary: RunBoundary { event, side: BoundarySide::Before },
            at: Time(event),
            event: format!("timer {event}"),
            kind: InputKind::Timer,
        };
        SweepFinding { interrupt: event.map(|event| (place(event), kind)), before: None, violations: violations.to_vec(), runs: 1 }
    }

    fn lost(id: &str) -> Violation {
        violation(5, "O-2", &format!("tool use {id} of answer 1 has no result at the end"))
    }

    fn report(boundaries: usize, findings: Vec<SweepFinding>) -> InterruptSweepReport {
        InterruptSweepReport { boundaries, findings, ..InterruptSweepReport::default() }
    }

    #[test]
    fn e_5_a_defect_is_one_group_with_its_smallest_run() {
        let (cancel, interrupt) = (InjectionKind::Cancel, InjectionKind::Interrupt);
        let long = report(90, vec![finding(Some(1), cancel, &[lost("toolu_a")])]);
        let short = report(10, vec![finding(Some(7), interrupt, &[lost("toolu_b")]), finding(Some(7), cancel, &[lost("toolu_b")])]);
        let groups = group(&[long, short]);
        let [SweepFindingGroup { findings: 3, uninterrupted: 0, sweeps, interrupts, boundaries, smallest, .. }] = &groups[..] else {
            panic!("{groups:#?}");
        };
        assert_eq!(*sweeps, BTreeSet::from([0, 1]));
        assert_eq!(*interrupts, BTreeMap::from([(cancel, 2), (interrupt, 1)]));
        assert_eq!(*boundaries, BTreeMap::from([(InputKind::Timer, 3)]));
        assert_eq!((smallest.sweep, smallest.finding.interrupt.as_ref().map(|(_, kind)| *kind)), (1, Some(cancel)), "the shortest run");
    }

    #[test]
    fn e_5_a_run_without_an_interrupt_is_smaller_than_any_other() {
        let short = report(4, vec![finding(Some(1), InjectionKind::Cancel, &[lost("toolu_a")])]);
        let long = report(900, vec![finding(None, InjectionKind::Cancel, &[lost("toolu_a")])]);
        let groups = group(&[short, long]);
        assert_eq!((groups.len(), groups[0].smallest.sweep, groups[0].uninterrupted), (1, 1, 1));
    }

    #[test]
    fn e_5_a_run_counts_for_what_came_first_in_it() {
        let late = violation(9, "O-27", "timer 3.1 is still set when all is over");
        let both = finding(Some(1), InjectionKind::Cancel, &[late.clone(), lost("toolu_a")]);
        let alone = finding(Some(2), InjectionKind::Cancel, core::slice::from_ref(&late));
        let groups = group(&[report(10, vec![both.clone(), both, alone])]);
        let told: Vec<_> = groups.iter().map(|group| (group.fingerprint.oracle, group.findings, group.others.len())).collect();
        assert_eq!(told, [("O-2", 2, 1), ("O-27", 1, 0)]);
        assert_eq!(groups[0].others, BTreeMap::from([(Fingerprint::from(&late), 2)]));
    }

    #[test]
    fn e_5_a_run_counts_for_what_was_broken_before_its_interrupt() {
        let refused = violation(7, "O-1", "the API refuses request 2: no result");
        let usual = finding(None, InjectionKind::Cancel, &[lost("toolu_a"), refused.clone()]);
        let after = SweepFinding { before: Some(lost("toolu_a")), ..finding(Some(6), InjectionKind::Cancel, &[refused]) };
        let groups = group(&[report(10, vec![usual, after])]);
        let told: Vec<_> = groups.iter().map(|group| (group.fingerprint.oracle, group.findings, group.others.len())).collect();
        assert_eq!(told, [("O-2", 2, 1)], "the cause is the group of both");
    }

    #[test]
    fn e_5_an_engine_that_ignores_interrupts_is_the_first_group() {
        let few = finding(Some(1), InjectionKind::Interrupt, &[lost("toolu_a")]);
        let ignored = violation(1, "O-11", "the engine ignores a cancel: it continues");
        let ignored = SweepFinding { runs: 70, ..finding(Some(1), InjectionKind::Cancel, &[ignored]) };
        let groups = group(&[report(10, vec![few.clone(), few, ignored])]);
        assert_eq!(groups.iter().map(|group| group.fingerprint.oracle).collect::<Vec<_>>(), ["O-11", "O-2"]);
    }
}
