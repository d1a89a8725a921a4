//! Fingerprints of violations: the rule and its sentence, without ids and figures. Equal ones are one defect for a person (E-5).
//!
//! Neither the place of the interrupt nor its kind is part of it. A tool result that a cancel loses is lost at each boundary at which the tool runs:
//! one defect, a hundred places. A [`SweepFindingGroup`](super::finding_group::SweepFindingGroup) counts the places instead. The words come from oracles, which
//! know the contract alone, so an engine of anybody's has the same fingerprints.

use core::fmt;

use reenact_oracle::Violation;
use reenact_wire::prelude::*;

/// The sign in the place of ids, figures and quoted data.
const MASK: &str = "#";

/// So many words tell what was observed.
const WORDS_MAX: usize = 40;

/// Rules whose sentence has the cause behind its first colon: the API's refusal, how the run ended, the words of a panic. The other sentences have
/// data of the scenario there.
const WITH_CAUSE: [&str; 5] = ["O-1", "O-10", "O-18", "O-19", "contract"];

/// The rule that a violation breaks, and what was observed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fingerprint {
    /// Which rule: `O-2`.
    pub oracle: &'static str,
    /// The observation, with `#` for each id, figure and quotation.
    pub observation: String,
}

/// `O-2: tool use # of answer # has no result at the end`.
impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.oracle, self.observation)
    }
}

impl From<&Violation> for Fingerprint {
    fn from(violation: &Violation) -> Self {
        let Violation { oracle, text, .. } = violation;
        let sentence = if WITH_CAUSE.contains(oracle) { text } else { text.split(": ").next().unwrap_or(text) };
        Self { oracle, observation: masked(sentence) }
    }
}

/// A sentence without what differs from run to run.
fn masked(sentence: &str) -> String {
    let mut words: Vec<&str> = Vec::new();
    // Every second part stands in quotation marks.
    for (nth, part) in sentence.split('"').enumerate() {
        let is_quoted = nth % 2 == 1;
        for word in part.split_whitespace() {
            let word = if is_quoted || is_name(word, &words) { MASK } else { word };
            // However many ids are listed, it is one list.
            if words.last() != Some(&MASK) || word != MASK {
                words.push(word);
            }
        }
        if words.len() >= WORDS_MAX {
            break;
        }
    }
    words.truncate(WORDS_MAX);
    // The agent is a part of the name.
    words.join(" ").replace("# of agent #", MASK)
}

/// Whether a word is an id, a figure or data. `before` are the words before it.
fn is_name(word: &str, before: &[&str]) -> bool {
    let has_form = word.contains(|letter: char| letter.is_ascii_digit()) || word.contains("toolu_") || word.starts_with(['{', '[', '(']);
    // Ids of recorded tool uses have any form.
    has_form || before.ends_with(&["tool", "use"]) || (before.ends_with(&["result", "of"]) && word != "tool")
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_engine::time::Time;

    fn print(oracle: &'static str, text: &str) -> String {
        Fingerprint::from(&Violation { at: Time(7), oracle, text: text.into() }).to_string()
    }

    #[test]
    fn e_5_ids_and_figures_make_no_other_defect() {
        let lost = "O-2: tool use # of answer # has no result at the end";
        for id in ["toolu_p1t1n1", "toolu_again", "call-read", "7"] {
            assert_eq!(print("O-2", &format!("tool use {id} of answer p2/1 has no result at the end")), lost);
        }
        assert_eq!(
            print("O-2", "a result of call-read came out, which answer 1 did not ask for"),
            "O-2: a result of # came out, which answer # did not ask for"
        );
        let runs = "O-29: tool # runs, and is not in the set of those in progress";
        assert_eq!(print("O-29", "tool 1A (again) runs, and is not in the set of those in progress"), runs);
        let alone = "O-3: tool # starts while # runs, and # must run alone";
        assert_eq!(print("O-3", "tool 1A of agent toolu_x starts while 2B runs, and 1A of agent toolu_x must run alone"), alone);
    }

    #[test]
    fn e_5_data_of_the_scenario_makes_no_other_defect_and_a_cause_does() {
        let said = |text: &str| print("O-24", &format!("prompt 1 ended well, and no request held what the user had said: {text}"));
        assert_eq!(said("Hello."), said("What is in a?"));
        let refused = |why: &str| print("O-10", &format!("the API refuses request 2: {why}"));
        assert_ne!(refused("messages: text content blocks must be non-empty"), refused("Invalid `signature` in `thinking` block."));
        assert_eq!(refused("`tool_use` without a result: toolu_1, toolu_2."), refused("`tool_use` without a result: toolu_9."));
        assert_eq!(print("O-19", "the run panicked: no tool \"Read\" here"), print("O-19", "the run panicked: no tool \"Bash run\" here"));
    }

    #[test]
    fn e_5_another_rule_or_another_observation_is_another_defect() {
        let second = print("O-2", "tool use toolu_1 of answer 1 has a second result");
        assert_ne!(second, print("O-2", "tool use toolu_1 of answer 1 has no result at the end"));
        assert_ne!(second, print("O-1", "tool use toolu_1 of answer 1 has a second result"));
    }

    #[test]
    fn e_5_a_long_sentence_ends_after_some_words() {
        assert_eq!(print("O-19", &"word ".repeat(500)).split(' ').count(), WORDS_MAX + 1);
    }
}
