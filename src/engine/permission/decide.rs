//! Whether a tool use may run (T-24, P-1): a pure function over rules, mode, and what hooks and the tool itself say.
//!
//! The first that has a word decides, from top to bottom:
//!
//! ```text
//!   deny   a hook · a path (P-4) · a rule · plan mode, unless the tool only reads · the tool and P-2, except in bypass mode
//!   ask    a hook · a rule
//!   allow  a rule
//!   ask    a path (P-4), unless a hook allows
//!   allow  bypass mode · accept_edits mode, for edits inside the working directories · plan mode
//!   ask    the tool, unless a hook allows
//!   allow  the tool · a hook · no permissions are set
//!   ask    no rule, hook or mode has decided
//! ```
//!
//! So a rule that allows answers a question that the tool would ask (that is what a suggested rule is for), and not a tool's no.

use super::context::PermissionContext;
use super::path::{components, lies_inside};
use super::rule::{RuleTarget, RuleVerdict};
use super::{PermissionMode, PermissionRule, PermissionSettings, PermissionWord, RuleSource, ToolCheck, command, rule};
use crate::settings::ToolDefinition;
use crate::texts::{ModelTexts, TextName};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;
use reenact_wire::raw_json::RawObject;

/// The facts for a decision about one tool use.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct PermissionQuestion<'a> {
    /// The tool.
    pub(crate) tool: &'a ToolDefinition,
    /// The input of the tool use.
    pub(crate) input: &'a Json,
    /// The decision of the hooks, with its reason.
    pub(crate) hooks: Option<(PermissionWord, &'a str)>,
    /// The result of the tool's own check.
    pub(crate) check: &'a ToolCheck,
    /// The working directory (S-11).
    pub(crate) cwd: &'a str,
    /// How reasons are said.
    pub(crate) texts: &'a ModelTexts,
}

/// The decision about a tool use.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum PermissionDecision {
    /// It may run.
    Allow,
    /// It may not.
    Deny {
        /// The reason.
        reason: Arc<str>,
    },
    /// A person decides.
    Ask {
        /// The reason.
        reason: Arc<str>,
        /// Rules that would make the question needless.
        suggestions: Vec<Arc<str>>,
    },
}

/// The decision.
pub(crate) fn decide(
    question: PermissionQuestion<'_>,
    settings: Option<&PermissionSettings>,
    context: &PermissionContext,
) -> PermissionDecision {
    let PermissionQuestion { tool, input, hooks, .. } = question;
    let mode = context.mode.or(settings.map(|settings| settings.mode));
    let settings_rules = settings.map_or(&[][..], |settings| &settings.rules);
    let verdict = RuleTarget::new(&tool.name, tool.shell, input).deciding(settings_rules.iter().chain(&context.rules));
    let word = verdict.map(|verdict| verdict.word);
    let by_rule = || verdict.map_or_else(String::new, rule_reason);
    let check = own_check(question, mode, settings);
    let tool_says = check.permission;
    let hooks_say = hooks.map(|(decision, _)| decision);
    if hooks_say == Some(PermissionWord::Deny) {
        return deny(hooks.map_or("", |(_, reason)| reason));
    }
    let tool_denies = || deny(check.reason.as_deref().unwrap_or(question.texts.template(TextName::ReasonTool)));
    if check.is_about_path && tool_says == Some(PermissionWord::Deny) {
        return tool_denies();
    }
    if word == Some(PermissionWord::Deny) {
        return deny(&verdict.map_or_else(String::new, |verdict| denied_by(verdict.rule, question.texts)));
    }
    if mode == Some(PermissionMode::Plan) && !tool.reads_only {
        return deny(question.texts.template(TextName::ReasonPlanMode));
    }
    let policy_decides = verdict.is_some_and(|verdict| verdict.rule.source == RuleSource::Policy);
    if tool_says == Some(PermissionWord::Deny) && mode != Some(PermissionMode::Bypass) && !policy_decides {
        return tool_denies();
    }
    if hooks_say == Some(PermissionWord::Ask) {
        return ask(question, &check, hooks.map_or("", |(_, reason)| reason));
    }
    match word {
        Some(PermissionWord::Ask) => return ask(question, &check, &by_rule()),
        Some(_) => return PermissionDecision::Allow,
        None => (),
    }
    let asks_about_path = check.is_about_path && tool_says == Some(PermissionWord::Ask);
    match mode {
        _ if asks_about_path => (),
        Some(PermissionMode::Bypass | PermissionMode::Plan) => return PermissionDecision::Allow,
        Some(PermissionMode::AcceptEdits) if is_inside_edit(question, settings) => return PermissionDecision::Allow,
        _ => (),
    }
    match (tool_says, hooks_say) {
        (_, Some(PermissionWord::Allow)) | (Some(PermissionWord::Allow), _) => PermissionDecision::Allow,
        (Some(PermissionWord::Ask), _) => ask(question, &check, check.reason.as_deref().unwrap_or("the tool asks for it")),
        _ if mode.is_none() => PermissionDecision::Allow,
        _ => ask(question, &check, "no rule decides it"),
    }
}

/// The word of the tool itself; of a shell that has said nothing that of its command (P-2), where there are permissions at all.
fn own_check<'a>(
    question: PermissionQuestion<'a>,
    mode: Option<PermissionMode>,
    settings: Option<&PermissionSettings>,
) -> Cow<'a, ToolCheck> {
    let PermissionQuestion { tool, input, check, texts, .. } = question;
    if check.permission.is_some() || !tool.shell || mode.is_none() {
        return Cow::Borrowed(check);
    }
    if settings.is_some_and(|settings| settings.dedicated_tools)
        && let Some((program, dedicated)) = command::dedicated_tool(input)
    {
        let reason = texts.say(TextName::ReasonDedicatedTool, &[("program", program), ("tool", dedicated)]);
        return Cow::Owned(ToolCheck { permission: Some(PermissionWord::Deny), reason: Some(reason.into()), ..check.clone() });
    }
    let of_command = command::check(&tool.name, input);
    if of_command.permission.is_none() { Cow::Borrowed(check) } else { Cow::Owned(of_command) }
}

fn rule_reason(RuleVerdict { rule, is_doubt, .. }: RuleVerdict<'_>) -> String {
    if is_doubt {
        let word = if rule.word == PermissionWord::Deny { "denies" } else { "asks about" };
        return format!("it is not known whether it starts what rule {} of {} {word}", rule.about, rule.source.as_str());
    }
    format!("rule {} of {} says {}", rule.about, rule.source.as_str(), rule.word.as_str())
}

fn denied_by(rule: &PermissionRule, texts: &ModelTexts) -> String {
    texts.say(TextName::ReasonRule, &[("rule", &*rule.about), ("source", rule.source.as_str())])
}

fn deny(reason: &str) -> PermissionDecision {
    PermissionDecision::Deny { reason: reason.into() }
}

fn ask(question: PermissionQuestion<'_>, check: &ToolCheck, reason: &str) -> PermissionDecision {
    let own = &check.suggestions;
    let suggestions = if own.is_empty() { rule::suggestions(&question.tool.name, question.input) } else { own.clone() };
    PermissionDecision::Ask { reason: reason.into(), suggestions }
}

/// Whether this edits a file inside the working directory or an added one, compared component by component.
fn is_inside_edit(question: PermissionQuestion<'_>, settings: Option<&PermissionSettings>) -> bool {
    let path = || RawObject::parse(question.input.as_str()).ok()?.string("file_path").map(Cow::into_owned);
    let Some(path) = question.tool.edits.then(path).flatten() else { return false };
    let absolute = if path.starts_with('/') { path } else { format!("{}/{path}", question.cwd) };
    let parts = components(&absolute);
    // What is written there is run by git.
    if parts.contains(&".git") {
        return false;
    }
    let added = settings.iter().flat_map(|settings| &settings.directories).map(|directory| &**directory);
    lies_inside(&parts, core::iter::once(question.cwd).chain(added))
}

#[cfg(test)]
mod tests;
