//! `[[hook]]`, `[permissions]`, `[[permission]]`, `[files]` and what a tool's own check finds, as TOML.

use super::text::{duration, latency, string};
use super::{TomlLines, list};
use crate::engine::hook::{HookDefinition, HookOutcome};
use crate::engine::permission::{PermissionAnswer, PermissionRule, PermissionSettings, PermissionWord, RuleSource, ToolCheck};
use crate::engine::time::Micros;
use crate::prelude::*;
use crate::scenario::replies::{AT_ONCE, ResultStore, ScriptedElicitation, ScriptedHook, ScriptedPermission, ScriptedReply};

/// `[[hook]]`.
pub(super) fn hook_entry(out: &mut TomlLines, hook: &ScriptedHook) {
    let ScriptedHook { definition: HookDefinition { name, event, matcher, timeout }, latency: span, replies, may } = hook;
    out.table("[[hook]]");
    out.text("name", name);
    out.text("event", event.as_str());
    if let Some(matcher) = matcher {
        out.text("matcher", matcher);
    }
    if *timeout != HookDefinition::TIMEOUT {
        out.raw("timeout", duration(*timeout));
    }
    if *span != AT_ONCE {
        out.raw("latency", latency(span));
    }
    out.flag("may", *may, false);
    reply_keys(out, "[[hook.answers]]", replies, *replies == [ScriptedReply::default()], hook_keys);
}

fn hook_keys(out: &mut TomlLines, outcome: &HookOutcome) {
    let HookOutcome { decision, reason, updated_input, context, stop, failure } = outcome;
    if let Some(decision) = decision {
        out.text("decision", decision.as_str());
    }
    for (key, text) in [("reason", reason), ("context", context), ("stop", stop), ("fails", failure)] {
        if let Some(text) = text {
            out.text(key, text);
        }
    }
    if let Some(input) = updated_input {
        out.text("updated_input", input.as_str());
    }
}

/// `[permissions]`; each rule with its source where one of them is not the user's, because their order counts for nothing else.
pub(super) fn permissions(out: &mut TomlLines, settings: &PermissionSettings) {
    let PermissionSettings { mode, rules, directories } = settings;
    out.table("[permissions]");
    out.word("mode", *mode, mode.as_str());
    out.texts("directories", directories);
    let of = |word| rules.iter().filter(move |rule| rule.word == word).map(|rule| rule.about.clone());
    let grouped: Vec<_> = PermissionWord::ALL.into_iter().flat_map(|word| of(word).map(move |about| (word, about))).collect();
    let written: Vec<_> = rules.iter().map(|rule| (rule.word, rule.about.clone())).collect();
    if grouped == written && rules.iter().all(|rule| rule.source == RuleSource::User) {
        for word in PermissionWord::ALL {
            out.texts(word.as_str(), &of(word).collect::<Vec<_>>());
        }
        return;
    }
    for PermissionRule { word, about, source } in rules {
        out.table("[[permissions.rule]]");
        out.text(word.as_str(), about);
        out.word("source", *source, source.as_str());
    }
}

/// `[[permission]]`.
pub(super) fn permission_entry(out: &mut TomlLines, permission: &ScriptedPermission) {
    let ScriptedPermission { about, latency: span, replies, may } = permission;
    out.table("[[permission]]");
    if let Some(about) = about {
        out.text("for", about);
    }
    if *span != AT_ONCE {
        out.raw("latency", latency(span));
    }
    out.flag("may", *may, false);
    reply_keys(out, "[[permission.answers]]", replies, false, permission_keys);
}

pub(super) fn permission_keys(out: &mut TomlLines, answer: &PermissionAnswer) {
    match answer {
        PermissionAnswer::Allow { updated_input, rules } => {
            out.text("answer", "allow");
            out.texts("rules", rules);
            if let Some(input) = updated_input {
                out.text("updated_input", input.as_str());
            }
        }
        PermissionAnswer::Refuse { reason } => refusal(out, "refuse", reason),
        PermissionAnswer::RefuseAndAbort { reason } => refusal(out, "refuse_and_abort", reason),
    }
}

fn refusal(out: &mut TomlLines, word: &str, reason: &str) {
    out.text("answer", word);
    if !reason.is_empty() {
        out.text("reason", reason);
    }
}

/// One reply without a latency of its own stands in its owner's table, unless nothing would stand there.
fn reply_keys<T>(out: &mut TomlLines, title: &str, replies: &[ScriptedReply<T>], is_nothing: bool, keys: fn(&mut TomlLines, &T)) {
    let says = |out: &mut TomlLines, says: &Option<T>| match says {
        Some(said) => keys(out, said),
        None => out.raw("never_answers", true),
    };
    if let ([ScriptedReply { latency: None, says: said, may: false }], false) = (replies, is_nothing) {
        return says(out, said);
    }
    for ScriptedReply { latency: span, says: said, may } in replies {
        out.table(title);
        if let Some(span) = span {
            out.raw("latency", latency(span));
        }
        out.flag("may", *may, false);
        says(out, said);
    }
}

/// `[files]`.
pub(super) fn store_section(out: &mut TomlLines, store: &ResultStore) {
    let ResultStore { folder, latency: span, never_answers, may } = store;
    if *store == ResultStore::default() {
        return;
    }
    out.table("[files]");
    if let Some(folder) = folder {
        out.text("store", folder);
    }
    if *span != AT_ONCE {
        out.raw("latency", latency(span));
    }
    out.flag("never_answers", *never_answers, false);
    out.flag("may", *may, false);
}

/// What a tool's own check finds, as keys of an outcome.
pub(super) fn check_keys(out: &mut TomlLines, check: &ScriptedReply<ToolCheck>) {
    let ScriptedReply { latency: span, says, may } = check;
    out.flag("check_may", *may, false);
    if let Some(span) = span {
        out.raw("check_latency", latency(span));
    }
    let Some(ToolCheck { problem, permission, reason, suggestions }) = says else {
        return out.raw("check_never_answers", true);
    };
    for (key, text) in [("check", problem), ("check_reason", reason)] {
        if let Some(text) = text {
            out.text(key, text);
        }
    }
    if let Some(word) = permission {
        out.text("check_permission", word.as_str());
    }
    if !suggestions.is_empty() {
        out.raw("check_suggestions", list(suggestions));
    } else if (span, says) == (&None, &Some(ToolCheck::default())) {
        // Nothing is found, and that is said: it wins over what the tool finds otherwise.
        out.raw("check_suggestions", "[]");
    }
}

/// What a tool's server asks on the way, as one table.
pub(super) fn elicitation(asks: &ScriptedElicitation) -> String {
    let ScriptedElicitation { message, after, reply: ScriptedReply { latency: span, says, may }, if_declined } = asks;
    let text = |key: &str, text: &str| format!("{key} = {}", string(text));
    let parts = [
        Some(text("message", message)),
        (*after != Micros::ZERO).then(|| format!("after = {}", duration(*after))),
        says.is_none().then(|| String::from("never_answers = true")),
        says.iter().flatten().next().map(|answer| text("answer", answer)),
        span.as_ref().map(|span| format!("latency = {}", latency(span))),
        if_declined.as_ref().map(|declined| text("if_declined", declined)),
        may.then(|| String::from("may = true")),
    ];
    format!("{{ {} }}", parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
}
