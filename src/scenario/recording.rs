//! A recording as the derivation of scenarios and the replay read it: one exchange at a time, so that a large one need not be in memory as a
//! whole (K-5).

use super::conversation::whole_bodies;
use super::tape::{Exchange, Tape, TapeHeader};
use reenact_wire::prelude::*;

/// Recorded exchanges in order.
pub trait Recording {
    /// Where they come from.
    fn header(&self) -> &TapeHeader;

    /// How many there are.
    fn count(&self) -> usize;

    /// The facts about the exchange at this place, from 0, that need no bodies: they may be empty here.
    fn outline(&self, index: usize) -> &Exchange;

    /// The exchange at this place with its bodies.
    fn exchange(&self, index: usize) -> Cow<'_, Exchange>;

    /// The body of its request, with what the API held for it.
    fn whole_body(&self, index: usize) -> Cow<'_, [u8]>;
}

/// A tape that is in memory.
#[derive(Debug)]
pub struct WholeTape<'a> {
    tape: &'a Tape,
    bodies: Vec<Cow<'a, [u8]>>,
}

impl<'a> WholeTape<'a> {
    /// Of this tape.
    pub fn new(tape: &'a Tape) -> Self {
        Self { tape, bodies: whole_bodies(&tape.exchanges) }
    }
}

impl Recording for WholeTape<'_> {
    fn header(&self) -> &TapeHeader {
        &self.tape.header
    }

    fn count(&self) -> usize {
        self.tape.exchanges.len()
    }

    fn outline(&self, index: usize) -> &Exchange {
        &self.tape.exchanges[index]
    }

    fn exchange(&self, index: usize) -> Cow<'_, Exchange> {
        Cow::Borrowed(&self.tape.exchanges[index])
    }

    fn whole_body(&self, index: usize) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.bodies[index])
    }
}
