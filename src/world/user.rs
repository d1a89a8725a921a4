//! The user: speaks when the session is free, and interferes when the scenario says so (M-8).
//!
//! Prompts and submitted messages share one row of numbers, in the order in which they come, because a message that is submitted while work
//! continues may become a prompt of its own. One that the engine takes into the conversation at once never has a terminal.

use super::setup::RunSetup;
use reenact_engine::contract::{Input, Terminal};
use reenact_engine::time::Time;
use reenact_scenario::interrupt::{InterruptKind, InterruptMoment};
use reenact_scenario::script::AnswerOrigin;
use reenact_scenario::statement::Statement;
use reenact_wire::prelude::*;

/// The user's prompts and messages so far, with their fates.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub(crate) struct SimulatedUser {
    /// The meaning of each number, from 1.
    numbers: Vec<AnswerOrigin>,
    /// How many scripted prompts were submitted.
    prompts: usize,
    /// Whether the next one is on its way.
    is_on_its_way: bool,
    /// Which interrupts happened.
    interrupts: Vec<usize>,
    /// Which of those came at a time at which nothing was left to happen to.
    too_late: Vec<usize>,
    /// Whether the prompt that is open was cancelled already.
    is_cancelled: bool,
    /// Whether anything was injected beside them.
    is_injected: bool,
    /// The numbers of messages that were taken into the conversation.
    absorbed: Vec<u32>,
    /// The numbers of the prompts that ended.
    finished: Vec<u32>,
    /// The terminal of each of them, in order.
    terminals: Vec<Terminal>,
}

impl SimulatedUser {
    /// When the next prompt comes, if the session is free and there is one: now, or later if the scenario says when.
    pub(crate) fn next_prompt(&mut self, setup: &RunSetup, now: Time) -> Option<Time> {
        if self.is_on_its_way || self.has_open() {
            return None;
        }
        let said = setup.scenario.prompts.get(self.prompts)?;
        self.is_on_its_way = true;
        Some(said.at.map_or(now, |at| (Time::ZERO + at).max(now)))
    }

    /// Submits the next prompt.
    pub(crate) fn speak(&mut self, setup: &RunSetup) -> Input {
        self.is_on_its_way = false;
        let said = &setup.scenario.prompts[self.prompts];
        self.prompts += 1;
        let prompt = self.number(AnswerOrigin::Prompt(count(self.prompts)));
        Input::Prompt { prompt, content: said.content.clone().into() }
    }

    /// Does what the interrupt at `index` of the scenario says.
    pub(crate) fn interrupt(&mut self, setup: &RunSetup, index: usize) -> Input {
        if self.is_too_late(setup, index) {
            self.too_late.push(index);
        }
        self.interrupts.push(index);
        match &setup.scenario.interrupts[index].kind {
            InterruptKind::Cancel => {
                self.is_cancelled = self.has_open();
                Input::Cancel
            }
            InterruptKind::Interrupt(said) => {
                let prompt = self.number(AnswerOrigin::Interrupt(count(index + 1)));
                Input::Interrupt { prompt, content: said.clone().into() }
            }
            InterruptKind::Dead(names) => Input::MarkedDead { names: names.clone().into() },
            InterruptKind::Collapse(staged) => Input::CollapseStaged(staged.clone()),
        }
    }

    /// A prompt ended; `false` when no such prompt was open, which counts for nothing.
    pub(crate) fn on_finished(&mut self, prompt: u32, terminal: &Terminal) -> bool {
        let is_known = prompt >= 1 && prompt as usize <= self.numbers.len();
        if !is_known || self.finished.contains(&prompt) || self.absorbed.contains(&prompt) {
            return false;
        }
        self.finished.push(prompt);
        self.is_cancelled = false;
        self.terminals.push(terminal.clone());
        true
    }

    /// A submitted message is part of the conversation now.
    pub(crate) fn on_absorbed(&mut self, prompt: u32) {
        self.absorbed.push(prompt);
    }

    /// The owners of the scripted answers for a request of this number: its own first, then those of the messages that were taken in.
    pub(crate) fn origins(&self, number: u32) -> Vec<AnswerOrigin> {
        let of = |number: u32| (number as usize).checked_sub(1).and_then(|index| self.numbers.get(index).copied());
        let own = of(number).unwrap_or(AnswerOrigin::Prompt(number));
        core::iter::once(own).chain(self.absorbed.iter().filter_map(|number| of(*number))).collect()
    }

    /// Something was injected that the scenario does not say.
    pub(crate) fn on_injected(&mut self) {
        self.is_injected = true;
    }

    /// Whether the user interfered.
    pub(crate) fn has_interfered(&self, setup: &RunSetup) -> bool {
        let is_the_users = |index: &usize| setup.scenario.interrupts[*index].kind.is_the_users();
        self.is_injected || self.interrupts.iter().any(is_the_users)
    }

    /// The terminal of each prompt that ended, in order.
    pub(crate) fn terminals(&self) -> &[Terminal] {
        &self.terminals
    }

    /// Whether all prompts were submitted, and answered or merged.
    pub(crate) fn is_done(&self, setup: &RunSetup) -> bool {
        self.prompts == setup.scenario.prompts.len() && !self.has_open()
    }

    /// Which interrupts happened while there was something for them to happen to (F-10).
    pub(crate) fn passed(&self) -> impl Iterator<Item = Statement> {
        self.interrupts.iter().filter(|index| !self.too_late.contains(index)).map(|index| Statement::Interrupt(*index))
    }

    /// A second cancel finds nothing more to end. Who waits for something else sees it come. A time may be one at which all is over: then there is
    /// nothing to cancel, and no request that would show what is dead or summarised. A message always begins something.
    fn is_too_late(&self, setup: &RunSetup, index: usize) -> bool {
        let interrupt = &setup.scenario.interrupts[index];
        let has_more = self.has_open() || self.prompts < setup.scenario.prompts.len();
        match (&interrupt.moment, &interrupt.kind) {
            (_, InterruptKind::Cancel) if self.is_cancelled => true,
            (InterruptMoment::When { .. }, _) | (_, InterruptKind::Interrupt(_)) => false,
            (InterruptMoment::At(_), InterruptKind::Cancel) => !self.has_open(),
            (InterruptMoment::At(_), InterruptKind::Dead(_) | InterruptKind::Collapse(_)) => !has_more,
        }
    }

    /// The names of the interrupts whose moment never came.
    pub(crate) fn missed(&self, setup: &RunSetup) -> Vec<Arc<str>> {
        let missed = (0..setup.scenario.interrupts.len()).filter(|index| !self.interrupts.contains(index));
        let name = |index: usize| format!("{} {}", setup.scenario.interrupts[index].kind.section(), place_in_section(setup, index)).into();
        missed.map(name).collect()
    }

    fn has_open(&self) -> bool {
        self.terminals.len() + self.absorbed.len() < self.numbers.len()
    }

    fn number(&mut self, origin: AnswerOrigin) -> u32 {
        self.numbers.push(origin);
        count(self.numbers.len())
    }
}

/// The how many-th of its section it is, from 1.
fn place_in_section(setup: &RunSetup, index: usize) -> usize {
    let interrupts = &setup.scenario.interrupts;
    interrupts[..=index].iter().filter(|interrupt| interrupt.kind.section() == interrupts[index].kind.section()).count()
}

pub(super) fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
