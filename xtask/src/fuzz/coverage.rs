//! The reach of the cases: terminals, transitions, faults, steps, and the oracles that had something to look at. A test of a feature that no
//! case reaches tests nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Debug, Write};

use reenact::engine::contract::{Agent, ByAgent, Effect, HookRun, HookSubject, Input, RequestId, Role, Terminal};
use reenact::engine::emission::{CompactionLevel, Note, PipelineStep, Transition};
use reenact::oracle::ORACLES;
use reenact::scenario::fault::{AnswerChange, AnswerSubstitute, ConnectFault, CutAfter, FaultKind};
use reenact::scenario::types::Scenario;
use reenact::strategies::feature::Feature;
use reenact::transcript::event::{EventKind, RunEnd, Transcript};

/// The points that one case reached.
pub(super) type ReachedPoints = BTreeSet<String>;

/// How many cases reached each point.
#[derive(Default)]
pub(super) struct Coverage {
    cases: BTreeMap<String, u64>,
}

const STEPS: [PipelineStep; 9] = [
    PipelineStep::Validate,
    PipelineStep::Check,
    PipelineStep::PreHooks,
    PipelineStep::Permission,
    PipelineStep::Ask,
    PipelineStep::Call,
    PipelineStep::PostHooks,
    PipelineStep::Map,
    PipelineStep::Store,
];

const LEVELS: [CompactionLevel; 5] =
    [CompactionLevel::Snip, CompactionLevel::Microcompact, CompactionLevel::Collapse, CompactionLevel::Auto, CompactionLevel::Reactive];

const FAULTS: [&str; 13] = [
    "an error",
    "another answer",
    "a cut after events",
    "a cut after bytes",
    "a stall",
    "a stall without end",
    "an inserted event",
    "a duplicate event",
    "a missing event",
    "an empty body",
    "another content type",
    "a truncated input",
    "a drip",
];

impl Coverage {
    pub(super) fn add(&mut self, points: ReachedPoints) {
        points.into_iter().for_each(|point| *self.cases.entry(point).or_default() += 1);
    }

    /// Everything that was reached, with how many cases did.
    pub(super) fn table(&self) -> String {
        let mut out = String::new();
        let mut group = "";
        for (point, count) in &self.cases {
            let (kind, name) = point.split_once(": ").unwrap_or(("", point));
            if kind != group {
                let _ = write!(out, "\n{kind}:");
                group = kind;
            }
            let _ = write!(out, " {name} {count},");
        }
        out.trim_start().trim_end_matches(',').replace(",\n", "\n")
    }

    /// The points that should have been reached and were not.
    pub(super) fn missing(&self) -> Vec<String> {
        wanted().into_iter().filter(|point| !self.cases.contains_key(point)).collect()
    }
}

/// The points that the cases should reach in the long run.
fn wanted() -> Vec<String> {
    let terminals = Terminal::WORDS.iter().map(|name| format!("terminal: {name}"));
    let transitions = Transition::ALL.iter().map(|transition| format!("transition: {}", transition.as_str()));
    let steps = STEPS.iter().map(|step| format!("step: {}", step.as_str()));
    let levels = LEVELS.iter().map(|level| format!("compaction: {}", level.as_str()));
    let faults = FAULTS.iter().map(|fault| format!("fault: {fault}"));
    let connections = ConnectFault::ALL.map(|how| format!("fault: connection {}", how.as_str()));
    let oracles = ORACLES.iter().map(|(oracle, _)| format!("oracle asked: {oracle}"));
    let keys = super::keys::wanted().into_iter().map(|key| format!("key: {key}"));
    terminals.chain(transitions).chain(steps).chain(levels).chain(faults).chain(connections).chain(oracles).chain(keys).collect()
}

/// The points of a case, from its scenario, the text of it, and its run.
pub(super) fn points(scenario: &Scenario, text: &str, run: Option<&(Transcript, RunEnd)>) -> ReachedPoints {
    let mut points = ReachedPoints::new();
    points.extend(super::keys::scenario_keys(text).into_iter().map(|key| format!("key: {key}")));
    let Some((transcript, end)) = run else { return points };
    let mut add = |kind: &str, name: &str| {
        points.insert(format!("{kind}: {name}"));
    };
    add("end", end.as_str());
    for oracle in ["O-10", "O-16"] {
        add("oracle asked", oracle);
    }
    let mut running: BTreeMap<String, ()> = BTreeMap::new();
    let mut models: ByAgent<BTreeSet<String>> = ByAgent::default();
    for event in transcript.events.iter() {
        match &event.what {
            EventKind::Input(input) => {
                add("input", &first_word(input));
                of_input(input, &mut running, &mut add);
            }
            EventKind::Effect(effect) => {
                add("effect", &first_word(effect));
                of_effect(&event.agent, effect, &mut running, &mut add);
            }
            EventKind::Request { id, request } => {
                if id.attempt > 1 {
                    add("oracle asked", "O-9");
                }
                if *id != RequestId::first(1) {
                    add("oracle asked", "O-21");
                }
                if request.added.iter().any(|message| message.role == Role::Assistant) {
                    add("oracle asked", "O-28");
                }
                let has = |kind: &str| {
                    request.added.iter().any(|message| message.content.iter().any(|block| block.json().as_str().contains(kind)))
                };
                if has("\"tool_result\"") {
                    add("oracle asked", "O-1");
                }
                let known = models.entry(&event.agent);
                known.insert(request.model.to_string());
                if known.len() > 1 {
                    add("oracle asked", "O-6");
                }
                let session = &scenario.settings.session;
                if session.max_budget.is_some() || session.max_turns.is_some() || session.task_budget.is_some() {
                    add("oracle asked", "O-13");
                }
            }
            EventKind::Fault { text, .. } => {
                let hit = scenario.faults.iter().find(|fault| fault.kind.to_string() == **text);
                hit.iter().for_each(|fault| add("fault", &fault_name(&fault.kind)));
            }
            _ => (),
        }
    }
    points
}

fn of_input(input: &Input, running: &mut BTreeMap<String, ()>, add: &mut impl FnMut(&str, &str)) {
    match input {
        Input::Cancel | Input::Interrupt { .. } => add("oracle asked", "O-11"),
        Input::ToolProgress { .. } => add("oracle asked", "O-14"),
        Input::PermissionAnswered { .. } => add("oracle asked", "O-22"),
        Input::HookEnded { hook: HookRun { subject: HookSubject::Tool(_), .. }, .. } => add("oracle asked", "O-26"),
        Input::ToolEnded { run, .. } => {
            running.remove(&run.to_string());
        }
        _ => (),
    }
}

fn of_effect(agent: &Agent, effect: &Effect, running: &mut BTreeMap<String, ()>, add: &mut impl FnMut(&str, &str)) {
    match effect {
        Effect::StartTool { run, .. } => {
            for oracle in ["O-2", "O-4", "O-20", "O-24", "O-25", "O-29"] {
                add("oracle asked", oracle);
            }
            if agent.is_root() {
                running.insert(run.to_string(), ());
            }
            if running.len() > 1 {
                add("oracle asked", "O-3");
            }
        }
        Effect::Finished { terminal, .. } => {
            add("oracle asked", "O-8");
            add("oracle asked", "O-23");
            add("oracle asked", "O-27");
            add("oracle asked", "O-30");
            add("terminal", terminal.as_str());
        }
        Effect::Note(note) => of_note(note, add),
        _ => (),
    }
}

fn of_note(note: &Note, add: &mut impl FnMut(&str, &str)) {
    match note {
        Note::Transition(transition) => {
            add("transition", transition.as_str());
            // Each of these recovers from an error that consumers do not see.
            if !matches!(transition, Transition::NextTurn | Transition::StopHookBlocking | Transition::TokenBudgetContinuation) {
                add("oracle asked", "O-7");
            }
        }
        Note::Pipeline { step, .. } => add("step", step.as_str()),
        Note::Compaction { level, ran: true, .. } => {
            add("compaction", level.as_str());
            add("oracle asked", "O-12");
        }
        Note::Discarded { .. } => add("oracle asked", "O-5"),
        Note::LeftRunning { .. } => add("oracle asked", "O-5"),
        Note::Repeated { .. } => add("oracle asked", "O-17"),
        Note::Defect { name, .. } => add("defect", name),
        Note::Tool { state, .. } => add("tool state", &first_word(state)),
        _ => (),
    }
}

fn fault_name(kind: &FaultKind) -> String {
    let name = match kind {
        FaultKind::Instead(AnswerSubstitute::Connection(how)) => {
            return format!("connection {}", how.as_str());
        }
        FaultKind::Instead(AnswerSubstitute::Answer(answer)) if answer.status == 200 => "another answer",
        FaultKind::Instead(AnswerSubstitute::Answer(_)) => "an error",
        FaultKind::Change(AnswerChange::Cut { after: CutAfter::Events(_), .. }) => "a cut after events",
        FaultKind::Change(AnswerChange::Cut { after: CutAfter::Bytes(_), .. }) => "a cut after bytes",
        FaultKind::Change(AnswerChange::Stall { time: Some(_), .. }) => "a stall",
        FaultKind::Change(AnswerChange::Stall { time: None, .. }) => "a stall without end",
        FaultKind::Change(AnswerChange::Insert { .. }) => "an inserted event",
        FaultKind::Change(AnswerChange::Duplicate { .. }) => "a duplicate event",
        FaultKind::Change(AnswerChange::Missing { .. }) => "a missing event",
        FaultKind::Change(AnswerChange::EmptyBody) => "an empty body",
        FaultKind::Change(AnswerChange::ContentType(_)) => "another content type",
        FaultKind::Change(AnswerChange::TruncateToolInput) => "a truncated input",
        FaultKind::Change(AnswerChange::Drip { .. }) => "a drip",
    };
    name.to_string()
}

/// The name of a variant, and of the one inside of it: `Head`, `Emit(Assistant`. Nothing more of the value is written out.
fn first_word(value: &impl Debug) -> String {
    struct CoverageSink(String);
    impl Write for CoverageSink {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            for c in text.chars() {
                let opens = c == '(' && !self.0.contains('(');
                if !c.is_alphanumeric() && !opens {
                    return Err(fmt::Error);
                }
                self.0.push(c);
            }
            Ok(())
        }
    }
    let mut sink = CoverageSink(String::new());
    // It fails where enough was written.
    let _ = write!(sink, "{value:?}");
    let CoverageSink(name) = sink;
    name.replace('(', " ").trim().to_string()
}

/// A feature by its name.
pub(super) fn feature(name: &str) -> Result<Feature, String> {
    let names = || Feature::ALL.iter().map(|feature| feature.as_str()).collect::<Vec<_>>().join(", ");
    Feature::named(name).ok_or_else(|| format!("unknown feature `{name}`; the features are {}", names()))
}
