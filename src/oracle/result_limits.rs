//! O-13, of results: one that is too large for its tool does not go out whole, unless it was stored; one that is not goes out whole, and is not stored (T-27).
//!
//! Characters count, not bytes. Nothing is said of a result that fits and came after its tool was told to stop, or before an abort: what the model is told
//! then are words of the engine.

use super::budgets::ORACLE;
use super::{OracleFindings, OracleRules};
use reenact_engine::contract::{Effect, Emission, Input, ToolRun};
use reenact_wire::prelude::*;

/// The words of an engine behind a result that it cut have no more characters.
const NOTE_CHARACTERS_MAX: u64 = 1_000;

/// The tools of one agent that run, and what they returned until it is out.
#[derive(Clone, Debug, Hash, Default)]
pub(super) struct ResultLimitOracle {
    /// Each with the characters that its result may have.
    running: Vec<(ToolRun, u64)>,
    stopped: Vec<ToolRun>,
    returned: Vec<ReturnedText>,
}

#[derive(Clone, Debug, Hash)]
struct ReturnedText {
    run: ToolRun,
    text: Arc<str>,
    is_too_large: bool,
    /// How many characters go out of one that is too large: with the note of the engine behind them.
    limit: u64,
    is_stopped: bool,
}

impl ResultLimitOracle {
    /// `returned` is the text of a tool that ends.
    pub(super) fn on_input(&mut self, input: &Input, returned: Option<&Arc<str>>) {
        match input {
            Input::ToolEnded { run, outcome } => {
                let Some(text) = returned else { return };
                let Some(at) = self.running.iter().position(|(known, _)| known == run) else { return };
                let (run, limit) = self.running.remove(at);
                let content = outcome.content.as_str();
                // No text has more characters than its JSON has bytes.
                let is_too_large = content.len() as u64 > limit && text.chars().count() as u64 > limit;
                let is_stopped = self.stopped.contains(&run) || outcome.abort.is_some();
                // In the place of nothing stand words of the engine.
                if is_too_large || !is_stopped && !text.trim().is_empty() {
                    self.returned.push(ReturnedText { run, text: text.clone(), is_too_large, limit, is_stopped });
                }
            }
            Input::Cancel | Input::Interrupt { .. } => self.returned.retain(|returned| returned.is_too_large),
            _ => (),
        }
    }

    /// `told` is the text of a result.
    pub(super) fn on_effect(&mut self, rules: &OracleRules, (effect, told): (&Effect, &str), found: &mut OracleFindings<'_>) {
        match effect {
            Effect::StartTool { run, tool_use } => self.running.push((*run, rules.tools.result_limit(&tool_use.name))),
            Effect::StopTool { run } => self.stopped.push(*run),
            Effect::StoreResult { run, .. } => {
                for returned in self.returned.extract_if(.., |returned| returned.run == *run).filter(|returned| !returned.is_too_large) {
                    let characters = returned.text.chars().count();
                    found.add(ORACLE, format!("the result of tool {run} is to be stored, and its {characters} characters fit its tool"));
                }
            }
            Effect::Emit(Emission::User(message)) => {
                for returned in self.returned.extract_if(.., |returned| returned.run == message.run) {
                    found.ask(ORACLE);
                    let ReturnedText { run, text, is_too_large, limit, is_stopped } = returned;
                    // One that was stored is looked for no more.
                    let is_cut_here = is_too_large && !is_stopped;
                    let told_much =
                        |how: &str| format!("{how} than the {limit} characters that it may have went out of the result of tool {run}");
                    if is_too_large && *told == *text {
                        found.add(ORACLE, format!("the result of tool {run} went out whole, and it is too large for its tool"));
                    } else if is_cut_here && is_cut(&text, told) && common_characters(&text, told) < limit {
                        found.add(ORACLE, told_much("less"));
                    } else if is_cut_here && told.chars().count() as u64 > limit + NOTE_CHARACTERS_MAX {
                        found.add(ORACLE, told_much("more"));
                    } else if !is_too_large && !told.contains(text.trim()) && is_cut(&text, told) {
                        found.add(ORACLE, format!("the result of tool {run} did not go out whole, and it fits its tool"));
                    }
                }
            }
            Effect::Finished { prompt, .. } => {
                let is_over = |run: ToolRun| run.request.prompt == *prompt;
                self.running.retain(|(run, _)| !is_over(*run));
                self.stopped.retain(|run| !is_over(*run));
                self.returned.retain(|returned| !is_over(returned.run));
            }
            _ => (),
        }
    }
}

fn common_characters(returned: &str, told: &str) -> u64 {
    returned.chars().zip(told.chars()).take_while(|(one, other)| one == other).count() as u64
}

/// Whether what was told begins as what was returned: other words altogether are O-24's.
fn is_cut(returned: &str, told: &str) -> bool {
    let common = common_characters(returned, told);
    common > 0 && common * 4 >= returned.chars().count() as u64
}
