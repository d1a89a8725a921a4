//! The statements of a scenario (F-10): a run notes which came to pass, and the caller with all runs of a file asks for the
//! rest. Which keys are statements, and which are not and why, is in `statements.md` beside this file.
//!
//! ```text
//!   scenario ── statements ──> statements with their places     judged: in the scenario, and noted in no run of the file
//!   world ───── Passed ──────> what came to pass in one run
//! ```

use alloc::collections::BTreeSet;

use super::interrupt::InterruptKind;
use super::replies::{AT_ONCE, ResultStore, ScriptedElicitation, ScriptedLookups, ScriptedReply};
use super::script::{self, AnswerOrigin, ScriptedTask, TurnPlace};
use super::types::{Scenario, ScriptedAuth, ScriptedOutcome, ScriptedTurn, TurnBlock};
use reenact_engine::contract::Catalogue;
use reenact_engine::permission::ToolCheck;
use reenact_engine::settings::{HostMessage, MessagePlace, RequestPlace};
use reenact_wire::block::{Block, Message};
use reenact_wire::prelude::*;
use reenact_wire::request::Request;

/// One thing that a scenario says will happen. What is counted is counted from 0, but for places of turns.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Statement {
    /// A `[[fault]]` hits.
    Fault(usize),
    /// A `[[fault]]` with a probability could have hit: a request came to its place.
    FaultChance(usize),
    /// One of [`Scenario::interrupts`] happens.
    Interrupt(usize),
    /// A `[[hook]]` runs.
    Hook(usize),
    /// It gives its n-th answer.
    HookAnswer(usize, usize),
    /// A person is asked for what a `[[permission]]` covers.
    Permission(usize),
    /// It gives its n-th answer.
    PermissionAnswer(usize, usize),
    /// New credentials are asked for.
    Auth,
    /// A tool's server asks the user, and the user gives the scripted answer, if any.
    Elicitation(ElicitationSource),
    /// A tool checks its input, with the scripted outcome.
    Check(ElicitationSource),
    /// The engine looks up skills or plugins, or either of them.
    LookUp(Option<Catalogue>),
    /// A result is to be stored.
    Store,
    /// The tool use with this id is carried out as its `[[result]]` says.
    Result(Arc<str>),
    /// A scripted turn is asked for.
    Turn(TurnPlace),
    /// The n-th of the answers that come from a tape is asked for: noted, and judged by the rules for tapes (M-3).
    Exchange(usize),
    /// A `[[network.event]]` begins.
    NetworkEvent(usize),
    /// A `[[network.event]]` whose time is drawn could have begun: the earliest time came before the end.
    NetworkEventChance(usize),
    /// Another process does what a `[[workspace.change]]` says.
    FileChange(usize),
    /// The request of a `[[change]]` is made, or one after it in its prompt.
    Change(usize),
    /// The request of a `[[message]]` is made, or one after it in its prompt; for one that stands instead of another, a request that holds it.
    HostMessage(usize),
}

/// The tool of a statement: one whose server asks the user, or one with a check of its input.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ElicitationSource {
    /// The n-th tool's, whichever tool use it is.
    Tool(usize),
    /// That of one tool use, by its id in the scenario.
    ToolUse(Arc<str>),
}

/// The statements that came to pass in a run. A copy shares them until it notes another one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PassedStatements(Arc<BTreeSet<Statement>>);

/// Statements that came to pass are only reported: no part of a state's key (E-3).
impl core::hash::Hash for PassedStatements {
    fn hash<H: core::hash::Hasher>(&self, _: &mut H) {}
}

impl PassedStatements {
    /// Takes note of one.
    pub fn note(&mut self, statement: Statement) {
        if !self.0.contains(&statement) {
            Arc::make_mut(&mut self.0).insert(statement);
        }
    }

    /// Takes note of several.
    pub fn extend(&mut self, statements: impl IntoIterator<Item = Statement>) {
        statements.into_iter().for_each(|statement| self.note(statement));
    }

    /// Whether it came to pass.
    pub fn holds(&self, statement: &Statement) -> bool {
        self.0.contains(statement)
    }

    /// All that came to pass.
    pub fn iter(&self) -> impl Iterator<Item = &Statement> {
        self.0.iter()
    }
}

/// A statement with what the scenario says about it.
#[derive(Clone, Debug, PartialEq)]
pub struct StatementEntry {
    /// The statement.
    pub statement: Statement,
    /// The place in the file.
    pub path: StatementPath,
    /// Whether it need not come to pass.
    pub may: bool,
    /// The statement that must come to pass first: before that, this one is not asked.
    pub after: Option<Statement>,
}

/// A way through the tables of a scenario file.
pub type StatementPath = Vec<PathStep>;

/// One step of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathStep {
    /// Into this key.
    Key(&'static str),
    /// To this entry, from 0.
    Nth(usize),
    /// To the entry in which this key has this value.
    Where(&'static str, Arc<str>),
    /// To this tool use of a turn, from 0, in whichever form the turn is written.
    ToolUse(usize),
}

/// A scripted tool use, and where it stands.
#[derive(Clone, Debug)]
pub struct ScriptedToolUse<'a> {
    /// The turn that it is in.
    pub place: TurnPlace,
    /// Where it stands.
    pub path: StatementPath,
    /// Its id in the scenario.
    pub id: Arc<str>,
    /// Itself: a [`TurnBlock::Tool`].
    pub block: &'a TurnBlock,
}

/// All statements of a scenario.
pub fn statements(scenario: &Scenario) -> Vec<StatementEntry> {
    let mut said = Vec::new();
    for (index, rule) in scenario.faults.iter().enumerate() {
        // It is luck whether it hits, and none whether it could.
        let is_probable = rule.at.probability.is_some_and(|probability| probability < 1.0);
        let statement = if is_probable { Statement::FaultChance(index) } else { Statement::Fault(index) };
        push(&mut said, statement, entry("fault", index), rule.may, None);
    }
    for (index, interrupt) in scenario.interrupts.iter().enumerate() {
        push(&mut said, Statement::Interrupt(index), interrupt_path(scenario, index), interrupt.may, None);
    }
    for (index, hook) in scenario.hooks.iter().enumerate() {
        push(&mut said, Statement::Hook(index), entry("hook", index), hook.may, None);
        let mays = hook.replies.iter().map(|reply| reply.may);
        answers(&mut said, entry("hook", index), mays, |nth| Statement::HookAnswer(index, nth), &Statement::Hook(index));
    }
    for (index, permission) in scenario.permissions.iter().enumerate() {
        push(&mut said, Statement::Permission(index), entry("permission", index), permission.may, None);
        let mays = permission.replies.iter().map(|reply| reply.may);
        let of = Statement::Permission(index);
        answers(&mut said, entry("permission", index), mays, |nth| Statement::PermissionAnswer(index, nth), &of);
    }
    let usual = ScriptedAuth { may: scenario.auth.may, ..ScriptedAuth::default() };
    if scenario.auth != usual {
        push(&mut said, Statement::Auth, vec![PathStep::Key("auth")], scenario.auth.may, None);
    }
    for (index, tool) in scenario.tools.iter().enumerate() {
        let asks = tool.outcome.as_ref().and_then(|outcome| outcome.asks.as_ref());
        let path = vec![PathStep::Key("tool"), PathStep::Where("name", tool.definition.name.clone())];
        elicitation(&mut said, ElicitationSource::Tool(index), &path, asks, None);
        check(&mut said, ElicitationSource::Tool(index), &path, tool.outcome.as_ref().and_then(|outcome| outcome.check.as_ref()), None);
    }
    lookups(&mut said, &scenario.lookups);
    let usual = ResultStore { may: scenario.store.may, ..ResultStore::default() };
    if scenario.store != usual {
        push(&mut said, Statement::Store, vec![PathStep::Key("files")], scenario.store.may, None);
    }
    for (id, outcome) in &scenario.results {
        let path = vec![PathStep::Key("result"), PathStep::Where("tool_use", id.clone())];
        push(&mut said, Statement::Result(id.clone()), path.clone(), outcome.may, None);
        let (asker, after) = (ElicitationSource::ToolUse(id.clone()), Some(Statement::Result(id.clone())));
        elicitation(&mut said, asker.clone(), &path, outcome.asks.as_ref(), after.clone());
        check(&mut said, asker, &path, outcome.check.as_ref(), after);
    }
    turns(&mut said, scenario);
    for (index, event) in scenario.network.iter().flat_map(|network| &network.events).enumerate() {
        let path = [vec![PathStep::Key("network")], entry("event", index)].concat();
        let statement = if event.at.is_drawn() { Statement::NetworkEventChance(index) } else { Statement::NetworkEvent(index) };
        push(&mut said, statement, path, event.may, None);
    }
    for (index, change) in scenario.workspace.iter().flat_map(|workspace| &workspace.change).enumerate() {
        let path = [vec![PathStep::Key("workspace")], entry("change", index)].concat();
        push(&mut said, Statement::FileChange(index), path, change.may, None);
    }
    let host = &scenario.settings.session;
    (0..host.changes.len()).for_each(|index| push(&mut said, Statement::Change(index), entry("change", index), false, None));
    (0..host.host_messages.len()).for_each(|index| push(&mut said, Statement::HostMessage(index), entry("message", index), false, None));
    said
}

/// The changes and messages of the host that are due at this request of the root and that `passed` does not hold yet.
pub fn host_deeds(scenario: &Scenario, place: RequestPlace, request: &Request, passed: &PassedStatements) -> Vec<Statement> {
    let host = &scenario.settings.session;
    let is_reached = |named: RequestPlace| named.prompt == place.prompt && named.request <= place.request;
    let changes = (0..).zip(&host.changes).filter(|(_, change)| is_reached(change.from)).map(|(index, _)| Statement::Change(index));
    let messages = (0..).zip(&host.host_messages).filter(|(_, message)| is_reached(message.at));
    let is_new = |statement: &Statement| !passed.holds(statement);
    let is_said = |HostMessage { place, message, .. }: &HostMessage| *place != MessagePlace::Instead || holds(request, message);
    let messages = messages.map(|(index, message)| (Statement::HostMessage(index), message));
    let messages = messages.filter(|(statement, message)| is_new(statement) && is_said(message)).map(|(statement, _)| statement);
    changes.filter(is_new).chain(messages).collect()
}

/// Whether a request contains these blocks in a row, in one message with others or in messages of their own.
fn holds(request: &Request, said: &Message) -> bool {
    let own: Vec<&Block> =
        request.messages.iter().filter(|message| message.role == said.role).flat_map(|message| &message.content).collect();
    own.windows(said.content.len().max(1)).any(|blocks| blocks.iter().copied().eq(&said.content))
}

/// All tool uses of a scenario's turns, those of agents as well.
pub fn tool_uses(scenario: &Scenario) -> Vec<ScriptedToolUse<'_>> {
    all_turns(scenario).into_iter().flat_map(|(place, path, turn)| turn_tool_uses(place, &path, turn)).collect()
}

fn turn_tool_uses<'a>(place: TurnPlace, path: &[PathStep], turn: &'a ScriptedTurn) -> Vec<ScriptedToolUse<'a>> {
    let uses = script::tool_uses(turn, place).into_iter().enumerate();
    uses.map(|(nth, (id, block))| ScriptedToolUse { place, path: joined(path, PathStep::ToolUse(nth)), id, block }).collect()
}

fn push(said: &mut Vec<StatementEntry>, statement: Statement, path: StatementPath, may: bool, after: Option<Statement>) {
    said.push(StatementEntry { statement, path, may, after });
}

fn entry(key: &'static str, nth: usize) -> StatementPath {
    vec![PathStep::Key(key), PathStep::Nth(nth)]
}

fn joined(path: &[PathStep], step: PathStep) -> StatementPath {
    path.iter().cloned().chain([step]).collect()
}

/// The section that it is in, and the how many-th of that.
#[doc(hidden)]
pub fn interrupt_path(scenario: &Scenario, index: usize) -> StatementPath {
    let section = scenario.interrupts[index].kind.section();
    let before = scenario.interrupts[..index].iter().filter(|other| other.kind.section() == section).count();
    entry(section, before)
}

/// The first answer comes to pass with its owner.
fn answers(
    said: &mut Vec<StatementEntry>,
    path: StatementPath,
    mays: impl Iterator<Item = bool>,
    of: impl Fn(usize) -> Statement,
    owner: &Statement,
) {
    let mut before = owner.clone();
    for (nth, may) in mays.enumerate().skip(1) {
        let path = path.iter().cloned().chain(entry("answers", nth)).collect();
        push(said, of(nth), path, may, Some(before));
        before = of(nth);
    }
}

fn elicitation(
    said: &mut Vec<StatementEntry>,
    asker: ElicitationSource,
    path: &[PathStep],
    asks: Option<&ScriptedElicitation>,
    after: Option<Statement>,
) {
    if let Some(asks) = asks {
        push(said, Statement::Elicitation(asker), joined(path, PathStep::Key("asks")), asks.reply.may, after);
    }
}

fn check(
    said: &mut Vec<StatementEntry>,
    asker: ElicitationSource,
    path: &[PathStep],
    check: Option<&ScriptedReply<ToolCheck>>,
    after: Option<Statement>,
) {
    let Some(ScriptedReply { latency, says, may }) = check else { return };
    let key = match says {
        None => "check_never_answers",
        Some(ToolCheck { problem: Some(_), .. }) => "check",
        Some(ToolCheck { permission: Some(_), .. }) => "check_permission",
        Some(ToolCheck { reason: Some(_), .. }) => "check_reason",
        Some(_) if latency.is_some() => "check_latency",
        Some(_) => "check_suggestions",
    };
    push(said, Statement::Check(asker), joined(path, PathStep::Key(key)), *may, after);
}

/// A source that never answers must be asked for something, no matter for what.
fn lookups(said: &mut Vec<StatementEntry>, lookups: &ScriptedLookups) {
    let ScriptedLookups { skills, plugins, skills_latency, plugins_latency, never_answers, may } = lookups;
    let path = |key| vec![PathStep::Key("session"), PathStep::Key(key)];
    let kinds = [
        (Catalogue::Skills, skills, skills_latency, ["skills", "skills_latency"]),
        (Catalogue::Plugins, plugins, plugins_latency, ["plugins", "plugins_latency"]),
    ];
    for (what, names, latency, [of_names, of_latency]) in kinds {
        if !names.is_empty() || *latency != AT_ONCE {
            let key = if names.is_empty() { of_latency } else { of_names };
            push(said, Statement::LookUp(Some(what)), path(key), *may, None);
        }
    }
    if *never_answers {
        push(said, Statement::LookUp(None), path("never_answers"), *may, None);
    }
}

/// Each turn comes after the one before it, the first after what it answers.
fn turns(said: &mut Vec<StatementEntry>, scenario: &Scenario) {
    for (place, path, turn) in all_turns(scenario) {
        let after = match (place.turn, place.origin) {
            (1, AnswerOrigin::Interrupt(number)) => Some(Statement::Interrupt(number as usize - 1)),
            (1, AnswerOrigin::Agent(ScriptedTask { is_interrupt, number, turn, .. })) => {
                let origin = if is_interrupt { AnswerOrigin::Interrupt(number) } else { AnswerOrigin::Prompt(number) };
                Some(Statement::Turn(TurnPlace { origin, turn }))
            }
            (1, _) => None,
            (turn, origin) => Some(Statement::Turn(TurnPlace { origin, turn: turn - 1 })),
        };
        push(said, Statement::Turn(place), path.clone(), turn.may, after);
        for ScriptedToolUse { place, path, id, block } in turn_tool_uses(place, &path, turn) {
            let TurnBlock::Tool { outcome: Some(outcome), .. } = block else { continue };
            let (asker, after) = (ElicitationSource::ToolUse(id), Some(Statement::Turn(place)));
            elicitation(said, asker.clone(), &path, outcome.asks.as_ref(), after.clone());
            check(said, asker, &path, outcome.check.as_ref(), after);
        }
    }
}

/// The turns of prompts, of interrupts, and of the agents that their tool uses make.
fn all_turns(scenario: &Scenario) -> Vec<(TurnPlace, StatementPath, &ScriptedTurn)> {
    let mut all = Vec::new();
    for (number, (index, prompt)) in (1..).zip(scenario.prompts.iter().enumerate()) {
        script_of(&mut all, AnswerOrigin::Prompt(number), &entry("prompt", index), &prompt.turns);
    }
    for (number, (index, interrupt)) in (1..).zip(scenario.interrupts.iter().enumerate()) {
        if let InterruptKind::Interrupt(_) = interrupt.kind {
            script_of(&mut all, AnswerOrigin::Interrupt(number), &interrupt_path(scenario, index), &interrupt.turns);
        }
    }
    all
}

fn script_of<'a>(
    all: &mut Vec<(TurnPlace, StatementPath, &'a ScriptedTurn)>,
    origin: AnswerOrigin,
    owner: &[PathStep],
    turns: &'a [ScriptedTurn],
) {
    for (turn, (index, script)) in (1..).zip(turns.iter().enumerate()) {
        let path: StatementPath = owner.iter().cloned().chain(entry("turn", index)).collect();
        all.push((TurnPlace { origin, turn }, path.clone(), script));
        let (is_interrupt, number) = match origin {
            AnswerOrigin::Prompt(number) => (false, number),
            AnswerOrigin::Interrupt(number) => (true, number),
            AnswerOrigin::Nothing(_) | AnswerOrigin::Agent(_) | AnswerOrigin::Thread(_) => continue, // an agent makes no agents
        };
        let outcomes = script.content.iter().filter_map(|block| match block {
            TurnBlock::Tool { outcome, .. } => Some(outcome.as_deref()),
            _ => None,
        });
        for (tool, outcome) in (1..).zip(outcomes) {
            let Some(ScriptedOutcome { agents, .. }) = outcome else { continue };
            let path = joined(&path, PathStep::ToolUse(tool as usize - 1));
            for (task, turns) in (1..).zip(&agents.tasks) {
                let owner: StatementPath = path.iter().cloned().chain(entry("agent", task as usize - 1)).collect();
                script_of(all, AnswerOrigin::Agent(ScriptedTask { is_interrupt, number, turn, tool, task: Some(task) }), &owner, turns);
            }
            if let Some(synthesis) = &agents.synthesis {
                let origin = AnswerOrigin::Agent(ScriptedTask { is_interrupt, number, turn, tool, task: None });
                all.push((TurnPlace { origin, turn: 1 }, joined(&path, PathStep::Key("synthesis")), synthesis));
            }
        }
    }
}
