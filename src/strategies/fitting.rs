//! Fits a generated scenario: it must have an end, and requests that the API accepts, as far as the scenario decides that.

use super::feature::{CaseFeatures, Feature};
use reenact_engine::hook::{HookEvent, HookOutcome};
use reenact_engine::permission::PermissionWord;
use reenact_engine::settings::{CommandAction, ThinkingSetting};
use reenact_engine::time::Micros;
use reenact_scenario::fault::{AnswerChange, AnswerSubstitute, FaultKind, FaultRule, NumberSpan};
use reenact_scenario::interrupt::{InterruptKind, InterruptMoment, ScriptedInterrupt};
use reenact_scenario::replies::ScriptedReply;
use reenact_scenario::types::{RunLimits, Scenario, ScriptedPrompt, ScriptedTurn, TurnBlock};
use reenact_wire::block::{Block, BlockKind, Message, Role};
use reenact_wire::json::Json;
use reenact_wire::models::{ModelFacts, ModelGeneration};
use reenact_wire::prelude::*;

/// Settings that no model takes together are the user's fault and not the engine's.
pub(super) fn to_the_api(scenario: &mut Scenario) {
    let models = models(scenario);
    fit_host(scenario, &models);
    in_order(&mut scenario.prompts);
    let settings = &mut scenario.settings;
    settings.session.thinking = settings.session.thinking.and_then(|thinking| fitting_thinking(thinking, &models));
    if let Some(ThinkingSetting::Budget(tokens)) = settings.session.thinking {
        // No model thinks more than it may answer; what lowers `max_tokens` keeps to the same.
        settings.max_tokens = settings.max_tokens.max(u64::from(tokens) + 500);
        settings.retry.overflow_floor = settings.retry.overflow_floor.max(u64::from(tokens) + 500);
        settings.retry.nonstreaming_max_tokens = settings.retry.nonstreaming_max_tokens.max(u64::from(tokens) + 500);
    }
    let thinks = matches!(settings.session.thinking, Some(ThinkingSetting::Budget(_)));
    if thinks {
        scenario.history.iter_mut().for_each(think_before);
        in_all_turns(scenario, &|turn| think_first(turn));
    }
    if !all_models(&models, |generation| generation < ModelGeneration::Four6) {
        // A turn that the API pauses has blocks of the API's own tools, which scripted turns have not: older models continue from any text.
        in_all_turns(scenario, &no_pause);
    }
    // Nor do they continue from text that ends in a space.
    in_all_turns(scenario, &|turn| {
        let ends_in_space = |block: &TurnBlock| matches!(block, TurnBlock::Text(text) if text.ends_with(char::is_whitespace));
        if turn.content.last().is_some_and(ends_in_space) {
            no_pause(turn);
        }
    });
}

/// Prompts come in the order in which they stand.
fn in_order(prompts: &mut [ScriptedPrompt]) {
    let mut latest = Micros::ZERO;
    for at in prompts.iter_mut().filter_map(|prompt| prompt.at.as_mut()) {
        latest = latest.max(*at);
        *at = latest;
    }
}

/// Limits the host's changes to members that all of the models take, and to declared tools.
fn fit_host(scenario: &mut Scenario, models: &[Arc<str>]) {
    let offered: Vec<Arc<str>> = scenario.tools.iter().map(|tool| tool.definition.name.clone()).collect();
    let is_thought = |block: &TurnBlock| matches!(block, TurnBlock::Thinking(_));
    let thinks_aloud = all_turns(scenario).any(|turn| turn.content.iter().any(is_thought));
    let session = &mut scenario.settings.session;
    let thinks = session.thinking.is_some();
    for change in &mut session.changes {
        change.tools.iter_mut().for_each(|tools| tools.retain(|name| offered.contains(name)));
        let is_set = |name: &str| change.set.as_str().contains(name);
        change.unset.retain(|name| !is_set(name));
        let takes_no_thinking = all_models(models, |generation| generation != ModelGeneration::AlwaysThinks);
        // What is thought needs its share of `max_tokens`, and a host that names another model vouches for what is sent to it (S-11).
        let to_another = is_set("\"model\"") && (thinks || thinks_aloud);
        if (is_set("thinking") && !takes_no_thinking) || (is_set("max_tokens") && thinks) || to_another {
            change.set = Json::trusted("{}");
        }
    }
    // One of them says all that holds from a request on.
    session.changes.dedup_by_key(|change| change.from);
    session.changes.retain(|change| change.set.as_str() != "{}" || !change.unset.is_empty() || change.tools.is_some());
    let takes_prefill = !thinks && all_models(models, |generation| generation < ModelGeneration::Four6);
    let takes_system = all_models(models, |generation| generation >= ModelGeneration::Four7);
    session.host_messages.retain(|message| match message.message.role {
        Role::User => true,
        Role::Assistant => takes_prefill,
        Role::System => takes_system,
    });
    // A message of the system stands behind one of the user.
    let assistants: Vec<_> =
        session.host_messages.iter().filter(|message| message.message.role == Role::Assistant).map(|message| message.at).collect();
    session.host_messages.retain(|message| message.message.role != Role::System || !assistants.contains(&message.at));
}

fn no_pause(turn: &mut ScriptedTurn) {
    turn.stop_reason = turn.stop_reason.take().filter(|reason| **reason != *"pause_turn");
}

/// Where thinking is on, the model begins with it.
fn think_first(turn: &mut ScriptedTurn) {
    let begins = turn.content.first().is_none_or(|first| matches!(first, TurnBlock::Thinking(_)));
    if !begins {
        turn.content.insert(0, TurnBlock::Thinking("hm".into()));
    }
}

fn think_before(message: &mut Arc<Message>) {
    let begins = message.content.first().is_some_and(|first| matches!(first.kind(), BlockKind::Thinking { .. }));
    if message.role == Role::Assistant && !begins {
        let thought = Block::from(Json::trusted(r#"{"type":"thinking","thinking":"hm","signature":"c2lnbmVk"}"#));
        let content = core::iter::once(thought).chain(message.content.iter().cloned()).collect();
        *message = Arc::new(Message::assistant(content));
    }
}

/// All answers but those of agents.
pub(super) fn all_turns(scenario: &Scenario) -> impl Iterator<Item = &ScriptedTurn> {
    let of_prompts = scenario.prompts.iter().flat_map(|prompt| &prompt.turns);
    of_prompts.chain(scenario.interrupts.iter().flat_map(|interrupt| &interrupt.turns))
}

/// Changes all answers, those of agents too.
fn in_all_turns(scenario: &mut Scenario, change: &dyn Fn(&mut ScriptedTurn)) {
    let of_prompts = scenario.prompts.iter_mut().flat_map(|prompt| &mut prompt.turns);
    of_prompts.chain(scenario.interrupts.iter_mut().flat_map(|interrupt| &mut interrupt.turns)).for_each(|turn| in_turn(turn, change));
}

fn in_turn(turn: &mut ScriptedTurn, change: &dyn Fn(&mut ScriptedTurn)) {
    change(turn);
    for block in &mut turn.content {
        if let TurnBlock::Tool { outcome: Some(outcome), .. } = block {
            let agents = outcome.agents.tasks.iter_mut().flatten().chain(&mut outcome.agents.synthesis);
            agents.for_each(|turn| in_turn(turn, change));
        }
    }
}

/// All models that requests may name.
fn models(scenario: &Scenario) -> Vec<Arc<str>> {
    let settings = &scenario.settings;
    let session = &settings.session;
    let switched = session.commands.iter().filter_map(|command| match &command.does {
        CommandAction::Switch(model) => Some(model.clone()),
        _ => None,
    });
    let said = scenario.prompts.iter().any(|prompt| prompt.content.iter().any(|block| block.json().as_str().contains("/model c")));
    let named = said.then(|| Arc::from("claude-haiku-4-5"));
    let agents = scenario.tools.iter().filter_map(|tool| tool.definition.agent.as_ref().map(|agent| agent.fast_model.clone()));
    let of_host = session.changes.iter().filter_map(|change| Some(Arc::from(change.set.to_value().get("model")?.as_str()?)));
    let own = [Some(&settings.model), session.fallback_model.as_ref(), session.tool_use_summaries.as_ref()];
    own.into_iter().flatten().cloned().chain(switched).chain(named).chain(agents).chain(of_host).collect()
}

fn all_models(models: &[Arc<str>], fits: impl Fn(ModelGeneration) -> bool) -> bool {
    models.iter().all(|model| ModelFacts::find(model).is_none_or(|facts| fits(facts.generation)))
}

/// Thinking that all of the models take, if there is one.
fn fitting_thinking(thinking: ThinkingSetting, models: &[Arc<str>]) -> Option<ThinkingSetting> {
    let all = |fits: fn(ModelGeneration) -> bool| all_models(models, fits);
    let (takes_budget, takes_adaptive) =
        (all(|generation| generation < ModelGeneration::Four7), all(|generation| generation > ModelGeneration::Four5));
    match thinking {
        ThinkingSetting::Off => all(|generation| generation != ModelGeneration::AlwaysThinks).then_some(thinking),
        ThinkingSetting::Adaptive | ThinkingSetting::Budget(_) if takes_budget && takes_adaptive => Some(thinking),
        ThinkingSetting::Adaptive if takes_budget => Some(ThinkingSetting::Budget(1_500)),
        ThinkingSetting::Adaptive | ThinkingSetting::Budget(_) if takes_adaptive => Some(ThinkingSetting::Adaptive),
        ThinkingSetting::Budget(_) if takes_budget => Some(thinking),
        _ => None,
    }
}

/// Whether nothing ends this fault but a timer of the engine, which may be switched off.
pub(super) fn is_endless(kind: &FaultKind) -> bool {
    matches!(kind, FaultKind::Change(AnswerChange::Stall { time: None, .. }))
}

/// Gives everything an end: the user cancels endless waits after some hours, prompt by prompt; faults of retries without limit come only some times.
pub(super) fn to_an_end(features: &CaseFeatures, scenario: &mut Scenario) {
    if !features.contains(&Feature::Endless) {
        scenario.store.never_answers = false;
        scenario.lookups.never_answers = false;
        let hooks = scenario.hooks.iter_mut().flat_map(|hook| &mut hook.replies).map(|reply| &mut reply.says);
        hooks.filter(|says| says.is_none()).for_each(|says| *says = Some(Default::default()));
        for permission in &mut scenario.permissions {
            permission.replies.retain(|reply| reply.says.is_some());
        }
        scenario.permissions.retain(|permission| !permission.replies.is_empty());
    }
    // The last answer of a hook holds for all further ones, and a stop hook that objects makes a turn more.
    for hook in scenario.hooks.iter_mut().filter(|hook| hook.definition.event == HookEvent::Stop) {
        let objects =
            |reply: &ScriptedReply<HookOutcome>| reply.says.as_ref().is_some_and(|says| says.decision == Some(PermissionWord::Deny));
        if hook.replies.last().is_some_and(objects) {
            hook.replies.push(ScriptedReply { latency: None, says: Some(HookOutcome::default()), may: true });
        }
    }
    if scenario.settings.retry.unattended {
        scenario.faults.iter_mut().for_each(bound);
    }
    if features.contains(&Feature::Endless) || scenario.settings.retry.unattended {
        cancel_late(scenario);
    }
    debug_assert!(all_turns(scenario).all(|turn| turn.status == 200 || turn.content.is_empty()));
}

/// An error that comes again and again keeps an unattended call for ever.
fn bound(fault: &mut FaultRule) {
    if matches!(fault.kind, FaultKind::Instead(AnswerSubstitute::Answer(_))) {
        let first = fault.at.attempt.map_or(1, |attempt| attempt.first);
        let last = fault.at.attempt.and_then(|attempt| attempt.last).unwrap_or(first + 3);
        fault.at.attempt = Some(NumberSpan { first, last: Some(last) });
    }
}

/// One cancel for each prompt that there can be, each hours after the one before.
fn cancel_late(scenario: &mut Scenario) {
    const HOURS: u64 = 9;
    let count = scenario.prompts.len() + scenario.interrupts.len() + 1;
    let last = scenario.interrupts.iter().take_while(|interrupt| interrupt.kind.is_the_users()).count();
    let cancel = |number: u64| ScriptedInterrupt {
        kind: InterruptKind::Cancel,
        moment: InterruptMoment::At(Micros::from_secs(number * HOURS * 3_600)),
        turns: Vec::new(),
        may: true,
    };
    scenario.interrupts.splice(last..last, (1..=count as u64).map(cancel));
    scenario.limits = RunLimits { time: Micros::from_secs((count as u64 + 3) * HOURS * 3_600), ..RunLimits::default() };
}
