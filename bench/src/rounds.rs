//! Measuring several ways in turns: A B C A B C …, so that other work of the machine affects all of them alike.

use std::hint::black_box;
use std::time::{Duration, Instant};

use super::outcome::time;

/// How many rounds; odd, so that the median is one of them.
const ROUNDS: usize = 21;

/// A sample lasts at least this long, by repeating what takes less.
const SAMPLE: Duration = Duration::from_millis(4);

/// The samples of N ways, in nanoseconds for one execution.
pub(crate) struct Rounds<const N: usize> {
    samples: Vec<[f64; N]>,
}

/// Measures all ways, after a warm-up of each.
pub(crate) fn in_turns<const N: usize>(ways: [&mut dyn FnMut(); N]) -> Rounds<N> {
    in_turns_of(ROUNDS, SAMPLE, ways)
}

/// The same with another number of rounds and another least length of a sample.
pub(crate) fn in_turns_of<const N: usize>(rounds: usize, sample: Duration, mut ways: [&mut dyn FnMut(); N]) -> Rounds<N> {
    let repeats: Vec<u32> = ways.iter_mut().map(|way| repeats(way, sample)).collect();
    let mut samples = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let mut round = [0.0; N];
        for ((way, repeats), sample) in ways.iter_mut().zip(&repeats).zip(&mut round) {
            let took = timed(|| (0..*repeats).for_each(|_| way()));
            *sample = took.as_secs_f64() * 1e9 / f64::from(*repeats);
        }
        samples.push(round);
    }
    Rounds { samples }
}

/// Takes a result that nothing else needs, so that the work for it is done.
pub(crate) fn used<T>(result: T) {
    drop(black_box(result));
}

impl<const N: usize> Rounds<N> {
    /// The median of one way.
    pub(crate) fn median(&self, way: usize) -> f64 {
        median(self.samples.iter().map(|round| round[way]).collect())
    }

    /// The middle half of one way.
    pub(crate) fn quartiles(&self, way: usize) -> String {
        let mut figures: Vec<f64> = self.samples.iter().map(|round| round[way]).collect();
        figures.sort_unstable_by(f64::total_cmp);
        format!("{} to {}", time(figures[figures.len() / 4]), time(figures[figures.len() * 3 / 4]))
    }

    /// The median over the rounds of how often `divisor` fits into `dividend`.
    pub(crate) fn ratio(&self, dividend: usize, divisor: usize) -> f64 {
        median(self.samples.iter().map(|round| round[dividend] / round[divisor]).collect())
    }

    /// The median over the rounds of the difference.
    pub(crate) fn difference(&self, minuend: usize, subtrahend: usize) -> f64 {
        median(self.samples.iter().map(|round| round[minuend] - round[subtrahend]).collect())
    }
}

/// Warms up, and finds how often a way must be repeated to last long enough.
fn repeats(way: &mut dyn FnMut(), sample: Duration) -> u32 {
    way();
    let mut repeats = 1;
    loop {
        let took = timed(|| (0..repeats).for_each(|_| way()));
        if took >= sample {
            return repeats;
        }
        repeats *= 2;
    }
}

/// The figure in the middle.
pub(crate) fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_unstable_by(f64::total_cmp);
    figures[figures.len() / 2]
}

#[expect(clippy::disallowed_methods, reason = "measuring the real time is what a bench is for")]
pub(crate) fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_is_of_the_same_round() {
        let rounds = Rounds { samples: vec![[1.0, 2.0], [10.0, 20.0], [100.0, 300.0]] };
        assert_eq!((rounds.median(0), rounds.ratio(1, 0), rounds.difference(1, 0)), (10.0, 2.0, 10.0));
    }
}
