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

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::message::{AnswerSerial, GatedAnswer, OwnerMessage};
use super::schedule::ComingPart;
use reenact_engine::contract::{Agent, RequestId};
use reenact_wire::prelude::*;

/// Where an answer is held.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AnswerBoundary {
    /// The how many-th answer to a request for a message this is, from 1, over all agents.
    pub answer: u32,
    /// Before what.
    pub before: AnswerPart,
}

/// The part of an answer that comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AnswerPart {
    /// Status and headers.
    Head,
    /// This event of the body, from 1.
    Event(u32),
    /// The end.
    End,
    /// Nothing: the client left before the end. This is told, and nothing can be held there.
    Left,
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

    /// Holds an answer until it may continue.
    pub(super) async fn hold(&self, answer: &GatedAnswer, before: AnswerPart, coming: ComingPart, server: ServerHandle) -> HoldRelease {
        let (go, gone) = oneshot::channel();
        if self.0.send(answer.held(before, coming, go, server)).is_err() {
            return HoldRelease::On;
        }
        gone.await.unwrap_or_default()
    }

    /// Tells that an answer is over for which nobody waits: its length was known and all of it was sent, or the client left.
    pub(super) fn tell_over(&self, answer: &GatedAnswer, before: AnswerPart, server: ServerHandle) {
        let (go, _) = oneshot::channel();
        // Who does not listen any more wants to know nothing.
        let _ = self.0.send(answer.held(before, ComingPart::default(), go, server));
    }
}

impl GatedAnswer {
    fn held(&self, before: AnswerPart, coming: ComingPart, go: oneshot::Sender<HoldRelease>, server: ServerHandle) -> HeldAnswer {
        let Self { number, agent, id, is_last, in_flight } = self;
        let (agent, in_flight) = (agent.clone(), Arc::downgrade(in_flight));
        let ComingPart { event, tools } = coming;
        let boundary = AnswerBoundary { answer: *number, before };
        HeldAnswer { boundary, agent, id: *id, event, tools, is_last: *is_last, in_flight, go, server }
    }
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
