//! Where a run is interrupted, and how: one injection, named so that it can be made again.

use core::fmt;
use core::str::FromStr;

use super::input_kind::InputKind;
use reenact_engine::contract::{Block, Engine, Input};
use reenact_engine::time::Time;
use reenact_sim::Run;
use reenact_transcript::event::RunEnd;
use reenact_transcript::watch::TranscriptWatch;
use reenact_wire::prelude::*;

/// The text of an interrupting message.
pub const TEXT: &str = "Wait. Something else first.";

/// The kinds of interrupt, and the end of all faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InjectionKind {
    /// The user aborts.
    Cancel,
    /// The user submits a message.
    Interrupt,
    /// From here on, the API answers without faults (O-18).
    Heal,
}

impl InjectionKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Cancel, Self::Interrupt, Self::Heal];

    /// Those of the user.
    pub const OF_USER: [Self; 2] = [Self::Cancel, Self::Interrupt];

    /// The word that the command line uses.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Interrupt => "interrupt",
            Self::Heal => "heal",
        }
    }
}

impl fmt::Display for InjectionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for InjectionKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|kind| kind.as_str() == text);
        known.ok_or_else(|| format!("unknown interrupt `{text}`: write `cancel`, `interrupt` or `heal`"))
    }
}

/// One place between two events of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunBoundary {
    /// Which input of the engine, from 1.
    pub event: u64,
    /// On which side of it: the instant before an event is that of the event, the instant after it too, so that between two
    /// events there are two places.
    pub side: BoundarySide,
}

/// A side of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BoundarySide {
    /// The event is due, and the engine does not know it yet.
    Before,
    /// The engine has carried out all that it wants because of the event.
    After,
}

impl fmt::Display for RunBoundary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = match self.side {
            BoundarySide::Before => "before",
            BoundarySide::After => "after",
        };
        write!(f, "{}:{side}", self.event)
    }
}

/// `12`, `12:before` (the same) or `12:after`.
impl FromStr for RunBoundary {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || format!("`{text}` is not a place in a run: write the number of an event from 1, then `:before` or `:after`");
        let (number, side) = match text.split_once(':') {
            None => (text, BoundarySide::Before),
            Some((number, "before")) => (number, BoundarySide::Before),
            Some((number, "after")) => (number, BoundarySide::After),
            Some(_) => return Err(wrong()),
        };
        let event = number.parse().ok().filter(|event| *event > 0).ok_or_else(wrong)?;
        Ok(Self { event, side })
    }
}

/// The words of an interrupting message, ready to be shared.
pub fn content() -> Arc<[Block]> {
    [Block::text(TEXT)].into()
}

/// Interrupts a run here and now.
pub fn inject<E: Engine, W: TranscriptWatch>(run: &mut Run<E, W>, kind: InjectionKind, content: &Arc<[Block]>) {
    match kind {
        InjectionKind::Cancel => run.inject(Input::Cancel),
        InjectionKind::Interrupt => run.inject(Input::Interrupt { prompt: run.next_prompt(), content: content.clone() }),
        InjectionKind::Heal => run.heal(),
    }
}

/// Brings a run that has not begun to a boundary and interrupts it there.
///
/// # Errors
/// When the run is over before; with how it ended and after how many events.
pub fn interrupt_at<E: Engine, W: TranscriptWatch>(
    run: &mut Run<E, W>,
    boundary: RunBoundary,
    kind: InjectionKind,
) -> Result<(), (RunEnd, u64)> {
    let before = match boundary.side {
        BoundarySide::Before => boundary.event - 1,
        BoundarySide::After => boundary.event,
    };
    while run.events() < before {
        if let Some(end) = run.advance() {
            return Err((end, run.events()));
        }
    }
    if boundary.side == BoundarySide::Before
        && let Some(end) = run.reach()
    {
        return Err((end, run.events()));
    }
    inject(run, kind, &content());
    Ok(())
}

/// A boundary with what a person wants to know of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundaryPlace {
    /// The boundary.
    pub boundary: RunBoundary,
    /// The time.
    pub at: Time,
    /// The event, in a few words.
    pub event: String,
    /// Its kind.
    pub kind: InputKind,
}

impl BoundaryPlace {
    /// The place at a boundary with an input on its other side.
    pub(super) fn new(boundary: RunBoundary, at: Time, input: &Input) -> Self {
        Self { boundary, at, event: describe(input), kind: InputKind::from(input) }
    }
}

impl fmt::Display for BoundaryPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = match self.boundary.side {
            BoundarySide::Before => "before",
            BoundarySide::After => "after",
        };
        write!(f, "{side} event {} at {} ({})", self.boundary.event, self.at, self.event)
    }
}

/// An input in a few words.
fn describe(input: &Input) -> String {
    match input {
        Input::Prompt { prompt, .. } => format!("prompt {prompt}"),
        Input::Head { id, status, .. } => format!("head of answer {id}, {status}"),
        Input::Stream { id, event } => format!("{} of answer {id}", event.name()),
        Input::Body { id, .. } => format!("body of answer {id}"),
        Input::End { id, .. } => format!("end of answer {id}"),
        Input::ToolProgress { run, .. } => format!("progress of tool {run}"),
        Input::ToolEnded { run, .. } => format!("tool {run} ends"),
        Input::Timer(timer) => format!("timer {}", timer.id),
        Input::Cancel => String::from("cancel"),
        Input::Interrupt { prompt, .. } => format!("interrupt, message {prompt}"),
        Input::ToolChecked { run, .. } => format!("check of tool {run}"),
        Input::HookEnded { hook, .. } => format!("hook {} ends", hook.hook + 1),
        Input::PermissionAnswered { run, .. } => format!("permission for tool {run}"),
        Input::ResultStored { run, .. } => format!("result of tool {run} stored"),
        Input::LookedUp { what, .. } => format!("{} looked up", what.as_str()),
        Input::CollapseStaged(staged) => format!("summary of {} to {} staged", staged.from, staged.to),
        Input::MarkedDead { .. } => String::from("messages marked as dead"),
        Input::ElicitationAsked { run, .. } => format!("tool {run} asks the user"),
        Input::ElicitationAnswered { run, .. } => format!("user answers tool {run}"),
        Input::AuthRefreshed { id, .. } => format!("credentials for request {id}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boundary_is_written_as_it_is_read() {
        for text in ["1:before", "12:after"] {
            assert_eq!(text.parse::<RunBoundary>().unwrap().to_string(), text);
        }
        assert_eq!("7".parse::<RunBoundary>(), "7:before".parse());
        for wrong in ["", "0", "x", "1:", "1:within", "-1:after"] {
            assert!(wrong.parse::<RunBoundary>().unwrap_err().contains("from 1"), "{wrong}");
        }
    }
}
