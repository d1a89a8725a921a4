//! The model server: the answer to a request (M-2, M-3, M-4), for every client and every way of travel.
//!
//! ```text
//!   request ── valid? ── fault? ── which answer? ── what a fault changes ──> a plan of bytes and times
//! ```
//!
//! The simulated run carries the plan out on its virtual clock, the replay server over real sockets.

use super::answer_queue::{AnswerOwner, AnswerQueue, QueuedAnswer};
use super::choices::ChoiceMaker;
use super::faults;
use super::healing::FaultGate;
use super::model_request::{AnswerTerms, ModelRequest};
use super::plan::ResponsePlan;
use super::refusal;
use super::reissue;
use super::relocation;
use super::setup::{PreparedAnswer, RunSetup};
use super::signatures::GivenThinking;
use super::single_faults::SingleFaults;
use super::{RefusedRequest, WorldNote};
use reenact_scenario::fault::{AnswerChange, FaultKind};
use reenact_scenario::single_fault::SingleFault;
use reenact_scenario::statement::{PassedStatements, Statement};
use reenact_wire::prelude::*;
use reenact_wire::validate::RequestValidator;

/// The server's knowledge of the requests before.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub(crate) struct ModelServer {
    pub(crate) terms: AnswerTerms,
    server: AnswerQueue,
    /// How many answers of the same ids the client has from other runs of the scenario; `None` before the first answer.
    copies_before: Option<u32>,
    validator: RequestValidator,
    /// The thinking that was given out.
    signatures: GivenThinking,
    /// Which faults hit.
    hits: PassedStatements,
    pub(crate) faults: FaultGate,
    pub(crate) single_faults: SingleFaults,
}

/// The response to a request.
#[derive(Clone, Debug, PartialEq)]
#[doc(hidden)]
pub struct ModelResponse {
    /// All that will come; `None` when no answer is left.
    #[doc(hidden)]
    pub plan: Option<ResponsePlan>,
    /// A note for the transcript.
    #[doc(hidden)]
    pub note: WorldNote,
    /// The refusal of the request, with its reason.
    #[doc(hidden)]
    pub refused: Option<RefusedRequest>,
}

/// The origin of a fault.
#[derive(Clone, Debug)]
enum FaultSource {
    /// Which of the scenario's rules.
    Rule(usize),
    Single(Arc<SingleFault>),
}

impl ModelServer {
    /// The server at the beginning.
    pub(crate) fn new(terms: AnswerTerms) -> Self {
        Self { terms, ..Self::default() }
    }

    /// Answers a request.
    pub(crate) fn answer(&mut self, setup: &RunSetup, asking: &ModelRequest<'_>, choices: &mut ChoiceMaker<'_>) -> ModelResponse {
        let (scenario, terms) = (&setup.scenario, self.terms);
        let ModelRequest { id, request, .. } = *asking;
        let of_body = || asking.of_body.clone().or_else(|| refusal::find(setup, terms, &mut self.validator, &self.signatures, request));
        let refusal = asking.of_head.clone().or_else(of_body);
        // What a recording has an answer to was taken, whatever the rules say. Its heads are not those of a client of today.
        let overruled = scenario.api.lenient || (scenario.tape.is_some() && asking.of_head.is_none());
        let refused = refusal.as_ref().map(|refusal| RefusedRequest { rule: refusal.name, text: (&*refusal.message).into(), overruled });
        self.hits.extend(faults::chances(&scenario.faults, asking).into_iter().map(Statement::FaultChance));
        let single = self.single_faults.due(asking).map(|fault| (fault.fault_kind(), FaultSource::Single(fault)));
        let of_rules = || faults::verdict(&scenario.faults, asking, choices).map(|(index, kind)| (kind, FaultSource::Rule(index)));
        let fault = single.as_ref().map(|(kind, source)| (kind, source.clone())).or_else(of_rules).filter(|_| self.faults.admits());
        let (plan, note) = match fault {
            Some((kind @ FaultKind::Instead(instead), source)) => {
                self.note_hit(&source);
                let plan = faults::instead(instead, asking, terms.timing(scenario), choices);
                (Some(plan), WorldNote::Fault { id, text: kind.to_string().into() })
            }
            _ if let Some(refusal) = refusal.filter(|_| !overruled) => {
                (Some(refusal::plan(&refusal, asking, terms.timing(scenario), choices)), WorldNote::Answered)
            }
            other => {
                let change = if let Some((FaultKind::Change(change), source)) = other { Some((change, source)) } else { None };
                match self.prepared(setup, asking, change, choices) {
                    Some((plan, note)) => (Some(plan), note),
                    None => (None, WorldNote::Exhausted { id }),
                }
            }
        };
        ModelResponse { plan, note, refused }
    }

    /// A fault has had its effect.
    fn note_hit(&mut self, source: &FaultSource) {
        match source {
            FaultSource::Rule(index) => self.hits.note(Statement::Fault(*index)),
            FaultSource::Single(fault) => self.single_faults.note_hit(fault),
        }
    }

    /// The id that the scenario has for a tool use.
    pub(crate) fn original_id<'a>(&'a self, id: &'a str) -> &'a str {
        self.server.original_id(id)
    }

    /// See [`AnswerQueue::normalising_rules`].
    #[doc(hidden)]
    pub(crate) fn normalising_rules(&self) -> &alloc::collections::BTreeSet<&'static str> {
        self.server.normalising_rules()
    }

    /// The names of the unused answers.
    pub(crate) fn unused(&self, setup: &RunSetup, whose: AnswerOwner) -> Vec<Arc<str>> {
        self.server.unused(setup, whose)
    }

    /// The faults and answers of the scenario that came to pass (F-10).
    pub(crate) fn passed(&self, setup: &RunSetup) -> PassedStatements {
        let mut passed = self.hits.clone();
        passed.extend(self.server.given_answers(setup));
        passed
    }

    /// The next answer of the queue; of a healed API the next that does not fail.
    fn queued(&mut self, setup: &RunSetup, asking: &ModelRequest<'_>, is_lent: bool) -> Option<QueuedAnswer> {
        loop {
            let queued = self.server.serve(setup, asking, is_lent)?;
            if !setup.answers[queued.answer].fails() || self.faults.admits() {
                return Some(queued);
            }
        }
    }

    /// The answer that the request gets, changed by a fault if there is one; `None` when none is left.
    fn prepared(
        &mut self,
        setup: &RunSetup,
        asking: &ModelRequest<'_>,
        change: Option<(&AnswerChange, FaultSource)>,
        choices: &mut ChoiceMaker<'_>,
    ) -> Option<(ResponsePlan, WorldNote)> {
        let ModelRequest { agent, id, request, gets_default, .. } = *asking;
        let terms = self.terms;
        let mut as_prepared = |answer: &PreparedAnswer| {
            choices.on_served(answer);
            ResponsePlan::new(answer, choices.times(&agent.key(id), terms.timing(&setup.scenario), &answer.known))
        };
        let (mut plan, name, provenance, differences) = match self.queued(setup, asking, change.is_some() || terms.lends) {
            Some(QueuedAnswer { answer, nth, differences }) => {
                let answer = &setup.answers[answer];
                let mut plan = as_prepared(answer);
                let is_of_clients = terms.lends && setup.scenario.tape.is_none();
                let copies = *self.copies_before.get_or_insert_with(|| if is_of_clients { reissue::copies_in(request) } else { 0 });
                if nth + copies > 1 {
                    let (fresh, ids) = reissue::with_fresh_ids(plan, nth + copies);
                    self.server.remember(ids);
                    plan = fresh;
                }
                (plan, answer.name.clone(), answer.provenance.as_str(), differences)
            }
            None if gets_default => {
                let answer = setup.default_answer(id, request);
                (as_prepared(&answer), answer.name.clone(), "synthetic", Vec::new())
            }
            None => return None,
        };
        let (usual, asked) = (&setup.scenario.settings.model, &request.model);
        if setup.scenario.tape.is_none() && usual != asked {
            reissue::name_model(&mut plan, usual, asked);
        }
        if setup.scenario.tape.is_some() && setup.varying.is_some() {
            plan = relocation::relocated(plan, &setup.moves.for_request(request));
        }
        if terms.tells_tokens || setup.scenario.api.tells_tokens() {
            refusal::tell_input_tokens(&mut plan, request);
        }
        self.signatures.remember(setup, request, &plan);
        let mut plan = reissue::as_asked(plan, request);
        let fault = change.map(|(change, source)| match faults::change(change, &plan) {
            Some(changed) => {
                self.note_hit(&source);
                plan = changed;
                change.to_string().into()
            }
            None => format!("{change}: the answer has nothing to change like this").into(),
        });
        Some((plan, WorldNote::Served { id, answer: name, provenance, fault, differences }))
    }
}
