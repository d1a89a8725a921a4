//! Stale inputs change nothing: an input with the number of another attempt, run or timer is ignored (R-2, T-15a).
//!
//! Wherever a shipped scenario gives an engine something, a copy of the engine gets the same under a number that it does not know.

use super::shipped_scenarios::shipped;
use super::threads_available;
use reenact_engine::agent_loop::AgentLoop;
use reenact_engine::contract::{Effects, Engine, Environment, Input, RequestId, Time, TimerId, ToolRun};
use reenact_sim::Run;
use reenact_wire::prelude::*;

/// An engine that gets every input twice, the first time under a wrong number.
#[derive(Clone, Debug, PartialEq)]
struct StaleInputEngine {
    engine: AgentLoop,
    listened: Option<String>,
}

impl Engine for StaleInputEngine {
    fn step(&mut self, env: &Environment, now: Time, input: &Input, effects: &mut Effects) {
        if let Some(stale) = stale(input) {
            let mut copy = self.engine.clone();
            let mut caused = effects.clone();
            copy.step(env, now, &stale, &mut caused);
            if self.listened.is_none() && (copy != self.engine || caused != *effects) {
                self.listened = Some(format!("{stale:?} at {now:?} is not ignored"));
            }
        }
        self.engine.step(env, now, input, effects);
    }
}

/// The same under a number that nothing has.
fn stale(input: &Input) -> Option<Input> {
    let other = |id: RequestId| RequestId { attempt: id.attempt + 100, ..id };
    let other_run = |run: ToolRun| ToolRun { request: other(run.request), ..run };
    Some(match input.clone() {
        Input::Head { id, status, headers } => Input::Head { id: other(id), status, headers },
        Input::Stream { id, event } => Input::Stream { id: other(id), event },
        Input::Body { id, body } => Input::Body { id: other(id), body },
        Input::End { id, how } => Input::End { id: other(id), how },
        Input::AuthRefreshed { id, ok } => Input::AuthRefreshed { id: other(id), ok },
        Input::ToolProgress { run, text, kind } => Input::ToolProgress { run: other_run(run), text, kind },
        Input::ToolEnded { run, outcome } => Input::ToolEnded { run: other_run(run), outcome },
        Input::ToolChecked { run, check } => Input::ToolChecked { run: other_run(run), check },
        Input::PermissionAnswered { run, answer } => Input::PermissionAnswered { run: other_run(run), answer },
        Input::ResultStored { run, path } => Input::ResultStored { run: other_run(run), path },
        Input::Timer(TimerId { id, generation }) => Input::Timer(TimerId { id: id + 100, generation }),
        _ => return None,
    })
}

#[test]
fn t_15a_and_t_19_what_comes_under_another_number_changes_nothing() {
    let scenarios = shipped();
    let listened = super::in_parallel(&scenarios, threads_available(), |scenario| {
        let engine = StaleInputEngine { engine: AgentLoop::default(), listened: None };
        let listened = Run::new(scenario.setup.clone(), engine).to_end().engine.listened;
        listened.map(|listened| format!("{}: {listened}", scenario.name))
    });
    let listened: Vec<String> = listened.into_iter().flatten().collect();
    assert!(listened.is_empty(), "{}", listened.join("\n"));
}
