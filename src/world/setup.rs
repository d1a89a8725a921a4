//! A scenario made ready to run: what never changes while it runs, in the form in which the world needs it.
//!
//! Made once, shared by every run and every copy of a run.

use alloc::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use thiserror::Error;

use super::cuts;
use super::decoded_pieces::DecodedPieces;
use super::normalise::{FolderMoves, Normaliser};
use super::pacing::KnownTimes;
use super::recorded_requests::{RecordedRequest, RequestDigest};
use super::tool_uses;
use super::workspace::{CopiedFile, SimulatedFiles};
use reenact_engine::budget::PriceTable;
use reenact_engine::contract::original_id;
use reenact_engine::schema::Validators;
use reenact_engine::settings::{Environment, ToolDefinition};
use reenact_engine::time::Micros;
use reenact_engine::tokenizer::Tokenizer;
use reenact_engine::windows::WindowTable;
use reenact_scenario::fault::{AnswerSubstitute, FaultKind, FaultRule};
use reenact_scenario::plan::StreamShape;
use reenact_scenario::recording::{Recording, WholeTape};
use reenact_scenario::script::{self, AnswerOrigin, ScriptedBody, ScriptedTask, StreamStyle, TurnPlace};
use reenact_scenario::statement::{PassedStatements, Statement};
use reenact_scenario::tape::{BodyChunk, ClientFolder, Exchange, Provenance, ResponseEnd, Tape};
use reenact_scenario::types::{AgentScript, Scenario, ScriptedOutcome, ScriptedTurn, TurnBlock};
use reenact_tools::BuiltinTool;
use reenact_wire::block::Block;
use reenact_wire::http::HttpHeader;
use reenact_wire::prelude::*;

mod clients;

/// A scenario with everything that follows from it.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSetup {
    /// The scenario as it was written.
    pub scenario: Scenario,
    /// The environment of the engine.
    pub environment: Environment,
    /// The answers, in the order in which they are given.
    pub answers: Vec<PreparedAnswer>,
    /// The outcomes of single tool uses, by id.
    pub outcomes: BTreeMap<Arc<str>, ScriptedOutcome>,
    /// The outcomes of tool uses whose id another one had before.
    pub(crate) repeated: RepeatedUses,
    /// The owners of the answers for the agents that tool uses make, by the agents' addresses.
    pub agents: BTreeMap<Arc<str>, AnswerOrigin>,
    /// The threads of conversation of the tape, where clients may have all of them: the scenario's own first (M-3).
    pub threads: Vec<RecordedThread>,
    /// The folders that the recorded client had.
    pub(crate) folders: Vec<(ClientFolder, String)>,
    /// The files at the beginning of each run, if the scenario has any.
    pub(crate) files: Option<SimulatedFiles>,
    copied_files: Arc<[CopiedFile]>,
    /// Where the folders of the recording are for the client that is served.
    pub(crate) moves: FolderMoves,
    /// The permitted differences between the recorded requests and those of the served client; `None` for no difference.
    pub(crate) varying: Option<Normaliser>,
}

/// An answer, ready to be given.
#[derive(Clone, Debug, PartialEq)]
pub struct PreparedAnswer {
    /// How a transcript names it: `exchange 2` or `turn 1.2`.
    pub name: Arc<str>,
    /// The owner that it was scripted for; `None` for any prompt.
    pub origin: Option<AnswerOrigin>,
    /// The recorded request without what may differ; `None` when none was recorded.
    pub request: Option<RecordedRequest>,
    /// The digest of the recorded request's text; `None` when none was recorded.
    pub(crate) request_digest: Option<RequestDigest>,
    /// Where it comes from.
    pub provenance: Provenance,
    /// HTTP status.
    pub status: u16,
    /// Response headers.
    pub headers: Arc<[HttpHeader]>,
    /// Whether the body is an event stream.
    pub is_stream: bool,
    /// The choices for its stream, by its message id; `None` where nothing was chosen.
    pub shape: Option<(Arc<str>, StreamShape)>,
    /// The body in pieces that arrive at different times.
    pub pieces: Arc<[Arc<[u8]>]>,
    /// Their events.
    #[doc(hidden)]
    pub decoded: DecodedPieces,
    /// The recorded times.
    pub known: KnownTimes,
    /// The end of the response.
    pub end: ResponseEnd,
}

impl PreparedAnswer {
    /// Whether it is an error, or breaks off.
    pub(crate) fn fails(&self) -> bool {
        // The end of a message is in its last pieces.
        let is_said = || !self.is_stream || self.pieces.iter().rev().any(|piece| memchr::memmem::find(piece, b"message_stop").is_some());
        !(200..300).contains(&self.status) || self.end != ResponseEnd::Complete || !is_said()
    }

    /// Its statement among those of its scenario; `None` for answers of other threads of a tape, which belong to no statement.
    /// `turns` counts along the answers.
    pub(crate) fn statement(&self, index: usize, turns: &mut BTreeMap<AnswerOrigin, u32>) -> Option<Statement> {
        match self.origin {
            None => Some(Statement::Exchange(index)),
            Some(AnswerOrigin::Thread(_)) => None,
            Some(origin) => {
                let turn = turns.entry(origin).or_default();
                *turn += 1;
                Some(Statement::Turn(TurnPlace { origin, turn: *turn }))
            }
        }
    }

    /// The ids of the tool uses that are complete in it, in order.
    fn tool_use_ids(&self) -> Vec<Arc<str>> {
        self.blocks().iter().filter_map(|block| block.as_tool_use().map(|tool_use| tool_use.id.clone())).collect()
    }

    fn blocks(&self) -> Vec<Block> {
        tool_uses::answer(self.is_stream, self.pieces.iter().map(|piece| &**piece)).into_blocks()
    }

    /// The content of the answer, as JSON: of a stream its blocks, each put together.
    #[doc(hidden)]
    pub fn text(&self) -> String {
        let blocks = self.blocks();
        let json: Vec<&str> = blocks.iter().map(|block| block.json().as_str()).collect();
        json.join("\n")
    }
}

/// The outcomes of tool uses whose id another one had before, by the name of the answer and the position among its tool uses. Each with the
/// id; the outcome is `None` where the scenario does not script this use.
pub(crate) type RepeatedUses = BTreeMap<(Arc<str>, u32), (Arc<str>, Option<ScriptedOutcome>)>;

/// A thread of conversation of a tape.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedThread {
    /// Its name on the tape.
    pub name: Arc<str>,
    /// Its first request; `None` when none was recorded.
    pub first: Option<String>,
}

/// Why a scenario cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SetupError {
    /// The scenario names a tape and none was given.
    #[error("the scenario replays a tape, but none was read")]
    NoTape,
    /// A result is given for a tool use that no answer asks for.
    #[error("[[result]] is given for `{id}`, which no answer asks for; the answers ask for {known}")]
    UnknownToolUse {
        /// The id.
        id: Arc<str>,
        /// The ids that there are.
        known: String,
    },
    /// The tape has no such thread.
    #[error("the tape has no thread `{thread}`; it has {known}")]
    NoThread {
        /// The thread that was asked for.
        thread: String,
        /// The threads that are there.
        known: String,
    },
}

impl RunSetup {
    /// Whether a rule of the scenario depends on the time of the clock: a fault, a prompt, or an answer.
    #[doc(hidden)]
    pub fn names_clock_times(&self) -> bool {
        let Scenario { faults, prompts, .. } = &self.scenario;
        // An engine may wait until an instant that a header states.
        let states_instant = |answer: &PreparedAnswer| answer.headers.iter().any(|header| header.name.contains("reset"));
        let names_time = |fault: &FaultRule| {
            let in_headers = matches!(&fault.kind, FaultKind::Instead(AnswerSubstitute::Answer(answer)) if answer.rate_limits || !answer.headers.is_empty());
            in_headers || fault.at.after.is_some() || fault.at.before.is_some()
        };
        faults.iter().any(names_time) || prompts.iter().any(|prompt| prompt.at.is_some()) || self.answers.iter().any(states_instant)
    }

    /// The scenario's id for a tool use that may have come under a fresh one, from a server whose ids this run did not see made.
    #[doc(hidden)]
    pub fn scripted_id<'a>(&self, id: &'a str) -> &'a str {
        let makes_agents = |id: &str| self.agents.keys().any(|address| address.split('.').next() == Some(id));
        let is_known = |id: &str| self.outcomes.contains_key(id) || makes_agents(id);
        original_id(id).filter(|original| !is_known(id) && is_known(original)).unwrap_or(id)
    }

    /// The scripted outcome of a tool use, by its id; `place` is the answer's name and the position among its tool uses, where that is known.
    #[doc(hidden)]
    pub fn outcome_of(&self, id: &str, place: Option<(Arc<str>, u32)>) -> Option<&ScriptedOutcome> {
        let repeated = place.and_then(|place| self.repeated.get(&place));
        match repeated.filter(|(known, _)| **known == *id) {
            Some((_, own)) => own.as_ref().or_else(|| self.scenario.results.get(id)),
            None => self.outcomes.get(id),
        }
    }

    /// Holds the results that a scenario gives by id against the tool uses that its answers ask for: a misspelt id would be answered
    /// with a default text, and nobody would notice.
    ///
    /// # Errors
    /// The first id that no answer asks for.
    pub fn check_results(&self) -> Result<(), SetupError> {
        if self.scenario.results.is_empty() {
            return Ok(());
        }
        let asked: Vec<Arc<str>> = self.answers.iter().flat_map(PreparedAnswer::tool_use_ids).collect();
        match self.scenario.results.keys().find(|id| !asked.contains(id)) {
            None => Ok(()),
            Some(id) => {
                let known = if asked.is_empty() { String::from("no tool") } else { asked.join(", ") };
                Err(SetupError::UnknownToolUse { id: id.clone(), known })
            }
        }
    }

    /// The ids of the tool uses that the answers ask for which were given.
    #[doc(hidden)]
    pub fn asked_for_in(&self, passed: &PassedStatements) -> BTreeSet<Arc<str>> {
        let mut turns = BTreeMap::new();
        let mut ids = BTreeSet::new();
        for (index, answer) in self.answers.iter().enumerate() {
            if answer.statement(index, &mut turns).is_some_and(|statement| passed.holds(&statement)) {
                ids.extend(answer.tool_use_ids());
            }
        }
        ids
    }

    /// Puts the files of its folder into the session, if it names one.
    pub fn copy_files(&mut self, copied: Arc<[CopiedFile]>) {
        if self.scenario.workspace.as_ref().is_none_or(|workspace| workspace.dir.is_none()) {
            return;
        }
        self.files = SimulatedFiles::from_scenario(&self.scenario, &copied);
        self.copied_files = copied;
    }

    /// The files of its folder.
    #[doc(hidden)]
    pub fn copied_files(&self) -> &Arc<[CopiedFile]> {
        &self.copied_files
    }

    /// The same for another scenario with the same answers and tools: limits, expectations, the seed or the plan may differ.
    #[must_use]
    pub fn with_scenario(&self, scenario: Scenario) -> Self {
        Self { scenario, ..self.clone() }
    }

    /// Makes a scenario ready.
    ///
    /// # Errors
    /// When the tape that it names is missing or has no such thread.
    pub fn new(scenario: Scenario, tape: Option<&Tape>) -> Result<Self, SetupError> {
        match tape {
            Some(tape) => Self::with_recording(scenario, Some(&WholeTape::new(tape))),
            None => Self::with_recording(scenario, None),
        }
    }

    /// The same for a recording that is read exchange by exchange.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_recording(scenario: Scenario, recording: Option<&dyn Recording>) -> Result<Self, SetupError> {
        let mut of_tools = ScriptedToolUses { outcomes: scenario.results.clone(), ..ScriptedToolUses::default() };
        let mut answers = match (&scenario.tape, recording) {
            (Some(source), Some(recording)) => recorded(&scenario, recording, &source.thread)?,
            (Some(_), None) => return Err(SetupError::NoTape),
            (None, _) => {
                let scripts = (1..).zip(&scenario.prompts).map(|(number, prompt)| (AnswerOrigin::Prompt(number), &prompt.turns));
                scripted(&scenario, scripts, &mut of_tools)
            }
        };
        let scripts = (1..).zip(&scenario.interrupts).map(|(number, interrupt)| (AnswerOrigin::Interrupt(number), &interrupt.turns));
        answers.extend(scripted(&scenario, scripts, &mut of_tools));
        let ScriptedToolUses { ids: _, outcomes, repeated, agents } = of_tools;
        let environment = Environment {
            settings: scenario.settings.clone(),
            tools: scenario.tools.iter().map(|tool| definition(&scenario, &tool.definition)).collect(),
            hooks: scenario.hooks.iter().map(|hook| hook.definition.clone()).collect(),
            history: scenario.history.clone(),
            seed: scenario.seed,
            prices: PriceTable::shipped(),
            windows: WindowTable::shipped(),
            backoff: scenario.plan.backoff.clone(),
            safe_uses: scenario.safe_uses(),
            validators: Validators::default(),
            tokenizer: Tokenizer::default(),
        };
        let (threads, folders) = (Vec::new(), recording.map_or_else(Vec::new, |recording| recording.header().folders.clone()));
        let files = SimulatedFiles::from_scenario(&scenario, &[]);
        Ok(Self {
            scenario,
            environment,
            answers,
            outcomes,
            repeated,
            agents,
            threads,
            folders,
            files,
            copied_files: Arc::default(),
            moves: FolderMoves::default(),
            varying: None,
        })
    }
}

/// The definition of a tool. A built-in one that works on files says itself what it takes, and looks at its input.
fn definition(scenario: &Scenario, tool: &ToolDefinition) -> ToolDefinition {
    match BuiltinTool::from_name(&tool.name).filter(|_| scenario.workspace.is_some()) {
        None => tool.clone(),
        Some(builtin) => {
            let own = builtin.definition();
            ToolDefinition { json: own.json, checks: own.checks || tool.checks, ..tool.clone() }
        }
    }
}

fn recorded(scenario: &Scenario, recording: &dyn Recording, thread: &str) -> Result<Vec<PreparedAnswer>, SetupError> {
    // What else a client asked on that path (`OPTIONS`) nobody asks for in a replay.
    let is_asked = |exchange: &Exchange| &*exchange.thread == thread && exchange.asks_for_message();
    let places = (0..recording.count()).filter(|index| is_asked(recording.outline(*index)));
    let mut answers: Vec<PreparedAnswer> = Vec::new();
    for index in places {
        let before = answers.last().and_then(|answer| answer.request.as_ref());
        answers.push(recorded_answer(scenario, &recording.exchange(index), &recording.whole_body(index), before));
    }
    if answers.is_empty() {
        let mut known: Vec<&str> = (0..recording.count()).map(|index| &*recording.outline(index).thread).collect();
        known.dedup();
        let known = if known.is_empty() { String::from("no complete exchange") } else { known.join(", ") };
        return Err(SetupError::NoThread { thread: thread.into(), known });
    }
    Ok(answers)
}

fn recorded_answer(scenario: &Scenario, exchange: &Exchange, asked: &[u8], before: Option<&RecordedRequest>) -> PreparedAnswer {
    let answer = &exchange.answer;
    let request = serde_json::from_slice::<Value>(asked).ok();
    // An error has a body, whatever it says of itself.
    let is_stream = answer.status == 200 && answer.is_event_stream();
    let (pieces, times) = pieces_of(&answer.chunks, is_stream);
    PreparedAnswer {
        name: format!("exchange {}", exchange.id).into(),
        origin: None,
        request_digest: request.is_some().then(|| RequestDigest::new(asked)),
        request: request.map(|request| RecordedRequest::new(scenario.matching.volatile.normalised(request), before)),
        provenance: exchange.provenance,
        status: answer.status,
        headers: answer.headers.clone(),
        is_stream,
        shape: None,
        pieces: pieces.into(),
        decoded: DecodedPieces::default(),
        known: KnownTimes { head: answer.head_at, pieces: times, end: answer.end_at },
        end: answer.end,
    }
}

/// The outcomes of scripted tool uses, by their ids.
#[derive(Default)]
struct ScriptedToolUses {
    /// All ids so far.
    ids: BTreeSet<Arc<str>>,
    outcomes: BTreeMap<Arc<str>, ScriptedOutcome>,
    repeated: RepeatedUses,
    agents: BTreeMap<Arc<str>, AnswerOrigin>,
}

fn scripted<'a>(
    scenario: &'a Scenario,
    scripts: impl Iterator<Item = (AnswerOrigin, &'a Vec<ScriptedTurn>)>,
    of_tools: &mut ScriptedToolUses,
) -> Vec<PreparedAnswer> {
    scripts.flat_map(|(origin, turns)| script_of(scenario, origin, turns, of_tools)).collect()
}

/// The answers of one script, and of all agents that its tool uses make.
fn script_of(scenario: &Scenario, origin: AnswerOrigin, turns: &[ScriptedTurn], of_tools: &mut ScriptedToolUses) -> Vec<PreparedAnswer> {
    let mut answers = Vec::new();
    let mut of_agents = Vec::new();
    for (turn, script) in (1..).zip(turns) {
        let place = TurnPlace { origin, turn };
        for (tool, (id, block)) in (1..).zip(script::tool_uses(script, place)) {
            let TurnBlock::Tool { outcome, .. } = block else { continue };
            if !of_tools.ids.insert(id.clone()) {
                of_tools.repeated.insert((name(place).into(), tool - 1), (id.clone(), outcome.as_deref().cloned()));
            } else if let Some(outcome) = outcome {
                of_tools.outcomes.insert(id.clone(), ScriptedOutcome::clone(outcome));
            }
            let Some(outcome) = outcome else { continue };
            for (agent, task, turns) in tasks(&id, &outcome.agents) {
                // An agent makes no agents: its tools are without the one that does.
                let (is_interrupt, number) = match origin {
                    AnswerOrigin::Prompt(number) => (false, number),
                    AnswerOrigin::Interrupt(number) => (true, number),
                    AnswerOrigin::Nothing(_) | AnswerOrigin::Agent(_) | AnswerOrigin::Thread(_) => continue,
                };
                let origin = AnswerOrigin::Agent(ScriptedTask { is_interrupt, number, turn, tool, task });
                of_tools.agents.insert(agent, origin);
                of_agents.extend(script_of(scenario, origin, turns, of_tools));
            }
        }
        answers.push(scripted_answer(scenario, script, place));
    }
    answers.extend(of_agents);
    answers
}

/// The agents of a tool use: the address of each, its number, and what it is answered.
fn tasks<'a>(id: &'a str, agents: &'a AgentScript) -> impl Iterator<Item = (Arc<str>, Option<u32>, &'a [ScriptedTurn])> {
    let several = agents.tasks.len() > 1;
    let address = move |number: u32| if several { format!("{id}.{number}").into() } else { id.into() };
    let own = (1..).zip(&agents.tasks).map(move |(number, turns)| (address(number), Some(number), &**turns));
    let synthesis = agents.synthesis.as_ref().map(|turn| (format!("{id}.synthesis").into(), None, core::slice::from_ref(turn)));
    own.chain(synthesis)
}

pub(crate) fn scripted_answer(scenario: &Scenario, turn: &ScriptedTurn, place: TurnPlace) -> PreparedAnswer {
    let is_stream = scenario.settings.stream && turn.status == 200;
    let look = StreamStyle { seed: scenario.seed, plan: &scenario.plan };
    let ScriptedBody { bytes, shape } = script::body(turn, place, &scenario.settings.model, look, is_stream);
    let content_type = if is_stream { "text/event-stream; charset=utf-8" } else { "application/json" };
    let mut headers = vec![HttpHeader::new("content-type", content_type)];
    headers.extend(turn.headers.iter().map(|(name, value)| HttpHeader::new(name, value)));
    let (pieces, times) = pieces_of(&[BodyChunk { at: None, bytes: bytes.into() }], is_stream);
    PreparedAnswer {
        name: name(place).into(),
        origin: Some(place.origin),
        request: None,
        request_digest: None,
        provenance: turn.provenance,
        status: turn.status,
        headers: headers.into(),
        is_stream,
        shape: shape.map(|shape| (place.message_id().into(), shape)),
        pieces: pieces.into(),
        decoded: DecodedPieces::default(),
        known: KnownTimes { pieces: times, ..KnownTimes::default() },
        end: ResponseEnd::Complete,
    }
}

fn name(TurnPlace { origin, turn }: TurnPlace) -> String {
    match origin {
        AnswerOrigin::Prompt(prompt) => format!("turn {prompt}.{turn}"),
        AnswerOrigin::Interrupt(interrupt) => format!("interrupt {interrupt}, turn {turn}"),
        AnswerOrigin::Nothing(_) => String::from("the default answer"),
        AnswerOrigin::Agent(_) => format!("turn {turn} of agent {origin}"),
        AnswerOrigin::Thread(thread) => format!("turn {turn} of thread {thread}"),
    }
}

/// The pieces that arrive at different times: packets where the recording has their times, else one event each.
fn pieces_of(chunks: &[BodyChunk], is_stream: bool) -> (Vec<Arc<[u8]>>, Vec<Option<Micros>>) {
    if !is_stream || chunks.iter().all(|chunk| chunk.at.is_some()) {
        return chunks.iter().map(|chunk| (chunk.bytes.clone(), chunk.at)).unzip();
    }
    let body: Vec<u8> = chunks.iter().flat_map(|chunk| chunk.bytes.iter().copied()).collect();
    let events = cuts::events(&body);
    let times = vec![None; events.len()];
    (events.into_iter().map(Arc::from).collect(), times)
}
