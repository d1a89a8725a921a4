//! The constant inputs of an engine: settings and tool definitions (S-11).
//!
//! One immutable [`Environment`] is passed by reference to every step, so that an engine's own state stays small.

use alloc::collections::BTreeMap;

use serde::{Deserialize, Serialize};

mod abort;
mod compaction;
mod host;
mod pipeline;
mod retry;
mod safety;
mod session;
mod table;

pub use abort::{AbortResultOrder, DiscardPolicy, QueuedBlockPolicy, SiblingAbort};
pub use compaction::{CompactionSettings, ContextWindow, MicrocompactMode, TooLargeRequestPolicy};
pub use host::{HostMessage, MessagePlace, NeighbourMerging, RequestChange, RequestPlace};
pub use pipeline::PipelineSettings;
pub use retry::{BrokenStreamPolicy, CloudProvider, OverloadPolicy, RetryPolicySource, RetrySettings, UnauthorizedPolicy};
pub use safety::ToolSafety;
use table::settings;

pub use session::{CommandAction, OrphanedPermission, SessionSettings, SlashCommand, ThinkingSetting};

use super::budget::PriceTable;
use super::contract::{Agent, RequestId};
use super::hook::HookDefinition;
use super::permission::PermissionSettings;
use super::random::Seed;
use super::schema::Validators;
use super::texts::ModelTexts;
use super::time::Micros;
use super::tokenizer::Tokenizer;
use super::windows::WindowTable;
use reenact_wire::block::Message;
use reenact_wire::json::Json;
pub use reenact_wire::order::StreamOrderPolicy;
use reenact_wire::prelude::*;

/// Everything that a step may read and must not change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// Settings of the engine.
    pub settings: Settings,
    /// Tool definitions, in the order in which requests list them.
    pub tools: Vec<ToolDefinition>,
    /// Hooks, in the order in which what they say is put together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<HookDefinition>,
    /// The conversation that the session continues from (S-11: starting messages).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Arc<Message>>,
    /// The root of an engine's own draws (D3).
    pub seed: Seed,
    /// The prices of answers (S-10). The shipped table is not written down with a run: it comes with the engine.
    #[serde(default = "PriceTable::shipped", skip_serializing_if = "PriceTable::is_shipped")]
    pub prices: Arc<PriceTable>,
    /// How much context models take (C-4); the shipped table comes with the engine, too.
    #[serde(default = "WindowTable::shipped", skip_serializing_if = "WindowTable::is_shipped")]
    pub windows: Arc<WindowTable>,
    /// How long to wait before the next attempt, by the failed one's name, where that is not to be drawn (F-11).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub backoff: BTreeMap<Arc<str>, Micros>,
    /// Whether single tool uses may run beside others, by the API's id, where that is not for their tools to say (T-3).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub safe_uses: BTreeMap<Arc<str>, bool>,
    /// The validator of tool inputs against their schemas (T-21).
    #[serde(skip)]
    pub validators: Validators,
    /// Counts the tokens of content that the API has not counted (C-4). Default: the estimate.
    #[serde(skip)]
    pub tokenizer: Tokenizer,
}

impl Environment {
    /// The definition of a tool.
    pub fn tool(&self, name: &str) -> Option<&ToolDefinition> {
        self.tools.iter().find(|tool| &*tool.name == name)
    }

    /// The agents that carry out the uses of a tool (B-8); `None` for any other tool.
    #[doc(hidden)]
    pub fn agent_tool(&self, name: &str) -> Option<&AgentTool> {
        self.tool(name)?.agent.as_ref()
    }

    /// The wait after this failed attempt, where it is not to be drawn.
    pub(crate) fn given_backoff(&self, id: RequestId) -> Option<Micros> {
        if self.backoff.is_empty() { None } else { self.backoff.get(&*id.to_string()).copied() }
    }

    /// Leaves of the waits those of one child, whose requests it names without itself.
    pub(crate) fn keep_backoff_of(&mut self, child: &Agent) {
        let address = child.tool_use_id().unwrap_or_default();
        let own = |name: &Arc<str>| name.strip_prefix(address)?.strip_prefix('/').map(Arc::from);
        self.backoff = self.backoff.iter().filter_map(|(name, delay)| Some((own(name)?, *delay))).collect();
    }
}

settings! {
    ($)
    /// Settings of the reference engine; an engine of another kind reads those that apply to it.
    pub struct Settings, keys engine_keys {
        /// The model that requests name.
        model: Arc<str> as ModelName = "claude-sonnet-4-5".into();
        /// `max_tokens` of each request. Q-15 raises the default once it was reached.
        max_tokens: u64 = Self::DEFAULT_MAX_TOKENS, unit("tokens");
        /// Whether requests ask for streams.
        stream: bool = true;
        /// The system prompt (S-2). By default the engine's own.
        system_prompt: Option<Json> as TextOrJson = None, or_key("system_prompt_json");
        /// Whether the memory-mechanics part follows the system prompt (S-2).
        memory: bool = false;
        /// Text that follows the system prompt (S-2).
        append_system_prompt: Option<Arc<str>> = None;
        /// Project instructions, date and the like: a hidden user message before the messages of each request (S-2a).
        user_context: Option<Arc<str>> = None;
        /// Text at the end of the system prompt of each request (S-2a).
        system_context: Option<Arc<str>> = None;
        /// Whether cache breakpoints are set at system, tools and last message (N-7).
        cache_breakpoints: bool = true;
        /// Further members of each request's body, as one JSON object (`thinking`, `tool_choice`, `temperature`, …).
        request_extra: Json as JsonObjectText = Json::trusted("{}"), example("'{\"temperature\":0.5}'");
        /// How requests carry several messages of one role in a row (N-7).
        neighbours: NeighbourMerging = NeighbourMerging::Joined;
        /// Whether raw stream events are passed on to the consumer (S-7).
        partial_messages: bool = false;
        /// When an executing safe tool holds back later results (T-8).
        emission_order: EmissionOrder = EmissionOrder::Eager;
        /// In which order results go into the next request (T-8).
        result_order: ResultOrder = ResultOrder::ToolUse;
        /// When a result that is in is emitted.
        result_delivery: ResultDelivery = ResultDelivery::NextItem;
        /// How many safe tools may run at once (T-4). By default any number.
        max_concurrent_tools: Option<u32> = None, unit("tools"), above_zero("a limit of 0 would stop every tool; leave it out for any number");
        /// Whether tools start while the model still streams; otherwise they run after the stream, in batches (Q-6, T-20).
        streaming_execution: bool = true;
        /// How many safe tools of a batch run at once (T-20).
        max_batch_tools: u32 = 10, unit("tools"), above_zero("a batch has room for at least 1 tool");
        /// Which errors of a shell tool abort its siblings (T-13). `true` is `"failed"`, `false` is `"off"`.
        sibling_abort: SiblingAbort = SiblingAbort::Failed;
        /// The same without streaming execution: the siblings are then those of its batch (T-20).
        batch_sibling_abort: SiblingAbort = SiblingAbort::Off;
        /// How long a tool may take to stop (T-15a).
        tool_grace: Micros = Micros::from_secs(5);
        /// When a queued tool use that is aborted gets its result (T-15a).
        abort_results: AbortResultOrder = AbortResultOrder::AtOnce;
        /// Whether a queued *block* tool is answered or run when a submitted message stops the *cancel* tools (T-15a).
        queued_block: QueuedBlockPolicy = QueuedBlockPolicy::Answered;
        /// Whether running tools stop or go on when their answer is discarded (T-19).
        discarded_tools: DiscardPolicy = DiscardPolicy::Stop;
        /// Limits and steps around the call of a tool (T-27 to T-29).
        pipeline: PipelineSettings as Section<PipelineSettings> = PipelineSettings::default();
        /// How failed attempts are repeated.
        retry: RetrySettings as Section<RetrySettings> = RetrySettings::default();
        /// When and how the context is shortened (C-1 to C-9).
        compaction: CompactionSettings as Section<CompactionSettings> = CompactionSettings::default();
        /// Rules on which tools may run (T-24). By default every tool runs.
        permissions: Option<PermissionSettings> as NoKey<Option<PermissionSettings>> = None;
        /// Budgets, structured output, commands and the rest of what a session is given (S-1 to S-11).
        session: SessionSettings as Flat<SessionSettings> = SessionSettings::default();
        /// How often a paused answer is resumed in a row.
        max_pause_resumes: u32 = 10;
        /// The next step after a paused answer.
        on_pause: PausePolicy = PausePolicy::Resume;
        /// Whether a refused turn is tried once more.
        retry_refusal: bool = false;
        /// Whether the model is told that its answer was refused: the answer stays in the conversation, and its tool uses get an error.
        refusal_notes: bool = false;
        /// How often in a row the model is asked for an answer after one without content.
        empty_answer_nudges: u32 = 0;
        /// How often in a row the model is asked again after an answer that announced a tool use and holds none. That answer is taken back.
        missing_tool_use_nudges: u32 = 0;
        /// How much disorder of a stream an answer survives (N-4).
        stream_order: StreamOrderPolicy = StreamOrderPolicy::Strict;
        /// Whether an input that is no JSON goes back to the API as `__unparsedToolInput`, with its length (N-3). Otherwise it goes as `INVALID_JSON`.
        unparsed_inputs: bool = false;
        /// How a message that waited for a tool reaches the model.
        queued_messages: QueuedMessagePlace = QueuedMessagePlace::Beside;
        /// The texts that the engine sends to the model (T-31).
        #[serde(skip_serializing_if = "ModelTexts::is_default")]
        texts: ModelTexts as NoKey<ModelTexts> = ModelTexts::default();
        /// Whether this agent does background work, such as titles. Such requests are not retried when the API is overloaded.
        background: bool = false;
    }
}

impl Settings {
    /// The default cap on output tokens.
    pub const DEFAULT_MAX_TOKENS: u64 = 8_000;
    /// The limit of output after a recovery raised it.
    pub const RAISED_MAX_TOKENS: u64 = 64_000;
}

words! {
    /// T-8, emission: both readings are in use.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum EmissionOrder default Eager {
        /// A result is emitted when it is in, unless an exclusive tool before it still executes (T-7).
        Eager = "eager",
        /// Never before the result of a tool use that arrived earlier.
        Arrival = "arrival",
    }
}

words! {
    /// what follows an answer that the API paused.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum PausePolicy default Resume {
        /// It is sent back as it is, so that the API goes on.
        Resume = "resume",
        /// The prompt ends well with it.
        End = "end",
    }
}

words! {
    /// where a message goes that waited for a tool.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum QueuedMessagePlace default Beside {
        /// Behind the results, as a block of its own.
        Beside = "beside",
        /// Into the last result, as a note at its end.
        InResult = "in_result",
    }
}

words! {
    /// T-8, next request.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum ResultOrder default ToolUse {
        /// In the order of the tool uses.
        ToolUse = "tool_use",
        /// In the order in which they were emitted.
        Emission = "emission",
    }
}

words! {
    /// when a completed result is emitted while a stream is open.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum ResultDelivery default NextItem {
        /// With the next stream item, as a loop that pulls sees it.
        NextItem = "next_item",
        /// In the step in which it arrives.
        AtOnce = "at_once",
    }
}

/// A tool as the model and the executor know it.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub struct ToolDefinition {
    /// Its name.
    pub name: Arc<str>,
    /// The tool's class: may it run beside others (T-3)?
    #[serde(default)]
    pub safe: ToolSafety,
    /// Whether it runs shell commands: an error of it aborts its siblings (T-13).
    #[serde(default)]
    pub shell: bool,
    /// Its reaction to a submitted message while it runs; `None` counts as *block* (T-17).
    #[serde(default)]
    pub interrupt: Option<InterruptBehaviour>,
    /// The definition as requests carry it: one JSON object with name, description, schema.
    pub json: Json,
    /// Fields that consumers see in its input and the API does not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub observable: Vec<ObservableField>,
    /// Whether it looks at its input before it runs (T-22).
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub checks: bool,
    /// Whether all it ever does is read (P-1, plan mode).
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub reads_only: bool,
    /// Whether it edits the file that its `file_path` names (P-1, the mode that accepts edits).
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub edits: bool,
    /// The size of its result, in characters, over which it is stored or cut; `None` for the settings' (T-27, B-12).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_limit: Option<u64>,
    /// Whether agents of the engine's own carry it out (B-8), and which; `None` for a tool that is run from outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentTool>,
}

impl ToolDefinition {
    /// A tool of which nothing more is said.
    pub fn new(name: &str, safe: impl Into<ToolSafety>, json: Json) -> Self {
        Self {
            name: name.into(),
            safe: safe.into(),
            shell: false,
            interrupt: None,
            json,
            observable: Vec::new(),
            checks: false,
            reads_only: false,
            edits: false,
            result_limit: None,
            agent: None,
        }
    }
}

/// How sub-agents are made (B-8).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentTool {
    /// The model of sub-agents without a model of their own, and of the synthesis.
    pub fast_model: Arc<str>,
}

impl Default for AgentTool {
    fn default() -> Self {
        Self { fast_model: "claude-haiku-4-5".into() }
    }
}

words! {
    /// The reaction of a running tool to a submitted message (T-17).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum InterruptBehaviour {
        /// It continues; the message waits for it.
        Block = "block",
        /// It is told to stop.
        Cancel = "cancel",
    }
}

/// A field that a tool derives from a path in its input: the path made absolute.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ObservableField {
    /// The field that is added.
    pub name: Arc<str>,
    /// The field that it is derived from.
    pub from: Arc<str>,
    /// The folder of relative paths.
    pub base: Arc<str>,
}
