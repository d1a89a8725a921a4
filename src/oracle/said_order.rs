//! O-28: in its order. The model's words stand in a request in the order in which they were said, and none of them stands behind what the user said later, or
//! behind the message that says that the user interrupted.
//!
//! A text that the user has said before is not looked for: it may be the earlier one.

use super::OracleRules;
use super::speech::{ModelSpeech, SpeechPlace};
use reenact_engine::contract::{Effect, Emission, Input, RequestId, Role};
use reenact_wire::block::{Block, BlockKind, Message};
use reenact_wire::prelude::*;

/// The texts that the user said to one agent.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct SaidOrder {
    /// The texts of prompts.
    said: Vec<Arc<str>>,
    /// The texts that no request holds yet.
    unsent: Vec<UnsentText>,
    /// The texts of interruptions, once for each.
    interruptions: Vec<Arc<str>>,
}

#[derive(Clone, Debug, Hash)]
struct UnsentText {
    text: Arc<str>,
    /// How many answers had begun before it.
    answers: usize,
}

/// Words of the model behind what came after them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OrderBreak {
    /// Behind words of a later answer, or of the same answer.
    ModelWords,
    UserText,
}

/// A block of messages, with who says it, and with how many answers had begun before it.
type PlacedBlock<'a> = (Role, &'a Block, Option<usize>);

impl SaidOrder {
    pub(super) fn on_input(&mut self, input: &Input, speech: Option<&ModelSpeech>) {
        if let Input::Prompt { content, .. } | Input::Interrupt { content, .. } = input {
            for block in &**content {
                if let BlockKind::Text(text) = block.kind()
                    && !self.said.iter().any(|said| **said == **text)
                {
                    let text: Arc<str> = Arc::from(&**text);
                    self.said.push(text.clone());
                    self.add(text, speech);
                }
            }
        }
    }

    pub(super) fn on_effect(&mut self, effect: &Effect, speech: Option<&ModelSpeech>) {
        if let Effect::Emit(Emission::Interrupted { text, .. }) = effect {
            self.interruptions.push(text.clone());
            self.add(text.clone(), speech);
        }
    }

    fn add(&mut self, text: Arc<str>, speech: Option<&ModelSpeech>) {
        self.unsent.push(UnsentText { text, answers: speech.map_or(0, ModelSpeech::count) });
    }

    /// The first block of these messages that is out of order. Texts of the user that stand in them are looked for no more. They are said anew, or they also
    /// take the place of messages that the last request had.
    pub(super) fn check<'a>(
        &mut self,
        rules: &OracleRules,
        (new, are_anew): (&'a [Arc<Message>], bool),
        speech: Option<&ModelSpeech>,
    ) -> Option<(&'a Block, OrderBreak)> {
        let speech = speech?;
        let mut blocks = self.placed(new, are_anew);
        // Words of an earlier session may be the same.
        blocks.retain(|(role, block, _)| *role == Role::User || !rules.is_given(block));
        // Most requests add the last answer alone, so the others are left out at first.
        let last = SpeechPlace { answer: speech.count().saturating_sub(1), block: 0 };
        first_break(&blocks, speech, last)?;
        first_break(&blocks, speech, SpeechPlace::default())
    }

    /// The blocks of these messages. Of texts that are alike, the last ones are those that were not sent before.
    fn placed<'a>(&mut self, new: &'a [Arc<Message>], are_anew: bool) -> Vec<PlacedBlock<'a>> {
        let count = |text: &str| new.iter().flat_map(|message| &message.content).filter(|block| is_text(block, text)).count();
        // Which interruption a text is about is not known where some of them are gone.
        let are_gone = |text: &str| self.interruptions.iter().filter(|said| ***said == *text).count() > count(text);
        let unknown: Vec<Arc<str>> = self.interruptions.iter().filter(|text| !are_anew && are_gone(text)).cloned().collect();
        let blocks = new.iter().rev().flat_map(|message| message.content.iter().rev().map(|block| (message.role, block)));
        let mut placed: Vec<PlacedBlock<'a>> = blocks.map(|(role, block)| (role, block, self.take(role, block))).collect();
        let is_unknown = |block: &Block| unknown.iter().any(|text| is_text(block, text));
        placed.iter_mut().filter(|(_, block, _)| is_unknown(block)).for_each(|(_, _, answers)| *answers = None);
        placed.reverse();
        placed
    }

    fn take(&mut self, role: Role, block: &Block) -> Option<usize> {
        let BlockKind::Text(text) = block.kind() else { return None };
        let at = self.unsent.iter().rposition(|said| role == Role::User && *said.text == **text)?;
        Some(self.unsent.remove(at).answers)
    }
}

fn is_text(block: &Block, text: &str) -> bool {
    matches!(block.kind(), BlockKind::Text(said) if **said == *text)
}

/// The first words that are out of order, if the model said all of them no earlier than at `start`.
fn first_break<'a>(blocks: &[PlacedBlock<'a>], speech: &ModelSpeech, start: SpeechPlace) -> Option<(&'a Block, OrderBreak)> {
    let (mut earliest, mut cause) = (start, OrderBreak::ModelWords);
    for (role, block, answers) in blocks {
        if let Some(place) = answers.map(|answer| SpeechPlace { answer, block: 0 }).filter(|place| *place > earliest) {
            (earliest, cause) = (place, OrderBreak::UserText);
        } else if *role == Role::Assistant {
            match speech.place(block, earliest) {
                Some(place) if place >= earliest => (earliest, cause) = (place, OrderBreak::ModelWords),
                Some(_) => return Some((block, cause)),
                None => (),
            }
        }
    }
    None
}

impl OrderBreak {
    pub(super) fn describe(self, id: RequestId, block: &Block) -> String {
        let behind = match self {
            Self::ModelWords => "behind words that the model said later",
            Self::UserText => "behind a message of the user that came later",
        };
        format!("request {id} has words of the model {behind}: {}", block.json().as_str())
    }
}
