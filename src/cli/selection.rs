//! Which scenarios a command takes, and how they are changed before it does.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use super::CommandExit;
use super::output::complain;
use super::program::{in_this_program, program_name, quoted};
use super::report::UnreadEntry;
use super::seeds::SeedList;
use crate::explore::canary::{CANARIES, Canary};
use crate::files::scenario::{FileReach, FoundFiles, LoadOptions, LoadedScenario, load_all_with, others_text, search};
use crate::files::tape::TapeWarning;
use crate::prelude::*;
use crate::runner::threads_available;
use crate::scenario::tape::UnusableCause;
use crate::transcript::text::DetailLevel;

#[derive(Clone, Debug, clap::Args)]
pub(super) struct Selection {
    #[command(flatten)]
    files: FileSelection,
    /// Use this seed in place of the scenario's
    #[arg(long, value_name = "N", value_parser = seed)]
    seed: Option<u64>,
    /// Take each of these seeds in turn: `7`, `1,5,9`, `1..=100` or `1..101`; seeds that agree are one line
    #[arg(long, value_name = "SEEDS", conflicts_with = "seed")]
    seeds: Option<SeedList>,
    /// Set a key of the scenario, e.g. `engine.model=claude-haiku-4-5` or `limits.time=2h`
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_and_value)]
    set: Vec<(String, String)>,
}

/// Scenarios as they are written.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct FileSelection {
    /// Scenarios (`*.toml`), tapes (`*.tape.jsonl`), or folders of scenarios; of a matrix some runs: `x.toml@seed=1`
    #[arg(default_value = "scenarios")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    reach: ReachArguments,
    /// How many threads run scenarios; one for each core when not given
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
}

/// Which files scenarios may name.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct ReachArguments {
    /// Let scenarios name files outside of their project: `extends`, `tape`, `prices`, `windows`, `dir` of `[workspace]`
    #[arg(long)]
    allow_outside: bool,
}

impl ReachArguments {
    pub(super) fn reach(&self) -> FileReach {
        if self.allow_outside { FileReach::Anywhere } else { FileReach::Project }
    }
}

/// The scenarios of a command.
#[derive(Debug)]
pub(super) struct SelectedScenarios {
    /// The scenarios that can be run.
    pub(super) scenarios: Vec<LoadedScenario>,
    /// The files that cannot be run, each with all that is wrong with it.
    pub(super) unread: Vec<UnreadEntry>,
    /// The exit code so far.
    pub(super) exit: CommandExit,
}

impl SelectedScenarios {
    /// `3 scenarios, 1 file that cannot be read`.
    pub(super) fn count(&self) -> String {
        plural(self.scenarios.len() as u64, "scenario") + &unread_text(self.unread.len())
    }
}

/// The files that cannot be run, as the last line counts them.
pub(super) fn unread_text(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => String::from(", 1 file that cannot be run"),
        count => format!(", {count} files that cannot be run"),
    }
}

impl FileSelection {
    /// Everything that can be read, with these keys set; what cannot is complained about, all of it.
    pub(super) fn load(&self, overrides: Vec<(String, String)>) -> SelectedScenarios {
        let (paths, exit) = self.search();
        let read = read_all(&paths, &LoadOptions { overrides, reach: self.reach.reach(), ..LoadOptions::default() });
        SelectedScenarios { exit: exit.max(read.exit), ..read }
    }

    /// The paths that were named.
    pub(super) fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// How many threads to run on.
    pub(super) fn threads(&self) -> NonZeroUsize {
        self.threads.unwrap_or_else(threads_available)
    }

    /// The files that the paths lead to; a path that leads to none is reported.
    fn search(&self) -> (Vec<PathBuf>, CommandExit) {
        let FoundFiles { scenarios, others, errors } = search(&self.paths);
        if !others.is_empty() {
            complain(&format!("note: left out: {}", others_text(&others)));
        }
        errors.iter().for_each(|error| complain(&error.to_string()));
        if scenarios.is_empty() && errors.is_empty() {
            complain("there is nothing to run: name a scenario");
        }
        let is_fine = errors.is_empty() && !scenarios.is_empty();
        (scenarios, if is_fine { CommandExit::Fine } else { CommandExit::WrongInput })
    }
}

impl Selection {
    /// Everything that can be read; what cannot is complained about, all of it.
    pub(super) fn load(&self) -> SelectedScenarios {
        let Some(seeds) = &self.seeds else { return self.files.load(self.overrides()) };
        let (paths, exit) = self.search();
        let mut all = SelectedScenarios { scenarios: Vec::new(), unread: Vec::new(), exit };
        for path in paths {
            let read = self.load_with_seeds(&path, seeds);
            all.exit = all.exit.max(read.exit);
            all.scenarios.extend(read.scenarios);
            all.unread.extend(read.unread);
        }
        all
    }

    /// The one path that is named, if it is one.
    pub(super) fn only_path(&self) -> Option<&Path> {
        if let [only] = self.files.paths() { Some(only) } else { None }
    }

    /// The same options for one other scenario, with these keys set.
    pub(super) fn for_scenario(&self, path: &str, set: Vec<(String, String)>) -> Self {
        Self { files: FileSelection { paths: vec![path.into()], ..self.files.clone() }, set, ..self.clone() }
    }

    /// The files that the paths lead to; a path that leads to none is reported.
    pub(super) fn search(&self) -> (Vec<PathBuf>, CommandExit) {
        self.files.search()
    }

    /// The runs of one file, with each seed in turn. What is wrong with the file is told once.
    pub(super) fn load_with_seeds(&self, path: &Path, seeds: &SeedList) -> SelectedScenarios {
        let mut all = SelectedScenarios { scenarios: Vec::new(), unread: Vec::new(), exit: CommandExit::Fine };
        for seed in seeds.iter() {
            let overrides = [&self.set[..], &[(String::from("seed"), format!("\"{seed}\""))]].concat();
            let read = read_all(&[path.into()], &LoadOptions { overrides, reach: self.reach(), ..LoadOptions::default() });
            if read.exit != CommandExit::Fine {
                return SelectedScenarios {
                    exit: read.exit,
                    scenarios: if all.scenarios.is_empty() { read.scenarios } else { all.scenarios },
                    ..read
                };
            }
            all.scenarios.extend(read.scenarios);
        }
        all
    }

    /// The seeds, if each scenario is to have several.
    pub(super) fn seeds(&self) -> Option<&SeedList> {
        self.seeds.as_ref()
    }

    /// How many threads to run on.
    pub(super) fn threads(&self) -> NonZeroUsize {
        self.files.threads()
    }

    /// Whether scenarios are run otherwise than they are written.
    pub(super) fn changes_scenarios(&self) -> bool {
        self.seed.is_some() || self.seeds.is_some() || !self.set.is_empty()
    }

    /// The values that options set in the scenarios.
    pub(super) fn overrides(&self) -> Vec<(String, String)> {
        let mut overrides = self.set.clone();
        if let Some(seed) = self.seed {
            overrides.push((String::from("seed"), format!("\"{seed}\"")));
        }
        overrides
    }

    /// Which files scenarios may name.
    pub(super) fn reach(&self) -> FileReach {
        self.files.reach.reach()
    }

    /// Whether scenarios may name any file.
    pub(super) fn allows_outside(&self) -> bool {
        self.files.reach.allow_outside
    }

    /// The options that change a scenario, as they are typed, each with a blank before it. One of several seeds is that of the scenario.
    pub(super) fn options(&self, seed: u64) -> String {
        let seed = self.seed.or(self.seeds.is_some().then_some(seed));
        let set = self.set.iter().map(|(key, value)| format!(" --set {}", quoted(&format!("{key}={value}"))));
        let outside = self.files.reach.allow_outside.then(|| String::from(" --allow-outside"));
        set.chain(seed.map(|seed| format!(" --seed {seed}"))).chain(outside).collect()
    }
}

/// The scenarios of files; what cannot be read is complained about, all of it.
fn read_all(paths: &[PathBuf], options: &LoadOptions) -> SelectedScenarios {
    let mut read = SelectedScenarios { scenarios: Vec::new(), unread: Vec::new(), exit: CommandExit::Fine };
    let mut told = BTreeSet::new();
    for path in paths {
        match load_all_with(path, options) {
            Ok(runs) => {
                let warnings: Vec<&TapeWarning> = runs.iter().flat_map(|run| &run.warnings).collect();
                if warnings.iter().any(|warning| warning.cause == UnusableCause::Broken) {
                    read.exit = CommandExit::WrongInput; // the rest is run all the same: nothing is lost (F-2)
                }
                warnings.iter().for_each(|warning| complain(&warning.text));
                read.scenarios.extend(runs);
            }
            Err(error) => {
                // What is wrong with `--set` is wrong with each file.
                if told.insert(error.to_string()) {
                    complain(&error.to_string());
                }
                read.unread.push(UnreadEntry { path: path.display().to_string(), problem: in_this_program(&error.to_string()) });
                read.exit = CommandExit::WrongInput;
            }
        }
    }
    read
}

/// The canary of this name.
pub(super) fn canary(name: &str) -> Result<Canary, String> {
    Canary::named(name).ok_or_else(|| {
        let names: Vec<&str> = CANARIES.iter().map(|canary| canary.name).collect();
        format!("unknown canary; `{} sweep --canary list` explains them: {}", program_name(), names.join(", "))
    })
}

fn seed(text: &str) -> Result<u64, String> {
    let several = "; `--seeds` takes several";
    text.trim().parse().map_err(|_| format!("a seed is a whole number from 0 to {}{several}", u64::MAX))
}

pub(super) fn key_and_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE, e.g. `engine.model=claude-haiku-4-5`")?;
    Ok((key.trim().into(), value.trim().into()))
}

/// How much of a run is shown or compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum DetailArgument {
    Brief,
    Normal,
    Debug,
}

impl DetailArgument {
    pub(super) fn level(self) -> DetailLevel {
        match self {
            Self::Brief => DetailLevel::Brief,
            Self::Normal => DetailLevel::Normal,
            Self::Debug => DetailLevel::Debug,
        }
    }
}
