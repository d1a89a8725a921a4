//! The scenario's interrupts, as acts that a client in virtual time does to itself (M-8, G-1).
//!
//! Most moments are known when an answer is: the world has all of its events. Moments of tools and prompts are known when the client notes them.

use alloc::collections::BTreeMap;

use serde_json::{Value, json};

use super::world_events::{WorldEvent, WorldEvents};
use reenact_engine::contract::{Agent, RequestId};
use reenact_engine::time::{Micros, Time};
use reenact_scenario::boundary::BoundarySide;
use reenact_scenario::interrupt::{InterruptKind, InterruptMoment, InterruptTrigger, ReachedState, ScriptedInterrupt};
use reenact_scenario::plan::ClientInterrupt;
use reenact_scenario::statement::Statement;
use reenact_wire::block::{Block, BlockKind};
use reenact_wire::prelude::*;
use reenact_world::setup::RunSetup;

/// How far the scenario's interrupts are.
#[derive(Clone, Debug, Default)]
pub(super) struct ScriptedActs {
    /// By their places in the scenario.
    states: Vec<ActState>,
    /// How often each name of a stream event was delivered.
    stream_events: BTreeMap<Arc<str>, u32>,
    tools: BTreeMap<(Arc<str>, ReachedState), u32>,
    terminals: u32,
}

/// How far an interrupt is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ActState {
    /// Its moment is not known.
    #[default]
    Awaited,
    /// The client knows its moment.
    Told,
    /// It happened.
    Done,
}

/// The moment of an act, as the client is told.
enum ActMoment {
    At(Time),
    Boundary(String),
}

impl ScriptedActs {
    /// The interrupts whose moments are known from the beginning: those at times, and those of the plan.
    pub(super) fn at_the_beginning(&mut self, setup: &RunSetup) -> Vec<Value> {
        self.states.resize(setup.scenario.interrupts.len(), ActState::Awaited);
        let mut acts = Vec::new();
        for (index, interrupt) in setup.scenario.interrupts.iter().enumerate() {
            if let InterruptMoment::At(at) = &interrupt.moment {
                acts.extend(self.told(index, interrupt, ActMoment::At(Time::ZERO + *at)));
            }
        }
        acts.extend(setup.scenario.plan.client_interrupts.iter().map(planned_act));
        acts
    }

    /// The notes that the interrupts wait for.
    pub(super) fn watched_notes(setup: &RunSetup) -> Vec<&'static str> {
        let anchors = || {
            setup.scenario.interrupts.iter().filter_map(|interrupt| match &interrupt.moment {
                InterruptMoment::When { anchor, .. } => Some(anchor),
                InterruptMoment::At(_) => None,
            })
        };
        let tools = anchors().any(|anchor| matches!(anchor, InterruptTrigger::Tool { .. }));
        let terminals = anchors().any(|anchor| matches!(anchor, InterruptTrigger::Terminal { .. }));
        [("tools", tools), ("terminals", terminals)].into_iter().filter(|(_, is_watched)| *is_watched).map(|(name, _)| name).collect()
    }

    /// Events reached the client.
    pub(super) fn on_delivered(&mut self, setup: &RunSetup, events: &[WorldEvent]) {
        if setup.scenario.interrupts.is_empty() {
            return;
        }
        for name in events.iter().flat_map(|event| &event.stream_events) {
            *self.stream_events.entry(name.clone()).or_default() += 1;
        }
    }

    /// A request is sent, and its answer is under way.
    pub(super) fn on_request(
        &mut self,
        setup: &RunSetup,
        now: Time,
        asked: Option<(&Agent, RequestId)>,
        events: &WorldEvents,
    ) -> Vec<Value> {
        let mut acts = Vec::new();
        for (index, interrupt, anchor, side, offset) in self.awaited(setup) {
            let moment = match anchor {
                InterruptTrigger::Request { prompt, request, attempt } => asked
                    .filter(|(agent, id)| {
                        agent.is_root() && prompt.is_none_or(|prompt| prompt == id.prompt) && (*request, *attempt) == (id.turn, id.attempt)
                    })
                    .map(|_| ActMoment::At(now + offset)),
                InterruptTrigger::Event { name, nth } => self.stream_moment(events, name, *nth, (side, offset)),
                _ => None,
            };
            acts.extend(moment.and_then(|moment| self.told(index, interrupt, moment)));
        }
        acts
    }

    /// A tool starts or ends. `ends` is the name of the event that ends it and its time, where the world has one.
    pub(super) fn on_tool(
        &mut self,
        setup: &RunSetup,
        now: Time,
        name: &Arc<str>,
        state: ReachedState,
        ends: Option<(&str, Time)>,
    ) -> Vec<Value> {
        let seen = self.tools.entry((name.clone(), state)).or_default();
        *seen += 1;
        let seen = *seen;
        let mut acts = Vec::new();
        for (index, interrupt, anchor, side, offset) in self.awaited(setup) {
            let InterruptTrigger::Tool { name: wanted, state: of, nth } = anchor else { continue };
            if (wanted, *of, *nth) != (name, state, seen) {
                continue;
            }
            let moment = match ends {
                Some((event, at)) => event_moment(event, at, side, offset),
                None => ActMoment::At(now + offset),
            };
            acts.extend(self.told(index, interrupt, moment));
        }
        acts
    }

    /// A prompt has ended.
    pub(super) fn on_terminal(&mut self, setup: &RunSetup, now: Time) -> Vec<Value> {
        self.terminals += 1;
        let seen = self.terminals;
        let mut acts = Vec::new();
        for (index, interrupt, anchor, _, offset) in self.awaited(setup) {
            if matches!(anchor, InterruptTrigger::Terminal { nth } if *nth == seen) {
                acts.extend(self.told(index, interrupt, ActMoment::At(now + offset)));
            }
        }
        acts
    }

    /// The client did what it was told: the first act of this kind.
    pub(super) fn on_done(&mut self, setup: &RunSetup, is_cancel: bool) {
        let is_it = |index: &usize| {
            self.states[*index] == ActState::Told && matches!(setup.scenario.interrupts[*index].kind, InterruptKind::Cancel) == is_cancel
        };
        if let Some(index) = (0..self.states.len()).find(is_it) {
            self.states[index] = ActState::Done;
        }
    }

    /// How many of them happened.
    pub(super) fn done_count(&self) -> usize {
        self.states.iter().filter(|state| **state == ActState::Done).count()
    }

    /// The interrupts that happened (F-10).
    pub(super) fn passed(&self) -> impl Iterator<Item = Statement> + '_ {
        (0..self.states.len()).filter(|index| self.states[*index] == ActState::Done).map(Statement::Interrupt)
    }

    /// The interrupts that never came and had to, in words.
    pub(super) fn missed(&self, setup: &RunSetup) -> Vec<String> {
        let is_missed =
            |(index, interrupt): &(usize, &ScriptedInterrupt)| self.states.get(*index) != Some(&ActState::Done) && !interrupt.may;
        let missed = setup.scenario.interrupts.iter().enumerate().filter(is_missed);
        missed
            .map(|(index, interrupt)| {
                let section = interrupt.kind.section();
                format!("[[{section}]] {} did not happen: its moment never came, or the client cannot do it", index + 1)
            })
            .collect()
    }

    fn awaited<'a>(&self, setup: &'a RunSetup) -> Vec<(usize, &'a ScriptedInterrupt, &'a InterruptTrigger, BoundarySide, Micros)> {
        let interrupts = setup.scenario.interrupts.iter().enumerate().filter(|(index, _)| self.states[*index] == ActState::Awaited);
        interrupts
            .filter_map(|(index, interrupt)| match &interrupt.moment {
                InterruptMoment::When { anchor, agent, side, offset } if agent.is_root() => {
                    Some((index, interrupt, anchor, *side, *offset))
                }
                _ => None,
            })
            .collect()
    }

    /// When the nth stream event of this name comes, if it is under way.
    fn stream_moment(&self, events: &WorldEvents, name: &Arc<str>, nth: u32, (side, offset): (BoundarySide, Micros)) -> Option<ActMoment> {
        let mut seen = self.stream_events.get(name).copied().unwrap_or_default();
        events.iter().find_map(|event| {
            let before = seen;
            seen += u32::try_from(event.stream_events.iter().filter(|own| *own == name).count()).unwrap_or(u32::MAX);
            (before < nth && nth <= seen).then(|| event_moment(&event.name, event.at, side, offset))
        })
    }

    /// The act, which counts as told from now on. What no client can do is never told.
    fn told(&mut self, index: usize, interrupt: &ScriptedInterrupt, moment: ActMoment) -> Option<Value> {
        let mut act = match &interrupt.kind {
            InterruptKind::Cancel => json!({ "kind": "cancel" }),
            InterruptKind::Interrupt(said) => json!({ "kind": "message", "text": text_of(said) }),
            InterruptKind::Dead(_) | InterruptKind::Collapse(_) => return None,
        };
        match moment {
            ActMoment::At(at) => act["at"] = at.0.into(),
            ActMoment::Boundary(name) => act["boundary"] = name.into(),
        }
        self.states[index] = ActState::Told;
        Some(act)
    }
}

/// Right after an event, or so much later. The instant before an event is its own: acts come before events of the same time.
fn event_moment(event: &str, at: Time, side: BoundarySide, offset: Micros) -> ActMoment {
    match (side, offset) {
        (BoundarySide::Before, _) => ActMoment::At(at),
        (BoundarySide::After, Micros::ZERO) => ActMoment::Boundary(format!("{event} + 0")),
        (BoundarySide::After, offset) => ActMoment::At(at + offset),
    }
}

fn planned_act(planned: &ClientInterrupt) -> Value {
    let ClientInterrupt { boundary, message, then, at_once } = planned;
    let mut act = match message {
        Some(text) => json!({ "kind": "message", "text": &**text }),
        None => json!({ "kind": "cancel" }),
    };
    act["boundary"] = (&**boundary).into();
    if let Some(then) = then {
        (act["then"], act["at_once"]) = ((&**then).into(), (*at_once).into());
    }
    act
}

/// The texts of a message, joined.
pub(super) fn text_of(said: &[Block]) -> String {
    let texts = said.iter().filter_map(|block| match block.kind() {
        BlockKind::Text(text) => Some(&**text),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n\n")
}
