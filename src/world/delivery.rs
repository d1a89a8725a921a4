//! One answer on its way: pieces at their times, framed into events as a client's connection would (M-5, M-6).

use super::pacing::{self, Times};
use super::setup::{Prepared, Setup, cut};
use crate::engine::contract::{AnswerEnd, Input, RequestId};
use crate::engine::time::Time;
use crate::prelude::*;
use crate::scenario::tape::End;
use crate::scenario::types::Chunking;
use crate::wire::event::Event;
use crate::wire::sse::Framer;

/// An answer under way.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Delivery {
    id: RequestId,
    answer: usize,
    /// When its request was made.
    from: Time,
    times: Arc<Times>,
    next_piece: usize,
    framer: Box<Framer>,
}

/// What comes next of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Status and headers.
    Head,
    /// The next piece of the body.
    Piece,
    /// The end.
    End,
}

impl Delivery {
    /// Decides when everything arrives.
    pub(crate) fn new(setup: &Setup, id: RequestId, answer: usize, now: Time) -> Self {
        let mut draws = setup.scenario.seed.draws("answer-pace", &id.to_string());
        let times = pacing::times(&setup.scenario.timing, &setup.answers[answer].known, &mut draws);
        Self { id, answer, from: now, times: Arc::new(times), next_piece: 0, framer: Box::default() }
    }

    /// Which request it answers.
    pub(crate) fn id(&self) -> RequestId {
        self.id
    }

    /// What comes first.
    pub(crate) fn first(&self) -> (Time, Part) {
        (self.from + self.times.head, Part::Head)
    }

    /// Lets a part arrive: its inputs, and what comes after it. A framing error ends the answer at once.
    pub(crate) fn arrive(&mut self, setup: &Setup, part: Part, inputs: &mut Vec<Input>) -> Option<(Time, Part)> {
        let answer = &setup.answers[self.answer];
        match part {
            Part::Head => {
                inputs.push(Input::Head { id: self.id, status: answer.status, headers: answer.headers.clone() });
                Some(self.after())
            }
            Part::Piece if answer.is_stream => {
                let piece = &answer.pieces[self.next_piece];
                self.next_piece += 1;
                match self.frame(setup, piece, inputs) {
                    Ok(()) => Some(self.after()),
                    Err(problem) => {
                        inputs.push(Input::End { id: self.id, how: AnswerEnd::Framing(problem) });
                        None
                    }
                }
            }
            Part::Piece => {
                self.next_piece += 1;
                if self.next_piece == answer.pieces.len() {
                    inputs.push(Input::Body { id: self.id, body: whole_body(answer) });
                }
                Some(self.after())
            }
            Part::End => {
                inputs.push(Input::End { id: self.id, how: ending(answer.end) });
                None
            }
        }
    }

    fn after(&self) -> (Time, Part) {
        match self.times.pieces.get(self.next_piece) {
            Some(at) => (self.from + *at, Part::Piece),
            None => (self.from + self.times.end, Part::End),
        }
    }

    fn frame(&mut self, setup: &Setup, piece: &[u8], inputs: &mut Vec<Input>) -> Result<(), Arc<str>> {
        let id = self.id;
        let mut sink = |frame: crate::wire::sse::Frame<'_>| {
            inputs.push(Input::Stream { id, event: Arc::new(Event::decode(frame.event, frame.data)) });
        };
        // Most bodies are taken as they came; opening a keyed stream for each of their pieces would cost more than framing them.
        if setup.scenario.chunking == Chunking::AsRecorded {
            return self.framer.feed(piece, &mut sink).map_err(|error| error.to_string().into());
        }
        let mut draws = setup.scenario.seed.draws("chunk-cuts", &format!("{id}/{}", self.next_piece));
        for chunk in cut(piece, &setup.scenario.chunking, &mut draws) {
            self.framer.feed(chunk, &mut sink).map_err(|error| Arc::from(error.to_string()))?;
        }
        Ok(())
    }
}

fn whole_body(answer: &Prepared) -> Arc<str> {
    let bytes: Vec<u8> = answer.pieces.iter().flat_map(|piece| piece.iter().copied()).collect();
    String::from_utf8_lossy(&bytes).into()
}

fn ending(end: End) -> AnswerEnd {
    match end {
        End::Complete => AnswerEnd::Complete,
        // The client that went away when this was recorded is not the one that listens now: to it the connection was cut.
        End::Reset | End::ClientGone => AnswerEnd::Reset,
        End::Timeout => AnswerEnd::Timeout,
    }
}
