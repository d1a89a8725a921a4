//! O-11: after an abort the prompt ends within the grace of its tools; it sends no new request and starts no new tool.
//!
//! A cancel always aborts. A submitted message does unless it has to wait for a tool, which is seen at the instant at which it comes.

use super::running_tools::{RunningTools, asked_about};
use super::{OracleFindings, OracleRules};
use crate::engine::contract::{Effect, Emission, Input, RequestId};
use crate::engine::time::{Micros, Time};
use crate::prelude::*;

pub(super) const ORACLE: &str = "O-11";

/// What the session is at.
#[derive(Clone, Debug, Default)]
pub(super) enum AbortOracle {
    /// Nothing.
    #[default]
    Idle,
    /// A prompt is worked on.
    Working { prompt: u32 },
    /// It was aborted and must end by this time.
    Aborted { prompt: u32, by: Time },
}

impl AbortOracle {
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
        if let (Self::Working { prompt }, true) = (&*self, aborts) {
            let grace = if running.tools().is_empty() { Micros::ZERO } else { rules.tool_grace + rules.lateness };
            let by = at + grace;
            *self = Self::Aborted { prompt: *prompt, by };
        }
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

    pub(super) fn on_effect(&mut self, effect: &Effect, found: &mut OracleFindings<'_>) {
        match (&*self, effect) {
            (Self::Aborted { prompt, .. }, Effect::StartTool { run, .. }) if *prompt == run.request.prompt => {
                found.add(ORACLE, format!("tool {run} was started after prompt {prompt} was aborted"));
            }
            (Self::Aborted { prompt, .. }, effect) if asked_about(effect).is_some_and(|run| *prompt == run.request.prompt) => {
                found.add(ORACLE, format!("the user was asked about a tool after prompt {prompt} was aborted"));
            }
            (Self::Working { prompt } | Self::Aborted { prompt, .. }, Effect::Finished { prompt: ended, .. }) if prompt == ended => {
                *self = Self::Idle;
            }
            (Self::Idle, Effect::Emit(Emission::Init { prompt, .. })) => *self = Self::Working { prompt: *prompt },
            _ => (),
        }
    }

    pub(super) fn on_end(&mut self, found: &mut OracleFindings<'_>) {
        self.check_time(Time(u64::MAX), found);
    }

    /// Time continued from an instant at which the prompt had to be over.
    fn check_time(&mut self, at: Time, found: &mut OracleFindings<'_>) {
        if let Self::Aborted { prompt, by } = self
            && at > *by
        {
            found.add(ORACLE, format!("prompt {prompt} was aborted and did not end by {by}"));
            *self = Self::Idle;
        }
    }
}
