//! O-20: a truthful result. The model is not told of a tool that was started that it was never run.
//!
//! An engine has words of its own, so the oracle knows the usual ones, as the judge of driven clients does. The words that the tool itself gave are the tool's affair.

use super::OracleFindings;
use reenact_engine::contract::{Effect, Emission, Input, ToolRun};
use reenact_wire::denied_start;
use reenact_wire::prelude::*;

pub(super) const ORACLE: &str = "O-20";

/// Shorter phrases than those that are looked for in what a tool may have printed: a tool's own words are left out here.
const SHORT_PHRASES: [&str; 3] = ["not run", "not called", "not been run"];

/// The tools that were started and whose result is not out.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct TruthOracle(Vec<StartedTool>);

#[derive(Clone, Debug, Hash)]
struct StartedTool {
    run: ToolRun,
    /// The text that it returned; empty until then.
    content: Arc<str>,
}

impl TruthOracle {
    /// `returned` is the text of a tool that ends.
    pub(super) fn on_input(&mut self, input: &Input, returned: Option<&Arc<str>>) {
        if let (Input::ToolEnded { run, .. }, Some(returned)) = (input, returned)
            && let Some(started) = self.0.iter_mut().find(|started| started.run == *run)
        {
            started.content = returned.clone();
        }
    }

    /// `told` is the text of a result.
    pub(super) fn on_effect(&mut self, (effect, told): (&Effect, &str), found: &mut OracleFindings<'_>) {
        match effect {
            Effect::StartTool { run, .. } => self.0.push(StartedTool { run: *run, content: "".into() }),
            Effect::Emit(Emission::User(message)) => {
                let Some(at) = self.0.iter().position(|started| started.run == message.run) else { return };
                let started = self.0.swap_remove(at);
                found.ask(ORACLE);
                if let Some(words) = claim(told, &started.content) {
                    found.add(ORACLE, format!("tool {} was started, and its result tells the model `{words}`", message.run));
                }
            }
            Effect::Finished { prompt, .. } => self.0.retain(|started| started.run.request.prompt != *prompt),
            _ => (),
        }
    }
}

/// The words of a result that say that the tool never ran, where they are not the tool's own.
fn claim(result: &str, own: &str) -> Option<&'static str> {
    if result == own {
        return None; // most results are the tool's own words to the letter, and to search them costs more than all other oracles do
    }
    let own = own.to_lowercase();
    denied_start::claims(result).chain(denied_start::among(SHORT_PHRASES.into_iter(), result)).find(|words| !own.contains(words))
}
