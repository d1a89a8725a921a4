//! Dates of the Gregorian calendar, read and written without a clock or a calendar library: those of HTTP headers, of the API and of recordings.
//!
//! Years are counted from March where days are counted, so that the leap day comes last.

use crate::prelude::*;

/// Days from the first of March of the year 0 to 1970.
const DAYS_BEFORE_1970: i64 = 719_468;

const DAY_S: i64 = 86_400;

/// Reads `2026-11-21` as year, month and day; `None` where no month has such a day.
pub fn calendar_day(text: &str) -> Option<(u16, u16, u16)> {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts[..] else { return None };
    let (year, month, day) = (number(year, 4)?, number(month, 2)?, number(day, 2)?);
    is_day(year, month, day).then_some((year, month, day))
}

/// Reads `Sun, 06 Nov 1994 08:49:37 GMT`, the one form that may be sent, as seconds since 1970. The day of the week is not checked.
pub fn http_date_epoch_s(text: &str) -> Option<i64> {
    let fields: Vec<&str> = text.trim().split(' ').collect();
    let [weekday, day, month, year, time, "GMT"] = fields[..] else { return None };
    if weekday.len() != 4 || !weekday.ends_with(',') {
        return None;
    }
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (_, month) = MONTHS.iter().zip(1..).find(|(name, _)| **name == month)?;
    let (year, day) = (number(year, 4)?, number(day, 2)?);
    let time_s = time_of_day_s(time)?;
    is_day(year, month, day).then(|| days_since_1970(year, month, day) * DAY_S + time_s)
}

/// Reads `2026-01-01T00:01:00Z`, with a fraction of a second or an offset if need be, as microseconds since 1970 (RFC 3339). An offset may be
/// written without its colon or its minutes, as ISO 8601 has it.
pub fn rfc3339_epoch_us(text: &str) -> Option<i64> {
    let (date, rest) = text.split_once(['T', 't', ' '])?;
    let (year, month, day) = calendar_day(date)?;
    let zone = rest.find(['Z', 'z', '+', '-'])?;
    let (time, offset_s) = (&rest[..zone], zone_s(&rest[zone..])?);
    let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
    let fraction_us = fraction
        .bytes()
        .take(6)
        .try_fold((0, 100_000), |(sum, place), byte| byte.is_ascii_digit().then(|| (sum + i64::from(byte - b'0') * place, place / 10)))?;
    let seconds = days_since_1970(year, month, day) * DAY_S + time_of_day_s(time)? - offset_s;
    Some(seconds * 1_000_000 + fraction_us.0)
}

/// Seconds since 1970 as `2026-11-21T02:03:04Z`.
pub fn rfc3339_text(epoch_s: i64) -> String {
    let (days, second) = (epoch_s.div_euclid(DAY_S) + DAYS_BEFORE_1970, epoch_s.rem_euclid(DAY_S));
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, year) = if month < 10 { (month + 3, era * 400 + year_of_era) } else { (month - 9, era * 400 + year_of_era + 1) };
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", second / 3_600, second / 60 % 60, second % 60)
}

/// `23:59:59` in seconds; a minute may have a leap second.
fn time_of_day_s(text: &str) -> Option<i64> {
    let parts: Vec<u16> = text.split(':').map(|part| number(part, 2)).collect::<Option<_>>()?;
    let [hour @ 0..24, minute @ 0..60, second @ 0..=60] = parts[..] else { return None };
    Some((i64::from(hour) * 60 + i64::from(minute)) * 60 + i64::from(second))
}

/// `Z`, or `+01:30` as seconds.
fn zone_s(text: &str) -> Option<i64> {
    let sign = match text.chars().next()? {
        '+' => 1,
        '-' => -1,
        _ => return (text.len() == 1).then_some(0),
    };
    let (hours, minutes) = text[1..].split_once(':').or_else(|| text[1..].split_at_checked(2))?;
    let minutes = if minutes.is_empty() { 0 } else { number(minutes, 2)? };
    Some(sign * (i64::from(number(hours, 2)?) * 60 + i64::from(minutes)) * 60)
}

fn number(text: &str, digits: usize) -> Option<u16> {
    let all_digits = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    all_digits.then(|| text.parse().ok()).flatten()
}

fn is_day(year: u16, month: u16, day: u16) -> bool {
    let is_leap_year = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap_year => 29,
        2 => 28,
        _ => 0,
    };
    year > 0 && (1..=days).contains(&day)
}

fn days_since_1970(year: u16, month: u16, day: u16) -> i64 {
    let [year, month, day] = [year, month, day].map(i64::from);
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - DAYS_BEFORE_1970
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
            ("2026-01-30T22:46:14.2510009+01", 1_769_809_574_251_000),
            ("2024-02-29T12:00:00-0530", 1_709_227_800_000_000),
        ] {
            assert_eq!(rfc3339_epoch_us(text), Some(epoch_us), "{text}");
        }
        for text in [
            "",
            "2026-01-01",
            "2026-13-01T00:00:00Z",
            "2026-01-01T00:00:00",
            "2026-01-01T00:00:00Zulu",
            "2026-01-01T00:00:00.xZ",
            "2026-02-29T00:00:00Z",
            "2026-01-01T00:00:00+1",
        ] {
            assert_eq!(rfc3339_epoch_us(text), None, "{text}");
        }
    }

    #[test]
    fn n_5_what_is_no_http_date_is_none() {
        for text in [
            "",
            "soon",
            "Sun, 6 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:00:00 GMT",
            "Sun, 06 Nov 1994 08:49:37 CET",
            "Thu, 31 Nov 1994 08:49:37 GMT",
        ] {
            assert_eq!(http_date_epoch_s(text), None, "{text}");
        }
    }

    #[test]
    fn f_1_a_time_is_written_as_it_is_read() {
        for (epoch_s, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_868_799, "2000-02-29T23:59:59Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_795_226_621, "2026-11-21T02:03:41Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
        ] {
            assert_eq!(rfc3339_text(epoch_s), text);
        }
        for day in (-200_000..200_000_i64).step_by(11) {
            let epoch_s = day * DAY_S + day.rem_euclid(DAY_S);
            assert_eq!(rfc3339_epoch_us(&rfc3339_text(epoch_s)), Some(epoch_s * 1_000_000));
        }
    }
}
