//! Gates: before each byte boundary the driver of a client is asked. It may act on the client, and then decides how the answer continues (K-9).
//!
//! ```text
//!   head ──┬── piece 1 ──┬── piece 2 ──┬── … ──┬── end
//!        gate          gate          gate    gate
//! ```
//!
//! A gate without an answer opens.

use alloc::sync::Weak;
use core::fmt;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::message::{AnswerPlayback, AnswerSerial, OwnerMessage};
use reenact_engine::contract::{Agent, RequestId};
use reenact_wire::prelude::*;
use reenact_world::plan::{ResponsePlan, TimedPiece};

#[doc(inline)]
pub use reenact_world::delivery::AnswerPart;

/// Where an answer is held.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AnswerBoundary {
    /// The how many-th answer to a request for a message this is, from 1, over all agents.
    pub answer: u32,
    /// Before which part. A client that left is told of, and nothing is held there.
    pub before: AnswerPart,
}

/// An answer that is held.
#[derive(Debug)]
pub struct HeldAnswer {
    /// The boundary at which it is held.
    pub boundary: AnswerBoundary,
    /// The agent of its request.
    pub agent: Agent,
    /// The id of its request.
    pub id: RequestId,
    /// The name of the event that comes next, where it has one: `content_block_start`.
    pub event: Option<Arc<str>>,
    /// The tools that the model asks for in what comes next, by name.
    pub tools: Vec<Arc<str>>,
    /// Whether the scenario owes no answer to a further request.
    pub is_last: bool,
    /// Upgrades as long as the answer is in flight.
    pub(crate) in_flight: Weak<()>,
    /// Opens the gate; when it is dropped, the answer continues.
    pub go: oneshot::Sender<HoldRelease>,
    pub(crate) server: ServerHandle,
}

/// The way back to the server.
#[derive(Clone, Debug)]
pub(crate) struct ServerHandle {
    pub(super) tell: mpsc::UnboundedSender<OwnerMessage>,
    pub(super) serial: AnswerSerial,
}

impl ServerHandle {
    /// See [`HeldAnswer::disturb`].
    pub(crate) fn disturb(&self) {
        // A server that is over answers nothing more.
        let _ = self.tell.send(OwnerMessage::Disturbed { serial: self.serial, at: Instant::now() });
    }
}

impl HeldAnswer {
    /// Says that the client is acted on now: what it asks from here on may exist because of that alone, and then gets the default answer (M-3).
    /// It counts whether or not the client stays for the rest of this one.
    pub fn disturb(&self) {
        self.server.disturb();
    }
}

/// How a held answer continues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HoldRelease {
    /// As if nothing had been.
    #[default]
    On,
    /// The connection is closed: inside the body, as far as HTTP can tell.
    Close,
    /// The connection breaks.
    Reset,
}

/// Where held answers are told.
#[derive(Clone, Debug)]
pub struct AnswerGates(mpsc::UnboundedSender<HeldAnswer>);

impl AnswerGates {
    /// Gates, and the answers that they hold.
    pub fn new() -> (Self, mpsc::UnboundedReceiver<HeldAnswer>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self(sender), receiver)
    }

    /// Holds an answer before a part until it may continue.
    pub(super) async fn hold(&self, answer: &AnswerPlayback, before: AnswerPart, server: ServerHandle) -> HoldRelease {
        let (go, gone) = oneshot::channel();
        if self.0.send(answer.held(before, go, server)).is_err() {
            return HoldRelease::On;
        }
        gone.await.unwrap_or_default()
    }

    /// Tells that an answer is over for which nobody waits: its length was known and all of it was sent, or the client left.
    pub(super) fn tell_over(&self, answer: &AnswerPlayback, before: AnswerPart, server: ServerHandle) {
        let (go, _) = oneshot::channel();
        // Who does not listen any more wants to know nothing.
        let _ = self.0.send(answer.held(before, go, server));
    }
}

impl AnswerPlayback {
    fn held(&self, before: AnswerPart, go: oneshot::Sender<HoldRelease>, server: ServerHandle) -> HeldAnswer {
        let plan = &self.schedule.plan;
        let piece = if let AnswerPart::Event(number) = before { plan.piece(number) } else { None };
        let (event, tools) = piece.map(|piece| coming(plan, piece)).unwrap_or_default();
        let boundary = AnswerBoundary { answer: self.serial.number, before };
        let in_flight = Arc::downgrade(&self.in_flight);
        HeldAnswer { boundary, agent: self.agent.clone(), id: self.id, event, tools, is_last: self.is_last, in_flight, go, server }
    }
}

/// The name of the event in a piece of a stream, and the tools that a piece of any answer asks for.
fn coming(plan: &ResponsePlan, piece: &TimedPiece) -> (Option<Arc<str>>, Vec<Arc<str>>) {
    if !plan.is_stream {
        let message: Value = serde_json::from_slice(&piece.bytes).unwrap_or_default();
        return (None, message["content"].as_array().into_iter().flatten().filter_map(tool_name).collect());
    }
    let (mut event, mut tools) = (None, Vec::new());
    piece.read_events(|name, data| {
        if event.is_none() && !name.is_empty() {
            event = Some(name.into());
        }
        let data: Value = serde_json::from_str(data).unwrap_or_default();
        tools.extend(tool_name(&data["content_block"]));
    });
    (event, tools)
}

/// The tool that a block asks for.
fn tool_name(block: &Value) -> Option<Arc<str>> {
    block["name"].as_str().filter(|_| block["type"] == "tool_use").map(Into::into)
}

/// `2:head`, `2:5`, `2:end`, `2:left`.
impl fmt::Display for AnswerBoundary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.before {
            AnswerPart::Head => write!(f, "{}:head", self.answer),
            AnswerPart::Event(number) => write!(f, "{}:{number}", self.answer),
            AnswerPart::End => write!(f, "{}:end", self.answer),
            AnswerPart::Left => write!(f, "{}:left", self.answer),
        }
    }
}

impl core::str::FromStr for AnswerBoundary {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a boundary: write ANSWER:head, ANSWER:EVENT or ANSWER:end, e.g. `2:5`");
        let (answer, before) = text.split_once(':').ok_or_else(wrong)?;
        let before = match before {
            "head" => AnswerPart::Head,
            "end" => AnswerPart::End,
            number => AnswerPart::Event(number.parse().map_err(|_| wrong())?),
        };
        Ok(Self { answer: answer.parse().map_err(|_| wrong())?, before })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_9_a_boundary_reads_back() {
        for text in ["1:head", "2:17", "3:end"] {
            assert_eq!(text.parse::<AnswerBoundary>().unwrap().to_string(), text);
        }
        for text in ["", "1", "1:", "x:1", "1:tail", "1:left"] {
            assert!(text.parse::<AnswerBoundary>().unwrap_err().contains("2:5"), "{text}");
        }
    }
}
