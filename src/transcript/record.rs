//! Builds a transcript while a run continues.
//!
//! A copy of a recorder shares everything that was recorded before it; each of the two continues in a segment of its own:
//!
//! ```text
//!   segment <── segment <── segment <── tail        the run
//!                              └─────── tail        its copy
//! ```
//!
//! As long as nobody copies it, a recorder has one tail and no segments, and recording is pushing to a vector.

use super::event::{Event, EventKind, FrameRecord, RequestRecord, Transcript, TranscriptHeader};
use super::watch::TranscriptWatch;
use reenact_engine::contract::{Agent, ByAgent, Effect, Input};
use reenact_engine::log::{self, LoggedStep, ReplayError};
use reenact_engine::random::Seed;
use reenact_engine::time::Time;
use reenact_wire::prelude::*;
use reenact_wire::request::Request;

/// The recorder of a run, with the events so far.
#[derive(Clone, Debug, Default, Hash)]
pub struct TranscriptRecorder {
    before: Option<Arc<SharedSegment>>,
    /// The events after all segments. A copy shares it too, until one of the two records on.
    tail: Arc<Vec<Event>>,
    last_requests: ByAgent<Option<Arc<Request>>>,
}

/// Events that several recorders have in common.
#[derive(Debug, Hash)]
struct SharedSegment {
    before: Option<Arc<SharedSegment>>,
    events: Arc<Vec<Event>>,
}

impl TranscriptWatch for TranscriptRecorder {
    fn input(&mut self, at: Time, agent: &Agent, input: &Input) {
        self.push(at, agent, EventKind::Input(input.clone()));
    }

    fn effect(&mut self, at: Time, agent: &Agent, effect: &Effect) {
        let what = match effect {
            Effect::Request { id, request } => {
                let last = self.last_requests.entry(agent);
                let record = record(last.as_deref(), request);
                *last = Some(request.clone());
                EventKind::Request { id: *id, request: record }
            }
            other => EventKind::Effect(other.clone()),
        };
        self.push(at, agent, what);
    }

    fn note(&mut self, at: Time, agent: &Agent, what: &EventKind) {
        self.push(at, agent, what.clone());
    }
}

/// The transcript of a boundary log: its inputs and effects. The notes of the world are not in it.
///
/// # Errors
/// As [`log::steps`].
pub fn log_transcript(text: &str) -> Result<Transcript, ReplayError> {
    let mut recorder = TranscriptRecorder::default();
    for step in log::steps(text)? {
        let LoggedStep { at, agent, input, effects } = step?;
        recorder.input(at, &agent, &input);
        for (agent, effect) in &effects {
            match effect {
                // A log holds requests as they were sent.
                Effect::Request { id, request } => {
                    let request = Arc::new(Request::clone(request).with_breakpoint_apart());
                    recorder.effect(at, agent, &Effect::Request { id: *id, request });
                }
                other => recorder.effect(at, agent, other),
            }
        }
    }
    Ok(recorder.into_transcript(&None, Seed(0)))
}

impl TranscriptRecorder {
    /// The whole.
    pub fn into_transcript(self, title: &Option<String>, seed: Seed) -> Transcript {
        let mut segments = Vec::new();
        let mut before = self.before.as_deref();
        while let Some(segment) = before {
            segments.push(&*segment.events);
            before = segment.before.as_deref();
        }
        let events = if segments.is_empty() {
            Arc::unwrap_or_clone(self.tail).into()
        } else {
            segments.into_iter().rev().chain([&*self.tail]).flatten().cloned().collect()
        };
        Transcript { header: TranscriptHeader { title: title.clone(), seed }, events }
    }

    fn push(&mut self, at: Time, agent: &Agent, what: EventKind) {
        let event = Event { at, agent: agent.clone(), what };
        match Arc::get_mut(&mut self.tail) {
            Some(tail) => tail.push(event),
            None => self.push_after_shared(event),
        }
    }

    /// A copy has the same tail: it becomes a segment of both, and this one continues in a new tail.
    fn push_after_shared(&mut self, event: Event) {
        let events = core::mem::replace(&mut self.tail, Arc::new(vec![event]));
        let before = self.before.take();
        // A tail that is shared before anything was recorded in it needs no segment.
        self.before = if events.is_empty() { before } else { Some(Arc::new(SharedSegment { before, events })) };
    }
}

/// A chain of segments is as long as the run was copied often, so it is taken apart in a loop: recursion would end the stack.
impl Drop for SharedSegment {
    fn drop(&mut self) {
        let mut before = self.before.take();
        while let Some(mut segment) = before.and_then(Arc::into_inner) {
            before = segment.before.take();
        }
    }
}

/// The difference of a request from the one before.
fn record(before: Option<&Request>, request: &Request) -> RequestRecord {
    let same_frame =
        before.is_some_and(|before| before.system == request.system && before.tools == request.tools && before.extra == request.extra);
    let earlier: &[_] = before.map_or(&[], |before| &before.messages);
    let kept = earlier.iter().zip(&request.messages).take_while(|(old, new)| Arc::ptr_eq(old, new) || old == new).count();
    RequestRecord {
        model: request.model.clone(),
        max_tokens: request.max_tokens,
        stream: request.stream,
        cache_last_message: request.cache_last_message,
        frame: (!same_frame).then(|| FrameRecord {
            system: request.system.clone(),
            tools: request.tools.clone(),
            extra: request.extra.clone(),
        }),
        kept,
        added: request.messages[kept..].to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_engine::contract::TimerId;

    fn recorded(recorder: &mut TranscriptRecorder, ids: core::ops::Range<u32>) {
        for id in ids {
            recorder.input(Time(u64::from(id)), &Agent::ROOT, &Input::Timer(TimerId { id, generation: 0 }));
        }
    }

    fn ids(recorder: &TranscriptRecorder) -> Vec<u64> {
        recorder.clone().into_transcript(&None, Seed(1)).events.iter().map(|event| event.at.0).collect()
    }

    #[test]
    fn e_1_copies_share_the_past_and_part_from_then_on() {
        let mut run = TranscriptRecorder::default();
        recorded(&mut run, 0..3);
        let mut copy = run.clone();
        let untouched = run.clone();
        recorded(&mut run, 3..5);
        recorded(&mut copy, 7..8);
        let mut copy_of_copy = copy.clone();
        recorded(&mut copy_of_copy, 8..9);
        assert_eq!(ids(&run), [0, 1, 2, 3, 4]);
        assert_eq!(ids(&copy), [0, 1, 2, 7]);
        assert_eq!(ids(&copy_of_copy), [0, 1, 2, 7, 8]);
        assert_eq!(ids(&untouched), [0, 1, 2]);
    }

    #[test]
    fn e_1_a_chain_of_a_million_segments_is_dropped_without_recursion() {
        let mut run = TranscriptRecorder::default();
        let mut copy = run.clone();
        for id in 0..1_000_000 {
            recorded(&mut run, id..id + 1);
            copy = run.clone();
        }
        drop(run);
        assert_eq!(copy.tail.len(), 1);
        drop(copy);
    }
}
