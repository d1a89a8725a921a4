//! The checkout as the checks see it: every text file's path and contents, read once.

use super::lexer;
use std::io;
use std::path::Path;

/// Folders and endings that git ignores; a checkout without git (a source archive) is then read the same way.
const IGNORED: &[&str] = &["target", ".git"];
/// Folders that tools of Python and TypeScript make, wherever they are.
const IGNORED_ANYWHERE: &[&str] = &["node_modules", ".venv", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache", "dist"];
const IGNORED_ENDING: &str = ".snap.new";

/// The crates beside the library that are for development: each is a folder with its files in `src`.
const MEMBERS: &[&str] = &["bench", "clients", "fuzz", "xtask"];

/// All text files of the checkout, sorted by path.
pub(crate) struct Checkout {
    pub(crate) files: Vec<SourceFile>,
    /// Names in the top folder, folders included.
    pub(crate) top_entries: Vec<String>,
}

/// One text file; the path is relative to the checkout, with `/` between its parts.
pub(crate) struct SourceFile {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// The objection of a check; `line` is 1-based, and 1 when the whole file is meant.
#[derive(Debug, PartialEq)]
pub(crate) struct TidyProblem {
    pub(crate) path: String,
    pub(crate) line: usize,
    pub(crate) message: String,
}

/// Whether a crate for development has this name.
pub(crate) fn is_member(name: &str) -> bool {
    MEMBERS.contains(&name)
}

impl Checkout {
    /// Reads the folder `root`; files that are not UTF-8 are left out, since no check is about them.
    pub(crate) fn read(root: &Path) -> io::Result<Checkout> {
        let mut files = Vec::new();
        let top_entries = read_folder(root, "", &mut files)?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Checkout { files, top_entries })
    }

    /// The file at exactly this path.
    pub(crate) fn file(&self, path: &str) -> Option<&SourceFile> {
        self.files.iter().find(|file| file.path == path)
    }

    /// The Rust files, those of `src`, `tests` and the members alike.
    pub(crate) fn rust_files(&self) -> impl Iterator<Item = &SourceFile> {
        self.files.iter().filter(|file| file.path.ends_with(".rs"))
    }

    /// The rooms there are: `src/engine/lib.rs` and what is beside it make the room `engine`. Sorted, each once.
    pub(crate) fn rooms(&self) -> Vec<&str> {
        let mut rooms: Vec<&str> = self.rust_files().filter_map(SourceFile::room).collect();
        rooms.sort_unstable();
        rooms.dedup();
        rooms
    }
}

impl SourceFile {
    /// The room that this file belongs to; none for the crate's root and what is not in `src`.
    pub(crate) fn room(&self) -> Option<&str> {
        let inside = self.path.strip_prefix("src/")?;
        let room = inside.split('/').next()?;
        let room = room.strip_suffix(".rs").unwrap_or(room);
        (!["lib", "main"].contains(&room)).then_some(room)
    }

    /// The crate for development that this file belongs to: `xtask/src/main.rs` is one of `xtask`.
    pub(crate) fn member(&self) -> Option<&'static str> {
        MEMBERS.iter().find(|name| self.path.strip_prefix(**name).is_some_and(|rest| rest.starts_with("/src/"))).copied()
    }

    pub(crate) fn layers(&self) -> lexer::TextLayers {
        lexer::layers(&self.text)
    }

    pub(crate) fn problem(&self, line: usize, message: impl Into<String>) -> TidyProblem {
        TidyProblem { path: self.path.clone(), line, message: message.into() }
    }

    /// The line (1-based) in which the byte at `offset` stands.
    pub(crate) fn line_at(&self, offset: usize) -> usize {
        self.text[..offset].matches('\n').count() + 1
    }
}

/// Adds the folder's text files, and those below it, to `files`; returns the names of its entries.
fn read_folder(folder: &Path, prefix: &str, files: &mut Vec<SourceFile>) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = format!("{prefix}{name}");
        let is_ignored = IGNORED.contains(&path.as_str()) || IGNORED_ANYWHERE.contains(&name.as_str());
        if is_ignored || path.ends_with(IGNORED_ENDING) {
            continue;
        }
        if entry.file_type()?.is_dir() {
            read_folder(&entry.path(), &format!("{path}/"), files)?;
        } else if let Ok(text) = String::from_utf8(std::fs::read(entry.path())?) {
            files.push(SourceFile { path, text });
        }
        names.push(name);
    }
    Ok(names)
}

#[cfg(test)]
impl Checkout {
    /// A checkout in memory, for the checks' tests: pairs of path and text.
    pub(crate) fn from_files(files: &[(&str, &str)]) -> Checkout {
        let files = files.iter().map(|&(path, text)| SourceFile { path: path.to_string(), text: text.to_string() });
        Checkout { files: files.collect(), top_entries: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rooms_come_from_paths() {
        let checkout = Checkout::from_files(&[
            ("src/lib.rs", ""),
            ("src/wire.rs", ""),
            ("src/wire/a.rs", ""),
            ("src/sim/b.rs", ""),
            ("tests/x.rs", ""),
        ]);
        assert_eq!(checkout.rooms(), ["sim", "wire"]);
    }

    #[test]
    fn members_come_from_paths() {
        let checkout =
            Checkout::from_files(&[("bench/src/main.rs", ""), ("benches/src/a.rs", ""), ("src/xtask.rs", ""), ("xtask/Cargo.toml", "")]);
        assert_eq!(checkout.files.iter().map(SourceFile::member).collect::<Vec<_>>(), [Some("bench"), None, None, None]);
    }

    #[test]
    fn this_checkout_can_be_read() {
        let checkout = Checkout::read(&crate::root()).expect("the checkout is readable");
        assert!(MEMBERS.iter().all(|name| checkout.file(&format!("{name}/src/main.rs")).is_some()));
        assert!(checkout.file("xtask/src/tidy/checkout.rs").is_some());
        assert!(checkout.files.iter().all(|file| !file.path.starts_with("target/")));
        assert!(checkout.top_entries.iter().any(|name| name == "Cargo.toml"));
    }
}
