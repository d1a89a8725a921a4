//! The hooks that are asked before a prompt ends well: they may object.

use super::QueryScope;
use crate::agent_effects::AgentEffects;
use crate::contract::{Effect, Input, RequestId};
use crate::conversation::answer_name;
use crate::emission::Emission;
use crate::hook::{HookEvent, HookInput, HookSubject, HookVerdict, RunningHooks, without_tool};
use crate::permission::PermissionWord;
use crate::settings::Environment;
use crate::texts::{ModelTexts, TextName};
use crate::time::Time;
use reenact_wire::json::Json;
use reenact_wire::prelude::*;

/// The hooks of one answer that the prompt would end with.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(super) struct StopHooks {
    hooks: RunningHooks,
    answered: RequestId,
}

/// The words of all of them together.
pub(super) struct StopHookVerdict {
    pub(super) answered: RequestId,
    pub(super) decision: StopHookDecision,
    /// Texts for the model, if the turn continues.
    pub(super) contexts: Vec<Arc<str>>,
}

/// The decision that the answers of the hooks make together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum StopHookDecision {
    /// The prompt may end.
    Silent,
    /// The texts for the model, in order.
    Objects(Vec<Arc<str>>),
    /// The prompt ends now, and why.
    Prevents(Arc<str>),
}

/// "prevent continuation" wins over an objection; an objection without a reason says at least that there is one.
fn word(verdict: &HookVerdict, texts: &ModelTexts) -> StopHookDecision {
    match (&verdict.stop, verdict.decision) {
        (Some(why), _) => StopHookDecision::Prevents(why.clone()),
        (None, Some(PermissionWord::Deny)) if verdict.reasons.is_empty() => {
            StopHookDecision::Objects(vec![texts.template(TextName::StopHookObjection).into()])
        }
        (None, Some(PermissionWord::Deny)) => StopHookDecision::Objects(verdict.reasons.clone()),
        (None, _) => StopHookDecision::Silent,
    }
}

impl StopHooks {
    /// Asks them about an answer with this text; `None` without hooks. `is_active` tells them that the turn continues because of an objection.
    pub(super) fn start(scope: &mut QueryScope<'_>, answered: RequestId, text: &str, is_active: bool) -> Option<Self> {
        let input = HookInput { stop_hook_active: is_active, ..without_tool(HookEvent::Stop, Json::from_value(text)) };
        let hooks = RunningHooks::start(scope.env, scope.now, HookSubject::Stop(answered), input, scope.effects)?;
        Some(Self { hooks, answered })
    }

    /// Takes an input; the verdict once all have answered, or their time is up. Failures and contexts are emitted.
    pub(super) fn step(&mut self, scope: &mut QueryScope<'_>, input: &Input) -> Option<StopHookVerdict> {
        let verdict = self.hooks.step(scope.now, input, scope.effects)?;
        for (hook, failure) in &verdict.failures {
            let name = scope.env.hooks.get(hook.hook as usize).map_or("?", |hook| &*hook.name);
            scope.effects.push(Effect::Emit(Emission::Warning { text: format!("stop hook {name} failed: {failure}").into() }));
        }
        let contexts = emit_contexts(scope.env, &verdict, scope.effects);
        Some(StopHookVerdict { answered: self.answered, decision: word(&verdict, &scope.env.settings.texts), contexts })
    }

    /// When the time of one is up next.
    pub(super) fn until(&self) -> Option<Time> {
        self.hooks.until()
    }

    /// Nothing comes of any of them.
    pub(super) fn abort(&self, effects: &mut AgentEffects) {
        self.hooks.abort(effects);
    }
}

/// Adds the texts of hooks to the next request; consumers have seen them already.
pub(super) fn tell_model(scope: &mut QueryScope<'_>, answered: RequestId, contexts: &[Arc<str>]) {
    for (number, text) in (1..).zip(contexts) {
        scope.memory.conversation.push_hidden(format!("{}.stop-hook-context{number}", answer_name(answered)), text);
    }
}

/// Emits the context of the hooks. Returns the texts for the model, if the turn continues.
fn emit_contexts(env: &Environment, verdict: &HookVerdict, effects: &mut AgentEffects) -> Vec<Arc<str>> {
    let mut told = Vec::new();
    for (hook, text) in &verdict.contexts {
        effects.push(Effect::Emit(Emission::HookContext { hook: *hook, text: text.clone() }));
        let name = env.hooks.get(hook.hook as usize).map_or("?", |hook| &*hook.name);
        told.push(env.settings.texts.say(TextName::HookContext, &[("hook", name), ("text", text)]).into());
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q_16_the_strictest_word_counts() {
        let of = |decision, reasons: &[&str], stop: Option<&str>| {
            let reasons = reasons.iter().map(|reason| Arc::from(*reason)).collect();
            let verdict = HookVerdict { decision, reasons, stop: stop.map(Arc::from), ..HookVerdict::default() };
            word(&verdict, &ModelTexts::default())
        };
        assert_eq!(of(None, &[], None), StopHookDecision::Silent);
        assert_eq!(of(Some(PermissionWord::Allow), &["fine"], None), StopHookDecision::Silent);
        assert_eq!(of(Some(PermissionWord::Deny), &["a", "b"], None), StopHookDecision::Objects(vec!["a".into(), "b".into()]));
        assert!(matches!(of(Some(PermissionWord::Deny), &[], None), StopHookDecision::Objects(reasons) if reasons.len() == 1));
        assert_eq!(of(Some(PermissionWord::Deny), &["a"], Some("enough")), StopHookDecision::Prevents("enough".into()));
    }
}
