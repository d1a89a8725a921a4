//! `--check`: the same inputs give the same bytes, with any other work beside them (D5).

use std::env;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::Command;

use super::super::CommandExit;
use super::super::output::{complain, print_line};
use super::{OutputFormat, RunArguments, level};
use crate::engine::contract::Engine;
use crate::files::scenario::LoadedScenario;
use crate::prelude::*;
use crate::transcript::json;

/// Surroundings of the fresh process that differ from most people's.
const OTHER_SURROUNDINGS: [(&str, &str); 3] = [("TZ", "Pacific/Kiritimati"), ("LANG", "tr_TR.UTF-8"), ("LC_ALL", "tr_TR.UTF-8")];

/// Makes all runs again, and tells each that differs. Returns how many digests were compared. `paths` are the files of the scenarios, as they are named.
pub(super) fn repeat<E: Engine + Send + 'static>(
    arguments: &RunArguments,
    scenarios: &[LoadedScenario],
    paths: &[PathBuf],
    new_engine: &(impl Fn() -> E + Sync),
) -> Result<usize, CommandExit> {
    let one = digests(arguments, scenarios, NonZeroUsize::MIN, new_engine);
    let many = digests(arguments, scenarios, NonZeroUsize::MIN.saturating_add(7), new_engine);
    let mut differences = compare("eight threads", scenarios, &one, &many);
    match fresh_process(arguments, scenarios, paths) {
        Ok(fresh) => differences += compare("a fresh process with another TZ and LANG", scenarios, &one, &fresh),
        Err(problem) => {
            complain(&format!("check: {problem}"));
            return Err(CommandExit::Failed);
        }
    }
    if differences > 0 { Err(CommandExit::Failed) } else { Ok(one.len()) }
}

/// Says that all digests were the same.
pub(super) fn tell(arguments: &RunArguments, digests: usize) {
    let verdict = format!(
        "check: {} the same on one thread, on eight, and in a fresh process with another TZ and LANG",
        plural(digests as u64, "digest")
    );
    if arguments.format == OutputFormat::Text { print_line(&verdict) } else { complain(&verdict) }
}

fn digests<E: Engine + Send + 'static>(
    arguments: &RunArguments,
    scenarios: &[LoadedScenario],
    threads: NonZeroUsize,
    new_engine: &(impl Fn() -> E + Sync),
) -> Vec<String> {
    let outcomes = level::run_quietly(arguments, scenarios, threads, new_engine);
    outcomes.iter().map(|outcome| outcome.as_ref().map_or_else(ToString::to_string, |report| json::digest(&report.transcript))).collect()
}

fn compare(what: &str, scenarios: &[LoadedScenario], one: &[String], other: &[String]) -> usize {
    let pairs = scenarios.iter().zip(one.iter().zip(other));
    let different = pairs.filter(|(_, (one, other))| one != other);
    different
        .map(|(scenario, (one, other))| {
            complain(&format!("check: {} has digest {one} on one thread and {other} in {what}", scenario.path.display()));
        })
        .count()
}

fn fresh_process(arguments: &RunArguments, scenarios: &[LoadedScenario], paths: &[PathBuf]) -> Result<Vec<String>, String> {
    let program = env::current_exe().map_err(|error| format!("this program cannot find itself: {error}"))?;
    let mut command = Command::new(program);
    command.args(["run", "--format", "digest"]).envs(OTHER_SURROUNDINGS);
    for (key, value) in arguments.selection.overrides() {
        command.args(["--set", &format!("{key}={value}")]);
    }
    command.args(level::options(arguments));
    command.args(arguments.selection.allows_outside().then_some("--allow-outside"));
    if let Some(seeds) = arguments.selection.seeds() {
        command.args(["--seeds", &seeds.to_string()]);
    }
    command.args(paths);
    let output = command.output().map_err(|error| format!("a fresh process cannot be started: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let is_digest = |word: &&str| word.len() == 64 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let first_words = text.lines().filter_map(|line| line.split_whitespace().next());
    let digests: Vec<String> = first_words.filter(is_digest).map(String::from).collect();
    if digests.len() == scenarios.len() {
        return Ok(digests);
    }
    Err(format!(
        "a fresh process gave {} for {}: {}",
        plural(digests.len() as u64, "digest"),
        plural(scenarios.len() as u64, "scenario"),
        String::from_utf8_lossy(&output.stderr)
    ))
}
