//! Which room may import which: the data flows one way, and nothing upstream knows what is downstream.
//!
//! Each room is a crate, and its manifest names the rooms that it imports. Cargo holds what the manifests say. This table says what they may say, so
//! that a new line in one of them is seen.

use super::checkout::SourceFile;
use super::{Checkout, TidyProblem};

/// The room inside the crate of the program.
const PROGRAM: &str = "cli";

const PURE: &[&str] =
    &["wire", "shell", "engine", "tools", "scenario", "transcript", "world", "oracle", "sim", "explore", "foreign", "stores", "timeline"];

/// The rooms that a room may import; `PureAnd` stands for all pure rooms and these.
enum RoomImports {
    Import(&'static [&'static str]),
    PureAnd(&'static [&'static str]),
    All,
}

/// One line per room, in the order in which data flows.
const TABLE: &[(&str, RoomImports)] = &[
    ("wire", RoomImports::Import(&[])),
    ("shell", RoomImports::Import(&["wire"])),
    ("engine", RoomImports::Import(&["wire", "shell"])),
    ("tools", RoomImports::Import(&["wire", "shell", "engine"])),
    ("scenario", RoomImports::Import(&["wire", "engine", "tools"])),
    ("transcript", RoomImports::Import(&["wire", "engine"])),
    ("world", RoomImports::Import(&["wire", "engine", "tools", "scenario"])),
    ("oracle", RoomImports::Import(&["wire", "shell", "engine", "transcript"])),
    ("sim", RoomImports::Import(&["wire", "engine", "tools", "scenario", "transcript", "world", "oracle"])),
    ("explore", RoomImports::Import(&["wire", "engine", "scenario", "transcript", "world", "oracle", "sim"])),
    ("foreign", RoomImports::Import(&["wire", "engine", "scenario", "transcript", "world", "oracle", "sim", "explore"])),
    ("strategies", RoomImports::Import(&["wire", "engine", "tools", "scenario"])),
    ("stores", RoomImports::Import(&["wire"])),
    ("timeline", RoomImports::Import(&["wire", "engine", "scenario"])),
    ("redact", RoomImports::Import(&["wire", "engine", "scenario"])),
    ("files", RoomImports::Import(&["wire", "engine", "scenario", "world"])),
    ("import", RoomImports::Import(&["wire", "engine", "scenario", "world", "sim", "redact", "files"])),
    ("runner", RoomImports::PureAnd(&["files"])),
    ("review", RoomImports::PureAnd(&["files", "runner"])),
    ("directory", RoomImports::Import(&["wire", "engine", "tools"])),
    ("children", RoomImports::Import(&[])),
    ("tool_host", RoomImports::Import(&["wire", "engine", "tools", "directory", "children"])),
    ("live", RoomImports::PureAnd(&["redact", "files", "children", "tool_host"])),
    (PROGRAM, RoomImports::All),
];

/// The rooms that open files.
const WITH_FILES: &[&str] = &["files", "directory", "children", "live", PROGRAM];

/// Whether files of this room may open files.
pub(crate) fn opens_files(room: &str) -> bool {
    WITH_FILES.contains(&room)
}

/// Whether this room is held to the pure rooms' rules.
pub(crate) fn is_pure(room: &str) -> bool {
    PURE.contains(&room)
}

/// Whether this room is a crate of its own: `crate` means the room in its files.
pub(crate) fn is_crate(room: &str) -> bool {
    room != PROGRAM && TABLE.iter().any(|(name, _)| *name == room)
}

pub(crate) fn check(checkout: &Checkout) -> Vec<TidyProblem> {
    let rooms = checkout.rooms();
    let manifests = rooms.iter().filter_map(|room| Some((*room, checkout.file(&format!("src/{room}/Cargo.toml"))?)));
    check_table(&rooms).into_iter().chain(manifests.flat_map(|(room, manifest)| check_manifest(room, manifest))).collect()
}

/// Each row of the table has its room, and each room its row, so that the table shows the house as it is.
fn check_table(rooms: &[&str]) -> Vec<TidyProblem> {
    let row = |room: &str| {
        include_str!("rooms.rs").lines().position(|line| line.trim().starts_with(&format!("(\"{room}\","))).map_or(1, |at| at + 1)
    };
    let problem = |line: usize, message: String| TidyProblem { path: String::from("xtask/src/tidy/rooms.rs"), line, message };
    let without_room = TABLE.iter().filter(|(room, _)| !rooms.contains(room)).map(|(room, _)| {
        problem(row(room), format!("the table has the room `{room}`, and there is no src/{room}: take the row out, or add the room"))
    });
    let is_known = |room: &&&str| !TABLE.iter().any(|(name, _)| name == *room);
    let without_row =
        rooms.iter().filter(is_known).map(|room| problem(1, format!("the room `{room}` is not in the table: list its imports")));
    without_room.chain(without_row).collect()
}

/// The rooms in a manifest that the room must not import. A test that needs two rooms that may not know each other belongs in `tests/`.
fn check_manifest(room: &str, manifest: &SourceFile) -> Vec<TidyProblem> {
    let Some((_, may)) = TABLE.iter().find(|(name, _)| *name == room) else { return Vec::new() };
    let refused = imported_rooms(&manifest.text).into_iter().filter(|(_, target)| target != room && !may.import(target));
    let message = |target: &str| format!("the room `{room}` must not import `{target}`: move the shared type upstream");
    refused.map(|(line, target)| manifest.problem(line, message(&target))).collect()
}

/// The rooms that a manifest names in any way, with their lines: as a key, a heading, or the package of a key with another name.
fn imported_rooms(manifest: &str) -> Vec<(usize, String)> {
    let mut rooms = Vec::new();
    for (number, line) in (1..).zip(manifest.lines()) {
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
        let names = line.split("reenact-").skip(1).filter_map(|rest| rest.split(|letter| !is_name(letter)).next());
        // The crate `reenact-tool-host` is the room `tool_host`.
        rooms.extend(names.map(|name| (number, name.replace('-', "_"))));
    }
    rooms
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

#[cfg(test)]
mod tests {
    use super::*;

    fn checkout(extra: &[(&str, &str)]) -> Checkout {
        let paths: Vec<String> = TABLE.iter().map(|(room, _)| format!("src/{room}/lib.rs")).collect();
        let mut files: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "")).collect();
        files.extend(extra);
        Checkout::from_files(&files)
    }

    fn problems(extra: &[(&str, &str)]) -> Vec<(usize, String)> {
        check(&checkout(extra)).into_iter().map(|problem| (problem.line, problem.message)).collect()
    }

    #[test]
    fn upstream_rooms_may_not_know_what_is_downstream() {
        let manifest = "[package]\nname = \"reenact-engine\"\n\n[dependencies]\nreenact-wire.workspace = true\n";
        assert_eq!(problems(&[("src/engine/Cargo.toml", manifest)]), []);
        let more = format!("{manifest}reenact-sim = {{ workspace = true }}\n");
        let found = problems(&[("src/engine/Cargo.toml", &more)]);
        assert_eq!(found, [(6, String::from("the room `engine` must not import `sim`: move the shared type upstream"))]);
        for refused in [
            "[target.'cfg(unix)'.dependencies]\nreenact-files.workspace = true\n",
            "[dependencies.reenact-files]\nworkspace = true\n",
            "[dependencies]\ndisk = { package = \"reenact-files\", path = \"../files\" }\n",
            "[dev-dependencies]\nreenact-files.workspace = true\n",
            "[build-dependencies]\nreenact-files.workspace = true\n",
        ] {
            let found = problems(&[("src/engine/Cargo.toml", refused)]);
            assert_eq!(found.len(), 1, "{refused}");
            assert!(found[0].1.contains("must not import `files`"), "{found:?}");
        }
        assert_eq!(problems(&[("src/live/Cargo.toml", "[dependencies]\nreenact-files.workspace = true\n")]), []);
        assert_eq!(problems(&[("src/live/Cargo.toml", "[dependencies]\nreenact-runner.workspace = true\n")]).len(), 1);
        // What replaces secrets cannot come to a file by way of a room that opens some.
        assert_eq!(problems(&[("src/redact/Cargo.toml", "[dependencies]\nreenact-files.workspace = true\n")]).len(), 1);
        assert_eq!(problems(&[("src/files/Cargo.toml", "[dependencies]\nreenact-import.workspace = true\n")]).len(), 1);
    }

    #[test]
    fn a_row_without_a_room_and_a_room_without_a_row_are_found() {
        assert_eq!(problems(&[]), []);
        let files: Vec<String> = TABLE.iter().skip(1).map(|(room, _)| format!("src/{room}/lib.rs")).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|path| (path.as_str(), "")).collect();
        let [problem] = &check(&Checkout::from_files(&files))[..] else { panic!("one row has no room") };
        assert!(problem.message.contains("there is no src/wire"), "{}", problem.message);
        assert!(include_str!("rooms.rs").lines().nth(problem.line - 1).unwrap().contains("(\"wire\","));
        assert!(problems(&[("src/attic/old.rs", "")])[0].1.contains("not in the table"));
    }
}
