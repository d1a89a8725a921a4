//! Tables of decisions: the rules on the left, the decision on the right.

use super::*;

fn tool(name: &str) -> ToolDefinition {
    let mut tool = ToolDefinition::new(name, None, Json::trusted("{}"));
    tool.reads_only = name == "Read";
    tool.edits = name == "Edit";
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
}

impl PermissionCase {
    fn decision(&self) -> PermissionDecision {
        let settings = self.mode.map(|mode| PermissionSettings { mode, rules: rules(self.rules), directories: vec!["/more".into()] });
        let check = ToolCheck { permission: self.check, ..ToolCheck::default() };
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

const BASH: PermissionCase =
    PermissionCase { tool: "Bash", input: r#"{"command":"git log"}"#, mode: Some(Usual), rules: &[], hook: None, check: None };

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
    let own = ToolCheck { permission: Some(Ask), reason: Some("it deletes".into()), suggestions: vec!["Bash(rm *)".into()], problem: None };
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
