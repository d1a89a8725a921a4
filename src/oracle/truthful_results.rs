//! O-20: a truthful result. The model is not told of a tool that was started that it was never run.
//!
//! An engine has words of its own, so the oracle knows the usual ones. The words that the tool itself gave are the tool's affair.

use super::OracleFindings;
use reenact_engine::contract::{Effect, Emission, Input, ToolRun};
use reenact_wire::block::Block;
use reenact_wire::prelude::*;
use reenact_wire::raw_json::RawObject;

pub(super) const ORACLE: &str = "O-20";

/// Words for "it was never run", in lower case.
const NEVER_RUN: [&str; 10] = [
    "not run",
    "not executed",
    "not been executed",
    "not been run",
    "not started",
    "not called",
    "never run",
    "never ran",
    "never executed",
    "never started",
];

/// The tools that were started and whose result is not out.
#[derive(Clone, Debug, Default)]
pub(super) struct TruthOracle(Vec<StartedTool>);

#[derive(Clone, Debug)]
struct StartedTool {
    run: ToolRun,
    /// Its own result.
    content: Option<Arc<str>>,
}

impl TruthOracle {
    pub(super) fn on_input(&mut self, input: &Input) {
        if let Input::ToolEnded { run, outcome } = input
            && let Some(started) = self.0.iter_mut().find(|started| started.run == *run)
        {
            started.content = Some(outcome.content.as_str().into());
        }
    }

    pub(super) fn on_effect(&mut self, effect: &Effect, found: &mut OracleFindings<'_>) {
        match effect {
            Effect::StartTool { run, .. } => self.0.push(StartedTool { run: *run, content: None }),
            Effect::Emit(Emission::User(message)) => {
                let Some(at) = self.0.iter().position(|started| started.run == message.run) else { return };
                let started = self.0.swap_remove(at);
                if let Some(words) = claim(&message.block, started.content.as_deref()) {
                    found.add(ORACLE, format!("tool {} was started, and its result tells the model `{words}`", message.run));
                }
            }
            Effect::Finished { prompt, .. } => self.0.retain(|started| started.run.request.prompt != *prompt),
            _ => (),
        }
    }
}

/// The words of a result that say that the tool never ran, where they are not the tool's own.
fn claim(result: &Block, own: Option<&str>) -> Option<&'static str> {
    let content = RawObject::parse(result.json().as_str()).ok()?.get("content")?.to_lowercase();
    let own = own.unwrap_or_default().to_lowercase();
    NEVER_RUN.into_iter().find(|words| content.contains(words) && !own.contains(words))
}
