//! A table of calls (B-1 to B-7, B-10), and one of commands (B-5).
//!
//! Known to differ, and left out here: an anchor inside of an expression (`$^`, `\\s^`) in lines that end in a carriage return; files in UTF-16, which
//! ripgrep's library reads as text; a folder copied into itself, of which GNU's `cp` has copied a part by the time it says so; a program that reads the
//! file which it writes; how errors quote names with other letters than ASCII.

use reenact_tools::BuiltinTool;
use reenact_wire::json::Json;
use serde_json::{Value, json};

use super::WorkspacePair;

/// The files of the tables: the first one is the newest.
pub(crate) fn files() -> Vec<(&'static str, Vec<u8>)> {
    let numbers: String = (1..=3_000).map(|number| format!("line {number}\n")).collect();
    let png = base64_of("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==");
    vec![
        ("a.txt", b"alpha\nbeta\ngamma\n".to_vec()),
        ("empty", Vec::new()),
        ("no-end", b"one\ntwo".to_vec()),
        ("crlf.txt", b"one\r\ntwo\r\nthree\r\n".to_vec()),
        ("mixed.txt", b"one\r\ntwo\nthree\r\n".to_vec()),
        ("mark.txt", b"\xef\xbb\xbfone\ntwo\n".to_vec()),
        ("mark-crlf.txt", b"\xef\xbb\xbfone\r\ntwo\r\n".to_vec()),
        ("numbers.txt", numbers.into_bytes()),
        ("long.txt", format!("short\n{}\nend\n", "x".repeat(5_000)).into_bytes()),
        ("binary.bin", b"alpha\0beta\n".to_vec()),
        ("latin1.txt", b"caf\xe9\n".to_vec()),
        ("umlaut.txt", "für alle\nÄpfel\n".as_bytes().to_vec()),
        ("picture.png", png),
        ("page.pdf", b"%PDF-1.4 tiny".to_vec()),
        (
            "book.ipynb",
            br#"{"cells":[{"cell_type":"code","source":["1+1"],"outputs":[{"output_type":"stream","text":["2\n"]}]}]}"#.to_vec(),
        ),
        ("odd.ipynb", b"no json".to_vec()),
        ("src/main.rs", b"fn main() {\n    // TODO: say more\n    println!(\"hello\");\n}\n".to_vec()),
        (
            "src/lib.rs",
            b"//! TODO\npub fn twice(x: u32) -> u32 {\n    x * 2\n}\n\n// TODO: thrice\npub fn thrice(x: u32) -> u32 {\n    x * 3\n}\n"
                .to_vec(),
        ),
        ("src/deep/a.rs", b"const A: u8 = 1; // todo\n".to_vec()),
        ("src/deep/b.txt", b"TODO in a text\n".to_vec()),
        (".gitignore", b"*.log\n!keep.log\nbuild/\n/top.txt\n".to_vec()),
        ("x.log", b"TODO: ignored\n".to_vec()),
        ("keep.log", b"TODO: kept\n".to_vec()),
        ("build/out.txt", b"TODO: built\n".to_vec()),
        ("top.txt", b"TODO: top\n".to_vec()),
        ("src/top.txt", b"TODO: not the top\n".to_vec()),
        ("node_modules/m/i.js", b"TODO: of others\n".to_vec()),
        (".git/HEAD", b"TODO: of git\n".to_vec()),
        (".hidden", b"TODO: hidden\n".to_vec()),
        ("archive.zip", b"TODO: no archive\n".to_vec()),
    ]
}

fn base64_of(text: &str) -> Vec<u8> {
    let value = |byte: u8| b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".iter().position(|known| *known == byte);
    let bits: Vec<u32> = text.bytes().filter_map(value).map(|value| value as u32).collect();
    let bytes = bits.chunks(4).flat_map(|four| {
        let word = four.iter().fold(0_u32, |word, value| (word << 6) | value) << (6 * (4 - four.len()));
        word.to_be_bytes()[1..four.len()].to_vec()
    });
    bytes.collect()
}

/// Calls in order: those of a tool that has to read first come behind one that reads.
fn table() -> Vec<(BuiltinTool, Value)> {
    [reads(), changes(), searches(), lists()].concat()
}

fn path(name: &str) -> String {
    format!("$ROOT/{name}")
}

fn reads() -> Vec<(BuiltinTool, Value)> {
    let mut calls: Vec<(BuiltinTool, Value)> = Vec::new();
    for (name, _) in files() {
        calls.push((BuiltinTool::Read, json!({ "file_path": path(name) })));
        calls.push((BuiltinTool::Read, json!({ "file_path": path(name), "offset": 2, "limit": 1 })));
    }
    for (offset, limit) in [(1, 1), (1, 3), (3, 1), (3, 5), (4, 1), (100, 10), (1, 2_000), (2_999, 2), (3_000, 1), (3_001, 1)] {
        calls.push((BuiltinTool::Read, json!({ "file_path": path("numbers.txt"), "offset": offset, "limit": limit })));
        calls.push((BuiltinTool::Read, json!({ "file_path": path("a.txt"), "offset": offset, "limit": limit })));
    }
    for name in ["missing", "src", "src/missing/x", "a.txt/below", "", "./a.txt", "src/../a.txt", "//a.txt", "../outside", "no-end/"] {
        calls.push((BuiltinTool::Read, json!({ "file_path": path(name) })));
        calls.push((BuiltinTool::Write, json!({ "file_path": path(name), "content": "new\n" })));
        calls.push((BuiltinTool::Edit, json!({ "file_path": path(name), "old_string": "alpha", "new_string": "omega" })));
    }
    calls.push((BuiltinTool::Read, json!({ "file_path": "a.txt" })));
    calls.push((BuiltinTool::Read, json!({ "file_path": "/etc/passwd" })));
    calls.push((BuiltinTool::Read, json!({ "path": "a.txt" })));
    calls
}

fn changes() -> Vec<(BuiltinTool, Value)> {
    let mut calls: Vec<(BuiltinTool, Value)> = Vec::new();
    for name in ["a.txt", "crlf.txt", "mixed.txt", "mark.txt", "mark-crlf.txt", "no-end", "umlaut.txt", "latin1.txt", "empty", "src/lib.rs"]
    {
        calls.push((BuiltinTool::Read, json!({ "file_path": path(name) })));
        for (old, new) in [
            ("one\ntwo", "1\n2"),
            ("beta", "$1 \\1 $&"),
            ("für", "FÜR"),
            ("missing", "x"),
            ("", "x"),
            ("e", "e"),
            ("TODO", "DONE"),
            ("one", "eins\n"),
        ] {
            calls.push((BuiltinTool::Edit, json!({ "file_path": path(name), "old_string": old, "new_string": new })));
        }
        calls.push((
            BuiltinTool::Edit,
            json!({ "file_path": path(name), "old_string": "TODO", "new_string": "DONE", "expected_replacements": 2 }),
        ));
        calls.push((BuiltinTool::Edit, json!({ "file_path": path(name), "old_string": "t", "new_string": "T", "replace_all": true })));
        calls.push((BuiltinTool::MultiEdit, json!({ "file_path": path(name), "edits": [] })));
        calls.push((BuiltinTool::MultiEdit, json!({ "file_path": path(name), "edits": [{ "old_string": "T", "new_string": "t", "replace_all": true }, { "old_string": "nowhere", "new_string": "x" }] })));
        calls.push((BuiltinTool::MultiEdit, json!({ "file_path": path(name), "edits": [{ "old_string": "a", "new_string": "bb", "replace_all": true }, { "old_string": "bb", "new_string": "c", "replace_all": true }] })));
        calls.push((BuiltinTool::Read, json!({ "file_path": path(name) })));
    }
    for (name, content) in
        [("new.txt", "a\nb\n"), ("deep/er/new.txt", "x"), ("a.txt", "whole\n"), ("new.txt", "again\n"), ("x/../y.txt", "y")]
    {
        calls.push((BuiltinTool::Write, json!({ "file_path": path(name), "content": content })));
        calls.push((BuiltinTool::Read, json!({ "file_path": path(name) })));
    }
    calls
}

fn searches() -> Vec<(BuiltinTool, Value)> {
    let mut calls: Vec<(BuiltinTool, Value)> = Vec::new();
    for pattern in [
        "TODO",
        "todo",
        "^fn",
        "x \\* \\d",
        "line 1\\d\\d$",
        "e$",
        "(",
        "a\\nb",
        "Ä",
        "\\p{Lu}pfel",
        "[a-c]lpha|beta",
        "\\bx\\b",
        "^$",
        "$^",
        "",
    ] {
        for mode in ["files", "content", "count"] {
            calls.push((BuiltinTool::Grep, json!({ "pattern": pattern, "output_mode": mode })));
        }
        calls.push((BuiltinTool::Grep, json!({ "pattern": pattern, "output_mode": "content", "context": 1, "path": path("src") })));
        calls.push((
            BuiltinTool::Grep,
            json!({ "pattern": pattern, "output_mode": "content", "ignore_case": true, "matches": 1, "context": 2 }),
        ));
        calls.push((BuiltinTool::Grep, json!({ "pattern": pattern, "output_mode": "content", "multiline": true, "glob": "*.rs" })));
        calls.push((BuiltinTool::Grep, json!({ "pattern": pattern, "limit": 1 })));
    }
    for (pattern, glob) in [
        ("TODO", "*.rs"),
        ("TODO", "src/*.rs"),
        ("TODO", "src/**/*.rs"),
        ("TODO", "**/*.{rs,txt}"),
        ("TODO", "{"),
        ("TODO", "*.zip"),
        ("fn.*\\{.*TODO", "*.rs"),
    ] {
        calls.push((BuiltinTool::Grep, json!({ "pattern": pattern, "glob": glob })));
        calls.push((BuiltinTool::Grep, json!({ "pattern": pattern, "glob": glob, "multiline": true, "output_mode": "count" })));
    }
    for name in ["a.txt", "x.log", "build", "missing", "binary.bin", "src/deep", ".git"] {
        calls.push((BuiltinTool::Grep, json!({ "pattern": "TODO|alpha", "path": path(name), "output_mode": "content" })));
        calls.push((BuiltinTool::Glob, json!({ "pattern": "**", "path": path(name) })));
    }
    calls
}

fn lists() -> Vec<(BuiltinTool, Value)> {
    let mut calls: Vec<(BuiltinTool, Value)> = Vec::new();
    for pattern in [
        "*",
        "**",
        "*.rs",
        "**/*.rs",
        "src/*",
        "src/**",
        "**/top.txt",
        "[a-c]*",
        "*.{txt,log}",
        "?.txt",
        "{",
        "[",
        ".*",
        "**/deep/*",
        "$ROOT/src/*.rs",
    ] {
        calls.push((BuiltinTool::Glob, json!({ "pattern": pattern })));
        calls.push((BuiltinTool::Glob, json!({ "pattern": pattern, "limit": 2 })));
    }
    for todos in [
        json!([]),
        json!([{ "content": "a", "status": "pending" }]),
        json!([{ "content": "a", "status": "in_progress" }, { "content": "b", "status": "in_progress" }]),
        json!([{ "content": " ", "status": "pending" }]),
    ] {
        calls.push((BuiltinTool::TodoWrite, json!({ "todos": todos })));
    }
    calls
}

#[test]
fn b_1_to_b_10_a_table_of_calls_gives_the_same_on_both_workspaces() {
    let files = files();
    let files: Vec<(&str, &[u8])> = files.iter().map(|(path, content)| (*path, content.as_slice())).collect();
    let mut pair = WorkspacePair::new(&files);
    let table = table();
    let mut different = Vec::new();
    for (tool, input) in &table {
        let [directory, memory] = pair.call(*tool, &Json::from_value(input));
        if directory != memory {
            different.push(format!("{} {input}\n  directory: {directory}\n  memory:    {memory}", tool.as_str()));
        }
        let [directory, memory] = pair.files();
        assert_eq!(directory.len(), memory.len(), "{} {input}", tool.as_str());
        if let Some((directory, memory)) = directory.iter().zip(&memory).find(|(directory, memory)| directory != memory) {
            panic!("{} {input}: {directory:?} and {memory:?}", tool.as_str());
        }
    }
    assert!(different.is_empty(), "{} of {} calls differ:\n{}", different.len(), table.len(), different.join("\n"));
    assert!(table.len() >= 300, "{}", table.len());
}

/// Commands in order.
const COMMANDS: &[&str] = &[
    "pwd",
    "echo hello world",
    "echo -n a; echo b",
    "echo",
    "true && echo yes",
    "false && echo no",
    "false || echo else",
    "true || echo no; echo end",
    "false; echo $",
    "cat a.txt",
    "cat a.txt no-end",
    "cat missing",
    "cat missing a.txt",
    "cat src",
    "cat < a.txt",
    "cat a.txt | head -n 1",
    "ls",
    "ls -a",
    "ls -A",
    "ls -1 src",
    "ls src a.txt",
    "ls src src/deep",
    "ls missing",
    "ls missing src",
    "ls a.txt",
    "ls -l",
    "mkdir new",
    "mkdir new",
    "mkdir -p new/a/b",
    "mkdir missing/x",
    "mkdir a.txt",
    "mkdir -p a.txt",
    "mkdir -p a.txt/x",
    "mkdir a.txt/x",
    "mkdir",
    "touch t",
    "touch missing/t",
    "touch a.txt/t",
    "ls",
    "rm t",
    "rm t",
    "rm -f t",
    "rm new",
    "rm -r new/a",
    "ls new",
    "rm -rf new missing",
    "rm",
    "rm -f",
    "cp a.txt b.txt",
    "cat b.txt",
    "cp a.txt src",
    "ls src",
    "cp missing x",
    "cp src y",
    "cp -r src y",
    "ls y y/deep",
    "cp -r src y",
    "ls y",
    "cp a.txt a.txt",
    "cp a.txt missing/x",
    "cp a.txt b.txt y",
    "cp a.txt b.txt missing",
    "mv b.txt c.txt",
    "mv missing x",
    "mv c.txt y",
    "ls y",
    "mv y z",
    "ls z",
    "mv z z/inner",
    "mv src a.txt",
    "mv a.txt a.txt",
    "mv z/c.txt missing/x",
    "mv z/a.txt z/c.txt; cat z/c.txt",
    "head numbers.txt",
    "head -n 2 numbers.txt",
    "head -2 numbers.txt",
    "head -n 2 a.txt no-end",
    "head missing a.txt",
    "head src",
    "head -n 0 a.txt",
    "tail numbers.txt",
    "tail -n 2 numbers.txt",
    "tail -n +2999 numbers.txt",
    "tail -2 a.txt",
    "tail -n 2 a.txt no-end",
    "tail missing",
    "tail -n 0 a.txt",
    "wc a.txt",
    "wc -l a.txt",
    "wc -w a.txt numbers.txt",
    "wc -c empty",
    "wc numbers.txt a.txt",
    "wc -lw a.txt",
    "wc missing a.txt",
    "wc no-end",
    "wc",
    "echo one > o.txt",
    "echo two >> o.txt; cat o.txt",
    "echo three > o.txt && cat o.txt",
    "cat missing > o.txt; cat o.txt",
    "echo x > missing/o.txt",
    "echo x > missing/o.txt || echo failed",
    "echo x > src",
    "> made; ls made; wc -c made",
    "echo a > p; echo b > q; cat p q",
    "cat a.txt > copy.txt && wc -l copy.txt",
    "exit 3",
    "exit",
    "echo a; exit 4; echo b",
    "false; exit",
    "sleep 0",
    "sleep 0.01; echo woke",
    "echo a\necho b",
    "echo a &&\necho b",
    "echo a;",
    "; echo a",
    "echo 'single \"quoted\"'",
    "echo \"double 'quoted'\"",
    "echo a\\ b",
    "touch 'with blank'; ls; rm 'with blank'",
    "echo # comment",
    "echo a#b",
    "rm -r z",
    "ls z",
    ": && echo colon",
    "touch -- -dash; ls -- -dash; rm -- -dash",
    "cat ./a.txt",
    "cat ../missing-everywhere",
    "cat src/../a.txt",
    "ls .",
    "wc -l src",
    "head -n 1 src a.txt",
    "tail -n 1 src",
    "echo x > a.txt/y",
    "cat a.txt/y",
    "rm a.txt/y",
    "rm -f a.txt/y",
    "mv a.txt/y q",
    "cp a.txt/y q",
    "ls a.txt/y",
    "cat a.txt/",
    "ls a.txt/",
    "touch a.txt/",
    "cp a.txt a.txt/",
    "cp no-end a.txt/",
    "mv no-end a.txt/",
    "rm a.txt/",
    "echo x > a.txt/",
    "cat ''",
    "ls ''",
    "touch ''",
    "rm ''",
    "rm -rf .",
    "rm -rf ..",
    "rm -r src/.",
    "rm .",
    "ls",
];

/// Commands that are not interpreted in memory, or differ there for a reason.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("false; echo $", "a dollar sign alone is text; nothing of it differs"),
    ("cat < a.txt", "redirected input"),
    ("cat a.txt | head -n 1", "a pipe"),
    ("ls -l", "times and owners"),
    ("mkdir", "a usage text"),
    ("rm", "a usage text"),
    ("wc", "it reads its input"),
    ("; echo a", "an error of the shell's grammar"),
];

#[test]
fn b_5_a_table_of_commands_gives_the_same_on_both_workspaces() {
    let files = files();
    let files: Vec<(&str, &[u8])> = files.iter().map(|(path, content)| (*path, content.as_slice())).collect();
    let mut pair = WorkspacePair::new(&files);
    let mut different = Vec::new();
    for command in COMMANDS {
        let [directory, memory] = pair.shell(command);
        let is_exception = EXCEPTIONS.iter().any(|(known, _)| known == command);
        if is_exception {
            continue;
        }
        if directory != memory {
            different.push(format!("{command:?}\n  directory: {directory:?}\n  memory:    {memory:?}"));
        }
        let [directory, memory] = pair.files();
        if directory != memory {
            let paths = |files: &[(String, Vec<u8>)]| files.iter().map(|(path, _)| path.clone()).collect::<Vec<_>>();
            panic!("{command}: {:?} and {:?}\n{}", paths(&directory), paths(&memory), different.join("\n"));
        }
    }
    assert!(different.is_empty(), "{} of {} commands differ:\n{}", different.len(), COMMANDS.len(), different.join("\n"));
}

/// Enough files for several batches, which threads search at the same time.
#[test]
fn b_6_many_files_are_found_in_one_order() {
    let names: Vec<String> = (0..300).map(|number| format!("d{}/f{number}.txt", number % 7)).collect();
    let files: Vec<(&str, &[u8])> =
        names.iter().zip(0..).map(|(name, number)| (&**name, if number % 3 == 0 { &b"one\ntwo\n"[..] } else { b"two\n" })).collect();
    let mut pair = WorkspacePair::new(&files);
    for (mode, limit) in [("files", 500), ("content", 40), ("count", 100), ("files", 99), ("files", 1)] {
        let input = Json::from_value(&json!({ "pattern": "one", "output_mode": mode, "limit": limit }));
        let [directory, memory] = pair.call(BuiltinTool::Grep, &input);
        assert_eq!(directory, memory, "{mode} {limit}");
        assert_eq!(directory.matches("f0.txt").count(), 1, "the newest one is there: {directory:.200}");
        let most = limit.min(100);
        assert_eq!((directory.matches(".txt").count(), directory.contains("(cut: ")), (most, limit < 100), "{mode} {limit}");
    }
}
