//! Something that did not hold, and what makes two of them the same bug.

use reenact::explore::interrupt::{InjectionKind, RunBoundary};
use reenact::strategies::tools::NAMES;

/// Something that did not hold in a case.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FuzzFinding {
    /// The oracle or the check.
    pub(super) rule: &'static str,
    /// The observation.
    pub(super) text: String,
    /// Where the run was interrupted for it.
    pub(super) interrupt: Option<(RunBoundary, InjectionKind)>,
}

impl FuzzFinding {
    pub(super) fn new(rule: &'static str, text: impl Into<String>) -> Self {
        Self { rule, text: text.into(), interrupt: None }
    }

    /// The rule and the text without figures and names: equal for the same bug in two cases.
    pub(super) fn fingerprint(&self) -> String {
        let kind = if self.interrupt.is_some() { " when interrupted" } else { "" };
        format!("{}{kind}: {}", self.rule, self.what())
    }

    /// The observation, without figures and names, for every finder.
    pub(super) fn what(&self) -> String {
        let text = self.text.trim_start_matches("the run panicked: ");
        text.split_whitespace().map(plain).take(24).collect::<Vec<_>>().join(" ")
    }

    /// The fingerprint as the name of a file.
    pub(super) fn file_name(&self) -> String {
        let fingerprint = self.fingerprint();
        let slug: String = fingerprint.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect();
        let words: Vec<&str> = slug.split('-').filter(|word| !word.is_empty()).take(12).collect();
        let digest = fingerprint.bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        format!("{}-{:04x}.toml", words.join("-"), digest & 0xffff)
    }
}

/// A word without what differs from case to case.
fn plain(word: &str) -> &str {
    let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
    if word.chars().any(|c| c.is_ascii_digit()) {
        return "#";
    }
    if NAMES.contains(&bare) { "TOOL" } else { word }
}
