//! How long something takes (M-5), and how long it took this time.

use serde::{Deserialize, Serialize};

use reenact_engine::random::KeyedDraws;
use reenact_engine::time::Micros;
use reenact_wire::prelude::*;

/// A span of virtual time, or how to draw one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Latency {
    /// Always this.
    Fixed(Micros),
    /// Anything between, evenly.
    Uniform(Micros, Micros),
    /// Anything between, evenly in the logarithm: small values are as likely as large ones.
    LogUniform(Micros, Micros),
    /// Log-normal with this median and 99th percentile.
    LogNormal {
        /// Half are below.
        p50: Micros,
        /// All but one in a hundred are below.
        p99: Micros,
    },
    /// As the tape has it, times a percentage; without a recorded figure, the default.
    Recorded {
        /// 100 leaves it as it is.
        percent: u32,
    },
    /// The n-th draw takes the n-th entry; the last one repeats.
    Table(Arc<[Micros]>),
}

/// The 99 % point of the standard normal distribution.
const NORMAL_P99: f64 = 2.326_347_874_040_841;

impl Latency {
    /// Whether the figure depends on the draws.
    pub fn is_drawn(&self) -> bool {
        match self {
            Self::Uniform(low, high) | Self::LogUniform(low, high) | Self::LogNormal { p50: low, p99: high } => low != high,
            Self::Fixed(_) | Self::Recorded { .. } | Self::Table(_) => false,
        }
    }

    /// The least and the largest figure, where it is drawn; without the rarest hundredth on each side where a distribution has no ends.
    pub fn range(&self) -> Option<(Micros, Micros)> {
        match self {
            _ if !self.is_drawn() => None,
            Self::Uniform(low, high) | Self::LogUniform(low, high) => Some((*low, *high)),
            Self::LogNormal { p50, p99 } => {
                let (middle, far) = (libm::log(float(p50.0.max(1))), libm::log(float(p99.0.max(1))));
                Some((rounded(libm::exp(2.0 * middle - far)), *p99))
            }
            Self::Fixed(_) | Self::Recorded { .. } | Self::Table(_) => None,
        }
    }

    /// Its lower bound, if it has one: a distribution may come close to zero.
    pub fn least(&self) -> Micros {
        match self {
            Self::Fixed(span) | Self::Uniform(span, _) | Self::LogUniform(span, _) => *span,
            Self::LogNormal { .. } | Self::Recorded { .. } => Micros::ZERO,
            Self::Table(entries) => entries.iter().min().copied().unwrap_or_default(),
        }
    }

    /// This time's figure. `recorded` is the tape's, where there is one; `nth` counts from 0 and serves [`Latency::Table`].
    ///
    /// `None` when only a recording has the time and no recording is given.
    pub fn draw(&self, draws: &mut KeyedDraws, recorded: Option<Micros>, nth: usize) -> Option<Micros> {
        Some(match self {
            Self::Fixed(span) => *span,
            Self::Uniform(low, high) => Micros(low.0 + draws.below(high.0.saturating_sub(low.0).saturating_add(1))),
            Self::LogUniform(low, high) => {
                let (low, high) = (libm::log(float(low.0.max(1))), libm::log(float(high.0.max(1))));
                rounded(libm::exp(low + (high - low) * draws.unit()))
            }
            Self::LogNormal { p50, p99 } => {
                let (middle, far) = (libm::log(float(p50.0.max(1))), libm::log(float(p99.0.max(1))));
                rounded(libm::exp(middle + (far - middle) / NORMAL_P99 * standard_normal(draws)))
            }
            Self::Recorded { percent } => recorded?.scaled(u64::from(*percent), 100),
            Self::Table(entries) => *entries.get(nth).or(entries.last())?,
        })
    }
}

/// Box and Muller's method, one of the two values; libm, so that it is the same on every machine (D2).
fn standard_normal(draws: &mut KeyedDraws) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - draws.unit()));
    radius * libm::cos(2.0 * core::f64::consts::PI * draws.unit())
}

#[expect(clippy::cast_precision_loss, reason = "spans in microseconds stay far below 2^53")]
fn float(micros: u64) -> f64 {
    micros as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounded to whole microseconds (D2); the value is never negative"
)]
fn rounded(micros: f64) -> Micros {
    Micros(libm::round(micros) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_engine::random::Seed;

    fn sorted(latency: &Latency) -> Vec<Micros> {
        let mut drawn: Vec<_> = (0..2_001).filter_map(|n| latency.draw(&mut Seed(5).draws("test", &n.to_string()), None, n)).collect();
        drawn.sort_unstable();
        drawn
    }

    #[test]
    fn m_5_log_normal_meets_its_percentiles() {
        let drawn = sorted(&Latency::LogNormal { p50: Micros::from_secs(5), p99: Micros::from_secs(46) });
        let (p50, p99) = (drawn[1_000].0, drawn[1_980].0);
        assert!((4_500_000..5_600_000).contains(&p50), "{p50}");
        assert!((35_000_000..60_000_000).contains(&p99), "{p99}");
    }

    #[test]
    fn m_5_uniform_forms_stay_between_their_ends() {
        let (low, high) = (Micros::from_millis(50), Micros::from_secs(30));
        let log = sorted(&Latency::LogUniform(low, high));
        assert!(log[0] >= low && log[2_000] <= high);
        assert!(log[1_000] < Micros::from_secs(3), "the median is the geometric mean, 1.2 s");
        let even = sorted(&Latency::Uniform(low, high));
        assert!(even[0] >= low && even[2_000] <= high && even[1_000] > Micros::from_secs(13));
    }

    #[test]
    fn e_3_a_range_holds_all_that_is_drawn_but_the_rarest() {
        let range = |low: u64, high: u64| Some((Micros(low), Micros(high)));
        assert_eq!(Latency::Uniform(Micros(3), Micros(9)).range(), range(3, 9));
        assert_eq!(Latency::LogUniform(Micros(3), Micros(9)).range(), range(3, 9));
        assert_eq!(Latency::LogNormal { p50: Micros(1_000), p99: Micros(5_000) }.range(), range(200, 5_000));
        for exact in [Latency::Fixed(Micros(3)), Latency::Uniform(Micros(3), Micros(3)), Latency::Table([Micros(3)].into())] {
            assert_eq!(exact.range(), None);
        }
    }

    #[test]
    fn m_5_recorded_scales_and_tables_repeat_their_last() {
        let mut draws = Seed(1).draws("", "");
        let half = Latency::Recorded { percent: 50 };
        assert_eq!(half.draw(&mut draws, Some(Micros(10)), 0), Some(Micros(5)));
        assert_eq!(half.draw(&mut draws, None, 0), None);
        let table = Latency::Table([Micros(1), Micros(2)].into());
        assert_eq!(table.draw(&mut draws, None, 9), Some(Micros(2)));
    }
}
