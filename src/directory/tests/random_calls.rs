//! Random files, calls and commands: the two workspaces never differ.

use std::env;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use reenact_tools::BuiltinTool;
use reenact_wire::json::Json;
use serde_json::{Value, json};

use super::WorkspacePair;

/// Paths of few names, so that calls meet.
fn path() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec!["a", "b.txt", "c.rs", "d", "x.log", ".h", "node_modules", "ü"]);
    prop::collection::vec(name, 1..4).prop_map(|names| names.join("/"))
}

/// A path without letters that GNU's programs quote in errors, as they do with an umlaut in this locale.
fn plain_path() -> impl Strategy<Value = String> {
    path().prop_map(|path| path.replace('ü', "u"))
}

fn content() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec!["a", "ab", "b", "TODO", "x1", " ", "é", "\t", "\n", "\n", "\n\n", "\r\n", "(", "$1", "."]);
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

fn ignore_file() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec![
        "*.log",
        "!x.log",
        "/a",
        "a/",
        "d",
        "!d",
        "**/c.rs",
        "a/**",
        "a/*",
        "!a/b.txt",
        "*.?s",
        "[a-c]*",
        "# no",
        "",
        "\\!x",
        "d/**/b.txt",
        "/d/*/",
        "!/d",
    ]);
    prop::collection::vec(line, 0..5).prop_map(|lines| lines.join("\n"))
}

fn expression() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "a", "b", "ab", "TODO", "^", "$", ".", "\\d", "\\s", "x*", "(a|b)", "[^a]", "\\b", "é", "\\.", "\\w+", "a?",
    ]);
    // An anchor behind a blank might stand between the two characters of a line end, which the two search in different ways.
    let is_plain = |pieces: &Vec<&str>| pieces.iter().skip(1).all(|piece| *piece != "^");
    prop::collection::vec(piece, 1..4).prop_filter("an anchor in the middle", is_plain).prop_map(|pieces| pieces.concat())
}

fn glob() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec!["*", "**", "/", "a", "b.txt", "?", "[a-c]", "[!a]", "{a,d}", "*.rs", "**/", "/**", ".", "ü"]);
    prop::collection::vec(piece, 1..5).prop_map(|pieces| pieces.concat())
}

/// Something that is done with the files.
#[derive(Clone, Debug)]
enum RandomDeed {
    Call(BuiltinTool, Value),
    Command(String),
    Place(String, String),
}

fn deed() -> impl Strategy<Value = RandomDeed> {
    let root = |path: String| format!("$ROOT/{path}");
    let read = (path(), prop::option::of(0_u64..5), prop::option::of(0_u64..5)).prop_map(move |(path, offset, limit)| {
        let mut input = json!({ "file_path": root(path) });
        input.as_object_mut().unwrap().extend(offset.map(|offset| (String::from("offset"), json!(offset))));
        input.as_object_mut().unwrap().extend(limit.map(|limit| (String::from("limit"), json!(limit))));
        RandomDeed::Call(BuiltinTool::Read, input)
    });
    let text = || prop::sample::select(vec!["a", "b", "ab", "TODO", "\n", "x1", "", "é", "$1"]);
    let edit = (path(), text(), text(), any::<bool>()).prop_map(move |(path, old, new, all)| {
        RandomDeed::Call(BuiltinTool::Edit, json!({ "file_path": root(path), "old_string": old, "new_string": new, "replace_all": all }))
    });
    let edits = prop::collection::vec((text(), text(), any::<bool>()), 0..3);
    let multi_edit = (path(), edits).prop_map(move |(path, edits)| {
        let edits: Vec<Value> =
            edits.iter().map(|(old, new, all)| json!({ "old_string": old, "new_string": new, "replace_all": all })).collect();
        RandomDeed::Call(BuiltinTool::MultiEdit, json!({ "file_path": root(path), "edits": edits }))
    });
    let write = (path(), content())
        .prop_map(move |(path, content)| RandomDeed::Call(BuiltinTool::Write, json!({ "file_path": root(path), "content": content })));
    let mode = prop::sample::select(vec!["files", "content", "count"]);
    let grep = (expression(), mode, (0_usize..3, 1_usize..4), any::<[bool; 2]>(), prop::option::of(glob()), prop::option::of(path())).prop_map(
        move |(pattern, mode, (context, matches), [case, multiline], glob, path)| {
            let mut input = json!({ "pattern": pattern, "output_mode": mode, "context": context, "matches": matches, "ignore_case": case, "multiline": multiline });
            input.as_object_mut().unwrap().extend(glob.map(|glob| (String::from("glob"), json!(glob))));
            input.as_object_mut().unwrap().extend(path.map(|path| (String::from("path"), json!(root(path)))));
            RandomDeed::Call(BuiltinTool::Grep, input)
        },
    );
    let list = (glob(), prop::option::of(path())).prop_map(move |(pattern, path)| {
        let mut input = json!({ "pattern": pattern });
        input.as_object_mut().unwrap().extend(path.map(|path| (String::from("path"), json!(root(path)))));
        RandomDeed::Call(BuiltinTool::Glob, input)
    });
    let place = (path(), content()).prop_map(|(path, content)| RandomDeed::Place(path, content));
    prop_oneof![3 => read, 3 => edit, 2 => multi_edit, 3 => write, 4 => grep, 3 => list, 6 => command().prop_map(RandomDeed::Command), 1 => place]
}

fn command() -> impl Strategy<Value = String> {
    let one = (
        prop::sample::select(vec![
            "cat P",
            "cat P P",
            "ls",
            "ls P",
            "ls P P",
            "ls -a P",
            "ls -A",
            "mkdir P",
            "mkdir -p P",
            "touch P",
            "touch P P",
            "rm P",
            "rm -r P",
            "rm -f P",
            "rm -rf P P",
            "cp P P",
            "cp -r P P",
            "mv P P",
            "mv P P P",
            "head -n 2 P",
            "head -1 P P",
            "tail -n 2 P",
            "tail -n +2 P P",
            "wc P",
            "wc -l P",
            "wc -lc P P",
            "echo one two",
            "echo -n x",
            "true",
            "false",
            "pwd",
        ]),
        [plain_path(), plain_path(), plain_path()],
        prop::option::weighted(0.2, (prop::sample::select(vec![">", ">>"]), plain_path())),
    );
    let one = one.prop_map(|(form, paths, redirection)| {
        let mut paths = paths.iter();
        let words: Vec<String> =
            form.split(' ').map(|word| if word == "P" { paths.next().cloned().unwrap_or_default() } else { word.to_owned() }).collect();
        // What a program gives that reads the file which it writes depends on its buffers.
        let redirection = redirection.filter(|(_, path)| !words.contains(path));
        let redirection = redirection.map_or_else(String::new, |(operator, path)| format!(" {operator} {path}"));
        format!("{}{redirection}", words.join(" "))
    });
    let joint = prop::sample::select(vec![" && ", " || ", "; ", "\n"]);
    prop::collection::vec((one, joint), 1..4).prop_map(|commands| {
        let last = commands.len() - 1;
        commands
            .iter()
            .enumerate()
            .map(|(index, (command, joint))| format!("{command}{}", if index == last { "" } else { joint }))
            .collect()
    })
}

/// Calls and commands are told with what they gave, if that differs.
fn difference(files: &[(String, String)], ignored: &[(String, String)], deeds: &[RandomDeed]) -> Option<String> {
    let mut pair = WorkspacePair::new(&[]);
    for (index, (path, content)) in files.iter().enumerate() {
        // A file that stands where another one needs a folder is left out.
        if pair.can_hold(path) {
            pair.place(path, content.as_bytes(), 1_000 + index as i64);
        }
    }
    for (folder, text) in ignored {
        let path = format!("{folder}/.gitignore");
        if pair.can_hold(&path) {
            pair.place(&path, text.as_bytes(), 10);
        }
    }
    for deed in deeds {
        let [directory, memory] = match deed {
            RandomDeed::Call(tool, input) => pair.call(*tool, &Json::from_value(input)),
            RandomDeed::Command(command) => pair.shell(command),
            RandomDeed::Place(path, content) => {
                if pair.can_hold(path) {
                    pair.place(path, content.as_bytes(), 5_000);
                }
                continue;
            }
        };
        // GNU's `cp` has copied a part of the folder by then.
        if memory.contains("into itself") {
            return None;
        }
        if directory != memory {
            return Some(format!("{deed:?}\n  directory: {directory}\n  memory:    {memory}"));
        }
        if pair.files()[0] != pair.files()[1] {
            return Some(format!("{deed:?}: other files than in memory: {:?}", pair.files()));
        }
    }
    None
}

#[test]
fn b_1_to_b_7_random_calls_give_the_same_on_both_workspaces() {
    #[expect(clippy::disallowed_methods, reason = "a longer run is asked for by hand")]
    let cases = env::var("REENACT_WORKSPACE_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(40);
    let mut runner = TestRunner::new_with_rng(
        Config { cases, failure_persistence: None, ..Config::default() },
        TestRng::deterministic_rng(RngAlgorithm::ChaCha),
    );
    let files = prop::collection::vec((path(), content()), 0..8);
    let ignored = prop::collection::vec((prop::sample::select(vec![".", "a", "d", "a/d"]).prop_map(String::from), ignore_file()), 0..3);
    let deeds = prop::collection::vec(deed(), 1..20);
    let result = runner.run(&(files, ignored, deeds), |(files, ignored, deeds)| match difference(&files, &ignored, &deeds) {
        None => Ok(()),
        Some(difference) => Err(TestCaseError::fail(difference)),
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}
