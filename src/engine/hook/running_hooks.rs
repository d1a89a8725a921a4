//! The hooks of one point, from their start until all have answered or their time is up (T-23, T-26, Q-16, C-4).
//!
//! ```text
//!   start ──> open ──on_ended, or the time is up──> … all in ──> HookVerdict
//!               └── abort ──> stopped: of what was said until then, a word that ends the turn alone counts
//! ```

use super::{HookEvent, HookInput, HookOutcome, HookRun, HookSubject};
use crate::agent_effects::AgentEffects;
use crate::contract::{Effect, Emission, Input, TimerId};
use crate::key::KeylessValue;
use crate::permission::PermissionWord;
use crate::settings::Environment;
use crate::time::{Micros, Time};
use reenact_wire::prelude::*;

/// The timer that ends the wait for hooks. Which ones is a matter of the time; the owner sets it (O-27).
pub(crate) const HOOK_TIMER: TimerId = TimerId { id: 3, generation: 1 };

/// Hooks that run at once for the same thing.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(crate) struct RunningHooks {
    since: KeylessValue<Time>,
    hooks: Vec<RunningHook>,
}

#[derive(Clone, Debug, PartialEq, Hash)]
struct RunningHook {
    run: HookRun,
    until: Time,
    outcome: Option<Arc<HookOutcome>>,
    /// Its name, where consumers are told of it: the session is verbose (S-11).
    told_name: Option<Arc<str>>,
}

/// The verdict of all hooks together, in the order in which they are defined.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
#[must_use]
pub(crate) struct HookVerdict {
    /// The strictest decision.
    pub(crate) decision: Option<PermissionWord>,
    /// The reasons of the hooks with this decision.
    pub(crate) reasons: Vec<Arc<str>>,
    /// The last changed input.
    pub(crate) updated_input: Option<reenact_wire::json::Json>,
    /// Context for the model, with its hook.
    pub(crate) contexts: Vec<(HookRun, Arc<str>)>,
    /// The first hook that stops the turn, with its reason.
    pub(crate) stop: Option<Arc<str>>,
    /// Hooks that failed or did not answer in time: what is said of each.
    pub(crate) failures: Vec<(HookRun, Arc<str>)>,
    /// How long all of it took.
    pub(crate) took: Micros,
}

impl RunningHooks {
    /// Starts the hooks that are for this input; `None` without hooks. Each of them gets it.
    pub(crate) fn start(env: &Environment, now: Time, subject: HookSubject, input: HookInput, effects: &mut AgentEffects) -> Option<Self> {
        let hooks = Self::choose(env, now, subject, &input)?;
        hooks.run(input, effects);
        Some(hooks)
    }

    /// The hooks that are for this input, before they run; `None` without hooks.
    pub(crate) fn choose(env: &Environment, now: Time, subject: HookSubject, input: &HookInput) -> Option<Self> {
        let matches = |matcher: &Option<Arc<str>>| matcher.as_ref().is_none_or(|matcher| is_for(matcher, input.tool.as_deref()));
        let of_event = (0..).zip(&env.hooks).filter(|(_, hook)| hook.event == input.event && matches(&hook.matcher));
        let is_verbose = env.settings.session.verbose;
        let chosen = of_event.map(|(number, hook)| RunningHook {
            run: HookRun { hook: number, subject },
            until: now + hook.timeout,
            outcome: None,
            told_name: is_verbose.then(|| hook.name.clone()),
        });
        let hooks: Vec<RunningHook> = chosen.collect();
        (!hooks.is_empty()).then_some(Self { since: KeylessValue(now), hooks })
    }

    /// Runs all of them with this input.
    pub(crate) fn run(&self, input: HookInput, effects: &mut AgentEffects) {
        let input = Arc::new(input);
        for hook in &self.hooks {
            effects.push(Effect::RunHook { hook: hook.run, input: input.clone() });
            if let Some(name) = hook.told_name.clone() {
                effects.push(Effect::Emit(Emission::HookStarted { hook: hook.run, name }));
            }
        }
    }

    /// When the time of one that has not answered is up next.
    pub(crate) fn until(&self) -> Option<Time> {
        self.hooks.iter().filter(|hook| hook.outcome.is_none()).map(|hook| hook.until).min()
    }

    /// Takes an answer of a hook, or the timer that all hooks share.
    pub(crate) fn step(&mut self, now: Time, input: &Input, effects: &mut AgentEffects) -> Option<HookVerdict> {
        match input {
            Input::HookEnded { hook, outcome } => self.on_ended(now, *hook, outcome, effects),
            Input::Timer(HOOK_TIMER) => self.on_timer(now, effects),
            _ => None,
        }
    }

    /// Takes what a hook said; the verdict when it was the last. What is said late or by another hook counts for nothing.
    pub(crate) fn on_ended(
        &mut self,
        now: Time,
        run: HookRun,
        outcome: &Arc<HookOutcome>,
        effects: &mut AgentEffects,
    ) -> Option<HookVerdict> {
        let hook = self.hooks.iter_mut().find(|hook| hook.run == run && hook.outcome.is_none())?;
        hook.tell_end(true, effects);
        hook.outcome = Some(outcome.clone());
        self.verdict(now)
    }

    /// Gives up on hooks whose time is up; the verdict when none is left.
    pub(crate) fn on_timer(&mut self, now: Time, effects: &mut AgentEffects) -> Option<HookVerdict> {
        let since = *self.since;
        for hook in self.hooks.iter_mut().filter(|hook| hook.outcome.is_none() && hook.until <= now) {
            hook.stop(effects);
            let failure = Some(format!("it did not answer within {}", hook.until.since(since)).into());
            hook.outcome = Some(Arc::new(HookOutcome { failure, ..HookOutcome::default() }));
        }
        self.verdict(now)
    }

    /// The reason of the first hook so far that stops the turn. It holds although the tool use that it was asked about is aborted: the turn may go on
    /// after a failed sibling (T-13) or a refused answer (Q-23).
    pub(crate) fn stop_until_now(&self) -> Option<&Arc<str>> {
        self.hooks.iter().filter_map(|hook| hook.outcome.as_ref()).find_map(|outcome| outcome.stop.as_ref())
    }

    /// Stops those that still run: nothing more comes of any of them.
    pub(crate) fn abort(&self, effects: &mut AgentEffects) {
        for hook in self.hooks.iter().filter(|hook| hook.outcome.is_none()) {
            hook.stop(effects);
        }
    }

    fn verdict(&self, now: Time) -> Option<HookVerdict> {
        let said: Option<Vec<_>> = self.hooks.iter().map(|hook| Some((hook.run, hook.outcome.as_deref()?))).collect();
        let said = said?;
        let decision = said.iter().filter_map(|(_, outcome)| outcome.decision).max();
        let mut verdict = HookVerdict { decision, took: now.since(*self.since), ..HookVerdict::default() };
        for (run, outcome) in said {
            let HookOutcome { decision: own, reason, updated_input, context, stop, failure } = outcome;
            if own.is_some() && *own == decision {
                verdict.reasons.extend(reason.clone());
            }
            verdict.updated_input = updated_input.clone().or(verdict.updated_input);
            verdict.contexts.extend(context.clone().map(|context| (run, context)));
            verdict.stop = verdict.stop.or_else(|| stop.clone());
            verdict.failures.extend(failure.clone().map(|failure| (run, failure)));
        }
        Some(verdict)
    }
}

impl RunningHook {
    fn stop(&self, effects: &mut AgentEffects) {
        effects.push(Effect::StopHook { hook: self.run });
        self.tell_end(false, effects);
    }

    /// Tells consumers that it runs no more; whether it has answered.
    fn tell_end(&self, answered: bool, effects: &mut AgentEffects) {
        if let Some(name) = self.told_name.clone() {
            effects.push(Effect::Emit(Emission::HookEnded { hook: self.run, name, answered }));
        }
    }
}

/// `Read|Edit` names two tools, `*` all; a hook with a matcher is for tools only.
fn is_for(matcher: &str, tool: Option<&str>) -> bool {
    tool.is_some_and(|tool| matcher.split('|').map(str::trim).any(|name| name == "*" || name == tool))
}

/// The input of hooks of a point without a tool.
pub(crate) fn without_tool(event: HookEvent, data: reenact_wire::json::Json) -> HookInput {
    HookInput { event, tool: None, data, stop_hook_active: false }
}

#[cfg(test)]
mod tests {
    use super::super::HookDefinition;
    use super::*;
    use crate::contract::RequestId;
    use reenact_wire::json::Json;

    const STOP: HookSubject = HookSubject::Stop(RequestId { prompt: 1, turn: 1, attempt: 1 });

    fn definition(event: HookEvent, matcher: Option<&str>, timeout_ms: u64) -> HookDefinition {
        HookDefinition { name: "h".into(), event, matcher: matcher.map(Into::into), timeout: Micros::from_millis(timeout_ms) }
    }

    /// Three hooks of the event `Stop`, with time until 1, 2 and 3 ms.
    fn env() -> Environment {
        let hooks = [1, 2, 3].map(|timeout| definition(HookEvent::Stop, None, timeout)).to_vec();
        Environment { hooks, ..Environment::default() }
    }

    fn started() -> (RunningHooks, AgentEffects) {
        let mut effects = AgentEffects::default();
        let input = without_tool(HookEvent::Stop, Json::default());
        (RunningHooks::start(&env(), Time::ZERO, STOP, input, &mut effects).unwrap(), effects)
    }

    fn run(hook: u32) -> HookRun {
        HookRun { hook, subject: STOP }
    }

    fn says(hooks: &mut RunningHooks, hook: u32, outcome: HookOutcome) -> Option<HookVerdict> {
        hooks.on_ended(Time(500), run(hook), &Arc::new(outcome), &mut AgentEffects::default())
    }

    fn decides(decision: PermissionWord, reason: &str) -> HookOutcome {
        HookOutcome { decision: Some(decision), reason: Some(reason.into()), ..HookOutcome::default() }
    }

    #[test]
    fn t_23_only_hooks_of_the_point_and_the_tool_run() {
        let hooks = [(HookEvent::PreToolUse, None), (HookEvent::PreToolUse, Some("Read|Edit")), (HookEvent::PostToolUse, Some("*"))];
        let hooks = hooks.map(|(event, matcher)| definition(event, matcher, 1)).to_vec();
        let env = Environment { hooks, ..Environment::default() };
        let started = |event, tool: Option<&str>| -> Vec<u32> {
            let mut effects = AgentEffects::default();
            let input = HookInput { event, tool: tool.map(Into::into), data: Json::default(), stop_hook_active: false };
            let _ = RunningHooks::start(&env, Time::ZERO, STOP, input, &mut effects);
            let hook = |(_, effect)| if let Effect::RunHook { hook, .. } = effect { Some(hook.hook) } else { None };
            effects.drain().filter_map(hook).collect()
        };
        assert_eq!(started(HookEvent::PreToolUse, Some("Edit")), [0, 1]);
        assert_eq!(started(HookEvent::PreToolUse, Some("Edited")), [0]);
        assert_eq!(started(HookEvent::PostToolUse, Some("Edit")), [2]);
        assert_eq!(started(HookEvent::PostToolUse, None), [] as [u32; 0], "a hook with a matcher is for tools only");
        assert_eq!(started(HookEvent::PostToolFailure, Some("Edit")), [] as [u32; 0]);
    }

    #[test]
    fn t_23_the_verdict_comes_when_all_have_answered() {
        let (mut hooks, _) = started();
        assert_eq!(says(&mut hooks, 2, HookOutcome::default()), None);
        assert_eq!(says(&mut hooks, 2, HookOutcome::default()), None, "twice counts once");
        assert_eq!(says(&mut hooks, 0, HookOutcome::default()), None);
        let other = HookRun { subject: HookSubject::Stop(RequestId::first(2)), hook: 1 };
        assert_eq!(
            hooks.on_ended(Time(1), other, &Arc::default(), &mut AgentEffects::default()),
            None,
            "the same hook, run for something else"
        );
        let verdict = says(&mut hooks, 1, HookOutcome::default()).unwrap();
        assert_eq!(verdict, HookVerdict { took: Micros(500), ..HookVerdict::default() });
    }

    #[test]
    fn t_23_the_strictest_decision_the_last_input_and_every_context_count() {
        let (mut hooks, _) = started();
        let input = |json: &str| Some(Json::trusted(json));
        let _ = says(
            &mut hooks,
            2,
            HookOutcome { updated_input: input("{}"), stop: Some("c".into()), ..decides(PermissionWord::Deny, "third") },
        );
        let first = HookOutcome { updated_input: input("[]"), context: Some("a".into()), ..decides(PermissionWord::Deny, "first") };
        let _ = says(&mut hooks, 0, first);
        let second = HookOutcome { context: Some("b".into()), stop: Some("b".into()), ..decides(PermissionWord::Ask, "second") };
        let verdict = says(&mut hooks, 1, second).unwrap();
        assert_eq!(verdict.decision, Some(PermissionWord::Deny));
        assert_eq!(verdict.reasons, ["first".into(), Arc::from("third")], "of those who decided so, in the order of definition");
        assert_eq!(verdict.updated_input, input("{}"), "the last in the order of definition, not of answers");
        assert_eq!(verdict.contexts, [(run(0), "a".into()), (run(1), "b".into())]);
        assert_eq!(verdict.stop.as_deref(), Some("b"), "the first who says so");
    }

    #[test]
    fn t_23_who_does_not_answer_in_time_has_failed_which_stops_nothing() {
        let (mut hooks, mut effects) = started();
        effects.drain().for_each(drop);
        let at = |ms| Time::ZERO + Micros::from_millis(ms);
        assert_eq!(hooks.on_timer(at(0), &mut effects), None);
        assert_eq!(effects.len(), 0);
        assert_eq!(hooks.on_timer(at(1), &mut effects), None);
        assert_eq!(says(&mut hooks, 0, decides(PermissionWord::Deny, "late")), None);
        assert_eq!(says(&mut hooks, 1, HookOutcome::default()), None);
        let verdict = hooks.on_timer(at(3), &mut effects).unwrap();
        let stopped: Vec<_> = effects.drain().map(|(_, effect)| effect).collect();
        assert_eq!(stopped, [Effect::StopHook { hook: run(0) }, Effect::StopHook { hook: run(2) }]);
        assert_eq!(verdict.decision, None, "what came late counts for nothing");
        let failed: Vec<_> = verdict.failures.iter().map(|(run, text)| (run.hook, &**text)).collect();
        assert_eq!(failed, [(0, "it did not answer within 0.001s"), (2, "it did not answer within 0.003s")]);
    }

    #[test]
    fn t_30_an_abort_stops_those_that_still_run() {
        let (mut hooks, mut effects) = started();
        let _ = says(&mut hooks, 1, HookOutcome::default());
        effects.drain().for_each(drop);
        hooks.abort(&mut effects);
        let stopped: Vec<_> = effects.drain().map(|(_, effect)| effect).collect();
        assert_eq!(stopped, [Effect::StopHook { hook: run(0) }, Effect::StopHook { hook: run(2) }]);
    }
}
