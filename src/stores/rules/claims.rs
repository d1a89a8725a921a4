//! O-20: when a tool was started, its result does not claim that it never ran.

use super::super::content::result_text;
use super::super::conversation::StoredMessage;
use super::{HistoryViolation, joined_words, quoted};
use reenact_wire::block::BlockKind;
use reenact_wire::prelude::*;

/// The phrases by which a result claims it, one a line, in lower case, and behind `except` what only looks like one.
const PHRASES: &str = include_str!("never_ran.txt");

/// Parts of words that tell of a stop, one a line, in lower case.
const STOPS: &str = include_str!("stops.txt");

/// A claim is short. A longer text is what a tool printed, and may have any words.
const CLAIM_CHARACTERS_MAX: usize = 600;

/// A tool call that was seen to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartedCall {
    /// Its id.
    pub id: Arc<str>,
    /// The sign of it, to stand behind `it`: `made the file started.txt`.
    pub sign: String,
}

/// The results that claim of a started tool that it never ran.
pub fn claims(messages: &[StoredMessage], started: &[StartedCall]) -> Vec<HistoryViolation> {
    let mut found = Vec::new();
    for block in messages.iter().flat_map(|message| &message.blocks) {
        let BlockKind::ToolResult { tool_use_id, .. } = block.block.kind() else { continue };
        let Some(call) = started.iter().find(|call| call.id == *tool_use_id) else { continue };
        let text = joined_words(&result_text(&block.block));
        if claims_that_it_never_ran(&text) {
            let text = format!(
                "tool call {} was started (it {}), and its result at {} says that it never ran: {}",
                call.id,
                call.sign,
                block.place,
                quoted(&text)
            );
            found.push(HistoryViolation::new("O-20", Some(tool_use_id), text));
        }
    }
    found
}

fn claims_that_it_never_ran(text: &str) -> bool {
    let is_short = text.chars().nth(CLAIM_CHARACTERS_MAX).is_none();
    let text = lines().filter_map(|line| line.strip_prefix(EXCEPTION)).fold(text.to_lowercase(), |text, phrase| text.replace(phrase, ""));
    is_short && phrases().any(|phrase| text.contains(phrase))
}

/// Whether a result tells in some way that its tool was stopped, failed, or was never run.
pub fn tells_of_stop(text: &str) -> bool {
    let text = text.to_lowercase();
    listed(STOPS).any(|part| text.contains(part))
}

/// The beginning of a line with a phrase that does not count.
const EXCEPTION: &str = "except ";

fn phrases() -> impl Iterator<Item = &'static str> {
    lines().filter(|line| !line.starts_with(EXCEPTION))
}

fn lines() -> impl Iterator<Item = &'static str> {
    listed(PHRASES)
}

/// The lines of a list, without its comments.
fn listed(list: &'static str) -> impl Iterator<Item = &'static str> {
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
            assert!(claims_that_it_never_ran(phrase));
        }
    }

    #[test]
    fn o_20_a_result_tells_of_a_stop_in_many_words() {
        for part in listed(STOPS) {
            assert_eq!(part, part.to_lowercase());
        }
        let told = [
            "^C",
            "Terminated",
            "exit code 137",
            "The user interrupted this command.",
            "[Request ended by user]",
            "Skipped.",
            "Vom Benutzer abgebrochen",
        ];
        assert!(told.iter().all(|text| tells_of_stop(text)), "{told:?}");
        let silent = ["", "(lost)", "(no output)", "looking", "ok"];
        assert!(silent.iter().all(|text| !tells_of_stop(text)), "{silent:?}");
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
            assert!(!claims_that_it_never_ran(text), "{text}");
        }
        for text in ["Tool call was not performed because the user interrupted.", "No command was run.", "Cancelled before execution."] {
            assert!(claims_that_it_never_ran(text), "{text}");
        }
    }
}
