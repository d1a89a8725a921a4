//! The rules of secrets (K-2): those that a name tells are built in, those that have a shape are patterns of a data file, extensible by files.
//!
//! A pattern sees every view of a text. Its first group that takes part is the secret; without groups it is the whole match. Classes are written so
//! that a secret never reaches over a quote. Each pattern comes with texts that it must find and texts that it must not.

use std::sync::Arc;

use regex::bytes::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};
use serde::Deserialize;

use super::filler::is_filler;

/// The shipped patterns.
const SHIPPED: &str = include_str!("rules.toml");

/// How much compiled patterns may need. A pattern of a rules file that needs more is refused.
const PATTERN_BYTES_MAX: usize = 8 << 20;

/// How much the states of all patterns together may need. They are made while a text is read, and made anew when there is no room for them.
pub(super) const STATE_BYTES_MAX: usize = 16 << 20;

/// Texts in which a pattern that can match nothing does so.
const EMPTY_MATCH_TEXTS: [&[u8]; 2] = [b"", b"a b\n"];

/// A condition that a pattern cannot express.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum PatternCheck {
    /// Every match counts.
    #[default]
    None,
    /// The secret has letters and digits, or capitals and small letters with a sign between: a word of a language has not.
    Mixed,
    /// The secret has a digit.
    Digits,
    /// The secret looks drawn at random, and is no hash.
    Drawn,
    /// The secret is no word.
    NoWord,
    /// The secret is a name and a password that is not the word for one.
    Credentials,
}

/// The rules that are no patterns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum BuiltinRule {
    /// The member of an object has a telling name.
    Member,
    /// So has what is assigned, or what is an option.
    Assignment,
    /// A private key of several lines.
    PrivateKey,
    /// `metadata.user_id`
    UserId,
    /// The id of an account.
    AccountId,
    /// It was sent as a key in a header.
    Learned,
    /// It follows a match of which no end came.
    Undecided,
}

impl BuiltinRule {
    /// How many there are; patterns are numbered from here.
    pub(super) const COUNT: usize = NAMES.len();
}

/// Their names.
const NAMES: [&str; 7] = ["member", "assignment", "private-key", "user-id", "account-id", "sent-as-header", "undecided"];

/// Why a file of rules cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RulesError {
    /// It is not what a file of rules looks like.
    #[error("line {line}: {message}; write [[rule]] with name and pattern")]
    Toml {
        /// Where, from 1. The line itself is not shown: the file may be another one, with secrets in it.
        line: usize,
        /// The mistake.
        message: String,
    },
    /// A pattern is none.
    #[error("rule `{name}`: {problem}")]
    Pattern {
        /// The name of the rule.
        name: String,
        /// The mistake in it.
        problem: String,
    },
    /// No rule has the name.
    #[error("--keep {name}: no rule has this name; the rules are {rules}")]
    Unknown {
        /// The name that was asked for.
        name: String,
        /// Those that are.
        rules: String,
    },
}

/// The rules in force. They are shared, because what a search learns of its patterns is kept with them.
#[derive(Debug)]
pub struct RedactionRules {
    pub(super) names: Vec<String>,
    pub(super) patterns: Vec<Regex>,
    pub(super) checks: Vec<PatternCheck>,
    /// All patterns at once, or their cues: most text holds nothing, and then this is the only pass over it.
    pub(super) any: RegexSet,
    /// The rules whose findings stay.
    kept: Vec<String>,
}

/// The user's options.
#[derive(Clone, Debug, Default)]
pub struct RedactionOptions {
    /// The contents of files of further rules.
    pub files: Vec<String>,
    /// The names of rules whose findings stay.
    pub keep: Vec<String>,
    /// Mail addresses, folders of homes and names of hosts are replaced, too.
    pub personal: bool,
}

/// A file of rules.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RulesFile {
    #[serde(default)]
    pub(super) rule: Vec<PatternRule>,
}

/// A rule of a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PatternRule {
    pub(super) name: String,
    pub(super) pattern: String,
    /// A short pattern that matches wherever the pattern does. Only where it matches is the pattern looked for.
    cue: Option<String>,
    #[serde(default)]
    check: PatternCheck,
    #[serde(default)]
    personal: bool,
    /// Texts in which it must find something; `{20}` stands for twenty letters and digits.
    #[serde(default)]
    pub(super) hits: Vec<String>,
    /// Texts in which it must find nothing.
    #[serde(default)]
    pub(super) misses: Vec<String>,
}

impl PatternRule {
    /// The pattern for which every text is searched, together with those of all rules.
    pub(super) fn searched(&self) -> &String {
        self.cue.as_ref().unwrap_or(&self.pattern)
    }
}

impl RedactionRules {
    /// The shipped rules, and those of files: TOML with `[[rule]]`, `name` and `pattern` (a regular expression; its first group, if it has one, is
    /// the secret).
    ///
    /// # Errors
    /// The mistake in a file.
    pub fn with(files: &[String]) -> Result<Arc<Self>, RulesError> {
        Self::with_options(&RedactionOptions { files: files.to_vec(), ..RedactionOptions::default() })
    }

    /// The shipped rules, changed as a user asks.
    ///
    /// # Errors
    /// The mistake in a file, or a rule to keep that does not exist.
    pub fn with_options(options: &RedactionOptions) -> Result<Arc<Self>, RulesError> {
        let mut rules = shipped()?;
        rules.retain(|rule| options.personal || !rule.personal);
        let shipped = rules.len();
        for file in &options.files {
            rules.extend(read_rules(file)?);
        }
        let compiled = rules.iter().map(compile).collect::<Result<Vec<_>, _>>()?;
        // The shipped examples are held by a test.
        for (rule, pattern) in rules.iter().zip(&compiled).skip(shipped) {
            // It would match between any two bytes, and replace nothing.
            if EMPTY_MATCH_TEXTS.iter().any(|text| pattern.find_iter(text).any(|found| found.is_empty())) {
                let problem = String::from("the pattern matches the empty text, which is no secret: let it match at least one character");
                return Err(RulesError::Pattern { name: rule.name.clone(), problem });
            }
            check_vectors(rule, pattern)?;
        }
        let any = RegexSetBuilder::new(rules.iter().map(PatternRule::searched))
            .unicode(false)
            .size_limit(16 * PATTERN_BYTES_MAX)
            .dfa_size_limit(STATE_BYTES_MAX)
            .build();
        let any = any.map_err(|error| RulesError::Pattern { name: String::from("all rules"), problem: error.to_string() })?;
        let names: Vec<String> = NAMES.iter().map(|name| (*name).to_owned()).chain(rules.iter().map(|rule| rule.name.clone())).collect();
        if let Some(name) = options.keep.iter().find(|name| !names.contains(name) && !name.starts_with("header ")) {
            let mut known = names.clone();
            known.dedup();
            return Err(RulesError::Unknown { name: name.clone(), rules: known.join(", ") });
        }
        let checks = rules.iter().map(|rule| rule.check).collect();
        Ok(Arc::new(Self { names, patterns: compiled, checks, any, kept: options.keep.clone() }))
    }

    /// The names of the rules, each once, in the order of the table.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for name in &self.names {
            if !names.contains(&name.as_str()) && !self.keeps(name) {
                names.push(name);
            }
        }
        names
    }

    /// Whether what a rule finds stays.
    pub(super) fn keeps(&self, name: &str) -> bool {
        self.kept.iter().any(|kept| kept == name)
    }

    /// Whether a rule knows a secret by its shape alone.
    pub(super) fn has_shape(&self, rule: usize) -> bool {
        self.patterns.get(rule - BuiltinRule::COUNT).is_some_and(|pattern| pattern.captures_len() == 1)
    }
}

/// The patterns of the data file.
pub(super) fn shipped() -> Result<Vec<PatternRule>, RulesError> {
    read_rules(SHIPPED)
}

/// The rules of a file.
fn read_rules(text: &str) -> Result<Vec<PatternRule>, RulesError> {
    let toml = |error: toml::de::Error| {
        let before = &text.as_bytes()[..error.span().map_or(0, |span| span.start.min(text.len()))];
        RulesError::Toml { line: before.iter().filter(|byte| **byte == b'\n').count() + 1, message: error.message().into() }
    };
    Ok(toml::from_str::<RulesFile>(text).map_err(toml)?.rule)
}

pub(super) fn compile(rule: &PatternRule) -> Result<Regex, RulesError> {
    let problem = |problem: String| RulesError::Pattern { name: rule.name.clone(), problem };
    let compiled = RegexBuilder::new(&rule.pattern).unicode(false).size_limit(PATTERN_BYTES_MAX).build();
    let compiled = compiled.map_err(|error| problem(error.to_string()))?;
    if rule.name.is_empty() {
        return Err(problem(String::from("it needs a name")));
    }
    if let Some(cue) = &rule.cue {
        let cue =
            RegexBuilder::new(cue).unicode(false).size_limit(PATTERN_BYTES_MAX).build().map_err(|error| problem(error.to_string()))?;
        if let Some(hit) = rule.hits.iter().find(|hit| !cue.is_match(filled(hit).as_bytes())) {
            return Err(problem(format!("its cue is not in `{hit}`")));
        }
    }
    Ok(compiled)
}

/// Holds a rule to its own examples.
pub(super) fn check_vectors(rule: &PatternRule, pattern: &Regex) -> Result<(), RulesError> {
    let finds = |text: &String| {
        let text = filled(text);
        pattern.captures_iter(text.as_bytes()).any(|captures| {
            let secret = captures.iter().skip(1).flatten().next().or(captures.get(0));
            secret.is_some_and(|secret| rule.check.holds(secret.as_bytes()))
        })
    };
    let problem = |text: &String, what| RulesError::Pattern { name: rule.name.clone(), problem: format!("{what} in `{text}`") };
    if let Some(text) = rule.hits.iter().find(|text| !finds(text)) {
        return Err(problem(text, "it finds nothing"));
    }
    rule.misses.iter().find(|text| finds(text)).map_or(Ok(()), |text| Err(problem(text, "it finds something")))
}

/// An example with its letters: `{20}` twenty letters and digits, `{C20}` capitals, `{h20}` hexadecimal.
pub(super) fn filled(example: &str) -> String {
    let mut out = String::new();
    let mut rest = example;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let (letters, count) = match after.as_bytes().first() {
            Some(b'C') => ("ZK7QW9XB2LP4RT6VN8MC3HD5JF", &after[1..]),
            Some(b'h') => ("3f786850e387550fdab836ed7e6dc881de23001b", &after[1..]),
            _ => ("Zk7Qw9Xb2Lp4Rt6Vn8Mc3Hd5Jf1Gs0", after),
        };
        let place = count.split_once('}').and_then(|(count, after)| Some((count.parse().ok()?, after)));
        match place {
            Some((count, after)) => {
                out.extend(letters.chars().cycle().take(count));
                rest = after;
            }
            None => {
                out.push('{');
                rest = after;
            }
        }
    }
    out + rest
}

impl PatternCheck {
    pub(super) fn holds(self, secret: &[u8]) -> bool {
        let evidence = super::placeholder::without_placeholders(secret);
        if is_filler(&evidence) {
            return false;
        }
        match self {
            Self::None => true,
            Self::Mixed => super::names::is_mixed(&evidence),
            Self::Digits => evidence.iter().any(u8::is_ascii_digit),
            Self::Drawn => super::names::is_drawn(&evidence),
            Self::NoWord => !super::names::is_words(&evidence),
            Self::Credentials => {
                let password = evidence.rsplit(|byte| *byte == b':').next().unwrap_or_default();
                const WORDS: [&[u8]; 8] = [b"", b"pass", b"password", b"passwd", b"pwd", b"secret", b"token", b"xxx"];
                !WORDS.contains(&password)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(file: &str) -> String {
        RedactionRules::with(&[file.into()]).unwrap_err().to_string()
    }

    #[test]
    fn k_2_a_pattern_that_matches_nothing_is_an_error() {
        for pattern in ["", "x*", "(?:a|)", "^", r"\b", "(key)?"] {
            let said = refused(&format!("[[rule]]\nname = \"mine\"\npattern = '{pattern}'\n"));
            assert!(said.starts_with("rule `mine`: the pattern matches the empty text"), "{pattern}: {said}");
        }
        for pattern in ["x+", "key=(.*)", r"\bkey"] {
            RedactionRules::with(&[format!("[[rule]]\nname = \"mine\"\npattern = '{pattern}'\n")]).unwrap();
        }
    }

    #[test]
    fn k_2_lines_of_a_file_that_holds_no_rules_are_not_repeated() {
        let secret = ["hunter", "2-of-nobody"].concat();
        for text in [format!("[x]\nroot:x:{secret}"), format!("a = 1\nKEY={secret}"), format!("token = \"{secret}\"")] {
            let said = refused(&text);
            assert!(said.starts_with("line ") && !said.contains(&secret), "{said}");
        }
    }
}
