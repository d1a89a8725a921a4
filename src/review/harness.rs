//! One test for each scenario in a test suite of Rust, by name (V-1). With `cargo test` and nextest alike.
//!
//! ```no_run
//! // tests/scenarios.rs, with `harness = false` under [[test]] in Cargo.toml
//! # use reenact_engine::agent_loop::AgentLoop as MyEngine;
//! fn main() -> std::process::ExitCode {
//!     reenact_review::harness::main("scenarios", MyEngine::default)
//! }
//! ```

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};
use reenact_engine::contract::Engine;
use reenact_files::scenario::{LoadedScenario, find, load_all, name_of};
use reenact_runner::run_to_end;
use reenact_runner::statements::{judge, judge_outcomes};
use reenact_sim::Run;
use reenact_sim::statements::RunView;
use reenact_wire::prelude::*;

use super::scenario_tests::{SnapshotUse, orphans, shared_snapshot_problem, shared_snapshots, verdict};

/// Runs the tests as the arguments of the process say. A file that cannot be read is a test that fails; so are snapshots without a scenario.
pub fn main<E: Engine + 'static>(folder: impl AsRef<Path>, new_engine: impl Fn() -> E + Clone + Send + Sync + 'static) -> ExitCode {
    let arguments = Arguments::from_args();
    let one = arguments.filter.as_deref().filter(|_| arguments.exact && !arguments.list);
    let trials = one.and_then(|name| trials_of_one(folder.as_ref(), name, &new_engine));
    let trials = trials.unwrap_or_else(|| self::trials(folder.as_ref(), &new_engine));
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The tests of the file that a test of this name belongs to; `None` where no such file is. nextest runs each test in a process of its own, which need not
/// read all the others.
fn trials_of_one<E: Engine + 'static>(
    folder: &Path,
    name: &str,
    new_engine: &(impl Fn() -> E + Clone + Send + Sync + 'static),
) -> Option<Vec<Trial>> {
    let of_file = name.split('@').next().unwrap_or(name);
    let paths: Vec<PathBuf> = find(&[folder.to_path_buf()]).0.into_iter().filter(|path| name_of(path) == of_file).collect();
    let runs: Result<Vec<Vec<LoadedScenario>>, _> = paths.iter().map(|path| load_all(path, &[])).collect();
    let trials: Vec<Trial> = runs.ok()?.iter().flat_map(|runs| tests_of_file(runs, new_engine)).collect();
    trials.iter().any(|trial| trial.name() == name).then_some(trials)
}

/// The tests of a folder, or of one file.
pub fn trials<E: Engine + 'static>(folder: &Path, new_engine: &(impl Fn() -> E + Clone + Send + Sync + 'static)) -> Vec<Trial> {
    let (paths, errors) = find(&[folder.to_path_buf()]);
    let mut trials: Vec<Trial> = errors.iter().map(|error| broken(folder, error.to_string())).collect();
    let mut all: Vec<LoadedScenario> = Vec::new();
    for path in paths {
        match load_all(&path, &[]) {
            Ok(runs) => {
                trials.extend(tests_of_file(&runs, new_engine));
                all.extend(runs);
            }
            Err(error) => trials.push(broken(&path, error.to_string())),
        }
    }
    if trials.is_empty() {
        trials.push(broken(folder, String::from("no scenario is here")));
    }
    for (snapshot, owners) in shared_snapshots(&all) {
        trials.push(broken(&snapshot, shared_snapshot_problem(&snapshot, &owners)));
    }
    if folder.is_dir() {
        let folder = folder.to_path_buf();
        trials.push(Trial::test("snapshots without a scenario", move || match orphans(&folder, &all)? {
            orphans if orphans.is_empty() => Ok(()),
            orphans => Err(Failed::from(orphans.iter().map(|path| format!("{}\n", path.display())).collect::<String>())),
        }));
    }
    trials
}

/// A test for each run of a file, and one for what only all runs together show.
fn tests_of_file<E: Engine + 'static>(
    runs: &[LoadedScenario],
    new_engine: &(impl Fn() -> E + Clone + Send + Sync + 'static),
) -> Vec<Trial> {
    let runs: Arc<[LoadedScenario]> = runs.into();
    let mut trials = Vec::new();
    for place in 0..runs.len() {
        let (runs, new_engine) = (runs.clone(), new_engine.clone());
        trials.push(Trial::test(runs[place].name.clone(), move || test_run(&runs, place, &new_engine)));
    }
    if let [first, _, ..] = &runs[..] {
        let name = first.name.split('@').next().unwrap_or_default().to_owned();
        let (runs, new_engine) = (runs.clone(), new_engine.clone());
        trials.push(Trial::test(name, move || {
            let outcomes: Vec<_> = runs.iter().map(|run| run_to_end(run, Run::new(run.setup.clone(), new_engine()))).collect();
            let judged = judge_outcomes(&runs[..], &outcomes, RunView::Simulated);
            fails(judged.failures.into_iter().flat_map(|(_, problems)| problems))
        }));
    }
    trials
}

fn test_run<E: Engine>(runs: &[LoadedScenario], place: usize, new_engine: &impl Fn() -> E) -> Result<(), Failed> {
    let scenario = &runs[place];
    let outcome = run_to_end(scenario, Run::new(scenario.setup.clone(), new_engine()));
    let mut problems = verdict(scenario, &outcome, SnapshotUse::Compare).plain_problems();
    if let ([only], Ok(report)) = (runs, &outcome) {
        let judged = judge(&[(only, Some(report.into()))], RunView::Simulated);
        problems.extend(judged.failures.into_iter().flat_map(|(_, problems)| problems));
    }
    fails(problems.into_iter())
}

fn fails(problems: impl Iterator<Item = String>) -> Result<(), Failed> {
    let problems: Vec<String> = problems.collect();
    if problems.is_empty() { Ok(()) } else { Err(Failed::from(problems.join("\n"))) }
}

/// A test that fails because a file cannot be read.
fn broken(path: &Path, problem: String) -> Trial {
    Trial::test(path.display().to_string(), move || Err(Failed::from(problem)))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use reenact_engine::agent_loop::AgentLoop;
    use reenact_files::snapshot::accept;

    const HELLO: &str = "[[prompt]]\ntext = \"Hello?\"\n\n[[prompt.turn]]\ntext = \"Hello.\"\n";

    /// The names of all tests, and how many of them fail.
    fn ran(folder: &Path) -> (Vec<String>, u64) {
        let trials = trials(folder, &AgentLoop::default);
        let names = trials.iter().map(|trial| trial.name().to_owned()).collect();
        // The failures of these tests are no failures of this one: nobody should read of them.
        let log = folder.with_file_name("tests.log").to_string_lossy().into_owned();
        let conclusion = libtest_mimic::run(&Arguments { logfile: Some(log), ..Arguments::default() }, trials);
        (names, conclusion.num_failed)
    }

    #[test]
    fn v_1_each_run_of_a_scenario_is_a_test() {
        let folder = tempfile::tempdir().unwrap();
        let scenarios = folder.path().join("scenarios");
        fs::create_dir(&scenarios).unwrap();
        assert_eq!(ran(&scenarios).1, 1, "an empty folder is not fine");
        fs::write(scenarios.join("hello.toml"), HELLO).unwrap();
        fs::write(scenarios.join("seeds.toml"), format!("{HELLO}\n[matrix]\nseed = [1, 2]\n")).unwrap();
        let (names, failed) = ran(&scenarios);
        assert_eq!(names, ["hello", "seeds@seed=1", "seeds@seed=2", "seeds", "snapshots without a scenario"]);
        assert_eq!(failed, 3, "they have no snapshots");
        let one = |name: &str| trials_of_one(&scenarios, name, &AgentLoop::default).map(|trials| trials.len());
        assert_eq!((one("hello"), one("seeds@seed=1"), one("seeds")), (Some(1), Some(3), Some(3)));
        assert_eq!((one("hell"), one("snapshots without a scenario"), one("seeds@seed=3")), (None, None, None), "all are read for these");
        for name in ["hello", "seeds@seed=1", "seeds@seed=2"] {
            accept(&folder.path().join(format!("snapshots/{name}.snap"))).unwrap();
        }
        assert_eq!(ran(&scenarios).1, 0);
        fs::write(scenarios.join("hello.toml"), format!("titel = 1\n{HELLO}")).unwrap();
        fs::remove_file(scenarios.join("seeds.toml")).unwrap();
        assert_eq!(ran(&scenarios).1, 2, "a file that cannot be read, and snapshots of another one");
    }
}
