//! Pure rooms give the same answer everywhere (D2): each is built without the standard library, so it has no clock, no threads, no printing, no
//! unordered maps and no platform mathematics. Of the other rooms only some open files.
//!
//! The compiler and Clippy hold what a crate without `std` cannot name. Here is looked at the wall itself: that the crate is one without `std`, tests
//! left aside.

use super::checkout::SourceFile;
use super::lexer;
use super::{Checkout, TidyProblem, rooms};

pub(crate) fn check(checkout: &Checkout) -> Vec<TidyProblem> {
    let test_folders: Vec<String> = checkout.rust_files().flat_map(test_modules).collect();
    let is_test = |file: &SourceFile| test_folders.iter().any(|folder| is_in_module(&file.path, folder));
    let mut problems = Vec::new();
    for file in checkout.rust_files().filter(|file| !is_test(file)) {
        match file.room() {
            Some(room) if rooms::is_pure(room) && file.path == format!("src/{room}/lib.rs") => problems.extend(check_wall(file)),
            Some(room) if !rooms::is_pure(room) && !rooms::opens_files(room) => problems.extend(check_for_files(file)),
            _ => (),
        }
    }
    problems
}

/// The paths, without ending, of the modules that this file declares for tests only: `src/engine/retry/tests`.
fn test_modules(file: &SourceFile) -> Vec<String> {
    let (_, modules) = lexer::without_tests(&lexer::tokens(&file.layers().code));
    let folder = file.path.strip_suffix("/lib.rs").unwrap_or(file.path.trim_end_matches(".rs"));
    modules.into_iter().map(|module| format!("{folder}/{module}")).collect()
}

fn is_in_module(path: &str, module: &str) -> bool {
    path.strip_prefix(module).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}

/// The root of a pure room, where it lets `std` in.
fn check_wall(file: &SourceFile) -> Vec<TidyProblem> {
    let code = lexer::tokens(&file.layers().code);
    let words: Vec<&str> = code.iter().map(|token| token.text.as_str()).collect();
    let is_walled = words.windows(5).any(|window| window == ["#", "!", "[", "no_std", "]"]);
    let missing = (!is_walled).then(|| file.problem(1, "a pure room begins with `#![no_std]`: D2 holds because nothing else can be named"));
    let (without_tests, _) = lexer::without_tests(&code);
    let brings_in = |window: &[lexer::Token]| (window[0].text.as_str(), window[1].text.as_str()) == ("crate", "std");
    let brought = without_tests.windows(2).filter(|window| brings_in(window));
    let brought = brought.map(|window| file.problem(window[1].line, "a pure room does not bring in `std`"));
    missing.into_iter().chain(brought).collect()
}

/// The places where a room opens files that may not.
fn check_for_files(file: &SourceFile) -> Vec<TidyProblem> {
    let (tokens, _) = lexer::without_tests(&lexer::tokens(&file.layers().code));
    let is = |at: usize, word: &str| tokens.get(at).is_some_and(|token| token.text == word);
    let opens = |at: &usize| (is(*at, "fs") || is(*at, "File") || is(*at, "OpenOptions")) && is(at + 1, "::");
    let brings_in = |at: &usize| is(*at, "std") && is(at + 1, "::") && is(at + 2, "fs");
    let found = (0..tokens.len()).filter(|at| opens(at) || brings_in(at));
    found.map(|at| file.problem(tokens[at].line, "this room opens no files: `files` reads and writes them")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        check(&Checkout::from_files(&[(path, text)])).len()
    }

    #[test]
    fn a_pure_room_is_built_without_std() {
        assert_eq!(count("src/wire/lib.rs", "//! Bytes.\n#![no_std]\nextern crate alloc;\n"), 0);
        assert_eq!(count("src/wire/lib.rs", "//! Bytes, `#![no_std]`.\nextern crate alloc;\n"), 1, "only said");
        assert_eq!(count("src/wire/lib.rs", "#![no_std]\nextern crate std;\n"), 1);
        assert_eq!(count("src/wire/lib.rs", "#![cfg_attr(not(feature = \"std\"), no_std)]\n"), 1, "with a feature it would be open");
        assert_eq!(count("src/wire/lib.rs", "#![no_std]\n#[cfg(test)]\nextern crate std;\n"), 0);
        assert_eq!(count("src/wire/lib.rs", "#![no_std]\n#[cfg(any(test, feature = \"x\"))]\nextern crate std;\n"), 0);
        assert_eq!(count("src/files/lib.rs", ""), 0, "not a pure room");
    }

    #[test]
    fn only_some_rooms_open_files() {
        for text in ["use std::fs;", "fn f() { std::fs::read(p); }", "fn f() { File::open(p); }", "fn f() { fs::read(p); }"] {
            assert_eq!(count("src/runner/a.rs", text).min(1), 1, "{text}");
            assert_eq!(count("src/files/a.rs", text), 0, "{text}");
            assert_eq!([count("src/redact/a.rs", text).min(1), count("src/import/a.rs", text).min(1)], [1, 1], "{text}");
        }
        assert_eq!(count("src/runner/a.rs", "#[cfg(test)] mod tests { use std::fs; }"), 0);
        let files = [
            ("src/runner/lib.rs", "#[cfg(test)]\nmod tests;"),
            ("src/runner/tests/a.rs", "use std::fs;"),
            ("src/runner/b.rs", "use std::fs;"),
        ];
        let problems = check(&Checkout::from_files(&files));
        assert_eq!(problems.iter().map(|problem| problem.path.as_str()).collect::<Vec<_>>(), ["src/runner/b.rs"]);
    }
}
