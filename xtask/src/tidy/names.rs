//! Names can be read aloud: a type has a name of its own, a type or a module is called by a noun, and no function is called `of`.
//!
//! `cargo xtask names` prints the figures. Which noun is the right one is for readers to say; the words are in docs/glossary.md.

use std::collections::BTreeMap;

use super::checkout::SourceFile;
use super::{Checkout, TidyProblem};

/// Words that are no nouns: pronouns, adverbs, conjunctions, verbs, and participles that have been names.
const NO_NOUNS: &[&str] = &[
    "again",
    "answering",
    "asked",
    "asking",
    "begins",
    "beside",
    "came",
    "catching",
    "elsewhere",
    "given",
    "go",
    "gone",
    "heard",
    "held",
    "here",
    "how",
    "incoming",
    "instead",
    "kept",
    "known",
    "lent",
    "listening",
    "look",
    "looking",
    "made",
    "mend",
    "on",
    "outgoing",
    "outside",
    "over",
    "passing",
    "playing",
    "ran",
    "reading",
    "running",
    "said",
    "says",
    "seen",
    "sent",
    "stale",
    "told",
    "too",
    "until",
    "up",
    "what",
    "whole",
    "whose",
    "why",
];

/// Words that end like a participle and are nouns.
const NOUNS: &[&str] = &["feed", "seed", "speed"];

/// A type and where it is defined.
struct TypeName<'a> {
    name: &'a str,
    file: &'a SourceFile,
    /// 1-based.
    line: usize,
}

pub(crate) fn check(checkout: &Checkout) -> Vec<TidyProblem> {
    let types = types(checkout);
    let mut problems = shared_names(&types);
    for TypeName { name, file, line } in &types {
        if !is_noun(words(name).last().map_or("", String::as_str)) {
            problems
                .push(file.problem(*line, format!("`{name}` is not a noun: name the type for the thing that it is (docs/glossary.md)")));
        }
    }
    for file in checkout.rust_files() {
        problems.extend(module_problem(file));
        problems.extend(functions_called_of(file));
    }
    problems
}

/// Prints how many types there are, how many names have one word, and how many are shared.
pub(crate) fn print_figures(checkout: &Checkout) {
    let types = types(checkout);
    let mut rooms: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    types.iter().for_each(|found| rooms.entry(room(found.file)).or_default().push(found.name));
    let names: Vec<&str> = types.iter().map(|found| found.name).collect();
    let is_shared = |name: &str| names.iter().filter(|other| **other == name).count() > 1;
    let line = |room: &str, names: &[&str]| {
        let count = |is: &dyn Fn(&str) -> bool| names.iter().filter(|name| is(name)).count();
        let (of_one_word, shared) = (count(&|name| words(name).len() == 1), count(&is_shared));
        let percent = |part: usize| 100 * part / names.len().max(1);
        println!("{room:<12} {:>5} {of_one_word:>5} {:>3} % {shared:>7} {:>3} %", names.len(), percent(of_one_word), percent(shared));
    };
    println!("{:<12} {:>5} {:>11} {:>13}", "room", "types", "of one word", "name shared");
    rooms.iter().for_each(|(room, names)| line(room, names));
    line("all", &names);
}

/// All types of `src` and the members beside it, those inside other items' bodies left out.
fn types<'a>(checkout: &'a Checkout) -> Vec<TypeName<'a>> {
    let files = checkout.rust_files().filter(|file| file.path.starts_with("src/") || file.member().is_some());
    let of_file = |file: &'a SourceFile| {
        (1..).zip(file.text.lines()).filter_map(move |(line, text)| Some(TypeName { name: defined_type(text)?, file, line }))
    };
    files.flat_map(of_file).collect()
}

/// The type that a line defines: at the left margin, or in a module of tests.
fn defined_type(line: &str) -> Option<&str> {
    let margin = line.len() - line.trim_start().len();
    let mut words = line.trim_start().split([' ', '<', '(', '{', ';', ':', '=']).filter(|word| !word.is_empty());
    let mut word = words.next()?;
    while word == "pub" || word.ends_with(')') || ["crate", "super", "in"].contains(&word) {
        word = words.next()?;
    }
    let is_definition = match word {
        "struct" | "enum" | "union" | "trait" => margin <= 4,
        "type" => margin == 0,
        _ => false,
    };
    let name = words.next()?;
    (is_definition && name.starts_with(|first: char| first.is_ascii_uppercase())).then_some(name)
}

/// The part of the project in which names must differ.
fn room(file: &SourceFile) -> &str {
    file.room().or(file.member()).unwrap_or("crate")
}

/// One name for two types is a trap for readers, wherever the two are. Definitions for two systems in one file are one type.
fn shared_names(types: &[TypeName<'_>]) -> Vec<TidyProblem> {
    let mut first: BTreeMap<&str, &SourceFile> = BTreeMap::new();
    let mut problems = Vec::new();
    for TypeName { name, file, line } in types {
        match first.get(name) {
            Some(known) if known.path != file.path => {
                problems.push(file.problem(*line, format!("`{name}` is the name of a type in {}: say which this one is", known.path)));
            }
            Some(_) => (),
            None => drop(first.insert(name, file)),
        }
    }
    problems
}

/// `WatchdogSignal` is `watchdog`, `signal`; capitals in a row are one word.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut was_lower = true;
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && was_lower || words.is_empty() {
            words.push(String::new());
        }
        was_lower = !letter.is_ascii_uppercase();
        words.last_mut().into_iter().for_each(|word| word.push(letter.to_ascii_lowercase()));
    }
    words
}

fn is_noun(word: &str) -> bool {
    let is_participle = word.ends_with("ed") && word.len() > 4 && !NOUNS.contains(&word);
    !is_participle && !NO_NOUNS.contains(&word)
}

/// A module is called by a noun: the last word of its file's name.
fn module_problem(file: &SourceFile) -> Option<TidyProblem> {
    let name = file.path.strip_suffix(".rs")?.rsplit('/').next()?;
    let is_module = file.path.starts_with("src/") || file.member().is_some();
    let word = name.rsplit('_').next()?;
    (is_module && !is_noun(word))
        .then(|| file.problem(1, format!("`{name}` is not a noun: name the module for its subject (docs/glossary.md)")))
}

fn functions_called_of(file: &SourceFile) -> Vec<TidyProblem> {
    let called = |(line, text): (usize, &str)| {
        let is_one = text.contains("fn of(") || text.contains("fn of<");
        (is_one && !text.trim_start().starts_with("//") && !text.contains('"'))
            .then(|| file.problem(line, "a function called `of` has no meaning of its own: write `from_…`, `new`, or a verb"))
    };
    (1..).zip(file.text.lines()).filter_map(called).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(files: &[(&str, &str)]) -> Vec<String> {
        check(&Checkout::from_files(files))
            .into_iter()
            .map(|problem| format!("{}:{}: {}", problem.path, problem.line, problem.message))
            .collect()
    }

    #[test]
    fn a_type_has_a_name_of_its_own() {
        let files = [("src/wire/a.rs", "pub struct Frame;\n"), ("src/sim/b.rs", "\npub(crate) enum Frame<T> {}\n")];
        let [message] = &messages(&files)[..] else { panic!("one of the two") };
        assert!(
            message.starts_with("src/wire/a.rs:1: `Frame` is the name of a type in") || message.starts_with("src/sim/b.rs:2:"),
            "{message}"
        );
        let systems = "#[cfg(unix)]\nstruct Signals;\n#[cfg(not(unix))]\nstruct Signals;\n";
        assert_eq!(messages(&[("src/live/a.rs", systems)]), [""; 0]);
    }

    #[test]
    fn types_and_modules_are_called_by_nouns() {
        assert!(messages(&[("src/sim/a.rs", "struct Told;\n")])[0].contains("`Told` is not a noun"));
        assert!(messages(&[("src/sim/a.rs", "type EverythingAsked = u8;\n")])[0].contains("not a noun"));
        assert!(messages(&[("src/sim/again.rs", "")])[0].contains("`again` is not a noun"));
        assert!(messages(&[("src/sim/not_planned.rs", "")])[0].contains("not a noun"));
        assert_eq!(messages(&[("src/sim/seed.rs", "pub struct KeyedDraws;\npub enum Speed {}\n")]), [""; 0]);
    }

    #[test]
    fn no_function_is_called_of() {
        assert!(messages(&[("src/sim/a.rs", "pub(super) fn of(text: &str) -> Self {\n")])[0].contains("no meaning of its own"));
        assert_eq!(messages(&[("src/sim/a.rs", "// fn of(\nfn of_turn() {}\nlet x = \"fn of(\";\n")]), [""; 0]);
    }

    #[test]
    fn definitions_are_told_from_other_lines() {
        assert_eq!(defined_type("pub(in crate::scenario) struct AnswerFate {"), Some("AnswerFate"));
        assert_eq!(defined_type("    type Item = u8;"), None, "of a trait");
        assert_eq!(defined_type("        struct Local;"), None, "inside a function");
        assert_eq!(defined_type("    enum Case {"), Some("Case"), "in a module of tests");
        assert_eq!(words("NanoUsd"), ["nano", "usd"]);
        assert_eq!(words("SSEFrame").len(), 1, "capitals in a row are one word");
    }
}
