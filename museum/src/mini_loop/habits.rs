//! The decisions in which engines differ, one method each, with the honest answer.
//!
//! An exhibit of the museum overrides one of them. In an engine of your own they would be plain functions.

use core::fmt;
use core::hash::Hash;

use reenact::engine::contract::{Block, Environment, Json, RequestId, Role, Terminal, ToolInput, ToolRun, ToolUse};

use super::call::Call;
use super::history::{ContextFacts, History};
use super::scope::StepScope;
use super::tool_table::{HookAnswer, ToolEntry, ToolTable};

/// How a loop does what it does.
pub trait Habits: Clone + fmt::Debug + Default + PartialEq + Hash {
    /// Whether an input that names this request belongs to the call that is open. A request that was closed may still speak.
    fn is_answer(call: &Call, id: RequestId) -> bool {
        call.last().is_open && call.last().id == id
    }

    /// The input that a tool is started with: what the model wrote in this attempt, read strictly.
    fn tool_input(_call: &Call, tool_use: &ToolUse) -> ToolInput {
        tool_use.input.clone()
    }

    /// Which of the tool uses a person's answer is about.
    fn answered_question(entries: &[ToolEntry], run: ToolRun) -> Option<usize> {
        entries.iter().position(|entry| entry.run == run)
    }

    /// The input that hooks have put into the place of the model's: that of the hook that is defined last, whichever ended last.
    fn changed_input(answers: &[HookAnswer]) -> Option<Json> {
        let changes = answers.iter().filter_map(|answer| Some((answer.hook, answer.outcome.updated_input.as_ref()?)));
        changes.max_by_key(|(hook, _)| *hook).map(|(_, input)| input.clone())
    }

    /// The model is told this of a tool use that was stopped. It is not the same before its start and after it.
    fn stop_text(has_started: bool) -> &'static str {
        match has_started {
            true => "This turn was stopped while the tool ran. What it had done by then stands.",
            false => "This turn was stopped before the tool was started.",
        }
    }

    /// A prompt ends early: each tool use that has no result gets one.
    fn close_tool_uses(table: &mut ToolTable, scope: &mut StepScope<'_>) {
        table.finish_open(scope, Self::stop_text);
    }

    /// Whether a cancel reaches an agent that works for a tool use. It must reach all.
    fn cancel_reaches(_is_streaming: bool) -> bool {
        true
    }

    /// Whether the end of an agent is taken note of at this moment. It must be at any.
    fn takes_agent_end(_is_streaming: bool) -> bool {
        true
    }

    /// The model has answered.
    fn record_answer(history: &mut History, blocks: Vec<Block>) {
        history.push(Role::Assistant, blocks);
    }

    /// A request is about to be repeated: the conversation stays as it is.
    fn before_retry(_history: &mut History) {}

    /// A prompt is over: the session keeps of it what was sent.
    fn keep_prompt(_history: &mut History) {}

    /// Another model is asked than the one that signed the thinking in the conversation.
    fn strip_thinking(history: &mut History) {
        history.strip_thinking();
    }

    /// How many tokens a request may have before the conversation is summarised; `None` for any number. What the API has refused is too many.
    fn context_limit(env: &Environment, facts: &ContextFacts) -> Option<u64> {
        let limit = ContextFacts::limit(env, &facts.model);
        limit.into_iter().chain(facts.refused.map(|refused| refused.saturating_sub(1))).min()
    }

    /// The terminals of a prompt. `turns` is how many of its answers had tools that ran.
    fn terminals(terminal: Terminal, _turns: u32) -> Vec<Terminal> {
        vec![terminal]
    }
}

/// The loop as it should be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Hash, Eq)]
pub struct Honest;

impl Habits for Honest {}
