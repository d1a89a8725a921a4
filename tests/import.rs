//! Recordings become tapes (K-5): the samples beside this file. Real recordings are in `recordings`, what is made up by a program in `forms`.

#[path = "import/broken.rs"]
mod broken;
#[path = "import/clients.rs"]
mod clients;
#[path = "import/ends.rs"]
mod ends;
#[cfg(target_os = "linux")]
#[path = "import/force.rs"]
mod force;
#[path = "import/forms.rs"]
mod forms;
#[path = "import/memory.rs"]
mod memory;
#[path = "import/recordings.rs"]
mod recordings;

use std::path::Path;
use std::sync::{Arc, LazyLock};

use ends::OTHER_ENDS;
use reenact::engine::agent_loop::AgentLoop;
use reenact::files::atomic::ExistingFile;
use reenact::files::recording::RecordingFormat;
use reenact::files::tape;
use reenact::import::{ImportError, ImportOptions, ImportedRecording, WriteImportError, import_bytes, import_file, write};
use reenact::redact::RedactionRules;
use reenact::redact::scan::scan;
use reenact::scenario::parse;
use reenact::scenario::tape::line::encode;
use reenact::scenario::tape::{Provenance, ResponseEnd};
use reenact::sim::Run;
use reenact::transcript::text::DetailLevel;
use reenact::wire::sse::SseFramer;
use reenact::world::setup::RunSetup;

static RULES: LazyLock<Arc<RedactionRules>> = LazyLock::new(|| RedactionRules::with(&[]).unwrap());

fn options() -> ImportOptions {
    ImportOptions::with(&RULES)
}

fn sample(name: &str) -> ImportedRecording {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples").join(name);
    import_file(&path, &options()).unwrap_or_else(|error| panic!("{error}"))
}

/// `method path thread<parent status end_at names of the answer's events`
fn summary(imported: &ImportedRecording) -> Vec<String> {
    let line = |exchange: &reenact::scenario::tape::Exchange| {
        let parent = exchange.parent.map_or(String::new(), |parent| format!("<{parent}"));
        let times =
            [exchange.at, exchange.answer.head_at, exchange.answer.end_at].map(|at| at.map_or(String::from("-"), |at| at.0.to_string()));
        let events = events(&exchange.answer.body());
        format!(
            "{} {} {}{parent} {} {} {}",
            exchange.method,
            exchange.path,
            exchange.thread,
            exchange.answer.status,
            times.join(" "),
            if exchange.answer.is_event_stream() { format!("{} events", events.len()) } else { String::from("no stream") }
        )
    };
    imported.tape().exchanges.iter().map(line).collect()
}

fn events(body: &[u8]) -> Vec<String> {
    let mut events = Vec::new();
    let mut framer = SseFramer::new();
    framer.feed(body, &mut |frame| events.push(frame.event.to_string())).unwrap();
    framer.finish();
    events
}

/// Writes the tape and reads it again: every byte that was imported comes back (F-3).
fn survives_a_file(imported: &ImportedRecording) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.tape.jsonl");
    tape::write(&path, &imported.tape()).unwrap();
    let read = tape::read(&path).unwrap();
    assert_eq!(read, imported.tape());
    let text = std::fs::read_to_string(&path).unwrap();
    for secret in ["sample-key-that-must-not-stay", "sample-organisation", "session=sample"] {
        assert!(!text.contains(secret), "{secret}");
    }
}

/// Writes the files of an import, runs each scenario from its file as a stranger would, and says how it went: the run's end, and what a strict
/// comparison of its requests with the recorded ones finds.
fn replayed(imported: &ImportedRecording) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let written = write(imported, &folder.path().join("deep/er/x"), ExistingFile::IsAnError).unwrap();
    assert!(matches!(write(imported, &folder.path().join("deep/er/x"), ExistingFile::IsAnError), Err(WriteImportError::Exists(_))));
    let tape = tape::read(&written.tape).unwrap();
    let mut ends = Vec::new();
    for (number, path) in written.scenarios.iter().enumerate() {
        let text = std::fs::read_to_string(path).unwrap();
        let parsed = parse::scenario("x.toml", &text, &[("matching.strict".into(), "true".into())])
            .unwrap_or_else(|faults| panic!("{faults}\n{text}"));
        let report = Run::new(RunSetup::new(parsed.scenario, Some(&tape)).unwrap().into(), AgentLoop::default()).to_end();
        let is_announced = written.problems.iter().any(|(of, _)| *of == number);
        assert_eq!(is_announced, !report.failures.is_empty(), "{:?}: {:?}", written.problems, report.failures);
        assert_eq!(is_announced, text.contains("\n# A replay fails: "), "{text}");
        ends.push(format!("{}: {}", report.terminal(), report.failures.join("; ")));
        if std::env::args().any(|argument| argument == "--nocapture") {
            println!("{}\n{}", text, report.text(DetailLevel::Normal));
        }
    }
    ends
}

/// Replays, and compares with what [`OTHER_ENDS`] says of this file.
fn replays_as_expected(name: &str, imported: &ImportedRecording) {
    let ends = replayed(imported);
    println!("{name}: replays to {ends:#?}");
    match OTHER_ENDS.iter().find(|(part, _)| name.contains(part)) {
        None => ends.iter().for_each(|end| assert_eq!(end, "completed: ", "{name}")),
        Some((_, expected)) => {
            assert_eq!(ends.len(), expected.len(), "{name}: {ends:?}");
            for (end, (terminal, complaint)) in ends.iter().zip(*expected) {
                let (ended, complaints) = end.split_once(": ").unwrap();
                assert_eq!(ended, *terminal, "{name}: {end}");
                assert!(complaints.contains(complaint) && complaint.is_empty() == complaints.is_empty(), "{name}: {end}");
            }
        }
    }
}

const SAMPLES: [&str; 20] = [
    "sample.vcrpy.yaml",
    "sample.vcrpy-gzip.yaml",
    "sample.vcrpy-parsed.yaml",
    "sample.go-vcr.yaml",
    "sample.ruby-vcr.yml",
    "sample.httpmock.yaml",
    "sample.har",
    "sample.opencode.json",
    "sample.anthropic-sdk.json",
    "sample.claude-trace.jsonl",
    "sample.chunks.txt",
    "sample.sse",
    "sample.vcrpy.yaml.gz",
    "sample.aiohttp.yaml",
    "sample.vertex.yaml",
    "sample.bedrock.yaml",
    "sample.pairs.json",
    "sample.httprr",
    "sample.message.json",
    "sample.answer.json",
];

#[test]
fn k_4_an_imported_session_replays_without_a_difference() {
    for name in SAMPLES {
        replays_as_expected(name, &sample(name));
    }
}

/// An answer that comes back changed is sent changed by a replay, too. The comparison has teeth: sent in yet another way it is a difference.
#[test]
fn k_4_an_answer_that_comes_back_changed_is_sent_back_changed() {
    let table = [
        ("sample.ruby-vcr.yml", r#"harbour":"Samplehaven"#, r#"harbour":"Otherhaven"#, "Otherhaven"),
        ("sample.httpmock.yaml", r#"harbour":"Samplehaven"#, r#"harbour":"Otherhaven"#, "Otherhaven"),
        ("sample.opencode.json", r#"harbour\":\"Samplehaven"#, r#"harbour\":\"Otherhaven"#, "Otherhaven"),
        ("sample.claude-trace.jsonl", "I'll read it.", "I'll not read it.", "I'll not read it."),
    ];
    for (name, from, to, sent) in table {
        let imported = changed(name, from, to).unwrap();
        let ends = replayed(&imported);
        assert_eq!(ends[0], "completed: ", "{name}");
        let folder = tempfile::tempdir().unwrap();
        let written = write(&imported, &folder.path().join("x"), ExistingFile::IsAnError).unwrap();
        let text = std::fs::read_to_string(&written.scenarios[0]).unwrap();
        assert!(text.contains("place = \"instead\"") && text.contains("back changed") && text.contains(sent), "{name}: {text}");
        let tape = tape::read(&written.tape).unwrap();
        let otherwise = parse::scenario("x.toml", &text.replace(sent, "in another way"), &[]).unwrap();
        let report = Run::new(RunSetup::new(otherwise.scenario, Some(&tape)).unwrap().into(), AgentLoop::default()).to_end();
        assert!(report.failures.iter().any(|failure| failure.contains("differs from the recorded one")), "{name}: {:?}", report.failures);
    }
}

/// A sample with its text changed; the text must be there.
fn changed(name: &str, from: &str, to: &str) -> Result<ImportedRecording, ImportError> {
    changed_with(name, from, to, &options())
}

fn changed_with(name: &str, from: &str, to: &str, options: &ImportOptions) -> Result<ImportedRecording, ImportError> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{name} does not hold {from}");
    import_bytes(Path::new("x"), text.replace(from, to).as_bytes(), options)
}

#[test]
fn k_5_each_format_gives_its_exchanges() {
    let loop_of_two = ["POST /v1/messages main 200 - - - 13 events", "POST /v1/messages main<1 200 - - - 8 events"];
    for (name, format) in [("sample.vcrpy.yaml", RecordingFormat::Vcrpy), ("sample.vcrpy-gzip.yaml", RecordingFormat::Vcrpy)] {
        let imported = sample(name);
        assert_eq!((imported.format, &*summary(&imported)), (format, &loop_of_two.map(String::from)[..]), "{name}");
        assert_eq!(imported.header.upstream.as_deref(), Some("api.sample.example"));
        assert_eq!(imported.header.recorded_at.as_deref(), Some("Mon, 02 Mar 2026 09:15:00 GMT"));
        survives_a_file(&imported);
    }
    let go = sample("sample.go-vcr.yaml");
    assert_eq!(summary(&go), ["POST /v1/messages main 200 - - 1588000 13 events", "POST /v1/messages main<1 200 - - 968500 8 events"]);
    let parsed = sample("sample.vcrpy-parsed.yaml");
    assert_eq!(
        summary(&parsed),
        [
            "POST /v1/messages?beta=true main 529 - - - no stream",
            "POST /v1/messages?beta=true main<1 200 - - - 13 events",
            "POST /v1/messages?beta=true main<2 200 - - - 8 events"
        ]
    );
    let har = sample("sample.har");
    assert_eq!(
        summary(&har),
        [
            "POST /v1/messages main 200 0 800000 1400000 13 events",
            "POST /v1/messages main<1 200 2500000 600000 640000 8 events",
            "POST /v1/messages main<2 200 60250000 - 500000 7 events"
        ]
    );
    assert_eq!(har.header.recorded_at.as_deref(), Some("2026-03-02T09:15:00.000Z"));
    let sse = sample("sample.sse");
    assert_eq!(summary(&sse), ["POST /v1/messages main 200 - - - 12 events"]);
    let chunks = sample("sample.chunks.txt");
    assert_eq!(summary(&chunks), ["POST /v1/messages main 200 - - - 7 events", "POST /v1/messages main 200 - - - 7 events"]);
    SAMPLES.iter().for_each(|name| survives_a_file(&sample(name)));
}

#[test]
fn k_5_cassettes_of_other_recorders_give_their_exchanges() {
    let loop_of_two = |path: &str| [format!("POST {path} main 200 - - - 9 events"), format!("POST {path} main<1 200 - - - 8 events")];
    let table = [
        ("sample.httpmock.yaml", RecordingFormat::Httpmock, "/v1/messages?beta=true", None, None),
        ("sample.opencode.json", RecordingFormat::Opencode, "/v1/messages", Some("api.sample.example"), Some("2026-03-02T09:15:00.000Z")),
    ];
    for (name, format, path, host, when) in table {
        let imported = sample(name);
        assert_eq!((imported.format, &*summary(&imported)), (format, &loop_of_two(path)[..]), "{name}");
        assert_eq!((imported.header.upstream.as_deref(), imported.header.recorded_at.as_deref()), (host, when), "{name}");
    }
    let ruby = sample("sample.ruby-vcr.yml");
    assert_eq!(summary(&ruby)[..2], loop_of_two("/v1/messages"));
    assert_eq!(summary(&ruby)[2], "POST /v1/messages main<2 200 - - - 7 events");
    assert_eq!(ruby.header.recorded_at.as_deref(), Some("Mon, 02 Mar 2026 09:15:02 GMT"));
    let same = sample("sample.vcrpy.yaml");
    for (name, format) in [
        ("sample.vcrpy.yaml.gz", RecordingFormat::Vcrpy),
        ("sample.aiohttp.yaml", RecordingFormat::Vcrpy),
        ("sample.vertex.yaml", RecordingFormat::GoVcr),
        ("sample.bedrock.yaml", RecordingFormat::Vcrpy),
        ("sample.pairs.json", RecordingFormat::Pairs),
        ("sample.httprr", RecordingFormat::Httprr),
    ] {
        let imported = sample(name);
        assert_eq!(imported.format, format, "{name}");
        for (exchange, known) in imported.tape().exchanges.iter().zip(&same.tape().exchanges) {
            assert_eq!(
                (&*exchange.path, exchange.parent, exchange.answer.body()),
                ("/v1/messages", known.parent, known.answer.body()),
                "{name}"
            );
        }
        assert_eq!(imported.exchanges.len(), 2, "{name}");
    }
    let sdk = sample("sample.anthropic-sdk.json");
    assert_eq!(
        summary(&sdk),
        [
            "POST /v1/messages main 429 - - - no stream",
            "POST /v1/messages main<1 429 - - - no stream",
            "POST /v1/messages main<2 200 - - - 8 events"
        ]
    );
}

/// Requests that were under way together, a side call, and one that never got an answer.
#[test]
fn k_5_a_claude_trace_log_is_put_in_the_order_of_its_requests() {
    let trace = sample("sample.claude-trace.jsonl");
    let expected = [
        "POST /v1/messages?beta=true main 200 0 900000 2400000 13 events",
        "POST /v1/messages?beta=true thread-2 200 100000 500000 650000 no stream",
        "POST /v1/messages?beta=true main<1 200 3150000 800000 1500000 7 events",
        "POST /v1/messages?beta=true main<3 200 30000000 500000 900000 6 events",
        "POST /v1/messages?beta=true thread-3 0 31000000 - 2500000 no stream",
    ];
    assert_eq!(summary(&trace), expected);
    assert_eq!(trace.tape().exchanges[4].answer.end, ResponseEnd::ClientGone);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples/sample.claude-trace.jsonl");
    let text = std::fs::read_to_string(path).unwrap();
    let import = |text: &str| import_bytes(Path::new("x"), text.as_bytes(), &options()).unwrap();
    let backwards: Vec<&str> = text.lines().rev().collect();
    assert_eq!(import(&backwards.join("\n")).tape().exchanges, trace.tape().exchanges);
    assert_eq!(import(&format!("[{}]", backwards.join(","))).tape().exchanges, trace.tape().exchanges);
    // The program was killed while it wrote the last line.
    let cut = import(&text[..text.len() - 9]);
    assert_eq!(cut.tape().exchanges, trace.tape().exchanges[..4]);
    assert!(cut.header.lost.contains(&String::from("the last line, which is cut")));
}

#[test]
fn k_5_what_is_lost_is_said() {
    let lost = |name: &str| sample(name).header.lost.join(", ");
    assert_eq!(lost("sample.vcrpy.yaml"), "chunk times, packet boundaries, request times, response times");
    assert_eq!(lost("sample.vcrpy-gzip.yaml"), "chunk times, compressed bytes (gzip), packet boundaries, request times, response times");
    assert!(lost("sample.vcrpy-parsed.yaml").contains("request key order, request times, response key order, response times"));
    assert_eq!(lost("sample.go-vcr.yaml"), "chunk times, headers, packet boundaries, request times");
    assert_eq!(lost("sample.har"), "chunk times, packet boundaries, requests to other services (1)");
    assert_eq!(lost("sample.sse"), "chunk times, headers, packet boundaries, request times, requests, response times, status");
    assert_eq!(lost("sample.ruby-vcr.yml"), "chunk times, packet boundaries, request times, response times");
    assert_eq!(lost("sample.httpmock.yaml"), "chunk times, host, packet boundaries, request times, response times");
    assert_eq!(lost("sample.opencode.json"), "chunk times, packet boundaries, request times, response times, web sockets (1)");
    assert!(lost("sample.anthropic-sdk.json").contains("request JSON as it was spelt, request times, response JSON as it was spelt"));
    assert!(lost("sample.claude-trace.jsonl").ends_with("response JSON as it was spelt, the spelling of events: padding and comments"));
    assert!(lost("sample.chunks.txt").contains("event lines, headers, packet boundaries, padding"));
}

#[test]
fn k_5_the_bytes_are_those_of_the_recording() {
    let file = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples/sample.sse")).unwrap();
    assert_eq!(sample("sample.sse").tape().exchanges[0].answer.body(), file);
    // The same loop in two recorders' words, but for the ids.
    let body = |name: &str, exchange: usize| String::from_utf8(sample(name).tape().exchanges[exchange].answer.body()).unwrap();
    assert_eq!(body("sample.vcrpy.yaml", 0), body("sample.vcrpy-gzip.yaml", 0).replace("sample_gzip", "sample_vcrpy"));
    assert_eq!(body("sample.vcrpy.yaml", 1), body("sample.go-vcr.yaml", 1).replace("sample_govcr", "sample_vcrpy"));
    assert!(body("sample.vcrpy.yaml", 0).contains("data: {\"type\": \"ping\"}\n"));
    let chunks = body("sample.chunks.txt", 1);
    assert!(
        chunks.starts_with("event: message_start\ndata: {\"type\":\"message_start\",")
            && chunks.ends_with("{\"type\":\"message_stop\"}\n\n")
    );
}

#[test]
fn f_12_provenance_is_what_the_importer_is_told() {
    let options = ImportOptions { provenance: Provenance::Written, ..options() };
    let imported = import_bytes(Path::new("x"), b"data: {}\n\n", &options).unwrap();
    assert_eq!(imported.tape().exchanges[0].provenance, Provenance::Written);
}

#[test]
fn k_5_errors_name_the_place_and_the_way_out() {
    let message = |bytes: &[u8]| import_bytes(Path::new("x.yaml"), bytes, &options()).unwrap_err().to_string();
    assert!(
        message(b"{\"fixtures\":[]}")
            .starts_with("x.yaml: recognised as aimock fixtures, which this version does not import: import a cassette")
    );
    assert!(message(b"{\"type\":\"message_start\"}\n{\"type\":}\n").starts_with("x.yaml:2:9: not valid JSON: "));
    assert!(message(b"interactions:\n- request: {uri: u}\n  response: [}\n").starts_with("x.yaml:3:"));
    assert!(message(b"interactions:\n- request: {uri: \"\xff\"}\n  response: {}\n").starts_with("x.yaml:2:19: not valid UTF-8"));
    assert!(message(b"{\"reenact_tape\":1}\n").contains("a tape already"));
    assert!(message(b" \n").contains("empty") && message(b"hello").contains("not a known kind of recording"));
    assert!(matches!(import_file(Path::new("/nonexistent/x"), &options()), Err(ImportError::Read { .. })));
}

#[test]
fn k_5_an_import_that_finds_nothing_says_what_it_found() {
    let message = |bytes: &[u8]| import_bytes(Path::new("x"), bytes, &options()).unwrap_err().to_string();
    let page = |format: &str, found: &str| {
        format!(
            "x: {format}, and nothing in it can be replayed:\n  {found}\nonly exchanges with Anthropic's Messages API can be replayed, also on \
             Vertex AI, on Bedrock or behind a gateway: record such a session with `reenact record --upstream URL --out NAME.tape.jsonl -- COMMAND…`"
        )
    };
    let chat = r#"{"request":{"url":"https://api.openai.com/v1/chat/completions"},"response":{"status":200,"body":"{}"}}"#;
    assert_eq!(
        message(format!("[{chat},{chat}]").as_bytes()),
        page("requests with their responses", "2 exchanges with OpenAI Chat Completions: not supported")
    );
    assert_eq!(
        message(b"interactions:\n- request: {uri: /v1/messages}\n  response: {body: {string: x}}\n"),
        page("a vcrpy cassette", "interactions[0]: the answer has no HTTP status")
    );
    assert_eq!(message(b"interactions: []\n"), page("a vcrpy cassette", "no exchange at all"));
    let counts = b"{\"request\":{\"url\":\"/v1/messages/count_tokens\"},\"response\":{\"status\":200}}";
    assert_eq!(message(counts), page("requests with their responses", "1 exchange with other endpoints of the API"));
    let stream = b"data: {\"type\":\"response.created\"}\n\n";
    assert_eq!(message(stream), page("a raw event stream", "1 exchange with OpenAI Responses: not supported"));
    let lines = b"{\"object\":\"chat.completion.chunk\"}\n{\"object\":\"chat.completion.chunk\"}\n";
    assert!(message(lines).contains("1 exchange with OpenAI Chat Completions"), "a stream is one exchange");
}

#[test]
fn k_5_each_reader_names_the_entry_that_is_wrong() {
    const STATUS: &str = "the answer has no HTTP status";
    let table = [
        ("sample.ruby-vcr.yml", "status: 200", "status: fine", "http_interactions[2]: the answer has no HTTP status"),
        ("sample.ruby-vcr.yml", "base64_string: ", "base64_string: '?' #", "http_interactions[2]: the body is not base64"),
        ("sample.ruby-vcr.yml", "!binary |-\n        Z", "!binary |-\n        ?", "not valid YAML: `!!binary` that is not base64"),
        (
            "sample.httpmock.yaml",
            "  body_encoding: base64",
            "  body_encoding: rot13",
            "document 2: the body has an unknown encoding: rot13",
        ),
        ("sample.httpmock.yaml", "---\nwhen:", "---\nwhere:", "document 2: it is not an exchange of a known form"),
        ("sample.opencode.json", r#""status": 200"#, r#""status": "no""#, STATUS),
        (
            "sample.opencode.json",
            r#""transport": "http""#,
            r#""transport": "websocket""#,
            "an opencode http recording, and nothing in it can be replayed:\n  web sockets (3)",
        ),
        ("sample.anthropic-sdk.json", r#""status_code": 200"#, r#""status_code": {}"#, "[2]: the answer has no HTTP status"),
        ("sample.claude-trace.jsonl", r#""status_code":200"#, r#""status_code":[]"#, STATUS),
        ("sample.claude-trace.jsonl", r#""body_raw":"#, r#""body_raw";"#, "line 2: not valid JSON: "),
        ("sample.claude-trace.jsonl", r#","logged_at""#, r#","events":[{}]},"logged_at""#, "line 1: not valid JSON: "),
    ];
    for (name, from, to, problem) in table {
        let message = match changed(name, from, to) {
            Ok(imported) => imported.left_out.join("\n"),
            Err(error) => error.to_string(),
        };
        assert!(message.contains(problem), "{name}: {message}");
    }
}

/// A key that stands in prompts and, in fragments, in the inputs of tools.
const KEY: &str = "sk-ant-api03-Samplehaven";

/// The samples that speak of Samplehaven as text that is not encoded.
const WITH_KEY: [&str; 7] = [
    "sample.vcrpy.yaml",
    "sample.vcrpy-parsed.yaml",
    "sample.go-vcr.yaml",
    "sample.httpmock.yaml",
    "sample.har",
    "sample.opencode.json",
    "sample.sse",
];

/// The bodies of an import, one after another.
fn bodies(imported: &ImportedRecording) -> String {
    let of = |exchange: &reenact::scenario::tape::Exchange| [exchange.body.to_vec(), exchange.answer.body()];
    String::from_utf8(imported.tape().exchanges.iter().flat_map(of).collect::<Vec<_>>().concat()).unwrap()
}

#[test]
fn k_2_a_secret_in_a_body_is_replaced_and_nothing_else_altered() {
    for name in WITH_KEY {
        let planted = |options: &ImportOptions| changed_with(name, "Sample", "sk-ant-api03-Sample", options).unwrap();
        let (redacted, kept) = (planted(&options()), planted(&ImportOptions { keep_bodies: true, ..options() }));
        let (after, before) = (bodies(&redacted), bodies(&kept));
        let at = after.find("REDACTED").unwrap_or_else(|| panic!("{name}: {after}"));
        let placeholder = format!("{:x<length$}", &after[at..at + 14], length = KEY.len());
        let (beginning, end) = placeholder.split_at("sk-ant-api03-Sample".len());
        let expected = before.replace(KEY, &placeholder).replace("sk-ant-api03-Sample", beginning).replace("haven", end);
        assert_eq!(after, expected, "{name}");
        assert!(before.contains("sk-ant-api03-Sample\"") || name.contains("parsed"), "{name}: in fragments, too");
        assert!(redacted.redacted.contains_key("anthropic-key") && !kept.redacted.contains_key("anthropic-key"), "{name}");
        assert!(redacted.header.redactions.contains(&String::from("anthropic-key")), "{name}");
        assert_eq!(scan(encode(&redacted.tape()).as_bytes(), &RULES).findings, [], "{name}");
        assert_ne!(scan(encode(&kept.tape()).as_bytes(), &RULES).findings, [], "{name}");
        // What was replaced is replaced wherever it comes back, so that requests are still what they were.
        replays_as_expected(name, &redacted);
    }
}

#[test]
fn k_2_the_key_of_a_header_is_looked_for_in_bodies() {
    for name in ["sample.vcrpy.yaml", "sample.har"] {
        let planted = |options: &ImportOptions| changed_with(name, "You read", "sample-key-that-must-not-stay reads", options).unwrap();
        let redacted = planted(&options());
        survives_a_file(&redacted);
        assert!(redacted.header.redactions.contains(&String::from("sent-as-header")), "{name}: {:?}", redacted.header);
        assert!(bodies(&planted(&ImportOptions { keep_bodies: true, ..options() })).contains("sample-key-that-must-not-stay"), "{name}");
    }
}

#[test]
fn k_2_what_holds_no_secret_is_imported_as_it_is() {
    for name in SAMPLES {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples").join(name);
        let kept = import_file(&path, &ImportOptions { keep_bodies: true, ..options() }).unwrap();
        match name {
            // It names a user.
            "sample.claude-trace.jsonl" => {
                assert_eq!(bodies(&sample(name)), bodies(&kept).replace("user_sample", "RX000001xxx"));
            }
            _ => assert_eq!(sample(name), kept, "{name}"),
        }
    }
}
