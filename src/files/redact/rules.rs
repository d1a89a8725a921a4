//! The patterns of secrets (K-2): a table over plain text, extensible by a file.
//!
//! Patterns see text whose JSON escapes are resolved; a quote that was escaped is the byte 0x01 there, so that a pattern sees the end of a string
//! from a quote in it. The first group that takes part is the secret; without groups it is the whole match. Classes are written so that a secret
//! never reaches over a quote.

use std::sync::Arc;

use regex::bytes::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};
use serde::Deserialize;

/// How much compiled patterns may need. A pattern of a rules file that needs more is refused.
const PATTERN_BYTES_MAX: usize = 8 << 20;

/// Texts in which a pattern that can match nothing does so.
const EMPTY_MATCH_TEXTS: [&[u8]; 2] = [b"", b"a b\n"];

/// A rule of the shipped table.
struct ShippedRule {
    name: &'static str,
    pattern: &'static str,
    check: PatternCheck,
}

/// What a pattern cannot say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PatternCheck {
    /// Every match counts.
    None,
    /// The secret has letters and digits, or capitals and small letters with a sign between: a word of a language has not.
    Mixed,
    /// The secret has no white space: prose about a password is none.
    Unbroken,
}

const fn rule(name: &'static str, pattern: &'static str, check: PatternCheck) -> ShippedRule {
    ShippedRule { name, pattern, check }
}

/// Sources: the providers' documentation, and what such keys look like in the public rule sets of secret scanners.
const SHIPPED: &[ShippedRule] = &[
    rule("anthropic-key", r"sk-ant-[a-z]+[0-9]{2}-[A-Za-z0-9_-]{10,}", PatternCheck::None),
    rule("openai-key", r"\bsk-[A-Za-z0-9_-]{20,}", PatternCheck::Mixed),
    rule("jwt", r"\beyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){2,4}", PatternCheck::None),
    rule("aws-access-key", r"\b(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}\b", PatternCheck::None),
    rule("aws-credential", r"(?i)\bCredential=([^,\s\x22'\x01&]{16,})", PatternCheck::None),
    rule("aws-signature", r"(?i)\bSignature=([0-9a-f]{64})", PatternCheck::None),
    rule(
        "aws-secret-key",
        r"(?i)aws_?(?:secret)?_?(?:access)?_?key\\*[\x22'\x01]?\s{0,3}[:=]\s{0,3}\\*[\x22'\x01]?([A-Za-z0-9/+=]{40})",
        PatternCheck::None,
    ),
    rule("bedrock-key", r"\bABSK[A-Za-z0-9+/]{40,}={0,2}", PatternCheck::None),
    rule("bedrock-key", r"bedrock-api-key-[A-Za-z0-9+/=_-]{20,}", PatternCheck::None),
    rule("google-key", r"\bAIza[A-Za-z0-9_-]{35}", PatternCheck::None),
    rule("google-token", r"\bya29\.[A-Za-z0-9_.-]{20,}", PatternCheck::None),
    rule("google-secret", r"\bGOCSPX-[A-Za-z0-9_-]{20,}", PatternCheck::None),
    rule("private-key", r"-----BEGIN[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?-----((?:[A-Za-z0-9+/=:,\s]|\\+[nrt]){16,})", PatternCheck::None),
    rule("github-token", r"\bgh[pousr]_[A-Za-z0-9]{36,}", PatternCheck::None),
    rule("github-token", r"\bgithub_pat_[A-Za-z0-9_]{22,}", PatternCheck::None),
    rule("gitlab-token", r"\bgl(?:pat|ptt|dt|rt)-[A-Za-z0-9_-]{20,}", PatternCheck::None),
    rule("slack-token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}", PatternCheck::None),
    rule("slack-token", r"\bxapp-[0-9]-[A-Za-z0-9-]{10,}", PatternCheck::None),
    rule("slack-webhook", r"hooks\.slack\.com/(?:services|workflows)/([A-Za-z0-9/]{20,})", PatternCheck::None),
    rule("stripe-key", r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{10,}", PatternCheck::None),
    rule("stripe-key", r"\bwhsec_[A-Za-z0-9+/=]{20,}", PatternCheck::None),
    rule("npm-token", r"\bnpm_[A-Za-z0-9]{36}", PatternCheck::None),
    rule("pypi-token", r"\bpypi-[A-Za-z0-9_-]{50,}", PatternCheck::None),
    rule("huggingface-token", r"\bhf_[A-Za-z0-9]{30,}", PatternCheck::None),
    rule("sendgrid-key", r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}", PatternCheck::None),
    rule("digitalocean-token", r"\bdo[opr]_v1_[a-f0-9]{64}", PatternCheck::None),
    rule("telegram-token", r"\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}", PatternCheck::None),
    rule("azure-key", r"\b(?:AccountKey|SharedAccessKey)=([A-Za-z0-9+/=]{40,})", PatternCheck::None),
    rule("bearer", r"(?i)\bbearer\s+([A-Za-z0-9._~+/-]{15,}[A-Za-z0-9_~+/=-]=*)", PatternCheck::None),
    rule("basic", r"(?i)\b(?:basic|token)\s+([A-Za-z0-9._~+/-]{15,}[A-Za-z0-9_~+/=-]=*)", PatternCheck::Mixed),
    rule(
        "header",
        r"(?i)\b(?:x-api-key|api-key|x-goog-api-key|x-amz-security-token|x-auth-token|x-access-token|x-session-token)\\*[\x22'\x01]?\s{0,3}[:=,]\s{0,3}\\*[\x22'\x01]?([^\s\x22'\x01,;&\\]{6,})",
        PatternCheck::None,
    ),
    rule(
        "authorization",
        r"(?i)\bauthorization\\*[\x22'\x01]?\s{0,3}[:=,]\s{0,3}\\*[\x22'\x01]?(?:[a-z]+\s+)?([A-Za-z0-9._~+/-]{7,}[A-Za-z0-9_~+/=-]=*)",
        PatternCheck::Mixed,
    ),
    rule(
        "cookie",
        r"(?i)\b(?:set-)?cookie\\*[\x22'\x01]?\s{0,3}:\s{0,3}\\*[\x22'\x01]?([^\x22'\x01\r\n\\]{0,64}=[^\x22'\x01\r\n\\]{4,})",
        PatternCheck::None,
    ),
    rule("url-userinfo", r"[A-Za-z][A-Za-z0-9+.-]*://([^\s/@:\x22'\x01<>\\]*:[^\s/@\x22'\x01<>\\]+)@", PatternCheck::None),
    rule("url-userinfo", r"[A-Za-z][A-Za-z0-9+.-]*://([^\s/@:\x22'\x01<>\\]{16,})@", PatternCheck::Mixed),
    rule(
        "url-parameter",
        r"(?i)[?&;][a-z0-9_.-]*(?:key|token|secret|signature|sig|password|passwd|credential|code|auth)=([^&;\s\x22'\x01<>#\\]{4,})",
        PatternCheck::None,
    ),
    rule(
        "member",
        concat!(
            r"(?i)[\x22'\x01][a-z0-9_.-]*(?:api[_-]?key|secret|access[_-]?key|secret[_-]?key|private[_-]?key|[_-]token|accesstoken|refreshtoken",
            r"|idtoken|authtoken|sessiontoken|clientsecret|passwd|password|passphrase|credentials?|authorization)\\*[\x22'\x01]",
            r"\s{0,4}[:=]\s{0,4}(?:\x22((?:[^\x22\\]|\\.){4,})|\\*\x01([^\x22\x01\\]{4,})|'([^'\x22\x01\n]{4,}))"
        ),
        PatternCheck::Unbroken,
    ),
    rule(
        "password",
        r"(?i)[\x22'\x01](?:password|passphrase)\\*[\x22'\x01]\s{0,4}[:=]\s{0,4}(?:\x22((?:[^\x22\\]|\\.)+)|\\*\x01([^\x22\x01\\]+)|'([^'\x22\x01\n]+))",
        PatternCheck::None,
    ),
    rule(
        "variable",
        r"\b[A-Z][A-Z0-9_]*(?:PASSWORD|PASSWD|SECRET|CREDENTIALS?)\s?[=:]\s?\\*[\x22'\x01]?([^\s\x22'\x01;&|$\\(){}]{6,})",
        PatternCheck::None,
    ),
    rule("variable", r"\b[A-Z][A-Z0-9_]*(?:KEY|TOKEN)\s?[=:]\s?\\*[\x22'\x01]?([^\s\x22'\x01;&|$\\(){}]{8,})", PatternCheck::Mixed),
    rule(
        "assignment",
        r"(?i)\b(?:password|passwd|passphrase|api_?key|secret_?key|access_?token|auth_?token|client_?secret)\s{0,2}[=:]\s{0,2}\\*[\x22'\x01]?([A-Za-z0-9_+/=.~!@#%^*-]{8,})",
        PatternCheck::Mixed,
    ),
    rule("user-id", r"\x22metadata\x22\s*:\s*\{[^{}]*?\x22user_id\x22\s*:\s*\x22((?:[^\x22\\]|\\.)+)", PatternCheck::None),
    rule(
        "account-id",
        r"(?i)\b(?:organi[sz]ation|org|account|user|workspace|device|tenant|profile|customer|subscription)(?:[ _-]?u?u?id)?[\x22'\x01\x60]?\s{0,2}[:=(]?\s{0,2}[\x22'\x01\x60]?([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})",
        PatternCheck::None,
    ),
    rule(
        "account-id",
        r"(?i)[\x22\x01](?:organi[sz]ation|org|account|user|workspace|device|tenant)_?(?:id|uuid)\\*[\x22\x01]\s{0,4}:\s{0,4}\\*[\x22\x01]([^\x22\x01\\]{12,})",
        PatternCheck::Mixed,
    ),
    rule("account-id", r"\buser_[A-Za-z0-9]{18,}(?:_account_[A-Za-z0-9-]*)?(?:_session_[A-Za-z0-9-]+)?", PatternCheck::Mixed),
    rule("account-id", r"\b(?:org|wrkspc|acct|apikey|svac|fdrl)_[A-Za-z0-9]{16,}", PatternCheck::Mixed),
    rule("object-id", r"\b(?:file|container)_[A-Za-z0-9]{16,}", PatternCheck::Mixed),
    rule("request-id", r"\breq_[A-Za-z0-9]{16,}", PatternCheck::None),
];

/// What is opaque and must come back as it was: signatures, and what the model keeps encrypted.
const OPAQUE: &str = concat!(
    r"\x22(?:signature|encrypted_content|encrypted_index|encrypted_stdout)\x22\s*:\s*\x22([A-Za-z0-9+/=]{64,})\x22",
    r"|\x22redacted_thinking\x22\s*,\s*\x22data\x22\s*:\s*\x22([A-Za-z0-9+/=_-]{64,})\x22",
    r"|\x22data\x22\s*:\s*\x22([A-Za-z0-9+/=_-]{64,})\x22\s*,\s*\x22type\x22\s*:\s*\x22redacted_thinking\x22"
);

/// Why a file of rules cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RulesError {
    /// It is not what a file of rules looks like.
    #[error("line {line}: {message}; write [[rule]] with name and pattern")]
    Toml {
        /// Where, from 1. The line itself is not shown: the file may be another one, with secrets in it.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// A pattern is none.
    #[error("rule `{name}`: {problem}")]
    Pattern {
        /// Whose.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
}

/// The rules in force. They are shared, because what a search learns of its patterns is kept with them.
#[derive(Debug)]
pub struct RedactionRules {
    pub(super) names: Vec<String>,
    pub(super) patterns: Vec<Regex>,
    pub(super) checks: Vec<PatternCheck>,
    /// All patterns at once: most text holds nothing, and then this is the only pass over it.
    pub(super) any: RegexSet,
    pub(super) opaque: Regex,
}

/// A file of further rules.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RulesFile {
    #[serde(default)]
    rule: Vec<FurtherRule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FurtherRule {
    name: String,
    pattern: String,
}

impl RedactionRules {
    /// The shipped rules, and those of files: TOML with `[[rule]]`, `name` and `pattern` (a regular expression; its first group, if it has one, is
    /// the secret).
    ///
    /// # Errors
    /// What is wrong with a file.
    pub fn with(files: &[String]) -> Result<Arc<Self>, RulesError> {
        let mut names: Vec<String> = SHIPPED.iter().map(|rule| rule.name.to_owned()).collect();
        let mut patterns: Vec<String> = SHIPPED.iter().map(|rule| rule.pattern.to_owned()).collect();
        let mut checks: Vec<PatternCheck> = SHIPPED.iter().map(|rule| rule.check).collect();
        for file in files {
            let toml = |error: toml::de::Error| {
                let before = &file.as_bytes()[..error.span().map_or(0, |span| span.start.min(file.len()))];
                RulesError::Toml { line: before.iter().filter(|byte| **byte == b'\n').count() + 1, message: error.message().into() }
            };
            for further in toml::from_str::<RulesFile>(file).map_err(toml)?.rule {
                names.push(further.name);
                patterns.push(further.pattern);
                checks.push(PatternCheck::None);
            }
        }
        let compile = |(name, pattern): (&String, &String)| {
            let compiled = RegexBuilder::new(pattern).unicode(false).size_limit(PATTERN_BYTES_MAX).build();
            compiled.map_err(|error| RulesError::Pattern { name: name.clone(), problem: error.to_string() })
        };
        let compiled = names.iter().zip(&patterns).map(compile).collect::<Result<Vec<_>, _>>()?;
        for (name, pattern) in names.iter().zip(&compiled).skip(SHIPPED.len()) {
            // It would match between any two bytes, and replace nothing.
            if EMPTY_MATCH_TEXTS.iter().any(|text| pattern.find_iter(text).any(|found| found.is_empty())) {
                let problem = String::from("the pattern matches the empty text, which is no secret: let it match at least one character");
                return Err(RulesError::Pattern { name: name.clone(), problem });
            }
        }
        let any =
            RegexSetBuilder::new(&patterns).unicode(false).size_limit(8 * PATTERN_BYTES_MAX).dfa_size_limit(PATTERN_BYTES_MAX).build();
        let all = String::from("all rules");
        let any = any.map_err(|error| RulesError::Pattern { name: all.clone(), problem: error.to_string() })?;
        let opaque = RegexBuilder::new(OPAQUE).unicode(false).build();
        let opaque = opaque.map_err(|error| RulesError::Pattern { name: all, problem: error.to_string() })?;
        Ok(Arc::new(Self { names, patterns: compiled, checks, any, opaque }))
    }

    /// The names of the rules, each once, in the order of the table.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for name in &self.names {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }
}

impl PatternCheck {
    pub(super) fn holds(self, secret: &[u8]) -> bool {
        let has = |of: fn(&u8) -> bool| secret.iter().any(of);
        match self {
            Self::None => true,
            Self::Unbroken => !has(u8::is_ascii_whitespace),
            Self::Mixed => {
                let cases = has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && has(|byte| b"=+/~".contains(byte));
                has(u8::is_ascii_alphabetic) && has(u8::is_ascii_digit) || cases
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
