//! The entries that a walk through folders leaves out: hidden ones, products of builds and package managers, and files that git ignores.
//!
//! The crate `ignore` does this for ripgrep; it would bring eight crates into every test suite that uses this library. Of the format of
//! `.gitignore` all is here that names files: comments, `!`, `/` at either end, `*`, `?`, `**` and `[a-z]`; a user's global file is not read.

use std::path::{Path, PathBuf};

use regex::Regex;

use crate::text;
use reenact_wire::prelude::*;

/// Folders that hold what other programs wrote.
const FOREIGN: [&str; 2] = ["target", "node_modules"];

/// The rules that hold in a folder: those of its own `.gitignore` and of the folders above it.
#[derive(Clone, Debug, Default)]
pub(super) struct IgnoreRules {
    rules: Vec<IgnoreRule>,
}

/// A line of a `.gitignore`.
#[derive(Clone, Debug)]
struct IgnoreRule {
    /// The folder that the file is in.
    folder: PathBuf,
    pattern: Regex,
    folders_only: bool,
    /// Whether it takes back what an earlier rule says.
    keeps: bool,
}

impl IgnoreRules {
    /// The rules above a folder: those of the folders up to the one that has a `.git`; none where there is no such folder.
    pub(super) fn above(folder: &Path) -> Self {
        let mut ignored = Self::default();
        let Ok(folder) = folder.canonicalize() else { return ignored };
        let mut above: Vec<&Path> = Vec::new();
        for ancestor in folder.ancestors() {
            if ancestor != folder {
                above.push(ancestor);
            }
            if ancestor.join(".git").exists() {
                above.iter().rev().for_each(|folder| ignored.add(folder));
                break;
            }
        }
        ignored
    }

    /// The same with a folder's own rules.
    pub(super) fn within(&self, folder: &Path) -> Self {
        let mut ignored = self.clone();
        if let Ok(folder) = folder.canonicalize() {
            ignored.add(&folder);
        }
        ignored
    }

    /// Whether an entry of the folder is left out.
    pub(super) fn covers(&self, entry: &Path, is_folder: bool) -> bool {
        let name = entry.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if name.starts_with('.') || (is_folder && FOREIGN.contains(&name.as_str())) {
            return true;
        }
        // A link is called as it stands here, wherever it leads.
        let Some(whole) = entry.parent().and_then(|parent| parent.canonicalize().ok()).map(|parent| parent.join(&name)) else {
            return false;
        };
        let fits = |rule: &&IgnoreRule| (is_folder || !rule.folders_only) && rule.fits(&whole);
        self.rules.iter().rev().find(fits).is_some_and(|rule| !rule.keeps)
    }

    fn add(&mut self, folder: &Path) {
        let Ok(lines) = text::read(&folder.join(".gitignore")) else { return };
        self.rules.extend(lines.lines().filter_map(|line| IgnoreRule::read(folder, line)));
    }
}

impl IgnoreRule {
    fn read(folder: &Path, line: &str) -> Option<Self> {
        let line = line.trim_end();
        let (keeps, line) = line.strip_prefix('!').map_or((false, line), |rest| (true, rest));
        if line.is_empty() || line.starts_with('#') {
            return None;
        }
        let (folders_only, line) = line.strip_suffix('/').map_or((false, line), |rest| (true, rest));
        // A slash within ties the pattern to this folder; without one it fits at any depth.
        let anywhere = if line.contains('/') { "" } else { "(?:.*/)?" };
        let pattern = Regex::new(&format!("^{anywhere}{}$", pattern(line.trim_start_matches('/')))).ok()?;
        Some(Self { folder: folder.into(), pattern, folders_only, keeps })
    }

    fn fits(&self, path: &Path) -> bool {
        path.strip_prefix(&self.folder).is_ok_and(|below| self.pattern.is_match(&below.to_string_lossy().replace('\\', "/")))
    }
}

/// A pattern of git's as a regular expression.
fn pattern(glob: &str) -> String {
    let mut out = String::new();
    let mut rest = glob;
    while let Some(character) = rest.chars().next() {
        let (written, used) = match character {
            '*' if rest.starts_with("**/") => ("(?:.*/)?".into(), 3),
            '*' if rest.starts_with("**") => (".*".into(), 2),
            '*' => ("[^/]*".into(), 1),
            '?' => ("[^/]".into(), 1),
            '[' => match rest.find(']') {
                Some(end) => (rest[..=end].replacen("[!", "[^", 1), end + 1),
                None => (r"\[".into(), 1),
            },
            '\\' if rest.len() > 1 => {
                let next = rest[1..].chars().next().unwrap_or('\\');
                (regex::escape(&next.to_string()), 1 + next.len_utf8())
            }
            other => (regex::escape(&other.to_string()), other.len_utf8()),
        };
        out.push_str(&written);
        rest = &rest[used..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covers(lines: &str, path: &str, is_folder: bool) -> bool {
        let folder = tempfile::tempdir().unwrap();
        let entry = folder.path().join(path);
        std::fs::create_dir_all(entry.parent().unwrap()).unwrap();
        std::fs::write(folder.path().join(".gitignore"), lines).unwrap();
        IgnoreRules::default().within(folder.path()).covers(&entry, is_folder)
    }

    #[test]
    fn what_git_ignores_is_left_out() {
        for (lines, path, is_folder) in [
            ("*.toml", "a/b.toml", false),
            ("# x\n\nbuild/", "a/build", true),
            ("/out", "out", false),
            ("a/*.toml", "a/b.toml", false),
            ("a/**/z", "a/b/c/z", false),
            ("a/**", "a/b/c.toml", false),
            ("x?[0-9].toml", "xy7.toml", false),
            ("!a.toml\n*.toml", "a.toml", false),
        ] {
            assert!(covers(lines, path, is_folder), "{lines:?} leaves out {path}");
        }
        for (lines, path, is_folder) in [
            ("build/", "build", false),
            ("/out", "a/out", false),
            ("a/*.toml", "a/b/c.toml", false),
            ("*.toml\n!a.toml", "a.toml", false),
            ("#*", "b.toml", false),
            ("a", "ab.toml", false),
            ("x.toml", "xytoml", false),
        ] {
            assert!(!covers(lines, path, is_folder), "{lines:?} keeps {path}");
        }
    }

    #[test]
    fn what_other_programs_wrote_is_left_out() {
        for (path, is_folder) in [("target", true), ("a/node_modules", true), (".git", true), (".x.toml", false)] {
            assert!(covers("", path, is_folder), "{path}");
        }
        assert!(!covers("", "target", false) && !covers("", "targets", true));
    }
}
