//! The owner of an exchange: the Messages API, at any service, or another API (K-5).

use reenact_files::recording::format::answer_shape;
use reenact_files::recording::node::DataNode;
use reenact_scenario::tape::is_messages;
use reenact_wire::raw_json::RawObject;

/// Where an exchange took place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ExchangeService {
    /// The Messages API, under its own path.
    Messages,
    /// The same behind a gateway that gives it another path.
    Gateway,
    /// The same by way of a cloud, which takes the model and whether to stream from the path.
    Cloud { name: &'static str, model: String, streams: bool },
    /// Another endpoint of the same API: the count of tokens, models, files.
    Endpoint,
    /// An API of models that is not the Messages API.
    OtherApi(&'static str),
    /// Anything else: telemetry, sign-in.
    Unrelated,
}

/// The ends of paths that belong to another API.
const PATHS: [(&str, &str); 12] = [
    ("/chat/completions", "OpenAI Chat Completions"),
    ("/responses", "OpenAI Responses"),
    ("/completions", "OpenAI Completions"),
    ("/embeddings", "OpenAI Embeddings"),
    (":generateContent", "Gemini"),
    (":streamGenerateContent", "Gemini"),
    (":countTokens", "Gemini"),
    (":embedContent", "Gemini"),
    (":batchEmbedContents", "Gemini"),
    ("/v1/complete", "Anthropic Text Completions"),
    ("/api/chat", "Ollama"),
    ("/api/generate", "Ollama"),
];

/// Hosts that serve one API, by a part of their name.
const HOSTS: [(&str, &str); 8] = [
    ("mistral.ai", "Mistral"),
    ("cohere", "Cohere"),
    ("api.openai.com", "OpenAI"),
    ("generativelanguage.googleapis", "Gemini"),
    ("huggingface.co", "Hugging Face Inference"),
    ("voyageai.com", "Voyage"),
    ("replicate.com", "Replicate"),
    ("ai21.com", "AI21"),
];

/// Finds out whose exchange it is, by method, host, path and, if these do not show it, by request and answer.
pub(super) fn service(method: &str, (host, path): (Option<&str>, &str), request: &[u8], answer: &[u8]) -> ExchangeService {
    let bare = path.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
    let host = host.unwrap_or_default();
    if let Some(cloud) = vertex(bare).or_else(|| bedrock(bare, request)) {
        return cloud;
    }
    if is_messages(path) {
        return ExchangeService::Messages;
    }
    // Clients look whether the service is there, and browsers whether they may ask.
    if ["HEAD", "OPTIONS"].iter().any(|known| method.eq_ignore_ascii_case(known)) && (bare.is_empty() || bare.ends_with("/messages")) {
        return ExchangeService::Endpoint;
    }
    let is_post = method.is_empty() || method.eq_ignore_ascii_case("POST");
    if is_post && (bare.is_empty() || bare.ends_with("/messages")) && asks_messages(request, answer) {
        return ExchangeService::Gateway;
    }
    // A host that serves one API alone says more than a path that several have.
    let by_host = HOSTS.iter().find(|(part, _)| host.contains(part)).map(|(_, name)| *name);
    let by_path = PATHS.iter().find(|(end, _)| bare.ends_with(end)).map(|(_, name)| *name);
    match (by_host, by_path) {
        (Some("OpenAI") | None, Some(name)) | (Some(name), _) => ExchangeService::OtherApi(name),
        (None, None) if bare.contains("/responses/") => ExchangeService::OtherApi("OpenAI Responses"),
        (None, None) if bare.contains("/v1/") => ExchangeService::Endpoint,
        (None, None) => match body_shape(answer) {
            Some(Some(name)) => ExchangeService::OtherApi(name),
            _ => ExchangeService::Unrelated,
        },
    }
}

/// `…/publishers/anthropic/models/MODEL:rawPredict`.
fn vertex(path: &str) -> Option<ExchangeService> {
    let (before, verb) = path.rsplit_once(':')?;
    let streams = match verb {
        "rawPredict" => false,
        "streamRawPredict" => true,
        _ => return None,
    };
    let model = decoded(before.rsplit('/').next().unwrap_or_default());
    Some(match () {
        () if model == "count-tokens" => ExchangeService::Endpoint,
        () if before.contains("publishers/anthropic/") || model.contains("claude") => {
            ExchangeService::Cloud { name: "Vertex AI", model, streams }
        }
        () => ExchangeService::OtherApi("Vertex AI, models other than Claude"),
    })
}

/// `…/model/MODEL/invoke`.
fn bedrock(path: &str, request: &[u8]) -> Option<ExchangeService> {
    let (before, verb) = path.rsplit_once('/')?;
    let model = decoded(before.rsplit_once("/model/").map(|(_, model)| model)?);
    let streams = match verb {
        "converse" | "converse-stream" => return Some(ExchangeService::OtherApi("Bedrock Converse")),
        "invoke" => false,
        "invoke-with-response-stream" => true,
        _ => return None,
    };
    let request = std::str::from_utf8(request).ok().and_then(|text| RawObject::parse(text).ok());
    let asks = |name: &str| request.as_ref().is_some_and(|request| request.get(name).is_some());
    // An inference profile does not name its model.
    let is_claude = model.contains("anthropic") || model.contains("claude") || asks("anthropic_version");
    Some(match () {
        () if is_claude && asks("prompt") => ExchangeService::OtherApi("Anthropic Text Completions"),
        () if is_claude => ExchangeService::Cloud { name: "Bedrock", model, streams },
        () => ExchangeService::OtherApi("Bedrock, models other than Claude"),
    })
}

/// Whether a request (or an answer without request) belongs to the Messages API.
fn asks_messages(request: &[u8], answer: &[u8]) -> bool {
    let request = std::str::from_utf8(request).ok().and_then(|text| RawObject::parse(text).ok());
    let asks = request.is_none_or(|request| request.get("messages").is_some());
    // An error says little of whose it is; a request for a chat elsewhere has another answer.
    asks && body_shape(answer).is_none_or(|shape| shape.is_none())
}

/// The owner of the answer in a body: `Some(None)` for the Messages API, else the name of the API; `None` when it does not show.
fn body_shape(body: &[u8]) -> Option<Option<&'static str>> {
    let text = std::str::from_utf8(body).ok()?;
    let json = match text.trim_start() {
        text if text.starts_with('{') => text,
        _ => text.lines().find_map(|line| line.strip_prefix("data:")).map(str::trim)?,
    };
    answer_shape(&DataNode::from_json(json).ok()?)
}

/// Without the escapes of a path.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let escaped = match (first, tail) {
            (b'%', [high, low, ..]) => u8::from_str_radix(&String::from_utf8_lossy(&[*high, *low]), 16).ok(),
            _ => None,
        };
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASKS: &str = r#"{"messages":[],"max_tokens":1}"#;

    #[test]
    fn k_5_the_messages_api_is_known_wherever_it_is_served() {
        let cloud = |name, model: &str, streams| ExchangeService::Cloud { name, model: model.into(), streams };
        let table = [
            ("/v1/messages?beta=true", ExchangeService::Messages),
            ("/v1/account/gateway/anthropic/v1/messages", ExchangeService::Messages),
            ("/proxy/anthropic/messages", ExchangeService::Gateway),
            ("/messages", ExchangeService::Gateway),
            ("", ExchangeService::Gateway),
            ("/v1/projects/p/locations/l/publishers/anthropic/models/claude-x@1:rawPredict", cloud("Vertex AI", "claude-x@1", false)),
            (
                "/v1/projects/p/locations/l/publishers/anthropic/models/claude-x%401:streamRawPredict",
                cloud("Vertex AI", "claude-x@1", true),
            ),
            ("/v1/projects/p/locations/l/publishers/anthropic/models/count-tokens:rawPredict", ExchangeService::Endpoint),
            ("/model/us.anthropic.claude-x-v1%3A0/invoke", cloud("Bedrock", "us.anthropic.claude-x-v1:0", false)),
            ("/gateway/model/anthropic.claude-x/invoke-with-response-stream", cloud("Bedrock", "anthropic.claude-x", true)),
            ("/v1/messages/count_tokens", ExchangeService::Endpoint),
            ("/v1/models", ExchangeService::Endpoint),
            ("/telemetry", ExchangeService::Unrelated),
        ];
        for (path, expected) in table {
            assert_eq!(service("POST", (Some("x.example"), path), ASKS.as_bytes(), b"{}"), expected, "{path}");
        }
        for (method, path, expected) in [
            ("HEAD", "/", ExchangeService::Endpoint),
            ("OPTIONS", "/proxy/messages", ExchangeService::Endpoint),
            ("GET", "/", ExchangeService::Unrelated),
            ("", "", ExchangeService::Gateway),
        ] {
            assert_eq!(service(method, (Some("x.example"), path), b"", b""), expected, "{method} {path}");
        }
        let profile = r#"{"anthropic_version":"bedrock-2023-05-31","messages":[]}"#;
        assert_eq!(service("POST", (None, "/model/arn%3Ax%2Fy/invoke"), profile.as_bytes(), b""), cloud("Bedrock", "arn:x/y", false));
    }

    #[test]
    fn k_5_exchanges_of_other_apis_are_named() {
        let table = [
            ("api.openai.com", "/v1/chat/completions", "", "OpenAI Chat Completions"),
            ("api.groq.com", "/openai/v1/chat/completions", "", "OpenAI Chat Completions"),
            ("api.openai.com", "/v1/responses", "", "OpenAI Responses"),
            ("api.openai.com", "/v1/threads", "", "OpenAI"),
            ("api.mistral.ai", "/v1/chat/completions", "", "Mistral"),
            ("api.cohere.com", "/v2/chat", "", "Cohere"),
            ("generativelanguage.googleapis.com", "/v1beta/models/g:generateContent", "", "Gemini"),
            ("x-aiplatform.googleapis.com", "/v1/projects/p/publishers/google/models/g:streamGenerateContent", "", "Gemini"),
            ("bedrock", "/model/anthropic.claude-x/converse-stream", "", "Bedrock Converse"),
            ("bedrock", "/model/amazon.nova/invoke", "", "Bedrock, models other than Claude"),
            ("bedrock", "/model/anthropic.claude-x/invoke", r#"{"prompt":""}"#, "Anthropic Text Completions"),
            ("api.anthropic.com", "/v1/complete", "", "Anthropic Text Completions"),
            ("localhost", "/api/chat", ASKS, "Ollama"),
        ];
        for (host, path, request, name) in table {
            assert_eq!(service("POST", (Some(host), path), request.as_bytes(), b""), ExchangeService::OtherApi(name), "{host}{path}");
        }
        let answers = [
            (r#"{"object":"chat.completion"}"#, "OpenAI Chat Completions"),
            ("data: {\"type\":\"response.created\"}\n\n", "OpenAI Responses"),
            (r#"{"candidates":[]}"#, "Gemini"),
        ];
        for (answer, name) in answers {
            assert_eq!(service("POST", (None, ""), b"", answer.as_bytes()), ExchangeService::OtherApi(name), "{answer}");
        }
    }

    #[test]
    fn k_5_escapes_of_a_path_are_read() {
        assert_eq!([decoded("a%3Ab%2"), decoded("%zz%41"), decoded("%ff")], ["a:b%2", "%zzA", "%ff"]);
    }
}
