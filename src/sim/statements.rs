//! The statements of a scenario come to pass, or the run fails (F-10).
//!
//! One run does not show it: a fault may hit with one seed and not with another. So the caller with all runs of a file (each combination of its
//! matrix, each seed that was asked for) has them judged together. A statement is known by the place where it stands, so that a matrix may vary it.
//!
//! ```text
//!   runs of a file ──> statements, each: passed in some run? excused? is what it follows there? ──> failures, each with its place
//! ```

mod absent_texts;
mod evidence;
mod hook_words;
mod message_names;
mod progress_times;
mod tool_names;
mod tool_uses;
mod unset_members;

use alloc::collections::{BTreeMap, BTreeSet};

use evidence::RunsEvidence;

use reenact_scenario::parse::TablePlaces;
use reenact_scenario::plan::Plan;
use reenact_scenario::statement::{PassedStatements, Statement, StatementEntry, StatementPath, statements};
use reenact_transcript::event::{RunEnd, Transcript};
use reenact_wire::prelude::*;
use reenact_world::setup::RunSetup;

/// One finished run of a file.
#[derive(Clone, Copy, Debug)]
pub struct PlayedRun<'a> {
    /// The setup of the run.
    pub setup: &'a RunSetup,
    /// Where its parts stand.
    pub places: &'a TablePlaces,
    /// The statements that came to pass.
    pub passed: &'a PassedStatements,
    /// The record of the run.
    pub transcript: &'a Transcript,
    /// The reason of the end.
    pub end: &'a RunEnd,
}

/// The part of a scenario that a run can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunView {
    /// All but a network.
    Simulated,
    /// All of it.
    Network,
    /// Not what the server does, which is elsewhere.
    Engine,
    /// The deeds of the server, and nothing else.
    Server,
}

/// Why runs are not asked whether all came to pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkippedJudgement {
    /// A run was stopped, reached a limit, or broke off in a panic.
    CutShort,
    /// Its choices are those of a plan.
    Planned,
}

impl SkippedJudgement {
    /// Why, in a few words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CutShort => "a run did not come to its own end",
            Self::Planned => "it has a [plan]",
        }
    }
}

/// More failures than this say no more.
const SHOWN_MAX: usize = 20;

impl PlayedRun<'_> {
    /// Why this run cannot say what never comes to pass; `None` when it can.
    pub fn not_asked(&self) -> Option<SkippedJudgement> {
        let own_end = matches!(self.end, RunEnd::Idle | RunEnd::Stalled | RunEnd::TapeExhausted { .. });
        let has_plan = self.setup.scenario.plan != Plan::EMPTY;
        if has_plan { Some(SkippedJudgement::Planned) } else { (!own_end).then_some(SkippedJudgement::CutShort) }
    }
}

/// The failure of a run that does not come to a name of its plan (E-8).
#[doc(hidden)]
pub fn plan_failure(name: &str) -> String {
    format!("{name} did not come: correct the name in [plan], or take it out")
}

/// The mistake in a file, and the run that shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Which of the runs: the first, for what none of them showed.
    pub run: usize,
    /// One paragraph.
    pub text: String,
}

/// The statements of a file that none of its runs showed, and the mistakes of single runs, in the order of the file. `runs` are all runs of
/// the file.
pub fn failures(runs: &[PlayedRun<'_>], view: RunView) -> Vec<Failure> {
    let mut found = unpassed(runs, view);
    if view != RunView::Server {
        found.extend(tool_uses::in_each(runs));
        found.extend(tool_uses::marked_in_vain(runs));
        found.extend(tool_names::problems(runs));
        found.extend(message_names::problems(runs));
        found.extend(absent_texts::problems(runs, view));
        found.extend(unset_members::problems(runs));
        found.extend(hook_words::problems(runs));
        found.extend(progress_times::problems(runs));
    }
    shown(found)
}

/// The problems of single runs, independent of the others.
pub fn failures_of_each(runs: &[PlayedRun<'_>], view: RunView) -> Vec<Failure> {
    if view == RunView::Server { Vec::new() } else { shown(tool_uses::in_each(runs)) }
}

fn shown(mut found: Vec<StatementProblem>) -> Vec<Failure> {
    found.sort_by_key(|problem| (problem.run, problem.key));
    found.dedup();
    let mut failures: Vec<Failure> = Vec::new();
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for StatementProblem { run, text, .. } in found {
        let count = counts.entry(run).or_default();
        *count += 1;
        if *count <= SHOWN_MAX {
            failures.push(Failure { run, text });
        }
    }
    let more = counts.into_iter().filter(|(_, count)| *count > SHOWN_MAX);
    failures.extend(more.map(|(run, count)| Failure { run, text: format!("and {} more that did not come to pass", count - SHOWN_MAX) }));
    failures
}

/// Where something stands, the same in each run of a file; `None` for nowhere.
type PlaceKey = Option<(usize, usize)>;

/// Something that is wrong, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
struct StatementProblem {
    /// The run that it is about; the first, for what is about all of them.
    run: usize,
    key: PlaceKey,
    text: String,
}

impl StatementProblem {
    fn at(places: &TablePlaces, path: &StatementPath, message: String, help: String) -> Self {
        let place = places.diagnostic(path, message.clone(), Some(help.clone()));
        let text = place.map_or_else(|| format!("{message}; {help}"), |fault| fault.to_string());
        Self { run: 0, key: places.key(path), text }
    }
}

/// A statement over all runs.
struct JudgedStatement<'a> {
    run: PlayedRun<'a>,
    said: StatementEntry,
    /// Whether it can be asked: what it follows came to pass.
    is_due: bool,
    has_passed: bool,
    may: bool,
}

fn unpassed(runs: &[PlayedRun<'_>], view: RunView) -> Vec<StatementProblem> {
    let mut asked: BTreeMap<(PlaceKey, Statement), JudgedStatement<'_>> = BTreeMap::new();
    for run in runs {
        let mut asked_for = None;
        for said in statements(&run.setup.scenario) {
            if !sees(view, &said.statement) || is_judged_elsewhere(run.places, &said.path) {
                continue;
            }
            let place = run.places.key(&said.path);
            // What stands nowhere has its own name, and so has what a place says twice.
            let has_passed = run.passed.holds(&said.statement);
            let is_due = has_passed || is_due(run, &said, &mut asked_for);
            let may = said.may;
            let known = asked.entry((place, said.statement.clone())).or_insert(JudgedStatement {
                run: *run,
                said,
                is_due: false,
                has_passed: false,
                may: false,
            });
            known.is_due |= is_due;
            known.has_passed |= has_passed;
            known.may |= may;
        }
    }
    let mut open = asked.into_values().filter(|asked| asked.is_due && !asked.has_passed && !asked.may).peekable();
    if open.peek().is_none() {
        return Vec::new();
    }
    let evidence = RunsEvidence::from_runs(runs);
    let problem = |JudgedStatement { run, said, .. }: JudgedStatement<'_>| {
        let (what, instead) = evidence.about(&run, &said.statement);
        let advice = match said.statement {
            Statement::Change(_) | Statement::HostMessage(_) => "name a request that is made, or take it out",
            Statement::Check(_) => "if it need not happen, add `check_may = true` here",
            _ => "if it need not happen, add `may = true` here",
        };
        StatementProblem::at(run.places, &said.path, what, format!("{instead}; {advice}"))
    };
    open.map(problem).collect()
}

/// Whether the event that must come first happened in this run. For a `[[result]]` that is an answer with its tool use: without such an
/// answer, that is the failure to report. `asked_for` holds the ids of the tool uses that were asked for, once they are needed.
fn is_due(run: &PlayedRun<'_>, said: &StatementEntry, asked_for: &mut Option<BTreeSet<Arc<str>>>) -> bool {
    match &said.statement {
        Statement::Result(id) => asked_for.get_or_insert_with(|| run.setup.asked_for_in(run.passed)).contains(id),
        _ => said.after.as_ref().is_none_or(|after| run.passed.holds(after)),
    }
}

fn sees(view: RunView, statement: &Statement) -> bool {
    let is_the_servers = matches!(statement, Statement::Fault(_) | Statement::FaultChance(_) | Statement::Turn(_));
    let is_the_networks = matches!(statement, Statement::NetworkEvent(_) | Statement::NetworkEventChance(_));
    match view {
        RunView::Simulated => !is_the_networks,
        RunView::Network => true,
        RunView::Engine => !is_the_servers && !is_the_networks,
        RunView::Server => is_the_servers,
    }
}

/// A base that is a scenario of its own is judged by its own runs; one that is there to be extended (`_base.toml`) by those of its users.
fn is_judged_elsewhere(places: &TablePlaces, path: &StatementPath) -> bool {
    places.base(path).is_some_and(is_run_itself)
}

fn is_run_itself(file: &str) -> bool {
    file.rsplit(['/', '\\']).next().is_some_and(|name| name.ends_with(".toml") && !name.starts_with('_'))
}

/// Whether a file extends another one whose statements are judged where that one is run.
pub fn has_base_of_its_own(places: &TablePlaces) -> bool {
    places.bases().any(is_run_itself)
}
