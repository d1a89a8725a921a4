//! Where a value ends that stands without quotes of its own: before the partner of the sign that opened it, and before what closes a sentence.
//!
//! ```text
//! f(password=…)      <v>TOKEN=…</v>      It is SECRET=….      {error: SECRET=…}
//! ```

use std::ops::Range;

/// How many signs may close one value.
pub(super) const CLOSING_SIGNS_MAX: usize = 4;

/// The part of `value` without the signs that close something around it. `start` is where the name or the shape begins that tells of it.
pub(super) fn before(text: &[u8], start: usize, value: Range<usize>) -> Range<usize> {
    let mut end = value.end;
    let mut cut = |is_end: &dyn Fn(u8) -> bool| {
        end = text[value.start..end].iter().position(|byte| is_end(*byte)).map_or(end, |at| value.start + at);
    };
    cut(&|byte| byte < 0x20 || byte == 0x7f);
    if let Some(partner) = start.checked_sub(1).and_then(|at| partner(text[at])) {
        cut(&|byte| byte == partner);
    }
    for _ in 0..CLOSING_SIGNS_MAX {
        end -= usize::from(end > value.start && closes(&text[value.start..end]));
    }
    value.start..end
}

/// The sign that ends what this sign begins.
fn partner(sign: u8) -> Option<u8> {
    match sign {
        b'(' => Some(b')'),
        b'[' => Some(b']'),
        b'{' => Some(b'}'),
        b'>' => Some(b'<'),
        b'`' | b'\'' | b'"' => Some(sign),
        _ => None,
    }
}

/// Whether the last sign of a value belongs to what is around it: the end of a sentence, a bracket or a quote that the value does not open.
fn closes(value: &[u8]) -> bool {
    let count = |sign: u8| memchr::memchr_iter(sign, value).count();
    match value.last() {
        Some(b'.' | b',' | b';') => true,
        Some(b')') => count(b')') > count(b'('),
        Some(b']') => count(b']') > count(b'['),
        Some(b'}') => count(b'}') > count(b'{'),
        Some(quote @ (b'`' | b'\'' | b'"')) => count(*quote) % 2 == 1,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_2_a_value_ends_before_what_closes_something_around_it() {
        let left = |text: &str, start: usize, value: &str| {
            let at = text.find(value).unwrap();
            let range = before(text.as_bytes(), start, at..at + value.len());
            text[range].to_owned()
        };
        assert_eq!(left("f(password=ab)y", 2, "ab)y"), "ab");
        assert_eq!(left("<v>a=bc</v>", 3, "bc</v>"), "bc");
        assert_eq!(left("it is a=b.c. And", 6, "b.c."), "b.c");
        assert_eq!(left("{error: {a=b}}", 9, "b}}"), "b");
        assert_eq!(left("a=b(c)d[1]", 0, "b(c)d[1]"), "b(c)d[1]");
        assert_eq!(left("x 'two words' y", 0, "words'"), "words");
        assert_eq!(left("a=b\u{1b}[0m", 0, "b\u{1b}[0m"), "b");
    }
}
