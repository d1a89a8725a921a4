//! Tool uses that a loop of its own carries out: a conversation with another model, for one task.

use std::sync::Arc;

use reenact::engine::contract::{Agent, Block, Effects, Environment, Input, Terminal, Time, ToolRun, ToolSafety, ToolUse};
use reenact::engine::key::KeylessValue;
use reenact::engine::settings::AgentTool;

use super::MiniLoop;
use super::habits::Habits;
use super::scope::StepScope;

/// The only prompt of an agent.
const PROMPT: u32 = 1;

/// An agent at work.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct SubAgent<H: Habits> {
    /// Its address.
    pub address: Agent,
    /// The tool use that it works for.
    pub run: ToolRun,
    /// It follows from the tool use.
    env: KeylessValue<Arc<Environment>>,
    inner: Box<MiniLoop<H>>,
}

impl<H: Habits> SubAgent<H> {
    /// Gives the task of a tool use to a new agent. It has the tools that only read, so it can never be in the way of its parent's.
    pub fn start(scope: &mut StepScope<'_>, run: ToolRun, tool_use: &ToolUse, tool: &AgentTool) -> Self {
        let input = tool_use.input.to_json().to_value();
        let text = |key: &str| input.get(key).and_then(|text| text.as_str());
        let mut env = scope.env.clone();
        env.tools.retain(|tool| tool.agent.is_none() && tool.safe == ToolSafety::Always);
        env.history.clear();
        env.settings.model = text("model").map_or_else(|| tool.fast_model.clone(), Arc::from);
        let mut agent = Self { address: Agent::child(&tool_use.id), run, env: KeylessValue(Arc::new(env)), inner: Box::default() };
        let content = [Block::text(text("prompt").unwrap_or_default())].into();
        agent.act(scope, &Input::Prompt { prompt: PROMPT, content });
        agent
    }

    /// Takes an input that came for it.
    pub fn step(&mut self, now: Time, input: &Input, effects: &mut Effects) {
        self.inner.step_alone(&self.env, now, input, effects);
    }

    /// The user stopped all work.
    pub fn cancel(&mut self, scope: &mut StepScope<'_>) {
        self.act(scope, &Input::Cancel);
    }

    /// The attempt that asked for it has failed.
    pub fn discard(&mut self, scope: &mut StepScope<'_>) {
        let (now, Self { address, env, inner, .. }) = (scope.now, self);
        scope.effects.for_agent(address.clone(), |effects| inner.discard(env, now, effects));
    }

    /// Whether it has ended.
    pub fn is_idle(&self) -> bool {
        self.inner.is_idle()
    }

    /// Whether its model speaks.
    pub fn is_streaming(&self) -> bool {
        self.inner.is_streaming()
    }

    /// The result of the tool use, and whether it is an error.
    pub fn result(&self) -> (&str, bool) {
        match self.inner.outcome() {
            Some((Terminal::Completed, text)) if !text.is_empty() => (text, false),
            Some((Terminal::Completed, _)) => ("The agent ended without a word.", false),
            _ => ("The agent failed.", true),
        }
    }

    fn act(&mut self, scope: &mut StepScope<'_>, input: &Input) {
        let (now, Self { address, env, inner, .. }) = (scope.now, self);
        scope.effects.for_agent(address.clone(), |effects| inner.step_alone(env, now, input, effects));
    }
}
