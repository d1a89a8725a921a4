//! The texts for the model that the next request of an agent must hold: the context that a hook gives and the objections of stop hooks (O-24), and the interruption message that consumers saw
//! (O-30).
//!
//! It is not looked for in a request that asks for something else than the conversation, nor after an edit that may have taken it out: a compaction, a
//! command, messages that were marked.

use super::command_prompts::CommandPrompts;
use super::nothing_lost::{self, escaped};
use super::request_kind::{RequestKind, SentRequest};
use super::{OracleFindings, OracleRules, interruption};
use reenact_engine::contract::{Effect, Emission, HookEvent, HookRun, HookSubject, Input, Note, RequestId, ToolRun};
use reenact_engine::permission::PermissionWord;
use reenact_engine::texts::TextName;
use reenact_wire::prelude::*;

/// The texts for the next request of one agent.
#[derive(Clone, Debug, Hash, Default)]
pub(super) struct ToldTextOracle {
    /// The hooks that run.
    running: Vec<HookRun>,
    /// The tools that have ended: hooks behind them object to the model.
    ended_tools: Vec<ToolRun>,
    /// The prompt was cancelled: a message that says so without that is another rule's to see.
    is_cancelled: bool,
    commands: CommandPrompts,
    /// The answer or tool use after which a hook has ended the turn.
    ended: Option<HookSubject>,
    texts: Vec<ToldText>,
    /// The conversation was summarised, and nothing was asked since.
    is_compacting: bool,
}

#[derive(Clone, Debug, Hash)]
struct ToldText {
    text: Arc<str>,
    source: TextSource,
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
enum TextSource {
    Hook(HookRun),
    /// The interruption of this prompt.
    Interruption(u32),
    /// A message that the engine wrote in the user's name, and gave to consumers.
    Hidden(HiddenKind),
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
enum HiddenKind {
    /// It stands in the place of what was summarised, or beside that.
    OfCompaction,
    /// It asks the model for something.
    Asking,
}

/// Where a text for consumers is put together from several blocks of a message, this is between them.
const BETWEEN_BLOCKS: &str = "\n\n";

impl ToldTextOracle {
    pub(super) fn on_input(&mut self, rules: &OracleRules, input: &Input) {
        self.commands.begins_by(input);
        match input {
            Input::HookEnded { hook, outcome } => {
                let Some(at) = self.running.iter().position(|run| run == hook) else { return };
                self.running.remove(at);
                // What one says before a compaction is for the summarising request.
                let is_behind = rules.hooks.get(hook.hook as usize).is_some_and(|known| known.event == HookEvent::PostCompact);
                let is_for_the_turn = is_behind || !matches!(hook.subject, HookSubject::Compaction(_));
                if let Some(text) = outcome.context.as_ref().filter(|_| is_for_the_turn && tells_contexts(rules)) {
                    self.texts.push(ToldText { text: text.clone(), source: TextSource::Hook(*hook) });
                }
                // Each of several objections is heard, not the first alone.
                if outcome.stop.is_some() {
                    // The turn is over: no model reads what others object.
                    self.ended = Some(hook.subject);
                    self.forget(|source| matches!(source, TextSource::Hook(run) if run.subject == hook.subject));
                }
                let is_over = self.ended == Some(hook.subject);
                let is_behind = match hook.subject {
                    HookSubject::Stop(_) => true,
                    HookSubject::Tool(run) => self.ended_tools.contains(&run),
                    HookSubject::Compaction(_) => false,
                };
                let objects = is_behind && outcome.decision == Some(PermissionWord::Deny) && !is_over;
                if let Some(reason) = outcome.reason.as_ref().filter(|_| objects && rules.settings.session.host_messages.is_empty()) {
                    self.texts.push(ToldText { text: reason.clone(), source: TextSource::Hook(*hook) });
                }
            }
            Input::ToolEnded { run, .. } => self.ended_tools.push(*run),
            Input::MarkedDead { .. } => self.texts.clear(),
            _ => (),
        }
    }

    pub(super) fn on_cancel(&mut self) {
        self.is_cancelled = true;
    }

    pub(super) fn on_request(&mut self, sent: SentRequest<'_>, found: &mut OracleFindings<'_>) {
        let SentRequest { id, request, kind } = sent;
        if kind != RequestKind::Ordinary {
            return;
        }
        self.is_compacting = false;
        if self.texts.is_empty() {
            return;
        }
        let holds = |text: &str| {
            let escaped = escaped(text);
            let newest_first = request.messages.iter().rev().flat_map(|message| &message.content);
            newest_first.into_iter().any(|block| block.json().as_str().contains(&*escaped))
        };
        for ToldText { text, source } in self.texts.extract_if(.., |told| is_due(told.source, id)) {
            let (oracle, complaint) = match source {
                TextSource::Hook(run) => (nothing_lost::ORACLE, format!("does not hold what hook {} wants the model to know", run.hook)),
                TextSource::Interruption(_) => (interruption::ORACLE, String::from("does not hold the interruption message")),
                TextSource::Hidden(_) => {
                    (nothing_lost::ORACLE, String::from("does not hold what consumers were told is said to the model"))
                }
            };
            found.ask(oracle);
            if !text.split(BETWEEN_BLOCKS).all(holds) {
                found.add(oracle, format!("request {id} {complaint}: {text}"));
            }
        }
    }

    pub(super) fn on_effect(&mut self, rules: &OracleRules, effect: &Effect) {
        if self.commands.ended_by(effect).is_some() {
            self.texts.clear();
        }
        match effect {
            Effect::RunHook { hook, .. } => self.running.push(*hook),
            // Of hooks that are stopped together nothing comes, also where some have answered.
            Effect::StopHook { hook } => {
                self.running.retain(|run| run != hook);
                self.forget(|source| matches!(source, TextSource::Hook(run) if run.subject == hook.subject));
            }
            Effect::Emit(Emission::Init { .. }) => self.is_cancelled = false,
            Effect::Emit(Emission::Interrupted { prompt, text })
                if self.is_cancelled && rules.settings.session.host_messages.is_empty() =>
            {
                self.texts.push(ToldText { text: text.clone(), source: TextSource::Interruption(*prompt) });
            }
            Effect::Emit(Emission::CompactBoundary { .. }) => {
                self.forget(|source| source != TextSource::Hidden(HiddenKind::Asking) && !is_of_compaction(source));
                self.is_compacting = true;
            }
            Effect::Note(Note::Compaction { ran: false, .. }) => self.forget(is_of_compaction),
            Effect::Emit(Emission::LocalOutput { .. } | Emission::SnipBoundary { .. }) => self.texts.clear(),
            Effect::Emit(Emission::Hidden { text, .. }) if rules.keeps_own_words() => {
                let kind = if self.is_compacting { HiddenKind::OfCompaction } else { HiddenKind::Asking };
                self.texts.push(ToldText { text: text.clone(), source: TextSource::Hidden(kind) });
            }
            Effect::Note(Note::Discarded { id, .. } | Note::LeftRunning { id, .. }) | Effect::Emit(Emission::ModelFallback { id, .. }) => {
                self.forget(
                    |source| matches!(source, TextSource::Hook(HookRun { subject: HookSubject::Tool(run), .. }) if run.request == *id),
                );
            }
            Effect::Finished { .. } => {
                self.ended_tools.clear();
                self.running.clear();
                self.forget(|source| !matches!(source, TextSource::Interruption(_)));
            }
            _ => (),
        }
    }

    fn forget(&mut self, is_over: impl Fn(TextSource) -> bool) {
        self.texts.retain(|told| !is_over(told.source));
    }
}

/// Whether this request must hold it: the turn after the hook's, or a prompt after the one that was interrupted.
fn is_due(source: TextSource, id: RequestId) -> bool {
    match source {
        TextSource::Hook(HookRun { subject: HookSubject::Tool(run), .. }) => run.request.turn < id.turn,
        TextSource::Hook(HookRun { subject: HookSubject::Stop(of) | HookSubject::Compaction(of), .. }) => of.turn < id.turn,
        TextSource::Interruption(prompt) => prompt < id.prompt,
        TextSource::Hidden(_) => true,
    }
}

fn is_of_compaction(source: TextSource) -> bool {
    matches!(source, TextSource::Hook(HookRun { subject: HookSubject::Compaction(_), .. }))
}

/// Whether the text for the model holds a hook's context (T-31), and no host puts other messages in its place.
fn tells_contexts(rules: &OracleRules) -> bool {
    rules.settings.session.host_messages.is_empty() && rules.settings.texts.template(TextName::HookContext).contains("{text}")
}
