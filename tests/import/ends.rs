//! How the replays of recordings end that do not end well.

/// Samples and recordings whose replay by the reference engine under strict comparison does not end with `completed` and nothing to complain of:
/// a part of the file's name, then for each thread how its run ends and a part of what a strict comparison says (nothing when it is empty).
pub(crate) const OTHER_ENDS: &[(&str, &[(&str, &str)])] = &[
    ("sample.sse", &[("tape_exhausted", "")]),
    ("sample.answer.json", &[("tape_exhausted", "")]),
    // The last thread never got an answer, so the engine asks again.
    ("sample.claude-trace", &[("completed", ""), ("completed", ""), ("tape_exhausted", "")]),
    // The client dropped the model's answer, so it is another conversation, and the API said what it thinks of it.
    ("f59a9391-643b", &[("tape_exhausted", ""), ("model_error", "")]),
    ("rejects-malformed", &[("model_error", "")]),
    ("handles_context_length_exceeded", &[("prompt_too_long", "")]),
    ("test_anthropic_tools_streaming_legacy", &[("tape_exhausted", "")]),
    ("anthropic-tool-no-args", &[("tape_exhausted", "")]),
    // The client asked for nothing more.
    ("28bbec95", &[("tape_exhausted", "")]),
    ("tool_call_turn_parity", &[("tape_exhausted", ""), ("tape_exhausted", "")]),
    ("native_tool_availability_delta", &[("tape_exhausted", "")]),
    // The key was none.
    ("aiohttp_anthropic", &[("model_error", "")]),
    // The same was refused twice.
    ("model_not_found", &[("model_error", ""), ("model_error", "")]),
    // What the API did not understand is not understood here either.
    ("anthropic_completion_error", &[("model_error", "messages[0]")]),
];
