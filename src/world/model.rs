//! The model server whole: what a request gets (M-2, M-3, M-4), whoever made it and however it travels.
//!
//! ```text
//!   request ── valid? ── fault? ── which answer? ── what a fault changes ──> a plan of bytes and times
//! ```
//!
//! The simulated run carries the plan out on its virtual clock, the replay server over real sockets.

use super::again;
use super::choices::Choices;
use super::faults::{self, Asked};
use super::plan::Plan;
use super::refusal;
use super::server::{Served, Server, Whose};
use super::setup::{Prepared, Setup};
use super::signatures::Given;
use super::{Refused, WorldNote};
use crate::engine::contract::{Agent, RequestId};
use crate::engine::time::Time;
use crate::prelude::*;
use crate::scenario::fault::{Change, FaultKind};
use crate::scenario::script::Origin;
use crate::scenario::statement::{Passed, Statement};
use crate::wire::request::Request;
use crate::wire::validate::Validator;

/// What the server knows of the requests before.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ModelServer {
    server: Server,
    validator: Validator,
    /// What thinking was given out.
    signatures: Given,
    /// Which faults hit.
    hits: Passed,
}

/// A request at the server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asking<'a> {
    pub(crate) agent: &'a Agent,
    pub(crate) id: RequestId,
    pub(crate) request: &'a Request,
    pub(crate) now: Time,
    /// Whose scripted answers it may get, the first first.
    pub(crate) origins: &'a [Origin],
    /// Whether it gets the default answer when none is left: requests may exist because of an injection alone (M-3).
    pub(crate) gets_default: bool,
    /// Whether who asks the same again gets the same answer again, also where no fault changed it.
    pub(crate) lends: bool,
}

/// What a request gets.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answered {
    /// All that will come; `None` when no answer is left.
    pub(crate) plan: Option<Plan>,
    /// What a transcript should know.
    pub(crate) note: WorldNote,
    /// What is wrong with the request.
    pub(crate) refused: Option<Refused>,
}

impl ModelServer {
    /// Answers a request.
    pub(crate) fn answer(&mut self, setup: &Setup, asking: &Asking<'_>, choices: &mut Choices<'_>) -> Answered {
        let scenario = &setup.scenario;
        let Asking { agent, id, request, now, .. } = *asking;
        let refusal = refusal::of(setup, &mut self.validator, &self.signatures, request);
        // What a recording has an answer to was taken, whatever the rules say.
        let overruled = scenario.tape.is_some();
        let refused = refusal.as_ref().map(|refusal| Refused { rule: refusal.name, text: (&*refusal.message).into(), overruled });
        let asked = Asked { id, agent, model: &request.model, now };
        self.hits.extend(faults::chances(&scenario.faults, &asked).into_iter().map(Statement::FaultChance));
        let (plan, note) = match faults::verdict(&scenario.faults, &asked, choices) {
            Some((index, kind @ FaultKind::Instead(instead))) => {
                self.hits.note(Statement::Fault(index));
                let plan = faults::instead(instead, &asked, &scenario.timing, choices);
                (Some(plan), WorldNote::Fault { id, text: kind.to_string().into() })
            }
            _ if let Some(refusal) = refusal.filter(|_| !overruled) => {
                (Some(refusal::plan(&refusal, &asked, &scenario.timing, choices)), WorldNote::Answered)
            }
            other => {
                let change = if let Some((index, FaultKind::Change(change))) = other { Some((index, change)) } else { None };
                match self.prepared(setup, asking, change, choices) {
                    Some((plan, note)) => (Some(plan), note),
                    None => (None, WorldNote::Exhausted { id }),
                }
            }
        };
        Answered { plan, note, refused }
    }

    /// The id that the scenario has for a tool use.
    pub(crate) fn original_id<'a>(&'a self, id: &'a str) -> &'a str {
        self.server.original_id(id)
    }

    /// The names of the answers that nobody asked for.
    pub(crate) fn unused(&self, setup: &Setup, whose: Whose) -> Vec<Arc<str>> {
        self.server.unused(setup, whose)
    }

    /// What came to pass of the faults and answers that the scenario says (F-10).
    pub(crate) fn passed(&self, setup: &Setup) -> Passed {
        let mut passed = self.hits.clone();
        passed.extend(self.server.given(setup));
        passed
    }

    /// The answer that the request gets, changed by a fault if there is one; `None` when none is left.
    fn prepared(
        &mut self,
        setup: &Setup,
        asking: &Asking<'_>,
        change: Option<(usize, &Change)>,
        choices: &mut Choices<'_>,
    ) -> Option<(Plan, WorldNote)> {
        let Asking { agent, id, request, gets_default, lends, .. } = *asking;
        let scenario_tells = setup.scenario.api.tells_tokens();
        let mut as_prepared = |answer: &Prepared| {
            choices.on_served(answer);
            Plan::of(answer, choices.times(&agent.key(id), &setup.scenario.timing, &answer.known))
        };
        let (mut plan, name, provenance, differences) = match self.server.serve(setup, asking, change.is_some() || lends) {
            Some(Served { answer, nth, differences }) => {
                let answer = &setup.answers[answer];
                let mut plan = as_prepared(answer);
                if nth > 1 {
                    let (fresh, ids) = again::with_fresh_ids(&plan, nth);
                    self.server.remember(ids);
                    plan = fresh;
                }
                (plan, answer.name.clone(), answer.provenance.as_str(), differences)
            }
            None if gets_default => {
                let answer = setup.default_answer(id);
                (as_prepared(&answer), answer.name.clone(), "synthetic", Vec::new())
            }
            None => return None,
        };
        let (usual, asked) = (&setup.scenario.settings.model, &request.model);
        if setup.scenario.tape.is_none() && usual != asked {
            plan = again::from_model(plan, usual, asked);
        }
        if scenario_tells && let Some(counted) = refusal::with_input_tokens(&plan, request) {
            plan = counted;
        }
        self.signatures.remember(setup, request, &plan);
        if !request.stream && plan.is_stream {
            plan = again::unstreamed(&plan).unwrap_or(plan);
        }
        let fault = change.map(|(index, change)| match faults::change(change, &plan) {
            Some(changed) => {
                self.hits.note(Statement::Fault(index));
                plan = changed;
                change.to_string().into()
            }
            None => format!("{change}: the answer has nothing to change like this").into(),
        });
        Some((plan, WorldNote::Served { id, answer: name, provenance, fault, differences }))
    }
}
