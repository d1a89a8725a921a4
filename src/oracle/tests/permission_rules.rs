//! No tool starts against the rules of permissions, and nobody is asked without need (O-22).

use super::*;
use reenact_engine::contract::{FailureCause, HookOutcome, Note};
use reenact_engine::permission::{PermissionMode, PermissionRule, PermissionSettings, PermissionWord, RuleSource, ToolCheck};
use reenact_engine::settings::{CommandAction, SlashCommand};

const LS: &str = r#"{"command":"ls"}"#;

fn rule(word: PermissionWord, about: &str) -> PermissionRule {
    PermissionRule { word, about: about.into(), source: RuleSource::User }
}

/// A session with this mode and these rules.
fn under(mode: PermissionMode, rules: &[PermissionRule]) -> EventStory {
    EventStory::with(|settings| {
        settings.permissions = Some(PermissionSettings { mode, rules: rules.to_vec(), ..PermissionSettings::default() });
    })
}

impl EventStory {
    fn asks_about_ls(self, name: &str) -> Self {
        let tool_use = Arc::new(ToolUse { input: ToolInput::Valid(Json::trusted(LS)), ..tool_use(name, 0) });
        self.effect(Effect::AskPermission { run: run(0), tool_use, reason: "r".into(), suggestions: Vec::new() })
    }

    fn allows(self, rules: &[&str]) -> Self {
        let rules = rules.iter().map(|about| Arc::from(*about)).collect();
        self.person_says(0, PermissionAnswer::Allow { updated_input: None, rules })
    }

    /// An exclusive tool changes the context and has its result.
    fn changes(self, change: &str) -> Self {
        self.changes_soon(change).result(5)
    }

    fn changes_soon(self, change: &str) -> Self {
        let outcome = ToolOutcome { context_change: Some(change.into()), ..ToolOutcome::text("x") };
        let started = self.effect(Effect::StartTool { run: run(5), tool_use: Arc::new(tool_use("W", 5)) });
        started.input(Input::ToolEnded { run: run(5), outcome: Arc::new(outcome) })
    }

    fn o_22(&self) -> usize {
        self.times_broken("O-22")
    }
}

#[test]
fn o_22_no_tool_starts_against_a_rule_of_the_settings() {
    use PermissionWord::{Allow, Ask, Deny};
    let starts = |rules: &[PermissionRule]| under(PermissionMode::Bypass, rules).starts("R", 0, LS).o_22();
    assert_eq!(starts(&[]), 0);
    assert_eq!(starts(&[rule(Deny, "R")]), 1);
    assert_eq!(starts(&[rule(Deny, "R(rm *)")]), 0, "it is for another input");
    assert_eq!(starts(&[rule(Ask, "R(l*)"), rule(Allow, "R")]), 1, "nobody was asked");
    let policy = PermissionRule { source: RuleSource::Policy, ..rule(Allow, "R") };
    assert_eq!(starts(&[rule(Deny, "R"), policy]), 0, "a policy decides");
    let asked = |rules: &[PermissionRule]| under(PermissionMode::Bypass, rules).asks_about_ls("R").allows(&[]).starts("R", 0, LS).o_22();
    assert_eq!(asked(&[rule(Ask, "R")]), 0);
    assert_eq!(asked(&[rule(Deny, "R")]), 2, "a person cannot lift it, and is not asked");
    let earlier = ToolRun { request: RequestId { turn: 0, ..ASKED }, index: 0 };
    let orphan = Effect::StartTool { run: earlier, tool_use: Arc::new(tool_use("R", 0)) };
    assert_eq!(under(PermissionMode::Default, &[]).effect(orphan).o_22(), 0, "it was answered in an earlier session");
}

#[test]
fn o_22_where_nothing_is_decided_the_mode_decides() {
    let none = |mode| under(mode, &[]);
    assert_eq!(none(PermissionMode::Default).starts("R", 0, LS).o_22(), 1, "nothing allows it");
    assert_eq!(none(PermissionMode::Bypass).starts("R", 0, LS).o_22(), 0);
    assert_eq!(none(PermissionMode::AcceptEdits).starts("R", 0, LS).o_22(), 1, "it edits nothing");
    assert_eq!(none(PermissionMode::Plan).starts("R", 0, LS).o_22(), 1, "it does not only read");
    let checked = |word| {
        let check = ToolCheck { permission: Some(word), ..ToolCheck::default() };
        none(PermissionMode::Default).input(Input::ToolChecked { run: run(0), check }).starts("R", 0, LS).o_22()
    };
    assert_eq!(checked(PermissionWord::Allow), 0, "the tool allows it");
    assert_eq!(checked(PermissionWord::Ask), 1);
    let allow = HookOutcome { decision: Some(PermissionWord::Allow), ..HookOutcome::default() };
    assert_eq!(none(PermissionMode::Default).runs_hook(0).hook_ends(0, allow).starts("R", 0, LS).o_22(), 0, "a hook allows it");
    assert_eq!(EventStory::new().starts("R", 0, LS).o_22(), 0, "without permissions nobody decides");
}

#[test]
fn o_22_what_was_learnt_counts() {
    let session = || under(PermissionMode::Default, &[]);
    let again = |story: EventStory| story.effect(Effect::WithdrawPermission { run: run(0) }).result(0);
    let learnt = || again(session().asks_about_ls("R").allows(&["R(ls)"]));
    assert_eq!(learnt().starts("R", 0, LS).o_22(), 0, "it is allowed from now on");
    assert_eq!(learnt().asks_about_ls("R").o_22(), 1, "nobody need be asked any more");
    assert_eq!(again(session().asks_about_ls("R").allows(&["R(cat)"])).asks_about_ls("R").o_22(), 0);
    let bypass = || under(PermissionMode::Bypass, &[]);
    assert_eq!(bypass().changes("deny R").starts("R", 0, LS).o_22(), 1);
    assert_eq!(bypass().changes("deny R(rm *)").starts("R", 0, LS).o_22(), 0);
    assert_eq!(bypass().changes_soon("deny R").starts("R", 0, LS).o_22(), 0, "it may not be known yet");
    assert_eq!(bypass().changes("mode plan").starts("R", 0, LS).o_22(), 1);
    assert_eq!(bypass().changes_soon("mode plan").starts("R", 0, LS).o_22(), 0, "it may not be known yet");
    assert_eq!(
        under(PermissionMode::Plan, &[]).changes("mode bypass").starts("R", 0, LS).o_22(),
        1,
        "the plan was left by a tool against it"
    );
    assert_eq!(bypass().asks_about_ls("R").o_22(), 1, "the mode allows it");
    let stopped = bypass().starts("W", 5, LS).effect(Effect::StopTool { run: run(5) });
    let late = ToolOutcome { context_change: Some("deny R".into()), ..ToolOutcome::text("x") };
    let late = stopped.input(Input::ToolEnded { run: run(5), outcome: Arc::new(late) }).result(5);
    assert_eq!(late.starts("R", 0, LS).o_22(), 0, "who was told to stop changes nothing");
}

#[test]
fn o_22_a_command_brings_rules_when_its_prompt_begins() {
    let given = || {
        let story = EventStory::with(|settings| {
            settings.permissions = Some(PermissionSettings::default());
            let does = CommandAction::Ask("Look at it.".into());
            settings.session.slash_commands = true;
            settings.session.commands = vec![SlashCommand { name: "look".into(), does, allows: vec!["R".into()] }];
        });
        story.input(Input::Prompt { prompt: 2, content: [Block::text("/look here")].into() })
    };
    let begins = Effect::Emit(Emission::Init { prompt: 2, model: "m".into(), tools: Vec::new(), surroundings: Default::default() });
    assert_eq!(given().effect(begins.clone()).asks_about_ls("R").o_22(), 1, "nobody need be asked");
    assert_eq!(given().effect(begins).starts("R", 0, LS).o_22(), 0);
    assert_eq!(given().asks_about_ls("R").o_22(), 0, "it waits");
}

/// The tool uses that the model asks for, one after the other, are not permitted.
fn refuses(story: EventStory, input: &str) -> usize {
    let tool_use = ToolUse { input: ToolInput::Valid(Json::trusted(input)), ..tool_use("R", 0) };
    let block = Block::assembled(BlockKind::ToolUse(tool_use), Json::trusted("{}"));
    story.says(block).effect(Effect::Note(Note::ToolFailed { run: run(0), cause: FailureCause::Refused })).o_22()
}

#[test]
fn o_22_a_tool_is_refused_because_something_denies_it() {
    use PermissionWord::{Allow, Deny};
    assert_eq!(refuses(under(PermissionMode::Default, &[rule(Deny, "R(l*)")]), LS), 0);
    assert_eq!(refuses(under(PermissionMode::Default, &[rule(Deny, "R(rm *)")]), LS), 1);
    assert_eq!(refuses(under(PermissionMode::Plan, &[]), LS), 0, "it does not only read");
    assert_eq!(refuses(under(PermissionMode::Bypass, &[rule(Allow, "R")]), LS), 1);
    let check = ToolCheck { permission: Some(Deny), ..ToolCheck::default() };
    let checked = |mode| under(mode, &[]).input(Input::ToolChecked { run: run(0), check: check.clone() });
    assert_eq!(refuses(checked(PermissionMode::Default), LS), 0, "the tool denies it");
    assert_eq!(refuses(checked(PermissionMode::Bypass), LS), 1, "the mode overrides the tool");
    let other = HookOutcome { updated_input: Some(Json::trusted("{}")), ..HookOutcome::default() };
    let changed = under(PermissionMode::Default, &[]).says(use_block("R", 0)).runs_hook(0).hook_ends(0, other);
    let refused = changed.effect(Effect::Note(Note::ToolFailed { run: run(0), cause: FailureCause::Refused }));
    assert_eq!(refused.o_22(), 0, "what it was refused for is not seen");
}

#[test]
fn o_22_and_p_2_a_tool_that_denies_does_not_start() {
    let check = ToolCheck { permission: Some(PermissionWord::Deny), ..ToolCheck::default() };
    let checked = |story: EventStory| story.input(Input::ToolChecked { run: run(0), check: check.clone() }).starts("R", 0, LS).o_22();
    assert_eq!(checked(EventStory::new()), 1, "without any rules, too");
    assert_eq!(checked(under(PermissionMode::Bypass, &[])), 0);
    let policy = PermissionRule { source: RuleSource::Policy, ..rule(PermissionWord::Allow, "R") };
    assert_eq!(checked(under(PermissionMode::Default, &[policy])), 0, "a policy decides");
    assert_eq!(checked(under(PermissionMode::Default, &[rule(PermissionWord::Allow, "R")])), 1, "another rule does not");
}

/// P-1 and P-2, for commands of a shell: what starts unasked.
#[test]
fn o_22_and_p_2_commands_of_a_shell_are_read_one_by_one() {
    use PermissionWord::{Allow, Ask, Deny};
    let starts = |rules: &[PermissionRule], command: &str| {
        let mut environment = environment(|settings| {
            settings.permissions =
                Some(PermissionSettings { rules: rules.to_vec(), dedicated_tools: true, ..PermissionSettings::default() });
        });
        environment.tools[0].shell = true;
        let story =
            EventStory { oracles: Oracles::new(&environment), at: Time::ZERO }.input(Input::Prompt { prompt: 1, content: [].into() });
        let input = format!(r#"{{"command":{command:?},"sandbox":{}}}"#, command.starts_with("echo"));
        story.starts("R", 0, &input).o_22() == 0
    };
    let git = [rule(Allow, "R(git *)")];
    for (rules, command, expected) in [
        (&git[..], "git log", true),
        (&git, "git log; make", false),
        (&git, "git log > a", false),
        (&git, "git log; git show", true),
        (&[rule(Allow, "R(*)")], "make", true),
        (&[rule(Allow, "R(make)")], "make", true),
        (&[rule(Allow, "R(mak)")], "make", false),
        (&[rule(Allow, "R"), rule(Deny, "R(rm *)")], "sudo rm a", false),
        (&[rule(Allow, "R"), rule(Ask, "R(rm *)")], "make $(rm a)", false),
        (&[rule(Allow, "R"), rule(Deny, "R(rm *)")], "make \"$a", false),
        (&[], "echo a", true),
        (&[], "echo a > b", false),
        (&[], "echo a; rm b", false),
        (&[rule(Allow, "R")], "cat a", false),
        (&[rule(Allow, "R(cat *)")], "make | cat", false),
    ] {
        assert_eq!(starts(rules, command), expected, "{command} with {rules:?}");
    }
}

#[test]
fn o_22_what_is_denied_in_any_case_does_not_start_where_something_is_not_known() {
    use PermissionWord::{Ask, Deny};
    // A policy allows the tool that changes the context, so that its own start is no finding.
    let policy = PermissionRule { source: RuleSource::Policy, ..rule(PermissionWord::Allow, "W") };
    let open = |rules: &[PermissionRule]| {
        let rules = [rules, std::slice::from_ref(&policy)].concat();
        under(PermissionMode::Default, &rules).changes_soon("allow R").starts("R", 0, LS).o_22()
    };
    assert_eq!(open(&[]), 0, "the change may be known already");
    assert_eq!(open(&[rule(Deny, "R")]), 1);
    assert_eq!(open(&[rule(Ask, "R")]), 1, "a rule that allows lifts none that asks");
    let plan = under(PermissionMode::Plan, &[]);
    assert_eq!(plan.changes_soon("allow R").starts("R", 0, LS).o_22(), 2, "neither only reads");
    let path = ToolCheck { permission: Some(Deny), is_about_path: true, ..ToolCheck::default() };
    let checked = |mode| under(mode, &[rule(Ask, "R")]).input(Input::ToolChecked { run: run(0), check: path.clone() });
    assert_eq!(checked(PermissionMode::Bypass).changes_soon("mode bypass").starts("R", 0, LS).o_22(), 1);
    let path_alone = under(PermissionMode::Bypass, &[]).input(Input::ToolChecked { run: run(0), check: path.clone() });
    assert_eq!(path_alone.changes_soon("mode bypass").starts("R", 0, LS).o_22(), 1, "no rule is about it, and the path is denied");
    let changed = PermissionAnswer::Allow { updated_input: Some(Json::trusted("{}")), rules: Vec::new() };
    let by_person = |story: EventStory| story.asks_about_ls("R").person_says(0, changed.clone()).starts("R", 0, "{}").o_22();
    assert_eq!(by_person(under(PermissionMode::Default, &[rule(Ask, "R(l*)")])), 0);
    assert_eq!(by_person(checked(PermissionMode::Default)), 2, "the path is denied: nobody is asked, and it does not start");
}
