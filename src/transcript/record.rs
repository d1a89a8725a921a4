//! Builds a transcript while a run goes on.
//!
//! Recording is cheap and shared: an event holds what the run shares anyway, and a copy of a recorder costs as much as its events
//! since the last copy are long, so that a run can be copied at any step.

use super::event::{Event, FrameRecord, Header, RequestRecord, Transcript, What};
use crate::engine::contract::{Agent, Effect, Input};
use crate::engine::random::Seed;
use crate::engine::time::Time;
use crate::prelude::*;
use crate::wire::request::Request;

/// What has happened so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorder {
    events: Vec<Event>,
    last_request: Option<Arc<Request>>,
}

impl Recorder {
    /// Something happened to the engine.
    pub fn input(&mut self, at: Time, agent: &Agent, input: &Input) {
        self.note(at, agent, What::Input(input.clone()));
    }

    /// The engine wanted something.
    pub fn effect(&mut self, at: Time, agent: &Agent, effect: &Effect) {
        let what = match effect {
            Effect::Request { id, request } => {
                let record = record(self.last_request.as_deref(), request);
                self.last_request = Some(request.clone());
                What::Request { id: *id, request: record }
            }
            other => What::Effect(other.clone()),
        };
        self.note(at, agent, what);
    }

    /// The simulation has something to say.
    pub fn note(&mut self, at: Time, agent: &Agent, what: What) {
        self.events.push(Event { at, agent: agent.clone(), what });
    }

    /// The whole.
    pub fn into_transcript(self, title: &Option<String>, seed: Seed) -> Transcript {
        Transcript { header: Header { title: title.clone(), seed }, events: self.events.into() }
    }
}

/// What a request adds to the one before.
fn record(before: Option<&Request>, request: &Request) -> RequestRecord {
    let same_frame =
        before.is_some_and(|before| before.system == request.system && before.tools == request.tools && before.extra == request.extra);
    let earlier: &[_] = before.map_or(&[], |before| &before.messages);
    let kept = earlier.iter().zip(&request.messages).take_while(|(old, new)| Arc::ptr_eq(old, new) || old == new).count();
    RequestRecord {
        model: request.model.clone(),
        max_tokens: request.max_tokens,
        stream: request.stream,
        frame: (!same_frame).then(|| FrameRecord {
            system: request.system.clone(),
            tools: request.tools.clone(),
            extra: request.extra.clone(),
        }),
        kept,
        added: request.messages[kept..].to_vec(),
    }
}
