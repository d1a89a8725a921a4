//! The endpoint is the API: what it refuses, what it answers beside messages, and the headers of its answers (M-2, K-6).

use std::io::Write as _;
use std::time::Duration;

use super::client::{End, Seen, body, exchange, request, served, setup};
use reenact::foreign::verdict::SessionVerdict;
use reenact::live::serve::{AnswerPace, ServeOptions};
use tokio::net::TcpStream;

const PATIENCE: Duration = Duration::from_secs(20);

const HELLO: &str = "[[prompt]]\ntext = \"Hello?\"\n[[prompt.turn]]\ntext = \"Hello.\"\n";

/// Sends requests one after another, each over a connection of its own.
fn asked(scenario: &str, requests: Vec<Vec<u8>>) -> (Vec<Seen>, SessionVerdict) {
    served(&setup(scenario), ServeOptions { pace: AnswerPace::None, ..ServeOptions::default() }, |address| async move {
        let mut seen = Vec::new();
        for request in requests {
            let stream = TcpStream::connect(address).await.unwrap();
            seen.push(exchange(stream, request, PATIENCE).await.0);
        }
        seen
    })
}

fn message(changes: impl FnOnce(&mut serde_json::Value)) -> String {
    let mut whole: serde_json::Value = serde_json::from_str(&body(&[("user", "Hello?")])).unwrap();
    changes(&mut whole);
    request("POST", "/v1/messages", &whole.to_string())
}

/// A request that the API refuses, the status and type of its error, and words of it.
fn refused() -> Vec<(String, u16, &'static str, &'static str)> {
    let plain = || message(|_| ());
    let with = |name: &'static str, value: serde_json::Value| message(|body| body[name] = value);
    let tool = |tool: serde_json::Value| message(|body| body["tools"] = serde_json::json!([tool]));
    let without_key = plain().replace("x-api-key: sk-ant-test-000\r\n", "");
    vec![
        (without_key.clone(), 401, "authentication_error", "x-api-key header is required"),
        (without_key.replace("host: ", "authorization: Basic eA==\r\nhost: "), 401, "authentication_error", "x-api-key header is required"),
        (plain().replace("sk-ant-test-000", ""), 401, "authentication_error", "x-api-key header is required"),
        (plain().replace("anthropic-version: 2023-06-01\r\n", ""), 400, "invalid_request_error", "anthropic-version: header is required"),
        (
            message(|body| drop(body.as_object_mut().unwrap().remove("max_tokens"))),
            400,
            "invalid_request_error",
            "max_tokens: Field required",
        ),
        (with("max_tokens", 0.into()), 400, "invalid_request_error", "max_tokens: Input should be greater than or equal to 1"),
        (with("temperature", 2.into()), 400, "invalid_request_error", "temperature: range: 0..1"),
        (with("max_output_tokens", 2.into()), 400, "invalid_request_error", "max_output_tokens: Extra inputs are not permitted"),
        (with("model", "gpt-4o".into()), 404, "not_found_error", "model: gpt-4o"),
        (
            tool(serde_json::json!({ "name": "a b", "input_schema": { "type": "object" } })),
            400,
            "invalid_request_error",
            "tools.0.custom.name",
        ),
        (tool(serde_json::json!({ "name": "a", "input_schema": {} })), 400, "invalid_request_error", "input_schema.type: Field required"),
        (tool(serde_json::json!({ "name": "a" })), 400, "invalid_request_error", "input_schema: Field required"),
    ]
}

#[test]
fn m_2_what_the_api_refuses_is_refused_and_uses_up_nothing() {
    let table = refused();
    let mut requests: Vec<Vec<u8>> = table.iter().map(|row| row.0.clone().into_bytes()).collect();
    requests.push(message(|_| ()).into_bytes());
    let (seen, verdict) = asked(HELLO, requests);
    for ((sent, status, kind, words), seen) in table.iter().zip(&seen) {
        let said: serde_json::Value = serde_json::from_str(&seen.body()).unwrap_or_else(|_| panic!("{sent}\n{}", seen.text()));
        assert_eq!((seen.status(), said["type"].as_str(), said["error"]["type"].as_str()), (*status, Some("error"), Some(*kind)), "{sent}");
        assert!(said["error"]["message"].as_str().unwrap().contains(words), "{said}");
        assert!(said["request_id"].as_str().unwrap().starts_with("req_"), "{said}");
        assert_eq!(seen.header("request-id"), said["request_id"].as_str().map(str::to_string), "{said}");
        assert!(verdict.failures.iter().any(|failure| failure.contains(words)), "{words}: {verdict}");
    }
    let last = seen.last().unwrap();
    assert!(last.status() == 200 && last.body().contains("Hello."), "the answer is still there: {}", last.text());
}

#[test]
fn m_2_a_lenient_api_takes_it_all_and_remarks_on_it() {
    let base = HELLO.replace("[[prompt]]", "[api]\nlenient = true\n[[prompt]]");
    for (sent, _, _, words) in refused() {
        // What is missing counts as nothing.
        let words = words.replace("max_tokens: Field required", "max_tokens: Input should be");
        let (seen, verdict) = asked(&base, vec![sent.clone().into_bytes()]);
        assert_eq!((seen[0].status(), seen[0].end), (200, End::Whole), "{sent}\n{verdict}");
        assert!(verdict.is_fine(), "{verdict}");
        assert!(verdict.remarks.iter().any(|remark| remark.contains("would refuse") && remark.contains(&words)), "{words}: {verdict}");
    }
}

#[test]
fn m_2_a_lenient_api_counts_and_lists_for_a_client_without_a_key() {
    let base = HELLO.replace("[[prompt]]", "[api]\nlenient = true\n[[prompt]]");
    let without_key =
        |method, path: &str, body: &str| request(method, path, body).replace("x-api-key: sk-ant-test-000\r\n", "").into_bytes();
    let requests = vec![
        without_key("POST", "/v1/messages/count_tokens", &body(&[("user", "Hello?")])),
        without_key("GET", "/v1/models", ""),
        message(|_| ()).into_bytes(),
    ];
    for (scenario, statuses) in [(HELLO, [401, 401, 200]), (&base, [200, 200, 200])] {
        let (seen, verdict) = asked(scenario, requests.clone());
        assert_eq!(seen.iter().map(Seen::status).collect::<Vec<_>>(), statuses, "{verdict}");
        assert_eq!(verdict.is_fine(), statuses[0] == 200, "{verdict}");
        let remarked = verdict.remarks.iter().any(|remark| remark.contains("would refuse GET /v1/models: x-api-key header is required"));
        assert_eq!(remarked, statuses[0] == 200, "{verdict}");
    }
}

#[test]
fn m_2_betas_and_models_of_the_scenario_are_taken() {
    let unknown = message(|body| body["made_up"] = 1.into());
    for (sent, remark) in [
        (unknown.replace("/v1/messages", "/v1/messages?beta=true"), Some("made_up: Extra inputs are not permitted")),
        (unknown.replace("host: ", "anthropic-beta: made-up-2026-01-01\r\nhost: "), Some("made_up: Extra inputs are not permitted")),
        (message(|_| ()).replace("2023-06-01", "2030-01-01"), Some("2030-01-01")),
        (message(|body| body["model"] = "local-7b".into()), None),
        (message(|body| body["model"] = "of-a-fault".into()), None),
        (message(|body| body["model"] = "claude-of-tomorrow".into()), None),
        (message(|_| ()).replace("x-api-key: sk", "authorization: Bearer sk"), None),
    ] {
        let scenario = HELLO.replace(
            "[[prompt]]",
            "[api]\nmodels = [\"local-7b\"]\n[[fault]]\nmay = true\nat = { model = \"of-a-fault\", attempt = 9 }\nstatus = 529\n[[prompt]]",
        );
        let (seen, verdict) = asked(&scenario, vec![sent.clone().into_bytes()]);
        assert!(seen[0].status() == 200 && verdict.is_fine(), "{sent}\n{}\n{verdict}", seen[0].text());
        let remarked = verdict.remarks.iter().any(|said| said.contains("may refuse") && remark.is_some_and(|words| said.contains(words)));
        assert_eq!(remarked, remark.is_some(), "{sent}\n{verdict}");
    }
}

#[test]
fn k_6_a_wrong_path_is_answered_with_the_base_url_that_is_right() {
    let at = |method, path| request(method, path, &body(&[("user", "Hello?")])).into_bytes();
    let (seen, verdict) = asked(
        HELLO,
        vec![
            at("POST", "/messages"),
            at("POST", "/v1/v1/messages?beta=true"),
            at("GET", "/v1/v1/models"),
            at("POST", "/v1/chat/completions"),
        ],
    );
    for (seen, words) in seen.iter().zip([
        "set its base URL to http://localhost/v1,",
        "set its base URL to http://localhost (",
        "set its base URL to http://localhost (",
        "POST /v1/messages",
    ]) {
        let said: serde_json::Value = serde_json::from_str(&seen.body()).unwrap();
        assert_eq!((seen.status(), said["error"]["type"].as_str()), (404, Some("not_found_error")), "{said}");
        assert!(said["error"]["message"].as_str().unwrap().contains(words), "{said}");
        assert!(verdict.failures.iter().any(|failure| failure.contains(words)), "{verdict}");
    }
}

#[test]
fn k_6_models_are_listed_and_shown_one_by_one() {
    let scenario = HELLO.replace("[[prompt]]", "[api]\nmodels = [\"local-7b\"]\n[[prompt]]");
    let get = |path| request("GET", path, "").into_bytes();
    let paths = vec![get("/v1/models"), get("/v1/models/local-7b"), get("/v1/models/claude-haiku-4-5"), get("/v1/models/gpt-4o")];
    let (seen, _) = asked(&scenario, paths);
    let bodies: Vec<serde_json::Value> = seen.iter().map(|seen| serde_json::from_str(&seen.body()).unwrap()).collect();
    let listed: Vec<&str> = bodies[0]["data"].as_array().unwrap().iter().filter_map(|model| model["id"].as_str()).collect();
    assert_eq!((listed, bodies[0]["last_id"].as_str()), (vec!["claude-sonnet-4-5", "local-7b"], Some("local-7b")));
    assert_eq!((bodies[1]["type"].as_str(), bodies[1]["id"].as_str()), (Some("model"), Some("local-7b")));
    assert_eq!(bodies[2]["id"].as_str(), Some("claude-haiku-4-5"));
    assert_eq!((seen[3].status(), bodies[3]["error"]["message"].as_str()), (404, Some("model: gpt-4o")));
}

/// A request whose body is gzip of `body`.
fn gzipped(body: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(body).unwrap();
    let packed = packed.finish().unwrap();
    with_encoding("gzip", &packed)
}

fn with_encoding(encoding: &str, packed: &[u8]) -> Vec<u8> {
    let head = request("POST", "/v1/messages", "").replace("content-length: 0", &format!("content-length: {}", packed.len()));
    let head = head.replace("host: ", &format!("content-encoding: {encoding}\r\nhost: "));
    [head.as_bytes(), packed].concat()
}

#[test]
fn k_6_a_gzip_body_is_read_and_bounded() {
    let plain = body(&[("user", "Hello?")]);
    let bomb = gzipped(&vec![b' '; 40 << 20]);
    assert!(bomb.len() < 1 << 20);
    let requests = vec![bomb, with_encoding("gzip", b"no gzip"), with_encoding("zstd", b"x"), gzipped(plain.as_bytes())];
    let (seen, verdict) = asked(HELLO, requests);
    assert_eq!(seen.iter().map(Seen::status).collect::<Vec<_>>(), [413, 400, 400, 200], "{verdict}");
    assert!(seen[0].body().contains("request_body_too_large_after_decoding"), "{}", seen[0].text());
    assert!(seen[2].body().contains("content-encoding: `zstd` is not supported"), "{}", seen[2].text());
    assert!(seen[3].body().contains("Hello."), "{}", seen[3].text());
}

#[test]
fn k_6_a_scripted_answer_has_the_headers_of_the_api() {
    let scenario = HELLO.replace("text = \"Hello.\"", "text = \"Hello.\"\nheaders = { anthropic-ratelimit-requests-remaining = \"7\" }");
    let (seen, _) = asked(&scenario, vec![message(|_| ()).into_bytes()]);
    let header = |name: &str| seen[0].header(name).unwrap_or_else(|| panic!("{name}: {}", seen[0].text()));
    assert!(header("request-id").starts_with("req_"));
    assert_eq!(header("anthropic-ratelimit-input-tokens-limit"), "2000000");
    assert_eq!(header("anthropic-ratelimit-input-tokens-remaining"), "1999000");
    assert!(header("anthropic-ratelimit-output-tokens-reset").ends_with('z'));
    assert_eq!(header("anthropic-ratelimit-requests-remaining"), "7", "what the scenario says counts");
}

#[test]
fn m_3_side_requests_are_answered_by_rules_and_use_up_nothing() {
    let sides = "[[side]]\nmodel = \"claude-haiku-4-5\"\ncontains = \"Write a title\"\nanswer = \"A greeting\"\n[[side]]\nmax_tokens = 1\nanswer = \"quota\"\n\
                 [[side]]\ncontains = \"never said\"\nanswer = \"x\"\n";
    let title = |stream: bool| {
        message(|body| {
            body["model"] = "claude-haiku-4-5".into();
            body["system"] = serde_json::json!([{ "type": "text", "text": "Write a title." }]);
            body["stream"] = stream.into();
        })
    };
    let probe = message(|body| (body["max_tokens"], body["stream"]) = (1.into(), false.into()));
    let of_wrong_form = message(|body| (body["max_tokens"], body["temperature"]) = (1.into(), 2.into()));
    let requests = [title(true), probe, message(|_| ()), title(false), of_wrong_form].map(String::into_bytes);
    let (seen, verdict) = asked(&format!("{HELLO}{sides}[expect]\nrefusals = 1\n"), requests.to_vec());
    let whole = |seen: &Seen| serde_json::from_str::<serde_json::Value>(&seen.body()).unwrap_or_else(|_| panic!("{}", seen.text()));
    assert!(seen[0].body().contains("A greeting") && seen[0].body().contains("message_stop"), "{}", seen[0].text());
    assert!(seen[0].body().contains("claude-haiku-4-5") && seen[0].header("request-id").is_some(), "{}", seen[0].text());
    let probed = whole(&seen[1]);
    assert_eq!((probed["content"][0]["text"].as_str(), probed["stop_reason"].as_str()), (Some("quot"), Some("max_tokens")), "{probed}");
    assert!(seen[2].body().contains("Hello."), "the scripted answer is for the conversation: {}", seen[2].text());
    assert_eq!(whole(&seen[3])["content"][0]["text"], "A greeting");
    assert_eq!(seen[4].status(), 400, "a side request is refused like any other");
    assert!(verdict.is_fine(), "{verdict}");
    let answers: Vec<_> = verdict.asked.iter().filter_map(|asked| asked.answer.as_deref()).collect();
    assert_eq!(answers, ["side 1", "side 2", "turn 1.1", "side 1", "refused by the API"], "{verdict}");
    assert!(verdict.remarks.contains(&String::from("[[side]] 3 answered no request")), "{verdict}");
}

#[test]
fn m_3_a_made_up_answer_over_http_keeps_to_the_tool_that_is_forced() {
    // A rule of `[[side]]` is made up in the same way as the default answer.
    let forced = message(|body| {
        body["tools"] = serde_json::json!([{ "name": "Title", "input_schema": { "type": "object", "required": ["title"],
            "properties": { "title": { "type": "string", "minLength": 1 } } } }]);
        body["tool_choice"] = serde_json::json!({ "type": "tool", "name": "Title" });
        body["stream"] = false.into();
    });
    let (seen, _) = asked(&format!("{HELLO}[[side]]\ncontains = \"Hello\"\nanswer = \"x\"\n"), vec![forced.into_bytes()]);
    let said: serde_json::Value = serde_json::from_str(&seen[0].body()).unwrap();
    assert_eq!(
        (&said["content"][0]["name"], &said["content"][0]["input"]),
        (&"Title".into(), &serde_json::json!({ "title": "x" })),
        "{said}"
    );
    assert_eq!(said["stop_reason"], "tool_use");
}
