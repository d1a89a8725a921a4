//! The trace of a run for an exploration: its requests, and what the world delivered with the times at which it could have come (G-2, E-3).
//!
//! ```text
//!   request 1 ─ head ─ piece 1 ─ piece 2 ─ end      a source: its arrivals keep their order
//!   tool toolu_1 ───────────── end                  another one: its end could come before the pieces
//! ```
//!
//! The client hands the trace back to the program, perhaps to another process of it. It does not look into it.

use alloc::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::line_answer::LineAnswer;
use super::world_events::WorldEvent;
use reenact_engine::time::{Micros, Time};
use reenact_scenario::explore_settings::ArrivalJitter;
use reenact_sim::agenda::ArrivalWindow;
use reenact_wire::prelude::*;
use reenact_world::ArrivalSlack;

/// The part of a run that an exploration has to know.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunTrace {
    /// The requests for messages, in order.
    pub requests: Vec<TracedRequest>,
    /// Answers and tools, in the order in which they were asked for.
    pub sources: Vec<TracedSource>,
    /// The parts of the plan that did not come to pass, in words.
    pub missed: Vec<String>,
    /// The digest of the transcript without the names of boundaries.
    pub digest: String,
}

/// A request for a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TracedRequest {
    /// As transcripts name it.
    pub name: Arc<str>,
    /// When it came.
    pub at: Time,
    /// Whether a fault has hit it.
    pub is_faulted: bool,
    /// When each event of its stream comes, the head first; empty for an answer that is no stream.
    pub events: Vec<Time>,
    /// When the client closed its connection, if it did.
    pub left_at: Option<Time>,
}

/// An answer or a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TracedSource {
    /// The part of a plan that decides its times; `None` where no plan does.
    pub lever: Option<TimeLever>,
    /// When it began.
    pub from: Time,
    /// How many arrivals had come by then.
    pub came_before: u32,
    /// When the client took it back, if it did.
    pub left_at: Option<Time>,
    /// Its arrivals, in order.
    pub arrivals: Vec<TracedArrival>,
}

/// The part of a plan that decides the times of a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeLever {
    /// The answer to this request.
    Answer(Arc<str>),
    /// The tool of this tool use.
    Tool(Arc<str>),
}

/// Events that come at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TracedArrival {
    /// The name of its first event, as boundaries have it.
    pub name: Arc<str>,
    /// Its part of an answer. Tools have ends alone.
    pub part: ArrivalPart,
    /// When it comes.
    pub at: Time,
    /// The first time at which it may come.
    pub earliest: Time,
    /// The last one.
    pub latest: Time,
    /// Its place among all arrivals that came; `None` for one that did not come.
    pub came: Option<u32>,
}

/// A part of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArrivalPart {
    /// The head.
    Head,
    /// So many pieces of the body.
    Pieces(u32),
    /// The end.
    End,
}

/// A run's trace while it is made.
#[derive(Clone, Debug)]
pub(super) struct RunTraceRecorder {
    jitter: ArrivalJitter,
    trace: RunTrace,
    /// The place of each arrival by its name: source, and place within the source.
    places: BTreeMap<Arc<str>, (usize, usize)>,
    /// The source of each answer, and its request.
    answers: BTreeMap<u32, (usize, Option<usize>)>,
    came: u32,
}

impl RunTraceRecorder {
    pub(super) fn new(jitter: ArrivalJitter) -> Self {
        Self { jitter, trace: RunTrace::default(), places: BTreeMap::new(), answers: BTreeMap::new(), came: 0 }
    }

    /// An answer is known. `is_faulted` says whether a fault has changed it.
    pub(super) fn on_answer(&mut self, now: Time, answer: &LineAnswer, is_faulted: bool) {
        let request = answer.name.as_ref().map(|name| {
            let events = event_times(answer);
            self.trace.requests.push(TracedRequest { name: name.clone(), at: now, is_faulted, events, left_at: None });
            self.trace.requests.len() - 1
        });
        // A fault adds pieces or takes some away, so that the gaps of a plan are those of other pieces.
        let lever = answer.name.clone().filter(|_| !is_faulted).map(TimeLever::Answer);
        let slack = self.jitter.answers.map(ArrivalSlack::at_most);
        self.answers.insert(answer.answer, (self.trace.sources.len(), request));
        let mut before = now;
        let arrivals = arrivals(answer).into_iter().map(|(name, part, at)| {
            let window = if lever.is_some() { ArrivalWindow::new(before, at, slack) } else { ArrivalWindow::point(at) };
            before = at;
            traced(name, part, at, window)
        });
        let arrivals = arrivals.collect();
        self.add(now, lever, arrivals);
    }

    /// A tool has begun.
    pub(super) fn on_tool(&mut self, now: Time, id: &Arc<str>, end: Option<(Arc<str>, Time)>, slack: Option<ArrivalSlack>) {
        let slack = self.jitter.tools.map(ArrivalSlack::at_most).or(slack);
        let arrivals = end.into_iter().map(|(name, at)| traced(name, ArrivalPart::End, at, ArrivalWindow::new(now, at, slack))).collect();
        self.add(now, Some(TimeLever::Tool(id.clone())), arrivals);
    }

    fn add(&mut self, now: Time, lever: Option<TimeLever>, arrivals: Vec<TracedArrival>) {
        let source = self.trace.sources.len();
        self.places.extend((0..).zip(&arrivals).map(|(place, arrival)| (arrival.name.clone(), (source, place))));
        self.trace.sources.push(TracedSource { lever, from: now, came_before: self.came, left_at: None, arrivals });
    }

    /// Events of the world have reached the client.
    pub(super) fn on_delivered(&mut self, events: &[WorldEvent]) {
        for event in events {
            let Some((source, place)) = self.places.get(&event.name) else { continue };
            self.trace.sources[*source].arrivals[*place].came = Some(self.came);
            self.came += 1;
        }
    }

    /// The client closed the connection of an answer.
    pub(super) fn on_closed(&mut self, now: Time, answer: u32) {
        let Some((source, request)) = self.answers.get(&answer) else { return };
        self.trace.sources[*source].left_at = Some(now);
        if let Some(request) = request {
            self.trace.requests[*request].left_at = Some(now);
        }
    }

    /// A tool was stopped.
    pub(super) fn on_tool_stopped(&mut self, now: Time, id: &Arc<str>) {
        let is_it = |source: &&mut TracedSource| source.lever == Some(TimeLever::Tool(id.clone())) && source.left_at.is_none();
        if let Some(source) = self.trace.sources.iter_mut().rfind(is_it) {
            source.left_at = Some(now);
        }
    }

    /// The run is over.
    pub(super) fn into_trace(self, missed: Vec<String>, digest: String) -> RunTrace {
        RunTrace { missed, digest, ..self.trace }
    }
}

/// When each event of the stream comes, the head first; empty for an answer that is no stream.
fn event_times(answer: &LineAnswer) -> Vec<Time> {
    let events = answer.chunks.iter().flat_map(|chunk| chunk.stream_events.iter().map(|_| chunk.at));
    let head = answer.head.iter().map(|(at, _)| *at);
    let times: Vec<Time> = head.chain(events).collect();
    if times.len() > 1 { times } else { Vec::new() }
}

/// The arrivals of an answer, in order: the name of the first event of each, its part of the answer, its time.
fn arrivals(answer: &LineAnswer) -> Vec<(Arc<str>, ArrivalPart, Time)> {
    let name = |part: &str| format!("answer {} {part}", answer.answer).into();
    let head = answer.head.iter().map(|(at, _)| (name("head"), ArrivalPart::Head, *at));
    let mut arrivals: Vec<(Arc<str>, ArrivalPart, Time)> = head.collect();
    for (nth, chunk) in (1..).zip(&answer.chunks) {
        match arrivals.last_mut() {
            Some((_, ArrivalPart::Pieces(pieces), at)) if *at == chunk.at => *pieces += u32::from(chunk.is_last),
            _ => arrivals.push((name(&format!("piece {nth}")), ArrivalPart::Pieces(u32::from(chunk.is_last)), chunk.at)),
        }
    }
    arrivals.extend(answer.end.iter().map(|(at, _)| (name("end"), ArrivalPart::End, *at)));
    arrivals
}

fn traced(name: Arc<str>, part: ArrivalPart, at: Time, window: ArrivalWindow) -> TracedArrival {
    TracedArrival { name, part, at, earliest: window.earliest, latest: window.latest, came: None }
}

impl RunTrace {
    /// The place of an arrival among those that came.
    pub(super) fn came(&self, name: &str) -> Option<u32> {
        self.sources.iter().flat_map(|source| &source.arrivals).find(|arrival| *arrival.name == *name)?.came
    }
}

impl TracedSource {
    /// The span to an arrival that comes at `at`, from the arrival before it or from the begin.
    pub(super) fn gap(&self, place: usize, at: Time) -> Micros {
        at.since(place.checked_sub(1).map_or(self.from, |before| self.arrivals[before].at))
    }
}
