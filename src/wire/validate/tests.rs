//! One line per rule: a request that breaks it, and what the API says.

use super::super::block::{Block, Role};
use super::*;

/// `u:` and `a:` begin messages; then text, `use=id`, `result=id`, `think`, `img=WxH`.
fn request(picture: &str) -> Request {
    let mut request = Request::new("claude-sonnet-4-5", 100);
    for message in picture.split(" | ") {
        let (role, content) = message.split_once(':').unwrap();
        let role = match role {
            "u" => Role::User,
            "a" => Role::Assistant,
            _ => Role::System,
        };
        request.messages.push(Arc::new(Message { role, content: content.split_whitespace().map(block).collect() }));
    }
    request
}

fn block(word: &str) -> Block {
    let json = match word.split_once('=') {
        Some(("use", id)) => format!(r#"{{"type":"tool_use","id":"{id}","name":"Read","input":{{}}}}"#),
        Some(("result", id)) => return Block::tool_result(id, &Json::from_value("ok"), false),
        Some(("img", size)) => image_of(size),
        Some(("shown", size)) => return Block::tool_result("A", &Json::trusted(format!("[{}]", image_of(size))), false),
        _ if word == "think" => r#"{"type":"thinking","thinking":"hm","signature":"s"}"#.into(),
        _ if word == "cached" => r#"{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}"#.into(),
        _ if word == "cached-think" => r#"{"type":"redacted_thinking","data":"x","cache_control":{"type":"ephemeral"}}"#.into(),
        _ if word == "paused" => r#"{"type":"server_tool_use","id":"s","name":"web_search","input":{}}"#.into(),
        _ if word == "unnamed" => r#"{"type":"tool_use","id":"A","name":"","input":{}}"#.into(),
        _ if word == "nameless" => r#"{"type":"tool_use","id":"A","input":{}}"#.into(),
        _ if word == "inputless" => r#"{"type":"tool_use","id":"A","name":"R"}"#.into(),
        _ if word == "found" => r#"{"type":"web_search_tool_result","tool_use_id":"s","content":[]}"#.into(),
        _ if word == "blank" => return Block::text(" \n"),
        _ => return Block::text(if word == "empty" { "" } else { word }),
    };
    Block::from(Json::parse(&json).unwrap())
}

/// A PNG's head, as base64 of `width x height`.
fn image_of(size: &str) -> String {
    let (width, height) = size.split_once('x').unwrap();
    let number = |text: &str| text.parse::<u32>().unwrap().to_be_bytes();
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    bytes.extend(number(width));
    bytes.extend(number(height));
    format!(r#"{{"type":"image","source":{{"type":"base64","media_type":"image/png","data":"{}"}}}}"#, base64(&bytes))
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0_usize, |bits, byte| bits << 8 | usize::from(*byte)) << (8 * (3 - group.len()));
        out.extend((0..4).map(|nth| if nth <= group.len() { char::from(LETTERS[bits >> (18 - 6 * nth) & 63]) } else { '=' }));
    }
    out
}

fn said(request: &Request) -> String {
    refusal(request, &ValidationContext::default())
        .map_or_else(|| "taken".into(), |refusal| format!("{} {}", refusal.status, refusal.message))
}

#[test]
fn n_6_the_conversation_table() {
    let missing = "`tool_use` ids were found without `tool_result` blocks immediately after";
    let table = [
        ("u:hi", "taken", "the shortest"),
        ("u:hi | u:there | a:yes | a:no | u:more", "taken", "neighbours of the same role are one turn"),
        ("u:hi | a:use=A use=B | u:result=B result=A and", "taken", "the order among results is free, text comes after"),
        ("u:hi | a:use=A | a:use=B | u:result=A | u:result=B", "taken", "a turn may be cut into messages"),
        ("u:hi | a:use=A | u:and", missing, "a tool use without result"),
        ("u:hi | a:use=A use=B | u:result=A", "immediately after: B.", "one of two is missing"),
        ("u:hi | a:use=A | u:and result=A", "messages.1: `tool_use` ids were found", "text before results"),
        ("u:hi | a:use=A", missing, "nothing comes after it"),
        ("u:hi | a:use=A | u:x | a:y | u:result=A", "messages.1: `tool_use` ids", "the result comes later than in the next turn"),
        ("u:result=X", "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: X. Each", "a result without use"),
        ("u:hi | a:use=A | u:result=A result=X", "messages.2.content.1: unexpected `tool_use_id`", "a second one without use"),
        ("u:hi | a:use=A | u:result=A result=A", "each `tool_use` must have a single result", "two results"),
        ("u:hi | a:use=A | u:result=A | a:x use=A | u:result=A", "taken", "an id again in a later turn"),
        ("u:hi | a:use=A | u:result=A | a:x use=A | u:y", missing, "whose result is asked for again"),
        ("u:hi | a:use=A x use=A | u:result=A", "messages.1.content.2: `tool_use` ids must be unique", "an id twice in a message"),
        ("u:hi | a:use=A | a:use=A | u:result=A", "messages.2.content.0: `tool_use` ids must be unique", "an id twice in a turn"),
        ("u:hi | a:unnamed | u:result=A", "messages.1.content.0.tool_use.name: String should have at least 1 character", "no name"),
        ("u:hi | a:nameless | u:result=A", "messages.1.content.0.tool_use.name: Field required", "not even an empty name"),
        ("u:hi | a:inputless | u:result=A", "messages.1.content.0.tool_use.input: Field required", "no input"),
        ("u:hi | a:use=A.B | u:result=A.B", "messages.1.content.0.tool_use.id: String should match pattern", "an odd id"),
        ("u: | a:x", "messages.0: all messages must have non-empty content", "a message without content"),
        ("u:hi | a:", "taken", "but for the last answer"),
        ("u:hi empty", "messages: text content blocks must be non-empty", "empty text"),
        ("u:blank", "messages: text content blocks must contain non-whitespace text", "blank text"),
        ("u:hi | a:x blank | u:y", "must contain non-whitespace text", "blank text of the model's"),
        ("u:hi | a:paused blank y | u:z", "taken", "blank text beside a server tool"),
        ("u:hi | a:paused empty | u:z", "messages: text content blocks must be non-empty", "empty text beside a server tool"),
        ("a:hi | u:x", "taken", "the model begins"),
        ("a:use=A | u:result=A", "taken", "the model begins with a tool use"),
        ("u:use=A", "`tool_use` blocks can only be in `assistant` messages", "the user asks for a tool"),
        ("u:hi | a:result=A", "`tool_result` blocks can only be in `user` messages", "the model answers"),
        ("u:hi | s:be brief", "messages: Unexpected role \"system\".", "a system message where the model takes none"),
        ("u:hi | a:x think | u:y", "messages.1: The final block in an assistant message cannot be `thinking`.", "ends in thinking"),
        ("u:img=8001x10", "messages.0.content.0.image.source.base64.data: At least one of the image dimensions", "too wide"),
        ("u:img=10x8000", "taken", "just as high as may be"),
        ("u:x | a:use=A | u:shown=1x9000", "messages.2.content.0.tool_result.content.0.image.source.base64.data", "an image in a result"),
    ];
    for (picture, expected, why) in table {
        let said = said(&request(picture));
        assert!(said.contains(expected), "{picture}: {why}: {said}");
        assert!(expected == "taken" || said.starts_with("400 "), "{said}");
    }
}

#[test]
fn n_6_the_frame_table() {
    let extra = |model: &str, max_tokens, extra: &str| {
        let mut request = request("u:hi");
        (request.model, request.max_tokens, request.extra) = (model.into(), max_tokens, Json::trusted(extra));
        said(&request)
    };
    let budget = |tokens: u32| format!(r#"{{"thinking":{{"type":"enabled","budget_tokens":{tokens}}}}}"#);
    let kind = |kind: &str| format!(r#"{{"thinking":{{"type":"{kind}"}}}}"#);
    let table = [
        ("claude-sonnet-4-5", 64_000, String::from("{}"), "taken"),
        ("claude-sonnet-4-5", 1, "{}".into(), "taken"),
        ("claude-sonnet-4-5", 0, "{}".into(), "max_tokens: Input should be greater than or equal to 1"),
        ("claude-sonnet-4-5", 0, r#"{"cache_control":{"type":"ephemeral"}}"#.into(), "taken"),
        (
            "claude-3-opus-20240229",
            21_333,
            "{}".into(),
            "max_tokens: 21333 > 4096, which is the maximum allowed number of output tokens for",
        ),
        ("never-heard-of", 10_000_000, kind("adaptive"), "taken"),
        ("claude-sonnet-4-5", 2_000, budget(1_023), "budget_tokens: Input should be greater than or equal to 1024"),
        ("claude-sonnet-4-5", 2_000, budget(2_000), "`max_tokens` must be greater than `thinking.budget_tokens`."),
        ("claude-sonnet-4-5", 2_001, budget(2_000), "taken"),
        ("claude-sonnet-4-5", 2_001, kind("enabled"), "thinking.enabled.budget_tokens: Field required"),
        ("claude-opus-4-6", 2_001, budget(2_000), "taken"),
        ("claude-opus-4-7", 2_001, budget(2_000), "\"thinking.type.enabled\" is not supported for this model. Use"),
        ("claude-opus-4-7", 2_001, kind("adaptive"), "taken"),
        ("claude-opus-4-5", 2_001, kind("adaptive"), "adaptive thinking is not supported on this model"),
        ("claude-opus-5-5", 2_001, kind("disabled"), "\"thinking.type.disabled\" is not supported"),
        ("claude-opus-5-5", 9, r#"{"tool_choice":{"type":"any"}}"#.into(), "tool_choice: type \"tool\" and \"any\" are not supported"),
        ("claude-sonnet-4-5", 9, r#"{"tool_choice":{"type":"any"}}"#.into(), "taken"),
        ("claude-sonnet-4-5", 9, r#"{"temperature":-0.1}"#.into(), "temperature: range: 0..1"),
        ("claude-sonnet-4-5", 9, r#"{"temperature":1.1}"#.into(), "temperature: range: 0..1"),
        ("claude-sonnet-4-5", 9, r#"{"temperature":1e0}"#.into(), "taken"),
        ("claude-sonnet-4-5", 9, r#"{"temperature":null}"#.into(), "taken"),
        (
            "claude-opus-4-6",
            9,
            r#"{"output_config":{"effort":"xhigh"}}"#.into(),
            "This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium.",
        ),
        ("claude-opus-4-6", 9, r#"{"output_config":{"effort":"max"}}"#.into(), "taken"),
        ("claude-opus-4-8", 9, r#"{"output_config":{"effort":"xhigh"}}"#.into(), "taken"),
    ];
    for (model, max_tokens, members, expected) in table {
        let said = extra(model, max_tokens, &members);
        assert!(said.contains(expected), "{model} {max_tokens} {members}: {said}");
    }
}

#[test]
fn n_6_prefill_is_refused_from_4_6_on_and_a_paused_answer_is_none() {
    let of = |model: &str, picture| said(&Request { model: model.into(), ..request(picture) });
    assert_eq!(of("claude-sonnet-4-5", "u:hi | a:I"), "taken");
    assert_eq!(
        of("claude-sonnet-4-6", "u:hi | a:I"),
        "400 This model does not support assistant message prefill. The conversation must end with a user message."
    );
    assert_eq!(of("claude-sonnet-4-6", "u:hi | a:paused"), "taken");
    let mut trailing = request("u:hi");
    trailing.messages.push(Arc::new(Message::assistant(vec![Block::text("I ")])));
    assert_eq!(said(&trailing), "400 messages: final assistant content cannot end with trailing whitespace");
    assert_eq!(of("claude-opus-5", "u:hi | s:brief"), "taken");
}

#[test]
fn n_6_system_messages_follow_a_user_turn_or_a_server_tool() {
    let of = |picture| said(&Request { model: "claude-opus-5".into(), ..request(picture) });
    for picture in ["u:hi | s:brief", "u:hi | s:brief | s:kind", "u:hi | s:a | s:b | a:yes | u:x", "a:paused found | s:brief | a:yes | u:x"]
    {
        assert_eq!(of(picture), "taken", "{picture}");
    }
    for (picture, place) in
        [("s:brief | u:hi", 0), ("u:hi | s:brief | u:x", 1), ("u:hi | a:yes | s:brief", 2), ("u:hi | s:a | s:b | u:x", 2)]
    {
        let text = of(picture);
        assert!(text.starts_with(&format!("400 messages.{place}: a `system` message must follow a `user` message")), "{picture}: {text}");
    }
}

#[test]
fn n_6_the_table_of_input_schemas() {
    let of = |tools: &str| said(&Request { tools: Some(Json::parse(tools).unwrap()), ..request("u:hi") });
    let tool = |schema: &str| of(&format!(r#"[{{"type":"web_search_20250305","name":"w"}},{{"name":"t","input_schema":{schema}}}]"#));
    assert_eq!(tool(r#"{"type":"object"}"#), "taken");
    assert_eq!(tool(r#"{"type":"object","properties":{"a":true},"$defs":{"N":{"$ref":"N"}}}"#), "taken", "it is not compiled");
    assert_eq!(tool("true"), "400 tools.1.custom.input_schema: Input does not match the expected shape.");
    assert_eq!(tool(r#"{"anyOf":[]}"#), "400 tools.1.custom.input_schema.type: Field required");
    assert_eq!(tool(r#"{"type":["object"]}"#), "400 tools.1.custom.input_schema.type: Input should be 'object'");
    assert_eq!(
        of(r#"[{"type":"custom","name":"t","input_schema":{"type":"string"}}]"#),
        "400 tools.0.custom.input_schema.type: Input should be 'object'"
    );
    assert_eq!(of(r#"[{"name":"t"}]"#), "400 tools.0.custom.input_schema: Field required");
    let twice = r#"{"name":"t","input_schema":{"type":"object"}}"#;
    assert_eq!(of(&format!("[{twice},{twice}]")), "400 tools: Tool names must be unique.");
}

#[test]
fn n_6_names_of_tools_are_letters_digits_and_two_marks() {
    let tool = |name: &str| {
        let schema = r#""input_schema":{"type":"object"}"#;
        let tools = format!(r#"[{{"name":"ok",{schema}}},{{"name":{},{schema}}}]"#, Json::from_value(name));
        said(&Request { tools: Some(Json::parse(&tools).unwrap()), ..request("u:hi") })
    };
    for name in ["a", "Read_2-b", &"x".repeat(128)] {
        assert_eq!(tool(name), "taken", "{name}");
    }
    for name in ["", "a b", "é", "a.b", "a\0", &"x".repeat(129)] {
        assert_eq!(tool(name), "400 tools.1.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'", "{name:?}");
    }
}

#[test]
fn n_6_the_table_of_strict_schemas() {
    let tools = |schemas: &[String]| {
        let tools: Vec<String> = (0..)
            .zip(schemas)
            .map(|(nth, schema): (usize, _)| format!(r#"{{"name":"t{nth}","strict":true,"input_schema":{schema}}}"#))
            .collect();
        said(&Request { tools: Some(Json::parse(&format!("[{}]", tools.join(","))).unwrap()), ..request("u:hi") })
    };
    let object = |members: &str| format!(r#"{{"type":"object",{members}}}"#);
    let many = |count: usize, schema: &str, required: bool| {
        let names = |form: &dyn Fn(usize) -> String| (0..count).map(form).collect::<Vec<_>>().join(",");
        let properties = names(&|nth| format!(r#""p{nth}":{schema}"#));
        let required = if required { names(&|nth| format!(r#""p{nth}""#)) } else { String::new() };
        object(&format!(r#""properties":{{{properties}}},"required":[{required}]"#))
    };
    let plain = object(r#""properties":{}"#);
    assert_eq!(tools(&vec![plain.clone(); 20]), "taken");
    assert!(tools(&vec![plain; 21]).starts_with("400 Too many strict tools (21). The maximum number of strict tools supported is 20."));
    assert_eq!(tools(&[many(24, r#"{"type":"string"}"#, false)]), "taken");
    let optional = "400 Schemas contains too many optional parameters (25), which would";
    assert!(tools(&[many(25, r#"{"type":"string"}"#, false)]).starts_with(optional));
    assert!(
        tools(&[many(12, r#"{"type":"string"}"#, false), many(13, r#"{"type":"string"}"#, false)]).starts_with(optional),
        "all tools count"
    );
    assert!(
        tools(&[object(&format!(r#""properties":{{"p":{}}},"required":["p"]"#, many(25, "{}", false)))]).starts_with(optional),
        "and all depths"
    );
    assert_eq!(tools(&[many(16, r#"{"type":["string","null"]}"#, true)]), "taken");
    let unions = "400 Schemas contains too many parameters with union types (17 parameters";
    assert!(tools(&[many(17, r#"{"type":["string","null"]}"#, true)]).starts_with(unions));
    assert!(tools(&[many(17, r#"{"anyOf":[]}"#, true)]).starts_with(unions));
    let boolean = "400 tools.1.custom: For 'object' type, property 'properties' is not supported";
    assert_eq!(tools(&[many(1, "{}", true), many(1, &many(1, "true", true), true)]), boolean);
    let circle = |definitions: &str| tools(&[object(&format!(r#""$defs":{{{definitions}}}"#))]);
    assert!(circle(r##""A":{"items":{"$ref":"#/$defs/A"}}"##).contains("in schema definitions: A -> A. Self"));
    assert!(circle(r##""A":{"$ref":"#/$defs/B"},"B":{"anyOf":[{"$ref":"#/$defs/A"}]}"##).contains("definitions: A -> B -> A. Self"));
    assert!(circle(r##""A":{"$ref":"#/$defs/B"},"B":{"properties":{"b":{"$ref":"#/$defs/B"}}}"##).contains("definitions: B -> B. Self"));
    assert_eq!(circle(r##""A":{"$ref":"#/$defs/B"},"B":{},"C":{"$ref":"#/$defs/B"}"##), "taken", "no circle");
}

#[test]
fn n_6_thinking_stays_with_the_tools_that_it_led_to() {
    let extra = Json::trusted(r#"{"thinking":{"type":"enabled","budget_tokens":1024}}"#);
    let of = |picture| said(&Request { extra: extra.clone(), max_tokens: 2_000, ..request(picture) });
    assert_eq!(of("u:hi | a:think use=A | u:result=A"), "taken");
    let text = of("u:hi | a:use=A | u:result=A");
    assert!(text.starts_with("400 messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`."), "{text}");
    assert_eq!(of("u:hi | a:yes | u:more"), "taken", "no tools, no matter");
}

#[test]
fn n_6_four_breakpoints_and_no_more() {
    let mut of = request("u:cached | a:x | u:cached");
    of.system = Some(Json::trusted(r#"[{"type":"text","text":"\"cache_control\"","cache_control":{"type":"ephemeral"}}]"#));
    of.tools =
        Some(Json::trusted(r#"[{"name":"A","input_schema":{"type":"object","cache_control":1},"cache_control":{"type":"ephemeral"}}]"#));
    assert_eq!(said(&of), "taken");
    of.cache_last_message = true;
    assert_eq!(said(&of), "taken", "the last block has one already");
    of.messages = request("u:cached | a:cached | u:x").messages;
    assert_eq!(said(&of), "400 A maximum of 4 blocks with cache_control may be provided. Found 5.");
    let thinking = said(&request("u:x | a:cached-think y | u:x"));
    assert_eq!(thinking, "400 messages.1.content.0.redacted_thinking.cache_control: Extra inputs are not permitted");
}

#[test]
fn n_6_images_by_number_and_bytes() {
    let many = |count: usize, size: &str| {
        let images: Vec<String> = (0..count).map(|_| format!("img={size}")).collect();
        said(&request(&format!("u:{}", images.join(" "))))
    };
    assert_eq!(many(100, "2000x9"), "taken");
    assert_eq!(many(101, "9x9"), "400 Too much media: 0 document pages + 101 images > 100");
    assert_eq!(many(20, "2001x9"), "taken");
    assert!(many(21, "2001x9").ends_with("exceed max allowed size for many-image requests: 2000 pixels"));
    let rules = ValidationContext { image_bytes_max: 5 << 20, ..ValidationContext::default() };
    let data = "A".repeat(5_429_176);
    let large = Block::from(Json::parse(&format!(r#"{{"type":"image","source":{{"data":"{data}"}}}}"#)).unwrap());
    let request = Request::new("m", 9).with_messages([Message::user(vec![Block::text("x"), large])]);
    let text = "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 5429176 bytes > 5242880 bytes";
    assert_eq!(refusal(&request, &rules).unwrap().message, text);
    assert_eq!(refusal(&request, &ValidationContext::default()), None);
}

#[test]
fn n_6_a_request_of_32_mb_and_a_body_of_the_edge() {
    let large = request(&format!("u:{}", "x".repeat(REQUEST_BYTES_MAX)));
    let refused = refusal(&large, &ValidationContext::default()).unwrap();
    assert_eq!(refused.status, 413);
    assert_eq!(refused.body("req_1"), r#"{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#);
    let other = refusal(&request("u:empty"), &ValidationContext::default()).unwrap();
    assert!(other.body("req_1").starts_with(r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages: text"#));
}

#[test]
fn n_6_tokens_over_the_window() {
    let text = "x".repeat(3_000);
    let of = |model: &str, window, max_tokens| {
        let request = Request { model: model.into(), max_tokens, ..request(&format!("u:{text}")) };
        let rules = ValidationContext { context_window: Some(window), ..ValidationContext::default() };
        refusal(&request, &rules).map_or_else(|| "taken".into(), |refusal| refusal.message)
    };
    assert_eq!(of("claude-sonnet-4-5", 999, 9), "prompt is too long: 1000 tokens > 999 maximum");
    assert_eq!(of("claude-sonnet-4-5", 1_000, 9), "taken", "4.5 and later may run into the window");
    assert!(of("claude-sonnet-4", 1_000, 9).starts_with("input length and `max_tokens` exceed context limit: 1000 + 9 > 1000, decrease"));
}

#[test]
fn n_6_bodies_that_are_no_requests() {
    let of = |body: &str| refusal_of_body(body, &ValidationContext::default()).map_or_else(|| "taken".into(), |refusal| refusal.message);
    assert_eq!(of(r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}"#), "taken");
    assert_eq!(
        of(r#"{"model":"m","max_tokens":9,"messages":[{"role":"robot","content":"hi"}]}"#),
        "messages.0.role: Input should be 'user' or 'assistant'"
    );
    assert_eq!(of(r#"{"max_tokens":9,"messages":[{"role":"user","content":"hi"}]}"#), "model: Field required");
    assert_eq!(of(r#"{"model":"m","max_tokens":9}"#), "messages: Field required");
    assert!(of("{").starts_with("The request body is not valid JSON"));
    let message = |messages: &str| of(&format!(r#"{{"model":"m","max_tokens":9,"messages":{messages}}}"#));
    assert_eq!(message(r#"["hi"]"#), "messages.0: Input does not match the expected shape.");
    let empty = "messages.0: all messages must have non-empty content except for the optional final assistant message";
    assert_eq!(message(r#"[{"role":"user","content":""}]"#), empty);
    assert_eq!(message(r#"[{"role":"user","content":[{"type":"text","text":""}]}]"#), "messages: text content blocks must be non-empty");
}
