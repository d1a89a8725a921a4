//! Decisions about shell commands (P-2), for rules and modes that come after them: pure functions over the text of a command.
//!
//! ```text
//!   1  a program with a tool of its own, if the settings say so     deny, with a hint
//!   2  a dangerous program, or a text that cannot be read           ask
//!   3  in a sandbox, programs that only print                       allow
//! ```

use super::rule::RuleTarget;
use super::{PermissionRule, PermissionWord, RuleSource, ToolCheck};
use reenact_shell::{Danger, command_texts, danger, started_programs};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;
use reenact_wire::raw_json::RawObject;

/// Programs with the tool that takes their place.
const DEDICATED_TOOLS: [(&str, &str); 6] =
    [("find", "Glob"), ("grep", "Grep"), ("cat", "Read"), ("head", "Read"), ("tail", "Read"), ("ls", "Glob")];

/// Programs that print something and change nothing.
const PRINTING: [&str; 5] = ["echo", "pwd", "env", "date", "which"];

/// The first program of a command, and the tool that takes its place. Programs behind it do not count: `git log | head` is fine.
pub(crate) fn dedicated_tool(input: &Json) -> Option<(&'static str, &'static str)> {
    let command = command_of(input)?;
    let first = command.split_whitespace().next()?;
    DEDICATED_TOOLS.into_iter().find(|(program, _)| *program == first)
}

/// The word of a shell about a command before it runs: 2 and 3 of the list.
pub fn check(tool: &str, input: &Json) -> ToolCheck {
    let Some(command) = command_of(input) else { return ToolCheck::default() };
    if let Some(danger) = danger(&command) {
        return ToolCheck {
            permission: Some(PermissionWord::Ask),
            reason: Some(danger.to_string().into()),
            suggestions: suggestion(&danger, tool, input).into_iter().collect(),
            ..ToolCheck::default()
        };
    }
    let is_allowed = wants_sandbox(input) && only_prints(&command);
    ToolCheck { permission: is_allowed.then_some(PermissionWord::Allow), ..ToolCheck::default() }
}

/// Whether the input asks for a sandbox.
pub fn wants_sandbox(input: &Json) -> bool {
    RawObject::parse(input.as_str()).is_ok_and(|object| object.get("sandbox") == Some("true"))
}

/// The rule for the dangerous program, if it would make the question needless.
fn suggestion(danger: &Danger, tool: &str, input: &Json) -> Option<Arc<str>> {
    let about: Arc<str> = danger.suggested_rule(tool)?.into();
    let rule = PermissionRule { word: PermissionWord::Allow, about: about.clone(), source: RuleSource::CommandLine };
    RuleTarget::new(tool, true, input).deciding(core::iter::once(&rule)).map(|_| about)
}

/// Whether each program that the command starts does nothing but print, and nothing is written to a file.
fn only_prints(command: &str) -> bool {
    let is_printing = |text: &String| text.split(' ').next().is_some_and(|program| PRINTING.contains(&program));
    let writes_nothing = command_texts(command).is_some_and(|texts| texts.iter().all(|text| !text.writes));
    let programs = started_programs(command);
    writes_nothing && programs.are_all && programs.texts.iter().all(is_printing)
}

fn command_of(input: &Json) -> Option<String> {
    RawObject::parse(input.as_str()).ok()?.string("command").map(Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(command: &str, sandbox: bool) -> Json {
        Json::from_value(&serde_json::json!({ "command": command, "sandbox": sandbox }))
    }

    #[test]
    fn p_2_only_the_first_word_has_a_tool_of_its_own() {
        let of = |command: &str| dedicated_tool(&input(command, false)).map(|(_, tool)| tool);
        let table = [
            ("grep -r x .", Some("Grep")),
            ("  cat a", Some("Read")),
            ("find . -name a", Some("Glob")),
            ("ls", Some("Glob")),
            ("git log | head", None),
            ("catalog x", None),
            ("", None),
        ];
        for (command, expected) in table {
            assert_eq!(of(command), expected, "{command:?}");
        }
    }

    #[test]
    fn p_2_a_sandbox_lets_programs_print_unasked() {
        let word = |command: &str, sandbox| check("Bash", &input(command, sandbox)).permission;
        let (allow, ask) = (Some(PermissionWord::Allow), Some(PermissionWord::Ask));
        let table = [
            ("echo a", allow),
            ("pwd; date && which ls", allow),
            ("env", allow),
            ("A=1 env", allow),
            ("echo $(date)", allow),
            ("echo a > /dev/null", allow),
            ("echo a 2>&1", allow),
            ("echo a > b", None),
            ("echo a | tee b", None),
            ("env curl x", None),
            ("echo $(curl x)", None),
            ("echo `date`", None),
            ("git log", None),
            ("env rm a", ask),
            ("echo 'a", ask),
        ];
        for (command, expected) in table {
            assert_eq!(word(command, true), expected, "{command:?}");
            let without = expected.filter(|word| *word == PermissionWord::Ask);
            assert_eq!(word(command, false), without, "{command:?} without a sandbox");
        }
    }

    #[test]
    fn p_2_a_rule_is_suggested_where_it_would_do() {
        let of = |command: &str| check("Bash", &input(command, false)).suggestions;
        assert_eq!(of("rm -r a"), [Arc::from("Bash(rm *)")]);
        for command in ["cd a && rm b", "sudo rm a", "rm", "echo x > a; rm b"] {
            assert_eq!(of(command), [], "{command}");
        }
    }
}
