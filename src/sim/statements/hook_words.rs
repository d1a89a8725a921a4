//! Answers of hooks at points that ignore them (F-10, T-23, T-26, Q-16, C-4): their author expects an effect that no run can show.

use alloc::collections::{BTreeMap, BTreeSet};

use super::{PlaceKey, PlayedRun, StatementProblem, is_judged_elsewhere};
use reenact_engine::hook::{HookEvent, HookOutcome};
use reenact_engine::permission::PermissionWord;
use reenact_scenario::replies::{AT_ONCE, ScriptedHook};
use reenact_scenario::statement::{PathStep, StatementPath};
use reenact_wire::prelude::*;

/// The words of hooks that have no effect in any run: a matrix may vary the point.
pub(super) fn problems(runs: &[PlayedRun<'_>]) -> Vec<StatementProblem> {
    let mut idle: BTreeMap<(PlaceKey, &str), StatementProblem> = BTreeMap::new();
    let mut heard: BTreeSet<(PlaceKey, &str)> = BTreeSet::new();
    for run in runs {
        for (index, hook) in run.setup.scenario.hooks.iter().enumerate() {
            for (nth, reply) in hook.replies.iter().enumerate() {
                let words = reply.says.as_ref().map_or_else(|| silence(hook, reply.latency.is_some()), |says| words(hook, says));
                for (word, problem) in words {
                    let path = path(index, nth, hook.replies.len(), word);
                    let key = (run.places.key(&path), word);
                    match problem {
                        None => _ = heard.insert(key),
                        Some(_) if is_judged_elsewhere(run.places, &path) => (),
                        Some(message) => {
                            let help = String::from("remove it, or choose the point where it has an effect");
                            idle.entry(key).or_insert_with(|| StatementProblem::at(run.places, &path, message, help));
                        }
                    }
                }
            }
        }
    }
    idle.into_iter().filter(|(key, _)| !heard.contains(key)).map(|(_, problem)| problem).collect()
}

/// One answer stands in the hook's own table, several under `answers`.
fn path(index: usize, nth: usize, count: usize, word: &'static str) -> StatementPath {
    let own = [PathStep::Key("hook"), PathStep::Nth(index)];
    let answer: &[PathStep] = if count == 1 { &[] } else { &[PathStep::Key("answers"), PathStep::Nth(nth)] };
    own.iter().chain(answer).cloned().chain([PathStep::Key(word)]).collect()
}

/// The words that an answer has, and why one has no effect.
fn words(hook: &ScriptedHook, says: &HookOutcome) -> Vec<(&'static str, Option<String>)> {
    let event = hook.definition.event;
    let point = event.as_str();
    let mut words = Vec::new();
    if let Some(decision) = says.decision {
        let known = decisions(event);
        let list = known.iter().map(|word| format!("`{}`", word.as_str())).collect::<Vec<_>>().join(", ");
        let message = if known.is_empty() {
            format!("a hook of `{point}` decides nothing")
        } else {
            format!("a hook of `{point}` decides {list}; `{}` has no effect", decision.as_str())
        };
        words.push(("decision", (!known.contains(&decision)).then_some(message)));
    }
    if says.reason.is_some() {
        let message = String::from("`reason` explains a `decision`, and this hook does not have one");
        words.push(("reason", says.decision.is_none().then_some(message)));
    }
    if says.updated_input.is_some() {
        let message = format!("a hook of `{point}` does not change the input, only one of `pre_tool_use` does");
        words.push(("updated_input", (event != HookEvent::PreToolUse).then_some(message)));
    }
    words
}

/// A hook that never answers needs no latency.
fn silence(hook: &ScriptedHook, has_own_latency: bool) -> Vec<(&'static str, Option<String>)> {
    let takes_time = has_own_latency || (hook.replies.len() == 1 && hook.latency != AT_ONCE);
    let message = || String::from("a hook that never answers needs no `latency`");
    if takes_time { vec![("latency", Some(message()))] } else { Vec::new() }
}

fn decisions(event: HookEvent) -> &'static [PermissionWord] {
    match event {
        HookEvent::PreToolUse => &PermissionWord::ALL,
        HookEvent::PostToolUse | HookEvent::PostToolFailure | HookEvent::Stop | HookEvent::PreCompact => &[PermissionWord::Deny],
        HookEvent::PostCompact => &[],
    }
}
