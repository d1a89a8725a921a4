//! The variables of the environment that tell a client where the API is (K-6, K-7).
//!
//! There is no common name. So a client that is started gets all names that clients are known to read. A client reads its own and ignores the others.

use reenact_wire::prelude::*;

/// The names, each with what its clients want behind the address, and these clients.
const KNOWN: [(&str, &str, &str); 6] = [
    ("ANTHROPIC_BASE_URL", "", "the official SDKs, and what is built on them: Claude Code, pydantic-ai, strands"),
    ("ANTHROPIC_API_BASE", "", "litellm, aider"),
    ("ANTHROPIC_API_URL", "", "LangChain in Python"),
    ("ANTHROPIC_HOST", "", "goose"),
    ("REENACT_BASE_URL", "", "scripts of one's own"),
    ("REENACT_BASE_URL_V1", "/v1", "scripts for clients that want `/v1` in their base URL"),
];

/// A key that is none, in the shape that clients want to see.
pub(super) const DUMMY_KEY: &str = "sk-ant-test-000";

/// The variables of a key. Clients that find none do not start.
const KEY_NAMES: [&str; 2] = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"];

/// A further variable, or a known one with another path: `NAME`, or `NAME=/v1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrlVariable {
    name: String,
    /// The path behind the address; empty or from a slash on.
    path: String,
}

impl BaseUrlVariable {
    /// Reads one as a command line has it.
    ///
    /// # Errors
    /// When it is no name of a variable, or when no path follows the `=`.
    pub fn read(text: &str) -> Result<Self, String> {
        let (name, path) = text.split_once('=').unwrap_or((text, ""));
        let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !is_name || !(path.is_empty() || path.starts_with('/')) {
            return Err(String::from(
                "write the name of a variable, and a path where the client wants one: MY_BASE_URL, or MY_BASE_URL=/v1",
            ));
        }
        Ok(Self { name: name.into(), path: path.trim_end_matches('/').into() })
    }

    /// Name and value.
    pub fn with_base(&self, base: &str) -> (String, String) {
        (self.name.clone(), format!("{base}{}", self.path))
    }
}

/// The known variables with their values.
pub fn known_variables(base: &str) -> impl Iterator<Item = (&'static str, String)> {
    KNOWN.iter().map(move |(name, path, _)| (*name, format!("{base}{path}")))
}

/// A key for a client that has the environment of this process, where it has none.
#[expect(clippy::disallowed_methods, reason = "a key that the caller has set is left as it is")]
pub fn inherited_key() -> Option<(&'static str, &'static str)> {
    let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    (!KEY_NAMES.iter().any(is_set)).then_some((KEY_NAMES[0], DUMMY_KEY))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_6_a_variable_is_a_name_and_perhaps_a_path() {
        let read = |text: &str| BaseUrlVariable::read(text).map(|variable| variable.with_base("http://h:1"));
        assert_eq!(read("MY_URL"), Ok(("MY_URL".into(), "http://h:1".into())));
        assert_eq!(read("MY_URL=/v1/"), Ok(("MY_URL".into(), "http://h:1/v1".into())));
        for wrong in ["", "=/v1", "MY URL", "MY_URL=v1", "MY_URL=http://h"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn k_6_no_name_is_known_twice() {
        let names: Vec<_> = known_variables("http://h:1").map(|(name, _)| name).collect();
        assert!(names.iter().enumerate().all(|(at, name)| !names[..at].contains(name)), "{names:?}");
        assert!(known_variables("http://h:1").any(|pair| pair == ("REENACT_BASE_URL_V1", "http://h:1/v1".into())));
    }
}
