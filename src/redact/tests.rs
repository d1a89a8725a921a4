//! Secrets planted wherever one may stand: none is left, and nothing else is altered (K-2).
//!
//! All values are made up, and put together here so that no line of this file looks like a secret itself.

mod generator;
mod named_values;
mod pattern_states;
mod planted_secrets;
mod search;

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use self::planted_secrets::{PLANTED, PlantedSecret, filled};
use super::placeholder::is_placeholder;
use super::scan::SecretFinding;
use super::*;
use reenact_engine::time::Micros;
use reenact_scenario::tape::line::{NewRequest, TapeEncoder};
use reenact_scenario::tape::{Provenance, ResponseEnd, TapeHeader};
use reenact_wire::http::HttpHeader;
use reenact_wire::json::push_string;

static RULES: LazyLock<Arc<RedactionRules>> = LazyLock::new(|| RedactionRules::with(&[]).unwrap());

fn scan(contents: &[u8], rules: &Arc<RedactionRules>) -> Vec<SecretFinding> {
    super::scan::scan(contents, rules).findings
}

fn redactor() -> Redactor {
    Redactor::new(&RULES)
}

/// As it stands between quotes.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    push_string(&mut out, text);
    out[1..out.len() - 1].to_owned()
}

/// A placeholder of several lines as one.
fn without_line_ends(text: &[u8]) -> Vec<u8> {
    String::from_utf8_lossy(text).replace(['\n', '\\'], "\n").replace("\nn", "").replace('\n', "").into_bytes()
}

/// The failure, unless all of `secret` was replaced and nothing else.
fn difference(original: &[u8], redacted: &[u8], secret: Range<usize>, what: &str) -> Option<String> {
    let problem = match () {
        () if original.len() != redacted.len() => "another length",
        () if original[..secret.start] != redacted[..secret.start] => "something before it was replaced",
        () if original[secret.end..] != redacted[secret.end..] => "something after it was replaced",
        () if !is_placeholder(&without_line_ends(&redacted[secret])) => "it was not replaced",
        () => return None,
    };
    Some(format!("{what}: {problem}\n  {}\n  {}", String::from_utf8_lossy(original), String::from_utf8_lossy(redacted)))
}

/// The same for what fragments read as: a placeholder has no escapes, so it may read longer than a secret that takes as many bytes.
fn shown_difference(original: &str, redacted: &str, secret: Range<usize>, what: &str) -> Option<String> {
    let inner = redacted.strip_prefix(&original[..secret.start]).and_then(|rest| rest.strip_suffix(&original[secret.end..]));
    let fine = inner.is_some_and(|inner| is_placeholder(&without_line_ends(inner.as_bytes())) && inner.len() >= secret.len());
    (!fine).then(|| format!("{what}:\n  {original}\n  {redacted}"))
}

fn assert_replaced(original: &[u8], redacted: &[u8], secret: Range<usize>, what: &str) {
    assert_all_fine(difference(original, redacted, secret, what));
}

/// All that is wrong at once: one rule is seldom wrong alone.
fn assert_all_fine(problems: impl IntoIterator<Item = String>) {
    let problems: Vec<String> = problems.into_iter().collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// A request whose only message is this text, and where the secret stands in it.
fn request(case: &PlantedSecret) -> (String, Range<usize>) {
    let start = format!(r#"{{"model":"m","max_tokens":9,"messages":[{{"role":"user","content":"{}"#, escaped(&case.before));
    let secret = escaped(&case.secret);
    let body = format!(r#"{start}{secret}{}"}}]}}"#, escaped(&case.after));
    (body, start.len()..start.len() + secret.len())
}

/// The events of a block whose content is cut at `cut`, a chunk each.
fn block(kind: &str, name: &str, content: &str, cuts: &[usize]) -> Vec<String> {
    let mut events = vec![String::from("event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1}\n\n")];
    let ends = cuts.iter().copied().chain([content.len()]);
    let mut from = 0;
    for to in ends {
        let fragment = escaped(&content[from..to]);
        events.push(format!(
            "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":1,\"delta\":{{\"type\":\"{kind}\",\"{name}\":\"{fragment}\"}}   }}\n\n"
        ));
        from = to;
    }
    events.push(String::from("event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":1 }\n\n"));
    events
}

fn streamed(redactor: &mut Redactor, mut answer: AnswerRedactor, chunks: &[impl AsRef<[u8]>]) -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    for (chunk, at) in chunks.iter().zip(0..) {
        let chunk = HeldChunk { at: Micros(at), bytes: chunk.as_ref().to_vec() };
        answer.feed(redactor, chunk, &mut |chunk| out.push(chunk));
    }
    answer.finish(redactor, &mut |chunk| out.push(chunk));
    assert_eq!(out.iter().map(|chunk| chunk.at.0).collect::<Vec<_>>(), (0..chunks.len() as u64).collect::<Vec<_>>());
    assert!(out.iter().map(|chunk| chunk.bytes.len()).eq(chunks.iter().map(|chunk| chunk.as_ref().len())), "each keeps its length");
    out.into_iter().map(|chunk| chunk.bytes).collect()
}

/// The content of a block, put together again.
fn content(events: &[Vec<u8>], name: &str) -> String {
    let each = events.iter().filter_map(|event| {
        let text = std::str::from_utf8(event).unwrap();
        let data: serde_json::Value = serde_json::from_str(text.split_once("data: ")?.1.trim()).unwrap();
        Some(data["delta"][name].as_str()?.to_owned())
    });
    each.collect()
}

fn cuts_of(text: &str, around: Range<usize>) -> impl Iterator<Item = usize> {
    (around.start.saturating_sub(2)..=(around.end + 2).min(text.len())).filter(|cut| text.is_char_boundary(*cut))
}

#[test]
fn k_2_at_least_sixty_secrets_are_planted() {
    assert!(PLANTED.len() >= 60, "{}", PLANTED.len());
}

#[test]
fn k_2_planted_in_a_request() {
    assert_all_fine(PLANTED.iter().filter_map(|case| {
        let (body, secret) = request(case);
        difference(body.as_bytes(), &redactor().body(body.as_bytes()), secret, &case.rule)
    }));
}

#[test]
fn k_2_planted_in_plain_text() {
    assert_all_fine(PLANTED.iter().filter_map(|case| {
        let text = format!("{}{}{}", case.before, case.secret, case.after);
        let secret = case.before.len()..case.before.len() + case.secret.len();
        difference(text.as_bytes(), redactor().text(&text).as_bytes(), secret, &case.rule)
    }));
}

#[test]
fn k_2_planted_in_json_inside_of_json() {
    for case in PLANTED.iter() {
        let inner = format!("{{\"stdout\": \"{}\"}}", escaped(&format!("{}{}{}", case.before, case.secret, case.after)));
        let body = format!("{{\"content\":[{{\"type\":\"tool_result\",\"content\":\"{}\"}}]}}", escaped(&inner));
        let redacted = String::from_utf8(redactor().body(body.as_bytes())).unwrap();
        assert_eq!(redacted.len(), body.len());
        let secret = escaped(&escaped(&case.secret));
        assert!(!redacted.contains(&secret), "{}: {redacted}", case.rule);
        let parsed: serde_json::Value = serde_json::from_str(&redacted).unwrap();
        serde_json::from_str::<serde_json::Value>(parsed["content"][0]["content"].as_str().unwrap()).unwrap();
    }
}

#[test]
fn k_2_planted_across_fragments_of_a_tool_input_at_every_position() {
    let mut problems = Vec::new();
    for case in PLANTED.iter() {
        let start = format!("{{\"command\": \"{}", escaped(&case.before));
        let secret = start.len()..start.len() + escaped(&case.secret).len();
        let document = format!("{start}{}{}\"}}", escaped(&case.secret), escaped(&case.after));
        problems.extend(cuts_of(&document, secret.clone()).find_map(|cut| {
            let events = block("input_json_delta", "partial_json", &document, &[cut]);
            let out = streamed(&mut redactor(), AnswerRedactor::events(), &events);
            let same = |index: usize| out[index] == events[index].as_bytes();
            assert!(same(0) && same(3), "only the fragments change");
            let whole = content(&out, "partial_json");
            shown_difference(&document, &whole, secret.clone(), &format!("{} cut at {cut}", case.rule))
        }));
    }
    assert_all_fine(problems);
}

#[test]
fn k_2_planted_across_fragments_of_text_and_thinking() {
    let mut problems = Vec::new();
    for case in PLANTED.iter() {
        let text = format!("{}{}{}", case.before, case.secret, case.after);
        let secret = case.before.len()..case.before.len() + case.secret.len();
        let cuts = [secret.start + 1, secret.start + case.secret.len() / 2, secret.end - 1];
        for (kind, name) in [("text_delta", "text"), ("thinking_delta", "thinking")] {
            let out = streamed(&mut redactor(), AnswerRedactor::events(), &block(kind, name, &text, &cuts));
            problems.extend(shown_difference(&text, &content(&out, name), secret.clone(), &case.rule));
        }
    }
    assert_all_fine(problems);
}

#[test]
fn k_2_planted_in_the_text_of_an_error_that_comes_in_pieces() {
    let mut problems = Vec::new();
    for case in PLANTED.iter() {
        let start = format!(r#"{{"type":"error","error":{{"type":"rate_limit_error","message":"{}"#, escaped(&case.before));
        let secret = start.len()..start.len() + escaped(&case.secret).len();
        let body = format!("{start}{}{}\"}}   }}", escaped(&case.secret), escaped(&case.after));
        for cut in [1, secret.start, secret.start + 3, secret.end - 1, secret.end] {
            let (first, second) = body.as_bytes().split_at(cut);
            let out = streamed(&mut redactor(), AnswerRedactor::body(), &[first, second]).concat();
            problems.extend(difference(body.as_bytes(), &out, secret.clone(), &format!("{} cut at {cut}", case.rule)));
        }
        let event = format!("event: error\ndata: {body}\n\n");
        let out = streamed(&mut redactor(), AnswerRedactor::events(), &[&event]).concat();
        let shift = "event: error\ndata: ".len();
        problems.extend(difference(event.as_bytes(), &out, secret.start + shift..secret.end + shift, &case.rule));
    }
    assert_all_fine(problems);
}

/// A tape of one exchange, as it stands.
fn tape(path: &str, headers: &[HttpHeader], body: &[u8], answer: &[Vec<u8>]) -> String {
    let mut encoder = TapeEncoder::new();
    let mut out =
        encoder.header(&TapeHeader { redactions: RULES.names().iter().map(|name| (*name).to_owned()).collect(), ..TapeHeader::default() });
    let request =
        NewRequest { id: 1, thread: "main", parent: None, provenance: Provenance::Recorded, at: None, method: "POST", path, headers, body };
    out.push_str(&encoder.request(&request));
    out.push_str(&encoder.head(1, None, 200, &[HttpHeader::new("content-type", "text/event-stream")]));
    answer.iter().for_each(|chunk| out.push_str(&encoder.chunk(1, None, chunk)));
    out.push_str(&encoder.end(1, None, ResponseEnd::Complete));
    out
}

#[test]
fn k_2_scan_finds_each_where_it_begins_and_nothing_in_what_was_redacted() {
    for case in PLANTED.iter() {
        let (body, _) = request(case);
        let planted = tape("/v1/messages", &[], body.as_bytes(), &[]);
        let findings = scan(planted.as_bytes(), &RULES);
        let place = planted.find(&escaped(&escaped(&case.secret))).unwrap();
        let column = place - planted[..place].rfind('\n').unwrap();
        assert!(findings.iter().any(|finding| (finding.line, finding.column) == (2, column)), "{}: {findings:?}\n{planted}", case.rule);
        let redacted = tape("/v1/messages", &[], &redactor().body(body.as_bytes()), &[]);
        assert_eq!(scan(redacted.as_bytes(), &RULES), [], "{}: {redacted}", case.rule);

        let document = format!("{{\"command\": \"{}\"}}", escaped(&format!("{}{}{}", case.before, case.secret, case.after)));
        let cut = document.find(&escaped(&case.secret)).unwrap() + escaped(&case.secret).char_indices().nth(1).unwrap().0;
        let events = block("input_json_delta", "partial_json", &document, &[cut]);
        let planted = tape("/v1/messages", &[], b"{}", &events.iter().map(|event| event.clone().into_bytes()).collect::<Vec<_>>());
        let findings = scan(planted.as_bytes(), &RULES);
        assert!(findings.iter().any(|finding| finding.line == 5), "{}: {findings:?}\n{planted}", case.rule);
        let redacted = tape("/v1/messages", &[], b"{}", &streamed(&mut redactor(), AnswerRedactor::events(), &events));
        assert_eq!(scan(redacted.as_bytes(), &RULES), [], "{}: {redacted}", case.rule);
    }
}

#[test]
fn k_2_secret_headers_are_left_out_and_found() {
    let names =
        ["Authorization", "proxy-authorization", "X-Api-Key", "api-key", "Cookie", "set-cookie", "x-amz-security-token", "x-amz-date"];
    let more = ["x-goog-api-key", "anthropic-organization-id", "anthropic-workspace-id", "cf-ray", "traceparent", "x-amzn-requestid"];
    let plain = HttpHeader::new("x-plain", "stays");
    for name in names.into_iter().chain(more) {
        let headers = [HttpHeader::new(name, &filled(20)), plain.clone()];
        assert_eq!(redactor().headers(&headers), std::slice::from_ref(&plain), "{name}");
        let findings = scan(tape("/", &headers, b"", &[]).as_bytes(), &RULES);
        assert_eq!(findings.len(), 1, "{name}: {findings:?}");
        assert_eq!(findings[0].rule, format!("header {}", name.to_ascii_lowercase()));
    }
}

#[test]
fn k_2_what_was_sent_as_a_key_is_known_everywhere() {
    let key = format!("gateway {}", filled(14)).replace(' ', "/");
    let mut redactor = redactor();
    redactor.headers(&[HttpHeader::new("Authorization", &format!("Bearer {key}"))]);
    let body = format!("{{\"note\":\"the key {key} is of no known shape\"}}");
    let out = redactor.body(body.as_bytes());
    let start = body.find(&key).unwrap();
    assert_replaced(body.as_bytes(), &out, start..start + key.len(), "learned");
    for number in 100..400 {
        let value = format!("gate/{number}/{}", filled(8));
        redactor.headers(&[HttpHeader::new("x-api-key", &value)]);
        let body = format!("{{\"note\":\"it was {value} then\"}}");
        assert!(!String::from_utf8_lossy(&redactor.body(body.as_bytes())).contains(&value), "{value}");
    }
    assert!(redactor.unsearched().is_empty());
}

#[test]
fn k_2_kept_headers_and_paths_are_redacted_too() {
    let key = format!("sk-ant-api03-{}", filled(20));
    let mut redactor = redactor();
    let kept =
        redactor.headers(&[HttpHeader::new("x-custom", &format!("a {key} b")), HttpHeader::new("request-id", "not-of-the-usual-shape")]);
    assert!(kept[0].value.starts_with("a REDACTED") && kept[0].value.ends_with("x b"), "{kept:?}");
    assert_eq!(&*kept[1].value, "not-of-the-usual-shape", "the id of a request is no secret");
    assert_eq!(redactor.path("/v1/messages?beta=true&api_key=abc"), "/v1/messages?beta=true&api_key=xxx");
    assert_eq!(scan(tape("/v1?beta=true&api_key=abc", &[], b"", &[]).as_bytes(), &RULES)[0].rule, "url-parameter");
    assert_eq!(redactor.path("/v1/messages?beta=true"), "/v1/messages?beta=true");
}

#[test]
fn k_2_the_same_secret_has_the_same_placeholder_throughout_a_tape() {
    let (one, two) = (format!("ghp_{}", filled(36)), format!("ghp_{}", filled(40)));
    let mut redactor = redactor();
    let first = redactor.text(&format!("{one} {two}"));
    let events = block("text_delta", "text", &format!("{two} {one}"), &[11]);
    let answer = content(&streamed(&mut redactor, AnswerRedactor::events(), &events), "text");
    let (first, second) = first.split_once(' ').unwrap();
    assert_eq!(answer, format!("{second} {first}"));
    assert_ne!(first, second);
    assert_eq!(redactor.distinct(), 2);
}

#[test]
fn k_2_metadata_and_members_of_accounts() {
    let user = format!("user_{}_account__session_{}", "ab12".repeat(16), "12345678-1234-1234-1234-123456789abc");
    for value in [user, String::from("me"), String::from(r#"{\"device_id\":\"a\",\"account_uuid\":\"\"}"#)] {
        let body = format!(r#"{{"metadata": {{"other":1,"user_id":"{value}"}}, "messages":[]}}"#);
        let end = body.find(r#""}, "messages""#).unwrap();
        let out = redactor().body(body.as_bytes());
        assert_replaced(body.as_bytes(), &out, end - value.len()..end, "metadata");
    }
}

#[test]
fn k_2_escapes_of_every_kind_are_seen_through() {
    let key = format!("sk-ant-api03-{}", filled(20));
    let spelt: String = key.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect();
    for spelt in [spelt, key.replacen("ant", "\\u0061nt", 1)] {
        let body = format!("{{\"a\":\"{spelt}\"}}");
        assert_replaced(body.as_bytes(), &redactor().body(body.as_bytes()), 6..6 + spelt.len(), "unicode escapes");
    }
    let slashes = format!("{{\"a\":\"aws_secret_access_key={}\"}}", format!("{}//{}", filled(19), filled(19)).replace('/', "\\/"));
    let start = slashes.find('=').unwrap() + 1;
    assert_replaced(slashes.as_bytes(), &redactor().body(slashes.as_bytes()), start..slashes.len() - 2, "slashes");
    let quotes = r#"{"password":"ab\"cd\\","next":"plain"}"#;
    assert_replaced(quotes.as_bytes(), &redactor().body(quotes.as_bytes()), 13..21, "quotes");
}

#[test]
fn k_2_signatures_and_encrypted_content_come_back_as_they_were() {
    // In the middle of the base64 stands what looks like a key.
    let opaque = format!("{}/AKIA{}/{}", filled(60), "ABCDEFGH12345678", filled(62));
    let block = format!(r#"{{"type":"thinking","thinking":"hm","signature":"{opaque}"}}"#);
    let hidden = format!(r#"{{"type":"redacted_thinking","data":"{opaque}"}}"#);
    let found = format!(r#"{{"type":"web_search_result","encrypted_content":"{opaque}"}}"#);
    for body in [block, hidden, found] {
        assert_eq!(redactor().body(body.as_bytes()), body.as_bytes());
    }
    let event = format!(
        "data: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"signature_delta\",\"signature\":\"{opaque}\"}}}}\n\n"
    );
    assert_eq!(streamed(&mut redactor(), AnswerRedactor::events(), &[&event]).concat(), event.as_bytes());
    let input = format!(r#"{{"type":"tool_use","input":{{"text":"{opaque}"}}}}"#);
    assert_ne!(redactor().body(input.as_bytes()), input.as_bytes(), "anywhere else it is a key");
    // What is no base64 of other bytes than text is searched wherever it stands.
    let (key, packed) = (format!("ghp_{}", filled(36)), |text: &str| {
        use base64::Engine as _;
        base64::engine::general_purpose::STANDARD.encode(text)
    });
    let lines = format!("USER=bob\nGITHUB_TOKEN={key}\nB=2\nC=3\n");
    for value in [escaped(&lines), packed(&lines), format!("sk-ant-api03-{}AA", filled(93)), key.repeat(2)] {
        for body in [
            format!(r#"{{"type":"thinking","thinking":"hm","signature":"{value}"}}"#),
            format!(r#"{{"type":"redacted_thinking","data":"{value}"}}"#),
            format!(r#"{{"encrypted_content":"{value}"}}"#),
            format!(r#"{{"source":{{"type":"text","media_type":"text/plain","data":"{value}"}}}}"#),
            format!(r#"{{"source":{{"type":"base64","media_type":"application/pdf","data":"{value}"}}}}"#),
        ] {
            assert_ne!(String::from_utf8_lossy(&redactor().body(body.as_bytes())), body);
        }
    }
}

#[test]
fn k_2_ordinary_sessions_are_not_touched() {
    let plain = [
        r#"{"model":"claude-sonnet-4-5","max_tokens":32000,"stop_reason":"tool_use","usage":{"output_tokens":14}}"#,
        r#"{"id":"msg_01XFDUDYJgAACzvnptvVoYEL","tool_use_id":"toolu_01A09q90qw90lq917835lq9"}"#,
        r#"{"request_id":"req_011CSHoEeqs5C35K2UUqR7Fy","file_id":"file_011CNha8iCJcU1wXNR6q4V8w","container":{"id":"container_011CPR5CNjB747bTd36fQLFk"}}"#,
        "the token of req_011CSHoEeqs5C35K2UUqR7Fy was spent; token = self._fp.read(1)[0]; f(original_token=alias_token)",
        "x = {\n  credentials: kEnumerableProperty,\n  token: init.credentials2,\n  password = self.password\n  pwd = password\n}",
        "pub const SAFER_TOKEN_MAKE_INERT: SAFER_COMPUTE_TOKEN_FROM_LEVEL_FLAGS = 4;\npassword = getpass.getpass()",
        "[`TokenStream`]: https://docs.rs/proc-macro2/1.0/proc_macro2/struct.TokenStream.html\nghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "cookie: sameSite=strict, git fetch http://user:pass@host/x, const UNEXPECTED_TOKEN = /^Unexpected/",
        "let token = self.next_token()?; // the password is asked for later\nconst KEY: &str = \"name\";",
        r#"{"input_schema":{"type":"object","properties":{"password":{"type":"string","description":"The password"},"token":{"type":"string"}}}}"#,
        "https://example.com/a?page=2&sort=name and git@github.com:someone/something.git, mailto:a@b.c",
        "export PATH=$HOME/bin:$PATH; API_KEY=$(cat key.txt); TOKEN=${TOKEN}",
        "task-management-and-risk-assessment-for-beginners, Basic understanding of things, Bearer of news",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b, uuid 123e4567-e89b-12d3-a456-426614174000",
    ];
    for text in plain {
        assert_eq!(String::from_utf8_lossy(&redactor().body(text.as_bytes())), text);
        assert_eq!(redactor().text(text), text);
    }
}

#[test]
fn k_2_every_chunking_gives_the_same_bytes() {
    let key = format!("sk-ant-api03-{}", filled(93));
    let mut stream = block("text_delta", "text", &format!("é the key: {key}, é"), &[2, 14, 30]).concat();
    stream.push_str(&block("input_json_delta", "partial_json", &format!("{{\"a\":\"{key}\\n\"}}"), &[9]).concat());
    stream = stream.replace("\n\nevent", "\r\n\r\nevent");
    let whole = streamed(&mut redactor(), AnswerRedactor::events(), &[&stream]).concat();
    assert!(!String::from_utf8_lossy(&whole).contains(&key[20..40]));
    for size in [1, 7, 64] {
        let chunks: Vec<&[u8]> = stream.as_bytes().chunks(size).collect();
        assert_eq!(streamed(&mut redactor(), AnswerRedactor::events(), &chunks).concat(), whole, "{size}");
    }
}

#[test]
fn k_2_a_stream_cut_in_the_middle_of_a_secret_keeps_none_of_it() {
    let key = format!("sk-ant-api03-{}", filled(93));
    let stream = block("input_json_delta", "partial_json", &format!("{{\"a\":\"{key}\"}}"), &[40]).concat();
    let end = stream.find(&key[34..]).unwrap();
    for cut in [end - 30, end, end + 20] {
        let out = streamed(&mut redactor(), AnswerRedactor::events(), &[&stream[..cut]]).concat();
        let out = String::from_utf8_lossy(&out).into_owned();
        assert!(!out.contains(&key[..24]) && !out.contains(&key[34..50]), "{out}");
    }
}

#[test]
fn k_2_a_long_block_is_released_while_it_streams_and_secrets_at_the_seams_are_found() {
    let key = format!("sk-ant-api03-{}", filled(93));
    let mut redactor = redactor();
    let mut answer = AnswerRedactor::events();
    let (mut out, mut fed, mut held_max) = (Vec::new(), 0, 0);
    let filler = "words and more words, ".repeat(40);
    for round in 0..400 {
        let text = if round % 7 == 3 { format!("{filler}{key} ") } else { filler.clone() };
        for event in &block("text_delta", "text", &text, &[text.len() - 50])[1..3] {
            fed += event.len();
            answer
                .feed(&mut redactor, HeldChunk { at: Micros(0), bytes: event.clone().into_bytes() }, &mut |chunk| out.extend(chunk.bytes));
        }
        held_max = held_max.max(answer.held_bytes());
    }
    answer.finish(&mut redactor, &mut |chunk| out.extend(chunk.bytes));
    assert_eq!(out.len(), fed);
    assert!(held_max < 200_000, "{held_max} bytes were held");
    assert!(!String::from_utf8_lossy(&out).contains(&key[80..]), "a part of a key is left");
    assert_eq!(redactor.counts()["anthropic-key"], 57);
}

#[test]
fn k_2_rules_of_a_file_are_added() {
    let rules = RedactionRules::with(&[String::from("[[rule]]\nname = \"ticket\"\npattern = 'TICKET-(\\d+)'\n")]).unwrap();
    let mut redactor = Redactor::new(&rules);
    assert_eq!(redactor.text("see TICKET-123456"), "see TICKET-RX0001");
    assert_eq!(redactor.body(br#"{"n":"TICKET-123456", "TICKET-1":5}"#), br#"{"n":"TICKET-RX0001", "TICKET-1":5}"#);
    let wrong = RedactionRules::with(&[String::from("[[rule]]\nname = \"x\"\npattern = '('\n")]).unwrap_err().to_string();
    assert!(wrong.starts_with("rule `x`: "), "{wrong}");
    assert!(RedactionRules::with(&[String::from("[[rule]]\nnme = \"x\"\n")]).unwrap_err().to_string().contains("nme"));
}

#[test]
fn k_2_the_usual_spelling_of_a_fragment_and_any_other_give_the_same() {
    let key = format!("sk-ant-api03-{}", filled(40));
    let fragments = [format!("a \\\"quoted\\\" {}", &key[..20]), format!("{} \\\\", &key[20..])];
    for [before, after] in [["", ""], [" ", ""], ["", ",\"more\":1"], ["", "},\"more\":{"]] {
        let stream: String = fragments
            .iter()
            .map(|text| format!("data: {{{before}\"type\":\"content_block_delta\",\"index\":3,\"delta\":{{\"type\":\"text_delta\",\"text\":\"{text}\"{after}}}}}\n\n"))
            .collect();
        let start = stream.find(&key[..20]).unwrap();
        let out = String::from_utf8(streamed(&mut redactor(), AnswerRedactor::events(), &[&stream]).concat()).unwrap();
        assert!(out[start..].starts_with("REDACTED000001xxxxxx\""), "{out}");
        assert!(!out.contains(&key[20..]) && out.contains(&"x".repeat(33)), "{out}");
    }
}

#[test]
fn k_2_of_headers_with_parts_only_the_secret_is_learned() {
    let mut redactor = redactor();
    let value = filled(20);
    redactor.headers(&[
        HttpHeader::new("set-cookie", &format!("__cf_bm={value}; Path=/; Domain=.api.example.com; SameSite=None; Secure")),
        HttpHeader::new("authorization", "AWS4-HMAC-SHA256 Credential=x, SignedHeaders=host;x-amz-content-sha256, Signature=y"),
    ]);
    for text in ["the domain .api.example.com", "AWS4-HMAC-SHA256 signs x-amz-content-sha256"] {
        assert_eq!(redactor.text(text), text);
    }
    assert!(!redactor.text(&format!("cookie was {value} then")).contains(&value));
}

#[test]
fn k_2_a_stream_is_known_by_how_it_begins() {
    let key = format!("sk-ant-api03-{}", filled(40));
    let stream = block("text_delta", "text", &key, &[20]).concat();
    for kind in [None, Some("application/json"), Some("Text/Event-Stream; charset=utf-8")] {
        let headers: Vec<HttpHeader> = kind.map(|kind| HttpHeader::new("content-type", kind)).into_iter().collect();
        for size in [1, 5, 1000] {
            let chunks: Vec<&[u8]> = stream.as_bytes().chunks(size).collect();
            let out = streamed(&mut redactor(), AnswerRedactor::from_headers(&headers), &chunks).concat();
            assert!(!String::from_utf8_lossy(&out).contains(&key[20..]), "{kind:?} {size}");
        }
    }
    assert_eq!(streamed(&mut redactor(), AnswerRedactor::body(), &[b"ev"]), [b"ev"]);
    assert_eq!(streamed(&mut redactor(), AnswerRedactor::body(), &[b""]), [b""]);
}
