//! Which scenarios a command takes, and how they are changed before it does.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use super::CommandExit;
use super::output::complain;
use crate::explore::canary::{CANARIES, Canary};
use crate::files::scenario::{FileReach, FoundFiles, LoadOptions, LoadedScenario, load_all_with, others_text, search};
use crate::files::tape::TapeWarning;
use crate::prelude::*;
use crate::runner::threads_available;
use crate::scenario::tape::UnusableCause;

#[derive(Debug, clap::Args)]
pub(super) struct Selection {
    /// Scenarios (`*.toml`), tapes (`*.tape.jsonl`), or folders of scenarios; of a matrix some runs: `x.toml@seed=1`
    #[arg(default_value = "scenarios")]
    paths: Vec<PathBuf>,
    /// Use this seed in place of the scenario's
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Set a key of the scenario, e.g. `engine.model=claude-haiku-4-5` or `limits.time=2h`
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_and_value)]
    set: Vec<(String, String)>,
    #[command(flatten)]
    reach: ReachArguments,
    /// How many threads run scenarios; one for each core when not given
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
}

/// Which files scenarios may name.
#[derive(Debug, clap::Args)]
pub(super) struct ReachArguments {
    /// Let scenarios name files outside of their project: `extends`, `tape`, `prices`, `windows`
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
    /// How many files cannot be run, because something is wrong with them.
    pub(super) unread: usize,
    /// The exit code so far.
    pub(super) exit: CommandExit,
}

impl SelectedScenarios {
    /// `3 scenarios, 1 file that cannot be read`.
    pub(super) fn count(&self) -> String {
        let scenarios = plural(self.scenarios.len() as u64, "scenario");
        match self.unread {
            0 => scenarios,
            1 => format!("{scenarios}, 1 file that cannot be run"),
            count => format!("{scenarios}, {count} files that cannot be run"),
        }
    }
}

impl Selection {
    /// Everything that can be read; what cannot is complained about, all of it.
    pub(super) fn load(&self) -> SelectedScenarios {
        let (paths, exit) = self.search();
        let read = read_all(&paths, &LoadOptions { overrides: self.overrides(), reach: self.reach.reach() });
        SelectedScenarios { exit: exit.max(read.exit), ..read }
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

    /// The same with each of the seeds from 1 on.
    pub(super) fn load_seeds(&self, seeds: u64) -> SelectedScenarios {
        let (paths, exit) = self.search();
        let mut all = SelectedScenarios { scenarios: Vec::new(), unread: 0, exit };
        for seed in 1..=seeds {
            let overrides = [&self.set[..], &[(String::from("seed"), format!("\"{seed}\""))]].concat();
            let mut read = read_all(&paths, &LoadOptions { overrides, reach: self.reach.reach() });
            for run in &mut read.scenarios {
                run.name = format!("{}{}seed={seed}", run.name, if run.name.contains('@') { "," } else { "@" });
                // As it is typed to make this one again.
                run.path = format!("{} --seed {seed}", run.path.display()).into();
            }
            all.scenarios.extend(read.scenarios);
            (all.unread, all.exit) = (read.unread, all.exit.max(read.exit));
            if read.exit != CommandExit::Fine {
                break; // the others would say the same
            }
        }
        all
    }

    /// The given paths.
    pub(super) fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// How many threads to run on.
    pub(super) fn threads(&self) -> NonZeroUsize {
        self.threads.unwrap_or_else(threads_available)
    }

    /// Whether scenarios are run otherwise than they are written.
    pub(super) fn changes_scenarios(&self) -> bool {
        self.seed.is_some() || !self.set.is_empty()
    }

    /// The values that options set in the scenarios.
    pub(super) fn overrides(&self) -> Vec<(String, String)> {
        let mut overrides = self.set.clone();
        if let Some(seed) = self.seed {
            overrides.push((String::from("seed"), format!("\"{seed}\"")));
        }
        overrides
    }

    /// Whether scenarios may name any file.
    pub(super) fn allows_outside(&self) -> bool {
        self.reach.allow_outside
    }

    /// The options that change scenarios, as they are typed, each with a blank before it.
    pub(super) fn options(&self) -> String {
        let set = self.set.iter().map(|(key, value)| format!(" --set {}", quoted(&format!("{key}={value}"))));
        let outside = self.reach.allow_outside.then(|| String::from(" --allow-outside"));
        set.chain(self.seed.map(|seed| format!(" --seed {seed}"))).chain(outside).collect()
    }
}

/// The scenarios of files; what cannot be read is complained about, all of it.
fn read_all(paths: &[PathBuf], options: &LoadOptions) -> SelectedScenarios {
    let mut read = SelectedScenarios { scenarios: Vec::new(), unread: 0, exit: CommandExit::Fine };
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
                complain(&error.to_string());
                (read.unread, read.exit) = (read.unread + 1, CommandExit::WrongInput);
            }
        }
    }
    read
}

/// A word as a shell takes it.
pub(super) fn quoted(word: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_./=:,@+%".contains(character);
    if !word.is_empty() && word.chars().all(is_plain) { word.to_string() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// The canary of this name.
pub(super) fn canary(name: &str) -> Result<Canary, String> {
    Canary::named(name).ok_or_else(|| {
        let names: Vec<&str> = CANARIES.iter().map(|canary| canary.name).collect();
        format!("unknown canary; `reenact sweep --canary list` explains them: {}", names.join(", "))
    })
}

pub(super) fn key_and_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE, e.g. `engine.model=claude-haiku-4-5`")?;
    Ok((key.trim().into(), value.trim().into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_where_a_shell_would_cut_it() {
        assert_eq!(quoted("scenarios/a-b.toml"), "scenarios/a-b.toml");
        assert_eq!(quoted("chunking=\"bytes\""), "'chunking=\"bytes\"'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
