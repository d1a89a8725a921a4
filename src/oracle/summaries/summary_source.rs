//! O-5, of a summary: it holds all words of the attempt that came whole, and none of an attempt before it that was cut (C-4). Of an answer in tags
//! it holds some.

use crate::discarded_attempts::ORACLE;
use crate::request_kind::SentRequest;
use crate::{OracleFindings, OracleRules};
use reenact_engine::contract::{AnswerEnd, EventPayload, Input, RequestId};
use reenact_engine::texts::TextName;
use reenact_wire::block::{Block, BlockKind};
use reenact_wire::event::BlockDelta;
use reenact_wire::prelude::*;
use reenact_wire::raw_json::RawObject;
use reenact_wire::tokens;
use reenact_wire::usage::Usage;
use reenact_wire::whole_message::whole_message;

/// Fewer words may stand in both by chance.
const CHARACTERS_MIN: usize = 20;

/// The files that this tool gave are attached to a summary.
const ATTACHED_TOOL: &str = "Read";

/// So many tokens a message has beside its words, at most.
const AROUND_A_SUMMARY: u64 = 20;

/// The attempts at the request for a summary that was made last.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct SummarySourceOracle {
    /// With the text of each.
    attempts: Vec<(RequestId, String)>,
    /// Whether the last answer was cut off by a limit on its length.
    is_cut_off: bool,
    /// Whether the last answer told the end of its words.
    has_ended: bool,
    /// Whether the last answer came whole, and may be the summary.
    is_whole: bool,
    /// The size of the messages that are to be summarised, in tokens.
    replaced: u64,
    /// Whether files may be attached to the summary (C-4).
    has_files: bool,
    /// Whether the API has counted an answer. An engine compares by that count, which may be far from the estimate here.
    is_counted: bool,
}

impl SummarySourceOracle {
    pub(super) fn on_summary_request(&mut self, sent: SentRequest<'_>) {
        let SentRequest { id, request, .. } = sent;
        let is_of_now = |(attempt, _): &(RequestId, String)| (attempt.prompt, attempt.turn) == (id.prompt, id.turn);
        self.attempts.retain(is_of_now);
        self.attempts.push((id, String::new()));
        self.is_cut_off = false;
        (self.has_ended, self.is_whole) = (false, false);
        let blocks = || request.messages.iter().flat_map(|message| &message.content);
        // The last block asks for the summary.
        self.replaced = tokens::messages(&request.messages).saturating_sub(blocks().last().map_or(0, tokens::block));
        let is_attached = |block: &Block| block.as_tool_use().is_some_and(|tool_use| &*tool_use.name == ATTACHED_TOOL);
        self.has_files = blocks().any(is_attached);
    }

    /// A summary failed. One that came whole, has words and is much smaller than what it stands for is taken (C-4, C-8a).
    pub(super) fn on_failure(&mut self, rules: &OracleRules, found: &mut OracleFindings<'_>) {
        let Some((id, text)) = self.attempts.last().filter(|_| core::mem::take(&mut self.is_whole)) else { return };
        let settings = &rules.settings.compaction;
        let has_attachments = self.has_files || settings.plan.is_some() || !settings.skills.is_empty();
        let is_free = settings.summary_tags
            || self.is_counted
            || has_attachments
            || !rules.hooks.is_empty()
            || rules.settings.session.max_budget.is_some();
        let is_plain = !text.trim().is_empty() && !text.trim_start().starts_with(['<', '{']);
        let added =
            tokens::tokens_of_text(text) + tokens::tokens_of_text(rules.settings.texts.template(TextName::SummaryHead)) + AROUND_A_SUMMARY;
        if is_free || !is_plain || self.is_cut_off {
            return;
        }
        found.ask(super::ORACLE);
        // The user's context stands before the messages of each request, and is no part of them (S-2a).
        let replaced = self.replaced.saturating_sub(rules.settings.user_context.as_deref().map_or(0, tokens::tokens_of_text));
        if added < replaced {
            let text = format!("the answer to request {id} came whole, and its {added} tokens were not taken for {replaced}");
            found.add(super::ORACLE, text);
        }
    }

    /// The prompt is over.
    pub(super) fn on_finished(&mut self) {
        *self = Self { is_counted: self.is_counted, ..Self::default() };
    }

    /// An answer of the conversation has these token counts.
    pub(super) fn on_count(&mut self, usage: &Usage) {
        self.is_counted |= usage.input_tokens.is_some_and(|tokens| tokens > 0);
    }

    pub(super) fn is_about(&self, id: RequestId) -> bool {
        self.attempts.iter().any(|(attempt, _)| *attempt == id)
    }

    pub(super) fn on_input(&mut self, input: &Input) {
        if let Input::Cancel | Input::Interrupt { .. } = input {
            self.is_whole = false;
        }
        // An answer can be lost behind its last event.
        if let Input::End { id, how } = input
            && *how != AnswerEnd::Complete
            && self.is_about(*id)
        {
            self.is_whole = false;
        }
        let (Input::Stream { id, .. } | Input::Body { id, .. }) = input else { return };
        // A request that was closed may still speak.
        let Some((_, text)) = self.attempts.last_mut().filter(|(attempt, _)| attempt == id && !self.is_whole) else { return };
        match input {
            Input::Stream { event, .. } => match event.payload() {
                EventPayload::BlockStart { block, .. } => {
                    if !text.is_empty() {
                        text.push('\n');
                    }
                    text.push_str(&RawObject::parse(block).ok().and_then(|block| block.string("text")).unwrap_or_default())
                }
                EventPayload::BlockDelta { delta: BlockDelta::Text(more), .. } => text.push_str(more),
                EventPayload::MessageDelta(delta) => {
                    self.is_cut_off |= matches!(delta.stop_reason.as_deref(), Some("max_tokens" | "model_context_window_exceeded"));
                    self.has_ended = delta.stop_reason.as_deref() == Some("end_turn");
                }
                EventPayload::MessageStop => self.is_whole = self.has_ended,
                EventPayload::Error { .. } => self.has_ended = false,
                _ => (),
            },
            Input::Body { body, .. } => text.push_str(&text_of(body).unwrap_or_else(|| body.to_string())),
            _ => (),
        }
    }

    /// The summary is in the conversation.
    pub(super) fn on_summary(&mut self, summary: &str, found: &mut OracleFindings<'_>) {
        let mut attempts = core::mem::take(&mut self.attempts);
        let Some((id, whole)) = attempts.pop() else { return };
        if core::mem::take(&mut self.is_cut_off) {
            found.add(super::ORACLE, format!("the answer to request {id} is the summary, and a limit on its length cut it off"));
        }
        // Blocks are joined by the engine, with whatever it likes between them.
        let is_plain = !whole.trim_start().starts_with(['<', '{']);
        if is_plain {
            found.ask(ORACLE);
        }
        if let Some(line) = whole.lines().map(str::trim).find(|line| is_plain && !summary.contains(line)) {
            found.add(ORACLE, format!("the summary lacks words of answer {id}: {line}"));
        }
        let cut = attempts.iter().map(|(id, text)| (id, text.trim())).filter(|(_, text)| text.chars().count() >= CHARACTERS_MIN);
        for (id, text) in cut {
            found.ask(ORACLE);
            if summary.matches(text).count() > whole.matches(text).count() {
                found.add(ORACLE, format!("the summary holds words of attempt {id}, which was cut: {text}"));
            }
        }
    }
}

/// The texts of an answer that was not streamed, a line for each.
fn text_of(body: &str) -> Option<String> {
    let message = whole_message(body).ok()?;
    let texts = message.blocks.iter().filter_map(|block| match block.kind() {
        BlockKind::Text(text) => Some(&**text),
        _ => None,
    });
    Some(texts.collect::<Vec<&str>>().join("\n"))
}
