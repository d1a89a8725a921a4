//! Libraries that agents are built on: what each does in each case (K-7).
//!
//! Most of them send their requests with one of the SDKs, and yet they differ in what reaches an agent: some take half an answer for a whole one,
//! some give up where others try again. The table is written from what these versions were seen to do, with their defaults.

use super::case_world::{CaseWorld, RequestGap};
use super::cases::{
    AT_ONCE, BAD_GATEWAY, ENDED, ERROR_EVENT, FIRST, OVERLOADED_TWICE, RATE_LIMITED, RESET, RESET_BEFORE, SECOND, TRUNCATED,
};
use super::client_kind::{Language, Library};
use super::run::CaseRun;

/// One thing that happens to the libraries.
#[derive(Debug)]
pub(super) struct LibraryCase {
    pub(super) name: &'static str,
    pub(super) world: CaseWorld,
    /// Whether the library runs its loop with a tool, or asks once.
    pub(super) way: LibraryWay,
    /// The behaviour of each; a library without a row is not asked.
    pub(super) rows: &'static [LibraryRow],
}

/// The way in which a library asks.
#[derive(Clone, Copy, Debug)]
pub(super) enum LibraryWay {
    Loop,
    Once,
}

/// The behaviour of one library: the times between its requests, and the outcome for its caller.
#[derive(Debug)]
pub(super) struct LibraryRow(pub(super) &'static Library, pub(super) &'static [RequestGap], pub(super) &'static str);

const AI_SDK: Library = Library {
    name: "AI SDK",
    language: Language::TypeScript,
    pins: &["ai@7.0.173", "@ai-sdk/anthropic@4.0.105", "zod@4.6.7"],
    argument: "ai-sdk",
};
const LANGCHAIN_JS: Library = Library {
    name: "LangChain.js",
    language: Language::TypeScript,
    pins: &["@langchain/anthropic@1.5.11", "@langchain/core@1.4.0"],
    argument: "langchain",
};
const LANGCHAIN: Library = Library {
    name: "LangChain",
    language: Language::Python,
    pins: &["langchain-anthropic==1.7.7", "langchain-core==1.7.2", "anthropic==2.12.0", "httpx2==2.16.2"],
    argument: "langchain",
};
const PYDANTIC_AI: Library = Library {
    name: "pydantic-ai",
    language: Language::Python,
    pins: &["pydantic-ai-slim[anthropic]==2.68.0", "anthropic==2.12.0", "httpx2==2.16.2"],
    argument: "pydantic-ai",
};
// It does not start without mcp, and does not say so.
const LITELLM: Library =
    Library { name: "litellm", language: Language::Python, pins: &["litellm==1.106.2", "mcp==2.3.0"], argument: "litellm" };
const STRANDS: Library = Library {
    name: "strands",
    language: Language::Python,
    pins: &["strands-agents[anthropic]==1.62.0", "anthropic==0.125.0", "httpx==0.28.1"],
    argument: "strands",
};

pub(super) const LIBRARIES: [&Library; 6] = [&AI_SDK, &LANGCHAIN_JS, &LANGCHAIN, &PYDANTIC_AI, &LITELLM, &STRANDS];

const NO_WAIT: &[RequestGap] = &[AT_ONCE];
const SDK_ONCE: &[RequestGap] = &[FIRST];
const SDK_TWICE: &[RequestGap] = &[FIRST, SECOND];
/// The AI SDK: two seconds, then four.
const AI_SDK_ONCE: &[RequestGap] = &[RequestGap::between(2_000, 2_000)];
const AI_SDK_TWICE: &[RequestGap] = &[RequestGap::between(2_000, 2_000), RequestGap::between(4_000, 4_000)];
/// LangChain.js: a second, then two, up to twice as long.
const JS_ONCE: &[RequestGap] = &[RequestGap::between(1_000, 2_000)];
const JS_TWICE: &[RequestGap] = &[RequestGap::between(1_000, 2_000), RequestGap::between(2_000, 4_000)];
const NO_RETRY: &[RequestGap] = &[];
const AFTER_TWO_SECONDS: &[RequestGap] = &[RequestGap::between(2_000, 2_000)];

const STOP: &str = r#"stop, "It is a package named demo.""#;
const END_TURN: &str = r#"end_turn, "It is a package named demo.""#;

const TWO_CALLS: &str = r#"
title = "Two tools at once"
seed = 0

[[prompt]]
text = "What does package.json say?"

[[prompt.turn]]
text = "I'll read both files."
tool = [{ name = "Read", input = { file_path = "/w/package.json" } }, { name = "Read", input = { file_path = "/w/b" } }]

[[prompt.turn]]
text = "It is a package named demo."
"#;

const TRUNCATED_INPUT: &str = r#"
title = "A tool input that ends in the middle"
seed = 0

[[fault]]
truncate_tool_input = true

[[prompt]]
text = "What does package.json say?"

[[prompt.turn]]
tool = [{ name = "Read", input = { file_path = "/w/package.json", lines = [1, 2] } }]

[[prompt.turn]]
text = "It is a package named demo."
"#;

const fn once(name: &'static str, faults: &'static str, rows: &'static [LibraryRow]) -> LibraryCase {
    LibraryCase { name, world: CaseWorld::Faults(faults), way: LibraryWay::Once, rows }
}

/// All libraries run a tool and answer.
const ALL_ANSWER: &[LibraryRow] = &[
    LibraryRow(&AI_SDK, NO_WAIT, STOP),
    LibraryRow(&LANGCHAIN_JS, NO_WAIT, END_TURN),
    LibraryRow(&LANGCHAIN, NO_WAIT, END_TURN),
    LibraryRow(&PYDANTIC_AI, NO_WAIT, STOP),
    LibraryRow(&LITELLM, NO_WAIT, STOP),
    LibraryRow(&STRANDS, NO_WAIT, END_TURN),
];

pub(super) const LIBRARY_CASES: &[LibraryCase] = &[
    LibraryCase {
        name: "a tool is used in a loop",
        world: CaseWorld::Shipped("scenarios/query/read-one-file.toml"),
        way: LibraryWay::Loop,
        rows: ALL_ANSWER,
    },
    LibraryCase { name: "two tools at once", world: CaseWorld::Text(TWO_CALLS), way: LibraryWay::Loop, rows: ALL_ANSWER },
    LibraryCase {
        name: "a tool input that ends in the middle",
        world: CaseWorld::Text(TRUNCATED_INPUT),
        way: LibraryWay::Loop,
        rows: &[
            LibraryRow(&AI_SDK, NO_WAIT, STOP),
            LibraryRow(&LANGCHAIN_JS, NO_WAIT, END_TURN),
            LibraryRow(&LANGCHAIN, NO_WAIT, END_TURN),
            LibraryRow(&PYDANTIC_AI, NO_WAIT, STOP),
            LibraryRow(&STRANDS, NO_WAIT, END_TURN),
        ],
    },
    once(
        "529 twice",
        OVERLOADED_TWICE,
        &[
            LibraryRow(&AI_SDK, AI_SDK_TWICE, STOP),
            LibraryRow(&LANGCHAIN_JS, JS_TWICE, END_TURN),
            LibraryRow(&LANGCHAIN, SDK_TWICE, END_TURN),
            LibraryRow(&PYDANTIC_AI, SDK_TWICE, STOP),
            LibraryRow(&LITELLM, NO_RETRY, "litellm.InternalServerError, 500"),
            LibraryRow(&STRANDS, SDK_TWICE, END_TURN),
        ],
    ),
    once(
        "429, retry-after 2",
        RATE_LIMITED,
        &[
            LibraryRow(&AI_SDK, AFTER_TWO_SECONDS, STOP),
            LibraryRow(&LANGCHAIN_JS, AFTER_TWO_SECONDS, END_TURN),
            LibraryRow(&LANGCHAIN, AFTER_TWO_SECONDS, END_TURN),
            LibraryRow(&PYDANTIC_AI, AFTER_TWO_SECONDS, STOP),
            LibraryRow(&STRANDS, AFTER_TWO_SECONDS, END_TURN),
        ],
    ),
    once(
        "502 in HTML",
        BAD_GATEWAY,
        &[
            LibraryRow(&AI_SDK, AI_SDK_ONCE, STOP),
            LibraryRow(&LANGCHAIN_JS, JS_ONCE, END_TURN),
            LibraryRow(&LANGCHAIN, SDK_ONCE, END_TURN),
            LibraryRow(&PYDANTIC_AI, SDK_ONCE, STOP),
            LibraryRow(&STRANDS, SDK_ONCE, END_TURN),
        ],
    ),
    once(
        "400, prompt too long",
        "error = \"prompt_too_long\"",
        &[
            LibraryRow(&AI_SDK, NO_RETRY, "APICallError, 400"),
            LibraryRow(&LANGCHAIN_JS, NO_RETRY, "ContextOverflowError"),
            LibraryRow(&LANGCHAIN, NO_RETRY, "langchain_anthropic.AnthropicContextOverflowError, 400"),
            LibraryRow(&PYDANTIC_AI, NO_RETRY, "pydantic_ai.ModelContextWindowExceededError, 400"),
            LibraryRow(&LITELLM, NO_RETRY, "litellm.ContextWindowExceededError, 400"),
            LibraryRow(&STRANDS, NO_RETRY, "strands.ContextWindowOverflowException"),
        ],
    ),
    once(
        "413",
        "status = 413",
        &[
            LibraryRow(&AI_SDK, NO_RETRY, "APICallError, 413"),
            LibraryRow(&LANGCHAIN_JS, NO_RETRY, "APIError, 413"),
            LibraryRow(&LANGCHAIN, NO_RETRY, "anthropic.ContentTooLargeError, 413"),
            LibraryRow(&PYDANTIC_AI, NO_RETRY, "pydantic_ai.ModelHTTPError, 413"),
            LibraryRow(&LITELLM, NO_RETRY, "litellm.BadRequestError, 400"),
            LibraryRow(&STRANDS, NO_RETRY, "anthropic.RequestTooLargeError, 413"),
        ],
    ),
    once(
        "401",
        "status = 401",
        &[
            LibraryRow(&AI_SDK, NO_RETRY, "APICallError, 401"),
            LibraryRow(&LANGCHAIN_JS, NO_RETRY, "AuthenticationError, 401"),
            LibraryRow(&LANGCHAIN, NO_RETRY, "langchain_anthropic.AnthropicAuthenticationError, 401"),
            LibraryRow(&PYDANTIC_AI, NO_RETRY, "pydantic_ai.ModelAuthenticationError, 401"),
            LibraryRow(&STRANDS, NO_RETRY, "anthropic.AuthenticationError, 401"),
        ],
    ),
    once(
        "reset before any byte",
        RESET_BEFORE,
        &[
            LibraryRow(&AI_SDK, AI_SDK_ONCE, STOP),
            LibraryRow(&LANGCHAIN_JS, JS_ONCE, END_TURN),
            LibraryRow(&LANGCHAIN, SDK_ONCE, END_TURN),
            LibraryRow(&PYDANTIC_AI, SDK_ONCE, STOP),
            LibraryRow(&LITELLM, NO_RETRY, "litellm.InternalServerError, 500"),
            LibraryRow(&STRANDS, SDK_ONCE, END_TURN),
        ],
    ),
    once(
        "reset in the stream",
        RESET,
        &[
            LibraryRow(&AI_SDK, NO_RETRY, "APICallError, 200"),
            LibraryRow(&LANGCHAIN_JS, NO_RETRY, "TypeError, terminated"),
            LibraryRow(&LANGCHAIN, NO_RETRY, "httpx2.ReadError"),
            LibraryRow(&PYDANTIC_AI, NO_RETRY, "pydantic_ai.ModelConnectionError"),
            LibraryRow(&LITELLM, NO_RETRY, "litellm.MidStreamFallbackError, 500"),
            LibraryRow(&STRANDS, NO_RETRY, "httpx.ReadError"),
        ],
    ),
    once(
        "closed in a chunk",
        TRUNCATED,
        &[
            LibraryRow(&AI_SDK, NO_RETRY, "APICallError, 200"),
            LibraryRow(&LANGCHAIN_JS, NO_RETRY, "TypeError, terminated"),
            LibraryRow(&LANGCHAIN, NO_RETRY, "httpx2.RemoteProtocolError"),
            LibraryRow(&PYDANTIC_AI, NO_RETRY, "pydantic_ai.ModelConnectionError"),
            LibraryRow(&STRANDS, NO_RETRY, "httpx.RemoteProtocolError"),
        ],
    ),
    once(
        "a clean end without message_stop",
        ENDED,
        &[
            LibraryRow(&AI_SDK, NO_RETRY, r#"interrupted, "It is a ""#),
            LibraryRow(&LANGCHAIN_JS, NO_RETRY, r#"no stop reason, "It is a ""#),
            LibraryRow(&LANGCHAIN, NO_RETRY, r#"no stop reason, "It is a ""#),
            LibraryRow(&PYDANTIC_AI, NO_RETRY, r#"no stop reason, "It is a ""#),
            LibraryRow(&LITELLM, NO_RETRY, r#"stop, "It is a ""#),
            LibraryRow(&STRANDS, NO_RETRY, r#"end_turn, """#),
        ],
    ),
    once(
        "an error event",
        ERROR_EVENT,
        &[
            LibraryRow(&AI_SDK, NO_RETRY, "StreamProviderError, 529"),
            LibraryRow(&LANGCHAIN_JS, NO_RETRY, "APIError, overloaded_error"),
            LibraryRow(&LANGCHAIN, NO_RETRY, "anthropic.APIStatusError, 200"),
            LibraryRow(&PYDANTIC_AI, NO_RETRY, "pydantic_ai.ModelOverloadedError, 529"),
            LibraryRow(&STRANDS, NO_RETRY, "anthropic.APIStatusError, 200"),
        ],
    ),
    once(
        "an empty body",
        "at = { attempt = 1 }\nempty_body = true",
        &[
            LibraryRow(&AI_SDK, NO_RETRY, "NoOutputGeneratedError"),
            LibraryRow(&LANGCHAIN_JS, NO_RETRY, "TypeError"),
            LibraryRow(&LANGCHAIN, NO_RETRY, "builtins.ValueError"),
            LibraryRow(&PYDANTIC_AI, NO_RETRY, "pydantic_ai.UnexpectedModelBehavior"),
            LibraryRow(&LITELLM, NO_RETRY, r#"stop, """#),
            LibraryRow(&STRANDS, NO_RETRY, r#"end_turn, """#),
        ],
    ),
    once(
        "an event that is no JSON",
        "at = { attempt = 1 }\nmalformed_event = true",
        &[
            LibraryRow(&AI_SDK, NO_RETRY, "Error, Expected a normalized Anthropic stream error"),
            LibraryRow(&LANGCHAIN_JS, NO_RETRY, "SyntaxError, no JSON"),
            LibraryRow(&LANGCHAIN, NO_RETRY, "json.JSONDecodeError"),
            LibraryRow(&PYDANTIC_AI, NO_RETRY, "pydantic_ai.ModelAPIError"),
            LibraryRow(&LITELLM, NO_RETRY, r#"stop, """#),
            LibraryRow(&STRANDS, NO_RETRY, "json.JSONDecodeError"),
        ],
    ),
    once(
        "an event of an unknown kind",
        "unknown_event = true",
        &[
            LibraryRow(&AI_SDK, NO_RETRY, "Error, Expected a normalized Anthropic stream error"),
            LibraryRow(&LANGCHAIN_JS, NO_RETRY, END_TURN),
            LibraryRow(&LANGCHAIN, NO_RETRY, END_TURN),
            LibraryRow(&PYDANTIC_AI, NO_RETRY, STOP),
            LibraryRow(&STRANDS, NO_RETRY, END_TURN),
        ],
    ),
];

impl LibraryCase {
    /// The run of a library, whose command is still to be put before the way.
    pub(super) fn run(&'static self, LibraryRow(library, gaps, outcome): &'static LibraryRow) -> CaseRun {
        let command = vec![self.way.name().into()];
        CaseRun { case: self.name, client: library.name, world: &self.world, command, gaps, outcome, remark: None }
    }
}

impl LibraryWay {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Loop => "loop",
            Self::Once => "once",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_7_each_library_is_in_the_table_and_no_case_names_one_twice() {
        for library in LIBRARIES {
            let cases = LIBRARY_CASES.iter().filter(|case| case.rows.iter().any(|row| row.0.name == library.name)).count();
            assert!(cases >= 6, "{} stands in {cases} cases", library.name);
        }
        for case in LIBRARY_CASES {
            let mut names: Vec<&str> = case.rows.iter().map(|row| row.0.name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), case.rows.len(), "{}", case.name);
        }
    }
}
