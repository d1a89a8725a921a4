//! A scenario: what is simulated and what must hold (F-6). Everything has a default.

use alloc::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::drive::DriveScript;
use super::fault::FaultRule;
use super::interrupt::ScriptedInterrupt;
use super::language::forms::{FigureRange, TextListOf, WordOf};
use super::language::keys::keys;
use super::language::sections;
use super::language::sections::expect::{BreakableRules, ResultSubtypes, TerminalWords, TransitionWords};
use super::language::sections::run::VolatileNames;
use super::latency::Latency;
use super::network::NetworkScript;
use super::plan::Plan;
use super::replies::{ResultStore, ScriptedElicitation, ScriptedHook, ScriptedLookups, ScriptedPermission, ScriptedReply};
use super::side::SideRule;
use super::tape::Provenance;
use crate::engine::contract::{FailureCause, ProgressKind};
use crate::engine::permission::ToolCheck;
use crate::engine::random::Seed;
use crate::engine::settings::{Settings, ToolDefinition};
use crate::engine::time::Micros;
use crate::prelude::*;
use crate::wire::block::{Block, Message};
use crate::wire::compare::VolatileMember;
use crate::wire::json::Json;
use crate::wire::models::SignaturePolicy;

/// One simulated session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scenario {
    /// The outcome that it shows, in a sentence.
    pub title: Option<String>,
    /// The rules that it holds, e.g. `T-5`.
    pub rules: Vec<String>,
    /// The root of all draws.
    pub seed: Seed,
    /// The engine's settings.
    pub settings: Settings,
    /// The tools: as the engine knows them, and how they behave here.
    pub tools: Vec<ScriptedTool>,
    /// The hooks, in the order in which what they say is put together.
    pub hooks: Vec<ScriptedHook>,
    /// The answers of people to permission questions.
    pub permissions: Vec<ScriptedPermission>,
    /// Where large results are stored.
    pub store: ResultStore,
    /// The skills and plugins that the engine finds.
    pub lookups: ScriptedLookups,
    /// The messages before the first prompt.
    pub history: Vec<Arc<Message>>,
    /// The user's prompts, in order.
    pub prompts: Vec<ScriptedPrompt>,
    /// Failures between engine and model server (M-4). Of those that fit a request the first counts.
    pub faults: Vec<FaultRule>,
    /// Cancels and messages of the user (M-8), then messages from the background.
    pub interrupts: Vec<ScriptedInterrupt>,
    /// The answer to a request that exists only because of an injection (M-3); `None` for [`Scenario::DEFAULT_ANSWER`].
    pub default_answer: Option<Arc<str>>,
    /// The tape that answers come from, with the thread of it that is replayed; without it, the prompts' turns are the answers.
    pub tape: Option<TapeSource>,
    /// The file with the price table that takes the place of the shipped one (S-10).
    pub prices: Option<String>,
    /// The same for the window table (C-4).
    pub windows: Option<String>,
    /// Outcomes of single tool uses by the API's id: they win over the tool's own.
    pub results: BTreeMap<Arc<str>, ScriptedOutcome>,
    /// The side requests of clients, and their answers (M-3).
    pub sides: Vec<SideRule>,
    /// How new credentials are got (M-7).
    pub auth: ScriptedAuth,
    /// The limits and refusals of the simulated API (M-2).
    pub api: SimulatedApi,
    /// How long answers take.
    pub timing: AnswerTiming,
    /// How bodies are cut into network chunks (M-6).
    pub chunking: Chunking,
    /// Where a run is stopped (M-9).
    pub limits: RunLimits,
    /// How requests are held against the recorded ones (M-3).
    pub matching: RequestMatching,
    /// The expectations for the end (F-10).
    pub expect: Expectations,
    /// Choices that are made already, and not drawn (F-11).
    pub plan: Plan,
    /// Facts about a real client that is driven (K-7).
    pub drive: DriveScript,
    /// The network between engine and model server when it is run on a simulated network (M-11); a simulated run has none.
    pub network: Option<NetworkScript>,
}

impl Scenario {
    /// The text of the default answer where a scenario gives none (M-3).
    pub const DEFAULT_ANSWER: &str = "All right.";

    /// The seed that transcripts name: the one that the choices of the run were drawn from (F-11).
    pub fn shown_seed(&self) -> Seed {
        self.plan.drawn_from.unwrap_or(self.seed)
    }
}

/// Where recorded answers come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TapeSource {
    /// The file, relative to the scenario's.
    pub path: String,
    /// The thread of conversation that is replayed (M-3).
    pub thread: Arc<str>,
}

/// A tool and its behaviour in the run (M-7).
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptedTool {
    /// The definition of the tool for the engine.
    pub definition: ToolDefinition,
    /// How long it takes; `None` for its kind's usual range.
    pub latency: Option<Latency>,
    /// Its default answer.
    pub outcome: Option<ScriptedOutcome>,
}

/// The outcome of one tool run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScriptedOutcome {
    /// The result's content: a JSON string or a JSON array of blocks. `None` for a stated default text.
    pub content: Option<Json>,
    /// Whether it is an error.
    pub is_error: bool,
    /// The kind of failure (T-28).
    pub cause: Option<FailureCause>,
    /// How long it takes; `None` for the tool's.
    pub latency: Option<Latency>,
    /// The result in the tool's own form, for consumers alone (T-32).
    pub structured: Option<Json>,
    /// Progress on the way.
    pub progress: Vec<ScriptedProgress>,
    /// A change of the tools' context that comes with it (T-11).
    pub context_change: Option<Arc<str>>,
    /// Why the run aborts itself, and with it the query (T-14); `None` when it does not.
    pub aborts: Option<Arc<str>>,
    /// How it ends by itself.
    pub ending: ToolEnding,
    /// How it reacts to a stop.
    pub stopping: ToolStopping,
    /// The answers to the agents that the tool makes, if it makes agents.
    pub agents: AgentScript,
    /// The finding of the tool's check of this input (T-22); `None` for nothing.
    pub check: Option<ScriptedReply<ToolCheck>>,
    /// The question of its server to the user on the way (S-11); `None` for nothing.
    pub asks: Option<ScriptedElicitation>,
    /// Of a `[[result]]`: whether the tool use may run beside others; `None` for what its tool says (T-3).
    pub safe: Option<bool>,
    /// Whether a `[[result]]` need not come to pass (F-10).
    pub may: bool,
}

/// Progress that a tool run reports (T-6, T-32).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptedProgress {
    /// The time after the start.
    pub at: Micros,
    /// Its content.
    pub text: Arc<str>,
    /// Where it says it; `None` where that is not known.
    pub kind: Option<ProgressKind>,
}

/// The answers to the agents that a tool use makes (B-8).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentScript {
    /// The answers that each agent gets, in order.
    pub tasks: Vec<Vec<ScriptedTurn>>,
    /// The answer for the synthesis of several results.
    pub synthesis: Option<ScriptedTurn>,
}

/// How a tool run ends when it is not stopped (M-7).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolEnding {
    /// With its result.
    #[default]
    Returns,
    /// With its result, and a millisecond later with the same result again, which no driver should do and some do.
    ReturnsTwice,
    /// Never: it must be stopped.
    Hangs,
    /// Without a result (T-25).
    ReturnsNothing,
    /// It panics with this message, of which its driver makes an error result.
    Panics(Arc<str>),
}

/// How a tool run reacts to a stop (M-7). By default it ends in the same instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ToolStopping {
    /// How long it ignores the stop: until then it continues, and may end by itself.
    pub ignores: StopDeafness,
    /// How long it takes to stop from then on.
    pub takes: Micros,
}

/// How long a tool run ignores a stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StopDeafness {
    /// It listens.
    #[default]
    No,
    /// For this long.
    For(Micros),
    /// To its end.
    Forever,
}

keys! {
    /// New credentials (M-7).
    pub struct ScriptedAuth {
        /// Whether the refresh of credentials works.
        refresh: RefreshOutcome = RefreshOutcome::Works;
        /// How long the refresh takes.
        latency: Latency = Latency::Fixed(Micros::from_millis(100));
        /// This need not come to pass (F-10).
        may: bool = false;
    }
}

words! {
    /// Whether new credentials come.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum RefreshOutcome default Works {
        /// The refresh gives new credentials.
        Works = "works",
        /// The refresh fails.
        Fails = "fails",
    }
}

keys! {
    /// The limits and refusals of the simulated API beside the general ones (M-2, N-6).
    #[derive(Eq)]
    pub struct SimulatedApi check sections::run::check_api {
        /// The context window. The API refuses a longer prompt. By default every prompt fits.
        context_window: Option<u64> = None, unit("tokens"), example("200000");
        /// Whether scripted answers without `input_tokens` carry an estimate. With a window they always do.
        count_tokens: bool = false;
        /// Whether `max_tokens` must fit into the window beside the prompt. By default as the model has it (before 4.5: yes).
        counts_max_tokens: Option<bool> = None;
        /// Models that exist beside `claude-*` and those that the scenario names. A client that asks another one gets 404.
        models: Vec<Arc<str>> = Vec::new(), example("[\"local-7b\"]");
        /// Whether refusals of the API are remarks only, and the requests are taken.
        lenient: bool = false;
        /// The treatment of thinking that is not in its place. By default as the model has it.
        signatures: Option<SignaturePolicy> = None;
    }
}

impl SimulatedApi {
    /// Whether answers say how many tokens their requests had.
    pub fn tells_tokens(&self) -> bool {
        self.count_tokens || self.context_window.is_some()
    }
}

/// A prompt of the user with its answers. The answers may come from a tape instead.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScriptedPrompt {
    /// The content of the prompt.
    pub content: Vec<Block>,
    /// When; `None` for as soon as the session is free.
    pub at: Option<Micros>,
    /// Scripted answers, in order.
    pub turns: Vec<ScriptedTurn>,
}

/// One scripted answer in its short form.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptedTurn {
    /// The content of the answer, in order.
    pub content: Vec<TurnBlock>,
    /// The stop reason; `None` for `tool_use` if there are tools and `end_turn` otherwise.
    pub stop_reason: Option<Arc<str>>,
    /// HTTP status: other than 200 the answer is `body`.
    pub status: u16,
    /// The literal body of an answer that is not 200, or of a stream given literally as SSE text.
    pub body: Option<Arc<str>>,
    /// Further response headers.
    pub headers: Vec<(String, String)>,
    /// `usage.input_tokens`; `None` to leave it out of the answer.
    pub input_tokens: Option<u64>,
    /// `usage.output_tokens`; `None` for an estimate.
    pub output_tokens: Option<u64>,
    /// How many input tokens the API says that it left out of old tool results (C-2).
    pub cleared_tokens: Option<u64>,
    /// Where it comes from (F-12).
    pub provenance: Provenance,
    /// Whether it need not be asked for, nor what follows it (F-10).
    pub may: bool,
}

impl Default for ScriptedTurn {
    fn default() -> Self {
        Self {
            content: Vec::new(),
            stop_reason: None,
            status: 200,
            body: None,
            headers: Vec::new(),
            input_tokens: None,
            output_tokens: None,
            cleared_tokens: None,
            provenance: Provenance::Written,
            may: false,
        }
    }
}

/// A block of a scripted answer.
#[derive(Clone, Debug, PartialEq)]
pub enum TurnBlock {
    /// Thinking, with a signature that is made up.
    Thinking(Arc<str>),
    /// Text.
    Text(Arc<str>),
    /// A tool use, with its outcome.
    Tool {
        /// The tool.
        name: Arc<str>,
        /// Its input as the model writes it; need not be valid JSON.
        input: Arc<str>,
        /// The API's id; `None` for one derived from prompt, turn and position.
        id: Option<Arc<str>>,
        /// The outcome of the run; `None` for the tool's own.
        outcome: Option<Box<ScriptedOutcome>>,
        /// Whether it may run beside others; `None` for its tool's setting (T-3).
        safe: Option<bool>,
        /// The scripted mistake of the model; `None` for a correct use.
        slip: Option<ToolUseSlip>,
    },
}

/// The mistakes of a model in a tool use. A scenario that does not say so means what it writes (F-10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolUseSlip {
    /// There is no such tool.
    UnknownTool,
    /// The input is not JSON object, does not fit the tool's schema, or has a key that the schema lacks.
    InvalidInput,
}

keys! {
    /// How long answers take where the tape does not say, or should not be believed (M-5). By default recorded figures count; without them the
    /// world draws figures with which whole turns have a median of 5 s and a 99th percentile of 46 s (M-3).
    #[derive(Serialize, Deserialize)]
    pub struct AnswerTiming {
        /// From request to the head of its answer.
        head: Latency = Latency::Recorded { percent: 100 };
        /// From the head to the first event.
        first_event: Latency = Latency::Recorded { percent: 100 };
        /// From event to event.
        between_events: Latency = Latency::Recorded { percent: 100 };
    }
}

/// How a body is cut into network chunks. The transcript does not depend on it (M-6).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Chunking {
    /// As recorded; an event each where the tape does not say.
    #[default]
    AsRecorded,
    /// One byte each.
    Bytes,
    /// Every so many bytes.
    Every(usize),
    /// At drawn places.
    Random,
}

keys! {
    /// Where a run is stopped (M-9).
    #[derive(Copy, Eq)]
    pub struct RunLimits {
        /// The longest virtual time of a run.
        time: Micros = Micros::from_secs(24 * 3_600);
        /// The greatest number of events of a run.
        events: u64 = 1_000_000, unit("events");
        /// The greatest number of requests of a run.
        requests: u64 = 1_000, unit("requests");
    }
}

keys! {
    /// How requests are held against the recorded ones (M-3).
    #[derive(Eq)]
    pub struct RequestMatching {
        /// Whether a difference, or an answer without a request, is a failure.
        strict: bool = false;
        /// The differences between requests that do not count.
        volatile: VolatileMember as VolatileNames = VolatileMember::default();
    }
}

keys! {
    /// The expectations for the end (F-10). Only the given keys are checked; the snapshot catches the rest.
    #[derive(Eq)]
    pub struct Expectations check sections::expect::check {
        /// The last prompt's terminal, or the run's own end (`tape_exhausted`, `limit_reached`).
        terminal: Option<String> as Option<WordOf<TerminalWords>> = None;
        /// The terminals of all prompts that had one, in the order in which they ended.
        terminals: Option<Vec<String>> as Option<Vec<WordOf<TerminalWords>>> = None;
        /// All transitions, in order.
        transitions: Option<Vec<String>> as Option<Vec<WordOf<TransitionWords>>> = None;
        /// How many requests, attempts counted.
        requests: Option<u64> = None, unit("requests");
        /// The wait before each further attempt at a request, from the end of the attempt before: at least and at
        /// most, in the order of the run.
        delays: Option<Vec<(Micros, Micros)>> as Option<Vec<FigureRange>> = None;
        /// How many requests the API refuses because they are not valid (M-2). By default none may be.
        refusals: Option<u64> = None, unit("requests");
        /// The rules (`O-3`) that the run breaks, because the scenario shows a hazard: these and no others.
        breaks: Vec<String> as Vec<WordOf<BreakableRules>> = Vec::new();
        /// The models asked, in order of first use.
        models: Option<Vec<String>> = None, example("[\"claude-sonnet-4-5\", \"claude-haiku-4-5\"]");
        /// The tools that start, by name, in the order in which they start.
        tools: Option<Vec<String>> = None, example("[\"Read\", \"Bash\"]");
        /// The last result's subtype.
        result: Option<String> as Option<WordOf<ResultSubtypes>> = None;
        /// Text that some emitted message holds.
        text_present: Vec<String> as TextListOf<String> = Vec::new();
        /// Text that no emitted message holds.
        text_absent: Vec<String> as TextListOf<String> = Vec::new();
        /// Text that some request holds, in its new messages or in its system prompt, tools and further members.
        sent: Vec<String> as TextListOf<String> = Vec::new();
        /// Text that no request holds.
        not_sent: Vec<String> as TextListOf<String> = Vec::new();
        /// Lines of the transcript, each by a part of its text, in this order.
        order: Vec<String> = Vec::new();
        /// The run ends at or after this.
        ends_after: Option<Micros> = None;
        /// The run ends at or before this.
        ends_before: Option<Micros> = None;
        /// Whether a text of `text_absent` or `not_sent` may be one that no run could bring.
        may: bool = false;
    }
}
