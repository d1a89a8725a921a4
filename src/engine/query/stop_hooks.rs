//! Before a prompt ends well: stop hooks may object, the token budget may ask for more.

use super::outcome::QueryEnding;
use super::{HOOK_TIMER, Query, QueryScope, QueryState, QueryVerdict, structured_output, token_budget};
use crate::agent_effects::AgentEffects;
use crate::contract::{Effect, Input, RequestId, Terminal};
use crate::conversation::answer_name;
use crate::emission::{Emission, Transition};
use crate::hook::{HookEvent, HookInput, HookSubject, HookVerdict, RunningHooks, without_tool};
use crate::permission::PermissionWord;
use crate::settings::Environment;
use crate::texts::{ModelTexts, TextName};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;

/// The decision that the answers of the hooks make together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum StopHookDecision {
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

impl Query {
    /// The answer `id` ended well, and is kept: what follows it, Q-16 first.
    pub(super) fn before_a_good_end(&mut self, scope: &mut QueryScope<'_>, id: RequestId) -> QueryVerdict {
        if structured_output::is_enforced(scope.env) && self.totals.structured_output.is_none() {
            return self.ask_for_structure(scope, id);
        }
        let told = without_tool(HookEvent::Stop, Json::from_value(&*self.totals.text));
        let input = HookInput { stop_hook_active: self.stop_hook_active, ..told };
        match RunningHooks::start(scope.env, scope.now, HookSubject::Stop(id), input, scope.effects) {
            Some(hooks) => {
                self.begin_answer();
                self.state = QueryState::StopHooks { hooks: Box::new(hooks), answered: id };
                QueryVerdict::Running
            }
            None => self.after_stop_hooks(scope, id, &[]),
        }
    }

    /// Passes an input on to the stop hooks.
    pub(super) fn step_stop_hooks(&mut self, scope: &mut QueryScope<'_>, input: &Input) -> QueryVerdict {
        let QueryState::StopHooks { hooks, answered } = &mut self.state else { return QueryVerdict::Running };
        let verdict = match input {
            Input::HookEnded { hook, outcome } => hooks.on_ended(scope.now, *hook, outcome, scope.effects),
            Input::Timer(HOOK_TIMER) => hooks.on_timer(scope.now, scope.effects),
            _ => None,
        };
        let Some(verdict) = verdict else { return QueryVerdict::Running };
        let answered = *answered;
        self.on_stop_hooks(scope, answered, &verdict)
    }

    fn on_stop_hooks(&mut self, scope: &mut QueryScope<'_>, answered: RequestId, verdict: &HookVerdict) -> QueryVerdict {
        for (hook, failure) in &verdict.failures {
            let name = scope.env.hooks.get(hook.hook as usize).map_or("?", |hook| &*hook.name);
            scope.effects.push(Effect::Emit(Emission::Warning { text: format!("stop hook {name} failed: {failure}").into() }));
        }
        let contexts = emit_contexts(scope.env, verdict, scope.effects);
        match word(verdict, &scope.env.settings.texts) {
            StopHookDecision::Silent => self.after_stop_hooks(scope, answered, &contexts),
            StopHookDecision::Prevents(why) => {
                scope.effects.push(Effect::Emit(Emission::Warning { text: format!("a stop hook ends the turn: {why}").into() }));
                self.end(scope, QueryEnding::well(Terminal::StopHookPrevented))
            }
            StopHookDecision::Objects(reasons) => {
                for (number, reason) in (1..).zip(&reasons) {
                    let name = format!("{}.stop-hook{number}", answer_name(answered));
                    scope.say_hidden(&name, Transition::StopHookBlocking.as_str(), reason);
                }
                know(scope, answered, &contexts);
                self.stop_hook_active = true;
                self.ask_again(scope, answered, Transition::StopHookBlocking)
            }
        }
    }

    /// Q-17, and the end, after which the context of the hooks has no receiver.
    fn after_stop_hooks(&mut self, scope: &mut QueryScope<'_>, id: RequestId, contexts: &[Arc<str>]) -> QueryVerdict {
        if let Some(budget) = scope.env.settings.session.token_budget {
            let used = self.totals.output_tokens();
            if let Some(percent) = token_budget::percent_to_go_on(budget, used, self.nudges) {
                self.nudges.count(used);
                let (name, text) =
                    (format!("{}.nudge", answer_name(id)), token_budget::nudge(&scope.env.settings.texts, percent, used, budget));
                scope.say_hidden(&name, Transition::TokenBudgetContinuation.as_str(), &text);
                know(scope, id, contexts);
                return self.ask_again(scope, id, Transition::TokenBudgetContinuation);
            }
        }
        self.end(scope, QueryEnding::well(Terminal::Completed))
    }
}

/// Adds the texts of hooks to the next request; consumers have seen them already.
fn know(scope: &mut QueryScope<'_>, answered: RequestId, contexts: &[Arc<str>]) {
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
