//! The lines of an exploration: what it tries, the next plans, what came of each (G-1, G-2).

use serde::Deserialize;

use super::open_line::OpenLine;
use super::run_trace::RunTrace;
use reenact_engine::time::Time;
use reenact_wire::prelude::*;

/// An exploration begins.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExploreLine {
    /// The scenario, and how its runs are opened.
    pub open: OpenLine,
    /// How many decisions a run may have: `1,0,1`. Each is explored.
    pub budgets: Vec<String>,
    /// The inputs of the user that the client can take.
    pub actions: Vec<ClientInput>,
    /// The prompt after an input, and after a run with a fault.
    pub then: Arc<str>,
    /// The text of a message.
    #[serde(default)]
    pub message: Arc<str>,
}

/// An input of the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum ClientInput {
    /// Cancel, and prompt again when the prompt has come to its end.
    #[serde(rename = "cancel")]
    Cancel,
    /// Cancel, and prompt again at once.
    #[serde(rename = "cancel+prompt")]
    CancelAndPrompt,
    /// A message.
    #[serde(rename = "message")]
    Message,
}

/// The client asks for the next plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NextLine {
    /// The exploration.
    pub exploration: u64,
    /// At most so many.
    #[serde(default = "one")]
    pub count: usize,
    /// Whether nothing further is looked for: what was found is made smaller, and that is all.
    #[serde(default)]
    pub stop: bool,
}

fn one() -> usize {
    1
}

/// A plan was tried.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TriedLine {
    /// The exploration.
    pub exploration: u64,
    /// The number of the plan.
    pub number: u64,
    /// The trace of the run, as the reply to its last line has it.
    pub trace: RunTrace,
    /// The boundaries at which a prompt was open, each with its time.
    #[serde(default)]
    pub boundaries: Vec<(Arc<str>, Time)>,
    /// The mistakes in the run.
    #[serde(default)]
    pub finding: Option<TriedFinding>,
}

/// The mistakes in a run.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TriedFinding {
    /// The same for the same defect.
    pub group: Arc<str>,
    /// The first of them, in words.
    pub words: Arc<str>,
    /// The others.
    #[serde(default)]
    pub others: Vec<Arc<str>>,
    /// All choices of the run.
    pub plan: Arc<str>,
}
