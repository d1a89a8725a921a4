//! The placeholders of secrets on a tape, as texts show them (K-2). The redactor makes it, and comparisons must know it.

/// The beginning of a placeholder; digits follow, and `x` up to the secret's length.
#[doc(hidden)]
pub const WORD: &str = "REDACTED";

/// The same where that is too long.
#[doc(hidden)]
pub const SHORT_WORD: &str = "RX";

/// How many digits there are at most.
#[doc(hidden)]
pub const DIGITS_MAX: usize = 6;

/// How long the placeholder is that a text begins with, in bytes; `None` where it begins with none. Those of less than four bytes are `x` alone,
/// which cannot be distinguished from a text.
#[doc(hidden)]
pub fn length_at_start(text: &[u8]) -> Option<usize> {
    let word = [WORD, SHORT_WORD].into_iter().find(|word| text.starts_with(word.as_bytes()))?;
    let digits = text[word.len()..].iter().take(DIGITS_MAX).take_while(|byte| byte.is_ascii_digit()).count();
    let length = word.len() + digits;
    (digits >= 2).then(|| length + text[length..].iter().take_while(|byte| **byte == b'x').count())
}

/// Whether a text is a recorded one, but for the secrets in whose places the tape has placeholders of the same length.
#[doc(hidden)]
pub fn is_same_but_for_secrets(recorded: &str, text: &str) -> bool {
    let (recorded, text) = (recorded.as_bytes(), text.as_bytes());
    if recorded.len() != text.len() {
        return false;
    }
    let mut at = 0;
    while at < recorded.len() {
        match length_at_start(&recorded[at..]) {
            Some(length) => at += length,
            None if recorded[at] == text[at] => at += 1,
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_2_a_text_is_the_same_where_only_a_secret_was_replaced() {
        let recorded = "key REDACTED000001xxxx, pin RX01, done";
        assert!(is_same_but_for_secrets(recorded, "key sk-ant-12345678901, pin 4711, done"));
        assert!(is_same_but_for_secrets(recorded, recorded));
        for other in ["key sk-ant-12345678901, pin 4711, gone", "key sk-ant-1, pin 4711, done"] {
            assert!(!is_same_but_for_secrets(recorded, other), "{other}");
        }
        assert!(!is_same_but_for_secrets("REDACTED", "SECRET!!"), "a word alone is no placeholder");
    }
}
