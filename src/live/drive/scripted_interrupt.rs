//! `[[interrupt]]` of a scenario, done to a client that is driven (M-8, K-9).
//!
//! A driver sees a client's requests, the events that it was sent, and the markers of its tools. An interrupt that waits for anything
//! else is not done, and the run says so.

use std::time::Duration;

use tokio::time::Instant;

use super::action::{ClientAction, TerminalKey};
use super::{ChildSignal, ClientTerminal, SignalTarget};
use crate::serve::gate::{AnswerPart, HeldAnswer};
use reenact_engine::time::Micros;
use reenact_scenario::boundary::BoundarySide;
use reenact_scenario::interrupt::{InterruptKind, InterruptMoment, InterruptTrigger, ReachedState, ScriptedInterrupt};
use reenact_scenario::types::Scenario;
use reenact_wire::block::{Block, BlockKind};
use reenact_wire::prelude::*;

/// An interrupt that a driver can do.
#[derive(Debug)]
pub(super) struct InterruptAct<'a> {
    /// Which of the scenario's.
    pub(super) index: usize,
    /// The action.
    pub(super) what: ClientAction,
    /// When it is done, once its trigger was seen.
    pub(super) due: Option<Instant>,
    /// Whether it is done while the answer stands still that is held now.
    pub(super) is_due_now: bool,
    moment: &'a InterruptMoment,
    has_triggered: bool,
    /// Its event comes next, and the client is to have it first.
    waits_for_event: bool,
}

/// How far a client is.
#[derive(Clone, Debug, Default)]
pub(super) struct TriggerProgress {
    /// The newest answer; 0 before the first.
    pub(super) answer: u32,
    /// All events that came, each with its answer.
    events: Vec<Arc<str>>,
    /// All tool uses that came, each with its answer.
    tool_uses: Vec<(u32, Arc<str>)>,
}

impl TriggerProgress {
    /// An answer is held before a part that is counted as come.
    pub(super) fn on_held(&mut self, one: &HeldAnswer) {
        // One that is left late does not become the newest again.
        self.answer = self.answer.max(one.boundary.answer);
        self.events.extend(one.event.clone());
        self.tool_uses.extend(one.tools.iter().map(|name| (one.boundary.answer, name.clone())));
    }

    fn events(&self, name: &str) -> usize {
        self.events.iter().filter(|event| &***event == name).count()
    }

    /// Whether the n-th use of a tool is one of the newest answer.
    fn is_newest(&self, tool: &str, nth: u32) -> bool {
        let mut uses = self.tool_uses.iter().filter(|(_, name)| &**name == tool);
        uses.nth(place(nth)).is_some_and(|(answer, _)| *answer == self.answer)
    }
}

fn place(nth: u32) -> usize {
    usize::try_from(nth).unwrap_or(usize::MAX).saturating_sub(1)
}

impl<'a> InterruptAct<'a> {
    /// How long an answer stands still before: the client has read all that was sent.
    pub(super) const LEAD: Duration = Duration::from_millis(100);

    /// How long it stands still after.
    pub(super) const WAIT: Duration = Duration::from_millis(300);

    /// Those of a scenario that can be done.
    pub(super) fn of_scenario(scenario: &'a Scenario, terminal: ClientTerminal) -> Vec<Self> {
        let possible = scenario.interrupts.iter().enumerate().filter(|(_, interrupt)| why_not(interrupt, terminal).is_none());
        let what = |kind: &InterruptKind| match (kind, terminal) {
            (InterruptKind::Interrupt(content), _) => ClientAction::Line(plain_text(content)),
            (_, ClientTerminal::None) => ClientAction::Signal(ChildSignal::Interrupt, SignalTarget::Group),
            (_, ClientTerminal::Own) => ClientAction::Keys(vec![TerminalKey::Control('C')]),
        };
        let act = |(index, interrupt): (usize, &'a ScriptedInterrupt)| Self {
            index,
            what: what(&interrupt.kind),
            due: None,
            is_due_now: false,
            moment: &interrupt.moment,
            has_triggered: false,
            waits_for_event: false,
        };
        possible.map(act).collect()
    }

    /// An answer is held.
    pub(super) fn on_held(&mut self, one: &HeldAnswer, progress: &TriggerProgress, now: Instant) {
        if core::mem::take(&mut self.waits_for_event) {
            return self.trigger_at_boundary(now);
        }
        if self.has_triggered {
            return;
        }
        match self.moment {
            InterruptMoment::At(at) => {
                self.has_triggered = true;
                self.due = Some(now + time(*at));
            }
            InterruptMoment::When { agent, .. } if *agent != one.agent => (),
            InterruptMoment::When { anchor: InterruptTrigger::Event { name, nth }, side, .. } => {
                if one.event.as_ref() == Some(name) && progress.events(name) == place(*nth) + 1 {
                    self.has_triggered = true;
                    match side {
                        BoundarySide::Before => self.trigger_at_boundary(now),
                        BoundarySide::After => self.waits_for_event = true,
                    }
                }
            }
            InterruptMoment::When { anchor: InterruptTrigger::Request { prompt, request, attempt }, .. } => {
                let is_it = prompt.is_none_or(|prompt| prompt == one.id.prompt) && (*request, *attempt) == (one.id.turn, one.id.attempt);
                if is_it && one.boundary.before == AnswerPart::Head {
                    self.has_triggered = true;
                    self.trigger_at_boundary(now);
                }
            }
            InterruptMoment::When { .. } => (),
        }
    }

    /// A tool shows that it runs.
    pub(super) fn on_marker(&mut self, progress: &TriggerProgress, now: Instant) {
        if let InterruptMoment::When { anchor: InterruptTrigger::Tool { name, state: ReachedState::Executing, nth }, offset, .. } =
            self.moment
            && !self.has_triggered
            && progress.is_newest(name, *nth)
        {
            self.has_triggered = true;
            self.due = Some(now + time(*offset));
        }
    }

    /// Whether it is done when a tool shows that it runs, and no later.
    pub(super) fn is_at_marker(&self) -> bool {
        matches!(self.moment, InterruptMoment::When { anchor: InterruptTrigger::Tool { .. }, offset: Micros::ZERO, .. })
    }

    fn trigger_at_boundary(&mut self, now: Instant) {
        match self.moment {
            InterruptMoment::When { offset, .. } if *offset > Micros::ZERO => self.due = Some(now + time(*offset)),
            _ => self.is_due_now = true,
        }
    }
}

fn time(span: Micros) -> Duration {
    Duration::from_micros(span.0)
}

/// The texts of a message, a line each.
pub(super) fn plain_text(content: &[Block]) -> String {
    let text = |block: &Block| match block.kind() {
        BlockKind::Text(text) => Some(String::from(&**text)),
        _ => None,
    };
    content.iter().filter_map(text).collect::<Vec<_>>().join("\n")
}

/// Why a driver of clients cannot do an interrupt; `None` when it can.
fn why_not(interrupt: &ScriptedInterrupt, terminal: ClientTerminal) -> Option<&'static str> {
    match &interrupt.kind {
        InterruptKind::Cancel => (),
        InterruptKind::Interrupt(content) if terminal == ClientTerminal::Own && !plain_text(content).trim().is_empty() => (),
        InterruptKind::Interrupt(_) => {
            return Some("a message is typed at a terminal alone: add --terminal, or `terminal = true` to the profile");
        }
        InterruptKind::Dead(_) | InterruptKind::Collapse(_) => return Some("a client does this by itself"),
    }
    let InterruptMoment::When { anchor, .. } = &interrupt.moment else { return None };
    match anchor {
        InterruptTrigger::Event { .. }
        | InterruptTrigger::Request { .. }
        | InterruptTrigger::Tool { state: ReachedState::Executing, .. } => None,
        InterruptTrigger::Tool { .. } | InterruptTrigger::Result { .. } => Some("of a client's tools it is seen only that they run"),
        InterruptTrigger::Retry { .. } => Some("that a client waits is not seen"),
        InterruptTrigger::Terminal { .. } => Some("the end of a prompt is not seen"),
    }
}

/// The interrupts that were not done and must be, a sentence each.
pub(super) fn failures(scenario: &Scenario, terminal: ClientTerminal, done: &[usize]) -> Vec<String> {
    let missing =
        scenario.interrupts.iter().enumerate().filter(|(index, interrupt)| !interrupt.may && !done.contains(index) && !scenario.drive.may);
    let sentence = |(index, interrupt): (usize, &ScriptedInterrupt)| {
        let why = why_not(interrupt, terminal).unwrap_or_else(|| why_not_seen(interrupt));
        format!("{} was not done: {why}; if it need not happen, add `may = true` to it", name(scenario, index))
    };
    missing.map(sentence).collect()
}

/// Why one that can be done was not.
fn why_not_seen(interrupt: &ScriptedInterrupt) -> &'static str {
    match &interrupt.moment {
        InterruptMoment::When { anchor: InterruptTrigger::Tool { .. }, .. } => {
            "no use of this tool showed its marker: let it make the file `marker_file` or print `marker_line` ([drive]), or open $REENACT_MARKER_URL"
        }
        InterruptMoment::When { .. } | InterruptMoment::At(_) => "its moment never came",
    }
}

/// `[[interrupt]] 2`
fn name(scenario: &Scenario, index: usize) -> String {
    let section = scenario.interrupts[index].kind.section();
    let number = scenario.interrupts[..=index].iter().filter(|other| other.kind.section() == section).count();
    format!("[[{section}]] {number}")
}
