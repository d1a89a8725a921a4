//! Hooks, rules on tools, people who are asked, and the store of results.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::outcomes::reply;
use super::values::{latency, rule, some_time, vary, words};
use reenact_engine::hook::{HookDefinition, HookEvent, HookOutcome};
use reenact_engine::permission::{PermissionAnswer, PermissionMode, PermissionRule, PermissionSettings, PermissionWord, RuleSource};
use reenact_scenario::replies::{AT_ONCE, ResultStore, ScriptedHook, ScriptedLookups, ScriptedPermission};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;

/// A hook of any point.
pub fn hook() -> BoxedStrategy<ScriptedHook> {
    let matcher = option::weighted(0.3, select(vec!["Bash", "Read|Edit", "*", "Nothing"]).prop_map(Arc::from));
    let timeout = prop_oneof![3 => Just(HookDefinition::TIMEOUT), 1 => some_time()];
    let name = select(vec!["guard", "lint", "log"]);
    let parts = (name, select(HookEvent::ALL.to_vec()), matcher, timeout, usually_at_once(), vec(reply(hook_outcome()), 0..3));
    parts
        .prop_map(|(name, event, matcher, timeout, latency, replies)| {
            let matcher = matcher.filter(|_| event.is_about_a_tool());
            ScriptedHook { definition: HookDefinition { name: name.into(), event, matcher, timeout }, latency, replies, may: true }
        })
        .boxed()
}

fn usually_at_once() -> impl Strategy<Value = reenact_scenario::latency::Latency> {
    prop_oneof![2 => Just(AT_ONCE), 1 => latency()]
}

/// The answer of a hook.
pub fn hook_outcome() -> BoxedStrategy<HookOutcome> {
    vary!(HookOutcome::default(), 0.25;
        decision: select(PermissionWord::ALL.to_vec()).prop_map(Some),
        reason: words().prop_map(Some),
        updated_input: new_input().prop_map(Some),
        context: words().prop_map(Some),
        stop: words().prop_map(Some),
        failure: words().prop_map(Some),
    )
}

fn new_input() -> impl Strategy<Value = Json> {
    select(vec![r#"{"file_path":"/w/other"}"#, r#"{"command":"ls"}"#, "{}", r#"{"file_path":7}"#]).prop_map(Json::trusted)
}

/// Rules and mode.
pub fn permissions() -> BoxedStrategy<PermissionSettings> {
    let one = (select(PermissionWord::ALL.to_vec()), rule(), select(RuleSource::ALL.to_vec()));
    let rules = vec(one.prop_map(|(word, about, source)| PermissionRule { word, about, source }), 0..4);
    let directories = prop_oneof![2 => Just(Vec::new()), 1 => Just(vec![Arc::from("/w/src")])];
    (select(PermissionMode::ALL.to_vec()), rules, directories, proptest::bool::weighted(0.2))
        .prop_map(|(mode, rules, directories, dedicated_tools)| PermissionSettings { mode, rules, directories, dedicated_tools })
        .boxed()
}

/// A person who is asked.
pub fn permission() -> BoxedStrategy<ScriptedPermission> {
    let replies = vec(reply(permission_answer()), 1..3);
    (option::of(rule()), usually_at_once(), replies)
        .prop_map(|(about, latency, replies)| ScriptedPermission { about, latency, replies, may: true })
        .boxed()
}

/// The answer of such a person.
pub fn permission_answer() -> BoxedStrategy<PermissionAnswer> {
    let allow = (option::weighted(0.2, new_input()), vec(rule(), 0..2));
    prop_oneof![
        3 => allow.prop_map(|(updated_input, rules)| PermissionAnswer::Allow { updated_input, rules }),
        1 => words().prop_map(|reason| PermissionAnswer::Refuse { reason }),
        1 => words().prop_map(|reason| PermissionAnswer::RefuseAndAbort { reason }),
    ]
    .boxed()
}

/// Where large results are stored.
pub fn store() -> BoxedStrategy<ResultStore> {
    vary!(ResultStore { may: true, ..ResultStore::default() }, 0.5;
        folder: Just(Some(Arc::from("/w/.results"))),
        latency: latency(),
        never_answers: prop::bool::weighted(0.2),
    )
}

/// The results of an engine's lookups.
pub fn lookups() -> BoxedStrategy<ScriptedLookups> {
    let names = || vec(select(vec!["pdf", "review", "deploy"]).prop_map(Arc::from), 0..3);
    vary!(ScriptedLookups { may: true, ..ScriptedLookups::default() }, 0.5;
        skills: names(),
        plugins: names(),
        skills_latency: latency(),
        plugins_latency: latency(),
        never_answers: prop::bool::weighted(0.2),
    )
}
