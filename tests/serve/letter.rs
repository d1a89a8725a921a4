//! Clients in the scenarios that any client should pass: each defect is told, and the client without one passes (K-7, O-28).

use std::path::Path;

use reenact::files::scenario::{LoadOptions, LoadedScenario, load_with};
use reenact::live::drive::conformance::departures;

use super::drive::{driven, harness, has_python, side_by_side};

/// Asks for whole answers. `DEFECT` says what it does with them.
const CLIENT: &str = r#"
import json, os, time, urllib.error, urllib.request
defect = os.environ["DEFECT"]
messages = [{"role": "user", "content": "Begin."}]

def ask():
    body = {"model": "claude-sonnet-4-5", "max_tokens": 1000, "messages": messages}
    request = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", json.dumps(body).encode(),
                                     {"content-type": "application/json", "x-api-key": "k", "anthropic-version": "2023-06-01"})
    for attempt in range(5):
        try:
            return json.load(urllib.request.urlopen(request))
        except urllib.error.HTTPError as error:
            time.sleep(0.6)
            if defect == "other" :
                request.data = json.dumps({**body, "messages": messages + [{"role": "user", "content": "Again."}]}).encode()

while True:
    content = ask()["content"]
    for block in content:
        if defect == "signature" and block["type"] == "thinking": block["signature"] = ""
        if defect == "input" and block["type"] == "tool_use": block["input"] = {"x": 1}
        if defect == "text" and block["type"] == "text": block["text"] = "Other words."
    calls = [block for block in content if block["type"] == "tool_use"]
    if defect == "lost" and len(calls) > 1:
        content = [block for block in content if block is not calls[-1]]
        calls = calls[:-1]
    if not calls: break
    results = [{"type": "tool_result", "tool_use_id": call["id"], "content": "none"} for call in calls]
    messages += [{"role": "assistant", "content": content}, {"role": "user", "content": results}]
"#;

fn scenario(name: &str) -> LoadedScenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/conformance").join(name).with_extension("toml");
    load_with(&path, &LoadOptions::default()).and_then(LoadedScenario::for_clients).unwrap()
}

#[test]
fn k_7_a_client_that_changes_what_it_was_told_is_found() {
    if !has_python() {
        return;
    }
    const TOLD: [(&str, &str, &str); 5] = [
        ("thinking", "signature", "has thinking as the model's that no whole answer has"),
        ("tool-call", "input", "has a tool call as the model's that no whole answer has"),
        ("tool-call", "text", "has a text as the model's that no whole answer has"),
        ("two-tool-calls", "lost", "lacks what the answer before it says"),
        ("overloaded", "other", "its messages are others"),
    ];
    let found = |name: &str, defect: &str| {
        let how = harness(["python3", "-c", CLIENT].map(String::from).to_vec(), ("DEFECT", defect));
        departures(&driven(&scenario(name).setup, &how).verdict)
    };
    let outcomes = side_by_side(&TOLD, |(name, defect, _)| (found(name, "none"), found(name, defect)));
    for ((name, defect, words), (honest, spoilt)) in TOLD.iter().zip(outcomes) {
        assert_eq!(honest, [""; 0], "{name}");
        assert!(spoilt.iter().any(|told| told.contains(words)), "{name}, {defect}: {spoilt:#?}");
    }
}
