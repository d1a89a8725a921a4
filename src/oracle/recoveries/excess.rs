//! O-34, first half: the recoveries from a prompt that is too long and from media that are too large.
//!
//! The recoveries that an engine could still have tried are known from outside only in part. Staged summaries may be of no use any more, a circuit breaker may be
//! open, there may be nothing to summarise. In doubt the recovery counts as impossible, so that no engine is blamed for it.

use super::ORACLE;
use crate::command_prompts::CommandPrompts;
use crate::request_kind::{RequestKind, SentRequest};
use crate::{OracleFindings, OracleRules};
use reenact_engine::contract::{Effect, HookSubject, Input, Note, RequestId, Role, Terminal};
use reenact_engine::emission::{CompactionLevel, Emission};
use reenact_wire::error::ApiError;
use reenact_wire::prelude::*;

/// The recoveries of one agent's prompts, as far as they were seen.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct ExcessRecoveries {
    /// The last request of the conversation, unless it was a summary that was asked for last.
    last: Option<(RequestId, Arc<str>)>,
    /// Whether that request shows an answer, so that there is something to summarise.
    has_answers: bool,
    /// The API's refusal of it for its size.
    refused: Option<SizeRefusal>,
    /// How many refusals there were in this chain.
    refusals: u32,
    /// Whether reactive compaction was tried in this chain.
    is_tried: bool,
    /// At least so many staged summaries wait.
    staged: u32,
    /// At most so many compactions have failed in a row.
    failures_max: u32,
    /// Whether a message of the user was taken into this prompt, or into one before that ended without an answer to it: it may stand in a result, and then that
    /// stays as it is.
    has_message: bool,
    /// Whether a compaction of this prompt came so far that it may have failed.
    may_fail: bool,
    /// The user's commands, any of which may empty the conversation.
    commands: CommandPrompts,
}

#[derive(Clone, Copy, Debug, Hash)]
struct SizeRefusal {
    status: u16,
    /// Whether it is about the length of the prompt alone.
    is_too_long: bool,
    /// Whether staged summaries were looked at since.
    is_drained: bool,
}

impl ExcessRecoveries {
    pub(super) fn on_request(&mut self, rules: &OracleRules, sent: SentRequest<'_>, found: &mut OracleFindings<'_>) {
        let SentRequest { id, request, kind } = sent;
        match kind {
            RequestKind::Ordinary => {
                self.last = Some((id, request.model.clone()));
                self.has_answers = request.messages.iter().any(|message| message.role == Role::Assistant);
                self.refused = None;
            }
            RequestKind::Summary => {
                self.expect_drained(rules, &format_args!("request {id} asks for a summary"), found);
                self.may_fail = true;
                (self.last, self.refused) = (None, None);
            }
            RequestKind::ToolSummary => (),
            RequestKind::Unclear => {
                self.may_fail = true;
                (self.last, self.refused) = (None, None);
            }
        }
    }

    pub(super) fn on_input(&mut self, input: &Input) {
        let is_last = |id: &RequestId| self.last.as_ref().is_some_and(|(last, _)| last == id);
        match input {
            Input::Head { id, status: status @ (400 | 413), .. } if is_last(id) => {
                self.refused = Some(SizeRefusal { status: *status, is_too_long: false, is_drained: false });
            }
            Input::Body { id, body } if is_last(id) => {
                if let Some(refused) = &mut self.refused {
                    let error = ApiError::read(refused.status, &[], body.as_bytes());
                    let message = error.message.to_lowercase();
                    let names_media = message.contains("image") || message.contains("document");
                    refused.is_too_long = !names_media && (refused.status == 413 || error.is_context_overflow());
                    self.refusals += u32::from(refused.is_too_long);
                }
            }
            Input::CollapseStaged(_) => self.staged += 1,
            Input::HookEnded { hook, .. } if matches!(hook.subject, HookSubject::Compaction(_)) => self.may_fail = true,
            Input::Prompt { .. } | Input::Interrupt { .. } if self.commands.begins_by(input) => self.on_command(),
            _ => (),
        }
    }

    pub(super) fn on_effect(&mut self, rules: &OracleRules, effect: &Effect, found: &mut OracleFindings<'_>) {
        self.has_message |= matches!(effect, Effect::Emit(Emission::QueuedCommand { .. }));
        if let Effect::RunHook { hook, .. } = effect
            && matches!(hook.subject, HookSubject::Compaction(_))
        {
            self.on_compaction_hook(rules, found);
        }
        // It may have waited for other prompts.
        if self.commands.ended_by(effect).is_some() {
            self.on_command();
        }
    }

    /// The compaction is decided where its first hook is asked: a summary that is staged while hooks are awaited comes too late for it.
    fn on_compaction_hook(&mut self, rules: &OracleRules, found: &mut OracleFindings<'_>) {
        self.expect_drained(rules, &"the conversation is about to be compacted", found);
        self.refused.iter_mut().for_each(|refused| refused.is_drained = true);
    }

    fn on_command(&mut self) {
        (self.staged, self.has_answers) = (0, false);
    }

    pub(super) fn on_note(&mut self, rules: &OracleRules, note: &Note, found: &mut OracleFindings<'_>) {
        match note {
            Note::Compaction { level: CompactionLevel::Collapse, ran, before, .. } => {
                // After a refusal all of them are looked at, under any threshold.
                let is_refused = self.refused.as_mut().map(|refused| refused.is_drained = true).is_some();
                self.has_answers &= !ran;
                let model = self.last.as_ref().map(|(_, model)| &**model);
                let waits = !ran
                    && !is_refused
                    && model.and_then(|model| commit_threshold(rules, model)).is_some_and(|threshold| *before < threshold);
                self.staged = self.staged.saturating_sub(u32::from(!waits));
            }
            Note::Compaction { level: CompactionLevel::Reactive, ran, .. } => {
                found.ask(ORACLE);
                self.expect_drained(rules, &"the conversation is compacted", found);
                if !rules.settings.compaction.reactive {
                    found.add(ORACLE, "the conversation is compacted after a refusal, and that is switched off".into());
                }
                if self.is_tried {
                    found.add(ORACLE, "the conversation is compacted after a refusal for a second time in its chain".into());
                }
                self.is_tried = true;
                self.failures_max += u32::from(!ran);
            }
            Note::Compaction { level: CompactionLevel::Auto, ran: false, .. } if self.may_fail => self.failures_max += 1,
            _ => (),
        }
    }

    /// A summary has taken the place of the conversation.
    pub(super) fn on_compacted(&mut self) {
        (self.staged, self.failures_max, self.has_answers) = (0, 0, false);
    }

    /// Messages are gone.
    pub(super) fn on_snipped(&mut self) {
        self.has_answers = false;
    }

    /// `next_turn`: everything may be tried again.
    pub(super) fn on_next_turn(&mut self) {
        (self.is_tried, self.refusals) = (false, 0);
    }

    pub(super) fn on_finished(&mut self, rules: &OracleRules, terminal: &Terminal, found: &mut OracleFindings<'_>) {
        let is_refused = self.refused.is_some_and(|refused| refused.is_too_long || *terminal == Terminal::ImageError);
        let gave_up = is_refused && matches!(terminal, Terminal::PromptTooLong | Terminal::ImageError | Terminal::ModelError);
        if gave_up || *terminal == Terminal::BlockingLimit {
            found.ask(ORACLE);
            let how = format!("the prompt ends with {}", terminal.as_str());
            self.expect_drained(rules, &how, found);
            if self.can_compact(rules) {
                found.add(ORACLE, format!("{how}, and the conversation was not compacted in this chain"));
            }
        }
        (self.refused, self.may_fail) = (None, false);
        self.has_message &= *terminal != Terminal::Completed;
        self.on_next_turn(); // a prompt begins a chain
    }

    /// Whether reactive compaction was possible for certain.
    fn can_compact(&self, rules: &OracleRules) -> bool {
        let OracleRules { settings: engine, .. } = rules;
        let settings = &engine.compaction;
        let may_stay = self.has_message && rules.keeps_results_with_messages();
        let is_on = !may_stay && settings.reactive && !engine.background && !self.is_tried;
        // What stays unchanged may be all there is.
        let is_something = self.has_answers && settings.keep_messages == 0;
        is_on && is_something && self.failures_max < settings.max_failures
    }

    /// After the first refusal of a chain, staged summaries come first.
    fn expect_drained(&self, rules: &OracleRules, how: &dyn core::fmt::Display, found: &mut OracleFindings<'_>) {
        let is_due = self.refused.is_some_and(|refused| refused.is_too_long && !refused.is_drained);
        if is_due && self.refusals == 1 && self.staged > 0 && rules.settings.compaction.collapse {
            found.ask(ORACLE);
            found.add(ORACLE, format!("{how}, and the staged summaries were not committed before"));
        }
    }
}

/// From how many tokens on staged summaries are committed before a request to this model (C-3, C-4).
fn commit_threshold(rules: &OracleRules, model: &str) -> Option<u64> {
    let percent = u64::from(rules.settings.compaction.collapse_percent);
    Some(rules.effective_window(model)?.saturating_mul(percent) / 100)
}
