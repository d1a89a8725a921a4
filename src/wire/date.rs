//! Dates as HTTP headers and the API's own have them, read without a clock or a calendar library.

use crate::prelude::*;

/// Reads `Sun, 06 Nov 1994 08:49:37 GMT`, the one form that may be sent, as seconds since 1970. The day of the week is not checked.
pub(crate) fn http_date_epoch_s(text: &str) -> Option<i64> {
    let fields: Vec<&str> = text.trim().split(' ').collect();
    let [weekday, day, month, year, time, "GMT"] = fields[..] else { return None };
    if weekday.len() != 4 || !weekday.ends_with(',') {
        return None;
    }
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = MONTHS.iter().position(|name| *name == month)?;
    let day = number(day, 2).filter(|day| (1..=31).contains(day))?;
    let year = number(year, 4)?;
    let time: Vec<i64> = time.split(':').map(|part| number(part, 2)).collect::<Option<_>>()?;
    let [hour @ 0..24, minute @ 0..60, second @ 0..=60] = time[..] else { return None };
    Some(((days_since_1970(year, month, day) * 24 + hour) * 60 + minute) * 60 + second)
}

/// Reads `2026-01-01T00:01:00Z`, with a fraction of a second or an offset if need be, as microseconds since 1970 (RFC 3339).
pub(crate) fn rfc3339_epoch_us(text: &str) -> Option<i64> {
    let (date, rest) = text.split_once(['T', 't', ' '])?;
    let date: Vec<&str> = date.split('-').collect();
    let [year, month, day] = date[..] else { return None };
    let month = usize::try_from(number(month, 2).filter(|month| (1..=12).contains(month))? - 1).ok()?;
    let days = days_since_1970(number(year, 4)?, month, number(day, 2).filter(|day| (1..=31).contains(day))?);
    let zone = rest.find(['Z', 'z', '+', '-'])?;
    let (time, offset_s) = (&rest[..zone], zone_s(&rest[zone..])?);
    let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
    let time: Vec<i64> = time.split(':').map(|part| number(part, 2)).collect::<Option<_>>()?;
    let [hour @ 0..24, minute @ 0..60, second @ 0..=60] = time[..] else { return None };
    let fraction_us = fraction
        .bytes()
        .take(6)
        .try_fold((0, 100_000), |(sum, place), byte| byte.is_ascii_digit().then(|| (sum + i64::from(byte - b'0') * place, place / 10)))?;
    let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second - offset_s;
    Some(seconds * 1_000_000 + fraction_us.0)
}

/// `Z`, or `+01:30` as seconds.
fn zone_s(text: &str) -> Option<i64> {
    let sign = match text.chars().next()? {
        '+' => 1,
        '-' => -1,
        _ => return (text.len() == 1).then_some(0),
    };
    let (hours, minutes) = text[1..].split_once(':')?;
    Some(sign * (number(hours, 2)? * 3_600 + number(minutes, 2)? * 60))
}

fn number(text: &str, digits: usize) -> Option<i64> {
    let all_digits = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    all_digits.then(|| text.parse().ok()).flatten()
}

/// Days before a date of the Gregorian calendar. `month` counts from 0.
fn days_since_1970(year: i64, month: usize, day: i64) -> i64 {
    const BEFORE_MONTH: [i64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    let leap_days_through = |year: i64| year / 4 - year / 100 + year / 400;
    // This year's own leap day counts only after February.
    let leap_days = leap_days_through(if month > 1 { year } else { year - 1 }) - leap_days_through(1969);
    (year - 1970) * 365 + leap_days + BEFORE_MONTH[month] + day - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n_5_http_dates_are_read() {
        for (text, epoch_s) in [
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
            ("Tue, 29 Feb 2000 23:59:59 GMT", 951_868_799),
            ("Wed, 01 Mar 2000 00:00:00 GMT", 951_868_800),
            ("Sat, 21 Nov 2026 02:03:41 GMT", 1_795_226_621),
            ("Mon, 01 Mar 2100 00:00:00 GMT", 4_107_542_400),
        ] {
            assert_eq!(http_date_epoch_s(text), Some(epoch_s), "{text}");
        }
    }

    #[test]
    fn n_5_rfc_3339_dates_are_read() {
        for (text, epoch_us) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2026-01-01T00:01:00Z", 1_767_225_660_000_000),
            ("2026-01-01T00:01:00.25Z", 1_767_225_660_250_000),
            ("2026-01-01T01:31:00+01:30", 1_767_225_660_000_000),
            ("2025-12-31t19:01:00-05:00", 1_767_225_660_000_000),
        ] {
            assert_eq!(rfc3339_epoch_us(text), Some(epoch_us), "{text}");
        }
        for text in ["", "2026-01-01", "2026-13-01T00:00:00Z", "2026-01-01T00:00:00", "2026-01-01T00:00:00Zulu", "2026-01-01T00:00:00.xZ"] {
            assert_eq!(rfc3339_epoch_us(text), None, "{text}");
        }
    }

    #[test]
    fn n_5_what_is_no_http_date_is_none() {
        for text in ["", "soon", "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:49:37 CET"] {
            assert_eq!(http_date_epoch_s(text), None, "{text}");
        }
    }
}
