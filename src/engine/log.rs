//! The log at the boundary: every (time, input) as it entered an engine, and the effects that came out.
//!
//! Every driver writes the same log. Feeding one to the pure engine must give the same effects, byte for byte, so whatever went
//! wrong anywhere replays in microseconds.
//!
//! ```text
//!   {"reenact_log":1,"contract":1,"environment":{…}}
//!   {"t":0,"input":{"prompt":{…}},"effects":[{…},…]}
//! ```

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use thiserror::Error;

use super::contract::{Agent, CONTRACT_VERSION, Effect, Effects, Engine, Input};
use super::settings::Environment;
use super::time::Time;
use reenact_wire::prelude::*;

/// The version of the log's lines.
pub const LOG_VERSION: u32 = 1;

/// How each log begins.
pub const MARK: &str = "{\"reenact_log\"";

/// The first line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct LogHeaderLine {
    reenact_log: u32,
    contract: u32,
    environment: Environment,
    /// Rules that the run breaks because its scenario shows a hazard (`O-3`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    shows: Vec<Arc<str>>,
    /// The scenario that the run is of, where a file has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scenario: Option<LoggedScenario>,
}

/// The scenario of a logged run: by it the world answers where a run goes another way (E-3n).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoggedScenario {
    /// The file, as it was named.
    pub path: String,
    /// The keys of it that were set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<(String, String)>,
}

/// One step.
#[derive(Serialize)]
struct StepLine {
    t: Time,
    #[serde(skip_serializing_if = "Agent::is_root")]
    agent: Agent,
    input: Input,
    effects: Vec<SentEffect>,
}

/// One step as it is read: its effects stay text, because text is what is compared.
#[derive(Deserialize)]
struct ReadStep<'a> {
    t: Time,
    #[serde(default)]
    agent: Agent,
    input: Input,
    #[serde(borrow)]
    effects: Vec<&'a RawValue>,
}

/// One effect with its sender.
#[derive(Serialize, Deserialize)]
struct SentEffect {
    #[serde(default, skip_serializing_if = "Agent::is_root")]
    agent: Agent,
    #[serde(flatten)]
    effect: Effect,
}

/// A log that is being written.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundaryLog {
    text: String,
}

impl BoundaryLog {
    /// Begins with the header line. `shows` are the rules that the run breaks on purpose.
    pub fn new(environment: &Environment, shows: Vec<Arc<str>>) -> Self {
        let mut log = Self { text: String::new() };
        log.line(&LogHeaderLine {
            reenact_log: LOG_VERSION,
            contract: CONTRACT_VERSION,
            environment: environment.clone(),
            shows,
            scenario: None,
        });
        log
    }

    /// Adds one step.
    pub fn step(&mut self, now: Time, agent: &Agent, input: &Input, effects: &Effects) {
        self.line(&StepLine { t: now, agent: agent.clone(), input: input.clone(), effects: sent(effects) });
    }

    /// The whole log with the scenario in its header.
    #[must_use]
    pub fn with_scenario(&self, scenario: LoggedScenario) -> Self {
        let (first, rest) = self.text.split_once('\n').unwrap_or((&self.text, ""));
        let Ok(header) = serde_json::from_str::<LogHeaderLine>(first) else { return self.clone() };
        let mut log = Self { text: String::new() };
        log.line(&LogHeaderLine { scenario: Some(scenario), ..header });
        log.text.push_str(rest);
        log
    }

    /// The lines so far.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    fn line<T: Serialize>(&mut self, line: &T) {
        // No type of ours has map keys that are not text, which is all that can fail.
        self.text.push_str(&serde_json::to_string(line).unwrap_or_default());
        self.text.push('\n');
    }
}

/// Why a log cannot be replayed, or where its replay went another way.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReplayError {
    /// There is no header line.
    #[error("line 1: this is not a boundary log: it has no `reenact_log`; `reenact run SCENARIO --log FILE` writes one")]
    NoHeader,
    /// A newer program wrote it.
    #[error(
        "line 1: the log has version {log} of contract {contract}, this program reads up to {LOG_VERSION} of {CONTRACT_VERSION}; use a newer reenact"
    )]
    Newer {
        /// The log's version.
        log: u64,
        /// The contract's.
        contract: u64,
    },
    /// A line is not a step.
    #[error("line {line}: {problem}")]
    Line {
        /// The number of the line, from 1.
        line: usize,
        /// The error of the parser.
        problem: String,
    },
    /// The engine did something else.
    #[error("line {line}: effect {position} differs\n  logged:   {logged}\n  replayed: {replayed}")]
    Differs {
        /// Which line of the log, from 1.
        line: usize,
        /// Which effect of the step, from 1.
        position: usize,
        /// The logged effect; `nothing` after the log's last one.
        logged: String,
        /// The effect of the replayed engine.
        replayed: String,
    },
}

/// The result of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayReport {
    /// The number of steps.
    pub steps: usize,
    /// How many effects, all equal.
    pub effects: usize,
    /// When the last one was.
    pub until: Time,
}

/// Feeds a log to an engine in its first state and compares each step's effects, byte for byte.
///
/// # Errors
/// When the text is not a log that this version reads, or at the first effect that differs.
pub fn replay<E: Engine>(text: &str, engine: E) -> Result<ReplayReport, ReplayError> {
    replay_with(text, engine, |_| ())
}

/// The same, with what a log cannot hold put into its environment first: the validator of inputs, which follows from the tools' definitions.
///
/// # Errors
/// Like [`replay`].
pub fn replay_with<E: Engine>(text: &str, engine: E, prepare: impl FnOnce(&mut Environment)) -> Result<ReplayReport, ReplayError> {
    let (mut environment, _) = environment(text)?;
    prepare(&mut environment);
    replay_in(text, engine, &environment, |_, _, _| ())
}

/// The environment that a log's engine had, and the rules that its run breaks on purpose.
///
/// # Errors
/// When the text does not begin as a log that this version reads.
// Compiled where it is called, as what is generic over the engine: reading all settings is a tenth of this room's code.
#[inline]
pub fn environment(text: &str) -> Result<(Environment, Vec<Arc<str>>), ReplayError> {
    header(text.lines().next().unwrap_or_default())
}

/// The same as [`replay`] in the environment that is given, telling each step.
///
/// # Errors
/// Like [`replay`].
pub fn replay_in<E: Engine>(
    text: &str,
    mut engine: E,
    environment: &Environment,
    mut tell: impl FnMut(Time, &Input, &Effects),
) -> Result<ReplayReport, ReplayError> {
    let lines = (1..).zip(text.lines()).skip(1);
    let mut done = ReplayReport { steps: 0, effects: 0, until: Time::ZERO };
    for (line, text) in lines {
        let step: ReadStep<'_> = serde_json::from_str(text).map_err(|error| ReplayError::Line { line, problem: error.to_string() })?;
        let mut effects = Effects::from_agent(step.agent.clone());
        engine.step(environment, step.t, &step.input, &mut effects);
        compare(line, &step.effects, &sent(&effects))?;
        tell(step.t, &step.input, &effects);
        done = ReplayReport { steps: done.steps + 1, effects: done.effects + step.effects.len(), until: step.t };
    }
    Ok(done)
}

/// One step of a log.
#[derive(Clone, Debug, PartialEq)]
pub struct LoggedStep {
    /// When.
    pub at: Time,
    /// The agent that the input is for.
    pub agent: Agent,
    /// The input.
    pub input: Input,
    /// The effects, each with its sender.
    pub effects: Vec<(Agent, Effect)>,
}

/// The steps of a log, as the engine made them that wrote it.
///
/// # Errors
/// When it is not a log, or a line of it cannot be read.
pub fn steps(text: &str) -> Result<impl Iterator<Item = Result<LoggedStep, ReplayError>> + '_, ReplayError> {
    whole_header(text.lines().next().unwrap_or_default())?;
    Ok((1..).zip(text.lines()).skip(1).map(|(line, text)| {
        let problem = |error: serde_json::Error| ReplayError::Line { line, problem: error.to_string() };
        let ReadStep { t: at, agent, input, effects } = serde_json::from_str(text).map_err(problem)?;
        let effect = |text: &&RawValue| {
            let SentEffect { agent, effect } = serde_json::from_str(text.get()).map_err(problem)?;
            Ok((agent, effect))
        };
        Ok(LoggedStep { at, agent, input, effects: effects.iter().map(effect).collect::<Result<_, ReplayError>>()? })
    }))
}

/// The scenario that a log names; `None` in one that was written without a file.
///
/// # Errors
/// When it is not a log.
pub fn scenario(log: &str) -> Result<Option<LoggedScenario>, ReplayError> {
    whole_header(log.lines().next().unwrap_or_default()).map(|header| header.scenario)
}

#[inline]
fn header(line: &str) -> Result<(Environment, Vec<Arc<str>>), ReplayError> {
    whole_header(line).map(|header| (header.environment, header.shows))
}

fn whole_header(line: &str) -> Result<LogHeaderLine, ReplayError> {
    let value: serde_json::Value = serde_json::from_str(line).map_err(|_| ReplayError::NoHeader)?;
    let log = value["reenact_log"].as_u64().ok_or(ReplayError::NoHeader)?;
    let contract = value["contract"].as_u64().unwrap_or(0);
    if log > u64::from(LOG_VERSION) || contract > u64::from(CONTRACT_VERSION) {
        return Err(ReplayError::Newer { log, contract });
    }
    serde_json::from_str(line).map_err(|error| ReplayError::Line { line: 1, problem: error.to_string() })
}

fn compare(line: usize, logged: &[&RawValue], replayed: &[SentEffect]) -> Result<(), ReplayError> {
    let nothing = || String::from("nothing");
    for position in 0..logged.len().max(replayed.len()) {
        let logged = logged.get(position).map_or_else(nothing, |effect| effect.get().to_string());
        let replayed = replayed.get(position).map_or_else(nothing, |sent| serde_json::to_string(sent).unwrap_or_default());
        if logged != replayed {
            return Err(ReplayError::Differs { line, position: position + 1, logged, replayed });
        }
    }
    Ok(())
}

fn sent(effects: &Effects) -> Vec<SentEffect> {
    effects.iter().map(|(agent, effect)| SentEffect { agent: agent.clone(), effect: effect.clone() }).collect()
}
