//! Where a run is interrupted, and how: one injection, named so that it can be made again.

use core::fmt;

use super::input_kind::InputKind;
use reenact_engine::contract::{Block, Engine, Input};
use reenact_engine::time::Time;
use reenact_sim::Run;
use reenact_transcript::event::RunEnd;
use reenact_transcript::watch::TranscriptWatch;
use reenact_wire::prelude::*;

pub use reenact_scenario::boundary::{BoundarySide, InjectionKind, RunBoundary};

/// The text of an interrupting message.
pub const TEXT: &str = "Wait. Something else first.";

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
    while run.events() < boundary.inputs_before() {
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
        let RunBoundary { event, side } = self.boundary;
        write!(f, "{} event {event} at {} ({})", side.as_str(), self.at, self.event)
    }
}

/// An input in a few words.
pub(super) fn describe(input: &Input) -> String {
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
