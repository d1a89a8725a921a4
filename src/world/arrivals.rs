//! Arrivals as an exploration sees them: their names, which may come before which, and another time for one (E-3).

use core::hash::{Hash, Hasher};

use super::arrival_slack::ArrivalSlack;
use super::delivery::AnswerPart;
use super::setup::RunSetup;
use super::tools::ToolAct;
use super::{Arrival, ArrivalKind, World};
use reenact_engine::contract::{Agent, HookRun, HookSubject, Input, RequestId, ToolRun};
use reenact_engine::time::Time;
use reenact_scenario::single_fault::SingleFault;
use reenact_wire::prelude::*;

impl Arrival {
    /// Whether it comes at an instant that the engine set: no other time is possible.
    pub fn is_timer(&self) -> bool {
        matches!(self.0, ArrivalKind::Timer(_))
    }

    /// Whether both are of one answer, one tool run, or the user: these keep their order.
    pub fn is_of_one_source(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (ArrivalKind::Answer(one, _), ArrivalKind::Answer(other, _)) => one == other,
            (ArrivalKind::Tool(one, run, _), ArrivalKind::Tool(other, other_run, _)) => (one, run) == (other, other_run),
            (ArrivalKind::Prompt | ArrivalKind::Interrupt(_), ArrivalKind::Prompt | ArrivalKind::Interrupt(_)) => true,
            (ArrivalKind::FileChange(_), ArrivalKind::FileChange(_)) => true,
            _ => false,
        }
    }
}

impl World {
    /// Takes an arrival into the key of a state (E-3): a timer by its place among those that are set, whatever its number.
    pub fn hash_arrival(&self, arrival: &Arrival, state: &mut impl Hasher) {
        match &arrival.0 {
            ArrivalKind::Timer(serial) => self.timers.place(*serial).hash(state),
            other => other.hash(state),
        }
    }

    /// How far from its time an arrival may come, where the scenario says it: in `[explore.jitter]`, else by the range of its latency (E-3).
    pub fn slack(&self, setup: &RunSetup, now: Time, at: Time, arrival: &Arrival) -> Option<ArrivalSlack> {
        let jitter = &setup.scenario.explore.jitter;
        let (limit, slack) = match &arrival.0 {
            ArrivalKind::Answer(..) => (jitter.answers, None),
            ArrivalKind::Tool(agent, run, ToolAct::Ends) => (jitter.tools, self.tools.slack(agent, *run)),
            ArrivalKind::Tool(..) => (jitter.tools, None),
            ArrivalKind::Auth(..) => (jitter.auth, ArrivalSlack::within(setup.scenario.auth.latency.range(), at.since(now))),
            ArrivalKind::Prompt | ArrivalKind::Interrupt(_) => (jitter.user, None),
            ArrivalKind::Timer(_) | ArrivalKind::FileChange(_) => (None, None),
            ArrivalKind::Answered(agent, number) => {
                let questions = self.questions.get(agent)?;
                let limit = match questions.awaited(*number)? {
                    Input::HookEnded { .. } => jitter.hooks,
                    Input::PermissionAnswered { .. } | Input::ElicitationAnswered { .. } => jitter.permissions,
                    _ => None,
                };
                (limit, questions.slack(*number))
            }
        };
        limit.map(ArrivalSlack::at_most).or(slack)
    }

    /// An arrival in a few words, as a plan names it: `event 3 of answer 2`, `tool 1A ends`.
    pub fn arrival_name(&self, arrival: &Arrival) -> String {
        let of = |agent: &Agent| agent.tool_use_id().map_or_else(String::new, |agent| format!(" of agent {agent}"));
        match &arrival.0 {
            ArrivalKind::Answer(serial, part) => {
                let delivery = self.deliveries.iter().find(|delivery| delivery.serial == *serial);
                let answer = delivery.map_or_else(|| String::from("?"), |delivery| delivery.agent.key(delivery.id));
                match part {
                    AnswerPart::Head => format!("head of answer {answer}"),
                    AnswerPart::Event(number) => format!("event {number} of answer {answer}"),
                    AnswerPart::End | AnswerPart::Left => format!("end of answer {answer}"),
                }
            }
            ArrivalKind::Tool(agent, run, act) => {
                let act = match act {
                    ToolAct::Progress(nth) => format!("progress {}", nth + 1),
                    ToolAct::Asks => String::from("asks the user"),
                    ToolAct::Ends => String::from("ends"),
                    ToolAct::EndsAgain => String::from("ends again"),
                    ToolAct::Stops => String::from("stops"),
                };
                format!("tool {run}{} {act}", of(agent))
            }
            ArrivalKind::Timer(serial) => match self.timers.name(*serial) {
                Some((agent, timer)) => format!("timer {}{}", timer.id, of(agent)),
                None => String::from("a timer that was cancelled"),
            },
            ArrivalKind::Auth(agent, id) => format!("credentials for request {}", agent.key(*id)),
            ArrivalKind::Answered(agent, number) => {
                let answer = self.questions.get(agent).and_then(|questions| questions.awaited(*number));
                format!("{}{}", answer.map_or_else(|| String::from("an answer that was withdrawn"), question_name), of(agent))
            }
            ArrivalKind::Prompt => String::from("the next prompt"),
            ArrivalKind::Interrupt(index) => format!("interrupt {} of the scenario", index + 1),
            ArrivalKind::FileChange(index) => format!("file change {} of the scenario", index + 1),
        }
    }

    /// An arrival comes at another time than it should. The rest of an answer is moved with its next part. What follows may be more than the scenario has
    /// answers for (M-3).
    pub fn move_arrival(&mut self, arrival: &Arrival, before: Time, after: Time) {
        self.user.on_injected();
        if let ArrivalKind::Answer(serial, _) = &arrival.0
            && let Some(delivery) = self.deliveries.iter_mut().find(|delivery| delivery.serial == *serial)
        {
            delivery.move_by(before, after);
        }
    }

    /// How many events the answer to an open request has; `None` for one that is no stream.
    pub fn count_answer_events(&self, agent: &Agent, id: RequestId) -> Option<u32> {
        let delivery = self.deliveries.iter().find(|delivery| delivery.answers(agent, id))?;
        delivery.plan.is_stream.then(|| u32::try_from(delivery.plan.events().len()).unwrap_or(u32::MAX))
    }

    /// The tool runs that were told to stop and have not ended, by their names in plans: `1A`, `toolu_7/1A`.
    pub fn stopping_tools(&self) -> Vec<Arc<str>> {
        self.tools.stopping().map(|(agent, run)| tool_name(agent, run).into()).collect()
    }

    /// The tool run of this name comes to its own end although it was told to stop: the input that it brings.
    pub fn complete_late(&mut self, now: Time, name: &str) -> Option<(Agent, Input)> {
        let (agent, run) =
            self.tools.stopping().find(|(agent, run)| tool_name(agent, *run) == name).map(|(agent, run)| (agent.clone(), run))?;
        let input = self.tools.complete(now, &agent, run, self.files.as_mut())?;
        self.user.on_injected();
        Some((agent, input))
    }

    /// A fault of a request that is not made yet.
    pub fn add_fault(&mut self, fault: Arc<SingleFault>) {
        self.model.single_faults.add(fault);
    }

    /// Whether a fault of a request has hit that goes on for ever.
    pub fn has_endless_fault(&self) -> bool {
        self.model.single_faults.is_endless()
    }

    /// The faults of single requests that hit nothing, in words.
    pub fn missed_faults(&self) -> Vec<String> {
        self.model.single_faults.unused().map(SingleFault::to_string).collect()
    }
}

fn tool_name(agent: &Agent, run: ToolRun) -> String {
    agent.tool_use_id().map_or_else(|| run.to_string(), |agent| format!("{agent}/{run}"))
}

/// The one that answers, and what about.
fn question_name(answer: &Input) -> String {
    match answer {
        Input::HookEnded { hook: HookRun { hook, subject }, .. } => match subject {
            HookSubject::Tool(run) => format!("hook {} of tool {run} ends", hook + 1),
            HookSubject::Stop(id) => format!("hook {} after answer {id} ends", hook + 1),
            HookSubject::Compaction(id) => format!("hook {} of compaction {id} ends", hook + 1),
        },
        Input::PermissionAnswered { run, .. } => format!("permission for tool {run}"),
        Input::ToolChecked { run, .. } => format!("check of tool {run}"),
        Input::ResultStored { run, .. } => format!("result of tool {run} stored"),
        Input::ElicitationAnswered { run, .. } => format!("user answers tool {run}"),
        Input::LookedUp { what, prompt, .. } => format!("{} of prompt {prompt} looked up", what.as_str()),
        _ => String::from("an answer"),
    }
}
