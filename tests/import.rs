//! Recordings become tapes (K-5): the samples beside this file, and, where it is there, a folder of real recordings.
//!
//! The folder is `../shared/recordings`, or what `REENACT_RECORDINGS` names; without it those tests say loudly that they were skipped.

use std::path::{Path, PathBuf};

use reenact::engine::agent_loop::AgentLoop;
use reenact::files::import::{Format, ImportError, ImportOptions, Imported, WriteImportError, import_bytes, import_file, write};
use reenact::files::tape;
use reenact::scenario::parse;
use reenact::scenario::tape::Provenance;
use reenact::sim::Run;
use reenact::transcript::text::Detail;
use reenact::world::setup::Setup;
use reenact::wire::sse::Framer;

fn sample(name: &str) -> Imported {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples").join(name);
    import_file(&path, &ImportOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// `method path thread<parent status end_at names of the answer's events`
fn summary(imported: &Imported) -> Vec<String> {
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
    imported.tape.exchanges.iter().map(line).collect()
}

fn events(body: &[u8]) -> Vec<String> {
    let mut events = Vec::new();
    let mut framer = Framer::new();
    framer.feed(body, &mut |frame| events.push(frame.event.to_string())).unwrap();
    framer.finish();
    events
}

/// Writes the tape and reads it again: every byte that was imported comes back (F-3).
fn survives_a_file(imported: &Imported) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.tape.jsonl");
    tape::write(&path, &imported.tape).unwrap();
    let read = tape::read(&path).unwrap();
    assert_eq!(read, imported.tape);
    let text = std::fs::read_to_string(&path).unwrap();
    for secret in ["sample-key-that-must-not-stay", "sample-organisation", "session=sample"] {
        assert!(!text.contains(secret), "{secret}");
    }
}

/// Writes the files of an import, runs each scenario from its file as a stranger would, and says how it went: the run's end, and what a strict
/// comparison of its requests with the recorded ones finds.
fn replayed(imported: &Imported) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let written = write(imported, &folder.path().join("deep/er/x")).unwrap();
    assert!(matches!(write(imported, &folder.path().join("deep/er/x")), Err(WriteImportError::Exists(_))));
    let tape = tape::read(&written.tape).unwrap();
    let mut ends = Vec::new();
    for path in &written.scenarios {
        let text = std::fs::read_to_string(path).unwrap();
        let parsed = parse::scenario("x.toml", &text, &[("matching.strict".into(), "true".into())]).unwrap_or_else(|faults| panic!("{faults}\n{text}"));
        let report = Run::new(Setup::new(parsed.scenario, Some(&tape)).unwrap().into(), AgentLoop::default()).to_end();
        ends.push(format!("{}: {}", report.terminal(), report.failures.join("; ")));
        if std::env::args().any(|argument| argument == "--nocapture") {
            println!("{}\n{}", text, report.text(Detail::Normal));
        }
    }
    ends
}

#[test]
fn k_4_an_imported_session_replays_without_a_difference() {
    for name in ["sample.vcrpy.yaml", "sample.vcrpy-gzip.yaml", "sample.vcrpy-parsed.yaml", "sample.go-vcr.yaml", "sample.har"] {
        assert_eq!(replayed(&sample(name)), ["completed: "], "{name}");
    }
    assert_eq!(replayed(&sample("sample.chunks.txt")), ["completed: "]);
}

#[test]
fn k_5_each_format_gives_its_exchanges() {
    let loop_of_two = ["POST /v1/messages main 200 - - - 13 events", "POST /v1/messages main<1 200 - - - 8 events"];
    for (name, format) in [("sample.vcrpy.yaml", Format::Vcrpy), ("sample.vcrpy-gzip.yaml", Format::Vcrpy)] {
        let imported = sample(name);
        assert_eq!((imported.format, &*summary(&imported)), (format, &loop_of_two.map(String::from)[..]), "{name}");
        assert_eq!(imported.tape.header.upstream.as_deref(), Some("api.sample.example"));
        assert_eq!(imported.tape.header.recorded_at.as_deref(), Some("Mon, 02 Mar 2026 09:15:00 GMT"));
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
    assert_eq!(har.tape.header.recorded_at.as_deref(), Some("2026-03-02T09:15:00.000Z"));
    let sse = sample("sample.sse");
    assert_eq!(summary(&sse), ["POST /v1/messages main 200 - - - 12 events"]);
    let chunks = sample("sample.chunks.txt");
    assert_eq!(summary(&chunks), ["POST /v1/messages main 200 - - - 7 events", "POST /v1/messages main 200 - - - 7 events"]);
    [go, parsed, har, sse, chunks].iter().for_each(survives_a_file);
}

#[test]
fn k_5_what_is_lost_is_said() {
    let lost = |name: &str| sample(name).tape.header.lost.join(", ");
    assert_eq!(lost("sample.vcrpy.yaml"), "chunk times, packet boundaries, request times");
    assert_eq!(lost("sample.vcrpy-gzip.yaml"), "chunk times, compressed bytes (gzip), packet boundaries, request times");
    assert_eq!(lost("sample.vcrpy-parsed.yaml"), "chunk times, packet boundaries, request key order, request times, response key order");
    assert_eq!(lost("sample.go-vcr.yaml"), "chunk times, headers, packet boundaries, request times");
    assert_eq!(lost("sample.har"), "1 requests to other services, chunk times, packet boundaries");
    assert_eq!(lost("sample.sse"), "chunk times, headers, packet boundaries, request times, requests, response times, status");
    assert!(lost("sample.chunks.txt").contains("event lines, headers, packet boundaries, padding"));
}

#[test]
fn k_5_the_bytes_are_those_of_the_recording() {
    let file = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples/sample.sse")).unwrap();
    assert_eq!(sample("sample.sse").tape.exchanges[0].answer.body(), file);
    // The same loop in two recorders' words, but for the ids.
    let body = |name: &str, exchange: usize| String::from_utf8(sample(name).tape.exchanges[exchange].answer.body()).unwrap();
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
    let options = ImportOptions { provenance: Provenance::Written };
    let imported = import_bytes(Path::new("x"), b"data: {}\n\n", &options).unwrap();
    assert_eq!(imported.tape.exchanges[0].provenance, Provenance::Written);
}

#[test]
fn k_5_errors_name_the_place_and_the_way_out() {
    let message = |bytes: &[u8]| import_bytes(Path::new("x.yaml"), bytes, &ImportOptions::default()).unwrap_err().to_string();
    assert_eq!(
        message(b"---\nhttp_interactions: []\n"),
        "x.yaml: recognised as a Ruby VCR cassette, which this version does not import yet: record the session again with `reenact record`"
    );
    assert!(message(b"{\"type\":\"message_start\"}\n{\"type\":}\n").starts_with("x.yaml:2:9: not valid JSON: "));
    assert!(message(b"interactions:\n- request: {uri: u}\n  response: [}\n").starts_with("x.yaml:3:"));
    assert_eq!(
        message(b"interactions:\n- request: {uri: u}\n  response: {body: {string: x}}\n"),
        "x.yaml: as a vcrpy cassette: at interactions[0]: `response.status.code` is not a status: repair that entry or remove it"
    );
    assert!(message(b"interactions:\n- request: {uri: \"\xff\"}\n  response: {}\n").starts_with("x.yaml:2:19: not valid UTF-8"));
    assert!(message(b"{\"reenact_tape\":1}\n").contains("a tape already"));
    assert!(message(b" \n").contains("empty") && message(b"hello").contains("not a recording"));
    assert!(matches!(import_file(Path::new("/nonexistent/x"), &ImportOptions::default()), Err(ImportError::Read { .. })));
}

#[expect(clippy::disallowed_methods, reason = "the variable is documented at the head of this file")]
fn recordings() -> Option<Vec<PathBuf>> {
    let folder = std::env::var_os("REENACT_RECORDINGS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/recordings"), PathBuf::from);
    if !folder.is_dir() {
        eprintln!("SKIPPED: no recordings at {}; set REENACT_RECORDINGS", folder.display());
        return None;
    }
    let mut files = Vec::new();
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name().is_some_and(|name| name != "INDEX.md") {
                files.push(path);
            }
        }
    }
    files.sort();
    Some(files)
}

#[test]
fn k_5_every_recording_is_imported_or_named() {
    let Some(files) = recordings() else { return };
    for path in files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        match import_file(&path, &ImportOptions::default()) {
            Ok(imported) => {
                println!("{name}: {:?}, lost: {}", imported.format, imported.tape.header.lost.join(", "));
                summary(&imported).iter().for_each(|line| println!("    {line}"));
                assert!(!imported.tape.exchanges.is_empty());
                survives_a_file(&imported);
                replayed(&imported).iter().for_each(|end| println!("    replays to {end}"));
                for exchange in imported.tape.exchanges.iter().filter(|exchange| exchange.answer.is_event_stream()) {
                    let events = events(&exchange.answer.body());
                    assert_eq!((&*events[0], events.last().map(String::as_str)), ("message_start", Some("message_stop")), "{name}");
                }
            }
            Err(ImportError::NotYet { format, .. }) => println!("{name}: not yet: {format}"),
            Err(error) => panic!("{error}"),
        }
    }
}
