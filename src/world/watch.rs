//! The moments of interrupts and of changes of files: checks every input and effect, and returns what is due (M-8). Both are counted together, in the order of
//! `Scenario::moments`.
//!
//! A tool's states are seen by the engine's notes and, so that an engine without notes can be interrupted too, by the contract's own inputs and
//! effects; each run reaches each state once, even if several events report it.

use alloc::collections::BTreeMap;

use super::setup::RunSetup;
use reenact_engine::contract::{Agent, Effect, Emission, Input, Note, RequestId, ToolRun};
use reenact_engine::emission::ToolState;
use reenact_scenario::boundary::BoundarySide;
use reenact_scenario::interrupt::{InterruptMoment, InterruptTrigger, ReachedState};
use reenact_wire::prelude::*;

/// The events so far.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub(crate) struct TriggerWatch {
    /// How often each interrupt's anchor was seen.
    seen: Vec<u32>,
    runs: BTreeMap<(Agent, ToolRun), SeenToolUse>,
    /// How many tool uses each answer had so far.
    tool_uses: BTreeMap<(Agent, RequestId), u32>,
    /// Whether the next input was looked at already, and put back for an interrupt to come before it.
    has_looked: bool,
}

/// The events of a tool use so far.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
struct SeenToolUse {
    name: Arc<str>,
    reached: Vec<ReachedState>,
}

/// Something that an anchor can be about.
enum TriggerSight<'a> {
    Event(&'a str),
    Tool(Arc<str>, ReachedState),
    Request(RequestId),
    Retry,
    Result,
    Terminal,
}

impl TriggerWatch {
    /// The interrupts that come before the engine sees this input. If one of them is an input, this one must be shown again after it.
    pub(crate) fn before(&mut self, setup: &RunSetup, agent: &Agent, input: &Input) -> Vec<usize> {
        let is_of_the_plan = matches!(input, Input::Cancel | Input::Interrupt { .. } | Input::MarkedDead { .. } | Input::CollapseStaged(_));
        if !setup.scenario.has_moments() || is_of_the_plan || core::mem::take(&mut self.has_looked) {
            return Vec::new();
        }
        let sight = match input {
            Input::Stream { event, .. } => Some(TriggerSight::Event(event.name())),
            Input::ToolEnded { run, .. } => self.unreached(agent, *run, ReachedState::Completed),
            _ => None,
        };
        sight.map(|sight| self.due_interrupts(setup, agent, &sight, BoundarySide::Before)).unwrap_or_default()
    }

    /// The next input was looked at already.
    pub(crate) fn expect_again(&mut self) {
        self.has_looked = true;
    }

    /// The interrupts that come when the engine has seen this input.
    pub(crate) fn after(&mut self, setup: &RunSetup, agent: &Agent, input: &Input) -> Vec<usize> {
        if !setup.scenario.has_moments() {
            return Vec::new();
        }
        match input {
            Input::Stream { event, .. } => self.due_interrupts(setup, agent, &TriggerSight::Event(event.name()), BoundarySide::After),
            Input::ToolEnded { run, .. } => self.reach(setup, agent, *run, ReachedState::Completed),
            _ => Vec::new(),
        }
    }

    /// The interrupts that come because of this effect.
    pub(crate) fn effect(&mut self, setup: &RunSetup, agent: &Agent, effect: &Effect) -> Vec<usize> {
        if !setup.scenario.has_moments() {
            return Vec::new();
        }
        match effect {
            Effect::Request { id, .. } => self.due_interrupts(setup, agent, &TriggerSight::Request(*id), BoundarySide::After),
            Effect::Finished { .. } => self.due_interrupts(setup, agent, &TriggerSight::Terminal, BoundarySide::After),
            Effect::Emit(Emission::ApiRetry { .. }) => self.due_interrupts(setup, agent, &TriggerSight::Retry, BoundarySide::After),
            Effect::Emit(Emission::Assistant(message)) => match message.block.as_tool_use() {
                Some(tool_use) => {
                    let run = self.next_run(agent, message.id);
                    self.name(agent, run, &tool_use.name);
                    self.reach(setup, agent, run, ReachedState::Queued)
                }
                None => Vec::new(),
            },
            Effect::Emit(Emission::User(message)) => {
                let mut happening = self.reach(setup, agent, message.run, ReachedState::Yielded);
                happening.extend(self.due_interrupts(setup, agent, &TriggerSight::Result, BoundarySide::After));
                happening
            }
            Effect::StartTool { run, tool_use } => {
                self.name(agent, *run, &tool_use.name);
                self.reach(setup, agent, *run, ReachedState::Executing)
            }
            Effect::Note(Note::Tool { run, state }) => match reached(*state) {
                Some(state) => self.reach(setup, agent, *run, state),
                None => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    fn due_interrupts(&mut self, setup: &RunSetup, agent: &Agent, sight: &TriggerSight<'_>, side: BoundarySide) -> Vec<usize> {
        self.seen.resize(setup.scenario.moments().count(), 0);
        let mut happening = Vec::new();
        for (index, moment) in setup.scenario.moments().enumerate() {
            let InterruptMoment::When { anchor, agent: whose, side: wanted, .. } = moment else { continue };
            // What the engine does can only be seen afterwards.
            let wanted = if anchor.is_an_input() { *wanted } else { BoundarySide::After };
            if wanted == side && whose == agent && fits(anchor, sight) {
                self.seen[index] += 1;
                if self.seen[index] == anchor.nth() {
                    happening.push(index);
                }
            }
        }
        happening
    }

    fn reach(&mut self, setup: &RunSetup, agent: &Agent, run: ToolRun, state: ReachedState) -> Vec<usize> {
        let Some(sight) = self.unreached(agent, run, state) else { return Vec::new() };
        self.runs.entry((agent.clone(), run)).or_default().reached.push(state);
        self.due_interrupts(setup, agent, &sight, BoundarySide::After)
    }

    /// The sight of a run in this state, unless it was there before.
    fn unreached(&self, agent: &Agent, run: ToolRun, state: ReachedState) -> Option<TriggerSight<'static>> {
        let seen = self.runs.get(&(agent.clone(), run));
        let is_new = seen.is_none_or(|seen| !seen.reached.contains(&state));
        is_new.then(|| TriggerSight::Tool(seen.map(|seen| seen.name.clone()).unwrap_or_default(), state))
    }

    fn name(&mut self, agent: &Agent, run: ToolRun, name: &Arc<str>) {
        self.runs.entry((agent.clone(), run)).or_default().name = name.clone();
    }

    /// The run that the answer's next tool use will be.
    fn next_run(&mut self, agent: &Agent, request: RequestId) -> ToolRun {
        let count = self.tool_uses.entry((agent.clone(), request)).or_default();
        *count += 1;
        ToolRun { request, index: *count - 1 }
    }
}

fn fits(anchor: &InterruptTrigger, sight: &TriggerSight<'_>) -> bool {
    match (anchor, sight) {
        (InterruptTrigger::Event { name, .. }, TriggerSight::Event(seen)) => **name == **seen,
        (InterruptTrigger::Tool { name, state, .. }, TriggerSight::Tool(seen, reached)) => name == seen && state == reached,
        (InterruptTrigger::Request { prompt, request, attempt }, TriggerSight::Request(id)) => {
            prompt.is_none_or(|prompt| prompt == id.prompt) && (*request, *attempt) == (id.turn, id.attempt)
        }
        (InterruptTrigger::Retry { .. }, TriggerSight::Retry)
        | (InterruptTrigger::Result { .. }, TriggerSight::Result)
        | (InterruptTrigger::Terminal { .. }, TriggerSight::Terminal) => true,
        _ => false,
    }
}

fn reached(state: ToolState) -> Option<ReachedState> {
    match state {
        ToolState::QueuedSafe | ToolState::QueuedExclusive => Some(ReachedState::Queued),
        ToolState::Executing => Some(ReachedState::Executing),
        ToolState::Completed => Some(ReachedState::Completed),
        ToolState::Yielded => Some(ReachedState::Yielded),
        ToolState::Stopping => None,
    }
}
