//! Structured output is the input of a call that went well (O-25).

use super::*;

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
