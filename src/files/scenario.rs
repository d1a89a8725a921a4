//! Finding scenario files and making them ready to run.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::{import, schema, tape};
use crate::prelude::*;
use crate::scenario::derive;
use crate::scenario::parse::{self, Fault, Faults};
use crate::scenario::tape::Tape;
use crate::scenario::types::Scenario;
use crate::world::setup::{Setup, SetupError};

/// A scenario that can be run.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// How people name it: its path below `scenarios`, without the extension.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
    /// Ready to run.
    pub setup: Arc<Setup>,
    /// What of its tape was left out (F-2): the rest replays, but whoever asked should know.
    pub warnings: Vec<String>,
}

/// Why a scenario cannot be run. Each message names the file and says what to do.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The path leads nowhere.
    #[error("{}: no such file or folder; name a scenario (`*.toml`), a tape (`*.tape.jsonl`) or a folder of them", .0.display())]
    Missing(PathBuf),
    /// The folder holds no scenario.
    #[error("{}: this folder holds no scenario (`*.toml`); `reenact import RECORDING --out {}/NAME` makes one", .0.display(), .0.display())]
    NoScenarios(PathBuf),
    /// The file cannot be read.
    #[error("{}: {problem}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// What the system said.
        problem: String,
    },
    /// It is a recording.
    #[error("{}: this is {format}, not a scenario: `reenact import {}` makes one of it", path.display(), path.display())]
    Recording {
        /// Which.
        path: PathBuf,
        /// What it is.
        format: &'static str,
    },
    /// The text is not a scenario: all that is wrong with it.
    #[error("{0}")]
    Faults(Faults),
    /// Something that the text names is wrong.
    #[error("{0}")]
    Fault(Box<Fault>),
    /// A tape that was named by itself is wrong.
    #[error("{0}")]
    Tape(String),
}

/// The scenario files that `paths` name, in order, each once; folders are searched, their entries sorted by name.
///
/// # Errors
/// One for each path that leads to no scenario.
pub fn find(paths: &[PathBuf]) -> (Vec<PathBuf>, Vec<LoadError>) {
    let (mut search, mut errors) = (Search::default(), Vec::new());
    for path in paths {
        if path.is_dir() {
            search.met_any = false;
            match search.folder(path) {
                Err(error) => errors.push(error),
                Ok(()) if !search.met_any => errors.push(LoadError::NoScenarios(path.clone())),
                Ok(()) => (),
            }
        } else if path.exists() {
            search.file(path.clone());
        } else {
            errors.push(LoadError::Missing(path.clone()));
        }
    }
    (search.found, errors)
}

/// What was found, and what was visited: links may lead in circles, and two paths to the same file.
#[derive(Default)]
struct Search {
    found: Vec<PathBuf>,
    visited: BTreeSet<PathBuf>,
    met_any: bool,
}

impl Search {
    fn folder(&mut self, folder: &Path) -> Result<(), LoadError> {
        if !self.is_new(folder) {
            self.met_any = true;
            return Ok(());
        }
        let read = |error: std::io::Error| LoadError::Read { path: folder.into(), problem: error.to_string() };
        let entries = fs::read_dir(folder).map_err(read)?.map(|entry| entry.map(|entry| entry.path()));
        let mut entries: Vec<PathBuf> = entries.collect::<Result<_, _>>().map_err(read)?;
        entries.sort();
        for entry in entries {
            if entry.is_dir() {
                self.folder(&entry)?;
            } else if entry.is_file() && entry.extension().is_some_and(|extension| extension == "toml") {
                self.file(entry);
            }
        }
        Ok(())
    }

    fn file(&mut self, file: PathBuf) {
        self.met_any = true;
        if self.is_new(&file) {
            self.found.push(file);
        }
    }

    fn is_new(&mut self, path: &Path) -> bool {
        self.visited.insert(absolute(path))
    }
}

/// The path without links and dots; as it is where the system does not say.
fn absolute(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.into())
}

/// Reads a scenario and its tape. A tape that is named by itself is replayed as the scenario that follows from it (K-4).
///
/// # Errors
/// Everything that is wrong, with its place.
pub fn load(path: &Path, overrides: &[(String, String)]) -> Result<Loaded, LoadError> {
    if path.to_string_lossy().ends_with(".jsonl") {
        return load_tape(path);
    }
    let shown = path.display().to_string();
    if !path.is_file() {
        return Err(LoadError::Read { path: path.into(), problem: String::from("not a file that can be read as a scenario") });
    }
    let bytes = fs::read(path).map_err(|error| LoadError::Read { path: path.into(), problem: error.to_string() })?;
    if path.extension().is_none_or(|extension| extension != "toml")
        && let Some(format) = import::format_name(&bytes)
    {
        return Err(LoadError::Recording { path: path.into(), format });
    }
    let text = String::from_utf8(bytes).map_err(|error| LoadError::Read {
        path: path.into(),
        problem: format!("not UTF-8 text (byte {}); a scenario is a TOML file", error.utf8_error().valid_up_to() + 1),
    })?;
    let parsed = parse::scenario(&shown, &text, overrides).map_err(LoadError::Faults)?;
    let at_tape = |message: String| match parsed.tape_fault(&message) {
        Some(fault) => LoadError::Fault(Box::new(fault)),
        None => LoadError::Tape(message),
    };
    let (tape, warnings) = match &parsed.scenario.tape {
        None => (None, Vec::new()),
        Some(source) => {
            let file = path.parent().unwrap_or(Path::new("")).join(&source.path);
            let tape = tape::read(&file).map_err(|error| at_tape(error.to_string()))?;
            let warnings = tape::warnings(&file, &tape);
            (Some(tape), warnings)
        }
    };
    let mut setup =
        Setup::new(parsed.scenario.clone(), tape.as_ref()).map_err(|error: SetupError| at_tape(with_warnings(&error, &warnings)))?;
    setup.check_results().map_err(|error| LoadError::Read { path: path.into(), problem: error.to_string() })?;
    schema::attach(&mut setup.environment);
    Ok(Loaded { name: name_of(path), path: path.into(), setup: Arc::new(setup), warnings })
}

fn load_tape(path: &Path) -> Result<Loaded, LoadError> {
    let tape = tape::read(path).map_err(|error| LoadError::Tape(error.to_string()))?;
    let warnings = tape::warnings(path, &tape);
    let mut setup = main_thread(path, &tape).map_err(|error| LoadError::Tape(with_warnings(&error, &warnings)))?;
    schema::attach(&mut setup.environment);
    Ok(Loaded { name: name_of(path), path: path.into(), setup: Arc::new(setup), warnings })
}

/// An error, and what of the tape was left out: often the one explains the other.
fn with_warnings(error: &dyn std::error::Error, warnings: &[String]) -> String {
    std::iter::once(&error.to_string()).chain(warnings).map(String::as_str).collect::<Vec<_>>().join("\n")
}

fn main_thread(path: &Path, tape: &Tape) -> Result<Setup, LoadError> {
    let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let scenario: Option<Scenario> = derive::scenarios(tape, &file).into_iter().next().map(|derived| derived.scenario);
    let nothing = || LoadError::Tape(format!("{}: the tape holds no complete exchange to replay", path.display()));
    Setup::new(scenario.ok_or_else(nothing)?, Some(tape)).map_err(|error| LoadError::Tape(format!("{}: {error}", path.display())))
}

/// `a/scenarios/executor/order.toml` is `executor/order`; elsewhere the file's own name.
fn name_of(path: &Path) -> String {
    let (_, below) = below_scenarios(path);
    let text = below.to_string_lossy().replace('\\', "/");
    let text = text.trim_end_matches(".toml").trim_end_matches(".jsonl").trim_end_matches(".tape");
    text.to_string()
}

/// Where the snapshot of a scenario is: `snapshots` beside the folder `scenarios` that it is in, under the same name; elsewhere in
/// a folder `snapshots` beside the file.
pub fn snapshot_path(path: &Path) -> PathBuf {
    let (root, _) = below_scenarios(path);
    root.join("snapshots").join(format!("{}.snap", name_of(path)))
}

/// The folder that holds `scenarios`, and the path below that; for a file elsewhere its own folder and its name. However the path is
/// written, the same file has the same place.
fn below_scenarios(path: &Path) -> (PathBuf, PathBuf) {
    let whole = absolute(path);
    let components: Vec<_> = whole.components().collect();
    let Some(at) = components.iter().rposition(|component| component.as_os_str() == "scenarios").filter(|at| at + 1 < components.len())
    else {
        return (path.parent().unwrap_or(Path::new("")).into(), path.file_name().map(PathBuf::from).unwrap_or_default());
    };
    (components[..at].iter().collect(), components[at + 1..].iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_concept_s_name_is_its_path_in_scenarios_and_snapshots() {
        let of = |path: &str| (name_of(Path::new(path)), snapshot_path(Path::new(path)).display().to_string());
        let pair = |name: &str, snapshot: &str| (name.to_string(), snapshot.to_string());
        assert_eq!(of("scenarios/executor/order.toml"), pair("executor/order", "snapshots/executor/order.snap"));
        let here = of("scenarios/query/read-one-file.toml");
        assert_eq!(here.0, "query/read-one-file");
        assert_eq!(of("scenarios/query/../query/read-one-file.toml"), here, "however it is written");
        assert_eq!(of("/x/scenarios/a/b/c.toml"), pair("a/b/c", "/x/snapshots/a/b/c.snap"));
        assert_eq!(of("mine/weather.toml"), pair("weather", "mine/snapshots/weather.snap"));
        assert_eq!(of("w.tape.jsonl"), pair("w", "snapshots/w.snap"));
    }
}
