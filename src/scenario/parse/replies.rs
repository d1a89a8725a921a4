//! `[[hook]]`, `[permissions]`, `[[permission]]`, `[files]`, and what a tool's own check finds: who is asked, and what is answered (M-7).

use super::reader::TableReader;
use super::tree::TreeMember;
use super::values::{JsonObjectText, TextList};
use crate::engine::hook::{HookDefinition, HookEvent, HookOutcome};
use crate::engine::permission::{
    PermissionAnswer, PermissionMode, PermissionRule, PermissionSettings, PermissionWord, RuleSource, ToolCheck, rule,
};
use crate::prelude::*;
use crate::scenario::latency::Latency;
use crate::scenario::replies::{AT_ONCE, ResultStore, ScriptedElicitation, ScriptedHook, ScriptedPermission, ScriptedReply};
use crate::scenario::types::Scenario;

/// Reads these parts into the scenario.
pub(super) fn read(reader: &mut TableReader<'_, '_>, scenario: &mut Scenario) {
    scenario.hooks = reader.entries("hook", "[[hook]]", hook);
    scenario.settings.permissions = reader.section("permissions", "[permissions]", permissions);
    scenario.permissions = reader.entries("permission", "[[permission]]", |reader| Some(permission(reader)));
    scenario.store = reader.section("files", "[files]", store).unwrap_or_default();
}

const HOOK_KEYS: [&str; 7] = ["decision", "reason", "updated_input", "context", "stop", "fails", "never_answers"];

/// `[[hook]]`: who it is, and what it says, either once for all runs or run by run.
fn hook(reader: &mut TableReader<'_, '_>) -> Option<ScriptedHook> {
    let name: Option<Arc<str>> = reader.required("name");
    if reader.member("event").is_none() {
        reader.lacks(&["event"], "[[hook]] needs `event`, e.g. \"pre_tool_use\"".into(), None);
    }
    let event = reader.choice("event", &HookEvent::ALL.map(|event| (event.as_str(), event)));
    let matcher: Option<Arc<str>> = reader.get("matcher");
    if let (Some(event), Some(member)) = (event, reader.member("matcher"))
        && !event.is_about_a_tool()
    {
        let message = format!("a hook of `{}` is asked about no tool: remove `matcher`", event.as_str());
        reader.report.value(member.place, message, None);
    }
    let timeout = reader.get("timeout").unwrap_or(HookDefinition::TIMEOUT);
    let latency: Latency = reader.get("latency").unwrap_or(AT_ONCE);
    let replies = replies(reader, &HOOK_KEYS, "[[hook.answers]]", hook_outcome);
    let may = reader.get("may").unwrap_or_default();
    Some(ScriptedHook { definition: HookDefinition { name: name?, event: event?, matcher, timeout }, latency, replies, may })
}

fn hook_outcome(reader: &mut TableReader<'_, '_>) -> HookOutcome {
    HookOutcome {
        decision: reader.choice("decision", &words()),
        reason: reader.get("reason"),
        updated_input: reader.get("updated_input").map(|JsonObjectText(json)| json),
        context: reader.get("context"),
        stop: reader.get("stop"),
        failure: reader.get("fails"),
    }
}

/// What may be said on a permission, by hooks, rules and tools.
fn words() -> [(&'static str, PermissionWord); 3] {
    PermissionWord::ALL.map(|word| (word.as_str(), word))
}

/// `[permissions]`: mode and rules. Rules in the three lists are the user's; others name their source.
fn permissions(reader: &mut TableReader<'_, '_>) -> PermissionSettings {
    let modes = PermissionMode::ALL.map(|mode| (mode.as_str(), mode));
    let mut settings = PermissionSettings { mode: reader.choice("mode", &modes).unwrap_or_default(), ..PermissionSettings::default() };
    for (key, word) in words() {
        let place = reader.member(key);
        let rules: Option<TextList> = reader.get(key);
        for about in rules.into_iter().flat_map(|TextList(rules)| rules) {
            check_rule(reader, place, &about);
            settings.rules.push(PermissionRule { word, about: about.into(), source: RuleSource::User });
        }
    }
    let sources = RuleSource::ALL.map(|source| (source.as_str(), source));
    settings.rules.extend(reader.entries("rule", "[[permissions.rule]]", |reader| {
        let which = reader.one_of(&["allow", "ask", "deny"]);
        if which.is_none() {
            reader.lacks(&["allow", "ask", "deny"], "[[permissions.rule]] needs one of `allow`, `ask`, `deny`".into(), None);
        }
        let rules = PermissionWord::ALL.map(|word| reader.get::<Arc<str>>(word.as_str()).map(|about| (word, about)));
        let source = reader.choice("source", &sources).unwrap_or_default();
        let (word, about) = rules.into_iter().flatten().next()?;
        check_rule(reader, which, &about);
        Some(PermissionRule { word, about, source })
    }));
    settings.directories = reader.get("directories").unwrap_or_default();
    settings
}

pub(super) fn check_rule(reader: &mut TableReader<'_, '_>, member: Option<&TreeMember>, about: &str) {
    if let (Some(problem), Some(member)) = (rule::problem(about), member) {
        reader.report.value(member.value.place, format!("`{about}` is no rule: {problem}"), None);
    }
}

const PERMISSION_KEYS: [&str; 5] = ["answer", "reason", "rules", "updated_input", "never_answers"];

/// `[[permission]]`: what whoever is asked answers.
fn permission(reader: &mut TableReader<'_, '_>) -> ScriptedPermission {
    let about: Option<Arc<str>> = reader.get("for");
    if let Some(about) = &about {
        let member = reader.member("for");
        check_rule(reader, member, about);
    }
    let latency: Latency = reader.get("latency").unwrap_or(AT_ONCE);
    let replies = replies(reader, &PERMISSION_KEYS, "[[permission.answers]]", permission_answer);
    ScriptedPermission { about, latency, replies, may: reader.get("may").unwrap_or_default() }
}

pub(super) fn permission_answer(reader: &mut TableReader<'_, '_>) -> PermissionAnswer {
    let word = reader.choice("answer", &[("allow", 0), ("refuse", 1), ("refuse_and_abort", 2)]).unwrap_or(0);
    let rules_at = reader.member("rules");
    let rules: Vec<Arc<str>> = reader.get("rules").unwrap_or_default();
    rules.iter().for_each(|about| check_rule(reader, rules_at, about));
    let updated_input = reader.get("updated_input").map(|JsonObjectText(json)| json);
    let reason = reader.get::<Arc<str>>("reason");
    let useless: &[&str] = if word == 0 { &["reason"] } else { &["rules", "updated_input"] };
    for key in PERMISSION_KEYS.into_iter().filter(|key| useless.contains(key)) {
        if let Some(member) = reader.member(key) {
            let message =
                if word == 0 { "who allows gives no reason: remove it, or refuse" } else { "who refuses changes nothing: remove it" };
            reader.report.value(member.place, message.into(), None);
        }
    }
    let reason = reason.unwrap_or_default();
    match word {
        0 => PermissionAnswer::Allow { updated_input, rules },
        1 => PermissionAnswer::Refuse { reason },
        _ => PermissionAnswer::RefuseAndAbort { reason },
    }
}

/// The replies: one whose `keys` stand in the table itself, or several under `answers`.
fn replies<T>(
    reader: &mut TableReader<'_, '_>,
    keys: &[&'static str],
    title: &'static str,
    one: impl Fn(&mut TableReader<'_, '_>) -> T,
) -> Vec<ScriptedReply<T>> {
    let mut said = false;
    for key in keys {
        said |= reader.member(key).is_some();
        reader.one_of(&["answers", key]);
    }
    if said {
        return vec![ScriptedReply { latency: None, says: says(reader, keys, one), may: false }];
    }
    reader.entries("answers", title, |reader| {
        let latency = reader.get("latency");
        let may = reader.get("may").unwrap_or_default();
        Some(ScriptedReply { latency, says: says(reader, keys, &one), may })
    })
}

/// What is said; `None` with `never_answers`, which leaves nothing else to say.
fn says<T>(reader: &mut TableReader<'_, '_>, keys: &[&'static str], one: impl Fn(&mut TableReader<'_, '_>) -> T) -> Option<T> {
    for key in keys.iter().filter(|key| **key != "never_answers") {
        reader.one_of(&["never_answers", key]);
    }
    let never = reader.mark("never_answers");
    let said = one(reader);
    (!never).then_some(said)
}

/// `[files]`: where large results are stored.
fn store(reader: &mut TableReader<'_, '_>) -> ResultStore {
    let folder = reader.get("store");
    let latency = reader.get("latency").unwrap_or(AT_ONCE);
    ResultStore { folder, latency, never_answers: reader.mark("never_answers"), may: reader.get("may").unwrap_or_default() }
}

/// The keys of [`check`].
pub(super) const CHECK_KEYS: [&str; 6] =
    ["check", "check_permission", "check_reason", "check_suggestions", "check_latency", "check_never_answers"];

/// What a tool's own check finds; `None` when nothing is said of it.
pub(super) fn check(reader: &mut TableReader<'_, '_>) -> Option<ScriptedReply<ToolCheck>> {
    let mut said = false;
    for key in CHECK_KEYS {
        said |= reader.member(key).is_some();
        if !matches!(key, "check_never_answers" | "check_latency") {
            reader.one_of(&["check_never_answers", key]);
        }
    }
    let check = ToolCheck {
        problem: reader.get("check"),
        permission: reader.choice("check_permission", &words()),
        reason: reader.get("check_reason"),
        suggestions: reader.get("check_suggestions").unwrap_or_default(),
    };
    let latency = reader.get("check_latency");
    let never = reader.mark("check_never_answers");
    let may = reader.get("check_may").unwrap_or_default();
    if let (false, Some(member)) = (said, reader.member("check_may")) {
        reader.report.value(member.place, "`check_may` excuses what the tool's check finds, and nothing is said of it".into(), None);
    }
    said.then_some(ScriptedReply { latency, says: (!never).then_some(check), may })
}

/// `asks`: what a tool's server asks on the way, and what the user answers (S-11).
pub(super) fn elicitation(reader: &mut TableReader<'_, '_>) -> Option<ScriptedElicitation> {
    let message: Option<Arc<str>> = reader.required("message");
    for key in ["answer", "latency"] {
        reader.one_of(&["never_answers", key]);
    }
    let (answer, never) = (reader.get("answer"), reader.mark("never_answers"));
    let reply =
        ScriptedReply { latency: reader.get("latency"), says: (!never).then_some(answer), may: reader.get("may").unwrap_or_default() };
    let (after, if_declined) = (reader.get("after").unwrap_or_default(), reader.get("if_declined"));
    Some(ScriptedElicitation { message: message?, after, reply, if_declined })
}
