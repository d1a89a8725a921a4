//! A running compaction (C-4, C-5, C-9): hooks are asked, the model summarises, hooks get the result.
//!
//! ```text
//!   start ──> PreHooks ──> Asking ──a summary──> PostHooks ──> Done
//!                │           │ ▲                     └── all in, and smaller than what it replaces (C-8a)
//!                └─prevented─┤ └── too long: without the oldest rounds, at most 3 times; another model takes over
//!                            └──> Failed: the conversation stays as it was
//! ```
//!
//! The summarising call is an ordinary call, with its retries; nothing of its answer is emitted but the summary. Each further try is a request
//! of its own with the next turn's number. Nothing here compacts anything by itself: a compaction's own call never comes to the cascade.

use super::cascade::note;
use super::estimate::{answer_room, context_tokens, item_tokens, replaced_tokens};
use super::outcome::{CompactionUsage, FailedCompaction, SuccessfulCompaction, SummaryRefusal};
use super::summary::{self, ConversationParts, SummaryItems};
use super::{CompactionCause, reactive};
use crate::agent_effects::AgentEffects;
use crate::call::{ApiCall, CallStanding, CallVerdict, CompletedAnswer, without_thinking_budget};
use crate::contract::{Effect, Input, RequestId};
use crate::conversation::host::place_of_the_users;
use crate::conversation::{Conversation, ConversationItem, ItemKind, answer_name, lacks_thinking};
use crate::emission::{AssistantMessage, CompactTrigger, Emission};
use crate::hook::{HookEvent, HookSubject, HookVerdict, RunningHooks, without_tool};
use crate::permission::PermissionWord;
use crate::retry::{AttemptFailure, CallUrgency};
use crate::session::prompt::RequestFrame;
use crate::settings::Environment;
use crate::status;
use crate::texts::{ModelTexts, TextName};
use crate::time::Time;
use reenact_wire::block::{Block, BlockKind};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;
use reenact_wire::request::{Request, push_merged};
use reenact_wire::tokens;
use reenact_wire::usage::Usage;

/// A compaction under way: hooks, the summarising call, hooks.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(crate) struct Compaction {
    cause: CompactionCause,
    /// The summarising request without what it is about: what each try begins with.
    pub(super) base: Box<Request>,
    parts: ConversationParts,
    /// The items that the model summarises: all that is replaced, but for the oldest rounds if they were too much.
    pub(super) asked_about: Vec<Arc<ConversationItem>>,
    /// How often the oldest rounds were left out because a call was too long.
    pub(super) drops: u32,
    /// Whether the model was asked once more for a summary in tags (C-4a).
    has_asked_for_tags: bool,
    sizes: CompactionSizes,
    /// The instructions for the summary, the user's first.
    instructions: Vec<Arc<str>>,
    spent: CompactionUsage,
    pub(super) state: CompactionState,
}

/// How much there was, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Hash)]
struct CompactionSizes {
    /// The whole context, as C-4 counts it.
    context: u64,
    /// The tokens of the replaced items: the summary has to be smaller (C-8a).
    replaced: u64,
}

#[derive(Clone, Debug, PartialEq, Hash)]
pub(super) enum CompactionState {
    /// Hooks are asked before the request of this name.
    PreHooks {
        hooks: RunningHooks,
        id: RequestId,
    },
    /// The model summarises; its text so far.
    Asking {
        call: Box<ApiCall>,
        blocks: Vec<Arc<AssistantMessage>>,
    },
    /// Hooks hear of the summary.
    PostHooks {
        hooks: RunningHooks,
        added: Box<SummaryItems>,
    },
    Finished,
}

/// The decisions that belong to the owner of the compaction.
#[derive(Clone, Debug, PartialEq, Hash)]
#[must_use]
pub(crate) enum CompactionVerdict {
    /// It continues.
    Running,
    /// The conversation is shorter.
    Done(Box<SuccessfulCompaction>),
    /// It failed: the conversation stays as it was.
    Failed(Box<FailedCompaction>),
}

impl Compaction {
    /// Begins; the first request that it makes is `id`.
    ///
    /// # Errors
    /// When it fails at once: there is nothing to summarise, or what would be asked was refused before. This end is reported like any other failure.
    #[expect(clippy::too_many_arguments, reason = "a compaction starts from all that a request starts from")]
    pub(crate) fn start(
        env: &Environment,
        now: Time,
        cause: CompactionCause,
        id: RequestId,
        frame: &RequestFrame,
        conversation: &Conversation,
        (standing, refusals): (CallStanding, Vec<SummaryRefusal>),
        effects: &mut AgentEffects,
    ) -> Result<Self, Box<FailedCompaction>> {
        let settings = &env.settings.compaction;
        let mut sizes = CompactionSizes { context: context_tokens(env, frame, conversation), replaced: 0 };
        let view = conversation.view();
        let seen = view.iter().map(|seen| summary::as_it_goes_on(&seen.item, cause.without_media, &env.settings.texts)).collect();
        let spent = CompactionUsage { standing, refusals, ..CompactionUsage::default() };
        let parts = ConversationParts::divide(seen, settings, |id| conversation.is_message_in_result(id));
        let Some(parts) = parts.map(|parts| parts.unbound(frame.model(), &env.settings.texts)) else {
            let failure = AttemptFailure::new("nothing_to_summarise", "no message before the last one can be summarised");
            return Err(Box::new(failed(env, &cause, sizes, spent, failure, effects)));
        };
        let answers = parts.replaced.iter().filter(|item| item.is_answer()).count();
        if answers < cause.answers_min as usize {
            let failure = AttemptFailure::new("too_few_rounds", &format!("{answers} of the {} answers that it takes", cause.answers_min));
            return Err(Box::new(failed(env, &cause, sizes, spent, failure, effects)));
        }
        let whole: u64 = view.iter().map(|seen| item_tokens(env, &seen.item)).sum();
        let kept: u64 = parts.kept.iter().map(|item| item_tokens(env, item)).sum();
        sizes.replaced = replaced_tokens(sizes.context, frame.tokens() + whole, frame.tokens() + kept);
        let request = conversation.with_edit(frame.request(Vec::new(), None));
        let tools = request.tools.clone().filter(|_| !settings.summary_tools);
        let base = Box::new(summary::request(request, answer_room(settings), settings.summary_tools));
        let instructions = cause.instructions.iter().cloned().collect();
        let asked_about = parts.replaced.clone();
        let mut compaction = Self {
            cause,
            base,
            parts,
            asked_about,
            drops: 0,
            has_asked_for_tags: false,
            sizes,
            instructions,
            spent,
            state: CompactionState::Finished,
        };
        let forgotten = compaction.forget_bound_thinking(env, tools.is_some(), &view);
        let left_out = tools.as_ref().map_or(0, tokens::tools) + kept + forgotten;
        let too_much = compaction.cause.excess.map(|excess| {
            let excess = excess.in_estimate(frame.tokens() + whole);
            (excess + tokens::tokens_of_text(env.settings.texts.template(TextName::SummaryPrompt))).saturating_sub(left_out)
        });
        if let Some(excess) = too_much.filter(|excess| *excess > 0 && !settings.full_summary_first) {
            compaction.leave_out(Some(excess), &env.settings.texts);
        }
        status::report(env, status::COMPACTING, effects);
        let said = Json::from_value(&CompactionBriefing { trigger: compaction.cause.trigger.as_str(), summary: None });
        let input = without_tool(HookEvent::PreCompact, said);
        match RunningHooks::start(env, now, HookSubject::Compaction(id), input, effects) {
            Some(hooks) => compaction.state = CompactionState::PreHooks { hooks, id },
            None => {
                if let CompactionVerdict::Failed(failed) = compaction.ask(env, now, id, effects) {
                    return Err(failed);
                }
            }
        }
        compaction.begun();
        compaction.check_invariants();
        Ok(compaction)
    }

    /// Takes all inputs while it is under way.
    pub(crate) fn step(&mut self, env: &Environment, now: Time, input: &Input, effects: &mut AgentEffects) -> CompactionVerdict {
        let (before, was_over) = (self.before(), self.is_over());
        let verdict = match &mut self.state {
            CompactionState::PreHooks { hooks, id } => {
                let id = *id;
                match hooks.step(now, input, effects) {
                    Some(said) => self.on_pre_hooks(env, now, id, said, effects),
                    None => CompactionVerdict::Running,
                }
            }
            CompactionState::Asking { call, .. } => {
                let verdict = call.step(env, now, input, effects);
                self.on_call(env, now, verdict, effects)
            }
            CompactionState::PostHooks { hooks, added } => match hooks.step(now, input, effects) {
                Some(said) => {
                    let added = added.clone();
                    self.finish(env, &added, &said, effects)
                }
                None => CompactionVerdict::Running,
            },
            CompactionState::Finished => CompactionVerdict::Running,
        };
        self.passed(&before, &verdict);
        invariant!(self.is_over() == (was_over || verdict != CompactionVerdict::Running), "a compaction is over when it says so");
        self.check_invariants();
        verdict
    }

    /// Whether an attempt is to be made.
    pub(crate) fn is_due(&self) -> bool {
        matches!(&self.state, CompactionState::Asking { call, .. } if call.is_due())
    }

    /// Makes it (S-10).
    pub(crate) fn make(&mut self, env: &Environment, now: Time, effects: &mut AgentEffects) {
        if let CompactionState::Asking { call, .. } = &mut self.state {
            call.make(env, now, effects);
        }
    }

    /// Whether it is over.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state, CompactionState::Finished)
    }

    /// The tokens that it has used so far, by model.
    pub(crate) fn usage(&self) -> impl Iterator<Item = (Arc<str>, Usage)> + '_ {
        let running = match &self.state {
            CompactionState::Asking { call, .. } => Some((call.model().clone(), *call.usage())),
            _ => None,
        };
        self.spent.usage.iter().cloned().chain(running)
    }

    /// When the time of a hook is up next.
    pub(crate) fn hooks_until(&self) -> Option<Time> {
        match &self.state {
            CompactionState::PreHooks { hooks, .. } | CompactionState::PostHooks { hooks, .. } => hooks.until(),
            CompactionState::Asking { .. } | CompactionState::Finished => None,
        }
    }

    /// Ends it at once (C-8); returns what it cost. The conversation was never touched.
    pub(crate) fn abort(&mut self, now: Time, effects: &mut AgentEffects) -> CompactionUsage {
        self.aborted();
        match &mut self.state {
            CompactionState::PreHooks { hooks, .. } | CompactionState::PostHooks { hooks, .. } => hooks.abort(effects),
            CompactionState::Asking { call, .. } => {
                call.abort(now, effects);
                self.spent.count_lost(now, call);
            }
            CompactionState::Finished => (),
        }
        self.close()
    }

    /// The only way to its end; returns what it cost, which no verdict of an end can do without.
    fn close(&mut self) -> CompactionUsage {
        self.state = CompactionState::Finished;
        core::mem::take(&mut self.spent)
    }

    /// A hook may add to what the summary is to mind, or say that there should be none.
    fn on_pre_hooks(
        &mut self,
        env: &Environment,
        now: Time,
        id: RequestId,
        said: HookVerdict,
        effects: &mut AgentEffects,
    ) -> CompactionVerdict {
        let denied = (said.decision == Some(PermissionWord::Deny)).then(|| said.reasons.first().cloned().unwrap_or_default());
        if let Some(reason) = said.stop.or(denied) {
            let reason = if reason.is_empty() { String::from("a hook prevented it") } else { format!("a hook prevented it: {reason}") };
            return self.fail(env, AttemptFailure::new("compaction_prevented", &reason), effects);
        }
        self.instructions.extend(said.contexts.into_iter().map(|(_, context)| context));
        self.ask(env, now, id, effects)
    }

    /// Makes the summarising call. A request that was refused in this prompt is not repeated. One that was too long is shortened, as if the API had
    /// refused it once more.
    fn ask(&mut self, env: &Environment, now: Time, id: RequestId, effects: &mut AgentEffects) -> CompactionVerdict {
        let mut request = self.request(&env.settings.texts);
        while let Some(known) = self.spent.refusals.iter().find(|known| *known.request == request) {
            let failure = known.failure.clone();
            if !reactive::is_too_long(&failure) {
                let before = format!("the same summary request was refused before: {}", failure.summary());
                return self.fail(env, AttemptFailure::new("summary_refused", &before), effects);
            }
            if !self.shorten(env, &failure) {
                return self.fail(env, AttemptFailure::new("summary_too_long", "the same summary request was too long before"), effects);
            }
            request = self.request(&env.settings.texts);
        }
        let call = ApiCall::open(env, now, (id, CallUrgency::for_loop(&env.settings)), request, self.spent.standing.clone(), effects);
        self.state = CompactionState::Asking { call: Box::new(call), blocks: Vec::new() };
        CompactionVerdict::Running
    }

    /// The summarising request about what is asked about now.
    fn request(&self, texts: &ModelTexts) -> Request {
        let mut request = Request::clone(&self.base);
        let are_all = self.asked_about.len() == self.parts.replaced.len();
        for message in summary::messages(&self.asked_about, are_all, &self.instructions, texts) {
            push_merged(&mut request.messages, message);
        }
        if lacks_thinking(self.asked_about.iter().map(|item| &**item)) {
            request = without_thinking_budget(request);
        }
        request
    }

    fn on_call(&mut self, env: &Environment, now: Time, verdict: CallVerdict, effects: &mut AgentEffects) -> CompactionVerdict {
        let CompactionState::Asking { call, blocks } = &mut self.state else { return CompactionVerdict::Running };
        match verdict {
            CallVerdict::Pending | CallVerdict::StopReason(..) => CompactionVerdict::Running,
            CallVerdict::Blocks(complete) => {
                blocks.extend(complete);
                CompactionVerdict::Running
            }
            CallVerdict::AttemptLost(lost) => {
                self.spent.count_attempt(call, lost.usage);
                CompactionVerdict::Running
            }
            CallVerdict::Abandoned(lost) => {
                self.spent.count_attempt(call, lost.usage);
                blocks.clear(); // nothing of it was emitted, so there is nothing to take back (Q-20)
                call.go_on(env, now, effects);
                CompactionVerdict::Running
            }
            CallVerdict::Ended(ended) => {
                blocks.extend(ended.blocks.iter().cloned());
                self.on_ended(env, now, &ended, effects)
            }
            CallVerdict::Failed(failure) => {
                let id = call.id();
                self.spent.count_lost(now, call);
                self.on_lost(env, now, id, failure, effects)
            }
            CallVerdict::Fallback { to, failure } => {
                let (id, from) = (call.id(), call.model().clone());
                self.spent.count_lost(now, call);
                if from == to {
                    return self.on_lost(env, now, id, failure, effects); // Q-21: there is nowhere to go from here
                }
                effects.push(Effect::Emit(Emission::ModelFallback { id, from, to: to.clone(), reason: failure.summary().into() }));
                self.base.model = to;
                self.forget_thinking_from(0, &env.settings.texts);
                self.ask(env, now, RequestId { attempt: id.attempt + 1, ..id }, effects)
            }
        }
    }

    /// The model answered: a summary, or not.
    fn on_ended(&mut self, env: &Environment, now: Time, ended: &CompletedAnswer, effects: &mut AgentEffects) -> CompactionVerdict {
        let CompactionState::Asking { call, blocks } = &self.state else { return CompactionVerdict::Running };
        let id = call.id();
        self.spent.count(call, ended);
        if ended.is_part {
            return self.fail(env, AttemptFailure::new("summary_cut_short", "the stream of the summary broke"), effects);
        }
        if env.settings.compaction.summary_tags && !self.has_asked_for_tags && !summary::is_tagged(blocks) {
            self.has_asked_for_tags = true;
            return self.ask(env, now, RequestId { turn: id.turn + 1, attempt: 1, ..id }, effects);
        }
        let said = match summary::read(blocks, ended.stop_reason.as_deref()) {
            Ok(said) => said,
            Err(failure) => return self.fail(env, failure, effects),
        };
        let added = SummaryItems::new(&answer_name(id), &said, &self.parts, &env.settings);
        if let Err(failure) = self.tokens_after(added.tokens(env)) {
            return self.fail(env, failure, effects);
        }
        let told = Json::from_value(&CompactionBriefing { trigger: self.cause.trigger.as_str(), summary: Some(&said) });
        let input = without_tool(HookEvent::PostCompact, told);
        match RunningHooks::start(env, now, HookSubject::Compaction(id), input, effects) {
            Some(hooks) => {
                self.state = CompactionState::PostHooks { hooks, added: Box::new(added) };
                CompactionVerdict::Running
            }
            None => self.finish(env, &added, &HookVerdict::default(), effects),
        }
    }

    /// The call gave up. One that was too long itself is made again without the oldest rounds (C-4).
    fn on_lost(
        &mut self,
        env: &Environment,
        now: Time,
        id: RequestId,
        failure: AttemptFailure,
        effects: &mut AgentEffects,
    ) -> CompactionVerdict {
        let is_too_long = reactive::is_too_long(&failure);
        if is_too_long || failure.is_of_the_content() {
            self.spent.refusals.push(SummaryRefusal { request: Box::new(self.request(&env.settings.texts)), failure: failure.clone() });
        }
        if !is_too_long {
            return self.fail(env, failure, effects);
        }
        // A further try is no further attempt, because it asks something else.
        let next = RequestId { turn: id.turn + 1, attempt: 1, ..id };
        if self.shorten(env, &failure) { self.ask(env, now, next, effects) } else { self.fail(env, failure, effects) }
    }

    /// How many tokens the context has once so many are added in the place of what goes; a failure if that makes it no smaller (C-8a).
    fn tokens_after(&self, added: u64) -> Result<u64, AttemptFailure> {
        let CompactionSizes { context, replaced } = self.sizes;
        if added < replaced {
            return Ok(context - replaced + added);
        }
        Err(AttemptFailure::new("summary_not_smaller", &format!("{added} tokens would replace {replaced}")))
    }

    /// Puts the new conversation together and says so, in the order that C-4 gives.
    fn finish(&mut self, env: &Environment, added: &SummaryItems, said: &HookVerdict, effects: &mut AgentEffects) -> CompactionVerdict {
        let contexts: Vec<Block> = said.contexts.iter().map(|(_, context)| Block::text(context)).collect();
        let tokens_after = match self.tokens_after(added.tokens(env) + env.tokenizer.blocks(&contexts)) {
            Ok(tokens_after) => tokens_after,
            Err(failure) => return self.fail(env, failure, effects),
        };
        let id = added.summary.name.clone();
        let mut items = vec![added.summary.clone()];
        items.extend(self.parts.kept.iter().cloned());
        let contexts = (!contexts.is_empty()).then(|| Arc::new(ConversationItem::user(format!("{id}.hooks"), ItemKind::Hidden, contexts)));
        for more in added.attachments.clone().into_iter().chain(contexts) {
            items.insert(place_of_the_users(&items), more);
        }
        let conversation = Conversation::from_items(items);
        let tokens = (self.sizes.context, tokens_after);
        let trigger = self.cause.trigger;
        note(env, self.cause.level(), true, self.cause.in_words(), tokens, effects);
        let kept = self.parts.kept.iter().map(|item| item.name.clone()).collect();
        let (tokens_before, tokens_after) = tokens;
        effects.push(Effect::Emit(Emission::CompactBoundary { trigger, tokens_before, tokens_after, kept }));
        emit_item(&added.summary, "summary", effects);
        if let Some(attachments) = &added.attachments {
            emit_item(attachments, "attachments", effects);
        }
        for (hook, text) in &said.contexts {
            effects.push(Effect::Emit(Emission::HookContext { hook: *hook, text: text.clone() }));
        }
        CompactionVerdict::Done(Box::new(SuccessfulCompaction { id, conversation, tokens, spent: self.close() }))
    }

    fn fail(&mut self, env: &Environment, failure: AttemptFailure, effects: &mut AgentEffects) -> CompactionVerdict {
        let spent = self.close();
        CompactionVerdict::Failed(Box::new(failed(env, &self.cause, self.sizes, spent, failure, effects)))
    }

    fn check_invariants(&self) {
        invariant!(self.asked_about.len() <= self.parts.replaced.len(), "the model is asked about what is replaced and nothing else");
        if let CompactionState::Asking { .. } = self.state {
            invariant!(!self.asked_about.is_empty(), "a summarising call is about something");
        }
    }
}

/// The input of hooks for a compaction.
#[derive(serde::Serialize)]
struct CompactionBriefing<'a> {
    trigger: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'a str>,
}

/// C-5: what stands in the conversation now is emitted, too.
fn emit_item(item: &ConversationItem, why: &str, effects: &mut AgentEffects) {
    let texts = item.message.content.iter().filter_map(|block| match block.kind() {
        BlockKind::Text(text) => Some(&**text),
        _ => None,
    });
    let text = texts.collect::<Vec<_>>().join("\n\n").into();
    effects.push(Effect::Emit(Emission::Hidden { uuid: item.name.clone(), why: why.into(), text }));
}

fn failed(
    env: &Environment,
    cause: &CompactionCause,
    sizes: CompactionSizes,
    spent: CompactionUsage,
    failure: AttemptFailure,
    effects: &mut AgentEffects,
) -> FailedCompaction {
    note(env, cause.level(), false, &failure.summary(), (sizes.context, sizes.context), effects);
    if cause.trigger != CompactTrigger::Manual {
        // The user who asked for it gets the failure as an error.
        let text = format!("the conversation was not summarised: {}", failure.summary());
        effects.push(Effect::Emit(Emission::Warning { text: text.into() }));
    }
    FailedCompaction { trigger: cause.trigger, failure, spent }
}
