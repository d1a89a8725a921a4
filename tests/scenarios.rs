//! Every scenario of the repository again: on other threads, from its log, in other chunks. That each holds and is as approved is the matter
//! of `runner::shipped`.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use reenact::engine::agent_loop::AgentLoop;
use reenact::engine::log::replay_with;
use reenact::files::scenario::{LoadedScenario, find, load, load_all, snapshot_path};
use reenact::files::schema;
use reenact::runner::run_all;
use reenact::sim::Run;
use reenact::transcript::json;
use reenact::transcript::text::DetailLevel;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn shipped() -> Vec<LoadedScenario> {
    let (paths, errors) = find(&[root().join("scenarios")]);
    assert!(errors.is_empty(), "{errors:?}");
    paths.iter().flat_map(|path| load_all(path, &[]).unwrap_or_else(|error| panic!("{error}"))).collect()
}

#[test]
fn d_1_threads_change_no_digest() {
    let scenarios = shipped();
    let digests = |threads| -> Vec<String> {
        let outcomes = run_all(&scenarios, NonZeroUsize::new(threads).unwrap(), AgentLoop::default);
        outcomes.into_iter().map(|outcome| json::digest(&outcome.unwrap().transcript)).collect()
    };
    assert_eq!(digests(1), digests(8));
}

#[test]
fn d_1_every_boundary_log_replays_byte_for_byte() {
    for scenario in shipped() {
        let log = Run::new(scenario.setup.clone(), AgentLoop::default()).with_log().to_end().log.unwrap();
        replay_with(log.as_str(), AgentLoop::default(), schema::attach).unwrap_or_else(|error| panic!("{}: {error}", scenario.name));
    }
}

#[test]
fn m_6_chunking_changes_no_transcript_of_any_scenario() {
    for path in shipped().into_iter().map(|scenario| scenario.path) {
        let digest = |chunking: &str| {
            let overrides = [(String::from("chunking"), String::from(chunking))];
            let loaded = load(&path, &overrides).unwrap_or_else(|error| panic!("{error}"));
            json::digest(&Run::new(loaded.setup, AgentLoop::default()).to_end().transcript)
        };
        let whole = digest("\"as_recorded\"");
        for chunking in ["\"bytes\"", "7", "\"random\""] {
            assert_eq!(digest(chunking), whole, "{} with chunking {chunking}", path.display());
        }
    }
}

#[test]
fn x_4_every_transcript_reads_back() {
    for scenario in shipped() {
        let transcript = Run::new(scenario.setup.clone(), AgentLoop::default()).to_end().transcript;
        let lines = json::to_json_lines(&transcript);
        assert_eq!(json::from_json_lines(&lines).unwrap_or_else(|error| panic!("{}: {error}", scenario.name)), transcript);
    }
}

#[test]
fn every_snapshot_has_its_scenario() {
    let expected: Vec<PathBuf> = shipped().iter().map(|scenario| snapshot_path(&scenario.path)).collect();
    let mut folders = vec![root().join("snapshots")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else if entry.extension().is_some_and(|extension| extension == "snap") {
                assert!(expected.contains(&entry), "{} belongs to no scenario: remove it", entry.display());
            }
        }
    }
}

#[test]
fn the_readme_shows_a_transcript_that_is_true() {
    let scenario = load(&root().join("scenarios/query/read-one-file.toml"), &[]).unwrap_or_else(|error| panic!("{error}"));
    let text = Run::new(scenario.setup, AgentLoop::default()).to_end().text(DetailLevel::Normal);
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    assert!(readme.contains(text.trim_end()), "the README should show:\n{text}");
}
