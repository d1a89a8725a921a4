//! The answer of a tool about its input, and the classes of single uses.

use super::*;
use crate::settings::ToolDefinition;
use reenact_wire::json::Json;

fn tool_use(id: &str, input: &str) -> ToolUse {
    ToolUse { id: id.into(), name: "Bash".into(), input: ToolInput::read(input) }
}

#[test]
fn t_3_the_tool_is_asked_with_this_input() {
    let safe = |safety, input: &str| is_safe(safety, &BTreeMap::new(), &tool_use("t", input));
    let (reads, writes) = (r#"{"command":"ls"}"#, r#"{"command":"rm x"}"#);
    assert!(safe(ToolSafety::ByCommand, reads) && !safe(ToolSafety::ByCommand, writes));
    assert!(safe(ToolSafety::ByCommand, r#"{"command":"l\u0073"}"#), "an escape of JSON is none of the shell's");
    for input in ["{}", r#"{"command":5}"#, r#"{"command":null}"#, r#"{"command":["ls"]}"#, r#"{"command":"ls","command":"rm x"}"#] {
        assert!(!safe(ToolSafety::ByCommand, input), "{input}");
    }
    assert!(!safe(ToolSafety::ByCommand, r#"{"command":"ls","command":"ls"}"#), "of two nobody knows which one is run");
    for (safety, expected) in [(ToolSafety::Always, true), (ToolSafety::Never, false), (ToolSafety::Unknown, false)] {
        assert!(safe(safety, reads) == expected && safe(safety, writes) == expected, "{safety:?}");
    }
    assert!(!safe(ToolSafety::Always, r#"{"command""#), "what cannot be read is exclusive");
}

#[test]
fn t_3_what_is_said_of_a_use_wins_over_its_tool() {
    let said = BTreeMap::from([("toolu_1".into(), false), ("toolu_2".into(), true), ("toolu_1_3".into(), true)]);
    let safe = |safety, id: &str| is_safe(safety, &said, &tool_use(id, r#"{"command":"ls"}"#));
    assert!(!safe(ToolSafety::Always, "toolu_1") && safe(ToolSafety::Unknown, "toolu_2"));
    assert!(!safe(ToolSafety::Always, "toolu_1_2"), "an id that was made from it is the same use");
    assert!(safe(ToolSafety::Never, "toolu_1_3"), "an id of its own comes first");
    assert!(safe(ToolSafety::Always, "toolu_3") && !safe(ToolSafety::Never, "toolu_3"));
    assert!(!is_safe(ToolSafety::Always, &said, &tool_use("toolu_2", "[")), "not where the input is invalid");
}

#[test]
fn t_3_an_unknown_tool_and_an_unusable_input_are_exclusive() {
    let tools = vec![ToolDefinition::new("Bash", ToolSafety::ByCommand, Json::trusted("{}"))];
    let env = Environment { tools, safe_uses: BTreeMap::from([("u".into(), true)]), ..Environment::default() };
    let reads = tool_use("t", r#"{"command":"ls"}"#);
    let misfit = InputProblem::Misfit("command: wrong".into());
    assert_eq!(class_of(&env, &reads, None), ConcurrencyClass::Safe);
    assert_eq!(class_of(&env, &reads, Some(&misfit)), ConcurrencyClass::Exclusive);
    assert_eq!(class_of(&env, &tool_use("u", "{}"), Some(&misfit)), ConcurrencyClass::Exclusive);
    assert_eq!(class_of(&env, &ToolUse { name: "Bush".into(), ..tool_use("u", "{}") }, None), ConcurrencyClass::Exclusive);
}
