//! O-24, of an answer that the user broke off: what came of its open text or thinking is given to consumers as aborted (Q-10a). Engines are asked that note their
//! phases: others may have no such message.

use super::OracleFindings;
use super::nothing_lost::ORACLE;
use super::request_kind::{RequestKind, SentRequest};
use super::speech::ModelSpeech;
use reenact_engine::contract::{Effect, Emission, Note, RequestId, Terminal};
use reenact_wire::prelude::*;

/// The answer of one agent that was closed within a block.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct AbortedWordOracle {
    is_noted: bool,
    /// The last request of the conversation itself: what a summary says is for nobody but the engine.
    asked: Option<RequestId>,
    /// The user has broken the prompt off. An answer that breaks by itself is asked for again.
    is_aborted: bool,
    closed: Option<RequestId>,
}

impl AbortedWordOracle {
    pub(super) fn on_request(&mut self, sent: SentRequest<'_>) {
        self.asked = Some(sent.id).filter(|_| sent.kind == RequestKind::Ordinary);
        (self.is_aborted, self.closed) = (false, None);
    }

    pub(super) fn on_abort(&mut self) {
        self.is_aborted = true;
    }

    /// `speech` has the words as they were before this effect.
    pub(super) fn on_effect(&mut self, effect: &Effect, speech: Option<&ModelSpeech>, found: &mut OracleFindings<'_>) {
        match effect {
            Effect::Note(Note::Phase(_)) => self.is_noted = true,
            Effect::CloseRequest { id }
                if self.is_noted
                    && self.is_aborted
                    && self.asked == Some(*id)
                    && speech.is_some_and(|speech| speech.is_within_words(*id)) =>
            {
                self.closed = Some(*id);
            }
            Effect::Emit(Emission::Aborted(message)) if self.closed == Some(message.id) => self.closed = None,
            Effect::Finished { terminal, .. } => {
                self.is_aborted = false;
                let closed = self.closed.take().filter(|_| *terminal == Terminal::AbortedStreaming);
                if let Some(id) = closed {
                    found.ask(ORACLE);
                    found.add(ORACLE, format!("consumers were not given the words at which answer {id} was broken off"));
                }
            }
            _ => (),
        }
    }
}
