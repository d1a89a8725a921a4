//! Hooks, permissions, checks and the store, written and read back.

use super::*;
use crate::replies::{AT_ONCE, ResultStore, ScriptedElicitation, ScriptedHook, ScriptedPermission, ScriptedReply};
use reenact_engine::hook::{HookDefinition, HookEvent, HookOutcome};
use reenact_engine::permission::{
    PermissionAnswer, PermissionMode, PermissionRule, PermissionSettings, PermissionWord, RuleSource, ToolCheck,
};

fn once<T>(said: T) -> ScriptedReply<T> {
    ScriptedReply { latency: None, says: Some(said), may: false }
}

fn late<T>(said: T) -> ScriptedReply<T> {
    ScriptedReply { latency: Some(Latency::Fixed(Micros(7))), says: Some(said), may: false }
}

fn never<T>() -> ScriptedReply<T> {
    ScriptedReply { latency: None, says: None, may: false }
}

#[test]
fn m_7_hooks_read_back() {
    let all = HookOutcome {
        decision: Some(PermissionWord::Ask),
        reason: Some("who knows\n".into()),
        updated_input: Some(Json::trusted(r#"{"n":1e3}"#)),
        context: Some("'it'".into()),
        stop: Some("enough".into()),
        failure: Some("exit code 2".into()),
    };
    let replies = [
        vec![],
        vec![once(all.clone())],
        vec![once(HookOutcome::default())],
        vec![never()],
        vec![
            late(all.clone()),
            ScriptedReply { may: true, ..never() },
            once(HookOutcome { decision: Some(PermissionWord::Deny), ..HookOutcome::default() }),
        ],
        vec![late(HookOutcome { decision: Some(PermissionWord::Allow), ..HookOutcome::default() })],
    ];
    let hooks = replies.into_iter().zip(HookEvent::ALL).enumerate().map(|(number, (replies, event))| ScriptedHook {
        definition: HookDefinition {
            name: format!("hook {number}").into(),
            event,
            matcher: event.is_about_a_tool().then(|| "Read|Edit".into()),
            timeout: if number == 1 { Micros(5) } else { HookDefinition::TIMEOUT },
        },
        latency: if number == 2 { Latency::Uniform(Micros(1), Micros(2)) } else { AT_ONCE },
        replies,
        may: number == 3,
    });
    reads_back(&Scenario { hooks: hooks.collect(), prompts: vec![prompt("hi")], ..Scenario::default() });
}

#[test]
fn m_7_permissions_read_back() {
    let refuse = PermissionAnswer::Refuse { reason: "no".into() };
    let allow =
        PermissionAnswer::Allow { updated_input: Some(Json::trusted(r#"{"a":1}"#)), rules: vec!["Bash(git *)".into(), "Read".into()] };
    let permission =
        |about: Option<&str>, replies| ScriptedPermission { about: about.map(Into::into), latency: AT_ONCE, replies, may: about.is_none() };
    let permissions = vec![
        permission(Some("Bash(rm *)"), vec![once(refuse.clone())]),
        permission(
            Some("Edit"),
            vec![late(allow.clone()), ScriptedReply { may: true, ..never() }, once(PermissionAnswer::RefuseAndAbort { reason: "".into() })],
        ),
        ScriptedPermission { latency: Latency::Fixed(Micros(3)), ..permission(None, vec![once(allow)]) },
        permission(None, vec![never()]),
    ];
    reads_back(&Scenario { permissions, prompts: vec![prompt("hi")], ..Scenario::default() });
}

#[test]
fn p_1_rules_and_modes_read_back() {
    let rule = |word, about: &str, source| PermissionRule { word, about: about.into(), source };
    let users = vec![
        rule(PermissionWord::Allow, "Read", RuleSource::User),
        rule(PermissionWord::Ask, "Bash", RuleSource::User),
        rule(PermissionWord::Deny, "Bash(rm *)", RuleSource::User),
    ];
    let mixed = RuleSource::ALL.map(|source| rule(PermissionWord::Deny, "Bash(rm *)", source)).to_vec();
    let backwards = users.iter().rev().cloned().collect();
    for (mode, rules) in PermissionMode::ALL.into_iter().zip([Vec::new(), users, mixed, backwards]) {
        let permissions =
            Some(PermissionSettings { mode, rules, directories: vec!["/w/more".into()], dedicated_tools: mode == PermissionMode::Plan });
        let settings = Settings { permissions, ..Settings::default() };
        reads_back(&Scenario { settings, prompts: vec![prompt("hi")], ..Scenario::default() });
    }
}

#[test]
fn t_27_the_store_reads_back() {
    let store = ResultStore { folder: Some("/w/.results".into()), latency: Latency::Fixed(Micros(9)), never_answers: true, may: false };
    for store in [store.clone(), ResultStore { never_answers: false, latency: AT_ONCE, may: true, ..store }] {
        reads_back(&Scenario { store, prompts: vec![prompt("hi")], ..Scenario::default() });
    }
}

#[test]
fn t_22_checks_read_back() {
    let full = ToolCheck {
        problem: Some("the file was not read".into()),
        permission: Some(PermissionWord::Ask),
        reason: Some("it is dangerous".into()),
        suggestions: vec!["Bash(rm x)".into()],
        is_about_path: false,
    };
    for (number, check) in
        [once(full.clone()), late(full), never(), ScriptedReply::default(), late(ToolCheck::default())].into_iter().enumerate()
    {
        let outcome = ScriptedOutcome { check: Some(check), ..ScriptedOutcome::default() };
        let results = BTreeMap::from([(format!("toolu_{number}").into(), outcome)]);
        reads_back(&Scenario { results, prompts: vec![prompt("hi")], ..Scenario::default() });
    }
}

#[test]
fn s_11_what_a_server_asks_reads_back() {
    let asks = |reply, if_declined: Option<&str>| ScriptedElicitation {
        message: "which \"one\"?".into(),
        after: Micros(7),
        reply,
        if_declined: if_declined.map(Into::into),
    };
    let all = [
        asks(once(Some("this".into())), None),
        asks(late(Some("that\n".into())), Some("nothing")),
        asks(ScriptedReply { may: true, ..late(None) }, Some("")),
        asks(never(), Some("nothing")),
        ScriptedElicitation { message: "?".into(), ..ScriptedElicitation::default() },
    ];
    for (number, asks) in all.into_iter().enumerate() {
        let outcome = ScriptedOutcome { asks: Some(asks), ..ScriptedOutcome::default() };
        let results = BTreeMap::from([(format!("toolu_{number}").into(), outcome)]);
        reads_back(&Scenario { results, prompts: vec![prompt("hi")], ..Scenario::default() });
    }
}

#[test]
fn s_11_who_never_answers_says_nothing_and_takes_no_time() {
    for keys in ["answer = \"a\"", "latency = \"1s\""] {
        let text =
            format!("[[tool]]\nname = \"Read\"\nasks = {{ message = \"?\", never_answers = true, {keys} }}\n[[prompt]]\ntext = \"hi\"\n");
        let faults = parse::scenario("x.toml", &text, &[]).unwrap_err().to_string();
        assert!(faults.contains("cannot both be given"), "{faults}");
    }
}
