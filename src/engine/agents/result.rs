//! The results of several agents as text (B-8): pure functions.

use crate::texts::{ModelTexts, TextName};
use reenact_wire::prelude::*;

/// The end of one agent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct AgentResult {
    /// Its last words, or what went wrong.
    pub(super) text: Arc<str>,
    /// Whether it failed.
    pub(super) is_error: bool,
    /// How many tools it asked for.
    pub(super) tool_uses: u64,
    /// How many tokens it used up.
    pub(super) tokens: u64,
}

impl AgentResult {
    /// As the model that asked for it sees it.
    pub(super) fn alone(&self, texts: &ModelTexts) -> (String, bool) {
        let text = match (self.is_error, self.text.is_empty()) {
            (true, _) => texts.say(TextName::AgentFailed, &[("problem", &self.text)]),
            (false, true) => texts.say(TextName::AgentSilent, &[]),
            (false, false) => self.text.to_string(),
        };
        (text, self.is_error)
    }
}

/// The spending of all agents together.
pub(super) fn counts(results: &[AgentResult]) -> String {
    let sum = |of: fn(&AgentResult) -> u64| results.iter().map(of).fold(0, u64::saturating_add);
    format!("{}, {}", plural(sum(|said| said.tool_uses), "tool use"), plural(sum(|said| said.tokens), "token"))
}

/// All results by their number.
pub(super) fn list(results: &[AgentResult], texts: &ModelTexts) -> String {
    let entry = |(number, said): (usize, &AgentResult)| {
        texts.say(TextName::AgentResult, &[("number", &number.to_string()), ("text", &said.alone(texts).0)])
    };
    (1..).zip(results).map(entry).collect::<Vec<_>>().join("\n\n")
}

/// The result of one as it is, those of several by their number.
pub(super) fn list_of_several(results: &[AgentResult], texts: &ModelTexts) -> String {
    match results {
        [alone] => alone.alone(texts).0,
        several => list(several, texts),
    }
}

/// The prompt of the agent that puts their results together.
pub(super) fn synthesis(prompt: &str, results: &[AgentResult], texts: &ModelTexts) -> String {
    let parts = [("count", &*results.len().to_string()), ("prompt", prompt), ("results", &list(results, texts))];
    texts.say(TextName::Synthesis, &parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b_8_results_are_listed_by_number() {
        let said = |text: &str, is_error| AgentResult { text: text.into(), is_error, tool_uses: 2, tokens: 1_000 };
        let results = [said("one", false), said("lost", true), said("", false)];
        assert_eq!(
            list(&results, &ModelTexts::default()),
            "Result 1:\none\n\nResult 2:\nThe agent failed: lost\n\nResult 3:\nThe agent ended without an answer."
        );
        assert_eq!(counts(&results), "6 tool uses, 3000 tokens");
        assert_eq!(counts(&[AgentResult { tool_uses: 1, tokens: 0, ..said("", false) }]), "1 tool use, 0 tokens");
        assert!(
            synthesis("Look.", &results, &ModelTexts::default())
                .starts_with("3 agents worked on the same task, each by itself.\n\nThe task:\nLook.\n\nResult 1:")
        );
    }
}
