//! Tokens and spans of time in words.

use reenact_engine::time::Micros;
use reenact_wire::prelude::*;
use reenact_wire::usage::Usage;

/// `1,204 in, 50,100 from the cache, 2,031 to the cache, 87 out`; what was not reported is left out.
pub fn usage_text(usage: &Usage) -> String {
    let counts = [
        (usage.input_tokens, "in"),
        (usage.cache_read_input_tokens.filter(|count| *count > 0), "from the cache"),
        (usage.cache_creation_input_tokens.filter(|count| *count > 0), "to the cache"),
        (usage.output_tokens, "out"),
    ];
    let counts: Vec<String> = counts.iter().filter_map(|(count, word)| Some(format!("{} {word}", grouped((*count)?)))).collect();
    counts.join(", ")
}

/// `50,100`.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `12.345s`, `6m12.345s`, `1h02m03.000s`: whole milliseconds, cut off.
pub fn span_text(span: Micros) -> String {
    let Micros(us) = span;
    let (seconds, ms) = (us / 1_000_000, us / 1_000 % 1_000);
    match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}.{ms:03}s"),
        (0, minutes, seconds) => format!("{minutes}m{seconds:02}.{ms:03}s"),
        (hours, minutes, seconds) => format!("{hours}h{minutes:02}m{seconds:02}.{ms:03}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v_8_tokens_are_told_as_they_were_reported() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        let usage = Usage { input_tokens: Some(12), cache_read_input_tokens: Some(50_100), ..Usage::default() };
        assert_eq!(usage_text(&usage), "12 in, 50,100 from the cache");
        assert_eq!(usage_text(&Usage { cache_read_input_tokens: Some(0), output_tokens: Some(0), ..Usage::default() }), "0 out");
    }

    #[test]
    fn v_8_spans_have_whole_milliseconds() {
        let spans = [0, 12_345_678, 372_345_000, 3_723_000_000].map(|us| span_text(Micros(us)));
        assert_eq!(spans, ["0.000s", "12.345s", "6m12.345s", "1h02m03.000s"]);
    }
}
