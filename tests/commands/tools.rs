//! `tools`: the built-in tools, their schemas and instructions (P-5).

use super::reenact;
use std::path::Path;

fn tools(arguments: &[&str]) -> (String, String, Option<i32>) {
    reenact(Path::new("."), &[&["tools"], arguments].concat())
}

#[test]
fn p_5_the_instructions_of_all_tools() {
    let (instructions, _, code) = tools(&["--instructions"]);
    assert_eq!(code, Some(0));
    insta::assert_snapshot!(instructions);
}

#[test]
fn p_5_a_set_of_tools_has_one_order_and_no_others() {
    let (one, ..) = tools(&["--instructions", "Read", "Bash"]);
    let (other, ..) = tools(&["--instructions", "Bash", "Read"]);
    assert!(one == other && one.contains("## Bash") && !one.contains("## Edit"), "{one}");
    let (list, ..) = tools(&["Read", "Bash"]);
    assert_eq!(list, "Read        Reads a file.\nBash        Runs a shell command.\n");
}

#[test]
fn p_5_schemas_are_definitions_for_a_request() {
    let (text, _, code) = tools(&["--schema"]);
    let definitions: serde_json::Value = serde_json::from_str(&text).unwrap();
    let definitions = definitions.as_array().unwrap();
    assert!(code == Some(0) && definitions.len() == 11, "{text}");
    for definition in definitions {
        assert!(definition["name"].is_string() && definition["description"].is_string(), "{definition}");
        jsonschema::meta::validate(&definition["input_schema"]).unwrap_or_else(|error| panic!("{definition}: {error}"));
    }
}

#[test]
fn an_unknown_tool_is_named_with_the_nearest() {
    let (output, told, code) = tools(&["--schema", "Raed"]);
    assert!(output.is_empty() && code == Some(2) && told.contains("no built-in tool Raed; did you mean Read?"), "{told}");
    assert_eq!(tools(&["--schema", "--instructions"]).2, Some(2));
}
