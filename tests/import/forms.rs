//! One made-up session in every format, and its bodies in every coding: the tapes are equal, byte for byte (K-5).

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reenact::import::import_bytes;
use serde_json::json;

use super::options;

/// An exchange of the session, without the model at the beginning of its request and the wish for a stream at its end.
struct Turn {
    request: String,
    streams: bool,
    status: u16,
    answer: String,
}

const MODEL: &str = "claude-haiku-4-5";

impl Turn {
    fn whole_request(&self) -> String {
        format!("{{\"model\":\"{MODEL}\",{}{}}}", self.request, if self.streams { ",\"stream\":true" } else { "" })
    }

    fn content_type(&self) -> &'static str {
        if self.streams { "text/event-stream" } else { "application/json" }
    }
}

/// Quotes, line ends, what is no ASCII, half of a pair in an escape, numbers and white space as nobody else writes them, padding.
fn session() -> Vec<Turn> {
    let prompt = r#""max_tokens":1024.0,"messages":[{"role":"user","content":"say \"tide\"\n\ttwice – 🐚 \ud83d: \\"}"#;
    let stream = [
        r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":1e1}}   }"#,
        r#"{"type": "ping"}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"Tide","input":{}} }"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\": \"é\\n'"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"\"}"}        }"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":9}}"#,
        r#"{"type":"message_stop"  }"#,
    ];
    let mut answer = String::new();
    for data in stream {
        let kind = data.split('"').nth(3).unwrap();
        write!(answer, "event: {kind}\ndata: {data}\n\n").unwrap();
    }
    let result = r#",{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Tide","input":{"a": "é\n'"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"x: |\n  y"}]}]"#;
    let message = r#"{"id":"msg_2","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"“14:07”, – it's – \"two\"."}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":2,"output_tokens":3}}"#;
    let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    vec![
        Turn { request: format!("{prompt}]"), streams: true, status: 200, answer },
        Turn { request: format!("{prompt}{result}"), streams: false, status: 529, answer: error.into() },
        Turn { request: format!("{prompt}{result}"), streams: false, status: 200, answer: message.into() },
    ]
}

/// One exchange as it goes into a file.
struct Written {
    url: String,
    request_headers: Vec<(&'static str, String)>,
    request: Vec<u8>,
    status: u16,
    headers: Vec<(&'static str, String)>,
    answer: Vec<u8>,
}

/// The coding around a body.
type Coding = (&'static str, fn(&[u8]) -> (Vec<u8>, Option<(&'static str, &'static str)>));

const CODINGS: [Coding; 12] = [
    ("plain", |body| (body.to_vec(), None)),
    ("gzip", |body| (gzip(body), Some(("content-encoding", "gzip")))),
    ("gzip without a header", |body| (gzip(body), None)),
    ("deflate", |body| (deflate(body), Some(("Content-Encoding", "deflate")))),
    ("zstd", |body| (zstd(body), Some(("content-encoding", "zstd")))),
    ("br", |body| (brotli(body), Some(("content-encoding", "br")))),
    ("decompressed, with the header", |body| (body.to_vec(), Some(("content-encoding", "gzip")))),
    ("base64", |body| (STANDARD.encode(body).into_bytes(), None)),
    ("base64 of gzip", |body| (STANDARD.encode(gzip(body)).into_bytes(), Some(("content-encoding", "gzip")))),
    ("base64 of br", |body| (STANDARD.encode(brotli(body)).into_bytes(), Some(("content-encoding", "br")))),
    ("JSON in a string", |body| (serde_json::to_vec(std::str::from_utf8(body).unwrap()).unwrap(), None)),
    ("chunked", |body| (chunked(body), Some(("transfer-encoding", "chunked")))),
];

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

fn deflate(body: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

fn zstd(body: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(body, ruzstd::encoding::CompressionLevel::Fastest)
}

/// One block that is not compressed, and an empty last one: a window of 16 bits, sizes of four digits.
fn brotli(body: &[u8]) -> Vec<u8> {
    let head = ((body.len() as u32 - 1) << 4) | (1 << 20);
    [&head.to_le_bytes()[..3], body, &[3]].concat()
}

fn chunked(body: &[u8]) -> Vec<u8> {
    let (one, two) = body.split_at(body.len() / 2);
    let mut out = Vec::new();
    for part in [one, two] {
        write!(out, "{:x}\r\n", part.len()).unwrap();
        out.extend_from_slice(part);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"0\r\n\r\n");
    out
}

/// The way to the model.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Api,
    Gateway,
    Vertex,
    Bedrock,
}

const WAYS: [Way; 4] = [Way::Api, Way::Gateway, Way::Vertex, Way::Bedrock];

fn written(way: Way, coding: &Coding) -> Vec<Written> {
    let write = |turn: &Turn| {
        let verb = |streams: &'static str, whole: &'static str| if turn.streams { streams } else { whole };
        let members = &turn.request;
        let (url, request) = match way {
            Way::Api => (String::from("https://x.example/v1/messages"), turn.whole_request()),
            Way::Gateway => (String::from("https://x.example/proxy/anthropic/messages"), turn.whole_request()),
            Way::Vertex => (
                format!("https://x.example/v1/projects/p/publishers/anthropic/models/{MODEL}:{}", verb("streamRawPredict", "rawPredict")),
                format!("{{\"anthropic_version\":\"vertex-2023-10-16\",{members}}}"),
            ),
            Way::Bedrock => (
                format!("https://x.example/model/{MODEL}/{}", verb("invoke-with-response-stream", "invoke")),
                format!("{{\"anthropic_version\":\"bedrock-2023-05-31\",{members}}}"),
            ),
        };
        let mut headers = vec![("Content-Type", String::from(turn.content_type()))];
        let mut answer = turn.answer.clone().into_bytes();
        if way == Way::Bedrock && turn.streams {
            answer = turn.answer.lines().filter_map(|line| line.strip_prefix("data: ")).flat_map(frame).collect();
            headers = vec![("Content-Type", String::from("application/vnd.amazon.eventstream"))];
        }
        let (request, request_header) = coding.1(request.as_bytes());
        // Half of the codings are of text.
        let (answer, header) = if std::str::from_utf8(&answer).is_ok() { coding.1(&answer) } else { (answer, None) };
        headers.extend(header.map(|(name, value)| (name, String::from(value))));
        let request_headers = request_header.into_iter().map(|(name, value)| (name, String::from(value))).collect();
        Written { url, request_headers, request, status: turn.status, headers, answer }
    };
    session().iter().map(write).collect()
}

/// A frame of Amazon's event stream.
fn frame(data: &str) -> Vec<u8> {
    let payload = json!({ "bytes": STANDARD.encode(data), "p": "abc" }).to_string();
    let (name, value) = (b":event-type", b"chunk");
    let head = [&[name.len() as u8][..], name, &[7, 0, value.len() as u8], value].concat();
    let crc = |bytes: &[u8]| {
        let mut crc = flate2::Crc::new();
        crc.update(bytes);
        crc.sum().to_be_bytes()
    };
    let mut frame = Vec::new();
    frame.extend_from_slice(&(16 + head.len() as u32 + payload.len() as u32).to_be_bytes());
    frame.extend_from_slice(&(head.len() as u32).to_be_bytes());
    frame.extend_from_slice(&crc(&frame));
    frame.extend_from_slice(&head);
    frame.extend_from_slice(payload.as_bytes());
    frame.extend_from_slice(&crc(&frame));
    frame
}

/// A file of one format; `None` where the format has no place for bytes that are no text.
type Format = (&'static str, fn(&[Written]) -> Option<Vec<u8>>);

const FORMATS: [Format; 12] = [
    ("vcrpy", |session| yaml(session, "interactions", vcrpy)),
    ("vcrpy in JSON", |session| {
        let entry = |one: &Written| Some(json!({ "request": request(one, "uri")?, "response": vcrpy_response(one)? }));
        Some(json!({ "version": 1, "interactions": session.iter().map(entry).collect::<Option<Vec<_>>>()? }).to_string().into_bytes())
    }),
    ("go-vcr", |session| yaml(session, "interactions", go_vcr)),
    ("Ruby VCR", |session| yaml(session, "http_interactions", ruby_vcr)),
    ("httpmock", |session| Some(session.iter().map(httpmock).collect::<Vec<_>>().join("---\n").into_bytes())),
    ("opencode", |session| {
        let entry =
            |one: &Written| Some(json!({ "transport": "http", "request": request(one, "url")?, "response": encoded(one, "bodyEncoding") }));
        let entries = session.iter().map(entry).collect::<Option<Vec<_>>>()?;
        Some(json!({ "version": 1, "metadata": {}, "interactions": entries }).to_string().into_bytes())
    }),
    ("Anthropic SDK", |session| {
        let response = |one: &Written| Some(json!({ "status_code": one.status, "headers": map(&one.headers), "body": text(&one.answer)? }));
        let entry = |one: &Written| Some(json!({ "request": request(one, "url")?, "response": response(one)? }));
        Some(serde_json::to_vec_pretty(&session.iter().map(entry).collect::<Option<Vec<_>>>()?).unwrap())
    }),
    ("pairs, a line each", |session| {
        let entry = |one: &Written| Some(json!({ "request": request(one, "url")?, "response": encoded(one, "body_encoding") }).to_string());
        Some(session.iter().map(entry).collect::<Option<Vec<_>>>()?.join("\n").into_bytes())
    }),
    ("pairs in a list", |session| {
        let entry = |one: &Written| Some(json!({ "request": request(one, "url")?, "response": vcrpy_response(one)? }));
        Some(serde_json::to_vec_pretty(&session.iter().map(entry).collect::<Option<Vec<_>>>()?).unwrap())
    }),
    ("claude-trace", |session| {
        let line = |(at, one): (usize, &Written)| {
            let mut request = request(one, "url")?;
            request["timestamp"] = json!(at);
            let response =
                json!({ "timestamp": at, "status_code": one.status, "headers": map(&one.headers), "body_raw": text(&one.answer)? });
            Some(json!({ "request": request, "response": response, "logged_at": at }).to_string())
        };
        Some(session.iter().enumerate().map(line).collect::<Option<Vec<_>>>()?.join("\n").into_bytes())
    }),
    ("HAR", |session| {
        let entry = |(at, one): (usize, &Written)| {
            let request = json!({
                "method": "POST", "url": one.url, "headers": pairs(&one.request_headers),
                "postData": { "mimeType": "application/json", "text": text(&one.request)? },
            });
            let content = match text(&one.answer) {
                Some(text) => json!({ "text": text }),
                None => json!({ "text": STANDARD.encode(&one.answer), "encoding": "base64" }),
            };
            let response = json!({ "status": one.status, "headers": pairs(&one.headers), "content": content });
            Some(json!({ "startedDateTime": format!("2026-03-02T09:15:0{at}Z"), "request": request, "response": response, "timings": {} }))
        };
        let entries = session.iter().enumerate().map(entry).collect::<Option<Vec<_>>>()?;
        Some(json!({ "log": { "version": "1.2", "entries": entries } }).to_string().into_bytes())
    }),
    ("httprr", |session| {
        let head = |first: String, headers: &[(&str, String)], body: &[u8]| {
            let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
            [format!("{first}\r\n{headers}\r\n").as_bytes(), body].concat()
        };
        let mut out = b"httprr trace v1\n".to_vec();
        for one in session {
            let request = head(format!("POST {} HTTP/1.1", one.url), &one.request_headers, &one.request);
            let response = head(format!("HTTP/2.0 {} X", one.status), &one.headers, &one.answer);
            out.extend([format!("{} {}\n", request.len(), response.len()).as_bytes(), &request, &response].concat());
        }
        Some(out)
    }),
];

fn text(body: &[u8]) -> Option<&str> {
    std::str::from_utf8(body).ok()
}

fn map(headers: &[(&str, String)]) -> serde_json::Value {
    headers.iter().map(|(name, value)| ((*name).to_owned(), json!([value]))).collect::<serde_json::Map<_, _>>().into()
}

fn pairs(headers: &[(&str, String)]) -> serde_json::Value {
    headers.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect()
}

fn request(one: &Written, url: &str) -> Option<serde_json::Value> {
    let mut request = json!({ "method": "POST", "headers": map(&one.request_headers), "body": text(&one.request)? });
    request[url] = json!(one.url);
    Some(request)
}

fn vcrpy_response(one: &Written) -> Option<serde_json::Value> {
    Some(json!({ "status": { "code": one.status }, "headers": map(&one.headers), "body": { "string": text(&one.answer)? } }))
}

fn encoded(one: &Written, name: &str) -> serde_json::Value {
    let mut response = json!({ "status": one.status, "headers": map(&one.headers) });
    match text(&one.answer) {
        Some(text) => response["body"] = json!(text),
        None => {
            response["body"] = json!(STANDARD.encode(&one.answer));
            response[name] = json!("base64");
        }
    }
    response
}

fn yaml(session: &[Written], list: &str, entry: fn(&Written) -> String) -> Option<Vec<u8>> {
    Some(format!("{list}:\n{}version: 1\n", session.iter().map(entry).collect::<String>()).into_bytes())
}

/// A body as YAML: what is not text as `!!binary`, broken into lines.
fn scalar(body: &[u8]) -> String {
    match text(body) {
        Some(text) => json!(text).to_string(),
        None => {
            let packed = STANDARD.encode(body);
            let lines: Vec<_> =
                packed.as_bytes().chunks(60).map(|line| format!("          {}", std::str::from_utf8(line).unwrap())).collect();
            format!("!!binary |\n{}", lines.join("\n"))
        }
    }
}

fn yaml_headers(headers: &[(&str, String)]) -> String {
    let headers: Vec<_> = headers.iter().map(|(name, value)| format!("{name}: [{value:?}]")).collect();
    format!("{{{}}}", headers.join(", "))
}

fn vcrpy(one: &Written) -> String {
    format!(
        "- request:\n    body: {}\n    headers: {}\n    method: POST\n    uri: {}\n  response:\n    body:\n      string: {}\n    headers: {}\n    status: {{code: {}}}\n",
        scalar(&one.request),
        yaml_headers(&one.request_headers),
        one.url,
        scalar(&one.answer),
        yaml_headers(&one.headers),
        one.status
    )
}

fn go_vcr(one: &Written) -> String {
    format!(
        "- id: 0\n  request:\n    body: {}\n    headers: {}\n    url: {}\n    method: POST\n  response:\n    body: {}\n    headers: {}\n    status: {} OK\n    code: {}\n",
        scalar(&one.request),
        yaml_headers(&one.request_headers),
        one.url,
        scalar(&one.answer),
        yaml_headers(&one.headers),
        one.status,
        one.status
    )
}

fn ruby_vcr(one: &Written) -> String {
    let body = |body: &[u8]| match text(body) {
        Some(_) => format!("{{encoding: UTF-8, string: {}}}", scalar(body)),
        None => format!("{{encoding: ASCII-8BIT, base64_string: {}}}", STANDARD.encode(body)),
    };
    format!(
        "- request:\n    method: post\n    uri: {}\n    body: {}\n    headers: {}\n  response:\n    status: {{code: {}, message: X}}\n    headers: {}\n    body: {}\n",
        one.url,
        body(&one.request),
        yaml_headers(&one.request_headers),
        one.status,
        yaml_headers(&one.headers),
        body(&one.answer)
    )
}

fn httpmock(one: &Written) -> String {
    let body = |body: &[u8]| match text(body) {
        Some(_) => format!("body: {}", scalar(body)),
        None => format!("body: {}\n  body_encoding: base64", STANDARD.encode(body)),
    };
    let headers = |headers: &[(&str, String)]| -> String {
        headers.iter().map(|(name, value)| format!("\n    - {{name: {name:?}, value: {value:?}}}")).collect()
    };
    let (_, path) = one.url.split_once("x.example").unwrap();
    format!(
        "when:\n  path: {path:?}\n  method: POST\n  header: {}\n  {}\nthen:\n  status: {}\n  header: {}\n  {}\n",
        headers(&one.request_headers),
        body(&one.request),
        one.status,
        headers(&one.headers),
        body(&one.answer)
    )
}

/// `name, way and coding` with the file, for each that there is.
pub(super) fn files() -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for (name, format) in &FORMATS {
        for way in WAYS {
            for coding in &CODINGS {
                let file = format(&written(way, coding));
                files.extend(file.map(|file| (format!("{name}, {way:?}, {}", coding.0), file)));
            }
        }
    }
    files
}

#[test]
fn k_5_a_session_in_every_form_is_the_same_tape() {
    let session = session();
    let files = files();
    assert!(files.len() > 400, "{}", files.len());
    for (name, file) in &files {
        let packed = [file.clone(), gzip(file), [b"\xef\xbb\xbf", &file[..]].concat()];
        // Packed files are read the same way whatever is in them.
        let count = if name.ends_with("Api, plain") { 3 } else { 1 };
        for bytes in &packed[..count] {
            let imported = import_bytes(Path::new("x"), bytes, &options()).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(imported.left_out, [] as [&str; 0], "{name}");
            assert_eq!(imported.exchanges.len(), session.len(), "{name}");
            for (exchange, turn) in imported.tape().exchanges.iter().zip(&session) {
                assert_eq!((&*exchange.method, &*exchange.path), ("POST", "/v1/messages"), "{name}");
                assert_eq!(String::from_utf8_lossy(&exchange.body), turn.whole_request(), "{name}");
                assert_eq!(String::from_utf8(exchange.answer.body()).unwrap(), turn.answer, "{name}");
                assert_eq!((exchange.answer.status, exchange.answer.is_event_stream()), (turn.status, turn.streams), "{name}");
            }
        }
    }
}
