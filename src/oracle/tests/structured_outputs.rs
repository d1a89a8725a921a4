//! Structured output is the input of a call that went well (O-25).

use super::*;
use reenact_engine::emission::ResultMessage;

impl EventStory {
    /// The model calls the tool, and the call ends.
    fn gives(self, index: u32, input: &str, is_error: bool) -> Self {
        let tool_use = ToolUse { input: ToolInput::Valid(Json::trusted(input)), ..tool_use("StructuredOutput", index) };
        let block = Block::assembled(BlockKind::ToolUse(tool_use), Json::trusted("{}"));
        self.says(block).effect(result_effect(run(index), Block::tool_result(&format!("t{index}"), &Json::from_value("x"), is_error)))
    }

    fn takes(self, json: &str) -> usize {
        self.effect(Effect::Emit(Emission::StructuredOutput { json: Json::trusted(json) })).times_broken("O-25")
    }
}

#[test]
fn o_25_and_s_9_structured_output_is_the_input_of_a_call_that_went_well() {
    let one = || EventStory::new().gives(0, r#"{"n":1}"#, false);
    assert_eq!(one().takes(r#"{"n":1}"#), 0);
    assert_eq!(one().takes(r#"{ "n": 1 }"#), 0, "written in another way");
    assert_eq!(one().takes(r#"{"n":2}"#), 1);
    let failed = || EventStory::new().gives(0, r#"{"n":1}"#, true);
    assert_eq!(failed().takes(r#"{"n":1}"#), 1, "its call failed");
    assert_eq!(failed().gives(1, r#"{"n":2}"#, false).takes(r#"{"n":2}"#), 0);
    assert_eq!(failed().gives(1, r#"{"n":2}"#, false).takes(r#"{"n":1}"#), 1);
    assert_eq!(one().terminal().takes(r#"{"n":1}"#), 1, "that was another prompt's");
    assert_eq!(EventStory::new().starts("StructuredOutput", 0, "{}").result(0).takes("{}"), 0, "a hook gave the input");
}

#[test]
fn o_25_and_s_9_a_prompt_that_called_for_structured_output_has_some() {
    let results = |has_schema: bool, is_error: bool, json: Option<&str>| {
        let mut environment = environment(|settings| settings.session.json_schema = has_schema.then(|| Json::trusted("{}")));
        environment.tools[0].name = "StructuredOutput".into();
        let story = EventStory { oracles: Oracles::new(&environment), at: Time::ZERO }.gives(0, r#"{"n":1}"#, is_error);
        let result = accounts::result_of(1, "");
        let result = ResultMessage { structured_output: json.map(Json::trusted), ..result };
        story.effect(Effect::Emit(Emission::Result(Box::new(result)))).times_broken("O-25")
    };
    assert_eq!(results(true, false, Some(r#"{"n":1}"#)), 0);
    assert_eq!(results(true, false, None), 1, "it is lost");
    assert_eq!(results(true, true, None), 0, "its call failed");
    assert_eq!(results(false, false, None), 0, "nobody wants any");
}
