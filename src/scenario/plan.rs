//! A plan: the concrete choices of one run, each by the name of what it is about (F-11).
//!
//! The choices of a plan hold; all others are drawn from the seed, each draw by its own key (D3), so that a plan may name everything
//! or a single latency. What the scenario itself fixes is no choice and needs no plan.
//!
//! Requests are named as transcripts name them: `2`, `2.3` for the third attempt, `p2/1` for another prompt, `toolu_7/1` for another agent.

use alloc::collections::BTreeMap;

use super::boundary::{BoundarySide, RunBoundary};
use super::single_fault::SingleFault;
use crate::language::forms::ChunkSize;
use crate::language::keys::keys;
use reenact_engine::random::Seed;
use reenact_engine::time::Micros;
use reenact_wire::block::Block;
use reenact_wire::prelude::*;

/// Choices by the name of what they are about.
pub type NamedChoices<T> = BTreeMap<Arc<str>, T>;

/// The choices of one run, or some of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The seed that they were drawn from. Transcripts name it; nothing is drawn from it.
    pub drawn_from: Option<Seed>,
    /// Where the run is interrupted, in the order in which that happens.
    pub interrupts: Vec<PlannedInterrupt>,
    /// Where a client in virtual time is interrupted (G-4). A simulated run has no such places.
    pub client_interrupts: Vec<ClientInterrupt>,
    /// The prompt that a client in virtual time gets after all others (G-2). A simulated run has none.
    pub client_follow_up: Option<Arc<str>>,
    /// Where an arrival comes out of the order of the usual times, in the order in which that happens (E-3).
    pub deviations: Vec<PlannedDeviation>,
    /// Tool runs that come to their own ends although they were told to stop, in the order in which that happens (E-3).
    pub late_completions: Vec<LateCompletion>,
    /// The faults of single requests, beside the rules of the scenario and before them (E-3).
    pub single_faults: Vec<SingleFault>,
    /// Whether a probable fault hits, by request and fault: `1.2 529 overloaded_error`.
    pub faults: NamedChoices<bool>,
    /// When answers arrive, by request.
    pub answers: NamedChoices<AnswerTimes>,
    /// How the streams of scripted answers are cut into events and padded, by message id.
    pub streams: NamedChoices<StreamShape>,
    /// The sizes in bytes of the network chunks that a piece of an answer is cut into, by request and piece: `1 piece 0`.
    pub chunks: NamedChoices<Vec<u32>>,
    /// The ids that errors carry, by request.
    pub request_ids: NamedChoices<Arc<str>>,
    /// How long everything else takes.
    pub latencies: BTreeMap<WaitKind, NamedChoices<Micros>>,
    /// How long the engine waits before it asks again, where the server names no time, by the failed request.
    pub backoff: NamedChoices<Micros>,
}

/// An interrupt at a boundary of the run, which a sweep made and the scenario does not have; or the end of all faults (E-3).
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedInterrupt {
    /// The boundary.
    pub boundary: RunBoundary,
    /// The injection.
    pub kind: PlannedInterruptKind,
}

/// An injection at a boundary.
#[derive(Clone, Debug, PartialEq)]
pub enum PlannedInterruptKind {
    /// The user aborts.
    Cancel,
    /// The user submits a message.
    Interrupt(Vec<Block>),
    /// From here on, the API answers without faults.
    Heal,
}

/// An interrupt of a client in virtual time, and what it is asked then (G-5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientInterrupt {
    /// The boundary, as the client's package names it: `answer 1 piece 21 + 8`.
    pub boundary: Arc<str>,
    /// The message of the user; `None` for a cancel.
    pub message: Option<Arc<str>>,
    /// The next prompt; `None` for those of the scenario alone.
    pub then: Option<Arc<str>>,
    /// Whether that prompt begins before the interrupted one has come to its end.
    pub at_once: bool,
}

keys! {
    /// `[[plan.deviation]]`: an arrival that comes out of the order of the usual times.
    #[derive(Eq)]
    pub struct PlannedDeviation {
        /// The number of the engine's input that it brings.
        event: u32 = 0, required, above_zero("events are counted from 1");
        /// The arrival, as `explore` names it: `tool 1A ends`.
        arrival: Arc<str> = "".into(), required, example("\"tool 1A ends\"");
        /// When it comes, from the beginning of the run. What would come before then comes right after it.
        at: Micros = Micros::ZERO, example("\"1.2s\"");
    }
}

keys! {
    /// `[[plan.late]]`: a tool run that comes to its own end although it was told to stop.
    #[derive(Eq)]
    pub struct LateCompletion {
        /// The number of the engine's input that it is.
        event: u32 = 0, required, above_zero("events are counted from 1");
        /// The tool run as transcripts name it: `1A`, or `toolu_7/1A` for another agent.
        tool: Arc<str> = "".into(), required, example("\"1A\"");
    }
}

keys! {
    /// When an answer arrives.
    #[derive(Eq)]
    pub struct AnswerTimes {
        /// When its head arrives after the request. By default as drawn.
        head: Option<Micros> = None;
        /// When each piece of its body arrives after the one before. Further pieces come as drawn.
        gaps: Vec<Micros> = Vec::new();
        /// When it ends after its last piece. By default as drawn.
        end: Option<Micros> = None;
    }
}

keys! {
    /// How a scripted answer looks as a stream.
    #[derive(Eq)]
    pub struct StreamShape {
        /// How many bytes of text each delta has; those that are not named have as many as drawn.
        pieces: Vec<u32> as Vec<ChunkSize> = Vec::new(), unit("bytes");
        /// How many spaces stand before the last brace of each payload.
        padding: Vec<u32> = Vec::new(), unit("spaces");
    }
}

/// The things that a run waits for beside answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WaitKind {
    /// An error of the model server, by request.
    Error,
    /// A tool, by tool use.
    Tool,
    /// A hook, by its number from 0 and what it is about: `0 stop 1`.
    Hook,
    /// A person who is asked for permission, by tool use.
    Permission,
    /// A tool that looks at its input, by tool use.
    Check,
    /// The store of results, by the result's name.
    Store,
    /// A lookup of skills or plugins, by kind and prompt: `skills 1`.
    LookUp,
    /// New credentials, by request.
    Auth,
    /// A person whom a tool's server asks, by tool use.
    Elicitation,
}

impl WaitKind {
    /// Each with its key in `[plan]`, and the purpose that its draws are keyed with.
    pub const ALL: [(&'static str, Self, &'static str); 9] = [
        ("errors", Self::Error, "fault-pace"),
        ("tools", Self::Tool, "tool-latency"),
        ("hooks", Self::Hook, "hook-latency"),
        ("permissions", Self::Permission, "permission-latency"),
        ("checks", Self::Check, "check-latency"),
        ("stores", Self::Store, "store-latency"),
        ("lookups", Self::LookUp, "lookup-latency"),
        ("auth", Self::Auth, "auth-latency"),
        ("elicitations", Self::Elicitation, "elicitation-latency"),
    ];

    /// The purpose that its draws are keyed with.
    pub fn purpose(self) -> &'static str {
        Self::ALL.iter().find(|(_, known, _)| *known == self).map_or("", |(.., purpose)| purpose)
    }
}

impl PlannedInterrupt {
    /// How many inputs came before, and on which side of the boundary between two it is.
    fn order(&self) -> (u64, bool) {
        (self.boundary.inputs_before(), self.boundary.side == BoundarySide::Before)
    }
}

impl Plan {
    /// A plan that names nothing.
    pub const EMPTY: Self = Self {
        drawn_from: None,
        interrupts: Vec::new(),
        client_interrupts: Vec::new(),
        client_follow_up: None,
        deviations: Vec::new(),
        late_completions: Vec::new(),
        single_faults: Vec::new(),
        faults: BTreeMap::new(),
        answers: BTreeMap::new(),
        streams: BTreeMap::new(),
        chunks: BTreeMap::new(),
        request_ids: BTreeMap::new(),
        latencies: BTreeMap::new(),
        backoff: BTreeMap::new(),
    };

    /// Whether it names events or arrivals of a simulated run: over a real or simulated network there are others.
    pub fn has_injections(&self) -> bool {
        let Self { interrupts, client_interrupts, client_follow_up, deviations, late_completions, single_faults, .. } = self;
        !(interrupts.is_empty()
            && client_interrupts.is_empty()
            && client_follow_up.is_none()
            && deviations.is_empty()
            && late_completions.is_empty()
            && single_faults.is_empty())
    }

    /// The same plan without them.
    #[must_use]
    pub fn without_injections(&self) -> Self {
        Self {
            interrupts: Vec::new(),
            client_interrupts: Vec::new(),
            client_follow_up: None,
            deviations: Vec::new(),
            late_completions: Vec::new(),
            single_faults: Vec::new(),
            ..self.clone()
        }
    }

    /// The injections of this plan with the choices of another.
    #[must_use]
    pub fn with_choices_of(&self, choices: Self, drawn_from: Seed) -> Self {
        let Self { interrupts, client_interrupts, client_follow_up, deviations, late_completions, single_faults, .. } = self.clone();
        let drawn_from = Some(drawn_from);
        Self { drawn_from, interrupts, client_interrupts, client_follow_up, deviations, late_completions, single_faults, ..choices }
    }

    /// The injections that no simulated run comes to, in words.
    pub fn missed_by_simulation(&self) -> impl Iterator<Item = String> {
        let text = |interrupt: &ClientInterrupt| {
            format!("the plan's interrupt at boundary {}, which only a client in virtual time has", interrupt.boundary)
        };
        let follow_up = self.client_follow_up.iter();
        let follow_up = follow_up.map(|text| format!("the plan's follow-up \"{text}\", which only a client in virtual time gets"));
        self.client_interrupts.iter().map(text).chain(follow_up)
    }

    /// Adds an interrupt where it belongs. What is injected last comes first, so it stands before others at its boundary.
    pub fn add_interrupt(&mut self, interrupt: PlannedInterrupt) {
        let at = self.interrupts.partition_point(|other| other.order() < interrupt.order());
        self.interrupts.insert(at, interrupt);
    }

    /// The names of this plan that a run did not choose, in words: a misspelt name would else be drawn unnoticed.
    pub fn not_chosen_in(&self, run: &Self) -> Vec<String> {
        let Self {
            drawn_from: _,
            interrupts: _,
            client_interrupts: _,
            client_follow_up: _,
            deviations: _,
            late_completions: _,
            single_faults: _,
            faults,
            answers,
            streams,
            chunks,
            request_ids,
            latencies,
            backoff,
        } = self;
        let mut names = beside("faults", faults, &run.faults);
        names.extend(beside("answers", answers, &run.answers));
        names.extend(beside("streams", streams, &run.streams));
        names.extend(beside("chunks", chunks, &run.chunks));
        names.extend(beside("request_ids", request_ids, &run.request_ids));
        for (key, of, _) in WaitKind::ALL {
            let nothing = NamedChoices::new();
            let [own, chosen] = [latencies, &run.latencies].map(|latencies| latencies.get(&of).unwrap_or(&nothing));
            names.extend(beside(key, own, chosen));
        }
        names.extend(beside("backoff", backoff, &run.backoff));
        names
    }

    /// Adds what another plan names and this one does not.
    pub fn complete_with(&mut self, other: &Self) {
        let Self {
            drawn_from: _,
            interrupts: _,
            client_interrupts: _,
            client_follow_up: _,
            deviations: _,
            late_completions: _,
            single_faults: _,
            faults,
            answers,
            streams,
            chunks,
            request_ids,
            latencies,
            backoff,
        } = other;
        complete(&mut self.faults, faults);
        complete(&mut self.answers, answers);
        complete(&mut self.streams, streams);
        complete(&mut self.chunks, chunks);
        complete(&mut self.request_ids, request_ids);
        for (of, latencies) in latencies {
            complete(self.latencies.entry(*of).or_default(), latencies);
        }
        complete(&mut self.backoff, backoff);
    }

    /// How long something takes, if the plan says so.
    pub fn latency(&self, of: WaitKind, name: &str) -> Option<Micros> {
        self.latencies.get(&of)?.get(name).copied()
    }
}

fn complete<T: Clone>(own: &mut NamedChoices<T>, other: &NamedChoices<T>) {
    for (name, choice) in other {
        own.entry(name.clone()).or_insert_with(|| choice.clone());
    }
}

fn beside<T>(key: &str, own: &NamedChoices<T>, chosen: &NamedChoices<T>) -> Vec<String> {
    own.keys().filter(|name| !chosen.contains_key(*name)).map(|name| format!("the plan's {key}, {name}")).collect()
}
