//! O-35, of a summary that is due: where the last answer was counted with as many tokens as the threshold of the model that the next request names, the
//! conversation is summarised before that request (C-4).
//!
//! It is asked of engines that note phases or transitions: another one may have other habits. In doubt the summary counts as impossible: after as many
//! summaries as may fail in a row, where a hook has a word, and where something was taken out of the conversation since, as thinking is for another model.

use super::ORACLE;
use crate::request_kind::{RequestKind, SentRequest};
use crate::{OracleFindings, OracleRules};
use reenact_engine::contract::{BlockKind, Effect, Emission, HookEvent, Input, Note, RequestId, Role, Terminal};
use reenact_engine::emission::{CompactionLevel, Transition};
use reenact_wire::prelude::*;

/// The size of one agent's context, as the API counted it last.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct DueSummaryOracle {
    /// Whether the engine notes how it goes on.
    is_noted: bool,
    /// The last answer, with its tokens and those before it.
    heard: Option<(RequestId, u64)>,
    /// The tokens of an answer that is part of the conversation, until something is asked or taken out.
    counted: Option<u64>,
    /// At most so many compactions have failed since the last one that helped.
    failures_max: u32,
    /// Something stood against a compaction since the last request.
    is_hindered: bool,
    /// A message of the user that waited was taken into this prompt: what it stands beside may be all that there is to summarise.
    has_message: bool,
    /// The model of the last request, and whether a model has thought: another one goes on without that.
    model: Option<Arc<str>>,
    has_thought: bool,
}

impl DueSummaryOracle {
    pub(super) fn on_input(&mut self, input: &Input) {
        let is_edit = match input {
            Input::MarkedDead { .. } | Input::CollapseStaged(_) => true,
            Input::Prompt { content, .. } | Input::Interrupt { content, .. } => {
                content.iter().any(|block| matches!(block.kind(), BlockKind::Text(text) if text.trim_start().starts_with('/')))
            }
            _ => false,
        };
        if is_edit {
            self.counted = None;
        }
    }

    pub(super) fn on_request(&mut self, rules: &OracleRules, sent: SentRequest<'_>, found: &mut OracleFindings<'_>) {
        let SentRequest { id, request, kind } = sent;
        if kind == RequestKind::ToolSummary {
            return;
        }
        let is_other_model = self.model.replace(request.model.clone()).is_some_and(|model| model != request.model);
        if is_other_model && self.has_thought {
            self.counted = None;
        }
        let may_stay = self.has_message && rules.keeps_results_with_messages();
        let is_open = self.failures_max >= rules.settings.compaction.max_failures;
        let is_hindered = core::mem::take(&mut self.is_hindered) || is_open || may_stay;
        self.failures_max += u32::from(kind != RequestKind::Ordinary);
        let Some(tokens) = self.counted.take().filter(|_| self.is_noted && may_summarise(rules) && id.attempt == 1) else { return };
        let has_answer = request.messages.iter().any(|message| message.role == Role::Assistant);
        let Some(effective) = rules.effective_window(&request.model).filter(|_| has_answer) else { return };
        let threshold = effective.saturating_sub(rules.settings.compaction.margin);
        if tokens >= threshold {
            found.ask(ORACLE);
            if kind == RequestKind::Ordinary && !is_hindered {
                found.add(ORACLE, format!("request {id} was made with {tokens} tokens and no summary, and the threshold is {threshold}"));
            }
        }
    }

    pub(super) fn on_effect(&mut self, effect: &Effect) {
        match effect {
            Effect::Emit(emission) => self.on_emission(emission),
            Effect::Note(note) => self.on_note(note),
            // An objection to a compaction is a failure of it.
            Effect::RunHook { input, .. } if input.event == HookEvent::PreCompact => {
                self.is_hindered = true;
                self.failures_max += 1;
            }
            Effect::Finished { terminal, .. } => {
                let kept = self.heard.take().filter(|_| *terminal == Terminal::Completed);
                self.counted = kept.map(|(_, tokens)| tokens);
                self.has_message = false;
            }
            _ => (),
        }
    }

    fn on_emission(&mut self, emission: &Emission) {
        match emission {
            Emission::Answered { id, uuid, stop_reason, usage } => {
                let is_kept = uuid.is_some() && matches!(stop_reason.as_deref(), Some("end_turn" | "stop_sequence" | "tool_use"));
                self.heard = usage.context_tokens().filter(|_| is_kept).map(|tokens| (*id, tokens));
                self.counted = None;
            }
            Emission::Assistant(message) => self.has_thought |= message.block.is_thinking(),
            Emission::QueuedCommand { .. } => self.has_message = true,
            Emission::CompactBoundary { .. } => (self.counted, self.failures_max) = (None, 0),
            Emission::SnipBoundary { .. }
            | Emission::MicrocompactBoundary { .. }
            | Emission::LocalOutput { .. }
            | Emission::Tombstone { .. } => (self.counted, self.heard) = (None, None),
            _ => (),
        }
    }

    fn on_note(&mut self, note: &Note) {
        match note {
            Note::Phase(_) => self.is_noted = true,
            Note::Transition(transition) => {
                self.is_noted = true;
                self.counted = self.heard.take().filter(|_| *transition == Transition::NextTurn).map(|(_, tokens)| tokens);
            }
            Note::Compaction {
                level: CompactionLevel::Snip | CompactionLevel::Microcompact | CompactionLevel::Collapse,
                ran: true,
                ..
            } => {
                self.counted = None;
            }
            Note::Discarded { id, .. } | Note::LeftRunning { id, .. } => {
                self.heard.take_if(|(heard, _)| heard == id);
            }
            _ => (),
        }
    }
}

/// Whether a summary is made before a request at all. What stays unchanged may be all there is.
fn may_summarise(rules: &OracleRules) -> bool {
    let settings = &rules.settings.compaction;
    let is_on = settings.auto && !rules.settings.background && settings.max_failures > 0;
    is_on && settings.keep_messages == 0 && rules.settings.session.host_messages.is_empty()
}
