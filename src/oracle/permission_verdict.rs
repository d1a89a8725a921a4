//! The word of P-1, P-2 and T-24 about a tool use. Rules and modes are read here once more, so that an engine is not held against its own reading of them.
//!
//! The words of a shell command come from the room `shell`, which knows no permissions.

use super::OracleRules;
use reenact_engine::permission::{PermissionMode, PermissionRule, PermissionWord, RuleSource, ToolCheck};
use reenact_shell::{CommandText, StartedPrograms, command_texts, danger, started_programs};
use reenact_wire::block::ToolUse;
use reenact_wire::prelude::*;
use reenact_wire::raw_json::RawObject;

/// The members of an input that the pattern of a rule is held against: the first that is there.
const RULED_MEMBERS: [&str; 5] = ["command", "file_path", "path", "pattern", "url"];

/// P-2 (1): the programs that have a tool of their own.
const PROGRAMS_WITH_TOOLS: [&str; 6] = ["find", "grep", "cat", "head", "tail", "ls"];

/// P-2 (3): the programs that print and do nothing else.
const PRINTING_PROGRAMS: [&str; 5] = ["echo", "pwd", "env", "date", "which"];

/// The words about a tool use before it may start.
#[derive(Clone, Copy, Debug)]
pub(super) struct SaidOfUse<'a> {
    /// The strictest word of the hooks.
    pub(super) hooks: Option<PermissionWord>,
    /// The tool's own check.
    pub(super) check: Option<&'a ToolCheck>,
    /// The mode in force.
    pub(super) mode: Option<PermissionMode>,
    /// The rules that the session has learnt.
    pub(super) learnt: &'a [PermissionRule],
    /// More rules that count as learnt, where it is not known whether they are.
    pub(super) perhaps_learnt: &'a [PermissionRule],
}

/// The word that counts. The first that has one decides:
///
/// ```text
///   deny   a hook · a path (P-4) · a rule · plan mode, unless the tool only reads · the tool and P-2, unless the mode is bypass or policy decides
///   ask    a hook · a rule
///   allow  a rule
///   ask    a path, unless a hook allows
///   allow  bypass and plan mode · accept_edits mode, for edits inside the working directories
///   allow  a hook · the tool
///   ask    the tool · any mode
/// ```
pub(super) fn verdict(rules: &OracleRules, tool_use: &ToolUse, said: SaidOfUse<'_>) -> PermissionWord {
    let (allow, ask, deny) = (Some(PermissionWord::Allow), Some(PermissionWord::Ask), Some(PermissionWord::Deny));
    let by_rule = ruled(rules, said.learnt.iter().chain(said.perhaps_learnt), tool_use);
    let (is_policy, rule) = (by_rule.is_some_and(|(is_policy, _)| is_policy), by_rule.map(|(_, word)| word));
    let own = said.check.and_then(|check| check.permission);
    let path = own.filter(|_| said.check.is_some_and(|check| check.is_about_path));
    let own = own.or_else(|| said.mode.and_then(|mode| word_of_shell(rules, mode, tool_use)));
    let (is_plan, is_bypass) = (said.mode == Some(PermissionMode::Plan), said.mode == Some(PermissionMode::Bypass));
    let is_denied_by_mode = is_plan && !rules.tools.reads_only(&tool_use.name);
    if said.hooks == deny || path == deny || rule == deny || is_denied_by_mode || own == deny && !is_bypass && !is_policy {
        return PermissionWord::Deny;
    }
    if said.hooks == ask || rule == ask {
        return PermissionWord::Ask;
    }
    let is_allowed_by_mode = is_plan || is_bypass || said.mode == Some(PermissionMode::AcceptEdits) && edits_inside(rules, tool_use);
    let is_allowed = rule == allow || said.hooks == allow || path != ask && (is_allowed_by_mode || own == allow);
    let is_silent = said.mode.is_none() && own != ask;
    if is_allowed || is_silent { PermissionWord::Allow } else { PermissionWord::Ask }
}

/// The word of the rules, and whether it is one of policy: policy before all others, then the strictest. A command of a shell is allowed if each of its parts
/// is.
fn ruled<'r>(
    rules: &'r OracleRules,
    learnt: impl Iterator<Item = &'r PermissionRule> + Clone,
    tool_use: &ToolUse,
) -> Option<(bool, PermissionWord)> {
    let target = RuledUse::new(rules, tool_use);
    let all = || rules.settings.permissions.iter().flat_map(|settings| &settings.rules).chain(learnt.clone());
    let rank = |rule: &PermissionRule| (rule.source == RuleSource::Policy, rule.word);
    let whole = all().filter(|rule| target.is_ruled(rule)).map(rank).max();
    let of_part = |command: &CommandText| all().filter(|rule| target.is_part_allowed(rule, command)).map(rank).max();
    let parts: Option<Vec<_>> = target.commands.iter().map(of_part).collect();
    let doubts = all().filter(|rule| target.is_in_doubt(rule)).map(|rule| (rule.source == RuleSource::Policy, PermissionWord::Ask)).max();
    whole.max(parts.and_then(|parts| parts.into_iter().min())).max(doubts)
}

/// A tool use as rules see it.
struct RuledUse<'a> {
    tool: &'a str,
    is_shell: bool,
    text: Option<String>,
    /// The simple commands of a shell, where they are known.
    commands: Vec<CommandText>,
    programs: StartedPrograms,
}

impl<'a> RuledUse<'a> {
    fn new(rules: &OracleRules, tool_use: &'a ToolUse) -> Self {
        let is_shell = rules.tools.is_shell(&tool_use.name);
        let text = text_of(tool_use, &RULED_MEMBERS);
        let command = text.as_deref().filter(|_| is_shell);
        let (commands, programs) = (command.and_then(command_texts), command.map(started_programs));
        Self { tool: &tool_use.name, is_shell, commands: commands.unwrap_or_default(), programs: programs.unwrap_or_default(), text }
    }

    /// Whether a rule has a word about the whole use.
    fn is_ruled(&self, rule: &PermissionRule) -> bool {
        let Some(pattern) = self.pattern_of(rule) else { return false };
        let (Some(pattern), Some(text)) = (pattern, &self.text) else { return pattern.is_none() };
        if !self.is_shell {
            return is_like(pattern, text);
        }
        if rule.word == PermissionWord::Allow {
            return pattern == text;
        }
        let commands = self.commands.iter().map(|command| &command.text);
        commands.chain(&self.programs.texts).chain([text]).any(|text| is_like(pattern, text) || pattern.strip_suffix(" *") == Some(text))
    }

    /// Whether a rule allows one of the simple commands.
    fn is_part_allowed(&self, rule: &PermissionRule, command: &CommandText) -> bool {
        let is_for_it = |pattern: Option<&str>| pattern.is_none_or(|pattern| !command.writes && is_like(pattern, &command.text));
        rule.word == PermissionWord::Allow && self.pattern_of(rule).is_some_and(is_for_it)
    }

    /// Whether a rule asks or denies, and the text may start what it is about.
    fn is_in_doubt(&self, rule: &PermissionRule) -> bool {
        let may_be = self.is_shell && !self.programs.are_all && rule.word != PermissionWord::Allow;
        may_be && self.pattern_of(rule).is_some_and(|pattern| pattern.is_some()) && !self.is_ruled(rule)
    }

    /// The pattern of a rule for this tool; `None` of a rule for another.
    fn pattern_of<'r>(&self, rule: &'r PermissionRule) -> Option<Option<&'r str>> {
        let (name, pattern) = match rule.about.find('(') {
            Some(at) => (&rule.about[..at], Some(rule.about[at + 1..].strip_suffix(')')?)),
            None => (&*rule.about, None),
        };
        is_like(name, self.tool).then_some(pattern)
    }
}

/// The first of these members that has a text.
fn text_of(tool_use: &ToolUse, members: &[&str]) -> Option<String> {
    let json = tool_use.input.to_json();
    let object = RawObject::parse(json.as_str()).ok()?;
    members.iter().find_map(|member| object.string(member)).map(Cow::into_owned)
}

/// Whether a text is like a pattern, in which each `*` stands for any text.
fn is_like(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    // The latest `*`, and how far it reaches in the text.
    let (mut at, mut of_text, mut star) = (0, 0, None);
    while of_text < text.len() {
        if pattern.get(at) == Some(&b'*') {
            star = Some((at, of_text));
            at += 1;
        } else if pattern.get(at) == Some(&text[of_text]) {
            (at, of_text) = (at + 1, of_text + 1);
        } else if let Some((of_star, reach)) = star {
            (at, of_text) = (of_star + 1, reach + 1);
            star = Some((of_star, reach + 1));
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

/// P-2: the word of a shell that has said nothing itself.
fn word_of_shell(rules: &OracleRules, mode: PermissionMode, tool_use: &ToolUse) -> Option<PermissionWord> {
    if !rules.tools.is_shell(&tool_use.name) {
        return None;
    }
    let command = text_of(tool_use, &["command"])?;
    let has_dedicated = rules.settings.permissions.as_ref().is_some_and(|settings| settings.dedicated_tools);
    let first = command.split_whitespace().next().unwrap_or_default();
    if has_dedicated && mode != PermissionMode::Bypass && PROGRAMS_WITH_TOOLS.contains(&first) {
        return Some(PermissionWord::Deny);
    }
    if danger(&command).is_some() {
        return Some(PermissionWord::Ask);
    }
    let json = tool_use.input.to_json();
    let wants_sandbox = RawObject::parse(json.as_str()).is_ok_and(|object| object.get("sandbox") == Some("true"));
    (wants_sandbox && prints_alone(&command)).then_some(PermissionWord::Allow)
}

/// Whether nothing that a command starts does more than print.
fn prints_alone(command: &str) -> bool {
    let started = started_programs(command);
    let writes = command_texts(command).is_none_or(|texts| texts.iter().any(|text| text.writes));
    let prints = |text: &String| PRINTING_PROGRAMS.contains(&text.split(' ').next().unwrap_or_default());
    started.are_all && !writes && started.texts.iter().all(prints)
}

/// Whether a tool edits a file inside the working directory or an added one, and none that git runs.
fn edits_inside(rules: &OracleRules, tool_use: &ToolUse) -> bool {
    let Some(path) = text_of(tool_use, &["file_path"]).filter(|_| rules.tools.edits(&tool_use.name)) else { return false };
    let cwd = &rules.settings.session.cwd;
    let whole = if path.starts_with('/') { path } else { format!("{cwd}/{path}") };
    let parts = components(&whole);
    let added = rules.settings.permissions.iter().flat_map(|settings| &settings.directories).map(|directory| &**directory);
    !parts.contains(&".git") && added.chain([&**cwd]).any(|directory| parts.starts_with(&components(directory)))
}

fn components(path: &str) -> Vec<&str> {
    path.split('/').filter(|part| !part.is_empty() && *part != ".").fold(Vec::new(), |mut parts, part| {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
        parts
    })
}
