//! The verdict on one run, as `--format json` has it.

use super::super::program::run_command;
use super::super::report::{RunEntry, verdict_word};
use super::{RunArguments, level};
use crate::engine::contract::Effect;
use crate::explore::verdict::InspectedRun;
use crate::files::scenario::LoadedScenario;
use crate::oracle::Violation;
use crate::prelude::*;
use crate::runner::RunOutcome;
use crate::transcript::event::{EventKind, RunEnd, Transcript};
use crate::transcript::json;

/// Of a run that was made, with all that failed in it.
pub(super) fn entry<E>(arguments: &RunArguments, scenario: &LoadedScenario, outcome: &RunOutcome<E>, failures: Vec<String>) -> RunEntry {
    let entry = without_outcome(arguments, scenario, failures);
    let report = match outcome {
        Ok(report) => report,
        Err(panic) => {
            let at = panic.run.as_ref().map(|run| run.at);
            let violation = |at| Violation { at, oracle: "O-19", text: format!("the engine panicked: {}", panic.words) };
            return RunEntry { violations: at.map(|at| RunEntry::violations(&[violation(at)])), ..entry };
        }
    };
    RunEntry {
        terminal: Some(report.terminal().into()),
        terminals: report.terminals.iter().map(|terminal| terminal.as_str().into()).collect(),
        end: Some(report.end.as_str().into()),
        ..with_transcript(entry, &report.transcript, report.violations.as_deref())
    }
}

/// Of a run that was interrupted and is looked at.
pub(super) fn inspected(arguments: &RunArguments, scenario: &LoadedScenario, looked: &InspectedRun, failures: Vec<String>) -> RunEntry {
    let mut entry = with_transcript(without_outcome(arguments, scenario, failures), &looked.transcript, Some(&looked.violations));
    for what in looked.transcript.kinds() {
        match what {
            EventKind::Effect(Effect::Finished { terminal, .. }) => entry.terminals.push(terminal.as_str().into()),
            EventKind::Ended { end } => entry.end = Some(end.as_str().into()),
            _ => (),
        }
    }
    let answered = entry.terminals.last().filter(|_| entry.end.as_deref() == Some(RunEnd::Idle.as_str()));
    entry.terminal = answered.or(entry.end.as_ref()).cloned();
    entry
}

fn without_outcome(arguments: &RunArguments, scenario: &LoadedScenario, failures: Vec<String>) -> RunEntry {
    RunEntry {
        scenario: scenario.name.clone(),
        path: scenario.path.display().to_string(),
        seed: scenario.setup.scenario.seed.0,
        verdict: verdict_word(failures.is_empty()),
        terminal: None,
        terminals: Vec::new(),
        end: None,
        t: None,
        digest: None,
        failures,
        violations: None,
        command: command(arguments, scenario),
    }
}

fn with_transcript(entry: RunEntry, transcript: &Transcript, violations: Option<&[Violation]>) -> RunEntry {
    RunEntry {
        t: transcript.events.last().map(|event| event.at.0),
        digest: Some(json::digest(transcript)),
        violations: violations.map(RunEntry::violations),
        ..entry
    }
}

/// The command that makes the run again.
pub(super) fn command(arguments: &RunArguments, scenario: &LoadedScenario) -> String {
    let mut command = run_command(&scenario.path) + &arguments.selection.options(scenario.setup.scenario.seed.0);
    level::options(arguments).iter().for_each(|option| command += &format!(" {option}"));
    if let Some(boundary) = arguments.interrupt_at {
        command += &format!(" --interrupt-at {boundary} --interrupt-kind {}", arguments.interrupt_kind);
    }
    if arguments.no_oracles {
        command += " --no-oracles";
    }
    if let Some(canary) = arguments.canary {
        command += &format!(" --canary {}", canary.name);
    }
    command
}
