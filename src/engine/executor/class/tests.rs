//! Which commands only read, and what is said of single uses.

use super::*;
use crate::settings::ToolDefinition;
use reenact_wire::json::Json;

/// Commands that only read.
const SAFE: &[&str] = &[
    "ls",
    "ls -la /w",
    "  ls",
    "ls  ",
    "\tls\t/w",
    "ls *.rs",
    "ls A=1",
    "ls \"a b\" 'c d'",
    "'ls' /w",
    "cat a b",
    "cat \"it's\"",
    "head -n 3 a",
    "tail -5 a",
    "wc -l a",
    "grep -rn fn src",
    "grep -o 'a.c' x",
    "stat a",
    "file a",
    "file --mime-type a",
    "du -sh .",
    "df",
    "pwd",
    "echo hello",
    "echo --output=x",
    "true",
    "which cargo",
    "ls # a comment",
    "ls ünï-ço.dé",
    "git status",
    "git  status",
    "git status --short",
    "git log --oneline -5",
    "git log HEAD~3..HEAD^",
    "git diff --stat",
    "git diff --no-ext-diff HEAD -- src",
    "git show HEAD:a.rs",
    "git 'show' \"HEAD\"",
];

/// Commands that may write, and what is not understood.
const EXCLUSIVE: &[&str] = &[
    // Nothing, and what is no command.
    "",
    "   ",
    "\"\" ls",
    "make",
    "rm -rf x",
    "LS",
    "./ls",
    "/bin/ls",
    "~/ls",
    "lsof",
    "ls2 x",
    // They run or write what they are told.
    "find . -delete",
    "sort -o x y",
    "env ls",
    "xargs rm",
    "date -s 0",
    "rg --pre x y",
    "time ls",
    "! ls",
    // Several commands.
    "ls;rm x",
    "ls ; rm x",
    "ls&&rm x",
    "ls & rm x",
    "ls|tee x",
    "ls || rm x",
    "ls\nrm x",
    "echo a\nrm",
    "ls\rrm x",
    "ls\u{b}rm x",
    "ls\u{85}rm x",
    "ls\0x",
    // Redirections.
    "cat<x",
    "echo a>b",
    "echo a >> b",
    "ls 2>x",
    // What the shell replaces.
    "ls $(rm x)",
    "ls \"$(x)\"",
    "ls '$HOME'",
    "ls `rm x`",
    "echo \"`x`\"",
    "ls \\x",
    "l\\s",
    "ls {a,b}",
    "(ls)",
    "ls()",
    "{ ls",
    // Assignments before it.
    "A=1 ls",
    "LD_PRELOAD=x ls",
    "PAGER=x git log",
    // Quotes that are open.
    "ls \"a",
    "ls 'a",
    "ls \"a'",
    // Other white space.
    "ls\u{a0}x",
    "ls \u{2003}x",
    "git log\u{2003}--output=x",
    "git\u{a0}log",
    // What of git writes, or runs something else.
    "git",
    "git commit -m x",
    "git stash",
    "git Status",
    "git -c core.pager=x log",
    "git -C /w log",
    "git --git-dir=x log",
    "git --no-pager log",
    "git diff --output=x",
    "git diff --output x",
    "git diff \"--output=x\"",
    "git diff --out\"put\"=x",
    "git diff --outp=x",
    "git diff --o x",
    "git log -o x",
    "git log -ox",
    "git log -po x",
    "git diff -- --output=x",
    "git log --ext-diff",
    "git log --ext",
    "git show --e",
    "git diff *",
    "git diff '?'",
    // file writes its table of magic numbers.
    "file -C -m x",
    "file -bC",
    "file --compile",
    "file --comp",
    "file *",
];

#[test]
fn t_3_commands_that_only_read_are_safe_and_all_others_exclusive() {
    for command in SAFE {
        assert!(only_reads(command), "{command:?} only reads");
    }
    for command in EXCLUSIVE {
        assert!(!only_reads(command), "{command:?} is exclusive");
    }
}

fn tool_use(id: &str, input: &str) -> ToolUse {
    ToolUse { id: id.into(), name: "Bash".into(), input: ToolInput::read(input) }
}

#[test]
fn t_3_the_tool_is_asked_with_this_input() {
    let safe = |safety, input: &str| is_safe(safety, &BTreeMap::new(), &tool_use("t", input));
    let (reads, writes) = (r#"{"command":"ls"}"#, r#"{"command":"rm x"}"#);
    assert!(safe(ToolSafety::ByCommand, reads) && !safe(ToolSafety::ByCommand, writes));
    assert!(safe(ToolSafety::ByCommand, r#"{"command":"l\u0073"}"#), "an escape of JSON is none of the shell's");
    for input in ["{}", r#"{"command":5}"#, r#"{"command":null}"#, r#"{"command":["ls"]}"#, r#"{"command":"ls","command":"rm x"}"#] {
        assert!(!safe(ToolSafety::ByCommand, input), "{input}");
    }
    assert!(!safe(ToolSafety::ByCommand, r#"{"command":"ls","command":"ls"}"#), "of two nobody knows which one is run");
    for (safety, expected) in [(ToolSafety::Always, true), (ToolSafety::Never, false), (ToolSafety::Unknown, false)] {
        assert!(safe(safety, reads) == expected && safe(safety, writes) == expected, "{safety:?}");
    }
    assert!(!safe(ToolSafety::Always, r#"{"command""#), "what cannot be read is exclusive");
}

#[test]
fn t_3_what_is_said_of_a_use_wins_over_its_tool() {
    let said = BTreeMap::from([("toolu_1".into(), false), ("toolu_2".into(), true), ("toolu_1_3".into(), true)]);
    let safe = |safety, id: &str| is_safe(safety, &said, &tool_use(id, r#"{"command":"ls"}"#));
    assert!(!safe(ToolSafety::Always, "toolu_1") && safe(ToolSafety::Unknown, "toolu_2"));
    assert!(!safe(ToolSafety::Always, "toolu_1_2"), "an id that was made from it is the same use");
    assert!(safe(ToolSafety::Never, "toolu_1_3"), "an id of its own comes first");
    assert!(safe(ToolSafety::Always, "toolu_3") && !safe(ToolSafety::Never, "toolu_3"));
    assert!(!is_safe(ToolSafety::Always, &said, &tool_use("toolu_2", "[")), "not where the input is invalid");
}

#[test]
fn t_3_an_unknown_tool_and_an_unusable_input_are_exclusive() {
    let tools = vec![ToolDefinition::new("Bash", ToolSafety::ByCommand, Json::trusted("{}"))];
    let env = Environment { tools, safe_uses: BTreeMap::from([("u".into(), true)]), ..Environment::default() };
    let reads = tool_use("t", r#"{"command":"ls"}"#);
    let misfit = InputProblem::Misfit("command: wrong".into());
    assert_eq!(class_of(&env, &reads, None), ConcurrencyClass::Safe);
    assert_eq!(class_of(&env, &reads, Some(&misfit)), ConcurrencyClass::Exclusive);
    assert_eq!(class_of(&env, &tool_use("u", "{}"), Some(&misfit)), ConcurrencyClass::Exclusive);
    assert_eq!(class_of(&env, &ToolUse { name: "Bush".into(), ..tool_use("u", "{}") }, None), ConcurrencyClass::Exclusive);
}
