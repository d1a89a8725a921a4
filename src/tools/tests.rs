//! The tools over a workspace in memory: faults, races with other processes, commands that sleep.

use proptest::prelude::*;
use reenact_engine::contract::{FailureCause, ToolOutcome};
use reenact_engine::permission::PermissionWord;
use reenact_engine::permission::path::PathAccess;
use reenact_engine::time::Micros;
use reenact_wire::json::Json;
use reenact_wire::prelude::*;
use serde_json::json;

use crate::call::BuiltinCall;
use crate::outcome::text_of;
use crate::read_state::ReadState;
use crate::shell_run::{CallStep, ShellRun};
use crate::todo::TodoList;
use crate::virtual_workspace::{VirtualWorkspace, WorkspaceFault, WorkspaceFaultKind};
use crate::workspace::Workspace;
use crate::{BuiltinTool, ToolSite, instructions};

/// A session with files in `/w`.
struct ToolSession {
    workspace: VirtualWorkspace,
    read: ReadState,
    todos: TodoList,
}

impl ToolSession {
    fn new(files: &[(&str, &str)]) -> Self {
        let mut workspace = VirtualWorkspace::new("/w");
        for (path, content) in files {
            workspace.place(path, content.as_bytes(), -1_000_000);
        }
        Self { workspace, read: ReadState::default(), todos: TodoList::default() }
    }

    fn with<R>(&mut self, body: impl FnOnce(&mut ToolSite<'_, VirtualWorkspace>) -> R) -> R {
        let access = PathAccess { directories: vec!["/w".into()], denied: vec!["/w/never".into()] };
        body(&mut ToolSite { workspace: &mut self.workspace, read: &mut self.read, todos: &mut self.todos, access: &access })
    }

    fn begin(&mut self, tool: BuiltinTool, input: &serde_json::Value) -> (BuiltinCall, CallStep) {
        let mut call = tool.call(&Json::from_value(input)).unwrap();
        let step = self.with(|site| call.step(site));
        (call, step)
    }

    fn end(&mut self, call: &mut BuiltinCall) -> ToolOutcome {
        match self.with(|site| call.step(site)) {
            CallStep::Done(outcome) => outcome,
            step => panic!("{step:?}"),
        }
    }

    fn call(&mut self, tool: BuiltinTool, input: &serde_json::Value) -> String {
        let (mut call, mut step) = self.begin(tool, input);
        while step == CallStep::Work {
            step = self.with(|site| call.step(site));
        }
        let CallStep::Done(outcome) = step else { panic!("{step:?}") };
        format!("{}{}", if outcome.is_error { "error: " } else { "" }, text_of(&outcome))
    }

    fn shell(&mut self, command: &str) -> (Vec<CallStep>, ToolOutcome) {
        let mut run = ShellRun::new(command, Micros::from_secs(10));
        let mut steps = Vec::new();
        loop {
            match self.workspace.run_shell(&mut run) {
                CallStep::Done(outcome) => return (steps, outcome),
                step => steps.push(step),
            }
        }
    }
}

#[test]
fn b_2_a_file_that_another_process_changes_during_an_edit_is_not_overwritten() {
    let mut session = ToolSession::new(&[("a", "one\n")]);
    session.call(BuiltinTool::Read, &json!({ "file_path": "/w/a" }));
    let edit = json!({ "file_path": "/w/a", "old_string": "one", "new_string": "two" });
    let (mut call, step) = session.begin(BuiltinTool::Edit, &edit);
    assert_eq!(step, CallStep::Work);
    session.workspace.place("a", b"three\n", 5);
    assert_eq!(text_of(&session.end(&mut call)), "/w/a: the file has changed since it was read; read it again");
    assert_eq!(session.call(BuiltinTool::Edit, &edit), "error: /w/a: the file has changed since it was read; read it again");
    assert_eq!(session.shell("cat a").1.content.as_str(), "\"three\"");
    session.call(BuiltinTool::Read, &json!({ "file_path": "/w/a" }));
    assert_eq!(session.call(BuiltinTool::Edit, &edit), "error: /w/a: the old text is not in the file");
    // Taken away, and made, in the meantime.
    let (mut call, _) = session.begin(BuiltinTool::Edit, &json!({ "file_path": "/w/a", "old_string": "three", "new_string": "four" }));
    session.workspace.displace("a");
    assert_eq!(text_of(&session.end(&mut call)), "/w/a: the file has gone since it was read");
    let (mut call, _) = session.begin(BuiltinTool::Write, &json!({ "file_path": "/w/new", "content": "mine" }));
    session.workspace.place("new", b"theirs", 7);
    assert_eq!(text_of(&session.end(&mut call)), "/w/new: somebody else has made this file in the meantime; read it first");
}

#[test]
fn b_2_what_a_tool_has_written_may_be_edited_again() {
    let mut session = ToolSession::new(&[("a", "one\n")]);
    let edit = |old: &str, new: &str| json!({ "file_path": "/w/a", "old_string": old, "new_string": new });
    assert_eq!(session.call(BuiltinTool::Edit, &edit("one", "two")), "error: /w/a: the file was not read; read it first");
    assert_eq!(
        session.call(BuiltinTool::Write, &json!({ "file_path": "/w/a", "content": "x" })),
        "error: /w/a: the file was not read; read it first"
    );
    session.call(BuiltinTool::Read, &json!({ "file_path": "/w/a", "limit": 1 }));
    for (now, (old, new)) in (1..).zip([("one", "two"), ("two", "three")]) {
        session.workspace.set_clock(now);
        assert!(session.call(BuiltinTool::Edit, &edit(old, new)).starts_with("/w/a: 1 replacement\n"));
    }
    session.workspace.set_clock(9);
    assert_eq!(session.call(BuiltinTool::Write, &json!({ "file_path": "/w/a", "content": "x\ny" })), "/w/a: written anew, 2 lines");
    assert_eq!(session.call(BuiltinTool::Read, &json!({ "file_path": "/w/a" })), "1\tx\n2\ty");
}

#[test]
fn m_7_faults_of_a_workspace() {
    let fault = |path: &str, kind| WorkspaceFault { path: path.into(), kind };
    let mut session = ToolSession::new(&[("a", "one\n"), ("locked/b", "two\n"), ("locked-not", "three\n")]);
    session.workspace = session.workspace.clone().with_faults([
        fault("/w/a", WorkspaceFaultKind::Full),
        fault("/w/locked", WorkspaceFaultKind::Denied),
        fault("/w/s", WorkspaceFaultKind::Slow),
    ]);
    session.call(BuiltinTool::Read, &json!({ "file_path": "/w/a" }));
    let edit = json!({ "file_path": "/w/a", "old_string": "one", "new_string": "two" });
    assert_eq!(session.call(BuiltinTool::Edit, &edit), "error: /w/a: no space left on device");
    assert_eq!(session.call(BuiltinTool::Read, &json!({ "file_path": "/w/a" })), "1\tone", "the old file is whole");
    assert_eq!(session.call(BuiltinTool::Read, &json!({ "file_path": "/w/locked/b" })), "error: /w/locked/b: permission denied");
    assert_eq!(session.call(BuiltinTool::Read, &json!({ "file_path": "/w/locked-not" })), "1\tthree");
    assert_eq!(session.call(BuiltinTool::Grep, &json!({ "pattern": "t" })), "/w/locked-not", "what may not be read is passed over");
    assert_eq!(session.shell("echo x > a").1.content.as_str(), "\"sh: 1: cannot create a: No space left on device\\nexit code 2\"");
    assert_eq!(
        session.shell("cat locked/b; rm -r locked").1.content.as_str(),
        "\"cat: locked/b: Permission denied\\nrm: cannot remove 'locked': Permission denied\\nexit code 1\""
    );
    assert!(session.workspace.is_slow("/w/s/x") && !session.workspace.is_slow("/w/a"));
}

#[test]
fn b_5_commands_sleep_and_tell_what_they_have_printed() {
    let mut session = ToolSession::new(&[]);
    let (steps, outcome) = session.shell("echo a; sleep 2 && echo b > f; sleep 1; cat f");
    let progress = CallStep::Progress { text: "a\n".into(), kind: reenact_engine::contract::ProgressKind::Stdout };
    assert_eq!(steps, [progress, CallStep::Sleep(Micros::from_secs(2)), CallStep::Sleep(Micros::from_secs(1))]);
    assert_eq!(text_of(&outcome), "a\nb");
    let (steps, outcome) = session.shell("sleep 8; echo x > g; sleep 8; echo y > g");
    assert_eq!(steps, [CallStep::Sleep(Micros::from_secs(8)), CallStep::Sleep(Micros::from_secs(2))], "it has ten seconds");
    assert_eq!((outcome.cause, text_of(&outcome).as_str()), (Some(FailureCause::TimedOut), "(ended after 10 s, which is its timeout)"));
    assert_eq!(text_of(&session.shell("cat g").1), "x", "what came before the end was done");
}

#[test]
fn b_5_nothing_is_run_of_a_command_that_is_not_understood() {
    let mut session = ToolSession::new(&[]);
    for command in [
        "touch t; grep x",
        "touch t; cat t | wc",
        "touch t; echo $X",
        "touch t; echo $(ls)",
        "touch t; ls *",
        "touch t 2>e",
        "touch t &",
        "touch t; (ls)",
        "touch t; X=1 ls",
        "touch t; if true; then ls; fi",
        "touch t; cat <<E\nx\nE",
        "touch t; 'ls",
        "touch t; ls --all",
        "touch t; sleep x",
        "touch t; exit x",
        "touch t; echo a > b > c",
    ] {
        let (_, outcome) = session.shell(command);
        assert!(outcome.is_error && text_of(&outcome).contains("does not interpret"), "{command}: {}", text_of(&outcome));
        assert_eq!(text_of(&session.shell("ls").1), "", "{command}");
    }
}

#[test]
fn b_5_of_much_output_the_beginning_is_kept() {
    let mut run = ShellRun::new("x", Micros::from_secs(1));
    for _ in 0..30 {
        run.print(&"é".repeat(50_000));
    }
    assert!(run.output.len() < (1 << 20) + 100 && run.output.ends_with("(cut: the rest of more than 1 MiB is left out)\n"));
}

#[test]
fn p_2_and_p_4_a_check_asks_or_denies() {
    let mut session = ToolSession::new(&[("a", "one\n")]);
    let mut check = |tool: BuiltinTool, input: serde_json::Value| session.with(|site| tool.check(&Json::from_value(&input), site));
    assert_eq!(check(BuiltinTool::Read, json!({ "file_path": "/w/a" })).permission, None);
    assert_eq!(check(BuiltinTool::Read, json!({ "file_path": "/wide/a" })).permission, Some(PermissionWord::Ask));
    assert_eq!(check(BuiltinTool::Grep, json!({ "pattern": "x", "path": "../v" })).permission, Some(PermissionWord::Ask));
    let denied = check(BuiltinTool::Write, json!({ "file_path": "never/a", "content": "" }));
    assert_eq!(
        (denied.permission, denied.reason.as_deref()),
        (Some(PermissionWord::Deny), Some("/w/never/a is never to be read or written"))
    );
    let dangerous = check(BuiltinTool::Bash, json!({ "command": "rm -r a" }));
    assert_eq!((dangerous.permission, dangerous.suggestions), (Some(PermissionWord::Ask), vec!["Bash(rm *)".into()]));
    assert_eq!(check(BuiltinTool::Bash, json!({ "command": "ls" })).permission, None);
    let problem = |check: reenact_engine::permission::ToolCheck| check.problem.map(|problem| problem.to_string());
    assert_eq!(
        problem(check(BuiltinTool::Edit, json!({ "file_path": "a", "old_string": "one", "new_string": "x" }))).as_deref(),
        Some("/w/a: the file was not read; read it first")
    );
    assert_eq!(
        problem(check(BuiltinTool::TodoWrite, json!({ "todos": [{ "content": "", "status": "pending" }] }))).as_deref(),
        Some("item 1 has no text")
    );
    assert!(
        problem(check(BuiltinTool::Read, json!({ "path": "a" }))).unwrap().starts_with("the input does not fit: missing field `file_path`")
    );
}

#[test]
fn b_10_at_most_one_item_is_in_progress() {
    let mut session = ToolSession::new(&[]);
    let item = |status: &str| json!({ "content": "a", "status": status });
    assert_eq!(
        session.call(BuiltinTool::TodoWrite, &json!({ "todos": [item("in_progress"), item("pending"), item("completed")] })),
        "the list has 3 items: 1 done, 1 in progress, 1 to do"
    );
    assert_eq!(
        session.call(BuiltinTool::TodoWrite, &json!({ "todos": [item("in_progress"), item("in_progress")] })),
        "error: 2 items are in progress; at most one may be"
    );
    assert_eq!(session.todos.0.len(), 3, "the list before is kept");
}

#[test]
fn p_5_every_tool_has_a_definition_and_instructions() {
    let all = instructions::instructions(&BuiltinTool::ALL);
    assert_eq!(
        all,
        instructions::instructions(&BuiltinTool::ALL.iter().rev().copied().collect::<Vec<_>>()),
        "the order of the set does not matter"
    );
    for tool in BuiltinTool::ALL {
        let definition = tool.definition().json.to_value();
        let schema = &definition["input_schema"];
        for required in schema["required"].as_array().unwrap() {
            assert!(schema["properties"].get(required.as_str().unwrap()).is_some(), "{} {required}", tool.as_str());
        }
        assert!(all.contains(&format!("\n## {}\n\n{}", tool.as_str(), tool.texts().description)), "{}", tool.as_str());
        assert_eq!(BuiltinTool::from_name(tool.as_str()), Some(tool));
    }
    assert!(!instructions::instructions(&[BuiltinTool::Read]).contains("## Edit"));
}

proptest! {
    /// Each part of a tool's input may be anything.
    #[test]
    fn b_5_no_command_and_no_input_panics(command in "[ -~\n]{0,40}", words in prop::collection::vec(prop::sample::select(vec!["cp", "mv", "rm", "-r", "a", "a/b", "/", ".", "..", "/w", "&&", ";", ">", "sleep", "1e300", "head", "-n", "99999999999999999999", "tail", "+0", "wc", "ls", "mkdir", "-p", "touch", "exit", "999"]), 0..8)) {
        let mut session = ToolSession::new(&[("a/b", "x"), ("c", "")]);
        session.shell(&command);
        session.shell(&words.join(" "));
        session.call(BuiltinTool::Grep, &json!({ "pattern": command, "glob": command }));
        session.call(BuiltinTool::Glob, &json!({ "pattern": command }));
        session.call(BuiltinTool::Write, &json!({ "file_path": command, "content": command }));
        session.call(BuiltinTool::Read, &json!({ "file_path": command, "offset": u64::MAX, "limit": u64::MAX }));
    }
}
