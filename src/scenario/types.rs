//! A scenario: what is simulated and what must hold (F-6). Everything has a default.

use alloc::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::drive::DriveScript;
use super::explore_settings::ExploreSettings;
use super::fault::FaultRule;
use super::interrupt::{InterruptMoment, ScriptedInterrupt};
use super::language::keys::keys;
use super::latency::Latency;
use super::network::NetworkScript;
use super::plan::Plan;
use super::replies::{ResultStore, ScriptedHook, ScriptedLookups, ScriptedPermission};
use super::side::SideRule;
use super::workspace::WorkspaceScript;
use reenact_engine::random::Seed;
use reenact_engine::settings::{Settings, ToolDefinition};
use reenact_engine::time::Micros;
use reenact_wire::block::Message;
use reenact_wire::prelude::*;

pub use super::expectations::Expectations;
pub use super::matching::RequestMatching;
pub use super::simulated_api::SimulatedApi;
pub use super::turn::{
    AgentScript, ScriptedOutcome, ScriptedProgress, ScriptedPrompt, ScriptedTurn, StopDeafness, ToolEnding, ToolStopping, ToolUseSlip,
    TurnBlock,
};

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
    /// The decisions that explorations try (E-3).
    pub explore: ExploreSettings,
    /// How requests are held against the recorded ones (M-3).
    pub matching: RequestMatching,
    /// The expectations for the end (F-10).
    pub expect: Expectations,
    /// Choices that are made already, and not drawn (F-11).
    pub plan: Plan,
    /// Facts about a real client that is driven (K-7).
    pub drive: DriveScript,
    /// The files that the built-in tools work on (B-1 to B-7).
    pub workspace: Option<WorkspaceScript>,
    /// The network between engine and model server when it is run on a simulated network (M-11); a simulated run has none.
    pub network: Option<NetworkScript>,
}

impl Scenario {
    /// The moments of what happens beside prompts and answers: of interrupts first, then of changes of files.
    pub fn moments(&self) -> impl Iterator<Item = &InterruptMoment> {
        let changes = self.workspace.iter().flat_map(|workspace| &workspace.change);
        self.interrupts.iter().map(|interrupt| &interrupt.moment).chain(changes.map(|change| &change.moment))
    }

    /// Whether it has any.
    pub fn has_moments(&self) -> bool {
        !self.interrupts.is_empty() || self.workspace.as_ref().is_some_and(|workspace| !workspace.change.is_empty())
    }

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
