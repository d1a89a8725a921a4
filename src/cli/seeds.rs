//! `--seeds`: the same scenarios with many seeds.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use crate::prelude::*;

/// So many seeds may be named in one command.
const SEEDS_MAX: u64 = 10_000;

/// Some seeds, in rising order, each once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SeedList {
    /// The text on the command line.
    text: String,
    /// At least one.
    seeds: BTreeSet<u64>,
}

impl SeedList {
    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.seeds.len()
    }

    /// The seeds.
    pub(super) fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.seeds.iter().copied()
    }
}

/// As it was typed.
impl fmt::Display for SeedList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// `7`, `1,5,9`, `1..=100`, `1..101`, or several of these with commas.
impl FromStr for SeedList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut seeds = BTreeSet::new();
        for part in text.split(',').map(str::trim) {
            let (first, last) = bounds(part)?;
            let count = (last - first).saturating_add(1);
            if count.saturating_add(seeds.len() as u64) > SEEDS_MAX {
                return Err(format!(
                    "`{part}` makes more than {SEEDS_MAX} seeds, which is the most that one command takes: name fewer, and the others in another command"
                ));
            }
            seeds.extend(first..=last);
        }
        Ok(Self { text: text.into(), seeds })
    }
}

/// The first and the last seed of one part.
fn bounds(part: &str) -> Result<(u64, u64), String> {
    let number = |text: &str| {
        text.trim()
            .parse::<u64>()
            .map_err(|_| format!("`{part}` is neither a seed nor a range of seeds: write `7`, `1,5,9`, `1..=100` or `1..101`"))
    };
    let Some((first, rest)) = part.split_once("..") else { return number(part).map(|seed| (seed, seed)) };
    let first = number(first)?;
    let (end, is_inclusive) = rest.strip_prefix('=').map_or((rest, false), |end| (end, true));
    let end = number(end)?;
    let last = if is_inclusive { Some(end) } else { end.checked_sub(1) };
    match last.filter(|last| first <= *last) {
        Some(last) => Ok((first, last)),
        None if first == end => Err(format!("`{part}` has no seed, because `..` leaves out its end: write `{first}` or `{first}..={end}`")),
        None => Err(format!("`{part}` has no seed, because it ends before it begins: write the smaller seed first")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seeds(text: &str) -> Vec<u64> {
        text.parse::<SeedList>().unwrap_or_else(|error| panic!("{text}: {error}")).iter().collect()
    }

    #[test]
    fn d_3_seeds_are_numbers_lists_and_ranges() {
        assert_eq!(seeds("7"), [7]);
        assert_eq!(seeds("9,1, 5"), [1, 5, 9]);
        assert_eq!(seeds("1..=3"), [1, 2, 3]);
        assert_eq!(seeds("1..3"), [1, 2]);
        assert_eq!(seeds("1..=3,2..5,9"), [1, 2, 3, 4, 9], "each once");
        assert_eq!(seeds("0"), [0]);
        assert_eq!(seeds(&format!("{}..={}", u64::MAX - 1, u64::MAX)), [u64::MAX - 1, u64::MAX]);
        assert_eq!(seeds("1..=10000").len(), 10_000);
    }

    #[test]
    fn d_3_what_is_no_seed_is_refused_with_what_to_write() {
        for (text, words) in [
            ("", "write `7`"),
            ("x", "`x` is neither"),
            ("1...5", "`1...5` is neither"),
            ("1..", "neither"),
            ("..5", "neither"),
            ("1,,2", "`` is neither"),
            ("-1", "neither"),
            ("1.5", "neither"),
            ("99999999999999999999", "neither"),
            ("5..5", "write `5` or `5..=5`"),
            ("0..0", "write `0` or `0..=0`"),
            ("9..=1", "the smaller seed first"),
            ("1..=10001", "more than 10000"),
            ("0..=18446744073709551615", "more than 10000"),
            ("1..=9999,20000..=20001", "more than 10000"),
        ] {
            let error = text.parse::<SeedList>().unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
