//! The levels before each request, in their order: each sees what the ones before it have freed.
//!
//! A level reports whether it ran, why, and the tokens before and after. One that has nothing to look at is silent: nothing is marked, staged or
//! old, or the window is not known.

use super::autocompact::{self, SummaryAvailability};
use super::cache_edit::{self, CacheEdit};
use super::estimate::{ContextThresholds, context_tokens, window};
use super::summary::ConversationParts;
use super::{CascadeDecision, CompactionTracking, collapse, microcompact, snip};
use crate::agent_effects::AgentEffects;
use crate::contract::Effect;
use crate::conversation::Conversation;
use crate::emission::{CompactionLevel, Emission, Note};
use crate::session::prompt::RequestFrame;
use crate::settings::{ContextWindow, Environment, MicrocompactMode};
use reenact_wire::prelude::*;

/// Runs C-1 to C-3 on the conversation, and says whether C-4 or Q-5 applies. `frame` is what comes with the messages now.
pub(crate) fn cascade(
    env: &Environment,
    frame: &RequestFrame,
    conversation: &mut Conversation,
    tracking: &mut CompactionTracking,
    effects: &mut AgentEffects,
) -> CascadeDecision {
    if let Some(last) = &mut tracking.last {
        last.turns += 1;
    }
    snip_dead(env, frame, conversation, tracking, effects);
    clear_old(env, frame, conversation, effects);
    if env.settings.background {
        return CascadeDecision::Call; // an agent that works for another leaves its context to that one
    }
    let Some(figures) = ContextThresholds::for_model(env, frame.model()) else {
        tell_excess(env, frame.model(), || context_tokens(env, frame, conversation), tracking, effects);
        return CascadeDecision::Call;
    };
    commit_staged(env, frame, conversation, figures.commit, "the context is near the window", effects);
    let tokens = context_tokens(env, frame, conversation);
    if tokens < figures.threshold {
        let since = tracking.last.as_ref().map(|last| format!(", request {} after {}", last.turns, last.id)).unwrap_or_default();
        let why = format!("{tokens} tokens are under the threshold of {}{since}", figures.threshold);
        note(env, CompactionLevel::Auto, false, &why, (tokens, tokens), effects);
        warn(env, tokens, figures, tracking, effects);
        return CascadeDecision::Call;
    }
    let help = auto_help(env, conversation, tracking);
    if let SummaryAvailability::Unavailable(why) = help {
        let why = format!("{tokens} tokens reach the threshold of {}, but {why}", figures.threshold);
        note(env, CompactionLevel::Auto, false, &why, (tokens, tokens), effects);
        tell_excess(env, frame.model(), || tokens, tracking, effects);
        warn(env, tokens, figures, tracking, effects);
    }
    autocompact::decide(tokens, figures, help, others(env, conversation, tracking))
}

/// The decision after a failed summarising call before a request: it is not repeated before the same request.
pub(crate) fn after_failure(
    env: &Environment,
    frame: &RequestFrame,
    conversation: &Conversation,
    tracking: &CompactionTracking,
) -> CascadeDecision {
    let Some(figures) = ContextThresholds::for_model(env, frame.model()) else { return CascadeDecision::Call };
    let tokens = context_tokens(env, frame, conversation);
    autocompact::decide(tokens, figures, SummaryAvailability::Unavailable("it has just failed"), others(env, conversation, tracking))
}

/// Commits all staged collapses, under any estimate; `false` when nothing could be committed.
pub(crate) fn drain_collapses(
    env: &Environment,
    frame: &RequestFrame,
    conversation: &mut Conversation,
    effects: &mut AgentEffects,
) -> bool {
    commit_staged(env, frame, conversation, 0, "the prompt is too long", effects)
}

/// Whether reactive compaction could still help.
pub(crate) fn can_react(env: &Environment, conversation: &Conversation, tracking: &CompactionTracking) -> bool {
    reactive_help(env, conversation, tracking) == SummaryAvailability::Available
}

/// C-1.
fn snip_dead(
    env: &Environment,
    frame: &RequestFrame,
    conversation: &mut Conversation,
    tracking: &mut CompactionTracking,
    effects: &mut AgentEffects,
) {
    let (before, hidden) = match conversation.count_hidden() {
        0 if tracking.dead.is_empty() => return,
        hidden => (context_tokens(env, frame, conversation), hidden),
    };
    if tracking.dead.is_empty() {
        let why = format!("{hidden} messages that stay in the store are left out again");
        return note(env, CompactionLevel::Snip, true, &why, (before, before), effects);
    }
    if !env.settings.compaction.snip {
        let why = format!("{} marked dead, but it is switched off", tracking.dead.len());
        return note(env, CompactionLevel::Snip, false, &why, (before, before), effects);
    }
    let plan = snip::plan(conversation, &tracking.dead);
    tracking.dead.clone_from(&plan.kept);
    let names: Vec<Arc<str>> = plan.removed.iter().map(|index| conversation.items()[*index].name.clone()).collect();
    if env.settings.session.snip_replay {
        conversation.remove(&plan.removed);
    } else {
        conversation.hide(&plan.removed);
    }
    if let Some(first) = plan.removed.first() {
        conversation.unbind_from(*first, frame.model());
    }
    let after = context_tokens(env, frame, conversation);
    let stay = if plan.kept.is_empty() { String::new() } else { format!("{} cannot go alone", plan.kept.join(", ")) };
    let why = match (names.is_empty(), plan.kept.is_empty()) {
        (true, true) => String::from("the marked messages are not in the conversation"),
        (true, false) => stay,
        (false, true) => String::from("dead messages"),
        (false, false) => format!("dead messages; {stay}"),
    };
    note(env, CompactionLevel::Snip, !names.is_empty(), &why, (before, after), effects);
    if !names.is_empty() {
        effects.push(Effect::Emit(Emission::SnipBoundary { names, tokens_freed: before.saturating_sub(after) }));
    }
}

/// C-2.
fn clear_old(env: &Environment, frame: &RequestFrame, conversation: &mut Conversation, effects: &mut AgentEffects) {
    let settings = &env.settings.compaction;
    if settings.microcompact == MicrocompactMode::Off {
        return;
    }
    let old = microcompact::old_results(conversation, settings.keep_results, &env.settings.texts);
    if old.is_empty() {
        return;
    }
    let before = context_tokens(env, frame, conversation);
    if settings.microcompact == MicrocompactMode::Local {
        microcompact::clear(conversation, &old, &env.settings.texts);
        conversation.unbind_from(old.iter().map(|old| old.item).min().unwrap_or_default(), frame.model());
        let after = context_tokens(env, frame, conversation);
        note(env, CompactionLevel::Microcompact, true, "old results", (before, after), effects);
        let tool_use_ids = old.into_iter().map(|old| old.tool_use_id).collect();
        return effects.push(Effect::Emit(Emission::MicrocompactBoundary { tool_use_ids, tokens_freed: before.saturating_sub(after) }));
    }
    if cache_edit::is_taken(&env.settings.request_extra) {
        let why = "requests carry an edit of their own";
        return note(env, CompactionLevel::Microcompact, false, why, (before, before), effects);
    }
    let edit = conversation.edit_mut().get_or_insert_with(|| Arc::new(CacheEdit::new(settings.keep_results, &env.tools)));
    let new = Arc::make_mut(edit).covers(old);
    if !new.is_empty() {
        let after = context_tokens(env, frame, conversation);
        let ids: Vec<&str> = new.iter().map(|old| &*old.tool_use_id).collect();
        let why = format!("the API is asked to clear the results of {}", ids.join(", "));
        note(env, CompactionLevel::Microcompact, true, &why, (before, after), effects);
    }
}

/// C-3: commits staged summaries, oldest first, as long as the context has `from` tokens or more. Returns whether any was.
fn commit_staged(
    env: &Environment,
    frame: &RequestFrame,
    conversation: &mut Conversation,
    from: u64,
    why: &str,
    effects: &mut AgentEffects,
) -> bool {
    let mut has_committed = false;
    while let Some(index) = collapse::oldest(conversation) {
        let before = context_tokens(env, frame, conversation);
        if !env.settings.compaction.collapse || before < from {
            let why = if env.settings.compaction.collapse {
                format!("{before} tokens are under the commit threshold of {from}")
            } else {
                String::from("it is switched off")
            };
            note(env, CompactionLevel::Collapse, false, &why, (before, before), effects);
            break;
        }
        let staged = conversation.unstage(index);
        let span = format!("{}..{}", staged.from, staged.to);
        match collapse::check(conversation, &staged) {
            Ok(()) => {
                let end = conversation.span(&staged).map_or(0, |span| span.end);
                conversation.collapse(staged);
                conversation.unbind_from(end, frame.model());
                has_committed = true;
                let after = context_tokens(env, frame, conversation);
                note(env, CompactionLevel::Collapse, true, &format!("{span}: {why}"), (before, after), effects);
            }
            Err(problem) => note(env, CompactionLevel::Collapse, false, &format!("{span}: {problem}"), (before, before), effects),
        }
    }
    has_committed
}

/// Whether C-4 could help.
fn auto_help(env: &Environment, conversation: &Conversation, tracking: &CompactionTracking) -> SummaryAvailability {
    if env.settings.compaction.auto {
        summary_help(env, conversation, tracking)
    } else {
        SummaryAvailability::Unavailable("it is switched off")
    }
}

/// Whether C-5 could help.
fn reactive_help(env: &Environment, conversation: &Conversation, tracking: &CompactionTracking) -> SummaryAvailability {
    match env.settings.compaction.reactive {
        _ if env.settings.background => SummaryAvailability::Unavailable("background work does not summarise"),
        false => SummaryAvailability::Unavailable("it is switched off"),
        true if tracking.reactively_compacted => SummaryAvailability::Unavailable("it was tried in this chain"),
        true => summary_help(env, conversation, tracking),
    }
}

/// Whether the model could be asked for a summary.
fn summary_help(env: &Environment, conversation: &Conversation, tracking: &CompactionTracking) -> SummaryAvailability {
    let seen = conversation.view().into_iter().map(|seen| seen.item).collect();
    match () {
        () if tracking.failures >= env.settings.compaction.max_failures => {
            SummaryAvailability::Unavailable("too many failures in a row have opened the circuit breaker")
        }
        () if ConversationParts::divide(seen, &env.settings.compaction, |id| conversation.is_message_in_result(id)).is_none() => {
            SummaryAvailability::Unavailable("there is nothing to summarise")
        }
        () => SummaryAvailability::Available,
    }
}

/// Whether anything but C-4 could still shorten the context.
fn others(env: &Environment, conversation: &Conversation, tracking: &CompactionTracking) -> SummaryAvailability {
    let is_staged = env.settings.compaction.collapse && !conversation.staged().is_empty();
    if is_staged { SummaryAvailability::Available } else { reactive_help(env, conversation, tracking) }
}

/// C-4: the user is warned once each time the context comes so far.
fn warn(env: &Environment, tokens: u64, figures: ContextThresholds, tracking: &mut CompactionTracking, effects: &mut AgentEffects) {
    let is_due = tokens >= figures.warning && !tracking.has_warned;
    tracking.has_warned = tokens >= figures.warning;
    if is_due {
        let will_help = env.settings.compaction.auto && tokens < figures.threshold;
        let text = if will_help {
            format!("the context has {tokens} tokens; at {} it is summarised", figures.threshold)
        } else {
            format!("the context has {tokens} tokens and is not summarised; at {} there are no more requests", figures.hard)
        };
        effects.push(Effect::Emit(Emission::Warning { text: text.into() }));
    }
}

/// Where compaction is off: that the context has passed the model's window, once in a session. `tokens` counts it. The user knows with it that
/// the context is near the window.
pub(super) fn tell_excess(
    env: &Environment,
    model: &str,
    tokens: impl FnOnce() -> u64,
    tracking: &mut CompactionTracking,
    effects: &mut AgentEffects,
) {
    let compaction = &env.settings.compaction;
    let is_off = !compaction.auto || compaction.context_window == ContextWindow::None;
    if !is_off || env.settings.background || tracking.has_told_excess {
        return;
    }
    let Some(window) = window(env, model) else { return };
    let tokens = tokens();
    if tokens > window {
        (tracking.has_told_excess, tracking.has_warned) = (true, true);
        let text = format!("the context has {tokens} tokens, the window of {model} has {window}, and compaction is off");
        effects.push(Effect::Emit(Emission::Warning { text: text.into() }));
    }
}

/// Notes that a level ran, or why it did nothing. Consumers are told where the session is verbose (S-11).
pub(super) fn note(
    env: &Environment,
    level: CompactionLevel,
    ran: bool,
    why: &str,
    (before, after): (u64, u64),
    effects: &mut AgentEffects,
) {
    let why: Arc<str> = why.into();
    effects.push(Effect::Note(Note::Compaction { level, ran, why: why.clone(), before, after }));
    if env.settings.session.verbose {
        effects.push(Effect::Emit(Emission::CompactionReport { level, ran, why, before, after }));
    }
}
