//! O-12, of what markers name (C-1, C-7): a round goes once both its answer and its results are named, and nothing goes that no marker has named.
//!
//! A marker may come while a request is made ready. So one counts from the prompt that begins after it, or from the second turn after it. The last answer of
//! a request is not asked about: its results are what the request is about.

use super::ORACLE;
use crate::request_kind::{RequestKind, SentRequest};
use crate::{OracleFindings, OracleRules};
use reenact_engine::contract::{Effect, Emission, Input, Message, Role};
use reenact_wire::prelude::*;

/// The name of results is that of their answer with this behind it.
const RESULTS: &str = ".results";

/// The markers that came, and the tool uses of one agent's answers.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct MarkedRoundOracle {
    /// In order of arrival.
    marked: Vec<MarkedName>,
    /// How many of them the next request has to follow.
    due: usize,
    /// How many there were at the last turn.
    at_last_turn: usize,
    /// The prompt and the turn of the last request.
    last: Option<(u32, u32)>,
    /// Nothing is being asked: the next prompt begins when it comes.
    is_idle: bool,
    uses: Vec<AnswerUse>,
}

#[derive(Clone, Debug, Hash)]
struct MarkedName {
    name: Arc<str>,
    /// Whether the answer was there when the marker came. A name of nothing is forgotten.
    is_known: bool,
}

#[derive(Clone, Debug, Hash)]
struct AnswerUse {
    /// The name of its block: `p1.r2.a1.0`.
    block: Arc<str>,
    id: Arc<str>,
}

impl AnswerUse {
    /// The name of its answer: `p1.r2.a1`. Empty where an engine has names of its own.
    fn answer(&self) -> &str {
        self.block.rsplit_once('.').map_or("", |(answer, _)| answer)
    }
}

impl MarkedRoundOracle {
    pub(super) fn on_input(&mut self, input: &Input) {
        match input {
            Input::MarkedDead { names } => {
                let is_known = |name: &str| self.uses.iter().any(|tool_use| tool_use.answer() == name.trim_end_matches(RESULTS));
                self.marked.extend(names.iter().map(|name| MarkedName { name: name.clone(), is_known: is_known(name) }));
            }
            Input::Prompt { .. } if core::mem::take(&mut self.is_idle) => self.due = self.marked.len(),
            _ => (),
        }
    }

    pub(super) fn on_effect(&mut self, effect: &Effect, found: &mut OracleFindings<'_>) {
        match effect {
            Effect::Finished { .. } => self.is_idle = true,
            Effect::Emit(Emission::CompactBoundary { .. }) => (self.due, self.at_last_turn) = (0, 0),
            Effect::Emit(Emission::Assistant(message)) => {
                let tool_use = message.block.as_tool_use();
                self.uses.extend(tool_use.map(|tool_use| AnswerUse { block: message.uuid.clone(), id: tool_use.id.clone() }));
            }
            Effect::Emit(Emission::SnipBoundary { names, .. }) => {
                found.ask(ORACLE);
                if let Some(name) = names.iter().find(|name| self.marked.iter().all(|marked| marked.name != **name)) {
                    found.add(ORACLE, format!("{name} is taken out of the conversation, and no marker has named it"));
                }
            }
            _ => (),
        }
    }

    pub(super) fn on_request(&mut self, rules: &OracleRules, sent: SentRequest<'_>, found: &mut OracleFindings<'_>) {
        let turn = (sent.id.prompt, sent.id.turn);
        if sent.kind != RequestKind::Ordinary || !rules.settings.compaction.snip || !rules.keeps_own_words() {
            return;
        }
        if self.last.replace(turn) != Some(turn) {
            self.due = self.due.max(self.at_last_turn);
            self.at_last_turn = self.marked.len();
        }
        if self.due == 0 {
            return;
        }
        found.ask(ORACLE);
        let answers = sent.request.messages.iter().filter(|message| message.role == Role::Assistant);
        if let Some(id) = answers.rev().skip(1).find_map(|message| self.marked_use(message)) {
            found.add(ORACLE, format!("request {} holds tool use {id}, and markers have named its answer and the results", sent.id));
        }
    }

    /// The first tool use of an answer, where markers have named all that the message is made of.
    fn marked_use<'m>(&self, message: &'m Message) -> Option<&'m Arc<str>> {
        let mut ids = message.content.iter().filter_map(|block| Some(&block.as_tool_use()?.id)).peekable();
        let first = ids.peek().copied();
        first.filter(|_| ids.all(|id| self.is_due(id)))
    }

    /// Whether all answers with this tool use are named, and their results.
    fn is_due(&self, id: &Arc<str>) -> bool {
        let due = self.marked[..self.due].iter().filter(|marked| marked.is_known);
        let is_due = |answer: &str| {
            let is_its = |marked: &MarkedName| marked.name.strip_suffix(RESULTS) == Some(answer);
            due.clone().any(|marked| *marked.name == *answer) && due.clone().any(is_its)
        };
        let mut answers = self.uses.iter().filter(|tool_use| tool_use.id == *id).map(AnswerUse::answer).peekable();
        answers.peek().is_some() && answers.all(is_due)
    }
}
