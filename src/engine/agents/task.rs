//! The tasks in a tool use that makes agents (B-8): a pure function of its input.

use serde_json::Value;

use crate::settings::AgentTool;
use crate::texts::{ModelTexts, TextName};
use reenact_wire::block::{ToolInput, ToolUse};
use reenact_wire::prelude::*;

/// A valid request for agents.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct AgentTask {
    /// The prompt of the agents.
    pub(super) prompt: Arc<str>,
    /// How many of them there are.
    pub(super) count: u32,
    /// The model that they ask.
    pub(super) model: Arc<str>,
}

/// The least allowance of one answer of an agent, in tokens.
const ALLOWANCE_MIN: u64 = 2_000;

/// From this many words on an allowance grows with the prompt.
const WORDS: u64 = 50;

/// The limit of an allowance's growth, in allowances.
const GROWTH_MAX: u64 = 3;

impl AgentTask {
    /// Reads the input.
    ///
    /// # Errors
    /// The text for the model: each problem with its place and what was expected.
    pub(super) fn read(tool_use: &ToolUse, tool: &AgentTool, texts: &ModelTexts) -> Result<Self, String> {
        let ToolInput::Valid(input) = &tool_use.input else { return Err(texts.say(TextName::AgentInvalidJson, &[])) };
        let input = input.to_value();
        let problems = problems(&input);
        if !problems.is_empty() {
            return Err(texts.say(TextName::AgentInvalidInput, &[("tool", &tool_use.name), ("problems", &problems.join("; "))]));
        }
        let text = |key: &str| input.get(key).and_then(Value::as_str);
        let count = member(&input, "parallel_tasks").map_or(Some(1), Value::as_u64);
        Ok(Self {
            prompt: text("prompt").unwrap_or_default().into(),
            count: count.and_then(|count| count.try_into().ok()).unwrap_or(1),
            model: text("model").map_or_else(|| tool.fast_model.clone(), Arc::from),
        })
    }

    /// The most output tokens of each answer that an agent gets: 2,000 × min(words / 50, 3), at least 2,000.
    pub(super) fn allowance(&self) -> u64 {
        let words = self.prompt.split_whitespace().count() as u64;
        (ALLOWANCE_MIN * words / WORDS).clamp(ALLOWANCE_MIN, ALLOWANCE_MIN * GROWTH_MAX)
    }

    /// The prompt of the n-th agent, from 1.
    pub(super) fn prompt_of(&self, number: u32, texts: &ModelTexts) -> String {
        let (number, count) = (&*number.to_string(), &*self.count.to_string());
        match self.count {
            1 => self.prompt.to_string(),
            _ => texts.say(TextName::AgentTask, &[("number", number), ("count", count), ("prompt", &self.prompt)]),
        }
    }
}

/// The mistakes in the input of a tool use that makes agents.
pub fn problems(input: &Value) -> Vec<&'static str> {
    let mut problems = Vec::new();
    let text = |key: &str| input.get(key).and_then(Value::as_str);
    let length = |key: &str| text(key).map_or(0, |text| text.chars().count());
    if !(3..=100).contains(&length("description")) {
        problems.push("`description` must be text of 3 to 100 characters");
    }
    if length("prompt") < 10 {
        problems.push("`prompt` must be text of at least 10 characters");
    }
    let count = member(input, "parallel_tasks").map_or(Some(1), |count| count.as_u64().filter(|count| (1..=5).contains(count)));
    if count.is_none() {
        problems.push("`parallel_tasks` must be a whole number from 1 to 5");
    }
    if member(input, "model").is_some() && length("model") == 0 {
        problems.push("`model` must be the name of a model");
    }
    problems
}

/// A model that leaves a member out may write null in its place.
fn member<'a>(input: &'a Value, key: &str) -> Option<&'a Value> {
    input.get(key).filter(|value| !value.is_null())
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_wire::json::Json;

    fn read(input: &str) -> Result<AgentTask, String> {
        let input = ToolInput::Valid(Json::trusted(input));
        AgentTask::read(&ToolUse { id: "toolu_1".into(), name: "Agent".into(), input }, &AgentTool::default(), &ModelTexts::default())
    }

    #[test]
    fn b_8_the_input_is_checked_and_every_problem_is_named() {
        let task = read(r#"{"description":"Look","prompt":"Look at it all."}"#).unwrap();
        assert_eq!((task.count, &*task.model), (1, "claude-haiku-4-5"));
        assert_eq!(task.prompt_of(1, &ModelTexts::default()), "Look at it all.");
        let several = read(r#"{"description":"abc","prompt":"0123456789","parallel_tasks":5,"model":"m"}"#).unwrap();
        assert_eq!((several.count, &*several.model), (5, "m"));
        assert_eq!(several.prompt_of(2, &ModelTexts::default()), "This is task 2 of 5.\n\n0123456789");
        let wrong = read(r#"{"description":"ab","prompt":"012345678","parallel_tasks":6,"model":7}"#).unwrap_err();
        for key in ["`description`", "`prompt`", "`parallel_tasks`", "`model`"] {
            assert!(wrong.contains(key), "{wrong}");
        }
        let long = format!(r#"{{"description":"{}","prompt":"0123456789","parallel_tasks":0}}"#, "x".repeat(101));
        let wrong = read(&long).unwrap_err();
        assert!(wrong.contains("`description`") && wrong.contains("`parallel_tasks`") && !wrong.contains("`prompt`"), "{wrong}");
    }

    #[test]
    fn b_8_a_member_that_is_null_is_not_there() {
        let task = read(r#"{"description":"abc","prompt":"0123456789","parallel_tasks":null,"model":null}"#).unwrap();
        assert_eq!((task.count, &*task.model), (1, "claude-haiku-4-5"));
    }

    #[test]
    fn b_8_the_allowance_grows_with_the_prompt_up_to_three_times() {
        let of = |words: usize| AgentTask { prompt: "word ".repeat(words).into(), count: 1, model: "m".into() }.allowance();
        assert_eq!([1, 50, 51, 75, 150, 1_000].map(of), [2_000, 2_000, 2_040, 3_000, 6_000, 6_000]);
    }
}
