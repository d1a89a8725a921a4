//! Finding scenario files and making them ready to run.

mod fixture;
mod gitignore;
mod paths;
mod references;
mod search;
mod variants;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use thiserror::Error;

pub use self::paths::{absolute, name_of, path_beside_snapshots, possible_owners, regressions_folder, snapshot_path};
pub use self::references::FileReach;
pub use self::search::{FoundFiles, find, others_text, search};
pub use self::variants::{ScenarioVariants, bytes_digest, digest, from_text};

use self::paths::{split, with_combination};
use self::references::{ExtendsChain, NamedTable, ReferenceBounds, has_lines_to_show};
use super::shell_word::quoted_path;
use super::tape::TapeWarning;
use super::{open, recording, schema, tape, text};
use reenact_engine::budget::PriceTable;
use reenact_engine::windows::WindowTable;
use reenact_scenario::derive;
use reenact_scenario::language::scenario_text;
use reenact_scenario::parse::{self, Diagnostic, Diagnostics, ParsedScenario, SourceText, TablePlaces};
use reenact_scenario::tape::Tape;
use reenact_scenario::types::Scenario;
use reenact_wire::prelude::*;
use reenact_world::setup::{RunSetup, SetupError};

/// A scenario that can be run.
#[derive(Clone, Debug)]
pub struct LoadedScenario {
    /// How people name it: its path below `scenarios`, without the extension; of a matrix with the combination, `a/b@seed=1`.
    pub name: String,
    /// As it is named on the command line: its file, and of a matrix the combination, `scenarios/a/b.toml@seed=1`.
    pub path: PathBuf,
    /// Ready to run.
    pub setup: Arc<RunSetup>,
    /// The file of its tape, if it has one.
    pub tape_file: Option<PathBuf>,
    /// The file of its own price table, if it has one.
    pub prices_file: Option<PathBuf>,
    /// The file of its own window table, if it has one.
    pub windows_file: Option<PathBuf>,
    /// The folder of its `[workspace]`, if it names one.
    pub workspace_folder: Option<PathBuf>,
    /// The file that it stands in.
    pub file: PathBuf,
    /// Which combination of its matrix this is, if it has one.
    pub combination: Option<String>,
    /// How many runs the file has in all.
    pub runs: usize,
    /// Where its parts stand in its file and in those that it extends.
    pub places: TablePlaces,
    /// The parts of its tape that were left out (F-2): the rest replays, and the caller can report them.
    pub warnings: Vec<TapeWarning>,
}

/// Why a scenario cannot be run. Each message names the file and ends with a next step.
#[derive(Error)]
pub enum LoadError {
    /// The path leads nowhere.
    #[error("{}: no such file or folder{}; name a scenario (`*.toml`), a tape (`*.tape.jsonl`) or a folder of them", .0.display(), near_text(.0))]
    Missing(PathBuf),
    /// The folder holds no scenario.
    #[error("{}", no_scenarios_text(folder, others, bases))]
    NoScenarios {
        /// The folder.
        folder: PathBuf,
        /// TOML files that it holds.
        others: Vec<PathBuf>,
        /// Files that it holds to be extended.
        bases: Vec<PathBuf>,
    },
    /// A file in the folder is empty: it may have lost its text.
    #[error("{}: this file is empty: write a [[prompt]], or remove the file", .0.display())]
    Empty(PathBuf),
    /// The file cannot be read.
    #[error("{}: {problem}", path.display())]
    Read {
        /// The path.
        path: PathBuf,
        /// The error of the system.
        problem: String,
    },
    /// It is a recording.
    #[error("{}: this is {format}, not a scenario: `reenact import {}` converts it", path.display(), quoted_path(path))]
    Recording {
        /// The path.
        path: PathBuf,
        /// Its kind.
        format: &'static str,
    },
    /// The text is not a scenario at all. Nothing of it is repeated: it may be any file.
    #[error("{}: this is not a scenario; a scenario is a file NAME.toml with a [[prompt]] or a `tape`; `reenact import RECORDING` makes one", .0.display())]
    NotScenario(PathBuf),
    /// There are mistakes in the scenario: all that is wrong with it.
    #[error("{0}")]
    Diagnostics(Diagnostics),
    /// Something that the text names is wrong.
    #[error("{0}")]
    Diagnostic(Box<Diagnostic>),
    /// The file is a matrix, and one run is wanted.
    #[error("{}: this is a matrix of {} runs; name one of them: {}", path.display(), runs.len(), one_a_line(path, runs))]
    Several {
        /// The path.
        path: PathBuf,
        /// The combinations.
        runs: Vec<String>,
    },
    /// The name behind the `@` selects nothing.
    #[error("{}: this file has no run of this name{}", path.display(), if runs.is_empty() { format!(": it has no [matrix]{}", seed_advice(path)) } else { format!("; it has {}", one_a_line(file, runs)) })]
    NoSuchRun {
        /// As it was named.
        path: PathBuf,
        /// Its file.
        file: PathBuf,
        /// The combinations that there are.
        runs: Vec<String>,
    },
    /// A tape that was named by itself is wrong.
    #[error("{0}")]
    Tape(String),
}

/// A test says `run_file(…).unwrap()`, and is to show the same words as the command line.
impl fmt::Debug for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// `; did you mean x.toml?`, where the folder has a file of nearly this name.
fn near_text(path: &Path) -> String {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let entries = fs::read_dir(folder.unwrap_or(Path::new("."))).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    let Some(wanted) = path.file_name().map(|name| name.to_string_lossy().into_owned()) else { return String::new() };
    if path.is_symlink() {
        return String::from(": it is a link, and what it leads to is not there");
    }
    names.retain(|name| *name != wanted);
    let whole = names.iter().find(|name| **name == format!("{wanted}.toml")).map(String::as_str);
    if path == Path::new("scenarios") {
        return String::from("; `reenact new scenario` writes a first one");
    }
    let near = whole.or_else(|| parse::nearest::nearest(&wanted, names.iter().map(String::as_str)));
    let with_folder = |name: &str| folder.map_or_else(|| PathBuf::from(name), |folder| folder.join(name));
    near.map(|name| format!("; did you mean {}?", with_folder(name).display())).unwrap_or_default()
}

fn no_scenarios_text(folder: &Path, others: &[PathBuf], bases: &[PathBuf]) -> String {
    let folder = folder.display();
    if let Some(first) = bases.first().filter(|_| others.is_empty()) {
        let more = if bases.len() > 1 { format!(" and {} more", bases.len() - 1) } else { String::new() };
        let are = if bases.len() > 1 { "are" } else { "is" };
        return format!(
            "{folder}: this folder holds no scenario: {}{more} {are} there to be extended, because the name begins with `_`; name the file to run it",
            first.display()
        );
    }
    let others = if others.is_empty() { String::new() } else { format!("; {}", others_text(others)) };
    format!(
        "{folder}: this folder holds no scenario (`*.toml` with a [[prompt]] or a `tape`){others}; `reenact import RECORDING --out {folder}/NAME` makes one"
    )
}

/// `x.toml@seed=3` is a run of a matrix; any scenario takes another seed by an option.
fn seed_advice(path: &Path) -> String {
    let named = split(path).1.unwrap_or_default();
    let seed = named.split(',').find_map(|part| part.strip_prefix("seed="));
    seed.map(|seed| format!("; for another seed: {} --seed {seed}", split(path).0.display())).unwrap_or_default()
}

fn one_a_line(file: &Path, runs: &[String]) -> String {
    runs.iter().map(|run| format!("\n  {}", with_combination(file, run).display())).collect()
}

/// How a scenario is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadOptions {
    /// Keys that are set, as `--set KEY=VALUE` does.
    pub overrides: Vec<(String, String)>,
    /// Which files the scenario may name.
    pub reach: FileReach,
    /// The text of a plan, in place of the scenario's own.
    pub plan: Option<String>,
}

impl From<&[(String, String)]> for LoadOptions {
    fn from(overrides: &[(String, String)]) -> Self {
        Self { overrides: overrides.to_vec(), ..Self::default() }
    }
}

/// Reads a scenario that is one run and names only files of its project. See [`load_all_with`].
///
/// # Errors
/// Everything that is wrong, with its place; a matrix of which the path names no single run.
pub fn load(path: &Path, overrides: &[(String, String)]) -> Result<LoadedScenario, LoadError> {
    load_with(path, &overrides.into())
}

/// The same with options.
///
/// # Errors
/// As [`load`].
pub fn load_with(path: &Path, options: &LoadOptions) -> Result<LoadedScenario, LoadError> {
    let mut runs = load_all_with(path, options)?;
    match runs.len() {
        1 => Ok(runs.remove(0)),
        _ => {
            let names = runs.iter().filter_map(|run| Some(run.name.split_once('@')?.1.to_string())).collect();
            Err(LoadError::Several { path: split(path).0.into(), runs: names })
        }
    }
}

/// Reads all runs of a scenario that names only files of its project. See [`load_all_with`].
///
/// # Errors
/// Everything that is wrong, with its place.
pub fn load_all(path: &Path, overrides: &[(String, String)]) -> Result<Vec<LoadedScenario>, LoadError> {
    load_all_with(path, &overrides.into())
}

/// Reads a scenario with all that it extends, and its tape: as many runs as its matrix has combinations, or as many of them as the path
/// names. A tape that is named by itself is replayed as the scenario that follows from it (K-4).
///
/// # Errors
/// Everything that is wrong, with its place.
pub fn load_all_with(path: &Path, options: &LoadOptions) -> Result<Vec<LoadedScenario>, LoadError> {
    let is_tape = path.to_string_lossy().ends_with(".jsonl");
    if is_tape && options.overrides.is_empty() && options.plan.is_none() {
        return load_tape(path).map(|loaded| vec![loaded]);
    }
    let (file, combination) = split(path);
    let text = if is_tape { scenario_text(&main_thread(path, &read_tape(path)?)?, &[]) } else { read_text(file)? };
    let source = SourceText { name: file.display().to_string(), text };
    let bounds = ReferenceBounds::new(file, options.reach);
    let mut chain = ExtendsChain::new(file, &bounds);
    let runs = parse::scenarios(&source, &options.overrides, &mut |path, _| chain.next(path));
    let runs = runs.map_err(|diagnostics| match is_tape || has_lines_to_show(file, &source.text) {
        true => LoadError::Diagnostics(diagnostics),
        false => LoadError::NotScenario(file.into()),
    })?;
    let count = runs.len();
    let mut chosen = match combination {
        None => runs,
        Some(wanted) => choose(path, file, wanted, runs)?,
    };
    if let Some(text) = &options.plan {
        let plan = parse::plan("plan", text).map_err(LoadError::Diagnostics)?;
        chosen.iter_mut().for_each(|run| run.scenario.plan = plan.clone());
    }
    let mut loaded: Vec<LoadedScenario> = chosen.into_iter().map(|run| ready(file, count, &bounds, run)).collect::<Result<_, _>>()?;
    // What is left out of a tape is told once.
    loaded.iter_mut().skip(1).for_each(|run| run.warnings.clear());
    Ok(loaded)
}

/// How many lines and values a scenario may have. A value takes up to 700 bytes of memory, whatever its length (K-12).
const VALUES_MAX: usize = 500_000;

fn read_text(path: &Path) -> Result<String, LoadError> {
    if !path.exists() {
        return Err(LoadError::Missing(path.into()));
    }
    if !path.is_file() {
        return Err(LoadError::Read { path: path.into(), problem: String::from("not a file that can be read as a scenario") });
    }
    let bytes =
        open::read(path, text::TEXT_BYTES_MAX).map_err(|error| LoadError::Read { path: path.into(), problem: error.to_string() })?;
    if path.extension().is_none_or(|extension| extension != "toml")
        && let Some(format) = recording::format_name(&*bytes)
    {
        return Err(LoadError::Recording { path: path.into(), format });
    }
    let text = text::decode(bytes).map_err(|problem| LoadError::Read { path: path.into(), problem })?;
    let values = text.bytes().filter(|byte| matches!(byte, b'\n' | b',' | b'=' | b'[' | b'{')).count();
    if values > VALUES_MAX {
        let problem = format!("it has more than {VALUES_MAX} lines and values, and no scenario has so many");
        return Err(LoadError::Read { path: path.into(), problem });
    }
    Ok(text)
}

/// The runs in whose combination everything is set that `wanted` says: `seed=1` stands for all with this seed.
fn choose(path: &Path, file: &Path, wanted: &str, runs: Vec<ParsedScenario>) -> Result<Vec<ParsedScenario>, LoadError> {
    let names: Vec<String> = runs.iter().filter_map(|run| run.combination.clone()).collect();
    let fits = |run: &ParsedScenario| {
        let set: Vec<&str> = run.combination.as_deref().map(|combination| combination.split(',').collect()).unwrap_or_default();
        wanted.split(',').all(|part| set.contains(&part))
    };
    let chosen: Vec<ParsedScenario> = runs.into_iter().filter(fits).collect();
    if chosen.is_empty() { Err(LoadError::NoSuchRun { path: path.into(), file: file.into(), runs: names }) } else { Ok(chosen) }
}

/// One run of a file, with its tape.
fn ready(file: &Path, runs: usize, bounds: &ReferenceBounds, parsed: ParsedScenario) -> Result<LoadedScenario, LoadError> {
    let at_tape = |message: String| match parsed.tape_diagnostic(&message) {
        Some(diagnostic) => LoadError::Diagnostic(Box::new(diagnostic)),
        None => LoadError::Tape(message),
    };
    let (tape, tape_file, warnings) = match &parsed.scenario.tape {
        None => (None, None, Vec::new()),
        Some(source) => {
            let said_in = parsed.tape_said_in().map_or(file, Path::new);
            let tape_file = said_in.parent().unwrap_or(Path::new("")).join(&source.path);
            bounds.check("tape", &tape_file).map_err(at_tape)?;
            let tape = tape::read(&tape_file).map_err(|error| at_tape(error.to_string()))?;
            let warnings = tape::warnings(&tape_file, &tape);
            (Some(tape), Some(tape_file), warnings)
        }
    };
    let mut setup =
        RunSetup::new(parsed.scenario.clone(), tape.as_ref()).map_err(|error: SetupError| at_tape(with_warnings(&error, &warnings)))?;
    let path = parsed.combination.as_deref().map_or_else(|| file.into(), |combination| with_combination(file, combination));
    setup.check_results().map_err(|error| LoadError::Read { path: path.clone(), problem: error.to_string() })?;
    let prices = NamedTable { key: "prices", path: parsed.scenario.prices.as_ref(), said_in: parsed.prices_said_in() };
    let prices_file = prices.file(file);
    if let Some(path) = &prices_file {
        let table = prices.read(path, bounds, PriceTable::read, |message| parsed.prices_diagnostic(message))?;
        setup.environment.prices = Arc::new(table);
    }
    let windows = NamedTable { key: "windows", path: parsed.scenario.windows.as_ref(), said_in: parsed.windows_said_in() };
    let windows_file = windows.file(file);
    if let Some(path) = &windows_file {
        let table = windows.read(path, bounds, WindowTable::read, |message| parsed.windows_diagnostic(message))?;
        setup.environment.windows = Arc::new(table);
    }
    let dir = parsed.scenario.workspace.as_ref().and_then(|workspace| workspace.dir.as_ref());
    let workspace_folder = NamedTable { key: "dir", path: dir, said_in: parsed.dir_said_in() }.file(file);
    if let Some(folder) = &workspace_folder {
        let copied = fixture::read(folder, bounds).map_err(|problem| match parsed.dir_diagnostic(&problem) {
            Some(diagnostic) => LoadError::Diagnostic(Box::new(diagnostic)),
            None => LoadError::Read { path: folder.clone(), problem },
        })?;
        let lost = fixture::unknown_path(&parsed.scenario, &copied);
        if let Some(diagnostic) = lost.and_then(|problem| parsed.dir_diagnostic(&problem)) {
            return Err(LoadError::Diagnostic(Box::new(diagnostic)));
        }
        setup.copy_files(copied.into());
    }
    schema::attach(&mut setup.environment);
    let ParsedScenario { combination, places, .. } = parsed;
    let (name, file, setup) = (name_of(&path), file.into(), Arc::new(setup));
    Ok(LoadedScenario {
        name,
        path,
        setup,
        tape_file,
        prices_file,
        windows_file,
        workspace_folder,
        file,
        combination,
        runs,
        places,
        warnings,
    })
}

fn read_tape(path: &Path) -> Result<Tape, LoadError> {
    tape::read(path).map_err(|error| LoadError::Tape(error.to_string()))
}

fn load_tape(path: &Path) -> Result<LoadedScenario, LoadError> {
    let tape = read_tape(path)?;
    let warnings = tape::warnings(path, &tape);
    let setup = main_thread(path, &tape)
        .and_then(|scenario| RunSetup::new(scenario, Some(&tape)).map_err(|error| LoadError::Tape(format!("{}: {error}", path.display()))));
    let mut setup = setup.map_err(|error| LoadError::Tape(with_warnings(&error, &warnings)))?;
    schema::attach(&mut setup.environment);
    let tape_file = Some(path.into());
    let (name, path, setup) = (name_of(path), path.to_path_buf(), Arc::new(setup));
    let (file, places) = (path.clone(), TablePlaces::default());
    Ok(LoadedScenario {
        name,
        path,
        setup,
        tape_file,
        prices_file: None,
        windows_file: None,
        workspace_folder: None,
        file,
        combination: None,
        runs: 1,
        places,
        warnings,
    })
}

impl LoadedScenario {
    /// The same for real clients: they have their side calls and sub-agents by themselves (M-3), and what may vary between equal runs of them makes
    /// no difference to recorded requests (K-10).
    ///
    /// # Errors
    /// When the tape cannot be read again: a scenario that is only run has no use for the rest of it, so it is not kept.
    pub fn for_clients(mut self) -> Result<Self, LoadError> {
        if let Some(file) = &self.tape_file {
            let tape = tape::read(file).map_err(|error| LoadError::Tape(error.to_string()))?;
            self.setup = Arc::new(RunSetup::clone(&self.setup).with_all_threads(&tape).for_client(&[]));
        }
        Ok(self)
    }
}

/// An error, and what of the tape was left out: often the one explains the other.
fn with_warnings(error: &dyn std::error::Error, warnings: &[TapeWarning]) -> String {
    let lines = std::iter::once(error.to_string()).chain(warnings.iter().map(|warning| warning.text.clone()));
    lines.collect::<Vec<_>>().join("\n")
}

fn main_thread(path: &Path, tape: &Tape) -> Result<Scenario, LoadError> {
    let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let scenario: Option<Scenario> = derive::scenarios(tape, &file).into_iter().next().map(|derived| derived.scenario);
    let nothing = || LoadError::Tape(format!("{}: the tape holds no complete exchange to replay", path.display()));
    scenario.ok_or_else(nothing)
}
