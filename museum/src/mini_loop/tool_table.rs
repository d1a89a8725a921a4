//! The tool uses of one answer, and their results: the data that [`tools`](super::tools) works on.

use std::sync::Arc;

use reenact::engine::contract::{Block, Emission, HookOutcome, Json, PermissionWord, RequestId, TimerId, ToolInput, ToolRun, ToolUse};
use reenact::engine::emission::UserMessage;
use reenact::engine::settings::ResultOrder;

use super::scope::StepScope;

/// The tool uses of the answer that is worked on.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct ToolTable {
    /// In the order in which the model asked for them.
    pub entries: Vec<ToolEntry>,
    /// Their results as they came out, each with its place among the entries.
    pub results: Vec<(usize, Block)>,
}

/// One tool use.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct ToolEntry {
    /// Its name.
    pub run: ToolRun,
    /// The tool use as it is run: a hook or a person may have changed the input.
    pub tool_use: Arc<ToolUse>,
    /// The message that asked for it.
    pub answers: Arc<str>,
    /// Whether it may run beside others.
    pub is_safe: bool,
    /// The decision about it so far.
    pub word: PermissionWord,
    /// How far it is.
    pub stage: ToolStage,
}

/// How far a tool use is.
#[derive(Clone, Debug, PartialEq, Hash)]
pub enum ToolStage {
    /// It waits for others.
    Queued,
    /// The tool looks at its input.
    Checking,
    /// Hooks are asked.
    Hooks {
        /// Those that have not answered, by their place among those of the environment.
        open: Vec<u32>,
        /// The answers, in the order in which they came.
        answers: Vec<HookAnswer>,
        /// Rings when nobody waits any longer.
        timer: TimerId,
    },
    /// A person is asked.
    Asking,
    /// It runs.
    Running,
    /// It has its result.
    Done,
}

/// The answer of a hook.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct HookAnswer {
    /// The place of the hook among those of the environment.
    pub hook: u32,
    /// Its word.
    pub outcome: Arc<HookOutcome>,
}

impl ToolEntry {
    /// The name of the message with its result.
    fn result_name(&self) -> Arc<str> {
        let ToolRun { request: RequestId { prompt, turn, attempt }, index } = self.run;
        format!("p{prompt}.r{turn}.a{attempt}.t{index}").into()
    }
}

impl ToolTable {
    /// Takes back the results that came out: the attempt that asked for them does not count.
    pub fn take_back(&mut self, scope: &mut StepScope<'_>) {
        let Self { entries, results } = core::mem::take(self);
        for (at, _) in results {
            scope.emit(Emission::Tombstone { uuid: entries[at].result_name() });
        }
    }

    /// Adds a tool use of the answer to `request`. An input that cannot be read is nobody's to run beside.
    pub fn push(&mut self, request: RequestId, tool_use: ToolUse, answers: &Arc<str>, is_safe: bool) {
        let index = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        let is_safe = is_safe && matches!(tool_use.input, ToolInput::Valid(_));
        self.entries.push(ToolEntry {
            run: ToolRun { request, index },
            tool_use: Arc::new(tool_use),
            answers: answers.clone(),
            is_safe,
            word: PermissionWord::Allow,
            stage: ToolStage::Queued,
        });
    }

    /// The place of a tool use that has no result yet.
    pub fn place(&self, run: ToolRun) -> Option<usize> {
        self.entries.iter().position(|entry| entry.run == run && entry.stage != ToolStage::Done)
    }

    /// Gives a tool use its result.
    pub fn finish(&mut self, scope: &mut StepScope<'_>, at: usize, content: &Json, is_error: bool) {
        let entry = &mut self.entries[at];
        entry.stage = ToolStage::Done;
        let block = Block::tool_result(&entry.tool_use.id, content, is_error);
        let message = UserMessage {
            uuid: entry.result_name(),
            run: entry.run,
            answers: entry.answers.clone(),
            block: block.clone(),
            structured: None,
            took: None,
        };
        scope.emit(Emission::User(Arc::new(message)));
        self.results.push((at, block));
    }

    /// The same with a text of the loop's own, as an error.
    pub fn refuse(&mut self, scope: &mut StepScope<'_>, at: usize, text: &str) {
        self.finish(scope, at, &Json::from_value(text), true);
    }

    /// Gives what has no result a text instead; `text` is told whether the tool was started.
    pub fn finish_open(&mut self, scope: &mut StepScope<'_>, text: impl Fn(bool) -> &'static str) {
        for at in 0..self.entries.len() {
            if self.entries[at].stage != ToolStage::Done {
                let has_started = self.entries[at].stage == ToolStage::Running;
                self.refuse(scope, at, text(has_started));
            }
        }
    }

    /// Whether each tool use has its result.
    pub fn is_done(&self) -> bool {
        self.entries.iter().all(|entry| entry.stage == ToolStage::Done)
    }

    /// Takes all results out, in the order of the settings, and forgets the tool uses.
    pub fn take_results(&mut self, order: ResultOrder) -> Vec<Block> {
        self.entries.clear();
        if order == ResultOrder::ToolUse {
            self.results.sort_by_key(|(at, _)| *at);
        }
        self.results.drain(..).map(|(_, block)| block).collect()
    }
}
