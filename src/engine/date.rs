//! Days: by which prices and observations hold (S-10).

use core::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use reenact_wire::prelude::*;

/// A day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Date {
    year: u16,
    month: u8,
    day: u8,
}

/// Why a text is no day.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is not a date; write it like 2026-11-21")]
pub struct DateError(pub String);

/// When the shipped price table was last held against its sources: the date of a session that does not say another.
pub const PRICES_AS_OF: Date = Date { year: 2026, month: 11, day: 21 };

impl Date {
    /// Reads `2026-11-21`.
    ///
    /// # Errors
    /// When it is no such text, or no month has such a day.
    pub fn read(text: &str) -> Result<Self, DateError> {
        let parts: Vec<&str> = text.split('-').collect();
        let number = |part: &str, digits: usize| {
            let is_number = part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| part.parse::<u16>().ok()).flatten()
        };
        let date = match parts[..] {
            [year, month, day] => number(year, 4).zip(number(month, 2)).zip(number(day, 2)),
            _ => None,
        };
        let is_day = |((year, month), day): &((u16, u16), u16)| *year > 0 && (1..=days_of(*year, *month)).contains(day);
        let ((year, month), day) = date.filter(is_day).ok_or_else(|| DateError(text.into()))?;
        let small = |number: u16| u8::try_from(number).unwrap_or(0);
        Ok(Self { year, month: small(month), day: small(day) })
    }
}

/// How many days a month has; 0 for what is not a month.
fn days_of(year: u16, month: u16) -> u16 {
    let is_leap_year = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap_year => 29,
        2 => 28,
        _ => 0,
    }
}

impl Default for Date {
    fn default() -> Self {
        PRICES_AS_OF
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

impl TryFrom<String> for Date {
    type Error = DateError;
    fn try_from(text: String) -> Result<Self, DateError> {
        Self::read(&text)
    }
}

impl From<Date> for String {
    fn from(date: Date) -> Self {
        date.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s_11_dates_are_read_and_written() {
        assert_eq!(Date::read("2026-10-07").unwrap().to_string(), "2026-10-07");
        assert!(Date::read("2026-10-07").unwrap() < PRICES_AS_OF);
        for text in ["", "2026-13-01", "2026-00-01", "2026-1-1", "26-01-01", "2026-01-32", "2026-01-01-01", "today"] {
            assert!(Date::read(text).is_err(), "{text}");
        }
    }
}
