//! Tables of decisions: the rules on the left, the decision on the right.

use super::*;

fn tool(name: &str) -> ToolDefinition {
    let mut tool = ToolDefinition::new(name, None, Json::trusted("{}"));
    tool.reads_only = name == "Read";
    tool.edits = name == "Edit";
    tool.shell = name == "Bash";
    tool
}

/// Rules as `source word about`.
fn rules(rules: &[&str]) -> Vec<PermissionRule> {
    let rule = |text: &&str| {
        let mut parts = text.splitn(3, ' ');
        let (source, word, about) = (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
        PermissionRule {
            word: PermissionWord::from_word(word).unwrap(),
            about: about.into(),
            source: RuleSource::from_word(source).unwrap(),
        }
    };
    rules.iter().map(rule).collect()
}

/// One tool use, with the words of rules, hooks, check and mode about it.
#[derive(Clone, Default)]
struct PermissionCase {
    tool: &'static str,
    input: &'static str,
    mode: Option<PermissionMode>,
    rules: &'static [&'static str],
    hook: Option<PermissionWord>,
    check: Option<PermissionWord>,
    is_about_path: bool,
    dedicated_tools: bool,
}

impl PermissionCase {
    fn decision(&self) -> PermissionDecision {
        let settings = self.mode.map(|mode| PermissionSettings {
            mode,
            rules: rules(self.rules),
            directories: vec!["/more".into()],
            dedicated_tools: self.dedicated_tools,
        });
        let check = ToolCheck { permission: self.check, is_about_path: self.is_about_path, ..ToolCheck::default() };
        let (tool, input) = (tool(self.tool), Json::trusted(self.input));
        let question = PermissionQuestion {
            tool: &tool,
            input: &input,
            hooks: self.hook.map(|hook| (hook, "hook")),
            check: &check,
            cwd: "/w",
            texts: &ModelTexts::default(),
        };
        decide(question, settings.as_ref(), &PermissionContext::default())
    }

    fn word(&self) -> PermissionWord {
        match self.decision() {
            PermissionDecision::Allow => PermissionWord::Allow,
            PermissionDecision::Ask { .. } => PermissionWord::Ask,
            PermissionDecision::Deny { .. } => PermissionWord::Deny,
        }
    }
}

use PermissionMode::{AcceptEdits, Bypass, Default as Usual, Plan};
use PermissionWord as Hook;
use PermissionWord::{Allow, Ask, Deny};

const BASH: PermissionCase = PermissionCase {
    tool: "Bash",
    input: r#"{"command":"git log"}"#,
    mode: Some(Usual),
    rules: &[],
    hook: None,
    check: None,
    is_about_path: false,
    dedicated_tools: false,
};

#[test]
fn p_1_a_policy_rule_decides_otherwise_the_strictest_word() {
    let table: [(&[&str], PermissionWord); 11] = [
        (&[], Ask),
        (&["user allow Bash"], Allow),
        (&["user allow Read"], Ask),
        (&["user allow Bash", "user ask Bash(git *)"], Ask),
        (&["user ask Bash(git *)", "project allow Bash"], Ask),
        (&["user allow Bash", "local ask Bash", "user deny Bash(git *)"], Deny),
        (&["command_line allow Bash", "user deny Bash"], Deny),
        (&["user deny Bash", "policy allow Bash(git *)"], Allow),
        (&["policy ask Bash", "user deny Bash"], Ask),
        (&["policy allow Bash", "policy deny Bash(git *)"], Deny),
        (&["policy deny Bash", "user allow Bash"], Deny),
    ];
    for (rules, expected) in table {
        assert_eq!(PermissionCase { rules, ..BASH }.word(), expected, "{rules:?}");
    }
}

#[test]
fn p_1_modes() {
    let edit = |input| PermissionCase { tool: "Edit", input, ..BASH };
    let read = PermissionCase { tool: "Read", input: "{}", ..BASH };
    let inside = edit(r#"{"file_path":"/w/src/a.rs"}"#);
    let table = [
        (Usual, BASH, Ask, "undecided asks"),
        (Usual, inside.clone(), Ask, "edits too"),
        (AcceptEdits, inside.clone(), Allow, "inside the working directory"),
        (AcceptEdits, edit(r#"{"file_path":"src/a.rs"}"#), Allow, "relative to it"),
        (AcceptEdits, edit(r#"{"file_path":"/more/a"}"#), Allow, "an added directory"),
        (AcceptEdits, edit(r#"{"file_path":"/workshop/a"}"#), Ask, "compared by component"),
        (AcceptEdits, edit(r#"{"file_path":"/w/../etc/passwd"}"#), Ask, "outside by way of .."),
        (AcceptEdits, edit("{}"), Ask, "no path"),
        (AcceptEdits, BASH, Ask, "no edit"),
        (AcceptEdits, PermissionCase { rules: &["user deny Edit"], ..inside.clone() }, Deny, "a deny rule holds"),
        (AcceptEdits, PermissionCase { rules: &["user ask Edit"], ..inside.clone() }, Ask, "and so does an ask rule"),
        (Plan, read.clone(), Allow, "it only reads"),
        (Plan, BASH, Deny, "it may write"),
        (Plan, PermissionCase { rules: &["user allow Bash"], ..BASH }, Deny, "whatever a rule allows"),
        (Plan, PermissionCase { rules: &["user deny Read"], ..read.clone() }, Deny, "a deny rule holds"),
        (Plan, PermissionCase { rules: &["user ask Read"], ..read.clone() }, Ask, "an ask rule asks"),
        (Plan, PermissionCase { hook: Some(Hook::Allow), ..BASH }, Deny, "a hook cannot lift it"),
        (Bypass, BASH, Allow, "undecided is allowed"),
        (Bypass, PermissionCase { check: Some(Ask), ..BASH }, Allow, "and what the tool would ask"),
        (Bypass, PermissionCase { check: Some(Deny), ..BASH }, Allow, "and what it would not allow"),
        (Bypass, PermissionCase { rules: &["user deny Bash"], ..BASH }, Deny, "a deny rule holds"),
        (Bypass, PermissionCase { rules: &["user ask Bash"], ..BASH }, Ask, "an ask rule is no undecided case"),
        (Bypass, PermissionCase { hook: Some(Hook::Ask), ..BASH }, Ask, "a hook's question always reaches the person"),
    ];
    for (mode, case, expected, reason) in table {
        assert_eq!(PermissionCase { mode: Some(mode), ..case }.word(), expected, "{mode:?}: {reason}");
    }
}

#[test]
fn p_1_each_command_of_a_text_needs_a_rule_that_allows_it_and_any_is_enough_to_deny() {
    let table: [(&str, &[&str], PermissionWord); 30] = [
        ("git log; rm -r x", &["user allow Bash(git *)"], Ask),
        ("git log && git status", &["user allow Bash(git *)"], Allow),
        ("git add . && npm test", &["user allow Bash(git *)", "project allow Bash(npm *)"], Allow),
        ("git log | head", &["user allow Bash(git *)"], Ask),
        ("git log $(rm x)", &["user allow Bash(git *)"], Ask),
        ("git log $(git rev-parse a)", &["user allow Bash(git *)"], Allow),
        ("git log `rm x`", &["user allow Bash(git *)"], Ask),
        ("git log > /etc/hosts", &["user allow Bash(git *)"], Ask),
        ("git log > /dev/null 2>&1", &["user allow Bash(git *)"], Allow),
        ("git log; 'open", &["user allow Bash(git *)"], Ask),
        ("git log; rm -r x", &["user allow Bash(git log; rm -r x)"], Allow),
        ("git log; rm -r x", &["user allow Bash"], Allow),
        ("git log; rm -r x", &["user allow Bash", "user deny Bash(rm *)"], Deny),
        ("A=1 rm x", &["user allow Bash", "user deny Bash(rm *)"], Deny),
        ("sudo -u a rm x", &["user allow Bash", "user deny Bash(rm *)"], Deny),
        ("sh -c 'cd a && rm x'", &["user allow Bash", "user ask Bash(rm *)"], Ask),
        ("git rm x", &["user allow Bash", "user deny Bash(rm *)"], Allow),
        ("sudo /bin/rm x", &["user allow Bash", "user deny Bash(rm *)"], Deny),
        ("./rm x", &["user allow Bash", "user deny Bash(rm *)"], Deny),
        ("ls | xargs rm", &["user allow Bash", "user deny Bash(rm *)"], Deny),
        ("rmdir x", &["user allow Bash", "user deny Bash(rm *)"], Allow),
        ("case x in x) rm a;; esac", &["user allow Bash", "user deny Bash(rm *)"], Ask),
        ("rm${IFS}a", &["user allow Bash", "user deny Bash(rm *)"], Ask),
        ("$'rm' a", &["user allow Bash", "user ask Bash(rm *)"], Ask),
        ("$x a", &["user allow Bash"], Allow),
        ("$x a", &["user allow Bash", "user deny Read"], Allow),
        ("$x a", &["policy allow Bash", "user deny Bash(rm *)"], Allow),
        ("git log < /dev/tcp/1.2.3.4/80", &["user allow Bash(git *)"], Ask),
        ("git a; npm b", &["policy allow Bash(git *)", "user allow Bash(npm *)", "user deny Bash(npm b)"], Deny),
        ("git a; git b", &["policy allow Bash(git *)", "user deny Bash(git b)"], Allow),
    ];
    for (command, rules, expected) in table {
        let input = &*String::leak(serde_json::json!({ "command": command }).to_string());
        assert_eq!(PermissionCase { input, rules, ..BASH }.word(), expected, "{command} with {rules:?}");
    }
}

#[test]
fn p_2_a_command_is_looked_at_where_there_are_permissions() {
    let of = |command: &str| PermissionCase { input: String::leak(serde_json::json!({ "command": command }).to_string()), ..BASH };
    let asked = |reason: &str, suggestions: Vec<Arc<str>>| PermissionDecision::Ask { reason: reason.into(), suggestions };
    assert_eq!(of("rm x").decision(), asked("it starts rm", vec!["Bash(rm *)".into()]));
    assert_eq!(PermissionCase { mode: Some(Bypass), ..of("rm x") }.word(), Allow);
    assert_eq!(PermissionCase { mode: None, ..of("rm x") }.word(), Allow, "nothing is said about permissions");
    assert_eq!(PermissionCase { rules: &["user allow Bash(rm *)"], ..of("rm x") }.word(), Allow);
    let dedicated = PermissionCase { dedicated_tools: true, ..of("grep -r a .") };
    assert_eq!(dedicated.decision(), PermissionDecision::Deny { reason: "Grep does what grep does: use that tool".into() });
    assert_eq!(PermissionCase { rules: &["user allow Bash"], ..dedicated.clone() }.word(), Deny);
    assert_eq!(PermissionCase { rules: &["policy allow Bash"], ..dedicated.clone() }.word(), Allow);
    assert_eq!(PermissionCase { mode: Some(Bypass), ..dedicated.clone() }.word(), Allow);
    assert_eq!(PermissionCase { dedicated_tools: false, ..dedicated }.word(), Ask);
    let printing = PermissionCase { input: r#"{"command":"pwd","sandbox":true}"#, ..BASH };
    assert_eq!(printing.word(), Allow);
    assert_eq!(PermissionCase { rules: &["user ask Bash"], ..printing }.word(), Ask);
}

#[test]
fn p_2_rules_that_a_shell_suggests_stand_where_nothing_is_known_of_its_command() {
    let own = ToolCheck { suggestions: vec!["Bash(make *)".into()], ..ToolCheck::default() };
    let suggested = |command: &'static str| {
        let (tool, input) = (tool("Bash"), Json::trusted(command));
        let question =
            PermissionQuestion { tool: &tool, input: &input, hooks: None, check: &own, cwd: "/w", texts: &ModelTexts::default() };
        match decide(question, Some(&PermissionSettings::default()), &PermissionContext::default()) {
            PermissionDecision::Ask { suggestions, .. } => suggestions,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(suggested(r#"{"command":"make all"}"#), [Arc::from("Bash(make *)")]);
    assert_eq!(suggested(r#"{"command":"rm x"}"#), [Arc::from("Bash(rm *)")]);
}

#[test]
fn p_4_a_path_outside_is_asked_about_in_each_mode() {
    let read = PermissionCase { tool: "Read", input: r#"{"file_path":"/x"}"#, check: Some(Ask), is_about_path: true, ..BASH };
    let edit = PermissionCase { tool: "Edit", input: r#"{"file_path":"/w/link"}"#, ..read.clone() };
    for mode in [Usual, AcceptEdits, Plan, Bypass] {
        let read = PermissionCase { mode: Some(mode), ..read.clone() };
        assert_eq!(read.word(), Ask, "{mode:?}");
        assert_eq!(PermissionCase { rules: &["user allow Read"], ..read.clone() }.word(), Allow, "a rule answers it: {mode:?}");
        assert_eq!(PermissionCase { hook: Some(Hook::Allow), ..read.clone() }.word(), Allow, "a hook answers it: {mode:?}");
        let denied = PermissionCase { check: Some(Deny), rules: &["policy allow Read"], ..read.clone() };
        assert_eq!(denied.word(), Deny, "the list of denied paths wins over all: {mode:?}");
        assert_eq!(PermissionCase { is_about_path: false, check: Some(Deny), ..read }.word(), if mode == Bypass { Allow } else { Deny });
    }
    assert_eq!(PermissionCase { mode: Some(AcceptEdits), ..edit }.word(), Ask, "a link leads outside");
}

#[test]
fn t_24_a_hook_denies_asks_and_allows_what_no_rule_forbids() {
    let table: [(Hook, &[&str], Option<PermissionWord>, PermissionWord); 9] = [
        (Hook::Deny, &["policy allow Bash"], None, Deny),
        (Hook::Ask, &["policy allow Bash"], None, Ask),
        (Hook::Ask, &["user deny Bash"], None, Deny),
        (Hook::Allow, &[], None, Allow),
        (Hook::Allow, &["user ask Bash"], None, Ask),
        (Hook::Allow, &["user deny Bash"], None, Deny),
        (Hook::Allow, &[], Some(Ask), Allow),
        (Hook::Allow, &[], Some(Deny), Deny),
        (Hook::Ask, &[], Some(Allow), Ask),
    ];
    for (hook, rules, check, expected) in table {
        assert_eq!(PermissionCase { hook: Some(hook), rules, check, ..BASH }.word(), expected, "{hook:?} {rules:?} {check:?}");
    }
}

#[test]
fn t_24_the_tool_s_own_word_counts_where_nobody_decided() {
    let table: [(PermissionWord, &[&str], PermissionWord); 8] = [
        (Allow, &[], Allow),
        (Allow, &["user ask Bash"], Ask),
        (Allow, &["user deny Bash"], Deny),
        (Ask, &[], Ask),
        (Ask, &["user allow Bash"], Allow),
        (Deny, &[], Deny),
        (Deny, &["user allow Bash"], Deny),
        (Deny, &["policy allow Bash"], Allow),
    ];
    for (check, rules, expected) in table {
        assert_eq!(PermissionCase { check: Some(check), rules, ..BASH }.word(), expected, "{check:?} {rules:?}");
    }
}

#[test]
fn t_24_without_permissions_only_hooks_and_the_tool_have_a_word() {
    let none = PermissionCase { mode: None, ..BASH };
    assert_eq!(none.word(), Allow);
    assert_eq!(PermissionCase { hook: Some(Hook::Ask), ..none.clone() }.word(), Ask);
    assert_eq!(PermissionCase { hook: Some(Hook::Deny), ..none.clone() }.word(), Deny);
    assert_eq!(PermissionCase { check: Some(Ask), ..none.clone() }.word(), Ask);
    assert_eq!(PermissionCase { check: Some(Deny), ..none }.word(), Deny);
}

#[test]
fn t_24_a_question_says_why_and_which_rules_would_do() {
    let suggestions = || vec!["Bash(git log)".into(), "Bash".into()];
    let asked = |reason: &str| PermissionDecision::Ask { reason: reason.into(), suggestions: suggestions() };
    assert_eq!(BASH.decision(), asked("no rule decides it"));
    assert_eq!(PermissionCase { rules: &["local ask Bash(git *)"], ..BASH }.decision(), asked("rule Bash(git *) of local says ask"));
    assert_eq!(PermissionCase { hook: Some(Hook::Ask), ..BASH }.decision(), asked("hook"));
    let denied = PermissionCase { rules: &["policy deny Bash"], ..BASH }.decision();
    assert_eq!(denied, PermissionDecision::Deny { reason: "rule Bash of policy says deny".into() });
    let own = ToolCheck {
        permission: Some(Ask),
        reason: Some("it deletes".into()),
        suggestions: vec!["Bash(rm *)".into()],
        ..ToolCheck::default()
    };
    let (tool, input) = (tool("Bash"), Json::trusted("{}"));
    let question = PermissionQuestion { tool: &tool, input: &input, hooks: None, check: &own, cwd: "/w", texts: &ModelTexts::default() };
    let expected = PermissionDecision::Ask { reason: "it deletes".into(), suggestions: vec!["Bash(rm *)".into()] };
    assert_eq!(decide(question, None, &PermissionContext::default()), expected);
}

#[test]
fn t_11_and_t_24_what_the_session_learnt_counts_like_rules_of_the_command_line() {
    let (tool, input) = (tool("Bash"), Json::trusted(r#"{"command":"git log"}"#));
    let check = ToolCheck::default();
    let question = PermissionQuestion { tool: &tool, input: &input, hooks: None, check: &check, cwd: "/w", texts: &ModelTexts::default() };
    let settings = PermissionSettings { rules: rules(&["user ask Bash(rm *)"]), ..PermissionSettings::default() };
    let with = |change: &str| {
        let mut context = PermissionContext::default();
        context.apply(change);
        decide(question, Some(&settings), &context)
    };
    assert!(matches!(with("cwd=/x"), PermissionDecision::Ask { .. }));
    assert_eq!(with("allow Bash(git *)"), PermissionDecision::Allow);
    assert!(matches!(with("deny Bash"), PermissionDecision::Deny { .. }));
    assert!(matches!(with("mode plan"), PermissionDecision::Deny { .. }));
    assert_eq!(with("mode bypass"), PermissionDecision::Allow);
}
