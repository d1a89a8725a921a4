//! Pure rooms give the same answer everywhere (D2): no standard library, no clock, no threads, no printing, no unordered maps, no
//! platform mathematics.
//!
//! Of the other rooms only some open files. The `no_std` build finds most of this; this check finds it also where a feature brings `std` in, and says what to use instead.
//! Test modules are free: they are built with `std`.

use super::checkout::SourceFile;
use super::lexer::{self, Token};
use super::{Checkout, TidyProblem, rooms};

/// Names that must not occur, with what to use instead.
const NAMES: &[(&str, &str)] = &[
    ("HashMap", "its order differs in every process: use BTreeMap"),
    ("HashSet", "its order differs in every process: use BTreeSet"),
    ("IndexMap", "use a Vec of pairs or BTreeMap"),
    ("RandomState", "it is seeded by the operating system"),
    ("SystemTime", "take the virtual time that `step` is given"),
    ("Mutex", "state that is shared cannot be forked: give it one owner"),
    ("RwLock", "state that is shared cannot be forked: give it one owner"),
    ("RefCell", "state changes through `&mut`, so that a copy is a copy"),
    ("thread_local", "state belongs to the machine that needs it"),
];

/// Pairs joined by `::` that must not occur.
const PATHS: &[(&str, &str, &str)] = &[
    ("Instant", "now", "take the virtual time that `step` is given"),
    ("rand", "random", "randomness is keyed: derive a stream from (seed, purpose, identity)"),
    ("rand", "rng", "randomness is keyed: derive a stream from (seed, purpose, identity)"),
    ("rand", "thread_rng", "randomness is keyed: derive a stream from (seed, purpose, identity)"),
    ("thread", "spawn", "pure rooms have no threads"),
    ("thread", "sleep", "nothing polls: ask for a timer"),
];

const MACROS: &[&str] = &["println", "eprintln", "print", "eprint", "dbg"];

/// Float methods whose last bit depends on the platform, or that only `std` has; `libm` has them all.
const FLOAT_METHODS: &[&str] = &[
    "ln", "ln_1p", "log2", "log10", "exp", "exp2", "exp_m1", "powf", "powi", "sqrt", "cbrt", "hypot", "sin", "cos", "tan", "asin", "acos",
    "atan", "atan2", "sinh", "cosh", "tanh", "mul_add",
];

pub(crate) fn check(checkout: &Checkout) -> Vec<TidyProblem> {
    let held: Vec<&SourceFile> = checkout.rust_files().filter(|file| file.room().is_some_and(|room| !rooms::opens_files(room))).collect();
    let test_folders: Vec<String> = held.iter().flat_map(|file| test_modules(file)).collect();
    let is_test = |file: &SourceFile| test_folders.iter().any(|folder| is_in_module(&file.path, folder));
    let check = |file: &SourceFile| if file.room().is_some_and(rooms::is_pure) { check_file(file) } else { check_for_files(file) };
    held.into_iter().filter(|file| !is_test(file)).flat_map(check).collect()
}

/// The places where a room opens files that may not.
fn check_for_files(file: &SourceFile) -> Vec<TidyProblem> {
    let (tokens, _) = lexer::without_tests(&lexer::tokens(&file.layers().code));
    let is = |at: usize, word: &str| tokens.get(at).is_some_and(|token| token.text == word);
    let opens = |at: &usize| (is(*at, "fs") || is(*at, "File") || is(*at, "OpenOptions")) && is(at + 1, "::");
    let brings_in = |at: &usize| is(*at, "std") && is(at + 1, "::") && is(at + 2, "fs");
    let found = (0..tokens.len()).filter(|at| opens(at) || brings_in(at));
    found.map(|at| file.problem(tokens[at].line, "this room opens no files: `files` reads and writes them".to_string())).collect()
}

fn check_file(file: &SourceFile) -> Vec<TidyProblem> {
    let (tokens, _) = lexer::without_tests(&lexer::tokens(&file.layers().code));
    let found = (0..tokens.len()).filter_map(|at| Some((at, impurity(&tokens, at)?)));
    found.map(|(at, message)| file.problem(tokens[at].line, message)).collect()
}

/// The impurity at the token `at`, if there is one.
fn impurity(tokens: &[Token], at: usize) -> Option<String> {
    let text = |index: usize| tokens.get(index).map_or("", |token| token.text.as_str());
    let word = text(at);
    let before = if at == 0 { "" } else { text(at - 1) };
    if word == "std" && text(at + 1) == "::" && before != "::" {
        return Some("a pure room uses `core::` and `alloc::`, never `std::`".to_string());
    }
    if word == "std" && before == "crate" {
        return Some("a pure room does not bring in `std`".to_string());
    }
    if let Some((name, instead)) = NAMES.iter().find(|(name, _)| *name == word) {
        return Some(format!("`{name}` in a pure room: {instead}"));
    }
    if let Some((first, second, instead)) = PATHS.iter().find(|(first, second, _)| *first == word && *second == text(at + 2)) {
        return (text(at + 1) == "::").then(|| format!("`{first}::{second}` in a pure room: {instead}"));
    }
    if MACROS.contains(&word) && text(at + 1) == "!" {
        return Some(format!("`{word}!` in a pure room: return the text, the command line prints it"));
    }
    let is_float_call = FLOAT_METHODS.contains(&word) && text(at + 1) == "(" && before == ".";
    let is_float_path = FLOAT_METHODS.contains(&word) && before == "::" && at >= 2 && ["f64", "f32"].contains(&text(at - 2));
    (is_float_call || is_float_path).then(|| format!("`{word}` is the platform's: use libm (D2)"))
}

/// The paths, without ending, of the modules that this file declares for tests only: `src/engine/retry/tests`.
fn test_modules(file: &SourceFile) -> Vec<String> {
    let (_, modules) = lexer::without_tests(&lexer::tokens(&file.layers().code));
    let folder = file.path.trim_end_matches(".rs");
    modules.into_iter().map(|module| format!("{folder}/{module}")).collect()
}

fn is_in_module(path: &str, module: &str) -> bool {
    path.strip_prefix(module).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        check(&Checkout::from_files(&[(path, text)])).len()
    }

    #[test]
    fn each_impurity_is_found() {
        for text in [
            "use std::fmt;",
            "extern crate std;",
            "use alloc::collections::{BTreeMap, HashMap};",
            "fn f() { let now = time::Instant::now(); }",
            "fn f(at: SystemTime) {}",
            "fn f() { rand::random::<u8>(); }",
            "fn f() { println!(\"{}\", 1); }",
            "fn f() { eprintln!(); }",
            "fn f(x: f64) -> f64 { x.ln() }",
            "fn f(x: f64) -> f64 { (x + 1.0).sqrt() }",
            "fn f(x: f64) -> f64 { f64::powf(x, 2.0) }",
            "struct A { shared: Arc<Mutex<u8>> }",
            "thread_local! { static A: u8 = 1; }",
        ] {
            assert_eq!(count("src/engine/a.rs", text), 1, "{text}");
        }
    }

    #[test]
    fn rooms_that_open_no_files_are_held_to_it() {
        for text in ["use std::fs;", "fn f() { fs::read(\"a\"); }", "fn f() { File::open(\"a\"); }"] {
            assert_eq!(count("src/runner/a.rs", text), 1, "{text}");
            assert_eq!(count("src/live/a.rs", text), 0, "{text}");
        }
        assert_eq!(count("src/runner/a.rs", "use std::fmt; #[cfg(test)] mod tests { use std::fs; }"), 0);
    }

    #[test]
    fn outside_rooms_and_other_code_are_free() {
        assert_eq!(count("src/files/tape.rs", "use std::fs;"), 0);
        assert_eq!(count("tests/a.rs", "use std::fs;"), 0);
        assert_eq!(
            count("src/wire.rs", "//! Not `std::fs`.\nconst A: &str = \"std::fs println!()\"; #[cfg(feature = \"std\")] fn f() {}"),
            0
        );
        assert_eq!(count("src/wire.rs", "fn f(x: f64) -> f64 { libm::exp(x) } fn ln() {} enum Phase { Instant }"), 0);
    }

    #[test]
    fn tests_are_free_inside_and_in_a_file_of_their_own() {
        assert_eq!(count("src/wire.rs", "#[cfg(test)] mod tests { use std::fs; }"), 0);
        let files =
            [("src/wire/a.rs", "#[cfg(test)]\nmod tests;"), ("src/wire/a/tests.rs", "use std::fs;"), ("src/wire/a/b.rs", "use std::fs;")];
        let problems = check(&Checkout::from_files(&files));
        assert_eq!(problems.iter().map(|problem| problem.path.as_str()).collect::<Vec<_>>(), ["src/wire/a/b.rs"]);
    }
}
