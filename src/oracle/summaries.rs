//! O-35: a request for a summary carries no tools, the tries at a summary are bounded by their count (C-4), and what is cleared is never among the
//! newest that are to be kept (C-2: `cleared_results`). A summary that is due is asked for (C-4: `due_summary`), and holds words of one attempt (O-5:
//! `summary_source`). The files that are attached to it are those of the last reads (O-24: `attached_files`).
//!
//! A summary is tried again without the oldest rounds, and once more for its tags. After so many failures in a row a circuit breaker is open: the
//! session is not summarised any more, unless the user asks for it (C-9). What the user asked for is a prompt of its own, without any other
//! request. Failures are counted that were noted after a request for a summary, so the count here is never too high.

mod attached_files;
mod cleared_results;
mod due_summary;
mod summary_source;

use attached_files::AttachedFileOracle;
use cleared_results::ClearedResultOracle;
use due_summary::DueSummaryOracle;
use summary_source::SummarySourceOracle;

use super::request_kind::{RequestKind, SentRequest, asking_message, has_tools};
use super::{OracleFindings, OracleRules};
use reenact_engine::contract::{Effect, Emission, Input, Note, Request, RequestId, Terminal};
use reenact_engine::emission::{CompactTrigger, CompactionLevel};
use reenact_engine::key::SharedValue;
use reenact_engine::texts::TextName;
use reenact_wire::block::{Block, BlockKind};
use reenact_wire::prelude::*;

pub(super) const ORACLE: &str = "O-35";

/// The reason of the hidden message that holds a summary.
const SUMMARY: &str = "summary";

/// The summaries that one agent asks for.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct SummaryOracle {
    results: ClearedResultOracle,
    due: DueSummaryOracle,
    source: SummarySourceOracle,
    files: AttachedFileOracle,
    /// The last request of the conversation.
    asked: Option<SharedValue<Request>>,
    /// The last request.
    last: Option<LastRequest>,
    /// How many requests for the summary of now were made, attempts aside.
    tries: u32,
    /// Whether that summary failed.
    has_failed: bool,
    /// Whether the conversation of this prompt was asked about.
    has_asked: bool,
    /// How many failed in a row, those aside that the user asked for.
    failures: u32,
    /// A request for a summary with the breaker open, unless the user asked for it.
    suspect: Option<String>,
    /// The prompts that ask for a summary, with what the user wants it to be about.
    wishes: Vec<(u32, Arc<str>)>,
}

#[derive(Clone, Debug, Hash)]
struct LastRequest {
    id: RequestId,
    has_tools: bool,
    kind: RequestKind,
    /// Whether something of its answer came out.
    is_heard: bool,
}

impl SummaryOracle {
    pub(super) fn on_input(&mut self, input: &Input) {
        if let Input::Prompt { prompt, content } | Input::Interrupt { prompt, content } = input {
            self.wishes.extend(wish(content).map(|wish| (*prompt, wish)));
        }
        self.due.on_input(input);
        self.source.on_input(input);
    }

    /// Whether the words of this answer become a summary.
    pub(super) fn awaits_words(&self, id: RequestId) -> bool {
        self.source.is_about(id)
    }

    pub(super) fn on_request(&mut self, rules: &OracleRules, sent: SentRequest<'_>, found: &mut OracleFindings<'_>) {
        self.results.on_request(rules, sent, found);
        self.due.on_request(rules, sent, found);
        let SentRequest { id, request, kind } = sent;
        if kind == RequestKind::ToolSummary {
            return;
        }
        let has_tools = has_tools(request);
        let is_new = self.last.as_ref().is_none_or(|last| (last.id.prompt, last.id.turn) != (id.prompt, id.turn));
        self.last = Some(LastRequest { id, has_tools, kind, is_heard: false });
        if kind == RequestKind::Summary {
            self.source.on_summary_request(sent);
            self.check_source(sent, is_new, found);
            self.check_wish(rules, sent, found);
            self.on_summary(rules, id, is_new, has_tools, found);
        } else {
            self.has_asked = true;
            self.asked = Some(request.clone());
            self.count_failure(found);
            self.tries = 0;
        }
    }

    /// A summary is asked of the conversation: some of its blocks are in the request. A further try may leave rounds out.
    fn check_source(&mut self, sent: SentRequest<'_>, is_new: bool, found: &mut OracleFindings<'_>) {
        let Some(asked) = self.asked.take().filter(|_| is_new && self.tries == 0) else { return };
        let mut said = asked.messages.iter().flat_map(|message| &message.content);
        let is_summarised = |block: &Block| sent.request.messages.iter().any(|message| message.content.contains(block));
        found.ask(ORACLE);
        if !said.any(is_summarised) {
            found.add(ORACLE, format!("request {} asks for a summary, and has nothing of what was said", sent.id));
        }
    }

    /// S-3: what the user wants a summary to be about stands in the request for it.
    fn check_wish(&self, rules: &OracleRules, sent: SentRequest<'_>, found: &mut OracleFindings<'_>) {
        let is_told = rules.settings.session.slash_commands
            && rules.keeps_own_words()
            && rules.settings.texts.template(TextName::SummaryInstruction).contains("{instruction}");
        let wish = self.wishes.iter().find(|(prompt, _)| *prompt == sent.id.prompt);
        let Some((_, wish)) = wish.filter(|_| is_told) else { return };
        found.ask(ORACLE);
        let has_wish = |block: &Block| matches!(block.kind(), BlockKind::Text(text) if text.contains(&**wish));
        let asking = asking_message(sent.request).map(|place| &sent.request.messages[place]);
        if !asking.is_some_and(|asking| asking.content.iter().any(has_wish)) {
            found.add(ORACLE, format!("request {} asks for a summary, and says nothing of what the user wants: {wish}", sent.id));
        }
    }

    /// `told` is the text of a result.
    pub(super) fn on_effect(&mut self, rules: &OracleRules, (effect, told): (&Effect, &str), found: &mut OracleFindings<'_>) {
        self.results.on_effect(rules, effect, found);
        self.due.on_effect(effect);
        self.files.on_effect(rules, (effect, told), found);
        match effect {
            Effect::Emit(Emission::CompactBoundary { trigger, .. }) => self.on_compacted(rules, *trigger, found),
            Effect::Emit(Emission::Hidden { why, text, .. }) if &**why == SUMMARY => self.source.on_summary(text, found),
            Effect::Emit(emission) => {
                if let Emission::Answered { usage, .. } = emission {
                    self.source.on_count(usage);
                }
                let id = match emission {
                    Emission::Assistant(message) => message.id,
                    Emission::Answered { id, .. } | Emission::StreamEvent { id, .. } => *id,
                    _ => return,
                };
                if let Some(last) = self.last.as_mut().filter(|last| last.id == id) {
                    last.is_heard = true;
                }
            }
            // All that was asked about may be gone, and what has come since is left.
            Effect::Note(Note::Compaction { level: CompactionLevel::Snip | CompactionLevel::Collapse, ran: true, .. }) => self.asked = None,
            Effect::Note(Note::Compaction { level: level @ (CompactionLevel::Auto | CompactionLevel::Reactive), ran: false, .. }) => {
                // Where the API has refused a prompt for its length it has counted it.
                if *level == CompactionLevel::Auto {
                    self.source.on_failure(rules, found);
                }
                self.has_failed |= self.tries > 0;
            }
            Effect::Finished { prompt, terminal } => {
                let is_stopped = matches!(terminal, Terminal::AbortedStreaming | Terminal::AbortedTools | Terminal::MaxBudget);
                if !is_stopped && (self.has_asked || *terminal == Terminal::BlockingLimit) {
                    self.count_failure(found);
                }
                self.source.on_finished();
                self.wishes.retain(|(of, _)| of != prompt);
                (self.last, self.tries, self.has_failed, self.has_asked, self.suspect) = (None, 0, false, false, None);
            }
            _ => (),
        }
    }

    fn on_summary(&mut self, rules: &OracleRules, id: RequestId, is_new: bool, has_tools: bool, found: &mut OracleFindings<'_>) {
        found.ask(ORACLE);
        let settings = &rules.settings.compaction;
        if has_tools && !settings.summary_tools && rules.keeps_own_words() {
            found.add(ORACLE, format!("request {id} asks for a summary and offers tools"));
        }
        if !is_new {
            return;
        }
        self.tries += 1;
        let most = settings.summary_drops.saturating_add(1).saturating_add(u32::from(settings.summary_tags));
        if self.tries == most.saturating_add(1) {
            found.add(ORACLE, format!("request {id} is the {}th for one summary, and there may be {most}", self.tries));
        }
        if self.failures >= settings.max_failures {
            let text = format!("request {id} asks for a summary after {} failures in a row", self.failures);
            self.suspect = Some(text);
        }
    }

    /// A summary has taken the place of the conversation: failures are counted anew.
    fn on_compacted(&mut self, rules: &OracleRules, trigger: CompactTrigger, found: &mut OracleFindings<'_>) {
        found.ask(ORACLE);
        if let Some(text) = self.suspect.take().filter(|_| trigger != CompactTrigger::Manual) {
            found.add(ORACLE, text);
        }
        let last = self.last.as_ref().filter(|last| last.kind == RequestKind::Ordinary && last.has_tools && !last.is_heard);
        if let Some(last) = last.filter(|_| !rules.settings.compaction.summary_tools) {
            found.add(ORACLE, format!("request {} was answered with a summary and had offered tools", last.id));
        }
        (self.tries, self.failures, self.has_failed) = (0, 0, false);
    }

    /// The conversation goes on, or ends, without the summary that was asked for.
    fn count_failure(&mut self, found: &mut OracleFindings<'_>) {
        self.failures += u32::from(core::mem::take(&mut self.has_failed));
        self.suspect.take().into_iter().for_each(|text| found.add(ORACLE, text));
    }
}

/// The words of the user about the summary, with the command for one.
fn wish(content: &[Block]) -> Option<Arc<str>> {
    let [only] = content else { return None };
    let BlockKind::Text(text) = only.kind() else { return None };
    let wish = text.trim().strip_prefix("/compact")?;
    wish.starts_with(char::is_whitespace).then(|| wish.trim().into())
}
