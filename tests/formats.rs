//! Files that an earlier program wrote are read as they were meant: the names of fields and kinds in them are those of the formats, whatever the
//! types are called (F-5, X-4).
//!
//! The logs and transcripts in `formats` are old on purpose. Write one anew only when the engine itself does something else there.

use std::fs;
use std::path::{Path, PathBuf};

use reenact::engine::agent_loop::AgentLoop;
use reenact::engine::log::replay;
use reenact::files::tape;
use reenact::transcript::json::{from_json_lines, to_json_lines};
use reenact::transcript::text::{DetailLevel, render};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The old files with this ending, with their texts.
fn samples(ending: &str) -> Vec<(PathBuf, String)> {
    let folder = fs::read_dir(root().join("tests/formats")).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<PathBuf> = folder.filter(|path| path.to_string_lossy().ends_with(ending)).collect();
    assert!(files.len() >= 3, "{ending}: {files:?}");
    files.into_iter().map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect()
}

#[test]
fn f_5_old_logs_of_the_boundary_replay() {
    for (path, text) in samples(".log") {
        let replayed = replay(&text, AgentLoop::default()).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(replayed.steps, text.lines().count() - 1, "{}", path.display());
        assert!(replayed.effects > replayed.steps, "{}", path.display());
    }
}

#[test]
fn x_4_old_transcripts_are_written_as_they_were_read() {
    for (path, text) in samples(".transcript.jsonl") {
        let transcript = from_json_lines(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(to_json_lines(&transcript), text, "{}", path.display());
        assert!(render(&transcript, DetailLevel::Debug).lines().count() > 20, "{}", path.display());
    }
}

#[test]
fn f_5_old_tapes_are_written_as_they_were_read() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["replayed", "recorded-times"] {
        let path = root().join(format!("scenarios/world/{name}.tape.jsonl"));
        let again = folder.path().join(name);
        tape::write(&again, &tape::read(&path).unwrap()).unwrap();
        assert_eq!(fs::read_to_string(again).unwrap(), fs::read_to_string(path).unwrap(), "{name}");
    }
}
