//! The texts of our own loop: for the model, where a scenario can replace them (T-31), and for the user.
//!
//! ```text
//!   TextName + parts ──> replaced text, else that of the set, else ours ──> text with the parts in it
//! ```

mod table;

use alloc::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use self::table::TextName;
use reenact_wire::prelude::*;

/// The texts that the model sees from the engine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelTexts {
    /// Where those come from that are not replaced.
    pub set: TextSet,
    /// Texts by their name, with parts in curly brackets.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub replaced: BTreeMap<TextName, Arc<str>>,
}

words! {
    /// A shipped set of texts.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum TextSet default Reenact {
        /// Our own words.
        Reenact = "reenact",
        /// The words that real clients were seen to send; our own where that was not observed.
        Observed = "observed",
    }
}

impl ModelTexts {
    /// Whether all are our own.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// A text as it stands in the table, with its parts in curly brackets.
    pub fn template(&self, name: TextName) -> &str {
        match (self.replaced.get(&name), self.set) {
            (Some(text), _) => text,
            (None, TextSet::Observed) => name.observed().unwrap_or(name.ours()),
            (None, TextSet::Reenact) => name.ours(),
        }
    }

    /// A text with its parts. What stands in a part is no part itself, whatever it says.
    pub fn say(&self, name: TextName, parts: &[(&str, &str)]) -> String {
        let value = |part: &str| parts.iter().find(|(known, _)| *known == part).map(|(_, value)| *value);
        let mut said = String::new();
        pieces(self.template(name), |piece| match piece {
            TextPiece::Words(words) => said.push_str(words),
            TextPiece::Part(part) => said.push_str(value(part).unwrap_or_default()),
        });
        said
    }

    /// Whether another text begins with the words of this one, so that it is not known by them. Of our own texts none does.
    pub fn is_ambiguous(&self, name: TextName) -> bool {
        let words = self.template(name);
        let begins_alike = |other: &TextName| *other != name && self.template(*other).starts_with(words);
        !self.replaced.is_empty() && !words.is_empty() && TextName::ALL.iter().any(begins_alike)
    }

    /// Whether one of them has these words.
    pub fn has_words(&self, words: &str) -> bool {
        TextName::ALL.iter().any(|name| {
            let mut is_there = false;
            pieces(self.template(*name), |piece| is_there |= matches!(piece, TextPiece::Words(said) if said.contains(words)));
            is_there
        })
    }
}

/// A piece of a text of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum TextPiece<'a> {
    /// Said as it is.
    Words(&'a str),
    /// Put in: its name.
    Part(&'a str),
}

/// Goes through the pieces of a text. Brackets around anything but a name are words.
fn pieces<'a>(text: &'a str, mut each: impl FnMut(TextPiece<'a>)) {
    let mut words = 0;
    for (open, _) in text.match_indices('{') {
        let inner = text[open + 1..].split('}').next().unwrap_or_default();
        let is_name = !inner.is_empty() && inner.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        let end = open + 1 + inner.len();
        if is_name && text[end..].starts_with('}') {
            each(TextPiece::Words(&text[words..open]));
            each(TextPiece::Part(inner));
            words = end + 1;
        }
    }
    each(TextPiece::Words(&text[words..]));
}

/// The names of the parts of a text, in order.
pub fn parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    pieces(text, |piece| {
        if let TextPiece::Part(part) = piece {
            parts.push(part);
        }
    });
    parts
}

/// The texts of our own loop for the user, as pieces between their arguments. They answer the question whether a text can occur at all (F-10). An
/// expectation that one of these does not occur asks something, though no run of its scenario says it. A test holds each piece against the
/// transcripts of the shipped scenarios, so that a changed text must change here as well.
pub const USER_TEXTS: [&str; 8] = [
    "max_output_tokens: the answer reached the output limit before it was complete",
    "the prompt is too long: about",
    "the service is overloaded:",
    "background work is not retried when the API is overloaded",
    "overload errors in a row",
    "gave up after",
    "the budget is used up:",
    "The conversation is cleared.",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(name: TextName, text: &str) -> ModelTexts {
        ModelTexts { replaced: [(name, text.into())].into(), ..ModelTexts::default() }
    }

    #[test]
    fn t_31_a_text_is_the_replaced_one_else_that_of_the_set_else_ours() {
        let name = TextName::Interrupted;
        assert_eq!(ModelTexts::default().template(name), "[The user interrupted.]");
        let observed = ModelTexts { set: TextSet::Observed, ..ModelTexts::default() };
        assert_eq!(observed.template(name), "[Request interrupted by user]");
        assert_eq!(observed.template(TextName::NoResult), TextName::NoResult.ours(), "not observed");
        assert_eq!(ModelTexts { set: TextSet::Observed, ..replaced(name, "Stop.") }.template(name), "Stop.");
    }

    #[test]
    fn o_35_a_text_is_ambiguous_where_another_one_begins_like_it() {
        let with = |prompt: &str| {
            let mut texts = replaced(TextName::TokenBudget, "What now? {percent}");
            texts.replaced.insert(TextName::SummaryPrompt, prompt.into());
            texts.is_ambiguous(TextName::SummaryPrompt)
        };
        assert!(with("What") && !with("What then?") && !with(""));
        for set in [TextSet::Reenact, TextSet::Observed] {
            let texts = ModelTexts { set, ..replaced(TextName::TokenBudget, "Go on.") };
            assert!(!texts.is_ambiguous(TextName::SummaryPrompt), "{set:?}");
        }
    }

    #[test]
    fn t_31_parts_are_put_in_once_and_all_else_is_said_as_it_is() {
        let say = |text: &str| replaced(TextName::UnknownTool, text).say(TextName::UnknownTool, &[("tool", "{tools}"), ("tools", "Read")]);
        assert_eq!(say("{tool} {tools}"), "{tools} Read", "what stands in a part is no part itself");
        assert_eq!(say("{tool}{tool}"), "{tools}{tools}");
        assert_eq!(say("{} {\"a\": {tools}} {Tool} {tools"), "{} {\"a\": Read} {Tool} {tools");
        assert_eq!(parts("{a} {b c} {d_e}"), ["a", "d_e"]);
    }

    #[test]
    fn t_31_a_text_of_the_second_set_has_no_part_that_ours_has_not() {
        for name in TextName::ALL {
            let (ours, observed) = (parts(name.ours()), parts(name.observed().unwrap_or_default()));
            assert!(observed.iter().all(|part| ours.contains(part)), "{name:?}: {observed:?} of {ours:?}");
            assert!(!name.ours().trim().is_empty() && name.observed().is_none_or(|text| !text.trim().is_empty()), "{name:?}");
        }
        assert!(TextName::ALL.iter().filter(|name| name.observed().is_some()).count() >= 7);
    }

    #[test]
    fn t_31_texts_are_written_with_their_names_and_defaults_left_out() {
        let texts = replaced(TextName::AgentTask, "Task {number}");
        let json = serde_json::to_string(&texts).unwrap();
        assert_eq!(json, r#"{"set":"reenact","replaced":{"agent_task":"Task {number}"}}"#);
        assert_eq!(serde_json::from_str::<ModelTexts>(&json).unwrap(), texts);
        for name in TextName::ALL {
            assert_eq!(serde_json::to_string(name).unwrap(), format!("\"{}\"", name.key()));
        }
        let settings = serde_json::to_string(&crate::settings::Settings::default()).unwrap();
        assert!(!settings.contains("texts"), "{settings}");
    }

    #[test]
    fn t_31_the_page_shows_the_table() {
        let page = include_str!("../../docs/texts.md");
        let cell = |text: &str| format!("`{}`", text.replace('\n', "⏎"));
        for name in TextName::ALL {
            let observed = name.observed().map_or_else(|| String::from("*not observed*"), cell);
            let row = format!("| `{}` | {} | {} | {observed} |", name.key(), name.meaning(), cell(name.ours()));
            assert!(page.contains(&row), "docs/texts.md lacks this row:\n{row}");
        }
        let rows = page.split("## The table").nth(1).unwrap().lines().filter(|line| line.starts_with("| `"));
        assert_eq!(rows.count(), TextName::ALL.len(), "each row is of a text that there is");
    }
}
