//! Every scenario of the repository: it runs, what it expects holds, and its transcript is the one that was approved.
//!
//! A new or changed transcript is left beside its place as `*.snap.new`: look at it, then `cargo run -- run scenarios --accept`
//! or `cargo insta review`. Pending is failure. The test stands here and not in `tests/`, so that a developer who changes the engine on purpose to
//! see what goes red (`cargo xtask mutants`) compiles the library once.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use super::run_all;
use super::snapshot::{self, SnapshotStanding, check};
use super::statements::judge;
use reenact_engine::agent_loop::AgentLoop;
use reenact_engine::texts::{ModelTexts, TextName, USER_TEXTS, parts};
use reenact_files::scenario::{LoadedScenario, find, load_all};
use reenact_sim::report::RunReport;
use reenact_sim::statements::RunView;
use reenact_transcript::event::EventKind;
use reenact_transcript::json;
use reenact_transcript::text::DetailLevel;
use reenact_wire::prelude::*;

/// The folder of the whole checkout.
pub(crate) fn checkout() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("a room is two folders down").into()
}

/// The scenarios, each combination of a matrix by itself.
pub(super) fn shipped() -> Vec<LoadedScenario> {
    let (paths, errors) = find(&[checkout().join("scenarios")]);
    assert!(errors.is_empty(), "{errors:?}");
    paths.iter().flat_map(|path| load_all(path, &[]).unwrap_or_else(|error| panic!("{error}"))).collect()
}

#[test]
fn every_scenario_is_as_expected_and_as_approved() {
    let scenarios = shipped();
    assert!(scenarios.len() >= 95);
    let outcomes = run_all(&scenarios, NonZeroUsize::MIN, AgentLoop::default);
    let reports: Vec<_> = scenarios
        .iter()
        .zip(outcomes)
        .map(|(scenario, outcome)| outcome.unwrap_or_else(|panic| panic!("{}: {panic}", scenario.name)))
        .collect();
    let ran: Vec<_> = scenarios.iter().zip(&reports).map(|(scenario, report)| (scenario, Some(report.into()))).collect();
    let mut problems: Vec<String> = judge(&ran, RunView::Simulated).failures.into_iter().flat_map(|(_, failures)| failures).collect();
    for (scenario, report) in scenarios.iter().zip(&reports) {
        problems.extend(report.failures.iter().map(|failure| format!("{}: {failure}", scenario.name)));
        match check(scenario, report).unwrap_or_else(|error| panic!("{error}")) {
            SnapshotStanding::Same => (),
            SnapshotStanding::Changed { old, .. } => {
                let diff = snapshot::diff(&old, report.text(DetailLevel::Normal).trim_end());
                problems.push(format!("{}: its transcript changed:\n{diff}", scenario.name));
            }
            other => problems.push(format!("{}: {other:?}", scenario.name)),
        }
    }
    problems.extend(unsaid(&reports));
    assert!(problems.is_empty(), "{}\nif this is right: cargo run -- run scenarios --accept", problems.join("\n"));
}

/// Texts of our loop that occur in no scenario (F-10).
fn unsaid(reports: &[RunReport<AgentLoop>]) -> Vec<String> {
    let mut left: Vec<&str> = USER_TEXTS.to_vec();
    for report in reports {
        let said = json::to_json_lines(&report.transcript);
        left.retain(|text| !said.contains(text));
    }
    left.into_iter().map(|text| format!("no scenario shows that our loop says {text:?}: correct it in engine/texts.rs")).collect()
}

/// Texts in results that consumers see and no request holds: their answer is discarded with them, or no request follows.
const SEEN_BY_CONSUMERS: [TextName; 5] =
    [TextName::Fallback, TextName::BudgetSpent, TextName::AgentUnneeded, TextName::AgentBusy, TextName::AgentRepeated];

/// Texts that no scenario brings about: it cannot say such an input of a hook or a person, or such an answer. Tests beside them hold them.
const HELD_BY_TESTS: [TextName; 3] = [TextName::HookInvalidJson, TextName::UserInvalidJson, TextName::ThinkingLeftOut];

#[test]
fn t_31_each_text_can_be_replaced_and_is_seen_by_the_model() {
    let marked = |name: &TextName| {
        let parts: String = parts(name.ours()).into_iter().map(|part| format!(" {{{part}}}")).collect();
        (*name, format!("<{}>{parts}", name.key()).into())
    };
    let texts = ModelTexts { replaced: TextName::ALL.iter().map(marked).collect(), ..ModelTexts::default() };
    let mut scenarios = shipped();
    for scenario in &mut scenarios {
        let setup = Arc::make_mut(&mut scenario.setup);
        setup.environment.settings.texts = texts.clone();
        setup.scenario.settings.texts = texts.clone();
    }
    let mut unseen = TextName::ALL.to_vec();
    let mut unemitted = SEEN_BY_CONSUMERS.to_vec();
    for outcome in run_all(&scenarios, NonZeroUsize::MIN, AgentLoop::default) {
        let report = outcome.unwrap_or_else(|panic| panic!("{panic}"));
        for event in report.transcript.events.iter() {
            if let EventKind::Request { request, .. } = &event.what {
                let body = serde_json::to_string(request).unwrap();
                unseen.retain(|name| !body.contains(&format!("<{}>", name.key())));
            }
        }
        let said = json::to_json_lines(&report.transcript);
        unemitted.retain(|name| !said.contains(&format!("<{}>", name.key())));
        for name in TextName::ALL {
            // What is said by the table is said from there alone, and with all its parts.
            assert!(!said.contains(name.ours()), "{name:?} is said though it is replaced");
            assert!(!said.contains(&format!("<{}> {{", name.key())), "{name:?} is said with a part that is not put in");
        }
    }
    unseen.retain(|name| !SEEN_BY_CONSUMERS.contains(name) && !HELD_BY_TESTS.contains(name));
    assert!(unseen.is_empty(), "no request of any scenario has these: {unseen:?}");
    assert!(unemitted.is_empty(), "no scenario emits these: {unemitted:?}");
}
