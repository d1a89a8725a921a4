//! Days: by which prices and observations hold (S-10).

use core::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use reenact_wire::date::calendar_day;
use reenact_wire::prelude::*;

/// A day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Date {
    year: u16,
    month: u16,
    day: u16,
}

/// Why a text is no day.
#[derive(Clone, Debug, PartialEq, Eq, Error, Hash)]
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
        let (year, month, day) = calendar_day(text).ok_or_else(|| DateError(text.into()))?;
        Ok(Self { year, month, day })
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
