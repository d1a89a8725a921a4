//! The conditions of a case: its scenario is one of the language, and its run breaks nothing that holds in every run.

use std::collections::BTreeSet;
use std::sync::Arc;

use reenact::engine::agent_loop::AgentLoop;
use reenact::engine::random::Seed;
use reenact::engine::time::Time;
use reenact::explore::PanicGuard;
use reenact::explore::audit::rechunked;
use reenact::explore::coverage::RunCoverage;
use reenact::explore::interrupt::{BoundarySide, InjectionKind, RunBoundary};
use reenact::explore::plan::planned;
use reenact::explore::sweep::sweep;
use reenact::explore::verdict::{look, violations_of};
use reenact::files::schema;
use reenact::oracle::{rechunked_runs, repeated_requests};
use reenact::runner::PanicCatcher;
use reenact::scenario::interrupt::{InterruptKind, InterruptMoment};
use reenact::scenario::language::scenario_text;
use reenact::scenario::parse;
use reenact::scenario::types::Scenario;
use reenact::sim::Run;
use reenact::transcript::event::{Event, EventKind, RunEnd, Transcript};
use reenact::transcript::json;
use reenact::transcript::text::DetailLevel;
use reenact::wire::validate::is_defect;
use reenact::world::setup::RunSetup;

use super::finding::FuzzFinding;

/// An end that says that the scenario has too few answers, which is not the engine's fault.
const TOO_FEW_ANSWERS: &str = "tape_exhausted";

/// The result of a case.
pub(super) struct CaseCheck {
    pub(super) findings: Vec<FuzzFinding>,
    /// The plain run; `None` where there was none.
    pub(super) run: Option<CheckedRun>,
    /// The scenario as it is written.
    pub(super) text: String,
}

/// A run, and what it reached.
pub(super) struct CheckedRun {
    pub(super) transcript: Transcript,
    pub(super) end: RunEnd,
    pub(super) coverage: RunCoverage,
}

/// Checks a case. `number` decides which of the dearer checks it gets.
pub(super) fn check(scenario: &Scenario, number: u64) -> CaseCheck {
    let mut findings = Vec::new();
    let text = scenario_text(scenario, &[]);
    let setup = match read_back(scenario, &text) {
        Ok(setup) => Arc::new(setup),
        Err(finding) => return CaseCheck { findings: vec![finding], run: None, text },
    };
    let report = match PanicCatcher.run(|| Run::new(setup.clone(), AgentLoop::default()).without_oracles().to_end()) {
        Ok(report) => report,
        Err(panic) => return CaseCheck { findings: vec![FuzzFinding::new("panic", panic)], run: None, text },
    };
    let transcript = report.transcript;
    let is_kept = matches!(report.end, RunEnd::LimitReached { .. }) && ends_once_healed(&setup, &transcript);
    let accepted = if is_kept { report.end.as_str() } else { TOO_FEW_ANSWERS };
    let violations = violations_of(&setup, &transcript, Some(accepted));
    findings.extend(violations.into_iter().map(|violation| FuzzFinding::new(violation.oracle, violation.text)));
    findings.extend(failures(&report.failures));
    findings.extend(repeated(&setup, &transcript));
    findings.extend(written(&transcript));
    if number % 4 == 3 {
        findings.extend(chunked(&setup, &transcript));
    }
    if number % 4 == 1 {
        findings.extend(through_a_plan(&setup, &transcript));
    }
    if number.is_multiple_of(2) {
        findings.extend(interrupted(&setup, &transcript, number));
    }
    CaseCheck {
        findings: distinct(findings),
        run: Some(CheckedRun { coverage: RunCoverage::of_transcript(&setup, &transcript), transcript, end: report.end }),
        text,
    }
}

/// Each bug of a case once: what an oracle says a check need not say again, nor an interrupted run what the plain one said.
fn distinct(findings: Vec<FuzzFinding>) -> Vec<FuzzFinding> {
    let mut seen = BTreeSet::new();
    findings.into_iter().filter(|finding| seen.insert(finding.what())).collect()
}

/// Whether a case has this finding, looked for as long as it takes.
pub(super) fn has(scenario: &Scenario, wanted: &FuzzFinding) -> Option<FuzzFinding> {
    let fingerprint = wanted.fingerprint();
    let is_it = |finding: &FuzzFinding| finding.fingerprint() == fingerprint;
    if wanted.interrupt.is_none() {
        // Between them, these numbers get all checks but the interrupts.
        return [1, 3].iter().find_map(|number| check(scenario, *number).findings.into_iter().find(is_it));
    }
    let setup = Arc::new(read_back(scenario, &scenario_text(scenario, &[])).ok()?);
    if wanted.rule.starts_with("O-") {
        let report = sweep(&setup, &AgentLoop::default(), &InjectionKind::ALL, &PanicCatcher);
        let named = report.findings.into_iter().flat_map(|found| {
            let interrupt = found.interrupt.map(|(place, kind)| (place.boundary, kind));
            found
                .violations
                .into_iter()
                .map(move |violation| FuzzFinding { interrupt, ..FuzzFinding::new(violation.oracle, violation.text) })
        });
        return named.into_iter().find(is_it);
    }
    let plain = PanicCatcher.run(|| Run::new(setup.clone(), AgentLoop::default()).without_oracles().to_end()).ok()?.transcript;
    let events = count_inputs(&setup, &plain);
    boundaries(events).find_map(|(boundary, kind)| interrupted_at(&setup, boundary, kind).into_iter().find(is_it))
}

/// The scenario is written, read back, and made ready as a file would be.
fn read_back(scenario: &Scenario, text: &str) -> Result<RunSetup, FuzzFinding> {
    let parsed = match PanicCatcher.run(|| parse::scenario("case.toml", text, &[])) {
        Ok(Ok(parsed)) => parsed.scenario,
        Ok(Err(faults)) => return Err(FuzzFinding::new("language", faults.0[0].message.clone())),
        Err(panic) => return Err(FuzzFinding::new("language", format!("the parser panicked: {panic}"))),
    };
    if parsed != *scenario {
        return Err(FuzzFinding::new(
            "language",
            format!("the written scenario reads back differently: {}", first_difference(&parsed, scenario)),
        ));
    }
    let mut setup = RunSetup::new(parsed, None).map_err(|error| FuzzFinding::new("language", error.to_string()))?;
    schema::attach(&mut setup.environment);
    setup.check_results().map_err(|error| FuzzFinding::new("language", error.to_string()))?;
    Ok(setup)
}

/// The first word in which the two differ, when shown as Rust values.
fn first_difference(read: &Scenario, written: &Scenario) -> String {
    let (read, written) = (format!("{read:#?}"), format!("{written:#?}"));
    let pair = read.lines().zip(written.lines()).find(|(one, other)| one != other);
    pair.map_or_else(String::new, |(read, written)| format!("{} for {}", read.trim(), written.trim()))
}

/// The failures of the run itself: requests that the API refuses, misuse of the contract. An oracle judges its end. The statements of a
/// generated scenario need not come to pass.
fn failures(failures: &[String]) -> Vec<FuzzFinding> {
    let rules = [("the API refuses", "refused"), ("the engine broke the contract", "failure")];
    let rule =
        |failure: &String| rules.iter().find(|(begins, _)| failure.starts_with(begins)).map(|(_, rule)| FuzzFinding::new(rule, failure));
    failures.iter().filter_map(rule).collect()
}

/// Whether a run that reaches a limit ends where its faults stop half-way: then it is the scenario that keeps it from its end, with faults and retries that are
/// both without end, and not the engine (O-18).
fn ends_once_healed(setup: &Arc<RunSetup>, transcript: &Transcript) -> bool {
    let half = count_inputs(setup, transcript) / 2;
    let boundary = RunBoundary { event: half.max(1), side: BoundarySide::After };
    let Ok(healed) = look(setup, &AgentLoop::default(), boundary, InjectionKind::Heal, &PanicCatcher) else { return false };
    let end = healed.transcript.events.last().map(|event| &event.what);
    matches!(end, Some(EventKind::Ended { end }) if !matches!(end, RunEnd::LimitReached { .. }))
}

fn repeated(setup: &Arc<RunSetup>, transcript: &Transcript) -> Option<FuzzFinding> {
    let again = PanicCatcher.run(|| Run::new(setup.clone(), AgentLoop::default()).without_oracles().to_end()).ok()?.transcript;
    let other_digest = json::digest(&again) != json::digest(transcript);
    let violation = repeated_requests::compare(transcript, &again).map(|violation| violation.text);
    violation.or(other_digest.then(|| String::from("the digest differs"))).map(|text| FuzzFinding::new("O-16", text))
}

/// The transcript can be shown and written, and is read back as it was.
fn written(transcript: &Transcript) -> Option<FuzzFinding> {
    let text = json::to_json_lines(transcript);
    for detail in [DetailLevel::Brief, DetailLevel::Normal, DetailLevel::Debug] {
        if let Err(panic) = PanicCatcher.run(|| reenact::transcript::text::render(transcript, detail)) {
            return Some(FuzzFinding::new("transcript", format!("it cannot be shown: {panic}")));
        }
    }
    match json::from_json_lines(&text) {
        Ok(read) if read == *transcript => None,
        Ok(_) => Some(FuzzFinding::new("transcript", "it is read back otherwise")),
        Err(error) => Some(FuzzFinding::new("transcript", error.to_string())),
    }
}

/// O-15: however bodies are cut into chunks, the run is the same.
fn chunked(setup: &Arc<RunSetup>, transcript: &Transcript) -> Option<FuzzFinding> {
    let other = rechunked(setup);
    let again = PanicCatcher.run(|| Run::new(other, AgentLoop::default()).without_oracles().to_end()).ok()?.transcript;
    let violation = rechunked_runs::compare(transcript, &again)?;
    Some(FuzzFinding::new(violation.oracle, violation.text))
}

/// F-11: a run with its plan is the same under every seed.
fn through_a_plan(setup: &Arc<RunSetup>, transcript: &Transcript) -> Option<FuzzFinding> {
    let scenario = PanicCatcher.run(|| planned(setup, &AgentLoop::default(), None, &PanicCatcher)).ok()?;
    let mut again = match read_back(&scenario, &scenario_text(&scenario, &[])) {
        Ok(setup) => setup,
        Err(finding) => return Some(FuzzFinding::new("plan", finding.text)),
    };
    again.scenario.seed = Seed(!again.scenario.seed.0);
    again.environment.seed = again.scenario.seed;
    let again = PanicCatcher.run(|| Run::new(Arc::new(again), AgentLoop::default()).without_oracles().to_end()).ok()?.transcript;
    // What of a plan does not come about is told at the end, and all of this did.
    let violation = repeated_requests::compare(transcript, &again)?;
    Some(FuzzFinding::new("plan", format!("with its plan and another seed, {}", violation.text)))
}

/// A few interrupts, spread over the run.
fn interrupted(setup: &Arc<RunSetup>, transcript: &Transcript, number: u64) -> Vec<FuzzFinding> {
    const PLACES: u64 = 3;
    let mut draws = Seed(number).draws("fuzz-interrupts", "");
    let all: Vec<(RunBoundary, InjectionKind)> = boundaries(count_inputs(setup, transcript)).collect();
    if all.is_empty() {
        return Vec::new();
    }
    let chosen = (0..PLACES).map(|_| all[usize::try_from(draws.below(all.len() as u64)).unwrap_or(0)]);
    chosen.flat_map(|(boundary, kind)| interrupted_at(setup, boundary, kind)).collect()
}

/// How many inputs there are before the last cancel that is set to a time, if there is one: what never comes is waited for without end after it.
fn count_inputs(setup: &RunSetup, transcript: &Transcript) -> u64 {
    let cancels = setup.scenario.interrupts.iter().filter(|interrupt| interrupt.kind == InterruptKind::Cancel);
    let last = cancels.filter_map(|cancel| if let InterruptMoment::At(at) = cancel.moment { Some(Time::ZERO + at) } else { None }).max();
    let counts = |event: &&Event| matches!(event.what, EventKind::Input(_)) && last.is_none_or(|last| event.at < last);
    transcript.events.iter().filter(counts).count() as u64
}

fn boundaries(events: u64) -> impl Iterator<Item = (RunBoundary, InjectionKind)> {
    let sides = |event| [BoundarySide::Before, BoundarySide::After].map(|side| RunBoundary { event, side });
    (1..=events).flat_map(sides).flat_map(|boundary| InjectionKind::ALL.map(|kind| (boundary, kind)))
}

fn interrupted_at(setup: &Arc<RunSetup>, boundary: RunBoundary, kind: InjectionKind) -> Vec<FuzzFinding> {
    // A run that is over before its last input is not interrupted there.
    let Ok(looked) = look(setup, &AgentLoop::default(), boundary, kind, &PanicCatcher) else { return Vec::new() };
    let violations = looked.violations.iter().map(|violation| FuzzFinding::new(violation.oracle, violation.text.clone()));
    let own = looked.transcript.events.iter().filter_map(|event| match &event.what {
        EventKind::Misuse { text } => Some(FuzzFinding::new("failure", format!("the engine broke the contract: {text}"))),
        EventKind::Refused { id, rule, text, overruled: false } if is_defect(rule) => {
            Some(FuzzFinding::new("refused", format!("the API refuses request {}: {text}", event.agent.key(*id))))
        }
        _ => None,
    });
    let ended_for_want = |finding: &FuzzFinding| finding.rule == "O-18" && finding.text.contains(TOO_FEW_ANSWERS);
    violations
        .chain(own)
        .filter(|finding| !ended_for_want(finding))
        .map(|finding| FuzzFinding { interrupt: Some((boundary, kind)), ..finding })
        .collect()
}
