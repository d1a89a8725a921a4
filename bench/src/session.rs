//! The session that `run` measures: two requests, one tool, some sixty stream events, as a tape that records what our own loop sends.
//!
//! Nothing of a real recording is needed: the answers are scripted once, and an engine that listens to itself gives the requests.

use std::sync::Arc;

use reenact::engine::agent_loop::AgentLoop;
use reenact::engine::contract::{Effect, Effects, Engine, Input};
use reenact::engine::settings::Environment;
use reenact::engine::time::{Micros, Time};
use reenact::scenario::known_tools::known_tool;
use reenact::scenario::latency::Latency;
use reenact::scenario::tape::{BodyChunk, Exchange, Provenance, RecordedResponse, ResponseEnd, Tape};
use reenact::scenario::types::{Scenario, ScriptedOutcome, ScriptedPrompt, ScriptedTool, ScriptedTurn, TapeSource, TurnBlock};
use reenact::sim::Run;
use reenact::transcript::event::EventKind;
use reenact::wire::block::Block;
use reenact::wire::json::Json;
use reenact::world::setup::RunSetup;

/// When an answer's first event comes, from its request.
const FIRST_EVENT: Micros = Micros::from_millis(800);
/// When an answer ends, from its request.
const END: Micros = Micros::from_secs(5);
/// How long the tool takes.
pub(crate) const TOOL: Micros = Micros::from_millis(50);

const SAID_FIRST: &str = "I'll look at the configuration first, because the build script reads its defaults from there and the error names a key \
    that I would expect to be set. Once I know which of the two values is in force, I can say whether the fix belongs into the script or \
    into the file, and what else depends on it. Let me read it now, and then go on from what it says.";

const SAID_LAST: &str = "The file sets the key twice. The second line wins, and it holds the old path, so the script looks for its templates in a \
    folder that is no longer there. Removing the second line is enough:\n\n```toml\ntemplates = \"assets/templates\"\n```\n\nNothing else \
    reads this key; the tests build their own configuration. I would also let the script say which file it read, so that the next \
    person who meets this sees it in the first line of the output instead of searching for it.";

/// The recorded session, ready to be replayed.
pub(crate) struct RecordedSession {
    pub(crate) setup: Arc<RunSetup>,
    /// The request bodies that were recorded.
    pub(crate) requests: Vec<String>,
    /// Stream events of both answers.
    pub(crate) events: usize,
}

/// The scenario with its answers scripted and a tool that takes `tool`.
pub(crate) fn scripted(tool: Micros) -> Scenario {
    let read = known_tool("Read").expect("Read is a known tool");
    let outcome = ScriptedOutcome {
        content: Some(Json::from_value("templates = \"assets/templates\"\ntemplates = \"old/templates\"\n")),
        ..Default::default()
    };
    let tool_use = TurnBlock::Tool {
        name: "Read".into(),
        input: r#"{"file_path":"/w/config/build.toml","limit":200}"#.into(),
        id: None,
        outcome: None,
        safe: None,
        slip: None,
    };
    Scenario {
        title: Some(String::from("two requests, one tool")),
        tools: vec![ScriptedTool { definition: read.definition(), latency: Some(Latency::Fixed(tool)), outcome: Some(outcome) }],
        prompts: vec![ScriptedPrompt {
            content: vec![Block::text("Why does the build not find its templates?")],
            turns: vec![turn(vec![TurnBlock::Text(SAID_FIRST.into()), tool_use]), turn(vec![TurnBlock::Text(SAID_LAST.into())])],
            ..ScriptedPrompt::default()
        }],
        ..Scenario::default()
    }
}

/// A run of the scripted session with its usual tool.
pub(crate) fn of_one_tool() -> Arc<RunSetup> {
    Arc::new(RunSetup::new(scripted(TOOL), None).expect("a scripted scenario needs no tape"))
}

/// The scenario with so many answers that call the tool.
pub(crate) fn of_turns(turns: usize) -> Arc<RunSetup> {
    let mut scenario = scripted(TOOL);
    let prompt = &mut scenario.prompts[0];
    let with_tool = prompt.turns[0].clone();
    prompt.turns.splice(0..1, std::iter::repeat_n(with_tool, turns));
    Arc::new(RunSetup::new(scenario, None).expect("a scripted scenario needs no tape"))
}

fn turn(content: Vec<TurnBlock>) -> ScriptedTurn {
    ScriptedTurn { content, ..ScriptedTurn::default() }
}

/// Records the session and makes its replay ready; every request is held against the recorded one, and none may differ.
pub(crate) fn recorded() -> RecordedSession {
    let scripted = scripted(TOOL);
    let answers = RunSetup::new(scripted.clone(), None).expect("a scripted scenario needs no tape");
    let requests = Run::new(Arc::new(answers.clone()), ListeningEngine::default()).to_end().engine.requests;
    let exchanges: Vec<Exchange> =
        (1..).zip(answers.answers.iter().zip(&requests)).map(|(id, (answer, request))| exchange(id, &answer.pieces, request)).collect();
    let events = answers.answers.iter().map(|answer| answer.pieces.len()).sum();
    let tape = Tape { exchanges, ..Tape::default() };
    let mut replay = Scenario { tape: Some(TapeSource { path: String::from("tape.jsonl"), thread: "main".into() }), ..scripted };
    replay.matching.strict = true;
    let setup = Arc::new(RunSetup::new(replay, Some(&tape)).expect("the tape has the thread `main`"));
    let session = RecordedSession { setup, requests, events };
    session.check();
    session
}

impl RecordedSession {
    /// One replay, from bytes to the end of the run.
    pub(crate) fn replay(&self) -> reenact::sim::report::RunReport<AgentLoop> {
        Run::new(self.setup.clone(), AgentLoop::default()).to_end()
    }

    /// The same without the rules that hold in every run.
    pub(crate) fn replay_without_oracles(&self) -> reenact::sim::report::RunReport<AgentLoop> {
        Run::new(self.setup.clone(), AgentLoop::default()).without_oracles().to_end()
    }

    /// The same session as a recorder would give it that keeps no requests.
    pub(crate) fn without_requests(&self) -> Self {
        let mut setup = (*self.setup).clone();
        setup.answers.iter_mut().for_each(|answer| answer.request = None);
        Self { setup: Arc::new(setup), requests: Vec::new(), events: self.events }
    }

    /// Checks that the measured run is a replay without a difference, and that its comparison can find one.
    fn check(&self) {
        let report = self.replay();
        assert_eq!((report.terminal(), report.failures.len()), ("completed", 0), "{:?}", report.failures);
        assert_eq!(self.requests.len(), 2);
        let mut other = (*self.setup).clone();
        other.environment.settings.max_tokens += 1;
        let report = Run::new(Arc::new(other), AgentLoop::default()).to_end();
        let differs = report.transcript.events.iter().filter(|event| matches!(event.what, EventKind::Difference { .. })).count();
        assert_eq!(differs, 2, "both requests are compared");
    }

    /// How many inputs the engine takes in one replay.
    pub(crate) fn inputs(&self) -> usize {
        self.replay().transcript.events.iter().filter(|event| matches!(event.what, EventKind::Input(_))).count()
    }
}

/// One piece of an event stream at its time.
fn exchange(id: u32, pieces: &[Arc<[u8]>], request: &str) -> Exchange {
    let step = (END.0 - FIRST_EVENT.0) / pieces.len() as u64;
    let chunks: Vec<BodyChunk> =
        (0..).zip(pieces).map(|(nth, piece)| BodyChunk { at: Some(Micros(FIRST_EVENT.0 + nth * step)), bytes: piece.clone() }).collect();
    Exchange {
        id,
        thread: "main".into(),
        parent: id.checked_sub(1).filter(|parent| *parent > 0),
        provenance: Provenance::Recorded,
        at: None,
        method: "POST".into(),
        path: "/v1/messages".into(),
        headers: [].into(),
        body: request.as_bytes().into(),
        answer: RecordedResponse {
            status: 200,
            headers: [reenact::wire::http::HttpHeader::new("content-type", "text/event-stream; charset=utf-8")].into(),
            head_at: Some(Micros::from_millis(700)),
            chunks: chunks.into(),
            end: ResponseEnd::Complete,
            end_at: Some(END),
        },
    }
}

/// Our loop with an ear on its requests.
#[derive(Clone, Debug, Default, PartialEq)]
struct ListeningEngine {
    engine: AgentLoop,
    requests: Vec<String>,
}

impl Engine for ListeningEngine {
    fn step(&mut self, env: &Environment, now: Time, input: &Input, effects: &mut Effects) {
        self.engine.step(env, now, input, effects);
        let sent = effects.iter().filter_map(|(_, effect)| match effect {
            Effect::Request { request, .. } => Some(request.to_json()),
            _ => None,
        });
        self.requests.extend(sent);
    }
}
