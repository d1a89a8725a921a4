//! The same session with long texts cut, so that judging it costs little more than one look at each byte.
//!
//! Readers take lines apart several times over: into members, messages, blocks. Most of a session is the texts of results, and no rule about pairs, roles
//! and blanks looks into them. So a doctor of many sessions cuts strings before it reads. Lines stay lines. A string that is not surely right stays whole: its
//! reader finds what is wrong with it.

use memchr::{memchr, memchr3};

use reenact_wire::prelude::*;
use reenact_wire::raw_json::string;

/// So many bytes of a string are kept.
const STRING_BYTES_MAX: usize = 256;

/// So many bytes at least are cut: what stands for them is shorter.
const CUT_BYTES_MIN: usize = 64;

/// JSON text, lines of it or one document, with the ends of long strings replaced by their length. A blank beginning is never cut, and neither is the data of
/// an image: the API has rules for both.
pub fn shortened(bytes: &[u8]) -> Cow<'_, [u8]> {
    let mut out = Vec::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(quote) = memchr(b'"', &bytes[at..]).map(|found| at + found) {
        let start = quote + 1;
        let (cut, end, is_closed) = string_end(bytes, start);
        if is_closed && end - cut >= CUT_BYTES_MIN && may_be_cut(bytes, quote, cut, end) {
            out.extend_from_slice(&bytes[copied..cut]);
            out.extend_from_slice(format!(" [+{} bytes]", end - cut).as_bytes());
            copied = end;
        }
        at = end + 1;
        if at > bytes.len() {
            break;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(bytes);
    }
    out.extend_from_slice(&bytes[copied..]);
    Cow::Owned(out)
}

/// Where a string may be cut, where it ends, and whether a quote ends it. A line that was torn ends within a string, and the next one begins anew.
fn string_end(bytes: &[u8], start: usize) -> (usize, usize, bool) {
    let wanted = start + STRING_BYTES_MAX;
    let mut cut = None;
    let mut at = start;
    while let Some(found) = memchr3(b'"', b'\\', b'\n', &bytes[at..]).map(|found| at + found) {
        // Between two escapes any place will do.
        if found >= wanted && cut.is_none() {
            let is_within = |at: &usize| bytes[*at] & 0b1100_0000 == 0b1000_0000;
            cut = (wanted.max(at)..=found).find(|at| !is_within(at));
        }
        match bytes[found] {
            b'"' => return (cut.unwrap_or(found), found, true),
            b'\\' => match escape_bytes(&bytes[found + 1..]) {
                Some(behind) => at = found + 1 + behind,
                None => return (found, found, false),
            },
            _ => return (found, found, false),
        }
    }
    (bytes.len(), bytes.len(), false)
}

/// How many bytes behind a backslash make an escape with it.
fn escape_bytes(behind: &[u8]) -> Option<usize> {
    match behind {
        [b'u', digits @ ..] => (digits.len() >= 4 && digits[..4].iter().all(u8::is_ascii_hexdigit)).then_some(5),
        [b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => Some(1),
        _ => None,
    }
}

fn may_be_cut(bytes: &[u8], quote: usize, cut: usize, end: usize) -> bool {
    let before = bytes[..quote].trim_ascii_end();
    let is_data = before.strip_suffix(b":").is_some_and(|before| before.trim_ascii_end().ends_with(b"\"data\""));
    let left_out = &bytes[cut..end];
    let has_controls = left_out.iter().fold(false, |has, byte| has | (*byte < b' '));
    let is_text = core::str::from_utf8(left_out).is_ok();
    let kept =
        core::str::from_utf8(&bytes[quote..cut]).ok().and_then(|kept| string(&format!("{kept}\"")).map(|kept| !kept.trim().is_empty()));
    !is_data && !has_controls && is_text && kept == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use reenact_wire::raw_json::RawObject;

    fn cut(text: &str) -> String {
        String::from_utf8(shortened(text.as_bytes()).into_owned()).unwrap()
    }

    #[test]
    fn v_9_long_texts_are_cut_and_lines_stay() {
        let long = "line\\n".repeat(100);
        let text = format!("{{\"a\":\"{long}\",\"b\":1}}\n{{\"c\":\"short\"}}\n");
        let short = cut(&text);
        assert!(short.len() < 350 && short.ends_with(" bytes]\",\"b\":1}\n{\"c\":\"short\"}\n"), "{short}");
        assert!(RawObject::parse(short.lines().next().unwrap()).is_ok(), "{short}");
        // Two, three and four bytes before the escapes: one of them puts the cut into an escape.
        for before in ["ab", "abc", "abcd"] {
            let short = cut(&format!("[\"{before}{}\"]", "\\u00e9".repeat(100)));
            assert!(serde_json::from_str::<serde_json::Value>(&short).is_ok() && short.len() < 300, "{short}");
        }
        for whole in ["", "\"", "{\"a\":\"b\"}", "no json\nat all", "\\", "\"\\"] {
            assert_eq!(cut(whole), whole);
        }
    }

    #[test]
    fn v_9_what_is_wrong_or_blank_or_an_image_stays_whole() {
        let wrong = ["\\x", "\\u12", "\t", "\u{1}"].map(|wrong| format!("{{\"a\":\"{}{wrong}{}\"}}", "x".repeat(400), "y".repeat(400)));
        let blank = format!("{{\"text\":\"{}\"}}", "\\n ".repeat(400));
        let image = format!("{{\"data\" : \"{}\"}}", "A".repeat(4000));
        let torn = format!("{{\"a\":\"{}\n{{\"b\":\"c\"}}\n", "x".repeat(400));
        for text in wrong.iter().chain([&blank, &image, &torn]) {
            assert_eq!(cut(text), *text);
        }
        let behind = format!("{torn}{{\"d\":\"{}\"}}", "z".repeat(400));
        assert!(cut(&behind).ends_with(" bytes]\"}"), "the line behind a torn one is cut all the same");
    }

    proptest! {
        #[test]
        fn v_9_a_value_is_json_before_and_after_it_is_cut(parts in prop::collection::vec("[a-z\"\\\\\u{e9}\u{1f680}\n]{0,9}", 0..200), key in "[a-z]{1,4}") {
            let value = serde_json::json!([{ key: parts.concat() }, parts]).to_string();
            let short = cut(&value);
            prop_assert!(serde_json::from_str::<serde_json::Value>(&short).is_ok(), "{}", short);
            prop_assert!(short.len() <= value.len());
        }

        #[test]
        fn k_12_any_bytes_are_cut_or_kept(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            prop_assert!(shortened(&bytes).len() <= bytes.len());
        }
    }
}
