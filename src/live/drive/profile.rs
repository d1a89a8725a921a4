//! Profiles of real clients: the shipped ones, and what stands for the names in curly brackets in a run (K-7).
//!
//! A new shipped profile is a file in `profiles`, a word in `scenario::drive::KnownClient`, and a line in `text`.

pub use reenact_scenario::client_profile::{
    ClientProfile, ClientSignal, ExitCodes, FailedAttempts, OutputPlaces, OutputTextPlace, PrintedAnswers, ProfileFile, SessionPlace,
    StorePlace,
};

use serde_json::Value;

use super::member_path::values_at;
use super::path_pattern;
use reenact_scenario::client_profile;
use reenact_scenario::drive::KnownClient;
use reenact_wire::prelude::*;

/// A shipped profile.
pub fn shipped(client: KnownClient) -> ClientProfile {
    client_profile::read(client.as_str(), text(client))
        .unwrap_or_else(|diagnostics| unreachable!("a test reads all of them: {diagnostics}"))
}

/// The file of a shipped profile.
pub const fn text(client: KnownClient) -> &'static str {
    match client {
        KnownClient::ClaudeCode => include_str!("profiles/claude-code.toml"),
        KnownClient::Opencode => include_str!("profiles/opencode.toml"),
        KnownClient::Pi => include_str!("profiles/pi.toml"),
        KnownClient::Continue => include_str!("profiles/continue.toml"),
        KnownClient::Gptme => include_str!("profiles/gptme.toml"),
        KnownClient::Sdk => include_str!("profiles/sdk.toml"),
        KnownClient::SdkPython => include_str!("profiles/sdk-python.toml"),
        KnownClient::SdkTypescript => include_str!("profiles/sdk-typescript.toml"),
    }
}

/// The session that a run names: where the profile says, or else in the JSON lines of its output.
pub(super) fn session(place: Option<&SessionPlace>, mut lines: impl Iterator<Item = Value>, names: &ProfileNames) -> Option<String> {
    let member = |line: &Value, path: &str| values_at(line, path).into_iter().find_map(|value| Some(value.as_str()?.into()));
    match place {
        None => lines.find_map(|line| ["session_id", "sessionID", "sessionId"].iter().find_map(|path| member(&line, path))),
        Some(SessionPlace { member: Some(path), .. }) => lines.find_map(|line| member(&line, path)),
        Some(SessionPlace { files, .. }) => {
            let pattern = names.fill(files.as_ref()?);
            path_pattern::last_star(&pattern, path_pattern::files(&pattern).last()?)
        }
    }
}

/// The values in a run of the names in curly brackets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProfileNames(Vec<(&'static str, String)>);

impl ProfileNames {
    /// Sets what stands for a name.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.0.retain(|(known, _)| *known != name);
        self.0.push((name, value.into()));
        self
    }

    /// The text with the values of all names. What stands for a name is not looked through for names again.
    pub fn fill(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find('{') {
            let (before, from) = rest.split_at(start);
            out.push_str(before);
            let known = self.0.iter().find(|(name, _)| from[1..].strip_prefix(name).is_some_and(|behind| behind.starts_with('}')));
            match known {
                Some((name, value)) => {
                    out.push_str(value);
                    rest = &from[name.len() + 2..];
                }
                None => {
                    out.push('{');
                    rest = &from[1..];
                }
            }
        }
        out + rest
    }

    /// All words with the values of all names.
    pub fn fill_all(&self, words: &[String]) -> Vec<String> {
        words.iter().map(|word| self.fill(word)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_7_every_shipped_profile_is_read_and_has_its_own_name() {
        for client in KnownClient::ALL {
            let profile = client_profile::read(client.as_str(), text(client)).unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
            assert_eq!(&*profile.name, client.as_str());
            assert!(client == KnownClient::Sdk || (profile.version.is_some() && profile.date.is_some()), "{}", profile.name);
        }
    }

    #[test]
    fn k_7_names_in_curly_brackets_are_filled_once_and_others_stay() {
        let names =
            ProfileNames::default().with("base", "http://h:1").with("prompt", "Say {base} {x}").with("base_url_v1", "http://h:1/v1");
        assert_eq!(
            names.fill("{base}/a {\"u\":\"{base_url_v1}\"} {prompt} {unknown} {"),
            "http://h:1/a {\"u\":\"http://h:1/v1\"} Say {base} {x} {unknown} {"
        );
        assert_eq!(names.with("base", "2").fill("{base}"), "2");
    }
}
