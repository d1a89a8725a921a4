//! The scenario files that paths lead to (F-9).

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use reenact_scenario::parse;
use reenact_wire::prelude::*;

use super::LoadError;
use super::gitignore::IgnoreRules;
use super::paths::{absolute, split};
use crate::text;

/// The files that paths lead to.
#[derive(Debug, Default)]
pub struct FoundFiles {
    /// The scenarios, in order, each once.
    pub scenarios: Vec<PathBuf>,
    /// TOML files in the folders that are no scenarios.
    pub others: Vec<PathBuf>,
    /// One for each path that leads to no scenario.
    pub errors: Vec<LoadError>,
}

/// The scenarios alone, and the problems of the paths. See [`search`].
///
/// # Errors
/// One for each path that leads to no scenario.
pub fn find(paths: &[PathBuf]) -> (Vec<PathBuf>, Vec<LoadError>) {
    let FoundFiles { scenarios, errors, others: _ } = search(paths);
    (scenarios, errors)
}

/// The scenario files that `paths` name, in order, each once; folders are searched, their entries sorted by name, without hidden ones, what git
/// ignores, `target` and `node_modules`. Files whose name begins with `_` are there to be extended and are only run when they are named themselves
/// (F-9). Behind an `@` a path may name some of the runs of a matrix: `x.toml@seed=1`.
pub fn search(paths: &[PathBuf]) -> FoundFiles {
    let (mut search, mut errors) = (FileSearch::default(), Vec::new());
    for path in paths {
        if path.is_dir() {
            search.met_any = false;
            let (known, known_bases) = (search.others.len(), search.bases.len());
            match search.folder(path, &IgnoreRules::above(path)) {
                Err(error) => errors.push(error),
                Ok(()) if !search.met_any => {
                    let others = search.others.split_off(known);
                    let bases = search.bases.split_off(known_bases);
                    errors.push(LoadError::NoScenarios { folder: path.clone(), others, bases });
                }
                Ok(()) => (),
            }
        } else if split(path).0.exists() {
            search.file(path.clone());
        } else {
            errors.push(LoadError::Missing(path.clone()));
        }
    }
    errors.extend(search.empty.into_iter().map(LoadError::Empty));
    FoundFiles { scenarios: search.found, others: search.others, errors }
}

/// How many other files are named.
const OTHERS_NAMED: usize = 3;

/// `4 TOML files are no scenarios: a.toml, b.toml, c.toml, …`.
pub fn others_text(others: &[PathBuf]) -> String {
    let names: Vec<String> = others.iter().take(OTHERS_NAMED).map(|other| other.display().to_string()).collect();
    let are = if others.len() == 1 { "is not a scenario" } else { "are not scenarios" };
    let more = if others.len() > OTHERS_NAMED { ", …" } else { "" };
    format!("{} {are}: {}{more}", plural(others.len() as u64, "TOML file"), names.join(", "))
}

/// The found files, and the visited ones: links may lead in circles, and two paths to the same file.
#[derive(Default)]
struct FileSearch {
    found: Vec<PathBuf>,
    others: Vec<PathBuf>,
    bases: Vec<PathBuf>,
    empty: Vec<PathBuf>,
    visited: BTreeSet<PathBuf>,
    met_any: bool,
}

impl FileSearch {
    fn folder(&mut self, folder: &Path, above: &IgnoreRules) -> Result<(), LoadError> {
        if !self.is_new(folder) {
            self.met_any = true;
            return Ok(());
        }
        let read = |error: std::io::Error| LoadError::Read { path: folder.into(), problem: error.to_string() };
        let entries = fs::read_dir(folder).map_err(read)?.map(|entry| entry.map(|entry| entry.path()));
        let mut entries: Vec<PathBuf> = entries.collect::<Result<_, _>>().map_err(read)?;
        entries.sort();
        let ignored = above.within(folder);
        for entry in entries {
            let is_toml = || entry.is_file() && entry.extension().is_some_and(|extension| extension == "toml");
            if ignored.covers(&entry, entry.is_dir()) {
                continue;
            }
            if entry.is_dir() {
                self.folder(&entry, &ignored)?;
            } else if is_toml() && is_base(&entry) {
                self.bases.push(entry);
            } else if is_toml() {
                self.toml(entry);
            } else if entry.extension().is_some_and(|extension| extension == "toml") {
                // A pipe, or a link that leads nowhere.
                self.others.push(entry);
            }
        }
        Ok(())
    }

    /// A file that can be read and is not a scenario is another one. A file that cannot be read is reported when it is run.
    fn toml(&mut self, file: PathBuf) {
        match text::read(&file) {
            Ok(text) if text.trim().is_empty() => {
                self.met_any = true;
                if self.is_new(&file) {
                    self.empty.push(file);
                }
            }
            Ok(text) if !parse::is_scenario(&text) => self.others.push(file),
            _ => self.file(file),
        }
    }

    fn file(&mut self, file: PathBuf) {
        self.met_any = true;
        if self.is_new(&file) {
            self.found.push(file);
        }
    }

    /// A file is new when it was not met, and so is another choice of its runs.
    fn is_new(&mut self, path: &Path) -> bool {
        self.visited.insert(absolute(path))
    }
}

/// Whether a file is there to be extended.
fn is_base(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('_'))
}
