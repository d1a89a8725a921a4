//! The features of generated scenarios: each case has a random subset.

use alloc::collections::BTreeSet;

use proptest::bool::weighted;
use proptest::collection::vec;
use proptest::prelude::*;

use reenact_wire::prelude::*;

/// The features of one case.
pub type CaseFeatures = BTreeSet<Feature>;

macro_rules! features {
    ($($(#[$doc:meta])* $feature:ident $name:literal,)+) => {
        /// A part of the language of scenarios that a case has or has not.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Feature {
            $($(#[$doc])* $feature,)+
        }

        impl Feature {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$feature),+];

            /// The word that the command line uses.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$feature => $name,)+
                }
            }
        }
    };
}

features! {
    /// Several prompts, some at a time of their own.
    Prompts "prompts",
    /// Prompts with images, several blocks, odd text.
    Content "content",
    /// Tool uses.
    Tools "tools",
    /// Tools that are not as usual: class, interrupt behaviour, limits, checks.
    OddTools "odd-tools",
    /// Tool runs that fail, take long, or give large or odd results.
    Outcomes "outcomes",
    /// Progress, context changes and aborts of tools.
    Signals "signals",
    /// Tool runs that hang, panic, return nothing or twice, or do not listen.
    Endings "endings",
    /// Tools that look at their input first.
    Checks "checks",
    /// Tools whose servers ask the user.
    Elicitation "elicitation",
    /// Results by the id of the tool use.
    Results "results",
    /// Files that tools work on, which other processes change.
    Workspace "workspace",
    /// Tools that make agents.
    Agents "agents",
    /// Inputs that are not JSON or do not fit the schema, and unknown tools.
    WrongUses "wrong-uses",
    /// Tool uses with ids of their own, some of them used twice.
    Ids "ids",
    /// Thinking.
    Thinking "thinking",
    /// Turns with other stop reasons than usual.
    StopReasons "stop-reasons",
    /// Turns that say how many tokens they had.
    Usage "usage",
    /// Turns that are literal bodies or errors.
    Literal "literal",
    /// Messages from before.
    History "history",
    /// Changes and messages of the session's host.
    Host "host",
    /// Slash commands.
    Commands "commands",
    /// Hooks.
    Hooks "hooks",
    /// Rules on which tools may run, and people who are asked.
    Permissions "permissions",
    /// A place for large results.
    Store "store",
    /// Skills and plugins that are looked up.
    Lookups "lookups",
    /// The engine's settings about requests.
    Requests "requests",
    /// The engine's settings about tools.
    Execution "execution",
    /// The settings of the pipeline.
    Pipeline "pipeline",
    /// The settings of retries.
    Retry "retry",
    /// The settings of compaction.
    Compaction "compaction",
    /// Further facts that the session begins with.
    Session "session",
    /// A budget of money.
    Budget "budget",
    /// Limits on turns and tokens.
    Limits "limits",
    /// Structured output.
    Structured "structured",
    /// A model that takes over.
    Fallback "fallback",
    /// Models of all generations.
    Models "models",
    /// Answers that come whole.
    Whole "whole",
    /// Tools that run after the stream, in batches.
    Batches "batches",
    /// A window that the API holds prompts against, and what else it counts.
    Window "window",
    /// Errors in place of answers.
    Errors "errors",
    /// Connections that fail.
    Connections "connections",
    /// Streams that break or come otherwise than they should.
    Streams "streams",
    /// Answers, results and words of people that never come. The user cancels them after some hours.
    Endless "endless",
    /// The user cancels or submits a message.
    Interrupts "interrupts",
    /// Messages that are marked as dead, summaries from the background.
    Background "background",
    /// How long answers take, and new credentials.
    Timing "timing",
    /// Bodies in other chunks.
    Chunking "chunking",
}

impl Feature {
    /// The feature of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|feature| feature.as_str() == name)
    }
}

/// Random subsets: mostly a handful, now and then nearly all. Tools are in most of them, because most of the rest is about tools.
pub fn subsets() -> impl Strategy<Value = Vec<Feature>> {
    // A switch each, so that each can be shrunk away.
    let switches = |share: f64| vec(weighted(share), Feature::ALL.len());
    let few = prop_oneof![3 => switches(0.08), 3 => switches(0.22), 1 => switches(0.6)];
    (few, weighted(0.7)).prop_map(|(few, tools)| {
        let chosen = Feature::ALL.iter().copied().zip(few).filter(|(_, chosen)| *chosen).map(|(feature, _)| feature);
        chosen.chain(tools.then_some(Feature::Tools)).collect()
    })
}
