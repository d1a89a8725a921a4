//! How large an exploration will be, from smaller ones that are finished (E-3).
//!
//! ```text
//!   (0,0,0) 30   (0,0,1) 600   (0,1,0) 900            a decision of one kind makes the exploration so many times as large:
//!   (0,1,1) about 900 × 600 ÷ 30 = 18,000             an input 20 times, a fault 30 times
//! ```
//!
//! Of several decisions of one kind the order does not matter, so the n-th multiplies by an n-th. Where equal states are merged there are fewer.

use super::budget::ExploreBudget;
use reenact_wire::prelude::*;

/// The sizes of finished explorations of one scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExploreEstimate {
    finished: Vec<(ExploreBudget, u64)>,
}

impl ExploreEstimate {
    /// An exploration is finished, with so many transitions.
    pub fn add(&mut self, budget: ExploreBudget, transitions: u64) {
        self.finished.push((budget, transitions));
    }

    /// About how many transitions a budget has. `None` where a kind of decision was never explored alone, nor the run without any.
    pub fn transitions(&self, budget: ExploreBudget) -> Option<u64> {
        let plain = self.size(ExploreBudget::NONE)?.max(1);
        let within = self.finished.iter().filter(|(smaller, _)| budget.covers(*smaller));
        let (from, size) = within.max_by_key(|(_, transitions)| transitions)?;
        let mut size = u128::from(*size);
        for (unit, have, want) in [
            (ExploreBudget::new(1, 0, 0), from.deviations, budget.deviations),
            (ExploreBudget::new(0, 1, 0), from.faults, budget.faults),
            (ExploreBudget::new(0, 0, 1), from.inputs, budget.inputs),
        ] {
            for nth in have + 1..=want {
                size = size.saturating_mul(self.size(unit)?.into()) / u128::from(plain) / u128::from(nth);
            }
        }
        Some(u64::try_from(size).unwrap_or(u64::MAX))
    }

    fn size(&self, budget: ExploreBudget) -> Option<u64> {
        self.finished.iter().find(|(finished, _)| *finished == budget).map(|(_, transitions)| *transitions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e_3_an_estimate_multiplies_the_largest_finished_budget() {
        let mut estimate = ExploreEstimate::default();
        assert_eq!(estimate.transitions(ExploreBudget::new(0, 0, 1)), None);
        for (budget, transitions) in [([0, 0, 0], 30), ([0, 0, 1], 600), ([0, 1, 0], 900)] {
            estimate.add(ExploreBudget::new(budget[0], budget[1], budget[2]), transitions);
        }
        assert_eq!(estimate.transitions(ExploreBudget::new(0, 1, 1)), Some(18_000));
        assert_eq!(estimate.transitions(ExploreBudget::new(0, 0, 2)), Some(6_000), "two inputs in either order are one run");
        assert_eq!(estimate.transitions(ExploreBudget::new(1, 1, 1)), None, "no deviation was explored");
        estimate.add(ExploreBudget::new(1, 0, 0), 60);
        estimate.add(ExploreBudget::new(0, 1, 1), 10_000);
        assert_eq!(estimate.transitions(ExploreBudget::new(1, 1, 1)), Some(20_000), "from the largest that is finished");
    }
}
