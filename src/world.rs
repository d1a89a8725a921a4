//! Everything outside the engine in a simulated run: the model server, the tools, the user, timers.
//!
//! The world carries out effects by scheduling arrivals, and turns an arrival that is due into inputs. It keeps no clock: the
//! run loop tells it the time. What never changes is in [`setup::Setup`]; what does is small and copied with the run.

pub mod pacing;
pub mod setup;

mod delivery;
mod server;
mod tools;

use delivery::{Delivery, Part};
use server::Server;
use setup::Setup;
use tools::{Deed, Tools};

use crate::engine::contract::{Agent, Effect, Input, RequestId, Terminal, TimerId, ToolRun};
use crate::engine::time::Time;
use crate::prelude::*;
use crate::scenario::tape::Provenance;
use crate::scenario::types::Refresh;
use crate::wire::compare::Difference;
use crate::wire::request::Request;

/// The world of one run, as far as it changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct World {
    server: Server,
    deliveries: Vec<Delivery>,
    tools: Tools,
    /// How many prompts were submitted.
    submitted: usize,
    /// The terminal of each prompt that ended, in order.
    terminals: Vec<Terminal>,
}

/// Something that will happen. At the same instant, lower classes come first (D4).
#[derive(Clone, Debug, PartialEq)]
pub struct Arrival(What);

#[derive(Clone, Debug, PartialEq)]
enum What {
    Answer(RequestId, Part),
    Tool(ToolRun, Deed),
    Timer(TimerId),
    Auth(RequestId),
    Prompt,
}

impl Arrival {
    /// The order among arrivals at the same instant: answers, tools and credentials, timers, the user.
    pub fn class(&self) -> u8 {
        match self.0 {
            What::Answer(..) => 0,
            What::Tool(..) | What::Auth(_) => 1,
            What::Timer(_) => 2,
            What::Prompt => 3,
        }
    }
}

/// What a transcript should know of the world's part.
#[derive(Clone, Debug, PartialEq)]
pub enum WorldNote {
    /// A request got an answer.
    Served {
        /// The request.
        id: RequestId,
        /// The answer's name.
        answer: Arc<str>,
        /// Where the answer comes from.
        provenance: Provenance,
        /// Where the request differs from the recorded one.
        differences: Vec<Difference>,
    },
    /// No answer was left for a request: the run ends (M-3).
    Exhausted {
        /// The request.
        id: RequestId,
    },
}

/// Where the world puts what will happen.
pub type Schedule = Vec<(Time, Arrival)>;

impl World {
    /// Begins: the first prompt is on its way.
    pub fn start(&self, setup: &Setup, schedule: &mut Schedule) {
        self.schedule_prompt(setup, Time::ZERO, schedule);
    }

    /// Carries out one effect; returns what the transcript should know.
    pub fn carry_out(&mut self, setup: &Setup, now: Time, _agent: &Agent, effect: &Effect, schedule: &mut Schedule) -> Option<WorldNote> {
        match effect {
            Effect::Request { id, request } => return Some(self.serve(setup, now, *id, request, schedule)),
            Effect::CloseRequest { id } => self.deliveries.retain(|delivery| delivery.id() != *id),
            Effect::StartTool { run, tool_use } => {
                let deeds = self.tools.start(setup, now, *run, tool_use, &tool_use.id);
                schedule.extend(deeds.into_iter().map(|(at, deed)| (at, Arrival(What::Tool(*run, deed)))));
            }
            Effect::StopTool { run } => {
                let stops = self.tools.stop(now, *run);
                schedule.extend(stops.map(|(at, deed)| (at, Arrival(What::Tool(*run, deed)))));
            }
            Effect::RefreshAuth { id, .. } => {
                let mut draws = setup.scenario.seed.draws("auth-latency", &id.to_string());
                let takes = setup.scenario.auth.latency.draw(&mut draws, None, 0).unwrap_or_default();
                schedule.push((now + takes, Arrival(What::Auth(*id))));
            }
            Effect::SetTimer { timer, at } => schedule.push(((*at).max(now), Arrival(What::Timer(*timer)))),
            Effect::Finished { terminal, .. } => {
                self.terminals.push(terminal.clone());
                self.schedule_prompt(setup, now, schedule);
            }
            Effect::Emit(_) | Effect::Note(_) => (),
        }
        None
    }

    /// Lets an arrival happen: the inputs that it brings, in order. An answer that was closed brings nothing.
    pub fn arrive(&mut self, setup: &Setup, now: Time, arrival: Arrival, inputs: &mut Vec<Input>, schedule: &mut Schedule) {
        match arrival.0 {
            What::Answer(id, part) => {
                let Some(index) = self.deliveries.iter().position(|delivery| delivery.id() == id) else { return };
                match self.deliveries[index].arrive(setup, part, inputs) {
                    Some((at, next)) => schedule.push((at, Arrival(What::Answer(id, next)))),
                    None => drop(self.deliveries.remove(index)),
                }
            }
            What::Tool(run, deed) => {
                let (input, next) = self.tools.arrive(now, run, deed);
                inputs.extend(input);
                schedule.extend(next.map(|(at, deed)| (at, Arrival(What::Tool(run, deed)))));
            }
            What::Auth(id) => inputs.push(Input::AuthRefreshed { id, ok: setup.scenario.auth.refresh == Refresh::Works }),
            What::Timer(timer) => inputs.push(Input::Timer(timer)),
            What::Prompt => {
                let said = &setup.scenario.prompts[self.submitted];
                self.submitted += 1;
                let prompt = u32::try_from(self.submitted).unwrap_or(u32::MAX);
                inputs.push(Input::Prompt { prompt, content: said.content.clone().into() });
            }
        }
    }

    /// The terminal of each prompt that ended, in order.
    pub fn terminals(&self) -> &[Terminal] {
        &self.terminals
    }

    /// Whether every prompt was answered.
    pub fn is_done(&self, setup: &Setup) -> bool {
        self.terminals.len() == setup.scenario.prompts.len()
    }

    /// The names of the answers that nobody asked for (M-3).
    pub fn unused_answers(&self, setup: &Setup) -> Vec<Arc<str>> {
        self.server.unused(setup)
    }

    /// The user speaks when the session is free, or later if the scenario says when.
    fn schedule_prompt(&self, setup: &Setup, now: Time, schedule: &mut Schedule) {
        if let Some(said) = setup.scenario.prompts.get(self.submitted) {
            let at = said.at.map_or(now, |at| (Time::ZERO + at).max(now));
            schedule.push((at, Arrival(What::Prompt)));
        }
    }

    fn serve(&mut self, setup: &Setup, now: Time, id: RequestId, request: &Request, schedule: &mut Schedule) -> WorldNote {
        let Some(served) = self.server.serve(setup, id, request) else { return WorldNote::Exhausted { id } };
        let delivery = Delivery::new(setup, id, served.answer, now);
        let (at, part) = delivery.first();
        schedule.push((at, Arrival(What::Answer(id, part))));
        self.deliveries.push(delivery);
        let answer = &setup.answers[served.answer];
        WorldNote::Served { id, answer: answer.name.clone(), provenance: answer.provenance, differences: served.differences }
    }
}
