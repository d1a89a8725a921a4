//! Everything outside the engine in a simulated run: the model server, the tools, the user, timers.
//!
//! The world carries out effects by scheduling arrivals, and turns an arrival that is due into inputs. It keeps no clock: the
//! run loop gives it the time. The constant part is in [`setup::RunSetup`]; the changing part is small and copied with the run.
//!
//! Its rules are in `docs/rules/simulation.md` (M-1 to M-8).

#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

#[doc(hidden)]
pub mod answer_queue;
mod arrival_slack;
mod arrivals;
pub mod choices;
mod cuts;
#[doc(hidden)]
pub mod decoded_pieces;
mod default_answer;
#[doc(hidden)]
pub mod delivery;
#[doc(hidden)]
pub mod endpoint;
mod faults;
mod healing;
#[doc(hidden)]
pub mod model;
#[doc(hidden)]
pub mod model_request;
mod moments;
pub mod normalise;
mod outside_tools;
pub mod pacing;
#[doc(hidden)]
pub mod plan;
mod questions;
mod recorded_requests;
mod refusal;
mod reissue;
mod relocation;
#[doc(hidden)]
pub mod setup;
mod signatures;
mod single_faults;
mod timers;
mod tool_uses;
mod tools;
mod user;
mod watch;
mod workspace;
mod world_note;

pub use arrival_slack::ArrivalSlack;
use choices::{ChoiceMaker, NotedChoices};
use delivery::{AnswerDelivery, AnswerPart};
use model::{ModelResponse, ModelServer};
use model_request::ModelRequest;
use questions::AgentQuestions;
use setup::RunSetup;
use timers::TimerTable;
use tool_uses::{FirstRuns, ServedAnswers, ToolUseNames};
#[doc(hidden)]
pub use tools::clients::ClientToolRun;
use tools::{ActiveTools, ToolAct};
use user::SimulatedUser;
use watch::TriggerWatch;
use workspace::SimulatedFiles;
pub use workspace::{CopiedFile, FileChangeNote};
pub use world_note::WorldNote;

use reenact_engine::contract::{Agent, ByAgent, Effect, Emission, Input, Note, RequestId, Terminal, ToolRun, ToolUse};
use reenact_engine::settings::RequestPlace;
use reenact_engine::time::Time;
use reenact_scenario::interrupt::InterruptMoment;
use reenact_scenario::plan::{Plan as ChosenPlan, WaitKind};
use reenact_scenario::script::AnswerOrigin;
use reenact_scenario::statement::{PassedStatements, Statement, host_deeds};
use reenact_scenario::types::RefreshOutcome;
use reenact_wire::prelude::*;
use reenact_wire::request::Request;

/// The world of one run, as far as it changes.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct World {
    model: ModelServer,
    deliveries: Vec<AnswerDelivery>,
    tools: ActiveTools,
    first_runs: FirstRuns,
    served_answers: ServedAnswers,
    questions: ByAgent<AgentQuestions>,
    user: SimulatedUser,
    watch: TriggerWatch,
    timers: TimerTable,
    /// For which requests new credentials are on their way.
    refreshing: Vec<(Agent, RequestId)>,
    /// Interrupts whose moment came in the step that is carried out.
    happening: Vec<usize>,
    /// How many answers were on their way so far: what arrives names its delivery, not its request, which an engine may name twice.
    served: u32,
    /// The breach of the contract in the engine's last effect.
    misuse: Option<String>,
    /// The request in the last effect, if it is not valid.
    refused: Option<(RequestId, RefusedRequest)>,
    /// Statements that came to pass and that no other part notes (F-10).
    passed: PassedStatements,
    /// The files of the session, if the scenario has any.
    files: Option<SimulatedFiles>,
    /// The choices of the run, if they are noted. Copies share them until one makes a further choice.
    noted: Option<Arc<NotedChoices>>,
}

/// A request that is not valid (M-2).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RefusedRequest {
    /// The name of the broken rule.
    pub rule: &'static str,
    /// The text of the API.
    pub text: Arc<str>,
    /// Whether it was answered all the same, because the recording has an answer.
    pub overruled: bool,
}

/// Something that will happen. At the same instant, lower classes come first (D4).
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct Arrival(ArrivalKind);

#[derive(Clone, Debug, PartialEq, Hash)]
enum ArrivalKind {
    /// A part of an answer: the number of the delivery, and the part.
    Answer(u32, AnswerPart),
    Tool(Agent, ToolRun, ToolAct),
    /// Which of the timers that were set.
    Timer(u32),
    Auth(Agent, RequestId),
    /// Which question to a hook, a person, a tool or the store.
    Answered(Agent, u32),
    Prompt,
    /// Which of the scenario's interrupts.
    Interrupt(usize),
    /// Which of the changes that other processes make to files.
    FileChange(usize),
}

impl Arrival {
    /// The order among arrivals at the same instant: answers, tools and other questions, timers, the user.
    pub fn class(&self) -> u8 {
        match self.0 {
            ArrivalKind::Answer(..) => 0,
            ArrivalKind::Tool(..) | ArrivalKind::Auth(..) | ArrivalKind::Answered(..) | ArrivalKind::FileChange(_) => 1,
            ArrivalKind::Timer(_) => 2,
            ArrivalKind::Prompt | ArrivalKind::Interrupt(_) => 3,
        }
    }
}

/// Where the world puts what will happen.
pub type ArrivalSink = Vec<(Time, Arrival)>;

impl World {
    /// Begins: the first prompt is on its way, and so is what the user does at set times.
    pub fn start(&mut self, setup: &RunSetup, schedule: &mut ArrivalSink) {
        for (index, moment) in setup.scenario.moments().enumerate() {
            if let InterruptMoment::At(at) = moment {
                schedule.push((Time::ZERO + *at, moments::arrival(setup, index)));
            }
        }
        self.files.clone_from(&setup.files);
        self.model.single_faults.add_planned(&setup.scenario.plan);
        self.schedule_prompt(setup, Time::ZERO, schedule);
    }

    /// Carries out one effect; returns what the transcript should know.
    pub fn carry_out(
        &mut self,
        setup: &RunSetup,
        now: Time,
        agent: &Agent,
        effect: &Effect,
        schedule: &mut ArrivalSink,
    ) -> Option<WorldNote> {
        self.see(setup, agent, effect);
        self.note_result(setup, effect);
        match effect {
            Effect::Request { id, request } => return Some(self.serve(setup, now, agent, *id, request, schedule)),
            Effect::CloseRequest { id } => self.close(setup, now, agent, *id),
            Effect::StartTool { run, tool_use } => {
                let deeds = self.start_tool(setup, now, agent, *run, tool_use);
                schedule.extend(deeds.into_iter().map(|(at, deed)| (at, Arrival(ArrivalKind::Tool(agent.clone(), *run, deed)))));
            }
            Effect::StopTool { run } => {
                let stops = self.tools.stop(now, agent, *run);
                schedule.extend(stops.map(|(at, deed)| (at, Arrival(ArrivalKind::Tool(agent.clone(), *run, deed)))));
            }
            Effect::RefreshAuth { id, .. } => {
                self.passed.note(Statement::Auth);
                let takes = self.choices(setup).latency(WaitKind::Auth, &agent.key(*id), &setup.scenario.auth.latency, 0).takes;
                schedule.push((now + takes, Arrival(ArrivalKind::Auth(agent.clone(), *id))));
                self.refreshing.push((agent.clone(), *id));
            }
            Effect::SetTimer { timer, at } => schedule.push(((*at).max(now), Arrival(ArrivalKind::Timer(self.timers.set(agent, *timer))))),
            Effect::CancelTimer { timer } => self.timers.cancel(agent, *timer),
            // Who made a child waits for it; the user does not.
            Effect::Finished { .. } | Effect::Emit(Emission::QueuedCommand { .. }) if !agent.is_root() => (),
            Effect::Finished { prompt, terminal } => {
                if !self.user.on_finished(*prompt, terminal) {
                    self.misuse = Some(format!("prompt {prompt} was finished, and it was not open"));
                }
                self.schedule_prompt(setup, now, schedule);
            }
            Effect::Emit(Emission::QueuedCommand { prompt, .. }) => self.user.on_absorbed(*prompt),
            Effect::Emit(Emission::ApiRetry { id, delay, .. }) | Effect::Note(Note::SilentWait { id, delay }) => {
                self.choices(setup).on_wait(agent, *id, *delay)
            }
            Effect::Emit(_) | Effect::Note(_) | Effect::StartAgent { .. } => (),
            Effect::CheckTool { .. }
            | Effect::RunHook { .. }
            | Effect::AskPermission { .. }
            | Effect::StoreResult { .. }
            | Effect::LookUp { .. } => {
                let answered = self.ask(setup, now, agent, effect);
                schedule.extend(answered.map(|(at, number)| (at, Arrival(ArrivalKind::Answered(agent.clone(), number)))));
            }
            Effect::StopHook { hook } => self.questions.entry(agent).stop_hook(*hook),
            Effect::WithdrawPermission { run } => self.questions.entry(agent).withdraw(*run),
            Effect::Elicit { run, .. } => {
                let reply = self.tools.reply_of_the_user(agent, *run);
                let answered = AgentQuestions::for_agent(&mut self.questions, agent).elicit(now, *run, reply);
                schedule.extend(answered.map(|(at, number)| (at, Arrival(ArrivalKind::Answered(agent.clone(), number)))));
            }
            Effect::WithdrawElicitation { run } => self.questions.entry(agent).withdraw_elicitation(*run),
            Effect::AnswerElicitation { run, answer } => {
                let deeds = self.tools.on_answer(now, agent, *run, answer.is_some());
                schedule.extend(deeds.into_iter().map(|(at, deed)| (at, Arrival(ArrivalKind::Tool(agent.clone(), *run, deed)))));
            }
        }
        None
    }

    fn start_tool(&mut self, setup: &RunSetup, now: Time, agent: &Agent, run: ToolRun, tool_use: &ToolUse) -> Vec<(Time, ToolAct)> {
        let chosen = &self.first_runs.name(&tool_use.id, agent, run);
        let scripted = setup.scripted_id(self.model.original_id(&tool_use.id));
        let outcome = setup.outcome_of(scripted, self.served_answers.place(agent, run));
        let names = ToolUseNames { scripted, chosen, outcome };
        let choices = &mut ChoiceMaker::new(&setup.scenario, self.noted.as_mut());
        self.tools.start(setup, choices, now, (agent, run), (tool_use, self.files.as_mut()), names)
    }

    /// Notes an effect that is carried out elsewhere: a request that is answered outside.
    pub fn see(&mut self, setup: &RunSetup, agent: &Agent, effect: &Effect) {
        if let Effect::Request { id, request } = effect
            && agent.is_root()
        {
            let place = RequestPlace { prompt: id.prompt, request: id.turn };
            self.passed.extend(host_deeds(&setup.scenario, place, request, &self.passed));
        }
        self.happening.extend(self.watch.effect(setup, agent, effect));
    }

    /// The engine closes an answer. What is on its way may linger.
    fn close(&mut self, setup: &RunSetup, now: Time, agent: &Agent, id: RequestId) {
        let until = now + setup.scenario.api.lingers;
        self.deliveries.iter_mut().filter(|delivery| delivery.answers(agent, id)).for_each(|delivery| delivery.close(until));
        self.deliveries.retain(|delivery| delivery.is_heard(now));
    }

    /// Whether an arrival at this time is still to happen: one that was taken back is not, and no time passes for it. What an engine cannot take back comes,
    /// also after the end of its prompt: the look of a tool at its input, a place for a result, skills and plugins, credentials. So a run is over when the last thing that matters is.
    pub fn awaits(&self, at: Time, arrival: &Arrival) -> bool {
        match &arrival.0 {
            ArrivalKind::Answer(serial, _) => self.deliveries.iter().any(|delivery| delivery.serial == *serial && delivery.is_heard(at)),
            ArrivalKind::Tool(agent, run, deed) => self.tools.awaits(at, agent, *run, *deed),
            ArrivalKind::Timer(serial) => self.timers.is_set(*serial),
            ArrivalKind::Auth(agent, id) => self.refreshing.iter().any(|(of, open)| (of, open) == (agent, id)),
            ArrivalKind::Answered(agent, number) => self.questions.get(agent).is_some_and(|questions| questions.is_open(*number)),
            ArrivalKind::Prompt | ArrivalKind::Interrupt(_) | ArrivalKind::FileChange(_) => true,
        }
    }

    /// Lets an arrival happen: the inputs that it brings, in order. An answer that was closed brings nothing.
    pub fn arrive(&mut self, setup: &RunSetup, now: Time, arrival: Arrival, inputs: &mut Vec<(Agent, Input)>, schedule: &mut ArrivalSink) {
        match arrival.0 {
            ArrivalKind::Answer(serial, part) => {
                let Some(index) = self.deliveries.iter().position(|delivery| delivery.serial == serial) else { return };
                let choices = &mut ChoiceMaker::new(&setup.scenario, self.noted.as_mut());
                match self.deliveries[index].arrive(&setup.scenario.chunking, choices, part, inputs) {
                    Some((at, next)) => schedule.push((at, Arrival(ArrivalKind::Answer(serial, next)))),
                    None => drop(self.deliveries.remove(index)),
                }
            }
            ArrivalKind::Tool(agent, run, deed) => {
                let (input, next) = self.tools.arrive(now, &agent, run, deed, self.files.as_mut());
                schedule.extend(next.map(|(at, deed)| (at, Arrival(ArrivalKind::Tool(agent.clone(), run, deed)))));
                inputs.extend(input.map(|input| (agent, input)));
            }
            ArrivalKind::Auth(agent, id) => {
                self.refreshing.retain(|(of, open)| (of, *open) != (&agent, id));
                inputs.push((agent, Input::AuthRefreshed { id, ok: setup.scenario.auth.refresh == RefreshOutcome::Works }));
            }
            ArrivalKind::Timer(serial) => inputs.extend(self.timers.ring(serial).map(|(agent, timer)| (agent, Input::Timer(timer)))),
            ArrivalKind::Answered(agent, number) => inputs.extend(self.questions.entry(&agent).answer(number).map(|input| (agent, input))),
            ArrivalKind::Prompt => inputs.push((Agent::ROOT, self.user.speak(setup))),
            ArrivalKind::Interrupt(index) => inputs.push((Agent::ROOT, self.user.interrupt(setup, index))),
            ArrivalKind::FileChange(index) => self.change_file(setup, now, index),
        }
    }

    /// From here on the run's choices are noted (F-11).
    pub fn note_choices(&mut self) {
        self.noted.get_or_insert_default();
    }

    /// The choices so far, if they are noted.
    pub fn noted_choices(&self) -> Option<&ChosenPlan> {
        self.noted.as_deref().map(|noted| &noted.plan)
    }

    /// The breach of the contract in the engine's last effect.
    pub fn take_misuse(&mut self) -> Option<String> {
        self.misuse.take()
    }

    /// The request in the last effect, if it is not valid, and what is wrong with it.
    pub fn take_refused(&mut self) -> Option<(RequestId, RefusedRequest)> {
        self.refused.take()
    }

    /// Something was injected that is no part of the scenario: requests may come because of it alone (M-3).
    pub fn on_injected(&mut self) {
        self.user.on_injected();
    }

    /// The terminal of each prompt that ended, in order.
    pub fn terminals(&self) -> &[Terminal] {
        self.user.terminals()
    }

    /// Whether every prompt was answered and every message merged.
    pub fn is_done(&self, setup: &RunSetup) -> bool {
        self.user.is_done(setup)
    }

    /// The names of the interrupts whose moment never came.
    pub fn missed_interrupts(&self, setup: &RunSetup) -> Vec<Arc<str>> {
        self.user.missed(setup)
    }

    /// The names of the unused answers (M-3).
    pub fn unused_answers(&self, setup: &RunSetup) -> Vec<Arc<str>> {
        self.model.unused(setup, answer_queue::AnswerOwner::Own)
    }

    /// The statements of the scenario that came to pass (F-10).
    pub fn passed(&self, setup: &RunSetup) -> PassedStatements {
        let mut passed = self.model.passed(setup);
        passed.extend(self.passed.iter().cloned());
        passed.extend(self.user.passed());
        passed.extend(self.tools.passed());
        passed.extend(self.questions.all().flat_map(AgentQuestions::passed));
        passed
    }

    /// Takes note of a `[[result]]` that is used.
    fn note_result(&mut self, setup: &RunSetup, effect: &Effect) {
        if setup.scenario.results.is_empty() {
            return;
        }
        let (Effect::StartTool { tool_use, .. } | Effect::CheckTool { tool_use, .. }) = effect else { return };
        let id = setup.scripted_id(self.model.original_id(&tool_use.id));
        if let Some((id, _)) = setup.scenario.results.get_key_value(id) {
            self.passed.note(Statement::Result(id.clone()));
        }
    }

    /// Passes a question on; the time of its answer and its number, if it is ever answered.
    fn ask(&mut self, setup: &RunSetup, now: Time, agent: &Agent, effect: &Effect) -> Option<(Time, u32)> {
        let questions = AgentQuestions::for_agent(&mut self.questions, agent);
        let choices = &mut ChoiceMaker::new(&setup.scenario, self.noted.as_mut());
        match effect {
            Effect::CheckTool { run, tool_use } => {
                let chosen = &self.first_runs.name(&tool_use.id, agent, *run);
                let scripted = setup.scripted_id(self.model.original_id(&tool_use.id));
                let outcome = setup.outcome_of(scripted, self.served_answers.place(agent, *run));
                let names = ToolUseNames { scripted, chosen, outcome };
                self.passed.extend(questions::scripted_check(setup, tool_use, names).map(|(asker, _)| Statement::Check(asker)));
                let said = tools::said_of(setup, tool_use, names);
                let usual = self.files.as_mut().and_then(|files| files.check(now, tool_use, said)).unwrap_or_default();
                questions.check(setup, choices, now, *run, (tool_use, usual), names)
            }
            Effect::RunHook { hook, .. } => questions.hook(setup, choices, now, *hook),
            Effect::AskPermission { run, tool_use, .. } => {
                let name = self.first_runs.name(&tool_use.id, agent, *run);
                questions.permission(setup, choices, now, *run, tool_use, &name)
            }
            Effect::StoreResult { run, .. } => {
                self.passed.note(Statement::Store);
                questions.store(setup, choices, now, *run)
            }
            Effect::LookUp { what, prompt } => {
                self.passed.extend([Some(*what), None].map(Statement::LookUp));
                questions.look_up(setup, choices, now, *what, *prompt)
            }
            _ => None,
        }
    }

    fn choices<'a>(&'a mut self, setup: &'a RunSetup) -> ChoiceMaker<'a> {
        ChoiceMaker::new(&setup.scenario, self.noted.as_mut())
    }

    fn schedule_prompt(&mut self, setup: &RunSetup, now: Time, schedule: &mut ArrivalSink) {
        schedule.extend(self.user.next_prompt(setup, now).map(|at| (at, Arrival(ArrivalKind::Prompt))));
    }

    fn serve(
        &mut self,
        setup: &RunSetup,
        now: Time,
        agent: &Agent,
        id: RequestId,
        request: &Request,
        schedule: &mut ArrivalSink,
    ) -> WorldNote {
        let origins = self.origins(setup, agent, id);
        let asking = ModelRequest {
            agent,
            id,
            request,
            now,
            origins: &origins,
            gets_default: self.user.has_interfered(setup),
            of_head: None,
            of_body: None,
        };
        let choices = &mut ChoiceMaker::new(&setup.scenario, self.noted.as_mut());
        let ModelResponse { plan, note, refused } = self.model.answer(setup, &asking, choices);
        self.refused = refused.map(|refused| (id, refused));
        let Some(plan) = plan else { return note };
        if matches!(note, WorldNote::Served { fault: Some(_), .. }) || self.model.single_faults.has_hit() {
            self.user.on_injected();
        }
        if let WorldNote::Served { answer, .. } = &note
            && !setup.repeated.is_empty()
        {
            self.served_answers.note(agent, id, answer);
        }
        if self.deliveries.iter().any(|delivery| delivery.answers(agent, id)) {
            self.misuse = Some(format!("request {id} was made while another request with this id is open"));
        }
        if let Some(head) = &plan.head {
            self.choices(setup).on_head(agent, id, head);
        }
        self.served += 1;
        let delivery = AnswerDelivery::new(self.served, agent.clone(), id, plan.into(), now);
        schedule.extend(delivery.first().map(|(at, part)| (at, Arrival(ArrivalKind::Answer(delivery.serial, part)))));
        self.deliveries.push(delivery);
        note
    }

    /// The owner of the scripted answers that a request may get: a prompt, or the tool use that made the agent.
    fn origins(&self, setup: &RunSetup, agent: &Agent, id: RequestId) -> Vec<AnswerOrigin> {
        let Some(address) = agent.tool_use_id() else { return self.user.origins(id.prompt) };
        // Behind the tool use's id stands which of its agents this is; the id itself may be fresh.
        let (tool_use, task) = address.split_once('.').unwrap_or((address, ""));
        let known = self.model.original_id(tool_use);
        let known = if task.is_empty() { known.into() } else { format!("{known}.{task}") };
        setup.agents.get(&*known).copied().into_iter().collect()
    }
}
