//! The budget of a run: how many decisions may differ from the run as it is (E-3).

use core::fmt;
use core::str::FromStr;

use reenact_wire::prelude::*;

/// How many decisions of each kind a run may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExploreBudget {
    /// Arrivals that come out of the order of the usual times.
    pub deviations: u8,
    /// Faults of requests.
    pub faults: u8,
    /// Inputs of the user: cancels and messages.
    pub inputs: u8,
}

impl ExploreBudget {
    /// The budgets in the order in which they are explored (E-3).
    pub const RISING: [Self; 9] = [
        Self::new(0, 0, 1),
        Self::new(1, 0, 0),
        Self::new(0, 1, 0),
        Self::new(1, 0, 1),
        Self::new(0, 1, 1),
        Self::new(1, 1, 0),
        Self::new(2, 0, 1),
        Self::new(1, 1, 1),
        Self::new(2, 1, 1),
    ];

    /// No decision at all: the run goes on as it is.
    pub const NONE: Self = Self::new(0, 0, 0);

    /// So many of each.
    pub const fn new(deviations: u8, faults: u8, inputs: u8) -> Self {
        Self { deviations, faults, inputs }
    }

    /// How many decisions of all kinds.
    pub fn total(self) -> u32 {
        u32::from(self.deviations) + u32::from(self.faults) + u32::from(self.inputs)
    }

    /// Whether all runs within another budget are within this one.
    pub fn covers(self, other: Self) -> bool {
        self.deviations >= other.deviations && self.faults >= other.faults && self.inputs >= other.inputs
    }
}

/// `(2,0,1)`.
impl fmt::Display for ExploreBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({},{},{})", self.deviations, self.faults, self.inputs)
    }
}

/// `2,0,1` and `(2,0,1)`.
impl FromStr for ExploreBudget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bare = text.trim().trim_start_matches('(').trim_end_matches(')');
        let parts: Vec<Option<u8>> = bare.split(',').map(|part| part.trim().parse().ok()).collect();
        match parts[..] {
            [Some(deviations), Some(faults), Some(inputs)] => Ok(Self::new(deviations, faults, inputs)),
            _ => Err(format!("`{text}` is not a budget: write deviations, faults and inputs, as in `1,0,1`")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e_3_a_budget_is_written_as_it_is_read() {
        for budget in ExploreBudget::RISING {
            assert_eq!(budget.to_string().parse(), Ok(budget));
        }
        assert_eq!("1, 0,1".parse(), Ok(ExploreBudget::new(1, 0, 1)));
        for wrong in ["", "1,1", "1,1,1,1", "a,0,1", "1,0,300", "-1,0,1"] {
            assert!(wrong.parse::<ExploreBudget>().unwrap_err().contains("as in `1,0,1`"), "{wrong}");
        }
    }

    #[test]
    fn e_3_budgets_rise() {
        for (number, budget) in ExploreBudget::RISING.iter().enumerate() {
            assert!(!ExploreBudget::RISING[..number].iter().any(|before| before.covers(*budget)), "{budget} comes too late");
        }
    }
}
