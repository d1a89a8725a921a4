//! The lossless form is as its schema says: held against every line of every shipped scenario.

use std::path::Path;

use reenact::engine::agent_loop::AgentLoop;
use reenact::files::scenario::{find, load_all};
use reenact::sim::Run;
use reenact::transcript::json::{SCHEMA, to_json_lines};
use serde_json::{Value, json};

fn validator() -> jsonschema::Validator {
    jsonschema::validator_for(&serde_json::from_str(SCHEMA).unwrap()).unwrap()
}

#[test]
fn x_4_every_line_of_every_transcript_is_as_the_schema_says() {
    let validator = validator();
    let (paths, _) = find(&[Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios")]);
    let partial = [(String::from("engine.partial_messages"), String::from("true"))];
    for path in paths {
        for loaded in load_all(&path, &partial).unwrap_or_else(|error| panic!("{error}")) {
            let transcript = Run::new(loaded.setup, AgentLoop::default()).to_end().transcript;
            for line in to_json_lines(&transcript).lines() {
                let value: Value = serde_json::from_str(line).unwrap();
                assert!(validator.is_valid(&value), "{}: {line}", path.display());
            }
        }
    }
}

#[test]
fn x_4_the_schema_refuses_what_is_no_line() {
    let validator = validator();
    let id = json!({ "prompt": 1, "turn": 1, "attempt": 1 });
    for (value, fine) in [
        (json!({ "t": 0, "input": "cancel" }), true),
        (json!({ "t": -1, "input": "cancel" }), false),
        (json!({ "t": 0 }), false),
        (json!({ "t": 0, "input": "cancel", "unused": { "answer": "x" } }), false),
        (json!({ "t": 0, "input": { "body": { "id": id, "body": "x" } } }), true),
        (json!({ "t": 0, "input": { "body": { "id": id } } }), false),
        (json!({ "t": 0, "effect": { "emit": { "sing": {} } } }), false),
        (json!({ "reenact_transcript": 2, "title": null, "seed": 0 }), false),
    ] {
        assert_eq!(validator.is_valid(&value), fine, "{value}");
    }
}
