//! Real recordings and sessions, which are not in this repository: where they are missing, these tests say so and pass.
//!
//! The folder of the recordings is `../shared/recordings`, or what `REENACT_RECORDINGS` names.

use std::path::{Path, PathBuf};

use reenact::import::{ImportOptions, ImportedRecording, import_file};
use reenact::redact::scan::scan;
use reenact::scenario::tape::line::encode;

use super::{RULES, events, options, replays_as_expected, summary, survives_a_file};

#[expect(clippy::disallowed_methods, reason = "the variable is documented at the head of this file")]
fn recordings() -> Option<Vec<PathBuf>> {
    let folder = std::env::var_os("REENACT_RECORDINGS");
    files_in(folder.map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/recordings"), PathBuf::from))
}

fn recordings_in(folder: &str) -> Option<Vec<PathBuf>> {
    files_in(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder))
}

fn files_in(folder: PathBuf) -> Option<Vec<PathBuf>> {
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

/// Recordings of which each shows what was hard to import.
#[test]
fn k_4_and_k_5_recordings_of_every_kind_are_imported_and_replay_or_say_that_they_do_not() {
    let Some(files) = recordings_in("../shared/recordings2") else { return };
    for path in files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let imported = import_file(&path, &options()).unwrap_or_else(|error| panic!("{error}"));
        println!("{name}: {:?}, left out: {:?}", imported.format, imported.left_out);
        assert!(imported.left_out.iter().all(|what| what.ends_with("not supported")), "{name}: {:?}", imported.left_out);
        is_redacted(&name, &path, &imported);
        survives_a_file(&imported);
        replays_as_expected(&name, &imported);
    }
}

/// Sessions as agents keep them.
#[test]
fn k_5_every_transcript_is_known_for_what_it_is() {
    let Some(files) = recordings_in("../shared/stores") else { return };
    for path in files.iter().filter(|path| path.file_name().is_some_and(|name| name != "README.md")) {
        let error = import_file(path, &options()).unwrap_err().to_string();
        println!("{error}");
        assert!(error.contains("a session transcript of") && error.contains("reenact record"), "{error}");
    }
}

#[test]
fn k_5_every_recording_is_imported() {
    let Some(files) = recordings() else { return };
    for path in files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        match import_file(&path, &options()) {
            Ok(imported) => {
                println!("{name}: {:?}, lost: {}", imported.format, imported.header.lost.join(", "));
                println!("    replaced: {:?}", imported.redacted);
                is_redacted(&name, &path, &imported);
                summary(&imported).iter().for_each(|line| println!("    {line}"));
                assert!(!imported.tape().exchanges.is_empty());
                survives_a_file(&imported);
                replays_as_expected(&name, &imported);
                for exchange in imported.tape().exchanges.iter().filter(|exchange| exchange.answer.is_event_stream()) {
                    let events = events(&exchange.answer.body());
                    assert_eq!((&*events[0], events.last().map(String::as_str)), ("message_start", Some("message_stop")), "{name}");
                }
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// No secret that is known is left, and every body is as long as it was.
fn is_redacted(name: &str, path: &Path, imported: &ImportedRecording) {
    assert_eq!(scan(encode(&imported.tape()).as_bytes(), &RULES).findings, [], "{name}");
    let kept = import_file(path, &ImportOptions { keep_bodies: true, ..options() }).unwrap();
    for (exchange, kept) in imported.tape().exchanges.iter().zip(&kept.tape().exchanges) {
        let lengths = |exchange: &reenact::scenario::tape::Exchange| (exchange.body.len(), exchange.answer.body().len());
        assert_eq!(lengths(exchange), lengths(kept), "{name}");
        let has_placeholder = |bytes: &[u8]| [&b"REDACTED"[..], b"RX"].iter().any(|word| bytes.windows(word.len()).any(|at| at == *word));
        assert!(exchange.body == kept.body || has_placeholder(&exchange.body), "{name}");
        assert!(exchange.answer.body() == kept.answer.body() || has_placeholder(&exchange.answer.body()), "{name}");
    }
}
