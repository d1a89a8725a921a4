//! Problems of a tool use's input, found before all other steps (T-21, N-3), worded for a model.

use crate::engine::contract::{FailureCause, ToolOutcome};
use crate::engine::schema;
use crate::engine::settings::Environment;
use crate::prelude::*;
use crate::wire::block::ToolInput;

/// Why an input cannot be used.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum InputProblem {
    /// It is not JSON object.
    NotJson(Arc<str>),
    /// It does not fit the tool's schema: the list of problems.
    Misfit(Arc<str>),
}

impl InputProblem {
    /// What is wrong with the input of this tool; `None` when nothing is.
    pub(super) fn find(env: &Environment, tool: &str, input: &ToolInput) -> Option<Self> {
        if !env.settings.pipeline.check_inputs {
            return None;
        }
        match input {
            ToolInput::Invalid { error, .. } => Some(Self::NotJson(error.clone())),
            ToolInput::Valid(json) => {
                let problems = env.validators.problems(tool, json);
                (!problems.is_empty()).then(|| Self::Misfit(schema::list(&problems).into()))
            }
        }
    }

    /// The answer to a model that wrote it.
    pub(super) fn answer(&self, tool: &str) -> ToolOutcome {
        error(&match self {
            Self::NotJson(problem) => {
                format!("The input of {tool} is not valid JSON: {problem}. Call the tool again with a complete JSON object.")
            }
            Self::Misfit(list) => {
                format!("The input of {tool} does not fit its schema:\n{list}\nCall the tool again with an input that fits.")
            }
        })
    }

    /// The answer when `who` wrote the input in place of the model: the same call again would not help.
    pub(super) fn answer_to_change(&self, tool: &str, who: &str) -> ToolOutcome {
        error(&match self {
            Self::NotJson(problem) => {
                format!("{who} changed the input of {tool} to what is not valid JSON, so it was not called: {problem}.")
            }
            Self::Misfit(list) => {
                format!("{who} changed the input of {tool} to one that does not fit its schema, so it was not called:\n{list}")
            }
        })
    }
}

fn error(text: &str) -> ToolOutcome {
    ToolOutcome { cause: Some(FailureCause::InvalidInput), ..ToolOutcome::error(text) }
}
