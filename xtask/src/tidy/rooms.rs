//! Which room may import which: the data flows one way, and nothing upstream knows what is downstream.
//!
//! Looks at every path that starts at the crate's root (`crate::…`, or enough `super::`), in `use` groups and in expressions, tests
//! included: a test that needs two rooms that may not know each other belongs in `tests/`.

use super::checkout::SourceFile;
use super::imports::{WrittenPath, module_path, written_paths};
use super::lexer::{self, Token};
use super::{Checkout, TidyProblem};

const PURE: &[&str] = &["wire", "engine", "scenario", "transcript", "world", "oracle", "sim", "explore", "stores"];

/// The rooms that a room may import, besides itself; `Pure` stands for all pure rooms.
enum RoomImports {
    Import(&'static [&'static str]),
    PureAnd(&'static [&'static str]),
    All,
}

/// One line per room, in the order in which data flows.
const TABLE: &[(&str, RoomImports)] = &[
    ("wire", RoomImports::Import(&[])),
    ("engine", RoomImports::Import(&["wire"])),
    ("scenario", RoomImports::Import(&["wire", "engine"])),
    ("transcript", RoomImports::Import(&["wire", "engine"])),
    ("world", RoomImports::Import(&["wire", "engine", "scenario"])),
    ("oracle", RoomImports::Import(&["wire", "engine", "transcript"])),
    ("sim", RoomImports::Import(&["wire", "engine", "scenario", "transcript", "world", "oracle"])),
    ("explore", RoomImports::Import(&["wire", "engine", "scenario", "transcript", "world", "oracle", "sim"])),
    ("strategies", RoomImports::Import(&["wire", "engine", "scenario"])),
    ("stores", RoomImports::Import(&["wire"])),
    ("files", RoomImports::PureAnd(&[])),
    ("runner", RoomImports::PureAnd(&["files"])),
    ("children", RoomImports::Import(&[])),
    ("live", RoomImports::PureAnd(&["files", "children"])),
    ("cli", RoomImports::All),
];

/// The rooms that open files.
const WITH_FILES: &[&str] = &["files", "children", "live", "cli"];

/// Whether files of this room may open files.
pub(crate) fn opens_files(room: &str) -> bool {
    WITH_FILES.contains(&room)
}

/// Whether files of this room are held to the pure rooms' rules.
pub(crate) fn is_pure(room: &str) -> bool {
    PURE.contains(&room)
}

pub(crate) fn check(checkout: &Checkout) -> Vec<TidyProblem> {
    let rooms = checkout.rooms();
    let files = checkout.rust_files().filter_map(|file| Some((file, file.room()?)));
    check_table(&rooms).into_iter().chain(files.flat_map(|(file, room)| check_file(file, room, &rooms))).collect()
}

/// Each row of the table has its room, so that the table shows the house as it is.
fn check_table(rooms: &[&str]) -> Vec<TidyProblem> {
    let line = |room: &str| {
        include_str!("rooms.rs").lines().position(|line| line.trim().starts_with(&format!("(\"{room}\","))).map_or(1, |at| at + 1)
    };
    let problem = |room: &str| TidyProblem {
        path: String::from("xtask/src/tidy/rooms.rs"),
        line: line(room),
        message: format!("the table has the room `{room}`, and there is no src/{room}.rs: take the row out, or add the room"),
    };
    TABLE.iter().filter(|(room, _)| !rooms.contains(room)).map(|(room, _)| problem(room)).collect()
}

fn check_file(file: &SourceFile, room: &str, rooms: &[&str]) -> Vec<TidyProblem> {
    let Some((_, may)) = TABLE.iter().find(|(name, _)| *name == room) else {
        return vec![file.problem(1, format!("room `{room}` is not in the table of xtask/src/tidy/rooms.rs: list its imports there"))];
    };
    let mut problems = Vec::new();
    for (target, line) in root_names(&lexer::tokens(&file.layers().code), &module_path(file).unwrap_or_default()) {
        let known = rooms.contains(&target.as_str()) || TABLE.iter().any(|(name, _)| *name == target);
        if known && target != room && !may.import(&target) {
            problems.push(file.problem(line, format!("room `{room}` must not import `{target}`: move the shared type upstream")));
        }
    }
    problems
}

impl RoomImports {
    fn import(&self, target: &str) -> bool {
        match self {
            RoomImports::Import(rooms) => rooms.contains(&target),
            RoomImports::PureAnd(rooms) => is_pure(target) || rooms.contains(&target),
            RoomImports::All => true,
        }
    }
}

/// The first names behind the crate's root of every path that says where it begins, with their lines.
fn root_names(tokens: &[Token], module: &[String]) -> Vec<(String, usize)> {
    let root_name = |path: &WrittenPath| {
        let full = path.absolute()?;
        // What a path reaches through the root stands in it.
        let token = path.names.iter().find(|token| full.first() == Some(&token.text));
        Some((full.first()?.clone(), token.or(path.names.first())?.line))
    };
    written_paths(tokens, module).iter().filter_map(root_name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(path: &str, text: &str) -> Vec<(usize, String)> {
        let paths: Vec<String> = TABLE.iter().map(|(room, _)| format!("src/{room}.rs")).collect();
        let mut files: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "")).collect();
        files.push((path, text));
        check(&Checkout::from_files(&files)).into_iter().map(|problem| (problem.line, problem.message)).collect()
    }

    fn is_refused(path: &str, text: &str, target: &str) -> bool {
        problems(path, text).iter().any(|(_, message)| message.contains(&format!("must not import `{target}`")))
    }

    #[test]
    fn upstream_rooms_may_not_know_what_is_downstream() {
        assert!(is_refused("src/wire/block.rs", "use crate::engine::Input;", "engine"));
        assert!(is_refused("src/engine/retry.rs", "use crate::prelude::*;\nuse crate::sim::Clock;", "sim"));
        assert!(is_refused("src/world/model.rs", "fn f() { crate::transcript::write() }", "transcript"));
        assert!(is_refused("src/files/tape.rs", "use crate::cli;", "cli"));
        assert_eq!(problems("src/engine/retry.rs", "use crate::prelude::*;\nuse crate::sim::Clock;")[0].0, 2);
    }

    #[test]
    fn what_the_table_allows_passes() {
        assert_eq!(
            problems("src/sim/run.rs", "use crate::{engine::{Input, Effect}, transcript, world::Model}; use crate::sim::Clock;"),
            []
        );
        assert_eq!(problems("src/cli.rs", "use crate::{files, sim, wire};"), []);
        assert_eq!(problems("src/files/tape.rs", "use crate::scenario::Plan; pub(crate) fn f() {} pub(in crate::files) fn g() {}"), []);
    }

    #[test]
    fn groups_are_understood() {
        assert!(is_refused("src/engine/a.rs", "use crate::{wire::{block, event::{A, B}}, scenario::plan};", "scenario"));
        assert!(is_refused("src/engine/a.rs", "use crate::{\n    prelude::*,\n    wire as w,\n    sim as s,\n};", "sim"));
        assert!(is_refused("src/wire.rs", "use {crate::sim::Clock, core::fmt};", "sim"));
    }

    #[test]
    fn super_is_followed_up_to_the_root() {
        assert!(is_refused("src/engine/retry.rs", "use super::super::sim::Clock;", "sim"));
        assert!(is_refused("src/engine/retry.rs", "use super::{state, super::sim::Clock};", "sim"));
        assert!(is_refused("src/engine.rs", "mod inner { use super::super::sim::Clock; }", "sim"));
        assert!(is_refused("src/engine.rs", "use self::super::sim::Clock;", "sim"));
        assert_eq!(problems("src/engine/retry.rs", "use super::sim::Clock;"), []);
        assert_eq!(problems("src/engine/retry.rs", "mod tests { use super::super::sim::Clock; }"), []);
    }

    #[test]
    fn comments_and_strings_do_not_count() {
        assert_eq!(
            problems("src/wire.rs", "//! See [`crate::sim`].\n/* use crate::sim; */ const A: &str = \"use crate::sim::Clock;\";"),
            []
        );
    }

    #[test]
    fn a_row_without_a_room_is_found() {
        let paths: Vec<String> = TABLE.iter().map(|(room, _)| format!("src/{room}.rs")).collect();
        let files: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "")).collect();
        assert_eq!(check(&Checkout::from_files(&files)), []);
        let [problem] = &check(&Checkout::from_files(&files[1..]))[..] else { panic!("one row has no room") };
        assert!(problem.message.contains("there is no src/wire.rs"), "{}", problem.message);
        assert!(include_str!("rooms.rs").lines().nth(problem.line - 1).unwrap().contains("(\"wire\","));
    }

    #[test]
    fn a_room_that_is_not_in_the_table_is_found() {
        assert!(problems("src/attic/old.rs", "")[0].1.contains("not in the table"));
    }
}
