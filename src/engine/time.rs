//! Virtual time: microseconds since a run began.
//!
//! Own types, because the standard library's clock types can be asked for the real now (M-1, D4).

use core::fmt;
use core::hash::{Hash, Hasher};
use core::ops::{Add, Sub};

use serde::{Deserialize, Serialize};

use reenact_wire::prelude::*;

/// An instant on the virtual clock, in microseconds from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(pub u64);

/// Under a method of its own: a key has what is left until then (E-3), and no other value is written as 128 bits.
impl Hash for Time {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u128(self.0.into());
    }
}

/// A span of virtual time in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Micros(pub u64);

impl Time {
    /// When a run begins.
    pub const ZERO: Self = Self(0);

    /// The span since `earlier`; zero if that is later.
    pub fn since(self, earlier: Time) -> Micros {
        Micros(self.0.saturating_sub(earlier.0))
    }
}

impl Micros {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// Whole milliseconds.
    pub const fn from_millis(milliseconds: u64) -> Self {
        Self(milliseconds * 1_000)
    }

    /// Whole seconds.
    pub const fn from_secs(seconds: u64) -> Self {
        Self(seconds * 1_000_000)
    }

    /// This span `numerator / denominator` times; saturates.
    pub fn scaled(self, numerator: u64, denominator: u64) -> Self {
        let scaled = u128::from(self.0) * u128::from(numerator) / u128::from(denominator.max(1));
        Self(u64::try_from(scaled).unwrap_or(u64::MAX))
    }
}

impl Add<Micros> for Time {
    type Output = Time;
    fn add(self, span: Micros) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl Add for Micros {
    type Output = Micros;
    fn add(self, other: Micros) -> Micros {
        Micros(self.0.saturating_add(other.0))
    }
}

impl Sub for Micros {
    type Output = Micros;
    fn sub(self, other: Micros) -> Micros {
        Micros(self.0.saturating_sub(other.0))
    }
}

/// Seconds with milliseconds, and with microseconds only where there are any: `0.412s`, `1.000250s`.
impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, rest) = (self.0 / 1_000_000, self.0 % 1_000_000);
        let text = if rest % 1_000 == 0 { format!("{seconds}.{:03}s", rest / 1_000) } else { format!("{seconds}.{rest:06}s") };
        f.pad(&text)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Micros(self.0).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d_4_spans_print_the_same_everywhere() {
        assert_eq!(Micros(412_000).to_string(), "0.412s");
        assert_eq!(Micros(1_000_250).to_string(), "1.000250s");
        assert_eq!(Time(3_904_000).since(Time(4_000_000)), Micros::ZERO);
        assert_eq!(Micros(u64::MAX).scaled(3, 2), Micros(u64::MAX));
    }
}
