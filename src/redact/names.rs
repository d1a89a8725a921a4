//! Names that tell that what they name is a secret: of headers, query parameters, members, assignments and options (K-2).
//!
//! A name is cut into parts: `X-LiteLLM-ApiKey` is x, lite, llm, api, key. The parts decide, so that no list must know every product.

use super::filler::is_filler;
use super::letter_pairs::is_unlikely;
use super::placeholder::without_placeholders;
use super::telling_words::{
    ABOUT, HARMLESS, HARMLESS_KEYS, HARMLESS_TOKENS, MAPS, MEDIUM, NO_PASSWORDS, OF_KEYS, PASSES, PASSWORDS, SECRET_MAPS, STRONG, WEAK,
};

/// How much a name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TellingName {
    /// A key of anything: only what looks drawn is a secret.
    Weak,
    /// A token or a key: what is no word is a secret.
    Medium,
    /// A secret whatever it looks like, but for prose.
    Strong,
    /// A password: it may be prose.
    Password,
}

/// The kind of secret that a name tells; nothing where it is harmless.
pub(super) fn telling(name: &[u8]) -> Option<TellingName> {
    let parts = parts(name);
    let last = parts.last()?.as_str();
    let has = |words: &[&str]| parts.iter().any(|part| words.contains(&part.as_str()));
    if HARMLESS.contains(&parts.concat().as_str()) || has(&["encrypted"]) {
        return None;
    }
    // `access_key_id` has a value with a shape of its own; of an id that is none, only what looks drawn counts.
    let is_about = ABOUT.contains(&last) && last != "auth";
    let is_id = matches!(last, "id" | "ids");
    if is_about && !is_id {
        return None;
    }
    if is_id {
        return has(&["session", "sess"]).then_some(TellingName::Weak);
    }
    // `passwords` are several of them.
    let is_word = |part: &str, word: &str| part.ends_with(word) || part.strip_suffix('s').is_some_and(|part| part.ends_with(word));
    let ends = |words: &[&str]| parts.iter().any(|part| words.iter().any(|word| is_word(part, word) && part != "secrets"));
    let is_pair = |pair: [&str; 2]| parts.windows(2).any(|two| two == pair);
    if ends(PASSWORDS) || has(&["pw"]) || is_pass(&parts) {
        return Some(TellingName::Password);
    }
    if ends(STRONG) || is_pair(["connection", "string"]) || has(&["recovery", "backup"]) && has(&["code", "codes", "phrase"]) {
        return Some(TellingName::Strong);
    }
    let key_of = |words: &[&str]| has(&["key", "keys"]) && has(words);
    if key_of(HARMLESS_KEYS) {
        return None;
    }
    let is_key_of = |part: &String| part.trim_end_matches('s').strip_suffix("key").is_some_and(|of| OF_KEYS.contains(&of));
    if key_of(OF_KEYS) || parts.iter().any(is_key_of) {
        return Some(TellingName::Strong);
    }
    if parts.iter().any(|part| part.ends_with("token")) {
        return match () {
            () if has(HARMLESS_TOKENS) => None,
            () if parts.len() > 1 || last != "token" => Some(TellingName::Strong),
            () => Some(TellingName::Medium),
        };
    }
    if has(MEDIUM) {
        return Some(TellingName::Medium);
    }
    (has(WEAK) || last == "tokens" && !has(HARMLESS_TOKENS)).then_some(TellingName::Weak)
}

/// Whether a name ends with the short word for a password: `DB_PASS`, `PGPASS`, `storepass`. Alone it may be anything.
fn is_pass(parts: &[String]) -> bool {
    match parts {
        [.., before, last] if last == "pass" => !PASSES.contains(&before.as_str()),
        [.., last] => last.len() > "pass".len() && last.ends_with("pass") && !NO_PASSWORDS.iter().any(|word| last.ends_with(word)),
        [] => false,
    }
}

/// The kind of secret that the name of a header tells: whatever names a key there is sent as one.
pub(super) fn telling_header(name: &str) -> Option<TellingName> {
    if name.contains("ratelimit") {
        return None;
    }
    let telling = telling(name.as_bytes())?;
    let parts = parts(name.as_bytes());
    let is_key = parts.last().is_some_and(|last| last == "key");
    Some(if telling == TellingName::Weak && is_key { TellingName::Medium } else { telling })
}

/// Whether a name is one of a map of secrets: `secrets`, `api_keys`, `github-oauth`.
pub(super) fn names_map(name: &[u8]) -> bool {
    let plain = plain_name(name);
    let is_map = |maps: &[&str]| maps.iter().any(|map| plain.ends_with(map.as_bytes()));
    is_map(MAPS) || is_map(SECRET_MAPS) && telling(name).is_some()
}

/// A name without signs, in small letters: `keyName` and `key_name` are one.
pub(super) fn plain_name(name: &[u8]) -> Vec<u8> {
    name.iter().filter(|byte| byte.is_ascii_alphanumeric()).map(u8::to_ascii_lowercase).collect()
}

/// Whether a value below a name is a secret although its own name is that of a host, of a service, of a person.
pub(super) fn is_value_of_map(map: &[u8], value: &[u8]) -> bool {
    let value = without_placeholders(&value[..value.len().min(LOOKED_AT_BYTES)]);
    let is_one = value.len() >= 8 && is_mixed(&value) && !value.iter().any(u8::is_ascii_whitespace) && !is_reference(&value);
    let is_unbroken_text = || value.len() >= 20 && value.iter().all(u8::is_ascii_alphanumeric) && !is_words(&value);
    let is_drawn = || is_drawn(&value) || is_hex(&value) || is_unbroken_text();
    // A path names a file, or a package.
    let is_text = || is_words(&value) || is_plain(&value) || value.starts_with(b"/");
    let is_named = || names_map(map) && (!is_text() || is_drawn()) || telling(map) >= Some(TellingName::Strong) && is_drawn();
    is_one && !map.contains(&b'/') && is_named()
}

/// The parts of a name, in small letters.
fn parts(name: &[u8]) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut part = String::new();
    for (at, byte) in name.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| name[at]);
        let after = name.get(at + 1);
        let begins = byte.is_ascii_uppercase()
            && (before.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
                || before.is_some_and(|byte| byte.is_ascii_uppercase()) && after.is_some_and(u8::is_ascii_lowercase));
        if begins || !byte.is_ascii_alphanumeric() {
            parts.extend((!part.is_empty()).then(|| std::mem::take(&mut part)));
        }
        if byte.is_ascii_alphanumeric() {
            part.push(char::from(byte.to_ascii_lowercase()));
        }
    }
    parts.extend((!part.is_empty()).then_some(part));
    parts
}

/// Where a value stands: what may be there differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValuePlace {
    /// Between the quotes of a string of JSON, or in a header: the whole is the value.
    Whole,
    /// Between quotes in a text.
    Quoted,
    /// In a line that sets a variable, or behind an option.
    Setting,
    /// Behind a name and a colon, or between blanks: of a file of settings as of code.
    Field,
    /// Anywhere in a text, as in code.
    Bare,
}

/// How much of a value is looked at.
const LOOKED_AT_BYTES: usize = 512;

/// Whether a value is a secret because of its name.
pub(super) fn is_secret_value(name: TellingName, value: &[u8], place: ValuePlace) -> bool {
    let value = without_placeholders(&value[..value.len().min(2 * LOOKED_AT_BYTES)]);
    let value = &value[..value.len().min(LOOKED_AT_BYTES)];
    if value.is_empty() || is_reference(value) {
        return false;
    }
    let is_unbroken = !value.iter().any(u8::is_ascii_whitespace);
    let is_mixed = is_mixed(value);
    let has_digit = value.iter().any(u8::is_ascii_digit) || value.len() >= 20 || is_unlikely(value);
    let is_whole = matches!(place, ValuePlace::Whole | ValuePlace::Quoted);
    match (name, place) {
        (TellingName::Password, ValuePlace::Whole) => true,
        (TellingName::Password, ValuePlace::Quoted) => value.len() >= 4,
        // A quoted value ends at its quote, whatever is in it.
        (TellingName::Strong | TellingName::Medium, _) if is_whole && is_line(value) && is_noise(value) => true,
        (TellingName::Strong, _) if is_whole && !is_unbroken => is_line(value) && is_unlikely(value),
        (TellingName::Password | TellingName::Strong, ValuePlace::Setting) => {
            is_unbroken && value.len() >= 4 && (is_mixed || value.len() >= 8) && !is_call(value)
        }
        (TellingName::Password, ValuePlace::Bare) => is_unbroken && value.len() >= 6 && is_mixed && !is_code(value),
        (TellingName::Strong, ValuePlace::Bare) => is_unbroken && value.len() >= 6 && is_mixed && has_digit && !is_code(value),
        (TellingName::Password | TellingName::Strong, ValuePlace::Field) => {
            let is_name = is_variable(name, value) || name == TellingName::Strong && is_words(value);
            is_unbroken && value.len() >= 4 && (is_mixed || value.len() >= 8) && !is_call(value) && !is_name
        }
        // `TOKEN_KEY = "auth.token"` is the name of one.
        (TellingName::Strong, ValuePlace::Whole | ValuePlace::Quoted) => {
            is_unbroken && value.len() >= 6 && !(is_words(value) && telling(value).is_some())
        }
        // `AUTH=CRAM-MD5` is the name of a way.
        (TellingName::Medium, ValuePlace::Setting) if value.len() < 16 && !value.iter().any(u8::is_ascii_lowercase) => false,
        (TellingName::Medium, ValuePlace::Setting) => {
            is_unbroken && value.len() >= 8 && !is_words(value) && !is_plain(value) && !is_call(value)
        }
        (TellingName::Medium, ValuePlace::Bare | ValuePlace::Field) => {
            is_unbroken && value.len() >= 8 && is_mixed && has_digit && !is_plain(value) && !is_code(value) && !is_call(value)
        }
        (TellingName::Medium, _) => is_unbroken && value.len() >= 8 && is_mixed && has_digit && !is_plain(value) && !is_call(value),
        (TellingName::Weak, _) => is_unbroken && is_drawn(value),
    }
}

/// Whether a text has one line: of several, what is in them is looked at.
fn is_line(value: &[u8]) -> bool {
    !value.contains(&b'\n') && memchr::memmem::find(value, b"\\n").is_none()
}

/// Whether a value stands for another: a variable, a call, a word for nothing.
fn is_reference(value: &[u8]) -> bool {
    const WORDS: &[&str] = &[
        "none",
        "null",
        "nil",
        "true",
        "false",
        "undefined",
        "string",
        "str",
        "required",
        "optional",
        "include",
        "same-origin",
        "omit",
        "bearer",
        "basic",
        "number",
        "boolean",
        "object",
        "integer",
        "array",
        "default",
        "changeme",
        "enabled",
        "disabled",
        "missing",
        "invalid",
        "empty",
        "unknown",
        "inherit",
    ];
    let is_metavariable = value.iter().all(|byte| byte.is_ascii_uppercase() || b"_-".contains(byte)) && telling(value).is_some();
    let has = |text: &[u8]| memchr::memmem::find(value, text).is_some();
    let is_marked = |word: &[u8]| value.len() == word.len() + 2 && value[1..=word.len()].eq_ignore_ascii_case(word);
    if is_filler(value)
        || [&b"%s"[..], b"%d", b"{0}", b"{}"].into_iter().any(has) && !is_unlikely(value) && !is_noise(value)
        || [&b"redacted"[..], b"hidden", b"masked"].into_iter().any(is_marked)
    {
        return true;
    }
    WORDS.iter().any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
        || is_metavariable
        || value.starts_with(b"<") && value.ends_with(b">")
        || is_address(value)
        || value.starts_with(b"${")
        || value.starts_with(b"{{")
        || value.starts_with(b"$(")
        || value.starts_with(b"%(")
        || value.first() == Some(&b'$') && value[1..].iter().all(|byte| byte.is_ascii_uppercase() || *byte == b'_' || byte.is_ascii_digit())
        || has(b"process.env")
        || has(b"os.environ")
        || has(b"getenv")
        || value.to_ascii_lowercase().starts_with(b"your")
        || value.iter().all(|byte| b"*x.X-_".contains(byte))
}

/// An address: what is secret in one has rules of its own.
fn is_address(value: &[u8]) -> bool {
    let scheme = value.iter().take(16).take_while(|byte| byte.is_ascii_alphanumeric() || b"+.-".contains(byte)).count();
    scheme > 0 && value[scheme..].starts_with(b"://")
}

/// The name of a variable: `self.password`, `aliasToken`. A word alone is none, and of a password nothing that could be one.
pub(super) fn is_variable(name: TellingName, value: &[u8]) -> bool {
    let is_name = value.iter().all(|byte| byte.is_ascii_alphabetic() || b"_.:$?!".contains(byte));
    let is_composed = value.windows(2).any(|pair| {
        b"_.:".contains(&pair[0]) && pair[1].is_ascii_alphabetic() || pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase()
    });
    is_name
        && !is_unlikely(value)
        && (name < TellingName::Password && is_composed && changes_of_case(value) * 4 <= value.len() || telling(value).is_some())
}

/// A function or a macro that is called, or an element: `getpass.getpass()`, `(base64.encode(…`, `&line[at]`. The name is a word: a password may have a
/// bracket in it.
fn is_call(value: &[u8]) -> bool {
    let value = &value[value.iter().take_while(|byte| b"(&*".contains(byte)).count()..];
    let name = &value[..value.iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"._:!".contains(byte)).count()];
    let is_name = name.contains(&b'.')
        || is_words(name.strip_suffix(b"!").unwrap_or(name))
        || name.iter().all(|byte| byte.is_ascii_lowercase() || *byte == b'_');
    let is_open = matches!(value.get(name.len()), Some(b'(' | b'['));
    !name.is_empty() && (is_name || value.ends_with(b"()")) && is_open && !is_unlikely(value)
}

/// Letters and digits, or capitals and small letters with a sign between, or letters that no word has.
pub(super) fn is_mixed(value: &[u8]) -> bool {
    let has = |of: fn(&u8) -> bool| value.iter().any(of);
    let letters = has(u8::is_ascii_alphabetic);
    letters && has(u8::is_ascii_digit)
        || has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && has(|byte| b"=+/~!@#%^&".contains(byte))
        || letters && is_unlikely(value)
}

/// Words of code or of prose, put together in any way: `nextchar`, `SecKeyRef`, `HTTPPasswordMgr`, `auth.token`. Drawn letters change their case, and
/// have few vowels.
pub(super) fn is_words(value: &[u8]) -> bool {
    let (mut letters, mut words, mut digits, mut vowels) = (0, 0, 0, 0);
    for (at, byte) in value.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| value[at]);
        match byte {
            byte if byte.is_ascii_alphabetic() => {
                let is_inner = before.is_some_and(|before| {
                    let after = value.get(at + 1).is_some_and(u8::is_ascii_lowercase);
                    before.is_ascii_alphabetic() && (byte.is_ascii_lowercase() || before.is_ascii_uppercase() && !after)
                });
                letters += 1;
                words += usize::from(!is_inner);
                vowels += usize::from(b"aeiouy".contains(&byte.to_ascii_lowercase()));
            }
            byte if byte.is_ascii_digit() => digits += 1,
            byte if b"_-.:/ ".contains(byte) => (),
            _ => return false,
        }
    }
    let length = if digits > 0 { 4 } else { 3 };
    let is_long = letters > WORD_LETTERS_MAX * words || inner_numbers(value) > WORD_NUMBERS_MAX;
    let has_form = letters >= length * words && digits * 5 <= letters && vowels * 5 >= letters && letters > 0 && !is_long;
    has_form && !is_unlikely(value)
}

/// How many letters words have at most, on average.
const WORD_LETTERS_MAX: usize = 24;

/// How many numbers stand inside of words: `utf8mb4`, `base64url`.
const WORD_NUMBERS_MAX: usize = 2;

/// How many numbers have a letter on both sides.
fn inner_numbers(value: &[u8]) -> usize {
    let runs: Vec<&[u8]> = value.chunk_by(|one, other| one.is_ascii_digit() == other.is_ascii_digit()).collect();
    let is_letter = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_lowercase);
    runs.windows(3).filter(|three| three[1][0].is_ascii_digit() && is_letter(three[0].last()) && is_letter(three[2].first())).count()
}

/// A word of code or of prose, with a number behind it perhaps: `get_user_v2`.
fn is_plain(value: &[u8]) -> bool {
    let digits = value.iter().filter(|byte| byte.is_ascii_digit()).count();
    let is_word = value.iter().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-.:/ ".contains(byte));
    value.len() < 24 && digits <= 2 && is_word && !is_unlikely(value)
}

/// A path through objects or modules: `self.inner2.token`.
fn is_code(value: &[u8]) -> bool {
    let digits = value.iter().filter(|byte| byte.is_ascii_digit()).count();
    digits <= 2
        && value.iter().any(|byte| b".:".contains(byte))
        && value.iter().all(|byte| byte.is_ascii_alphanumeric() || b"._:?!*&".contains(byte))
}

/// Whether a value looks drawn at random, and is neither a uuid nor a hash.
pub(super) fn is_drawn(value: &[u8]) -> bool {
    let count = |of: fn(&u8) -> bool| value.iter().filter(|byte| of(byte)).count();
    let is_hash = value.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'-');
    let allowed = value.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+/=_-.~".contains(byte));
    let (capitals, small, digits) = (count(u8::is_ascii_uppercase), count(u8::is_ascii_lowercase), count(u8::is_ascii_digit));
    value.len() >= 20
        && !is_hash
        && !is_words(value)
        && allowed
        && (digits >= 3 && (capitals >= 3 && small >= 3 || digits * 5 >= value.len() && capitals.max(small) >= 4) || is_unlikely(value))
}

/// A number of at least 128 bits in hexadecimal digits.
pub(super) fn is_hex(value: &[u8]) -> bool {
    value.len() >= 32 && value.iter().all(u8::is_ascii_hexdigit) && value.iter().any(u8::is_ascii_digit)
}

/// Signs of all kinds without order, with blanks among them perhaps: what a generator of long passwords makes.
pub(super) fn is_noise(value: &[u8]) -> bool {
    let count = |of: fn(&u8) -> bool| value.iter().filter(|byte| of(byte)).count();
    let (signs, blanks) = (count(u8::is_ascii_punctuation), count(|byte| *byte == b' '));
    let letters = [count(u8::is_ascii_uppercase), count(u8::is_ascii_lowercase), count(u8::is_ascii_digit)];
    // Formats have signs, too, and words between them.
    let is_drawn = || signs >= NOISE_SIGNS_MIN && letters[0] > 0 && letters[1] > 0 && is_unlikely(value);
    value.len() >= NOISE_BYTES_MIN
        && value.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ')
        && blanks * 8 <= value.len()
        && (signs * 6 >= value.len() && letters.iter().all(|count| *count >= 3) || is_drawn())
}

/// How many signs there are in noise whose letters are those of no word.
const NOISE_SIGNS_MIN: usize = 4;

/// From how many signs on a value may be noise.
const NOISE_BYTES_MIN: usize = 32;

fn changes_of_case(value: &[u8]) -> usize {
    let is_change = |pair: &&[u8]| pair.iter().all(u8::is_ascii_alphabetic) && pair[0].is_ascii_uppercase() != pair[1].is_ascii_uppercase();
    value.windows(2).filter(is_change).count()
}

#[cfg(test)]
mod tests;
