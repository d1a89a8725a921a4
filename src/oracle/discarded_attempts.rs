//! O-5: nothing of a discarded attempt comes out after the discard, and tombstones cover all that was emitted of it.
//!
//! An attempt that another model takes over keeps what it emitted, closed with results; in every other case each of its messages is taken
//! back. Which of the two it is shows before the next request.

use super::OracleFindings;
use reenact_engine::contract::{Effect, Emission, Input, Note, RequestId, ToolRun};
use reenact_engine::emission::Transition;
use reenact_wire::prelude::*;

pub(super) const ORACLE: &str = "O-5";

/// The emissions of the prompts that are not over.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct DiscardOracle {
    /// Assistant messages, and results, that were not taken back.
    standing: Vec<(RequestId, Arc<str>)>,
    /// Attempts that were discarded.
    discarded: Vec<RequestId>,
    /// The one of which it is not known yet whether it is kept.
    undecided: Option<RequestId>,
    /// The tools that run and were not told to stop.
    running: Vec<ToolRun>,
    /// Attempts whose tools go on to their ends.
    left_running: Vec<RequestId>,
    /// The latest complete answer.
    answered: Option<RequestId>,
}

impl DiscardOracle {
    pub(super) fn on_effect(&mut self, effect: &Effect, found: &mut OracleFindings<'_>) {
        if let Some(id) = self.discarded_attempt(effect) {
            found.add(ORACLE, format!("something of attempt {id} came out after it was discarded"));
        }
        self.note_tools(effect);
        match effect {
            Effect::Emit(Emission::Assistant(message)) if message.error.is_none() => self.standing.push((message.id, message.uuid.clone())),
            Effect::Emit(Emission::User(message)) => self.standing.push((message.run.request, message.uuid.clone())),
            Effect::Emit(Emission::Answered { id, .. }) => self.answered = Some(*id),
            Effect::Emit(Emission::Tombstone { uuid }) => self.standing.retain(|(_, standing)| standing != uuid),
            Effect::Emit(Emission::ModelFallback { id, .. }) if self.undecided == Some(*id) => self.undecided = None,
            Effect::Note(Note::Discarded { id, .. } | Note::LeftRunning { id, .. }) => {
                self.discarded.push(*id);
                self.undecided = Some(*id);
            }
            Effect::Note(Note::Transition(Transition::MaxOutputTokensEscalate)) => {
                self.answered.into_iter().for_each(|id| self.check_taken_back(id, found));
            }
            Effect::Finished { prompt, .. } => {
                self.decide(found);
                self.standing.retain(|(id, _)| id.prompt != *prompt);
                self.discarded.retain(|id| id.prompt != *prompt);
            }
            _ => (),
        }
    }

    pub(super) fn on_input(&mut self, input: &Input) {
        if let Input::ToolEnded { run, .. } = input {
            self.running.retain(|running| running != run);
        }
    }

    /// The next attempt goes out: nobody waits for the tools of those before it, and they were told to stop.
    pub(super) fn on_request(&mut self, id: RequestId, found: &mut OracleFindings<'_>) {
        self.decide(found);
        let is_replaced = |of: RequestId| (of.prompt, of.turn) == (id.prompt, id.turn) && of.attempt < id.attempt;
        for run in self.running.extract_if(.., |run| is_replaced(run.request) && !self.left_running.contains(&run.request)) {
            found.add(ORACLE, format!("request {id} takes the place of attempt {}, whose tool {run} was not told to stop", run.request));
        }
    }

    fn note_tools(&mut self, effect: &Effect) {
        match effect {
            Effect::StartTool { run, .. } => self.running.push(*run),
            Effect::StopTool { run } => self.running.retain(|running| running != run),
            Effect::Note(Note::LeftRunning { id, .. }) => self.left_running.push(*id),
            Effect::Finished { prompt, .. } => {
                self.running.retain(|run| run.request.prompt != *prompt);
                self.left_running.retain(|id| id.prompt != *prompt);
            }
            _ => (),
        }
    }

    fn decide(&mut self, found: &mut OracleFindings<'_>) {
        if let Some(id) = self.undecided.take() {
            self.check_taken_back(id, found);
        }
    }

    fn check_taken_back(&self, id: RequestId, found: &mut OracleFindings<'_>) {
        found.ask(ORACLE);
        for (_, uuid) in self.standing.iter().filter(|(of, _)| *of == id) {
            found.add(ORACLE, format!("attempt {id} does not count, and {uuid} of it was not taken back"));
        }
    }

    /// The discarded attempt that an effect is about.
    fn discarded_attempt(&self, effect: &Effect) -> Option<RequestId> {
        if self.discarded.is_empty() {
            return None;
        }
        let id = match effect {
            Effect::StartTool { run, .. }
            | Effect::AskPermission { run, .. }
            | Effect::Emit(Emission::Progress { run, .. })
            | Effect::Note(Note::Tool { run, .. } | Note::ContextChanged { run, .. }) => run.request,
            Effect::Emit(Emission::Assistant(message)) => message.id,
            Effect::Emit(Emission::User(message)) => message.run.request,
            Effect::Emit(Emission::StreamEvent { id, .. } | Emission::Answered { id, .. }) => *id,
            _ => return None,
        };
        self.discarded.contains(&id).then_some(id)
    }
}
