//! O-34: recoveries. One that is on is tried, each at most as often as its rule says, and counts begin anew where the rule says (Q-12 to Q-17,
//! Q-23, S-9).
//!
//! A *chain* is a run of iterations without `next_turn`. The settings say which recoveries are on, and the reference model in `bounds`
//! says which one an answer calls for. Engines are asked that note phases or transitions: another one may have other habits, and its settings
//! do not speak of them.

mod bounds;
mod causeless_requests;
mod continuations;
mod excess;
mod resumption;

use bounds::{CountSpan, ObservedAnswer, TransitionCounts, bound, due};
use causeless_requests::CauselessRequestOracle;
use continuations::Continuations;
use excess::ExcessRecoveries;
use resumption::{Resumption, is_part};

use super::request_kind::{RequestKind, SentRequest};
use super::retry_decisions::OVERLOADED;
use super::{OracleFindings, OracleRules};
use reenact_engine::contract::{Effect, Emission, EventPayload, Input, Note, RequestId, Terminal};
use reenact_engine::emission::{ResultMessage, Transition};
use reenact_wire::prelude::*;

pub(super) const ORACLE: &str = "O-34";

/// The recoveries of one agent.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct RecoveryOracle {
    /// Whether the engine notes how it goes on.
    is_noted: bool,
    causeless: CauselessRequestOracle,
    excess: ExcessRecoveries,
    resumption: Resumption,
    chain: TransitionCounts,
    prompt: TransitionCounts,
    continuations: Continuations,
    /// The last transition, and how often it was made in a row.
    in_a_row: Option<(Transition, u32)>,
    /// The last request of the conversation, and the cap on output tokens of its first attempt.
    asked: Option<(RequestId, u64)>,
    /// The cap on output tokens that the prompt began with.
    cap: Option<u64>,
    /// The output of the last answer.
    answer: Option<EmittedAnswer>,
    /// How often the model was asked for its structured output.
    structure_asked: u32,
    /// The output tokens of a prompt that ended well, as its result tells them.
    output_tokens: Option<u64>,
}

#[derive(Clone, Debug, Hash)]
struct EmittedAnswer {
    id: RequestId,
    has_tool_use: bool,
    is_empty: bool,
    /// How many texts and tool uses it has.
    parts: u32,
    /// Whether the API said all of it.
    is_whole: bool,
    /// Whether its end came out, and with which stop reason.
    end: Option<Option<Arc<str>>>,
}

impl RecoveryOracle {
    pub(super) fn on_input(&mut self, input: &Input) {
        self.causeless.on_input(input);
        self.excess.on_input(input);
        match input {
            Input::Stream { id, event } if *event.payload() == EventPayload::MessageStop => self.hear_end(*id),
            Input::Body { id, .. } => self.hear_end(*id),
            // Behind the end of an answer such an error breaks it all the same.
            Input::Stream { id, event } if matches!(event.payload(), EventPayload::Error { kind, .. } if kind == OVERLOADED) => {
                self.answer.iter_mut().filter(|answer| answer.id == *id).for_each(|answer| answer.is_whole = false);
            }
            _ => (),
        }
    }

    pub(super) fn on_request(&mut self, rules: &OracleRules, sent: SentRequest<'_>, found: &mut OracleFindings<'_>) {
        self.causeless.on_request(rules, self.is_noted, sent, found);
        let SentRequest { id, request, kind } = sent;
        if self.is_noted {
            self.excess.on_request(rules, sent, found);
        }
        if kind != RequestKind::Ordinary {
            return;
        }
        self.answer = None;
        self.resumption.on_request(id, request, found);
        if id.attempt == 1 {
            self.asked = Some((id, request.max_tokens));
            self.check_cap(rules, id, request.max_tokens, found);
        } else if let Some((asked, _)) = &mut self.asked {
            *asked = id;
        }
    }

    /// `output` is the output of the prompt so far, as its answers tell it, in tokens; `None` in the agents of tools, which have no token budget.
    pub(super) fn on_effect(&mut self, rules: &OracleRules, output: Option<u64>, effect: &Effect, found: &mut OracleFindings<'_>) {
        self.causeless.on_effect(effect);
        if self.is_noted {
            self.excess.on_effect(rules, effect, found);
        }
        match effect {
            Effect::Note(Note::Phase(_)) => self.is_noted = true,
            Effect::Note(Note::Transition(transition)) => {
                self.is_noted = true;
                self.on_transition(rules, *transition, output, found);
            }
            Effect::Note(note) => {
                if let Note::Compaction { ran: true, .. } = note {
                    self.resumption.forget();
                }
                self.excess.on_note(rules, note, found);
            }
            Effect::Emit(emission) => self.on_emission(rules, emission, found),
            Effect::Finished { terminal, .. } => {
                if self.is_noted {
                    self.excess.on_finished(rules, terminal, found);
                    self.on_finished(rules, output.is_some(), terminal, found);
                }
                let (is_noted, excess, causeless) =
                    (self.is_noted, core::mem::take(&mut self.excess), core::mem::take(&mut self.causeless));
                *self = Self { is_noted, excess, causeless, ..Self::default() };
            }
            _ => (),
        }
    }

    fn on_emission(&mut self, rules: &OracleRules, emission: &Emission, found: &mut OracleFindings<'_>) {
        match emission {
            Emission::Assistant(message) if message.error.is_none() => {
                let answer = self.answer(message.id);
                answer.is_empty = false;
                answer.parts += u32::from(is_part(&message.block));
                answer.has_tool_use |= message.block.as_tool_use().is_some();
            }
            Emission::Answered { id, stop_reason, .. } => self.answer(*id).end = Some(stop_reason.clone()),
            Emission::CompactBoundary { .. } => {
                self.resumption.forget();
                self.excess.on_compacted();
            }
            Emission::SnipBoundary { .. } => {
                self.resumption.forget();
                self.excess.on_snipped();
            }
            Emission::Hidden { why, .. } if &**why == "structured_output" => {
                found.ask(ORACLE);
                self.structure_asked += 1;
                if self.structure_asked > rules.settings.session.max_structured_output_retries {
                    found.add(ORACLE, format!("the model is asked for its structured output for the {}th time", self.structure_asked));
                }
            }
            Emission::Result(result) => self.output_tokens = output_tokens_of_success(result),
            _ => (),
        }
    }

    fn on_transition(&mut self, rules: &OracleRules, transition: Transition, output: Option<u64>, found: &mut OracleFindings<'_>) {
        let due = self.due(rules);
        let answer = self.answer.take();
        match answer.filter(|answer| answer.is_whole && rules.settings.session.host_messages.is_empty()) {
            Some(answer) => self.resumption.on_transition(transition, answer.parts, &rules.settings),
            None => self.resumption.forget(),
        }
        if let Some(due) = due.filter(|due| *due != transition) {
            found.add(ORACLE, format!("{} was due, and the prompt went on with {}", due.as_str(), transition.as_str()));
        }
        let in_a_row = self.in_a_row.filter(|(last, _)| *last == transition).map_or(1, |(_, times)| times + 1);
        self.in_a_row = Some((transition, in_a_row));
        self.chain.add(transition);
        self.prompt.add(transition);
        if let Some((most, span)) = bound(transition, &rules.settings) {
            found.ask(ORACLE);
            let (made, place) = match span {
                CountSpan::InARow => (in_a_row, "in a row"),
                CountSpan::Chain => (self.chain.get(transition), "in its chain"),
                CountSpan::Prompt => (self.prompt.get(transition), "in its prompt"),
            };
            if made > most {
                found.add(ORACLE, format!("{} was made {made} times {place}, and may be made {most} times", transition.as_str()));
            }
        }
        if let (Transition::TokenBudgetContinuation, Some(budget), Some(used)) = (transition, rules.settings.session.token_budget, output) {
            if !self.continuations.is_due(used, budget) {
                found.add(ORACLE, format!("the model is asked to go on for its token budget of {budget}, and {used} tokens were enough"));
            }
            self.continuations.add(used);
        }
        if transition == Transition::NextTurn {
            self.chain = TransitionCounts::default();
            self.excess.on_next_turn();
        }
    }

    /// Nothing is left that could help when a prompt ends by itself.
    fn on_finished(&mut self, rules: &OracleRules, is_root: bool, terminal: &Terminal, found: &mut OracleFindings<'_>) {
        let is_stopped =
            matches!(terminal, Terminal::AbortedStreaming | Terminal::AbortedTools | Terminal::MaxBudget | Terminal::ModelError);
        if let Some(due) = self.due(rules).filter(|_| !is_stopped) {
            found.ask(ORACLE);
            found.add(ORACLE, format!("{} was due, and the prompt ended with {}", due.as_str(), terminal.as_str()));
        }
        let session = &rules.settings.session;
        // A host's own texts may take the place of those that are counted.
        let tries = session.max_structured_output_retries;
        if *terminal == Terminal::StructuredOutputRetries && self.structure_asked < tries && session.host_messages.is_empty() {
            found.ask(ORACLE);
            let asked = self.structure_asked;
            found.add(
                ORACLE,
                format!("the prompt ended without its structured output, and the model was asked for it {asked} of {tries} times"),
            );
        }
        let is_answered = self.answer.as_ref().is_some_and(|answer| answer.end.is_some() && !answer.has_tool_use);
        if let (Some(budget), Some(used)) = (session.token_budget, self.output_tokens)
            && is_root
            && is_answered
            && *terminal == Terminal::Completed
            && session.json_schema.is_none()
        {
            found.ask(ORACLE);
            if self.continuations.is_due(used, budget) {
                found.add(
                    ORACLE,
                    format!("the prompt ended with {used} tokens of its budget of {budget}, and the model was not asked to go on"),
                );
            }
        }
    }

    /// The recovery that the last answer calls for.
    fn due(&self, rules: &OracleRules) -> Option<Transition> {
        let answer = self.answer.as_ref().filter(|answer| answer.is_whole)?;
        let (asked, max_tokens) = self.asked.filter(|(asked, _)| *asked == answer.id)?;
        let stop_reason = answer.end.as_ref()?.as_deref();
        let due = due(
            ObservedAnswer { stop_reason, has_tool_use: answer.has_tool_use, is_empty: answer.is_empty, max_tokens },
            &self.chain,
            &self.prompt,
            &rules.settings,
        )?;
        // The host may have given a request another cap than the engine's own.
        let is_of_host = due == Transition::MaxOutputTokensEscalate || due == Transition::MaxOutputTokensRecovery;
        let is_changed = is_of_host && !rules.settings.session.changes.is_empty();
        (!is_changed && asked == answer.id).then_some(due)
    }

    /// The raised cap holds for its chain.
    fn check_cap(&mut self, rules: &OracleRules, id: RequestId, cap: u64, found: &mut OracleFindings<'_>) {
        let first = *self.cap.get_or_insert(cap);
        if !self.is_noted || !rules.settings.session.changes.is_empty() {
            return;
        }
        let is_raised = self.chain.get(Transition::MaxOutputTokensEscalate) > 0;
        if is_raised && cap <= first {
            found.add(ORACLE, format!("request {id} has the cap {cap} on output, and it was to be raised from {first}"));
        }
        if !is_raised && cap != first {
            found.add(ORACLE, format!("request {id} has the cap {cap} on output, and its chain has raised none: it was {first}"));
        }
    }

    /// The output of the answer to a request.
    fn answer(&mut self, id: RequestId) -> &mut EmittedAnswer {
        let known = self.answer.take().filter(|answer| answer.id == id);
        let new = || EmittedAnswer { id, has_tool_use: false, is_empty: true, parts: 0, is_whole: false, end: None };
        self.answer.insert(known.unwrap_or_else(new))
    }

    fn hear_end(&mut self, id: RequestId) {
        if self.asked.is_some_and(|(asked, _)| asked == id) {
            self.answer(id).is_whole = true;
        }
    }
}

/// `None` where the prompt did not end well.
fn output_tokens_of_success(result: &ResultMessage) -> Option<u64> {
    (!result.is_error).then_some(result.usage.output_tokens.unwrap_or_default())
}
