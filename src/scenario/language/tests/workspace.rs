//! `[workspace]`, and what is expected of its files.

use super::{prompt, reads_back, side};
use crate::boundary::BoundarySide;
use crate::interrupt::{InterruptMoment, InterruptTrigger, ReachedState};
use crate::parse;
use crate::types::{Expectations, Scenario};
use crate::workspace::{ScriptedFileChange, ScriptedFileFault, WorkspaceScript};
use reenact_engine::contract::Agent;
use reenact_engine::time::Micros;
use reenact_tools::virtual_workspace::WorkspaceFaultKind;
use reenact_wire::prelude::*;

#[test]
fn b_1_the_files_of_a_session_read_back() {
    let files = vec![("src/a b.txt".into(), "one\n\"two\"\n".into()), ("empty".into(), String::new())];
    let anchor = InterruptTrigger::Tool { name: "Read".into(), state: ReachedState::Completed, nth: 2 };
    let when = InterruptMoment::When { anchor, agent: Agent::ROOT, side: BoundarySide::Before, offset: Micros::ZERO };
    let change = |text: Option<&str>, may| ScriptedFileChange {
        moment: if may { InterruptMoment::At(Micros::from_secs(2)) } else { when.clone() },
        path: "src/a b.txt".into(),
        text: text.map(Into::into),
        may,
    };
    let fault = |kind| ScriptedFileFault { path: "src".into(), kind };
    let script = WorkspaceScript {
        dir: Some("fixture".into()),
        files: files.clone(),
        mtime: [("empty".into(), Micros::from_secs(90))].into(),
        change: vec![change(Some("three"), true), change(None, false)],
        fault: WorkspaceFaultKind::ALL.map(fault).to_vec(),
    };
    let expect = Expectations { files, absent: vec!["src/b".into()], may: true, ..Expectations::default() };
    for workspace in [WorkspaceScript::default(), script] {
        reads_back(&Scenario {
            workspace: Some(workspace),
            expect: expect.clone(),
            sides: vec![side()],
            prompts: vec![prompt("hi")],
            ..Scenario::default()
        });
    }
}

#[test]
fn b_1_mistakes_in_a_workspace_are_told() {
    let told = |workspace: &str| {
        let text = format!("{workspace}\n[[prompt]]\ntext = \"hi\"\n[[prompt.turn]]\ntext = \"hi\"\n");
        parse::scenario("x.toml", &text, &[]).map_or_else(|report| report.to_string(), |_| String::from("fine"))
    };
    for (workspace, problem) in [
        ("[workspace]\nfiles = { \"../a\" = \"\" }", "`../a` is no path in the folder"),
        ("[workspace]\ndir = \"\"", "`dir` is empty"),
        ("[workspace]\nfiles = { \"/a\" = \"\" }", "`/a` is no path in the folder"),
        ("[workspace]\nfiles = { a = \"\", \"a/b\" = \"\" }", "`a` is a file, and the folder of `a/b`"),
        ("[[workspace.change]]\nat = \"1s\"\npath = \"a\"", "needs a change"),
        ("[[workspace.change]]\nat = \"1s\"\npath = \"a/\"\ntext = \"\"", "`a/` is no path in the folder"),
        ("[[workspace.change]]\npath = \"a\"\nremoved = true", "needs `at` or `when`"),
        ("[workspace]\nfiles = { a = \"\" }\nmtime = { b = \"1s\" }", "`mtime` names `b`"),
        ("[expect]\nfiles = { a = \"\" }", "are about the files of a [workspace]"),
        ("[workspace]\nfiles = { \"a.txt\" = \"\" }\n[expect]\nabsent = [\"a.tx\"]", "`absent` names `a.tx`"),
        ("[workspace]\nfiles = { \"a.txt\" = \"\" }\n[expect]\nabsent = [\"/w/a.txt\"]", "`/w/a.txt` is no path in the folder"),
        ("[workspace]\nfiles = { \"a.txt\" = \"\" }\n[[workspace.fault]]\npath = \"b\"\nkind = \"full\"", "[[workspace.fault]] names `b`"),
        ("[workspace]\nfiles = { \"a.txt\" = \"\" }\n[[workspace.change]]\nat = \"1s\"\npath = \"b\"\nremoved = true", "names `b`"),
        ("[workspace]\nfiles = { a = \"\" }\n[[workspace.change]]\nat = \"1s\"\npath = \"a/b\"\ntext = \"\"", "`a` is a file"),
        ("[[workspace.fault]]\npath = \"a\"\nkind = \"fll\"", "`full`"),
    ] {
        assert!(told(workspace).contains(problem), "{workspace}: {}", told(workspace));
    }
}
