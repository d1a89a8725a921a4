//! Canaries: saboteurs around an engine, each of which one oracle must catch. They prove that the oracle can.
//!
//! An engine has no switches for this. A [`Saboteur`] stands between it and its driver and drops, doubles, delays, reorders or
//! invents what passes, or tells it lies about its environment:
//!
//! ```text
//!   driver ── input ──> Saboteur ── input' ──> engine
//!   driver <── effect' ─ Saboteur <── effect ── engine
//! ```

mod sabotage;
mod trials;

pub use trials::{CANARY_TRIALS, CanaryTrial};

use core::sync::atomic::AtomicU32;

use reenact_engine::contract::{Effect, Effects, Engine, Environment, Input, Message, Request, RequestId, Time, ToolOutcome, ToolRun};
use reenact_wire::prelude::*;

/// One way to break an engine from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Canary {
    /// Its name on the command line.
    pub name: &'static str,
    /// The oracle that must catch it.
    pub oracle: &'static str,
    /// Its effect.
    pub about: &'static str,
    trick: CanaryTrick,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CanaryTrick {
    DropResultFromRequest,
    SwapResultsInRequest,
    InventResultInRequest,
    TextBeforeResults,
    DropResult,
    DoubleResult,
    DropResultsAfterCancel,
    CallAllToolsSafe,
    ForgetTheCap,
    DoubleTerminal,
    DropTerminal,
    ResultAfterTerminal,
    RequestAfterTerminal,
    HideRetryAfter,
    DropRetryNotice,
    DropCancel,
    RequestAfterCancel,
    GrowAfterCompaction,
    RepeatTooLong,
    DelayProgress,
    SwapResults,
    TellFreshEvents,
    CountAcrossCopies,
    SleepOn,
    DropTombstone,
    HoldFirstStart,
    KeepSignatures,
    ErrorBeforeRecovery,
    ForgetTheTurnLimit,
    DropRepetition,
    SendEmptyText,
    ForgetTheMoney,
    KeepTimers,
    KeepRequestsOpen,
    InventInterruption,
    TellNeverRun,
    AllowWhatIsRefused,
    CancelLaterPrompts,
    ChangeInput,
    HideDenial,
    RewordAnswer,
    StampFirstMessage,
    ReplaceResult,
    HideStarts,
    AnswerWithoutRun,
    KeepLateResult,
    MiscountTokens,
    ForgetRecoveries,
    RecoverOnceMore,
    SummariseWithTools,
    ClearNewResults,
    ForgetFailures,
    GiveUpEarly,
    HurryRetries,
    HandOverEarly,
    BeginWithAnotherModel,
    ForgetTheRules,
    CallAllInterruptible,
    DropHookContext,
    KeepTaskBudget,
    ForgetInterruption,
    Spin,
    ForgetTheSizeLimit,
    SwapMessages,
    HurryTheWatchdog,
    TightenTheSizeLimit,
    ReportAfterStop,
    ChangeStructuredOutput,
    ForgetTheHooks,
    HideRefusal,
    SummariseNever,
}

/// All of them, by the number of their oracle.
pub const CANARIES: &[Canary] = &[
    canary(
        "drop-result-from-request",
        "O-1",
        "leaves the last result out of each message of a request",
        CanaryTrick::DropResultFromRequest,
    ),
    canary("swap-results-in-request", "O-1", "reverses the results in each message of a request", CanaryTrick::SwapResultsInRequest),
    canary("invent-result-in-request", "O-1", "adds a result without a tool use to each request", CanaryTrick::InventResultInRequest),
    canary("text-before-results", "O-1", "puts text before the results in each request", CanaryTrick::TextBeforeResults),
    canary("drop-result", "O-2", "emits no result of the first tool use", CanaryTrick::DropResult),
    canary("double-result", "O-2", "emits each result twice", CanaryTrick::DoubleResult),
    canary("drop-results-after-cancel", "O-2", "emits no result once the user cancels", CanaryTrick::DropResultsAfterCancel),
    canary("call-all-tools-safe", "O-3", "tells the engine that every tool may run beside others", CanaryTrick::CallAllToolsSafe),
    canary("forget-the-cap", "O-3", "tells the engine that any number of tools may run at once", CanaryTrick::ForgetTheCap),
    canary("hold-first-start", "O-4", "starts the first tool when the second has ended", CanaryTrick::HoldFirstStart),
    canary("drop-tombstone", "O-5", "leaves out the first tombstone", CanaryTrick::DropTombstone),
    canary("keep-signatures", "O-6", "sends a second model the same request as the first", CanaryTrick::KeepSignatures),
    canary("error-before-recovery", "O-7", "emits an error before each recovery from the output limit", CanaryTrick::ErrorBeforeRecovery),
    canary("double-terminal", "O-8", "gives each terminal twice", CanaryTrick::DoubleTerminal),
    canary("drop-terminal", "O-8", "gives no terminal", CanaryTrick::DropTerminal),
    canary("result-after-terminal", "O-8", "holds the result message back until the terminal is given", CanaryTrick::ResultAfterTerminal),
    canary("request-after-terminal", "O-8", "sends the last request again when all is over", CanaryTrick::RequestAfterTerminal),
    canary("hide-retry-after", "O-9", "hides from the engine how long the server asks it to wait", CanaryTrick::HideRetryAfter),
    canary("drop-retry-notice", "O-9", "emits no notice of a retry", CanaryTrick::DropRetryNotice),
    canary("send-empty-text", "O-10", "adds empty text to the first message of each request", CanaryTrick::SendEmptyText),
    canary("drop-cancel", "O-11", "hides the user's cancel from the engine", CanaryTrick::DropCancel),
    canary("request-after-cancel", "O-11", "sends the last request again when the user cancels", CanaryTrick::RequestAfterCancel),
    canary("grow-after-compaction", "O-12", "adds a long text to the requests after a compaction", CanaryTrick::GrowAfterCompaction),
    canary("repeat-too-long", "O-12", "sends a request that was too long again as it was", CanaryTrick::RepeatTooLong),
    canary("forget-the-turn-limit", "O-13", "gives the engine no limit on turns", CanaryTrick::ForgetTheTurnLimit),
    canary("forget-the-money", "O-13", "gives the engine no limit on money", CanaryTrick::ForgetTheMoney),
    canary("keep-task-budget", "O-13", "takes nothing from the task budget at a compaction", CanaryTrick::KeepTaskBudget),
    canary("forget-the-size-limit", "O-13", "gives the engine no limit on the size of results", CanaryTrick::ForgetTheSizeLimit),
    canary("tighten-the-size-limit", "O-13", "gives the engine a smaller limit on the size of results", CanaryTrick::TightenTheSizeLimit),
    canary("delay-progress", "O-14", "holds progress back until the result is out", CanaryTrick::DelayProgress),
    canary("swap-results", "O-14", "emits each second result before the first", CanaryTrick::SwapResults),
    canary("report-after-stop", "O-14", "emits progress of each tool that was told to stop", CanaryTrick::ReportAfterStop),
    canary("tell-fresh-events", "O-15", "notes each event that shares its memory with no other run", CanaryTrick::TellFreshEvents),
    canary("count-across-copies", "O-16", "counts terminals in memory that all copies share", CanaryTrick::CountAcrossCopies),
    canary("drop-repetition", "O-17", "leaves out the note that a tool runs again", CanaryTrick::DropRepetition),
    canary("spin", "O-19", "sets a timer for the present instant, again and again", CanaryTrick::Spin),
    canary("tell-never-run", "O-20", "says after a cancel that no tool was run", CanaryTrick::TellNeverRun),
    canary("stamp-first-message", "O-21", "writes the number of each request into its first message", CanaryTrick::StampFirstMessage),
    canary(
        "allow-what-is-refused",
        "O-22",
        "tells the engine that a person allows what the person refused",
        CanaryTrick::AllowWhatIsRefused,
    ),
    canary("forget-the-rules", "O-22", "tells the engine that all tools may run", CanaryTrick::ForgetTheRules),
    canary("cancel-later-prompts", "O-23", "cancels each prompt after the first when its answer begins", CanaryTrick::CancelLaterPrompts),
    canary("replace-result", "O-24", "emits other words than each tool returned", CanaryTrick::ReplaceResult),
    canary("drop-hook-context", "O-24", "hides from the engine what a hook wants the model to know", CanaryTrick::DropHookContext),
    canary("swap-messages", "O-24", "tells the engine of the second message before the first", CanaryTrick::SwapMessages),
    canary("change-input", "O-25", "starts each tool with another input", CanaryTrick::ChangeInput),
    canary("change-structured-output", "O-25", "gives other structured output than the model", CanaryTrick::ChangeStructuredOutput),
    canary("hide-denial", "O-26", "hides from the engine what a hook says", CanaryTrick::HideDenial),
    canary("forget-the-hooks", "O-26", "tells the engine that tools have no hooks", CanaryTrick::ForgetTheHooks),
    canary("keep-timers", "O-27", "cancels no timer", CanaryTrick::KeepTimers),
    canary("keep-requests-open", "O-27", "closes no request", CanaryTrick::KeepRequestsOpen),
    canary("reword-answer", "O-28", "adds a word to what the model said, in each request", CanaryTrick::RewordAnswer),
    canary("hide-refusal", "O-28", "hides from the engine that the model refuses", CanaryTrick::HideRefusal),
    canary("hide-starts", "O-29", "says that no tool use is in progress", CanaryTrick::HideStarts),
    canary("call-all-interruptible", "O-29", "tells the engine that every tool stops for a message", CanaryTrick::CallAllInterruptible),
    canary("forget-interruption", "O-30", "leaves the interruption message out of each request", CanaryTrick::ForgetInterruption),
    canary(
        "invent-interruption",
        "O-30",
        "says at the end of each prompt that the user has interrupted it",
        CanaryTrick::InventInterruption,
    ),
    canary("give-up-early", "O-31", "gives the engine one retry", CanaryTrick::GiveUpEarly),
    canary("hurry-retries", "O-31", "tells the engine that delays begin with a millisecond", CanaryTrick::HurryRetries),
    canary("hand-over-early", "O-31", "tells the engine that one overload is enough for another model", CanaryTrick::HandOverEarly),
    canary("hurry-the-watchdog", "O-31", "tells the engine that a stream may be silent for a millisecond", CanaryTrick::HurryTheWatchdog),
    canary("sleep-on", "O-18", "after a failed attempt, sets each timer that rings again and tells nobody", CanaryTrick::SleepOn),
    canary("begin-with-another-model", "O-31", "asks another model in each prompt after the first", CanaryTrick::BeginWithAnotherModel),
    canary("miscount-tokens", "O-32", "counts a token more in each result message", CanaryTrick::MiscountTokens),
    canary("answer-without-run", "O-33", "answers the first tool use without running the tool", CanaryTrick::AnswerWithoutRun),
    canary("keep-late-result", "O-33", "emits what a tool returns after it was told to stop", CanaryTrick::KeepLateResult),
    canary("forget-recoveries", "O-34", "tells the engine to ask for no rest of an answer", CanaryTrick::ForgetRecoveries),
    canary("recover-once-more", "O-34", "tells the engine that it may ask for one more rest of an answer", CanaryTrick::RecoverOnceMore),
    canary("summarise-with-tools", "O-35", "tells the engine to offer tools when it asks for a summary", CanaryTrick::SummariseWithTools),
    canary("clear-new-results", "O-35", "tells the engine to keep no result of a tool", CanaryTrick::ClearNewResults),
    canary("summarise-never", "O-35", "tells the engine to make no summary of its own accord", CanaryTrick::SummariseNever),
    canary("forget-failures", "O-35", "tells the engine that any number of summaries may fail", CanaryTrick::ForgetFailures),
];

const fn canary(name: &'static str, oracle: &'static str, about: &'static str, trick: CanaryTrick) -> Canary {
    Canary { name, oracle, about, trick }
}

impl Canary {
    /// The canary of this name.
    pub fn named(name: &str) -> Option<Self> {
        CANARIES.iter().copied().find(|canary| canary.name == name)
    }
}

/// An engine with a canary around it.
#[derive(Clone, Debug)]
pub struct Saboteur<E> {
    engine: E,
    canary: Canary,
    /// Effects that are held back.
    held: Vec<Effect>,
    last_request: Option<(RequestId, Arc<Request>)>,
    /// The messages of the request before another model took over.
    signed: Vec<Arc<Message>>,
    /// The tool that ended last, with its text.
    ended: Option<(ToolRun, String)>,
    /// Whether what is done once was done, or the user has cancelled.
    is_done: bool,
    /// The message that is held back.
    waiting: Option<Input>,
    /// Memory that its copies share: no engine may have it.
    shared: Arc<AtomicU32>,
}

/// The shared memory is no part of what an engine is.
impl<E: PartialEq> PartialEq for Saboteur<E> {
    fn eq(&self, other: &Self) -> bool {
        let own = |saboteur: &Self| (saboteur.canary, saboteur.is_done);
        self.engine == other.engine
            && own(self) == own(other)
            && self.held == other.held
            && self.waiting == other.waiting
            && self.last_request == other.last_request
    }
}

impl<E> Saboteur<E> {
    /// Puts a canary around an engine.
    pub fn new(engine: E, canary: Canary) -> Self {
        Self {
            engine,
            canary,
            held: Vec::new(),
            last_request: None,
            signed: Vec::new(),
            ended: None,
            is_done: false,
            waiting: None,
            shared: Arc::default(),
        }
    }
}

impl<E: Engine> Engine for Saboteur<E> {
    fn step(&mut self, env: &Environment, now: Time, input: &Input, effects: &mut Effects) {
        let mut honest = Effects::from_agent(effects.agent().clone());
        if !self.swallows(input) {
            let (lies, told) = (self.lies(env), self.garbles(input));
            self.engine.step(lies.as_ref().unwrap_or(env), now, told.as_ref().unwrap_or(input), &mut honest);
            if let (Input::Interrupt { .. }, Some(waiting)) = (input, self.waiting.take()) {
                self.engine.step(env, now, &waiting, &mut honest);
                self.is_done = true;
            }
        }
        self.feel(input, effects);
        self.before(now, input, effects);
        let unrun = honest.iter().find_map(|(agent, effect)| Some((agent.clone(), self.unrun(effect)?)));
        for (agent, effect) in honest.drain() {
            effects.for_agent(agent, |effects| self.pass(effect, effects));
        }
        if let Some((agent, run)) = unrun {
            self.is_done = true;
            let mut answer = Effects::from_agent(agent);
            self.engine.step(env, now, &Input::ToolEnded { run, outcome: ToolOutcome::error("busy").into() }, &mut answer);
            answer.drain().for_each(|(agent, effect)| effects.for_agent(agent, |effects| self.pass(effect, effects)));
        }
    }
}
