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

/// The signs at the end of a word that belong to its sentence.
const PUNCTUATION: [char; 4] = [',', ';', ':', '.'];

/// A sentence without what differs from run to run.
pub(super) fn masked(sentence: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    // Every second part stands in quotation marks.
    for (nth, part) in sentence.split('"').enumerate() {
        let is_quoted = nth % 2 == 1;
        for word in part.split_whitespace() {
            let bare = word.trim_end_matches(PUNCTUATION);
            let follows_name = words.last().is_some_and(|last| is_mask(last));
            let is_name = is_quoted || is_name(bare, follows_name, &words);
            // However many ids are listed, it is one list, with the sign behind its last one.
            if follows_name && is_name {
                words.pop();
            }
            match words.last_mut() {
                Some(last) if follows_name && bare.is_empty() => last.push_str(word),
                _ if is_name => words.push(mask(if is_quoted { "" } else { &word[bare.len()..] })),
                _ => words.push(word.into()),
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

fn mask(sign: &str) -> String {
    format!("{MASK}{sign}")
}

fn is_mask(word: &str) -> bool {
    word.trim_end_matches(PUNCTUATION) == MASK
}

/// Whether a word is an id, a figure or data. `before` are the words before it.
fn is_name(word: &str, follows_name: bool, before: &[String]) -> bool {
    // `[limits]` and `[[prompt.turn]]` are tables of a scenario, and no data.
    let inside = word.trim_start_matches('[').trim_end_matches(']');
    let is_table = word.ends_with(']') && inside.chars().all(|letter| letter.is_ascii_lowercase() || matches!(letter, '.' | '_'));
    let is_data = word.starts_with('{') || (word.starts_with('[') && !is_table);
    // Behind a name stands the id in brackets; elsewhere brackets begin words of the sentence.
    let is_id = follows_name && word.starts_with('(') && word.ends_with(')');
    let has_form = word.contains(|letter: char| letter.is_ascii_digit()) || word.contains("toolu_");
    let follows = |words: &[&str]| before.len() >= words.len() && before[before.len() - words.len()..].iter().eq(words.iter());
    // Ids of recorded tool uses have any form.
    has_form || is_data || is_id || follows(&["tool", "use"]) || (follows(&["result", "of"]) && word != "tool")
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
        assert_eq!(print("O-2", "tool use 1A (call-read) of answer 1 has no result at the end"), lost);
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
    fn e_5_what_is_left_is_a_sentence() {
        let limit = "the run ended with limit_reached: the limit on requests was reached; it is 1000, and `requests` in [limits] (--set limits.requests=…) raises it";
        let told = "O-18: the run ended with limit_reached: the limit on requests was reached; it is #, and `requests` in [limits] (--set limits.requests=…) raises it";
        assert_eq!(print("O-18", limit), told);
        let refused =
            "the API refuses request p2/1: messages.1: `tool_use` ids were found without results: toolu_1, toolu_2. Each must have one.";
        assert_eq!(
            print("O-1", refused),
            "O-1: the API refuses request #: `tool_use` ids were found without results: #. Each must have one."
        );
        let order = "request 2 has its results in another order than their tool uses: \"a, b\" in place of \"b, a\"";
        assert_eq!(print("O-1", order), "O-1: request # has its results in another order than their tool uses: # in place of #");
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
