//! How likely the letters of a value follow one another in words of code and of prose (K-2): those of a drawn value seldom do.
//!
//! ```text
//! access_token_provider   3.4 bits for each letter        fumjgrfxewOKHKAnfADHHeq7Zx   7.2
//! HTTPPasswordMgr         4.2                             EbTh3F2jIwTu                 6.9
//! ```
//!
//! The table was counted over the 270,000 different names and words of some three thousand public files of Rust, Python, JavaScript and Markdown. A
//! capital behind a small letter begins a word there, all digits are one sign, and so are all signs between words.

/// The sign for a digit, and the one for what stands between words, behind the 26 letters.
const DIGIT: usize = 26;
const BETWEEN: usize = 27;

/// How surprising one sign is behind another, in half bits, as a digit to the base 36: a row for each sign.
const HALF_BITS: [&[u8; 28]; 28] = [
    b"ea89feagagd797lah785bfdcdje7",
    b"7dbg8ggh5bi6eh7ee9aa8hil9ib6",
    b"7icg7fi7an89di5df7c7bfimdmc6",
    b"9fga4f9k7ikchiaehbadbhiidod3",
    b"ag98cbdifmi8a7hcd679hce9enf4",
    b"8fec88fg6rl6ee7fg89bbpjjemb4",
    b"bhgh4idb8olce9bij99bbiiigjd3",
    b"6gfe5hkl7oifeh7kkad79nemdid4",
    b"ac89a9aohoh9947afb86kcodpbga",
    b"78gg5feiaqehgg7gfh4f8mfigme6",
    b"ahge3eeg6mkchbefkf8ddieohmf3",
    b"6gga58hm6qh8hh7ehhbaagkrbma6",
    b"5bdc5iej7mhcbg87igadaikmgnf5",
    b"8j967b7ialcaic9dne86cdiogoh5",
    b"dc88hcdhdib985a9u6a99cagjmg7",
    b"6jdf6gjcarg8ej79n6979ejncpe6",
    b"8ead9cafchieahei8cbc3jeiehb4",
    b"6hcb5dbl7reecc7eka99bfgibqh5",
    b"bjah5ifa8oedghaajf95aielcmg3",
    b"8jcd5fk87tjdeh8bo7aabjif9mg4",
    b"b9ba7bdkapm796f8q776inmfmlab",
    b"5hbg3bdh7nnbdechlgffhmfbmm87",
    b"6lfd7iea6qmdf87gk7acjkchfgc4",
    b"bg9c9djfarmbfkf7ggd5ijkfel53",
    b"efbidigidoodc9d6ph88lkeokif1",
    b"8efe2fgi8niedhaign9jghdfcec7",
    b"bddedeghiniihjjhjijhkljinm23",
    b"897999bb8gda99a8e878bbcchgbz",
];

/// The least length of a value whose letters say something.
const LENGTH_MIN: usize = 8;

/// From how many bits for each letter on a value is not made of words. Of names in code one in a hundred has more; of values drawn from letters, one
/// in a hundred of twelve letters has less, and one in ten thousand of twenty.
const HALF_BITS_MIN: usize = 11;

/// Whether a value is nothing that words of code or of prose are made of.
pub(super) fn is_unlikely(value: &[u8]) -> bool {
    let (half_bits, length) = surprise(value);
    length >= LENGTH_MIN && half_bits > HALF_BITS_MIN * length
}

/// How many half bits the letters of a value say, and how many letters and digits it has, and signs that stand in names.
fn surprise(value: &[u8]) -> (usize, usize) {
    let (mut half_bits, mut length, mut before) = (0, 0, BETWEEN);
    let mut follow = |sign: usize| {
        half_bits += usize::from(half_bits_of(before, sign));
        before = sign;
    };
    let mut is_between = true;
    for (at, byte) in value.iter().enumerate() {
        let sign = match byte {
            byte if byte.is_ascii_alphabetic() => usize::from(byte.to_ascii_lowercase() - b'a'),
            byte if byte.is_ascii_digit() => DIGIT,
            _ => BETWEEN,
        };
        length += usize::from(sign != BETWEEN || !is_between && b"_-.:/ ".contains(byte));
        if (sign == BETWEEN || begins_word(value, at)) && !is_between {
            follow(BETWEEN);
        }
        if sign != BETWEEN {
            follow(sign);
        }
        is_between = sign == BETWEEN;
    }
    if !is_between {
        follow(BETWEEN);
    }
    (half_bits, length)
}

/// Whether a capital begins a word: behind a small letter, or before one.
fn begins_word(value: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).map(|at| value[at]).filter(u8::is_ascii_alphabetic);
    let is_small = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_lowercase);
    value[at].is_ascii_uppercase() && before.is_some_and(|before| before.is_ascii_lowercase() || is_small(value.get(at + 1)))
}

fn half_bits_of(before: usize, sign: usize) -> u8 {
    match HALF_BITS[before][sign] {
        digit @ b'0'..=b'9' => digit - b'0',
        letter => letter - b'a' + 10,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_2_words_are_likely_and_drawn_letters_are_not() {
        for words in [
            "access_token_provider",
            "HTTPPasswordMgr",
            "getpass_unicode",
            "nl80211_pattern_support",
            "kSecKeyAlgorithmECIESEncryption",
            "django.contrib.auth.tokens",
            "correct horse battery staple",
            "TLS_AES_128_GCM_SHA256",
            "hunterhunter",
            "cl100k_base",
        ] {
            assert!(!is_unlikely(words.as_bytes()), "{words}: {:?}", surprise(words.as_bytes()));
        }
        for drawn in
            ["fumjgrfxewOKHKAnfADHHeq7Zx", "EbTh3F2jIwTu", "xvfpHkXGkNdWIByn", "dsctp164m7u7lgkiwvoop5v4", "QgiwVulBBdwe", "zqjxvkwpfh"]
        {
            assert!(is_unlikely(drawn.as_bytes()), "{drawn}: {:?}", surprise(drawn.as_bytes()));
        }
        assert!(!is_unlikely(b"xqzjkvw") && !is_unlikely(b""));
    }
}
