//! O-11: after an abort the prompt ends within the grace of its tools; it sends no new request and starts no new tool.
//!
//! A cancel always aborts, and so do a tool's own abort and a refusal that ends all. A submitted message does unless it has to wait for a tool, which is seen at the instant at which it comes. Where the
//! settings let queued *block* tools run after a message, those may start, and the prompt may take as long as they do (T-15a).

use super::running_tools::{RunningTools, asked_about, asked_tool};
use super::{OracleFindings, OracleRules};
use reenact_engine::contract::{Agent, Effect, Emission, Input, PermissionAnswer, RequestId, ToolRun};
use reenact_engine::settings::{InterruptBehaviour, QueuedBlockPolicy};
use reenact_engine::time::{Micros, Time};
use reenact_wire::prelude::*;

pub(super) const ORACLE: &str = "O-11";

/// The state of the session.
#[derive(Clone, Debug, Default, Hash)]
pub(super) enum AbortOracle {
    /// Nothing.
    #[default]
    Idle,
    /// A prompt is worked on.
    Working { prompt: u32 },
    /// It was aborted and must end by this time, or when the last of the tools has its result that were let run since; `None` if no tool may start.
    Aborted { prompt: u32, by: Time, let_run: Option<Vec<ToolRun>> },
}

/// Whether this ends the whole tree of agents without the user's cancel: a tool that runs aborts itself, or a person refuses what is asked and ends all (T-14).
pub(super) fn is_from_within(rules: &OracleRules, running: &RunningTools, agent: &Agent, input: &Input) -> bool {
    match input {
        // The hooks behind a tool come first.
        Input::ToolEnded { run, outcome } => outcome.abort.is_some() && rules.hooks.is_empty() && running.runs(agent, *run),
        Input::PermissionAnswered { run, answer } => {
            matches!(**answer, PermissionAnswer::RefuseAndAbort { .. }) && running.is_asked_about(agent, *run)
        }
        _ => false,
    }
}

impl AbortOracle {
    /// Whether the end of the prompt is waited for.
    pub(super) fn is_aborted(&self) -> bool {
        matches!(self, Self::Aborted { .. })
    }

    pub(super) fn on_input(
        &mut self,
        rules: &OracleRules,
        running: &RunningTools,
        at: Time,
        input: &Input,
        found: &mut OracleFindings<'_>,
    ) {
        self.check_time(at, found);
        let aborts = match input {
            Input::Cancel => true,
            Input::Interrupt { .. } => !running.blocks_interrupt(),
            _ => false,
        };
        let prompt = match (&*self, input) {
            (Self::Working { prompt }, _) if aborts => *prompt,
            (Self::Aborted { prompt, let_run: Some(_), .. }, Input::Cancel) => *prompt,
            _ => return,
        };
        found.ask(ORACLE);
        let grace = if running.tools().is_empty() { Micros::ZERO } else { rules.settings.tool_grace + rules.lateness };
        let lets_run = matches!(input, Input::Interrupt { .. }) && rules.settings.queued_block == QueuedBlockPolicy::Run;
        *self = Self::Aborted { prompt, by: at + grace, let_run: lets_run.then(Vec::new) };
    }

    pub(super) fn on_request(&mut self, id: RequestId, found: &mut OracleFindings<'_>) {
        match self {
            Self::Aborted { prompt, .. } if *prompt == id.prompt => {
                found.add(ORACLE, format!("request {id} was sent after prompt {prompt} was aborted"));
            }
            Self::Aborted { .. } => (),
            Self::Idle | Self::Working { .. } => *self = Self::Working { prompt: id.prompt },
        }
    }

    pub(super) fn on_effect(&mut self, rules: &OracleRules, effect: &Effect, found: &mut OracleFindings<'_>) {
        if self.is_let_run(rules, effect) {
            return;
        }
        match (&mut *self, effect) {
            (Self::Aborted { prompt, .. }, Effect::StartTool { run, .. }) if *prompt == run.request.prompt => {
                found.add(ORACLE, format!("tool {run} was started after prompt {prompt} was aborted"));
            }
            (Self::Aborted { prompt, .. }, effect) if asked_about(effect).is_some_and(|run| *prompt == run.request.prompt) => {
                found.add(ORACLE, format!("the user was asked about a tool after prompt {prompt} was aborted"));
            }
            (Self::Aborted { by, let_run: Some(runs), .. }, Effect::Emit(Emission::User(message))) if runs.contains(&message.run) => {
                runs.retain(|run| *run != message.run);
                *by = (*by).max(found.at);
            }
            (Self::Working { prompt } | Self::Aborted { prompt, .. }, Effect::Finished { prompt: ended, .. }) if prompt == ended => {
                *self = Self::Idle;
            }
            (Self::Idle, Effect::Emit(Emission::Init { prompt, .. })) => *self = Self::Working { prompt: *prompt },
            _ => (),
        }
    }

    /// Whether this begins, or goes on with, a tool use that may run after a message.
    fn is_let_run(&mut self, rules: &OracleRules, effect: &Effect) -> bool {
        let Self::Aborted { prompt, let_run: Some(runs), .. } = self else { return false };
        let run = match effect {
            Effect::StartTool { run, .. } | Effect::StartAgent { run, .. } => Some(*run),
            effect => asked_about(effect),
        };
        let Some(run) = run.filter(|run| run.request.prompt == *prompt) else { return false };
        let is_block = || asked_tool(effect).is_some_and(|tool| rules.tools.behaviour(tool) == InterruptBehaviour::Block);
        if !runs.contains(&run) {
            if !is_block() {
                return false;
            }
            runs.push(run);
        }
        true
    }

    pub(super) fn on_end(&mut self, found: &mut OracleFindings<'_>) {
        self.check_time(Time(u64::MAX), found);
    }

    /// Time continued from an instant at which the prompt had to be over.
    fn check_time(&mut self, at: Time, found: &mut OracleFindings<'_>) {
        if let Self::Aborted { prompt, by, let_run } = self
            && at > *by
            && let_run.as_ref().is_none_or(Vec::is_empty)
        {
            found.add(ORACLE, format!("prompt {prompt} was aborted and did not end by {by}"));
            *self = Self::Idle;
        }
    }
}
