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
        Some(("result", id)) => return Block::tool_result(id, &Json::of("ok"), false),
        Some(("img", size)) => image_of(size),
        Some(("shown", size)) => return Block::tool_result("A", &Json::trusted(format!("[{}]", image_of(size))), false),
        _ if word == "think" => r#"{"type":"thinking","thinking":"hm","signature":"s"}"#.into(),
        _ if word == "cached" => r#"{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}"#.into(),
        _ if word == "cached-think" => r#"{"type":"redacted_thinking","data":"x","cache_control":{"type":"ephemeral"}}"#.into(),
        _ if word == "paused" => r#"{"type":"server_tool_use","id":"s","name":"web_search","input":{}}"#.into(),
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
    refusal(request, &Rules::default()).map_or_else(|| "taken".into(), |refusal| format!("{} {}", refusal.status, refusal.message))
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
        ("u:hi | a:use=A | u:result=A | a:x use=A | u:result=A", "messages.3.content.1: `tool_use` ids must be unique", "an id twice"),
        ("u:hi | a:use=A.B | u:result=A.B", "messages.1.content.0.tool_use.id: String should match pattern", "an odd id"),
        ("u: | a:x", "messages.0: all messages must have non-empty content", "a message without content"),
        ("u:hi | a:", "taken", "but for the last answer"),
        ("u:hi empty", "messages: text content blocks must be non-empty", "empty text"),
        ("a:hi | u:x", r#"messages: first message must use the "user" role"#, "the model begins"),
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
    assert!(of("claude-opus-5", "u:hi | s:brief | u:x").contains("must follow a `user` message"));
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
    of.tools = Some(Json::trusted(r#"[{"name":"A","input_schema":{"cache_control":1},"cache_control":{"type":"ephemeral"}}]"#));
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
    let rules = Rules { image_bytes_max: 5 << 20, ..Rules::default() };
    let data = "A".repeat(5_429_176);
    let large = Block::from(Json::parse(&format!(r#"{{"type":"image","source":{{"data":"{data}"}}}}"#)).unwrap());
    let request = Request::new("m", 9).with_messages([Message::user(vec![Block::text("x"), large])]);
    let text = "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 5429176 bytes > 5242880 bytes";
    assert_eq!(refusal(&request, &rules).unwrap().message, text);
    assert_eq!(refusal(&request, &Rules::default()), None);
}

#[test]
fn n_6_a_request_of_32_mb_and_a_body_of_the_edge() {
    let large = request(&format!("u:{}", "x".repeat(REQUEST_BYTES_MAX)));
    let refused = refusal(&large, &Rules::default()).unwrap();
    assert_eq!(refused.status, 413);
    assert_eq!(refused.body("req_1"), r#"{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#);
    let other = refusal(&request("a:x"), &Rules::default()).unwrap();
    assert!(other.body("req_1").starts_with(r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages: first"#));
}

#[test]
fn n_6_tokens_over_the_window() {
    let text = "x".repeat(3_000);
    let of = |model: &str, window, max_tokens| {
        let request = Request { model: model.into(), max_tokens, ..request(&format!("u:{text}")) };
        let rules = Rules { context_window: Some(window), ..Rules::default() };
        refusal(&request, &rules).map_or_else(|| "taken".into(), |refusal| refusal.message)
    };
    assert_eq!(of("claude-sonnet-4-5", 999, 9), "prompt is too long: 1000 tokens > 999 maximum");
    assert_eq!(of("claude-sonnet-4-5", 1_000, 9), "taken", "4.5 and later may run into the window");
    assert!(of("claude-sonnet-4", 1_000, 9).starts_with("input length and `max_tokens` exceed context limit: 1000 + 9 > 1000, decrease"));
}

#[test]
fn n_6_bodies_that_are_no_requests() {
    let of = |body: &str| refusal_of_body(body, &Rules::default()).map_or_else(|| "taken".into(), |refusal| refusal.message);
    assert_eq!(of(r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}"#), "taken");
    assert_eq!(
        of(r#"{"model":"m","max_tokens":9,"messages":[{"role":"robot","content":"hi"}]}"#),
        "messages.0.role: Input should be 'user' or 'assistant'"
    );
    assert_eq!(of(r#"{"max_tokens":9,"messages":[{"role":"user","content":"hi"}]}"#), "model: Field required");
    assert_eq!(of(r#"{"model":"m","max_tokens":9}"#), "messages: Field required");
    assert!(of("{").starts_with("The request body is not valid JSON"));
}
