//! The table: what each client does in each case.
//!
//! Written from what these versions were seen to do, with their defaults (two retries; 0.5 s, then 1 s, less up to a quarter). Where a version
//! is raised, this table is what shows whether its users must know.

use super::case_world::{CaseWorld, RequestGap};
use super::client_kind::{Language, SdkClient};
use super::run::CaseRun;

/// One thing that happens to a client, and what it then does.
#[derive(Debug)]
pub(super) struct ClientCase {
    /// The name of the case.
    pub(super) name: &'static str,
    /// The request that the client makes.
    pub(super) way: RequestWay,
    /// The world that answers it.
    pub(super) world: CaseWorld,
    /// How far apart its requests are: one less than there are.
    pub(super) gaps: &'static [RequestGap],
    /// The outcome that the client in Python reports.
    pub(super) python: &'static str,
    /// The outcome that the client in TypeScript reports.
    pub(super) typescript: &'static str,
    /// A remark on odd behaviour, and why it is right all the same.
    pub(super) remark: Option<&'static str>,
}

/// How a client asks.
#[derive(Clone, Copy, Debug)]
pub(super) enum RequestWay {
    /// For an answer that comes whole.
    Whole,
    /// With the SDK's helper, which puts the message together.
    Helper,
    /// For the events as they come.
    Iterator,
    /// With the helper, waiting a second and no longer.
    Impatient,
    /// With the helper, until no tool is used any more.
    Tools,
}

/// For clients that do not wait.
pub(super) const AT_ONCE: RequestGap = RequestGap::between(0, 0);
/// The SDKs wait half a second, then one, less up to a quarter.
pub(super) const FIRST: RequestGap = RequestGap::between(375, 500);
pub(super) const SECOND: RequestGap = RequestGap::between(750, 1_000);

const ANSWER: &str = r#"end_turn, "It is a package named demo.""#;

/// One case, of which both clients make the same.
const fn alike(
    name: &'static str,
    way: RequestWay,
    faults: &'static str,
    gaps: &'static [RequestGap],
    outcome: &'static str,
) -> ClientCase {
    unlike(name, way, faults, gaps, outcome, outcome)
}

const fn unlike(
    name: &'static str,
    way: RequestWay,
    faults: &'static str,
    gaps: &'static [RequestGap],
    python: &'static str,
    typescript: &'static str,
) -> ClientCase {
    ClientCase { name, way, world: CaseWorld::Faults(faults), gaps, python, typescript, remark: None }
}

/// An answer whose last fragment of tool input is missing.
const TRUNCATED_INPUT: &str = r#"
title = "A tool input that ends in the middle"
seed = 0

[[fault]]
truncate_tool_input = true

[[prompt]]
text = "What does package.json say?"

[[prompt.turn]]
tool = [{ name = "Read", input = { file_path = "/w/package.json", lines = [1, 2] } }]
"#;

pub(super) const OVERLOADED_TWICE: &str = "at = { attempt = \"1..=2\" }\nstatus = 529";
pub(super) const RATE_LIMITED: &str = "at = { attempt = 1 }\nstatus = 429\nretry_after = \"2s\"";
pub(super) const BAD_GATEWAY: &str = "at = { attempt = 1 }\nstatus = 502\nhtml = true";
pub(super) const RESET_BEFORE: &str = "at = { attempt = 1 }\nconnect = \"reset\"";
pub(super) const RESET: &str = "at = { attempt = 1 }\ncut = { after_events = 4, how = \"reset\" }";
pub(super) const TRUNCATED: &str = "at = { attempt = 1 }\ncut = { after_events = 4, how = \"truncate\" }";
pub(super) const ENDED: &str = "at = { attempt = 1 }\ncut = { after_events = 4, how = \"close\" }";
pub(super) const ERROR_EVENT: &str = "at = { attempt = 1 }\nerror_event = \"overloaded_error\"\nafter_events = 4";

pub(super) const CASES: &[ClientCase] = &[
    ClientCase {
        world: CaseWorld::Shipped("scenarios/query/read-one-file.toml"),
        ..alike("a tool is used, streamed", RequestWay::Tools, "", &[AT_ONCE], ANSWER)
    },
    alike("529 twice", RequestWay::Helper, OVERLOADED_TWICE, &[FIRST, SECOND], ANSWER),
    alike("529 twice, not streamed", RequestWay::Whole, OVERLOADED_TWICE, &[FIRST, SECOND], ANSWER),
    alike("529 for ever", RequestWay::Helper, "status = 529", &[FIRST, SECOND], "OverloadedError, 529, overloaded_error"),
    alike("429, retry-after 2", RequestWay::Helper, RATE_LIMITED, &[RequestGap::between(2_000, 2_000)], ANSWER),
    alike(
        // Further apart than a client may be late, or nobody would see which of the two it goes by.
        "429, retry-after-ms 1200 beside retry-after 10",
        RequestWay::Helper,
        "at = { attempt = 1 }\nstatus = 429\nheaders = { retry-after-ms = \"1200\", retry-after = \"10\" }",
        &[RequestGap::between(1_200, 1_200)],
        ANSWER,
    ),
    alike(
        "429 that says not to retry",
        RequestWay::Helper,
        "at = { attempt = 1 }\nstatus = 429\nheaders = { x-should-retry = \"false\" }",
        &[],
        "RateLimitError, 429, rate_limit_error",
    ),
    alike(
        "429, retry-after in the past",
        RequestWay::Helper,
        "at = { attempt = 1 }\nstatus = 429\nheaders = { retry-after = \"Wed, 21 Oct 2015 07:28:00 GMT\" }",
        &[FIRST],
        ANSWER,
    ),
    alike(
        "400 that says to retry",
        RequestWay::Helper,
        "at = { attempt = 1 }\nerror = \"invalid_request\"\nheaders = { x-should-retry = \"true\" }",
        &[FIRST],
        ANSWER,
    ),
    alike("408", RequestWay::Helper, "at = { attempt = 1 }\nstatus = 408", &[FIRST], ANSWER),
    alike("502 in HTML", RequestWay::Helper, BAD_GATEWAY, &[FIRST], ANSWER),
    alike("500", RequestWay::Helper, "at = { attempt = 1 }\nstatus = 500", &[FIRST], ANSWER),
    alike("413", RequestWay::Helper, "status = 413", &[], "ContentTooLargeError, 413, request_too_large"),
    alike("400, prompt too long", RequestWay::Helper, "error = \"prompt_too_long\"", &[], "BadRequestError, 400, invalid_request_error"),
    alike(
        "400, input and output too long",
        RequestWay::Helper,
        "error = \"context_overflow\"",
        &[],
        "BadRequestError, 400, invalid_request_error",
    ),
    alike("401", RequestWay::Helper, "status = 401", &[], "AuthenticationError, 401, authentication_error"),
    alike("reset before any byte", RequestWay::Helper, RESET_BEFORE, &[FIRST], ANSWER),
    unlike(
        "reset before any byte, for ever",
        RequestWay::Helper,
        "connect = \"reset\"",
        &[FIRST, SECOND],
        "APIConnectionError",
        "APIConnectionError, Connection error.",
    ),
    unlike(
        "reset after the head",
        RequestWay::Helper,
        "at = { attempt = 1 }\ncut = { after_events = 0, how = \"reset\" }",
        &[],
        "httpx2.ReadError",
        "AnthropicError, terminated",
    ),
    unlike("reset in the stream", RequestWay::Helper, RESET, &[], "httpx2.ReadError", "AnthropicError, terminated"),
    unlike("reset in the stream, events as they come", RequestWay::Iterator, RESET, &[], "httpx2.ReadError", "TypeError, terminated"),
    unlike("closed in a chunk", RequestWay::Helper, TRUNCATED, &[], "httpx2.RemoteProtocolError", "AnthropicError, terminated"),
    unlike(
        "closed in a chunk, events as they come",
        RequestWay::Iterator,
        TRUNCATED,
        &[],
        "httpx2.RemoteProtocolError",
        "TypeError, terminated",
    ),
    unlike("an error event", RequestWay::Helper, ERROR_EVENT, &[], "APIStatusError, 200, overloaded_error", "APIError, overloaded_error"),
    unlike(
        "an error event, events as they come",
        RequestWay::Iterator,
        ERROR_EVENT,
        &[],
        "APIStatusError, 200, overloaded_error",
        "APIError, overloaded_error",
    ),
    ClientCase {
        remark: Some("the one in Python takes what there is for the whole"),
        ..unlike(
            "a clean end without message_stop",
            RequestWay::Helper,
            ENDED,
            &[],
            r#"no stop reason, "It is a ""#,
            "AnthropicError, stream ended without producing a Message with role=assistant",
        )
    },
    ClientCase {
        remark: Some("a reader of events has to look for the last one"),
        ..alike("a clean end without message_stop, events as they come", RequestWay::Iterator, ENDED, &[], r#"no stop reason, "It is a ""#)
    },
    alike(
        "no answer twice, and a timeout of a second",
        RequestWay::Impatient,
        "at = { attempt = \"1..=2\" }\nconnect = \"timeout\"",
        // The second begins before the request is in, so that a slow way shortens what is seen of it.
        &[RequestGap::between(1_000, 1_500), RequestGap::between(1_000, 2_000)],
        ANSWER,
    ),
    ClientCase {
        remark: Some("the timeout of the one in TypeScript does not hold for bodies"),
        ..unlike(
            "a stream that stalls, and a timeout of a second",
            RequestWay::Impatient,
            "at = { attempt = 1 }\nstall = { after_events = 4, time = \"3s\" }",
            &[],
            "httpx2.ReadTimeout",
            ANSWER,
        )
    },
    unlike(
        "an empty body",
        RequestWay::Helper,
        "empty_body = true",
        &[],
        "builtins.AssertionError",
        "AnthropicError, request ended without sending any chunks",
    ),
    unlike(
        "no message_start",
        RequestWay::Helper,
        "missing = \"message_start\"",
        &[],
        "builtins.AssertionError",
        "AnthropicError, request ended without sending any chunks",
    ),
    unlike(
        "message_start twice",
        RequestWay::Helper,
        "duplicate = \"message_start\"",
        &[],
        ANSWER,
        r#"AnthropicError, Unexpected event order, got message_start before receiving "message_stop""#,
    ),
    unlike(
        "an event that is no JSON",
        RequestWay::Helper,
        "malformed_event = true",
        &[],
        "json.JSONDecodeError",
        "AnthropicError, no JSON",
    ),
    alike("an event of an unknown kind", RequestWay::Helper, "unknown_event = true", &[], ANSWER),
    ClientCase {
        world: CaseWorld::Text(TRUNCATED_INPUT),
        remark: Some("both take what can be read for the whole; a number that may go on counts for the one in Python alone"),
        ..unlike(
            "a tool input that ends in the middle",
            RequestWay::Helper,
            "",
            &[],
            r#"tool_use, "", Read {"file_path":"/w/package.json","lines":[1,2]}"#,
            r#"tool_use, "", Read {"file_path":"/w/package.json","lines":[1]}"#,
        )
    },
];

impl ClientCase {
    pub(super) fn run(&'static self, client: &SdkClient) -> CaseRun {
        CaseRun {
            case: self.name,
            client: client.language.name(),
            world: &self.world,
            command: [&client.command[..], &[self.way.name().into()]].concat(),
            gaps: self.gaps,
            outcome: self.outcome(client.language),
            remark: self.remark,
        }
    }

    pub(super) fn outcome(&self, language: Language) -> &'static str {
        match language {
            Language::Python => self.python,
            Language::TypeScript => self.typescript,
        }
    }
}

impl RequestWay {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Helper => "helper",
            Self::Impatient => "impatient",
            Self::Iterator => "iterator",
            Self::Tools => "tools",
        }
    }
}
