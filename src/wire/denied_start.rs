//! The words by which the result of a tool claims that the tool never ran (O-20).

use crate::prelude::*;

/// The phrases, one a line, in lower case, and behind `except` what only looks like one.
const PHRASES: &str = include_str!("denied_start.txt");

/// The beginning of a line with a phrase that does not count.
const EXCEPTION: &str = "except ";

/// The phrases by which a text claims it.
pub fn claims(text: &str) -> impl Iterator<Item = &'static str> {
    among(phrases(), text)
}

/// The same of phrases that are not in the list.
pub fn among(phrases: impl Iterator<Item = &'static str>, text: &str) -> impl Iterator<Item = &'static str> {
    let text = exceptions().fold(joined_words(text).to_lowercase(), |text, phrase| text.replace(phrase, ""));
    phrases.filter(move |phrase| text.contains(phrase))
}

fn phrases() -> impl Iterator<Item = &'static str> {
    listed(PHRASES).filter(|line| !line.starts_with(EXCEPTION))
}

fn exceptions() -> impl Iterator<Item = &'static str> {
    listed(PHRASES).filter_map(|line| line.strip_prefix(EXCEPTION))
}

/// The lines of a list, without its comments.
pub fn listed(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o_20_phrases_are_such_as_can_be_found() {
        assert!(phrases().count() > 10);
        for phrase in phrases() {
            assert_eq!(phrase, joined_words(&phrase.to_lowercase()), "a phrase is in lower case, with single blanks");
            assert!(claims(phrase).next().is_some());
        }
    }

    #[test]
    fn o_20_a_tool_that_was_stopped_in_the_middle_is_not_denied() {
        let right = [
            "Command was not run to completion.",
            "It did not run until its end; the user cancelled it.",
            "Cancelled before it could finish.",
            "The user interrupted; the remaining commands were not executed.",
            "Interrupted by user.",
        ];
        for text in right {
            assert_eq!(claims(text).next(), None, "{text}");
        }
        for text in ["Tool call was not performed because the user interrupted.", "No command was run.", "Cancelled before execution."] {
            assert!(claims(text).next().is_some(), "{text}");
        }
    }

    #[test]
    fn o_20_further_phrases_have_the_same_exceptions() {
        let further = |text| among(["not run"].into_iter(), text).count();
        assert_eq!((claims("Not run.").count(), further("Not run.")), (0, 1));
        assert_eq!(further("It was not run to completion."), 0);
    }
}
