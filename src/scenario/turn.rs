//! Scripted answers of the model, and the outcomes of the tools that they ask for.

use super::latency::Latency;
use super::replies::{ScriptedElicitation, ScriptedReply};
use super::tape::Provenance;
use reenact_engine::contract::{FailureCause, ProgressKind};
use reenact_engine::permission::ToolCheck;
use reenact_engine::time::Micros;
use reenact_wire::block::Block;
use reenact_wire::json::Json;
use reenact_wire::prelude::*;

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
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ToolStopping {
    /// How long it ignores the stop: until then it continues, and may end by itself.
    pub ignores: StopDeafness,
    /// How long it takes to stop from then on.
    pub takes: Micros,
}

/// How long a tool run ignores a stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum StopDeafness {
    /// It listens.
    #[default]
    No,
    /// For this long.
    For(Micros),
    /// To its end.
    Forever,
}
