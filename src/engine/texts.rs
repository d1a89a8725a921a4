//! The texts of our own loop in conversations and results, as pieces between their arguments. They answer the question whether a text can occur at
//! all (F-10). An expectation that one of these does not occur asks something, though no run of its scenario says it.
//!
//! A test holds each piece against the transcripts of the shipped scenarios, so that a changed text must change here as well.

/// The pieces.
pub const TEXTS: [&str; 29] = [
    "[The user interrupted.]",
    "[The user interrupted while tools ran.]",
    "Cancelled: the parallel tool call",
    "Tool execution discarded: fallback to another model was triggered before there was a result.",
    "Tool execution stopped: the budget of this session is used up.",
    "The user rejected this tool call.",
    "The user refused this call of",
    "A hook did not allow this call of",
    "is not permitted:",
    "ended without a result.",
    "No tool named",
    "is not valid JSON",
    "does not fit its schema:",
    "were left out here: there is no place to store them.]",
    "[This old result was cleared to save space.]",
    "[Older messages are left out here.]",
    "What was said before is summarised here:",
    "as it was last read:",
    "The session ended before the result of this tool use was recorded. It may or may not have run.",
    "The answer reached the output limit. Go on exactly where it stopped",
    "max_output_tokens: the answer reached the output limit before it was complete",
    "the prompt is too long: about",
    "the service is overloaded:",
    "background work is not retried when the API is overloaded",
    "overload errors in a row",
    "gave up after",
    "The answer is not complete: call the tool StructuredOutput",
    "the budget is used up:",
    "The conversation is cleared.",
];
