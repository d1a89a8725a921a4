//! Structured values on their way through a command line (W-2).

use alloc::collections::BTreeMap;

use reenact_wire::json::Json;
use reenact_wire::prelude::*;

/// A text that stands for a structured value while words are cut and joined. Each value has a number in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Sentinel {
    text: String,
}

impl Sentinel {
    /// A sentinel that occurs neither in the command nor in a value of a variable. `random` comes from the keyed randomness of the run: so nobody writes
    /// a text today that is taken for a value tomorrow.
    pub fn new(random: u128, command: &str, variables: &BTreeMap<Arc<str>, Json>) -> Self {
        let is_taken = |text: &str| command.contains(text) || variables.values().any(|value| value.as_str().contains(text));
        let mut sentinels = (0..).map(|offset| Self { text: format!("value-{:032x}-", random.wrapping_add(offset)) });
        // A command has fewer places than there are numbers.
        sentinels.find(|sentinel| !is_taken(&sentinel.text)).unwrap_or(Self { text: String::new() })
    }

    /// The text that stands for the value of this number.
    pub(crate) fn placeholder(&self, number: usize) -> String {
        format!("{}{number};", self.text)
    }

    /// A word cut at its sentinels: texts, and numbers of values between them.
    pub(crate) fn cut<'a>(&self, word: &'a str) -> Vec<SentinelPiece<'a>> {
        let mut pieces = Vec::new();
        let mut rest = word;
        while let Some((before, after)) = rest.split_once(self.text.as_str()) {
            let Some((number, behind)) = after.split_once(';').and_then(|(number, behind)| Some((number.parse().ok()?, behind))) else {
                break;
            };
            pieces.extend((!before.is_empty()).then_some(SentinelPiece::Text(before)));
            pieces.push(SentinelPiece::Value(number));
            rest = behind;
        }
        pieces.extend((!rest.is_empty() || pieces.is_empty()).then_some(SentinelPiece::Text(rest)));
        pieces
    }
}

/// A piece of a word.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum SentinelPiece<'a> {
    Text(&'a str),
    /// The value of this number.
    Value(usize),
}
