//! O-2: every emitted tool use has exactly one emitted result by the end of its prompt, and none has two.

use super::OracleFindings;
use reenact_engine::contract::{Effect, Emission, RequestId, ToolRun};
use reenact_wire::block::BlockKind;
use reenact_wire::prelude::*;

pub(super) const ORACLE: &str = "O-2";

/// The tool uses of the prompts that are not over.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct ResultOracle(Vec<EmittedUse>);

#[derive(Clone, Debug, Hash)]
struct EmittedUse {
    request: RequestId,
    id: Arc<str>,
    /// Its place among the tool uses of the answer, by which transcripts name it.
    run: ToolRun,
    /// The message that holds it.
    uuid: Arc<str>,
    is_answered: bool,
}

impl ResultOracle {
    pub(super) fn on_effect(&mut self, effect: &Effect, found: &mut OracleFindings<'_>) {
        match effect {
            Effect::Emit(Emission::Assistant(message)) => {
                if let Some(tool_use) = message.block.as_tool_use() {
                    let (id, uuid) = (tool_use.id.clone(), message.uuid.clone());
                    let index = self.0.iter().filter(|entry| entry.request == message.id).count() as u32;
                    let run = ToolRun { request: message.id, index };
                    self.0.push(EmittedUse { request: message.id, id, run, uuid, is_answered: false });
                }
            }
            Effect::Emit(Emission::User(message)) => {
                if let BlockKind::ToolResult { tool_use_id, .. } = message.block.kind() {
                    self.on_result(message.run.request, tool_use_id, found);
                }
            }
            // What is taken back is owed no result.
            Effect::Emit(Emission::Tombstone { uuid }) => self.0.retain(|entry| entry.uuid != *uuid),
            Effect::Finished { prompt, .. } => self.on_finished(*prompt, found),
            _ => (),
        }
    }

    /// A run may be over without the end of a prompt.
    pub(super) fn on_end(&mut self, found: &mut OracleFindings<'_>) {
        self.0.iter().for_each(|entry| entry.check(found));
    }

    /// The same id may be asked for more than once in an answer; each use takes one result.
    fn on_result(&mut self, request: RequestId, id: &Arc<str>, found: &mut OracleFindings<'_>) {
        let mut uses = self.0.iter_mut().filter(|entry| entry.request == request && entry.id == *id).peekable();
        let is_known = uses.peek().is_some();
        match uses.find(|entry| !entry.is_answered) {
            Some(entry) => entry.is_answered = true,
            None if is_known => {
                let run = self.0.iter().find(|entry| entry.request == request && entry.id == *id).map(|entry| format!("{} ", entry.run));
                found.add(ORACLE, format!("tool use {}({id}) of answer {request} has a second result", run.unwrap_or_default()));
            }
            None => found.add(ORACLE, format!("a result of {id} came out, which answer {request} did not ask for")),
        }
    }

    fn on_finished(&mut self, prompt: u32, found: &mut OracleFindings<'_>) {
        self.0.iter().filter(|entry| entry.request.prompt == prompt).for_each(|entry| entry.check(found));
        self.0.retain(|entry| entry.request.prompt != prompt);
    }
}

impl EmittedUse {
    fn check(&self, found: &mut OracleFindings<'_>) {
        found.ask(ORACLE);
        if !self.is_answered {
            found.add(ORACLE, format!("tool use {} ({}) of answer {} has no result at the end", self.run, self.id, self.request));
        }
    }
}
