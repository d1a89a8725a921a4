//! Runs the client sweeps, and writes the page after each.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use super::findings::{self, AgentFinding};
use super::page::{self, AgentOutcome, AgentSweep};
use super::report::AgentReport;
use crate::install::{InstallProblem, folder, wrong};
use crate::run::CaseStage;

/// How often a row of each finding is done again.
const REPEATS: usize = 3;

/// The actions of a client sweep.
const ACTIONS: &str = "SIGINT,SIGTERM";

/// A shipped agent.
#[derive(Clone, Copy, Debug)]
struct SweptAgent {
    /// The name of its profile and of its scenario.
    name: &'static str,
    program: &'static str,
}

const AGENTS: [SweptAgent; 5] = [
    SweptAgent { name: "claude-code", program: "claude" },
    SweptAgent { name: "opencode", program: "opencode" },
    SweptAgent { name: "pi", program: "pi" },
    SweptAgent { name: "continue", program: "cn" },
    SweptAgent { name: "gptme", program: "gptme" },
];

/// Sweeps the agents of these names, or all. Exit code 1 when none could be swept, or one fails although nothing is done to it.
pub(crate) fn main(names: &[&str]) -> ExitCode {
    if let Some(unknown) = names.iter().find(|name| AGENTS.iter().all(|agent| agent.name != **name)) {
        let known = AGENTS.map(|agent| agent.name).join(", ");
        return crate::usage(&format!("`clients --agents` does not know the agent `{unknown}`, but {known}"));
    }
    match sweep_all(names) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(InstallProblem::Lacking(what) | InstallProblem::Wrong(what)) => {
            eprintln!("xtask clients: {what}");
            ExitCode::FAILURE
        }
    }
}

/// Whether at least one agent was swept, and none failed by itself.
fn sweep_all(names: &[&str]) -> Result<bool, InstallProblem> {
    let stage = CaseStage::new(crate::build()?)?;
    let date = output(Command::new("date").args(["-u", "+%F"]))
        .ok_or_else(|| InstallProblem::Wrong(String::from("there is no program `date`")))?;
    let mut outcomes = Vec::new();
    for agent in AGENTS {
        let outcome = match version(agent) {
            _ if !names.is_empty() && !names.contains(&agent.name) => AgentOutcome::NotNamed,
            None => AgentOutcome::NotInstalled,
            Some(version) => section(&stage, agent, &version, &date).map_or_else(AgentOutcome::Failed, AgentOutcome::Swept),
        };
        println!("xtask clients: {}: {outcome}", agent.name);
        outcomes.push((agent.name, outcome));
    }
    let path = crate::root().join(page::PATH);
    let old = fs::read_to_string(&path).unwrap_or_default();
    fs::write(&path, page::page(&old, &date, &outcomes)).map_err(|error| wrong(&path, &error))?;
    println!("xtask clients: wrote {}", page::PATH);
    let has = |wanted: fn(&AgentOutcome) -> bool| outcomes.iter().any(|(_, outcome)| wanted(outcome));
    Ok(has(|outcome| matches!(outcome, AgentOutcome::Swept(_))) && !has(|outcome| matches!(outcome, AgentOutcome::Failed(_))))
}

/// Sweeps an agent, and does a row of each finding again; its section, or the reason why it could not be swept.
fn section(stage: &CaseStage, agent: SweptAgent, version: &str, date: &str) -> Result<String, String> {
    println!("xtask clients: sweeping {} {version}; this takes some minutes", agent.name);
    let report = drive(stage, agent, &["--sweep", ACTIONS])?;
    if let [failure, ..] = &report.baseline.failures[..] {
        return Err(format!("it fails although nothing is done to it: {failure}"));
    }
    let mut found: Vec<AgentFinding> = findings::findings(&report);
    let repeats = REPEATS.to_string();
    for round in 0..findings::EXAMPLES_MAX {
        let examples = findings::examples(&found, round).into_iter().map(|(action, moments)| {
            let only = moments.iter().flat_map(|moment| ["--only", moment].map(String::from));
            ["--sweep", action, "--repeat", &repeats].map(String::from).into_iter().chain(only).collect::<Vec<_>>()
        });
        for options in examples.collect::<Vec<_>>() {
            let options: Vec<&str> = options.iter().map(|option| &**option).collect();
            findings::add_rates(&mut found, &drive(stage, agent, &options)?);
        }
    }
    Ok(AgentSweep { agent: agent.name, version, date, report: &report, findings: &found }.section())
}

/// Drives an agent through its scenario. That something was found is no error.
fn drive(stage: &CaseStage, agent: SweptAgent, options: &[&str]) -> Result<AgentReport, String> {
    let path = stage.folder.join(format!("{}.sweep.json", agent.name));
    // What an earlier run left is no report of this one.
    let _ = fs::remove_file(&path);
    let scenario = crate::root().join(format!("scenarios/clients/{}.toml", agent.name));
    let mut command = with_installed(stage.reenact());
    command.arg("drive").arg(scenario).args(options).arg("--json").arg(&path);
    let output = command.output().map_err(|error| format!("reenact drive could not be started: {error}"))?;
    if !path.exists() {
        return Err(format!("reenact drive ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim()));
    }
    AgentReport::read(&path)
}

/// The version that an installed agent says it has.
fn version(agent: SweptAgent) -> Option<String> {
    let said = output(with_installed(Command::new("env")).args([agent.program, "--version"]))?;
    let is_version = |word: &&str| word.starts_with(|letter: char| letter.is_ascii_digit()) && word.contains('.');
    said.split_whitespace().find(is_version).map(String::from)
}

/// The last line that a command prints when it succeeds.
fn output(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    String::from_utf8_lossy(&output.stdout).lines().last().map(String::from)
}

/// A command that finds the agents that `--with` has installed, too.
#[expect(clippy::disallowed_methods, reason = "agents are found on the search path of the calling process")]
fn with_installed(mut command: Command) -> Command {
    let installed =
        AGENTS.iter().map(|agent| folder().join(agent.name).join("node_modules/.bin")).filter(|bin: &PathBuf| Path::is_dir(bin));
    let paths: Vec<PathBuf> = std::env::var_os("PATH").iter().flat_map(std::env::split_paths).chain(installed).collect();
    if let Ok(paths) = std::env::join_paths(paths) {
        command.env("PATH", paths);
    }
    command
}
