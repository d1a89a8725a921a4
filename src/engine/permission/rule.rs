//! The pattern of a rule: `Tool` or `Tool(pattern)` (P-1), compared with a tool and its input.
//!
//! ```text
//!   Bash            every use of Bash
//!   Bash(git *)     those whose command begins with `git `
//!   Edit(/w/*)      those whose path begins with `/w/`
//!   mcp__*          every tool whose name begins so
//! ```
//!
//! In both places `*` stands for any text, none included; nothing else is special. The pattern is held against the whole of the first of
//! command, file path, path, pattern and URL that the input has as text.
//!
//! Commands of a shell are held against rules one by one ([`RuleTarget`]), or `Bash(git *)` would allow `git log; rm -r x`:
//!
//! ```text
//!   allow       every simple command, each by some rule, none with output to a file; or the whole text, by a rule without `*`
//!   ask, deny   the whole text, some simple command, or some program that it starts: also behind `sudo` and `sh -c`, and by its path
//!   in doubt    a text that is not understood may start anything: with rules that ask or deny a person decides
//! ```

use super::{PermissionRule, PermissionWord, RuleSource};
use reenact_shell::{CommandText, StartedPrograms, command_texts, started_programs};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;
use reenact_wire::raw_json::RawObject;

/// The members of an input that patterns are held against, the first that is there.
const ARGUMENTS: [&str; 5] = ["command", "file_path", "path", "pattern", "url"];

/// A use of a tool, as rules see it.
#[derive(Clone, Debug)]
pub struct RuleTarget<'a> {
    tool: &'a str,
    argument: Option<String>,
    /// The simple commands, where the tool is a shell and they are known.
    commands: Vec<CommandText>,
    /// The programs that they start.
    programs: StartedPrograms,
    is_shell: bool,
}

impl<'a> RuleTarget<'a> {
    /// A use of this tool, which is a shell or not.
    pub fn new(tool: &'a str, is_shell: bool, input: &Json) -> Self {
        let argument = argument(input);
        let command = argument.as_deref().filter(|_| is_shell);
        let (commands, programs) = (command.and_then(command_texts), command.map(started_programs));
        Self { tool, commands: commands.unwrap_or_default(), programs: programs.unwrap_or_default(), argument, is_shell }
    }

    /// The rule that counts: policy before all others, then the strictest word, then the first.
    pub fn deciding<'r>(&self, rules: impl Iterator<Item = &'r PermissionRule> + Clone) -> Option<RuleVerdict<'r>> {
        let of = |rule: &'r PermissionRule| RuleVerdict { word: rule.word, rule, is_doubt: false };
        let known = rules.clone().filter(|rule| self.fits(rule)).chain(self.allowing(rules.clone())).map(of);
        let doubts = rules.filter(|rule| self.is_in_doubt(rule));
        let doubts = doubts.map(|rule| RuleVerdict { word: PermissionWord::Ask, rule, is_doubt: true });
        known.chain(doubts).reduce(|best, verdict| if verdict.rank() > best.rank() { verdict } else { best })
    }

    /// Whether a rule asks or denies some commands, and it is not known whether this is one of them.
    fn is_in_doubt(&self, rule: &PermissionRule) -> bool {
        let has_pattern = || parts(&rule.about).is_some_and(|(name, pattern)| pattern.is_some() && glob(name, self.tool));
        self.is_shell && !self.programs.are_all && rule.word != PermissionWord::Allow && has_pattern() && !self.fits(rule)
    }

    /// Whether this rule alone has a word about the use.
    fn fits(&self, rule: &PermissionRule) -> bool {
        let Some((_, pattern)) = parts(&rule.about).filter(|(name, _)| glob(name, self.tool)) else { return false };
        let (Some(pattern), Some(argument)) = (pattern, &self.argument) else { return pattern.is_none() };
        match (self.is_shell, rule.word) {
            (true, PermissionWord::Allow) => pattern == argument,
            (true, _) => {
                // `rm *` is for `rm` alone as well: its arguments may come from elsewhere.
                let fits = |text: &String| glob(pattern, text) || pattern.strip_suffix(" *") == Some(text);
                fits(argument) || self.commands.iter().map(|command| &command.text).chain(&self.programs.texts).any(fits)
            }
            (false, _) => glob(pattern, argument),
        }
    }

    /// Whether a rule allows one of the simple commands.
    fn allows(&self, rule: &PermissionRule, command: &CommandText) -> bool {
        let fits = |pattern: Option<&str>| pattern.is_none_or(|pattern| glob(pattern, &command.text) && !command.writes);
        rule.word == PermissionWord::Allow && parts(&rule.about).is_some_and(|(name, pattern)| glob(name, self.tool) && fits(pattern))
    }

    /// The weakest of the rules that allow the simple commands, where each of them is allowed.
    fn allowing<'r>(&self, rules: impl Iterator<Item = &'r PermissionRule> + Clone) -> Option<&'r PermissionRule> {
        let of = |command: &CommandText| first_of_highest_rank(rules.clone().filter(|rule| self.allows(rule, command)));
        let allowing: Option<Vec<_>> = self.commands.iter().map(of).collect();
        allowing?.into_iter().min_by_key(|rule| rank(rule))
    }
}

/// The verdict of rules about a use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleVerdict<'r> {
    /// The word about it.
    pub word: PermissionWord,
    /// The rule that says it.
    pub rule: &'r PermissionRule,
    /// Whether it is not known that the rule is about this use.
    pub is_doubt: bool,
}

impl RuleVerdict<'_> {
    fn rank(&self) -> (bool, PermissionWord) {
        (self.rule.source == RuleSource::Policy, self.word)
    }
}

fn first_of_highest_rank<'r>(rules: impl Iterator<Item = &'r PermissionRule>) -> Option<&'r PermissionRule> {
    rules.reduce(|best, rule| if rank(rule) > rank(best) { rule } else { best })
}

fn rank(rule: &PermissionRule) -> (bool, PermissionWord) {
    (rule.source == RuleSource::Policy, rule.word)
}

/// Whether a rule about `about` is for this use of a tool, whose text is taken as a whole. What is no rule is for none.
pub fn fits(about: &str, tool: &str, input: &Json) -> bool {
    match parts(about) {
        Some((name, None)) => glob(name, tool),
        Some((name, Some(pattern))) => glob(name, tool) && argument(input).is_some_and(|argument| glob(pattern, &argument)),
        None => false,
    }
}

/// The mistake in the text of a rule; `None` when it is one.
pub fn problem(about: &str) -> Option<&'static str> {
    parts(about).is_none().then_some("a rule is `Tool` or `Tool(pattern)`, e.g. Bash(git *)")
}

/// The text that patterns are held against.
#[doc(hidden)]
pub fn argument(input: &Json) -> Option<String> {
    let object = RawObject::parse(input.as_str()).ok()?;
    ARGUMENTS.iter().find_map(|key| object.string(key)).map(Cow::into_owned)
}

/// Rules that would make a question about this use needless, the narrowest first. Text that a pattern would read otherwise is not proposed.
pub(crate) fn suggestions(tool: &str, input: &Json) -> Vec<Arc<str>> {
    let narrow = argument(input).filter(|argument| !argument.is_empty() && !argument.contains(['*', '\n']));
    narrow.map(|argument| format!("{tool}({argument})").into()).into_iter().chain([tool.into()]).collect()
}

/// Name and pattern.
fn parts(about: &str) -> Option<(&str, Option<&str>)> {
    let (name, pattern) = match about.split_once('(') {
        None => (about, None),
        Some((name, rest)) => (name, Some(rest.strip_suffix(')')?)),
    };
    let is_name = !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c == ')');
    is_name.then_some((name, pattern))
}

/// Whether `text` is `pattern` with some text in place of each `*`.
fn glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let (Some(first), Some(last)) = (parts.next(), pattern.rsplit('*').next()) else { return false };
    if !pattern.contains('*') {
        return pattern == text;
    }
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let middle: Vec<&str> = parts.collect();
    for part in &middle[..middle.len() - 1] {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_1_a_rule_is_a_tool_and_perhaps_a_pattern() {
        let of = |about: &str, tool: &str, input: &str| fits(about, tool, &Json::trusted(input));
        let table = [
            ("Bash", "Bash", r#"{"command":"ls"}"#, true),
            ("Bash", "BashOutput", "{}", false),
            ("mcp__*", "mcp__files__read", "{}", true),
            ("Bash(git *)", "Bash", r#"{"command":"git log"}"#, true),
            ("Bash(git *)", "Bash", r#"{"command":"git"}"#, false),
            ("Bash(git log)", "Bash", r#"{"command":"git log -p"}"#, false),
            ("Bash(*)", "Bash", r#"{"command":""}"#, true),
            ("Bash(*)", "Bash", r#"{"timeout":5}"#, false),
            ("Edit(/w/*.rs)", "Edit", r#"{"file_path":"/w/a/b.rs"}"#, true),
            ("Edit(/w/*.rs)", "Edit", r#"{"file_path":"/w/a/b.rs.bak"}"#, false),
            ("Bash(echo (a))", "Bash", r#"{"command":"echo (a)"}"#, true),
            ("Bash(a*b*c)", "Bash", r#"{"command":"a1b2c"}"#, true),
            ("Bash(a*b*c)", "Bash", r#"{"command":"a1c2b"}"#, false),
            ("Bash(ab*ba)", "Bash", r#"{"command":"aba"}"#, false),
            ("Bash(git", "Bash", r#"{"command":"git"}"#, false),
            ("", "", "{}", false),
        ];
        for (about, tool, input, expected) in table {
            assert_eq!(of(about, tool, input), expected, "{about} for {tool} {input}");
        }
    }

    #[test]
    fn p_1_the_pattern_is_held_against_the_first_argument_that_is_there() {
        let of = |input: &str| argument(&Json::trusted(input));
        assert_eq!(of(r#"{"url":"u","path":"p"}"#).as_deref(), Some("p"));
        assert_eq!(of(r#"{"command":5,"url":"u"}"#).as_deref(), Some("u"), "what is no text is not there");
        assert_eq!(of("[]"), None);
    }

    #[test]
    fn t_24_suggestions_are_rules_that_would_do() {
        let of = |input: &str| suggestions("Bash", &Json::trusted(input));
        assert_eq!(of(r#"{"command":"git log"}"#), ["Bash(git log)".into(), Arc::from("Bash")]);
        for input in [r#"{"command":"rm *"}"#, r#"{"command":"a\nb"}"#, r#"{"command":""}"#, "{}"] {
            assert_eq!(of(input), [Arc::from("Bash")], "{input}");
        }
        let input = Json::trusted(r#"{"command":"echo (a) b"}"#);
        assert!(suggestions("Bash", &input).iter().all(|rule| fits(rule, "Bash", &input)));
    }

    #[test]
    fn p_1_what_is_no_rule_is_said() {
        for about in ["Bash(git", "", "(x)", "Two words", "a)"] {
            assert!(problem(about).is_some(), "{about:?}");
        }
        for about in ["Bash", "Bash()", "Bash(a b)", "mcp__*"] {
            assert_eq!(problem(about), None, "{about:?}");
        }
    }
}
