//! Money: whole nano-dollars.

use core::fmt;
use core::ops::Add;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use reenact_wire::prelude::*;

/// A sum of money in billionths of a US dollar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NanoUsd(pub u64);

const DOLLAR: u64 = 1_000_000_000;

/// Digits behind the point.
const DECIMALS: usize = 9;

/// Why a text is no sum of money.
#[derive(Clone, Debug, PartialEq, Eq, Error, Hash)]
#[error("`{0}` is not an amount in dollars; write it like 0.05, with at most 9 digits behind the point")]
pub struct MoneyError(pub String);

impl NanoUsd {
    /// Reads dollars: `0.05`, `$2`.
    ///
    /// # Errors
    /// When the text is not a number of at most nine digits behind the point, or too large.
    pub fn read(text: &str) -> Result<Self, MoneyError> {
        let wrong = || MoneyError(text.into());
        let plain = text.strip_prefix('$').unwrap_or(text);
        let (whole, behind) = plain.split_once('.').unwrap_or((plain, "0"));
        let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(whole) || !is_number(behind) || behind.len() > DECIMALS {
            return Err(wrong());
        }
        let whole: u64 = whole.parse().map_err(|_| wrong())?;
        let behind: u64 = format!("{behind:0<DECIMALS$}").parse().map_err(|_| wrong())?;
        whole.checked_mul(DOLLAR).and_then(|whole| whole.checked_add(behind)).map(Self).ok_or_else(wrong)
    }

    /// So many times this sum; saturates.
    #[must_use]
    pub const fn times(self, count: u64) -> Self {
        Self(self.0.saturating_mul(count))
    }

    /// The sum in full, as [`NanoUsd::read`] takes it: `0.05`.
    pub fn exact(self) -> String {
        let behind = format!("{:09}", self.0 % DOLLAR);
        let behind = behind.trim_end_matches('0');
        let point = if behind.is_empty() { "" } else { "." };
        format!("{}{point}{behind}", self.0 / DOLLAR)
    }
}

impl Add for NanoUsd {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

/// `$0.0041`: four digits behind the point, or as many as it takes to show two that count.
impl fmt::Display for NanoUsd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.pad("$0");
        }
        let digits = self.0.ilog10() as usize + 1;
        let decimals = (DECIMALS + 2).saturating_sub(digits).clamp(4, DECIMALS);
        let step = 10_u64.pow(u32::try_from(DECIMALS - decimals).unwrap_or(0));
        let rounded = (self.0 / step).saturating_add(u64::from(self.0 % step >= step.div_ceil(2) && step > 1));
        let unit = DOLLAR / step;
        f.pad(&format!("${}.{:0decimals$}", rounded / unit, rounded % unit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s_10_dollars_are_read_exactly() {
        let table = [("0.05", 50_000_000), ("$2", 2 * DOLLAR), ("1.000000001", DOLLAR + 1), ("0", 0)];
        for (text, nanos) in table {
            assert_eq!(NanoUsd::read(text), Ok(NanoUsd(nanos)), "{text}");
        }
        for text in ["", ".5", "1.", "1,5", "-1", "1.0000000001", "99999999999999", "1e3"] {
            assert!(NanoUsd::read(text).is_err(), "{text}");
        }
        assert_eq!(NanoUsd(50_000_000).exact(), "0.05");
        assert_eq!(NanoUsd(2 * DOLLAR).exact(), "2");
    }

    #[test]
    fn s_10_sums_are_shown_with_the_digits_that_count() {
        let table = [
            (0, "$0"),
            (4_123_456, "$0.0041"),
            (50_000_000, "$0.0500"),
            (1_234_567_890, "$1.2346"),
            (412_345, "$0.00041"),
            (12_000, "$0.000012"),
            (7, "$0.000000007"),
            (99_999_999_999, "$100.0000"),
        ];
        for (nanos, shown) in table {
            assert_eq!(NanoUsd(nanos).to_string(), shown, "{nanos}");
        }
    }
}
