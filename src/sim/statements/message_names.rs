//! Names in `[[dead]]` and `[[collapse]]` that no message has when it counts, and marks that no request comes after (F-10, C-1, C-3).
//!
//! Messages are not seen at the boundary by their names, but what they are named after is: prompts (`p1`), requests (`p1.r2.a1`), history (`h1`) and
//! messages of the host (`host1`). What the engine adds to them has a word behind that. A dead message must be there before the next request; the
//! span of a summary may come later, because a summary waits for it.

use alloc::collections::BTreeSet;

use super::evidence::did_you_mean;
use super::{PlayedRun, StatementProblem, is_judged_elsewhere};
use reenact_engine::contract::{Input, StagedSummary};
use reenact_engine::conversation::{NAME_WORDS, answer_name, results_name};
use reenact_scenario::interrupt::{InterruptKind, ScriptedInterrupt};
use reenact_scenario::parse::nearest::nearest;
use reenact_scenario::statement::{PathStep, Statement, StatementPath, interrupt_path};
use reenact_transcript::event::EventKind;
use reenact_wire::prelude::*;

/// The findings about one mark over the runs of a file.
struct Mark<'a> {
    run: PlayedRun<'a>,
    path: StatementPath,
    interrupt: &'a ScriptedInterrupt,
    /// Whether a request came after it.
    counts: bool,
    found: BTreeSet<&'a str>,
    /// All names that there were.
    known: BTreeSet<Arc<str>>,
}

/// The mistakes in the marks of a file, over all of its runs.
pub(super) fn problems(runs: &[PlayedRun<'_>]) -> Vec<StatementProblem> {
    let mut marks: Vec<Mark<'_>> = Vec::new();
    for run in runs {
        for (index, interrupt) in run.setup.scenario.interrupts.iter().enumerate() {
            let path = interrupt_path(&run.setup.scenario, index);
            let is_asked = !interrupt.may && run.passed.holds(&Statement::Interrupt(index)) && !is_judged_elsewhere(run.places, &path);
            if names(interrupt).is_empty() || !is_asked {
                continue;
            }
            let seen = SeenMessages::from_run(run, interrupt);
            let key = run.places.key(&path);
            let known = marks.iter().position(|mark| mark.run.places.key(&mark.path) == key && mark.interrupt.kind == interrupt.kind);
            let at = known.unwrap_or_else(|| {
                marks.push(Mark { run: *run, path, interrupt, counts: false, found: BTreeSet::new(), known: BTreeSet::new() });
                marks.len() - 1
            });
            let mark = &mut marks[at];
            mark.counts |= seen.counts;
            mark.found.extend(names(mark.interrupt).into_iter().map(|(_, name)| name).filter(|name| is_known(name, &seen.in_time)));
            mark.known.extend(seen.all);
        }
    }
    let mut found: Vec<StatementProblem> = marks.iter().flat_map(mark_problems).collect();
    found.extend(runs.iter().flat_map(in_vain));
    found
}

/// Marks of what another mark says already, and of what the engine's settings take no notice of.
fn in_vain(run: &PlayedRun<'_>) -> Vec<StatementProblem> {
    let scenario = &run.setup.scenario;
    let compaction = &scenario.settings.compaction;
    let mut problems = Vec::new();
    for (index, interrupt) in scenario.interrupts.iter().enumerate() {
        let path = interrupt_path(scenario, index);
        if interrupt.may || names(interrupt).is_empty() || is_judged_elsewhere(run.places, &path) {
            continue;
        }
        let (section, switch, is_on) = match &interrupt.kind {
            InterruptKind::Dead(_) => ("dead", "snip", compaction.snip),
            _ => ("collapse", "collapse", compaction.collapse),
        };
        let excuse = format!("if that is what this shows, add `may = true` to this [[{section}]]");
        if !is_on {
            let message = format!("this [[{section}]] changes nothing: `{switch} = false` in [engine.compaction]");
            problems.push(StatementProblem::at(run.places, &path, message, format!("switch it on; {excuse}")));
        }
        if scenario.interrupts[..index].iter().any(|other| !other.may && other.kind == interrupt.kind) {
            let message = format!("another [[{section}]] does the same, so this one changes nothing");
            problems.push(StatementProblem::at(run.places, &path, message, format!("remove one of the two; {excuse}")));
        }
    }
    problems
}

fn mark_problems(mark: &Mark<'_>) -> Vec<StatementProblem> {
    let section = mark.interrupt.kind.section();
    let problem = |path: &StatementPath, message, help: &str| {
        let help = format!("{help}; if it need not happen, add `may = true` to this [[{section}]]");
        StatementProblem::at(mark.run.places, path, message, help)
    };
    if !mark.counts {
        let message = format!("no request came after this [[{section}]], so it changed nothing");
        return vec![problem(&mark.path, message, "choose an earlier moment")];
    }
    let missing = names(mark.interrupt).into_iter().filter(|(_, name)| !mark.found.contains(name));
    let of_name = |(steps, name): (Vec<PathStep>, &str)| {
        let path = mark.path.iter().cloned().chain(steps).collect();
        if is_known(name, &mark.known) {
            let message = format!("`{name}` of this [[{section}]] did not exist yet at its moment");
            return problem(&path, message, "choose a later moment, or an earlier message");
        }
        let near = nearest(name, mark.known.iter().map(|known| &**known));
        let message = format!("`{name}` of this [[{section}]] names no message{}", did_you_mean(near));
        problem(&path, message, "messages have names such as \"p1\", \"p1.r2.a1\", \"p1.r2.a1.results\", and \"h1\" in [[history]]")
    };
    missing.map(of_name).collect()
}

/// The messages that a mark names, with where it does so.
fn names(interrupt: &ScriptedInterrupt) -> Vec<(Vec<PathStep>, &str)> {
    match &interrupt.kind {
        InterruptKind::Dead(names) => {
            names.iter().enumerate().map(|(nth, name)| (vec![PathStep::Key("names"), PathStep::Nth(nth)], &**name)).collect()
        }
        InterruptKind::Collapse(staged) => {
            let StagedSummary { from, to, .. } = &**staged;
            vec![(vec![PathStep::Key("from")], from), (vec![PathStep::Key("to")], to)]
        }
        InterruptKind::Cancel | InterruptKind::Interrupt(_) => Vec::new(),
    }
}

/// The findings about a mark in one run.
#[derive(Default)]
struct SeenMessages {
    counts: bool,
    /// The names that there were when it counted.
    in_time: BTreeSet<Arc<str>>,
    all: BTreeSet<Arc<str>>,
}

impl SeenMessages {
    fn from_run(run: &PlayedRun<'_>, interrupt: &ScriptedInterrupt) -> Self {
        let scenario = &run.setup.scenario;
        let numbered = |word: &'static str, count: usize| (1..=count).map(move |number| Arc::from(format!("{word}{number}")));
        let mut seen = Self::default();
        seen.all.extend(numbered("h", scenario.history.len()));
        seen.all.extend(numbered("host", scenario.settings.session.host_messages.len()));
        let mut is_marked = false;
        for event in run.transcript.events.iter().filter(|event| event.agent.is_root()) {
            match &event.what {
                EventKind::Input(Input::Prompt { prompt, .. } | Input::Interrupt { prompt, .. }) => {
                    _ = seen.all.insert(format!("p{prompt}").into())
                }
                EventKind::Input(Input::MarkedDead { names }) => {
                    is_marked |= matches!(&interrupt.kind, InterruptKind::Dead(dead) if dead[..] == names[..]);
                }
                EventKind::Input(Input::CollapseStaged(staged)) => {
                    is_marked |= matches!(&interrupt.kind, InterruptKind::Collapse(wanted) if wanted == staged);
                }
                EventKind::Request { id, .. } => {
                    if is_marked {
                        seen.counts = true;
                        seen.in_time.extend(seen.all.iter().cloned());
                        is_marked = false;
                    }
                    seen.all.extend([answer_name(*id), results_name(*id)]);
                }
                _ => (),
            }
        }
        if let (true, InterruptKind::Collapse(_)) = (seen.counts, &interrupt.kind) {
            seen.in_time.clone_from(&seen.all);
        }
        seen
    }
}

/// Whether it is one of these, or one that the engine has made of one.
fn is_known(name: &str, known: &BTreeSet<Arc<str>>) -> bool {
    let is_word = |word: &str| NAME_WORDS.contains(&word.trim_end_matches(|letter: char| letter.is_ascii_digit()));
    known.contains(name) || name.rsplit_once('.').is_some_and(|(before, word)| is_word(word) && is_known(before, known))
}
