//! Texts that must not occur, and that cannot occur (F-10): such an expectation holds for every engine, so it is misspelt.
//!
//! A text can occur when it stands somewhere: in what the scenario says (its expectations left out), in the recorded requests and answers of its
//! tape, in anything that crossed the engine's boundary in one of its runs, among the errors of the API or in what our own loop says. What is put
//! together of two of these with a blank between them can occur as well. For a text of another engine that no run of the file shows, the table says
//! `may = true`.

use core::fmt::Write as _;

use super::{PlayedRun, RunView, StatementProblem, is_judged_elsewhere};
use reenact_engine::texts::{ModelTexts, USER_TEXTS};
use reenact_scenario::fault::known_errors::KNOWN_ERRORS;
use reenact_scenario::statement::{PathStep, StatementPath};
use reenact_scenario::types::Expectations;
use reenact_transcript::event::{Transcript, TranscriptHeader};
use reenact_transcript::json;
use reenact_wire::prelude::*;

pub(super) fn problems(runs: &[PlayedRun<'_>], view: RunView) -> Vec<StatementProblem> {
    let mut problems = Vec::new();
    let mut happened: Option<String> = None;
    for run in runs {
        let texts = &run.setup.environment.settings.texts;
        for (path, key, text) in expected(run, view) {
            if is_judged_elsewhere(run.places, &path) || run.places.say(text) || is_known(text, texts) {
                continue;
            }
            // Made once, and only for texts that the scenario does not say.
            let happened = happened.get_or_insert_with(|| runs.iter().map(happened_in).collect());
            let occurs = |part: &str| run.places.say(part) || is_known(part, texts) || happened.contains(part);
            if occurs(text) || text.match_indices(' ').any(|(at, _)| occurs(&text[..at]) && occurs(&text[at..])) {
                continue;
            }
            let message = format!("{text:?} of `{key}` occurs neither in the scenario nor in any of its runs, so nothing is checked here");
            let help = String::from("correct the spelling; if another engine could produce this text, add `may = true` to this table");
            problems.push(StatementProblem::at(run.places, &path, message, help));
        }
    }
    problems
}

/// The negative expectations of the run with their places.
fn expected<'a>(run: &PlayedRun<'a>, view: RunView) -> Vec<(StatementPath, &'static str, &'a str)> {
    let of_network = run.setup.scenario.network.as_ref().and_then(|network| network.expect.as_ref()).filter(|_| view == RunView::Network);
    let (start, expect): (StatementPath, &Expectations) = match of_network {
        Some(expect) => (vec![PathStep::Key("network"), PathStep::Key("expect")], expect),
        None => (vec![PathStep::Key("expect")], &run.setup.scenario.expect),
    };
    if expect.may {
        return Vec::new();
    }
    let listed = [("not_sent", &expect.not_sent), ("text_absent", &expect.text_absent)];
    let one = |(key, texts): (&'static str, &'a Vec<String>)| {
        let path = |nth| start.iter().cloned().chain([PathStep::Key(key), PathStep::Nth(nth)]).collect();
        texts.iter().enumerate().map(|(nth, text)| (path(nth), key, text.as_str())).collect::<Vec<_>>()
    };
    listed.into_iter().flat_map(one).collect()
}

/// Whether our own loop or the API says it somewhere.
fn is_known(text: &str, texts: &ModelTexts) -> bool {
    texts.has_words(text)
        || USER_TEXTS.iter().any(|known| known.contains(text))
        || KNOWN_ERRORS.iter().any(|error| error.message.contains(text))
}

/// Everything that crossed the boundary, and the content of unused answers: as JSON, and as it reads.
fn happened_in(run: &PlayedRun<'_>) -> String {
    // A title says what the scenario is about, and is no part of the run.
    let untitled =
        Transcript { header: TranscriptHeader { title: None, ..run.transcript.header.clone() }, events: run.transcript.events.clone() };
    let mut all = json::to_json_lines(&untitled);
    for answer in &run.setup.answers {
        if let Some(request) = &answer.request {
            let _ = write!(all, "{}", request.value());
        }
        all.push_str(&answer.text());
    }
    let plain = all.replace("\\\"", "\"").replace("\\n", "\n").replace("\\\\", "\\");
    all + &plain
}
