//! O-20: when a tool was started, its result does not claim that it never ran.

use super::super::conversation::StoredMessage;
use super::{HistoryViolation, ViolationKind, joined_words, quoted};
use reenact_wire::block::BlockKind;
use reenact_wire::denied_start::{self, listed};
use reenact_wire::prelude::*;

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
        let text = joined_words(&block.block.result_text().unwrap_or_default());
        if is_claim(&text) {
            let text = format!(
                "tool call {} was started (it {}), and its result at {} says that it never ran: {}",
                call.id,
                call.sign,
                block.place,
                quoted(&text)
            );
            let kind = ViolationKind::DeniedStart;
            found.push(HistoryViolation::new("O-20", kind, Some(tool_use_id), vec![block.place.clone()], text));
        }
    }
    found
}

fn is_claim(text: &str) -> bool {
    text.chars().nth(CLAIM_CHARACTERS_MAX).is_none() && denied_start::claims(text).next().is_some()
}

/// Whether a result tells in some way that its tool was stopped, failed, or was never run.
pub fn tells_of_stop(text: &str) -> bool {
    let text = text.to_lowercase();
    listed(STOPS).any(|part| text.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
