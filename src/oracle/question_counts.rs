//! How often each oracle was asked: a rule whose situation never came to pass is not held by a run.

use super::ORACLES;

/// The greatest number of an oracle, and one more.
const NUMBERS: usize = 36;

/// A count for each oracle, by its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionCounts([u32; NUMBERS]);

/// Counts are only reported: no part of a state's key (E-3).
impl core::hash::Hash for QuestionCounts {
    fn hash<H: core::hash::Hasher>(&self, _: &mut H) {}
}

impl Default for QuestionCounts {
    fn default() -> Self {
        Self([0; NUMBERS])
    }
}

impl QuestionCounts {
    /// The oracle with this id (`O-2`) looked at something.
    pub(super) fn add(&mut self, oracle: &str) {
        if let Some(count) = self.0.get_mut(number(oracle)) {
            *count = count.saturating_add(1);
        }
    }

    /// Adds the questions that were asked between two counts of one run.
    pub fn add_between(&mut self, before: &Self, after: &Self) {
        for (count, (before, after)) in self.0.iter_mut().zip(before.0.iter().zip(&after.0)) {
            *count = count.saturating_add(after.saturating_sub(*before));
        }
    }

    /// Adds those of another count.
    pub fn add_all(&mut self, others: &Self) {
        self.add_between(&Self::default(), others);
    }

    /// Each oracle that there is, with its count.
    pub fn by_oracle(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        ORACLES.iter().map(|(oracle, _)| (*oracle, self.count(oracle)))
    }

    pub(super) fn count(&self, oracle: &str) -> u64 {
        self.0.get(number(oracle)).copied().map_or(0, u64::from)
    }
}

/// `O-12` is 12.
fn number(oracle: &str) -> usize {
    oracle.bytes().filter(u8::is_ascii_digit).fold(0, |number, digit| 10 * number + usize::from(digit - b'0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_oracle_has_a_place_of_its_own() {
        let mut counts = QuestionCounts::default();
        for (oracle, _) in ORACLES {
            assert!(number(oracle) < NUMBERS, "{oracle}: make room for it");
            counts.add(oracle);
        }
        assert!(counts.by_oracle().all(|(_, count)| count == 1));
    }
}
