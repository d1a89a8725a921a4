//! The format of a file, found from its content (K-5): names and endings of recordings follow no rule.

use super::node::DataNode;
use super::source::ForeignFile;

/// A format that can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordingFormat {
    /// vcrpy and pytest-recording, YAML or JSON, with the `parsed_body` variant.
    Vcrpy,
    /// go-vcr, YAML.
    GoVcr,
    /// Ruby's VCR, R's vcr and betamax, YAML or JSON.
    RubyVcr,
    /// httpmock, YAML of several documents.
    Httpmock,
    /// opencode's http-recorder, JSON.
    Opencode,
    /// Inline snapshots of the Anthropic SDK for Python, JSON.
    AnthropicSdk,
    /// Objects with a request and a response, in any other spelling.
    Pairs,
    /// claude-trace, a JSON value a line.
    ClaudeTrace,
    /// HTTP archive, as browsers and Polly.js write it.
    Har,
    /// Go's httprr, raw HTTP messages with their sizes.
    Httprr,
    /// The body of one streamed answer.
    Sse,
    /// The data of a stream's events, a line each.
    Chunks,
    /// The message of an answer that was not streamed.
    Message,
    /// Answers with status, headers and body, and no requests.
    Answers,
}

impl RecordingFormat {
    /// The name for users.
    pub fn name(self) -> &'static str {
        match self {
            Self::Vcrpy => "a vcrpy cassette",
            Self::GoVcr => "a go-vcr cassette",
            Self::RubyVcr => "a Ruby VCR cassette",
            Self::Httpmock => "httpmock recordings",
            Self::Opencode => "an opencode http recording",
            Self::AnthropicSdk => "inline snapshots of the Anthropic SDK",
            Self::Pairs => "requests with their responses",
            Self::ClaudeTrace => "a claude-trace log",
            Self::Har => "a HAR file",
            Self::Httprr => "an httprr trace",
            Self::Sse => "a raw event stream",
            Self::Chunks => "stream data with one JSON value a line",
            Self::Message => "messages of answers",
            Self::Answers => "responses without their requests",
        }
    }

    /// The format of a file whose list of this name has nothing in it.
    pub fn from_list(name: &str) -> Self {
        match name {
            "interactions" => Self::Vcrpy,
            "http_interactions" => Self::RubyVcr,
            "entries" => Self::Har,
            _ => Self::Pairs,
        }
    }
}

/// The kind of one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// An exchange, or a part of one, that can be imported.
    Recording(RecordingFormat),
    /// The header line of a tape.
    Tape,
    /// Something else that people have.
    Foreign(ForeignFile),
    /// A recording that cannot be imported.
    NotYet(&'static str),
    /// An answer of another API.
    OtherApi(&'static str),
    /// Nothing that is known.
    Unknown,
}

/// The kind of the value in the list of this name; the name is empty for a value that stands alone.
pub fn kind(list: &str, node: &DataNode) -> ValueKind {
    let has = |names: &[&str]| names.iter().all(|name| node.get(name).is_some());
    if node.get("reenact_tape").is_some() {
        return ValueKind::Tape;
    }
    if has(&["when", "then"]) {
        return ValueKind::Recording(RecordingFormat::Httpmock);
    }
    if list == "entries" && has(&["request"]) {
        return ValueKind::Recording(RecordingFormat::Har);
    }
    if let Some(request) = node.get("request").filter(|request| matches!(request, DataNode::Map(_))) {
        return pair(list, node, request);
    }
    if let Some(not_yet) = not_yet(node) {
        return ValueKind::NotYet(not_yet);
    }
    if let Some(foreign) = transcript(node) {
        return ValueKind::Foreign(foreign);
    }
    if node.get("status").or_else(|| node.get("statusCode")).is_some() && has(&["body"]) {
        return ValueKind::Recording(RecordingFormat::Answers);
    }
    match (answer_shape(node), word(node, "type")) {
        (Some(None), "message") => ValueKind::Recording(RecordingFormat::Message),
        (Some(None), _) => ValueKind::Recording(RecordingFormat::Chunks),
        (Some(Some(other)), _) => ValueKind::OtherApi(other),
        (None, _) => ValueKind::Unknown,
    }
}

/// The API that gave this answer: `Some(None)` for the Messages API, else the name of the API; `None` when it does not show.
pub fn answer_shape(answer: &DataNode) -> Option<Option<&'static str>> {
    let word = |name: &str| match answer.get(name) {
        Some(DataNode::Text(text)) => text.as_str(),
        _ => "",
    };
    let has = |name: &str| answer.get(name).is_some();
    let (kind, object) = (word("type"), word("object"));
    match () {
        () if object.starts_with("chat.completion") => Some(Some("OpenAI Chat Completions")),
        () if object == "response" || kind.starts_with("response.") => Some(Some("OpenAI Responses")),
        () if object == "text_completion" => Some(Some("OpenAI Completions")),
        () if has("candidates") => Some(Some("Gemini")),
        () if has("stopReason") || (has("output") && has("usage")) => Some(Some("Bedrock Converse")),
        () if kind == "completion" => Some(Some("Anthropic Text Completions")),
        () if has("completion_message") || word("event_type").contains("stream") => Some(Some("Cohere")),
        () if kind == "message" && has("role") && has("content") => Some(None),
        () if [
            "message_start",
            "message_delta",
            "message_stop",
            "ping",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
        ]
        .contains(&kind) =>
        {
            Some(None)
        }
        () => None,
    }
}

/// An object with a request, by what only one recorder writes.
fn pair(list: &str, node: &DataNode, request: &DataNode) -> ValueKind {
    let response = node.get("response").unwrap_or(&DataNode::Null);
    let (asks, answers) = (|name: &str| request.get(name).is_some(), |name: &str| response.get(name).is_some());
    let is_json_pair = asks("url") && answers("status");
    ValueKind::Recording(match list {
        _ if node.get("logged_at").is_some() => RecordingFormat::ClaudeTrace,
        "http_interactions" => RecordingFormat::RubyVcr,
        "interactions" if answers("code") => RecordingFormat::GoVcr,
        "interactions" if asks("uri") => RecordingFormat::Vcrpy,
        "interactions" if node.get("transport").is_some() || is_json_pair => RecordingFormat::Opencode,
        "" if answers("status_code") => RecordingFormat::AnthropicSdk,
        // Web sockets of the same recorder have neither.
        _ => RecordingFormat::Pairs,
    })
}

fn not_yet(node: &DataNode) -> Option<&'static str> {
    let has = |names: &[&str]| names.iter().all(|name| node.get(name).is_some());
    let method = word(node, "method");
    match () {
        () if has(&["fixtures"]) => Some("aimock fixtures"),
        () if has(&["model_spec", "chunks"]) => Some("a req_llm fixture"),
        () if has(&["method", "response"]) && (method.contains("Content") || method.contains("Tokens")) => Some("gemini-cli responses"),
        () if has(&["v", "run_id"]) => Some("a reeltime tape"),
        () => None,
    }
}

const RECORD: &str = "it holds messages, and not the exchanges with the API that a replay needs: record the agent at work with \
     `reenact record --upstream URL --out NAME.tape.jsonl -- COMMAND…`";

/// The sessions that agents keep, and their printed form.
fn transcript(node: &DataNode) -> Option<ForeignFile> {
    let has = |names: &[&str]| names.iter().all(|name| node.get(name).is_some());
    let (kind, role) = (word(node, "type"), word(node, "role"));
    let starts = |name: &str, start: &str| word(node, name).starts_with(start);
    let what = match () {
        () if kind == "system" && has(&["subtype", "session_id"]) => "the output of a headless Claude Code (stream-json)",
        () if ["file-history-snapshot", "queue-operation"].contains(&kind)
            || has(&["parentUuid"])
            || has(&["leafUuid"])
            || has(&["sessionId", "uuid"]) =>
        {
            "a session transcript of Claude Code"
        }
        () if ["session_meta", "turn_context", "event_msg", "response_item"].contains(&kind) && has(&["payload"]) => {
            "a session transcript of Codex"
        }
        () if has(&["instructions", "timestamp", "id"])
            || ["function_call", "function_call_output"].contains(&kind)
            || has(&["record_type"]) =>
        {
            "a session transcript of Codex"
        }
        () if kind == "session" && has(&["cwd"]) => "a session transcript of pi",
        () if has(&["sessionId", "projectHash"])
            || has(&["sessionId", "messageId", "message"])
            || (has(&["role", "parts"]) && ["user", "model"].contains(&role)) =>
        {
            "a session transcript of the Gemini CLI"
        }
        () if starts("sessionID", "ses_")
            || starts("id", "ses_")
            || starts("messageID", "msg_") && has(&["sessionID"])
            || has(&["info", "messages"]) =>
        {
            "a part of opencode's session storage"
        }
        () if has(&["sessionId", "history"]) => "a session transcript of Continue",
        () if has(&["sessionId", "messages"]) => "a session transcript of cline",
        () if has(&["sessionId", "message"]) => "a session transcript of an agent",
        () if has(&["chat_messages"]) => "an export of chats",
        () if has(&["messages", "max_tokens"]) => {
            return Some(ForeignFile {
                what: "a request to the Messages API without its answer",
                next: "import it together with its answer: `{\"request\": {…}, \"response\": {…}}`",
            });
        }
        () if has(&["messages"]) || (has(&["content"]) && ["user", "assistant", "system", "tool"].contains(&role) && kind != "message") => {
            "a list of messages"
        }
        () => return None,
    };
    Some(ForeignFile { what, next: RECORD })
}

fn word<'a>(node: &'a DataNode, name: &str) -> &'a str {
    match node.get(name) {
        Some(DataNode::Text(text)) => text,
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(list: &str, json: &str) -> &'static str {
        match kind(list, &DataNode::from_json(json).unwrap()) {
            ValueKind::Recording(format) => format.name(),
            ValueKind::Tape => "a tape",
            ValueKind::Foreign(ForeignFile { what, .. }) => what,
            ValueKind::NotYet(name) | ValueKind::OtherApi(name) => name,
            ValueKind::Unknown => "",
        }
    }

    #[test]
    fn k_5_formats_are_found_by_what_they_hold() {
        let table = [
            ("", r#"{"type":"message_start"}"#, "stream data with one JSON value a line"),
            ("", r#"{"type":"message","role":"assistant","content":[]}"#, "messages of answers"),
            ("", r#"{"status":200,"headers":{},"body":"{}"}"#, "responses without their requests"),
            ("", r#"{"reenact_tape":1}"#, "a tape"),
            ("entries", r#"{"request":{},"response":{}}"#, "a HAR file"),
            ("interactions", r#"{"request":{"uri":"u"},"response":{"status":{"code":200}}}"#, "a vcrpy cassette"),
            ("interactions", r#"{"request":{"url":"u"},"response":{"code":200}}"#, "a go-vcr cassette"),
            ("interactions", r#"{"transport":"http","request":{"url":1},"response":{}}"#, "an opencode http recording"),
            ("interactions", r#"{"request":{"url":1},"response":{"status":1}}"#, "an opencode http recording"),
            ("interactions", r#"{"request":{"path":1},"response":{"status":1}}"#, "requests with their responses"),
            ("http_interactions", r#"{"request":{},"response":{}}"#, "a Ruby VCR cassette"),
            ("", r#"{"when":{"path":"/"},"then":{"status":200}}"#, "httpmock recordings"),
            ("", r#"{"request":{},"response":{"status_code":200}}"#, "inline snapshots of the Anthropic SDK"),
            ("", r#"{"request":{"url":"u"},"response":{"status":{"code":200}}}"#, "requests with their responses"),
            ("", r#"{"request":{},"response":null,"logged_at":1}"#, "a claude-trace log"),
            ("", r#"{"method":"generateContent","response":{}}"#, "gemini-cli responses"),
            ("", r#"{"fixtures":[]}"#, "aimock fixtures"),
            ("", r#"{"object":"chat.completion.chunk"}"#, "OpenAI Chat Completions"),
            ("", r#"{"type":"response.created"}"#, "OpenAI Responses"),
            ("", r#"{"name":"x"}"#, ""),
            ("", "42", ""),
        ];
        for (list, json, expected) in table {
            assert_eq!(name(list, json), expected, "{list} {json}");
        }
    }

    #[test]
    fn k_5_transcripts_of_agents_are_known_for_what_they_are() {
        let table = [
            (r#"{"type":"file-history-snapshot","messageId":"x"}"#, "a session transcript of Claude Code"),
            (r#"{"type":"summary","summary":"x","leafUuid":"y"}"#, "a session transcript of Claude Code"),
            (r#"{"parentUuid":null,"type":"user","message":{}}"#, "a session transcript of Claude Code"),
            (r#"{"type":"system","subtype":"init","session_id":"x"}"#, "the output of a headless Claude Code (stream-json)"),
            (r#"{"timestamp":"t","type":"session_meta","payload":{}}"#, "a session transcript of Codex"),
            (r#"{"id":"x","timestamp":"t","instructions":null}"#, "a session transcript of Codex"),
            (r#"{"type":"session","version":3,"cwd":"/w"}"#, "a session transcript of pi"),
            (r#"{"sessionId":"x","projectHash":"y","messages":[]}"#, "a session transcript of the Gemini CLI"),
            (r#"{"role":"model","parts":[]}"#, "a session transcript of the Gemini CLI"),
            (r#"{"id":"msg_1","sessionID":"ses_1","role":"user"}"#, "a part of opencode's session storage"),
            (r#"{"id":"ses_1","projectID":"p"}"#, "a part of opencode's session storage"),
            (r#"{"id":"prt_1","sessionID":"ses_1","messageID":"msg_1","type":"text"}"#, "a part of opencode's session storage"),
            (r#"{"sessionId":"x","history":[]}"#, "a session transcript of Continue"),
            (r#"{"sessionId":"x","messages":[]}"#, "a session transcript of cline"),
            (r#"{"role":"user","content":"hi"}"#, "a list of messages"),
            (r#"{"model":"m","max_tokens":1,"messages":[]}"#, "a request to the Messages API without its answer"),
        ];
        for (json, expected) in table {
            assert_eq!(name("", json), expected, "{json}");
        }
    }
}
