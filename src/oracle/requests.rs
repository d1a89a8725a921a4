//! A request goes out: each oracle of its agent looks at it.

use super::accounts::spent;
use super::request_kind::{RequestKind, SentRequest};
use super::said_blocks::BlockSource;
use super::speech::ModelSpeech;
use super::{OracleFindings, Oracles};
use reenact_engine::contract::{Agent, Request, RequestId};
use reenact_engine::key::SharedValue;
use reenact_engine::time::Time;
use reenact_wire::prelude::*;

impl Oracles {
    pub(super) fn on_request(&mut self, at: Time, agent: &Agent, id: RequestId, request: &Arc<Request>) {
        let request = &SharedValue::from(request.clone());
        let found = &mut OracleFindings { at, violations: &mut self.violations, questions: &mut self.questions };
        let sent = SentRequest { id, request, kind: self.kinds.read(request, &self.rules.settings.texts) };
        let spent = spent(&self.agents);
        let watched = Arc::make_mut(&mut self.agents).entry(agent);
        if !self.rules.expects_refusals {
            let known = found.violations.len();
            watched.pairs.on_request(&self.rules, id, &request.messages, found);
            watched.valid.on_request(&self.rules, id, request, found);
            watched.blamed = (found.violations.len() > known).then_some(id);
        }
        watched.terminals.on_request(agent, id, found);
        watched.retry.on_request(&self.rules, at, (id, &request.model), found);
        watched.decisions.on_request(&self.rules, (agent, id), request, found);
        watched.abort.on_request(id, found);
        let history = if agent.is_root() { self.rules.history_tokens } else { 0 };
        watched.compaction.on_request(&self.rules, sent, history, found);
        watched.refused.on_request(&self.rules, sent, found);
        watched.recoveries.on_request(&self.rules, sent, found);
        watched.summaries.on_request(&self.rules, sent, found);
        watched.causes.on_request(sent);
        watched.discarded.on_request(id, found);
        watched.signatures.on_request(id, &request.model, &request.messages, found);
        watched.withheld.on_request(id, found);
        watched.accounts.on_request(at, sent);
        watched.budgets.on_request(&self.rules, (id, request.extra.as_str()), spent, found);
        watched.repeated.on_request(id, request);
        watched.leftovers.on_request(id);
        watched.hook_words.on_request(sent, found);
        watched.told_texts.on_request(sent, found);
        watched.prefix.on_request(&self.rules, sent, found);
        if sent.kind != RequestKind::Summary {
            watched.losses.on_request(&request.messages, found);
        }
        if agent.is_root() {
            watched.frame.on_request(&self.rules, sent, found);
            watched.history.on_request(&self.rules, sent, found);
            watched.abort_scope.on_request(&self.rules, id);
            watched.unrun.on_request(sent);
            watched.live_streams.on_request(at, sent);
        } else {
            watched.agent_frame.on_request(&self.rules, sent, found);
        }
        watched.said_blocks.on_request(
            &self.rules,
            sent,
            self.speech.get(agent),
            |block| BlockSource::find(&self.rules, &self.speech, block),
            found,
        );
        if self.speech.get(agent).is_some_and(ModelSpeech::has_closed_halves) {
            Arc::make_mut(&mut self.speech).entry(agent).forget_halves(request);
        }
    }
}
