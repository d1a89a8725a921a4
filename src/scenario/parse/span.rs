//! Spans of time and latencies as people write them: `12ms`, `1m30s`, `10ms..50ms`, `log 50ms..30s`, `recorded x0.5` (M-5).

use crate::latency::Latency;
use reenact_engine::time::Micros;
use reenact_wire::prelude::*;

/// The form of a duration, for messages.
pub(crate) const DURATION_HELP: &str = "a duration is a number with a unit: us, ms, s, m or h, e.g. \"12ms\", \"1.5s\", \"1m30s\"";

/// The form of a range, for messages.
pub(crate) const RANGE_HELP: &str = "write one duration such as \"1s\", or a range: \"500ms..750ms\"";

/// The form of a latency, for messages.
pub(crate) const LATENCY_HELP: &str = "a latency is a duration such as \"12ms\", a range \"10ms..50ms\" or \"log 50ms..30s\", \
     { p50 = \"5s\", p99 = \"46s\" }, \"recorded\", \"recorded x0.5\", or an array of durations";

/// Units with their length in microseconds; longer names first where one begins another.
const UNITS: [(&str, u128); 6] = [("us", 1), ("µs", 1), ("ms", 1_000), ("s", 1_000_000), ("m", 60_000_000), ("h", 3_600_000_000)];

/// One or more numbers with a unit each: `12ms`, `1.5s`, `1m30s`.
///
/// # Errors
/// The mistake, without its place.
pub fn duration(text: &str) -> Result<Micros, String> {
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err("an empty duration".into());
    }
    if rest.contains("..") {
        return Err(format!("`{text}` is a range, and one duration is expected here"));
    }
    let mut total: u128 = 0;
    while !rest.is_empty() {
        let number_end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(number_end);
        let unit_end = after.find(|c: char| !c.is_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_end);
        if number.is_empty() {
            return Err(format!("`{text}` is not a duration"));
        }
        let Some((_, length)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(wrong_unit(text, number, unit, after));
        };
        total = times(number, *length).and_then(|part| total.checked_add(part)).ok_or_else(|| not_whole(text, number, unit))?;
        rest = after;
    }
    u64::try_from(total).map(Micros).map_err(|_| format!("`{text}` is too long"))
}

/// The mistake behind a number: no unit, an unknown one, or a blank before it.
fn wrong_unit(text: &str, number: &str, unit: &str, after: &str) -> String {
    let units = "write us, ms, s, m or h";
    let behind = after.trim_start();
    let word = &behind[..behind.find(|c: char| !c.is_alphabetic()).unwrap_or(behind.len())];
    match (unit, word) {
        ("", "") => format!("`{text}` has no unit: {units}"),
        ("", word) if UNITS.iter().any(|(name, _)| *name == word) => {
            format!("`{text}` has a blank before its unit: write `{number}{word}`")
        }
        ("", word) => format!("unknown unit `{word}`: {units}"),
        (unit, _) => format!("unknown unit `{unit}`: {units}"),
    }
}

fn not_whole(text: &str, number: &str, unit: &str) -> String {
    if number.len() > 20 { format!("`{text}` is too long") } else { format!("`{number}{unit}` is not a whole number of microseconds") }
}

/// A decimal number times a length, exactly; `None` when it is not one, does not come out even or is out of range.
fn times(number: &str, length: u128) -> Option<u128> {
    let (whole, fraction) = match number.split_once('.') {
        Some((whole, fraction)) if !fraction.is_empty() => (whole, fraction.trim_end_matches('0')),
        Some(_) => return None,
        None => (number, ""),
    };
    let scale = 10_u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let part = if fraction.is_empty() { 0 } else { fraction.parse::<u128>().ok()?.checked_mul(length)? };
    let even = part.is_multiple_of(scale).then_some(part / scale)?;
    whole.parse::<u128>().ok()?.checked_mul(length)?.checked_add(even)
}

/// A latency that is written as text; the forms that are tables or arrays are read where values are.
///
/// # Errors
/// The mistake, without its place.
pub(crate) fn latency(text: &str) -> Result<Latency, String> {
    let trimmed = text.trim();
    if let Some(rest) = trimmed.strip_prefix("recorded") {
        return recorded(rest.trim()).ok_or_else(|| format!("`{text}`: expected nothing or a factor such as x0.5 after `recorded`"));
    }
    if let Some(range) = trimmed.strip_prefix("log ") {
        let (low, high) = range.split_once("..").ok_or_else(|| format!("`{text}` is not a range"))?;
        let (low, high) = ends(text, low, high)?;
        return Ok(Latency::LogUniform(low, high));
    }
    match trimmed.split_once("..") {
        Some((low, high)) => ends(text, low, high).map(|(low, high)| Latency::Uniform(low, high)),
        None => duration(trimmed).map(Latency::Fixed),
    }
}

fn ends(text: &str, low: &str, high: &str) -> Result<(Micros, Micros), String> {
    let (low, high) = (duration(low)?, duration(high)?);
    if low > high { Err(format!("`{text}` ends before it begins")) } else { Ok((low, high)) }
}

/// `x0.5` as 50 per cent; nothing as 100.
fn recorded(factor: &str) -> Option<Latency> {
    if factor.is_empty() {
        return Some(Latency::Recorded { percent: 100 });
    }
    let number = factor.strip_prefix(['x', '×'])?.trim();
    let percent = times(number, 100)?;
    Some(Latency::Recorded { percent: u32::try_from(percent).ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f_6_durations() {
        for (text, micros) in [
            ("12ms", 12_000),
            ("1.5s", 1_500_000),
            ("250us", 250),
            ("250µs", 250),
            ("2h", 7_200_000_000),
            ("3m", 180_000_000),
            ("1m30s", 90_000_000),
            ("0s", 0),
            (" 0.000001s ", 1),
            ("1.50ms", 1_500),
        ] {
            assert_eq!(duration(text), Ok(Micros(micros)), "{text}");
        }
    }

    #[test]
    fn f_7_what_is_no_duration() {
        for (text, complaint) in [
            ("", "an empty duration"),
            ("12", "`12` has no unit: write us, ms, s, m or h"),
            ("12 ms", "`12 ms` has a blank before its unit: write `12ms`"),
            ("9 seconds", "unknown unit `seconds`: write us, ms, s, m or h"),
            ("12sec", "unknown unit `sec`: write us, ms, s, m or h"),
            ("ms", "`ms` is not a duration"),
            ("-3s", "`-3s` is not a duration"),
            ("0.5us", "`0.5us` is not a whole number of microseconds"),
            ("1.s", "`1.s` is not a whole number of microseconds"),
            ("1.2.3s", "`1.2.3s` is not a whole number of microseconds"),
            ("9999999999h", "`9999999999h` is too long"),
            ("99999999999999999999999999999999999999999s", "`99999999999999999999999999999999999999999s` is too long"),
        ] {
            assert_eq!(duration(text), Err(complaint.into()), "{text}");
        }
    }

    #[test]
    fn m_5_latencies_as_text() {
        let millis = Micros::from_millis;
        for (text, expected) in [
            ("12ms", Latency::Fixed(millis(12))),
            ("10ms..50ms", Latency::Uniform(millis(10), millis(50))),
            ("1.5s .. 2s", Latency::Uniform(millis(1_500), millis(2_000))),
            ("log 50ms..30s", Latency::LogUniform(millis(50), millis(30_000))),
            ("recorded", Latency::Recorded { percent: 100 }),
            ("recorded x0.5", Latency::Recorded { percent: 50 }),
            ("recorded x12", Latency::Recorded { percent: 1_200 }),
        ] {
            assert_eq!(latency(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn f_7_what_is_no_latency() {
        for text in ["", "50ms..10ms", "log 50ms", "log", "..", "recorded 5", "recorded x0.001", "recorded x", "10ms..", "recordedx-1"] {
            assert!(latency(text).is_err(), "{text}");
        }
    }
}
