//! Recordings that a client made up at random: what it did is known, so it is known what an import has to make of it (K-4, K-5).
//!
//! The client has conversations, several at once, in the manners of real ones: other settings in mid-thread, attempts again, the same question again,
//! side calls and titles, tokens that are counted, streams that break off, searches with citations, cache breakpoints that move, first words of an answer, system messages, images beside results, messages of one role apart or joined. As long as it sends back what
//! it was answered, each imported scenario replays without a difference; where it does not, the import says so.

#[path = "import_generated/client.rs"]
mod client;

use std::path::Path;
use std::sync::LazyLock;

use client::{Client, Recording, recording};
use reenact::engine::agent_loop::AgentLoop;
use reenact::files::atomic::ExistingFile;
use reenact::import::{ImportOptions, ImportedFiles, import_bytes, write};
use reenact::redact::RedactionRules;
use reenact::runner::run_file;
use serde_json::json;

static RULES: LazyLock<std::sync::Arc<RedactionRules>> = LazyLock::new(|| RedactionRules::with(&[]).unwrap());

/// How many recordings a run of the tests makes; more with `REENACT_IMPORTS`.
const RECORDINGS: u64 = 100;

fn imported(recording: &Recording, folder: &Path) -> ImportedFiles {
    let har = json!({ "log": { "version": "1.2", "creator": { "name": "t", "version": "1" }, "entries": recording.entries } });
    let imported = import_bytes(Path::new("x.har"), har.to_string().as_bytes(), &ImportOptions::with(&RULES)).unwrap();
    write(&imported, &folder.join("x"), ExistingFile::IsAnError).unwrap()
}

/// Every scenario that fails when it is run, with what fails.
fn failing(written: &ImportedFiles) -> Vec<(usize, String)> {
    let run = |(number, path): (usize, &std::path::PathBuf)| {
        let report = run_file(path, AgentLoop::default()).unwrap_or_else(|error| panic!("run refuses what import wrote: {error}"));
        (!report.failures.is_empty()).then(|| (number, report.failures.join("; ")))
    };
    written.scenarios.iter().enumerate().filter_map(run).collect()
}

fn count() -> u64 {
    number("REENACT_IMPORTS").unwrap_or(RECORDINGS)
}

/// The seeds of a run: `REENACT_IMPORTS_FROM` is the first.
fn seeds() -> std::ops::Range<u64> {
    let first = number("REENACT_IMPORTS_FROM").unwrap_or(0);
    first..first + count()
}

#[expect(clippy::disallowed_methods, reason = "the variables are documented where they are read")]
fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().and_then(|number| number.parse().ok())
}

/// Imports what such a client recorded and runs every scenario of it: none may fail.
fn replays(client: Client) {
    let (mut unclean, mut exchanges, mut scenarios) = (Vec::new(), 0, 0);
    for seed in seeds() {
        let recording = recording(seed, client);
        let folder = tempfile::tempdir().unwrap();
        let written = imported(&recording, folder.path());
        (exchanges, scenarios) = (exchanges + recording.entries.len(), scenarios + written.scenarios.len());
        for (number, failure) in failing(&written) {
            unclean.push(format!("seed {seed}, {}: {failure}", written.scenarios[number].file_name().unwrap().display()));
        }
    }
    println!("{exchanges} exchanges, {scenarios} scenarios");
    assert!(unclean.is_empty(), "{} of {scenarios} scenarios:\n{}", unclean.len(), unclean.join("\n"));
}

#[test]
fn k_4_a_client_that_sends_back_what_it_was_answered_is_replayed_without_a_difference() {
    replays(Client::Faithful);
}

#[test]
fn k_4_a_client_that_changes_answers_and_results_is_replayed_without_a_difference() {
    replays(Client::Changing);
}

#[test]
fn k_4_a_replay_that_will_fail_is_announced_and_no_other_is() {
    let mut announced = 0;
    for seed in seeds() {
        let recording = recording(seed, Client::Broken);
        let folder = tempfile::tempdir().unwrap();
        let written = imported(&recording, folder.path());
        let failing: Vec<usize> = failing(&written).into_iter().map(|(number, _)| number).collect();
        let named: Vec<usize> = written.problems.iter().map(|(number, _)| *number).collect();
        assert_eq!(named, failing, "seed {seed}: {:?}", written.problems);
        assert!(recording.is_broken || failing.is_empty(), "seed {seed}: {:?}", written.problems);
        for number in failing {
            let text = std::fs::read_to_string(&written.scenarios[number]).unwrap();
            assert!(text.contains("# A replay fails: "), "seed {seed}: {text}");
            announced += 1;
        }
    }
    assert!(announced > count() / 20, "only {announced} replays were announced: the client breaks too little to prove anything");
}
