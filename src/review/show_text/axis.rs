//! The axis of time: from instants to columns.
//!
//! Where nothing goes on for long, the axis is cut: a session whose user went for lunch would otherwise be two columns wide.

use reenact_engine::time::Micros;
use reenact_timeline::{SessionTimeline, idle_spans, span_text};
use reenact_wire::prelude::*;

/// The columns of a cut.
const CUT_COLUMNS: usize = 3;

/// So many cuts an axis has at most.
const CUTS_MAX: usize = 6;

/// The least columns between two labels.
const LABEL_COLUMNS: u64 = 10;

/// An axis of so many columns.
pub(super) struct TimeAxis {
    pub(super) from: Micros,
    pub(super) to: Micros,
    columns: usize,
    /// In order, not overlapping, inside of the axis.
    cuts: Vec<(Micros, Micros)>,
}

impl TimeAxis {
    /// Of what goes on in the window.
    pub(super) fn new(timeline: &SessionTimeline, (from, to): (Micros, Option<Micros>), columns: usize) -> Self {
        let to = to.unwrap_or(timeline.until).min(timeline.until).max(from + Micros(1));
        let mut idle: Vec<(Micros, Micros)> = idle_spans(timeline)
            .into_iter()
            .map(|(begin, end)| (begin.max(from), end.min(to)))
            .filter(|(begin, end)| end > begin && (*end - *begin).0 > (to - from).0 / 10)
            .collect();
        idle.sort_by_key(|(begin, end)| core::cmp::Reverse(*end - *begin));
        idle.truncate(CUTS_MAX.min(columns / 4 / CUT_COLUMNS));
        idle.sort_unstable();
        Self { from, to, columns, cuts: idle }
    }

    /// The column of an instant, from 0.
    pub(super) fn column(&self, at: Micros) -> usize {
        let at = at.clamp(self.from, self.to);
        let cut_before = |until: Micros| self.cuts.iter().fold(0, |sum, (begin, end)| sum + ((*end).min(until) - *begin).0);
        let shown = (self.to - self.from).0.saturating_sub(cut_before(self.to)).max(1);
        let columns = self.columns - self.cuts.len() * CUT_COLUMNS;
        let active = (at - self.from).0.saturating_sub(cut_before(at));
        let column = u128::from(active) * columns as u128 / u128::from(shown);
        let passed: usize = self.cuts.iter().map(|(begin, end)| if at >= *end { CUT_COLUMNS } else { usize::from(at > *begin) }).sum();
        (usize::try_from(column).unwrap_or(columns) + passed).min(self.columns.saturating_sub(1))
    }

    /// The line of its labels, and the line below it.
    pub(super) fn ruler(&self) -> [String; 2] {
        let (mut labels, mut line) = (vec![' '; self.columns], vec!['-'; self.columns]);
        let step = self.step();
        let mut free = 0;
        for tick in (self.from.0.div_ceil(step)..=self.to.0 / step).map(|nth| Micros(nth * step)) {
            if self.cuts.iter().any(|(begin, end)| tick > *begin && tick < *end) {
                continue;
            }
            let (column, label) = (self.column(tick), label(tick, step));
            if column >= free && column + label.len() <= self.columns {
                line[column] = '|';
                labels[column..column + label.len()].iter_mut().zip(label.chars()).for_each(|(place, letter)| *place = letter);
                free = column + label.len() + 1;
            }
        }
        for (begin, _) in &self.cuts {
            let column = self.column(*begin);
            line[column..(column + CUT_COLUMNS).min(self.columns)].fill('/');
        }
        [labels, line].map(|characters| characters.into_iter().collect::<String>().trim_end().into())
    }

    /// The cuts in words; empty without one.
    pub(super) fn cuts_text(&self) -> String {
        let cuts: Vec<String> =
            self.cuts.iter().map(|(begin, end)| format!("{} at {}", span_text(*end - *begin), span_text(*begin))).collect();
        if cuts.is_empty() { String::new() } else { format!("/// nothing goes on, cut: {}", cuts.join(", ")) }
    }

    /// The time between labels: 1, 2 or 5 of some power of ten.
    fn step(&self) -> u64 {
        let cut: u64 = self.cuts.iter().map(|(begin, end)| (*end - *begin).0).sum();
        let shown = u128::from((self.to - self.from).0.saturating_sub(cut));
        let least = shown * u128::from(LABEL_COLUMNS) / self.columns.max(1) as u128;
        let mut power: u128 = 1_000;
        loop {
            if let Some(step) = [1, 2, 5].into_iter().map(|count| count * power).find(|step| *step >= least) {
                return u64::try_from(step).unwrap_or(u64::MAX);
            }
            power *= 10;
        }
    }
}

/// `12s`, `0.250s`.
fn label(at: Micros, step: u64) -> String {
    match step {
        1_000_000.. => format!("{}s", at.0 / 1_000_000),
        100_000.. => format!("{}.{}s", at.0 / 1_000_000, at.0 / 100_000 % 10),
        _ => format!("{}.{:03}s", at.0 / 1_000_000, at.0 / 1_000 % 1_000),
    }
}
