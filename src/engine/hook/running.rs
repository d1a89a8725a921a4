//! The hooks of one point, from their start until all have answered or their time is up (T-23, T-26, Q-16, C-4).
//!
//! ```text
//!   start ──> open ──on_ended, or the time is up──> … all in ──> HookVerdict
//!               └── abort ──> stopped, and nothing comes of them
//! ```

use super::{HookDecision, HookEvent, HookInput, HookOutcome, HookRun, HookSubject};
use crate::engine::contract::{Effect, Effects, TimerId};
use crate::engine::settings::Environment;
use crate::engine::time::{Micros, Time};
use crate::prelude::*;

/// The timer that ends the wait for hooks. Which ones is a matter of the time, so any setting of it may ring.
pub(crate) const HOOK_TIMER: u32 = 3;

/// Hooks that run at once for the same thing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunningHooks {
    since: Time,
    hooks: Vec<Running>,
}

#[derive(Clone, Debug, PartialEq)]
struct Running {
    run: HookRun,
    until: Time,
    outcome: Option<Arc<HookOutcome>>,
}

/// What all of them said together, in the order in which they are defined.
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use]
pub(crate) struct HookVerdict {
    /// The strictest decision.
    pub(crate) decision: Option<HookDecision>,
    /// The reasons of those who decided so.
    pub(crate) reasons: Vec<Arc<str>>,
    /// The last changed input.
    pub(crate) updated_input: Option<crate::wire::json::Json>,
    /// What the model should know, and from whom.
    pub(crate) contexts: Vec<(HookRun, Arc<str>)>,
    /// The first who said not to go on, and why.
    pub(crate) stop: Option<Arc<str>>,
    /// Hooks that failed or did not answer in time: what is said of each.
    pub(crate) failures: Vec<(HookRun, Arc<str>)>,
    /// How long all of it took.
    pub(crate) took: Micros,
}

impl RunningHooks {
    /// Starts the hooks of `event`; `None` when there are none. `input` is what each of them is told.
    pub(crate) fn start(env: &Environment, now: Time, subject: HookSubject, input: HookInput, effects: &mut Effects) -> Option<Self> {
        let input = Arc::new(input);
        let matches = |matcher: &Option<Arc<str>>| matcher.as_ref().is_none_or(|matcher| is_for(matcher, input.tool.as_deref()));
        let of_event = (0..).zip(&env.hooks).filter(|(_, hook)| hook.event == input.event && matches(&hook.matcher));
        let hooks: Vec<Running> = of_event
            .map(|(number, hook)| Running { run: HookRun { hook: number, subject }, until: now + hook.timeout, outcome: None })
            .collect();
        for hook in &hooks {
            effects.push(Effect::RunHook { hook: hook.run, input: input.clone() });
            effects.push(Effect::SetTimer { timer: TimerId { id: HOOK_TIMER, generation: 1 }, at: hook.until });
        }
        (!hooks.is_empty()).then_some(Self { since: now, hooks })
    }

    /// Takes what a hook said; the verdict when it was the last. What is said late or by another hook counts for nothing.
    pub(crate) fn on_ended(&mut self, now: Time, run: HookRun, outcome: &Arc<HookOutcome>) -> Option<HookVerdict> {
        let hook = self.hooks.iter_mut().find(|hook| hook.run == run && hook.outcome.is_none())?;
        hook.outcome = Some(outcome.clone());
        self.verdict(now)
    }

    /// Gives up on hooks whose time is up; the verdict when none is left.
    pub(crate) fn on_timer(&mut self, now: Time, effects: &mut Effects) -> Option<HookVerdict> {
        let since = self.since;
        for hook in self.hooks.iter_mut().filter(|hook| hook.outcome.is_none() && hook.until <= now) {
            effects.push(Effect::StopHook { hook: hook.run });
            let failure = Some(format!("it did not answer within {}", hook.until.since(since)).into());
            hook.outcome = Some(Arc::new(HookOutcome { failure, ..HookOutcome::default() }));
        }
        self.verdict(now)
    }

    /// Stops those that still run: nothing comes of any of them.
    pub(crate) fn abort(&self, effects: &mut Effects) {
        for hook in self.hooks.iter().filter(|hook| hook.outcome.is_none()) {
            effects.push(Effect::StopHook { hook: hook.run });
        }
    }

    fn verdict(&self, now: Time) -> Option<HookVerdict> {
        let said: Option<Vec<_>> = self.hooks.iter().map(|hook| Some((hook.run, hook.outcome.as_deref()?))).collect();
        let said = said?;
        let decision = said.iter().filter_map(|(_, outcome)| outcome.decision).max();
        let mut verdict = HookVerdict { decision, took: now.since(self.since), ..HookVerdict::default() };
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

/// `Read|Edit` names two tools, `*` all; a hook with a matcher is for tools only.
fn is_for(matcher: &str, tool: Option<&str>) -> bool {
    tool.is_some_and(|tool| matcher.split('|').map(str::trim).any(|name| name == "*" || name == tool))
}

/// What hooks of a point without a tool are told.
pub(crate) fn without_tool(event: HookEvent, data: crate::wire::json::Json) -> HookInput {
    HookInput { event, tool: None, data, stop_hook_active: false }
}
