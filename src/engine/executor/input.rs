//! Problems of a tool use's input, found before all other steps (T-21, N-3), worded for a model.

use crate::contract::{FailureCause, ToolOutcome};
use crate::schema;
use crate::settings::Environment;
use crate::texts::{ModelTexts, TextName};
use reenact_wire::block::ToolInput;
use reenact_wire::prelude::*;

/// Why an input cannot be used.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(super) enum InputProblem {
    /// It is not JSON object.
    NotJson(Arc<str>),
    /// It does not fit the tool's schema: the list of problems.
    Misfit(Arc<str>),
}

impl InputProblem {
    /// The mistake in the input of this tool; `None` without a mistake.
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

    /// The answer to the model. Where somebody else wrote the input, to call the tool again in the same way would not help.
    pub(super) fn answer(&self, tool: &str, author: InputAuthor, texts: &ModelTexts) -> ToolOutcome {
        let (json, fit) = match author {
            InputAuthor::Model => (TextName::InvalidJson, TextName::InvalidInput),
            InputAuthor::Hook => (TextName::HookInvalidJson, TextName::HookInvalidInput),
            InputAuthor::User => (TextName::UserInvalidJson, TextName::UserInvalidInput),
        };
        error(&match self {
            Self::NotJson(problem) => texts.say(json, &[("tool", tool), ("problem", problem)]),
            Self::Misfit(problems) => texts.say(fit, &[("tool", tool), ("problems", problems)]),
        })
    }
}

/// The author of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum InputAuthor {
    Model,
    /// A hook, in place of the model's (T-23).
    Hook,
    /// A person who was asked (T-24).
    User,
}

fn error(text: &str) -> ToolOutcome {
    ToolOutcome { cause: Some(FailureCause::InvalidInput), ..ToolOutcome::error(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t_31_each_author_of_an_input_has_texts_of_its_own() {
        use InputAuthor::{Hook, Model, User};
        let problems = [InputProblem::NotJson("bad".into()), InputProblem::Misfit("- a".into())];
        let names = [
            (Model, [TextName::InvalidJson, TextName::InvalidInput]),
            (Hook, [TextName::HookInvalidJson, TextName::HookInvalidInput]),
            (User, [TextName::UserInvalidJson, TextName::UserInvalidInput]),
        ];
        for (author, names) in names {
            for (problem, name) in problems.iter().zip(names) {
                let text = format!("{}: {{tool}} {{problem}}{{problems}}", name.key());
                let texts = ModelTexts { replaced: [(name, text.into())].into(), ..ModelTexts::default() };
                let detail = if matches!(problem, InputProblem::NotJson(_)) { "bad" } else { "- a" };
                let expected = format!("{}: Read {detail}", name.key());
                assert_eq!(problem.answer("Read", author, &texts).content.to_value(), expected, "{author:?}");
            }
        }
    }
}
